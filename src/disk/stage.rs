//! Writes files of a tree to a private folder, for other programs to read.
//!
//! This is the only place that creates files with names from a stranger. Nothing is overwritten or written through a
//! link, so everything stays in the folder.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::TempDir;

use crate::tree::{Entry, FileTree, TreeError, child};

/// A failure to write.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The tree cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A file cannot be written.
    #[error("{path}: {error}")]
    Disk {
        /// The path in the tree.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// A name cannot be that of an entry of its folder, such as `..`.
    #[error("{0} is not a valid file name")]
    Name(String),
    /// The caller, which chooses what is written, has refused.
    #[error("{0}")]
    Refused(String),
}

/// The part of an entry that is written.
#[derive(Debug)]
pub enum Choice {
    /// Nothing.
    Nothing,
    /// The entry. A folder is written with the entries chosen in it; a submodule is not written.
    Entry,
    /// This content in place of the file's own.
    Content(Vec<u8>),
}

/// Writes the entries of the folder `from` of a tree to `to`, which is created if missing. `choose` is called for
/// each entry, with its path in the tree and the path to write it to. Links are written as they are.
pub fn stage(
    tree: &dyn FileTree,
    from: &str,
    to: &Path,
    choose: &mut dyn FnMut(&str, &Entry, &Path) -> Result<Choice, StageError>,
) -> Result<(), StageError> {
    if !to.is_dir() {
        fs::create_dir_all(to).map_err(|error| failed(from, error))?;
    }
    for (name, entry) in tree.list(from)? {
        let path = child(from, &name);
        if matches!(&*name, "" | "." | "..") || name.contains(['/', '\0']) {
            return Err(StageError::Name(path));
        }
        let target = to.join(&name);
        let written = choose(&path, &entry, &target)?;
        match (written, entry) {
            (Choice::Nothing, _) | (_, Entry::Submodule(_)) => {}
            (Choice::Content(content), _) => create(&target, &content).map_err(|error| failed(&path, error))?,
            (Choice::Entry, Entry::File(id)) => {
                create(&target, &tree.read(id)?).map_err(|error| failed(&path, error))?;
            }
            (Choice::Entry, Entry::Link(to)) => link(&to, &target).map_err(|error| failed(&path, error))?,
            (Choice::Entry, Entry::Folder) => {
                fs::create_dir(&target).map_err(|error| failed(&path, error))?;
                stage(tree, &path, &target, choose)?;
            }
        }
    }
    Ok(())
}

fn failed(path: &str, error: io::Error) -> StageError {
    StageError::Disk { path: path.to_owned(), error }
}

/// Makes a temporary folder that only its owner can access, whatever the umask of the process.
pub fn private_folder(prefix: &str) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix(prefix).tempdir()
}

/// Writes a new file. Fails if something exists at `path`.
pub fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(content)
}

/// Makes a symbolic link.
#[cfg(unix)]
pub fn link(to: &str, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

/// Fails, since links work differently here.
#[cfg(not(unix))]
pub fn link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::Error::other("links are not written on this system"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::BlobId;

    /// A tree of one folder, with any names.
    struct Odd(Vec<(&'static str, Entry)>);

    impl FileTree for Odd {
        fn entry(&self, _: &str) -> Result<Option<Entry>, TreeError> {
            Ok(None)
        }

        fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
            let file = ("in-folder", Entry::File(BlobId([0; 20])));
            let all = if path.is_empty() { &self.0[..] } else { &[file][..] };
            Ok(all.iter().map(|(name, entry)| ((*name).to_owned(), entry.clone())).collect())
        }

        fn read(&self, _: BlobId) -> Result<Vec<u8>, TreeError> {
            Ok(b"content".to_vec())
        }
    }

    #[test]
    fn nothing_is_written_outside_or_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (stage_at, victim) = (folder.path().join("a/stage"), folder.path().join("victim"));
        fs::create_dir(&victim).unwrap();
        let absolute: &'static str = victim.join("x").display().to_string().leak();
        let file = || Entry::File(BlobId([0; 20]));
        let link_to = |path: &Path| Entry::Link(path.display().to_string());
        let trees = [
            vec![(absolute, file())],
            vec![(absolute, Entry::Folder)],
            vec![("../../victim/x", file())],
            vec![("..", Entry::Folder)],
            vec![("", Entry::Folder)],
            vec![("x", link_to(&victim.join("x"))), ("x", file())],
            vec![("x", link_to(&victim)), ("x", Entry::Folder)],
        ];
        for tree in trees {
            fs::create_dir_all(&stage_at).unwrap();
            let all = &mut |_: &str, _: &Entry, _: &Path| Ok(Choice::Entry);
            assert!(stage(&Odd(tree.clone()), "", &stage_at, all).is_err(), "{tree:?}");
            assert_eq!(fs::read_dir(&victim).unwrap().count(), 0, "{tree:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{tree:?}");
            fs::remove_dir_all(folder.path().join("a")).unwrap();
        }
    }
}
