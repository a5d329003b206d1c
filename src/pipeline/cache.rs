//! A cache of parsed files on disk: data files by their content, node profiles by the state of their files.
//!
//! It is one file, which only the build that wrote it reads. A damaged file, or one of another build, is ignored. The
//! cache affects time, never results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

use crate::hiera::backend::{DataFile, DataFiles, FileId, Format, ParsedFiles};
use crate::workers::RUN;

/// The key of an entry: a data file's content and format, or the hash of a name for profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Key {
    File([u8; 20], u8),
    Profiles([u8; 20]),
}

/// The file's content after its header.
#[derive(Default, Serialize, Deserialize)]
struct Entries<'a>(#[serde(borrow)] BTreeMap<Key, &'a [u8]>);

/// A cache on disk.
pub struct Cache {
    path: PathBuf,
    /// The maximum total size, in bytes, of the entries.
    limit: usize,
    content: Vec<u8>,
    /// The ranges of the entries in the content.
    places: BTreeMap<Key, Range<usize>>,
    /// New entries, and the old ones that were used.
    new: Mutex<BTreeMap<Key, Vec<u8>>>,
    used: Mutex<BTreeSet<Key>>,
    /// The number of times that a wanted entry was missing.
    misses: AtomicUsize,
    /// True if nobody will save new entries.
    is_read_only: AtomicBool,
}

impl Cache {
    /// Opens the cache in `folder`, which need not exist.
    pub fn open(folder: &Path, limit: usize) -> Cache {
        let path = folder.join("cache");
        let content = fs::read(&path).unwrap_or_default();
        let places = match places(&content) {
            Ok(places) => {
                tracing::debug!(target: RUN, path = %path.display(), entries = places.len(), "the cache is read");
                places
            }
            Err(reason) => {
                tracing::debug!(target: RUN, path = %path.display(), reason, "no usable cache");
                BTreeMap::new()
            }
        };
        Cache {
            path,
            limit,
            content,
            places,
            new: Mutex::default(),
            used: Mutex::default(),
            misses: AtomicUsize::new(0),
            is_read_only: false.into(),
        }
    }

    /// Stops the cache from keeping new entries, for long-running programs that do not save them.
    pub fn keep_nothing(&self) {
        self.is_read_only.store(true, Ordering::Relaxed);
    }

    /// Returns true if new entries are kept.
    pub fn keeps(&self) -> bool {
        !self.is_read_only.load(Ordering::Relaxed)
    }

    fn get(&self, key: Key) -> Option<&[u8]> {
        let Some(place) = self.places.get(&key) else {
            self.misses.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let bytes = self.content.get(place.clone())?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        Some(bytes)
    }

    /// Returns the profiles that were stored under `name`, or `None` if there are none.
    pub fn profiles(&self, name: &str) -> Option<&[u8]> {
        self.get(Key::Profiles(Sha1::digest(name).into()))
    }

    /// Stores profiles under a name that must cover everything that they depend on.
    pub fn keep_profiles(&self, name: &str, bytes: Vec<u8>) {
        if !self.keeps() {
            return;
        }
        let key = Key::Profiles(Sha1::digest(name).into());
        self.new.lock().unwrap_or_else(PoisonError::into_inner).insert(key, bytes);
    }

    /// Writes the new entries, those that were used and, if there is room, the others. A failure to write is ignored.
    pub fn save(&self, files: &DataFiles) {
        let hits = self.used.lock().unwrap_or_else(PoisonError::into_inner).len();
        tracing::debug!(target: RUN, hits, misses = self.misses.load(Ordering::Relaxed), "the cache was used");
        let mut new = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        new.extend(files.parsed().iter().filter_map(|(id, file)| Some((key(*id), file.pack()?))));
        if new.is_empty() {
            return;
        }
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.places.iter().filter(|(key, _)| !new.contains_key(key));
        let (first, last): (Vec<_>, Vec<_>) = old.partition(|(key, _)| used.contains(key));
        let old = first.into_iter().chain(last).map(|(key, place)| (*key, &self.content[place.clone()]));
        let (mut entries, mut size) = (Entries::default(), 0);
        for (key, bytes) in new.iter().map(|(key, bytes)| (*key, bytes.as_slice())).chain(old) {
            if size + bytes.len() <= self.limit {
                size += bytes.len();
                entries.0.insert(key, bytes);
            }
        }
        match write(&self.path, &entries) {
            Ok(()) => new.clear(),
            Err(error) => tracing::debug!(path = %self.path.display(), %error, "the cache cannot be written"),
        }
    }
}

impl ParsedFiles for Cache {
    fn find(&self, id: FileId) -> Option<(DataFile, usize)> {
        let bytes = self.get(key(id))?;
        Some((DataFile::unpack(bytes, id.1)?, bytes.len()))
    }

