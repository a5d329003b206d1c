//! A scope that remembers which variables were read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::hiera::scope::{Scope, Variable};

/// The names of the variables that an evaluation read.
pub(super) type Reads = BTreeSet<String>;

/// Passes variables on and records their names.
pub(super) struct RecordingScope<'a> {
    inner: &'a dyn Scope,
    reads: RefCell<Reads>,
}

impl<'a> RecordingScope<'a> {
    pub(super) fn new(inner: &'a dyn Scope) -> RecordingScope<'a> {
        RecordingScope { inner, reads: RefCell::default() }
    }

    /// What was read since the last call.
    pub(super) fn take(&self) -> Reads {
        self.reads.take()
    }
}

impl Scope for RecordingScope<'_> {
    fn variable(&self, name: &str) -> Variable {
        if !self.reads.borrow().contains(name) {
            self.reads.borrow_mut().insert(name.to_owned());
        }
        self.inner.variable(name)
    }
}
