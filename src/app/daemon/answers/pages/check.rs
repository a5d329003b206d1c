//! Everything that is wrong at a commit.

use std::sync::{Arc, PoisonError};

use super::Result;
use crate::app::daemon::answers::{EffectiveValues, RequestedRevision, broken};
use crate::checks;
use crate::diagnostic::Severity;
use crate::page::content::{Check, Content, Fault, Policy};
use crate::pipeline::Pipeline;
use crate::policy::Rule;

/// The maximum number of faults.
const MAX_FAULTS: usize = 200;

/// The faults of a revision, and the number of those that are left out.
pub(in crate::app::daemon::answers) type Faults = (Vec<Fault>, usize);

impl EffectiveValues {
    /// Returns what `hierad check` finds without flags.
    pub(super) fn check(&self, pipeline: &Pipeline, requested: &RequestedRevision) -> Result<Content> {
        let (faults, more) = self.faults(pipeline, requested)?;
        let policies = self.workspace.policies_to_try(requested.point()).map_err(|error| error.to_string());
        let policies = policies.map(|policies| policies.rules.iter().map(policy).collect());
        Ok(Content::Check(Check { commit: requested.commit.to_string(), faults, more, policies }))
    }

    /// Returns the faults of a revision, from memory if it was asked for last.
    fn faults(&self, pipeline: &Pipeline, requested: &RequestedRevision) -> Result<Faults> {
        let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
        let last = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, faults)) = &*last()
            && of.upgrade().is_some_and(|of| Arc::ptr_eq(&of, &revision))
        {
            return Ok(faults.clone());
        }
        let base = pipeline.base(requested.point());
        let minimum = self.workspace.check_setting(base).severity.unwrap_or(Severity::Note);
        let mut found = pipeline.check(requested.point(), base).map_err(broken)?;
        found.retain(|fault| fault.severity >= minimum);
        let more = found.len().saturating_sub(MAX_FAULTS);
        let faults: Vec<Fault> = found.into_iter().take(MAX_FAULTS).map(|fault| shown(fault, pipeline)).collect();
        if pipeline.workers.stop.reason().is_none() {
            *last() = Some((Arc::downgrade(&revision), (faults.clone(), more)));
        }
        Ok((faults, more))
    }
}

fn policy(Rule { name, level, message, reviewers, .. }: &Rule) -> Policy {
    Policy {
        name: name.to_string(),
        level: level.as_str(),
        message: message.to_string(),
        reviewers: reviewers.to_vec(),
    }
}

fn shown(fault: checks::Fault, pipeline: &Pipeline) -> Fault {
    Fault {
        severity: fault.severity,
        code: fault.code,
        place: fault.places.first().map(ToString::to_string),
        concerned: fault.concerned(&pipeline.fleet).join(" "),
        text: fault.text,
        fix: fault.fix,
    }
}
