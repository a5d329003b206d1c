//! One pass: a repository and profiles, a revision or two of them, and what comes of it.
//!
//! The face that commands and the daemon call. A [`Pipeline`] keeps what was parsed, and the last revisions that it resolved.

pub mod backend_command;
pub mod blind_spots;
pub mod cache;
pub mod check;
pub mod export;
pub mod host;
mod origin;
pub mod profiles;
pub mod render;
mod revisions;
pub mod suggestions;

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::diagnostic::Diagnostic;
use crate::diff::{self, Changes, Diff};
use crate::disclosure::Disclosure;
use crate::fleet::{self, AffectedKeys, Effective, Finding, Fleet, Revision};
use crate::git::{CommitId, CommitInfo, ObjectError, Repository};
use crate::hiera::layer::DeclaredModule;
use crate::node::{NodeId, NodeSet};
use crate::report::{BlindSpot, Commit, Input, NodeNames, Report};
use crate::tree::TreeError;
use crate::workers::Workers;

pub use revisions::Revisions;

use blind_spots::DiffContext;
use blind_spots::accept::Accepted;

/// The most resolved revisions that are kept: those that were of use last.
const MAX_CACHED_REVISIONS: usize = 4;

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
pub enum RevisionId {
    /// A commit.
    Commit(CommitId),
    /// The checked-out files, committed or not.
    WorkTree,
    /// Nothing: what is before the first commit.
    Empty,
}

/// What a change does, and what it may do that nobody can see.
pub struct Comparison {
    /// What it does.
    pub report: Report,
    /// The answers that were compared. To drop them takes time, which whoever waits for the report need not wait for.
    pub effective: Diff<Effective>,
}

/// The keys and nodes that a report is about.
pub struct DiffFilter<'a> {
    /// The keys.
    pub key: &'a dyn Fn(&str) -> bool,
    /// The nodes, by name.
    pub node: &'a dyn Fn(&str) -> bool,
}

impl DiffFilter<'_> {
    /// All keys on all nodes.
    pub const ALL: DiffFilter<'static> = DiffFilter { key: &|_| true, node: &|_| true };
}

/// A fleet and the way a repository is read for it.
pub struct Pipeline {
    revisions: Revisions,
    /// The nodes.
    pub fleet: Arc<Fleet>,
    /// What they are called, for all reports.
    names: NodeNames,
    /// What may be seen of secrets.
    pub disclosure: Arc<Disclosure>,
    /// Blind spots that the settings call fine.
    accepted: Accepted,
    workers: Workers,
    kept: Mutex<VecDeque<(RevisionId, Arc<Revision>)>>,
}

impl Pipeline {
    /// A pipeline over `revisions` for `fleet`, whose reports show of secrets what `disclosure` lets through.
    pub fn new(revisions: Revisions, fleet: Arc<Fleet>, workers: Workers, disclosure: Arc<Disclosure>) -> Pipeline {
        let names = NodeNames::new(fleet.clone());
        Pipeline { revisions, fleet, names, disclosure, accepted: Accepted::default(), workers, kept: Mutex::default() }
    }

    /// The same with blind spots that are fine.
    #[must_use]
    pub fn with_accepted(self, accepted: Accepted) -> Pipeline {
        Pipeline { accepted, ..self }
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.revisions.repository
    }

    /// Reads the configuration at `id` and resolves the hierarchies of all nodes.
    pub fn revision(&self, id: RevisionId) -> Result<Revision, PipelineError> {
        Ok(Revision::new(self.revisions.environment(id)?, self.fleet.clone(), &self.workers)?)
    }

