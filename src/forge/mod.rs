//! The forges on which changes are reviewed: their HTTP APIs, and what a CI job knows about its change.
//!
//! - [`Client`] finds, writes, hides and deletes comments, and sets checks and statuses, on GitHub, GitLab, Gitea and
//!   Forgejo. Each forge has a file with its addresses and documents; `http` has what all share.
//! - [`Sticky`] keeps one comment for each request and configuration, even if others write at the same time.
//! - [`ci`] reads the environment of a CI job, and [`Page`] makes links to lines.
//!
//! It knows neither how a review is made nor what it says. Each token goes to its own server alone, and no error has
//! it.

pub mod ci;
mod client;
mod error;
mod gitea;
mod github;
mod gitlab;
mod http;
mod marker;
mod page;
mod sticky;

pub use client::{Client, ClientOptions};
pub use error::ForgeError;
pub use marker::{Id, Run};
pub use page::Page;
pub use sticky::{Mode, Posted, Sticky, Wanted};

use crate::report::Annotation;

/// A forge, by its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// github.com and GitHub Enterprise.
    GitHub,
    /// gitlab.com and GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
}

impl Kind {
    /// Returns the address of the API of the forge's own public server, or `None` if it has none.
    pub fn public_api(self) -> Option<&'static str> {
        match self {
            Kind::GitHub => Some("https://api.github.com"),
            Kind::GitLab => Some("https://gitlab.com/api/v4"),
            Kind::Gitea => None,
        }
    }
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
    /// The commits that positions on lines refer to, on GitLab.
    diff: Option<DiffRefs>,
}

/// The commits of GitLab's positions.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DiffRefs {
    base: String,
    start: String,
    head: String,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its number.
    pub id: u64,
    /// Its id for GitHub's GraphQL.
    node: Option<String>,
    /// The name of its author.
    pub author: String,
    /// Its text.
    pub body: String,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// Nothing stands against the change.
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
    /// The name of this run, which no other has.
    pub run: &'a str,
    /// The result.
    pub conclusion: Conclusion,
    /// One line.
    pub title: &'a str,
    /// Markdown.
    pub summary: &'a str,
    /// The messages at lines.
    pub annotations: &'a [Annotation],
    /// The page of the job.
    pub url: Option<&'a str>,
}
