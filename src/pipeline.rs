//! Diffs and renders revisions of a repository for a fleet.
//!
//! [`Pipeline`] is the entry point for commands and the daemon: it reads revisions ([`Revisions`]), compares two of
//! them into a [`Report`], and renders snapshots (`render`, [`export`]). A [`RevisionId`] names the commit or the
//! work tree that is read. Faults of one revision are found by `checks`.
//!
//! A pipeline keeps parsed files and the last revisions that it resolved; a result never depends on what is kept. It
//! knows nothing of settings files, queues, sinks or HTTP.

pub mod cache;
pub mod commit_changes;
mod entry_use;
pub mod export;
pub mod host;
pub mod judge;
mod key_use;
mod module_clones;
mod narrowed;
mod node_changes;
mod once_merged;
pub mod policy_trial;
pub mod render;
mod revisions;
mod variable_use;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::diagnostic::Subject;
use crate::diff::{self, Changes, Diff};
use crate::disclosure::Disclosure;
use crate::fleet::{
    self, AffectedKeys, Distinction, Effective, Finding, Fleet, KeyUse, NodesByKey, Revision, RevisionError,
};
use crate::git::{CommitId, CommitInfo, Merge, MergeError, ObjectError, Repository};
use crate::hiera::layer::Environment;
use crate::node::{NodeId, NodeSet, ProfileError};
use crate::report::{BlindSpot, Commit, HIDDEN, Input, NodeNames, Report};
use crate::tree::{Graft, GraftedTree, TreeError};
use crate::workers::{RUN, Workers};

pub use entry_use::{EntryUse, FilePlace, FileUse, PartUse};
pub use module_clones::ModuleClones;
pub use revisions::Revisions;
pub use variable_use::{LevelUse, VariableUse};

use crate::blind_spots::DiffContext;
use crate::causes;

use crate::blind_spots::files::changed::ChangedFiles;
use crate::pattern::Pattern;
use narrowed::Narrowing;

use judge::{Judge, Readings, Sides, Strict};

/// The maximum number of resolved revisions that are kept: the last ones used.
const MAX_CACHED_REVISIONS: usize = 4;

/// A failure to read a revision.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The commit cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The files of the commit cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Node profiles cannot be read any more.
    #[error("node profiles can no longer be read: {0}")]
    Profile(#[from] ProfileError),
    /// Two commits cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// Node profiles have changed since they were first read, so that some values would be unknown.
    #[error("node profiles changed while they were being read: try again")]
    ProfilesChanged,
    /// The work was stopped from outside, and a partial result is not wanted.
    #[error("{0}")]
    Stopped(Arc<str>),
    /// The repository has no checked-out files.
    #[error("the repository has no work tree, so '.' cannot be used")]
    NoWorkTree,
}

impl From<RevisionError> for PipelineError {
    fn from(error: RevisionError) -> PipelineError {
        match error {
            RevisionError::Tree(error) => error.into(),
            RevisionError::Profile(error) => error.into(),
        }
    }
}

/// The identity of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RevisionId {
    /// A commit.
    Commit(CommitId),
    /// The files that a branch has once another one is merged into it.
    Merged(Merge),
    /// The checked-out files, committed or not.
    WorkTree,
    /// The empty tree before the first commit.
    Empty,
}

impl RevisionId {
    /// Returns its name in the log.
    fn name(self) -> String {
        match self {
            RevisionId::Commit(commit) => commit.to_string(),
            RevisionId::Merged(_) => "the merge".to_owned(),
            RevisionId::WorkTree => "the checked-out files".to_owned(),
            RevisionId::Empty => "nothing".to_owned(),
        }
    }
}

/// The result of a comparison.
pub struct Comparison {
    /// The report.
    pub report: Report,
    /// The values that were compared. Dropping them takes time, so the caller can write the report first.
    pub effective: Diff<Effective>,
}

/// All keys of some revisions, in order.
type AllKeys = Arc<BTreeSet<Arc<str>>>;

/// The keys and nodes that a report covers.
pub struct DiffFilter<'a> {
    /// Accepts the keys.
    pub key: &'a dyn Fn(&str) -> bool,
    /// Accepts the names of the nodes.
    pub node: &'a dyn Fn(&str) -> bool,
    /// The files and folders whose effect is wanted, as paths in the repository or globs; empty for all of them.
    pub paths: &'a [Pattern],
}

