//! The files that keep the answers of sources.
//!
//! An answer is a file of profiles, one per line, with a hash of its content in its name and a header next to it.
//! Another header names the last answer. It is replaced last, so a reader sees either the old answer or the new one,
//! complete. The previous answer is kept for processes that still read it, as are those that have just arrived or are
//! [in use](mark_in_use).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::changes;
use super::folder::{MAX_HEADER, create_private, lock};
use crate::disk::{self, FileMode, replace_durably};
use crate::hex::Hex;
use crate::inventory::{AnswerSet, FactNames, FetchError};

/// The minimum time for which an answer is kept. Several processes may query a source at once, and each reads the
/// answer that it got.
const MIN_KEPT_TIME: Duration = Duration::from_mins(1);

/// The file that names the answers which are in use.
const IN_USE: &str = "in-use.json";

/// The header of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The source, as messages name it.
    pub source: String,
    /// The time of the fetch, in seconds since 1970.
    pub fetched: u64,
    /// The number of profiles.
    pub count: usize,
    /// The facts that were asked for.
    pub facts: FactNames,
    /// The reasons why nodes have no profile, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
    /// The name of the file of profiles.
    pub file: String,
    /// The size of that file, in bytes.
    bytes: u64,
    /// The name of the previous file, which may still be read.
    before: Option<String>,
}

/// An answer to keep.
#[derive(Debug, Default)]
pub(in crate::inventory) struct Answer {
    /// The profiles, one a line.
    pub(in crate::inventory) lines: Vec<u8>,
    /// The number of profiles.
    pub(in crate::inventory) count: usize,
    /// The facts that were asked for.
    pub(in crate::inventory) facts: FactNames,
    /// The time of the oldest profile; `None` means the present.
    pub(in crate::inventory) fetched: Option<u64>,
    /// The reasons why nodes have no profile, by their names.
    pub(in crate::inventory) failed: BTreeMap<String, String>,
}

/// An answer that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its header.
    pub header: Header,
    /// The file of profiles.
    pub path: PathBuf,
}

/// The kept answer of one source.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    /// The beginning of the names of its files.
    name: String,
}

impl Store {
    /// Returns the store of a source in `folder`, which need not exist. `identity` contains all settings that decide
    /// its answers.
    pub fn new(folder: &Path, kind: &str, identity: &str) -> Store {
        Store { folder: folder.to_owned(), name: format!("{kind}-{}", digest(identity.as_bytes())) }
    }

    /// Returns the beginning of the names of its files.
    pub(in crate::inventory) fn name(&self) -> &str {
        &self.name
    }

    fn header(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }

    /// Returns the last answer, or `None` if there is none that can be read.
    pub fn last(&self) -> Option<Stored> {
        self.read(&self.header())
    }

    /// Returns the answer in `file`, or `None` if it is no longer kept.
    pub(in crate::inventory) fn kept(&self, file: &str) -> Option<Stored> {
        let header = self.folder.join(header_name(file)?);
        self.read(&header).filter(|stored| stored.header.file == file)
    }

    fn read(&self, header: &Path) -> Option<Stored> {
        let content = disk::read_regular(header, MAX_HEADER).ok()?;
        let header: Header = serde_json::from_slice(&content).ok()?;
        let is_own = header.file.starts_with(&self.name) && !header.file.contains('/');
        let path = self.folder.join(&header.file);
        (is_own && is_whole(&path, header.bytes)).then_some(Stored { header, path })
    }

    /// Keeps an answer in place of the last one.
    pub(in crate::inventory) fn keep(&self, source: &str, answer: Answer) -> Result<Stored, FetchError> {
        let stored = self.keep_beside(source, answer)?;
        let written = serde_json::to_vec(&stored.header).map_err(io::Error::from);
        let written = written.and_then(|text| replace_durably(&self.header(), &text, FileMode::PRIVATE));
        written.map_err(|error| self.failed(error))?;
        self.remove_unused(&stored.header);
        Ok(stored)
    }

