//! GitLab: merge requests, statuses, and discussions on lines.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::error::ForgeError;
use super::http::{Project, encoded, first, text};
use super::{Check, Conclusion, DiffRefs, Request};
use crate::report::Annotation;

/// The advice for tokens that may not comment.
pub(super) const COMMENT: &str = "the token needs the scope `api` and at least the role Reporter in the project (the job's \
                                  own CI_JOB_TOKEN cannot comment): put one into the variable HIERAD_GITLAB_TOKEN";

/// The advice for tokens that may not set a status.
const STATUS: &str = "the token needs the scope `api` and at least the role Developer in the project";

/// The most discussions of one request.
const MAX_DISCUSSIONS: usize = 30;

/// The most characters of a status.
const MAX_STATUS: usize = 255;

/// Reads a merge request.
pub(super) fn request(found: &Json) -> Option<Request> {
    let reference = |name: &str| found.pointer(&format!("/diff_refs/{name}")).and_then(Json::as_str).map(str::to_owned);
    let diff = || {
        Some(DiffRefs { base: reference("base_sha")?, start: reference("start_sha")?, head: reference("head_sha")? })
    };
    Some(Request {
        number: found.get("iid")?.as_u64()?,
        head: text(found, "sha")?,
        base: text(found, "target_branch")?,
        is_open: text(found, "state")? == "opened",
        is_fork: found.get("source_project_id") != found.get("target_project_id"),
        diff: diff(),
    })
}

/// Sets the status of a commit, once.
pub(super) async fn set_status(project: &Project, check: &Check<'_>) -> Result<(), ForgeError> {
    let state = if check.conclusion == Conclusion::Failure { "failed" } else { "success" };
    let mut body = json!({ "state": state, "name": check.name, "description": first(check.title, MAX_STATUS) });
    if let Some(url) = check.url {
        body["target_url"] = url.into();
    }
    let path = format!("{}/statuses/{}", project.path, encoded(check.head));
    match project.http.change(&Method::POST, &path, STATUS, Some(&body)).await {
        // The status is what it should be.
        Err(error) if error.status() == 400 && error.to_string().contains("Cannot transition status") => Ok(()),
        done => done.map(drop),
    }
}

/// Writes a discussion on each annotated line, and deletes those that were written before. A line that the difference
/// does not show has none.
pub(super) async fn discuss(
    project: &Project,
    request: &Request,
    annotations: &[Annotation],
    marker: &str,
    own: Option<&str>,
) -> Result<(), ForgeError> {
    let base = format!("{}/merge_requests/{}", project.path, request.number);
    for (discussion, note) in former(project, &base, own, marker).await? {
        let path = format!("{base}/discussions/{discussion}/notes/{note}");
        match project.http.change(&Method::DELETE, &path, COMMENT, None).await {
            Err(error) if error.status() != 404 => return Err(error),
            _ => {}
        }
    }
    let Some(diff) = &request.diff else { return Ok(()) };
    let path = format!("{base}/discussions");
    let with_line = annotations.iter().filter_map(|annotation| Some((annotation, annotation.lines?.0)));
    for (annotation, line) in with_line.take(MAX_DISCUSSIONS) {
        let body = json!({
            "body": format!("{marker}\n{}", quoted(annotation)),
            "position": {
                "position_type": "text",
                "base_sha": diff.base,
                "start_sha": diff.start,
                "head_sha": diff.head,
                "old_path": annotation.path,
                "new_path": annotation.path,
                "new_line": line,
            },
        });
        match project.http.change(&Method::POST, &path, COMMENT, Some(&body)).await {
            Err(error) if error.status() == 400 => tracing::debug!("{}: {error}", annotation.path),
            done => drop(done?),
        }
    }
    Ok(())
}

/// Returns the discussions that begin with the marker and are our own, with their notes.
async fn former(
    project: &Project,
    base: &str,
    own: Option<&str>,
    marker: &str,
) -> Result<Vec<(String, u64)>, ForgeError> {
    let Some(own) = own else { return Ok(Vec::new()) };
    let list = project.http.list(&format!("{base}/discussions?per_page=100"), COMMENT).await?;
    let note = |discussion: &Json| {
        let note = discussion.pointer("/notes/0")?;
        let is_own = note.pointer("/author/username").and_then(Json::as_str) == Some(own);
        let is_marked = text(note, "body").is_some_and(|body| body.starts_with(marker));
        (is_own && is_marked).then_some(())?;
        Some((text(discussion, "id")?, note.get("id")?.as_u64()?))
    };
    Ok(list.iter().filter_map(note).collect())
}

/// Returns the message as Markdown in which nothing is active.
fn quoted(annotation: &Annotation) -> String {
    let lines = annotation.message.lines().map(|line| format!("    {line}\n"));
    lines.collect()
}
