//! Finds the two commits of a request in the checkout of a CI job, which is often shallow, or in a repository of the
//! daemon: what is missing is fetched from the remote, a few commits deeper each time.
//!
//! Fetched commits have references of hierad's own, which no watch takes for branches. Those of another run never
//! count: the branch has moved since then, and the run may remove them at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::{Overrides, Result};
use crate::diagnostic::describe;
use crate::git::{Asked, CommitId, Repository};

/// The references of hierad's own that what is fetched gets.
const REFERENCES: &str = "refs/hierad/review";

/// The time after which the references of a run are taken for those of one that was killed.
const OUTDATED: Duration = Duration::from_hours(24);

/// The runs of this process.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// The commits that each attempt goes deeper. The last one fetches all.
const DEEPER: [u32; 4] = [50, 250, 1250, i32::MAX as u32];

/// The advice if history is missing.
const ADVICE: &str = "the checkout has too little history: check out all of it (`fetch-depth: 0` of actions/checkout, \
                      `GIT_DEPTH: 0` of GitLab CI), or let `git fetch` work in the job";

/// The commits to be compared, by their names.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The last commit of the request, or a revision; the checked-out one without.
    pub head: Option<String>,
    /// The reference of the remote that has it.
    pub head_ref: Option<String>,
    /// The branch that the request is to be merged into.
    pub base_branch: Option<String>,
    /// A revision to compare with where there is no branch, or it is not found.
    pub base: Option<String>,
    /// The remote, or its address.
    pub remote: String,
    /// The number of the request.
    pub number: Option<u64>,
    /// True to fetch all that the forge has of the request, even if the commits seem to be there.
    pub is_fetched: bool,
}

/// The commits that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sides {
    /// The merge base; `None` before a first commit.
    pub before: Option<CommitId>,
    /// The last commit.
    pub after: CommitId,
    /// The tip of the branch that takes the commits; `None` if it is not named.
    pub target: Option<CommitId>,
}

/// The references of what was fetched for one request. They keep its commits until this is dropped.
pub struct Fetched {
    overrides: Overrides,
    head: String,
    base: String,
}

impl Fetched {
    fn new(overrides: &Overrides, wanted: &Wanted) -> Fetched {
        let (process, run) = (std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let place = format!("{REFERENCES}/{}/{}.{process}.{run}", wanted.number.unwrap_or(0), now().as_secs());
        Fetched { overrides: overrides.clone(), head: format!("{place}/head"), base: format!("{place}/base") }
    }

    fn fetch(&self, repository: &Repository, wanted: &Wanted, deepen: Option<u32>) -> Result<()> {
        let branch = wanted.base_branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
        let base = branch.as_ref().or(wanted.base.as_ref()).map(|base| (base.as_str(), self.base.as_str()));
        let head = wanted.head_ref.as_ref().or(wanted.head.as_ref()).map(|head| (head.as_str(), self.head.as_str()));
        let references: Vec<(&str, &str)> = head.into_iter().chain(base).collect();
        Ok(repository.remote(&wanted.remote, Asked::Nobody).fetch_history(&references, deepen)?)
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

impl Drop for Fetched {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::debug!(%error, "what was fetched keeps its references");
        }
    }
}

/// Finds the commits, fetching what is missing. What was fetched is there for as long as the references are.
pub fn sides(overrides: &Overrides, wanted: &Wanted) -> Result<(Sides, Option<Fetched>)> {
    let mut reason = String::new();
    if !wanted.is_fetched {
        match find(overrides, wanted, None) {
            Ok(sides) => return Ok((sides, None)),
            Err(failure) => reason = describe(&*failure),
        }
    }
    if let Err(error) = overrides.repository().map_err(Into::into).and_then(|repository| remove_outdated(&repository)) {
        tracing::debug!(%error, "what a former run has fetched keeps its references");
    }
    let fetched = Fetched::new(overrides, wanted);
    for deeper in DEEPER {
        let repository = overrides.repository()?;
        let is_shallow = repository.is_shallow();
        let done = fetched.fetch(&repository, wanted, is_shallow.then_some(deeper));
        done.map_err(|error| told(&error.to_string()))?;
        match find(overrides, wanted, Some(&fetched)) {
            Ok(sides) => return Ok((sides, Some(fetched))),
            Err(failure) => reason = describe(&*failure),
        }
        if !is_shallow {
            break;
        }
    }
    Err(told(&reason))
}

/// Removes what runs that were killed have left.
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

fn told(reason: &str) -> super::Failure {
    format!("{reason}; {ADVICE}").into()
}

fn find(overrides: &Overrides, wanted: &Wanted, fetched: Option<&Fetched>) -> Result<Sides> {
    let repository = overrides.repository()?;
    let head = wanted.head.as_deref().unwrap_or("HEAD");
    let after = repository.resolve(head)?;
    // What is not there fails when its parents are asked for, so that it is fetched.
    repository.parents(after)?;
    let Some(base) = base(&repository, wanted, fetched)? else {
        return Ok(Sides { before: repository.first_parent(after)?, after, target: None });
    };
    let before = repository.merge_base(base, after)?;
    let before = before.ok_or_else(|| format!("{base} and {after} have no commit in common"))?;
    Ok(Sides { before: Some(before), after, target: Some(base) })
}

/// Returns the commit whose merge base counts: the branch as it was just fetched, or as the remote had it last, or the
/// named commit.
fn base(repository: &Repository, wanted: &Wanted, fetched: Option<&Fetched>) -> Result<Option<CommitId>> {
    if let Some(branch) = &wanted.base_branch {
        let known = || format!("refs/remotes/{}/{branch}", wanted.remote);
        let name = fetched.map_or_else(known, |fetched| fetched.base.clone());
        let missing = || format!("the branch {branch} of {} is not there", wanted.remote);
        return Ok(Some(repository.reference(&name)?.ok_or_else(missing)?));
    }
    wanted.base.as_deref().map(|base| Ok(repository.resolve(base)?)).transpose()
}
