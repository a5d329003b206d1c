//! Snapshots in a folder: a file a node, each replaced atomically, `manifest.json` last.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::{Format, SCHEMA, Snapshots};

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
}

impl Manifest {
    /// A manifest by this version of hierad.
    pub fn new(commit: Option<String>, nodes: usize, keys: usize, puppet: u8) -> Manifest {
        Manifest { schema: SCHEMA, commit, nodes, keys, hierad: env!("CARGO_PKG_VERSION"), puppet }
    }
}

/// Writes the snapshots and the manifest to `folder`, which is made if need be. A file whose content is the same is left
/// alone. Returns the number of files written.
pub fn write_folder(snapshots: &Snapshots<'_>, manifest: &Manifest, folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let extension = match snapshots.format {
        Format::Yaml => "yaml",
        Format::Json | Format::Ndjson => "json",
    };
    let mut written = 0;
    let mut taken = BTreeSet::new();
    for (node, text) in snapshots.iter() {
        let name = file_name(node);
        if !taken.insert(name.clone()) {
            return Err(io::Error::other(format!("two nodes would be written to {name}.{extension}")));
        }
        written += usize::from(replace(&folder.join(format!("{name}.{extension}")), text.as_bytes())?);
    }
    let manifest = serde_json::to_string_pretty(manifest)? + "\n";
    replace(&folder.join("manifest.json"), manifest.as_bytes())?;
    Ok(written)
}

/// A certname is not always fit for a file name; what is not becomes `_`, and none can climb out of the folder.
fn file_name(node: &str) -> String {
    let fit =
        |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | ':' | ' ' | '+') { c } else { '_' };
    let name: String = node.chars().map(fit).collect();
    if name.starts_with('.') || name == "manifest" { format!("_{name}") } else { name }
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
