//! The changes that a commit makes to some keys on some nodes: what a history needs of a comparison.
//!
//! Most commits change none of the keys that somebody asks about. So these are compared first, and the rest of a
//! comparison (causes, the number of other keys) is done only for a commit that changes one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::narrowed::keep;
use super::{DiffFilter, Pipeline, PipelineError, RevisionId, keys_of, unreadable, values_of};
use crate::blind_spots::accept::Accepted;
use crate::blind_spots::{self, DiffContext};
use crate::causes;
use crate::diff::{self, Change, Changes, Diff};
use crate::fleet::{self, AffectedKeys, Answer, Distinction, Effective, NodesByKey, Revision};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::pipeline::judge::Sides;
use crate::report::{BlindSpot, ChangeOrigins, ChangedLines, Effect, Input, Origins, Report, Side};
use crate::tree;

/// The changes that a commit makes to the keys and on the nodes that were asked for.
#[derive(Debug, Clone, Default)]
pub struct CommitChanges {
    /// The changes. Secrets in them are not redacted.
    pub changes: Changes,
    /// The origins of the changes. Of the changed lines, only those that cause one of them are in it.
    pub origins: Origins,
    /// The number of other keys that change.
    pub other_keys: usize,
    /// The keys asked for that the commit may change unseen: they fail before and after, on some node.
    pub masked: BTreeSet<Arc<str>>,
    /// True if nothing decides about these answers but the commits, the settings, and variables that the profiles of
    /// nodes have: neither a variable that is computed from others nor a key of encrypted data that may be there later.
    pub lasts: bool,
}

/// A change, or one of its differences.
type Part = (usize, Option<usize>);

impl CommitChanges {
    /// Puts changes together with the origins of each.
    pub(crate) fn new(
        changes: Vec<(Change, ChangeOrigins)>,
        lines: Vec<ChangedLines>,
        (other_keys, masked): (usize, BTreeSet<Arc<str>>),
    ) -> CommitChanges {
        let (changes, origins) = changes.into_iter().unzip();
        let mut found = CommitChanges {
            changes: Changes { changes, reencrypted: Vec::new() },
            origins: Origins { changes: origins, reencrypted: Vec::new(), lines },
            other_keys,
            masked,
            lasts: true,
        };
        found.settle_lines();
        found
    }

    /// Keeps only some changes.
    pub fn retain(&mut self, stays: impl FnMut(&Change) -> bool) {
        let stays: Vec<bool> = self.changes.changes.iter().map(stays).collect();
        keep(&mut self.changes.changes, &stays);
        keep(&mut self.origins.changes, &stays);
        self.settle_lines();
    }

    /// Leaves out lines that cause none of the changes, joins those that follow each other and cause the same, and says
    /// of each what it causes. So it does not matter among which other changes they were found.
    fn settle_lines(&mut self) {
        let mut causes: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
        for (at, origins) in self.origins.changes.iter().enumerate() {
            let whole = origins.lines.iter().flatten().map(|line| (line, None));
            let leaves = origins.leaves.iter().enumerate();
            let of_leaves =
                leaves.flat_map(|(leaf, origins)| origins.lines.iter().flatten().map(move |line| (line, Some(leaf))));
            whole.chain(of_leaves).for_each(|(line, part)| causes.entry(*line).or_default().push((at, part)));
        }
        let mut settled: Vec<(ChangedLines, &Vec<Part>)> = Vec::new();
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        for (line, caused) in &causes {
            let lines = &self.origins.lines[*line];
            match settled.last_mut() {
                Some((last, same)) if *same == caused && follows(last, lines) => {
                    last.last = lines.last;
                    let is_same_key = last.keys.last().is_some() && last.keys.last() == lines.keys.first();
                    last.keys.extend(lines.keys.iter().skip(usize::from(is_same_key)).cloned());
                }
                _ => {
                    let changes = || caused.iter().filter_map(|(at, _)| self.changes.changes.get(*at));
                    let mut nodes = NodeSet::new();
                    changes().for_each(|change| nodes.union_with(&change.nodes));
                    let keys = changes().map(|change| change.key.clone()).collect();
                    settled.push((ChangedLines { effect: Effect::Changes { keys, nodes }, ..lines.clone() }, caused));
                }
            }
            numbers.insert(*line, settled.len() - 1);
        }
        self.origins.lines = settled.into_iter().map(|(lines, _)| lines).collect();
        for change in &mut self.origins.changes {
            let leaves = change.leaves.iter_mut().map(|leaf| &mut leaf.lines);
            for lines in leaves.chain([&mut change.lines]).flatten() {
                *lines = lines.iter().filter_map(|line| numbers.get(line).copied()).collect();
                lines.dedup();
            }
        }
    }
}

