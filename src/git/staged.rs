//! Reads from git's index what the files of a work tree do not tell: the commits of submodules, and the files that
//! `git sparse-checkout` or `git update-index --skip-worktree` leaves out.

use std::path::Path;

use git2::{Index, IndexEntry};

use super::command::GitCommand;
use super::id::CommitId;
use super::objects::Objects;
use crate::tree::{BlobId, Entry, MemoryTree};

/// The bit of an entry's flags that says that its file is left out of the checkout. Source: git's `cache.h`.
const SKIP_WORKTREE: u16 = 1 << 14;

/// The entries that the files of a work tree do not tell of, with the folders above them.
#[derive(Default)]
pub(super) struct Staged {
    /// The files that are left out. Their contents are with the repository's objects.
    pub(super) left_out: MemoryTree,
    /// The submodules.
    pub(super) submodules: MemoryTree,
}

impl Staged {
    /// Reads the index of the linked work tree with this git directory. Returns an empty one if there is none yet.
    pub(super) fn read(git_dir: &Path, objects: &Objects) -> Result<Staged, String> {
        let path = git_dir.join("index");
        if !path.is_file() {
            return Ok(Staged::default());
        }
        // Its library knows neither a split index nor one with folders in place of their files.
        Staged::read_here(&path, objects).or_else(|_| Staged::listed(git_dir, objects))
    }

    fn read_here(path: &Path, objects: &Objects) -> Result<Staged, git2::Error> {
        let mut staged = Staged::default();
        for entry in Index::open(path)?.iter() {
            let IndexEntry { mode, id, flags_extended, path, .. } = entry;
            let id = <[u8; 20]>::try_from(id.as_bytes()).unwrap_or_default();
            staged.add(mode, id, flags_extended & SKIP_WORKTREE != 0, &String::from_utf8_lossy(&path), objects);
        }
        Ok(staged)
    }

    fn listed(git_dir: &Path, objects: &Objects) -> Result<Staged, String> {
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
