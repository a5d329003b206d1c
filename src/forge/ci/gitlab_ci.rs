//! GitLab CI.

use super::{Ci, NO_COMMIT, Variable, head_ref};
use crate::forge::{Kind, Run};

pub(super) fn read(variable: Variable<'_>) -> Ci {
    let number = |name: &str| variable(name).and_then(|text| text.parse::<u64>().ok());
    let request = number("CI_MERGE_REQUEST_IID");
    let target = variable("CI_MERGE_REQUEST_PROJECT_ID");
    // A request on the forge that this repository mirrors, which GitLab knows about.
    let external = |name: &str| variable(&format!("CI_EXTERNAL_PULL_REQUEST_{name}"));
    let before = || variable("CI_COMMIT_BEFORE_SHA").filter(|before| before != NO_COMMIT);
    Ci {
        kind: Some(Kind::GitLab),
        api: variable("CI_API_V4_URL"),
        project: target.clone().or_else(|| variable("CI_PROJECT_ID")),
        number: request,
        // A pipeline for merged results runs on a commit that is in no branch.
        head: variable("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").or_else(|| variable("CI_COMMIT_SHA")),
        head_ref: request.map(|number| head_ref(Kind::GitLab, number)),
        base_branch: variable("CI_MERGE_REQUEST_TARGET_BRANCH_NAME").or_else(|| external("TARGET_BRANCH_NAME")),
        base: variable("CI_MERGE_REQUEST_DIFF_BASE_SHA").or_else(|| external("TARGET_BRANCH_SHA")).or_else(before),
        default_branch: variable("CI_DEFAULT_BRANCH"),
        is_own: is_own(variable),
        run: number("CI_PIPELINE_ID").map(|pipeline| Run(pipeline, number("CI_JOB_ID").unwrap_or(0))),
        url: variable("CI_JOB_URL"),
        page: variable("CI_MERGE_REQUEST_PROJECT_URL").or_else(|| variable("CI_PROJECT_URL")),
        ..Ci::default()
    }
}

/// Returns true if the commits are known to come from the project: from a branch or tag, or from a request within it.
fn is_own(variable: Variable<'_>) -> bool {
    let is_same = |[source, target]: [&str; 2]| variable(source).is_some_and(|id| Some(id) == variable(target));
    if variable("CI_MERGE_REQUEST_IID").is_some() {
        return is_same(["CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "CI_MERGE_REQUEST_PROJECT_ID"]);
    }
    if variable("CI_EXTERNAL_PULL_REQUEST_IID").is_some() {
        let side = ["SOURCE", "TARGET"].map(|side| format!("CI_EXTERNAL_PULL_REQUEST_{side}_REPOSITORY"));
        return is_same([&side[0], &side[1]]);
    }
    variable("CI_COMMIT_BRANCH").or_else(|| variable("CI_COMMIT_TAG")).is_some()
}
