//! The references of snapshots among each other. Git has no reference `a/b` beside a reference `a`, so the reference of
//! a branch that was deleted makes way for that of a new one. It comes back with its branch.
//!
//! The same is done at a remote that references are pushed to. That may have more of the history than this repository,
//! which may be a mirror that was made anew: then it counts.

use super::file_name;
use super::history::{reference, source_of};
use crate::git::{BranchName, CommandError, CommitId, References, RefsError, Remote, Repository};
use crate::tree::BlobId;

/// The references of the snapshots of branches.
const SNAPSHOTS: &str = "refs/hierad/snapshots/";

/// The references that had to make way. They have no slash in their names.
const DELETED: &str = "refs/hierad/deleted/";

/// The references that were fetched, for a moment.
const FETCHED: &str = "refs/hierad/fetched/";

/// The most snapshots that are looked at for one of a commit that this repository has.
const MAX_LOOKS: usize = 1000;

/// All of hierad's references at a remote.
const ALL: &str = "refs/hierad/*";

/// The longest name of a branch that names the reference of its own.
const MAX_NAME: usize = 200;

/// A failure to make way for a reference.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The references cannot be read.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// Git has failed to read or to move references.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The branch is gone, and another one has its place.
    #[error("the branch {branch} is gone, and the branch {other} has the place of its snapshots")]
    Taken {
        /// The branch.
        branch: BranchName,
        /// The other branch.
        other: BranchName,
    },
    /// The remote has snapshots of something else.
    #[error("the snapshots of the branch {branch} at {remote} are of another repository")]
    Foreign {
        /// The branch.
        branch: BranchName,
        /// The remote.
        remote: String,
    },
}

/// Returns the reference that keeps the snapshots of a deleted branch while another branch has their place.
pub fn kept(branch: &BranchName) -> String {
    let name = Some(file_name(branch.as_str())).filter(|name| name.len() <= MAX_NAME);
    let name = name.unwrap_or_else(|| BlobId::of(branch.as_str().as_bytes()).to_string());
    format!("{DELETED}{name}")
}

/// Returns the branch whose snapshots are on a reference, or `None` if it has none.
pub fn branch_of(reference: &str) -> Option<BranchName> {
    reference.strip_prefix(SNAPSHOTS).map(BranchName::new)
}

/// Returns true if git cannot have both references.
fn exclude(one: &str, other: &str) -> bool {
    let is_below = |name: &str, above: &str| name.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
    is_below(one, other) || is_below(other, one)
}

/// Returns the references of `all` that are in the way of those of a branch, with their branches. Fails if one of these
/// branches exists.
fn in_the_way(
    repository: &Repository,
    branch: &BranchName,
    all: References,
) -> Result<Vec<(String, BranchName, CommitId)>, ReferenceError> {
    let own = reference(branch);
    let mut found = Vec::new();
    for (name, target) in all.into_iter().filter(|(name, _)| exclude(name, &own)) {
        let Some(other) = branch_of(&name) else { continue };
        if repository.tip(&other)?.is_some() {
            return Err(ReferenceError::Taken { branch: branch.clone(), other });
        }
        found.push((name, other, target));
    }
    Ok(found)
}

/// Makes room for the reference of a branch that has none, and puts back the one that it had before it was deleted, if
/// that had to make way.
pub fn make_room(repository: &Repository, branch: &BranchName) -> Result<(), ReferenceError> {
    for (name, other, target) in in_the_way(repository, branch, repository.references(SNAPSHOTS)?)? {
        let kept = kept(&other);
        tracing::info!(%branch, from = name, to = kept, "the snapshots of a deleted branch make way");
        // A crash in between leaves both.
        repository.set_reference(&kept, target)?;
        repository.delete_reference(&name, target)?;
    }
    let kept = kept(branch);
    if let Some(target) = repository.reference(&kept)? {
        repository.set_reference(&reference(branch), target)?;
        repository.delete_reference(&kept, target)?;
    }
    Ok(())
}

/// Deletes the references of those of the given branches that were deleted, here and at `remote`. Returns their number.
pub fn prune(
    repository: &Repository,
    remote: Option<&Remote>,
    is_meant: impl Fn(&BranchName) -> bool,
) -> Result<usize, ReferenceError> {
    let mut gone = repository.references(DELETED)?;
    for (name, target) in repository.references(SNAPSHOTS)? {
        if let Some(branch) = branch_of(&name).filter(&is_meant)
            && repository.tip(&branch)?.is_none()
        {
            gone.insert(name, target);
        }
    }
    if gone.is_empty() {
        return Ok(0);
    }
    if let Some(remote) = remote {
        let there = remote.references(ALL)?;
        let deletions: Vec<String> = gone.keys().filter(|name| there.contains_key(*name)).map(deletion).collect();
        let deletions: Vec<&str> = deletions.iter().map(String::as_str).collect();
        if !deletions.is_empty() {
            remote.push(&deletions)?;
        }
    }
    for (name, target) in &gone {
        repository.delete_reference(name, *target)?;
    }
    Ok(gone.len())
}

