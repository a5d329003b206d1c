//! Reads the object database: commits, folders and file contents by id, from any thread.
//!
//! Objects never change, but their files do: `git gc` moves them into new packs and deletes the old ones, while a
//! handle keeps the list of packs that it once read. A read that fails is therefore tried again with a fresh handle
//! before it is an error. A handle also holds each pack open that it has read from, even a deleted one, so it is
//! replaced by a fresh one when packs have been added or removed.

pub(super) mod folder_cache;
mod loose;
mod packed;
pub(super) mod raw;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, SystemTime};

use git2::{ErrorCode, ObjectType, Odb, Oid};

use super::id::CommitId;
use crate::tree::{FILE_LIMIT, too_large};

use folder_cache::{Folder, FolderCache};
use loose::{Object, ReadExtent};
use packed::Packs;
use raw::RawCommit;

/// A failure to read an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The object does not exist.
    #[error("object {id} is missing from {}{}", repository.display(), hint(*partial))]
    Missing {
        /// The object.
        id: String,
        /// The repository that should have it.
        repository: PathBuf,
        /// True if the repository is a partial clone, which leaves objects out.
        partial: bool,
    },
    /// The object exists but cannot be read.
    #[error("object {id} in {} is damaged: {reason}", repository.display())]
    Damaged {
        /// The object.
        id: String,
        /// The repository that has it.
        repository: PathBuf,
        /// The storage's message.
        reason: String,
    },
    /// The object has a different type than its referrer expects.
    #[error("object {id} is a {found}, not a {expected}")]
    WrongKind {
        /// The object.
        id: String,
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        found: &'static str,
    },
    /// The object exceeds the maximum size.
    #[error("{}", too_large(*size, *limit))]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The object is stored as a chain of changes that is too large to be read.
    #[error("object {id} is a chain of deltas of {size} bytes, and at most {MAX_CHAIN_SIZE} are read")]
    LongWay {
        /// The object.
        id: String,
        /// The size of the object and of everything that it is made of, in bytes.
        size: u64,
    },
    /// The object database cannot be opened.
    #[error("cannot open the objects of {}: {reason}", repository.display())]
    Closed {
        /// The repository.
        repository: PathBuf,
        /// The storage's message.
        reason: String,
    },
}

fn hint(partial: bool) -> &'static str {
    if partial { " (a partial clone omits objects; `git fetch --refetch --no-filter` fetches them)" } else { "" }
}

/// The number of times that a read is tried again with a fresh handle.
const RETRIES: usize = 3;

/// The maximum number of checks if all readers have finished, and the pause after each.
const MAX_READER_CHECKS: usize = 1000;
const PAUSE: Duration = Duration::from_micros(100);

/// The maximum size of a folder, commit or tag, in bytes: enough for a folder of two million names.
const MAX_OBJECT_SIZE: u64 = 256 << 20;

/// The maximum number of bytes read of a commit: enough for the header of one with 300,000 parents. The rest of a
/// message is ignored.
const COMMIT_START: u64 = 16 << 20;

/// The maximum number of bytes read of a tag, which names its target first.
const TAG_START: u64 = 4096;

/// The maximum size of everything that an object in a pack is made of: enough for a 20 MiB file changed 50 times.
const MAX_CHAIN_SIZE: u64 = 1 << 30;

/// The maximum length of a symbolic link's target, in bytes: operating systems allow no longer paths.
const MAX_LINK_LENGTH: u64 = 4096;

type Handle = Arc<Opened>;

/// The database as it was when it was opened.
struct Opened {
    odb: Odb<'static>,
    packs: Packs,
}

/// The objects of one repository, shared by all readers.
pub(super) struct Objects {
    repository: PathBuf,
    sources: Vec<PathBuf>,
    /// Opened when it is needed.
    handle: RwLock<Option<Handle>>,
    /// The times at which packs were last added or removed in each folder, as the handle knows them.
    packs: Mutex<Vec<Option<SystemTime>>>,
    folders: FolderCache,
    /// The maximum size of files to read, in bytes.
    file_limit: AtomicU64,
}

impl Objects {
    /// Opens the object folders of `repository`: its own first, then those that it may borrow from.
    pub(super) fn open(repository: &Path, folders: Vec<PathBuf>) -> Result<Objects, ObjectError> {
        // Git does not hash what it reads either; damaged objects fail to decompress.
        git2::opts::strict_hash_verification(false);
        // `FolderCache` keeps what is worth keeping, within its own limits.
        git2::opts::enable_caching(false);
        let packs = Mutex::new(pack_times(&folders));
        let handle = open_handle(repository, &folders)?;
        Ok(Objects {
            repository: repository.to_owned(),
            packs,
            sources: folders,
            handle: RwLock::new(Some(Arc::new(handle))),
            folders: FolderCache::default(),
            file_limit: AtomicU64::new(FILE_LIMIT),
        })
    }

