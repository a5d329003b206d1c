//! Finds the error of a revision in which nothing can be looked up.

use std::sync::Arc;

use crate::fleet::resolve::resolve;
use crate::fleet::revision::Revision;
use crate::hiera::layer::Layer;
use crate::hiera::{LookupError, Outcome};
use crate::workers::Workers;

/// A key that no data has: its lookup fails only where every lookup fails.
const PROBE: &str = "hierad_probe";

impl Revision {
    /// Returns the error with which lookups fail, if there are keys and none of them has a value on any node. This is
    /// cheap if lookups work.
    pub fn fault_of_every_key(&self, workers: &Workers) -> Option<LookupError> {
        let fault = self.fault_of_any_key(workers)?;
        let effective = resolve(self, &self.fleet.everywhere(self.keys.iter()), workers);
        let mut answers = effective.keys.values().flatten();
        let has_value = answers.any(|answer| matches!(&*answer.outcome, Outcome::Found(_)));
        (!has_value).then_some(fault)
    }

    /// Returns an error with which a lookup of any key may fail on some node, or `None` if there is none.
    fn fault_of_any_key(&self, workers: &Workers) -> Option<LookupError> {
        let environment = &self.environment;
        if let Some(fault) = &environment.fault {
            return Some(fault.clone());
        }
        let fails =
            |layer: &Layer| layer.config.as_ref().is_err() || layer.config.as_ref().is_ok_and(|c| c.sound().is_err());
        let may_fail = environment.folders().is_some()
            || environment.layers().any(fails)
            || self.levels.iter().any(|levels| !levels.any_key_classes.is_empty());
        if !may_fail {
            return None;
        }
        let probe = self.fleet.everywhere([&Arc::from(PROBE)]);
        let answers = resolve(self, &probe, workers).keys.into_values().flatten();
        answers.into_iter().find_map(|answer| match &*answer.outcome {
            Outcome::Failed(error) => Some(error.clone()),
            _ => None,
        })
    }
}
