//! The part of a tree that one walk may see. A few hundred bytes of git can stand for more files than there are atoms:
//! a folder that names the next one twice, forty times over.

use super::TreeError;

/// The maximum count of one walk through a tree. A repository of two million files stays below it.
const LIMIT: usize = 8_000_000;

/// The maximum depth of nested folders, which is deeper than any known repository.
pub const MAX_FOLDERS: usize = 256;

/// An entry counts once, once more for every so many bytes of its path, which is kept, ...
const BYTES_A_COUNT: usize = 64;

/// ... and once more for every so many folders above it, through which it is found.
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
        if self.0 > LIMIT {
            let text = "the tree has more entries than hierad reads (about two million)".to_owned();
            return Err(TreeError::too_large(path, text));
        }
        Ok(())
    }
}