impl DiffFilter<'_> {
    /// Covers all keys on all nodes.
    pub const ALL: DiffFilter<'static> = DiffFilter { key: &|_| true, node: &|_| true, paths: &[] };
}

/// A fleet, and the repository whose revisions are resolved for it. See the [crate's page](crate) for an example.
pub struct Pipeline {
    pub(crate) revisions: Revisions,
    /// The nodes.
    pub fleet: Arc<Fleet>,
    /// The names of the nodes, shared by all reports.
    names: NodeNames,
    /// The parts of secrets that may be shown.
    pub disclosure: Arc<Disclosure>,
    pub(crate) judge: Arc<dyn Judge>,
    readings: Option<Arc<dyn Readings>>,
    pub(crate) workers: Workers,
    cached: Mutex<VecDeque<(RevisionId, Arc<Revision>)>>,
}

/// Returns the blind spots that concern the `asked` nodes, and the one about hidden changes.
fn spots_on_nodes(mut blind_spots: Vec<BlindSpot>, asked: &NodeSet) -> Vec<BlindSpot> {
    let concerns = |spot: &BlindSpot| spot.nodes.is_empty() || !spot.nodes.intersection(asked).is_empty();
    blind_spots.retain(|spot| spot.code == HIDDEN || concerns(spot));
    blind_spots
}

impl Pipeline {
    /// Returns a pipeline over `revisions` for `fleet`. Its reports show only those parts of secrets that
    /// `disclosure` allows.
    pub fn new(revisions: Revisions, fleet: Arc<Fleet>, workers: Workers, disclosure: Arc<Disclosure>) -> Pipeline {
        let names = NodeNames::new(fleet.clone());
        let judge = Arc::new(Strict);
        Pipeline { revisions, fleet, names, disclosure, judge, readings: None, workers, cached: Mutex::default() }
    }

    /// Returns the same pipeline with other workers. Revisions that either one keeps later are its own.
    #[must_use]
    pub fn with_workers(&self, workers: Workers) -> Pipeline {
        Pipeline {
            revisions: self.revisions.clone(),
            fleet: self.fleet.clone(),
            names: self.names.clone(),
            disclosure: self.disclosure.clone(),
            judge: self.judge.clone(),
            readings: self.readings.clone(),
            workers,
            cached: Mutex::new(self.cached.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }

    /// Sets the settings that judge the tree.
    #[must_use]
    pub fn with_judge(self, judge: Arc<dyn Judge>) -> Pipeline {
        Pipeline { judge, ..self }
    }

    /// Sets the other ways to read the tree, by which policies judge it as well.
    #[must_use]
    pub fn with_readings(self, readings: Arc<dyn Readings>) -> Pipeline {
        Pipeline { readings: Some(readings), ..self }
    }

    /// Returns the repository.
    pub fn repository(&self) -> &Repository {
        &self.revisions.repository
    }

    /// Reads the configuration of a revision.
    pub fn environment(&self, id: RevisionId) -> Result<Environment, PipelineError> {
        self.revisions.environment(id)
    }

    /// Reads the configuration of a revision and resolves the hierarchies of all nodes.
    pub fn revision(&self, id: RevisionId) -> Result<Revision, PipelineError> {
        Ok(Revision::new(self.revisions.environment(id)?, self.fleet.clone(), &self.workers)?)
    }

    /// Returns the effective values of `keys` at a revision.
    pub fn effective<'k>(&self, revision: &Revision, keys: impl IntoIterator<Item = &'k Arc<str>>) -> Effective {
        fleet::resolve(revision, &self.fleet.everywhere(keys), &self.workers)
    }

    /// Returns the effective values of `keys` on one node at a revision.
    pub fn effective_on<'k>(
        &self,
        node: NodeId,
        revision: &Revision,
        keys: impl IntoIterator<Item = &'k Arc<str>>,
        workers: &Workers,
    ) -> Effective {
        let nodes = NodeSet::from_iter([node]);
        let work = keys.into_iter().map(|key| (key.clone(), nodes.clone())).collect();
        fleet::resolve(revision, &work, workers)
    }