    /// Keeps an answer without making it the last one.
    pub(in crate::inventory) fn keep_beside(&self, source: &str, answer: Answer) -> Result<Stored, FetchError> {
        let Answer { lines, count, facts, fetched, failed: failed_nodes } = answer;
        let failed = |error| self.failed(error);
        create_private(&self.folder).map_err(failed)?;
        let (stem, last) = (format!("{}-{}", self.name, digest(&lines)), self.last().map(|stored| stored.header));
        let file = format!("{stem}{ANSWER}");
        let path = self.folder.join(&file);
        // The same content stays in the same file, which may be marked as in use.
        if is_whole(&path, lines.len() as u64) {
            fs::File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_modified(SystemTime::now()))
                .map_err(failed)?;
        } else {
            replace_durably(&path, &lines, FileMode::PRIVATE).map_err(failed)?;
        }
        let before = last.and_then(|last| if last.file == file { last.before } else { Some(last.file) });
        let (source, fetched) = (source.to_owned(), fetched.unwrap_or_else(now));
        let bytes = lines.len() as u64;
        let header = Header { source, fetched, count, facts, failed: failed_nodes, file, bytes, before };
        let text = serde_json::to_vec(&header).map_err(|error| failed(error.into()))?;
        replace_durably(&self.folder.join(format!("{stem}.json")), &text, FileMode::PRIVATE).map_err(failed)?;
        Ok(Stored { header, path })
    }

    fn failed(&self, source: io::Error) -> FetchError {
        FetchError::Store { path: self.folder.display().to_string(), source }
    }

    /// Removes answers that nobody reads any more.
    fn remove_unused(&self, last: &Header) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        // If it is unknown which are in use, all of them are kept.
        let Some(in_use) = in_use(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.starts_with(&self.name)) else { continue };
            let is_needed = name == last.file || Some(name) == last.before.as_deref() || in_use.contains(name);
            let Some(header) = header_name(name).filter(|_| !is_needed).map(|name| self.folder.join(name)) else {
                continue;
            };
            if !is_new(&header) && !is_new(&entry.path()) {
                _ = fs::remove_file(entry.path());
                _ = fs::remove_file(header);
            }
        }
    }
}

/// Returns true if a file has this size. A full disk or a crash may leave less.
fn is_whole(path: &Path, bytes: u64) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == bytes)
}

/// Returns true for a file that was just written, or written again with the same answer.
fn is_new(path: &Path) -> bool {
    let age =
        fs::metadata(path).and_then(|metadata| metadata.modified()).map(|time| time.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age < MIN_KEPT_TIME)
}

/// The extension of files of profiles.
const ANSWER: &str = ".ndjson";

/// Returns the name of the header that belongs to a file of profiles.
fn header_name(file: &str) -> Option<String> {
    Some(format!("{}.json", file.strip_suffix(ANSWER).filter(|stem| !stem.contains('/'))?))
}

/// Marks the answers of these sets as in use, instead of those marked before.
pub(in crate::inventory) fn mark_in_use(folder: &Path, sets: &[AnswerSet]) -> io::Result<()> {
    let files: BTreeSet<&str> = sets.iter().flat_map(AnswerSet::files).collect();
    if marked(folder).is_some_and(|known| known.iter().eq(&files)) {
        return Ok(());
    }
    create_private(folder)?;
    let _lock = lock(folder)?;
    replace_durably(&folder.join(IN_USE), &serde_json::to_vec(&files)?, FileMode::PRIVATE)
}

/// Marks the answers of a set as in use, in addition to those marked before.
pub(in crate::inventory) fn add_in_use(folder: &Path, set: &AnswerSet) -> io::Result<()> {
    let known = marked(folder);
    if known.is_some_and(|known| set.files().all(|file| known.contains(file))) {
        return Ok(());
    }
    let _lock = lock(folder)?;
    let mut files = marked(folder).unwrap_or_default();
    files.extend(set.files().map(str::to_owned));
    replace_durably(&folder.join(IN_USE), &serde_json::to_vec(&files)?, FileMode::PRIVATE)
}

/// Returns the files of answers that are in use or belong to a change of facts that is kept, or `None` if a list of
/// them cannot be read.
fn in_use(folder: &Path) -> Option<BTreeSet<String>> {
    let mut files = marked(folder)?;
    changes::noted(folder)?.iter().for_each(|change| files.extend(change.files().map(str::to_owned)));
    Some(files)
}

/// Returns the files of answers that are marked as in use, or `None` if their list cannot be read.
fn marked(folder: &Path) -> Option<BTreeSet<String>> {
    match disk::read_regular(&folder.join(IN_USE), MAX_HEADER) {
        Ok(content) => serde_json::from_slice(&content).ok(),
        Err(error) => (error.kind() == ErrorKind::NotFound).then(BTreeSet::new),
    }
}

