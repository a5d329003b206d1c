//! Tells if git tracks a file, whichever work tree it is in.

use std::io;
use std::path::{Path, PathBuf};

/// Returns true if git tracks a file or a link on the way to it, so that commits can change the file or redirect the
/// path. A work tree is recognised by its `.git`, whatever its settings say. Fails if an index cannot be read.
pub fn is_tracked(path: &Path) -> io::Result<bool> {
    // The system refuses paths with too many links, so the recursion ends.
    path.canonicalize()?;
    has_tracked_part(&std::path::absolute(path)?)
}

/// Returns true if the index of a git directory has an entry at, below or above a path from the top, or cannot be
/// read.
pub(in crate::git) fn tracks(git_dir: &Path, path: &str) -> bool {
    let Ok(index) = git2::Index::open(&git_dir.join("index")) else { return true };
    let is_in = |inner: &[u8], outer: &[u8]| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || outer.is_empty() || rest[0] == b'/')
    };
    index.iter().any(|entry| is_in(&entry.path, path.as_bytes()) || is_in(path.as_bytes(), &entry.path))
}

fn has_tracked_part(path: &Path) -> io::Result<bool> {
    for place in path.ancestors() {
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else { continue };
        let real = folder.canonicalize()?;
        let entry = real.join(name);
        let link = entry.is_symlink().then(|| entry.read_link()).transpose()?;
        if (link.is_some() || place == path) && has_entry(&entry)? {
            return Ok(true);
        }
        if let Some(link) = link
            && has_tracked_part(&real.join(link))?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a file or a link is in the index of a work tree around it. Its folder must have no links.
fn has_entry(entry: &Path) -> io::Result<bool> {
    for top in entry.ancestors().skip(1) {
        let Some(index) = index_of(top) else { continue };
        let index = git2::Index::open(&index).map_err(|error| unreadable(&index, &error))?;
        let inside = entry.strip_prefix(top).unwrap_or(entry).as_os_str().as_encoded_bytes();
        // On disks that ignore case, names that differ only in case are the same file.
        if index.iter().any(|tracked| tracked.path.eq_ignore_ascii_case(inside)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the index of the work tree at `top`, or `None` if there is none.
fn index_of(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    let git_dir = std::fs::read_to_string(&dot_git).ok();
    let git_dir = git_dir.and_then(|text| Some(top.join(text.strip_prefix("gitdir: ")?.trim_end())));
    Some(git_dir.unwrap_or(dot_git).join("index")).filter(|index| index.is_file())
}

fn unreadable(index: &Path, error: &git2::Error) -> io::Error {
    io::Error::other(format!("the index {} cannot be read: {}", index.display(), error.message()))
}
