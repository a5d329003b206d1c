//! Several environments in one repository: each node is resolved in the folder of its environment.
//!
//! The setting `hiera_config` names them all: `environments/%{environment}/hiera.yaml`. This module decides which
//! folders are environments, and which of them is a node's; a layer's id names its environment.
//! Source: `environments.rb` (`Directories`), `node/environment.rb` (`valid_name?`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::loader::Loader;
use super::{Environment, EnvironmentOptions, Root};
use crate::diagnostic::Diagnostic;
use crate::hiera::derived::DerivedVariables;
use crate::hiera::manifests::MAX_CALLS;
use crate::hiera::scope::{Scope, environment_in};
use crate::hiera::{LookupError, Reader};
use crate::tree::{FileTree, Target, TreeError, child, folder_of, follow};

/// The variable that stands for the name of an environment.
pub const VARIABLE: &str = "%{environment}";

/// The usual names of folders that environments are in.
pub const USUAL_FOLDERS: [&str; 2] = ["environments", "envs"];

/// The maximum number of environments in a repository.
const MAX_ENVIRONMENTS: usize = 256;

/// The maximum number of modules in all environments together: a shared one is counted for each.
const MAX_MODULES: usize = 200_000;

/// The maximum number of levels, modules named for deployment, and findings in all environments together.
const MAX_PARTS: usize = 1_000_000;

/// The place of each environment's `hiera.yaml`, as named in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folders<'p> {
    /// The folder that contains the environments.
    pub around: &'p str,
    /// The path of the `hiera.yaml` in each of them.
    inner: &'p str,
}

impl<'p> Folders<'p> {
    /// Reads a `hiera_config`, or returns `None` if it is that of a single environment.
    pub fn of(hiera_config: &'p str) -> Option<Folders<'p>> {
        let (around, inner) = hiera_config.split_once(VARIABLE)?;
        Some(Folders { around: around.trim_end_matches('/'), inner: inner.trim_start_matches('/') })
    }

    /// Returns the error in a `hiera_config`, or `None` if it is valid.
    pub fn fault(hiera_config: &str) -> Option<String> {
        let (around, inner) = hiera_config.split_once(VARIABLE)?;
        let is_name = (around.is_empty() || around.ends_with('/')) && inner.starts_with('/');
        let others = [around, inner].concat();
        (!is_name || others.contains("%{")).then(|| {
            format!("a path has {VARIABLE} once, as the name of a folder, like environments/{VARIABLE}/hiera.yaml")
        })
    }

    /// Returns the name of the environment whose `hiera.yaml` is at `path`, or `None` if it belongs to none.
    pub fn name_of<'n>(&self, path: &'n str) -> Option<&'n str> {
        let rest = if self.around.is_empty() { path } else { path.strip_prefix(self.around)?.strip_prefix('/')? };
        let name = rest.strip_suffix(self.inner)?.strip_suffix('/')?;
        is_name(name).then_some(name)
    }

    /// Returns the path of the folder of an environment.
    pub fn folder(&self, name: &str) -> String {
        child(self.around, name)
    }

    fn hiera_yaml(&self, name: &str) -> String {
        child(&self.folder(name), self.inner)
    }

    /// Returns the names of the environments that a tree has.
    fn names(&self, tree: &dyn FileTree) -> Result<Vec<String>, TreeError> {
        let Target::Folder(around) = follow(tree, self.around)? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for (name, _) in tree.list(&around)? {
            if is_name(&name) && matches!(follow(tree, folder_of(&self.hiera_yaml(&name)))?, Target::Folder(_)) {
                names.push(name);
            }
        }
        if names.len() > MAX_ENVIRONMENTS {
            let text = format!("there are {} environments, and {MAX_ENVIRONMENTS} at most are read", names.len());
            return Err(TreeError::too_large(self.around, text));
        }
        Ok(names)
    }
}

/// Returns the folder of each environment in a tree, found by the place of `hiera.yaml` in the settings.
pub fn folders_in(tree: &dyn FileTree, hiera_config: &str) -> Result<Vec<String>, TreeError> {
    let Some(folders) = Folders::of(hiera_config) else { return Ok(vec![folder_of(hiera_config).to_owned()]) };
    Ok(folders.names(tree)?.iter().map(|name| folder_of(&folders.hiera_yaml(name)).to_owned()).collect())
}

impl Environment {
    /// Reads the environments in the folders that the settings name, each with the layers around it.
    pub(super) fn with_roots(mut self, folders: Folders<'_>) -> Result<Environment, TreeError> {
        let mut loader = Loader::of(&self.tree, &self.options, &self.store);
        self.global = self.options.global.as_ref().map(|global| loader.global(global)).transpose()?;
        self.diagnostics = loader.diagnostics;
        let manifests = self.manifests();
        let (mut roots, mut modules, mut parts) = (Vec::new(), 0, 0);
        let mut reported: BTreeSet<Diagnostic> = self.diagnostics.iter().cloned().collect();
        for name in folders.names(&*self.tree)? {
            // A file of version 3 has no effect in an environment.
            let (hiera_config, reader) = (folders.hiera_yaml(&name), Reader::Puppet);
            let options = EnvironmentOptions { hiera_config, reader, global: None, ..self.options.clone() };
            let name = Arc::from(name);
            let shared = (self.keys.clone(), self.quota.clone(), self.contents.clone());
            let bare = Environment::without_layers(self.tree.clone(), options, self.store.clone(), shared);
            let root = Environment { name: Some(Arc::clone(&name)), ..bare }.with_layers()?;
            let root = Environment { global: self.global.clone(), ..root };
            for diagnostic in &root.diagnostics {
                // Several environments may share a module.
                if reported.insert(diagnostic.clone()) {
                    self.diagnostics.push(diagnostic.clone());
                }
            }
            modules += root.module_names.len();
            parts += root.count_parts();
            let fault = if modules > MAX_MODULES {
                format!("{MAX_MODULES} modules")
            } else if parts > MAX_PARTS {
                format!("{MAX_PARTS} levels, modules of Puppetfiles and findings")
            } else {
                roots.push((name, root.own_paths()?, root));
                continue;
            };
            let text = format!("the environments have more than {fault} together");
            return Err(TreeError::too_large(folders.around, text));
        }
        let own = roots.iter().flat_map(|(_, own, _)| own.iter().cloned());
        let all: BTreeSet<String> = own.chain([folders.around.to_owned()]).collect();
        let mut left = MAX_CALLS;
        let with_manifests =
            |(name, own, root): (_, _, Environment)| (name, root.with_manifests(&manifests, &all, &own, &mut left));
        let roots: BTreeMap<Arc<str>, Environment> = roots.into_iter().map(with_manifests).collect();
        let derived = roots.iter().map(|(name, root)| (name.clone(), &root.derived));
        self.derived = DerivedVariables::of_environments(derived);
        self.roots = Some(roots);
        Ok(self)
    }