    /// The effective values of `keys` at a revision.
    pub fn effective<'k>(&self, revision: &Revision, keys: impl IntoIterator<Item = &'k Arc<str>>) -> Effective {
        fleet::resolve(revision, &self.fleet.everywhere(keys), &self.workers)
    }

    /// The effective values of `keys` on a node at a revision.
    pub fn effective_on<'k>(
        &self,
        node: NodeId,
        revision: &Revision,
        keys: impl IntoIterator<Item = &'k Arc<str>>,
    ) -> Effective {
        let nodes = NodeSet::from_iter([node]);
        let work = keys.into_iter().map(|key| (key.clone(), nodes.clone())).collect();
        fleet::resolve(revision, &work, &self.workers)
    }

    /// Returns what changes from `before` to `after`, as far as it is `chosen`. What is not chosen is compared all the same: the
    /// report says that something of it changes, and not what.
    pub fn diff(
        &self,
        before: RevisionId,
        after: RevisionId,
        filter: &DiffFilter<'_>,
    ) -> Result<Comparison, PipelineError> {
        let kept = self.load_both(Diff::new(before, after))?;
        let revisions = kept.as_ref().map(|kept| &**kept);
        let (keys, reached, effective) = self.compare(revisions);
        let findings = revisions.map(Pipeline::findings).map(|findings| without_old_news(findings, revisions));
        let changes = diff::changes(effective.as_ref(), &self.workers);
        let blind = revisions.map(|revision| blind_spots::unreadable::unreadable_revision(revision, &self.workers));
        let context = DiffContext {
            revisions,
            reached: &reached,
            effective: &effective,
            changes: &changes,
            blind: &blind,
            accepted: &self.accepted,
            disclosure: &self.disclosure,
        };
        let mut blind_spots = context.blind_spots()?;
        let (nodes, keys, changes) = self.filter_changes(filter, &keys, changes, &mut blind_spots);
        let report = Report::new(Input {
            commit: Diff { before: self.commit(before)?, after: self.commit(after)? },
            arrival: None,
            names: self.names.clone(),
            nodes,
            keys,
            origins: origin::origins(&changes, &revisions, &self.workers),
            changes,
            findings: findings.as_ref().map(Vec::as_slice),
            disclosure: &self.disclosure,
            blind_spots,
            is_unreadable: Diff {
                before: if before == RevisionId::Empty { blind.after.is_some() } else { blind.before.is_some() },
                after: blind.after.is_some(),
            },
        });
        Ok(Comparison { report, effective })
    }

    /// Both revisions, opened with the same keys.
    fn load_both(&self, ids: Diff<RevisionId>) -> Result<Diff<Arc<Revision>>, PipelineError> {
        self.drop_outdated();
        Ok(Diff { before: self.load_cached(ids.before)?, after: self.load_cached(ids.after)? })
    }

    /// All keys of both sides, those that the change may reach, and the answers to these.
    fn compare(&self, revisions: Diff<&Revision>) -> (Arc<BTreeSet<Arc<str>>>, AffectedKeys, Diff<Effective>) {
        let [before, after] = [&revisions.before.keys, &revisions.after.keys];
        let keys =
            if Arc::ptr_eq(before, after) { after.clone() } else { Arc::new(before.union(after).cloned().collect()) };
        let reached = fleet::affected_keys(revisions.before, revisions.after, &keys, &self.workers);
        let [was, is] = fleet::resolve_all([revisions.before, revisions.after], &reached.keys, &self.workers);
        (keys, reached, Diff::new(was, is))
    }

    /// All keys at some ids.
    pub fn keys(&self, ids: &[RevisionId]) -> Result<BTreeSet<Arc<str>>, PipelineError> {
        let mut keys = BTreeSet::new();
        for id in ids {
            keys.extend(self.load_cached(*id)?.keys.iter().cloned());
        }
        Ok(keys)
    }

    /// The nodes, the number of keys and the changes that are chosen; that others change, too, is a blind spot.
    fn filter_changes(
        &self,
        filter: &DiffFilter<'_>,
        keys: &BTreeSet<Arc<str>>,
        changes: Changes,
        blind_spots: &mut Vec<BlindSpot>,
    ) -> (NodeSet, usize, Changes) {
        let count = keys.iter().filter(|key| (filter.key)(key)).count();
        let nodes: NodeSet = self.fleet.iter().filter(|(_, name)| (filter.node)(name)).map(|(node, _)| node).collect();
        let nodes = if nodes.len() == self.fleet.len() { self.fleet.all() } else { nodes };
        if nodes.len() == self.fleet.len() && count == keys.len() {
            return (nodes, count, changes);
        }
        let (chosen, hidden) = changes.chosen(filter.key, &nodes);
        blind_spots.extend(blind_spots::hidden(&hidden, self.fleet.len()));
        (nodes, count, chosen)
    }

    fn commit(&self, id: RevisionId) -> Result<Option<Commit>, PipelineError> {
        Ok(match id {
            RevisionId::Commit(id) => Some(commit(&self.revisions.repository.commit(id)?)),
            RevisionId::WorkTree => {
                Some(Commit { id: ".".to_owned(), summary: "the checked-out files".to_owned(), ..Commit::default() })
            }
            RevisionId::Empty => None,
        })
    }

    /// The revision at `id`, which is kept for those who ask next.
    pub fn cached_revision(&self, id: RevisionId) -> Result<Arc<Revision>, PipelineError> {
        self.drop_outdated();
        self.load_cached(id)
    }

    /// Drops the revisions that were read with other keys than there are now.
    fn drop_outdated(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, kept)| kept.environment.keys.are_current());
    }

    /// The revision at `id`: known, or made of the last one that is.
    fn load_cached(&self, id: RevisionId) -> Result<Arc<Revision>, PipelineError> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = lock();
        let at = kept.iter().position(|(kept, _)| *kept == id);
        if let Some(known) = at.and_then(|at| kept.remove(at)) {
            // What was of use last is dropped last, and the next one is made of it.
            let revision = known.1.clone();
            kept.push_back(known);
            return Ok(revision);
        }
        drop(kept);
        // Nobody knows what differs on disk without reading it all.
        let last = lock().back().map(|(_, last)| last.clone()).filter(|_| id != RevisionId::WorkTree);
        let revision = Arc::new(match last {
            Some(last) => last.next(self.revisions.environment(id)?, &self.workers)?,
            None => self.revision(id)?,
        });
        if id == RevisionId::WorkTree {
            return Ok(revision);
        }
        let mut kept = lock();
        kept.push_back((id, revision.clone()));
        if kept.len() > MAX_CACHED_REVISIONS {
            kept.pop_front();
        }
        Ok(revision)
    }

    /// What was found wrong with a revision, besides keys that fail.
    fn findings(revision: &Revision) -> Vec<Finding> {
        let whole = |diagnostic: &Diagnostic| Finding { diagnostic: diagnostic.clone(), nodes: NodeSet::new() };
        let mut findings: Vec<Finding> = revision.environment.diagnostics.iter().map(whole).collect();
        findings.extend(revision.findings.iter().cloned());
        findings
    }
}

/// Leaves out what a fault merely brings along: a module that both sides lack is no news, though one of them has no keys of it.
fn without_old_news(mut findings: Vec<Finding>, revisions: Diff<&Revision>) -> Vec<Finding> {
    let [before, after] = [revisions.before, revisions.after].map(|revision| &revision.environment.absent_modules);
    let is_old = |finding: &Finding| {
        let text = &finding.diagnostic.text;
        let names = |modules: &[DeclaredModule]| {
            modules.iter().any(|module| text.contains(&format!("module {} ", module.name)))
        };
        finding.diagnostic.code == "absent-module" && names(before) && names(after)
    };
    findings.retain(|finding| !is_old(finding));
    findings
}

fn commit(info: &CommitInfo) -> Commit {
    Commit {
        id: info.id.to_string(),
        summary: info.summary.clone(),
        author: info.author.clone(),
        time: Some(info.time.to_string()),
    }
}
