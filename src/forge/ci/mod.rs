//! Reads the change under review from the environment of a CI job. Variables and files are asked for through
//! functions, so nothing here reads the environment itself.

mod branch;
mod github_actions;
mod gitlab_ci;
mod pipelines;

use std::path::{Path, PathBuf};

pub use branch::branch;

use super::marker::Run;
use super::{ForgeError, Kind};

/// The knowledge of a CI job. Everything may be missing; flags say it then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ci {
    /// The forge.
    pub kind: Option<Kind>,
    /// The address of its API, and of GitHub's GraphQL.
    pub api: Option<String>,
    /// The address of GraphQL.
    pub graphql: Option<String>,
    /// The repository in which the request is.
    pub project: Option<String>,
    /// The number of the request.
    pub number: Option<u64>,
    /// The last commit of the request, or the one that was pushed.
    pub head: Option<String>,
    /// The reference at which the forge keeps that commit.
    pub head_ref: Option<String>,
    /// The branch that the request is to be merged into.
    pub base_branch: Option<String>,
    /// A commit of that branch, or the one before a push.
    pub base: Option<String>,
    /// The default branch of the repository, which takes commits of which nothing else is known.
    pub default_branch: Option<String>,
    /// True if the commits are known to come from the project itself. What is not known may be of a fork.
    pub is_own: bool,
    /// True if the request is closed.
    pub is_closed: bool,
    /// The owner and the branch of the run that this one follows, where the request has to be found by them.
    pub from: Option<(String, String)>,
    /// The place of this run among those for the same commit.
    pub run: Option<Run>,
    /// The file to which the summary of the step is appended.
    pub summary: Option<PathBuf>,
    /// The page of the job.
    pub url: Option<String>,
    /// The page of the run that this one follows.
    pub followed: Option<String>,
    /// The page of the repository, behind which the files of a commit are.
    pub page: Option<String>,
    /// The name under which the job's own token writes, if the forge does not tell.
    pub author: Option<&'static str>,
    /// True if workflow commands on standard output become annotations.
    pub has_commands: bool,
}

/// The id of no commit, from which a new branch comes.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Asks for a variable of the environment; empty ones count as unset.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a file that a variable names.
pub type Read<'a> = &'a dyn Fn(&Path) -> std::io::Result<Vec<u8>>;

/// Variables that jobs of other CI servers have.
const JOBS: [&str; 6] = ["CI", "TF_BUILD", "CODEBUILD_BUILD_ID", "TEAMCITY_VERSION", "BUILD_NUMBER", "BUILD_ID"];

impl Ci {
    /// Reads the environment of GitHub Actions, of those of Gitea and Forgejo, of GitLab CI, Jenkins or Bitbucket
    /// Pipelines. Of others nothing is known, but that who runs no CI job chooses the commits himself.
    pub fn detect(variable: Variable<'_>, read: Read<'_>) -> Result<Ci, ForgeError> {
        let is_set = |name: &str| variable(name).is_some();
        if is_set("GITHUB_ACTIONS") || is_set("GITEA_ACTIONS") || is_set("FORGEJO_ACTIONS") {
            return github_actions::read(variable, read);
        }
        if is_set("GITLAB_CI") {
            return Ok(gitlab_ci::read(variable));
        }
        if is_set("BITBUCKET_BUILD_NUMBER") {
            return Ok(pipelines::bitbucket(variable));
        }
        if is_set("JENKINS_URL") {
            return Ok(pipelines::jenkins(variable));
        }
        Ok(Ci { is_own: !JOBS.iter().any(|name| is_set(name)), ..Ci::default() })
    }

    /// Returns the names of the variables that may contain the token; earlier ones win. Other programs [do not get
    /// them](crate::process::is_token).
    pub fn token_variables(kind: Kind) -> &'static [&'static str] {
        match kind {
            Kind::GitHub => &["HIERAD_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"],
            Kind::GitLab => &["HIERAD_GITLAB_TOKEN", "GITLAB_TOKEN"],
            Kind::Gitea => &["HIERAD_GITEA_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN", "GITHUB_TOKEN"],
        }
    }
}

