//! Answers of `lookup_key` functions that Puppet keeps during one lookup: it does not ask again, and a merge with a
//! knock-out prefix removes the knock-outs from the kept answer itself.
//!
//! Source: `lookup_key_function_provider.rb` in `pops/lookup`, `eyaml_lookup_key` in `functions`,
//! `deep_merge/core.rb`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::hiera::merge::Strategy;
use crate::value::Value;

/// A call of a function for a key: the level's place and name, the index of its location, the key.
pub(in crate::hiera) type FunctionCall = (Place, Arc<str>, usize, Box<str>);

/// The calls of functions in one answer so far, and the strategies that their answers were merged with.
#[derive(Debug, Default)]
pub(in crate::hiera) struct FunctionAnswers {
    calls: RefCell<BTreeSet<FunctionCall>>,
    /// The strategies of merges that may have removed knock-outs from answers of functions.
    knocked_out: RefCell<Vec<Strategy>>,
}

impl FunctionAnswers {
    /// Returns true if no function was asked.
    pub(in crate::hiera) fn is_empty(&self) -> bool {
        self.calls.borrow().is_empty()
    }

    /// Returns true if the same call was made before.
    pub(in crate::hiera) fn has(&self, asked: &FunctionCall) -> bool {
        self.calls.borrow().contains(asked)
    }

    /// Records a call whose `value` enters a merge with `strategy`, and returns that value. It is unknown if the same
    /// call was made before and a merge may have knocked something out since: this is then missing from the answer
    /// that Puppet keeps, and from values that `alias` took from it, and depends on the other values of the merge.
    pub(in crate::hiera) fn record(
        &self,
        value: Value,
        asked: FunctionCall,
        strategy: &Strategy,
    ) -> Result<Value, LookupError> {
        let mut knocked_out = self.knocked_out.borrow_mut();
        if self.has(&asked) && knocked_out.iter().any(|strategy| strategy.knocks_out(&value)) {
            return Err(LookupError::unknown("what a merge with a knock-out prefix has left of what a function gave"));
        }
        self.calls.borrow_mut().insert(asked);
        if strategy.knocks_out(&value) && !knocked_out.contains(strategy) {
            knocked_out.push(strategy.clone());
        }
        Ok(value)
    }
}
