//! The disk as a tree: for files outside of any repository, such as the global layer and folders of modules.

mod access;
mod mode;
mod named;
mod regular;
mod replace;
mod secret;
mod stage;
mod stamp;
mod way;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use access::{can_run, can_write};
pub use mode::{FileMode, ModeError};
pub use named::{
    append_named, check_named, check_output, is_of_work_tree, leaves, look_at, look_at_checkouts, read_named,
    read_regular, write_named,
};
pub use regular::{open_below, read_below, real_below};
pub use replace::{remove, replace, replace_durably, replace_with, tidy};
pub use secret::{Secret, SecretError, read_key, read_secret, read_token};
pub use stage::{Choice, StageError, create, link, private_folder, stage};
pub use stamp::{SMALL, Stamp, identity};
pub use way::{Step, Way};

use crate::tree::{BlobId, Entry, FILE_LIMIT, FileTree, TreeError, child, folder_of, too_large};

/// The files of the machine by their absolute paths. What a folder contains is frozen when something in it is first
/// accessed, and a file's content when that file is, so that two revisions of a repository see the same state.
#[derive(Default)]
pub struct Disk {
    seen: FrozenFiles,
    folders: Mutex<HashMap<String, Option<Listing>>>,
    answers: Mutex<Answers>,
}

/// The names in a folder.
type Listing = Arc<BTreeMap<String, FileType>>;

/// All answers so far. The same question gets the same answer, and the answers are compared with the disk to see if
/// it has changed.
#[derive(Default)]
struct Answers {
    /// The kind of what is at each path, or `None` if nothing is there.
    kinds: HashMap<String, Option<FileType>>,
    links: HashMap<String, String>,
    /// The folders that were listed completely.
    listed: HashSet<String>,
}

/// The number of paths above which a view is replaced by a new one.
const MAX_ANSWERS: usize = 500_000;

impl Disk {
    /// Makes a view of the disk in which nothing has been accessed yet.
    pub fn new() -> Disk {
        Disk::default()
    }

    /// Returns true if everything that was accessed is unchanged, and the view is not so large that a new one would
    /// be better. What is accessed later is then read as it is from now on.
    pub fn is_current(&self) -> bool {
        let answers = self.lock();
        if answers.kinds.len() > MAX_ANSWERS {
            return false;
        }
        let kind = |path: &str| fs::symlink_metadata(path).map(|metadata| metadata.file_type()).ok();
        let link = |path: &str| read_link(path).ok();
        let is_current = answers.kinds.iter().all(|(path, known)| kind(path) == *known)
            && answers.links.iter().all(|(path, known)| link(path).as_ref() == Some(known))
            && answers.listed.iter().all(|path| self.folder(path).as_deref() == listing(path).ok().as_ref())
            && self.seen.is_unchanged();
        if is_current {
            // Names that nobody has asked for yet were not compared.
            self.folders().retain(|path, _| answers.listed.contains(path));
        }
        is_current
    }

    /// Returns true if nothing was accessed.
    pub fn is_untouched(&self) -> bool {
        let answers = self.lock();
        answers.kinds.is_empty() && answers.links.is_empty() && answers.listed.is_empty()
    }

    /// Returns the names in a folder, or `None` if it cannot be listed.
    fn folder(&self, path: &str) -> Option<Listing> {
        if let Some(listing) = self.folders().get(path) {
            return listing.clone();
        }
        let listing = listing(path).ok().map(Arc::new);
        self.folders().entry(path.to_owned()).or_insert(listing).clone()
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<String, Option<Listing>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the kind of file at a path, or `None` if there is nothing.
    fn kind(&self, path: &str) -> io::Result<Option<FileType>> {
        if let Some(known) = self.lock().kinds.get(path) {
            return Ok(*known);
        }
        let listing = path.rsplit_once('/').and_then(|(_, name)| Some((self.folder(folder_of(path))?, name)));
        let kind = match listing.filter(|(_, name)| !name.is_empty()) {
            Some((listing, name)) => listing.get(name).copied(),
            None => match fs::symlink_metadata(path) {
                Err(error) if is_absence(&error) => None,
                metadata => Some(metadata?.file_type()),
            },
        };
        Ok(*self.lock().kinds.entry(path.to_owned()).or_insert(kind))
    }

    fn link(&self, path: &str) -> io::Result<String> {
        if let Some(known) = self.lock().links.get(path) {
            return Ok(known.clone());
        }
        let target = read_link(path)?;
        Ok(self.lock().links.entry(path.to_owned()).or_insert(target).clone())
    }

    /// Returns the entry at a path; a link may lead anywhere.
    fn any_entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        match self.kind(path).and_then(|kind| kind.map_or(Ok(None), |kind| self.entry_of(path, kind))) {
            Err(error) if is_absence(&error) => Ok(None),
            entry => entry.map_err(|error| failed(path, &error)),
        }
    }

