//! GitLab CI.

use super::{Ci, Variable, head_ref};
use crate::forge::{Kind, Run};

pub(super) fn read(variable: Variable<'_>) -> Ci {
    let number = |name: &str| variable(name).and_then(|text| text.parse::<u64>().ok());
    let request = number("CI_MERGE_REQUEST_IID");
    let target = variable("CI_MERGE_REQUEST_PROJECT_ID");
    let source = variable("CI_MERGE_REQUEST_SOURCE_PROJECT_ID");
    Ci {
        kind: Some(Kind::GitLab),
        api: variable("CI_API_V4_URL"),
        project: target.clone().or_else(|| variable("CI_PROJECT_ID")),
        number: request,
        // A pipeline for merged results runs on a commit that is in no branch.
        head: variable("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").or_else(|| variable("CI_COMMIT_SHA")),
        head_ref: request.map(|number| head_ref(Kind::GitLab, number)),
        base_branch: variable("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
        base: variable("CI_MERGE_REQUEST_DIFF_BASE_SHA").or_else(|| variable("CI_COMMIT_BEFORE_SHA")),
        is_fork: source.is_some() && source != target,
        run: number("CI_PIPELINE_ID").map(|pipeline| Run(pipeline, number("CI_JOB_ID").unwrap_or(0))),
        url: variable("CI_JOB_URL"),
        page: variable("CI_MERGE_REQUEST_PROJECT_URL").or_else(|| variable("CI_PROJECT_URL")),
        ..Ci::default()
    }
}