/// Returns the keys that fail on both sides, on some node.
fn masked(effective: &Diff<Effective>) -> BTreeSet<Arc<str>> {
    let failing = |answers: &[Answer]| {
        let mut nodes = NodeSet::new();
        let failed = answers.iter().filter(|answer| matches!(&*answer.outcome, Outcome::Failed(_)));
        failed.for_each(|answer| nodes.union_with(&answer.nodes));
        nodes
    };
    let is_masked = |(key, before): (&Arc<str>, &Vec<Answer>)| {
        let before = failing(before);
        let after = || effective.after.keys.get(key).map(|after| failing(after)).unwrap_or_default();
        (!before.is_empty() && !before.intersection(&after()).is_empty()).then(|| key.clone())
    };
    effective.before.keys.iter().filter_map(is_masked).collect()
}

/// Returns true if lines follow others immediately.
fn follows(last: &ChangedLines, next: &ChangedLines) -> bool {
    last.place.path == next.place.path && last.side == next.side && next.place.line == Some(last.last + 1)
}

/// Two revisions, and the changes between them that were asked for.
struct Compared {
    revisions: Diff<Arc<Revision>>,
    /// The commit for which one of them only stands in.
    stand_in: Option<RevisionId>,
    /// The keys that the commit may affect, all of them.
    affected: AffectedKeys,
    /// The values of those asked for.
    effective: Diff<Effective>,
    changes: Changes,
    /// The keys among those asked for that fail on both sides, on some node.
    masked: BTreeSet<Arc<str>>,
    /// See [`CommitChanges::lasts`].
    lasts: bool,
}

/// A revision whose answers are those of a commit. Its files may differ where they surely change no answer.
struct StandIn {
    commit: RevisionId,
    revision: Arc<Revision>,
    /// True if its files do not differ.
    is_exact: bool,
}

/// Compares the commits of a history, one after the other. Each that follows upon the former one, in either direction,
/// costs only what it changes.
pub struct ValueWalk<'p> {
    pipeline: &'p Pipeline,
    last: Option<StandIn>,
    /// A key that is compared even if no data file has it: one with dots, or one that only fails.
    named: Option<Arc<str>>,
}