    fn entry_of(&self, path: &str, kind: FileType) -> io::Result<Option<Entry>> {
        Ok(if kind.is_symlink() {
            Some(Entry::Link(self.link(path)?))
        } else if kind.is_dir() {
            Some(Entry::Folder)
        } else if kind.is_file() {
            Some(Entry::File(self.seen.file(path, Path::new(path))?))
        } else {
            None // sockets, pipes and devices hold no data
        })
    }
}

fn read_link(path: &str) -> io::Result<String> {
    Ok(fs::read_link(path)?.to_string_lossy().into_owned())
}

fn listing(path: &str) -> io::Result<BTreeMap<String, FileType>> {
    let name = |file: io::Result<fs::DirEntry>| {
        let file = file?;
        Ok((file.file_name().to_string_lossy().into_owned(), file.file_type()?))
    };
    fs::read_dir(path)?.map(name).collect()
}

impl FileTree for Disk {
    fn root(&self) -> &'static str {
        "/"
    }

    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        let entry = self.any_entry(path)?;
        if let Some(Entry::Link(_)) = entry {
            named::check_link(Path::new(path)).map_err(|error| failed(path, &error))?;
        }
        Ok(entry)
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        self.lock().listed.insert(path.to_owned());
        let Some(listing) = self.folder(path) else {
            return match listing(path) {
                Err(error) if !is_absence(&error) => Err(failed(path, &error)),
                _ => Ok(Vec::new()),
            };
        };
        // Links that nobody follows do no harm.
        let entry = |name: &String| Ok(self.any_entry(&child(path, name))?.map(|entry| (name.clone(), entry)));
        let entries = listing.keys().map(entry);
        entries.filter_map(Result::transpose).collect()
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.seen.read(id)
    }
}

/// The content of files on disk as it was when they were first read, so that an edit meanwhile cannot mix two states of
/// one file.
pub struct FrozenFiles {
    seen: Mutex<Seen>,
    /// The size of the largest file that is read.
    limit: u64,
}

impl Default for FrozenFiles {
    fn default() -> FrozenFiles {
        FrozenFiles { seen: Mutex::default(), limit: FILE_LIMIT }
    }
}

#[derive(Default)]
struct Seen {
    files: HashMap<String, SeenFile>,
    contents: HashMap<BlobId, Content>,
}

/// A file as it was when it was read.
struct SeenFile {
    id: BlobId,
    disk: PathBuf,
    stamp: Stamp,
    /// True if no change since then can have left the stamp as it was.
    is_settled: bool,
}

#[derive(Clone)]
enum Content {
    InMemory(Arc<[u8]>),
    /// Too large to keep: read again when it is asked for.
    OnDisk(PathBuf),
    /// Too large to read, with its size in bytes.
    TooLarge(u64),
}

/// Files above this size are not kept in memory.
const IN_MEMORY_SIZE: usize = 16 << 20;

impl FrozenFiles {
    /// Returns an empty store that will not read files of more than `limit` bytes.
    pub fn of_at_most(limit: u64) -> FrozenFiles {
        FrozenFiles { limit, ..FrozenFiles::default() }
    }

    /// Returns the id of the file at `path`, which is at `disk` on disk, and keeps its content.
    pub fn file(&self, path: &str, disk: &Path) -> io::Result<BlobId> {
        if let Some(file) = self.lock().files.get(path) {
            return Ok(file.id);
        }
        let (read, content) = self.content_of(disk)?;
        let mut seen = self.lock();
        let id = seen.files.entry(path.to_owned()).or_insert(read).id;
        seen.contents.entry(id).or_insert(content);
        Ok(id)
    }

    /// Returns the state and the content of the file at `disk`. A file that is too large has an id of its own that
    /// stands for its size.
    fn content_of(&self, disk: &Path) -> io::Result<(SeenFile, Content)> {
        // Taken before the content is read, so that a change in between is noticed later.
        let stamp = Stamp::of(&fs::metadata(disk)?);
        let (size, is_settled) = (stamp.size(), stamp.is_settled());
        let file = |id| SeenFile { id, disk: disk.to_owned(), stamp, is_settled };
        if size > self.limit {
            let id = BlobId::of(format!("a file of {size} bytes, too large").as_bytes());
            return Ok((file(id), Content::TooLarge(size)));
        }
        let content = regular::read_regular(disk, self.limit)?;
        let id = BlobId::of(&content);
        let is_large = content.len() > IN_MEMORY_SIZE;
        Ok((file(id), if is_large { Content::OnDisk(disk.to_owned()) } else { Content::InMemory(content.into()) }))
    }

    /// Returns true if the files that were read are unchanged. Contents are compared if they are small in total.
    fn is_unchanged(&self) -> bool {
        let seen = self.lock();
        let is_small = seen.files.values().map(|file| file.stamp.size()).sum::<u64>() <= SMALL;
        let is_same = |file: &SeenFile| {
            if is_small {
                regular::read_regular(&file.disk, self.limit).is_ok_and(|content| BlobId::of(&content) == file.id)
            } else {
                file.is_settled || !file.stamp.is_settled()
            }
        };
        seen.files.values().all(|file| Stamp::at(&file.disk) == Some(file.stamp) && is_same(file))
    }

