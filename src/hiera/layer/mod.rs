//! The layers: the global one, the environment's own, and those of its modules.
//!
//! An [`Environment`] is one revision of a repository, read independently of any node, together with the files
//! outside the repository that it uses: each [`Layer`] has the tree that its files come from.
//! Source: `pops/lookup/lookup_adapter.rb`, `node/environment.rb`, `settings/environment_conf.rb`, `module.rb`.

mod data_files;
mod deployment;
mod environment_conf;
mod folders;
mod hiera3;
mod loader;
mod modules;
pub mod path_patterns;
pub mod roots;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use environment_conf::EnvironmentConf;
use loader::{ConfigFile, Loader, read};
use modules::Modules;
use path_patterns::is_below_any;
use roots::Folders;

pub use data_files::DataFileList;
pub use deployment::{DeclaredModule, Deployment, GitSource, PUPPETFILE};
pub use folders::ModulePath;
pub use modules::own_module;

use super::backend::eyaml::{KeyChoice, KeyPairs, Keys, SecretNames};
use super::backend::host::{HostAccess, NoHost};
use super::backend::{Backends, ConvertedFiles, DataFile, DataFiles, Format, KeyQuota};
use super::config::{Config, Configs, Hiera3, Owner};
use super::derived::{DerivedVariable, DerivedVariables};
use super::hierarchy::{Datadir, Source};
use super::key::{is_plain, root_apart};
use super::manifests::{Agreement, MAX_CALLS, ManifestLookups, Manifests, SetVariables};
use super::options::LookupOptions;
use super::{LookupError, Reader};
use crate::diagnostic::Diagnostic;
use crate::puppet::pathname::join;
use crate::puppet::regex::Regexes;
use crate::puppet::{Puppet, Ruby};
use crate::tree::{BlobId, ContentIds, FileTree, MemoryTree, Target, TreeError, child, folder_of, follow};

/// The default configuration of the environment layer, relative to the environment's folder.
pub const HIERA_YAML: &str = "hiera.yaml";

/// The default folder of the manifests that Puppet evaluates first.
const MANIFESTS: &str = "manifests";

/// The options for reading an environment.
#[derive(Clone)]
pub struct EnvironmentOptions {
    /// The version whose behaviour is followed.
    pub puppet: Puppet,
    /// The Ruby that runs Puppet.
    pub ruby: Ruby,
    /// The environment layer's configuration, relative to the root of the tree; its folder is the environment's. If
    /// it contains [`roots::VARIABLE`], there are several environments, each in the folder named after it.
    pub hiera_config: String,
    /// The global layer's configuration, if there is such a layer.
    pub global: Option<GlobalConfig>,
    /// Lookup options that take precedence over those in the data.
    pub lookup_options: Arc<LookupOptions>,
    /// True if lookups in manifests determine how keys are merged.
    pub reads_manifests: bool,
    /// Variables of the top scope that come from the data, in the order in which they are set.
    pub variables: Arc<[VariableText]>,
    /// Variables of the top scope that are computed from others. They take precedence over those that manifests
    /// compute.
    pub derived: Arc<[DerivedVariable]>,
    /// Paths of datadirs, absolute or from the root of the repository, and the folders that replace them.
    pub datadirs: Vec<(String, Datadir)>,
    /// The folders of modules, separated by colons, which override environment.conf.
    pub modulepath: Option<String>,
    /// The absolute folders that `$basemodulepath` stands for.
    pub basemodulepath: Vec<String>,
    /// Files and folders of the repository that belong to hierad, such as node profiles, and are not data.
    pub own_files: BTreeSet<String>,
    /// The files outside of the repository, for paths that the settings lead there.
    pub disk: Arc<dyn FileTree>,
    /// Declared functions, which hierad does not have.
    pub backends: Backends,
    /// The keys of encrypted data that may be read.
    pub eyaml: KeyChoice,
    /// Names that replace secrets, or `None` if lookups see the secrets themselves.
    pub secret_names: Option<Arc<dyn SecretNames>>,
    /// The reader of the configuration.
    pub reader: Reader,
    /// True if Hiera 3 runs on a Ruby that accepts aliases in YAML.
    pub hiera3_yaml_aliases: bool,
    /// The machine outside the repository.
    pub host: Arc<dyn HostAccess>,
}

