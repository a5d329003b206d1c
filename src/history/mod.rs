//! The history of effective values: which commits changed a key on a node, and how.
//!
//! A history is a list of events: each commit, compared with its first parent, changes some keys on some nodes. All
//! else is derived from these: [`History::report`] is an entry of a log, [`blame`] finds the last event of each part of
//! a value, [`transitions`] those after which a condition holds or no longer does. Values flip back, so no search skips
//! commits.
//!
//! It knows neither arguments nor the terminal.

pub mod blame;
pub mod commits;
pub mod index;
pub mod needle;
pub mod transitions;

use crate::diff::{Change, Changes, Diff};
use crate::fleet::Distinction;
use crate::git::CommitId;
use crate::pipeline::commit_changes::{CommitChanges, ValueWalk};
use crate::pipeline::{DiffFilter, Pipeline, PipelineError, RevisionId};
use crate::report::Report;

use commits::Step;
use index::{Index, Known};
use needle::Needle;

/// The history of a branch, for a fleet.
pub struct History<'p> {
    pipeline: &'p Pipeline,
    walk: ValueWalk<'p>,
    index: Option<Index>,
    /// The variables by which sets of nodes are described.
    distinctions: Vec<Distinction>,
    /// The commits so far that may change a value unseen, since it fails before and after.
    pub masked: Vec<CommitId>,
}

/// The events that somebody asks about.
pub struct Query<'q> {
    /// The keys and nodes.
    pub filter: DiffFilter<'q>,
    /// True if the filter accepts all of them.
    pub is_of_all: bool,
    /// The text that values are searched for.
    pub needle: Option<Needle>,
}

impl Step {
    /// Returns the revisions to compare.
    fn ids(&self) -> Diff<RevisionId> {
        let before = self.before.map_or(RevisionId::Empty, RevisionId::Commit);
        Diff::new(before, RevisionId::Commit(self.commit.id))
    }
}

impl<'p> History<'p> {
    /// Returns the history that ends with `tip`. What `index` has is not compared again, and it gets what it lacks.
    pub fn new(pipeline: &'p Pipeline, tip: CommitId, index: Option<Index>) -> Result<History<'p>, PipelineError> {
        let distinctions = pipeline.distinctions_at(RevisionId::Commit(tip))?;
        Ok(History { pipeline, walk: pipeline.value_walk(None), index, distinctions, masked: Vec::new() })
    }

    /// Returns the report on what a commit does to the keys and nodes asked for, or `None` if it changes none of them.
    pub fn report(&mut self, step: &Step, query: &Query<'_>) -> Result<Option<Report>, PipelineError> {
        let mut found = self.commit_changes(step, query)?;
        if !found.masked.is_empty() {
            self.masked.push(step.commit.id);
        }
        if let Some(needle) = &query.needle {
            found.retain(|change| needle.is_in(change, &self.pipeline.disclosure));
        }
        if found.changes.changes.is_empty() {
            return Ok(None);
        }
        self.pipeline.report_on(step.ids(), found, &query.filter, &self.distinctions).map(Some)
    }

    /// Returns the changes that a commit makes to the keys and nodes asked for, with their causes.
    fn commit_changes(&mut self, step: &Step, query: &Query<'_>) -> Result<CommitChanges, PipelineError> {
        let nodes = self.pipeline.chosen_nodes(&query.filter);
        let known = self.index.as_ref().map(|index| index.commit_changes(step.commit.id, &query.filter, &nodes));
        if let Some(Known::Whole(found)) = known {
            return Ok(found);
        }
        if let (true, Some(Known::Absent)) = (query.is_of_all, known) {
            return self.compare_all(step);
        }
        let disclosure = &self.pipeline.disclosure;
        let needle = query.needle.as_ref().filter(|_| !query.is_of_all);
        let is_wanted = |change: &Change| needle.is_none_or(|needle| needle.is_in(change, disclosure));
        self.whole(|walk| walk.commit_changes(step.ids(), &query.filter, is_wanted))
    }

    /// Returns what a walk finds, if it is not stopped.
    fn whole<T>(
        &mut self,
        find: impl FnOnce(&mut ValueWalk<'p>) -> Result<T, PipelineError>,
    ) -> Result<T, PipelineError> {
        self.pipeline.whole(|| find(&mut self.walk))
    }

    /// Adds a commit to the index, unless that has it. Returns false if the index does not keep what it changes.
    pub fn keep(&mut self, step: &Step) -> Result<bool, PipelineError> {
        let has = |index: &Option<Index>| index.as_ref().is_some_and(|index| index.has(step.commit.id));
        if self.index.is_some() && !has(&self.index) {
            self.compare_all(step)?;
        }
        Ok(has(&self.index))
    }

    /// Returns all changes of a commit, with their causes, after they were added to the index.
    fn compare_all(&mut self, step: &Step) -> Result<CommitChanges, PipelineError> {
        let found = self.whole(|walk| walk.commit_changes(step.ids(), &DiffFilter::ALL, |_| true))?;
        if let Some(index) = &mut self.index {
            index.add(step.commit.id, found.clone());
        }
        Ok(found)
    }

    /// Returns the changes that a commit makes to the keys and nodes of a filter.
    fn changes(&mut self, step: &Step, filter: &DiffFilter<'_>) -> Result<Changes, PipelineError> {
        let nodes = || self.pipeline.chosen_nodes(filter);
        match self.index.as_ref().map(|index| index.changes(step.commit.id, filter, &nodes())) {
            Some(Known::Whole(changes)) => Ok(changes),
            _ => self.whole(|walk| walk.changes(step.ids(), filter)),
        }
    }
}
