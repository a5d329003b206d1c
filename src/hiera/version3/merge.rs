//! The resolution types of Hiera 3, which make one answer of many: the first value, an array of all, or a hash of
//! all.
//!
//! Source: `merge_answer`, `resolve_answer` and the loops over sources and backends in `hiera/backend.rb` and
//! `hiera/backend/yaml_backend.rb`.

use crate::hiera::LookupError;
use crate::hiera::budget::Budget;
use crate::hiera::config::HashMerge;
use crate::hiera::merge::{Strategy, check_distinct, deep_merge, or_made};
use crate::hiera::stand_in::{holds_made, made};
use crate::value::{Hash, Secrecy, Uniq, Value};

/// The way in which several values for a key become one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolution {
    /// `hiera`: the first value wins.
    Priority,
    /// `hiera -a`: all values in one flat array.
    Array,
    /// `hiera -h`: all entries in one hash.
    Hash(HashMerge),
}

impl Resolution {
    /// Converts a merge strategy of Hiera 5. Hashes are merged as hiera.yaml configures it, unless the strategy is
    /// deep.
    pub(super) fn of(strategy: &Strategy, configured: &HashMerge) -> Resolution {
        match strategy {
            Strategy::Default | Strategy::First => Resolution::Priority,
            Strategy::Unique => Resolution::Array,
            Strategy::Hash => Resolution::Hash(configured.clone()),
            Strategy::Deep(options) => Resolution::Hash(HashMerge::Deep(options.clone())),
        }
    }

    /// Returns the name of the resolution type, which is a flag of `hierad lookup` and a symbol of Hiera.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Resolution::Priority => "priority",
            Resolution::Array => "array",
            Resolution::Hash(_) => "hash",
        }
    }

    /// Returns an error if a value does not fit the resolution type. `of_key` is for the error text.
    pub(super) fn check(&self, value: &Value, of_key: &str) -> Result<(), LookupError> {
        let expected = match (self, value) {
            (Resolution::Priority, _)
            | (Resolution::Array, Value::Array(_) | Value::String(_) | Value::Bytes(_))
            | (Resolution::Hash(_), Value::Hash(_)) => return Ok(()),
            (Resolution::Array, _) => "Array",
            (Resolution::Hash(_), _) => "Hash",
        };
        let class = value.class_name();
        Err(LookupError::puppet(format!("Hiera type mismatch{of_key}: expected {expected} and got {class}")))
    }

    /// Adds a value of lower priority to the answer so far.
    pub(super) fn add(&self, answer: Option<Value>, value: Value, budget: &Budget) -> Result<Value, LookupError> {
        match self {
            Resolution::Priority => Ok(answer.unwrap_or(value)),
            Resolution::Array => {
                let answer = answer.as_ref().and_then(Value::as_array).unwrap_or_default();
                budget.spend(answer.len())?;
                Ok(answer.iter().cloned().chain([value]).collect())
            }
            Resolution::Hash(merge) => {
                // Even the first value is merged, with an empty hash, since the options may be wrong.
                merge.merge(&answer.unwrap_or_else(|| Value::hash(Hash::new())), &value, budget)
            }
        }
    }

    /// Returns the final answer.
    pub(super) fn finish(&self, answer: Value, budget: &Budget) -> Result<Value, LookupError> {
        if *self != Resolution::Array {
            return Ok(answer);
        }
        let mut seen = Uniq::default();
        let mut flat = Vec::new();
        flatten(&answer, &mut flat);
        if holds_made(&answer) {
            return Ok(made("array", &[&answer]));
        }
        let distinct = check_distinct(&flat.iter(), budget);
        let merged = distinct.map(|()| flat.into_iter().filter(|item| seen.is_new(item) && !item.is_undef()).collect());
        or_made(merged, "array", &[&answer])
    }
}

impl HashMerge {
    fn merge(&self, high: &Value, low: &Value, budget: &Budget) -> Result<Value, LookupError> {
        [high, low].into_iter().try_for_each(|value| budget.spend_on_merge(value))?;
        if holds_made(high) || holds_made(low) {
            return Ok(made("hash", &[high, low]));
        }
        let merged = match self {
            HashMerge::Native => {
                let mut merged = low.as_hash().cloned().unwrap_or_default();
                let entries = high.as_hash().into_iter().flat_map(Hash::iter);
                entries.for_each(|(key, value)| _ = merged.insert(key.clone(), value.clone()));
                Ok(Value::hash(merged))
            }
            HashMerge::Deep(options) => or_made(deep_merge(high, low, options, budget), "hash", &[high, low]),
            HashMerge::Fails(error) => return Err(error.clone()),
        };
        merged.map_err(|error| error.sealed(Secrecy::join(high.secrecy(), low.secrecy())))
    }
}

fn flatten(value: &Value, flat: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| flatten(item, flat)),
        other => flat.push(other.clone()),
    }
}