/// A variable of the top scope that comes from the data, as a manifest might set it: `$role = lookup('role')`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableText {
    /// Its name.
    pub name: Arc<str>,
    /// The text whose interpolation is its value, such as `%{lookup('role')}`.
    pub text: Arc<str>,
}

/// The global layer's hiera.yaml. If it does not exist, `data/common.yaml` next to it is read instead.
#[derive(Clone)]
pub struct GlobalConfig {
    /// The files around it, or `None` for those of the revision itself.
    pub tree: Option<Arc<dyn FileTree>>,
    /// Its path.
    pub path: String,
}

impl Default for EnvironmentOptions {
    fn default() -> EnvironmentOptions {
        EnvironmentOptions {
            puppet: Puppet::default(),
            ruby: Puppet::default().ruby(),
            hiera_config: HIERA_YAML.into(),
            global: None,
            lookup_options: Arc::default(),
            reads_manifests: true,
            variables: Arc::default(),
            derived: Arc::default(),
            datadirs: Vec::new(),
            modulepath: None,
            basemodulepath: Vec::new(),
            own_files: BTreeSet::new(),
            disk: Arc::new(MemoryTree::at("/")),
            backends: Backends::new(),
            eyaml: KeyChoice::default(),
            secret_names: None,
            reader: Reader::default(),
            hiera3_yaml_aliases: false,
            host: Arc::new(NoHost),
        }
    }
}

/// Results that outlive a revision, by content: parsed files, compiled patterns, key pairs.
#[derive(Debug, Default)]
pub struct Store {
    /// Parsed data files.
    pub files: DataFiles,
    /// The hiera.yaml files that were read.
    pub configs: Configs,
    /// The lookups of manifests.
    pub manifests: Manifests,
    /// Compiled patterns.
    pub regexes: Regexes,
    /// Key pairs, with what they have decrypted.
    pub key_pairs: Arc<KeyPairs>,
}

/// The name of an environment, or `None` if it is the only one of a repository, whatever name nodes use for it.
pub type Root = Option<Arc<str>>;

/// The name of a layer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerId {
    /// The global one.
    Global,
    /// An environment's own.
    Environment(Root),
    /// The layer of a module in an environment.
    Module(Root, Arc<str>),
}

impl LayerId {
    /// Returns the environment of the layer, or `None` for the global one, which all environments share.
    pub fn root(&self) -> Option<&Root> {
        match self {
            LayerId::Global => None,
            LayerId::Environment(root) | LayerId::Module(root, _) => Some(root),
        }
    }
}

/// A part of an environment that has a hierarchy.
#[derive(Clone)]
pub struct Layer {
    /// Its owner.
    pub owner: Owner,
    /// The module's name, if this is a module's layer.
    pub module: Option<Arc<str>>,
    /// The files around its hiera.yaml.
    pub tree: Arc<dyn FileTree>,
    /// The folder that paths in its hiera.yaml are relative to.
    pub root: String,
    /// Its configuration, or the reason why every lookup that reaches the layer fails.
    pub config: Result<Arc<Config>, LookupError>,
}

