//! Which keys there are: the root keys of all data files.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::hiera::backend::Format;
use crate::hiera::layer::Environment;
use crate::tree::{BlobId, Entry, FileTree, Target, TreeError, child, follow};

/// The root keys of all data files in the tree, reached by a hierarchy or not.
pub(super) fn repository_keys(environment: &Environment) -> Result<BTreeSet<Arc<str>>, TreeError> {
    let mut keys = BTreeSet::new();
    for (path, id) in data_files(&*environment.tree)? {
        let file = environment.store.files.get(&*environment.tree, id, Format::of_path(&path))?;
        keys.extend(file.keys().map(Arc::from));
    }
    Ok(keys)
}

/// The data files of a repository that no hierarchy needs to reach: every YAML and JSON file that is not configuration or
/// hidden. Their root keys are what "every key" means.
pub fn data_files(tree: &dyn FileTree) -> Result<Vec<(String, BlobId)>, TreeError> {
    let mut found = Vec::new();
    let mut pending = vec![String::new()];
    while let Some(folder) = pending.pop() {
        for (name, entry) in tree.list(&folder)? {
            if name.starts_with('.') {
                continue;
            }
            let path = child(&folder, &name);
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

fn is_data_file(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let configuration =
        matches!(extension, "yaml" | "json") && (stem.ends_with("hiera") || stem == "Puppetfile" || stem == "metadata");
    matches!(extension, "yaml" | "yml" | "json" | "eyaml") && !configuration
}
