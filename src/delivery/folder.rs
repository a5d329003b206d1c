//! Reports as files of a folder.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::Parcel;
use crate::snapshot::replace;

/// A folder: a report is a file `NUMBER-ID.json` there, which appears at once and whole. One that is delivered again replaces
/// itself.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at `path`, which is made when the first report comes.
    pub fn new(path: PathBuf) -> Folder {
        Folder { path }
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), String> {
        let (folder, report) = (self.path.clone(), parcel.report.clone());
        let path = folder.join(format!("{:010}-{}.json", parcel.number, parcel.id));
        let written =
            spawn_blocking(move || write(&folder, &path, &report)).await.unwrap_or_else(|e| Err(io::Error::other(e)));
        written.map_err(|error| format!("cannot write to {}: {error}", self.path.display()))
    }
}

fn write(folder: &Path, path: &Path, report: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    replace(path, report)?;
    // What the queue counts as delivered outlives a loss of power.
    File::open(path)?.sync_all()?;
    File::open(folder)?.sync_all()
}
