//! The branch that a CI job is about, by the variables in which CI servers name it. Jobs check commits out, and no
//! branch.

use super::Variable;

/// Variables with the branch of a request.
const OF_REQUESTS: [&str; 5] = [
    "GITHUB_HEAD_REF",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    "CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_NAME",
    "CHANGE_BRANCH",
    "SYSTEM_PULLREQUEST_SOURCEBRANCH",
];

/// Variables that say that the job is about something else than a branch: a tag, or a request with a name of its own.
const OF_OTHERS: [&str; 4] = ["CI_COMMIT_TAG", "CHANGE_ID", "TAG_NAME", "BITBUCKET_TAG"];

/// Variables with a reference in full, which may be that of a branch.
const REFERENCES: [&str; 2] = ["GITHUB_REF", "BUILD_SOURCEBRANCH"];

/// Variables with the name of a branch.
const NAMES: [&str; 5] =
    ["CI_COMMIT_BRANCH", "CI_COMMIT_REF_NAME", "GITHUB_REF_NAME", "BITBUCKET_BRANCH", "BRANCH_NAME"];

const HEADS: &str = "refs/heads/";

/// Returns the name of the branch that the job is about, or `None` if no variable names one. Whoever proposes a
/// change chooses the name of its branch: it is data, and trust must not depend on it.
pub fn branch(variable: Variable<'_>) -> Option<String> {
    let plain = |name: String| name.strip_prefix(HEADS).map_or(name.clone(), str::to_owned);
    if let Some(name) = OF_REQUESTS.iter().find_map(|name| variable(name)) {
        return Some(plain(name));
    }
    let is_tag = variable("GITHUB_REF_TYPE").is_some_and(|kind| kind != "branch");
    if is_tag || OF_OTHERS.iter().any(|name| variable(name).is_some()) {
        return None;
    }
    // `17/merge` of a request has a reference that is no branch's.
    if let Some(reference) = REFERENCES.iter().find_map(|name| variable(name)) {
        return reference.strip_prefix(HEADS).map(str::to_owned);
    }
    NAMES.iter().find_map(|name| variable(name))
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
