//! The forges on which changes are reviewed: their HTTP APIs, their webhooks, and the variables of their CI jobs.
//!
//! - Each [`Forge`] has its own file, with its names, addresses, documents, events and variables. [`ALL`] lists them;
//!   nothing else in the program distinguishes between them.
//! - [`Client`] finds, writes and deletes comments, and sets checks and statuses; `http` has what all forges share.
//! - [`Sticky`] keeps one comment for each request and configuration, whoever else writes at the same time.
//! - [`webhook`] checks who sends an event, [`ci`] reads the environment of a CI job, [`Page`] makes links to lines.
//!
//! This module knows neither how a review is made nor what it says. Each token goes to its own server alone, and no
//! error contains it.
//!
//! `docs/architecture.md` says what a new forge implements.

pub mod ci;
pub mod webhook;

mod bitbucket;
mod client;
mod error;
mod gitea;
mod github;
mod gitlab;
mod http;
mod marker;
mod page;
mod sticky;

use std::fmt;
use std::pin::Pin;

use serde_json::Value as Json;

pub use client::{Client, ClientOptions};
pub use error::ForgeError;
pub use marker::{Id, Run};
pub use page::Page;
pub use sticky::{DesiredComment, Posted, Sticky};

use crate::report::Annotation;
use ci::{Ci, Jobs, Read, Variable};
use http::Project;
use webhook::{RequestEvent, Webhooks};

/// All forges.
pub static ALL: [&dyn Forge; 4] = [&github::GitHub, &gitlab::GitLab, &gitea::Gitea, &bitbucket::Bitbucket];

/// An answer that a forge has been asked for.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, ForgeError>> + 'a>>;

/// A kind of server that repositories are pushed to. Methods that not all forges support return `None` by default.
pub trait Forge: fmt::Debug + Sync {
    /// Returns its names, addresses and limits.
    fn constants(&self) -> &'static Constants;

    /// Returns true in a job of its own runner.
    fn is_job(&self, variable: Variable<'_>) -> bool {
        self.constants().jobs.runners.iter().any(|name| variable(name).is_some())
    }

    /// Reads the variables of such a job.
    fn ci(&self, variable: Variable<'_>, read: Read<'_>) -> Result<Ci, ForgeError>;

    /// Reads the body of a webhook about a request, or returns `None` if it has no news for the review.
    fn news(&self, _body: &[u8]) -> Result<Option<RequestEvent>, serde_json::Error> {
        Ok(None)
    }

    /// Reads a request from the answer of the API.
    fn request(&self, _found: &Json) -> Option<Request> {
        None
    }

    /// Asks for the name under which the token writes, on forges whose API does not report it as its `user`.
    fn own_name<'a>(&self, _: &'a Project) -> Option<Pending<'a, Option<String>>> {
        None
    }

    /// Sets a check with annotations, which is more than a status.
    fn set_check<'a>(&self, _: &'a Project, _: &'a Check<'a>) -> Option<Pending<'a, ()>> {
        None
    }
}

/// The names, addresses and limits of a forge.
#[derive(Debug)]
pub struct Constants {
    /// Its name in settings, flags and paths.
    pub name: &'static str,
    /// Other names that settings and flags know it by.
    pub aliases: &'static [&'static str],
    /// Its webhooks.
    pub webhooks: Webhooks,
    /// The jobs of its own runner.
    pub jobs: Jobs,
    /// Its API, or `None` if its requests are not reviewed.
    pub api: Option<Api>,
}