/// One revision of a repository, read as a Puppet environment, or as several.
pub struct Environment {
    /// Its name, if it is one of several.
    pub name: Root,
    /// The environments by name, if there are several. The only layer of `self` is then the global one.
    roots: Option<BTreeMap<Arc<str>, Environment>>,
    /// Its files.
    pub tree: Arc<dyn FileTree>,
    /// The options that it was read with.
    pub options: EnvironmentOptions,
    /// The global layer, if there is one.
    pub global: Option<Layer>,
    /// True if Hiera 3 answers instead of Puppet, from the environment's own layer.
    pub is_hiera3: bool,
    /// The environment's own layer, or `None` if it has no hiera.yaml.
    pub layer: Option<Layer>,
    /// The layers of its modules, by module name.
    pub modules: BTreeMap<Arc<str>, Layer>,
    /// The names of all modules that Puppet loads, including those without data.
    pub module_names: BTreeSet<Arc<str>>,
    /// The folders of the modules that are in the repository, by name.
    pub module_folders: BTreeMap<Arc<str>, String>,
    /// The known ids of folders in the repository.
    pub contents: Arc<ContentIds>,
    /// The folders in which modules are searched.
    pub module_path: ModulePath,
    /// The modules that a Puppetfile installs.
    pub deployment: Deployment,
    /// The modules that a Puppetfile or `.fixtures.yml` names, but that are in no folder of the modulepath.
    pub absent_modules: Vec<DeclaredModule>,
    /// The lookups of its manifests.
    pub lookups: Arc<ManifestLookups>,
    /// The variables set by the manifests that Puppet evaluates first.
    pub main_manifests: SetVariables,
    /// The variables that these manifests and the options compute from others.
    pub derived: DerivedVariables,
    /// The error that every lookup fails with.
    pub fault: Option<LookupError>,
    /// The error that every lookup of a key with a module's name fails with.
    pub modules_fault: Option<LookupError>,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// Parsed files and patterns.
    pub store: Arc<Store>,
    /// The keys of encrypted data, as they were when the environment was read.
    pub keys: Arc<Keys>,
    /// The limit on the number of root keys in its data files.
    pub quota: Arc<KeyQuota>,
    /// The files whose content differs in a checkout.
    pub converted: ConvertedFiles,
    /// The data files, once they have been needed.
    data_files: OnceLock<DataFileList>,
}

/// The parts that all environments of a repository share: keys of encrypted data, the quota of root keys, and known
/// ids of folders.
type Shared = (Arc<Keys>, Arc<KeyQuota>, Arc<ContentIds>);

impl Environment {
    /// Reads the configuration and the modules of `tree`.
    pub fn load(
        tree: Arc<dyn FileTree>,
        options: EnvironmentOptions,
        store: Arc<Store>,
    ) -> Result<Environment, TreeError> {
        let keys = Keys::new(options.eyaml.clone(), options.host.clone(), store.key_pairs.clone())
            .with_names(options.secret_names.clone());
        let shared = (Arc::new(keys), Arc::default(), Arc::default());
        let hiera_config = options.hiera_config.clone();
        let bare = Environment::without_layers(tree, options, store, shared);
        if let Some(folders) = Folders::of(&hiera_config) {
            return bare.with_roots(folders);
        }
        let (manifests, mut left) = (bare.manifests(), MAX_CALLS);
        Ok(bare.with_layers()?.with_manifests(&manifests, &BTreeSet::new(), &BTreeSet::new(), &mut left))
    }

    /// Returns an environment without layers.
    fn without_layers(
        tree: Arc<dyn FileTree>,
        options: EnvironmentOptions,
        store: Arc<Store>,
        (keys, quota, contents): Shared,
    ) -> Environment {
        Environment {
            name: None,
            roots: None,
            tree,
            options,
            global: None,
            is_hiera3: false,
            layer: None,
            modules: BTreeMap::new(),
            module_names: BTreeSet::new(),
            module_folders: BTreeMap::new(),
            contents,
            module_path: ModulePath::default(),
            deployment: Deployment::default(),
            absent_modules: Vec::new(),
            lookups: Arc::default(),
            main_manifests: SetVariables::default(),
            derived: DerivedVariables::default(),
            fault: None,
            modules_fault: None,
            diagnostics: Vec::new(),
            store,
            keys,
            quota,
            converted: ConvertedFiles::default(),
            data_files: OnceLock::new(),
        }
    }

