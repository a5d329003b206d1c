//! Compares the values of one revision on the same nodes with different profiles, or on two nodes: the changes that
//! facts cause, not commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Comparison, DiffFilter, Pipeline, PipelineError, RevisionId};
use crate::diagnostic::Diagnostic;
use crate::diff::{self, Change, Changes, Diff};
use crate::fleet::{self, ChangedVariable, Distinction, Effective, Finding, Fleet, Revision};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::puppet::json::compact;
use crate::report::{Between, BlindSpot, CHANGED_VARIABLE, Input, Report};
use crate::value::Value;
use crate::{blind_spots, causes};

/// The maximum number of characters of a value in a finding.
const MAX_SHOWN_CHARACTERS: usize = 60;

/// One revision on two fleets.
struct Compared<'c> {
    before: &'c Arc<Fleet>,
    id: RevisionId,
    revisions: Diff<&'c Revision>,
    effective: &'c Diff<Effective>,
}

impl Pipeline {
    /// Compares the values at a revision on the nodes `before` with those on the pipeline's own. Nodes at the same
    /// position in both fleets are compared with each other: they are the same, unless the report is `between` two
    /// nodes. The report has a finding for each variable that differs. Policies are about changes of nodes, so none
    /// judges how two nodes differ.
    pub fn diff_nodes(
        &self,
        before: &Arc<Fleet>,
        id: RevisionId,
        filter: &DiffFilter<'_>,
        between: Between,
    ) -> Result<Comparison, PipelineError> {
        let was = Revision::new(self.revisions.environment(id)?, before.clone(), &self.workers)?;
        let is = self.cached_revision(id)?;
        let revisions = Diff::new(&was, &*is);
        let keys = fleet_keys(revisions);
        let (effective, changes) = self.changes_between(revisions, &keys);
        let mut spots = self.spots_between(revisions, &effective, id, &between);
        let (nodes, _, mut changes) = self.filter_changes(filter, &keys, changes, &mut spots);
        let is_of_nodes = matches!(between, Between::Nodes(_));
        if is_of_nodes {
            // Two secrets that are the same are of no interest, however each is encrypted.
            changes.reencrypted.clear();
        }
        let compared = Compared { before, id, revisions, effective: &effective };
        let mut report = self.report_on_nodes(&compared, filter, (nodes, changes), spots, is_of_nodes)?;
        if between == Between::Facts {
            report.policies = self.judge.policies(self.base(id), &report);
            report.judge = self.judge.id(self.base(id)).map(|id| id.to_string());
        }
        report.between = between;
        before.take_failure().map_or(Ok(()), Err)?;
        self.fleet_has_stayed()?;
        Ok(Comparison { report, effective })
    }

    /// Returns what other facts of the same nodes change at a revision, as an entry of a history: only the keys and
    /// nodes asked for, and of these only the changes that are wanted. Returns `None` if there are none.
    pub fn facts_entry(
        &self,
        before: &Arc<Fleet>,
        id: RevisionId,
        filter: &DiffFilter<'_>,
        is_wanted: impl Fn(&Change) -> bool,
    ) -> Result<Option<Report>, PipelineError> {
        let was = Revision::new(self.revisions.environment(id)?, before.clone(), &self.workers)?;
        let is = self.cached_revision(id)?;
        let revisions = Diff::new(&was, &*is);
        let keys = fleet_keys(revisions).into_iter().filter(|key| (filter.key)(key)).collect();
        let (effective, changes) = self.changes_between(revisions, &keys);
        let nodes = self.chosen_nodes(filter);
        let (mut changes, _) = changes.chosen(filter.key, &nodes);
        changes.changes.retain(is_wanted);
        if changes.changes.is_empty() {
            return Ok(None);
        }
        let compared = Compared { before, id, revisions, effective: &effective };
        let report = self.report_on_nodes(&compared, filter, (nodes, changes), Vec::new(), false)?;
        before.take_failure().map_or(Ok(()), Err)?;
        self.fleet_has_stayed()?;
        Ok(Some(Report { between: Between::Facts, ..report }))
    }

    /// Returns the values of some keys on both sides, and their changes.
    fn changes_between(&self, revisions: Diff<&Revision>, keys: &BTreeSet<Arc<str>>) -> (Diff<Effective>, Changes) {
        // Answers that interpolate different values into the same text are not equal here: facts are what differs.
        let resolve = |revision: &Revision| fleet::resolve(revision, &self.fleet.everywhere(keys), &self.workers);
        let effective = revisions.map(resolve);
        let changes = diff::changes(effective.as_ref(), &self.workers);
        (effective, changes)
    }

