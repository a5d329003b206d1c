//! Reads the change under review from the environment of a CI job. Variables and files are asked for through
//! functions, so nothing here reads the environment itself.

pub(super) mod actions;
mod branch;
mod jenkins;

use std::path::{Path, PathBuf};

pub use branch::branch;

use super::marker::Run;
use super::{ALL, Forge, ForgeError};

/// The change under review, as a CI job describes it. Anything may be missing, and must then be given by flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ci {
    /// The forge.
    pub forge: Option<&'static dyn Forge>,
    /// The address of its API.
    pub api: Option<String>,
    /// The address of its GraphQL API.
    pub graphql: Option<String>,
    /// The repository in which the request is.
    pub project: Option<String>,
    /// The number of the request.
    pub number: Option<u64>,
    /// The last commit of the request, or the one that was pushed.
    pub head: Option<String>,
    /// The branch that the request is to be merged into.
    pub base_branch: Option<String>,
    /// A commit of that branch, or the one before a push.
    pub base: Option<String>,
    /// The default branch of the repository, the base of commits of which nothing else is known.
    pub default_branch: Option<String>,
    /// True if the commits are known to come from the project itself. Otherwise they may come from a fork.
    pub is_own: bool,
    /// True if the request is closed.
    pub is_closed: bool,
    /// The owner and the branch of the run that this one follows, if the request has to be found by them.
    pub from: Option<(String, String)>,
    /// The place of this run among those for the same commit.
    pub run: Option<Run>,
    /// The file to which the summary of the step is appended.
    pub summary: Option<PathBuf>,
    /// The page of the job.
    pub url: Option<String>,
    /// The page of the run that this one follows.
    pub followed: Option<String>,
    /// The page of the repository, with which the addresses of its files begin.
    pub page: Option<String>,
    /// The name under which the job's own token writes, if the forge does not report it.
    pub author: Option<&'static str>,
    /// True if workflow commands on standard output become annotations.
    pub has_commands: bool,
}

/// The id that stands for no commit, such as the one before a new branch.
pub(super) const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Returns a variable of the environment. Empty variables count as unset.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a file that a variable names.
pub type Read<'a> = &'a dyn Fn(&Path) -> std::io::Result<Vec<u8>>;

/// The jobs of a CI server, described by their variables.
#[derive(Debug)]
pub struct Jobs {
    /// The variables that identify such a job. One of them is enough.
    pub runners: &'static [&'static str],
    /// True if the runner interprets lines of standard output as commands.
    pub has_commands: bool,
    /// The setting with which a job checks out all history.
    pub depth: Option<&'static str>,
    /// Variables with the branch of a request.
    pub request_branch: &'static [&'static str],
    /// Variables of a job that is not about a branch, but about a tag, or a request with its own name.
    pub no_branch: &'static [&'static str],
    /// Variables with a full reference, which may be that of a branch.
    pub reference: &'static [&'static str],
    /// Variables with the name of a branch.
    pub branch: &'static [&'static str],
}

impl Jobs {
    /// Jobs of unknown servers.
    pub const NONE: Jobs = Jobs {
        runners: &[],
        has_commands: false,
        depth: None,
        request_branch: &[],
        no_branch: &[],
        reference: &[],
        branch: &[],
    };

    fn has(&self, variable: Variable<'_>) -> bool {
        self.runners.iter().any(|name| variable(name).is_some())
    }
}

/// The jobs of CI servers that belong to no forge: Jenkins, Azure Pipelines, `TeamCity`, and those that are only
/// known to be CI servers.
static OTHER_SERVERS: [Jobs; 4] = [
    jenkins::JOBS,
    Jobs {
        runners: &["TF_BUILD"],
        has_commands: true,
        request_branch: &["SYSTEM_PULLREQUEST_SOURCEBRANCH"],
        reference: &["BUILD_SOURCEBRANCH"],
        ..Jobs::NONE
    },
    Jobs { runners: &["TEAMCITY_VERSION"], has_commands: true, ..Jobs::NONE },
    Jobs { runners: &["CI", "CODEBUILD_BUILD_ID", "BUILD_NUMBER", "BUILD_ID"], ..Jobs::NONE },
];

/// Returns the jobs of all CI servers.
fn jobs() -> impl Iterator<Item = &'static Jobs> {
    ALL.iter().map(|forge| &forge.constants().jobs).chain(&OTHER_SERVERS)
}

impl Ci {
    /// Reads the environment of a job of a forge's own runner or of Jenkins. Otherwise only `is_own` is set: users
    /// outside of CI jobs choose the commits themselves.
    pub fn detect(variable: Variable<'_>, read: Read<'_>) -> Result<Ci, ForgeError> {
        // Forges that copied the variables of another one come after it.
        Ok(match ALL.into_iter().rev().find(|forge| forge.is_job(variable)) {
            Some(forge) => forge.ci(variable, read)?,
            None if jenkins::JOBS.has(variable) => jenkins::read(variable),
            None => Ci { is_own: !OTHER_SERVERS.iter().any(|jobs| jobs.has(variable)), ..Ci::default() },
        })
    }

    /// Returns the reference at which the forge keeps the last commit of the request.
    pub fn head_ref(&self) -> Option<String> {
        Some(self.forge?.api()?.head_ref.replace("{number}", &self.number?.to_string()))
    }
}

/// Returns the variables that identify runners of which [`Ci::detect`] reads more.
pub fn runners() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|forge| &forge.constants().jobs).chain([&jenkins::JOBS]).flat_map(|jobs| jobs.runners).copied()
}

/// Returns true in a job whose runner interprets lines of standard output as commands.
pub fn has_commands(variable: Variable<'_>) -> bool {
    jobs().any(|jobs| jobs.has_commands && jobs.has(variable))
}

/// Returns the settings with which jobs check out all history.
pub fn depths() -> String {
    jobs().filter_map(|jobs| jobs.depth).collect::<Vec<&str>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_variables_with_tokens_are_kept_from_others() {
        for forge in crate::forge::reviewed() {
            let known = |name: &&str| crate::process::is_token(name, "");
            assert!(forge.api().unwrap().tokens.iter().all(known), "{forge:?}");
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
            let bases = (ci.base_branch.as_deref(), ci.base.as_deref(), ci.default_branch.as_deref());
            assert_eq!(bases, (branch, base, default), "{name}");
        }
        assert_eq!(github("merge_group", queue).head.as_deref(), Some("3"));
    }
}
