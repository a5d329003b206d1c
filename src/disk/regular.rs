//! Reads files that others may have put there: regular, of a bounded size, and without waiting.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Reads a regular file of at most `limit` bytes. Fails for a pipe, a device or a folder, without waiting.
pub(super) fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read(&open_regular(path)?, limit)
}

/// Reads a regular file of at most `limit` bytes that is below `root`, with all links resolved, and not in a git
/// directory. `root` must have its links resolved, too.
pub fn read_below(root: &Path, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read(&open_below(root, path)?, limit)
}

/// Opens a regular file below `root`, with the checks of [`read_below`].
pub fn open_below(root: &Path, path: &Path) -> io::Result<File> {
    regular(open(&real_below(root, path)?, true)?)
}

/// Returns the path without links, which must be below `root` and in no git directory.
pub fn real_below(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    let inside = real.strip_prefix(root).ok();
    let is_git = |path: &Path| path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
    match inside {
        Some(inside) if !is_git(inside) => Ok(real),
        _ => Err(refused("it leads out of the tree")),
    }
}

/// Opens a regular file, wherever links lead.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    regular(open(path, false)?)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused("it is not a regular file")) }
}

fn read(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(refused("it is too large"));
    }
    Ok(content)
}

fn refused(text: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, text)
}

/// Opens a file without waiting for the other end of a pipe. If `is_real`, a link that has appeared meanwhile is an
/// error.
#[cfg(unix)]
fn open(path: &Path, is_real: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    let flags = if is_real { OFlags::NONBLOCK | OFlags::NOFOLLOW } else { OFlags::NONBLOCK };
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_small_regular_files_below_the_root_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("root");
        fs::create_dir_all(root.join(".git")).unwrap();
        for path in ["root/a", "root/.git/config", "secret"] {
            fs::write(base.join(path), "text").unwrap();
        }
        symlink("a", root.join("link")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink(".git/config", root.join("git")).unwrap();
        symlink("/dev/zero", root.join("zero")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let below = |name: &str| read_below(&root, &root.join(name), 4).map_err(|error| error.to_string());
        assert_eq!(below("a").unwrap(), b"text");
        assert_eq!(below("link").unwrap(), b"text");
        for name in ["out", "git", "zero", "../secret"] {
            assert_eq!(below(name).unwrap_err(), "it leads out of the tree", "{name}");
        }
        assert_eq!(below("pipe").unwrap_err(), "it is not a regular file");
        assert_eq!(read_below(&root, &root.join("a"), 3).unwrap_err().to_string(), "it is too large");
        assert_eq!(read_regular(&root.join("out"), 4).unwrap(), b"text");
        for name in ["zero", "pipe", ""] {
            let error = read_regular(&root.join(name), 4).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{name}");
        }
    }
}
