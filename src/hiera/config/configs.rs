//! Parsed hiera.yaml files by content.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::{Owner, ReadConfig};
use crate::puppet::Puppet;
use crate::tree::{BlobId, FileTree, TreeError, read_config};

/// A content, its path, its owner and the version of Puppet that reads it.
type ConfigId = (BlobId, Arc<str>, Owner, Puppet);

/// The approximate memory that is kept, in bytes.
const MAX_MEMORY: usize = 4 << 20;

/// The size in bytes of the largest file that is kept.
const MAX_CONFIG_SIZE: usize = MAX_MEMORY / 16;

/// The approximate memory of a file without content, in bytes.
const MIN_CONFIG_SIZE: usize = 1 << 10;

/// The hiera.yaml files that were read. A file that is the same in the next revision is not read again; modules may
/// have hundreds of them. Beyond a size limit, all are forgotten.
#[derive(Debug, Default)]
pub struct Configs(Mutex<CachedConfigs>);

#[derive(Debug, Default)]
struct CachedConfigs {
    read: HashMap<ConfigId, Arc<ReadConfig>, RandomState>,
    size: usize,
}

impl Configs {
    /// Returns the file `id` of `tree`, which is at `path`, read.
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
        let content = read_config(tree, path, id)?;
        let read = Arc::new(ReadConfig::new(&content, path, owner, puppet));
        lock().add(key, &read);
        Ok(read)
    }
}

impl CachedConfigs {
    fn add(&mut self, key: ConfigId, read: &Arc<ReadConfig>) {
        let size = MIN_CONFIG_SIZE + read.config.iter().flatten().map(|config| config.size()).sum::<usize>();
        if size > MAX_CONFIG_SIZE {
            return;
        }
        if self.size + size > MAX_MEMORY {
            *self = CachedConfigs::default();
        }
        if self.read.insert(key, read.clone()).is_none() {
            self.size += size;
        }
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

    /// Returns how many of `files` files with this content are kept at the end, and the largest number in between.
    fn kept_of(files: u32, content: &str) -> (usize, usize) {
        let read = Arc::new(ReadConfig::new(content.as_bytes(), "", Owner::Module, Puppet::V8));
        assert!(read.config.is_ok(), "{:?}", read.config);
        let (mut kept, mut most) = (CachedConfigs::default(), 0);
        for number in 0..files {
            let key = (BlobId::of(&number.to_le_bytes()), "".into(), Owner::Module, Puppet::V8);
            kept.add(key.clone(), &read);
            kept.add(key, &read);
            most = most.max(kept.read.len());
        }
        (kept.read.len(), most)
    }

    #[test]
    fn many_are_forgotten_and_large_ones_are_not_kept() {
        let (kept, most) = kept_of(10_000, "version: 5\n");
        assert!(kept > 0 && most > 1_000 && most <= MAX_MEMORY / MIN_CONFIG_SIZE, "{kept} {most}");
        let names = |count: usize| vec!["x"; count].join(", ");
        let of = |paths, levels| {
            let first = format!("version: 5\nhierarchy:\n- {{name: l, paths: &p [{}]}}\n", names(paths));
            (1..levels).fold(first, |text, n| text + &format!("- {{name: l{n}, paths: *p}}\n"))
        };
        let (kept, most) = kept_of(1_000, &of(20, 20));
        assert!(kept > 0 && (10..200).contains(&most), "{kept} {most}");
        assert_eq!(kept_of(10, &of(1_000, 100)), (0, 0));
    }
}
