//! Finds the two commits of a request in the checkout of a CI job or in a repository of the daemon. Missing objects
//! are fetched from the remote into a quarantine, which is removed after the review, so that a request that is pushed
//! to again and again does not fill the disk.
//!
//! A shallow checkout, which a job has made for itself, is deepened step by step instead. The fetched commits get
//! references of hierad's own, which no watch takes for branches. Those of another run are never used: the branch has
//! moved since then, and the run may remove them at any time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::{Overrides, Result};
use crate::diagnostic::describe;
use crate::forge::ci;
use crate::git::{BranchName, CommitId, PasswordPrompt, Quarantine, Repository};

/// The maximum size of what is fetched for a review, in bytes.
const MAX_FETCHED_SIZE: u64 = 1 << 30;

/// The prefix of the references that fetched commits get.
const REFERENCES: &str = "refs/hierad/review";

/// The time after which a run whose references are still there is presumed killed.
const OUTDATED: Duration = Duration::from_hours(24);

/// The number of runs so far in this process.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// The number of commits by which each attempt deepens the history. The last one fetches all of it.
const DEEPENING_STEPS: [u32; 4] = [50, 250, 1250, i32::MAX as u32];

/// The commits to be compared, by their names.
#[derive(Debug, Clone, Default)]
pub struct RequestCommits {
    /// The last commit of the request, or a revision; the checked-out commit if `None`.
    pub head: Option<String>,
    /// The remote's reference to it.
    pub head_ref: Option<String>,
    /// The branch that the request is to be merged into.
    pub base_branch: Option<String>,
    /// A revision to compare with if no branch is named.
    pub base: Option<String>,
    /// The remote's default branch, if it is known. It counts as the target branch if no other one is named.
    pub default_branch: Option<String>,
    /// The remote, or its address.
    pub remote: String,
    /// The number of the request.
    pub number: Option<u64>,
    /// True if that is a remote of the repository, or an address. [`find_sides`] sets it.
    pub has_remote: bool,
    /// True to fetch all that the forge has of the request, even if the commits seem to be there already.
    pub must_fetch: bool,
}

/// The commits that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    /// The merge base; `None` before a first commit.
    pub before: Option<CommitId>,
    /// The last commit.
    pub after: CommitId,
    /// The tip of the target branch; `None` if no branch is known but that of the commits.
    pub target: Option<CommitId>,
    /// True if the target branch is unknown. The commits are then compared with their parent, which the same author
    /// may have written.
    pub is_target_unknown: bool,
    /// True if the commits are to be merged, into a named branch or as a request. Otherwise, a commit named as the
    /// base is the tip of the branch before a push, which may have been a forced one.
    pub is_request: bool,
    /// The name of the target branch, if it is known.
    pub branch: Option<BranchName>,
    /// Sentences about ambiguous names.
    pub ambiguities: Vec<String>,
}

impl RequestCommits {
    /// Returns the remote's reference to the last commit, or that commit.
    fn remote_head(&self) -> Option<&String> {
        self.head_ref.as_ref().or(self.head.as_ref())
    }

    /// Returns the remote's reference to the commit to compare with, or that commit.
    fn remote_base(&self) -> Option<String> {
        let branch = |name: &String| format!("refs/heads/{name}");
        let default = || self.default_branch.as_ref().map_or_else(|| "HEAD".to_owned(), branch);
        let named = self.base_branch.as_ref().map(branch).or(self.base.clone());
        named.or_else(|| self.targets_default_branch().then(default))
    }

    /// Returns true if the default branch of the remote is the target branch, since no other one is named.
    fn targets_default_branch(&self) -> bool {
        self.has_remote && self.base_branch.is_none() && self.base.is_none()
    }

    /// Returns a copy with the repository's knowledge of the remote.
    fn with_remote_of(&self, repository: &Repository) -> Result<RequestCommits> {
        let default_of_remote = || repository.default_branch_of(&self.remote).map(|branch| branch.to_string());
        let default_branch = self.default_branch.clone().or_else(default_of_remote);
        Ok(RequestCommits { default_branch, has_remote: repository.has_remote(&self.remote)?, ..self.clone() })
    }
}

/// The objects that were fetched for one request. They are kept until this is dropped.
pub struct Fetched {
    quarantine: Option<Quarantine>,
    _references: Option<FetchedReferences>,
}

