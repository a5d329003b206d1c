//! Files at paths that the user names.
//!
//! In a work tree that hierad examines, a commit may have put a link where the user, or a recipe for CI, names a
//! file. So named paths are confined there: a link that leads out of the work tree or into its git directory is
//! refused, and nothing is written through any link. Paths elsewhere, what no commit writes (`.git`), pipes and
//! devices are the user's own.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use super::regular;

/// The confined work trees, with links resolved.
static WORK_TREES: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// Finds the top of a git directory's checkout at or above a folder.
type FindCheckout = fn(&Path, &Path) -> Option<PathBuf>;

/// Git directories whose checkouts are confined, wherever they are.
static CHECKOUTS: RwLock<Vec<(PathBuf, FindCheckout)>> = RwLock::new(Vec::new());

/// Confines named paths to the work tree at `top`.
pub fn look_at(top: &Path) {
    let Ok(real) = top.canonicalize() else { return };
    let mut known = WORK_TREES.write().unwrap_or_else(PoisonError::into_inner);
    if !known.contains(&real) {
        known.push(real);
    }
}

/// Confines named paths to everything that the git directory at `git_dir` has checked out, anywhere: `find` returns
/// the top of the checkout that contains a folder.
pub fn look_at_checkouts(git_dir: &Path, find: FindCheckout) {
    let mut known = CHECKOUTS.write().unwrap_or_else(PoisonError::into_inner);
    if known.iter().all(|(known, _)| known != git_dir) {
        known.push((git_dir.to_owned(), find));
    }
}

/// Returns the confined work tree in which commits may write a path, which must contain no links.
fn enclosing_work_tree(real: &Path) -> Option<PathBuf> {
    let known = WORK_TREES.read().unwrap_or_else(PoisonError::into_inner);
    let checkouts = CHECKOUTS.read().unwrap_or_else(PoisonError::into_inner);
    let found = checkouts.iter().filter_map(|(git_dir, find)| find(git_dir, real));
    let tops = known.iter().filter(|top| real.starts_with(top)).cloned().chain(found);
    let top = tops.max_by_key(|top| top.as_os_str().len())?;
    is_writable_by_commits(&top, real).then_some(top)
}

/// Returns true if commits may write a path without links in a work tree.
fn is_writable_by_commits(top: &Path, real: &Path) -> bool {
    real.strip_prefix(top).is_ok_and(|inside| !inside.components().any(|part| is_git(part.as_os_str())))
}

fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Returns true if links lead from a place in a confined work tree out of it, or into its git directory. Both paths
/// must contain no links.
pub fn leaves(from: &Path, to: &Path) -> bool {
    enclosing_work_tree(from).is_some_and(|top| !is_writable_by_commits(&top, to))
}

/// Fails if the link at a path leads out of a confined work tree. The path's folder must contain no links.
pub(super) fn check_link(path: &Path) -> io::Result<()> {
    match (path.parent(), path.canonicalize()) {
        (Some(folder), Ok(real)) if leaves(folder, &real) => Err(refused(path, LEADS_OUT)),
        _ => Ok(()),
    }
}

/// The reason for refusing a link.
const LEADS_OUT: &str = "leads out of the work tree by a link, which a commit may have made";

/// Returns the confined work tree in which commits may write the named path. Fails if a link on the way leads out of
/// it.
fn checked_work_tree(path: &Path) -> io::Result<Option<PathBuf>> {
    let absolute = std::path::absolute(path)?;
    let (mut place, mut inside) = (PathBuf::new(), None);
    for part in absolute.components() {
        match part {
            // `..` may leave on purpose. After a link it is the folder above the link's target, as the system
            // resolves it.
            Component::ParentDir => {
                place = place.canonicalize().unwrap_or(place);
                place.pop();
                inside = enclosing_work_tree(&place);
                continue;
            }
            part => place.push(part),
        }
        let Ok(kind) = place.symlink_metadata() else { break };
        let real = place.canonicalize();
        let is_link = kind.is_symlink() && !is_git(part.as_os_str());
        match &inside {
            Some(top) if is_link && !real.as_ref().is_ok_and(|real| is_writable_by_commits(top, real)) => {
                return Err(refused(path, LEADS_OUT));
            }
            _ => inside = real.map_or(inside, |real| enclosing_work_tree(&real)),
        }
    }
    Ok(inside)
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("{} {why}", path.display()))
}