    /// Returns the effective values of `keys` on some nodes at a revision.
    pub(crate) fn effective_among<'k>(
        &self,
        nodes: &NodeSet,
        revision: &Revision,
        keys: impl IntoIterator<Item = &'k Arc<str>>,
    ) -> Effective {
        let work = keys.into_iter().map(|key| (key.clone(), nodes.clone())).collect();
        fleet::resolve(revision, &work, &self.workers)
    }

    /// Compares two revisions. Everything is compared; changes that `filter` excludes become a blind spot of the
    /// report, which counts them.
    pub fn diff(
        &self,
        before: RevisionId,
        after: RevisionId,
        filter: &DiffFilter<'_>,
    ) -> Result<Comparison, PipelineError> {
        self.diff_with(&Sides::of(before, after), filter, &self.workers)
    }

    /// Compares two revisions as [`diff`](Pipeline::diff) does. A comparison that `workers` stop is incomplete.
    pub fn diff_with(
        &self,
        sides: &Sides,
        filter: &DiffFilter<'_>,
        workers: &Workers,
    ) -> Result<Comparison, PipelineError> {
        let start = Instant::now();
        let compared = self.compared(sides, filter, workers, true);
        tracing::debug!(target: RUN, took = ?start.elapsed(), "the comparison is done");
        compared
    }

    /// Compares two revisions as [`diff`](Pipeline::diff) does, by the settings that judge between them.
    pub fn diff_between(&self, sides: &Sides, filter: &DiffFilter<'_>) -> Result<Comparison, PipelineError> {
        self.diff_with(sides, filter, &self.workers)
    }

    /// Compares two revisions. With `tells_use`, the report includes what catalogs say about the use of keys.
    fn compared(
        &self,
        sides: &Sides,
        filter: &DiffFilter<'_>,
        workers: &Workers,
        tells_use: bool,
    ) -> Result<Comparison, PipelineError> {
        let Sides { before, after, .. } = *sides;
        let loaded = self.load_both(Diff::new(before, after))?;
        let revisions = loaded.as_ref().map(|loaded| &**loaded);
        let (keys, affected, effective) = Pipeline::compare(revisions, workers);
        let mut findings = revisions.map(Revision::all_findings).map(|findings| without_old_news(findings, revisions));
        check_still_wanted(workers)?;
        let changes = diff::changes(effective.as_ref(), workers);
        check_still_wanted(workers)?;
        let unreadable = unreadable(sides, revisions, workers);
        let context = DiffContext {
            revisions,
            affected: &affected,
            effective: &effective,
            changes: &changes,
            unreadable: &unreadable,
            accepted: &self.judge.accepted(sides.judge()),
            settings: [self.judge.changed(Diff::new(before, after)), self.judge.refused()],
            disclosure: &self.disclosure,
        };
        let files = context.changed_files()?;
        let mut blind_spots = context.blind_spots(&files)?;
        blind_spots.splice(..0, context.read_otherwise(&files, &mut findings)?);
        let (nodes, key_count, changes) = self.filter_changes(filter, &keys, changes, &mut blind_spots);
        let merged = self.once_merged(sides, filter, workers)?;
        blind_spots.splice(..0, merged.as_ref().and_then(|merged| merged.blind_spot(&changes, self.fleet.len())));
        let distinctions = distinctions(revisions, &changes)?;
        let origins =
            causes::find(&changes, (revisions, effective.as_ref()), files.with_kinds(), &blind_spots, workers)?;
        check_still_wanted(workers)?;
        let uses = key_use::of_changes(&changes, (&self.fleet, revisions), tells_use.then_some(&*keys), workers)?;
        let input = Input {
            distinctions,
            commit: Diff { before: self.commit(before)?, after: self.commit(after)? },
            names: self.names.clone(),
            blind_spots: spots_on_nodes(blind_spots, &nodes),
            nodes,
            keys: key_count,
            former_keys: revisions.before.keys.iter().filter(|key| (filter.key)(key)).count(),
            origins,
            changes,
            uses: BTreeMap::new(),
            findings: findings.as_ref().map(Vec::as_slice),
            disclosure: &self.disclosure,
            is_unreadable: are_unreadable(sides, &unreadable),
        };
        let shown = shown(&input, uses, narrowing(filter, revisions, &files)?);
        let mut report = self.judged(sides, filter, workers, Report::new(input))?;
        if let Some(merged) = merged {
            report = merged.judged(self, sides.judge(), report);
        }
        self.fleet_has_stayed()?;
        Ok(Comparison { report: shown_as(report, shown), effective })
    }

    /// Fails if node profiles were found changed, so that results may lack some.
    pub fn fleet_has_stayed(&self) -> Result<(), PipelineError> {
        if let Some(error) = self.fleet.take_failure() {
            // The kept revisions may depend on profiles that could not be read.
            self.cached.lock().unwrap_or_else(PoisonError::into_inner).clear();
            return Err(error.into());
        }
        if self.fleet.has_changed() { Err(PipelineError::ProfilesChanged) } else { Ok(()) }
    }

    /// Loads both revisions with the same decryption keys.
    fn load_both(&self, ids: Diff<RevisionId>) -> Result<Diff<Arc<Revision>>, PipelineError> {
        let start = Instant::now();
        self.drop_outdated();
        let both = self.read_alike(Diff { before: self.load_cached(ids.before)?, after: self.load_cached(ids.after)? });
        tracing::debug!(target: RUN, took = ?start.elapsed(), "both revisions are read");
        both
    }

    /// Leaves out other repositories in the tree that only one side could read: their data would seem to come or go
    /// with the commit.
    fn read_alike(&self, both: Diff<Arc<Revision>>) -> Result<Diff<Arc<Revision>>, PipelineError> {
        let sides = [&both.before, &both.after].map(|revision| &revision.environment);
        let [from_before, from_after] = module_clones::read_on_one_side(sides)?;
        let without = |revision: Arc<Revision>, hidden: BTreeMap<String, Graft>| {
            if hidden.is_empty() {
                return Ok(revision);
            }
            let tree = GraftedTree::new(revision.environment.tree.clone(), hidden);
            let Revisions { options, store, .. } = &self.revisions;
            let environment = Environment::load(Arc::new(tree), options.clone(), store.clone())?;
            Ok::<_, PipelineError>(Arc::new(Revision::new(environment, self.fleet.clone(), &self.workers)?))
        };
        Ok(Diff { before: without(both.before, from_before)?, after: without(both.after, from_after)? })
    }

    /// Returns all keys of both sides, those that the change may affect, and their values.
    fn compare(revisions: Diff<&Revision>, workers: &Workers) -> (AllKeys, AffectedKeys, Diff<Effective>) {
        let start = Instant::now();
        let keys = keys_of(revisions);
        let affected = fleet::affected_keys(revisions.before, revisions.after, &keys, workers);
        let effective = values_of(&affected.keys, revisions, workers);
        let count = affected.keys.len();
        tracing::debug!(target: RUN, keys = keys.len(), affected = count, took = ?start.elapsed(), "affected keys are resolved");
        (keys, affected, effective)
    }

    /// Returns all keys of some revisions.
    pub fn keys(&self, ids: &[RevisionId]) -> Result<BTreeSet<Arc<str>>, PipelineError> {
        let mut keys = BTreeSet::new();
        for id in ids {
            keys.extend(self.load_cached(*id)?.keys.iter().cloned());
        }
        Ok(keys)
    }

    /// Returns the nodes, the number of keys and the changes that pass `filter`, and adds a blind spot for the changes
    /// that do not.
    fn filter_changes(
        &self,
        filter: &DiffFilter<'_>,
        keys: &BTreeSet<Arc<str>>,
        changes: Changes,
        blind_spots: &mut Vec<BlindSpot>,
    ) -> (NodeSet, usize, Changes) {
        let count = keys.iter().filter(|key| (filter.key)(key)).count();
        let nodes = self.chosen_nodes(filter);
        if nodes.len() == self.fleet.len() && count == keys.len() {
            return (nodes, count, changes);
        }
        let (covered, hidden) = changes.chosen(filter.key, &nodes);
        blind_spots.extend(crate::blind_spots::hidden(&hidden, self.fleet.len()));
        (nodes, count, covered)
    }

    /// Returns what is found. Fails if the search was stopped: a part would be missing.
    pub(crate) fn whole<T>(&self, find: impl FnOnce() -> Result<T, PipelineError>) -> Result<T, PipelineError> {
        let stop = &self.workers.stop;
        let count = stop.count();
        let found = find()?;
        if stop.count() == count {
            return Ok(found);
        }
        Err(PipelineError::Stopped(stop.reason().unwrap_or_else(|| "other work has used what it needs".into())))
    }

    /// Returns the nodes that pass `filter`.
    pub(crate) fn chosen_nodes(&self, filter: &DiffFilter<'_>) -> NodeSet {
        let nodes: NodeSet = self.fleet.iter().filter(|(_, name)| (filter.node)(name)).map(|(node, _)| node).collect();
        if nodes.len() == self.fleet.len() { self.fleet.all() } else { nodes }
    }

    /// Returns a revision as reports name it, or `None` for one that has no name.
    pub fn commit(&self, id: RevisionId) -> Result<Option<Commit>, PipelineError> {
        Ok(match id {
            RevisionId::Commit(id) => Some(commit(&self.revisions.repository.commit(id)?)),
            RevisionId::WorkTree => {
                Some(Commit { id: ".".to_owned(), summary: "the checked-out files".to_owned(), ..Commit::default() })
            }
            RevisionId::Merged(_) | RevisionId::Empty => None,
        })
    }

    /// Returns a revision from the cache, or reads it and caches it.
    pub fn cached_revision(&self, id: RevisionId) -> Result<Arc<Revision>, PipelineError> {
        self.drop_outdated();
        self.load_cached(id)
    }

    /// Drops cached revisions whose decryption keys are outdated.
    fn drop_outdated(&self) {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|(_, cached)| cached.environment.keys.are_current());
    }

    /// Returns a revision from the cache, or derives it from the revision used last.
    fn load_cached(&self, id: RevisionId) -> Result<Arc<Revision>, PipelineError> {
        let lock = || self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cached = lock();
        let at = cached.iter().position(|(cached_id, _)| *cached_id == id);
        let at = at.filter(|at| self.is_current(id, &cached[*at].1));
        if let Some(known) = at.and_then(|at| cached.remove(at)) {
            // The revision used last is dropped last, and the next one is derived from it.
            let revision = known.1.clone();
            cached.push_back(known);
            return Ok(revision);
        }
        drop(cached);
        // The work tree is not derived: its changes are not known without reading all of it.
        let last = lock().back().map(|(_, last)| last.clone()).filter(|_| id != RevisionId::WorkTree);
        let revision = Arc::new(match last {
            Some(last) => self.revisions.after(&last, id, &self.workers)?,
            None => self.revision(id)?,
        });
        if id == RevisionId::WorkTree {
            return Ok(revision);
        }
        let mut cached = lock();
        cached.retain(|(known, _)| *known != id);
        cached.push_back((id, revision.clone()));
        if cached.len() > MAX_CACHED_REVISIONS {
            cached.pop_front();
        }
        Ok(revision)
    }

    /// Returns false if other repositories whose files are part of a commit's tree have changed since.
    fn is_current(&self, id: RevisionId, revision: &Revision) -> bool {
        let now = |id| self.revisions.tree(id).ok()?.folder_id("");
        !matches!(id, RevisionId::Commit(_))
            || now(id).is_none_or(|now| revision.environment.tree.folder_id("") == Some(now))
    }
}

