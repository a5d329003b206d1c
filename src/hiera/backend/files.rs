//! Parsed data files by content.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

use super::reading::{DEFAULT_LIMIT, Reading};
use super::{DataFile, Format};
use crate::puppet::document::FaultKind;
use crate::tree::{BlobId, FileTree, TreeError};

/// A content and the format that it is read in.
pub type FileId = (BlobId, Format);

/// A store of files that were parsed earlier.
pub trait ParsedFiles: Send + Sync {
    /// Returns the file, if it is in the store, and the approximate size of its content.
    fn find(&self, id: FileId) -> Option<(DataFile, usize)>;

    /// Returns true if the file is in the store.
    fn has(&self, id: FileId) -> bool;
}

/// The approximate ratio of a parsed file's memory to the size of its content.
const MEMORY_RATIO: usize = 10;

/// The approximate memory of a parsed file without content, in bytes.
const MIN_FILE_MEMORY: usize = 1 << 10;

/// Parsed data files by content: each content is parsed once, whichever path, revision or node asks for it. Beyond a
/// memory limit, unused files are dropped, those first that were requested longest ago.
pub struct DataFiles {
    parsed: Mutex<Parsed>,
    earlier: Option<Arc<dyn ParsedFiles>>,
    limit: usize,
    reading: Reading,
}

/// Limits on the memory of data files, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct FileMemory {
    /// The approximate limit for the files that are kept.
    pub kept: usize,
    /// The limit for the files that are being read at the same time. A file that may take more by itself is not read.
    pub read: usize,
}

/// Keeps all files; those being read at the same time take at most 1 GiB.
impl Default for FileMemory {
    fn default() -> FileMemory {
        FileMemory { kept: usize::MAX, read: DEFAULT_LIMIT }
    }
}

#[derive(Default)]
struct Parsed {
    files: HashMap<FileId, CachedFile, RandomState>,
    /// The approximate memory of the files, in bytes.
    size: usize,
    clock: u64,
}

struct CachedFile {
    file: Arc<DataFile>,
    size: usize,
    used: u64,
    /// True if it was parsed here rather than found in the store.
    is_new: bool,
}

impl Default for DataFiles {
    fn default() -> DataFiles {
        DataFiles::new(None, FileMemory::default())
    }
}

impl fmt::Debug for DataFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataFiles").finish_non_exhaustive()
    }
}

impl DataFiles {
    /// Returns a store that looks in `earlier` before it parses a file.
    pub fn new(earlier: Option<Arc<dyn ParsedFiles>>, memory: FileMemory) -> DataFiles {
        DataFiles { parsed: Mutex::default(), earlier, limit: memory.kept, reading: Reading::within(memory.read) }
    }

    /// Returns the file `id` of `tree`, parsed.
    pub fn get(&self, tree: &dyn FileTree, id: BlobId, format: Format) -> Result<Arc<DataFile>, TreeError> {
        if let Some(file) = self.lock().find((id, format)) {
            return Ok(file);
        }
        let stored = self.earlier.as_ref().and_then(|earlier| earlier.find((id, format)));
        let is_new = stored.is_none();
        let (file, size) = if let Some(stored) = stored {
            stored
        } else {
            // Only the keys of this file fail.
            match tree.read(id) {
                Ok(content) => match self.reading.reserve(&content, format) {
                    Ok(_reading) => (DataFile::parse(&content, format), content.len()),
                    Err(reason) => (DataFile::unknown(format, FaultKind::Size, reason), 0),
                },
                Err(error) if error.is_too_large => (DataFile::unknown(format, FaultKind::Size, error.reason), 0),
                Err(error) => return Err(error),
            }
        };
        Ok(self.lock().add((id, format), Arc::new(file), (MIN_FILE_MEMORY + size * MEMORY_RATIO, is_new), self.limit))
    }

