//! GitLab: merge requests, statuses, webhooks and GitLab CI.

use reqwest::Method;
use serde::Deserialize;
use serde_json::Value as Json;

use super::ci::{Ci, Jobs, NO_COMMIT, Read, Variable};
use super::error::ForgeError;
use super::http::text;
use super::webhook::{Proof, RequestEvent, Webhooks};
use super::{Api, Constants, Forge, Request, Run, Status};

/// The advice for tokens that may not comment.
const MAY_COMMENT: &str = "the token needs the scope `api` and at least the role Reporter in the project (the job's own \
                           CI_JOB_TOKEN cannot comment): put one into the variable HIERAD_GITLAB_TOKEN";

static CONSTANTS: Constants = Constants {
    name: "gitlab",
    aliases: &[],
    webhooks: Webhooks {
        event: "x-gitlab-event",
        proof: Proof::Token("x-gitlab-token"),
        pushes: &["Push Hook", "Tag Push Hook", "System Hook"],
        requests: &["Merge Request Hook"],
    },
    jobs: Jobs {
        runners: &["GITLAB_CI"],
        depth: Some("`GIT_DEPTH: 0` of GitLab CI"),
        request_branch: &["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_NAME"],
        no_branch: &["CI_COMMIT_TAG"],
        branch: &["CI_COMMIT_BRANCH", "CI_COMMIT_REF_NAME"],
        ..Jobs::NONE
    },
    api: Some(Api {
        public: Some(("https://gitlab.com/api/v4", "https://gitlab.com")),
        place: "/api/v4",
        auth: ("private-token", ""),
        headers: &[],
        tokens: &["HIERAD_GITLAB_TOKEN", "GITLAB_TOKEN"],
        projects: "projects/",
        is_nested: true,
        request: "/merge_requests/{number}",
        by_branch: None,
        comments: "/merge_requests/{number}/notes",
        comments_query: "?sort=asc&order_by=created_at&per_page=100",
        comment: "/merge_requests/{number}/notes/{id}",
        update: Method::PUT,
        author: ("author", "username"),
        status: Status { name: "name", failure: "failed", most: 255, unchanged: Some("Cannot transition status") },
        may_read: MAY_COMMENT,
        may_comment: MAY_COMMENT,
        may_set_status: "the token needs the scope `api` and at least the role Developer in the project",
        head_ref: "refs/merge-requests/{number}/head",
        request_page: "/-/merge_requests/",
        files: "-/blob",
    }),
};

/// gitlab.com and self-managed GitLab.
#[derive(Debug)]
pub(super) struct GitLab;

impl Forge for GitLab {
    fn constants(&self) -> &'static Constants {
        &CONSTANTS
    }

    fn ci(&self, variable: Variable<'_>, _read: Read<'_>) -> Result<Ci, ForgeError> {
        Ok(ci(variable))
    }

    fn news(&self, body: &[u8]) -> Result<Option<RequestEvent>, serde_json::Error> {
        let MergeRequest { project: Of { id, path_with_namespace }, object_attributes } = serde_json::from_slice(body)?;
        let is_news = matches!(object_attributes.action.as_deref(), Some("open" | "update" | "reopen"));
        let project = vec![path_with_namespace, id.to_string()];
        Ok(is_news.then_some(RequestEvent { project, number: object_attributes.iid }))
    }

    fn request(&self, found: &Json) -> Option<Request> {
        Some(Request {
            number: found.get("iid")?.as_u64()?,
            head: text(found, "sha")?,
            base: text(found, "target_branch")?,
            is_open: text(found, "state")? == "opened",
            is_fork: found.get("source_project_id") != found.get("target_project_id"),
            from: None,
        })
    }
}

/// The body of a webhook about a request.
#[derive(Deserialize)]
struct MergeRequest {
    project: Of,
    object_attributes: Attributes,
}

#[derive(Deserialize)]
struct Of {
    id: u64,
    path_with_namespace: String,
}

#[derive(Deserialize)]
struct Attributes {
    iid: u64,
    action: Option<String>,
}

/// Reads the variables of a job.
fn ci(variable: Variable<'_>) -> Ci {
    let number = |name: &str| variable(name).and_then(|text| text.parse::<u64>().ok());
    let request = number("CI_MERGE_REQUEST_IID");
    let target = variable("CI_MERGE_REQUEST_PROJECT_ID");
    // A request on the forge that this repository mirrors, about which GitLab is notified.
    let external = |name: &str| variable(&format!("CI_EXTERNAL_PULL_REQUEST_{name}"));
    let before = || variable("CI_COMMIT_BEFORE_SHA").filter(|before| before != NO_COMMIT);
    Ci {
        forge: Some(&GitLab),
        api: variable("CI_API_V4_URL"),
        project: target.clone().or_else(|| variable("CI_PROJECT_ID")),
        number: request,
        // A pipeline for merged results runs on a commit that is in no branch.
        head: variable("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").or_else(|| variable("CI_COMMIT_SHA")),
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