/// Returns all keys of both sides.
fn keys_of(revisions: Diff<&Revision>) -> AllKeys {
    let [before, after] = [&revisions.before.keys, &revisions.after.keys];
    if Arc::ptr_eq(before, after) { after.clone() } else { Arc::new(before.union(after).cloned().collect()) }
}

/// Returns the values of `keys` on both sides.
fn values_of(keys: &NodesByKey, revisions: Diff<&Revision>, workers: &Workers) -> Diff<Effective> {
    let [was, is] = fleet::resolve_all([revisions.before, revisions.after], keys, workers);
    Diff::new(was, is)
}

/// Returns the variables that distinguish nodes with a change from others; none if there is no change.
fn distinctions(revisions: Diff<&Revision>, changes: &Changes) -> Result<Vec<Distinction>, TreeError> {
    if changes.changes.is_empty() {
        return Ok(Vec::new());
    }
    let environments = [&revisions.before.environment, &revisions.after.environment];
    Distinction::between(environments, &crate::blind_spots::changed_paths(revisions)?, &revisions.after.fleet)
}

/// Returns the blind spot of each side that cannot be read at all. Before the first commit there is nothing to read.
fn unreadable(sides: &Sides, revisions: Diff<&Revision>, workers: &Workers) -> Diff<Option<BlindSpot>> {
    let spot_of = |revision| crate::blind_spots::unreadable::unreadable_revision(revision, workers);
    let is_there = sides.before != RevisionId::Empty;
    Diff::new(if is_there { spot_of(revisions.before) } else { None }, spot_of(revisions.after))
}

