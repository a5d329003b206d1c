//! Variables that the data gives: a revision is made without them, and once more with each.
//!
//! They are set one after the other, as in a manifest ([`crate::hiera::lookup::WithVariables`] does so for one node).
//! The options that were found on the way apply from then on. Variables that are computed only from others come
//! before all of these, and need no separate revision.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fleet::Fleet;
use crate::fleet::dependencies::Dependencies;
use crate::fleet::nodes::assigned::AssignedValues;
use crate::fleet::revision::Revision;
use crate::fleet::revision::RevisionError;
use crate::fleet::revision::node_view::NodeView;
use crate::hiera::layer::{Environment, VariableText};
use crate::hiera::lookup::unresolved;
use crate::workers::Workers;

impl Revision {
    /// Resolves the hierarchies on all nodes of `fleet`, and finds all keys.
    pub fn new(environment: Environment, fleet: Arc<Fleet>, workers: &Workers) -> Result<Revision, RevisionError> {
        let variables = environment.options.variables.clone();
        let fleet = fleet.with_derived(&environment.derived);
        let mut revision = Revision::of_profiles(environment, fleet, workers)?;
        for variable in variables.iter() {
            revision = revision.with_variable(variable, None, workers)?;
        }
        Ok(revision)
    }

    /// Returns the revision of another `environment`, for the same profiles, read with the same options, whose files
    /// differ at the paths `changed`. Reuses what is equal in this revision; the result is the same as that of
    /// [`Revision::new`].
    pub fn next(
        &self,
        environment: Environment,
        changed: &BTreeSet<String>,
        workers: &Workers,
    ) -> Result<Revision, RevisionError> {
        let Some(unassigned) = &self.unassigned else {
            let fleet = self.fleet.clone().with_derived(&environment.derived);
            if fleet.is_like(&self.fleet) {
                return self.next_of_fleet(environment, changed, workers);
            }
            return Revision::of_profiles(environment, fleet, workers);
        };
        let number = self.variables_set() - 1;
        let variable = environment.options.variables.get(number).cloned();
        let next = unassigned.next(environment, changed, workers)?;
        match variable {
            Some(variable) => next.with_variable(&variable, Some((self, changed)), workers),
            None => Ok(next),
        }
    }

    /// Returns the number of variables of the data that are set.
    fn variables_set(&self) -> usize {
        self.unassigned.as_ref().map_or(0, |unassigned| unassigned.variables_set() + 1)
    }

    /// Sets a variable. `reusable` is another revision with this variable, whose equal parts are reused, with the paths
    /// at which its files differ.
    fn with_variable(
        self,
        variable: &VariableText,
        reusable: Option<(&Revision, &BTreeSet<String>)>,
        workers: &Workers,
    ) -> Result<Revision, RevisionError> {
        let (name, values) = (&variable.name, self.values(variable));
        let environment = self.environment.again()?;
        let mut revision = match reusable.filter(|(reusable, _)| reusable.fleet.extends(&self.fleet, name, &values)) {
            Some((reusable, changed)) => reusable.next_of_fleet(environment, changed, workers)?,
            None => Revision::of_profiles(environment, Arc::new(self.fleet.with_variable(name, values)), workers)?,
        };
        for (owner, classes) in self.options.known() {
            revision.options.get(owner, |_| classes);
        }
        revision.unassigned = Some(Arc::new(self));
        Ok(revision)
    }

    /// Returns the values of a variable.
    fn values(&self, variable: &VariableText) -> AssignedValues {
        let evaluate = |node, dependencies: &Dependencies| {
            let view = NodeView { revision: self, node, dependencies, answers: None };
            view.interpolate(&variable.text).map_err(|error| unresolved(&variable.name, &error))
        };
        self.evaluate_per_class(self.fleet.all(), evaluate)
    }
}