impl Stored {
    /// Returns the time since the fetch.
    pub fn age(&self) -> Duration {
        Duration::from_secs(now().saturating_sub(self.header.fetched))
    }

    /// Returns the content: profiles, one per line. Fails if newer answers have displaced it meanwhile.
    pub(in crate::inventory) fn content(&self) -> Result<String, FetchError> {
        let failed = |source| FetchError::Store { path: self.path.display().to_string(), source };
        fs::read_to_string(&self.path).map_err(failed)
    }

    /// Returns the profile of each node that has one, on one line, by the node's name.
    pub(in crate::inventory) fn lines(&self) -> Result<BTreeMap<String, String>, FetchError> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let named = |line: &str| Some((serde_json::from_str::<Named>(line).ok()?.name, line.to_owned()));
        Ok(self.content()?.lines().filter_map(named).collect())
    }

    /// Returns the nodes that the answer does not mention.
    pub(in crate::inventory) fn missing(&self, nodes: &[Arc<str>]) -> Result<Vec<Arc<str>>, FetchError> {
        let lines = self.lines()?;
        let is_there = |node: &str| lines.contains_key(node) || self.header.failed.contains_key(node);
        Ok(nodes.iter().filter(|node| !is_there(node)).cloned().collect())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Returns a short name derived from some content.
fn digest(content: &[u8]) -> String {
    Hex(&Sha256::digest(content)[..12]).to_string()
}

/// Makes all files in a folder older than [`MIN_KEPT_TIME`].
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
pub(in crate::inventory) fn age(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let file = fs::File::options().write(true).open(entry.unwrap().path()).unwrap();
        file.set_modified(SystemTime::now() - MIN_KEPT_TIME).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_answers_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("nodes");
        let store = Store::new(&folder, "puppetdb", "a");
        assert_eq!(store.last(), None);
        let keep = |content: &str| store.keep("a", Answer { lines: content.into(), ..Answer::default() }).unwrap();
        let new = ["-1\n", "-2\n", "-3\n"].map(keep);
        assert!(new.iter().all(|stored| stored.path.exists()), "somebody may be about to read them");
        let keep = |content: &str| {
            let stored = keep(content);
            age(&folder);
            stored
        };
        age(&folder);
        let [first, second, third] = ["1\n", "2\n", "3\n"].map(keep);
        assert!(!first.path.exists() && second.path.exists());
        assert_eq!((store.last(), fs::read(&third.path).unwrap()), (Some(third.clone()), b"3\n".to_vec()));
        // The same answer again changes nothing but the time.
        assert_eq!(keep("3\n").path, third.path);
        assert!(second.path.exists());
        // One that is in use stays, with its header.
        mark_in_use(&folder, &[AnswerSet::of([("a", &*second.header.file)])]).unwrap();
        keep("4\n");
        keep("5\n");
        assert_eq!(store.kept(&second.header.file).unwrap().path, second.path);
        assert_eq!(store.kept(&third.header.file), None);
        add_in_use(&folder, &AnswerSet::of([("a", &*second.header.file)])).unwrap();
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            9,
            "three answers, a header for each and for the last, in-use and its lock"
        );
        assert_eq!(Store::new(&folder, "puppetdb", "b").last(), None, "another source");
    }

    #[test]
    fn an_answer_that_is_cut_short_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), "puppetdb", "a");
        let keep = || store.keep("a", Answer { lines: b"1\n2\n".to_vec(), ..Answer::default() }).unwrap();
        let kept = keep();
        fs::write(&kept.path, "1\n").unwrap();
        assert_eq!((store.last(), store.kept(&kept.header.file)), (None, None));
        // The same answer again makes it whole.
        assert_eq!(fs::read_to_string(keep().path).unwrap(), "1\n2\n");
        assert_eq!(store.last().unwrap().path, kept.path);
        // While it is unknown which answers are in use, none are removed.
        fs::write(folder.path().join(IN_USE), "{").unwrap();
        for line in ["3\n", "4\n", "5\n"] {
            age(folder.path());
            store.keep("a", Answer { lines: line.into(), ..Answer::default() }).unwrap();
        }
        assert!(kept.path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_answers() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("nodes");
        let stored = Store::new(&folder, "puppetdb", "a").keep("a", Answer::default()).unwrap();
        for (path, mode) in [(&folder, 0o700), (&stored.path, 0o600)] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode, "{}", path.display());
        }
    }
}