    /// Reads the layers of a single environment.
    fn with_layers(self) -> Result<Environment, TreeError> {
        let Environment { tree, options, store, .. } = &self;
        let mut loader = Loader::of(tree, options, store);
        let root = folder_of(&options.hiera_config);
        let path = child(root, "environment.conf");
        let conf = read(&**tree, &path)?;
        let file = ConfigFile { owner: Owner::Environment, module: None, tree, path: &options.hiera_config };
        let hiera3 = loader.hiera3(&file, conf.is_some())?;
        let is_hiera3 = hiera3.is_some();
        let conf = match conf.filter(|_| !is_hiera3) {
            Some(content) => EnvironmentConf::parse(&content, &path, &mut loader),
            None => EnvironmentConf::default(),
        };
        let global = options.global.as_ref().filter(|_| !is_hiera3).map(|global| loader.global(global)).transpose()?;
        let (layer, modules) = if let Some(config) = hiera3 {
            (Some(file.layer(config)), Modules::default())
        } else {
            let is_usual = options.modulepath.is_none() && options.hiera_config == HIERA_YAML;
            let own = if is_usual { own_module(&**tree)? } else { None };
            let ignores_provider = options.puppet.ignores_environment_data_providers();
            let provider = conf.data_provider.as_deref().filter(|_| !ignores_provider);
            let layer = if own.is_some() { None } else { loader.layer(file, provider)? };
            (layer, Modules::load(&mut loader, root, &conf, own)?)
        };
        let diagnostics = loader.diagnostics;
        let fault =
            conf.fault.filter(|_| options.modulepath.is_none() || !conf.fault_in_modulepath).or(modules.path_fault);
        let manifest = conf.manifest.as_deref().unwrap_or(MANIFESTS);
        let reads_variables = options.reads_manifests && !is_hiera3;
        let main_manifests =
            if reads_variables { set_variables(&**tree, root, manifest, store) } else { SetVariables::default() };
        Ok(Environment {
            derived: derived_variables(&main_manifests, options),
            main_manifests,
            global,
            is_hiera3,
            layer,
            modules: modules.layers,
            module_names: modules.names,
            module_folders: modules.folders,
            module_path: modules.path,
            deployment: modules.deployed,
            absent_modules: modules.absent,
            fault,
            modules_fault: modules.fault,
            diagnostics,
            ..self
        })
    }

    /// Returns the manifests of the repository, an error if they cannot be listed, or none if they are ignored.
    fn manifests(&self) -> Result<Vec<(String, BlobId)>, TreeError> {
        if self.options.reads_manifests { Manifests::files(&*self.tree) } else { Ok(Vec::new()) }
    }

    /// Returns the environment's own paths, with links followed: its folder, its modules' folders, and the manifests
    /// that are evaluated first.
    fn own_paths(&self) -> Result<BTreeSet<String>, TreeError> {
        let real =
            |path: &str| Ok(if let Target::Folder(real) = follow(&*self.tree, path)? { Some(real) } else { None });
        let folders = self.module_folders.values().map(String::as_str).chain([folder_of(&self.options.hiera_config)]);
        let manifests = self.main_manifests.files.iter().map(|(path, _)| Ok(path.clone()));
        folders.filter_map(|folder| real(folder).transpose()).chain(manifests).collect()
    }

    /// Reads the lookups in `manifests`, except those of other environments: manifests at or below one of the paths
    /// of `all_paths`, and of none of `own_paths`. Subtracts the number of lookups from `left`.
    fn with_manifests(
        self,
        manifests: &Result<Vec<(String, BlobId)>, TreeError>,
        all_paths: &BTreeSet<String>,
        own_paths: &BTreeSet<String>,
        left: &mut usize,
    ) -> Environment {
        let is_at = |path: &str, paths: &BTreeSet<String>| paths.contains(path) || is_below_any(path, paths);
        let is_other = |path: &str| is_at(path, all_paths) && !is_at(path, own_paths);
        let files = manifests.as_ref().map_err(Clone::clone);
        let lookups = files.map(|files| files.iter().filter(|(path, _)| !is_other(path)));
        let modules = self.module_folders.keys().cloned();
        let lookups = self.store.manifests.lookups(&*self.tree, lookups, modules, left);
        Environment { lookups: Arc::new(lookups), ..self }
    }

