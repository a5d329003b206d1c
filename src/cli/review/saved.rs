//! A review that one job saves and another one posts. The job that saved it may run for a stranger, so the file
//! contains data and no Markdown: the job that posts it writes the comment, with its own links, and does not take the
//! request from the file.

use std::fmt::Display;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::is_clean;
use crate::cli::Result;
use crate::disk;
use crate::git::CommitId;
use crate::report::Report;
use crate::report::writers::markdown::{self, Document, Options};

/// The maximum size of a saved review, in bytes.
const MAX_SIZE: u64 = 4 << 20;

const SCHEMA: &str = "hierad.review/2";
/// The schema of reviews that were saved as Markdown.
const FORMER_SCHEMA: &str = "hierad.review/1";

/// A review.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    schema: String,
    /// The id of the commit that was reviewed.
    pub(super) head: String,
    /// True if there is nothing to report.
    pub(super) is_clean: bool,
    /// The comment.
    pub(super) comment: Document,
}

/// The field that all formats of a saved review have.
#[derive(Deserialize)]
struct Form {
    schema: String,
}

impl Saved {
    pub(super) fn of(report: &Report, head: CommitId, options: &Options) -> Saved {
        Saved {
            schema: SCHEMA.to_owned(),
            head: head.to_string(),
            is_clean: is_clean(report),
            comment: markdown::document(report, options),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let failed = |error: &dyn Display| format!("cannot write the review to {}: {error}", path.display());
        let content = serde_json::to_vec(self)?;
        if content.len() as u64 > MAX_SIZE {
            return Err(failed(&"it is too long to be posted: lower --budget").into());
        }
        Ok(disk::write_named(path, &content).map_err(|error| failed(&error))?)
    }

    /// Reads a review that another job has saved.
    pub(super) fn read(path: &Path) -> Result<Saved> {
        let wrong = |reason: &dyn Display| format!("{} is not a saved review: {reason}", path.display());
        let content = disk::read_regular(path, MAX_SIZE).map_err(|error| wrong(&error))?;
        let Form { schema } = serde_json::from_slice(&content).map_err(|error| wrong(&error))?;
        if schema == FORMER_SCHEMA {
            let reason = "an older hierad has saved it as Markdown, which is not posted any more; save it with the same \
                          version of hierad that posts it";
            return Err(wrong(&reason).into());
        }
        if schema != SCHEMA {
            return Err(wrong(&format!("its schema is not {SCHEMA}")).into());
        }
        let saved: Saved = serde_json::from_slice(&content).map_err(|error| wrong(&error))?;
        if CommitId::from_hex(&saved.head).is_none() {
            return Err(wrong(&"its head is not a commit id").into());
        }
        Ok(saved)
    }
}
