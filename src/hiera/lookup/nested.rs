//! Lookups that a function in Ruby makes itself.
//!
//! A function that needs another key is called again with the value of that key. The key is looked up as Puppet's
//! functions `lookup` and `hiera` do it: with the layers, options and names of the lookup that calls the function.
//! Source: `invocation.rb`, `lookup_adapter.rb`, `data_hash_function_provider.rb` in `pops/lookup`, and
//! `puppet_function.rb` in `hiera`.

use std::cell::Cell;

use super::options::OptionsCells;
use super::{Lookup, Search, SearchResult};
use crate::hiera::LookupError;
use crate::hiera::backend::{Answer, Command, NestedLookup};
use crate::hiera::budget::{Budget, Cost, LOOKUP_STEPS, with_stack};
use crate::hiera::command::{self, FunctionCall, LookedUp};
use crate::hiera::config::FunctionKind;
use crate::hiera::interpolation::NameStack;
use crate::hiera::layer::LayerId;
use crate::hiera::merge::Strategy;
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::value::Value;

/// The maximum number of keys that a function may look up for one answer, since each causes another call.
const MAX_LOOKUPS: usize = 64;

impl Lookup<'_> {
    /// Asks a command for a key, and makes the lookups that it needs for its answer.
    pub(super) fn ask(
        &self,
        command: &Command,
        asked: &FunctionCall<'_>,
        search: Search<'_>,
    ) -> Result<Answer, LookupError> {
        let mut lookups: Vec<LookedUp> = Vec::new();
        loop {
            match command::ask(command, &FunctionCall { lookups: &lookups, ..*asked })? {
                Answer::Lookup(_) if lookups.len() == MAX_LOOKUPS => {
                    return Err(LookupError::unknown(format!(
                        "a function that looks up more than {MAX_LOOKUPS} other keys"
                    )));
                }
                Answer::Lookup(wanted) => lookups.push(self.look_up(wanted, asked, search)?),
                // The original error is clearer than its copy that has passed through Ruby.
                Answer::Failed(failed) => {
                    let is_same = |error: &LookupError| *error.puppets_text() == *failed.text;
                    let original = lookups.into_iter().filter_map(|lookup| lookup.found.err()).find(is_same);
                    return original.map_or(Ok(Answer::Failed(failed)), Err);
                }
                answer => return Ok(answer),
            }
            // All values are passed on again.
            let mut values = lookups.iter().filter_map(|lookup| lookup.found.as_ref().ok()?.as_ref());
            values.try_for_each(|value| search.stack.budget().write_value(value))?;
        }
    }

    fn look_up(
        &self,
        wanted: NestedLookup,
        asked: &FunctionCall<'_>,
        search: Search<'_>,
    ) -> Result<LookedUp, LookupError> {
        search.stack.budget().spend(LOOKUP_STEPS)?;
        let found = match asked.level.kind {
            FunctionKind::DataHash | FunctionKind::V4DataHash => {
                self.find_among_options(asked, &wanted, search.stack.budget())
            }
            _ => self.find_wanted(&wanted, search.stack),
        };
        let refused = |what: &str| {
            let (function, key) = (&asked.level.function, &wanted.key);
            LookupError::unknown(format!(
                "what the function '{function}' makes of its lookup of '{key}', which is {what}"
            ))
        };
        match &found {
            Err(error) if error.kind.is_unknown() => return Err(error.clone()),
            Err(error) if error.text.secrecy().is_some() => return Err(refused("an error that may show a secret")),
            Ok(Some(value)) if value.secrecy().is_some() => return Err(refused("a secret")),
            Ok(Some(value)) if !is_plain(value) => return Err(refused("a value that JSON cannot hold")),
            _ => {}
        }
        Ok(LookedUp { wanted, found })
    }

    /// Looks up a key for a `data_hash`. Puppet calls such a function once, when it searches for options, and keeps
    /// its answer. So its lookups know only the options that are known by then.
    fn find_among_options(&self, asked: &FunctionCall<'_>, wanted: &NestedLookup, budget: &Budget) -> SearchResult {
        let root = NameStack::within(budget.left());
        let options = OptionsCells::default();
        if asked.module.is_some() {
            options.set_environment(self.environment_options(&root), self.options(None, &root));
        }
        let lookup = Lookup { options, spent: Cell::new(Cost::NONE), ..*self };
        let found = lookup.find_wanted(wanted, &root.push(LOOKUP_OPTIONS)?);
        budget.spend_cost(root.budget().spent())?;
        found
    }

    fn find_wanted(&self, wanted: &NestedLookup, stack: &NameStack<'_>) -> SearchResult {
        if wanted.is_hiera {
            self.check_hiera_call()?;
        }
        match &wanted.merge {
            Value::Undef => self.find_shared(&wanted.key, stack),
            merge => {
                let strategy = Strategy::from_option(merge)?;
                with_stack(|| self.find(&wanted.key, Some(&strategy), stack))
            }
        }
    }

    /// Returns an error unless a function of Hiera 3 does the same as `lookup`. It does so only in an environment of
    /// Hiera 5 without a global layer of Hiera 3.
    fn check_hiera_call(&self) -> Result<(), LookupError> {
        let version = |layer: &LayerId| Some(self.environment.layer_of(layer)?.config.as_ref().ok()?.version);
        if version(&self.environment.own_layer()) == Some(5) && version(&LayerId::Global) != Some(3) {
            return Ok(());
        }
        Err(LookupError::unknown(
            "a function that calls a function of Hiera 3, which searches the global layer by itself",
        ))
    }
}

/// Returns true if JSON can express a value exactly.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Undef | Value::Boolean(_) | Value::Integer(_) | Value::String(_) => true,
        Value::Float(number) => number.is_finite(),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Hash(hash) => hash.iter().all(|(key, value)| key.as_str().is_some() && is_plain(value)),
        _ => false,
    }
}
