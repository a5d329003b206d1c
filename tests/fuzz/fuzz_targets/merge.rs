//! No values and options make a merge panic, and a merge of plain values by hash or unique has nothing that neither
//! had.
//!
//! The input is JSON or YAML with a zero byte between: the `merge` option, and values from the highest priority on.
#![no_main]

use hierad::hiera::budget::Budget;
use hierad::hiera::merge::Strategy;
use hierad::puppet::{json, yaml};
use hierad::value::Value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let mut parts = content.split(|byte| *byte == 0);
    let Some(option) = parts.next().map(read) else { return };
    let values: Vec<Value> = parts.take(4).map(read).collect();
    let strategy = Strategy::from_option(&option);
    let named = ["first", "unique", "hash", "deep", "reverse_deep"].map(|name| Strategy::from_option(&name.into()));
    for strategy in named.into_iter().chain([strategy]).flatten() {
        let folded = strategy.fold(&values, &Budget::default(), |value| Ok(Some(value.clone())));
        if let (Ok(Some(folded)), "hash") = (&folded, strategy.name())
            && let Some(hash) = folded.as_hash()
        {
            let known = |key: &Value| values.iter().any(|v| v.as_hash().is_some_and(|h| h.get_value(key).is_some()));
            assert!(hash.keys().all(known));
        }
        if let [high, low, ..] = values.as_slice() {
            _ = strategy.merge(high, low, &Budget::default()).map(|merged| merged.inspect());
        }
    }
});

fn read(content: &[u8]) -> Value {
    let parsed = json::parse(content);
    if parsed.fault.is_none() { parsed.value } else { yaml::parse(content).value }
}
