//! GitHub: pull requests, check runs, statuses, and the two things that only GraphQL does.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::error::ForgeError;
use super::http::{Project, encoded, first, text, unexpected};
use super::{Check, Conclusion, Request};
use crate::diagnostic::Severity;
use crate::report::Annotation;

/// The advice for tokens that may not read.
pub(super) const READ: &str = "give the job `permissions: {contents: read, pull-requests: write}`, and check the names of \
                               repository and request";

/// The advice for tokens that may not comment.
pub(super) const COMMENT: &str = "give the job `permissions: {pull-requests: write}`; the token of a fork's pull request \
                                  may only read";

/// The advice for tokens that may not set a check.
const CHECK: &str = "give the job `permissions: {checks: write}`";

/// The advice for tokens that may not set a status.
pub(super) const STATUS: &str = "give the job `permissions: {statuses: write}`";

/// The most annotations of one request, and of a check.
const PER_REQUEST: usize = 50;
const MAX_ANNOTATIONS: usize = 500;

/// The most characters of a status, of a title, of a summary and of a message.
const MAX_STATUS: usize = 140;
const MAX_TITLE: usize = 255;
const MAX_SUMMARY: usize = 65_535;
const MAX_MESSAGE: usize = 16_000;

/// Returns the address of GraphQL for that of the API.
pub(super) fn graphql(api: &str) -> String {
    let api = api.trim_end_matches('/');
    format!("{}/graphql", api.strip_suffix("/v3").unwrap_or(api))
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
        // Without a repository it was a fork that is deleted.
        is_fork: name(head).is_none() || name(head) != name(base),
        diff: None,
    })
}

async fn graphql_call(project: &Project, query: &str, variables: Json, need: &str) -> Result<Json, ForgeError> {
    let body = json!({ "query": query, "variables": variables });
    let answer = project.http.change(&Method::POST, &project.graphql, need, Some(&body)).await?;
    if let Some(errors) = answer.get("errors").filter(|errors| errors.as_array().is_some_and(|all| !all.is_empty())) {
        let said = errors.pointer("/0/message").and_then(Json::as_str).unwrap_or("it failed");
        let call = "POST graphql".to_owned();
        let (said, advice) = (crate::delivery::one_line(said.as_bytes()), need.to_owned());
        return Err(ForgeError::Refused { call, status: 403, said, advice, retry: None });
    }
    Ok(answer)
}

/// Returns the login of the token, which the REST API does not reveal to the tokens of apps.
pub(super) async fn own_name(project: &Project) -> Result<Option<String>, ForgeError> {
    let answer = graphql_call(project, "query { viewer { login } }", json!({}), COMMENT).await?;
    Ok(answer.pointer("/data/viewer/login").and_then(Json::as_str).map(str::to_owned))
}

/// Minimizes a comment as outdated.
pub(super) async fn minimize(project: &Project, node: &str) -> Result<(), ForgeError> {
    let query = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { \
                 minimizedComment { isMinimized } } }";
    graphql_call(project, query, json!({ "id": node }), COMMENT).await.map(drop)
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
        "title": first(&annotation.title, MAX_TITLE),
        "message": first(&annotation.message, MAX_MESSAGE),
    })
}

/// Sets a check run, in as many requests as its annotations need. What a former attempt of the same run has begun is
/// finished. A refusal of annotations leaves them out.
pub(super) async fn set_check(project: &Project, check: &Check<'_>) -> Result<(), ForgeError> {
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
    // The run as it is known, and the number of annotations that it has.
    let (mut known, mut is_known_to_be_new) = (None, true);
    loop {
        let attempt = async {
            if !is_known_to_be_new && known.is_none() {
                known = find_run(project, check).await?;
            }
            let (id, mut done) = match known {
                Some(run) => run,
                None => (create_run(project, check, all).await?, all.len().min(PER_REQUEST)),
            };
            known = Some((id, done));
            while done < all.len() {
                let next = all.len().min(done + PER_REQUEST);
                update_run(project, check, id, &all[done..next], next == all.len()).await?;
                done = next;
                known = Some((id, done));
            }
            Ok::<(), ForgeError>(())
        };
        let Err(error) = attempt.await else { return Ok(()) };
        let (Some(least), Some(wait)) = (error.retry(), waits.next()) else { return Err(error) };
        // It may have been done all the same: look before it is done again.
        (is_known_to_be_new, known) = (false, None);
        tokio::time::sleep(wait.max(least)).await;
    }
}

/// Returns the run that an earlier attempt has created, with the number of its annotations.
async fn find_run(project: &Project, check: &Check<'_>) -> Result<Option<(u64, usize)>, ForgeError> {
    let (head, name) = (encoded(check.head), encoded(check.name));
    let path = format!("{}/commits/{head}/check-runs?check_name={name}&filter=all&per_page=100", project.path);
    let found = project.http.get(&path, CHECK).await?;
    let runs = found.get("check_runs").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let own = runs.iter().find(|run| text(run, "external_id").as_deref() == Some(check.run));
    Ok(own.and_then(|run| {
        let count = run.pointer("/output/annotations_count").and_then(Json::as_u64).unwrap_or_default();
        Some((run.get("id")?.as_u64()?, usize::try_from(count).ok()?))
    }))
}

fn output(check: &Check<'_>, annotations: &[Json]) -> Json {
    json!({
        "title": first(check.title, MAX_TITLE),
        "summary": first(check.summary, MAX_SUMMARY),
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
    let batch = &all[..all.len().min(PER_REQUEST)];
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
    let made = project.http.change(&Method::POST, &path, CHECK, Some(&body)).await?;
    made.get("id").and_then(Json::as_u64).ok_or_else(|| unexpected(format!("POST {path}"), "it has no id"))
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
    project.http.change(&Method::PATCH, &path, CHECK, Some(&body)).await.map(drop)
}

/// Sets the status of a commit, once. Gitea's has the same form.
pub(super) async fn set_status(project: &Project, check: &Check<'_>, need: &str) -> Result<(), ForgeError> {
    let state = if check.conclusion == Conclusion::Failure { "failure" } else { "success" };
    let mut body = json!({ "state": state, "context": check.name, "description": first(check.title, MAX_STATUS) });
    if let Some(url) = check.url {
        body["target_url"] = url.into();
    }
    let path = format!("{}/statuses/{}", project.path, encoded(check.head));
    project.http.change(&Method::POST, &path, need, Some(&body)).await.map(drop)
}
