//! Reports as files of a folder.

use std::io;
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::Parcel;
use crate::snapshot::replace_durably;

/// A folder: a report is a file `NUMBER-ID.json` there, which appears at once and whole. One that is delivered again replaces
/// itself; several daemons may share a folder, for no two reports have the same id.
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
    replace_durably(path, report)
}
