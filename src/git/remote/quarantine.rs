//! A temporary place for fetched objects: a separate folder in the git directory, which borrows all other objects
//! from the repository. Its size is limited, and once it is removed nothing of it remains in the repository.
//!
//! The folder is a git directory that shares the repository's settings and references, like that of a linked work
//! tree. No reference leads into it. Its lock shows that it is in use; making a quarantine removes those no longer in
//! use.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::{PasswordPrompt, Remote};
use crate::disk::FileMode;
use crate::git::command::{CommandError, GitCommand};
use crate::git::id::CommitId;

/// The folder of all quarantines, in the git directory.
const QUARANTINES: &str = "hierad/quarantine";

/// The number of attempts to remove a quarantine while something is written there, and the pause after each.
const MAX_ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// The number of quarantines that this process has made.
static MADE_COUNT: AtomicU64 = AtomicU64::new(0);

/// A failure to make a quarantine.
#[derive(Debug, thiserror::Error)]
#[error("cannot create a quarantine for fetched objects in {}: {source}", place.display())]
pub struct QuarantineError {
    place: PathBuf,
    source: io::Error,
}

/// Fetched objects, which are removed when this is dropped.
#[derive(Debug)]
pub struct Quarantine {
    folder: PathBuf,
    command: GitCommand,
    _lock: File,
}

impl Quarantine {
    pub(in crate::git) fn make(common_dir: &Path) -> Result<Quarantine, QuarantineError> {
        let place = common_dir.join(QUARANTINES);
        let made = Quarantine::make_in(&place, common_dir);
        let (folder, lock) = made.map_err(|source| QuarantineError { place, source })?;
        let command = GitCommand::for_quarantine(&folder, &folder.join("objects"));
        Ok(Quarantine { folder, command, _lock: lock })
    }

    /// Makes the folder, and takes its lock.
    fn make_in(place: &Path, common_dir: &Path) -> io::Result<(PathBuf, File)> {
        FileMode::PRIVATE.create_folder(place)?;
        // While this lock is held, nobody mistakes a folder in the making for an unused one.
        let creation_lock = File::create(place.join("lock"))?;
        creation_lock.lock()?;
        remove_unused(place)?;
        let folder = place.join(format!("{}.{}", std::process::id(), MADE_COUNT.fetch_add(1, Ordering::Relaxed)));
        FileMode::PRIVATE.create_folder(&folder.join("objects/info"))?;
        let lock = File::create(folder.join("lock"))?;
        lock.lock()?;
        let write = |name: &str, content: &Path| {
            let mut file = File::create(folder.join(name))?;
            file.write_all(content.as_os_str().as_encoded_bytes())?;
            file.write_all(b"\n")
        };
        write("objects/info/alternates", &common_dir.join("objects"))?;
        write("commondir", common_dir)?;
        write("HEAD", Path::new("ref: refs/hierad/none"))?;
        Ok((folder, lock))
    }

    /// Returns the folder of the fetched objects.
    pub fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    /// Fetches references, or commits, from a remote of the repository or an address, and returns their targets in
    /// the same order. Git is ended once the quarantine takes more than `limit` bytes.
    pub fn fetch(&self, remote: &str, names: &[&str], limit: u64) -> Result<Vec<CommitId>, CommandError> {
        let remote = Remote::new(self.command.clone(), remote, PasswordPrompt::Nobody).filling(&self.folder, limit);
        remote.fetch_nowhere(names)?;
        let unread = |reason: &str| self.command.failed("fetch", reason.as_bytes());
        let fetch_head =
            fs::read_to_string(self.folder.join("FETCH_HEAD")).map_err(|error| unread(&error.to_string()))?;
        let targets: Vec<CommitId> =
            fetch_head.lines().filter_map(|line| CommitId::from_hex(line.split_once('\t')?.0)).collect();
        if targets.len() == names.len() { Ok(targets) } else { Err(unread("it did not report what it fetched")) }
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.folder) {
            tracing::debug!(%error, folder = %self.folder.display(), "cannot remove fetched objects");
        }
    }
}

/// Removes a folder. Programs that an ended git has started may still write there for a moment.
fn remove(folder: &Path) -> io::Result<()> {
    for _ in 0..MAX_ATTEMPTS {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => thread::sleep(PAUSE),
            result => return result,
        }
    }
    fs::remove_dir_all(folder)
}

/// Removes the folders that are not in use.
fn remove_unused(place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(place)? {
        let folder = entry?.path();
        let is_used = || File::open(folder.join("lock")).is_ok_and(|lock| lock.try_lock().is_err());
        if folder.is_dir() && !is_used() {
            // If its process is removing it at this moment, it is gone soon.
            _ = fs::remove_dir_all(&folder);
        }
    }
    Ok(())
}
