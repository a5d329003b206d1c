//! Finds for each part of the present values the commit that made it what it is: the last event of the part.

mod json;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::History;
use super::commits::{Commits, Step};
use crate::diff::{Change, ChangeKind, Former, former, innermost};
use crate::fleet::{Answer, Revision};
use crate::git::{CommitId, CommitInfo, HistoryError};
use crate::hiera::explain::Recorder;
use crate::hiera::explain::provenance::{Contribution, Origin, contributions, origin};
use crate::hiera::{LookupError, Outcome};
use crate::node::{NodeId, NodeSet};
use crate::pipeline::{DiffFilter, PipelineError, RevisionId};
use crate::value::{Value, ValuePath};

/// A failure to find out who made a value.
#[derive(Debug, thiserror::Error)]
pub enum BlameError {
    /// A commit cannot be resolved.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// The history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// There are too many parts.
    #[error("the values have more than {0} parts: ask for fewer keys or nodes")]
    TooMany(usize),
}

/// A part of a present value: a scalar, an empty collection, or an error in place of a value.
#[derive(Debug, Clone)]
pub struct BlamedPart {
    /// The key.
    pub key: Arc<str>,
    /// The place in its value.
    pub path: ValuePath,
    /// The part, on the first of the nodes if `varies`, or the error. Secrets are redacted.
    pub value: Result<Value, LookupError>,
    /// True if the part differs between the nodes, by a variable in its text.
    pub varies: bool,
    /// The nodes for which the same is true.
    pub nodes: NodeSet,
    /// The commit that made it what it is, or the oldest one that was looked at.
    pub commit: CommitInfo,
    /// True if it was so before the oldest commit that was looked at.
    pub is_boundary: bool,
    /// The place where it is written at present, if that is known.
    pub origin: Option<Origin>,
}

/// A part whose commit is not known yet.
struct Pending {
    /// The position of the part.
    part: usize,
    /// The place that it had at the commit that is looked at.
    then: ValuePath,
    nodes: NodeSet,
}

/// A part of a value, and who has it.
struct Part {
    key: Arc<str>,
    path: ValuePath,
    value: Result<Value, LookupError>,
    varies: bool,
}

impl Part {
    fn is_empty_collection(&self) -> bool {
        matches!(&self.value, Ok(Value::Array(_) | Value::Hash(_)))
    }
}

/// The parts of all values, and those among them whose commits are not known yet, by key.
#[derive(Default)]
struct Search {
    parts: Vec<Part>,
    pending: BTreeMap<Arc<str>, Vec<Pending>>,
    /// Each part, some of its nodes, and the commit that made it.
    found: Vec<(usize, NodeSet, Option<CommitInfo>)>,
}

