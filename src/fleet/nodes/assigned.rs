//! A fleet whose nodes have one more variable, which the data of a revision gives.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::fleet::Fleet;
use crate::node::{Batch, NodeSet, Partition, ProfileError, ProfileSource, Wanted};
use crate::value::Value;

/// A variable by sets of nodes, all nodes together: its value, or the reason why that is not known.
pub(in crate::fleet) type AssignedValues = Vec<(NodeSet, Result<Value, Arc<str>>)>;

/// A variable that the nodes have beyond those of another fleet.
pub(super) struct Assigned {
    base: Arc<Fleet>,
    name: Arc<str>,
    values: AssignedValues,
}

impl Fleet {
    /// Returns the same nodes with the variable `name`. A node whose profile has it keeps what that says.
    pub(in crate::fleet) fn with_variable(self: &Arc<Fleet>, name: &Arc<str>, values: AssignedValues) -> Fleet {
        let known = self.variables.read().unwrap_or_else(PoisonError::into_inner);
        let others = known.iter().filter(|(path, _)| !may_mean(&path.root, name));
        let variables = others.map(|(path, classes)| (path.clone(), classes.clone())).collect();
        drop(known);
        let sets = values.iter().map(|(nodes, _)| nodes.clone()).collect();
        let source = AssignedSource {
            fleet: self.clone(),
            name: name.clone(),
            partition: Partition::of_classes(self.len(), sets),
            values: values.iter().map(|(_, value)| value.clone()).collect(),
        };
        Fleet {
            names: self.names.clone(),
            places: self.places.clone(),
            by_name: self.by_name.clone(),
            source: Arc::new(source),
            variables: RwLock::new(variables),
            reading: Mutex::default(),
            scanned: self.scanned.clone(),
            all: self.all.clone(),
            left_out: self.left_out.clone(),
            guessed: self.guessed.clone(),
            assigned: Some(Assigned { base: self.clone(), name: name.clone(), values }),
            has_catalogs: self.has_catalogs,
            catalogs: OnceLock::new(),
        }
    }

    /// Returns true if this fleet is `base` with the variable `name` of these values.
    pub(in crate::fleet) fn is_with(&self, base: &Fleet, name: &str, values: &AssignedValues) -> bool {
        let assigned = self.assigned.as_ref();
        assigned.is_some_and(|own| *own.name == *name && own.values == *values && own.base.is_like(base))
    }

    /// Returns true if the nodes of two fleets, which come from the same profiles, have the same variables.
    pub(in crate::fleet) fn is_like(&self, other: &Fleet) -> bool {
        match (&self.assigned, &other.assigned) {
            _ if std::ptr::eq(self, other) => true,
            (Some(_), Some(assigned)) => self.is_with(&assigned.base, &assigned.name, &assigned.values),
            _ => false,
        }
    }

    /// Returns true if the data gives a variable that may be called `name`.
    pub(in crate::fleet) fn assigns(&self, name: &str) -> bool {
        self.assigned.as_ref().is_some_and(|assigned| may_mean(name, &assigned.name) || assigned.base.assigns(name))
    }
}

/// Returns true if the variable `root` may be the one of the top scope that is called `name`.
fn may_mean(root: &str, name: &str) -> bool {
    root.rsplit("::").next() == Some(name)
}

/// The profiles of a fleet with one more variable.
struct AssignedSource {
    fleet: Arc<Fleet>,
    name: Arc<str>,
    partition: Partition,
    /// The value of each class.
    values: Vec<Result<Value, Arc<str>>>,
}

impl ProfileSource for AssignedSource {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        // A profile that has the variable itself must show it.
        let mut wanted = wanted.clone();
        wanted.add(&self.name, &[]);
        self.fleet.source.read(&wanted, &|mut batch| {
            for (_, profile) in batch.profiles.iter_mut().filter(|(_, profile)| !profile.has_variable(&self.name)) {
                if let Some(node) = self.fleet.find(&profile.name) {
                    profile.set_variable(&self.name, self.values[self.partition.class_of(node)].clone());
                }
            }
            each(batch);
        })
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
