//! What differs between two trees.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, FileTree, TreeError, child};

/// The paths at which the two trees have different entries, those of folders that only one of them has included; not of folders
/// of which only the content differs.
pub fn changes(before: &dyn FileTree, after: &dyn FileTree) -> Result<BTreeSet<String>, TreeError> {
    let mut found = BTreeSet::new();
    let mut pending = vec![before.root().to_owned()];
    while let Some(folder) = pending.pop() {
        let ids = (before.folder_id(&folder), after.folder_id(&folder));
        if ids.0.is_some() && ids.0 == ids.1 {
            continue;
        }
        let old: BTreeMap<String, Entry> = before.list(&folder)?.into_iter().collect();
        let new: BTreeMap<String, Entry> = after.list(&folder)?.into_iter().collect();
        for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
            let (was, is) = (old.get(name), new.get(name));
            let path = child(&folder, name);
            if was == Some(&Entry::Folder) || is == Some(&Entry::Folder) {
                pending.push(path.clone());
            }
            if was != is {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    #[test]
    fn changes_are_entries_that_differ() {
        let before = MemoryTree::from_fixture("-- a/x\n1\n-- a/y\n2\n-- b\n3\n-- l -> a\n-- same/z\n4\n");
        let after = MemoryTree::from_fixture("-- a/x\n1\n-- a/y\nnew\n-- b/c/d\n5\n-- l -> b\n-- same/z\n4\n");
        let changed = changes(&before, &after).unwrap();
        assert_eq!(changed.iter().map(String::as_str).collect::<Vec<_>>(), ["a/y", "b", "b/c", "b/c/d", "l"]);
        assert_eq!(changes(&after, &before).unwrap(), changed);
    }
}
