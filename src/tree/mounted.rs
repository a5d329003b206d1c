//! Mounts a repository's tree at the path of a folder on disk.

use std::sync::Arc;

use super::{BlobId, Entry, FileTree, TreeError, below};

/// A tree of relative paths under an absolute root: the files of another repository, as if they were checked out there.
#[derive(Clone)]
pub struct MountedTree {
    root: String,
    tree: Arc<dyn FileTree>,
}

impl MountedTree {
    /// Puts `tree` at the absolute path `root`.
    pub fn new(root: impl Into<String>, tree: Arc<dyn FileTree>) -> MountedTree {
        MountedTree { root: root.into(), tree }
    }

    fn inner<'p>(&self, path: &'p str) -> Option<&'p str> {
        Some(below(&self.root, path)?.trim_start_matches('/'))
    }
}

impl FileTree for MountedTree {
    fn root(&self) -> &str {
        &self.root
    }

    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        self.inner(path).map_or(Ok(None), |path| self.tree.entry(path))
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        self.inner(path).map_or(Ok(Vec::new()), |path| self.tree.list(path))
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.tree.read(id)
    }

    fn is_on_disk(&self, id: BlobId) -> bool {
        self.tree.is_on_disk(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{MemoryTree, Target, follow};

    #[test]
    fn paths_begin_with_the_place() {
        let files = MemoryTree::from_fixture(
            "-- data/a.yaml\na: 1\n-- near -> data\n-- own -> /srv/global/data\n-- far -> /srv/globalx\n-- up -> ../..\n",
        );
        let tree = MountedTree::new("/srv/global", Arc::new(files));
        let file = Target::File("/srv/global/data/a.yaml".into(), BlobId::of(b"a: 1\n"));
        for path in ["/srv/global/data/a.yaml", "/srv/global/near/a.yaml", "/srv/global/own/../data/a.yaml"] {
            assert_eq!(follow(&tree, path).unwrap(), file, "{path}");
        }
        for path in ["data/a.yaml", "/srv/globalx/a.yaml", "/srv/global/far", "/srv/global/up/a"] {
            assert!(matches!(follow(&tree, path).unwrap(), Target::Outside(_)), "{path}");
        }
        assert_eq!(follow(&tree, "/srv/global/none").unwrap(), Target::Absent);
    }
}