/// Returns true if any of the snapshots on the way to `commit` is that of a commit of the repository.
fn is_ours(repository: &Repository, commit: CommitId) -> bool {
    let mut next = Some(commit);
    for _ in 0..MAX_LOOKS {
        let Some(commit) = next else { return false };
        if source_of(repository, commit).is_ok_and(|source| source.is_some_and(|source| !repository.is_gone(source))) {
            return true;
        }
        next = repository.first_parent(commit).ok().flatten();
    }
    false
}

fn deletion(name: &String) -> String {
    format!(":{name}")
}

/// The remote that the references of a repository are pushed to.
#[derive(Clone, Copy)]
pub struct Pushed<'a> {
    repository: &'a Repository,
    remote: &'a Remote,
}

impl<'a> Pushed<'a> {
    /// Returns what is pushed to a remote of a repository.
    pub fn new(repository: &'a Repository, remote: &'a Remote) -> Pushed<'a> {
        Pushed { repository, remote }
    }

    /// Takes the snapshots of a branch from the remote, unless those here are the same or go on from them, and makes
    /// room for them there. To be done before they are first written. Returns false if that failed for now; snapshots
    /// that are here already can go on without.
    pub fn prepare(&self, branch: &BranchName) -> Result<bool, ReferenceError> {
        match self.reconcile(branch) {
            Ok(()) => Ok(true),
            Err(ReferenceError::Command(error)) if self.repository.reference(&reference(branch))?.is_some() => {
                tracing::debug!(%branch, remote = self.remote.name, %error, "cannot compare the snapshots with those at the remote");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn reconcile(&self, branch: &BranchName) -> Result<(), ReferenceError> {
        let (repository, own, kept) = (self.repository, reference(branch), kept(branch));
        let there = self.remote.references(ALL)?;
        let mut here = repository.reference(&own)?;
        if here.is_none() {
            make_room(repository, branch)?;
            here = repository.reference(&own)?;
        }
        // What had to make way is the same history as what is there in its place.
        let source = there.get_key_value(&own).or_else(|| there.get_key_value(&kept));
        if let Some((name, target)) = source.filter(|(_, target)| !self.goes_on(here, **target)) {
            self.take(branch, name, *target)?;
            if let Some(left) = here {
                tracing::warn!(%branch, remote = self.remote.name, %left, %target, "the snapshots at the remote have another history, which counts");
            }
        }
        self.make_room(branch, there)
    }

    /// Takes the snapshots of a branch from a reference of the remote.
    fn take(&self, branch: &BranchName, name: &str, target: CommitId) -> Result<(), ReferenceError> {
        let repository = self.repository;
        let fetched = kept(branch).replace(DELETED, FETCHED);
        self.remote.fetch(name, &fetched)?;
        let is_ours = is_ours(repository, target);
        if is_ours {
            repository.set_reference(&reference(branch), target)?;
        }
        repository.delete_reference(&fetched, target)?;
        let foreign = || ReferenceError::Foreign { branch: branch.clone(), remote: self.remote.name.clone() };
        is_ours.then_some(()).ok_or_else(foreign)
    }

    /// Returns true if the snapshots `here` are those at the remote, or come after them.
    fn goes_on(&self, here: Option<CommitId>, there: CommitId) -> bool {
        here.is_some_and(|here| self.repository.is_ancestor(there, here).unwrap_or(false))
    }

    /// Moves the references of deleted branches out of the way at the remote.
    fn make_room(&self, branch: &BranchName, there: References) -> Result<(), ReferenceError> {
        let own_kept = kept(branch);
        let here = self.repository.reference(&reference(branch))?;
        let has_kept = there.get(&own_kept).is_some_and(|target| self.goes_on(here, *target));
        for (name, other, target) in in_the_way(self.repository, branch, there)? {
            let kept = kept(&other);
            if self.repository.reference(&kept)?.is_none() {
                self.remote.fetch(&name, &kept)?;
            }
            tracing::info!(%branch, remote = self.remote.name, from = name, to = kept, %target, "the snapshots of a deleted branch make way");
            self.remote.push(&[&format!("+{kept}"), &format!(":{name}")])?;
        }
        if has_kept {
            self.remote.push(&[&format!(":{own_kept}")])?;
        }
        Ok(())
    }

    /// Pushes the snapshots of a branch.
    pub fn push(&self, branch: &BranchName) -> Result<(), CommandError> {
        self.remote.push(&[&reference(branch)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_exclude_each_other_by_whole_parts() {
        for (one, other, expected) in
            [("a", "a/b", true), ("a/b/c", "a", true), ("a", "ab/c", false), ("a", "a", false)]
        {
            assert_eq!(exclude(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn kept_references_have_no_slash() {
        let kept = |name: &str| kept(&BranchName::new(name));
        assert_eq!(kept("feature/x"), "refs/hierad/deleted/feature%2Fx");
        assert_eq!(kept(&"a/".repeat(500)).len(), DELETED.len() + 40);
    }
}
