//! The search of one key in a layer: its levels, their locations, what each of them holds.
//!
//! Source: `configured_data_provider.rb`, `data_hash_function_provider.rb` in `pops/lookup`.

use std::sync::Arc;

use super::{Found, Lookup, Provider, Search};
use crate::diagnostic::Place;
use crate::hiera::backend::{Backend, DataFile, Declared};
use crate::hiera::budget::PLACE_STEPS;
use crate::hiera::explain::{Branch, Event, FoundAt};
use crate::hiera::hierarchy::{Content, Level, Location};
use crate::hiera::interpolation::{Context, Undefined, interpolate};
use crate::hiera::layer::Layer;
use crate::hiera::options::text_key;
use crate::hiera::{LookupError, types};
use crate::value::Value;

impl Lookup<'_> {
    pub(super) fn provider(&self, provider: Provider, search: Search<'_>) -> Found {
        let environment = self.environment;
        let (layer, hierarchy) = match provider {
            Provider::Global => return Ok(None),
            Provider::Environment => (environment.layer.as_ref(), self.hierarchies.environment.as_ref()),
            Provider::Module => {
                let Some(module) = search.module else { return Ok(None) };
                (environment.modules.get(module), self.hierarchies.modules.get(module))
            }
        };
        let (Some(layer), Some(hierarchy)) = (layer, hierarchy) else {
            if let (Provider::Module, Some(module)) = (provider, search.module) {
                self.step(|| Branch::NoModuleData(module.clone()), || ());
            }
            return Ok(None);
        };
        let hierarchy = hierarchy.as_ref().map_err(Clone::clone)?;
        self.step(
            || layer_branch(layer),
            || {
                if hierarchy.levels.is_empty() {
                    self.event(|| Event::NotFound(search.root.into()));
                    return Ok(None);
                }
                let level = |level: &Level| {
                    self.step(|| Branch::Level(level.name.clone()), || self.level(layer, level, search))
                };
                self.merged(search.strategy, || search.strategy.fold(&hierarchy.levels, level))
            },
        )
    }

    fn level(&self, layer: &Layer, level: &Level, search: Search<'_>) -> Found {
        self.merged(search.strategy, || {
            search.strategy.fold(&level.locations, |location| match location {
                Location::Whole => self.location(layer, level, location, search),
                Location::Path { original, path, .. } | Location::Uri { original, uri: path } => self.step(
                    || Branch::Location(path.clone(), original.clone()),
                    || self.location(layer, level, location, search),
                ),
            })
        })
    }

    fn location(&self, layer: &Layer, level: &Level, location: &Location, search: Search<'_>) -> Found {
        search.stack.budget().spend(PLACE_STEPS)?;
        let content = match location {
            Location::Path { content: Content::Absent, .. } => {
                self.event(|| Event::LocationNotFound);
                return Ok(None);
            }
            Location::Path { content: Content::Unreadable(error), .. } => return Err(error.clone()),
            Location::Path { content: Content::File(_, file), path, .. } => Some((file, path)),
            _ => None,
        };
        match (&level.backend, content) {
            (Backend::Files(_), Some((file, path))) => self.file(layer, file, path, search),
            (Backend::Declared(Declared::Values(values)), _) => {
                Ok(self.found(search.root, values.get(search.root), None))
            }
            (Backend::Fails(error), _) => Err(error.clone().at(level.place.clone())),
            (Backend::Declared(Declared::NotFound) | Backend::Files(_), _) => {
                self.event(|| Event::NotFound(search.root.into()));
                Ok(None)
            }
        }
    }

    fn file(&self, layer: &Layer, file: &DataFile, path: &Arc<str>, search: Search<'_>) -> Found {
        let puppet = self.environment.options.puppet;
        let place = |line: Option<u32>| Place { path: path.clone(), line };
        let hash = file.hash(path, puppet).map_err(|e| e.at(place(file.fault().map(|fault| fault.line))))?;
        let Some(hash) = hash else { return Ok(self.found(search.root, None, None)) };
        if layer.module.is_some() {
            // Puppet asks every key of a module's file for its namespace, which only texts have.
            hash.keys().try_for_each(|key| text_key(key).map(|_| ())).map_err(|e| e.at(place(None)))?;
        }
        let Some(value) = hash.get(search.root) else { return Ok(self.found(search.root, None, None)) };
        let line = || place(file.line(search.root));
        if !types::is_rich_data(value) {
            let text = format!(
                "Value for key '{}', in hash returned from data_hash function, when using location '{path}', has wrong type, expects Puppet::LookupValue",
                search.root
            );
            return Err(LookupError::puppet(text).at(line()));
        }
        let undefined = Undefined::in_data(puppet);
        let context = Context { scope: self.scope, resolver: Some(self), stack: search.stack, undefined };
        let value = interpolate(value, &context).map_err(|e| e.at(line()))?;
        let at = || FoundAt { place: line(), marks: file.marks(search.root).cloned().unwrap_or_default() };
        Ok(self.found(search.root, Some(&value), self.recorder.map(|_| at())))
    }

    fn found(&self, key: &str, value: Option<&Value>, at: Option<FoundAt>) -> Option<Value> {
        match value {
            Some(value) => self.event(|| Event::Found(key.into(), value.clone(), at)),
            None => self.event(|| Event::NotFound(key.into())),
        }
        value.cloned()
    }
}

fn layer_branch(layer: &Layer) -> Branch {
    let name = layer.module.as_ref().map_or_else(|| "Environment".into(), |module| format!("Module \"{module}\""));
    let path = layer.config.as_ref().map_or_else(|_| "".into(), |config| config.path.clone());
    Branch::Layer(name, path)
}
