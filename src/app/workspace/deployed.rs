//! The branch that a revision's nodes are deployed from, if the environment is the name of a branch.
//!
//! It is the branch that the revision names. If it names none, it is the checked-out branch, if the commit is in its
//! history, or the branch that a CI job names, which checks out no branch. Otherwise the branch is unknown, which is
//! an error: the nodes would be shown with the data of another environment.

use crate::app::Result;
use crate::forge::ci;
use crate::git::{BranchName, Head, Repository};

/// Returns the branch of a revision; `.` stands for the checked-out files.
pub(in crate::app) fn branch(repository: &Repository, revision: &str) -> Result<BranchName> {
    let name = name_in(revision);
    let Head { branch: checked_out, commit: head } = repository.head()?;
    if name != "HEAD"
        && let Some(named) = repository.branch_called(name)?
    {
        return Ok(named);
    }
    let is_in_head = |old| {
        Ok::<_, crate::app::Failure>(head.is_some_and(|head| head == old) || is_in_history(repository, old, head)?)
    };
    let belongs_to_head = name == "HEAD" || is_in_head(repository.resolve(revision)?)?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let of_head = || checked_out.or_else(|| ci::branch(&variable).map(BranchName::new));
    belongs_to_head.then(of_head).flatten().ok_or_else(|| unknown(revision).into())
}

fn is_in_history(
    repository: &Repository,
    old: crate::git::CommitId,
    head: Option<crate::git::CommitId>,
) -> Result<bool> {
    Ok(match head {
        Some(head) => repository.is_ancestor(old, head)?,
        None => false,
    })
}

/// Returns the name at the beginning of a revision: for `dev~2`, `dev^{tree}` and `dev@{1}` it is `dev`.
fn name_in(revision: &str) -> &str {
    let end = ["~", "^", "@{"].iter().filter_map(|sign| revision.find(sign)).min();
    match &revision[..end.unwrap_or(revision.len())] {
        "" | "." | "@" => "HEAD",
        name => name,
    }
}

fn unknown(revision: &str) -> String {
    let reason = match name_in(revision) {
        "HEAD" => "no branch is checked out".to_owned(),
        _ => format!("{revision} is no branch, and in the history of none that is checked out"),
    };
    format!(
        "the environment of the nodes is the name of a branch, and {reason}: name the branch as the revision, or the \
         environment with --set environment=NAME where a command has that, or in hierad.yaml with environment: NAME"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_begin_with_a_name() {
        let names = ["dev", "dev~2", "dev^", "dev@{1}", "HEAD~1", "@", "@{1}", ".", "", "origin/a-b"];
        let expected = ["dev", "dev", "dev", "dev", "HEAD", "HEAD", "HEAD", "HEAD", "HEAD", "origin/a-b"];
        assert_eq!(names.map(name_in), expected);
    }
}
