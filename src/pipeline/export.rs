//! Snapshots of commits, put on the reference of their branch: what `hierad export` and the daemon do.
//!
//! After a commit whose snapshots an [`Exporter`] has written itself, it renders just the nodes that the next commit touches. After any
//! other one it renders all nodes: profiles, settings or the version of hierad may have been others.

pub mod events;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::{Comparison, Pipeline, PipelineError, RevisionId};
use crate::diff::{self, Diff};
use crate::fleet::{self, NodesByKey, Revision};
use crate::git::{BranchName, CommitId, HistoryError, Import, ImportError};
use crate::node::NodeSet;
use crate::report::BlindSpot;
use crate::snapshot::history::{self, Files, Last, Rest};
use crate::snapshot::{Format, Snapshots, Written};

/// Commits that are written before the reference moves: what is lost when the process is killed.
const BATCH: usize = 100;

/// So many imports leave as many packs: git is asked to gc up. As many processes do, each with its first one.
const TIDY: usize = 50;

/// Snapshots could not be put on a reference, which is where it was before.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The values could not be resolved.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// The history of the branch cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// What is on the reference cannot be read.
    #[error("cannot read the snapshots on {reference}: {source}")]
    Last {
        /// The reference.
        reference: String,
        /// Why.
        source: history::HistoryError,
    },
    /// Somebody else has moved the reference meanwhile: it can be tried again.
    #[error("{reference} was moved by another process meanwhile; nothing was written to it, try again")]
    Moved {
        /// The reference.
        reference: String,
    },
    /// Git could not write.
    #[error("cannot write snapshots to {reference}: {source}")]
    Import {
        /// The reference.
        reference: String,
        /// Why.
        source: ImportError,
    },
}

/// A commit that has come to a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The commit of the branch before it; nothing if it is the first.
    pub before: Option<CommitId>,
    /// The commit.
    pub after: CommitId,
}

/// What was done on a reference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exported {
    /// The new commits there, oldest first; none where all were there already.
    pub commits: Vec<CommitId>,
    /// The files that were written or removed for them.
    pub files: Written,
    /// The commits of which nothing can be read, and why: they are left out until it can.
    pub skipped: Vec<(CommitId, BlindSpot)>,
}

/// Puts snapshots of the nodes of a pipeline on the references of branches.
pub struct Exporter {
    pipeline: Arc<Pipeline>,
    /// What it has left there.
    written: BTreeMap<BranchName, State>,
    imports: usize,
    /// True if commits are written of which nothing can be read.
    allows_unreadable: bool,
}

/// The last snapshots on the reference of a branch.
#[derive(Clone, Default)]
struct State {
    last: Option<Last>,
    files: Files,
    /// Whether they are what the pipeline says.
    is_own: bool,
}

impl Exporter {
    /// For the nodes of `pipeline`, with its settings.
    pub fn new(pipeline: Arc<Pipeline>) -> Exporter {
        Exporter { pipeline, written: BTreeMap::new(), imports: 0, allows_unreadable: false }
    }

    /// Writes commits of which nothing can be read, too, if `allowed`.
    #[must_use]
    pub fn allow_unreadable(self, allowed: bool) -> Exporter {
        Exporter { allows_unreadable: allowed, ..self }
    }

    /// Puts the snapshots of one commit on the reference of its branch. What is there already is left alone, so that it does no harm to
    /// do it again. `compared` is what the commit changes for all keys, if somebody has looked already.
    pub fn export(
        &mut self,
        branch: &BranchName,
        event: &Event,
        compared: Option<&Comparison>,
    ) -> Result<Exported, ExportError> {
        self.batch(branch, std::slice::from_ref(event), compared)
    }

    /// Puts the snapshots of several commits there, oldest first. Those of the first ones may be there though later ones fail.
    pub fn export_all(&mut self, branch: &BranchName, events: &[Event]) -> Result<Exported, ExportError> {
        let stage = self.pipeline.workers.begin("exporting commits", Some(events.len()));
        let mut all = Exported::default();
        for batch in events.chunks(BATCH) {
            let done = self.batch(branch, batch, None)?;
            all.commits.extend(done.commits);
            all.files += done.files;
            all.skipped.extend(done.skipped);
            stage.advance(batch.len());
        }
        Ok(all)
    }