/// Returns the narrowing of a report to files by a filter, or `None` if it names no files.
fn narrowing<'a>(
    filter: &DiffFilter<'a>,
    revisions: Diff<&Revision>,
    files: &ChangedFiles,
) -> Result<Option<Narrowing<'a>>, TreeError> {
    if filter.paths.is_empty() {
        return Ok(None);
    }
    let traced = files.with_kinds().into_iter().map(|(path, _)| path.to_string()).collect();
    Ok(Some(Narrowing { paths: filter.paths, changed: crate::blind_spots::changed_paths(revisions)?, traced }))
}

/// The parts of the report that is shown, and its narrowing.
type Shown<'a> = (Input<'a>, Option<Narrowing<'a>>);

/// Returns the parts of the report that is shown, if it differs from the one that is judged: policies ignore the use
/// of keys, and narrowing a report does not evade them.
fn shown<'a>(
    input: &Input<'a>,
    uses: BTreeMap<Arc<str>, KeyUse>,
    narrowing: Option<Narrowing<'a>>,
) -> Option<Shown<'a>> {
    let mut shown = (!uses.is_empty() || narrowing.is_some()).then(|| Input { uses, ..input.clone() })?;
    if let Some(narrowing) = &narrowing {
        narrowing.narrow(&mut shown);
    }
    Some((shown, narrowing))
}

