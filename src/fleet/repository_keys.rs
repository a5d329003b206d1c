//! Knows the root keys of the data files that levels may read, whether or not the hierarchy of a node leads to them.
//!
//! The keys are counted, so that a commit updates them by the files that it changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::diagnostic::{Diagnostic, Subject};
use crate::fleet::Finding;
use crate::hiera::backend::DataFile;
use crate::hiera::layer::path_patterns::Reach;
use crate::hiera::layer::{DataFileList, Environment};
use crate::node::NodeSet;
use crate::tree::{BlobId, Entry, FileTree, TreeError};

/// The data files of a repository that levels may read, and the number of files that define each root key.
#[derive(Clone)]
pub(in crate::fleet) struct RepositoryKeys {
    reach: Arc<Reach>,
    files: Arc<BTreeMap<String, BlobId>>,
    counts: Arc<HashMap<Arc<str>, u32, RandomState>>,
    /// True if symbolic links lead to some of the files.
    has_links: bool,
}

impl RepositoryKeys {
    /// Reads the keys of all data files.
    pub(in crate::fleet) fn new(environment: &Environment) -> Result<RepositoryKeys, TreeError> {
        let DataFileList { files, has_links } = environment.data_files()?;
        let reach = Reach::of(environment);
        let mut counts: HashMap<Arc<str>, u32, RandomState> = HashMap::default();
        let mut counted = BTreeMap::new();
        for (path, id) in files {
            let file = environment.data_file(path, *id)?;
            if !reach.has(path, &file) {
                continue;
            }
            for key in file.keys() {
                *counts.entry(key.clone()).or_default() += 1;
            }
            counted.insert(path.clone(), *id);
        }
        Ok(RepositoryKeys {
            reach: Arc::new(reach),
            files: Arc::new(counted),
            counts: Arc::new(counts),
            has_links: *has_links,
        })
    }

    /// Returns the keys of the repository in `environment`, which differs from `before` at the paths `changed`; and
    /// the keys that may have been added or removed.
    pub(in crate::fleet) fn updated(
        &self,
        before: &Environment,
        environment: &Environment,
        changed: &BTreeSet<String>,
    ) -> Result<(RepositoryKeys, BTreeSet<Arc<str>>), TreeError> {
        let is_link = |tree: &dyn FileTree, path: &str| Ok(matches!(tree.entry(path)?, Some(Entry::Link(_))));
        let reach = Reach::of(environment);
        if reach != *self.reach {
            return self.read_again(environment);
        }
        for path in changed {
            if self.has_links || is_link(&*before.tree, path)? || is_link(&*environment.tree, path)? {
                return self.read_again(environment);
            }
        }
        let (mut updated, mut touched) = (self.clone(), BTreeSet::new());
        for path in changed {
            let counts = |id| Ok::<_, TreeError>(reach.has(path, &*environment.data_file(path, id)?));
            let new_id = match environment.tree.entry(path)? {
                Some(Entry::File(id)) if environment.has_data_file_at(path) && counts(id)? => Some(id),
                _ => None,
            };
            let old_id = self.files.get(path).copied();
            if let (Some(old_id), Some(new_id)) = (old_id, new_id)
                && before.data_file(path, old_id)?.keys() == environment.data_file(path, new_id)?.keys()
            {
                Arc::make_mut(&mut updated.files).insert(path.clone(), new_id);
                continue;
            }
            if let Some(old_id) = old_id {
                updated.count(&*before.data_file(path, old_id)?, &mut touched, |count| count.saturating_sub(1));
                Arc::make_mut(&mut updated.files).remove(path);
            }
            if let Some(new_id) = new_id {
                updated.count(&*environment.data_file(path, new_id)?, &mut touched, |count| count + 1);
                Arc::make_mut(&mut updated.files).insert(path.clone(), new_id);
            }
        }
        Ok((updated, touched))
    }

    /// Returns the keys of the repository, read again, and all keys that exist or existed.
    fn read_again(&self, environment: &Environment) -> Result<(RepositoryKeys, BTreeSet<Arc<str>>), TreeError> {
        let new = RepositoryKeys::new(environment)?;
        let touched = self.iter().chain(new.iter()).cloned().collect();
        Ok((new, touched))
    }

    /// Changes the counts of all keys of a file, and adds them to `touched`.
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

    /// Returns true if a file defines the root key.
    pub(in crate::fleet) fn contains(&self, key: &str) -> bool {
        self.counts.contains_key(key)
    }

    /// Returns the paths of the files.
    pub(in crate::fleet) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns all root keys, in no particular order.
    pub(in crate::fleet) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.counts.keys()
    }
}

/// Returns a note for each missing module in whose namespace the repository has keys: its own data is not searched.
pub(in crate::fleet) fn absent_modules(environment: &Environment, keys: &BTreeSet<Arc<str>>) -> Vec<Finding> {
    let has_keys =
        |prefix: String| keys.range(Arc::from(prefix.as_str())..).next().is_some_and(|key| key.starts_with(&prefix));
    let in_namespace = |name: &str| ["", "'", "\""].iter().any(|quote| has_keys(format!("{quote}{name}::")));
    let absent = environment.roots().flat_map(|root| &root.absent_modules).filter(|module| in_namespace(&module.name));
    absent
        .map(|module| {
            let text = format!("module {} is not in the modulepath: its data is not searched", module.name);
            let note = Diagnostic::note("absent-module", Some(module.place.clone()), text);
            let diagnostic = note.about(Subject::Module(module.name.clone()));
            Finding { diagnostic, nodes: NodeSet::new() }
        })
        .collect()
}
