//! Puts the files of other repositories into a tree, where a checkout has them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;
use sha1::{Digest, Sha1};

use super::{BlobId, Entry, FileTree, TreeError, child};

/// Another repository in a tree.
#[derive(Clone)]
pub enum Graft {
    /// A commit that is read.
    Read {
        /// Its files.
        tree: Arc<dyn FileTree>,
        /// Its id.
        commit: [u8; 20],
    },
    /// A commit that is not read: its entry is [`Entry::Submodule`], with the commit if that is known.
    Absent(Option<[u8; 20]>),
}

impl Graft {
    fn tree(&self) -> Option<&Arc<dyn FileTree>> {
        if let Graft::Read { tree, .. } = self { Some(tree) } else { None }
    }

    /// Returns the entry of the graft's own path.
    fn entry(&self) -> Entry {
        if let Graft::Absent(commit) = self { Entry::Submodule(*commit) } else { Entry::Folder }
    }
}

/// A tree that contains trees of other repositories.
pub struct GraftedTree {
    base: Arc<dyn FileTree>,
    /// Grafts by path; none is inside another one.
    grafts: BTreeMap<String, Graft>,
    /// The first names of the grafts' paths, for a quick check: most paths of data begin with none of them.
    tops: BTreeSet<String>,
    /// The graft in which each file was seen, since only that one has its content.
    graft_of_file: RwLock<HashMap<BlobId, Arc<dyn FileTree>, RandomState>>,
}

impl GraftedTree {
    /// Puts `grafts` into `base`, each at its path, in place of what is there. Their trees have relative paths.
    pub fn new(base: Arc<dyn FileTree>, grafts: BTreeMap<String, Graft>) -> GraftedTree {
        let tops = grafts.keys().map(|path| top(path).to_owned()).collect();
        GraftedTree { base, grafts, tops, graft_of_file: RwLock::default() }
    }

    /// Returns the graft that contains `path`, with the rest of the path.
    fn graft<'p>(&self, path: &'p str) -> Option<(&Graft, &'p str)> {
        if !self.tops.contains(top(path)) {
            return None;
        }
        let mut ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.find_map(|end| Some((self.grafts.get(&path[..end])?, path.get(end + 1..).unwrap_or_default())))
    }

    /// Returns the grafts below the folder at `path`, by the rest of their paths.
    fn below(&self, path: &str) -> impl Iterator<Item = (&str, &Graft)> {
        let prefix = child(path, "");
        let all = self.grafts.range(prefix.clone()..);
        all.map_while(move |(path, graft)| Some((path.strip_prefix(&prefix)?, graft)))
    }

    fn remember_graft(&self, id: BlobId, tree: &Arc<dyn FileTree>) {
        if !self.graft_of_file.read().unwrap_or_else(PoisonError::into_inner).contains_key(&id) {
            self.graft_of_file.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(tree));
        }
    }
}

/// Returns the first name of a path.
fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