    /// Makes the report on the changes of some nodes, with a finding for each variable that differs.
    fn report_on_nodes(
        &self,
        &Compared { before, id, revisions, effective }: &Compared<'_>,
        filter: &DiffFilter<'_>,
        (nodes, changes): (NodeSet, Changes),
        blind_spots: Vec<BlindSpot>,
        is_of_nodes: bool,
    ) -> Result<Report, PipelineError> {
        let variables = self.fleet.changed_variables(before)?;
        let findings: Vec<Finding> = variables.iter().map(|changed| finding(changed, is_of_nodes)).collect();
        let is_chosen = |key: &&Arc<str>| (filter.key)(key);
        let fleet = &revisions.after.fleet;
        let environments = [&revisions.before.environment, &revisions.after.environment];
        Ok(Report::new(Input {
            commit: Diff::new(self.commit(id)?, self.commit(id)?),
            names: self.names.clone(),
            nodes,
            keys: fleet_keys(revisions).iter().filter(is_chosen).count(),
            former_keys: revisions.before.keys.iter().filter(is_chosen).count(),
            // No line differs, so all that is found are the places of values.
            origins: causes::find(&changes, (revisions, effective.as_ref()), Vec::new(), &blind_spots, &self.workers)?,
            changes,
            uses: BTreeMap::new(),
            distinctions: Distinction::between(environments, &BTreeSet::new(), fleet)?,
            disclosure: &self.disclosure,
            findings: Diff::new(&[], &findings),
            blind_spots,
            is_unreadable: revisions.map(|revision| self.unreadable(revision).is_some()),
        }))
    }

    /// Returns the blind spots of a revision on its nodes. Between two nodes, they are those of both, and say of which
    /// node they are.
    fn spots_between(
        &self,
        revisions: Diff<&Revision>,
        effective: &Diff<Effective>,
        id: RevisionId,
        between: &Between,
    ) -> Vec<BlindSpot> {
        let spots = |revision: &Revision, effective: &Effective| {
            let judged = (&self.judge.accepted(self.base(id)), self.judge.refused());
            blind_spots::of_revision(revision, effective, judged, &self.disclosure)
        };
        let Between::Nodes(nodes) = between else { return spots(revisions.after, &effective.after) };
        let told = without_told_failures(effective.as_ref());
        let before = spots(revisions.before, &told.before);
        let after = spots(revisions.after, &told.after);
        let (both, only_after): (Vec<_>, Vec<_>) = after.into_iter().partition(|spot| before.contains(spot));
        let only_before = before.into_iter().filter(|spot| !both.contains(spot));
        let only_before: Vec<_> = only_before.map(|spot| spot.on(&nodes.before)).collect();
        let of_both = |spot: BlindSpot| if spot.nodes.is_empty() { spot } else { spot.on(&"both") };
        let only_after = only_after.into_iter().map(|spot| spot.on(&nodes.after));
        both.into_iter().map(of_both).chain(only_before).chain(only_after).collect()
    }
}

/// Leaves out the keys that fail on one side only, which are changes.
fn without_told_failures(effective: Diff<&Effective>) -> Diff<Effective> {
    let fails = |side: &Effective, key: &str| {
        let mut answers = side.keys.get(key).into_iter().flatten();
        answers.any(|answer| matches!(&*answer.outcome, Outcome::Failed(_)))
    };
    effective.map(|side| {
        let is_told = |key: &str| fails(effective.before, key) != fails(effective.after, key);
        let keys = side.keys.iter().filter(|(key, _)| !is_told(key));
        Effective { keys: keys.map(|(key, answers)| (key.clone(), answers.clone())).collect() }
    })
}

/// Returns the keys of both sides.
fn fleet_keys(revisions: Diff<&Revision>) -> BTreeSet<Arc<str>> {
    revisions.before.keys.union(&revisions.after.keys).cloned().collect()
}

/// `the variable facts.os.release.major changes: "11" -> "12"`
fn finding(changed: &ChangedVariable, is_of_nodes: bool) -> Finding {
    let shown = |value: &Option<Value>| {
        let text = value.as_ref().map_or_else(|| "not set".to_owned(), compact);
        crate::report::shorten(&text, MAX_SHOWN_CHARACTERS)
    };
    let [before, after] = changed.first.each_ref().map(shown);
    // Which nodes are compared, the report says itself.
    let (verb, nodes) = if is_of_nodes { ("differs", NodeSet::new()) } else { ("changes", changed.nodes.clone()) };
    let first_only = if nodes.len() > 1 { ", on the first of these nodes" } else { "" };
    let text = format!("the variable {} {verb}: {before} -> {after}{first_only}", changed.name);
    Finding { diagnostic: Diagnostic::note(CHANGED_VARIABLE, None, text), nodes }
}