impl Fetched {
    /// Returns the folder of the objects that the repository itself does not have.
    pub fn quarantine(&self) -> Option<PathBuf> {
        self.quarantine.as_ref().map(Quarantine::objects)
    }
}

/// The references to the commits that a shallow checkout has fetched for one request.
struct FetchedReferences {
    overrides: Overrides,
    head: String,
    base: String,
}

impl FetchedReferences {
    fn new(overrides: &Overrides, wanted: &RequestCommits) -> FetchedReferences {
        let (process, run) = (std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let place = format!("{REFERENCES}/{}/{}.{process}.{run}", wanted.number.unwrap_or(0), now().as_secs());
        FetchedReferences { overrides: overrides.clone(), head: format!("{place}/head"), base: format!("{place}/base") }
    }

    fn fetch(&self, repository: &Repository, wanted: &RequestCommits, deepen: u32) -> Result<()> {
        let base = wanted.remote_base();
        let head = wanted.remote_head().map(|head| (head.as_str(), self.head.as_str()));
        let base = base.as_ref().map(|base| (base.as_str(), self.base.as_str()));
        let references: Vec<(&str, &str)> = head.into_iter().chain(base).collect();
        Ok(repository.remote(&wanted.remote, PasswordPrompt::Nobody).fetch_history(&references, Some(deepen))?)
    }

    fn remove(&self) -> Result<()> {
        let repository = self.overrides.repository()?;
        for name in [&self.head, &self.base] {
            if let Some(commit) = repository.reference(name)? {
                repository.delete_reference(name, commit)?;
            }
        }
        Ok(())
    }
}

impl Drop for FetchedReferences {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::debug!(%error, "cannot delete the references to fetched commits");
        }
    }
}

/// Finds the commits, fetching what is missing. Fetched objects are kept until the second value is dropped.
pub fn find_sides(overrides: &Overrides, wanted: &RequestCommits) -> Result<(Sides, Option<Fetched>)> {
    let repository = overrides.repository()?;
    let wanted = &wanted.with_remote_of(&repository)?;
    let known = || find(&repository, wanted, known_branch(&repository, wanted));
    let reason = match (!wanted.must_fetch).then(known) {
        Some(Ok(sides)) => return Ok((sides, None)),
        Some(Err(failure)) => describe(&*failure),
        None => String::new(),
    };
    if let Err(error) = remove_outdated(&repository) {
        tracing::debug!(%error, "cannot delete the references that a former run left");
    }
    let found = if repository.is_shallow() {
        deepen_checkout(overrides, wanted, reason)
    } else {
        fetch_into_quarantine(overrides, &repository, wanted)
    };
    match (found, wanted.targets_default_branch()) {
        (Ok((sides, fetched)), _) => Ok((sides, Some(fetched))),
        (Err(failure), true) if let Ok(sides) = with_parent(&repository, wanted) => {
            let reason = describe(&*failure);
            tracing::warn!("the target branch is unknown: {reason}");
            Ok((Sides { is_target_unknown: true, ..sides }, None))
        }
        (Err(failure), _) if repository.is_shallow() => Err(too_shallow(&describe(&*failure))),
        (Err(failure), _) => Err(failure),
    }
}

/// Fetches into a quarantine what a repository lacks.
fn fetch_into_quarantine(
    overrides: &Overrides,
    repository: &Repository,
    wanted: &RequestCommits,
) -> Result<(Sides, Fetched)> {
    let (quarantine, base) = (repository.quarantine()?, wanted.remote_base());
    let names: Vec<&str> = wanted.remote_head().into_iter().chain(&base).map(String::as_str).collect();
    let targets = quarantine.fetch(&wanted.remote, &names, MAX_FETCHED_SIZE)?;
    let inside = Overrides { quarantine: Some(quarantine.objects()), ..overrides.clone() }.repository()?;
    let base = base.and(targets.last().copied());
    Ok((find(&inside, wanted, base)?, Fetched { quarantine: Some(quarantine), _references: None }))
}