    /// Reads the header of a commit, and as much of its message as a summary needs.
    pub(super) fn commit(&self, id: CommitId) -> Result<RawCommit, ObjectError> {
        let content = self.read(id.0, ObjectType::Commit, ReadExtent::Start(COMMIT_START))?;
        raw::commit(&content).ok_or_else(|| self.damaged(id.0, "its header is not that of a commit"))
    }

    /// Returns the value of a trailer of a commit's message.
    pub(super) fn trailer(&self, id: CommitId, name: &str) -> Result<Option<String>, ObjectError> {
        Ok(raw::trailer(&self.read(id.0, ObjectType::Commit, ReadExtent::Whole(MAX_OBJECT_SIZE))?, name))
    }

    pub(super) fn folder(&self, id: [u8; 20]) -> Result<Folder, ObjectError> {
        if let Some(folder) = self.folders.get(&id) {
            return Ok(folder);
        }
        let folder = self.read_folder(id)?;
        self.folders.keep(id, &folder);
        Ok(folder)
    }

    fn read_folder(&self, id: [u8; 20]) -> Result<Folder, ObjectError> {
        let content = self.read(id, ObjectType::Tree, ReadExtent::Whole(MAX_OBJECT_SIZE))?;
        let items = raw::folder(&content).map_err(|reason| self.damaged(id, reason))?;
        Ok(items.into())
    }