/// Returns the report that is shown, with the verdict on the whole one.
fn shown_as(report: Report, shown: Option<Shown<'_>>) -> Report {
    let Some((shown, narrowing)) = shown else { return report };
    let report = Report { policies: report.policies, judge: report.judge, ..Report::new(shown) };
    match narrowing {
        Some(narrowing) => narrowing.narrow_report(report),
        None => report,
    }
}

/// Returns true for each side that cannot be read at all. The side before the first commit is treated like the other
/// one.
fn are_unreadable(sides: &Sides, unreadable: &Diff<Option<BlindSpot>>) -> Diff<bool> {
    let after = unreadable.after.is_some();
    Diff { before: if sides.before == RevisionId::Empty { after } else { unreadable.before.is_some() }, after }
}

/// Leaves out findings on modules that both sides lack, even if only one side has keys of the module.
fn without_old_news(mut findings: Vec<Finding>, revisions: Diff<&Revision>) -> Vec<Finding> {
    let [before, after] = [revisions.before, revisions.after]
        .map(|revision| revision.environment.roots().flat_map(|root| &root.absent_modules).collect::<Vec<_>>());
    let is_old = |finding: &Finding| match &finding.diagnostic.subject {
        Some(Subject::Module(name)) if finding.diagnostic.code == "absent-module" => {
            [&before, &after].iter().all(|modules| modules.iter().any(|module| module.name == *name))
        }
        _ => false,
    };
    findings.retain(|finding| !is_old(finding));
    findings
}

/// Fails if the work was stopped and its result is not wanted.
fn check_still_wanted(workers: &Workers) -> Result<(), PipelineError> {
    workers.stop.unwanted().map_or(Ok(()), |reason| Err(PipelineError::Stopped(reason)))
}

fn commit(info: &CommitInfo) -> Commit {
    Commit {
        id: info.id.to_string(),
        summary: info.summary.clone(),
        author: info.author.clone(),
        time: Some(info.time.to_string()),
    }
}
