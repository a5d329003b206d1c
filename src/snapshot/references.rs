//! Resolves conflicts between the references of snapshots. Git cannot have a reference `a/b` beside a reference `a`,
//! so the reference of a deleted branch makes way for that of a new one. It is restored if its branch comes back.
//!
//! The module `pushed` handles a remote that references are pushed to.

use super::file_name;
use super::history::reference;
use crate::git::{BranchName, CommandError, CommitId, Moved, References, RefsError, Remote, Repository};
use crate::tree::BlobId;

/// All of hierad's references, and a reference that blocks their names.
pub(super) const ALL: [&str; 2] = ["refs/hierad/*", "refs/hierad"];

/// The references of the snapshots of branches.
const SNAPSHOTS: &str = "refs/hierad/snapshots/";

/// The references that had to make way. They have no slash in their names.
const DELETED: &str = "refs/hierad/deleted/";

/// The references to the snapshots that were pushed last. They are never pushed themselves.
const PUSHED: &str = "refs/hierad/pushed/";

/// Temporary references to what was fetched.
const FETCHED: &str = "refs/hierad/fetched/";

/// The references, at a remote, to what somebody else had put in the place of snapshots.
const FOREIGN: &str = "refs/hierad/foreign/";

/// The longest escaped branch name that becomes part of a reference's name; longer ones are hashed.
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
pub fn kept_ref(branch: &BranchName) -> String {
    format!("{DELETED}{}", flat_name(branch))
}

/// Returns the reference to the last pushed snapshots of a branch.
pub(super) fn pushed_ref(branch: &BranchName) -> String {
    format!("{PUSHED}{}", flat_name(branch))
}

/// Returns the reference to what was fetched for a branch.
pub(super) fn fetched_ref(branch: &BranchName) -> String {
    format!("{FETCHED}{}", flat_name(branch))
}

/// Returns the reference, at a remote, to what somebody else had put in place of a branch's snapshots.
pub(super) fn foreign_ref(branch: &BranchName, target: CommitId) -> String {
    format!("{FOREIGN}{}/{target}", flat_name(branch))
}

/// Returns a name without a slash for a branch.
fn flat_name(branch: &BranchName) -> String {
    let name = Some(file_name(branch.as_str())).filter(|name| name.len() <= MAX_NAME);
    name.unwrap_or_else(|| BlobId::of(branch.as_str().as_bytes()).to_string())
}

/// Returns the branch whose snapshots are on a reference, or `None` if there is none.
pub fn branch_of(reference: &str) -> Option<BranchName> {
    reference.strip_prefix(SNAPSHOTS).map(BranchName::new)
}

/// Returns true if git cannot have both references.
pub(super) fn conflict(one: &str, other: &str) -> bool {
    let is_below = |name: &str, above: &str| name.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
    is_below(one, other) || is_below(other, one)
}

/// Returns those of `references` that block the reference of a branch, with their branches. Fails if one of those
/// branches still exists.
pub(super) fn blocking_references(
    repository: &Repository,
    branch: &BranchName,
    references: &References,
) -> Result<Vec<(String, BranchName, CommitId)>, ReferenceError> {
    let own = reference(branch);
    let mut blocking = Vec::new();
    for (name, target) in references.iter().filter(|(name, _)| conflict(name, &own)) {
        let Some(other) = branch_of(name) else { continue };
        if repository.tip(&other)?.is_some() {
            return Err(ReferenceError::Taken { branch: branch.clone(), other });
        }
        blocking.push((name.clone(), other, *target));
    }
    Ok(blocking)
}

/// Makes room for the reference of a branch that has none yet. If the branch existed before and its former reference
/// had to make way, restores that.
pub fn make_room(repository: &Repository, branch: &BranchName) -> Result<(), ReferenceError> {
    for (name, other, target) in blocking_references(repository, branch, &repository.references(SNAPSHOTS)?)? {
        let kept = kept_ref(&other);
        tracing::info!(%branch, from = name, to = kept, "the snapshots of a deleted branch make way");
        // A crash in between leaves both.
        repository.set_reference(&kept, target)?;
        repository.delete_reference(&name, target)?;
    }
    let kept = kept_ref(branch);
    if let Some(target) = repository.reference(&kept)? {
        repository.set_reference(&reference(branch), target)?;
        repository.delete_reference(&kept, target)?;
    }
    Ok(())
}

/// Deletes references of deleted branches, here and at `remote`: all that had to make way, and those of branches for
/// which `is_selected` returns true. Returns their number.
pub fn prune(
    repository: &Repository,
    remote: Option<&Remote>,
    is_selected: impl Fn(&BranchName) -> bool,
) -> Result<usize, ReferenceError> {
    let mut deleted = repository.references(DELETED)?;
    for (name, target) in repository.references(SNAPSHOTS)? {
        if let Some(branch) = branch_of(&name).filter(&is_selected)
            && repository.tip(&branch)?.is_none()
        {
            let pushed = pushed_ref(&branch);
            if let Some(target) = repository.reference(&pushed)? {
                repository.delete_reference(&pushed, target)?;
            }
            deleted.insert(name, target);
        }
    }
    if deleted.is_empty() {
        return Ok(0);
    }
    if let Some(remote) = remote {
        let remote_references = remote.references(&ALL)?;
        let deletion = |name| Some(Moved { name, seen: Some(*remote_references.get(name)?), to: None });
        remote.replace(&deleted.keys().filter_map(|name| deletion(name.as_str())).collect::<Vec<_>>())?;
    }
    for (name, target) in &deleted {
        repository.delete_reference(name, *target)?;
    }
    Ok(deleted.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_exclude_each_other_by_whole_parts() {
        for (one, other, expected) in
            [("a", "a/b", true), ("a/b/c", "a", true), ("a", "ab/c", false), ("a", "a", false)]
        {
            assert_eq!(conflict(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn kept_references_have_no_slash() {
        let kept = |name: &str| kept_ref(&BranchName::new(name));
        assert_eq!(kept("feature/x"), "refs/hierad/deleted/feature%2Fx");
        assert_eq!(kept(&"a/".repeat(500)).len(), DELETED.len() + 40);
    }
}
