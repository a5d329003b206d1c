//! Reads from git's index what the files of a work tree do not show: the commits of submodules, the files that
//! `git sparse-checkout` or `git update-index --skip-worktree` leaves out, and the files unchanged since checkout.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use git2::{Index, IndexEntry};

use crate::git::command::GitCommand;
use crate::git::id::CommitId;
use crate::git::objects::Objects;
use crate::tree::{BlobId, Entry, MemoryTree};

/// The bit of an entry's flags that marks its file as left out of the checkout. Source: git's `cache.h`.
const SKIP_WORKTREE: u16 = 1 << 14;

/// The entries that the files of a work tree do not show, with the folders above them.
#[derive(Default)]
pub(super) struct Staged {
    /// The files that are left out. Their contents are among the repository's objects.
    pub(super) left_out: MemoryTree,
    /// The submodules.
    pub(super) submodules: MemoryTree,
    /// The files that are checked out, as git last saw them on disk.
    checked_out: HashMap<String, Seen>,
    /// The time of the index, in nanoseconds since 1970.
    time: i128,
}

/// A file as git saw it on disk.
struct Seen {
    id: [u8; 20],
    size: u32,
    /// The modification times of its content and of its inode, in nanoseconds since 1970.
    times: [i128; 2],
}

fn nanoseconds(seconds: i128, nanoseconds: i128) -> i128 {
    seconds * 1_000_000_000 + nanoseconds
}

/// Returns the time at which a file was last changed, in nanoseconds since 1970.
fn modified(file: &Metadata) -> i128 {
    nanoseconds(file.mtime().into(), file.mtime_nsec().into())
}

impl Staged {
    /// Reads the index of the work tree with this git directory, or returns an empty one if there is no index yet.
    pub(super) fn read(git_dir: &Path, objects: &Objects) -> Result<Staged, String> {
        let path = git_dir.join("index");
        if !path.is_file() {
            return Ok(Staged::default());
        }
        // libgit2 knows neither a split index nor a sparse one, which has folders in place of their files.
        Staged::read_with_library(&path, objects).or_else(|_| Staged::read_with_command(git_dir, objects))
    }

    fn read_with_library(path: &Path, objects: &Objects) -> Result<Staged, git2::Error> {
        let time = path.symlink_metadata().as_ref().map(modified).unwrap_or_default();
        let mut staged = Staged { time, ..Staged::default() };
        for entry in Index::open(path)?.iter() {
            let IndexEntry { mode, id, flags_extended, path, mtime, ctime, file_size: size, .. } = entry;
            let id = <[u8; 20]>::try_from(id.as_bytes()).unwrap_or_default();
            let (is_left_out, path) = (flags_extended & SKIP_WORKTREE != 0, String::from_utf8_lossy(&path));
            staged.add(mode, id, is_left_out, &path, objects);
            if mode & 0o170_000 == 0o100_000 && !is_left_out {
                let times = [mtime, ctime].map(|time| nanoseconds(time.seconds().into(), time.nanoseconds().into()));
                staged.checked_out.insert(path.into_owned(), Seen { id, size, times });
            }
        }
        Ok(staged)
    }

    /// Returns the id of the file at `path` in the index, if git considers the file on disk unchanged. The content on
    /// disk may still differ, since git converts it.
    ///
    /// Source: `ie_match_stat` and `is_racy_timestamp` in git's `read-cache.c`.
    pub(super) fn unchanged(&self, path: &str, disk: &Metadata) -> Option<BlobId> {
        let seen = self.checked_out.get(path)?;
        let times = [modified(disk), nanoseconds(disk.ctime().into(), disk.ctime_nsec().into())];
        let is_as_seen = seen.times == times && times[0] < self.time && u64::from(seen.size) == disk.len();
        is_as_seen.then_some(BlobId(seen.id))
    }

    fn read_with_command(git_dir: &Path, objects: &Objects) -> Result<Staged, String> {
        let list = GitCommand::for_git_dir(git_dir, &[]).query(&["ls-files", "-t", "--stage", "-z"]);
        let list = list.map_err(|error| error.to_string())?.unwrap_or_default();
        let mut staged = Staged::default();
        for line in list.split_terminator('\0') {
            let mut words = line.splitn(4, ' ');
            let mut next = || words.next().unwrap_or_default();
            let (tag, mode, id) = (next(), next(), next());
            let path = line.split_once('\t').map_or("", |(_, path)| path);
            if let (Ok(mode), Some(id)) = (u32::from_str_radix(mode, 8), CommitId::from_hex(id)) {
                staged.add(mode, id.0, tag == "S", path, objects);
            }
        }
        Ok(staged)
    }

    fn add(&mut self, mode: u32, id: [u8; 20], is_left_out: bool, path: &str, objects: &Objects) {
        match mode & 0o170_000 {
            0o160_000 => self.submodules.insert(path, Entry::Submodule(Some(id))),
            0o100_000 if is_left_out => self.left_out.insert(path, Entry::File(BlobId(id))),
            0o120_000 if is_left_out => {
                let target = objects.link(id).unwrap_or_default();
                self.left_out.insert(path, Entry::Link(String::from_utf8_lossy(&target).into_owned()));
            }
            _ => {}
        }
    }
}
