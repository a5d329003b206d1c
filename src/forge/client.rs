//! The client of a repository on a forge.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::error::ForgeError;
use super::http::{Http, Project, encoded, text, truncated, unexpected};
use super::{Api, Check, Comment, Conclusion, Forge, Pending, Request};
use crate::delivery::Private;

/// The options of a [`Client`].
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The forge.
    pub forge: &'static dyn Forge,
    /// The address of its API, such as `https://api.github.com`.
    pub api: String,
    /// The address of its GraphQL API, if that is not in the usual place.
    pub graphql: Option<String>,
    /// The repository: `OWNER/NAME`, or on some forges its number, or a longer path.
    pub project: String,
    /// The token. Without one, only public repositories can be read.
    pub token: Option<Private<String>>,
    /// The name under which the token writes. If it is set, the forge is not asked.
    pub author: Option<String>,
    /// The name under which the token writes if the forge does not report it.
    pub usual_author: Option<String>,
}

/// The client of one repository on a forge.
#[derive(Debug)]
pub struct Client {
    forge: &'static dyn Forge,
    api: &'static Api,
    project: Project,
    author: Option<String>,
    usual_author: Option<String>,
}

impl Client {
    /// Makes a client.
    pub fn new(options: ClientOptions) -> Result<Client, ForgeError> {
        let ClientOptions { forge, api: address, graphql, project, token, author, usual_author } = options;
        let name = forge.name();
        let api = forge.api().ok_or_else(|| ForgeError::Options(format!("requests on {name} are not reviewed")))?;
        let project = if api.is_nested { encoded(&project) } else { owner_and_name(&project)? };
        let http = Http::new(&address, token, api.auth, api.headers)?;
        let project = Project { http, path: format!("{}{project}", api.projects), api: address, graphql };
        Ok(Client { forge, api, project, author, usual_author })
    }

    /// Returns a request as it is now.
    pub async fn request(&self, number: u64) -> Result<Request, ForgeError> {
        let path = self.path(self.api.request, number, 0);
        let found = self.project.http.get(&path, self.api.may_read).await?;
        self.forge.request(&found).ok_or_else(|| unexpected(format!("GET {path}"), "it is not a request"))
    }

    /// Returns the open requests whose commits come from `branch` of the repository or fork of `owner`.
    pub async fn requests_from(&self, owner: &str, branch: &str) -> Result<Vec<Request>, ForgeError> {
        let Some(list) = self.api.by_branch else { return Ok(Vec::new()) };
        let list = list.replace("{head}", &encoded(&format!("{owner}:{branch}")));
        let found = self.project.http.list(&format!("{}{list}", self.project.path), self.api.may_read).await?;
        // Some forges list all requests, whatever they are asked.
        let is_from = |request: &Request| {
            request
                .from
                .as_ref()
                .is_some_and(|(fork_owner, name)| fork_owner.eq_ignore_ascii_case(owner) && name == branch)
        };
        Ok(found.iter().filter_map(|request| self.forge.request(request)).filter(is_from).collect())
    }

    /// Returns the name under which the token writes, or `None` if the forge does not report it.
    pub async fn own_name(&self) -> Result<Option<String>, ForgeError> {
        if let Some(author) = &self.author {
            return Ok(Some(author.clone()));
        }
        let found = match self.forge.own_name(&self.project) {
            Some(found) => found.await,
            None => {
                self.project.http.get("user", self.api.may_comment).await.map(|user| text(&user, self.api.author.1))
            }
        };
        match found {
            Err(error) if error.is_forbidden() && error.status() != 401 => Ok(self.usual_author.clone()),
            found => Ok(found?.or_else(|| self.usual_author.clone())),
        }
    }

    /// Returns all comments of a request, the oldest first.
    pub async fn comments(&self, number: u64) -> Result<Vec<Comment>, ForgeError> {
        let path = format!("{}{}", self.path(self.api.comments, number, 0), self.api.comments_query);
        let (author, name) = self.api.author;
        let comment = |found: &Json| {
            Some(Comment {
                id: found.get("id")?.as_u64()?,
                author: found.get(author).and_then(|user| text(user, name)).unwrap_or_default(),
                body: text(found, "body").unwrap_or_default(),
            })
        };
        let found = self.project.http.list(&path, self.api.may_comment).await?;
        let mut found: Vec<Comment> = found.iter().filter_map(comment).collect();
        found.sort_by_key(|comment| comment.id);
        Ok(found)
    }

    /// Writes a new comment.
    pub async fn create_comment(&self, number: u64, body: &str) -> Result<(), ForgeError> {
        self.comment(&Method::POST, &self.path(self.api.comments, number, 0), Some(body)).await
    }

    /// Replaces the text of a comment.
    pub async fn update_comment(&self, number: u64, id: u64, body: &str) -> Result<(), ForgeError> {
        self.comment(&self.api.update, &self.path(self.api.comment, number, id), Some(body)).await
    }

    /// Deletes a comment. Succeeds if it is gone already.
    pub async fn delete_comment(&self, number: u64, id: u64) -> Result<(), ForgeError> {
        match self.comment(&Method::DELETE, &self.path(self.api.comment, number, id), None).await {
            Err(error) if error.status() == 404 => Ok(()),
            done => done,
        }
    }

    /// Sets a check with its annotations, or returns `None` if the forge only has statuses.
    pub fn set_check<'a>(&'a self, check: &'a Check<'_>) -> Option<Pending<'a, ()>> {
        self.forge.set_check(&self.project, check)
    }

    /// Sets the status of a commit, which is one line.
    pub async fn set_status(&self, check: &Check<'_>) -> Result<(), ForgeError> {
        let status = &self.api.status;
        let state = if check.conclusion == Conclusion::Failure { status.failure } else { "success" };
        let title = truncated(check.title, status.most);
        let mut body = json!({ "state": state, (status.name): check.name, "description": title });
        if let Some(url) = check.url {
            body["target_url"] = url.into();
        }
        let path = format!("{}/statuses/{}", self.project.path, encoded(check.head));
        let mut waits = super::http::waits();
        loop {
            let set = self.project.http.change(&Method::POST, &path, self.api.may_set_status, Some(&body)).await;
            let Err(error) = set else { return Ok(()) };
            let is_unchanged = |words| error.status() == 400 && error.to_string().contains(words);
            if status.unchanged.is_some_and(is_unchanged) {
                return Ok(());
            }
            let (Some(least), Some(wait)) = (error.retry(), waits.next()) else { return Err(error) };
            tokio::time::sleep(wait.max(least)).await;
        }
    }

    async fn comment(&self, method: &Method, path: &str, body: Option<&str>) -> Result<(), ForgeError> {
        let body = body.map(|body| json!({ "body": body }));
        self.project.http.change(method, path, self.api.may_comment, body.as_ref()).await.map(drop)
    }

    /// Returns an address of the API with its numbers filled in.
    fn path(&self, address: &str, number: u64, id: u64) -> String {
        let address = address.replace("{number}", &number.to_string()).replace("{id}", &id.to_string());
        format!("{}{address}", self.project.path)
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
