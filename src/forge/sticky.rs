//! One comment for each request and configuration, whoever else writes at the same time.
//!
//! The comment is found by its marker and its author. Each attempt reads the comments again, since the wait before it
//! may have been long, and writes only if its commit is still the last one of the request. Afterwards it looks once
//! more: if two runs have both found no comment, the one that writes last sees both comments, and keeps one.

use super::Comment;
use super::client::Client;
use super::error::ForgeError;
use super::http::waits;
use super::marker::{Id, Marker, Run};

/// The comment of one configuration on one request, as one run wants it.
#[derive(Debug)]
pub struct Sticky<'a> {
    /// The forge.
    pub client: &'a Client,
    /// The number of the request.
    pub number: u64,
    /// The configuration.
    pub id: &'a Id,
    /// The id of the commit that was reviewed.
    pub head: &'a str,
    /// The place of this run among those for the same commit.
    pub run: Run,
}

/// The comment that there should be.
#[derive(Debug, Clone, Copy)]
pub enum DesiredComment<'a> {
    /// This comment. The second text is for forges that find the first one too long.
    Comment(&'a str, &'a str),
    /// This comment if there is one already, otherwise none.
    IfThere(&'a str),
}

/// The outcome of posting a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// The comment says what it should.
    Done,
    /// There is no comment, as there should be none.
    None,
    /// The request has a newer commit, or a later run for this one has written already: that comment stays.
    Superseded,
    /// The request is closed.
    Closed,
}

/// A comment of ours, with its marker.
struct OwnComment {
    comment: Comment,
    marker: Marker,
}

impl Sticky<'_> {
    /// Makes the comment on the request what is wanted.
    pub async fn post(&self, wanted: DesiredComment<'_>) -> Result<Posted, ForgeError> {
        let own_name = self.client.own_name().await?;
        let Some(own_name) = own_name else {
            let text = "the forge does not say which user the token belongs to: name it with --author";
            return Err(ForgeError::Options(text.to_owned()));
        };
        let (mut waits, mut wanted) = (waits(), wanted);
        loop {
            let error = match self.attempt(wanted, &own_name).await {
                Err(error) => error,
                done => return done,
            };
            if let (DesiredComment::Comment(long, short), 422 | 413) = (wanted, error.status())
                && long != short
            {
                tracing::warn!("the comment is cut short: {error}");
                wanted = DesiredComment::Comment(short, short);
                continue;
            }
            let (Some(least), Some(wait)) = (error.retry(), waits.next()) else { return Err(error) };
            tracing::debug!("{error}");
            tokio::time::sleep(wait.max(least)).await;
        }
    }

    async fn attempt(&self, wanted: DesiredComment<'_>, own_name: &str) -> Result<Posted, ForgeError> {
        let own_comments = self.own_comments(own_name).await?;
        let request = self.client.request(self.number).await?;
        if !request.is_open {
            return Ok(Posted::Closed);
        }
        let is_later = |own: &OwnComment| own.marker.head == self.head && own.marker.run > self.run;
        if request.head != self.head || own_comments.iter().any(is_later) {
            return Ok(Posted::Superseded);
        }
        let text = match wanted {
            DesiredComment::Comment(text, _) => Some(text),
            DesiredComment::IfThere(text) => (!own_comments.is_empty()).then_some(text),
        };
        let Some(text) = text else { return Ok(Posted::None) };
        let body = self.marker().prepended_to(text);
        match own_comments.first() {
            Some(own) if is_same(&own.comment.body, &body) => {}
            Some(own) => match self.client.update_comment(self.number, own.comment.id, &body).await {
                // Somebody else has deleted it meanwhile.
                Err(error) if error.status() == 404 => self.client.create_comment(self.number, &body).await?,
                done => done?,
            },
            None => self.client.create_comment(self.number, &body).await?,
        }
        self.reconcile(own_name).await?;
        Ok(Posted::Done)
    }

    fn marker(&self) -> Marker {
        Marker { id: self.id.clone(), head: self.head.to_owned(), run: self.run }
    }

    /// Returns our comments of this configuration, the oldest first.
    async fn own_comments(&self, own_name: &str) -> Result<Vec<OwnComment>, ForgeError> {
        let comments = self.client.comments(self.number).await?;
        let own_comments = comments.into_iter().filter(|comment| comment.author == own_name);
        let own_comments =
            own_comments.filter_map(|comment| Some(OwnComment { marker: Marker::read(&comment.body)?, comment }));
        Ok(own_comments.filter(|own| own.marker.id == *self.id).collect())
    }

    /// Keeps one comment if there are several: the latest run for the request's last commit wins.
    async fn reconcile(&self, own_name: &str) -> Result<(), ForgeError> {
        let own_comments = self.own_comments(own_name).await?;
        let Some(oldest) = own_comments.first().filter(|_| own_comments.len() > 1) else { return Ok(()) };
        let head = self.client.request(self.number).await?.head;
        let rank = |own: &&OwnComment| (own.marker.head == head, own.marker.run, std::cmp::Reverse(own.comment.id));
        let Some(winner) = own_comments.iter().max_by_key(rank) else { return Ok(()) };
        if oldest.comment.id != winner.comment.id && !is_same(&oldest.comment.body, &winner.comment.body) {
            self.client.update_comment(self.number, oldest.comment.id, &winner.comment.body).await?;
        }
        for other in &own_comments[1..] {
            self.client.delete_comment(self.number, other.comment.id).await?;
        }
        Ok(())
    }
}

/// Returns true if two bodies are equal except for line endings, which GitHub changes.
fn is_same(a: &str, b: &str) -> bool {
    a.lines().map(str::trim_end).eq(b.lines().map(str::trim_end))
}
