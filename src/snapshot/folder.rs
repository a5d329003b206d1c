//! Snapshots in a folder: a file a node, each replaced atomically, `manifest.json` last.
//!
//! The folder holds just what was written last: files of nodes that are gone, which the old manifest names, are removed. What
//! no manifest names is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Format, SCHEMA, Snapshots};

const MANIFEST: &str = "manifest.json";

/// What `manifest.json` says of the snapshots beside it.
#[derive(Debug, Clone, Serialize)]
pub struct Manifest {
    /// The form of the snapshots.
    pub schema: &'static str,
    /// The commit that they were made from; nothing for uncommitted files.
    pub commit: Option<String>,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of keys.
    pub keys: usize,
    /// The version of hierad.
    pub hierad: &'static str,
    /// The Puppet whose behaviour counts.
    pub puppet: u8,
    /// The file of each node, by the node's name.
    pub files: BTreeMap<String, String>,
}

/// What an old manifest is read for.
#[derive(Deserialize)]
struct Known {
    schema: String,
    files: BTreeMap<String, String>,
}

/// What was done in a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// The files that were new or had other content.
    pub changed: usize,
    /// The files of nodes that are gone.
    pub removed: usize,
}

impl Manifest {
    /// A manifest by this version of hierad.
    pub fn new(commit: Option<String>, nodes: usize, keys: usize, puppet: u8) -> Manifest {
        Manifest {
            schema: SCHEMA,
            commit,
            nodes,
            keys,
            hierad: env!("CARGO_PKG_VERSION"),
            puppet,
            files: BTreeMap::new(),
        }
    }
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
    for (node, text) in snapshots.iter() {
        let name = format!("{}.{extension}", file_name(node));
        let replaced = replace(&folder.join(&name), text.as_bytes());
        let replaced = replaced.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        written.changed += usize::from(replaced);
        manifest.files.insert(node.to_string(), name);
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

/// The files that the manifest at `path` names; only such names as this module makes.
fn known_files(path: &Path) -> BTreeSet<String> {
    let content = fs::read(path).unwrap_or_default();
    let known: Option<Known> = serde_json::from_slice(&content).ok();
    let names = known.filter(|known| known.schema == SCHEMA).into_iter().flat_map(|known| known.files.into_values());
    names.filter(|name| !name.starts_with('.') && !name.contains(['/', '\\']) && name != MANIFEST).collect()
}

/// Removes a file. Whether it was there.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
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

/// Puts `content` in the place of the file at once, so that no reader sees half of it. Whether it had to be written.
fn replace(path: &Path, content: &[u8]) -> io::Result<bool> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".hierad-").tempfile_in(folder)?;
    file.write_all(content)?;
    set_readable(file.as_file())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(true)
}

/// A temporary file is readable by its owner only; a snapshot is as any new file.
#[cfg(unix)]
fn set_readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_readable(_: &fs::File) -> io::Result<()> {
    Ok(())
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
