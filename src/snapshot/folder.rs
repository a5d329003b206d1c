//! Snapshots in a folder: a file a node, each replaced atomically, `manifest.json` last.
//!
//! The folder holds just what was written last: files of nodes that are gone, which the old manifest names, are removed. What
//! no manifest names is left alone.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use super::batches::Table;
use super::manifest::{MANIFEST, Manifest, known_files};
use super::replace::{remove, replace};
use super::{Format, Snapshots};

/// What was done in a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// The files that were new or had other content.
    pub changed: usize,
    /// The files of nodes that are gone.
    pub removed: usize,
}

/// Writes the snapshots and the manifest to `folder`, which is made if need be. A file whose content is the same is left
/// alone.
pub fn write_folder(snapshots: &Snapshots<'_>, mut manifest: Manifest, folder: &Path) -> io::Result<Written> {
    fs::create_dir_all(folder)?;
    let extension = match snapshots.format {
        Format::Yaml => "yaml",
        Format::Json | Format::Ndjson => "json",
    };
    let old = known_files(&folder.join(MANIFEST));
    let mut written = Written::default();
    let (mut table, mut text) = (Table::default(), Vec::new());
    let mut batches = snapshots.batches(snapshots.nodes.len());
    while let Some(batch) = batches.next(&mut table) {
        for (row, node) in batch.enumerate() {
            text.clear();
            snapshots.append(node, table.row(row), &mut text);
            text.push(b'\n');
            let name = format!("{}.{extension}", file_name(snapshots.name(node)));
            let replaced = replace(&folder.join(&name), &text);
            let replaced = replaced.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
            written.changed += usize::from(replaced);
            manifest.files.insert(snapshots.name(node).to_string(), name);
        }
    }
    let text = serde_json::to_string_pretty(&manifest)? + "\n";
    // Files are removed before the manifest forgets them: what is interrupted in between is made up for the next time.
    let kept: BTreeSet<&String> = manifest.files.values().collect();
    for name in old.iter().filter(|name| !kept.contains(name)) {
        written.removed += usize::from(remove(&folder.join(name))?);
    }
    replace(&folder.join(MANIFEST), text.as_bytes())?;
    Ok(written)
}

/// A certname is not always fit for a file name: the bytes of what is not are written as `%2F`. No two nodes share a file, and
/// none can climb out of the folder.
fn file_name(node: &str) -> String {
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
