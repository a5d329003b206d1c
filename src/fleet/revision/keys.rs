//! Which keys there are: the root keys of all data files; and which of them belong to modules that are not there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::diagnostic::Diagnostic;
use crate::fleet::Finding;
use crate::hiera::backend::DataFile;
use crate::hiera::layer::Environment;
use crate::node::NodeSet;
use crate::tree::{BlobId, Entry, FileTree, Target, TreeError, child, follow};

/// The data files of a repository, reached by a hierarchy or not, and how many of them have each root key.
#[derive(Clone)]
pub(in crate::fleet) struct RepositoryKeys {
    files: Arc<BTreeMap<String, BlobId>>,
    counts: Arc<HashMap<Arc<str>, u32, RandomState>>,
    /// Whether some are there by symbolic links.
    has_links: bool,
}

impl RepositoryKeys {
    pub(in crate::fleet) fn new(environment: &Environment) -> Result<RepositoryKeys, TreeError> {
        let (files, has_links) = walk(environment)?;
        let mut counts: HashMap<Arc<str>, u32, RandomState> = HashMap::default();
        for (path, id) in &files {
            for key in data_file(environment, path, *id)?.keys() {
                *counts.entry(key.clone()).or_default() += 1;
            }
        }
        Ok(RepositoryKeys { files: Arc::new(files.into_iter().collect()), counts: Arc::new(counts), has_links })
    }

    /// The same where the repository is now what `environment` says, and differs at the paths `changed`; and the keys that this
    /// may concern. `before` is what it was.
    pub(in crate::fleet) fn updated(
        &self,
        before: &Environment,
        environment: &Environment,
        changed: &BTreeSet<String>,
    ) -> Result<(RepositoryKeys, BTreeSet<Arc<str>>), TreeError> {
        let is_link = |tree: &dyn FileTree, path: &str| Ok(matches!(tree.entry(path)?, Some(Entry::Link(_))));
        for path in changed {
            if self.has_links || is_link(&*before.tree, path)? || is_link(&*environment.tree, path)? {
                let new = RepositoryKeys::new(environment)?;
                let touched = self.iter().chain(new.iter()).cloned().collect();
                return Ok((new, touched));
            }
        }
        let (mut updated, mut touched) = (self.clone(), BTreeSet::new());
        for path in changed {
            let is = match environment.tree.entry(path)? {
                Some(Entry::File(id)) if is_looked_for(environment, path) => Some(id),
                _ => None,
            };
            let was = self.files.get(path).copied();
            if let (Some(was), Some(is)) = (was, is)
                && data_file(before, path, was)?.keys() == data_file(environment, path, is)?.keys()
            {
                Arc::make_mut(&mut updated.files).insert(path.clone(), is);
                continue;
            }
            if let Some(was) = was {
                updated.count(&*data_file(before, path, was)?, &mut touched, |count| count.saturating_sub(1));
                Arc::make_mut(&mut updated.files).remove(path);
            }
            if let Some(is) = is {
                updated.count(&*data_file(environment, path, is)?, &mut touched, |count| count + 1);
                Arc::make_mut(&mut updated.files).insert(path.clone(), is);
            }
        }
        Ok((updated, touched))
    }

    fn count(&mut self, file: &DataFile, touched: &mut BTreeSet<Arc<str>>, change: impl Fn(u32) -> u32) {
        let counts = Arc::make_mut(&mut self.counts);
        for key in file.keys() {
            touched.insert(key.clone());
            match change(counts.get(key).copied().unwrap_or_default()) {
                0 => _ = counts.remove(key),
                count => _ = counts.insert(key.clone(), count),
            }
        }
    }

    /// Whether a file has the root key.
    pub(in crate::fleet) fn contains(&self, key: &str) -> bool {
        self.counts.contains_key(key)
    }

    pub(in crate::fleet) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.counts.keys()
    }
}

/// The data file at `path`, parsed.
pub(in crate::fleet) fn data_file(
    environment: &Environment,
    path: &str,
    id: BlobId,
) -> Result<Arc<DataFile>, TreeError> {
    environment.store.files.get(&*environment.tree, id, environment.format_of(path))
}

/// Whether the walk over all data files comes to `path`, if it is a file.
pub(in crate::fleet) fn is_looked_for(environment: &Environment, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    let is_passed = |folder: &str| folder.rsplit('/').next() != Some("spec");
    is_data_file(name)
        && !path.split('/').any(|name| name.starts_with('.'))
        && folders.clone().chain([path]).all(|path| !environment.options.own_files.contains(path))
        && folders.clone().all(is_passed)
}

/// The data files of a repository that no hierarchy needs to reach: every YAML and JSON file that is not configuration, hidden
/// or hierad's own. Their root keys are what "every key" means.
pub fn data_files(environment: &Environment) -> Result<Vec<(String, BlobId)>, TreeError> {
    Ok(walk(environment)?.0)
}

/// All data files, and whether some are there by symbolic links.
fn walk(environment: &Environment) -> Result<(Vec<(String, BlobId)>, bool), TreeError> {
    let tree = &*environment.tree;
    let (mut found, mut has_links) = (Vec::new(), false);
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
                    has_links = true;
                    if let Target::File(_, id) = follow(tree, &path)? {
                        found.push((path, id));
                    }
                }
                _ => {}
            }
        }
    }
    found.sort();
    Ok((found, has_links))
}

/// Modules that are not there, of which there are keys: what the modules' own data says is not searched.
pub(in crate::fleet) fn absent_modules(environment: &Environment, keys: &BTreeSet<Arc<str>>) -> Vec<Finding> {
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
