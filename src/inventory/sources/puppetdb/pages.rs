//! Reads a list page by page, and checks that all pages are of the same list.
//!
//! Each page begins with the last node of the previous one. If it begins with another node, if a node occurs twice or
//! if the total changes, nodes were added or removed in between, and the list is read again from the start. So no
//! node is missed that existed all the time.

use reqwest::Method;
use serde::Serialize;

use super::PATH;
use super::rows::{Lines, Row, certname};
use crate::inventory::FetchError;
use crate::inventory::sources::http::Http;

/// The maximum number of times that a list is read.
const MAX_ATTEMPTS: usize = 3;

/// A request of one page.
#[derive(Serialize)]
struct Request<'a> {
    query: &'a str,
    limit: usize,
    offset: usize,
    order_by: [Order; 1],
    include_total: bool,
}

#[derive(Serialize)]
struct Order {
    field: &'static str,
}

/// Returns all nodes as profiles, one per line, with their number. A page has at most `page` of them.
pub(super) async fn all(http: &Http, query: &str, page: usize) -> Result<(Vec<u8>, usize), FetchError> {
    for _ in 0..MAX_ATTEMPTS {
        let mut list = List { http, query, page, lines: Lines::default(), last: None };
        if list.read().await? {
            let count = list.lines.count();
            return Ok((list.lines.text, count));
        }
    }
    Err(FetchError::Changing { url: http.url(PATH), attempts: MAX_ATTEMPTS })
}

/// A list that is being read.
struct List<'a> {
    http: &'a Http,
    query: &'a str,
    /// The number of nodes on a page.
    page: usize,
    lines: Lines,
    /// The node that was read last.
    last: Option<String>,
}

impl List<'_> {
    /// Reads all pages. Returns false if they are not of one list.
    async fn read(&mut self) -> Result<bool, FetchError> {
        let mut total = None;
        loop {
            let answer = self.http.ask(Method::POST, PATH, self.request()).await?;
            let is_same_total = *total.get_or_insert(answer.total) == answer.total;
            let rows = self.rows(&answer.body)?;
            if !is_same_total || !self.add(&rows)? {
                return Ok(false);
            }
            if rows.len() < self.page {
                return Ok(answer.total.is_none_or(|total| total == self.lines.count()));
            }
        }
    }

    fn rows<'b>(&self, body: &'b [u8]) -> Result<Vec<Row<'b>>, FetchError> {
        // The error would quote the answer, which may contain secrets.
        let describe =
            |error: serde_json::Error| format!("line {}, column {} has no list of nodes", error.line(), error.column());
        serde_json::from_slice(body).map_err(|error| self.malformed(&describe(error)))
    }

    fn request(&self) -> String {
        let Self { query, page: limit, .. } = *self;
        let offset = self.lines.count().saturating_sub(1);
        let order_by = [Order { field: "certname" }];
        // A request of texts and numbers can always be written.
        serde_json::to_string(&Request { query, limit, offset, order_by, include_total: true }).unwrap_or_default()
    }

    /// Adds the rows of a page. Returns false if it does not continue where the previous one ended.
    fn add(&mut self, rows: &[Row<'_>]) -> Result<bool, FetchError> {
        let mut rows = rows.iter();
        if let Some(last) = &self.last {
            let first = rows.next().map(|row| self.certname(row)).transpose()?;
            if first.as_ref() != Some(last) {
                return Ok(false);
            }
        }
        for row in rows {
            let name = self.certname(row)?;
            self.last = Some(name.clone());
            if !self.lines.add(name, row).map_err(|reason| self.malformed(&reason))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn certname(&self, row: &Row<'_>) -> Result<String, FetchError> {
        certname(row).ok_or_else(|| self.malformed(&"a node has no certname"))
    }

    fn malformed(&self, reason: &dyn std::fmt::Display) -> FetchError {
        FetchError::Malformed { url: self.http.url(PATH), reason: reason.to_string() }
    }
}
