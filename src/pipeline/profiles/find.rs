//! Which files the paths of node profiles mean.

use std::fs::DirEntry;
use std::path::{Component, Path, PathBuf};

use super::FindError;
use crate::git::WorkTree;
use crate::hiera::glob::{glob, is_pattern};

type Result<T> = std::result::Result<T, FindError>;

/// A profile file.
pub(super) struct Found {
    /// Where it was found.
    pub(super) path: PathBuf,
    /// The path that it has whoever asks.
    pub(super) real: PathBuf,
}

impl Found {
    fn at(path: PathBuf) -> Found {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        Found { path, real }
    }
}

/// The profile files that a path means: itself, the files below a folder, or what a glob matches.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(find(path)?.into_iter().map(|file| file.path).collect())
}

/// The same with their real paths.
pub(super) fn find(path: &Path) -> Result<Vec<Found>> {
    if path.is_dir() {
        let mut found = Vec::new();
        let real = path.canonicalize();
        let collected = real.and_then(|real| collect(path, &real, &mut found));
        collected.map_err(|e| FindError(format!("cannot read {}: {e}", path.display())))?;
        return Ok(found);
    }
    if path.exists() {
        return Ok(vec![Found::at(path.to_owned())]);
    }
    if !is_pattern(&path.to_string_lossy()) {
        let text = format!("no node profiles at {}: there is no such file or folder", path.display());
        return Err(FindError(text));
    }
    Ok(matching(path)?.into_iter().map(Found::at).collect())
}

/// The files that a glob matches.
fn matching(path: &Path) -> Result<Vec<PathBuf>> {
    // What stands before the first pattern is a folder as any other, `..` and links included.
    let plain = |part: &Component<'_>| !is_pattern(&part.as_os_str().to_string_lossy());
    let folder: PathBuf = path.components().take_while(plain).collect();
    let pattern: PathBuf = path.components().skip_while(plain).collect();
    let root = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
    let found = glob(&WorkTree::new(root), &pattern.to_string_lossy()).map_err(|e| FindError(e.to_string()))?;
    Ok(found.into_iter().map(|file| folder.join(file)).filter(|file| file.is_file()).collect())
}

/// Collects the profile files below `folder`, whose real path is `real`, in the order of their paths; what is hidden is left out, and
/// links to folders are not followed.
fn collect(folder: &Path, real: &Path, found: &mut Vec<Found>) -> std::io::Result<()> {
    let named = |entry: std::io::Result<DirEntry>| entry.map(|entry| (entry.file_name(), entry));
    let mut entries = std::fs::read_dir(folder)?.map(named).collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for (name, entry) in entries {
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let (path, kind) = (folder.join(&name), entry.file_type()?);
        if kind.is_dir() {
            collect(&path, &real.join(&name), found)?;
        } else if is_profile_file(&path) {
            if kind.is_file() {
                found.push(Found { path, real: real.join(&name) });
            } else if path.is_file() {
                found.push(Found::at(path));
            }
        }
    }
    Ok(())
}

fn is_profile_file(path: &Path) -> bool {
    let known = ["yaml", "yml", "json", "ndjson", "jsonl", "facts"];
    path.extension().is_some_and(|extension| known.iter().any(|known| extension == *known))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_a_folder_come_in_the_order_of_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/b", "a/b.c", "a-b", "a", "a.b/c", "a0", "B", "a/.c", ".d/e"] {
            let path = folder.path().join(format!("{name}.yaml"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = files(folder.path()).unwrap();
        let mut sorted = found.clone();
        sorted.sort();
        assert_eq!((found.len(), &found), (7, &sorted));
    }
}
