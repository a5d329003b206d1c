//! Compares two trees.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::{Entry, Extent, FileTree, TreeError, child};

/// Returns the paths at which two trees have different entries. They include all paths in folders that only one tree
/// has, but not the folders that both have.
pub fn changes(before: &dyn FileTree, after: &dyn FileTree) -> Result<BTreeSet<String>, TreeError> {
    let (mut found, mut extent) = (BTreeSet::new(), Extent::default());
    let mut pending = vec![before.root().to_owned()];
    while let Some(folder) = pending.pop() {
        let ids = (before.folder_id(&folder), after.folder_id(&folder));
        if ids.0.is_some() && ids.0 == ids.1 {
            continue;
        }
        for (name, was, is) in pairs(before.list(&folder)?, after.list(&folder)?) {
            let is_folder = [&was, &is].contains(&&Some(Entry::Folder));
            if is_folder || was != is {
                let path = child(&folder, &name);
                extent.see(&path)?;
                if was != is {
                    found.insert(path.clone());
                }
                if is_folder {
                    pending.push(path);
                }
            }
        }
    }
    Ok(found)
}

/// Returns the entries of two lists in the order of names, those with equal names together.
fn pairs(
    old: Vec<(String, Entry)>,
    new: Vec<(String, Entry)>,
) -> impl Iterator<Item = (String, Option<Entry>, Option<Entry>)> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some((old, _)), Some((new, _))) => old.cmp(new),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let was = if order.is_le() { old.next() } else { None };
        match (was, if order.is_ge() { new.next() } else { None }) {
            (Some((name, was)), is) => Some((name, Some(was), is.map(|(_, is)| is))),
            (None, Some((name, is))) => Some((name, None, Some(is))),
            (None, None) => None,
        }
    })
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
