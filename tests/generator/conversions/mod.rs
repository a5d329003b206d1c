//! Random conversions: what `convert_to` or `--type` may ask for, and values to ask it of.
//!
//! Types and values are drawn so that most of them meet: a number's text for `Integer`, a date for `Timestamp`. What
//! JSON cannot hold is written as `src/verify/resolve.rb` writes it.

mod arguments;
mod kinds;
mod values;

use serde_json::{Value as Json, json};

use super::random::Random;

/// One request of `tests/puppet/convert.rb`: `{"convert_to": V, "value": V}` or `{"type": TEXT, "value": V}`.
pub(crate) fn conversion(seed: u64) -> Json {
    let mut random = Random::new(seed);
    let random = &mut random;
    let kind = kinds::kind(random);
    let value = if random.percent(75) { values::near(random, &kind) } else { values::any(random, 2) };
    let value = bounded(&kind, value);
    if random.percent(20) {
        return json!({"type": kind, "value": value});
    }
    let more = if random.percent(45) { arguments::of(random, &kind) } else { Vec::new() };
    let convert_to = match (more.is_empty(), random.percent(70)) {
        (true, true) => json!(kind),
        _ => [json!(kind)].into_iter().chain(more).collect(),
    };
    json!({"convert_to": convert_to, "value": value})
}

fn typed(kind: &str, content: impl Into<Json>) -> Json {
    json!({"__ptype": kind, "__pvalue": content.into()})
}

/// Puppet counts up to a number for its items: not to one that large.
fn bounded(kind: &str, value: Json) -> Json {
    let counts = ["Array", "Hash", "Tuple", "Struct", "Iter", "Init", "Variant"].iter().any(|name| kind.contains(name));
    match value.as_i64() {
        Some(n) if counts && n > 1000 => json!(n % 1000),
        None if counts && value.is_u64() => json!(12),
        _ => value,
    }
}
