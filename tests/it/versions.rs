//! Every difference between Puppet 7 and 8 that the recorded answers show has a switch of [`Puppet`] with a name.

use std::collections::BTreeSet;

use hierad::puppet::Puppet;
use hierad::puppet::json;
use hierad::value::Value;

use crate::support::recorded;

/// A switch, and how to tell that it makes a difference.
struct Switch {
    is_on: fn(Puppet) -> bool,
    /// A part of Puppet 8's error.
    text: &'static str,
    /// The cases in which it does not say so.
    cases: &'static [&'static str],
}

const SWITCHES: [Switch; 4] = [
    Switch {
        is_on: Puppet::refuses_undefined_variables,
        text: "Undefined variable '",
        cases: &["an undefined variable in its datadir"],
    },
    Switch {
        is_on: Puppet::refuses_data_files_that_are_no_hash,
        text: ": file does not contain a valid yaml hash",
        cases: &[],
    },
    Switch {
        is_on: Puppet::refuses_version_3_below_the_global_layer,
        text: "hiera.yaml version 3 cannot be used in ",
        cases: &[],
    },
    Switch {
        is_on: Puppet::drops_modules_with_unreadable_metadata,
        text: "nothing",
        cases: &["metadata.json that is no JSON", "broken metadata outside"],
    },
];

/// The switches that explain why the two versions' answers of a node differ at `key`.
fn switch(case: &str, node8: &Value, key: &str) -> Option<usize> {
    let text = node8.get("errors").and_then(|errors| errors.get(key)).and_then(Value::as_str).unwrap_or_default();
    SWITCHES.iter().position(|switch| switch.cases.contains(&case) || text.contains(switch.text))
}

/// Returns the value of a key on a node, and if it is an error, whatever its text.
fn outcome(node: &Value, key: &str) -> (Option<String>, bool) {
    let value = node.get("values").and_then(|values| values.get(key)).map(json::compact);
    (value, node.get("errors").and_then(|errors| errors.get(key)).is_some())
}

fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).unwrap()
}

#[test]
fn each_difference_is_a_named_switch() {
    let mut seen = BTreeSet::new();
    let mut unexplained = Vec::new();
    for path in recorded::topics() {
        for case in &recorded::cases(&path) {
            let name = case.get("name").and_then(Value::as_str).unwrap();
            for (node7, node8) in items(case, "puppet7").iter().zip(items(case, "puppet8")) {
                let keys = items(case, "keys").iter().filter_map(Value::as_str);
                for key in keys.filter(|key| outcome(node7, key) != outcome(node8, key)) {
                    match switch(name, node8, key) {
                        Some(at) => _ = seen.insert(at),
                        None => unexplained.push(format!("{}: {name}: {key}", path.display())),
                    }
                }
            }
        }
    }
    assert!(unexplained.is_empty(), "the versions differ without a switch:\n{}", unexplained.join("\n"));
    assert_eq!(seen.len(), SWITCHES.len(), "a switch without a case: only {seen:?} have one");
    assert!(SWITCHES.iter().all(|switch| (switch.is_on)(Puppet::V8) && !(switch.is_on)(Puppet::V7)));
}
