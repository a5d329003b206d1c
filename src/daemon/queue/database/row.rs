//! Reads the columns of rows. `SQLite` only distinguishes integers from texts: if a person or a faulty disk has
//! changed the database, an integer may have any value, and a text any bytes.

use std::time::{Duration, SystemTime};

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::daemon::queue::QueueError;
use crate::git::CommitId;

/// The largest number of attempts or events that is counted.
const MAX_COUNT: i64 = 1_000_000;

/// A counter plus one, in SQL: at most [`MAX_COUNT`] plus one, so that no value overflows the integers of `SQLite`.
macro_rules! one_more {
    ($column:literal) => {
        concat!("max(0, min(", $column, ", 1000000)) + 1")
    };
}
pub(in crate::daemon::queue) use one_more;

/// The columns of a row, as values of their types.
pub(in crate::daemon::queue) trait Columns {
    /// Returns a text, or `None` if there is none. Bytes that are not UTF-8 are replaced, so that they match no name.
    fn text_if_any(&self, column: usize) -> Result<Option<String>, sqlx::Error>;

    /// Returns the number of attempts or failures.
    fn count(&self, column: usize) -> Result<u32, sqlx::Error>;

    /// Returns the time, or `None` if there is none.
    fn time(&self, column: usize) -> Result<Option<SystemTime>, sqlx::Error>;

    /// Returns a commit, or `None` if there is none.
    fn commit_if_any(&self, column: usize) -> Result<Option<CommitId>, QueueError>;

    /// Returns a text, which is empty if there is none.
    fn text(&self, column: usize) -> Result<String, sqlx::Error> {
        Ok(self.text_if_any(column)?.unwrap_or_default())
    }

    /// Returns a commit.
    fn commit(&self, column: usize) -> Result<CommitId, QueueError> {
        self.commit_if_any(column)?.ok_or_else(|| damaged(""))
    }
}

impl Columns for SqliteRow {
    fn text_if_any(&self, column: usize) -> Result<Option<String>, sqlx::Error> {
        let bytes: Option<Vec<u8>> = self.try_get(column)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn count(&self, column: usize) -> Result<u32, sqlx::Error> {
        let count: i64 = self.try_get(column)?;
        Ok(u32::try_from(count.clamp(0, MAX_COUNT)).unwrap_or_default())
    }

    fn time(&self, column: usize) -> Result<Option<SystemTime>, sqlx::Error> {
        let millis: Option<i64> = self.try_get(column)?;
        Ok(millis.map(|millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs())))
    }

    fn commit_if_any(&self, column: usize) -> Result<Option<CommitId>, QueueError> {
        let id = self.text_if_any(column)?;
        id.map(|id| CommitId::from_hex(&id).ok_or_else(|| damaged(&id))).transpose()
    }
}

/// Returns the error for an invalid commit id.
fn damaged(id: &str) -> QueueError {
    QueueError::Damaged(format!("'{id}' is no commit"))
}
