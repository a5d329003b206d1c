//! The variables that differ between two fleets of the same nodes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::fleet::Fleet;
use crate::fleet::nodes::distinctions::names_of;
use crate::fleet::nodes::referenced::ReferencedVariables;
use crate::fleet::nodes::variables::VariablePath;
use crate::hiera::layer::Environment;
use crate::node::{Assignment, NodeId, NodeProfile, NodeSet, ProfileError, REFUSAL, WhatIf};
use crate::tree::TreeError;
use crate::value::Value;
use crate::workers::Workers;

/// A variable that differs on some nodes.
#[derive(Debug, Clone)]
pub struct ChangedVariable {
    /// Its name, dotted access included: `facts.os.release.major`.
    pub name: String,
    /// The nodes on which it differs.
    pub nodes: NodeSet,
    /// Its values on the first of these nodes; `None` where it is not set.
    pub first: [Option<Value>; 2],
}

impl Fleet {
    /// Returns the variables that the files of an environment refer to, and those that values of these refer to in
    /// turn on a node, by name, with their values there; `None` where one is not set. Those that were not read yet are
    /// left out: profiles are read for revisions, not for each name in a fact.
    pub fn variables_read(
        &self,
        node: NodeId,
        environment: &Environment,
        workers: &Workers,
    ) -> Result<BTreeMap<String, Option<Value>>, TreeError> {
        let mut referenced = ReferencedVariables::default();
        referenced.add(environment, workers)?;
        let mut left: Vec<VariablePath> = referenced.paths().cloned().collect();
        let mut found = BTreeMap::new();
        while let Some(path) = left.pop() {
            let Some(classes) = self.known_classes(path.by_ref()) else { continue };
            let Entry::Vacant(place) = found.entry(names_of(&path).0) else { continue };
            let reading = classes.on(node);
            left.extend(reading.mentions().variables.iter().filter_map(|name| VariablePath::parse(name)));
            place.insert(reading.value(&path.segments).cloned());
        }
        Ok(found)
    }

    /// Returns the texts that a variable has on the nodes, or `None` if there are more than `most`, or other values, or
    /// if it was not read yet.
    pub fn texts_of(&self, name: &str, most: usize) -> Option<BTreeSet<String>> {
        let path = VariablePath::parse(name)?;
        let classes = self.known_classes(path.by_ref())?;
        let mut texts = BTreeSet::new();
        for value in classes.readings.iter().filter_map(|reading| reading.value(&path.segments)) {
            texts.insert(value.as_str().filter(|_| value.secrecy().is_none())?.to_owned());
            if texts.len() > most {
                return None;
            }
        }
        Some(texts)
    }

    /// Returns the names of the variables that were asked for so far.
    pub fn known_variables(&self) -> BTreeSet<String> {
        self.paths().iter().filter(|path| *path.root != *REFUSAL).map(|path| names_of(path).0).collect()
    }

    /// Returns a fleet of one profile with other values for some variables, which reads what this one reads.
    #[must_use]
    pub fn only(&self, profile: NodeProfile, set: &[Assignment]) -> Fleet {
        let source = WhatIf::new(Arc::new(vec![profile]), set.to_vec());
        Fleet::load(Arc::new(source), &ReferencedVariables::of(self), &|_| true).0
    }

    /// Returns the variables whose values differ from those in the fleet `before`, sorted by name. Only variables
    /// that one of the two knows are compared. Both fleets must have the same nodes.
    pub fn changed_variables(&self, before: &Fleet) -> Result<Vec<ChangedVariable>, ProfileError> {
        self.read_as(before)?;
        before.read_as(self)?;
        let paths = self.paths();
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for path in paths {
            let name = names_of(&path).0;
            if !seen.insert(name.clone()) {
                continue;
            }
            let [old, new] = [before, self].map(|fleet| fleet.variable_classes(path.by_ref()));
            let differs = |node: &_| old.on(*node) != new.on(*node);
            let nodes: NodeSet = self.iter().map(|(node, _)| node).filter(differs).collect();
            let Some(first) = nodes.first() else { continue };
            let value = |reading: &super::variables::Reading| reading.value(&path.segments).cloned();
            found.push(ChangedVariable { name, nodes, first: [old, new].map(|classes| value(classes.on(first))) });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }
}
