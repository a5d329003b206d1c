//! The limits of the cost of one answer. A few lines of data can ask for more than there is: keys that refer to one
//! another twice, and so on. Puppet goes on until its memory or its stack is used up; hierad ends with an honest error.

use std::cell::Cell;

use super::LookupError;
use crate::puppet::document::MAX_DEPTH;

/// The most steps that the answer for one key takes: values looked at, texts taken apart, places searched. Some tenths
/// of a second.
pub const STEP_LIMIT: usize = 10_000_000;

/// The cost of a search for a key that is referred to, in steps; each place that is searched counts once more.
pub(super) const LOOKUP_STEPS: usize = 50;

/// The cost of searching one place or evaluating one `%{...}`, in steps.
pub(super) const PLACE_STEPS: usize = 10;

/// The bytes of a text that are looked at in one step.
const BYTES_A_STEP: usize = 64;

/// The most text that interpolation makes on the way to the answer for one key, in bytes.
pub const TEXT_LIMIT: usize = 64 << 20;

/// The depth to which a value that interpolation puts together may nest; no deeper than one of a data file.
pub const NESTING_LIMIT: usize = MAX_DEPTH;

/// The part of the stack that must be left where a lookup or a variable nests: more than what is done between two of
/// these, in a debug build, with values of [`NESTING_LIMIT`].
const STACK_LEFT: usize = 1 << 20;

/// The size of the new stack where less is left.
const MORE_STACK: usize = 8 << 20;

/// The cost of one key so far.
#[derive(Debug, Default)]
pub(super) struct Budget {
    steps: Cell<usize>,
    text: Cell<usize>,
    nesting: Cell<usize>,
}

impl Budget {
    /// Takes `steps`.
    pub(super) fn spend(&self, steps: usize) -> Result<(), LookupError> {
        let spent = self.steps.get().saturating_add(steps);
        self.steps.set(spent);
        if spent > STEP_LIMIT {
            let text = format!("the answer takes more than {STEP_LIMIT} steps of interpolation");
            return Err(LookupError::unknown(text));
        }
        Ok(())
    }

    /// Takes the steps to look at a text.
    pub(super) fn read(&self, text: &str) -> Result<(), LookupError> {
        self.spend(1 + text.len() / BYTES_A_STEP)
    }

    /// Takes memory for `bytes` of new text.
    pub(super) fn write(&self, bytes: usize) -> Result<(), LookupError> {
        let made = self.text.get().saturating_add(bytes);
        self.text.set(made);
        if made > TEXT_LIMIT {
            let text = format!("interpolation makes more than {} MiB of text", TEXT_LIMIT >> 20);
            return Err(LookupError::unknown(text));
        }
        Ok(())
    }

    /// Does `work` inside one more collection.
    pub(super) fn inside<T>(&self, work: impl FnOnce() -> Result<T, LookupError>) -> Result<T, LookupError> {
        let depth = self.nesting.get();
        if depth >= NESTING_LIMIT {
            return Err(LookupError::unknown(format!("interpolation nests values more than {NESTING_LIMIT} deep")));
        }
        self.nesting.set(depth + 1);
        let result = work();
        self.nesting.set(depth);
        result
    }
}

/// Does `work`, which nests in a lookup, with enough stack. A lookup itself is begun where there is some: to ask a
/// thread for its stack takes longer than most lookups.
pub(super) fn with_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_LEFT, MORE_STACK, work)
}
