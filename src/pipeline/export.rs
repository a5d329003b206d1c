//! Writes the snapshots of commits to the reference of their branch, for `hierad export` and the daemon.
//!
//! If an [`Exporter`] has written the snapshots of the previous commit itself, it renders only the nodes that a
//! commit changes. Otherwise it renders all nodes: profiles, settings or hierad itself may have changed since.

pub mod events;

use std::collections::BTreeMap;
use std::io;
use std::ops::AddAssign;
use std::sync::Arc;

use super::{Comparison, Pipeline, PipelineError, RevisionId};
use crate::diff::{self, Diff};
use crate::event::{CommitEvent, EventKind};
use crate::fleet::{self, NodesByKey, Revision};
use crate::git::{BranchName, Chain, ChainEnd, CommitId, HistoryError, Import, ImportError};
use crate::node::NodeSet;
use crate::report::BlindSpot;
use crate::snapshot::history::{self, Files, Last, Relation, Rest};
use crate::snapshot::references::{ReferenceError, make_room};
use crate::snapshot::{Format, Snapshots, Written};

/// The maximum number of commits that are written before the reference moves, and so lost if the process is killed.
const MAX_BATCH_SIZE: usize = 100;

/// The number of imports, each of which leaves a pack, between runs of `git gc --auto`. It is also run with the first
/// one, since processes may be short-lived.
const IMPORTS_PER_GC: usize = 50;

/// The maximum number of skipped commits that a snapshot commit names.
const MAX_SKIPPED: usize = 20;

/// A failure to write snapshots to a reference, which then stays where it was.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The values could not be resolved.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// The history of the branch cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The snapshots on the reference cannot be read.
    #[error("cannot read the snapshots on {reference}: {source}")]
    Last {
        /// The reference.
        reference: String,
        /// The reason.
        source: history::HistoryError,
    },
    /// The references of other branches are in the way.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A limit of time or memory was reached meanwhile, so values may be missing; a retry may succeed.
    #[error("nothing was written to {reference}, since a limit of time or memory was reached meanwhile; try again")]
    Stopped {
        /// The reference.
        reference: String,
    },
    /// Another process moved the reference meanwhile; a retry may succeed.
    #[error("{reference} was moved by another process meanwhile; nothing was written to it, try again")]
    Moved {
        /// The reference.
        reference: String,
    },
    /// Git failed to write.
    #[error("cannot write snapshots to {reference}: {source}")]
    Import {
        /// The reference.
        reference: String,
        /// The reason.
        source: ImportError,
    },
}

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exported {
    /// The new snapshot commits, oldest first; empty if all existed already.
    pub commits: Vec<CommitId>,
    /// The number of files written and removed.
    pub files: Written,
    /// The commits that were left out because they cannot be read at all, with the reasons.
    pub skipped: Vec<(CommitId, BlindSpot)>,
}

impl AddAssign for Exported {
    fn add_assign(&mut self, later: Exported) {
        self.commits.extend(later.commits);
        self.files += later.files;
        self.skipped.extend(later.skipped);
    }
}

/// Returns true if the snapshots of `last` are of the same commit with other facts.
fn is_refresh(event: &CommitEvent, last: CommitId) -> bool {
    event.kind == EventKind::Facts && event.after == last
}

/// Writes snapshots of a pipeline's nodes to the references of branches.
pub struct Exporter {
    pipeline: Arc<Pipeline>,
    /// The state in which it left each reference.
    written: BTreeMap<BranchName, State>,
    imports: usize,
    /// True if commits that cannot be read at all are written, too.
    allows_unreadable: bool,
}

/// The last snapshots on the reference of a branch.
#[derive(Clone, Default)]
struct State {
    last: Option<Last>,
    files: Files,
    /// True if this exporter has written them.
    is_own: bool,
    /// True if somebody else has written them, and they are not those of their commit.
    is_wrong: bool,
}

