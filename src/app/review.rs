//! Finds the two commits of a request in the checkout of a CI job, which is often shallow: what is missing is fetched
//! from the remote, a few commits deeper each time.

use super::{Overrides, Result};
use crate::diagnostic::describe;
use crate::git::{Asked, CommitId, Environment, Repository};

/// The references of hierad's own that what is fetched gets.
const HEAD: &str = "refs/hierad/review/head";
const BASE: &str = "refs/hierad/review/base";

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
    /// The remote.
    pub remote: String,
}

/// The commits that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sides {
    /// The merge base; `None` before a first commit.
    pub before: Option<CommitId>,
    /// The last commit.
    pub after: CommitId,
}

/// Finds the commits, fetching what is missing.
pub fn sides(overrides: &Overrides, wanted: &Wanted) -> Result<Sides> {
    let mut reason = match find(overrides, wanted) {
        Ok(sides) => return Ok(sides),
        Err(failure) => describe(&*failure),
    };
    for deeper in DEEPER {
        let repository = locate(overrides)?;
        let is_shallow = repository.is_shallow();
        fetch(&repository, wanted, is_shallow.then_some(deeper)).map_err(|error| told(&error.to_string()))?;
        match find(overrides, wanted) {
            Ok(sides) => return Ok(sides),
            Err(failure) => reason = describe(&*failure),
        }
        if !is_shallow {
            break;
        }
    }
    Err(told(&reason))
}

fn told(reason: &str) -> super::Failure {
    format!("{reason}; {ADVICE}").into()
}

fn locate(overrides: &Overrides) -> Result<Repository> {
    Ok(Repository::locate(overrides.repo.as_deref(), &Environment::of_process())?)
}

fn find(overrides: &Overrides, wanted: &Wanted) -> Result<Sides> {
    let repository = locate(overrides)?;
    let head = wanted.head.as_deref().unwrap_or("HEAD");
    let after = repository.resolve(head)?;
    // What is not there fails when its parents are asked for, so that it is fetched.
    repository.parents(after)?;
    let Some(base) = base(&repository, wanted)? else {
        return Ok(Sides { before: repository.first_parent(after)?, after });
    };
    let before = repository.merge_base(base, after)?;
    let before = before.ok_or_else(|| format!("{base} and {after} have no commit in common"))?;
    Ok(Sides { before: Some(before), after })
}

/// Returns the commit whose merge base counts: the branch as the remote had it last, or the named commit.
fn base(repository: &Repository, wanted: &Wanted) -> Result<Option<CommitId>> {
    if let Some(branch) = &wanted.base_branch {
        let fetched = [BASE.to_owned(), format!("refs/remotes/{}/{branch}", wanted.remote)];
        for name in fetched {
            if let Some(commit) = repository.reference(&name)? {
                return Ok(Some(commit));
            }
        }
        return Err(format!("the branch {branch} of {} is not there", wanted.remote).into());
    }
    wanted.base.as_deref().map(|base| Ok(repository.resolve(base)?)).transpose()
}

fn fetch(repository: &Repository, wanted: &Wanted, deepen: Option<u32>) -> Result<()> {
    let branch = wanted.base_branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let base = branch.as_ref().or(wanted.base.as_ref()).map(|base| (base.as_str(), BASE));
    let head = wanted.head_ref.as_ref().or(wanted.head.as_ref()).map(|head| (head.as_str(), HEAD));
    let references: Vec<(&str, &str)> = head.into_iter().chain(base).collect();
    Ok(repository.remote(&wanted.remote, Asked::Nobody).fetch_history(&references, deepen)?)
}
