//! Ids of whole folders: the same for the same content, in a commit as in the checked-out files.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use sha1::{Digest, Sha1};

use super::{Entry, Extent, TreeError, child};

/// The id of all that is in a folder: names, contents, links as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId([u8; 20]);

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The ids of folders of one tree, as far as somebody has asked for them.
#[derive(Debug, Default)]
pub struct ContentIds(Mutex<HashMap<String, Result<ContentId, TreeError>>>);

/// Lists a folder.
type List<'a> = &'a dyn Fn(&str) -> Result<Vec<(String, Entry)>, TreeError>;

impl ContentIds {
    /// Returns the id of the folder at `path`; `list` lists the folders of its tree.
    pub(super) fn get(&self, path: &str, list: List<'_>) -> Result<ContentId, TreeError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(path.to_owned()).or_insert_with(|| of(path, list)).clone()
    }
}

fn of(path: &str, list: List<'_>) -> Result<ContentId, TreeError> {
    let (mut sha, mut extent) = (Sha1::new(), Extent::default());
    // Folders in the order in which they are found, each with its names in order: as good as their paths.
    let mut pending = vec![path.to_owned()];
    while let Some(folder) = pending.pop() {
        let entries = list(&folder)?;
        sha.update((entries.len() as u64).to_be_bytes());
        for (name, entry) in entries {
            let path = child(&folder, &name);
            extent.see(&path)?;
            let (kind, text) = match &entry {
                Entry::File(id) => (b'f', &id.0[..]),
                Entry::Folder => (b'd', &[][..]),
                Entry::Link(to) => (b'l', to.as_bytes()),
                Entry::Submodule => (b's', &[][..]),
            };
            sha.update([kind]);
            for part in [name.as_bytes(), text] {
                sha.update((part.len() as u64).to_be_bytes());
                sha.update(part);
            }
            if entry == Entry::Folder {
                pending.push(path);
            }
        }
    }
    Ok(ContentId(sha.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{FileTree, MemoryTree};

    fn id(fixture: &str) -> ContentId {
        MemoryTree::from_fixture(fixture).content_id("a", &ContentIds::default()).unwrap()
    }

    #[test]
    fn ids_tell_contents_apart() {
        let all = [
            "-- a/b/x\n1\n-- a/y\n2\n",
            "-- a/b/x\n1\n-- a/y\n3\n",
            "-- a/b/y\n1\n-- a/y\n2\n",
            "-- a/x\n1\n-- a/y\n2\n",
            "-- a/b/x\n1\n-- a/y -> b/x\n",
            "-- a/b/x\n1\n-- a/y -> b\n",
            "-- a/b/x\n1\n-- a/c/y\n2\n",
            "-- b/x\n",
        ];
        let ids: std::collections::BTreeSet<ContentId> = all.map(id).into();
        assert_eq!(ids.len(), all.len());
        assert_eq!(id(all[0]), id("-- c/z\n9\n-- a/y\n2\n-- a/b/x\n1\n"));
    }
}