impl FileTree for GraftedTree {
    fn root(&self) -> &str {
        self.base.root()
    }

    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        if let Some((graft, rest)) = self.graft(path) {
            let Some(tree) = graft.tree().filter(|_| !rest.is_empty()) else {
                return Ok(rest.is_empty().then(|| graft.entry()));
            };
            let entry = tree.entry(rest)?;
            if let Some(Entry::File(id)) = entry {
                self.remember_graft(id, tree);
            }
            return Ok(entry);
        }
        let entry = self.base.entry(path)?;
        let has_grafts = || self.tops.contains(top(path)) && self.below(path).next().is_some();
        Ok(entry.or_else(|| has_grafts().then_some(Entry::Folder)))
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        if let Some((graft, rest)) = self.graft(path) {
            let Some(tree) = graft.tree() else { return Ok(Vec::new()) };
            let list = tree.list(rest)?;
            for (_, entry) in &list {
                if let Entry::File(id) = entry {
                    self.remember_graft(*id, tree);
                }
            }
            return Ok(list);
        }
        let mut list = self.base.list(path)?;
        for (below, graft) in self.below(path) {
            let (name, entry) =
                below.split_once('/').map_or_else(|| (below, graft.entry()), |(name, _)| (name, Entry::Folder));
            match list.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
                Ok(at) => list[at].1 = entry,
                Err(at) => list.insert(at, (name.to_owned(), entry)),
            }
        }
        Ok(list)
    }

    fn folder_id(&self, path: &str) -> Option<[u8; 20]> {
        if let Some((graft, rest)) = self.graft(path) {
            return graft.tree()?.folder_id(rest);
        }
        let base_id = self.base.folder_id(path)?;
        let mut below = self.below(path).peekable();
        if below.peek().is_none() {
            return Some(base_id);
        }
        let mut sha = Sha1::new();
        sha.update(base_id);
        for (path, graft) in below {
            sha.update((path.len() as u64).to_be_bytes());
            sha.update(path);
            sha.update(graft.tree().map_or(Some([0; 20]), |tree| tree.folder_id(""))?);
        }
        Some(sha.finalize().into())
    }

    fn commit_at(&self, path: &str) -> Result<Option<[u8; 20]>, TreeError> {
        match self.graft(path) {
            Some((Graft::Read { commit, .. }, "")) => Ok(Some(*commit)),
            Some((Graft::Absent(commit), "")) => Ok(*commit),
            Some((graft, rest)) => graft.tree().map_or(Ok(None), |tree| tree.commit_at(rest)),
            None => self.base.commit_at(path),
        }
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let seen = self.graft_of_file.read().unwrap_or_else(PoisonError::into_inner).get(&id).map(Arc::clone);
        if let Some(tree) = seen {
            return tree.read(id);
        }
        // A file that was seen in the tree of another revision may be in any graft.
        let found = || self.grafts.values().find_map(|graft| graft.tree()?.read(id).ok());
        self.base.read(id).or_else(|error| found().ok_or(error))
    }

    fn is_on_disk(&self, id: BlobId) -> bool {
        let seen = self.graft_of_file.read().unwrap_or_else(PoisonError::into_inner).get(&id).map(Arc::clone);
        seen.unwrap_or_else(|| Arc::clone(&self.base)).is_on_disk(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{MemoryTree, Target, changes, follow};

    fn grafted(base: &str, grafts: &[(&str, &str)]) -> GraftedTree {
        let mut tree = MemoryTree::from_fixture(base);
        let graft = |(path, files): &(&str, &str)| {
            let graft = Graft::Read { tree: Arc::new(MemoryTree::from_fixture(files)), commit: [1; 20] };
            ((*path).to_owned(), graft)
        };
        tree.insert("data/sub", Entry::Submodule(Some([1; 20])));
        GraftedTree::new(Arc::new(tree), grafts.iter().map(graft).collect())
    }

    #[test]
    fn a_tree_with_grafts_is_that_of_a_checkout() {
        let base = "-- data/a.yaml\na: 1\n-- data/sub.yaml\nb: 1\n-- data/sub-x/c.yaml\nc: 1\n-- link -> data/sub/in\n";
        let grafts = [("data/sub", "-- in/d.yaml\nd: 1\n-- up -> ../a.yaml\n"), ("modules/ntp", "-- x\n1\n")];
        let tree = grafted(base, &grafts);
        let vendored = MemoryTree::from_fixture(&format!(
            "{base}-- data/sub/in/d.yaml\nd: 1\n-- data/sub/up -> ../a.yaml\n-- modules/ntp/x\n1\n"
        ));
        assert_eq!(changes(&tree, &vendored).unwrap(), BTreeSet::new());
        for path in ["", "data", "data/sub", "data/sub/in", "modules", "modules/ntp", "none", "data/sub-x"] {
            assert_eq!(tree.list(path).unwrap(), vendored.list(path).unwrap(), "{path}");
            assert_eq!(tree.entry(path).unwrap(), vendored.entry(path).unwrap(), "{path}");
        }
        for path in ["link/d.yaml", "data/sub/up", "data/sub/in/d.yaml", "modules/ntp/x", "data/sub/in/../../a.yaml"] {
            let Target::File(at, id) = follow(&tree, path).unwrap() else { panic!("{path}") };
            assert_eq!(Target::File(at, id), follow(&vendored, path).unwrap());
            assert_eq!(tree.read(id).unwrap(), vendored.read(id).unwrap(), "{path}");
        }
        assert_eq!((tree.commit_at("data/sub").unwrap(), tree.commit_at("data").unwrap()), (Some([1; 20]), None));
    }

    #[test]
    fn files_of_grafts_are_read_before_they_are_seen() {
        let tree = grafted("-- a\n1\n", &[("data/sub", "-- b\n2\n")]);
        assert_eq!(tree.read(BlobId::of(b"2\n")).unwrap(), b"2\n");
        assert!(tree.read(BlobId::of(b"3\n")).is_err());
    }
}