impl Exporter {
    /// Returns an exporter for the nodes of `pipeline`.
    pub fn new(pipeline: Arc<Pipeline>) -> Exporter {
        Exporter { pipeline, written: BTreeMap::new(), imports: 0, allows_unreadable: false }
    }

    /// Sets if commits that cannot be read at all are written, too.
    #[must_use]
    pub fn allow_unreadable(self, allowed: bool) -> Exporter {
        Exporter { allows_unreadable: allowed, ..self }
    }

    /// Writes the snapshots of one commit, unless they exist already, so it is safe to repeat. `compared` is the
    /// comparison of the commit for all keys, if the caller has it.
    pub fn export(&mut self, event: &CommitEvent, compared: Option<&Comparison>) -> Result<Exported, ExportError> {
        self.batch(&event.branch, std::slice::from_ref(event), compared)
    }

    /// Writes the snapshots of several commits of a branch, oldest first. If it fails, those of the first ones may have
    /// been written.
    pub fn export_all(&mut self, branch: &BranchName, events: &[CommitEvent]) -> Result<Exported, ExportError> {
        let stage = self.pipeline.workers.begin("exporting commits", Some(events.len()));
        let mut all = Exported::default();
        for batch in events.chunks(MAX_BATCH_SIZE) {
            all += self.batch(branch, batch, None)?;
            stage.advance(batch.len());
        }
        Ok(all)
    }

    /// Rewrites the last snapshots of a branch if they differ from those that this exporter writes for their commit.
    /// Call it if somebody else may have written them.
    pub fn renew(&mut self, branch: &BranchName) -> Result<Exported, ExportError> {
        let reference = history::reference(branch);
        let unreadable = |source| ExportError::Last { reference: reference.clone(), source };
        let state = self.state(branch).map_err(unreadable)?;
        let Some(source) = state.source() else { return Ok(Exported::default()) };
        let revision = self.pipeline.load_cached(RevisionId::Commit(source))?;
        let all = self.pipeline.fleet.all();
        if state.files.are_of(&self.snapshots(&revision, &all), &self.pipeline.workers) {
            self.written.insert(branch.clone(), state);
            return Ok(Exported::default());
        }
        tracing::warn!(%branch, commit = %source, "the snapshots of this commit were wrong: they are written once more");
        self.written.insert(branch.clone(), State { is_wrong: true, ..state });
        let (before, kind) = (Some(source), EventKind::Facts);
        let again = CommitEvent::new(branch.clone(), before, source, kind);
        self.batch(branch, &[again], None)
    }

    fn batch(
        &mut self,
        branch: &BranchName,
        events: &[CommitEvent],
        compared: Option<&Comparison>,
    ) -> Result<Exported, ExportError> {
        let reference = history::reference(branch);
        let unreadable = |source| ExportError::Last { reference: reference.clone(), source };
        let failed = |source| ExportError::Import { reference: reference.clone(), source };
        let stops = self.pipeline.workers.stop.count();
        let mut state = self.state(branch).map_err(unreadable)?;
        if state.last.is_none() {
            make_room(self.pipeline.repository(), branch)?;
            state = self.state(branch).map_err(unreadable)?;
        }
        let mut exported = Exported::default();
        let parent = state.last.map(|last| last.commit);
        let mut import = None;
        for event in self.pending(state.source(), events)? {
            if let Some(blind) = self.unreadable(event)? {
                exported.skipped.push((event.after, blind));
                continue;
            }
            let mut writer = match import.take() {
                Some(import) => import,
                None => self.pipeline.repository().import(&reference, parent).map_err(failed)?,
            };
            let touched = self.touched(&state, event, compared);
            match self.write(branch, &mut state, event, touched, &mut writer)? {
                Ok(written) => exported.files += written,
                Err(error) => return Err(failed(writer.failed(&error))),
            }
            import = Some(writer);
        }
        if self.pipeline.workers.stop.count() != stops {
            return Err(ExportError::Stopped { reference });
        }
        if let Some(import) = import {
            exported.commits = import.finish().map_err(|error| self.refused(&reference, parent, error))?;
            self.gc();
        }
        if let (Some(last), Some(commit)) = (&mut state.last, exported.commits.last()) {
            last.commit = *commit;
        }
        self.written.insert(branch.clone(), state);
        Ok(exported)
    }