    /// Returns the same environment in a tree whose files differ at the paths `changed`, or `None` if anything but data
    /// files is among them, so that it has to be loaded.
    pub fn with_data(&self, tree: &Arc<dyn FileTree>, changed: &BTreeSet<String>) -> Option<Environment> {
        if self.roots.is_some() || !changed.iter().all(|path| self.has_only_data_at(path)) {
            return None;
        }
        let layer = |layer: &Layer| {
            let is_own = Arc::ptr_eq(&layer.tree, &self.tree);
            Layer { tree: if is_own { tree.clone() } else { layer.tree.clone() }, ..layer.clone() }
        };
        let shared = (self.keys.clone(), Arc::default(), Arc::default());
        Some(Environment {
            name: self.name.clone(),
            global: self.global.as_ref().map(layer),
            is_hiera3: self.is_hiera3,
            layer: self.layer.as_ref().map(layer),
            modules: self.modules.iter().map(|(name, module)| (name.clone(), layer(module))).collect(),
            module_names: self.module_names.clone(),
            module_folders: self.module_folders.clone(),
            module_path: self.module_path.clone(),
            deployment: self.deployment.clone(),
            absent_modules: self.absent_modules.clone(),
            lookups: self.lookups.clone(),
            main_manifests: self.main_manifests.clone(),
            derived: self.derived.clone(),
            fault: self.fault.clone(),
            modules_fault: self.modules_fault.clone(),
            diagnostics: self.diagnostics.clone(),
            ..Environment::without_layers(tree.clone(), self.options.clone(), self.store.clone(), shared)
        })
    }

    /// Returns true if a file at `path` is a data file, and no configuration of a layer.
    pub fn has_only_data_at(&self, path: &str) -> bool {
        let mut configs = self.layers().filter_map(|layer| layer.config.as_ref().ok()).map(|config| &config.path);
        self.has_data_file_at(path) && *path != *self.options.hiera_config && configs.all(|config| **config != *path)
    }

    /// Reads the same environment once more.
    pub fn again(&self) -> Result<Environment, TreeError> {
        Environment::load(self.tree.clone(), self.options.clone(), self.store.clone())
    }

