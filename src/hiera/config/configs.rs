//! hiera.yaml files by content.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::{Owner, ReadConfig};
use crate::hiera::Puppet;
use crate::tree::{BlobId, FileTree, TreeError};

/// A content, where it stands, whose it is and who reads it.
type ConfigId = (BlobId, Arc<str>, Owner, Puppet);

/// The most bytes of content that are kept.
const MOST: usize = 4 << 20;

/// What is kept of an empty file.
const LEAST: usize = 1 << 10;

/// The hiera.yaml files that were read: one that is the same in the next revision is not read again, and modules may have hundreds.
/// When they get many, all are forgotten.
#[derive(Debug, Default)]
pub struct Configs(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    read: HashMap<ConfigId, Arc<ReadConfig>, RandomState>,
    bytes: usize,
}

impl Configs {
    /// The file `id` of `tree`, which stands at `path`, read.
    pub fn get(
        &self,
        tree: &dyn FileTree,
        id: BlobId,
        path: &str,
        owner: Owner,
        puppet: Puppet,
    ) -> Result<Arc<ReadConfig>, TreeError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (id, path.into(), owner, puppet);
        if let Some(read) = lock().read.get(&key) {
            return Ok(read.clone());
        }
        let content = tree.read(id)?;
        let read = Arc::new(ReadConfig::new(&content, path, owner, puppet));
        lock().add(key, &read, LEAST + content.len());
        Ok(read)
    }
}

impl Kept {
    fn add(&mut self, key: ConfigId, read: &Arc<ReadConfig>, bytes: usize) {
        if self.bytes + bytes > MOST {
            *self = Kept::default();
        }
        self.bytes += bytes;
        self.read.insert(key, read.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Entry, MemoryTree};

    #[test]
    fn a_content_is_read_once_for_each_place_and_reader() {
        let tree = MemoryTree::from_fixture("-- hiera.yaml\nversion: 5\n-- other.yaml\nversion: 3\n");
        let configs = Configs::default();
        let get = |path: &str, at: &str, owner, puppet| {
            let Ok(Some(Entry::File(id))) = tree.entry(path) else { panic!("{path}") };
            configs.get(&tree, id, at, owner, puppet).unwrap()
        };
        let first = get("hiera.yaml", "hiera.yaml", Owner::Environment, Puppet::V8);
        assert!(Arc::ptr_eq(&first, &get("hiera.yaml", "hiera.yaml", Owner::Environment, Puppet::V8)));
        let others = [
            get("other.yaml", "hiera.yaml", Owner::Environment, Puppet::V8),
            get("hiera.yaml", "m/hiera.yaml", Owner::Environment, Puppet::V8),
            get("hiera.yaml", "hiera.yaml", Owner::Module, Puppet::V8),
            get("hiera.yaml", "hiera.yaml", Owner::Environment, Puppet::V7),
        ];
        assert!(!others.iter().any(|other| Arc::ptr_eq(&first, other)));
        assert_eq!(others[1].config.as_ref().unwrap().as_ref().unwrap().path.as_ref(), "m/hiera.yaml");
    }

    #[test]
    fn many_are_forgotten() {
        let (mut kept, read) = (Kept::default(), Arc::new(ReadConfig::new(b"", "", Owner::Module, Puppet::V8)));
        for number in 0..100_000u32 {
            let id = BlobId::of(&number.to_le_bytes());
            kept.add((id, "".into(), Owner::Module, Puppet::V8), &read, LEAST);
            assert!(kept.read.len() <= MOST / LEAST && !kept.read.is_empty());
        }
    }
}