impl History<'_> {
    /// Returns who made the values of the keys and nodes of a filter at `tip` what they are, sorted by key, place and
    /// first node. `commits` end with `tip`. Fails if there are more than `most` parts.
    pub fn blame(
        &mut self,
        tip: CommitId,
        commits: &mut Commits<'_>,
        filter: &DiffFilter<'_>,
        most: usize,
    ) -> Result<Vec<BlamedPart>, BlameError> {
        let revision = self.pipeline.cached_revision(RevisionId::Commit(tip))?;
        let keys = revision.keys.iter().filter(|key| (filter.key)(key));
        let nodes = self.pipeline.chosen_nodes(filter);
        let effective = self.pipeline.effective_among(&nodes, &revision, keys);
        let mut search = Search::default();
        for (key, answers) in &effective.keys {
            self.check_going_on()?;
            for answer in answers {
                search.add(key, answer);
            }
            if search.parts.len() > most {
                return Err(BlameError::TooMany(most));
            }
        }
        let mut oldest = None;
        for step in commits {
            if search.pending.is_empty() {
                break;
            }
            let step = step?;
            if step.before.is_some() {
                self.take(&mut search, &step, &nodes)?;
            }
            oldest = Some(step.commit);
        }
        let oldest = oldest.map_or_else(|| self.pipeline.repository().commit(tip).map_err(PipelineError::from), Ok)?;
        Ok(self.rows(search, &revision, &oldest)?)
    }

    /// Fails if the work was stopped.
    fn check_going_on(&self) -> Result<(), PipelineError> {
        self.pipeline.workers.stop.reason().map_or(Ok(()), |reason| Err(PipelineError::Stopped(reason)))
    }

    /// Takes the changes of a commit into account.
    fn take(&mut self, search: &mut Search, step: &Step, nodes: &NodeSet) -> Result<(), PipelineError> {
        let is_pending = |key: &str| search.pending.contains_key(key);
        let is_node = |name: &str| self.pipeline.fleet.find(name).is_some_and(|node| nodes.contains(node));
        let filter = DiffFilter { key: &is_pending, node: &is_node, paths: &[] };
        for change in self.changes(step, &filter)?.changes {
            search.take(&change, &step.commit);
        }
        Ok(())
    }

    fn rows(&self, search: Search, revision: &Revision, oldest: &CommitInfo) -> Result<Vec<BlamedPart>, PipelineError> {
        let Search { parts, pending, mut found } = search;
        found.extend(pending.into_values().flatten().map(|pending| (pending.part, pending.nodes, None)));
        let mut known: BTreeMap<(Arc<str>, NodeId), Explained> = BTreeMap::new();
        let mut joined: BTreeMap<(usize, Option<CommitId>), (NodeSet, Option<CommitInfo>)> = BTreeMap::new();
        for (part, nodes, commit) in found {
            let id = commit.as_ref().map(|commit| commit.id);
            joined.entry((part, id)).or_insert((NodeSet::new(), commit)).0.union_with(&nodes);
        }
        let mut rows: Vec<(usize, BlamedPart)> = Vec::new();
        for ((at, _), (nodes, commit)) in joined {
            self.check_going_on()?;
            let (Some(part), Some(first)) = (parts.get(at), nodes.first()) else { continue };
            let explained =
                known.entry((part.key.clone(), first)).or_insert_with(|| Explained::new(revision, &part.key, first));
            rows.push((at, self.row(part, nodes, commit, (explained, oldest))));
        }
        rows.sort_by_key(|(at, row)| (*at, row.nodes.first()));
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    fn row(
        &self,
        part: &Part,
        nodes: NodeSet,
        commit: Option<CommitInfo>,
        (explained, oldest): (&Explained, &CommitInfo),
    ) -> BlamedPart {
        let disclosure = &self.pipeline.disclosure;
        let value = match &part.value {
            Ok(value) => Ok(disclosure.value(value).into_owned()),
            Err(error) => Err(disclosure.error(error).into_owned()),
        };
        BlamedPart {
            key: part.key.clone(),
            origin: explained.origin(&part.path),
            path: disclosure.path(&part.path).into_owned(),
            value,
            varies: part.varies,
            nodes,
            is_boundary: commit.is_none(),
            commit: commit.unwrap_or_else(|| oldest.clone()),
        }
    }
}

impl Search {
    fn add(&mut self, key: &Arc<str>, answer: &Answer) {
        let mut add = |path: &ValuePath, value: Result<Value, LookupError>| {
            let varies = answer.template.as_ref().is_some_and(|template| template.varies_at(path));
            let pending = Pending { part: self.parts.len(), then: path.clone(), nodes: answer.nodes.clone() };
            self.parts.push(Part { key: key.clone(), path: path.clone(), value, varies });
            self.pending.entry(key.clone()).or_default().push(pending);
        };
        match &*answer.outcome {
            Outcome::Found(value) => {
                innermost(value, &ValuePath::default(), &mut |path, value| add(path, Ok(value.clone())));
            }
            Outcome::Failed(error) => add(&ValuePath::default(), Err(error.clone())),
            Outcome::NotFound => {}
        }
    }

    /// Takes a change into account that a commit makes.
    fn take(&mut self, change: &Change, commit: &CommitInfo) {
        let Some(pending) = self.pending.get_mut(&change.key) else { return };
        let is_whole = !matches!(change.kind, ChangeKind::Changed | ChangeKind::Reordered) || change.leaves.is_empty();
        let mut rest = Vec::new();
        for Pending { part, then, nodes } in pending.drain(..) {
            let here = nodes.intersection(&change.nodes);
            let elsewhere = nodes.difference(&here);
            if !elsewhere.is_empty() {
                rest.push(Pending { part, then: then.clone(), nodes: elsewhere });
            }
            if here.is_empty() {
                continue;
            }
            let before = if is_whole {
                Former::Changed
            } else {
                former(&change.leaves, &then, self.parts[part].is_empty_collection())
            };
            match before {
                Former::Changed => self.found.push((part, here, Some(commit.clone()))),
                Former::At(then) => rest.push(Pending { part, then, nodes: here }),
            }
        }
        *pending = rest;
        if pending.is_empty() {
            self.pending.remove(&change.key);
        }
    }
}

/// A present value, with all that contributed to it.
struct Explained {
    value: Option<Value>,
    contributions: Vec<Contribution>,
}

impl Explained {
    fn new(revision: &Revision, key: &str, node: NodeId) -> Explained {
        let recorder = Recorder::default();
        let outcome = revision.explain(key, node, &recorder);
        let value = if let Outcome::Found(value) = outcome { Some(value) } else { None };
        Explained { value, contributions: contributions(&recorder.finish(), key) }
    }

    fn origin(&self, path: &ValuePath) -> Option<Origin> {
        origin(&self.contributions, self.value.as_ref()?, path)
    }
}
