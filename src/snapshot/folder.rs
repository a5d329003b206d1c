//! Writes snapshots to a folder: one file for each node, each replaced atomically, `manifest.json` last.
//!
//! The folder holds just the last snapshots: files of nodes that are gone, which the old manifest names, are removed.
//! Files that no manifest names are left alone.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::ops::AddAssign;
use std::path::Path;

use super::manifest::{MANIFEST, Manifest, known_files};
use super::replace::{remove, replace, tidy};
use super::{Format, Snapshots, threads};
use crate::visible::visible_json;
use crate::workers::Workers;

/// The numbers of files that changed in a folder, or in commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// The number of files that were new or had other content.
    pub changed: usize,
    /// The number of removed files, whose nodes are gone.
    pub removed: usize,
}

impl AddAssign for Written {
    fn add_assign(&mut self, more: Written) {
        self.changed += more.changed;
        self.removed += more.removed;
    }
}

/// Writes the snapshots and the manifest to `folder`, which is made if need be. A file with equal content is left
/// alone. The files do not depend on `workers`.
pub fn write_folder(
    snapshots: &Snapshots<'_>,
    mut manifest: Manifest,
    folder: &Path,
    workers: &Workers,
) -> io::Result<Written> {
    fs::create_dir_all(folder)?;
    let old = known_files(&folder.join(MANIFEST));
    let names: Vec<String> = (0..snapshots.nodes.len()).map(|node| file_of(snapshots, node)).collect();
    let changed = threads::each(snapshots, workers, |node, text| {
        let name = &names[node];
        replace(&folder.join(name), text).map_err(|error| named(name, &error))
    })?;
    // Files are removed before the manifest forgets them, so that the next run makes up for an interrupted one.
    let kept: BTreeSet<&String> = names.iter().collect();
    let mut removed = 0;
    for name in old.iter().filter(|name| !kept.contains(name)) {
        removed += usize::from(remove(&folder.join(name)).map_err(|error| named(name, &error))?);
    }
    let nodes = (0..names.len()).map(|node| snapshots.name(node).to_string());
    manifest.files = nodes.zip(names).collect();
    let text = serde_json::to_string_pretty(&manifest)? + "\n";
    replace(&folder.join(MANIFEST), visible_json(&text).as_bytes()).map_err(|error| named(MANIFEST, &error))?;
    // The snapshots are complete, even if old files of killed processes cannot be removed.
    _ = tidy(folder);
    Ok(Written { changed, removed })
}

fn named(file: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{file}: {error}"))
}

/// Returns the name of a node's file.
pub(super) fn file_of(snapshots: &Snapshots<'_>, node: usize) -> String {
    let extension = match snapshots.format {
        Format::Yaml => "yaml",
        Format::Json | Format::Ndjson => "json",
    };
    format!("{}.{extension}", file_name(snapshots.name(node)))
}

/// Escapes the bytes of a certname that are not fit for a file name, such as `%2F`. No two nodes share a file, and none
/// leaves the folder.
pub fn file_name(node: &str) -> String {
    let mut name = String::new();
    for (at, c) in node.char_indices() {
        let leads = at == 0 && (c == '.' || node == "manifest");
        if !leads && (c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | ':' | ' ' | '+')) {
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
