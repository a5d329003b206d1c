//! Writes snapshots to a folder: one file for each node, each replaced atomically, `manifest.json` last.
//!
//! The folder contains only the last snapshots: files of nodes that no longer exist, which the old manifest names,
//! are removed. Files that no manifest names are left alone.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::ops::AddAssign;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::manifest::{MANIFEST, Manifest, known_files};
use super::{Format, Snapshots, lock, threads};
use crate::disk::{FileMode, remove, replace, tidy};
use crate::visible::visible_json;
use crate::workers::Workers;

/// The files that changed in a folder, or in commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The number of files that were new or had other content.
    pub changed: usize,
    /// The number of removed files, whose nodes are gone.
    pub removed: usize,
    /// The nodes that have no snapshot, since no file can have their names.
    pub without_file: BTreeSet<Arc<str>>,
}

impl AddAssign for Written {
    fn add_assign(&mut self, more: Written) {
        self.changed += more.changed;
        self.removed += more.removed;
        self.without_file.extend(more.without_file);
    }
}

/// The maximum number of nodes that a fault names, and of characters in each name.
const MAX_NAMED: usize = 3;
const MAX_NAME: usize = 60;

impl Written {
    /// Returns the reason why some nodes have no snapshot, or `None` if all have one.
    pub fn fault(&self) -> Option<String> {
        let quoted = |name: &Arc<str>| match name.char_indices().nth(MAX_NAME) {
            Some((end, _)) => format!("'{}…'", &name[..end]),
            None => format!("'{name}'"),
        };
        let mut names: Vec<String> = self.without_file.iter().take(MAX_NAMED).map(quoted).collect();
        match self.without_file.len() {
            0 => return None,
            1 => return Some(format!("node {} has no snapshot: its name is too long for a file", names[0])),
            count if count > MAX_NAMED => names.push(format!("and {} more", count - MAX_NAMED)),
            _ => {}
        }
        Some(format!("nodes {} have no snapshots: their names are too long for files", names.join(", ")))
    }
}

/// Writes the snapshots and the manifest to `folder`, which is made if need be. A file with equal content is left
/// alone. The files do not depend on `workers`.
pub fn write_folder(
    snapshots: &Snapshots<'_>,
    mut manifest: Manifest,
    folder: &Path,
    mode: FileMode,
    workers: &Workers,
) -> io::Result<Written> {
    mode.create_folder(folder)?;
    let old = known_files(&folder.join(MANIFEST));
    let names = files_of(snapshots);
    let unnamed = Mutex::new(BTreeSet::new());
    let mark_unnamed = |node: usize| _ = lock(&unnamed).insert(snapshots.name(node).clone());
    let changed = threads::for_each_snapshot(snapshots, workers, |node, text| {
        let written = names[node].as_ref().map(|name| (name, replace(&folder.join(name), text, mode)));
        match written {
            Some((_, Ok(changed))) => return Ok(changed),
            // Some file systems accept only shorter names.
            Some((name, Err(error))) if error.kind() != ErrorKind::InvalidFilename => {
                return Err(with_file_name(name, &error));
            }
            _ => mark_unnamed(node),
        }
        Ok(false)
    })?;
    let without_file = unnamed.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Files are removed before the manifest forgets them, so that the next run makes up for an interrupted one.
    let current: BTreeSet<&String> = names.iter().flatten().collect();
    let mut removed = 0;
    for name in old.iter().filter(|name| !current.contains(name)) {
        removed += usize::from(remove(&folder.join(name)).map_err(|error| with_file_name(name, &error))?);
    }
    let nodes = (0..names.len()).map(|node| snapshots.name(node)).zip(names);
    let nodes = nodes.filter(|(node, _)| !without_file.contains(*node));
    manifest.files = nodes.filter_map(|(node, name)| Some((node.to_string(), name?))).collect();
    manifest.without_file = without_file.iter().map(ToString::to_string).collect();
    let text = serde_json::to_string_pretty(&manifest)? + "\n";
    replace(&folder.join(MANIFEST), visible_json(&text).as_bytes(), mode)
        .map_err(|error| with_file_name(MANIFEST, &error))?;
    // The snapshots are complete, even if old files of killed processes cannot be removed.
    _ = tidy(folder);
    Ok(Written { changed, removed, without_file })
}

fn with_file_name(file: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{file}: {error}"))
}

/// The longest name of a file in bytes, on nearly all systems.
const MAX_FILE_NAME: usize = 255;

/// Returns the name of the file of each node, or `None` for a name that is too long.
pub(super) fn files_of(snapshots: &Snapshots<'_>) -> Vec<Option<String>> {
    let extension = match snapshots.format {
        Format::Yaml => "yaml",
        Format::Json | Format::Ndjson => "json",
    };
    let name = |node: usize| format!("{}.{extension}", file_name(snapshots.name(node)));
    (0..snapshots.nodes.len()).map(name).map(|name| Some(name).filter(|name| name.len() <= MAX_FILE_NAME)).collect()
}

/// Escapes the bytes of a certname that a file name should not contain, such as `/` as `%2F`. No two nodes share a
/// file, and none leaves the folder.
pub fn file_name(node: &str) -> String {
    let mut name = String::new();
    for (at, c) in node.char_indices() {
        let is_reserved = at == 0 && (c == '.' || node == "manifest");
        if !is_reserved && (c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | ':' | ' ' | '+')) {
            name.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                _ = write!(name, "%{byte:02X}");
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_nodes_become_names_of_files_one_to_one() {
        assert_eq!(file_name("web01.example.com"), "web01.example.com");
        assert_eq!(file_name("a/b"), "a%2Fb");
        assert_eq!(file_name("a%2Fb"), "a%252Fb");
        assert_eq!(file_name("../x"), "%2E.%2Fx");
        assert_eq!(file_name("manifest"), "%6Danifest");
        assert_eq!(file_name("a\nb\0"), "a%0Ab%00");
        assert_eq!(file_name("åse"), "åse");
    }
}
