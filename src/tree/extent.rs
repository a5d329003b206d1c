//! The part of a tree that one walk may see. A few hundred bytes of git can stand for more files than there are atoms:
//! a folder that names the next one twice, forty times over.

use super::TreeError;

/// The maximum count of one walk through a tree. A repository of two million files stays below it.
const MAX_COUNT: usize = 8_000_000;

/// The maximum depth of nested folders, which is deeper than any known repository.
pub const MAX_FOLDERS: usize = 256;

/// The number of bytes of a path that count as much as an entry, since paths are kept.
const BYTES_A_COUNT: usize = 64;

/// The number of folders above an entry that count as much as an entry, since it is found through them.
const FOLDERS_A_COUNT: usize = 4;

/// Counts what a walk sees.
#[derive(Debug, Default)]
pub struct Extent(usize);

impl Extent {
    /// Counts the entry at `path`. Fails if the walk has seen too much, or is too deep.
    pub fn see(&mut self, path: &str) -> Result<(), TreeError> {
        let folders = memchr::memchr_iter(b'/', path.as_bytes()).count();
        if folders > MAX_FOLDERS {
            return Err(TreeError::too_large(path, format!("folders nest more than {MAX_FOLDERS} deep")));
        }
        self.0 += 1 + path.len() / BYTES_A_COUNT + folders / FOLDERS_A_COUNT;
        if self.0 > MAX_COUNT {
            let text = "the tree has more entries than hierad reads (about two million)".to_owned();
            return Err(TreeError::too_large(path, text));
        }
        Ok(())
    }
}