    /// Returns true for an id that [`FrozenFiles::file`] returned.
    pub fn has(&self, id: BlobId) -> bool {
        self.lock().contents.contains_key(&id)
    }

    /// Returns the content with an id that [`FrozenFiles::file`] returned.
    pub fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let content = self.lock().contents.get(&id).cloned();
        let reason = match content {
            Some(Content::InMemory(content)) => return Ok(content.to_vec()),
            Some(Content::TooLarge(size)) => {
                return Err(TreeError::too_large(id.to_string(), too_large(size, self.limit)));
            }
            Some(Content::OnDisk(disk)) => match regular::read_regular(&disk, self.limit) {
                Ok(content) if BlobId::of(&content) == id => return Ok(content),
                Ok(_) => format!("{} has changed meanwhile", disk.display()),
                Err(error) => error.to_string(),
            },
            None => "no such content on disk".to_owned(),
        };
        Err(TreeError::new(id.to_string(), reason))
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if an error of the disk means that nothing is there, or can be: a name may be too long.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// Converts an error of the disk about `path`.
pub(crate) fn failed(path: &str, error: &io::Error) -> TreeError {
    TreeError::new(if path.is_empty() { "." } else { path }, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Target, follow};

    #[test]
    #[cfg(unix)]
    fn links_lead_anywhere_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
        fs::create_dir(at("data")).unwrap();
        fs::write(at("data/a.yaml"), "a: 1\n").unwrap();
        std::os::unix::fs::symlink(at("data"), at("absolute")).unwrap();
        std::os::unix::fs::symlink("/../../..", at("data/top")).unwrap();
        let disk = Disk::new();
        let file = Target::File(at("data/a.yaml"), BlobId::of(b"a: 1\n"));
        assert_eq!(follow(&disk, &at("absolute/a.yaml")).unwrap(), file);
        assert_eq!(follow(&disk, &at(&format!("data/top{}", at("data/a.yaml")))).unwrap(), file);
        assert_eq!(follow(&disk, &at("data/none.yaml")).unwrap(), Target::Absent);
        assert_eq!(follow(&disk, &at("data/a.yaml/x")).unwrap(), Target::Absent);
        assert_eq!(disk.list(&at("data")).unwrap().len(), 2);
        assert_eq!(disk.list(&at("data/a.yaml")).unwrap(), []);
        assert_eq!(disk.entry("/").unwrap(), Some(Entry::Folder));
        // Content that was read once stays, and nothing is added.
        fs::write(at("data/none.yaml"), "a: 1\n").unwrap();
        assert_eq!(follow(&disk, &at("data/none.yaml")).unwrap(), Target::Absent);
        fs::write(at("data/a.yaml"), "a: 2\n").unwrap();
        assert_eq!(follow(&disk, &at("data/a.yaml")).unwrap(), file);
        assert_eq!(disk.read(BlobId::of(b"a: 1\n")).unwrap(), b"a: 1\n");
    }

    #[test]
    #[cfg(unix)]
    fn changes_of_what_was_accessed_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let link = |to: &str| {
            _ = fs::remove_file(at("link"));
            std::os::unix::fs::symlink(to, at("link")).unwrap();
        };
        fs::create_dir(at("data")).unwrap();
        fs::write(at("data/a.yaml"), "a: 1\n").unwrap();
        link("data");
        let seen = |ask: &dyn Fn(&Disk)| {
            let disk = Disk::new();
            ask(&disk);
            assert!(disk.is_current());
            disk
        };
        let file = || seen(&|disk| _ = follow(disk, &at("data/a.yaml")).unwrap());
        // The same size, and likely the same time.
        let disk = file();
        fs::write(at("data/a.yaml"), "a: 2\n").unwrap();
        assert!(!disk.is_current());
        let (disk, times) = (file(), fs::metadata(at("data/a.yaml")).unwrap().modified().unwrap());
        fs::write(at("data/b.yaml"), "a: 3\n").unwrap();
        assert!(disk.is_current(), "nobody has asked for it");
        assert_ne!(follow(&disk, &at("data/b.yaml")).unwrap(), Target::Absent, "it was there at the last look");
        fs::rename(at("data/b.yaml"), at("data/a.yaml")).unwrap();
        fs::File::options().write(true).open(at("data/a.yaml")).unwrap().set_modified(times).unwrap();
        assert!(!disk.is_current());
        let disk = seen(&|disk| _ = disk.list(&at("data")).unwrap());
        fs::write(at("data/b.yaml"), "").unwrap();
        assert!(!disk.is_current());
        let disk = seen(&|disk| assert_eq!(follow(disk, &at("data/c/d.yaml")).unwrap(), Target::Absent));
        fs::create_dir(at("data/c")).unwrap();
        assert!(!disk.is_current());
        let disk = seen(&|disk| _ = follow(disk, &at("link")).unwrap());
        link("elsewhere");
        assert_eq!(follow(&disk, &at("link")).unwrap(), Target::Folder(at("data")), "it stays until somebody looks");
        assert!(!disk.is_current());
    }
}
