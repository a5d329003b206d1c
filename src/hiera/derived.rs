//! Top-scope variables that are computed only from other variables of a node, by a manifest or by a match in the
//! settings: `$location = split($trusted['certname'], '-')[0]`.
//!
//! They need neither data nor a hierarchy, so they are computed when profiles are read, and only if they are wanted.
//! A variable that a profile has itself is kept: in Puppet, a manifest that sets it again is an error. A variable
//! that cannot be computed is not set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::scope::{ENVIRONMENT, NodeScope, Scope, Variable, environment_in};
use crate::node::{NodeProfile, Wanted};
use crate::puppet::manifest::Formula;

/// The maximum number of variables, since the inputs of all of them are read together.
const MAX_VARIABLES: usize = 100;

/// A variable that is computed from others.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedVariable {
    /// Its name.
    pub name: Arc<str>,
    /// The formula of its value.
    pub formula: Formula,
}

/// The variables of an environment, in the order in which they are set.
type Set = Arc<[DerivedVariable]>;

/// The derived variables of a revision.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DerivedVariables {
    /// The variables of the only environment.
    only: Set,
    /// The variables of several environments, by environment name.
    of_environments: BTreeMap<Arc<str>, Set>,
}

impl DerivedVariables {
    /// Takes variables in the order in which they are set. If several have the same name, the last one takes the
    /// place of the first. Variables beyond a maximum number are ignored.
    pub fn new(variables: impl IntoIterator<Item = DerivedVariable>) -> DerivedVariables {
        let mut all: Vec<DerivedVariable> = Vec::new();
        for variable in variables {
            match all.iter().position(|known| known.name == variable.name) {
                Some(at) => all[at] = variable,
                None if all.len() < MAX_VARIABLES => all.push(variable),
                None => {}
            }
        }
        DerivedVariables { only: all.into(), ..DerivedVariables::default() }
    }

    /// Takes the variables of several environments, by name. Each node gets those of its own environment.
    pub fn of_environments<'d>(all: impl Iterator<Item = (Arc<str>, &'d DerivedVariables)>) -> DerivedVariables {
        let of_environments = all.filter(|(_, own)| !own.is_empty()).map(|(name, own)| (name, own.only.clone()));
        DerivedVariables { of_environments: of_environments.collect(), ..DerivedVariables::default() }
    }

    /// Returns true if there are no variables.
    pub fn is_empty(&self) -> bool {
        self.sets().all(|set| set.is_empty())
    }

    /// Returns true if a variable is called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.sets().flat_map(|set| set.iter()).any(|variable| *variable.name == *name)
    }

    fn sets(&self) -> impl Iterator<Item = &Set> {
        [&self.only].into_iter().chain(self.of_environments.values())
    }

    /// Returns the wanted variables and those that they are computed from, and adds all names and entries that these
    /// need to `wanted`.
    #[must_use]
    pub fn wanted(&self, wanted: &mut Wanted) -> DerivedVariables {
        if !self.of_environments.is_empty() {
            wanted.add(ENVIRONMENT, &[]);
        }
        DerivedVariables {
            only: select_wanted(&self.only, wanted),
            of_environments: self
                .of_environments
                .iter()
                .map(|(name, set)| (name.clone(), select_wanted(set, wanted)))
                .collect(),
        }
    }

    /// Sets the variables in a profile that has everything they are computed from.
    pub fn set(&self, profile: &mut NodeProfile) {
        let of_environment = || self.of_environments.get(&*environment_in(&NodeScope::new(profile))?);
        let set = if self.of_environments.is_empty() { Some(&self.only) } else { of_environment() };
        for variable in set.into_iter().flat_map(|set| set.iter()) {
            if profile.has_variable(&variable.name) {
                continue;
            }
            let scope = NodeScope::new(profile);
            let value = variable.formula.value(&|name| match scope.variable(name) {
                Variable::Value(value) => Some(value),
                _ => None,
            });
            if let Some(value) = value {
                profile.set_variable(&variable.name, Ok(value));
            }
        }
    }
}

fn select_wanted(set: &Set, wanted: &mut Wanted) -> Set {
    let names = wanted.names().map(|names| names.map(str::to_owned).collect::<BTreeSet<String>>());
    let Some(mut names) = names else { return set.clone() };
    let mut found = Vec::new();
    // Each is computed from those before it.
    for variable in set.iter().rev() {
        if names.contains(&*variable.name) {
            let inputs = variable.formula.inputs();
            names.extend(inputs.iter().map(|(name, _)| (*name).to_owned()));
            for (name, entries) in &inputs {
                wanted.add(name, entries);
            }
            wanted.add(&variable.name, &[]);
            found.push(variable.clone());
        }
    }
    found.reverse();
    found.into()
}