    /// Returns the surroundings of the hierarchies of `layer`, with `tree` for the files of the repository.
    pub fn source<'a>(&'a self, layer: &'a Layer, tree: &'a dyn FileTree) -> Source<'a> {
        Source {
            repository: tree,
            environment: self.options.hiera_config.rsplit_once('/').map_or("", |(folder, _)| folder),
            layer: if Arc::ptr_eq(&layer.tree, &self.tree) { tree } else { &*layer.tree },
            disk: &*self.options.disk,
            files: &self.store.files,
            quota: &self.quota,
            converted: &self.converted,
            datadirs: &self.options.datadirs,
            backends: &self.options.backends,
            modules: &self.module_folders,
            contents: &self.contents,
            keys: &self.keys,
            puppet: self.options.puppet,
            ruby: self.options.ruby,
        }
    }

    /// Returns the data file at `path` with the content `id`, parsed.
    pub fn data_file(&self, path: &str, id: BlobId) -> Result<Arc<DataFile>, TreeError> {
        let file = self.quota.read(&self.store.files, &*self.tree, id, self.format_of(path))?;
        // If its attributes cannot be read, a lookup that reads the file reports that.
        Ok(self.converted.instead_of(&*self.tree, (path, id), file.clone()).unwrap_or(file))
    }

    /// Returns the module of `key`, if it is declared for deployment and missing.
    pub fn absent_module(&self, key: &str) -> Option<&DeclaredModule> {
        let root = root_apart(key);
        let (module, _) = root.as_deref().unwrap_or(key).split_once("::")?;
        self.absent_modules.iter().find(|absent| *absent.name == *module)
    }

    /// Returns the configuration of Hiera 3, or the reason why it cannot be read; `None` if Puppet answers.
    pub fn hiera3(&self) -> Option<Result<&Hiera3, &LookupError>> {
        let config = &self.layer.as_ref().filter(|_| self.is_hiera3)?.config;
        config.as_deref().map(|config| config.hiera3.as_deref()).transpose()
    }

    /// Returns the format of the data file at `path`, if no level decides it.
    pub fn format_of(&self, path: &str) -> Format {
        match Format::of_path(path) {
            Format::Yaml if self.is_hiera3 => Format::hiera3_yaml(self.options.hiera3_yaml_aliases),
            Format::Json if self.is_hiera3 => Format::Hiera3Json,
            format => format.read_by(self.options.ruby),
        }
    }

    /// Returns the merge strategy that manifests use for a key, if they agree on one. Hiera 3 merges no dotted key.
    pub fn asked_by_manifests(&self, key: &str) -> Option<Arc<Agreement>> {
        let agreed = self.lookups.agreed(key, &self.options.lookup_options);
        agreed.filter(|_| !self.is_hiera3 || is_plain(key))
    }

    /// Returns the name of the module that this repository is. Its layer is then the only one besides the global one.
    pub fn own_module(&self) -> Option<&Arc<str>> {
        self.module_folders.iter().find(|(_, folder)| folder.is_empty()).map(|(name, _)| name)
    }

    /// Returns all layers, in no order of priority.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        let own = self.roots().flat_map(|root| root.layer.iter().chain(root.modules.values()));
        self.global.iter().chain(own)
    }

    /// Returns the ids of all layers.
    pub fn layer_ids(&self) -> impl Iterator<Item = LayerId> + '_ {
        let global = self.global.iter().map(|_| LayerId::Global);
        let own = self.roots().flat_map(|root| {
            let layer = root.layer.iter().map(|_| root.own_layer());
            layer.chain(root.modules.keys().map(|module| root.layer_of_module(module)))
        });
        global.chain(own)
    }

    /// Returns the id of the environment's own layer.
    pub fn own_layer(&self) -> LayerId {
        LayerId::Environment(self.name.clone())
    }

    /// Returns the id of the layer of one of the environment's modules.
    pub fn layer_of_module(&self, module: &Arc<str>) -> LayerId {
        LayerId::Module(self.name.clone(), module.clone())
    }

    /// Returns the layer with this id.
    pub fn layer_of(&self, id: &LayerId) -> Option<&Layer> {
        match id {
            LayerId::Global => self.global.as_ref(),
            LayerId::Environment(root) => self.root(root)?.layer.as_ref(),
            LayerId::Module(root, name) => self.root(root)?.modules.get(name),
        }
    }
}

/// Returns the variables that the manifests of an environment set. Files that cannot be read are reported along with
/// the lookups of all manifests.
fn set_variables(tree: &dyn FileTree, root: &str, manifest: &str, store: &Store) -> SetVariables {
    // The values of Puppet's settings are not known.
    if manifest.contains('$') || manifest.starts_with('/') {
        return SetVariables::outside(manifest, manifest);
    }
    store.manifests.top_scope(tree, &join(root, manifest.trim_end_matches('/'))).unwrap_or_default()
}

/// Returns the variables that manifests, and the options, compute from others.
fn derived_variables(manifests: &SetVariables, options: &EnvironmentOptions) -> DerivedVariables {
    let is_set = |name: &str| options.variables.iter().any(|variable| *variable.name == *name);
    let others = manifests.derived.iter().filter(|variable| !is_set(&variable.name));
    DerivedVariables::new(others.chain(options.derived.iter()).cloned())
}
