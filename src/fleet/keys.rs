//! Which keys there are: the root keys of all data files; and which of them belong to modules that are not there.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Finding;
use crate::diagnostic::Diagnostic;
use crate::hiera::layer::Environment;
use crate::node::NodeSet;
use crate::tree::{BlobId, Entry, Target, TreeError, child, follow};

/// The root keys of all data files in the tree, reached by a hierarchy or not.
pub(super) fn repository_keys(environment: &Environment) -> Result<BTreeSet<Arc<str>>, TreeError> {
    let mut keys = BTreeSet::new();
    for (path, id) in data_files(environment)? {
        let file = environment.store.files.get(&*environment.tree, id, environment.format_of(&path))?;
        keys.extend(file.keys().map(Arc::from));
    }
    Ok(keys)
}

/// The data files of a repository that no hierarchy needs to reach: every YAML and JSON file that is not configuration, hidden
/// or hierad's own. Their root keys are what "every key" means.
pub fn data_files(environment: &Environment) -> Result<Vec<(String, BlobId)>, TreeError> {
    let tree = &*environment.tree;
    let mut found = Vec::new();
    let mut pending = vec![String::new()];
    while let Some(folder) = pending.pop() {
        for (name, entry) in tree.list(&folder)? {
            if name.starts_with('.') {
                continue;
            }
            let path = child(&folder, &name);
            if environment.options.own_files.contains(&path) {
                continue;
            }
            match entry {
                Entry::Folder if name != "spec" => pending.push(path),
                Entry::File(id) if is_data_file(&name) => found.push((path, id)),
                Entry::Link(_) if is_data_file(&name) => {
                    if let Target::File(_, id) = follow(tree, &path)? {
                        found.push((path, id));
                    }
                }
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Modules that are not there, of which there are keys: what the modules' own data says is not searched.
pub(super) fn absent_modules(environment: &Environment, keys: &BTreeSet<Arc<str>>) -> Vec<Finding> {
    let is_asked_for = |name: &str| {
        let prefix = format!("{name}::");
        keys.range(Arc::from(prefix.as_str())..).next().is_some_and(|key| key.starts_with(&prefix))
    };
    let absent = environment.absent_modules.iter().filter(|module| is_asked_for(&module.name));
    absent
        .map(|module| {
            let text = format!("module {} is not in the modulepath: its data is not searched", module.name);
            let diagnostic = Diagnostic::note("absent-module", Some(module.place.clone()), text);
            Finding { diagnostic, nodes: NodeSet::new() }
        })
        .collect()
}

fn is_data_file(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let configuration =
        matches!(extension, "yaml" | "json") && (stem.ends_with("hiera") || stem == "Puppetfile" || stem == "metadata");
    matches!(extension, "yaml" | "yml" | "json" | "eyaml") && !configuration
}
