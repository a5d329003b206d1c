//! Compares a change as it will be once merged, if the target branch has moved on since it began.
//!
//! A report shows the changes since the merge base, and the author of a change chooses the commit where it begins.
//! Since then, the branch may have removed a level that hides the change there, or added a lookup.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::judge::{Sides, weightiest_first};
use super::{DiffFilter, Pipeline, PipelineError, RevisionId};
use crate::blind_spots::{changed_nodes, nodes_of};
use crate::diff::Changes;
use crate::git::Merge;
use crate::node::NodeSet;
use crate::report::{BlindSpot, PolicyHit, Remedy, Report, count};
use crate::workers::Workers;

/// The advice if the result of the merge is unknown.
const NOT_MERGED: &str = "the target branch has moved on, and no policy judged the result of a merge: merge the target \
     branch into this one, and run hierad again";

/// The change as it will be on the branch.
pub(super) struct OnceMerged {
    /// The two sides that are compared: the branch, and the result of the merge.
    pub(super) sides: Sides,
    /// The report on it, or the reason why there is none, such as a conflict.
    pub(super) report: Result<Report, String>,
}

impl Sides {
    /// Returns the tip of the target branch, and the result of the merge. Returns `None` if that tip is the revision
    /// where the commits begin, or if they are not to be merged.
    fn once_merged(&self) -> Option<Sides> {
        let (RevisionId::Commit(base), RevisionId::Commit(theirs)) = (self.before, self.after) else { return None };
        let Some(RevisionId::Commit(ours)) = self.target.filter(|target| self.is_request && *target != self.before)
        else {
            return None;
        };
        let after = RevisionId::Merged(Merge { base, ours, theirs });
        Some(Sides { branch: self.branch.clone(), ..Sides::of(RevisionId::Commit(ours), after) })
    }
}

impl Pipeline {
    /// Compares the target branch with the result of the merge.
    pub(super) fn once_merged(
        &self,
        sides: &Sides,
        filter: &DiffFilter<'_>,
        workers: &Workers,
    ) -> Result<Option<OnceMerged>, PipelineError> {
        let Some(sides) = sides.once_merged() else { return Ok(None) };
        let report = match self.compared(&sides, filter, workers, false) {
            Ok(compared) => Ok(compared.report),
            Err(error @ (PipelineError::Stopped(_) | PipelineError::ProfilesChanged)) => return Err(error),
            Err(error) => Err(error.to_string()),
        };
        Ok(Some(OnceMerged { sides, report }))
    }
}

impl OnceMerged {
    /// Returns a blind spot if the merge changes keys on nodes that `changes` does not have, if its data cannot be
    /// compared, or if the change cannot be merged. The fleet has `all` nodes.
    pub(super) fn blind_spot(&self, changes: &Changes, all: usize) -> Option<BlindSpot> {
        let report = match &self.report {
            Ok(report) => report,
            Err(reason) => return Some(self.spot(&format!("the changes are unknown: {reason}"))),
        };
        let known = changed_nodes(changes);
        if report.is_unreadable.before || report.is_unreadable.after {
            return Some(self.spot("nothing can be compared"));
        }
        let (mut keys, mut nodes) = (BTreeSet::<Arc<str>>::new(), NodeSet::new());
        for change in &report.changes {
            let others =
                known.get(&change.key).map_or_else(|| change.nodes.clone(), |known| change.nodes.difference(known));
            if !others.is_empty() {
                keys.insert(change.key.clone());
                nodes.union_with(&others);
            }
        }
        let first = keys.first()?;
        let finding = match keys.len() {
            1 => format!("{first} also changes on {}", nodes_of(&nodes, all)),
            number => format!("{} also change on {}", count(number, "key"), nodes_of(&nodes, all)),
        };
        Some(BlindSpot { keys: keys.into_iter().collect(), nodes, ..self.spot(&finding) })
    }

    fn spot(&self, finding: &str) -> BlindSpot {
        let branch = self.branch();
        BlindSpot {
            code: "merged-otherwise",
            headline: format!("once merged into {branch}, {finding}"),
            message: format!("{branch} has moved on since this branch left it: once this is merged, {finding}"),
            fix: Some(Remedy::words(format!("merge {branch} into this branch or rebase it, and run hierad again"))),
            ..BlindSpot::default()
        }
    }

    /// Adds to a report the hits of policies on the result of the merge, by the settings of the revision `judge`.
    pub(super) fn judged(self, pipeline: &Pipeline, judge: RevisionId, mut report: Report) -> Report {
        let circumstances = format!("merged into {}", self.branch());
        match self.report {
            Ok(merged) => pipeline.add_hits(&mut report.policies, merged, pipeline, &circumstances),
            Err(reason) if pipeline.judge.has_policies(judge) => {
                report.policies.push(PolicyHit::unreadable(NOT_MERGED, format!("{circumstances}: {reason}")));
            }
            Err(_) => {}
        }
        weightiest_first(&mut report.policies);
        report
    }

    /// Returns the name of the target branch or, if it is unknown, the id of its tip.
    fn branch(&self) -> String {
        match (&self.sides.branch, self.sides.before) {
            (Some(branch), _) => branch.to_string(),
            (None, RevisionId::Commit(tip)) => tip.short(),
            (None, _) => "the branch".to_owned(),
        }
    }
}
