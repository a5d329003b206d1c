//! Reads the change under review from the environment of a CI job. Variables and files are asked for through
//! functions, so nothing here reads the environment itself.

mod github_actions;
mod gitlab_ci;
mod pipelines;

use std::path::{Path, PathBuf};

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
    /// True if the commits come from another repository.
    pub is_fork: bool,
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

/// Asks for a variable of the environment; empty ones count as unset.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a file that a variable names.
pub type Read<'a> = &'a dyn Fn(&Path) -> std::io::Result<Vec<u8>>;

impl Ci {
    /// Reads the environment of GitHub Actions, of those of Gitea and Forgejo, of GitLab CI, Jenkins or Bitbucket
    /// Pipelines. Elsewhere nothing is known.
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
        Ok(Ci::default())
    }

    /// Returns the names of the variables that may hold the token, the first of them first. Programs of others
    /// [do not get them](crate::process::is_token).
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
}