impl ValueWalk<'_> {
    /// Returns the changes between two revisions of the keys and on the nodes of `filter`, whose paths do not count.
    /// Secrets in them are not redacted.
    pub fn changes(&mut self, ids: Diff<RevisionId>, filter: &DiffFilter<'_>) -> Result<Changes, PipelineError> {
        Ok(self.compare(ids, filter)?.map(|compared| compared.changes).unwrap_or_default())
    }

    /// Returns the same changes with their causes, and the number of other keys that change, if one of the changes
    /// `is_wanted`; otherwise none.
    pub fn commit_changes(
        &mut self,
        ids: Diff<RevisionId>,
        filter: &DiffFilter<'_>,
        is_wanted: impl Fn(&Change) -> bool,
    ) -> Result<CommitChanges, PipelineError> {
        let Some(mut compared) = self.compare(ids, filter)? else {
            let lasts = self.last.as_ref().is_some_and(|last| self.pipeline.is_of_profiles(&last.revision));
            return Ok(CommitChanges { lasts, ..CommitChanges::default() });
        };
        if !compared.changes.changes.iter().any(is_wanted) {
            let Compared { masked, lasts, .. } = compared;
            return Ok(CommitChanges { masked, lasts, ..CommitChanges::default() });
        }
        let Pipeline { revisions, workers, .. } = self.pipeline;
        if let Some(commit) = compared.stand_in {
            let side = if commit == ids.before { Side::Before } else { Side::After };
            let revision = side.of_mut(&mut compared.revisions);
            *revision = Arc::new(revisions.after(revision, commit, workers)?);
        }
        let found = self.pipeline.with_origins(ids, compared)?;
        self.pipeline.fleet_has_stayed()?;
        Ok(found)
    }

    /// Compares two revisions. Returns `None` if files alone tell that nothing changes.
    fn compare(&mut self, ids: Diff<RevisionId>, filter: &DiffFilter<'_>) -> Result<Option<Compared>, PipelineError> {
        let pipeline = self.pipeline;
        pipeline.drop_outdated();
        let known = self.last.take().filter(|last| last.revision.environment.keys.are_current());
        let known = match known {
            Some(known) if [ids.before, ids.after].contains(&known.commit) => known,
            _ => StandIn { commit: ids.after, revision: pipeline.load_cached(ids.after)?, is_exact: true },
        };
        let is_forward = known.commit == ids.before;
        let other = if is_forward { ids.after } else { ids.before };
        let trees = Diff::new(pipeline.revisions.tree(known.commit)?, pipeline.revisions.tree(other)?);
        let paths = tree::changes(&*trees.before, &*trees.after)?;
        if known.revision.is_unaffected_by(&paths) {
            self.last = Some(StandIn { commit: other, is_exact: known.is_exact && paths.is_empty(), ..known });
            return Ok(None);
        }
        let next = Arc::new(pipeline.revisions.after(&known.revision, other, &pipeline.workers)?);
        // Files that no node reads have keys, too, and these are looked up where they may fail.
        let known = if !known.is_exact && (known.revision.may_fail_for_all_names() || next.may_fail_for_all_names()) {
            let exact = pipeline.revisions.after(&known.revision, known.commit, &pipeline.workers)?;
            StandIn { revision: Arc::new(exact), is_exact: true, ..known }
        } else {
            known
        };
        let both = Diff::new(known.revision, next.clone());
        let both = pipeline.read_alike(if is_forward { both } else { both.reversed() })?;
        self.last = Some(StandIn { commit: other, revision: next, is_exact: true });
        let stand_in = if known.is_exact { None } else { Some(known.commit) };
        let compared = Compared { stand_in, ..pipeline.compared_values(both, filter, self.named.as_ref()) };
        pipeline.fleet_has_stayed()?;
        Ok(Some(compared))
    }
}

