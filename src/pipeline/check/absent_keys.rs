//! Finds references to keys that no data file has: Puppet puts nothing in their place, and tells nobody.

use std::sync::Arc;

use super::Fault;
use crate::diagnostic::{Place, Severity};
use crate::fleet::Revision;
use crate::hiera::backend::{DataFile, Format};

/// Returns a note for each key that the data file at `path` refers to and no data file has.
pub(super) fn faults(path: &str, file: &DataFile, revision: &Revision) -> Vec<Fault> {
    if !matches!(file.format(), Format::Yaml | Format::Json | Format::Hocon) {
        return Vec::new();
    }
    let fault = |from: &str, to: &Arc<str>| {
        let text = format!("no data file here has the key '{to}': an interpolation that looks it up is empty");
        Fault::new(Severity::Note, "absent-key", text).at(file.line(from).map(|line| Place::line(path, line)))
    };
    let absent = |to: &&Arc<str>| !revision.keys.contains(*to);
    let mentions = file.mentions().iter();
    mentions.flat_map(|(from, mentions)| mentions.keys.iter().filter(absent).map(|to| fault(from, to))).collect()
}
