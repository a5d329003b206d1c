//! Tables for analysis, as Parquet files: the effective values of a revision, and the events of a history.
//!
//! A table is a list of records (`file`): a record stands for one row for each of its nodes, and these rows differ only
//! by the node. So texts are made once for all nodes that have them, and columns are written run by run. A group of
//! rows is written as soon as it is full, so rows never fill the memory.
//!
//! Nothing here knows where files are, or which keys and nodes are asked for.

pub mod events;
mod file;
pub mod values;

use std::io;

use jiff::Timestamp;
use parquet::errors::ParquetError;

use crate::hiera::{LookupError, Outcome};
use crate::puppet::json;

use file::Cell;

/// A failure to write a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The library refuses the content.
    #[error("the table cannot be encoded: {0}")]
    Encoding(#[from] ParquetError),
}

/// Returns the cells of an outcome, whose secrets are hidden already: its status, its value as JSON and its error in
/// these `words`. All are null if the key is not found.
fn outcome_cells(outcome: Option<&Outcome>, words: impl Fn(&LookupError) -> String) -> [Cell; 3] {
    match outcome {
        None | Some(Outcome::NotFound) => [Cell::Null, Cell::Null, Cell::Null],
        Some(Outcome::Found(value)) => [Cell::text("value"), Cell::text(json::compact(value)), Cell::Null],
        Some(Outcome::Failed(error)) => {
            let status = if error.kind.is_unknown() { "unknown" } else { "error" };
            [Cell::text(status), Cell::Null, Cell::text(words(error))]
        }
    }
}

/// Returns a time in RFC 3339 as a cell.
fn time_cell(time: Option<&str>) -> Cell {
    time.and_then(|time| time.parse::<Timestamp>().ok()).map_or(Cell::Null, |time| Cell::Number(time.as_microsecond()))
}
