//! Finds files of node profiles in a checkout.

use std::fs;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::node::read_profiles;

/// The names of folders in which people keep facts.
const NAMES: [&str; 8] =
    ["profiles", "node-profiles", "node_profiles", "nodes", "facts", "factsets", "inventory", "hierad"];

/// The deepest folder that is looked at, and the most entries of one.
const DEPTH: usize = 3;
const ENTRIES: usize = 10_000;

/// The most files of a folder that are read, and the most bytes of one.
const READ: usize = 3;
const SIZE: u64 = 8 << 20;

/// Returns the folders and files of profiles below `top`, relative to it. Folders with data of Hiera are none: what is
/// there is read.
pub fn profiles(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    look(top, Path::new(""), 0, &mut found);
    found.sort();
    found
}

fn look(top: &Path, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(top.join(folder)) else { return };
    for entry in entries.take(ENTRIES).flatten() {
        let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let is_list = kind.is_file() && depth < 2 && is_lines(&path) && has_profile(top, &path);
        if is_list || (kind.is_dir() && NAMES.contains(&&*name) && are_profiles(top, &path)) {
            found.push(path);
        } else if kind.is_dir() && depth < DEPTH {
            look(top, &path, depth + 1, found);
        }
    }
}

/// Returns true for files with a profile a line.
fn is_lines(path: &Path) -> bool {
    matches!(path.extension().and_then(|end| end.to_str()), Some("ndjson" | "jsonl"))
}

/// Returns true if the first files of a folder are profiles, and there is one.
fn are_profiles(top: &Path, folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(top.join(folder)) else { return false };
    let is_wanted = |path: &PathBuf| {
        matches!(
            path.extension().and_then(|end| end.to_str()),
            Some("yaml" | "yml" | "json" | "ndjson" | "jsonl" | "facts")
        )
    };
    let files = entries.take(ENTRIES).flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut files: Vec<PathBuf> = files.map(|entry| folder.join(entry.file_name())).filter(is_wanted).collect();
    files.sort();
    !files.is_empty() && files.iter().take(READ).all(|file| has_profile(top, file))
}

fn has_profile(top: &Path, file: &Path) -> bool {
    let Ok(content) = disk::read_regular(&top.join(file), SIZE) else { return false };
    // The first line stands for all.
    let content =
        if is_lines(file) { content.split(|byte| *byte == b'\n').next().unwrap_or_default() } else { &content };
    let (profiles, errors) = read_profiles(content, &file.to_string_lossy(), "production");
    errors.is_empty() && profiles.iter().any(|profile| !profile.facts.is_empty() || !profile.variables.is_empty())
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
        assert_eq!(profiles(top.path()), ["nodes.ndjson", "profiles", "spec/factsets"].map(PathBuf::from));
    }
}