impl Pipeline {
    /// Returns a walk through a history, which compares all keys and `named`.
    pub fn value_walk(&self, named: Option<Arc<str>>) -> ValueWalk<'_> {
        ValueWalk { pipeline: self, last: None, named }
    }

    fn compared_values(
        &self,
        revisions: Diff<Arc<Revision>>,
        filter: &DiffFilter<'_>,
        named: Option<&Arc<str>>,
    ) -> Compared {
        let both = revisions.as_ref().map(|revision| &**revision);
        let mut keys = keys_of(both);
        if let Some(named) = named.filter(|named| !keys.contains(*named)) {
            Arc::make_mut(&mut keys).insert(named.clone());
        }
        let affected = fleet::affected_keys(both.before, both.after, &keys, &self.workers);
        let nodes = self.chosen_nodes(filter);
        let asked = affected.keys.iter().filter(|(key, _)| (filter.key)(key));
        let asked: NodesByKey = asked
            .map(|(key, on)| (key.clone(), on.intersection(&nodes)))
            .filter(|(_, nodes)| !nodes.is_empty())
            .collect();
        let effective = values_of(&asked, both, &self.workers);
        let Changes { changes, .. } = diff::changes(effective.as_ref(), &self.workers);
        let changes = Changes { changes, reencrypted: Vec::new() };
        let masked = masked(&effective);
        let lasts = self.lasts(both, &effective);
        Compared { revisions, stand_in: None, affected, effective, changes, masked, lasts }
    }

    /// Returns true if a revision has no variables but those of profiles.
    fn is_of_profiles(&self, revision: &Revision) -> bool {
        Arc::ptr_eq(&revision.fleet, &self.fleet)
    }

    /// See [`CommitChanges::lasts`]. Values that keys of encrypted data have made are secrets, which nobody keeps. What
    /// is unknown may be known to somebody who asks for less at once.
    fn lasts(&self, revisions: Diff<&Revision>, effective: &Diff<Effective>) -> bool {
        [(revisions.before, &effective.before), (revisions.after, &effective.after)].into_iter().all(
            |(revision, found)| {
                let has_no_keys = revision.environment.keys.are_unused();
                let lasts = |answer: &Answer| match &*answer.outcome {
                    Outcome::Failed(error) => has_no_keys && !error.kind.is_unknown(),
                    _ => true,
                };
                self.is_of_profiles(revision) && found.keys.values().flatten().all(lasts)
            },
        )
    }

    fn with_origins(&self, ids: Diff<RevisionId>, compared: Compared) -> Result<CommitChanges, PipelineError> {
        let Compared { revisions, mut affected, effective, changes, masked, lasts, .. } = compared;
        let (revisions, workers) = (revisions.as_ref().map(|revision| &**revision), &self.workers);
        let own: BTreeSet<&str> = changes.changes.iter().map(|change| &*change.key).collect();
        affected.keys.retain(|key, _| !own.contains(&**key));
        let others = diff::changes(values_of(&affected.keys, revisions, workers).as_ref(), workers).changes;
        let other_keys = others.iter().map(|change| &*change.key).collect::<BTreeSet<_>>().len();
        let context = DiffContext {
            revisions,
            affected: &affected,
            effective: &effective,
            changes: &changes,
            unreadable: &unreadable(&Sides::of(ids.before, ids.after), revisions, workers),
            accepted: &Accepted::default(),
            settings: [None, None],
            disclosure: &self.disclosure,
        };
        let files = context.changed_files()?.with_kinds();
        let origins = causes::of_changes(&changes, (revisions, effective.as_ref()), files, workers)?;
        let mut found = CommitChanges { changes, origins, other_keys, masked, lasts };
        found.settle_lines();
        Ok(found)
    }

    /// Returns the report on changes between two revisions. `distinctions` describe sets of nodes.
    pub fn report_on(
        &self,
        ids: Diff<RevisionId>,
        changes: CommitChanges,
        filter: &DiffFilter<'_>,
        distinctions: &[Distinction],
    ) -> Result<Report, PipelineError> {
        let CommitChanges { changes, origins, other_keys, .. } = changes;
        let keys = changes.changes.iter().map(|change| &*change.key).collect::<BTreeSet<_>>().len();
        let report = Report::new(Input {
            commit: Diff { before: self.commit(ids.before)?, after: self.commit(ids.after)? },
            names: self.names.clone(),
            nodes: self.chosen_nodes(filter),
            keys,
            former_keys: keys,
            changes,
            uses: BTreeMap::new(),
            origins,
            distinctions: distinctions.to_vec(),
            disclosure: &self.disclosure,
            findings: Diff::new(&[], &[]),
            blind_spots: Vec::new(),
            is_unreadable: Diff::new(false, false),
        });
        Ok(Report { other_keys, ..report })
    }

    /// Returns the blind spots of the nodes and levels of a revision, without those that its settings accept.
    pub fn unseen_at(&self, id: RevisionId) -> Result<Vec<BlindSpot>, PipelineError> {
        Ok(blind_spots::of_sources(&*self.cached_revision(id)?, &self.judge.accepted(self.base(id))))
    }

    /// Returns the variables that describe sets of nodes in a history: those of the configuration of its last commit.
    pub fn distinctions_at(&self, id: RevisionId) -> Result<Vec<Distinction>, PipelineError> {
        let environment = &self.environment(id)?;
        Ok(Distinction::between([environment, environment], &BTreeSet::new(), &self.fleet)?)
    }
}