    /// Parses the file `id` of `tree` as a new version of the file `former_id` of `former_tree`. Does nothing unless
    /// that file is in memory and may share entries with the new version.
    pub fn add_version(
        &self,
        (former_tree, former_id): (&dyn FileTree, BlobId),
        (tree, id): (&dyn FileTree, BlobId),
        format: Format,
    ) -> Result<(), TreeError> {
        let file = self.lock().find((former_id, format)).filter(|file| file.is_separable());
        let Some(file) = file.filter(|_| !self.has((id, format))) else { return Ok(()) };
        let Ok(former) = former_tree.read(former_id) else { return Ok(()) };
        let content = match tree.read(id) {
            Err(error) if error.is_too_large => return Ok(()),
            content => content?,
        };
        let Ok(_reading) = self.reading.reserve(&content, format) else { return Ok(()) };
        let file = file.version(&content, &former);
        self.lock().add(
            (id, format),
            Arc::new(file),
            (MIN_FILE_MEMORY + content.len() * MEMORY_RATIO, true),
            self.limit,
        );
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Parsed> {
        self.parsed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a file. It is parsed again if it is requested.
    pub(super) fn forget(&self, id: FileId) {
        let mut parsed = self.lock();
        let size = parsed.files.remove(&id).map_or(0, |kept| kept.size);
        parsed.size = parsed.size.saturating_sub(size);
    }

    /// Returns true if a file need not be parsed.
    pub fn has(&self, id: FileId) -> bool {
        self.lock().files.contains_key(&id) || self.earlier.as_ref().is_some_and(|earlier| earlier.has(id))
    }

    /// Returns the files that were parsed here, without those found in the store of earlier files.
    pub fn parsed(&self) -> Vec<(FileId, Arc<DataFile>)> {
        let parsed = self.lock();
        let new = parsed.files.iter().filter(|(_, kept)| kept.is_new);
        new.map(|(id, kept)| (*id, kept.file.clone())).collect()
    }
}

impl Parsed {
    fn find(&mut self, id: FileId) -> Option<Arc<DataFile>> {
        self.clock += 1;
        let kept = self.files.get_mut(&id)?;
        kept.used = self.clock;
        Some(kept.file.clone())
    }

    /// Adds a file, unless it was added in the meantime. Returns the one that was added first.
    fn add(&mut self, id: FileId, file: Arc<DataFile>, (size, is_new): (usize, bool), limit: usize) -> Arc<DataFile> {
        if let Some(first) = self.find(id) {
            return first;
        }
        self.files.insert(id, CachedFile { file: file.clone(), size, used: self.clock, is_new });
        self.size = self.size.saturating_add(size);
        if self.size > limit {
            self.drop_unused(limit / 4 * 3);
        }
        file
    }

    fn drop_unused(&mut self, limit: usize) {
        let unused = self.files.iter().filter(|(_, kept)| Arc::strong_count(&kept.file) == 1);
        let mut unused: Vec<(u64, FileId)> = unused.map(|(id, kept)| (kept.used, *id)).collect();
        unused.sort_unstable();
        for (_, id) in unused {
            if self.size <= limit {
                break;
            }
            self.size -= self.files.remove(&id).map_or(0, |kept| kept.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;
    use crate::value::Value;

    #[test]
    fn a_version_shares_what_it_has_in_common() {
        let (mut tree, contents) =
            (MemoryTree::new(), ["a: 1\nb: {c: d}\n", "a: 2\nb: {c: d}\n", "a: 1\ne: {b: {c: d}}\n"]);
        for content in contents {
            tree.add(content, content.as_bytes());
        }
        let [former, similar, other] = contents.map(|content| BlobId::of(content.as_bytes()));
        let files = DataFiles::default();
        let add_versions = || {
            for id in [similar, other] {
                files.add_version((&tree, former), (&tree, id), Format::Yaml).unwrap();
            }
        };
        add_versions();
        assert!(!files.has((similar, Format::Yaml)), "nothing is known of what was not parsed");
        let last =
            |id| files.get(&tree, id, Format::Yaml).unwrap().content().and_then(|hash| hash.values().last().cloned());
        let shared = last(former).unwrap();
        add_versions();
        let is_shared =
            |id| matches!((last(id), &shared), (Some(Value::Hash(a)), Value::Hash(b)) if Arc::ptr_eq(&a, b));
        assert_eq!([similar, other].map(is_shared), [true, false]);
    }

    #[test]
    fn what_is_not_used_is_dropped_beyond_the_limit() {
        let mut tree = MemoryTree::new();
        let contents: Vec<String> = (0..20).map(|number| format!("a: {number:04}\n")).collect();
        for content in &contents {
            tree.add(content, content.as_bytes());
        }
        let size = MIN_FILE_MEMORY + contents[0].len() * MEMORY_RATIO;
        let files = DataFiles::new(None, FileMemory { kept: size * 8, ..FileMemory::default() });
        let get = |number: usize| files.get(&tree, BlobId::of(contents[number].as_bytes()), Format::Yaml).unwrap();
        let held = get(0);
        (1..20).for_each(|number| _ = get(number));
        let kept = files.parsed();
        assert!(kept.len() <= 8, "{}", kept.len());
        assert!(Arc::ptr_eq(&held, &get(0)));
    }
}
