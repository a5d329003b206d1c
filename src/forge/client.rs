//! The client of a forge: which of the forges' own files does what.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderName};
use serde_json::{Value as Json, json};

use super::error::ForgeError;
use super::http::{Http, Project, encoded, text, unexpected};
use super::{Check, Comment, Kind, Request, gitea, github, gitlab};
use crate::delivery::Private;
use crate::report::Annotation;

/// The options of a [`Client`].
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The forge.
    pub kind: Kind,
    /// The address of its API, such as `https://api.github.com`.
    pub api: String,
    /// The address of GitHub's GraphQL, if it is not beside the API.
    pub graphql: Option<String>,
    /// The repository: `OWNER/NAME`, or on GitLab the number or the path of the project.
    pub project: String,
    /// The token; without one only public things can be read.
    pub token: Option<Private<String>>,
    /// The name under which the token writes; the forge is not asked then.
    pub author: Option<String>,
    /// The name under which it writes if the forge does not tell.
    pub usual_author: Option<String>,
}

/// The client of one repository on a forge.
#[derive(Debug)]
pub struct Client {
    kind: Kind,
    project: Project,
    author: Option<String>,
    usual_author: Option<String>,
}

impl Client {
    /// Makes a client.
    pub fn new(options: ClientOptions) -> Result<Client, ForgeError> {
        let ClientOptions { kind, api, graphql, project, token, author, usual_author } = options;
        let path = match kind {
            Kind::GitHub | Kind::Gitea => format!("repos/{}", owner_and_name(&project)?),
            Kind::GitLab => format!("projects/{}", encoded(&project)),
        };
        let graphql = graphql.unwrap_or_else(|| github::graphql(&api));
        let http = match kind {
            Kind::GitHub => {
                let headers = [("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")];
                Http::new(&api, token, &|token| (AUTHORIZATION, format!("Bearer {token}")), &headers)
            }
            Kind::GitLab => {
                let name = HeaderName::from_static("private-token");
                Http::new(&api, token, &|token| (name.clone(), token.to_owned()), &[])
            }
            Kind::Gitea => Http::new(&api, token, &|token| (AUTHORIZATION, format!("token {token}")), &[]),
        };
        Ok(Client { kind, project: Project { http: http?, path, graphql }, author, usual_author })
    }

    /// Returns the forge.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the current state of a request.
    pub async fn request(&self, number: u64) -> Result<Request, ForgeError> {
        let (path, need) = match self.kind {
            Kind::GitHub => (format!("{}/pulls/{number}", self.project.path), github::READ),
            Kind::Gitea => (format!("{}/pulls/{number}", self.project.path), gitea::READ),
            Kind::GitLab => (format!("{}/merge_requests/{number}", self.project.path), gitlab::COMMENT),
        };
        let found = self.project.http.get(&path, need).await?;
        let parsed = if self.kind == Kind::GitLab { gitlab::request(&found) } else { github::request(&found) };
        parsed.ok_or_else(|| unexpected(format!("GET {path}"), "it is no request"))
    }

    /// Returns the open requests whose commits come from `branch` of the repository or fork of `owner`. Only GitHub
    /// is asked this, if a run does not know its request.
    pub async fn requests_from(&self, owner: &str, branch: &str) -> Result<Vec<Request>, ForgeError> {
        let head = encoded(&format!("{owner}:{branch}"));
        let path = format!("{}/pulls?state=open&head={head}&per_page=100", self.project.path);
        let found = self.project.http.list(&path, github::READ).await?;
        // Gitea's list is of all requests, whatever it is asked.
        let is_from = |request: &&Json| {
            let text = |pointer: &str| request.pointer(pointer).and_then(Json::as_str);
            let from = text("/head/repo/full_name").and_then(|name| Some(name.split_once('/')?.0));
            from.is_some_and(|from| from.eq_ignore_ascii_case(owner)) && text("/head/ref") == Some(branch)
        };
        Ok(found.iter().filter(is_from).filter_map(github::request).collect())
    }

    /// Returns the name under which the token writes, or `None` if the forge does not tell.
    pub async fn own_name(&self) -> Result<Option<String>, ForgeError> {
        if let Some(author) = &self.author {
            return Ok(Some(author.clone()));
        }
        let found = match self.kind {
            Kind::GitHub => github::own_name(&self.project).await,
            Kind::Gitea => self.project.http.get("user", gitea::COMMENT).await.map(|user| text(&user, "login")),
            Kind::GitLab => self.project.http.get("user", gitlab::COMMENT).await.map(|user| text(&user, "username")),
        };
        match found {
            Err(error) if error.is_forbidden() && error.status() != 401 => Ok(self.usual_author.clone()),
            found => Ok(found?.or_else(|| self.usual_author.clone())),
        }
    }

