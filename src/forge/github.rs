//! GitHub: pull requests, check runs, statuses, what only GraphQL reports, webhooks and Actions.

use reqwest::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value as Json, json};

use super::ci::{Ci, Read, Variable, actions};
use super::error::ForgeError;
use super::http::{Project, encoded, text, truncated, unexpected};
use super::webhook::{Proof, RequestEvent, Webhooks};
use super::{Api, Check, Conclusion, Constants, Forge, Pending, Request, Status};
use crate::diagnostic::Severity;
use crate::report::Annotation;

/// The advice for tokens that may not comment.
const MAY_COMMENT: &str = "give the job `permissions: {pull-requests: write}`; the token of a fork's pull request may \
                           only read";

/// The advice for tokens that may not set a check.
const MAY_CHECK: &str = "give the job `permissions: {checks: write}`";

/// The events with which references may have moved.
pub(super) const PUSHES: &[&str] = &["push", "create", "delete"];

/// The API, most of which Gitea has copied.
pub(super) const API: Api = Api {
    public: Some(("https://api.github.com", "https://github.com")),
    place: "/api/v3",
    auth: ("authorization", "Bearer "),
    headers: &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")],
    tokens: &["HIERAD_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"],
    projects: "repos/",
    is_nested: false,
    request: "/pulls/{number}",
    by_branch: Some("/pulls?state=open&head={head}&per_page=100"),
    comments: "/issues/{number}/comments",
    comments_query: "?per_page=100",
    comment: "/issues/comments/{id}",
    update: Method::PATCH,
    author: ("user", "login"),
    status: Status { name: "context", failure: "failure", most: 140, unchanged: None },
    may_read: "give the job `permissions: {contents: read, pull-requests: write}`, and check the names of repository \
               and request",
    may_comment: MAY_COMMENT,
    may_set_status: "give the job `permissions: {statuses: write}`",
    head_ref: "refs/pull/{number}/head",
    request_page: "/pull/",
    files: "blob",
};

static CONSTANTS: Constants = Constants {
    name: "github",
    aliases: &[],
    webhooks: Webhooks {
        event: "x-github-event",
        proof: Proof::Signature("x-hub-signature-256", "sha256="),
        pushes: PUSHES,
        requests: &["pull_request"],
    },
    jobs: actions::JOBS,
    api: Some(API),
};

/// github.com and GitHub Enterprise.
#[derive(Debug)]
pub(super) struct GitHub;

impl Forge for GitHub {
    fn constants(&self) -> &'static Constants {
        &CONSTANTS
    }

    fn ci(&self, variable: Variable<'_>, read: Read<'_>) -> Result<Ci, ForgeError> {
        Ok(Ci { author: Some("github-actions[bot]"), ..actions::read(&GitHub, variable, read)? })
    }

    fn news(&self, body: &[u8]) -> Result<Option<RequestEvent>, serde_json::Error> {
        let is_news = |action: &str| matches!(action, "opened" | "reopened" | "synchronize" | "ready_for_review");
        news(body, |action, has_other_base| is_news(action) || action == "edited" && has_other_base)
    }

    fn request(&self, found: &Json) -> Option<Request> {
        request(found)
    }

    /// Asks GraphQL, since the REST API does not report it to the tokens of apps.
    fn own_name<'a>(&self, project: &'a Project) -> Option<Pending<'a, Option<String>>> {
        Some(Box::pin(async move {
            let body = json!({ "query": "query { viewer { login } }", "variables": {} });
            let answer = project.http.change(&Method::POST, &graphql(project), MAY_COMMENT, Some(&body)).await?;
            if let Some(error) = answer.pointer("/errors/0") {
                let (call, advice) = ("POST graphql".to_owned(), MAY_COMMENT.to_owned());
                let message =
                    crate::delivery::one_line(text(error, "message").as_deref().unwrap_or("it failed").as_bytes());
                return Err(ForgeError::Refused { call, status: 403, message, advice, retry: None });
            }
            Ok(answer.pointer("/data/viewer/login").and_then(Json::as_str).map(str::to_owned))
        }))
    }

    fn set_check<'a>(&self, project: &'a Project, check: &'a Check<'a>) -> Option<Pending<'a, ()>> {
        Some(Box::pin(set_check(project, check)))
    }
}

