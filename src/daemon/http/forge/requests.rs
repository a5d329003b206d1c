//! Pull requests and merge requests in the webhooks of forges.
//!  Only the project and the number of the request are taken from the body, since anybody who opens a request writes
//! the rest.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Forge;

/// A project on a forge whose requests are reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The name of the reviews in the queue.
    pub reviews: String,
    /// The forge.
    pub forge: Forge,
    /// The name of the project or, on GitLab, its number.
    pub name: String,
}

/// A request that has news for its review.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::daemon::http) struct RequestEvent {
    /// The names of its project: that with the owner's and, on GitLab, its number.
    pub(in crate::daemon::http) project: Vec<String>,
    /// The number of the request.
    pub(in crate::daemon::http) number: u64,
}

/// The body of GitHub, Gitea and Forgejo.
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

/// The body of GitLab.
#[derive(Deserialize)]
struct MergeRequest {
    project: GitLabProject,
    object_attributes: Attributes,
}

#[derive(Deserialize)]
struct GitLabProject {
    id: u64,
    path_with_namespace: String,
}

#[derive(Deserialize)]
struct Attributes {
    iid: u64,
    action: Option<String>,
}

impl RequestEvent {
    /// Reads the body of a webhook about a request, or returns `None` if it has no news for the review.
    pub(in crate::daemon::http) fn read(forge: Forge, body: &[u8]) -> Result<Option<RequestEvent>, serde_json::Error> {
        match forge {
            Forge::GitHub | Forge::Gitea => Ok(PullRequest::news(&serde_json::from_slice(body)?, forge)),
            Forge::GitLab => Ok(MergeRequest::news(&serde_json::from_slice(body)?)),
            Forge::Bitbucket => Ok(None),
        }
    }

    /// Returns true if the request is one of a project.
    pub(in crate::daemon::http) fn is_of(&self, project: &Project) -> bool {
        self.project.iter().any(|name| name.eq_ignore_ascii_case(&project.name))
    }
}

impl PullRequest {
    fn news(&self, forge: Forge) -> Option<RequestEvent> {
        let has_other_base = || self.changes.as_ref().is_some_and(|changes| changes.base.is_some());
        let is_news = match self.action.as_str() {
            "opened" | "reopened" => true,
            "synchronize" | "ready_for_review" => forge == Forge::GitHub,
            "synchronized" => forge == Forge::Gitea,
            // Gitea does not tell in all versions what was edited.
            "edited" => forge == Forge::Gitea || has_other_base(),
            _ => false,
        };
        is_news.then(|| RequestEvent { project: vec![self.repository.full_name.clone()], number: self.number })
    }
}

impl MergeRequest {
    fn news(&self) -> Option<RequestEvent> {
        let is_news = matches!(self.object_attributes.action.as_deref(), Some("open" | "update" | "reopen"));
        let GitLabProject { id, path_with_namespace } = &self.project;
        let project = vec![path_with_namespace.clone(), id.to_string()];
        is_news.then_some(RequestEvent { project, number: self.object_attributes.iid })
    }
}