    /// Returns all comments of a request, the oldest first.
    pub async fn comments(&self, number: u64) -> Result<Vec<Comment>, ForgeError> {
        let list = format!("{}?", self.comments_path(number));
        let (path, need) = match self.kind {
            Kind::GitHub => (format!("{list}per_page=100"), github::COMMENT),
            Kind::Gitea => (list.trim_end_matches('?').to_owned(), gitea::COMMENT),
            Kind::GitLab => (format!("{list}sort=asc&order_by=created_at&per_page=100"), gitlab::COMMENT),
        };
        let (id, author) = match self.kind {
            Kind::GitLab => ("author", "username"),
            Kind::GitHub | Kind::Gitea => ("user", "login"),
        };
        let comment = |found: &Json| {
            Some(Comment {
                id: found.get("id")?.as_u64()?,
                node: text(found, "node_id"),
                author: found.get(id).and_then(|user| text(user, author)).unwrap_or_default(),
                body: text(found, "body").unwrap_or_default(),
            })
        };
        let mut found: Vec<Comment> = self.project.http.list(&path, need).await?.iter().filter_map(comment).collect();
        found.sort_by_key(|comment| comment.id);
        Ok(found)
    }

    /// Writes a new comment.
    pub async fn create_comment(&self, number: u64, body: &str) -> Result<(), ForgeError> {
        let path = self.comments_path(number);
        self.project
            .http
            .change(&Method::POST, &path, self.comment_need(), Some(&json!({ "body": body })))
            .await
            .map(drop)
    }

    /// Rewrites a comment.
    pub async fn update_comment(&self, number: u64, id: u64, body: &str) -> Result<(), ForgeError> {
        let method = if self.kind == Kind::GitLab { Method::PUT } else { Method::PATCH };
        let path = self.comment_path(number, id);
        self.project.http.change(&method, &path, self.comment_need(), Some(&json!({ "body": body }))).await.map(drop)
    }

    /// Deletes a comment; it may be gone already.
    pub async fn delete_comment(&self, number: u64, id: u64) -> Result<(), ForgeError> {
        let path = self.comment_path(number, id);
        match self.project.http.change(&Method::DELETE, &path, self.comment_need(), None).await {
            Err(error) if error.status() == 404 => Ok(()),
            done => done.map(drop),
        }
    }

    /// Hides a comment as outdated where the forge can, and returns true if so.
    pub async fn hide_comment(&self, comment: &Comment) -> Result<bool, ForgeError> {
        match (&comment.node, self.kind) {
            (Some(node), Kind::GitHub) => github::minimize(&self.project, node).await.map(|()| true),
            _ => Ok(false),
        }
    }

    /// Sets a check run, with its annotations, on GitHub; elsewhere a status, which is one line.
    pub async fn set_check(&self, check: &Check<'_>) -> Result<(), ForgeError> {
        match self.kind {
            Kind::GitHub => github::set_check(&self.project, check).await,
            Kind::GitLab | Kind::Gitea => self.set_status(check).await,
        }
    }

    /// Sets the status of a commit.
    pub async fn set_status(&self, check: &Check<'_>) -> Result<(), ForgeError> {
        let mut waits = super::http::waits();
        loop {
            let set = match self.kind {
                Kind::GitHub => github::set_status(&self.project, check, github::STATUS).await,
                Kind::Gitea => github::set_status(&self.project, check, gitea::STATUS).await,
                Kind::GitLab => gitlab::set_status(&self.project, check).await,
            };
            match set {
                Err(error) => match (error.retry(), waits.next()) {
                    (Some(least), Some(wait)) => tokio::time::sleep(wait.max(least)).await,
                    _ => return Err(error),
                },
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Writes a discussion on each annotated line of the difference, and deletes those of former heads. GitLab alone
    /// has it. `marker` begins each of them.
    pub async fn discuss(&self, request: &Request, annotations: &[Annotation], marker: &str) -> Result<(), ForgeError> {
        let own = self.own_name().await?;
        gitlab::discuss(&self.project, request, annotations, marker, own.as_deref()).await
    }

    fn comments_path(&self, number: u64) -> String {
        match self.kind {
            Kind::GitHub | Kind::Gitea => format!("{}/issues/{number}/comments", self.project.path),
            Kind::GitLab => format!("{}/merge_requests/{number}/notes", self.project.path),
        }
    }

    fn comment_path(&self, number: u64, id: u64) -> String {
        match self.kind {
            Kind::GitHub | Kind::Gitea => format!("{}/issues/comments/{id}", self.project.path),
            Kind::GitLab => format!("{}/{id}", self.comments_path(number)),
        }
    }

    fn comment_need(&self) -> &'static str {
        match self.kind {
            Kind::GitHub => github::COMMENT,
            Kind::GitLab => gitlab::COMMENT,
            Kind::Gitea => gitea::COMMENT,
        }
    }
}

fn owner_and_name(project: &str) -> Result<String, ForgeError> {
    match project.split_once('/') {
        Some((owner, name))
            if !owner.is_empty() && !name.is_empty() && !name.contains('/') && !project.contains("..") =>
        {
            Ok(format!("{}/{}", encoded(owner), encoded(name)))
        }
        _ => Err(ForgeError::Options(format!("the repository must be named OWNER/NAME, not '{project}'"))),
    }
}