/// The body of a webhook about a request. Gitea's has the same form.
#[derive(Deserialize)]
struct PullRequest {
    action: String,
    number: u64,
    repository: Repository,
    changes: Option<Changes>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
struct Changes {
    base: Option<IgnoredAny>,
}

/// Reads the body of a webhook about a request. `is_news` is given the action, and true if the base was changed.
pub(super) fn news(
    body: &[u8],
    is_news: impl Fn(&str, bool) -> bool,
) -> Result<Option<RequestEvent>, serde_json::Error> {
    let PullRequest { action, number, repository, changes } = serde_json::from_slice(body)?;
    let has_other_base = changes.is_some_and(|changes| changes.base.is_some());
    let event = || RequestEvent { project: vec![repository.full_name], number };
    Ok(is_news(&action, has_other_base).then(event))
}

/// The maximum number of annotations in one HTTP request, and in a check.
const ANNOTATIONS_PER_REQUEST: usize = 50;
const MAX_ANNOTATIONS: usize = 500;

/// The maximum length of a title, of a summary and of a message, in characters.
const MAX_TITLE: usize = 255;
const MAX_SUMMARY: usize = 65_535;
const MAX_MESSAGE: usize = 16_000;

/// Returns the address of GraphQL, which is next to the API unless a job gives another.
fn graphql(project: &Project) -> String {
    let beside_api = || {
        let api = project.api.trim_end_matches('/');
        format!("{}/graphql", api.strip_suffix("/v3").unwrap_or(api))
    };
    project.graphql.clone().unwrap_or_else(beside_api)
}

/// Reads a pull request. Gitea's has the same form.
pub(super) fn request(found: &Json) -> Option<Request> {
    let (head, base) = (found.get("head")?, found.get("base")?);
    let name = |side: &Json| side.get("repo").and_then(|repo| text(repo, "full_name"));
    Some(Request {
        number: found.get("number")?.as_u64()?,
        head: text(head, "sha")?,
        base: text(base, "ref")?,
        is_open: text(found, "state")? == "open",
        from: name(head).and_then(|name| Some(name.split_once('/')?.0.to_owned())).zip(text(head, "ref")),
        // Without a repository, it was a fork that has been deleted.
        is_fork: name(head).is_none() || name(head) != name(base),
    })
}

fn annotation(annotation: &Annotation) -> Json {
    let (first_line, last_line) = annotation.lines.unwrap_or((1, 1));
    let level = match annotation.level {
        Severity::Note => "notice",
        Severity::Warning => "warning",
        Severity::Error => "failure",
    };
    json!({
        "path": annotation.path,
        "start_line": first_line,
        "end_line": last_line,
        "annotation_level": level,
        "title": truncated(&annotation.title, MAX_TITLE),
        "message": truncated(&annotation.message, MAX_MESSAGE),
    })
}

/// Sets a check run, in as many HTTP requests as its annotations need. Finishes what an earlier attempt of the same
/// run has begun. If the annotations are refused, leaves them out.
async fn set_check(project: &Project, check: &Check<'_>) -> Result<(), ForgeError> {
    let all: Vec<Json> = check.annotations.iter().take(MAX_ANNOTATIONS).map(annotation).collect();
    match try_check(project, check, &all).await {
        Err(error) if error.status() == 422 && !all.is_empty() => {
            tracing::warn!("the annotations of the check are left out: {error}");
            try_check(project, check, &[]).await
        }
        done => done,
    }
}

async fn try_check(project: &Project, check: &Check<'_>, all: &[Json]) -> Result<(), ForgeError> {
    let mut waits = super::http::waits();
    // The check run if it is known, with the number of its annotations so far.
    let (mut known, mut is_known_to_be_new) = (None, true);
    loop {
        let attempt = async {
            if !is_known_to_be_new && known.is_none() {
                known = find_run(project, check).await?;
            }
            let (id, mut done) = match known {
                Some(run) => run,
                None => (create_run(project, check, all).await?, all.len().min(ANNOTATIONS_PER_REQUEST)),
            };
            known = Some((id, done));
            while done < all.len() {
                let next = all.len().min(done + ANNOTATIONS_PER_REQUEST);
                update_run(project, check, id, &all[done..next], next == all.len()).await?;
                done = next;
                known = Some((id, done));
            }
            Ok::<(), ForgeError>(())
        };
        let Err(error) = attempt.await else { return Ok(()) };
        let (Some(least), Some(wait)) = (error.retry(), waits.next()) else { return Err(error) };
        // It may have worked nevertheless: the next attempt looks for the check run first.
        (is_known_to_be_new, known) = (false, None);
        tokio::time::sleep(wait.max(least)).await;
    }
}

/// Returns the run that an earlier attempt has made, with the number of annotations that it has.
async fn find_run(project: &Project, check: &Check<'_>) -> Result<Option<(u64, usize)>, ForgeError> {
    let (head, name) = (encoded(check.head), encoded(check.name));
    let path = format!("{}/commits/{head}/check-runs?check_name={name}&filter=all&per_page=100", project.path);
    let found = project.http.get(&path, MAY_CHECK).await?;
    let runs = found.get("check_runs").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let own_run = runs.iter().find(|run| text(run, "external_id").as_deref() == Some(check.run));
    Ok(own_run.and_then(|run| {
        let count = run.pointer("/output/annotations_count").and_then(Json::as_u64).unwrap_or_default();
        Some((run.get("id")?.as_u64()?, usize::try_from(count).ok()?))
    }))
}

fn output(check: &Check<'_>, annotations: &[Json]) -> Json {
    json!({
        "title": truncated(check.title, MAX_TITLE),
        "summary": truncated(check.summary, MAX_SUMMARY),
        "annotations": annotations,
    })
}

fn conclusion(check: &Check<'_>) -> &'static str {
    match check.conclusion {
        Conclusion::Success => "success",
        Conclusion::Neutral => "neutral",
        Conclusion::Failure => "failure",
    }
}

fn complete(mut body: Json, check: &Check<'_>, is_last: bool) -> Json {
    body["status"] = if is_last { "completed" } else { "in_progress" }.into();
    if is_last {
        body["conclusion"] = conclusion(check).into();
    }
    body
}

async fn create_run(project: &Project, check: &Check<'_>, all: &[Json]) -> Result<u64, ForgeError> {
    let batch = &all[..all.len().min(ANNOTATIONS_PER_REQUEST)];
    let mut body = json!({
        "name": check.name,
        "head_sha": check.head,
        "external_id": check.run,
        "output": output(check, batch),
    });
    if let Some(url) = check.url {
        body["details_url"] = url.into();
    }
    let body = complete(body, check, batch.len() == all.len());
    let path = format!("{}/check-runs", project.path);
    let created = project.http.change(&Method::POST, &path, MAY_CHECK, Some(&body)).await?;
    created.get("id").and_then(Json::as_u64).ok_or_else(|| unexpected(format!("POST {path}"), "it has no id"))
}

async fn update_run(
    project: &Project,
    check: &Check<'_>,
    id: u64,
    batch: &[Json],
    is_last: bool,
) -> Result<(), ForgeError> {
    let body = complete(json!({ "output": output(check, batch) }), check, is_last);
    let path = format!("{}/check-runs/{id}", project.path);
    project.http.change(&Method::PATCH, &path, MAY_CHECK, Some(&body)).await.map(drop)
}
