//! The layers of one environment: its own hiera.yaml and those of its modules.
//!
//! An [`Environment`] is what one revision of a repository says, before any node comes into play. A global layer would be one
//! more [`Layer`] before the environment's.
//! Source: `pops/lookup/lookup_adapter.rb`, `node/environment.rb`, `settings/environment_conf.rb`, `module.rb`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::backend::{Backends, DataFiles};
use super::config::{Config, Owner};
use super::glob;
use super::hierarchy::{Datadir, Source, join};
use super::regex::Regexes;
use super::{LookupError, Puppet};
use crate::diagnostic::{Diagnostic, Place};
use crate::tree::{BlobId, Entry, FileTree, Target, TreeError, child, follow};
use crate::value::{Value, json};

/// What decides how an environment is read, besides its files.
#[derive(Clone)]
pub struct EnvironmentOptions {
    /// The version whose behaviour counts.
    pub puppet: Puppet,
    /// The environment layer's configuration, relative to the root of the tree; its folder is the environment's.
    pub hiera_config: String,
    /// Absolute datadirs and what they stand for.
    pub datadirs: Vec<(String, Datadir)>,
    /// Functions that hierad does not have.
    pub backends: Backends,
}

impl Default for EnvironmentOptions {
    fn default() -> EnvironmentOptions {
        EnvironmentOptions {
            puppet: Puppet::default(),
            hiera_config: "hiera.yaml".into(),
            datadirs: Vec::new(),
            backends: Backends::new(),
        }
    }
}

/// What outlives a revision: parsed files and compiled patterns, by content.
#[derive(Debug, Default)]
pub struct Store {
    /// Parsed data files.
    pub files: DataFiles,
    /// Compiled patterns.
    pub regexes: Regexes,
}

/// One place that has a hierarchy.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The module, nothing for the environment itself.
    pub module: Option<Arc<str>>,
    /// The folder that paths in its hiera.yaml are relative to.
    pub root: String,
    /// Its configuration, or why every lookup that reaches it fails.
    pub config: Result<Arc<Config>, LookupError>,
}

/// One revision of a repository, read as a Puppet environment.
pub struct Environment {
    /// Its files.
    pub tree: Arc<dyn FileTree>,
    /// How it is read.
    pub options: EnvironmentOptions,
    /// The environment's own layer; nothing if it has no hiera.yaml.
    pub layer: Option<Layer>,
    /// The layers of its modules, by module name.
    pub modules: BTreeMap<Arc<str>, Layer>,
    /// What was found on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// Parsed files and patterns.
    pub store: Arc<Store>,
}

impl Environment {
    /// Reads configuration and modules of `tree`.
    pub fn load(
        tree: Arc<dyn FileTree>,
        options: EnvironmentOptions,
        store: Arc<Store>,
    ) -> Result<Environment, TreeError> {
        let mut loader = Loader { tree: &*tree, options: &options, diagnostics: Vec::new() };
        let root = options.hiera_config.rfind('/').map_or("", |at| &options.hiera_config[..at]).to_owned();
        let conf = loader.environment_conf(&root)?;
        let layer = loader.layer(None, root.clone(), &options.hiera_config, conf.data_provider.as_deref())?;
        let modules = loader.modules(&root, &conf.modulepath)?;
        let diagnostics = loader.diagnostics;
        Ok(Environment { tree, options, layer, modules, diagnostics, store })
    }

    /// What hierarchies are resolved against.
    pub fn source(&self) -> Source<'_> {
        Source {
            tree: &*self.tree,
            files: &self.store.files,
            datadirs: &self.options.datadirs,
            backends: &self.options.backends,
            puppet: self.options.puppet,
        }
    }

    /// Whether a function that a hierarchy names stands in the repository, where hierad cannot run it.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layer.iter().chain(self.modules.values())
    }
}

/// What environment.conf says of data.
struct EnvironmentConf {
    modulepath: String,
    data_provider: Option<String>,
}

struct Loader<'a> {
    tree: &'a dyn FileTree,
    options: &'a EnvironmentOptions,
    diagnostics: Vec<Diagnostic>,
}

