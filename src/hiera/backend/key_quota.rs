//! The total number of root keys that the data files of one revision may have.
//!
//! Each key of a file costs something to parse, resolve and compare, whatever its value is. If there are more than a
//! run may handle, the largest files are set aside: all keys fail on nodes that read them, and other nodes get their
//! answers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

use super::files::FileId;
use super::{DataFile, DataFiles, Format};
use crate::puppet::document::FaultKind;
use crate::tree::{BlobId, FileTree, TreeError};
use crate::value::Hash;

/// The number of size classes. Each covers files with up to twice as many keys as the one before.
const SIZE_CLASSES: usize = usize::BITS as usize + 1;

/// Reads data files as long as their total number of keys is within a limit. The choice of files that are set aside
/// depends on all counted files, but not on their order.
#[derive(Debug, Default)]
pub struct KeyQuota {
    /// The count, or `None` without a limit: all files are read, uncounted.
    counting: Mutex<Option<Counting>>,
}

/// The count so far.
#[derive(Debug, Clone)]
struct Counting {
    limit: usize,
    counted: HashSet<FileId, RandomState>,
    /// The number of keys in the files of each size class.
    by_size: [usize; SIZE_CLASSES],
    /// The largest size class that is read.
    largest: usize,
    set_aside: HashMap<FileId, Arc<DataFile>, RandomState>,
    is_closed: bool,
}

impl KeyQuota {
    /// Starts counting, with a limit of `limit` keys in total.
    pub fn limit(&self, limit: usize) {
        *self.lock() = Some(Counting {
            limit,
            counted: HashSet::default(),
            by_size: [0; SIZE_CLASSES],
            largest: SIZE_CLASSES - 1,
            set_aside: HashMap::default(),
            is_closed: false,
        });
    }

    /// Continues the count of another revision, including its files.
    pub fn follow(&self, other: &KeyQuota) {
        let counting = other.lock().clone();
        *self.lock() = counting.map(|counting| Counting { is_closed: false, ..counting });
    }

    /// Stops counting. Files that are read later are set aside by their own size only.
    pub fn close(&self) {
        if let Some(counting) = &mut *self.lock() {
            counting.is_closed = true;
        }
    }

    /// Returns the largest size class that is read, or `None` if all are. It only ever decreases.
    pub fn largest(&self) -> Option<usize> {
        self.lock().as_ref().map(|counting| counting.largest).filter(|largest| *largest < SIZE_CLASSES - 1)
    }

    /// Returns the file `id` of `tree`, parsed, or a file in its place that fails.
    pub fn read(
        &self,
        files: &DataFiles,
        tree: &dyn FileTree,
        id: BlobId,
        format: Format,
    ) -> Result<Arc<DataFile>, TreeError> {
        if let Some(file) = self.lock().as_ref().and_then(|counting| counting.set_aside.get(&(id, format))) {
            return Ok(file.clone());
        }
        let file = files.get(tree, id, format)?;
        Ok(match &mut *self.lock() {
            Some(counting) => counting.count_and_check(files, (id, format), file),
            None => file,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Counting>> {
        self.counting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counting {
    /// Counts a file, and returns it unless it is too large.
    fn count_and_check(&mut self, files: &DataFiles, id: FileId, file: Arc<DataFile>) -> Arc<DataFile> {
        let count = file.content().map_or(0, Hash::len);
        let size = (usize::BITS - count.leading_zeros()) as usize;
        if !self.is_closed && self.counted.insert(id) {
            self.by_size[size] = self.by_size[size].saturating_add(count);
            self.largest = self.largest_within_limit();
        }
        if size <= self.largest {
            return file;
        }
        drop(file);
        files.forget(id);
        let text = format!(
            "too many keys: the file has {count}, and data files of at most its size have more than {} together \
             ('steps' under 'limits' in hierad.yaml)",
            self.limit
        );
        self.set_aside.entry(id).or_insert_with(|| Arc::new(DataFile::unknown(id.1, FaultKind::Size, text))).clone()
    }

    /// Returns the largest size class up to which all files together are within the limit.
    fn largest_within_limit(&self) -> usize {
        let mut keys: usize = 0;
        let is_over = |count: &usize| {
            keys = keys.saturating_add(*count);
            keys > self.limit
        };
        self.by_size.iter().position(is_over).map_or(SIZE_CLASSES - 1, |first| first.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    /// Reads files with these numbers of keys in order, and once more; returns which ones are read the second time.
    fn read(counts: &[usize], limit: usize) -> Vec<bool> {
        let mut tree = MemoryTree::new();
        let line = |at: usize, n: usize| format!("k{at}_{n}: 1\n");
        let content = |at: usize, count: usize| (0..count).map(|n| line(at, n)).collect::<Vec<_>>().concat();
        let contents: Vec<String> = counts.iter().enumerate().map(|(at, count)| content(at, *count)).collect();
        for content in &contents {
            tree.add(content, content.as_bytes());
        }
        let (files, quota) = (DataFiles::default(), KeyQuota::default());
        quota.limit(limit);
        let is_read = |content: &String| {
            let file = quota.read(&files, &tree, BlobId::of(content.as_bytes()), Format::Yaml).unwrap();
            file.fault().is_none()
        };
        for content in &contents {
            _ = is_read(content);
        }
        contents.iter().map(is_read).collect()
    }

    #[test]
    fn the_largest_files_are_set_aside_in_any_order() {
        assert_eq!(read(&[3, 100, 5], 108), [true; 3]);
        assert_eq!(read(&[3, 100, 5], 107), [true, false, true]);
        assert_eq!(read(&[100, 5, 3], 20), [false, true, true]);
        // Files of one size class are set aside together, since none of them is more to blame.
        assert_eq!(read(&[9, 10, 3, 11], 22), [false, false, true, false]);
        assert_eq!(read(&[1, 1, 1, 0], 2), [false, false, false, true]);
        assert_eq!(read(&[], 0), [true; 0]);
    }

    #[test]
    fn files_are_counted_by_their_content() {
        let (mut tree, quota) = (MemoryTree::new(), KeyQuota::default());
        tree.add("a.yaml", b"a: 1\nb: 2\n");
        tree.add("c.yaml", b"a: 1\nb: 2\n");
        tree.add("d.yaml", b"d: 1\n");
        let files = DataFiles::default();
        let get = |text: &[u8]| quota.read(&files, &tree, BlobId::of(text), Format::Yaml).unwrap().fault().is_none();
        assert!(get(b"d: 1\n"), "all are read as long as there is no limit");
        quota.limit(2);
        assert!(get(b"a: 1\nb: 2\n") && get(b"a: 1\nb: 2\n") && quota.largest().is_none());
        quota.close();
        assert!(get(b"d: 1\n"), "what comes later is not counted");
    }
}