    fn has(&self, id: FileId) -> bool {
        self.get(key(id)).is_some()
    }
}

fn key((id, format): FileId) -> Key {
    let format = match format {
        Format::Yaml => 0,
        Format::Json => 1,
        Format::Hiera3Yaml => 2,
        Format::Hiera3Json => 3,
        Format::Hocon => 4,
        Format::Hiera3YamlAliases => 5,
        Format::Yaml34 => 6,
    };
    Key::File(id.0, format)
}

/// The beginning of the caches of this build: another build may parse files differently.
const HEADER: &str = concat!("hierad cache 2 ", env!("CARGO_PKG_VERSION"), " ", env!("SOURCE_HASH"), "\n");

/// The beginning of the names of unfinished files.
const UNFINISHED: &str = ".cache-";

/// Returns the ranges of a cache's entries, or the reason why it is not used.
fn places(content: &[u8]) -> Result<BTreeMap<Key, Range<usize>>, &'static str> {
    if content.is_empty() {
        return Err("there is none");
    }
    let rest = content.strip_prefix(HEADER.as_bytes()).ok_or("another build of hierad wrote it")?;
    let (sum, body) = rest.split_first_chunk().ok_or("it is damaged")?;
    if u32::from_be_bytes(*sum) != crc32fast::hash(body) {
        return Err("it is damaged");
    }
    let entries: Entries<'_> = postcard::from_bytes(body).map_err(|_| "it is damaged")?;
    let place = |bytes: &[u8]| {
        let start = bytes.as_ptr().addr() - content.as_ptr().addr();
        start..start + bytes.len()
    };
    Ok(entries.0.into_iter().map(|(key, bytes)| (key, place(bytes))).collect())
}

/// Replaces the cache in one step. Only its owner may read it.
fn write(path: &Path, entries: &Entries<'_>) -> io::Result<()> {
    let body = postcard::to_allocvec(entries).map_err(io::Error::other)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    remove_unfinished(folder)?;
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    // Other processes remove files that nobody has locked. On a file system without locks, they remove none.
    _ = file.as_file().try_lock();
    for part in [HEADER.as_bytes(), &crc32fast::hash(&body).to_be_bytes(), &body] {
        file.write_all(part)?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Removes the unfinished files of processes that were killed: those that no process holds.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_unfinished = entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
        if is_unfinished
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::BlobId;

    const ID: FileId = (BlobId([7; 20]), Format::Yaml);

    fn filled(folder: &Path, limit: usize) -> Cache {
        let cache = Cache::open(folder, limit);
        cache.keep_profiles("some", b"profiles".to_vec());
        cache.keep_profiles("large", vec![0; 1000]);
        cache.save(&DataFiles::default());
        Cache::open(folder, limit)
    }

    #[test]
    fn entries_are_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = filled(folder.path(), 10_000);
        assert_eq!(cache.profiles("some"), Some(&b"profiles"[..]));
        assert_eq!(cache.profiles("large").map(<[u8]>::len), Some(1000));
        assert_eq!(cache.profiles("none"), None);
        assert!(cache.find(ID).is_none());
    }

    #[test]
    fn entries_beyond_the_limit_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let cache = filled(folder.path(), 100);
        assert!(cache.profiles("some").is_some() && cache.profiles("large").is_none());
    }

    #[test]
    fn entries_that_nobody_saves_take_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        let cache = filled(folder.path(), 10_000);
        cache.keep_nothing();
        (0..100).for_each(|n| cache.keep_profiles(&n.to_string(), vec![0; 1000]));
        assert!(cache.new.lock().unwrap().is_empty());
        assert_eq!(cache.profiles("some"), Some(&b"profiles"[..]), "those of former runs are used");
    }

    #[test]
    fn damaged_caches_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = filled(folder.path(), 10_000).path;
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(7) {
            let mut broken = whole.clone();
            broken[at] ^= 1;
            fs::write(&path, &broken).unwrap();
            assert_eq!(Cache::open(folder.path(), 100).profiles("some"), None, "{at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(Cache::open(folder.path(), 100).profiles("some"), None, "{at}");
        }
    }

    #[test]
    fn what_killed_processes_leave_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [".cache-AbC123", ".cache-written", "other"] {
            fs::write(at(name), "half").unwrap();
        }
        // Another process is about to finish this one.
        let held = File::open(at(".cache-written")).unwrap();
        held.lock().unwrap();
        filled(folder.path(), 10_000);
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".cache-written", "cache", "other"]);
    }

    #[test]
    fn caches_of_other_builds_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = filled(folder.path(), 10_000).path;
        let mut of_another = fs::read(&path).unwrap();
        of_another[HEADER.len() - 2] ^= 1;
        fs::write(&path, of_another).unwrap();
        assert_eq!(Cache::open(folder.path(), 10_000).profiles("some"), None);
    }
}
