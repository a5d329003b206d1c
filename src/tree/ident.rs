//! Git's attribute `ident`: a checkout inserts a file's id where its content has a place for it.
//!
//! Source: git's `convert.c` (`ident_to_worktree`, `ident_to_git`).

use std::sync::LazyLock;

use regex::bytes::{NoExpand, Regex};

use super::{BlobId, FileTree, TreeError};

/// The attribute, as [`Attributes::converting`](super::Attributes::converting) returns it.
pub const IDENT: &str = "ident=set";

/// The maximum number of ids that are inserted into a file.
const MAX_IDS: usize = 1000;

/// A place for an id, perhaps with one that git has inserted before. Other systems insert several words, which stay.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?-u)\$Id(?::[^$\n]?[^$\n ]* ?)?\$").ok());

/// A place with any inserted text, which git removes from a file on disk before it stores the file.
static FILLED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?-u)\$Id:[^$\n]*\$").ok());

/// Returns the content of the file `id` of `tree` as a checkout has it with [`IDENT`] and no other conversion; `None`
/// if it is unknown, because there are too many ids, or because git may change line endings when it stores the file.
pub fn with_ident(tree: &dyn FileTree, id: BlobId) -> Result<Option<Vec<u8>>, TreeError> {
    let mut content = tree.read(id)?;
    let (Some(place), Some(filled)) = (&*PLACE, &*FILLED) else { return Ok(None) };
    let is_on_disk = tree.is_on_disk(id);
    if is_on_disk {
        content = filled.replace_all(&content, NoExpand(b"$Id$")).into_owned();
    }
    if place.find_iter(&content).take(MAX_IDS + 1).count() > MAX_IDS || is_on_disk && content.contains(&b'\r') {
        return Ok(None);
    }
    let filled = format!("$Id: {} $", if is_on_disk { BlobId::of(&content) } else { id });
    Ok(Some(place.replace_all(&content, NoExpand(filled.as_bytes())).into_owned()))
}
