//! The lookups of a repository's manifests that name a merge strategy of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::diagnostic::Place;
use crate::fleet::Revision;
use crate::puppet::manifest::{LookupCall, lookup_calls};
use crate::tree::{BlobId, FileTree, TreeError, files_called};
use crate::value::Value;

/// The largest manifest that is read, in bytes.
const MAX_MANIFEST: usize = 1 << 20;

/// The most manifests whose lookups are remembered.
const REMEMBERED: usize = 100_000;

/// Folders whose manifests are never applied to a node.
const PASSED_FOLDERS: [&str; 4] = ["spec", "examples", "tests", "fixtures"];

/// The merge strategies for a key, with the places that use them.
pub(super) type Strategies = Vec<(Value, BTreeSet<Place>)>;

/// The lookups in manifests, by the manifest's content: most stay from one commit to the next.
#[derive(Default)]
pub(super) struct ManifestCalls(Mutex<HashMap<BlobId, Arc<[LookupCall]>>>);

impl ManifestCalls {
    /// Returns the strategies that manifests use for keys of the data that `is_wanted` accepts, without keys whose
    /// strategy the settings give.
    pub(super) fn of(
        &self,
        revision: &Revision,
        is_wanted: impl Fn(&Arc<str>) -> bool,
    ) -> Result<BTreeMap<Arc<str>, Strategies>, TreeError> {
        let environment = &revision.environment;
        let settings = &environment.options.lookup_options;
        let is_decided = |key: &str| settings.find(key).map_or(true, |of| of.is_some_and(|of| of.names_strategy()));
        let mut found: BTreeMap<Arc<str>, Strategies> = BTreeMap::new();
        let is_manifest = |name: &str| name.strip_suffix(".pp").is_some();
        let is_passed = |name: &str| name.starts_with('.') || PASSED_FOLDERS.contains(&name);
        for (path, id) in files_called(&*environment.tree, is_manifest, is_passed)? {
            for LookupCall { key, merge, line } in &*self.in_manifest(&*environment.tree, id)? {
                let key = revision.keys.get(key.as_str()).filter(|key| is_wanted(key) && !is_decided(key));
                let Some(key) = key else { continue };
                let strategies = found.entry(key.clone()).or_default();
                let place = Place::line(path.as_str(), *line);
                match strategies.iter_mut().find(|(known, _)| known == merge) {
                    Some((_, places)) => drop(places.insert(place)),
                    None => strategies.push((merge.clone(), BTreeSet::from([place]))),
                }
            }
        }
        Ok(found)
    }

    fn in_manifest(&self, tree: &dyn FileTree, id: BlobId) -> Result<Arc<[LookupCall]>, TreeError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&id) {
            return Ok(known.clone());
        }
        let content = tree.read(id)?;
        let is_read = content.len() <= MAX_MANIFEST;
        let calls = if is_read { lookup_calls(&String::from_utf8_lossy(&content)) } else { Vec::new() };
        let calls: Arc<[LookupCall]> = calls.into();
        let mut all = lock();
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(id, calls.clone());
        Ok(calls)
    }
}

/// Returns the name of a strategy as `lookup_options` has it.
pub(super) fn name(merge: &Value) -> String {
    match merge {
        Value::Hash(options) => options.get("strategy").map(Value::to_s).unwrap_or_default(),
        name => name.to_s(),
    }
}