/// The API of a forge. In addresses, `{number}` is that of a request, and `{id}` that of a comment.
#[derive(Debug)]
pub struct Api {
    /// The addresses of the API and of the home page of the forge's own public server.
    pub public: Option<(&'static str, &'static str)>,
    /// The path of the API on other servers.
    pub place: &'static str,
    /// The header with the token, and the text before the token there.
    pub auth: (&'static str, &'static str),
    /// Other headers.
    pub headers: &'static [(&'static str, &'static str)],
    /// The variables that may hold the token, in order of precedence. They are [kept](crate::process::is_token) from
    /// other programs.
    pub tokens: &'static [&'static str],
    /// The path of the repositories.
    pub projects: &'static str,
    /// True if a repository may have a number, or a path of any depth, in place of `OWNER/NAME`.
    pub is_nested: bool,
    /// A request. This address and the next ones are below that of the repository.
    pub request: &'static str,
    /// The open requests from the branch `{head}`, on forges whose jobs may not know their request.
    pub by_branch: Option<&'static str>,
    /// The comments of a request.
    pub comments: &'static str,
    /// The query for the list of comments.
    pub comments_query: &'static str,
    /// One comment.
    pub comment: &'static str,
    /// The method that replaces a comment.
    pub update: reqwest::Method,
    /// The field of a comment's author, and that of a user's name.
    pub author: (&'static str, &'static str),
    /// The fields of a status.
    pub status: Status,
    /// The advice for tokens that may not read.
    pub may_read: &'static str,
    /// The advice for tokens that may not comment.
    pub may_comment: &'static str,
    /// The advice for tokens that may not set a status.
    pub may_set_status: &'static str,
    /// The reference at which the last commit of a request is kept.
    pub head_ref: &'static str,
    /// The part of the address of a request's page between the repository and the number.
    pub request_page: &'static str,
    /// The folder of the pages with the files of a commit.
    pub files: &'static str,
}

/// The fields of the status of a commit.
#[derive(Debug)]
pub struct Status {
    /// The field of its name.
    pub name: &'static str,
    /// The state that means a failure.
    pub failure: &'static str,
    /// The maximum length of its description, in characters.
    pub most: usize,
    /// The words of a refusal that means that the status is already as it should be.
    pub unchanged: Option<&'static str>,
}

impl dyn Forge + '_ {
    /// Returns its name in settings, flags and paths.
    pub fn name(&self) -> &'static str {
        self.constants().name
    }

    /// Returns its API, or `None` if its requests are not reviewed.
    pub fn api(&self) -> Option<&'static Api> {
        self.constants().api.as_ref()
    }

    /// Returns the address of the API of its own public server, or `None` if it has none.
    pub fn public_api(&self) -> Option<&'static str> {
        Some(self.api()?.public?.0)
    }
}

impl PartialEq for dyn Forge + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Forge + '_ {}

/// Returns the forges whose requests are reviewed.
pub fn reviewed() -> impl Iterator<Item = &'static dyn Forge> {
    ALL.into_iter().filter(|forge| forge.api().is_some())
}

/// Returns the forge with this name in settings and flags, or `None` if there is none whose requests are reviewed.
pub fn named(name: &str) -> Option<&'static dyn Forge> {
    reviewed().find(|forge| forge.name() == name || forge.constants().aliases.contains(&name))
}

/// A pull request or merge request as the forge has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub number: u64,
    /// The id of its last commit.
    pub head: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// False once it is closed or merged.
    pub is_open: bool,
    /// True if its commits come from another repository.
    pub is_fork: bool,
    /// The owner and the branch that its commits come from, if the forge reports them.
    from: Option<(String, String)>,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its number.
    pub id: u64,
    /// The name of its author.
    pub author: String,
    /// Its text.
    pub body: String,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// There is no objection to the change.
    Success,
    /// No answer could be given.
    Neutral,
    /// Somebody has to look.
    Failure,
}

/// A check of one commit.
#[derive(Debug, Clone)]
pub struct Check<'a> {
    /// The id of the commit.
    pub head: &'a str,
    /// Its name, one for each configuration.
    pub name: &'a str,
    /// The unique name of this run.
    pub run: &'a str,
    /// The result.
    pub conclusion: Conclusion,
    /// The title, one line.
    pub title: &'a str,
    /// The summary, in Markdown.
    pub summary: &'a str,
    /// The messages at lines of files.
    pub annotations: &'a [Annotation],
    /// The page of the job.
    pub url: Option<&'a str>,
}
