//! `manifest.json`: the source of the snapshots in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::SCHEMA;
use crate::disk::read_regular;
use crate::report::BlindSpot;

/// The maximum size of an old manifest, in bytes.
const MAX_SIZE: u64 = 256 << 20;

/// The name of the manifest's file.
pub(super) const MANIFEST: &str = "manifest.json";

/// The content of `manifest.json`, about the snapshots next to it.
#[derive(Debug, Clone, Serialize)]
pub struct Manifest {
    /// The form of the snapshots.
    pub schema: &'static str,
    /// The commit that they were made from, or `None` for uncommitted files.
    pub commit: Option<String>,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of keys.
    pub keys: usize,
    /// The version of hierad.
    pub hierad: &'static str,
    /// The release of Puppet whose behaviour hierad follows.
    pub puppet: u8,
    /// The blind spots of the data, the most important first.
    pub blind_spots: Vec<Unseen>,
    /// The file of each node, by the node's name.
    pub files: BTreeMap<String, String>,
    /// The nodes that have no file, since no file can have their names.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub without_file: BTreeSet<String>,
}

/// A blind spot, with the numbers of nodes, keys and files that it concerns.
#[derive(Debug, Clone, Serialize)]
pub struct Unseen {
    /// The kind.
    pub code: &'static str,
    /// One or two sentences for a person.
    pub message: String,
    /// The number of nodes; 0 where it does not depend on nodes.
    pub nodes: usize,
    /// The number of keys, as far as they are known.
    pub keys: usize,
    /// The number of files.
    pub files: usize,
}

impl Unseen {
    fn new(spot: &BlindSpot) -> Unseen {
        let BlindSpot { code, message, nodes, keys, files, .. } = spot;
        Unseen { code, message: message.clone(), nodes: nodes.len(), keys: keys.len(), files: files.len() }
    }
}

/// The entries of an old manifest that are read.
#[derive(Deserialize)]
struct Known {
    schema: String,
    files: BTreeMap<String, String>,
}

impl Manifest {
    /// Makes a manifest by this version of hierad.
    pub fn new(commit: Option<String>, nodes: usize, keys: usize, puppet: u8) -> Manifest {
        Manifest {
            schema: SCHEMA,
            commit,
            nodes,
            keys,
            hierad: env!("CARGO_PKG_VERSION"),
            puppet,
            blind_spots: Vec::new(),
            files: BTreeMap::new(),
            without_file: BTreeSet::new(),
        }
    }

    /// Adds the blind spots of the data.
    #[must_use]
    pub fn with_blind_spots(self, spots: &[BlindSpot]) -> Manifest {
        Manifest { blind_spots: spots.iter().map(Unseen::new).collect(), ..self }
    }
}

/// Returns the files that the manifest at `path` names; only names such as hierad gives them.
pub(super) fn known_files(path: &Path) -> BTreeSet<String> {
    let content = read_regular(path, MAX_SIZE).unwrap_or_default();
    let known: Option<Known> = serde_json::from_slice(&content).ok();
    let names = known.filter(|known| known.schema == SCHEMA).into_iter().flat_map(|known| known.files.into_values());
    names.filter(|name| !name.starts_with('.') && !name.contains(['/', '\\']) && name != MANIFEST).collect()
}
