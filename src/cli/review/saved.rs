//! A review as one job saves it and another one posts it. The job that saved it may be that of a stranger, so nothing
//! in the file is believed: its text is made harmless, and the request comes from elsewhere.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::target::Links;
use super::{is_clean, markdown};
use crate::cli::Result;
use crate::disk;
use crate::git::CommitId;
use crate::report::{Report, markdown as writer};

/// The most bytes of a saved review.
const MAX_SIZE: u64 = 1 << 20;

/// The most characters of a comment of any forge that a saved review has.
const MAX_COMMENT: usize = 60_000;

const SCHEMA: &str = "hierad.review/1";

/// A review.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Saved {
    schema: String,
    /// The id of the commit that was reviewed.
    pub(super) head: String,
    /// The verdict in one line.
    pub(super) headline: String,
    /// True if there is nothing to say.
    pub(super) is_clean: bool,
    /// The comment.
    pub(super) markdown: String,
}

impl Saved {
    pub(super) fn of(report: &Report, head: CommitId, budget: Option<usize>, links: &Links) -> Saved {
        Saved {
            schema: SCHEMA.to_owned(),
            head: head.to_string(),
            headline: report.headline(),
            is_clean: is_clean(report),
            markdown: markdown(report, budget.unwrap_or(writer::Options::default().budget), links),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let failed = |error: std::io::Error| format!("cannot write the review to {}: {error}", path.display());
        Ok(disk::write_named(path, &serde_json::to_vec_pretty(self)?).map_err(failed)?)
    }

    /// Reads a review that another job has saved.
    pub(super) fn read(path: &Path) -> Result<Saved> {
        let wrong = |reason: &dyn std::fmt::Display| format!("{} is no saved review: {reason}", path.display());
        let content =
            disk::check_named(path).and_then(|()| disk::read_regular(path, MAX_SIZE)).map_err(|error| wrong(&error))?;
        let saved: Saved = serde_json::from_slice(&content).map_err(|error| wrong(&error))?;
        if saved.schema != SCHEMA {
            return Err(wrong(&format!("its schema is not {SCHEMA}")).into());
        }
        Ok(saved)
    }

    /// Returns the comment without all that would act: mentions, images and comments that look like markers.
    pub(super) fn harmless(&self) -> String {
        let text: String = self.markdown.chars().take(MAX_COMMENT).collect();
        text.replace('@', "&#64;").replace("<!--", "&lt;!--").replace("![", "!&#91;").replace("<img", "&lt;img")
    }
}
