//! The modules of an environment: where they are, and which of them Puppet loads.
//!
//! Source: `node/environment.rb` (`modules`), `module.rb` (`load_metadata`).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::Layer;
use super::deployment::{DeclaredModule, Deployment, PUPPETFILE, modules_in_fixtures, without_author};
use super::environment_conf::EnvironmentConf;
use super::folders::{Folder, Folders, ModulePath};
use super::loader::{ConfigFile, Loader, read};
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::hiera::config::Owner;
use crate::puppet::json;
use crate::tree::{Entry, FileTree, Target, TreeError, child, follow};
use crate::value::Value;

/// The file with a module's metadata.
const METADATA: &str = "metadata.json";

/// Files and folders that an environment may have at its top, but a module does not.
const ENVIRONMENT_MARKERS: [&str; 3] = ["environment.conf", PUPPETFILE, "modules"];

/// Returns the name of the module that this repository is, or `None` if it is an environment.
pub fn own_module(tree: &dyn FileTree) -> Result<Option<Arc<str>>, TreeError> {
    for name in ENVIRONMENT_MARKERS {
        if tree.entry(name)?.is_some() {
            return Ok(None);
        }
    }
    let Some(content) = read(tree, METADATA)? else { return Ok(None) };
    let parsed = json::parse(&content).value;
    let name = parsed.as_hash().and_then(|hash| hash.get("name")).and_then(Value::as_str);
    // The modules of control repositories usually have no author.
    let name = name.filter(|name| name.contains(['-', '/'])).map(without_author);
    Ok(name.filter(|name| is_module_name(name)))
}

/// The modules of an environment, and the layers of those that have data.
#[derive(Default)]
pub(super) struct Modules {
    pub(super) layers: BTreeMap<Arc<str>, Layer>,
    /// All modules that Puppet loads.
    pub(super) names: BTreeSet<Arc<str>>,
    /// The folders of the modules in the repository.
    pub(super) folders: BTreeMap<Arc<str>, String>,
    /// The folders in which they are searched.
    pub(super) path: ModulePath,
    /// The modules that a Puppetfile installs.
    pub(super) deployed: Deployment,
    /// The modules that are named for deployment, but do not exist here.
    pub(super) absent: Vec<DeclaredModule>,
    /// The reason why Puppet cannot load any module.
    pub(super) fault: Option<LookupError>,
    /// The reason why Puppet cannot create the environment.
    pub(super) path_fault: Option<LookupError>,
}

/// The effect of a metadata.json on its module.
enum Metadata {
    /// Loaded, with the old setting of a data provider.
    Loaded(Option<String>),
    /// Puppet does not load the module.
    Refused,
    /// Puppet fails on every lookup in the module.
    Fails(LookupError),
}

impl Modules {
    /// Finds the modules in the folders of the modulepath of the environment at `root`. The first module of a name
    /// wins. If the repository is not an environment but a module itself, `own_name` is its name.
    pub(super) fn load(
        loader: &mut Loader<'_>,
        root: &str,
        conf: &EnvironmentConf,
        own_name: Option<Arc<str>>,
    ) -> Result<Modules, TreeError> {
        let deployed = Deployment::read(&**loader.tree, root)?;
        let mut modules = Modules { deployed, ..Modules::default() };
        let deployed_folders: HashSet<String> =
            modules.deployed.modules.iter().filter_map(|module| module.folder.clone()).collect();
        let mut seen = BTreeSet::new();
        if let Some(name) = own_name {
            let text = format!(
                "this is the repository of a module: only keys that begin with '{name}::' are looked up in its data, as in modules/{name} of an environment"
            );
            loader.note("module-repository", Place::file(child(root, METADATA)), text);
            seen.insert(name.to_string());
            modules.add(loader, name, loader.tree, root)?;
        }
        let (folders, path, fault) = Folders::find(loader, root, conf)?;
        (modules.path, modules.path_fault) = (path, fault);
        for Folder { tree, path: folder } in folders {
            let Target::Folder(at) = follow(&*tree, &folder)? else { continue };
            for (name, entry) in tree.list(&at)? {
                let path = child(&folder, &name);
                let is_deployed = entry == Entry::Submodule(None) && deployed_folders.contains(&path);
                if !is_module_name(&name) || seen.contains(&name) || is_deployed {
                    continue;
                }
                if modules.is_folder(loader, &*tree, &path, &entry)? {
                    seen.insert(name.clone());
                    modules.add(loader, name.into(), &tree, &path)?;
                }
            }
        }
        let path = child(root, ".fixtures.yml");
        let fixtures =
            read(&**loader.tree, &path)?.map(|content| modules_in_fixtures(&content, &path)).unwrap_or_default();
        let is_absent = |module: &&DeclaredModule| !seen.contains(&*module.name);
        modules.absent = modules.deployed.modules.iter().chain(&fixtures).filter(is_absent).cloned().collect();
        Ok(modules)
    }

