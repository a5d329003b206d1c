//! The branch that a CI job is about, read from the variables in which CI servers name it: jobs check out commits,
//! not branches.

use super::{Jobs, Variable, jobs};

const BRANCH_PREFIX: &str = "refs/heads/";

/// Returns the name of the branch that the job is about, or `None` if no variable names one. Whoever proposes a
/// change chooses the name of its branch: it is data, and trust must not depend on it.
pub fn branch(variable: Variable<'_>) -> Option<String> {
    let values = |names_of: fn(&Jobs) -> &[&str]| jobs().flat_map(names_of).filter_map(|name| variable(name));
    let plain = |name: String| name.strip_prefix(BRANCH_PREFIX).map_or(name.clone(), str::to_owned);
    if let Some(name) = values(|jobs| jobs.request_branch).next() {
        return Some(plain(name));
    }
    if values(|jobs| jobs.no_branch).next().is_some() {
        return None;
    }
    // A request's `17/merge` belongs to a reference that is not a branch.
    if let Some(reference) = values(|jobs| jobs.reference).next() {
        return reference.strip_prefix(BRANCH_PREFIX).map(str::to_owned);
    }
    values(|jobs| jobs.branch).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<String> {
        branch(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn jobs_name_their_branch() {
        for variables in [
            &[("GITHUB_REF", "refs/heads/dev"), ("GITHUB_REF_NAME", "dev"), ("GITHUB_REF_TYPE", "branch")][..],
            &[("GITHUB_REF", "refs/pull/17/merge"), ("GITHUB_REF_NAME", "17/merge"), ("GITHUB_HEAD_REF", "dev")],
            &[("CI_COMMIT_REF_NAME", "dev"), ("CI_COMMIT_BRANCH", "dev")],
            &[("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "dev"), ("CI_COMMIT_REF_NAME", "refs/merge-requests/1/head")],
            &[("BRANCH_NAME", "dev")],
            &[("BRANCH_NAME", "PR-17"), ("CHANGE_ID", "17"), ("CHANGE_BRANCH", "dev")],
            &[("BITBUCKET_BRANCH", "dev")],
            &[("BUILD_SOURCEBRANCH", "refs/heads/dev")],
            &[("SYSTEM_PULLREQUEST_SOURCEBRANCH", "refs/heads/dev"), ("BUILD_SOURCEBRANCH", "refs/pull/1/merge")],
        ] {
            assert_eq!(found(variables).as_deref(), Some("dev"), "{variables:?}");
        }
    }

    #[test]
    fn tags_and_requests_without_a_name_are_no_branch() {
        for variables in [
            &[("GITHUB_REF", "refs/tags/v1"), ("GITHUB_REF_NAME", "v1"), ("GITHUB_REF_TYPE", "tag")][..],
            &[("GITHUB_REF", "refs/pull/17/merge"), ("GITHUB_REF_NAME", "17/merge")],
            &[("CI_COMMIT_TAG", "v1"), ("CI_COMMIT_REF_NAME", "v1")],
            &[("BRANCH_NAME", "PR-17"), ("CHANGE_ID", "17")],
            &[("BUILD_SOURCEBRANCH", "refs/tags/v1")],
            &[],
        ] {
            assert_eq!(found(variables), None, "{variables:?}");
        }
    }
}
