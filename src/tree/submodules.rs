//! A tree together with the files of its submodules.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{BlobId, Entry, FileTree, TreeError, below};

/// Opens the files of the submodule at a path, at the commit with this id; `None` if they are missing.
type Open<'t> = dyn Fn(&str, BlobId) -> Option<Box<dyn FileTree>> + Sync + Send + 't;

/// A tree that shows its submodules as folders. Submodules whose files are missing are empty.
pub struct WithSubmodules<'t> {
    tree: &'t dyn FileTree,
    open: Box<Open<'t>>,
    met: Mutex<BTreeMap<String, Submodule>>,
}

/// A submodule that a path has led to.
struct Submodule {
    commit: BlobId,
    files: Option<Box<dyn FileTree>>,
}

impl<'t> WithSubmodules<'t> {
    /// Shows the files of the submodules that `open` returns.
    pub fn new(
        tree: &'t dyn FileTree,
        open: impl Fn(&str, BlobId) -> Option<Box<dyn FileTree>> + Sync + Send + 't,
    ) -> WithSubmodules<'t> {
        WithSubmodules { tree, open: Box::new(open), met: Mutex::default() }
    }

    /// Returns the commits of the submodules that paths have led to so far.
    pub fn met(&self) -> BTreeMap<String, BlobId> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.iter().map(|(path, submodule)| (path.clone(), submodule.commit)).collect()
    }

    /// Returns those of them whose files are missing.
    pub fn absent(&self) -> Vec<(String, BlobId)> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = met.iter().filter(|(_, submodule)| submodule.files.is_none());
        absent.map(|(path, submodule)| (path.clone(), submodule.commit)).collect()
    }

    /// Notes a submodule, and shows it as a folder.
    fn show(&self, path: &str, entry: Entry) -> Entry {
        let Entry::Submodule(Some(commit)) = entry else { return entry };
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let commit = BlobId(commit);
        met.entry(path.to_owned()).or_insert_with(|| Submodule { commit, files: (self.open)(path, commit) });
        Entry::Folder
    }

    /// Calls a function with the files of the submodule that contains a path, and the path in it. `None` if there is
    /// no submodule, or its files are missing.
    fn inside<T>(&self, path: &str, ask: impl FnOnce(&dyn FileTree, &str) -> T) -> Option<T> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let (folder, submodule) = met.iter().rev().find(|(folder, _)| below(folder, path).is_some())?;
        let inner = below(folder, path)?.trim_start_matches('/');
        submodule.files.as_ref().map(|files| ask(&**files, inner))
    }
}

impl FileTree for WithSubmodules<'_> {
    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        let inner = || self.inside(path, |files, inner| files.entry(inner)).unwrap_or(Ok(None));
        let entry = self.tree.entry(path)?.map_or_else(inner, |entry| Ok(Some(entry)))?;
        Ok(entry.map(|entry| self.show(path, entry)))
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        self.entry(path)?;
        let names = self.inside(path, |files, inner| files.list(inner)).unwrap_or_else(|| self.tree.list(path))?;
        let shown = |entry| if matches!(entry, Entry::Submodule(Some(_))) { Entry::Folder } else { entry };
        Ok(names.into_iter().map(|(name, entry)| (name, shown(entry))).collect())
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.tree.read(id).or_else(|error| {
            let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
            met.values().find_map(|submodule| submodule.files.as_ref()?.read(id).ok()).ok_or(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{MemoryTree, Target, follow};

    #[test]
    fn submodules_are_folders_once_a_path_leads_to_them() {
        let mut outer = MemoryTree::from_fixture("-- a/own.yaml\n1\n-- near -> a/sub/deep\n");
        for (path, commit) in [("a/sub", 1), ("gone", 2)] {
            outer.insert(path, Entry::Submodule(Some([commit; 20])));
        }
        let open = |_: &str, commit: BlobId| {
            let files = MemoryTree::from_fixture("-- deep/x.yaml\n2\n-- out -> ../own.yaml\n");
            (commit.0[0] == 1).then(|| Box::new(files) as Box<dyn FileTree>)
        };
        let tree = WithSubmodules::new(&outer, open);
        follow(&tree, "a/own.yaml").unwrap();
        assert!(tree.met().is_empty());
        let id = BlobId::of(b"2\n");
        assert_eq!(follow(&tree, "near/x.yaml").unwrap(), Target::File("a/sub/deep/x.yaml".into(), id));
        assert_eq!(follow(&tree, "a/sub/out").unwrap(), Target::File("a/own.yaml".into(), BlobId::of(b"1\n")));
        assert_eq!((tree.list("a/sub/deep").unwrap().len(), tree.read(id).unwrap()), (1, b"2\n".to_vec()));
        assert_eq!((tree.met().len(), tree.absent()), (1, Vec::new()));
        assert_eq!(follow(&tree, "gone/x.yaml").unwrap(), Target::Absent);
        assert_eq!(tree.absent(), [("gone".to_owned(), BlobId([2; 20]))]);
    }
}
