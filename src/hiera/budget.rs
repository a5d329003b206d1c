//! The limits of the cost of one answer. A few lines of data can ask for more than any machine has, such as keys that
//! each refer to the next one twice. Puppet goes on until its memory or stack is used up; hierad ends with an honest
//! error.

use std::cell::Cell;

use super::LookupError;
use crate::puppet::document::MAX_DEPTH;
use crate::value::{Hash, Value};

/// The maximum number of steps for one key's answer: values looked at and merged, texts parsed, places searched. They
/// take some tenths of a second.
pub const STEP_LIMIT: usize = 10_000_000;

/// The cost of searching for a referenced key, in steps, apart from that of each place that is searched.
pub(super) const LOOKUP_STEPS: usize = 50;

/// The cost of searching one place or evaluating one `%{...}`, in steps.
pub(super) const PLACE_STEPS: usize = 10;

/// The cost of merging or converting one value, or one entry of a hash, in steps.
const MERGE_STEPS: usize = 8;

/// The cost of a regular expression that gives up, in steps. Such an expression takes milliseconds.
pub(super) const REGEX_STEPS: usize = 250_000;

/// The number of bytes of a text that can be looked at in one step.
const BYTES_PER_STEP: usize = 64;

/// The maximum size, in bytes, of the text that interpolation, merges and conversions make for one key's answer.
pub const TEXT_LIMIT: usize = 64 << 20;

/// The maximum depth of a value that interpolation puts together, the same as for values in data files.
pub const NESTING_LIMIT: usize = MAX_DEPTH;

/// The stack in bytes that must be left when a lookup or a variable nests. It is more than is used until the next one
/// nests, in a debug build, with values of [`NESTING_LIMIT`].
const MIN_STACK_LEFT: usize = 1 << 20;

/// The size in bytes of the new stack if less than that is left.
const NEW_STACK_SIZE: usize = 8 << 20;

/// An amount of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The number of steps.
    pub steps: usize,
    /// The size in bytes of new text.
    pub text: usize,
}

impl Cost {
    /// No work.
    pub const NONE: Cost = Cost { steps: 0, text: 0 };

    /// The maximum cost of the answer for one key on one node.
    pub const OF_KEY: Cost = Cost { steps: STEP_LIMIT, text: TEXT_LIMIT };

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        Cost { steps: self.steps.saturating_add(other.steps), text: self.text.saturating_add(other.text) }
    }

    /// Subtracts `other`, down to zero.
    #[must_use]
    pub fn minus(self, other: Cost) -> Cost {
        Cost { steps: self.steps.saturating_sub(other.steps), text: self.text.saturating_sub(other.text) }
    }

    /// Returns the minimum of each.
    #[must_use]
    pub fn at_most(self, other: Cost) -> Cost {
        Cost { steps: self.steps.min(other.steps), text: self.text.min(other.text) }
    }

    /// Returns true if neither amount exceeds that of `limit`.
    pub fn is_within(self, limit: Cost) -> bool {
        self.steps <= limit.steps && self.text <= limit.text
    }
}

/// The cost of one key so far.
#[derive(Debug)]
pub struct Budget {
    limit: Cost,
    steps: Cell<usize>,
    text: Cell<usize>,
    nesting: Cell<usize>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::within(Cost::OF_KEY)
    }
}

impl Budget {
    /// Returns a budget of `limit`.
    pub fn within(limit: Cost) -> Budget {
        Budget { limit, steps: Cell::default(), text: Cell::default(), nesting: Cell::default() }
    }

    /// Returns the cost so far.
    pub(super) fn spent(&self) -> Cost {
        Cost { steps: self.steps.get(), text: self.text.get() }
    }

    /// Returns the rest of the budget.
    pub(super) fn left(&self) -> Cost {
        self.limit.minus(self.spent())
    }

    /// Returns the number of collections that the work is nested in.
    pub(super) fn nesting(&self) -> usize {
        self.nesting.get()
    }

    /// Takes the cost of work that was done earlier.
    pub(super) fn spend_cost(&self, cost: Cost) -> Result<(), LookupError> {
        self.spend(cost.steps).and(self.write(cost.text))
    }

    /// Takes the steps to merge or convert `value`.
    pub(super) fn spend_on_merge(&self, value: &Value) -> Result<(), LookupError> {
        self.spend(MERGE_STEPS)?;
        match value.bare() {
            Value::Array(items) => self.inside(|| items.iter().try_for_each(|item| self.spend_on_merge(item))),
            Value::Hash(hash) => self.inside(|| hash.iter().try_for_each(|(_, value)| self.spend_on_merge(value))),
            Value::String(text) => self.read(text),
            _ => Ok(()),
        }
    }

    /// Takes memory for the texts in `value`, all of which are new.
    pub(super) fn write_value(&self, value: &Value) -> Result<(), LookupError> {
        match value.bare() {
            Value::Array(items) => items.iter().try_for_each(|item| self.write_value(item)),
            Value::Hash(hash) => {
                Hash::iter(hash).try_for_each(|(key, value)| self.write_value(key).and(self.write_value(value)))
            }
            Value::String(text) => self.write(text.len()),
            Value::Bytes(bytes) => self.write(bytes.len()),
            _ => self.write(size_of::<Value>()),
        }
    }

    /// Takes `steps`.
    pub(super) fn spend(&self, steps: usize) -> Result<(), LookupError> {
        let spent = self.steps.get().saturating_add(steps);
        self.steps.set(spent);
        if spent > self.limit.steps {
            let limit = self.limit.steps;
            let text = format!("the answer takes more than {limit} steps of interpolation and merging");
            return Err(LookupError::unknown(text));
        }
        Ok(())
    }

    /// Takes the steps to look at a text.
    pub(super) fn read(&self, text: &str) -> Result<(), LookupError> {
        self.look_at(text.len())
    }

    /// Takes the steps to look at a text of this length.
    pub(super) fn look_at(&self, bytes: usize) -> Result<(), LookupError> {
        self.spend(1 + bytes / BYTES_PER_STEP)
    }

    /// Takes memory for `bytes` of new text.
    pub(super) fn write(&self, bytes: usize) -> Result<(), LookupError> {
        let made = self.text.get().saturating_add(bytes);
        self.text.set(made);
        if made > self.limit.text {
            let text = format!("interpolation makes more than {} MiB of text", self.limit.text >> 20);
            return Err(LookupError::unknown(text));
        }
        Ok(())
    }

    /// Does `work` one collection deeper.
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

/// Does `work`, which is nested in a lookup, with enough stack. The outermost lookup does not need this, and asking a
/// thread for its stack takes longer than most lookups.
pub(super) fn with_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(MIN_STACK_LEFT, NEW_STACK_SIZE, work)
}
