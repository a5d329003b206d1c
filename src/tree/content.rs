//! Ids of whole folders: the same for the same content, in a commit as in the checked-out files.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use sha1::{Digest, Sha1};

use super::{Entry, Extent, TreeError, child};
use crate::hex::Hex;

/// The id of all that is in a folder: names, contents, links as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId([u8; 20]);

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Hex(&self.0))
    }
}

/// The ids of folders of one tree that were asked for so far: of everything in them, or of what begins with a name.
#[derive(Debug, Default)]
pub struct ContentIds(Mutex<Known>);

/// The contents of folders by path and name.
type Known = HashMap<(String, Option<String>), Result<Content, TreeError>>;

/// The content of a folder.
#[derive(Debug, Clone)]
struct Content {
    id: ContentId,
    /// True if there are only files and folders, and no folder at the top has an ending after the name.
    is_plain: bool,
}

/// Returns true if an entry of a folder begins with `name`: it has the name, or an ending after it.
pub fn begins_with(entry: &str, name: &str) -> bool {
    entry.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Lists a folder.
type List<'a> = &'a dyn Fn(&str) -> Result<Vec<(String, Entry)>, TreeError>;

impl ContentIds {
    /// Returns the id of the folder at `path`; `list` lists the folders of its tree.
    pub(super) fn get(&self, path: &str, list: List<'_>) -> Result<ContentId, TreeError> {
        self.content(path, None, list).map(|content| content.id)
    }

    /// Returns the id of the entries of the folder at `path` that begin with `name`, and of everything below them.
    /// `None` if there is a link among them, or a folder with an extension.
    pub(super) fn beginning(&self, path: &str, name: &str, list: List<'_>) -> Result<Option<ContentId>, TreeError> {
        let content = self.content(path, Some(name), list)?;
        Ok(content.is_plain.then_some(content.id))
    }

    fn content(&self, path: &str, name: Option<&str>, list: List<'_>) -> Result<Content, TreeError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry((path.to_owned(), name.map(str::to_owned))).or_insert_with(|| content_at(path, name, list)).clone()
    }
}

/// Returns the content of the folder at `path`, or of what begins with `name` in it.
fn content_at(path: &str, name: Option<&str>, list: List<'_>) -> Result<Content, TreeError> {
    let (mut sha, mut extent) = (Sha1::new(), Extent::default());
    let mut is_plain = true;
    // Folders come in the order in which they are found, each with sorted names, which makes their paths unnecessary.
    let mut pending = vec![path.to_owned()];
    while let Some(folder) = pending.pop() {
        let is_top = folder == path;
        let mut entries = list(&folder)?;
        if let Some(name) = name.filter(|_| is_top) {
            entries.retain(|(entry, _)| begins_with(entry, name));
        }
        sha.update((entries.len() as u64).to_be_bytes());
        for (entry_name, entry) in entries {
            let path = child(&folder, &entry_name);
            extent.see(&path)?;
            let (kind, text) = match &entry {
                Entry::File(id) => (b'f', &id.0[..]),
                Entry::Folder => (b'd', &[][..]),
                Entry::Link(to) => (b'l', to.as_bytes()),
                Entry::Submodule(id) => (b's', id.as_ref().map_or(&[][..], |id| &id[..])),
            };
            sha.update([kind]);
            for part in [entry_name.as_bytes(), text] {
                sha.update((part.len() as u64).to_be_bytes());
                sha.update(part);
            }
            let has_ending = is_top && name.is_some_and(|name| entry_name != name);
            is_plain &= matches!(entry, Entry::File(_)) || (entry == Entry::Folder && !has_ending);
            if entry == Entry::Folder {
                pending.push(path);
            }
        }
    }
    Ok(Content { id: ContentId(sha.finalize().into()), is_plain })
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

    #[test]
    fn what_begins_with_a_name_has_an_id_of_its_own() {
        let id = |fixture: &str| {
            MemoryTree::from_fixture(fixture).content_id_beginning("a", "b", &ContentIds::default()).unwrap()
        };
        let one = id("-- a/b/x\n1\n-- a/b.yaml\n2\n").unwrap();
        assert_eq!(id("-- a/b/x\n1\n-- a/b.yaml\n2\n-- a/bc\n3\n-- a/c/b\n4\n-- a/l -> c\n"), Some(one));
        for other in [
            "-- a/b/x\n3\n-- a/b.yaml\n2\n",
            "-- a/b/x\n1\n-- a/b.yaml\n3\n",
            "-- a/b/x\n1\n-- a/b.yaml\n2\n-- a/b.json\n",
        ] {
            assert_ne!(id(other), Some(one), "{other}");
        }
        for odd in ["-- a/b/x -> y\n", "-- a/b -> c\n", "-- a/b.d/x\n1\n"] {
            assert_eq!(id(odd), None, "{odd}");
        }
    }
}