impl Loader<'_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, TreeError> {
        match follow(self.tree, path)? {
            Target::File(_, id) => self.tree.read(id).map(Some),
            _ => Ok(None),
        }
    }

    fn environment_conf(&mut self, root: &str) -> Result<EnvironmentConf, TreeError> {
        let mut conf = EnvironmentConf { modulepath: "modules".into(), data_provider: None };
        let path = child(root, "environment.conf");
        let Some(content) = self.read(&path)? else { return Ok(conf) };
        let text = String::from_utf8_lossy(&content);
        for (number, line) in (1u32..).zip(text.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with('[') {
                let text = "environment.conf has no sections: this one is ignored";
                self.diagnostics.push(Diagnostic::warning("environment-conf", Some(Place::line(&*path, number)), text));
                break;
            }
            let Some((name, value)) = line.split_once('=') else {
                let text = format!("could not match line {line}");
                self.diagnostics.push(Diagnostic::error("environment-conf", Some(Place::line(&*path, number)), text));
                continue;
            };
            let value = value.trim().trim_matches(['"', '\'']).to_owned();
            match name.trim() {
                "modulepath" => conf.modulepath = value,
                "environment_data_provider" => conf.data_provider = Some(value),
                _ => {}
            }
        }
        Ok(conf)
    }

    /// The layer of a module, or of the environment, whose hiera.yaml is at `path`; nothing if it has no data.
    fn layer(
        &mut self,
        module: Option<Arc<str>>,
        root: String,
        path: &str,
        data_provider: Option<&str>,
    ) -> Result<Option<Layer>, TreeError> {
        let owner = if module.is_some() { Owner::Module } else { Owner::Environment };
        let config = match follow(self.tree, path)? {
            Target::File(_, id) => {
                let content = self.tree.read(id)?;
                Config::parse(&content, path, owner, self.options.puppet, &mut self.diagnostics).transpose()
            }
            Target::Folder(_) => {
                Some(Err(LookupError::puppet(format!("Is a directory @ io_fread - {path}")).at(Place::file(path))))
            }
            Target::Absent => None,
            Target::Outside(why) => {
                let text = format!("{why}, outside the repository: taken as absent");
                self.diagnostics.push(Diagnostic::warning("outside-repository", Some(Place::file(path)), text));
                None
            }
        };
        // A hiera.yaml of version 5 trumps the old setting; without one the setting decides.
        let config = match (config, data_provider) {
            (None, Some("hiera")) => Some(Ok(Config::implied(&root))),
            (None, Some("none") | None) => None,
            (None, Some(other)) => Some(Err(LookupError::unknown(format!(
                "the data provider '{other}' is not supported"
            ))
            .at(Place::file(path)))),
            (config, _) => config,
        };
        Ok(config.map(|config| Layer { module, root, config: config.map(Arc::new) }))
    }

    fn modules(&mut self, root: &str, modulepath: &str) -> Result<BTreeMap<Arc<str>, Layer>, TreeError> {
        let mut seen: BTreeMap<Arc<str>, Option<Layer>> = BTreeMap::new();
        for folder in self.module_folders(root, modulepath)? {
            let Target::Folder(at) = follow(self.tree, &folder)? else { continue };
            for (name, entry) in self.tree.list(&at)? {
                let path = child(&folder, &name);
                if !is_module_name(&name) || seen.contains_key(&*name) || !self.is_folder(&path, &entry)? {
                    continue;
                }
                let name: Arc<str> = name.into();
                let layer = self.module(&name, path)?;
                seen.insert(name, layer);
            }
        }
        Ok(seen.into_iter().filter_map(|(name, layer)| Some((name, layer?))).collect())
    }

    fn module_folders(&mut self, root: &str, modulepath: &str) -> Result<Vec<String>, TreeError> {
        let mut folders = Vec::new();
        for part in modulepath.split(':').filter(|part| !part.is_empty()) {
            if part.starts_with(['$', '/']) {
                let place = Place::file(child(root, "environment.conf"));
                let text = format!("modules in {part} are outside the repository: their data is not searched");
                self.diagnostics.push(Diagnostic::note("modules-outside", Some(place), text));
            } else if glob::is_pattern(part) {
                folders.extend(self.folders_matching(&join(root, part))?);
            } else {
                folders.push(join(root, part));
            }
        }
        Ok(folders)
    }

    fn folders_matching(&self, pattern: &str) -> Result<Vec<String>, TreeError> {
        glob::glob_folders(self.tree, pattern)
    }

    fn is_folder(&self, path: &str, entry: &Entry) -> Result<bool, TreeError> {
        Ok(match entry {
            Entry::Folder => true,
            Entry::Link(_) => matches!(follow(self.tree, path)?, Target::Folder(_)),
            _ => false,
        })
    }

    fn module(&mut self, name: &Arc<str>, root: String) -> Result<Option<Layer>, TreeError> {
        let metadata_path = child(&root, "metadata.json");
        let mut provider = None;
        if let Some(content) = self.read(&metadata_path)? {
            let metadata = json::parse(&content);
            if let Some(fault) = metadata.fault {
                let text =
                    format!("{name} has an invalid and unparsable metadata.json file. The parse error: {}", fault.text);
                let place = Some(Place::line(&*metadata_path, fault.line));
                self.diagnostics.push(Diagnostic::warning("module-metadata", place, text));
                if self.options.puppet.is_strict() {
                    return Ok(None);
                }
            } else if !is_complete(&metadata.value) {
                let text = format!(
                    "{name} has a metadata.json without all of source, author, version, license and dependencies: Puppet does not load the module"
                );
                self.diagnostics.push(Diagnostic::warning("module-metadata", Some(Place::file(&*metadata_path)), text));
                return Ok(None);
            }
            provider = metadata.value.get("data_provider").and_then(Value::as_str).map(str::to_owned);
        }
        let config = child(&root, "hiera.yaml");
        self.layer(Some(name.clone()), root, &config, provider.as_deref())
    }
}

/// What `Puppet::Module#load_metadata` insists on; an empty file of metadata passes.
fn is_complete(metadata: &Value) -> bool {
    let Some(hash) = metadata.as_hash() else { return false };
    let present = |key: &&str| hash.get(key).is_some_and(|value| !value.is_undef());
    hash.is_empty()
        || (["source", "author", "version", "license"].iter().all(present)
            && hash.get("dependencies").is_some_and(|value| value.as_array().is_some()))
}

/// `/^[a-z][a-z0-9_]*$/`
fn is_module_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
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
