//! The node profiles that settings and flags name: which files they mean, and what is in them.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::Result;
use crate::git::WorkTree;
use crate::hiera::glob::{glob, is_pattern};
use crate::node::{NodeProfile, ProfileError, read_profiles};

/// Profiles that were read, and what was wrong with others.
#[derive(Default)]
pub(super) struct Profiles {
    pub(super) nodes: Vec<NodeProfile>,
    pub(super) errors: Vec<ProfileError>,
}

/// Reads the profiles at `paths`; `environment` is for those that name none. A node that two files declare is an error of the
/// first one, which does not count.
pub(super) fn read(paths: &[PathBuf], environment: &str) -> Result<Profiles> {
    let mut read = Profiles::default();
    let mut declared: HashMap<Arc<str>, String> = HashMap::new();
    let mut seen = HashSet::new();
    for path in paths {
        for file in files(path)? {
            // Two paths may mean the same file.
            if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
                continue;
            }
            let shown = file.display().to_string();
            let content = std::fs::read(&file).map_err(|e| format!("cannot read {shown}: {e}"))?;
            let (profiles, errors) = read_profiles(&content, &shown, environment);
            for profile in &profiles {
                if let Some(earlier) = declared.insert(profile.name.clone(), shown.clone()) {
                    let text = format!("node {} is declared again in {shown}, and that counts", profile.name);
                    read.errors.push(ProfileError { path: earlier, line: 1, text });
                }
            }
            read.nodes.extend(profiles);
            read.errors.extend(errors);
        }
    }
    Ok(read)
}

/// The profile files that a path means: itself, the files below a folder, or what a glob matches.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_dir() {
        let mut found = Vec::new();
        collect(path, &mut found).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        found.sort();
        return Ok(found);
    }
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    if !is_pattern(&path.to_string_lossy()) {
        return Err(format!("no node profiles at {}: there is no such file or folder", path.display()).into());
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
    let found = glob(&WorkTree::new(root), &pattern.to_string_lossy())?;
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
