//! Records what an evaluation depends on.
//!
//! Two nodes on which all dependencies of an evaluation are equal get the same result. The record is the basis of
//! node classes (`node_classes`); it knows nothing of how nodes are told apart.

mod answer_classes;

use std::cell::RefCell;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::fleet::nodes::VariableClasses;
use crate::fleet::nodes::variables::{FleetScope, PathRef, VariablePath};
use crate::fleet::template::Evaluated;
use crate::hiera::Outcome;
use crate::hiera::layer::LayerId;
use crate::hiera::scope::{Scope, Variable};
use crate::hiera::sources::OptionsOf;
use crate::value::Value;
use crate::value::hole::Hole;

pub(in crate::fleet) use answer_classes::AnswerClasses;

/// One input of an evaluation that may differ from node to node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::fleet) enum Dependency {
    /// A variable, or a place inside one.
    Variable(VariablePath),
    /// A variable, or a place inside one, of which it only matters if it is a text that can be put into others
    /// unread.
    Hole(VariablePath),
    /// The data of a layer for a root key.
    Key(Arc<str>, LayerId),
    /// The options in effect.
    Options(OptionsOf),
    /// The answer for a key that was looked up for another one.
    Answer(Arc<AnswerClasses>),
}

/// Dependencies in the order in which they were recorded. The number says how many of the resolved levels of a layer
/// were searched for a key; it is 1 for all other dependencies.
pub(in crate::fleet) type DependencySet = IndexMap<Dependency, usize, foldhash::fast::RandomState>;

/// The dependencies of one evaluation, recorded while it runs.
pub(in crate::fleet) struct Dependencies {
    set: RefCell<DependencySet>,
    is_recording: bool,
    /// The places inside variables that were not read before.
    missed: RefCell<Vec<VariablePath>>,
    /// The holes by variable; `None` if every variable counts as read.
    holes: RefCell<Option<Holes>>,
}

/// The holes of one evaluation, with the variables in them.
pub(in crate::fleet) type Holes =
    IndexMap<VariablePath, (Arc<Hole>, Arc<VariableClasses>), foldhash::fast::RandomState>;

impl Dependencies {
    /// Makes an empty record, which stays empty unless `is_recording`.
    pub(in crate::fleet) fn new(is_recording: bool) -> Dependencies {
        Dependencies { set: RefCell::default(), is_recording, missed: RefCell::default(), holes: RefCell::default() }
    }

    /// Lets variables be put into texts unread, until [`Dependencies::close`]. This has no effect if nothing is
    /// recorded.
    pub(in crate::fleet) fn open(&self) {
        if self.is_recording {
            *self.holes.borrow_mut() = Some(Holes::default());
        }
    }

    /// Ends what [`Dependencies::open`] began: makes the result of an evaluation free of holes. The variables in
    /// holes that were read become dependencies.
    pub(in crate::fleet) fn close(&self, outcome: Outcome) -> Evaluated {
        let Some(holes) = self.holes.take().filter(|holes| !holes.is_empty()) else {
            return Evaluated { outcome, template: None };
        };
        let filling = |number| holes.get_index(number).map(|(path, (_, classes))| (path, classes));
        let evaluated = Evaluated::close(outcome, &filling);
        let read = holes.into_iter().filter(|(_, (hole, _))| hole.is_read());
        read.for_each(|(path, _)| self.record(|| Dependency::Variable(path)));
        evaluated
    }

    /// Returns the hole for a variable of the node with `scope`, or `None` if the variable must be read.
    fn hole(&self, name: &str, scope: FleetScope<'_>) -> Option<Arc<Hole>> {
        let mut holes = self.holes.borrow_mut();
        let holes = holes.as_mut()?;
        // Two revisions may give different values to a variable of the data, which a template would not show.
        let path = VariablePath::parse(name).filter(|path| !scope.fleet.assigns(&path.root))?;
        self.record(|| Dependency::Hole(path.clone()));
        if let Some((hole, _)) = holes.get(&path) {
            return Some(hole.clone());
        }
        let classes = scope.fleet.known_classes(path.by_ref())?;
        let text = classes.on(scope.node).plain_text(&path.segments)?;
        let hole = Arc::new(Hole::new(holes.len(), text.to_arc()));
        holes.insert(path, (hole.clone(), classes));
        Some(hole)
    }

    /// Returns the places inside variables that the evaluation missed: they were not read before, so its result is
    /// unknown.
    pub(in crate::fleet) fn missed(&self) -> Vec<VariablePath> {
        self.missed.take()
    }

    /// Records a dependency.
    pub(in crate::fleet) fn record(&self, dependency: impl FnOnce() -> Dependency) {
        self.record_levels(|| (dependency(), 1));
    }

    /// Records a dependency on the first levels of a layer, and their number.
    pub(in crate::fleet) fn record_levels(&self, dependency: impl FnOnce() -> (Dependency, usize)) {
        if self.is_recording {
            let (dependency, levels) = dependency();
            let mut set = self.set.borrow_mut();
            let known = set.entry(dependency).or_default();
            *known = levels.max(*known);
        }
    }

    /// Returns true if dependencies are recorded.
    pub(in crate::fleet) fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// Runs a part of the evaluation, and returns its dependencies along with its result.
    pub(in crate::fleet) fn record_part<T>(&self, part: impl FnOnce() -> T) -> (T, DependencySet) {
        let before = self.set.take();
        // A lookup asks for options once, so the part knows those that were asked for before it.
        let is_of_options = |(dependency, _): &(&Dependency, &usize)| matches!(dependency, Dependency::Options(_));
        let known = before.iter().filter(is_of_options).map(|(dependency, levels)| (dependency.clone(), *levels));
        self.set.replace(known.collect());
        let result = part();
        let part_dependencies = self.set.replace(before);
        for (dependency, levels) in &part_dependencies {
            self.record_levels(|| (dependency.clone(), *levels));
        }
        (result, part_dependencies)
    }

    pub(in crate::fleet) fn into_set(self) -> DependencySet {
        self.set.into_inner()
    }
}

/// The variables of a node; each access is recorded.
pub(in crate::fleet) struct RecordingScope<'a> {
    pub(in crate::fleet) scope: FleetScope<'a>,
    pub(in crate::fleet) dependencies: &'a Dependencies,
}

impl RecordingScope<'_> {
    /// Returns the values at a place inside a variable, and records the access.
    fn classes(&self, root: &str, segments: &[Value]) -> Arc<VariableClasses> {
        let path = PathRef { root, segments };
        self.dependencies.record(|| Dependency::Variable(path.to_path()));
        self.scope.fleet.known_classes(path).unwrap_or_else(|| {
            self.dependencies.missed.borrow_mut().push(path.to_path());
            self.scope.fleet.unread(root)
        })
    }
}

impl Scope for RecordingScope<'_> {
    fn variable(&self, name: &str) -> Variable {
        self.variable_at(name, &[])
    }

    fn variable_at(&self, name: &str, segments: &[Value]) -> Variable {
        self.classes(name, segments).on(self.scope.node).variable(segments)
    }

    fn within<'s>(&self, name: &str, segments: &'s [Value]) -> (Variable, &'s [Value]) {
        self.classes(name, segments).on(self.scope.node).within(segments)
    }

    fn may_be_refused(&self) -> bool {
        self.scope.may_be_refused()
    }

    fn hole(&self, name: &str) -> Option<Arc<Hole>> {
        self.dependencies.hole(name, self.scope)
    }
}
