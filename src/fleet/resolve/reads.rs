//! What an evaluation read: the list of what its answer depends on.

use std::cell::RefCell;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::fleet::nodes::variables::{FleetScope, PathRef, VariablePath};
use crate::hiera::layer::LayerId;
use crate::hiera::lookup::OptionsOf;
use crate::hiera::scope::{Scope, Variable};
use crate::value::Value;

/// One thing that differs among nodes and that an evaluation asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::fleet) enum Read {
    /// A variable, or a part of it.
    Variable(VariablePath),
    /// What the levels of a layer say of a root key.
    Key(Arc<str>, LayerId),
    /// The options in effect.
    Options(OptionsOf),
}

/// What was read so far, each thing once.
pub(in crate::fleet) struct Reads {
    set: RefCell<ReadSet>,
    /// Whether somebody wants to know.
    is_wanted: bool,
}

/// Reads, in the order in which they came, and how many parts of each were read, where it has some: the levels of a layer.
pub(in crate::fleet) type ReadSet = IndexMap<Read, usize, foldhash::fast::RandomState>;

impl Reads {
    /// None yet; none ever if nobody wants to know.
    pub(in crate::fleet) fn new(is_wanted: bool) -> Reads {
        Reads { set: RefCell::default(), is_wanted }
    }

    pub(in crate::fleet) fn note(&self, read: impl FnOnce() -> Read) {
        self.note_parts(|| (read(), 1));
    }

    /// Takes note of what was read in its first parts only.
    pub(in crate::fleet) fn note_parts(&self, read: impl FnOnce() -> (Read, usize)) {
        if self.is_wanted {
            let (read, parts) = read();
            let mut set = self.set.borrow_mut();
            let known = set.entry(read).or_default();
            *known = parts.max(*known);
        }
    }

    pub(in crate::fleet) fn into_set(self) -> ReadSet {
        self.set.into_inner()
    }
}

/// The variables of a node; what is looked at is noted.
pub(in crate::fleet) struct RecordingScope<'a> {
    pub(in crate::fleet) scope: FleetScope<'a>,
    pub(in crate::fleet) reads: &'a Reads,
}

impl Scope for RecordingScope<'_> {
    fn variable(&self, name: &str) -> Variable {
        self.variable_at(name, &[])
    }

    fn variable_at(&self, name: &str, segments: &[Value]) -> Variable {
        self.reads.note(|| Read::Variable(PathRef { root: name, segments }.to_path()));
        self.scope.variable_at(name, segments)
    }

    fn within<'s>(&self, name: &str, segments: &'s [Value]) -> (Variable, &'s [Value]) {
        self.reads.note(|| Read::Variable(PathRef { root: name, segments }.to_path()));
        self.scope.within(name, segments)
    }
}
