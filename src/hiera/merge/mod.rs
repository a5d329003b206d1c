//! Merge strategies, and the single fold that applies them at every depth: to the locations in a level, the levels in
//! a layer, and the layers.
//!
//! Source: `pops/merge_strategy.rb`.

mod deep;
mod opaque;

use std::borrow::Cow;

pub use deep::DeepOptions;
pub(super) use deep::merge as deep_merge;
pub(super) use opaque::{check_distinct, or_made};

use super::LookupError;
use super::budget::Budget;
use super::stand_in::{holds_made, made, made_digest};
use crate::puppet::types;
use crate::puppet::types::data::{is_data_hash, is_scalar_or_data_array};
use crate::value::{Hash, Secrecy, Uniq, Value};

/// The strategy by which values found in several places become one.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Strategy {
    /// The first value found, since no strategy was requested.
    #[default]
    Default,
    /// The first value found.
    First,
    /// All values in one flat array without duplicates.
    Unique,
    /// The entries of all hashes, where those of higher priority win.
    Hash,
    /// All hashes and arrays, at every depth.
    Deep(DeepOptions),
}

/// The result of a merge, which fails if values have the wrong shape or the strategy does not exist.
type Result<T> = std::result::Result<T, LookupError>;

impl Strategy {
    /// Returns true if `value` contains items with the knock-out prefix, which name values to remove.
    pub(super) fn knocks_out(&self, value: &Value) -> bool {
        matches!(self, Strategy::Deep(options) if options.knocks_out(value))
    }

    /// Returns the strategy of a `merge` option: a name, or a hash with `strategy` and the strategy's options.
    pub fn from_option(merge: &Value) -> Result<Strategy> {
        let options = match merge {
            Value::Undef | Value::Boolean(false) => return Ok(Strategy::Default),
            Value::Hash(hash) => hash,
            name => return Strategy::named(name),
        };
        let name = match options.get("strategy") {
            Some(name) if !name.is_undef() => name,
            _ => {
                let text = "The hash given as 'merge' must contain the name of a strategy in string form for the key 'strategy'";
                return Err(LookupError::bare(text));
            }
        };
        let strategy = Strategy::named(name)?;
        if options.len() == 1 {
            return Ok(strategy);
        }
        if let Strategy::Deep(deep) = strategy {
            DeepOptions::parse(deep, options).map(Strategy::Deep)
        } else {
            Err(wrong_options(&format!("Struct[{{strategy=>Optional[Pattern[{}]]}}]", strategy.name()), options))
        }
    }

    fn named(name: &Value) -> Result<Strategy> {
        let text = match name {
            Value::String(s) => Cow::Borrowed(&**s),
            Value::Symbol(s) => Cow::Borrowed(&**s),
            other => Cow::Owned(other.to_s()),
        };
        let is_name = matches!(name, Value::String(_) | Value::Symbol(_));
        match &*text {
            "default" if is_name => Ok(Strategy::Default),
            "first" if is_name => Ok(Strategy::First),
            "unique" if is_name => Ok(Strategy::Unique),
            "hash" if is_name => Ok(Strategy::Hash),
            "deep" if is_name => Ok(Strategy::Deep(DeepOptions::default())),
            "unconstrained_deep" if is_name => Ok(Strategy::Deep(DeepOptions::unconstrained(false))),
            "reverse_deep" if is_name => Ok(Strategy::Deep(DeepOptions::unconstrained(true))),
            _ => Err(LookupError::bare(format!("Unknown merge strategy: '{text}'"))),
        }
    }

