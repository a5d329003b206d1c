//! A synthetic fleet, as `examples/fleet` makes it, in a temporary folder.

#![allow(dead_code, reason = "each benchmark has its own use for it")]

pub(crate) mod cliffs;
#[path = "../../examples/fleet/fleet/mod.rs"]
mod fleet;

use std::path::Path;

use tempfile::TempDir;

use crate::measure::Result;
use crate::measure::program::Subject;

pub(crate) use fleet::Shape;

/// A fleet that goes when this does.
pub(crate) struct Synthetic {
    _folder: TempDir,
    pub(crate) subject: Subject,
}

/// 40 roles on 8 sites; every fifth node has a file of its own. `commits` come after those that branches stand on.
pub(crate) fn shape(nodes: usize, keys: usize, commits: usize) -> Shape {
    Shape { nodes, keys, roles: 40, sites: 8, levels: 8, interpolated: 10, looked_up: 5, commits, seed: 1 }
}

impl Synthetic {
    pub(crate) fn new(shape: Shape) -> Result<Synthetic> {
        let folder = tempfile::Builder::new().prefix("hierad-bench-").tempdir()?;
        let place = folder.path().join("fleet");
        let name = format!("{} x {}", shape.nodes, shape.keys);
        fleet::Fleet::new(shape).write(&place)?;
        let subject = Subject { name, repository: place.join("data"), profiles: place.join("profiles.ndjson") };
        Ok(Synthetic { _folder: folder, subject })
    }

    /// Writes the profiles of a fleet of this shape to `path`.
    pub(crate) fn profiles(shape: Shape, path: &Path) -> Result<()> {
        fleet::Fleet::new(shape).write_profiles(path)
    }
}