    /// Returns the reason why a commit cannot be read at all, or `None` if parts of it can be, or if it does not
    /// matter.
    fn unreadable(&self, event: &CommitEvent) -> Result<Option<BlindSpot>, ExportError> {
        if self.allows_unreadable {
            return Ok(None);
        }
        Ok(self.pipeline.unreadable(&*self.pipeline.load_cached(RevisionId::Commit(event.after))?))
    }

    fn gc(&mut self) {
        let is_time = self.imports.is_multiple_of(IMPORTS_PER_GC);
        self.imports += 1;
        if is_time && let Err(error) = self.pipeline.repository().gc() {
            tracing::warn!(%error, "git cannot tidy up the repository");
        }
    }

    /// Reads the state of the reference of a branch.
    fn state(&mut self, branch: &BranchName) -> Result<State, history::HistoryError> {
        let last = Last::of(self.pipeline.repository(), branch)?;
        if let Some(state) = self.written.remove(branch).filter(|state| state.last == last) {
            return Ok(state);
        }
        let files = last.map_or(Ok(Files::default()), |last| Files::of(self.pipeline.repository(), last.commit))?;
        Ok(State { last, files, is_own: false, is_wrong: false })
    }

    /// Returns the events whose commits are not covered by the snapshots of `source`.
    fn pending<'e>(
        &self,
        mut source: Option<CommitId>,
        events: &'e [CommitEvent],
    ) -> Result<Vec<&'e CommitEvent>, ExportError> {
        let mut pending = Vec::new();
        for event in events {
            let is_next = event.before == source && source != Some(event.after)
                || source.is_some_and(|source| is_refresh(event, source));
            let has_passed = |source| self.has_passed(source, event);
            if is_next || !source.map_or(Ok(false), has_passed)? {
                pending.push(event);
                source = Some(event.after);
            }
        }
        Ok(pending)
    }

    /// Returns true if the commit of an event is `source` or an ancestor of it. Fails if that cannot be known, so
    /// that nothing is written twice.
    fn has_passed(&self, source: CommitId, event: &CommitEvent) -> Result<bool, ExportError> {
        let repository = self.pipeline.repository();
        if event.after == source {
            return Ok(true);
        }
        match repository.is_ancestor(event.after, source) {
            // The branch was rewritten and git has collected the commit.
            Err(_) if repository.is_gone(source) => Ok(false),
            result => Ok(result?),
        }
    }

    /// Returns the nodes that differ from the last snapshots, or `None` if that is unknown and any node may.
    fn touched(&self, state: &State, event: &CommitEvent, compared: Option<&Comparison>) -> Option<NodeSet> {
        let source = state.source().filter(|source| state.is_own && !is_refresh(event, *source))?;
        // Git may have collected the commits that a rewritten branch left behind.
        let revisions =
            self.pipeline.load_both(Diff::new(RevisionId::Commit(source), RevisionId::Commit(event.after))).ok()?;
        let revisions = revisions.as_ref().map(|revision| &**revision);
        let all = self.pipeline.fleet.len();
        let touched = match compared.filter(|_| event.before == Some(source)) {
            Some(compared) => diff::touched(compared.effective.as_ref(), all),
            None => diff::touched(Pipeline::compare(revisions, &self.pipeline.workers).2.as_ref(), all),
        };
        Some(NodeSet::union_of(
            all,
            [touched, self.nodes_with_lost_keys(revisions), self.nodes_with_lost_keys(revisions.reversed())],
        ))
    }

    /// Returns the nodes that have a key which only the first of two revisions has.
    fn nodes_with_lost_keys(&self, revisions: Diff<&Revision>) -> NodeSet {
        let keys = revisions.before.keys.difference(&revisions.after.keys);
        let effective = self.pipeline.effective(revisions.before, keys);
        let answers = effective.keys.into_values().flatten();
        NodeSet::union_of(self.pipeline.fleet.len(), answers.map(|answer| answer.nodes))
    }

    /// Returns the last commits of a branch between `last` and an event's commit. They have no snapshots because they
    /// could not be resolved, or not be read at all.
    fn skipped(&self, last: CommitId, event: &CommitEvent) -> Vec<CommitId> {
        if event.before == Some(last) || event.kind == EventKind::Combined {
            return Vec::new();
        }
        match self.pipeline.repository().chain_excluding(event.after, &[last]) {
            Ok(Chain { mut commits, end: ChainEnd::Reached(end) }) if end == last => {
                commits.pop();
                commits.split_off(commits.len().saturating_sub(MAX_SKIPPED))
            }
            _ => Vec::new(),
        }
    }

    /// Writes the snapshot commit of an event. The outer error is from resolving, the inner one from writing.
    fn write(
        &self,
        branch: &BranchName,
        state: &mut State,
        event: &CommitEvent,
        touched: Option<NodeSet>,
        import: &mut Import,
    ) -> Result<io::Result<Written>, ExportError> {
        let (pipeline, workers) = (&self.pipeline, &self.pipeline.workers);
        let source = self.pipeline.repository().commit(event.after).map_err(PipelineError::from)?;
        let is_left = |old: &CommitId| !self.pipeline.repository().is_ancestor(*old, event.after).unwrap_or(false);
        let relation = match state.source() {
            Some(last) if is_refresh(event, last) && state.is_wrong => Relation::Wrong,
            Some(last) if is_refresh(event, last) => Relation::Same,
            last => last.filter(is_left).map_or(Relation::Next, Relation::Left),
        };
        let skipped = state.source().map(|last| self.skipped(last, event)).unwrap_or_default();
        let rest = if touched.is_some() { Rest::Kept } else { Rest::Removed };
        let nodes = touched.unwrap_or_else(|| pipeline.fleet.all());
        let revision = pipeline.load_cached(RevisionId::Commit(event.after))?;
        let snapshots = self.snapshots(&revision, &nodes);
        pipeline.fleet_has_stayed()?;
        // The snapshot commit has no id yet.
        state.last = Some(Last { commit: event.after, source: event.after });
        (state.is_own, state.is_wrong) = (true, false);
        let written = import.commit(&history::commit(&source, branch, relation, &skipped));
        Ok(written.and_then(|()| state.files.write(&snapshots, rest, import, workers)))
    }

    /// Returns the snapshots of nodes at a revision.
    fn snapshots(&self, revision: &Revision, nodes: &NodeSet) -> Snapshots<'_> {
        let (pipeline, workers) = (&self.pipeline, &self.pipeline.workers);
        let work: NodesByKey = revision.keys.iter().map(|key| (key.clone(), nodes.clone())).collect();
        let effective = fleet::resolve(revision, &work, workers);
        Snapshots::new(effective, &pipeline.fleet, nodes, Format::Json, &pipeline.disclosure, workers)
    }

    /// Returns the reason why the reference did not move.
    fn refused(&self, reference: &str, parent: Option<CommitId>, source: ImportError) -> ExportError {
        let reference = reference.to_owned();
        match self.pipeline.repository().reference(&reference) {
            Ok(now) if now != parent => ExportError::Moved { reference },
            _ => ExportError::Import { reference, source },
        }
    }
}

impl State {
    /// Returns the commit of the last snapshots.
    fn source(&self) -> Option<CommitId> {
        self.last.map(|last| last.source)
    }
}