    /// Returns the number of parts read for an environment, as a measure of its memory.
    fn count_parts(&self) -> usize {
        let layers = self.layer.iter().chain(self.modules.values());
        let levels = layers.filter_map(|layer| layer.config.as_ref().ok()).map(|config| config.all_levels().count());
        levels.sum::<usize>() + self.deployment.modules.len() + self.absent_modules.len() + self.diagnostics.len()
    }

    /// Returns the environment of the node with `scope`: this one, unless there are several. It is also this one if
    /// the node's environment has no folder, and then every lookup fails.
    pub fn for_scope(&self, scope: &dyn Scope) -> &Environment {
        let Some(roots) = &self.roots else { return self };
        environment_in(scope).and_then(|name| roots.get(&*name)).unwrap_or(self)
    }

    /// Returns the environment called `name`, or `None` if it has no folder.
    pub fn root(&self, name: &Root) -> Option<&Environment> {
        match (name, &self.roots) {
            (Some(name), Some(roots)) => roots.get(name),
            _ => (*name == self.name).then_some(self),
        }
    }

    /// Returns all environments of the repository: only this one, unless there are several.
    pub fn roots(&self) -> impl Iterator<Item = &Environment> {
        let alone = self.roots.is_none().then_some(self);
        alone.into_iter().chain(self.roots.iter().flat_map(BTreeMap::values))
    }

    /// Returns the folders of the environments, or `None` if there is only one environment.
    pub fn folders(&self) -> Option<Folders<'_>> {
        self.roots.as_ref().and_then(|_| Folders::of(&self.options.hiera_config))
    }

    /// Returns the environments that exist both here and in `other`, with those here first.
    pub fn roots_in_both<'e>(&'e self, other: &'e Environment) -> Vec<[&'e Environment; 2]> {
        self.roots().filter_map(|root| Some([root, other.root(&root.name)?])).collect()
    }

    /// Returns the error of every lookup for a node whose environment has no folder; `scope` is the node's.
    pub(in crate::hiera) fn no_folder(&self, scope: &dyn Scope) -> Option<LookupError> {
        let folders = self.folders()?;
        let name = environment_in(scope).unwrap_or_default();
        Some(LookupError::unknown(without_folder(&name, &folders.folder(&name))))
    }
}

/// Returns the message for an environment without a folder.
pub fn without_folder(name: &str, folder: &str) -> String {
    format!("the environment '{name}' has no folder {folder} in the repository")
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hiera::layer::Store;
    use crate::tree::MemoryTree;

    /// Reads environments with these files each, and returns the error or the findings.
    fn load(count: usize, files: &[(&str, &str)]) -> Result<usize, String> {
        let mut tree = MemoryTree::new();
        for environment in 0..count {
            let mut add = |path: &str, text: &str| tree.add(&format!("envs/e{environment}/{path}"), text.as_bytes());
            add("hiera.yaml", "version: 5\nhierarchy: [{name: c, path: c.yaml}]\n");
            for (path, text) in files {
                add(path, text);
            }
        }
        let hiera_config = format!("envs/{VARIABLE}/hiera.yaml");
        let options = EnvironmentOptions { hiera_config, ..EnvironmentOptions::default() };
        let read = Environment::load(Arc::new(tree), options, Arc::new(Store::default()));
        read.map(|read| read.diagnostics.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn environments_are_read_within_a_bound_that_all_share() {
        let conf = "[x]\n".repeat(20_000);
        // For one environment, up to this many findings, and a note that there are more.
        assert_eq!(load(1, &[("environment.conf", &conf)]), Ok(10_001));
        assert_eq!(load(3, &[("environment.conf", &conf)]), Ok(30_003));
        assert!(load(100, &[("environment.conf", &conf)]).unwrap_err().contains("more than 1000000 levels"));
        let modulepath = (0..20_000).map(|at| format!("m{at}")).collect::<Vec<_>>().join(":");
        let conf = format!("modulepath = {modulepath}\n");
        assert_eq!(load(2, &[("environment.conf", &conf)]), Ok(20_002));
        assert_eq!(load(200, &[("environment.conf", "modulepath = modules\n[x]\n")]), Ok(400));
        assert!(load(257, &[]).unwrap_err().contains("there are 257 environments, and 256 at most are read"));
        assert_eq!(load(256, &[("data/c.yaml", "a: 1\n")]), Ok(0));
    }
}