    /// Returns the strategy's name in `lookup_options`.
    pub fn name(&self) -> &'static str {
        match self {
            Strategy::Default => "default",
            Strategy::First => "first",
            Strategy::Unique => "unique",
            Strategy::Hash => "hash",
            Strategy::Deep(options) => options.name(),
        }
    }

    /// Returns the strategy's options apart from its name, as given.
    pub fn options(&self) -> Hash {
        match self {
            Strategy::Deep(options) => options.given_options().clone(),
            _ => Hash::new(),
        }
    }

    /// Returns true if all variants are merged, instead of taking the first one that has a value.
    pub fn merges(&self) -> bool {
        !matches!(self, Strategy::Default | Strategy::First)
    }

    /// Merges the results of `find` for the `variants`, highest priority first. Returns `None` if none has a value.
    pub fn fold<T>(
        &self,
        variants: &[T],
        budget: &Budget,
        mut find: impl FnMut(&T) -> Result<Option<Value>>,
    ) -> Result<Option<Value>> {
        if !self.merges() {
            for variant in variants {
                if let Some(value) = find(variant)? {
                    return Ok(Some(value));
                }
            }
            return Ok(None);
        }
        if let [only] = variants {
            return find(only)?.map(|value| self.merge_single(value, budget)).transpose();
        }
        let mut merged = None;
        for variant in variants {
            let Some(value) = find(variant)? else { continue };
            merged = Some(match merged {
                None => self.convert_first(value),
                Some(memo) => self.merge(&memo, &value, budget)?,
            });
        }
        Ok(merged)
    }

    /// Returns the result for a single variant.
    fn merge_single(&self, value: Value, budget: &Budget) -> Result<Value> {
        match (self, &value) {
            (Strategy::Unique, _) if holds_made(&value) => Ok(made(self.name(), &[&value])),
            (Strategy::Unique, Value::Array(items)) => {
                budget.spend_on_merge(&value)?;
                or_made(union(items, &[], budget), self.name(), &[&value])
            }
            _ => Ok(value),
        }
    }

    /// Returns the value that the merge starts with, made of the first one of several variants.
    fn convert_first(&self, value: Value) -> Value {
        match self {
            Strategy::Unique if holds_made(&value) => made(self.name(), &[&value]),
            Strategy::Unique => Value::array(flatten(&value)),
            _ => value,
        }
    }

    /// Merges two values, `high` with the higher priority. Each merge looks at all parts of both, so the total cost
    /// of many merges is quadratic.
    pub fn merge(&self, high: &Value, low: &Value, budget: &Budget) -> Result<Value> {
        [high, low].into_iter().try_for_each(|value| budget.spend_on_merge(value))?;
        let is_made = match self {
            Strategy::Unique | Strategy::Deep(_) => holds_made(high) || holds_made(low),
            Strategy::Hash => made_digest(high).is_some() || made_digest(low).is_some(),
            Strategy::Default | Strategy::First => false,
        };
        let provenance = || Value::hash(self.options());
        if is_made {
            return Ok(made(self.name(), &[high, low, &provenance()]));
        }
        let merged = or_made(self.merge_values(high, low, budget), self.name(), &[high, low, &provenance()]);
        let sealed = |error: LookupError| error.sealed(Secrecy::join(high.secrecy(), low.secrecy()));
        // hierad's own error texts contain nothing of the values.
        merged.map_err(|error| if error.kind.is_unknown() { error } else { sealed(error) })
    }

    fn merge_values(&self, high: &Value, low: &Value, budget: &Budget) -> Result<Value> {
        match self {
            Strategy::Default | Strategy::First => Ok(high.clone()),
            Strategy::Unique => {
                check(high, low, is_scalar_or_data_array, "Variant[Scalar, Array[Data]]")?;
                union(&flatten(high), &flatten(low), budget)
            }
            Strategy::Hash => {
                check(high, low, is_data_hash, "Hash[String, Data]")?;
                let mut merged = low.as_hash().cloned().unwrap_or_default();
                for (key, value) in high.as_hash().into_iter().flat_map(Hash::iter) {
                    merged.insert(key.clone(), value.clone());
                }
                Ok(Value::hash(merged))
            }
            Strategy::Deep(options) => deep::merge(high, low, options, budget),
        }
    }
}

/// Returns Puppet's error for `options` that are not of the type `kind`.
fn wrong_options(kind: &str, options: &Hash) -> LookupError {
    types::mismatch("The merge options", kind, &Value::hash(options.clone())).into()
}

fn check(high: &Value, low: &Value, fits: impl Fn(&Value) -> bool, expected: &str) -> Result<()> {
    for (name, value) in [("first", high), ("second", low)] {
        if !fits(value) {
            return Err(types::mismatch(&format!("The {name} element of the merge"), expected, value).into());
        }
    }
    Ok(())
}

fn flatten(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items
            .iter()
            .flat_map(|item| match item {
                Value::Array(_) => flatten(item),
                _ => vec![item.clone()],
            })
            .collect(),
        other => vec![other.clone()],
    }
}

/// Works like Ruby's `Array#|`.
fn union(a: &[Value], b: &[Value], budget: &Budget) -> Result<Value> {
    let items = a.iter().chain(b);
    check_distinct(&items, budget)?;
    let mut seen = Uniq::default();
    Ok(items.filter(|item| seen.is_new(item)).cloned().collect())
}