/// Fails if a link in the named path leads out of a confined work tree.
pub fn check_named(path: &Path) -> io::Result<()> {
    checked_work_tree(path).map(drop)
}

/// Returns true if commits may write the named path, in a confined work tree. Fails like [`check_named`].
pub fn is_of_work_tree(path: &Path) -> io::Result<bool> {
    Ok(checked_work_tree(path)?.is_some())
}

/// Reads a named regular file of at most `limit` bytes. Fails for a pipe, a device or a folder, without waiting.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    check_named(path)?;
    regular::read_regular(path, limit)
}

/// Reads a named file, whatever it is.
pub fn read_named(path: &Path) -> io::Result<Vec<u8>> {
    check_named(path)?;
    fs::read(path)
}

/// Fails if the named path would be written through a link of a confined work tree.
pub fn check_output(path: &Path) -> io::Result<()> {
    // With a slash at the end, the link would be followed.
    let plain: PathBuf = path.components().collect();
    let is_link = plain.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if checked_work_tree(path)?.is_some() && is_link {
        return Err(refused(path, "is a link, which a commit may have made: nothing is written through it"));
    }
    Ok(())
}

/// Opens a named file for appending.
pub fn append_named(path: &Path) -> io::Result<File> {
    check_output(path)?;
    OpenOptions::new().append(true).create(true).open(path)
}

/// Writes a named file, replacing its content.
pub fn write_named(path: &Path, content: &[u8]) -> io::Result<()> {
    check_output(path)?;
    OpenOptions::new().write(true).create(true).truncate(true).open(path)?.write_all(content)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_leads_out_of_a_work_tree() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let tree = base.join("tree");
        for name in ["tree/sub", "tree/.git", "other"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        for name in ["tree/a", "tree/sub/b", "other/c"] {
            fs::write(base.join(name), "text").unwrap();
        }
        symlink("../other/c", tree.join("out")).unwrap();
        symlink("../other", tree.join("outer")).unwrap();
        symlink("../other/new", tree.join("dangling")).unwrap();
        symlink("sub/b", tree.join("in")).unwrap();
        symlink("../../other/c", tree.join("sub/out")).unwrap();
        symlink("../../other/c", tree.join("sub/only")).unwrap();
        fs::create_dir(tree.join("sub/deep")).unwrap();
        symlink("sub/deep", tree.join("deep")).unwrap();
        symlink(&tree, base.join("entry")).unwrap();
        fs::write(tree.join(".git/config"), "text").unwrap();
        symlink(".git/config", tree.join("config")).unwrap();
        symlink(".git", tree.join("git")).unwrap();
        symlink("../../other/c", tree.join(".git/own")).unwrap();
        symlink("../other/c", base.join("other/own")).unwrap();
        look_at(&tree);
        let is_read = |name: &str| read_named(&base.join(name)).is_ok();
        for name in [
            "tree/a",
            "tree/in",
            "tree/../other/c",
            "entry/a",
            "other/c",
            "other/own",
            "tree/sub/../a",
            "tree/deep/../b",
            "tree/.git/config",
            "tree/.git/own",
        ] {
            assert!(is_read(name), "{name}");
        }
        for name in [
            "tree/out",
            "tree/outer/c",
            "tree/sub/out",
            "entry/out",
            "entry/outer/c",
            "tree/sub/../out",
            "tree/deep/../only",
            "tree/config",
            "tree/git/config",
        ] {
            assert!(!is_read(name) && read_regular(&base.join(name), 9).is_err(), "{name}");
        }
        let write = |name: &str| write_named(&base.join(name), b"new");
        let append = |name: &str| append_named(&base.join(name)).map(drop);
        for name in [
            "tree/out",
            "tree/outer/new",
            "tree/dangling",
            "entry/dangling",
            "tree/in",
            "tree/sub/out",
            "tree/deep/../only",
            "tree/git/hooks",
            "tree/config",
        ] {
            assert!(write(name).is_err() && append(name).is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(base.join("other/c")).unwrap(), "text");
        assert!(!base.join("other/new").exists());
        for name in ["tree/a", "tree/new", "entry/sub/new", "other/own", "tree/../other/new"] {
            assert!(append(name).is_ok() && write(name).is_ok(), "{name}");
        }
    }
}
