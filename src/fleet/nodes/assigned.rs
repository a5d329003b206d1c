//! A fleet whose nodes have additional variables: one from the data of a revision, or those that are computed from
//! others.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::fleet::Fleet;
use crate::fleet::nodes::variables::VariablePath;
use crate::hiera::derived::DerivedVariables;
use crate::node::{Batch, NodeSet, Partition, ProfileError, ProfileSource, Wanted};
use crate::value::Value;

/// The values of a variable by sets of nodes, which together are all nodes. Each is a value, or the reason why it is
/// unknown.
pub(in crate::fleet) type AssignedValues = Vec<(NodeSet, Result<Value, Arc<str>>)>;

/// Variables that the nodes have beyond those of another fleet.
pub(super) struct Assigned {
    base: Arc<Fleet>,
    variables: Variables,
}

/// Variables that the profiles of a fleet do not have.
#[derive(Clone)]
enum Variables {
    /// A variable that data gives.
    Given(Arc<str>, AssignedValues),
    /// Variables that are computed from others.
    Derived(DerivedVariables),
}

impl Variables {
    /// Returns true if `name` may mean one of them.
    fn may_include(&self, name: &str) -> bool {
        match self {
            Variables::Given(variable, _) => may_mean(name, variable),
            Variables::Derived(derived) => name.rsplit("::").next().is_some_and(|leaf| derived.has(leaf)),
        }
    }
}

impl Fleet {
    /// Returns the same nodes with the variable `name`. A node whose profile sets it keeps that value.
    pub(in crate::fleet) fn with_variable(self: &Arc<Fleet>, name: &Arc<str>, values: AssignedValues) -> Fleet {
        let sets = values.iter().map(|(nodes, _)| nodes.clone()).collect();
        let source = AssignedSource {
            fleet: self.clone(),
            added: AddedVariables::Given {
                name: name.clone(),
                partition: Partition::of_classes(self.len(), sets),
                values: values.iter().map(|(_, value)| value.clone()).collect(),
            },
        };
        self.with_assigned(source, Variables::Given(name.clone(), values))
    }

    /// Returns the same nodes with the variables that are computed from others, replacing those of this fleet.
    pub(in crate::fleet) fn with_derived(self: Arc<Fleet>, derived: &DerivedVariables) -> Arc<Fleet> {
        let base = match &self.assigned {
            Some(Assigned { variables: Variables::Derived(own), .. }) if own == derived => return self,
            Some(Assigned { variables: Variables::Derived(_), base }) => base,
            _ => &self,
        };
        if derived.is_empty() {
            return base.clone();
        }
        let source = AssignedSource { fleet: base.clone(), added: AddedVariables::Derived(derived.clone()) };
        Arc::new(base.with_assigned(source, Variables::Derived(derived.clone())))
    }

    /// Returns the same nodes with further variables, which `source` reads.
    fn with_assigned(self: &Arc<Fleet>, source: AssignedSource, variables: Variables) -> Fleet {
        let known = self.variables.read().unwrap_or_else(PoisonError::into_inner);
        let (unaffected, affected): (Vec<_>, Vec<_>) =
            known.iter().partition(|(path, _)| !variables.may_include(&path.root));
        let unaffected = unaffected.into_iter().map(|(path, classes)| (path.clone(), classes.clone())).collect();
        let mut pending: Vec<VariablePath> = affected.into_iter().map(|(path, _)| path.clone()).collect();
        drop(known);
        pending.extend(self.pending.iter().cloned());
        Fleet {
            has_refused: self.has_refused,
            names: self.names.clone(),
            places: self.places.clone(),
            by_name: self.by_name.clone(),
            source: Arc::new(source),
            variables: RwLock::new(unaffected),
            reading: Mutex::default(),
            failure: self.failure.clone(),
            pending,
            scanned: self.scanned.clone(),
            all: self.all.clone(),
            left_out: self.left_out.clone(),
            guessed: self.guessed.clone(),
            assigned: Some(Assigned { base: self.clone(), variables }),
            has_catalogs: self.has_catalogs,
            catalogs: OnceLock::new(),
        }
    }

    /// Returns true if this fleet is `base` plus the variable `name` with these values.
    pub(in crate::fleet) fn extends(&self, base: &Fleet, name: &str, values: &AssignedValues) -> bool {
        let assigned = self.assigned.as_ref();
        let is_given = |variables: &Variables| matches!(variables, Variables::Given(given, known) if **given == *name && known == values);
        assigned.is_some_and(|assigned| is_given(&assigned.variables) && assigned.base.is_like(base))
    }

    /// Returns true if the nodes of two fleets, which come from the same profiles, have the same variables.
    pub(in crate::fleet) fn is_like(&self, other: &Fleet) -> bool {
        match (&self.assigned, &other.assigned) {
            _ if std::ptr::eq(self, other) => true,
            (Some(_), Some(Assigned { base, variables: Variables::Given(name, values) })) => {
                self.extends(base, name, values)
            }
            (Some(own), Some(Assigned { base, variables: Variables::Derived(derived) })) => {
                matches!(&own.variables, Variables::Derived(known) if known == derived) && own.base.is_like(base)
            }
            _ => false,
        }
    }

    /// Returns true if the revision gives a variable that may be called `name`.
    pub(in crate::fleet) fn assigns(&self, name: &str) -> bool {
        self.assigned
            .as_ref()
            .is_some_and(|assigned| assigned.variables.may_include(name) || assigned.base.assigns(name))
    }
}

/// Returns true if the variable `root` may be the top-scope variable `name`.
fn may_mean(root: &str, name: &str) -> bool {
    root.rsplit("::").next() == Some(name)
}

/// The profiles of a fleet with further variables.
struct AssignedSource {
    fleet: Arc<Fleet>,
    added: AddedVariables,
}

/// The variables that are added to profiles.
enum AddedVariables {
    /// A variable, with the value of each class of nodes.
    Given { name: Arc<str>, partition: Partition, values: Vec<Result<Value, Arc<str>>> },
    /// Variables that are computed from others.
    Derived(DerivedVariables),
}

impl ProfileSource for AssignedSource {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let mut wanted = wanted.clone();
        match &self.added {
            AddedVariables::Given { name, partition, values } => {
                // Read the variable from profiles, too: those that set it keep their value.
                wanted.add(name, &[]);
                self.fleet.source.read(&wanted, &|mut batch| {
                    for (_, profile) in batch.profiles.iter_mut().filter(|(_, profile)| !profile.has_variable(name)) {
                        if let Some(node) = self.fleet.find(&profile.name) {
                            profile.set_variable(name, values[partition.class_of(node)].clone());
                        }
                    }
                    each(batch);
                })
            }
            AddedVariables::Derived(derived) => {
                let derived = derived.wanted(&mut wanted);
                self.fleet.source.read(&wanted, &|mut batch| {
                    batch.profiles.iter_mut().for_each(|(_, profile)| derived.set(profile));
                    each(batch);
                })
            }
        }
    }

    fn path(&self, file: u32) -> String {
        self.fleet.source.path(file)
    }

    fn declaration(&self, file: u32) -> usize {
        self.fleet.source.declaration(file)
    }

    fn fetched(&self) -> Option<u64> {
        self.fleet.source.fetched()
    }

    fn answers(&self) -> Option<String> {
        self.fleet.source.answers()
    }

    fn is_current(&self) -> bool {
        self.fleet.source.is_current()
    }

    fn has_changed(&self) -> bool {
        self.fleet.source.has_changed()
    }
}
