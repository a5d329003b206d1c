//! The settings files of the tree that the user trusts, which `hierad trust` records in the git directory.
//!
//! A record is a digest of a file's path in the tree, its content, and the files in the tree that its commands name.
//! A file is no longer trusted once any of this changes. No commit can write to the git directory.

mod programs;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::app::Result;
use crate::app::settings::Settings;
use crate::disk::{self, FileMode};
use crate::git::{Environment, Repository};
use crate::hex::Hex;
use crate::settings::{MAX_SETTINGS_SIZE, Origin, SETTINGS_FILE, SettingsFile, TreeFolder, Written};

use programs::Programs;

/// The file of the records, in the git directory that all work trees share.
const RECORDS: &str = "hierad/trusted";

/// The maximum size of the records, in bytes.
const MAX_SIZE: u64 = 64 << 20;

/// The records of a repository.
pub(super) struct TrustStore {
    file: PathBuf,
}

/// A settings file of the tree that is trusted, or was.
pub struct TrustedFile {
    /// The path in the tree.
    pub path: String,
    /// False if it has changed since, or is gone.
    pub counts: bool,
}

impl TrustStore {
    /// Finds the records. Fails if a commit of another repository could have written them.
    pub(super) fn of(repository: &Repository) -> Result<TrustStore> {
        match repository.enclosing_work_dir() {
            Some(outer) => Err(format!(
                "the git directory {} is in the work tree of {}, where a commit could forge the records of trust: move it elsewhere",
                repository.common_dir().display(),
                outer.display()
            )
            .into()),
            None => Ok(TrustStore { file: repository.common_dir().join(RECORDS) }),
        }
    }

    /// Returns true if this file of the tree is trusted in its current state.
    pub(super) fn has(&self, file: &SettingsFile) -> bool {
        // Without records nothing has to be read.
        let records = self.read().unwrap_or_default();
        !records.is_empty() && record(file).is_ok_and(|record| records.contains(&record))
    }

    fn read(&self) -> io::Result<Vec<String>> {
        match disk::read_regular(&self.file, MAX_SIZE) {
            Ok(content) => Ok(String::from_utf8_lossy(&content).lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the records of a path with `new`.
    fn replace(&self, path: &str, new: Option<String>) -> io::Result<()> {
        let mut records = self.read()?;
        records.retain(|record| path_of(record) != path);
        records.extend(new);
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let text: String = records.into_iter().map(|record| record + "\n").collect();
        disk::replace(&self.file, text.as_bytes(), FileMode::PRIVATE)?;
        Ok(())
    }
}

/// Returns the path in a record.
fn path_of(record: &str) -> &str {
    record.split_once(' ').map_or("", |(_, path)| path)
}

/// Returns the record of a file of the tree.
fn record(file: &SettingsFile) -> Result<String> {
    let Origin::Tree(place) = &file.origin else { return Err("the file is not in the tree".into()) };
    let path = path_in_tree(file, place)?;
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    };
    add(path.as_bytes());
    add(file.text.as_bytes());
    // A program of the tree may change while the settings stay.
    Programs::new(place, &mut add).add_commands(&file.commands()?)?;
    Ok(format!("{} {path}", Hex(&digest.finalize())))
}

/// Returns the path of a file from the top of the tree, on one line.
fn path_in_tree(file: &SettingsFile, place: &TreeFolder) -> Result<String> {
    let name = file.path.file_name().and_then(|name| name.to_str()).ok_or("the name of the file is not UTF-8")?;
    let folder = place.folder.to_str().ok_or("the path of the file is not UTF-8")?;
    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    Ok(path.escape_debug().to_string())
}

/// Returns the settings file of the tree at `path`, or the usual one, in the form that records use.
fn file_of_tree(repository: &Repository, path: Option<&Path>) -> Result<SettingsFile> {
    let top = repository.work_dir().ok_or("the repository has no work tree: all settings beside it are trusted")?;
    let path = path.map_or_else(|| top.join(SETTINGS_FILE), Path::to_owned);
    let root = top.canonicalize()?;
    let whole = std::path::absolute(&path)?;
    let folder = whole.parent().unwrap_or(&root).canonicalize()?;
    let Ok(folder) = folder.strip_prefix(&root) else {
        return Err(format!("{} is not in the tree: name it with --config, and it is trusted", path.display()).into());
    };
    let place = TreeFolder { folder: folder.to_owned(), root };
    let content = disk::read_below(&place.root, &path, MAX_SETTINGS_SIZE);
    Ok(SettingsFile::new(&path, content, Origin::Tree(place))?)
}

fn locate(repo: Option<&Path>) -> Result<Repository> {
    Ok(Repository::locate(repo, &Environment::of_process())?)
}

/// Records the settings file of the tree at `path`, or the usual one, as it is now. Returns its path in the tree, and
/// the settings that are in effect from now on because it is trusted.
pub fn trust(repo: Option<&Path>, path: Option<&Path>) -> Result<(String, Vec<Written>)> {
    let repository = locate(repo)?;
    let file = file_of_tree(&repository, path)?;
    Settings::combine(&[SettingsFile { origin: Origin::Trusted, ..file.clone() }])?;
    let (privileges, record) = (file.privileges()?, record(&file)?);
    TrustStore::of(&repository)?.replace(path_of(&record), Some(record.clone()))?;
    Ok((path_of(&record).to_owned(), privileges))
}

/// Forgets the settings file of the tree at `path`, or the usual one. Returns false if it was not trusted.
pub fn revoke(repo: Option<&Path>, path: Option<&Path>) -> Result<bool> {
    let repository = locate(repo)?;
    let top = repository.work_dir().ok_or("the repository has no work tree")?;
    let whole = std::path::absolute(path.map_or_else(|| top.join(SETTINGS_FILE), Path::to_owned))?;
    let folder = whole.parent().unwrap_or(top).canonicalize()?;
    let folder = folder.strip_prefix(top.canonicalize()?).map_err(|_| "the file is not in the tree")?.to_owned();
    let place = TreeFolder { root: PathBuf::new(), folder };
    let gone = SettingsFile { path: whole, text: String::new(), origin: Origin::Trusted };
    let (path, store) = (path_in_tree(&gone, &place)?, TrustStore::of(&repository)?);
    let was_trusted = store.read()?.iter().any(|record| path_of(record) == path);
    store.replace(&path, None)?;
    Ok(was_trusted)
}

/// Returns the files of the tree that were recorded.
pub fn trusted(repo: Option<&Path>) -> Result<Vec<TrustedFile>> {
    let repository = locate(repo)?;
    let top = repository.work_dir().unwrap_or(repository.git_dir()).to_owned();
    let counts = |known: &String| {
        let file = file_of_tree(&repository, Some(&top.join(path_of(known))));
        file.and_then(|file| record(&file)).is_ok_and(|record| record == *known)
    };
    let records = TrustStore::of(&repository)?.read()?;
    Ok(records.iter().map(|record| TrustedFile { path: path_of(record).to_owned(), counts: counts(record) }).collect())
}