    fn batch(
        &mut self,
        branch: &BranchName,
        events: &[Event],
        compared: Option<&Comparison>,
    ) -> Result<Exported, ExportError> {
        let reference = history::reference(branch);
        let unreadable = |source| ExportError::Last { reference: reference.clone(), source };
        let failed = |source| ExportError::Import { reference: reference.clone(), source };
        let mut state = self.state(branch).map_err(unreadable)?;
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

    /// Returns why nothing of a commit can be read, unless that is fine.
    fn unreadable(&self, event: &Event) -> Result<Option<BlindSpot>, ExportError> {
        if self.allows_unreadable {
            return Ok(None);
        }
        Ok(self.pipeline.unreadable(&*self.pipeline.load_cached(RevisionId::Commit(event.after))?))
    }

    fn gc(&mut self) {
        let is_time = self.imports.is_multiple_of(TIDY);
        self.imports += 1;
        if is_time && let Err(error) = self.pipeline.repository().gc() {
            tracing::warn!(%error, "git cannot tidy up the repository");
        }
    }

    /// What is on the reference of a branch.
    fn state(&mut self, branch: &BranchName) -> Result<State, history::HistoryError> {
        let last = Last::of(self.pipeline.repository(), branch)?;
        if let Some(state) = self.written.remove(branch).filter(|state| state.last == last) {
            return Ok(state);
        }
        let files = last.map_or(Ok(Files::default()), |last| Files::of(self.pipeline.repository(), last.commit))?;
        Ok(State { last, files, is_own: false })
    }

    /// The events that are still to come after the snapshots of `source`: not those that it has passed.
    fn pending<'e>(&self, mut source: Option<CommitId>, events: &'e [Event]) -> Result<Vec<&'e Event>, ExportError> {
        let mut pending = Vec::new();
        for event in events {
            let is_next = event.before == source && source != Some(event.after);
            let has_passed = |source| self.has_passed(source, event);
            if is_next || !source.map_or(Ok(false), has_passed)? {
                pending.push(event);
                source = Some(event.after);
            }
        }
        Ok(pending)
    }

    /// Whether the commit of an event is `source` or behind it. What cannot be told is no reason to write it twice.
    fn has_passed(&self, source: CommitId, event: &Event) -> Result<bool, ExportError> {
        let repository = self.pipeline.repository();
        if event.after == source {
            return Ok(true);
        }
        match repository.is_ancestor(event.after, source) {
            // A rewritten branch has left it, and it was collected.
            Err(_) if repository.is_gone(source) => Ok(false),
            result => Ok(result?),
        }
    }

    /// The nodes that differ from the last snapshots; nothing where that is not known, so that it may be all.
    fn touched(&self, state: &State, event: &Event, compared: Option<&Comparison>) -> Option<NodeSet> {
        let source = state.source().filter(|_| state.is_own)?;
        // What a rewritten branch has left may be gone.
        let revisions =
            self.pipeline.load_both(Diff::new(RevisionId::Commit(source), RevisionId::Commit(event.after))).ok()?;
        let revisions = revisions.as_ref().map(|revision| &**revision);
        let all = self.pipeline.fleet.len();
        let touched = match compared.filter(|_| event.before == Some(source)) {
            Some(compared) => diff::touched(compared.effective.as_ref(), all),
            None => diff::touched(self.pipeline.compare(revisions).2.as_ref(), all),
        };
        Some(NodeSet::union_of(all, [touched, self.only(revisions), self.only(revisions.reversed())]))
    }

    /// The nodes that have a key which just the first of two revisions knows of.
    fn only(&self, revisions: Diff<&Revision>) -> NodeSet {
        let keys = revisions.before.keys.difference(&revisions.after.keys);
        let effective = self.pipeline.effective(revisions.before, keys);
        let answers = effective.keys.into_values().flatten();
        NodeSet::union_of(self.pipeline.fleet.len(), answers.map(|answer| answer.nodes))
    }

    /// Writes the snapshot commit of an event. The outer error is that of the values, the inner one that of writing.
    fn write(
        &self,
        branch: &BranchName,
        state: &mut State,
        event: &Event,
        touched: Option<NodeSet>,
        import: &mut Import,
    ) -> Result<io::Result<Written>, ExportError> {
        let (pipeline, workers) = (&self.pipeline, &self.pipeline.workers);
        let source = self.pipeline.repository().commit(event.after).map_err(PipelineError::from)?;
        let is_left = |old: &CommitId| !self.pipeline.repository().is_ancestor(*old, event.after).unwrap_or(false);
        let left = state.source().filter(is_left);
        let rest = if touched.is_some() { Rest::Kept } else { Rest::Removed };
        let nodes = touched.unwrap_or_else(|| pipeline.fleet.all());
        let revision = pipeline.load_cached(RevisionId::Commit(event.after))?;
        let work: NodesByKey = revision.keys.iter().map(|key| (key.clone(), nodes.clone())).collect();
        let effective = fleet::resolve(&revision, &work, workers);
        let snapshots = Snapshots::new(effective, &pipeline.fleet, &nodes, Format::Json, &pipeline.disclosure, workers);
        // The commit of these snapshots has no id yet.
        state.last = Some(Last { commit: event.after, source: event.after });
        state.is_own = true;
        let written = import.commit(&history::commit(&source, branch, left));
        Ok(written.and_then(|()| state.files.write(&snapshots, rest, import, workers)))
    }

    /// Why the reference has not moved.
    fn refused(&self, reference: &str, parent: Option<CommitId>, source: ImportError) -> ExportError {
        let reference = reference.to_owned();
        match self.pipeline.repository().reference(&reference) {
            Ok(now) if now != parent => ExportError::Moved { reference },
            _ => ExportError::Import { reference, source },
        }
    }
}

impl State {
    /// The commit that the last snapshots are of.
    fn source(&self) -> Option<CommitId> {
        self.last.map(|last| last.source)
    }
}