    /// Sets the maximum size of files to read, in bytes.
    pub(super) fn limit_files(&self, bytes: u64) {
        self.file_limit.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn file_limit(&self) -> u64 {
        self.file_limit.load(Ordering::Relaxed)
    }

    pub(super) fn blob(&self, id: [u8; 20]) -> Result<Vec<u8>, ObjectError> {
        self.read(id, ObjectType::Blob, ReadExtent::Whole(self.file_limit()))
    }

    /// Returns the target of a symbolic link.
    pub(super) fn link(&self, id: [u8; 20]) -> Result<Vec<u8>, ObjectError> {
        self.read(id, ObjectType::Blob, ReadExtent::Whole(MAX_LINK_LENGTH))
    }

    /// Returns the commit that an object stands for: itself, or the target of a tag.
    pub(super) fn peel(&self, mut id: [u8; 20]) -> Result<CommitId, ObjectError> {
        loop {
            let (kind, content) = self.read_any(id, ReadExtent::Start(TAG_START))?;
            match kind {
                ObjectType::Commit => return Ok(CommitId(id)),
                ObjectType::Tag => {
                    id = raw::tag_target(&content).ok_or_else(|| self.damaged(id, "the tag points nowhere"))?;
                }
                other => return Err(wrong_kind(id, ObjectType::Commit, other)),
            }
        }
    }

    fn read(&self, id: [u8; 20], expected: ObjectType, part: ReadExtent) -> Result<Vec<u8>, ObjectError> {
        let (found, content) = self.read_any(id, part)?;
        if found == expected { Ok(content) } else { Err(wrong_kind(id, expected, found)) }
    }

    fn read_any(&self, id: [u8; 20], part: ReadExtent) -> Result<(ObjectType, Vec<u8>), ObjectError> {
        let oid = Oid::from_bytes(&id).map_err(|error| self.damaged(id, error.message()))?;
        let read = |handle: &Opened| match loose::read(&self.sources, id, part) {
            Some(loose) => Ok(loose),
            None => read_with(handle, (id, oid), part),
        };
        let mut outcome = read(&*self.handle()?);
        for _ in 0..RETRIES {
            if outcome.is_ok() {
                break;
            }
            let fresh = self.reopen()?;
            outcome = read(&fresh);
        }
        match outcome.map_err(|error| self.failed(id, &error))? {
            Object::Content(kind, content) => Ok((kind, content)),
            Object::TooLarge(size) => Err(ObjectError::TooLarge { size, limit: limit_of(part) }),
            Object::Chain(size) => Err(ObjectError::LongWay { id: CommitId(id).to_string(), size }),
            Object::Damaged(reason) => Err(self.damaged(id, &reason)),
        }
    }

    fn handle(&self) -> Result<Handle, ObjectError> {
        let handle = self.handle.read().unwrap_or_else(PoisonError::into_inner).clone();
        handle.map_or_else(|| self.reopen(), Ok)
    }

    fn reopen(&self) -> Result<Handle, ObjectError> {
        let fresh = Arc::new(open_handle(&self.repository, &self.sources)?);
        *self.handle.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Releases all packs if some were added or removed: those that are still needed are opened again.
    pub(super) fn follow(&self) {
        let mut known = self.packs.lock().unwrap_or_else(PoisonError::into_inner);
        let now = pack_times(&self.sources);
        if *known == now {
            return;
        }
        // A handle that is opened while another one exists shares its packs, and keeps all of them open.
        let mut handle = self.handle.write().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MAX_READER_CHECKS {
            if handle.as_ref().is_none_or(|handle| Arc::strong_count(handle) == 1) {
                *handle = None;
                *known = now;
                return;
            }
            // Current readers finish their objects; new readers wait.
            thread::sleep(PAUSE);
        }
    }

    fn failed(&self, id: [u8; 20], error: &git2::Error) -> ObjectError {
        if error.code() != ErrorCode::NotFound {
            return self.damaged(id, error.message());
        }
        let partial = self.sources.iter().any(|folder| has_promises(folder));
        ObjectError::Missing { id: CommitId(id).to_string(), repository: self.repository.clone(), partial }
    }

    fn damaged(&self, id: [u8; 20], reason: &str) -> ObjectError {
        let (id, repository) = (CommitId(id).to_string(), self.repository.clone());
        ObjectError::Damaged { id, repository, reason: reason.to_owned() }
    }
}

/// Returns the maximum size of objects of which this part is read.
fn limit_of(part: ReadExtent) -> u64 {
    match part {
        ReadExtent::Whole(limit) => limit,
        ReadExtent::Start(_) => MAX_OBJECT_SIZE,
    }
}

/// Reads a part of an object. Checks its size first, and that of everything that it is made of, since libgit2 reads
/// all of that.
fn read_with(
    Opened { odb, packs }: &Opened,
    (id, oid): ([u8; 20], Oid),
    part: ReadExtent,
) -> Result<Object, git2::Error> {
    let size = match packs.extent(id) {
        Ok(Some(extent)) if extent.chain > MAX_CHAIN_SIZE => return Ok(Object::Chain(extent.chain)),
        Ok(Some(extent)) => extent.size,
        Ok(None) => u64::try_from(odb.read_header(oid)?.0).unwrap_or(u64::MAX),
        Err(error) => return Ok(Object::Damaged(error.to_string())),
    };
    if size > limit_of(part) {
        return Ok(Object::TooLarge(size));
    }
    let object = odb.read(oid)?;
    let data = object.data();
    let wanted = match part {
        ReadExtent::Whole(_) => data.len(),
        ReadExtent::Start(wanted) => data.len().min(usize::try_from(wanted).unwrap_or(usize::MAX)),
    };
    Ok(Object::Content(object.kind(), data[..wanted].to_vec()))
}

/// Returns the times at which packs were last added to or removed from folders of objects.
fn pack_times(folders: &[PathBuf]) -> Vec<Option<SystemTime>> {
    let time = |folder: &PathBuf| folder.join("pack").metadata().and_then(|pack| pack.modified()).ok();
    folders.iter().map(time).collect()
}

fn open_handle(repository: &Path, folders: &[PathBuf]) -> Result<Opened, ObjectError> {
    let closed = |reason: &str| ObjectError::Closed { repository: repository.to_owned(), reason: reason.to_owned() };
    let odb = Odb::new().map_err(|error| closed(error.message()))?;
    if !folders.first().is_some_and(|own_folder| own_folder.is_dir()) {
        return Err(closed("its object folder is gone"));
    }
    for folder in folders {
        let path = folder.to_str().ok_or_else(|| closed("its path is not UTF-8"))?;
        odb.add_disk_alternate(path).map_err(|error| closed(error.message()))?;
    }
    Ok(Opened { odb, packs: Packs::open(folders) })
}

fn wrong_kind(id: [u8; 20], expected: ObjectType, found: ObjectType) -> ObjectError {
    ObjectError::WrongKind { id: CommitId(id).to_string(), expected: kind_name(expected), found: kind_name(found) }
}

fn kind_name(kind: ObjectType) -> &'static str {
    match kind {
        ObjectType::Commit => "commit",
        ObjectType::Tree => "folder",
        ObjectType::Blob => "file",
        ObjectType::Tag => "tag",
        ObjectType::Any => "object",
    }
}

/// Returns true if a pack came from a remote that left objects out.
fn has_promises(objects: &Path) -> bool {
    let Ok(files) = objects.join("pack").read_dir() else { return false };
    files.flatten().any(|file| file.path().extension().is_some_and(|extension| extension == "promisor"))
}
