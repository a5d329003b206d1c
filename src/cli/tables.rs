//! The files of the tables that `render` and `log` write.

use std::fs::File;
use std::path::Path;

use super::Result;
use super::output::log;
use super::progress::Shown;
use crate::disk::{self, FileMode};
use crate::report::count;

/// Fails unless a table may be written to `output`.
pub(super) fn check(output: &Path) -> Result<()> {
    if output.as_os_str() == "-" {
        return Err("a table is a file, and no stream: add --output FILE".into());
    }
    Ok(disk::check_output(output)?)
}

/// Replaces a file by a table. `write` returns the number of its rows; if it fails, the file stays as it was.
pub(super) fn write<T>(
    output: &Path,
    mode: FileMode,
    progress: Option<Shown>,
    write: impl FnOnce(&File) -> Result<(u64, T)>,
) -> Result<T> {
    let (rows, written) = disk::replace_with(output, mode, write)?;
    drop(progress);
    let rows = count(usize::try_from(rows).unwrap_or(usize::MAX), "row");
    log::print(&format_args!("{rows} in {}", output.display()));
    Ok(written)
}