/// Returns the reference at which a forge keeps the last commit of a request.
pub fn head_ref(kind: Kind, number: u64) -> String {
    match kind {
        Kind::GitHub | Kind::Gitea => format!("refs/pull/{number}/head"),
        Kind::GitLab => format!("refs/merge-requests/{number}/head"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_variables_with_tokens_are_kept_from_others() {
        for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea] {
            let known = |name: &&str| crate::process::is_token(name, "");
            assert!(Ci::token_variables(kind).iter().all(known), "{kind:?}");
        }
    }

    fn detect(variables: &[(&str, &str)], event: &str) -> Ci {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Ci::detect(&variable, &|_: &Path| Ok(event.as_bytes().to_vec())).unwrap()
    }

    fn github(name: &str, event: &str) -> Ci {
        let variables = [("GITHUB_ACTIONS", "true"), ("GITHUB_REPOSITORY", "o/n"), ("GITHUB_EVENT_NAME", name)];
        detect(&[&variables[..], &[("GITHUB_EVENT_PATH", "event")]].concat(), event)
    }

    fn gitlab(variables: &[(&str, &str)]) -> Ci {
        detect(&[&[("GITLAB_CI", "true")], variables].concat(), "")
    }

    #[test]
    fn what_is_not_known_to_be_of_the_project_may_be_of_a_fork() {
        let request = |head: &str| {
            format!(r#"{{"pull_request": {{"head": {head}, "base": {{"repo": {{"full_name": "o/n"}}}}}}}}"#)
        };
        let followed = |head: &str| format!(r#"{{"workflow_run": {{"head_repository": {head}}}}}"#);
        let (target, request_id) = (("CI_MERGE_REQUEST_PROJECT_ID", "1"), ("CI_MERGE_REQUEST_IID", "7"));
        let source = |id| ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", id);
        let mirrored = ("CI_EXTERNAL_PULL_REQUEST_IID", "7");
        for (name, ci, is_own) in [
            ("a push", github("push", "{}"), true),
            ("by hand", github("workflow_dispatch", "{}"), true),
            ("a comment", github("issue_comment", r#"{"issue": {"number": 1}}"#), false),
            ("a queue of merges", github("merge_group", "{}"), false),
            ("an event of no name", github("", "{}"), false),
            ("a request", github("pull_request", &request(r#"{"repo": {"full_name": "o/n"}}"#)), true),
            ("of a fork", github("pull_request_target", &request(r#"{"repo": {"full_name": "s/n"}}"#)), false),
            ("of a fork that is gone", github("pull_request", &request(r#"{"repo": null}"#)), false),
            ("after a run", github("workflow_run", &followed(r#"{"full_name": "o/n"}"#)), true),
            ("after that of a fork", github("workflow_run", &followed(r#"{"full_name": "s/n"}"#)), false),
            ("after one of nobody", github("workflow_run", "{}"), false),
            ("a branch", gitlab(&[("CI_COMMIT_BRANCH", "b")]), true),
            ("a tag", gitlab(&[("CI_COMMIT_TAG", "t")]), true),
            ("neither", gitlab(&[]), false),
            ("a merge request", gitlab(&[request_id, target, source("1")]), true),
            ("of another project", gitlab(&[request_id, target, source("2")]), false),
            ("of a project that is gone", gitlab(&[request_id, target]), false),
            ("of nothing", gitlab(&[request_id]), false),
            ("of a mirror", gitlab(&[mirrored, ("CI_COMMIT_BRANCH", "b")]), false),
            ("a change", detect(&[("JENKINS_URL", "x"), ("CHANGE_ID", "7")], ""), true),
            ("of a fork", detect(&[("JENKINS_URL", "x"), ("CHANGE_ID", "7"), ("CHANGE_FORK", "s")], ""), false),
            ("a branch of Jenkins", detect(&[("JENKINS_URL", "x"), ("BRANCH_NAME", "b")], ""), true),
            ("what a plugin builds", detect(&[("JENKINS_URL", "x"), ("ghprbPullId", "7")], ""), false),
            ("Azure Pipelines", detect(&[("TF_BUILD", "True")], ""), false),
            ("CodeBuild", detect(&[("CODEBUILD_BUILD_ID", "x:1")], ""), false),
            ("TeamCity", detect(&[("TEAMCITY_VERSION", "2026.1")], ""), false),
            ("another CI", detect(&[("CI", "true")], ""), false),
            ("none", detect(&[], ""), true),
        ] {
            assert_eq!(ci.is_own, is_own, "{name}");
        }
    }

    #[test]
    fn a_new_branch_is_compared_with_the_default_branch() {
        let pushed = |before: &str, name: &str| {
            let repository = r#""repository": {"default_branch": "main"}"#;
            github("push", &format!(r#"{{"before": "{before}", "ref": "refs/heads/{name}", {repository}}}"#))
        };
        let built = |before: &str, name: &str| {
            gitlab(&[("CI_COMMIT_BEFORE_SHA", before), ("CI_COMMIT_BRANCH", name), ("CI_DEFAULT_BRANCH", "main")])
        };
        let requested = [("CI_COMMIT_BEFORE_SHA", NO_COMMIT), ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "stable")];
        let known = "1".repeat(40);
        let mirrored = [
            ("CI_COMMIT_BEFORE_SHA", &*known),
            ("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME", "stable"),
            ("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA", "2"),
        ];
        let queue = r#"{"merge_group": {"base_ref": "refs/heads/a/b", "base_sha": "2", "head_sha": "3"}}"#;
        let made = r#"{"ref": "new", "repository": {"default_branch": "main"}}"#;
        let jenkins = |name, value| detect(&[("JENKINS_URL", "x"), (name, value)], "");
        for (name, ci, branch, base, default) in [
            ("a new branch", pushed(NO_COMMIT, "new"), None, None, Some("main")),
            ("a known branch", pushed(&known, "new"), None, Some(&*known), Some("main")),
            ("the default branch", pushed(&known, "main"), None, Some(&*known), Some("main")),
            ("a branch that is made", github("create", made), None, None, Some("main")),
            ("by hand", github("workflow_dispatch", made), None, None, Some("main")),
            ("a queue of merges", github("merge_group", queue), Some("a/b"), Some("2"), None),
            ("new on GitLab", built(NO_COMMIT, "new"), None, None, Some("main")),
            ("known on GitLab", built(&known, "new"), None, Some(&*known), Some("main")),
            ("a request on GitLab", gitlab(&requested), Some("stable"), None, None),
            ("a request elsewhere", gitlab(&mirrored), Some("stable"), Some("2"), None),
            ("a first build", jenkins("BRANCH_NAME", "new"), None, None, None),
            ("a later build", jenkins("GIT_PREVIOUS_COMMIT", &known), None, Some(&*known), None),
            ("Bitbucket", detect(&[("BITBUCKET_BUILD_NUMBER", "1")], ""), None, None, None),
        ] {
            let told = (ci.base_branch.as_deref(), ci.base.as_deref(), ci.default_branch.as_deref());
            assert_eq!(told, (branch, base, default), "{name}");
        }
        assert_eq!(github("merge_group", queue).head.as_deref(), Some("3"));
    }
}
