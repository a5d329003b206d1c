//! Delivers reports as files of a folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::spawn_blocking;

use super::Parcel;
use crate::disk::{FileMode, can_write};
use crate::disk::{replace_durably, tidy};

/// A folder with a file `NUMBER-ID.json` for each report, which is written atomically. A repeated report replaces its
/// earlier file. Several daemons may share a folder, since no two reports have the same id. Files that a killed
/// daemon left half written are removed with the first delivery.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    mode: FileMode,
    is_tidy: AtomicBool,
}

impl Folder {
    /// Makes the sink for the folder at `path`, which the first delivery creates, with files of this mode.
    pub fn new(path: PathBuf, mode: FileMode) -> Folder {
        Folder { path, mode, is_tidy: AtomicBool::new(false) }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        can_write(&self.path).map_err(|error| format!("cannot write to {}: {error}", self.path.display()))
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), String> {
        let (folder, report) = (self.path.clone(), parcel.report.clone());
        let path = folder.join(parcel.file_name());
        let mode = self.mode;
        let is_tidy = self.is_tidy.swap(true, Ordering::Relaxed);
        let write = move || {
            mode.create_folder(&folder)?;
            if !is_tidy {
                tidy_up(&folder);
            }
            replace_durably(&path, &report, mode)
        };
        let written = spawn_blocking(write).await.unwrap_or_else(|error| Err(io::Error::other(error)));
        written.map_err(|error| format!("cannot write to {}: {error}", self.path.display()))
    }
}

/// Removes abandoned files. A failure to do so does not stop a delivery.
fn tidy_up(folder: &Path) {
    match tidy(folder) {
        Ok(0) => {}
        Ok(files) => tracing::info!(folder = %folder.display(), files, "removed files that were left half written"),
        Err(error) => tracing::debug!(folder = %folder.display(), %error, "cannot tidy up"),
    }
}
