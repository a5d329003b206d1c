//! One pass: a repository and profiles, a revision or two of them, and what comes of it.
//!
//! The face that commands and the daemon call. A [`Pipeline`] keeps what was parsed, and the last revisions that it resolved.

pub mod check;
pub mod command;
mod origin;
pub mod outside;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crate::diagnostic::Diagnostic;
use crate::diff::{self, Diff};
use crate::disclosure::Disclosure;
use crate::fleet::{self, Answer, Effective, Fleet, Revision};
use crate::git::{CommitId, CommitInfo, ObjectError, Repository, WorkTree};
use crate::hiera::layer::{Environment, EnvironmentOptions, Store};
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeSet;
use crate::report::{Commit, Input, Report};
use crate::tree::{FileTree, MemoryTree, TreeError};

/// The most resolved revisions that are kept: the last commit of a few branches.
const KEPT_REVISIONS: usize = 4;

/// A pass that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The commit cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The files of the commit cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The repository has no checked-out files.
    #[error("the repository has no work tree, so '.' means nothing")]
    NoWorkTree,
}

/// What of a repository is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// A commit.
    Commit(CommitId),
    /// The checked-out files, committed or not.
    WorkTree,
    /// Nothing: what is before the first commit.
    Nothing,
}

/// A fleet and the way a repository is read for it.
pub struct Pipeline {
    repository: Arc<Repository>,
    /// The nodes.
    pub fleet: Fleet,
    /// What may be seen of secrets.
    pub disclosure: Arc<Disclosure>,
    options: EnvironmentOptions,
    threads: NonZeroUsize,
    store: Arc<Store>,
    kept: Mutex<VecDeque<(Point, Arc<Resolved>)>>,
}

/// A revision with the values of its own keys.
struct Resolved {
    revision: Revision,
    effective: Effective,
}

impl Pipeline {
    /// A pipeline over `repository` for `fleet`, whose reports show of secrets what `disclosure` lets through.
    pub fn new(
        repository: Arc<Repository>,
        fleet: Fleet,
        options: EnvironmentOptions,
        threads: NonZeroUsize,
        disclosure: Arc<Disclosure>,
    ) -> Pipeline {
        Pipeline { repository, fleet, disclosure, options, threads, store: Arc::default(), kept: Mutex::default() }
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The files at `point`.
    pub fn tree(&self, point: Point) -> Result<Arc<dyn FileTree>, PipelineError> {
        Ok(match point {
            Point::Commit(commit) => Arc::new(self.repository.tree(commit)?),
            Point::WorkTree => {
                let folder = self.repository.work_dir().ok_or(PipelineError::NoWorkTree)?;
                Arc::new(WorkTree::new(folder))
            }
            Point::Nothing => Arc::new(MemoryTree::new()),
        })
    }

    /// Reads the configuration at `point` and resolves the hierarchies of all nodes.
    pub fn revision(&self, point: Point) -> Result<Revision, PipelineError> {
        let environment = Environment::load(self.tree(point)?, self.options.clone(), self.store.clone())?;
        Ok(Revision::new(environment, &self.fleet)?)
    }

    /// The effective values of `keys` at a revision.
    pub fn effective(&self, revision: &Revision, keys: &BTreeSet<Arc<str>>) -> Effective {
        fleet::resolve(revision, &self.fleet, keys, self.threads)
    }

    /// What changes from `before` to `after`, for the keys that `chosen` lets through.
    pub fn diff(&self, before: Point, after: Point, chosen: &dyn Fn(&str) -> bool) -> Result<Report, PipelineError> {
        let resolved = Diff { before: self.resolved(before)?, after: self.resolved(after)? };
        let revisions = resolved.as_ref().map(|resolved| &resolved.revision);
        let all = revisions.before.keys.union(&revisions.after.keys);
        let keys: BTreeSet<Arc<str>> = all.filter(|key| chosen(key)).cloned().collect();
        // A key that only one side's files name can fail, or be found elsewhere, on the other.
        let effective = resolved.as_ref().map(|resolved| self.values(resolved, &keys));
        let findings = revisions.map(Pipeline::findings);
        let changes = diff::changes(effective.as_ref());
        Ok(Report::new(Input {
            commit: Diff { before: self.commit(before)?, after: self.commit(after)? },
            branch: None,
            fleet: &self.fleet,
            keys: keys.len(),
            origins: origin::origins(&changes, &revisions, &self.fleet),
            changes,
            findings: findings.as_ref().map(Vec::as_slice),
            disclosure: &self.disclosure,
        }))
    }

    /// The keys that fail at `point` on some node, with the first error of each as it may be seen.
    pub fn failing(&self, point: Point) -> Result<BTreeMap<Arc<str>, LookupError>, PipelineError> {
        let resolved = self.resolved(point)?;
        let error = |answers: &Vec<Answer>| {
            answers.iter().find_map(|answer| match &*answer.outcome {
                Outcome::Failed(error) => Some(self.disclosure.error(error).into_owned()),
                _ => None,
            })
        };
        let keys = resolved.effective.keys.iter();
        Ok(keys.filter_map(|(key, answers)| Some((key.clone(), error(answers)?))).collect())
    }

    fn commit(&self, point: Point) -> Result<Option<Commit>, PipelineError> {
        Ok(match point {
            Point::Commit(id) => Some(commit(&self.repository.commit(id)?)),
            Point::WorkTree => {
                Some(Commit { id: ".".to_owned(), summary: "the checked-out files".to_owned(), ..Commit::default() })
            }
            Point::Nothing => None,
        })
    }

    fn resolved(&self, point: Point) -> Result<Arc<Resolved>, PipelineError> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, resolved)) = lock().iter().find(|(kept, _)| *kept == point && point != Point::WorkTree) {
            return Ok(resolved.clone());
        }
        let revision = self.revision(point)?;
        let effective = self.effective(&revision, &revision.keys);
        let resolved = Arc::new(Resolved { revision, effective });
        let mut kept = lock();
        kept.push_back((point, resolved.clone()));
        if kept.len() > KEPT_REVISIONS {
            kept.pop_front();
        }
        Ok(resolved)
    }

    /// The values of `keys`, those of other revisions included.
    fn values(&self, resolved: &Resolved, keys: &BTreeSet<Arc<str>>) -> Effective {
        let foreign: BTreeSet<Arc<str>> = keys.difference(&resolved.revision.keys).cloned().collect();
        let own = resolved.effective.keys.iter().filter(|(key, _)| keys.contains(*key));
        let mut all: Effective = Effective { keys: own.map(|(key, answers)| (key.clone(), answers.clone())).collect() };
        all.keys.extend(self.effective(&resolved.revision, &foreign).keys);
        all
    }

    /// What was found wrong with a revision, besides keys that fail.
    fn findings(revision: &Revision) -> Vec<fleet::Finding> {
        let whole = |diagnostic: &Diagnostic| fleet::Finding { diagnostic: diagnostic.clone(), nodes: NodeSet::new() };
        let mut findings: Vec<fleet::Finding> = revision.environment.diagnostics.iter().map(whole).collect();
        findings.extend(revision.findings.iter().cloned());
        findings
    }
}

fn commit(info: &CommitInfo) -> Commit {
    Commit {
        id: info.id.to_string(),
        summary: info.summary.clone(),
        author: info.author.clone(),
        time: Some(info.time.to_string()),
    }
}
