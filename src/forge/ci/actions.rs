//! GitHub Actions, and those of Gitea and Forgejo, which have the same variables.

use std::path::Path;

use serde_json::Value as Json;

use super::{Ci, Jobs, NO_COMMIT, Read, Variable};
use crate::forge::{Forge, ForgeError, Run};

/// The events whose commits are in the repository itself. Others may belong to a request, such as comments on it.
const OWN_EVENTS: [&str; 6] = ["push", "create", "release", "schedule", "workflow_dispatch", "repository_dispatch"];

/// The jobs of GitHub.
pub(in crate::forge) const JOBS: Jobs = Jobs {
    runners: &["GITHUB_ACTIONS"],
    has_commands: true,
    depth: Some("`fetch-depth: 0` of actions/checkout"),
    request_branch: &["GITHUB_HEAD_REF"],
    no_branch: &[],
    reference: &["GITHUB_REF"],
    branch: &["GITHUB_REF_NAME"],
};

/// Reads the variables of a job of this forge.
pub(in crate::forge) fn read(
    forge: &'static dyn Forge,
    variable: Variable<'_>,
    read: Read<'_>,
) -> Result<Ci, ForgeError> {
    let (server, project) = (variable("GITHUB_SERVER_URL"), variable("GITHUB_REPOSITORY"));
    let page = server.zip(project.clone()).map(|(server, project)| format!("{server}/{project}"));
    let run_id = variable("GITHUB_RUN_ID");
    let number = |name: &str| variable(name).and_then(|text| text.parse().ok());
    let event_name = variable("GITHUB_EVENT_NAME").unwrap_or_default();
    let ci = Ci {
        forge: Some(forge),
        api: variable("GITHUB_API_URL"),
        graphql: variable("GITHUB_GRAPHQL_URL"),
        project,
        head: variable("GITHUB_SHA"),
        run: number("GITHUB_RUN_ID").map(|run| Run(run, number("GITHUB_RUN_ATTEMPT").unwrap_or(1))),
        summary: variable("GITHUB_STEP_SUMMARY").map(Into::into),
        url: page.as_ref().zip(run_id).map(|(page, run)| format!("{page}/actions/runs/{run}")),
        page,
        has_commands: true,
        is_own: OWN_EVENTS.contains(&&*event_name),
        ..Ci::default()
    };
    let Some(path) = variable("GITHUB_EVENT_PATH") else { return Ok(ci) };
    let wrong = |reason: String| ForgeError::Options(format!("the event in {path} cannot be read: {reason}"));
    let event = read(Path::new(&path)).map_err(|error| wrong(error.to_string()))?;
    let event: Json = serde_json::from_slice(&event).map_err(|error| wrong(error.to_string()))?;
    Ok(with_event(ci, &event, &event_name))
}

fn with_event(ci: Ci, event: &Json, name: &str) -> Ci {
    let text = |path: &str| event.pointer(path).and_then(Json::as_str).map(str::to_owned);
    let number = |path: &str| event.pointer(path).and_then(Json::as_u64);
    let ci = Ci { default_branch: text("/repository/default_branch"), ..ci };
    if name == "workflow_run" {
        let run = number("/workflow_run/id");
        return Ci {
            head: text("/workflow_run/head_sha"),
            from: text("/workflow_run/head_repository/owner/login").zip(text("/workflow_run/head_branch")),
            is_own: ci.project.is_some() && text("/workflow_run/head_repository/full_name") == ci.project,
            // The run that this one follows: if a commit has several, the latest counts.
            run: run.map(|run| Run(run, number("/workflow_run/run_attempt").unwrap_or(1))),
            followed: ci.page.as_ref().zip(run).map(|(page, run)| format!("{page}/actions/runs/{run}")),
            ..ci
        };
    }
    if event.get("pull_request").is_some() {
        let number = number("/pull_request/number").or_else(|| number("/number"));
        let repository = |side: &str| text(&format!("/pull_request/{side}/repo/full_name"));
        return Ci {
            number,
            head: text("/pull_request/head/sha").or(ci.head),
            base_branch: text("/pull_request/base/ref"),
            base: text("/pull_request/base/sha"),
            is_own: repository("head").is_some() && repository("head") == repository("base"),
            is_closed: text("/pull_request/state").as_deref() == Some("closed"),
            ..ci
        };
    }
    match name {
        "push" => Ci { base: text("/before").filter(|before| before != NO_COMMIT), ..ci },
        "merge_group" => Ci {
            head: text("/merge_group/head_sha").or(ci.head),
            base_branch: text("/merge_group/base_ref")
                .and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())),
            base: text("/merge_group/base_sha"),
            ..ci
        },
        _ => ci,
    }
}