    fn add(
        &mut self,
        loader: &mut Loader<'_>,
        name: Arc<str>,
        tree: &Arc<dyn FileTree>,
        root: &str,
    ) -> Result<(), TreeError> {
        let path = child(root, "hiera.yaml");
        let file = ConfigFile { owner: Owner::Module, module: Some(name.clone()), tree, path: &path };
        let metadata = self.metadata(loader, &**tree, &name, root)?;
        if !matches!(metadata, Metadata::Refused) {
            if Arc::ptr_eq(tree, loader.tree) {
                self.folders.insert(name.clone(), root.to_owned());
            }
            self.names.insert(name.clone());
        }
        let layer = match metadata {
            Metadata::Loaded(provider) => loader.layer(file, provider.as_deref())?,
            Metadata::Refused => None,
            Metadata::Fails(error) => Some(file.layer(Err(error))),
        };
        self.layers.extend(layer.map(|layer| (name, layer)));
        Ok(())
    }

    /// Returns true if a module exists. Records a module outside of the repository, except for another repository in
    /// the work tree, since nobody knows if that belongs there.
    fn is_folder(
        &mut self,
        loader: &mut Loader<'_>,
        tree: &dyn FileTree,
        path: &str,
        entry: &Entry,
    ) -> Result<bool, TreeError> {
        if matches!(entry, Entry::Folder | Entry::File(_)) {
            return Ok(*entry == Entry::Folder);
        }
        let target = follow(tree, path)?;
        if let Target::Loop(why) | Target::Outside(why) = &target {
            loader.note("modules-outside", Place::file(path), format!("{why}: the module's data is not searched"));
            if *entry != Entry::Submodule(None) {
                self.path.outside.insert(path.to_owned(), why.to_string());
            }
        }
        Ok(matches!(target, Target::Folder(_)))
    }

    fn metadata(
        &mut self,
        loader: &mut Loader<'_>,
        tree: &dyn FileTree,
        name: &str,
        root: &str,
    ) -> Result<Metadata, TreeError> {
        let path = child(root, METADATA);
        let Some(content) = read(tree, &path)?.filter(|content| !content.is_empty()) else {
            return Ok(Metadata::Loaded(None));
        };
        let parsed = json::parse(&content);
        if let Some(fault) = parsed.fault {
            let text =
                format!("{name} has an invalid and unparsable metadata.json file. The parse error: {}", fault.text);
            loader.warn("module-metadata", Place::line(&*path, fault.line), text);
            let is_dropped = loader.options.puppet.drops_modules_with_unreadable_metadata();
            return Ok(if is_dropped { Metadata::Refused } else { Metadata::Loaded(None) });
        }
        let Value::Hash(hash) = &parsed.value else {
            let error = LookupError::bare("no implicit conversion of String into Integer").at(Place::file(&*path));
            // While it loads all modules, Puppet accesses every metadata that is not empty.
            if parsed.value.as_array().is_none_or(|items| !items.is_empty()) {
                self.fault.get_or_insert_with(|| error.clone());
            }
            return Ok(Metadata::Fails(error));
        };
        let missing = |key: &&str| hash.get(key).is_none_or(Value::is_undef);
        let complete = !["source", "author", "version", "license"].iter().any(missing)
            && hash.get("dependencies").is_some_and(|value| value.as_array().is_some());
        if !hash.is_empty() && !complete {
            let text = format!(
                "Puppet does not load {name}: its metadata.json lacks one of source, author, version, license and dependencies"
            );
            loader.warn("module-metadata", Place::file(&*path), text);
            return Ok(Metadata::Refused);
        }
        Ok(Metadata::Loaded(hash.get("data_provider").and_then(Value::as_str).map(str::to_owned)))
    }
}

/// Returns true for a match of `/^[a-z][a-z0-9_]*$/`.
fn is_module_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