/// Fetches more of the history of a shallow checkout, until it has both commits. `reason` says what it lacks.
fn deepen_checkout(overrides: &Overrides, wanted: &RequestCommits, mut reason: String) -> Result<(Sides, Fetched)> {
    let fetched = FetchedReferences::new(overrides, wanted);
    for deeper in DEEPENING_STEPS {
        let repository = overrides.repository()?;
        if !repository.is_shallow() {
            break;
        }
        fetched.fetch(&repository, wanted, deeper)?;
        let repository = overrides.repository()?;
        match find(&repository, wanted, repository.reference(&fetched.base)?) {
            Ok(sides) => return Ok((sides, Fetched { quarantine: None, _references: Some(fetched) })),
            Err(failure) => reason = describe(&*failure),
        }
    }
    Err(reason.into())
}

/// Removes the references that killed runs have left.
fn remove_outdated(repository: &Repository) -> Result<()> {
    let is_outdated = |name: &str| {
        let begun = name.split('/').nth(4).and_then(|run| run.split('.').next()?.parse().ok());
        begun.is_none_or(|begun| now().abs_diff(Duration::from_secs(begun)) > OUTDATED)
    };
    for (name, commit) in repository.references(REFERENCES)? {
        if is_outdated(&name) {
            repository.delete_reference(&name, commit)?;
        }
    }
    Ok(())
}

/// Returns the time since 1970.
fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

fn too_shallow(reason: &str) -> super::Failure {
    let advice = format!("check out the full history ({}), or make `git fetch` work in the job", ci::depths());
    format!("{reason}; the checkout has too little history: {advice}").into()
}

/// Finds the commits in a repository. `branch` is the tip of the target branch, if it is known.
fn find(repository: &Repository, wanted: &RequestCommits, branch: Option<CommitId>) -> Result<Sides> {
    let Some(base) = base(repository, wanted, branch)? else { return with_parent(repository, wanted) };
    let after = last_commit(repository, wanted)?;
    // A commit that the default branch already has is compared with its parent.
    if wanted.targets_default_branch() && repository.is_ancestor(after, base)? {
        return with_parent(repository, wanted);
    }
    let before = repository.merge_base(base, after)?;
    let before = before.ok_or_else(|| format!("{base} and {after} have no commit in common"))?;
    let branch = match (&wanted.base_branch, &wanted.base) {
        (Some(name), _) => Some(BranchName::new(name)),
        (None, Some(name)) => repository.branch_called(name)?,
        (None, None) => wanted.default_branch.as_ref().map(BranchName::new),
    };
    let (is_request, ambiguities) = (wanted.number.is_some() || branch.is_some(), repository.ambiguities());
    let is_target_unknown = false;
    Ok(Sides { before: Some(before), after, target: Some(base), is_target_unknown, is_request, branch, ambiguities })
}

/// Returns the last commit. Fails if the repository lacks it or a parent of it.
fn last_commit(repository: &Repository, wanted: &RequestCommits) -> Result<CommitId> {
    let after = repository.resolve(wanted.head.as_deref().unwrap_or("HEAD"))?;
    repository.parents(after)?;
    Ok(after)
}

/// Returns the last commit with its first parent, to compare it with.
fn with_parent(repository: &Repository, wanted: &RequestCommits) -> Result<Sides> {
    let after = last_commit(repository, wanted)?;
    let (before, ambiguities) = (repository.first_parent(after)?, repository.ambiguities());
    let (is_target_unknown, is_request) = (false, false);
    Ok(Sides { before, after, target: None, is_target_unknown, is_request, branch: None, ambiguities })
}

/// Returns the commit to take the merge base with: the tip of the branch, or the named commit. `None` if neither is
/// named and there is no remote that could have a branch.
fn base(repository: &Repository, wanted: &RequestCommits, branch: Option<CommitId>) -> Result<Option<CommitId>> {
    let default = || wanted.targets_default_branch().then_some(wanted.default_branch.as_deref().unwrap_or("HEAD"));
    if let Some(name) = wanted.base_branch.as_deref().or_else(default) {
        let missing = || format!("the branch {name} of {} is not there", wanted.remote);
        return Ok(Some(branch.ok_or_else(missing)?));
    }
    wanted.base.as_deref().map(|base| Ok(repository.resolve(base)?)).transpose()
}

/// Returns the tip of the target branch, as last fetched from the remote. Its policies apply.
fn known_branch(repository: &Repository, wanted: &RequestCommits) -> Option<CommitId> {
    let default = wanted.default_branch.as_ref().filter(|_| wanted.targets_default_branch());
    let branch = wanted.base_branch.as_ref().or(default)?;
    repository.resolve_trusted(&format!("refs/remotes/{}/{branch}", wanted.remote)).ok()
}
