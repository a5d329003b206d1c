//! Changes of the facts of nodes: their reports, their place in the history, and the facts of a time.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::app::{NodePair, Result, Workspace};
use crate::event::{CommitEvent, EventKind};
use crate::git::{BranchName, CommitId};
use crate::history::Query;
use crate::history::commits::Span;
use crate::inventory::FactsChange;
use crate::pipeline::RevisionId;
use crate::report::Report;
use crate::workers::Workers;

/// The changes of facts that a daemon has noted, for the history of a branch.
pub struct FactsHistory {
    workspace: Workspace,
    branch: Option<BranchName>,
    /// The newest first.
    changes: Vec<FactsChange>,
}

impl Workspace {
    /// Returns the noted changes of facts between two times, in seconds since 1970, for values when `branch` is
    /// deployed.
    pub fn facts_history(&self, branch: Option<&BranchName>, span: &Span) -> FactsHistory {
        // Nobody is the author of a fact.
        let has_some = self.what_if.is_empty() && span.author.is_none();
        let mut changes = if has_some { self.inventory(None).noted_changes() } else { Vec::new() };
        changes.retain(|change| {
            span.since.is_none_or(|since| change.time >= since) && span.until.is_none_or(|until| change.time <= until)
        });
        changes.reverse();
        // Branches that have the same last commit have the same changes.
        let mut seen = BTreeSet::new();
        changes.retain(|change| seen.insert((change.commit, change.before.clone(), change.after.clone())));
        FactsHistory { workspace: self.clone(), branch: branch.cloned(), changes }
    }

    /// Returns the repository with the facts of a time, in seconds since 1970, or `None` if none of that time are kept.
    pub fn with_facts_of(&self, time: i64) -> Option<Workspace> {
        let changes = self.inventory(None).noted_changes();
        let later = changes.iter().position(|change| change.time > time).unwrap_or(changes.len());
        let answers = match later.checked_sub(1) {
            Some(last) => &changes[last].after,
            None => &changes.first()?.before,
        };
        Some(self.with_answers(Some(answers.clone())))
    }
}

impl FactsHistory {
    /// Returns the same with other threads.
    pub fn with_workers(mut self, workers: Workers) -> FactsHistory {
        self.workspace.workers = workers;
        self
    }

    /// Returns the reports on the changes that followed a commit and change what is asked for, the newest first.
    pub fn after(&self, commit: CommitId, query: &Query<'_>) -> Result<Vec<Report>> {
        let changes = self.changes.iter().filter(|change| change.commit == commit);
        let reports = changes.map(|change| self.report(change, query));
        Ok(reports.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    fn report(&self, change: &FactsChange, query: &Query<'_>) -> Result<Option<Report>> {
        let [before, after] = [&change.before, &change.after].map(|set| self.workspace.with_answers(Some(set.clone())));
        let id = RevisionId::Commit(change.commit);
        let Some(pair) = NodePair::of([&before, &after], self.branch.as_ref(), id, &|_| {})? else { return Ok(None) };
        let NodePair { pipeline, before, .. } = &pair;
        let is_wanted =
            |found: &_| query.needle.as_ref().is_none_or(|needle| needle.is_in(found, &pipeline.disclosure));
        let found = pipeline.whole(|| pipeline.facts_entry(before, id, &query.filter, is_wanted))?;
        let Some(mut report) = found else { return Ok(None) };
        report.findings.extend(pair.findings());
        let (branch, commit) = (change.branch.clone(), change.commit);
        report.event = Some(CommitEvent::new(branch, Some(commit), commit, EventKind::Facts));
        report.facts_time = Timestamp::from_second(change.time).ok().map(|time| time.to_string());
        Ok(Some(report))
    }
}
