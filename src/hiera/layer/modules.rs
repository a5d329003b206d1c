//! The modules of an environment: where they are, which of them Puppet loads.
//!
//! Source: `node/environment.rb` (`modules`), `module.rb` (`load_metadata`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Layer;
use super::load::Loader;
use crate::diagnostic::{Diagnostic, Place};
use crate::hiera::LookupError;
use crate::hiera::glob::{self, GlobError};
use crate::tree::{Entry, Target, TreeError, child, follow};
use crate::value::{Value, json};

/// The modules that have data.
#[derive(Default)]
pub(super) struct Modules {
    pub(super) layers: BTreeMap<Arc<str>, Layer>,
    /// Why Puppet cannot load any module.
    pub(super) fault: Option<LookupError>,
}

/// What a metadata.json makes of its module.
enum Metadata {
    /// It is loaded; with the old setting of a data provider.
    Loaded(Option<String>),
    /// Puppet does not load the module.
    Refused,
    /// Puppet fails on every lookup in the module.
    Fails(LookupError),
}

impl Modules {
    /// Finds the modules in the folders of `modulepath`, which is relative to `root`. The first module of a name counts.
    pub(super) fn load(loader: &mut Loader<'_>, root: &str, modulepath: &str) -> Result<Modules, TreeError> {
        let mut modules = Modules::default();
        let mut seen = BTreeSet::new();
        for folder in folders(loader, root, modulepath, &mut modules.fault)? {
            let Target::Folder(at) = follow(loader.tree, &folder)? else { continue };
            for (name, entry) in loader.tree.list(&at)? {
                let path = child(&folder, &name);
                if is_module_name(&name) && is_folder(loader, &path, &entry)? && seen.insert(name.clone()) {
                    modules.add(loader, name.into(), path)?;
                }
            }
        }
        Ok(modules)
    }

    fn add(&mut self, loader: &mut Loader<'_>, name: Arc<str>, root: String) -> Result<(), TreeError> {
        let config = child(&root, "hiera.yaml");
        let layer = match self.metadata(loader, &name, &root)? {
            Metadata::Loaded(provider) => loader.layer(Some(name.clone()), root, &config, provider.as_deref())?,
            Metadata::Refused => None,
            Metadata::Fails(error) => Some(Layer { module: Some(name.clone()), root, config: Err(error) }),
        };
        self.layers.extend(layer.map(|layer| (name, layer)));
        Ok(())
    }

    fn metadata(&mut self, loader: &mut Loader<'_>, name: &str, root: &str) -> Result<Metadata, TreeError> {
        let path = child(root, "metadata.json");
        let Some(content) = loader.read(&path)?.filter(|content| !content.is_empty()) else {
            return Ok(Metadata::Loaded(None));
        };
        let parsed = json::parse(&content);
        if let Some(fault) = parsed.fault {
            let text =
                format!("{name} has an invalid and unparsable metadata.json file. The parse error: {}", fault.text);
            loader.warn("module-metadata", Place::line(&*path, fault.line), text);
            return Ok(if loader.options.puppet.is_strict() { Metadata::Refused } else { Metadata::Loaded(None) });
        }
        let Value::Hash(hash) = &parsed.value else {
            let error = LookupError::puppet("no implicit conversion of String into Integer").at(Place::file(&*path));
            // Puppet looks into what is not empty while it loads all modules.
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

fn folders(
    loader: &mut Loader<'_>,
    root: &str,
    modulepath: &str,
    fault: &mut Option<LookupError>,
) -> Result<Vec<String>, TreeError> {
    let mut folders = Vec::new();
    for part in modulepath.split(':').filter(|part| !part.is_empty()) {
        let path = expand(root, part);
        let Some(path) = path.filter(|_| !part.starts_with(['$', '/'])) else {
            let place = Place::file(child(root, "environment.conf"));
            let text = format!("modules in {part} are outside the repository: their data is not searched");
            loader.diagnostics.push(Diagnostic::note("modules-outside", Some(place), text));
            continue;
        };
        if glob::is_pattern(&path) {
            match glob::glob_folders(loader.tree, &path) {
                Ok(found) => folders.extend(found),
                Err(GlobError::Tree(error)) => return Err(error),
                Err(error) => {
                    let place = Place::file(child(root, "environment.conf"));
                    fault.get_or_insert_with(|| LookupError::unknown(error).at(place));
                }
            }
        } else {
            folders.push(path);
        }
    }
    Ok(folders)
}

/// Ruby's `File.expand_path` inside the repository: `..` takes a name away, whether it is there or not. Nothing if the path
/// leads out.
fn expand(root: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = root.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => _ = names.pop()?,
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

fn is_folder(loader: &Loader<'_>, path: &str, entry: &Entry) -> Result<bool, TreeError> {
    Ok(match entry {
        Entry::Folder => true,
        Entry::Link(_) => matches!(follow(loader.tree, path)?, Target::Folder(_)),
        _ => false,
    })
}

/// `/^[a-z][a-z0-9_]*$/`
fn is_module_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
