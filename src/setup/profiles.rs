//! Finds files of node profiles in a checkout.

use std::fs;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::node::{NodeProfile, read_profiles};

/// The names of folders in which people keep facts.
const FOLDER_NAMES: [&str; 8] =
    ["profiles", "node-profiles", "node_profiles", "nodes", "facts", "factsets", "inventory", "hierad"];

/// The name of the folder in which onceover keeps facts of machines that are not nodes.
const FACTSETS: &str = "factsets";

/// The maximum depth of folders that are searched, and the maximum number of entries of one.
const MAX_DEPTH: usize = 3;
const MAX_ENTRIES: usize = 10_000;

/// The maximum number of files of a folder that are read, and the maximum size of one in bytes.
const MAX_FILES_READ: usize = 3;
const MAX_FILE_SIZE: u64 = 8 << 20;

/// A file or folder of profiles.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfilesFound {
    /// The path, relative to the top of the work tree.
    pub path: PathBuf,
    /// True if it has facts of machines that are not nodes, such as those of onceover and `FacterDB`.
    pub are_factsets: bool,
}

impl ProfilesFound {
    /// Returns the file, the folder or the glob at `path`, which is relative to `top` or absolute.
    pub fn at(top: &Path, path: &Path) -> ProfilesFound {
        let are_factsets =
            top.join(path).is_dir() && first_profiles(top, path).is_some_and(|first| are_factsets(path, &first));
        ProfilesFound { path: path.to_owned(), are_factsets }
    }
}

/// Returns the folders and files of profiles below `top`, relative to it. Reads files to leave out folders with Hiera
/// data.
pub fn profiles(top: &Path) -> Vec<ProfilesFound> {
    let mut found = Vec::new();
    search_folder(top, Path::new(""), 0, &mut found);
    found.sort();
    found
}

fn search_folder(top: &Path, folder: &Path, depth: usize, found: &mut Vec<ProfilesFound>) {
    let Ok(entries) = fs::read_dir(top.join(folder)) else { return };
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let is_list = kind.is_file() && depth < 2 && is_lines(&path) && first_profile(top, &path).is_some();
        let in_folder = if kind.is_dir() && FOLDER_NAMES.contains(&&*name) { first_profiles(top, &path) } else { None };
        if is_list {
            found.push(ProfilesFound { path, are_factsets: false });
        } else if let Some(first) = in_folder {
            let are_factsets = are_factsets(&path, &first);
            found.push(ProfilesFound { path, are_factsets });
        } else if kind.is_dir() && depth < MAX_DEPTH {
            search_folder(top, &path, depth + 1, found);
        }
    }
}

/// Returns true for files with one profile per line.
fn is_lines(path: &Path) -> bool {
    matches!(path.extension().and_then(|end| end.to_str()), Some("ndjson" | "jsonl"))
}

/// Returns true for a folder of facts of machines that are not nodes: its name says so, or its first files contain
/// only facts of one name.
fn are_factsets(folder: &Path, first: &[NodeProfile]) -> bool {
    let is_called_so = folder.file_name().is_some_and(|name| name == FACTSETS);
    let are_facts = first.iter().all(|profile| profile.variables.is_empty());
    let are_alike = first.windows(2).all(|pair| pair[0].name == pair[1].name);
    is_called_so || (first.len() > 1 && are_facts && are_alike)
}

/// Returns the first profile in each of the first files of a folder, or `None` if one of these has none.
fn first_profiles(top: &Path, folder: &Path) -> Option<Vec<NodeProfile>> {
    let entries = fs::read_dir(top.join(folder)).ok()?;
    let is_wanted = |path: &PathBuf| {
        matches!(
            path.extension().and_then(|end| end.to_str()),
            Some("yaml" | "yml" | "json" | "ndjson" | "jsonl" | "facts")
        )
    };
    let files = entries.take(MAX_ENTRIES).flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut files: Vec<PathBuf> = files.map(|entry| folder.join(entry.file_name())).filter(is_wanted).collect();
    files.sort();
    let first: Vec<NodeProfile> =
        files.iter().take(MAX_FILES_READ).map(|file| first_profile(top, file)).collect::<Option<_>>()?;
    (!first.is_empty()).then_some(first)
}

/// Returns the first profile in a file that has facts or variables, or `None` if there is none.
fn first_profile(top: &Path, file: &Path) -> Option<NodeProfile> {
    let content = disk::read_regular(&top.join(file), MAX_FILE_SIZE).ok()?;
    // Only the first line is read.
    let content =
        if is_lines(file) { content.split(|byte| *byte == b'\n').next().unwrap_or_default() } else { &content };
    let (profiles, errors) = read_profiles(content, &file.to_string_lossy(), "production");
    let has_something = |profile: &NodeProfile| !profile.facts.is_empty() || !profile.variables.is_empty();
    profiles.into_iter().find(has_something).filter(|_| errors.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_told_from_data() {
        let top = tempfile::tempdir().unwrap();
        let files = [
            ("profiles/a.yaml", "name: a\nfacts: {os: {family: Debian}}\n"),
            ("profiles/.gitkeep", ""),
            ("spec/factsets/b.json", r#"{"name": "b", "values": {"kernel": "Linux"}}"#),
            ("facts/c.json", r#"{"name": "one", "values": {"kernel": "Linux"}}"#),
            ("facts/d.json", r#"{"name": "one", "values": {"kernel": "Darwin"}}"#),
            // Two profiles of one node are a fault.
            ("inventory/e.yaml", "name: e\nvariables: {role: web}\n"),
            ("inventory/f.yaml", "name: e\nvariables: {role: db}\n"),
            ("data/nodes/a.yaml", "motd: hello\n"),
            ("data/nodes/b.yaml", "name: b\n"),
            ("nodes.ndjson", "{\"name\": \"c\", \"variables\": {\"role\": \"web\"}}\nbroken\n"),
            ("other.ndjson", "{\"motd\": 1}\n"),
            (".git/profiles/d.yaml", "name: d\nfacts: {a: 1}\n"),
        ];
        for (path, text) in files {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let expected = [
            ("facts", true),
            ("inventory", false),
            ("nodes.ndjson", false),
            ("profiles", false),
            ("spec/factsets", true),
        ];
        let expected = expected.map(|(path, are_factsets)| ProfilesFound { path: path.into(), are_factsets });
        assert_eq!(profiles(top.path()), expected);
    }
}
