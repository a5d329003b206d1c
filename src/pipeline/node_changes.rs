//! Compares the values of one revision on the same nodes with different profiles: the changes that facts cause, not
//! commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Comparison, DiffFilter, Pipeline, PipelineError, RevisionId};
use crate::blind_spots;
use crate::diagnostic::Diagnostic;
use crate::diff::{self, Diff};
use crate::fleet::{self, ChangedVariable, Distinction, Finding, Fleet, Revision};
use crate::puppet::json::compact;
use crate::report::{Input, Origins, Report};
use crate::value::Value;

/// The code of the finding for a variable that differs. It is not a fault, so `hierad check` does not know it.
const CHANGED_VARIABLE: &str = "changed-variable";

/// The maximum number of characters of a value in a finding.
const MAX_SHOWN_CHARACTERS: usize = 60;

impl Pipeline {
    /// Compares the values at a revision on the nodes `before` with those on the pipeline's own. Both fleets have the
    /// same nodes. The report has a finding for each variable that differs.
    pub fn diff_nodes(
        &self,
        before: &Arc<Fleet>,
        id: RevisionId,
        filter: &DiffFilter<'_>,
    ) -> Result<Comparison, PipelineError> {
        let was = Revision::new(self.revisions.environment(id)?, before.clone(), &self.workers)?;
        let is = self.cached_revision(id)?;
        let revisions = Diff::new(&was, &*is);
        let keys = fleet_keys(revisions);
        // Answers that interpolate different values into the same text are not equal here: facts are what differs.
        let resolve = |revision: &Revision| fleet::resolve(revision, &self.fleet.everywhere(&keys), &self.workers);
        let effective = revisions.map(resolve);
        let changes = diff::changes(effective.as_ref(), &self.workers);
        let judged = (&self.judge.accepted(self.base(id)), self.judge.refused());
        let mut spots = blind_spots::of_revision(&is, &effective.after, judged, &self.disclosure);
        let (nodes, count, changes) = self.filter_changes(filter, &keys, changes, &mut spots);
        let distinctions = Distinction::between([&was.environment, &is.environment], &BTreeSet::new(), &is.fleet)?;
        let unreadable = revisions.map(|revision| self.unreadable(revision).is_some());
        let findings: Vec<Finding> = self.fleet.changed_variables(before)?.into_iter().map(finding).collect();
        let mut report = Report::new(Input {
            commit: Diff::new(self.commit(id)?, self.commit(id)?),
            names: self.names.clone(),
            nodes,
            keys: count,
            former_keys: was.keys.iter().filter(|key| (filter.key)(key)).count(),
            changes,
            uses: BTreeMap::new(),
            origins: Origins::default(),
            distinctions,
            disclosure: &self.disclosure,
            findings: Diff::new(&[], &findings),
            blind_spots: spots,
            is_unreadable: unreadable,
        });
        report.policies = self.judge.policies(self.base(id), &report);
        report.judge = self.judge.id(self.base(id)).map(|id| id.to_string());
        before.take_failure().map_or(Ok(()), Err)?;
        self.fleet_has_stayed()?;
        Ok(Comparison { report, effective })
    }
}

/// Returns the keys of both sides.
fn fleet_keys(revisions: Diff<&Revision>) -> BTreeSet<Arc<str>> {
    revisions.before.keys.union(&revisions.after.keys).cloned().collect()
}

/// `facts.os.release.major changes: "11" -> "12"`
fn finding(changed: ChangedVariable) -> Finding {
    let shown = |value: &Option<Value>| {
        let text = value.as_ref().map_or_else(|| "not set".to_owned(), compact);
        crate::report::shorten(&text, MAX_SHOWN_CHARACTERS)
    };
    let [before, after] = changed.first.each_ref().map(shown);
    let first_only = if changed.nodes.len() == 1 { "" } else { ", on the first of these nodes" };
    let text = format!("the variable {} changes: {before} -> {after}{first_only}", changed.name);
    Finding { diagnostic: Diagnostic::note(CHANGED_VARIABLE, None, text), nodes: changed.nodes }
}
