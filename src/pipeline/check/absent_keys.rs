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
        let dotted = dotted(to, revision);
        let dotted = dotted.map(|key| format!(" (the key {key} has dots: a lookup of it needs these quotes)"));
        let dotted = dotted.unwrap_or_default();
        let text = format!("no data file here has the key '{to}': an interpolation that looks it up is empty{dotted}");
        Fault::new(Severity::Note, "absent-key", text).at(file.line(from).map(|line| Place::line(path, line)))
    };
    let absent = |to: &&Arc<str>| revision.key_of(to).is_none();
    let mentions = file.mentions().iter();
    mentions.flat_map(|(from, mentions)| mentions.keys.iter().filter(absent).map(|to| fault(from, to))).collect()
}

/// Returns a key with dots that begins with the name `to`, as lookups ask for it, or `None` if there is none.
fn dotted<'r>(to: &str, revision: &'r Revision) -> Option<&'r Arc<str>> {
    let beginning = format!("'{to}.");
    revision.keys.range(Arc::from(&*beginning)..).next().filter(|key| key.starts_with(&beginning))
}
