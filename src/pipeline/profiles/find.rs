//! Which files the paths of node profiles mean.

use std::path::{Component, Path, PathBuf};

use super::FindError;
use crate::git::WorkTree;
use crate::hiera::glob::{glob, is_pattern};

type Result<T> = std::result::Result<T, FindError>;

/// The profile files that a path means: itself, the files below a folder, or what a glob matches.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_dir() {
        let mut found = Vec::new();
        collect(path, &mut found).map_err(|e| FindError(format!("cannot read {}: {e}", path.display())))?;
        found.sort();
        return Ok(found);
    }
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    if !is_pattern(&path.to_string_lossy()) {
        let text = format!("no node profiles at {}: there is no such file or folder", path.display());
        return Err(FindError(text));
    }
    matching(path)
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

/// Collects the profile files below `folder`; what is hidden is left out, and links to folders are not followed.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&path, found)?;
        } else if path.is_file() && is_profile_file(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_profile_file(path: &Path) -> bool {
    let known = ["yaml", "yml", "json", "ndjson", "jsonl", "facts"];
    path.extension().is_some_and(|extension| known.iter().any(|known| extension == *known))
}
