//! The search for one key in a layer: its levels, their locations, and the data there.
//!
//! Source: `configured_data_provider.rb`, `data_hash_function_provider.rb`, `lookup_key_function_provider.rb` in
//! `pops/lookup`.

use std::ptr;
use std::sync::Arc;

use super::{Lookup, Provider, Search, SearchResult};
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::hiera::backend::eyaml::{self, Decryption, Reader};
use crate::hiera::backend::{Backend, DataFile};
use crate::hiera::budget::PLACE_STEPS;
use crate::hiera::config::{Config, Owner};
use crate::hiera::explain::{self, Branch, Event, FoundAt, LayerStep};
use crate::hiera::hierarchy::{Content, Level, Location};
use crate::hiera::interpolation::function_answers::FunctionCall;
use crate::hiera::interpolation::{Context, interpolate, interpolate_opened};
use crate::hiera::layer::{Layer, LayerId};
use crate::hiera::options::text_key;
use crate::puppet::types;
use crate::puppet::types::data::is_rich_data;
use crate::value::{Hash, Text, Value};

impl Lookup<'_> {
    pub(super) fn provider(&self, provider: Provider, search: Search<'_>) -> SearchResult {
        let id = match (provider, search.module) {
            (Provider::Global, _) => LayerId::Global,
            (Provider::Environment, _) => self.environment.own_layer(),
            (Provider::Module, Some(module)) => self.environment.layer_of_module(module),
            (Provider::Module, None) => return Ok(None),
        };
        let (Some(layer), Some(hierarchy)) = (self.environment.layer_of(&id), self.sources.hierarchy(&id)) else {
            match (provider, search.module) {
                (Provider::Module, Some(module)) => self.step(|| self.no_module(module), || ()),
                (Provider::Global, _) => {
                    let nothing = || self.event(|| Event::NotFound(search.key.into()));
                    self.step(|| Branch::Layer(LayerStep::NO_GLOBAL), nothing);
                }
                _ => {}
            }
            return Ok(None);
        };
        let levels = hierarchy.as_ref().map(|hierarchy| &*hierarchy.levels).map_err(Clone::clone);
        let search_levels = || {
            if is_version3(layer) {
                self.check_environment()?;
            }
            self.levels((&id, layer), levels, search)
        };
        let found = search_levels().map_err(LookupError::of_search);
        match provider {
            Provider::Global => found.map_err(|error| error.of_key(search.stack.innermost().unwrap_or(search.root))),
            Provider::Environment | Provider::Module => found,
        }
    }

    fn no_module(&self, module: &Arc<str>) -> Branch {
        if self.environment.module_names.contains(module) {
            Branch::NoModuleData(module.clone())
        } else {
            Branch::NoModule(module.clone())
        }
    }

    /// Searches levels of `layer`, or returns the error if there are none.
    pub(super) fn levels(
        &self,
        (id, layer): (&LayerId, &Layer),
        levels: Result<&[Arc<Level>], LookupError>,
        search: Search<'_>,
    ) -> SearchResult {
        let config = layer.config.as_ref().map_err(Clone::clone)?;
        let search_levels = || {
            let searched = |levels| self.sources.searched(search.root, id, levels);
            let levels = levels.inspect_err(|_| searched(None))?;
            if levels.is_empty() {
                searched(None);
                self.event(|| Event::NotFound(search.key.into()));
                return Ok(None);
            }
            let mut count = 0;
            let found = self.fold((search.strategy, search.stack.budget()), levels, |level| {
                count += 1;
                self.step(|| Branch::Level(level.name.clone()), || self.level(layer, level, search))
            });
            searched(levels.get(..count));
            found
        };
        self.step(|| layer_branch(layer, config), search_levels)
    }

    fn level(&self, layer: &Layer, level: &Level, search: Search<'_>) -> SearchResult {
        self.fold((search.strategy, search.stack.budget()), &level.locations, |location| {
            let find = || self.location(layer, level, location, search);
            match location {
                Location::Whole => find(),
                Location::Path { original, path, .. } => {
                    self.step(|| Branch::Path(path.clone(), original.clone()), find)
                }
                Location::Uri { original, uri } => self.step(|| Branch::Uri(uri.clone(), original.clone()), find),
            }
        })
    }

    fn location(&self, layer: &Layer, level: &Level, location: &Location, search: Search<'_>) -> SearchResult {
        search.stack.budget().spend(PLACE_STEPS)?;
        if matches!(level.backend, Backend::Absent) {
            explain::text(self.recorder, || not_loaded(&level.function));
            return Ok(None);
        }
        match location {
            Location::Path { content: Content::Absent, .. } => {
                self.event(|| Event::LocationNotFound);
                return Ok(None);
            }
            Location::Path { content: Content::Unreadable(error), .. } => return Err(error.clone()),
            _ => {}
        }
        match (&level.backend, location.file().map(|(path, file)| (file, path))) {
            (Backend::Files(_), Some((file, path))) => self.file(layer, level, (file, path), search),
            (Backend::Eyaml(_), _) if search.root.is_empty() => {
                Err(LookupError::bare(eyaml::NEEDS_KEY).at(level.place.clone()))
            }
            (Backend::Eyaml(_), Some((file, path))) => self.eyaml(layer, (level, location), (file, path), search),
            (Backend::Eyaml(_), None) => Err(LookupError::bare(eyaml::NEEDS_PATH).at(level.place.clone())),
            (Backend::Declared(declared), _) => {
                let value =
                    self.declared(declared, (layer, level), location, search).map_err(|e| e.at(level.place.clone()))?;
                Ok(self.record_found(search.root, value.as_ref(), None))
            }
            (Backend::Fails(error), _) => Err(error.clone().at(level.place.clone())),
            (Backend::Files(_) | Backend::Absent, _) => {
                self.event(|| Event::NotFound(search.root.into()));
                Ok(None)
            }
        }
    }

    fn file(
        &self,
        layer: &Layer,
        level: &Level,
        (file, path): (&DataFile, &Arc<str>),
        search: Search<'_>,
    ) -> SearchResult {
        let place = |line: Option<u32>| Place { path: path.clone(), line };
        let hash = self.hash(file, path)?;
        if layer.module.is_some() {
            // Puppet determines the namespace of every key in a module's file, which only texts have.
            let mut keys = hash.into_iter().flat_map(Hash::keys);
            keys.try_for_each(|key| text_key(key).map(|_| ())).map_err(|e| e.at(place(None)))?;
        }
        let Some(value) = hash.and_then(|hash| hash.get(search.root)) else {
            return Ok(self.record_found(search.root, None, None));
        };
        let answer = || {
            check_type(
                value,
                || {
                    let (tag, name) = (function_tag(layer, level), &level.function);
                    format!("in hash returned from {tag} function '{name}', when using location '{path}'")
                },
                search,
            )?;
            self.in_context(layer, search, &|context| interpolate(value, context))
        };
        let value = answer().map_err(|e| e.at(place(file.line(search.root))))?;
        Ok(self.record_found_in(file, path, search, &value))
    }

    fn eyaml(
        &self,
        layer: &Layer,
        (level, location): (&Level, &Location),
        (file, path): (&DataFile, &Arc<str>),
        search: Search<'_>,
    ) -> SearchResult {
        let hash = self.hash(file, path)?;
        let Some(value) = hash.and_then(|hash| hash.get(search.root)) else {
            return Ok(self.record_found(search.root, None, None));
        };
        let reader = Reader::Puppet { key: search.root, path };
        let decryption = Decryption { keys: &self.environment.keys, options: &level.options, reader };
        let call = function_call(level, location, search);
        let is_first = !search.stack.function_answers().has(&call);
        let answer = || {
            let interpolated = |context: &Context<'_>| interpolate_opened(value, context, &decryption);
            let make = || self.in_context(layer, search, &interpolated);
            let value = if is_first { make() } else { explain::unrecorded(self.recorder, make) }?;
            check_type(
                &value,
                || {
                    let tag = function_tag(layer, level);
                    format!("returned from {tag} function 'eyaml_lookup_key', when using location '{path}'")
                },
                search,
            )?;
            Ok(value)
        };
        let value = answer().and_then(|value| search.stack.function_answers().record(value, call, search.strategy));
        let value = value.map_err(|e: LookupError| e.at(Place { path: path.clone(), line: file.line(search.root) }))?;
        Ok(self.record_found_in(file, path, search, &value))
    }

    /// Returns the data of a file, or `None` for an empty one.
    fn hash<'f>(&self, file: &'f DataFile, path: &Arc<str>) -> Result<Option<&'f Hash>, LookupError> {
        let line = || file.fault().map(|fault| fault.line);
        let hash = file.hash(path, self.environment.options.puppet);
        hash.map_err(|e| e.at(Place { path: path.clone(), line: line() }))
    }

    /// Interpolates a value of `layer` with `interpolated`.
    fn in_context(
        &self,
        layer: &Layer,
        search: Search<'_>,
        interpolated: &dyn Fn(&Context<'_>) -> Result<Value, LookupError>,
    ) -> Result<Value, LookupError> {
        if is_version3(layer) {
            return self.in_version3(search, interpolated);
        }
        interpolated(&self.context(search.stack))
    }

    fn record_found_in(&self, file: &DataFile, path: &Arc<str>, search: Search<'_>, value: &Value) -> Option<Value> {
        let at = || FoundAt {
            place: Place { path: path.clone(), line: file.line(search.root) },
            marks: file.marks(search.root).cloned().unwrap_or_default(),
        };
        self.record_found(search.root, Some(value), self.recorder.map(|_| at()))
    }

    fn record_found(&self, key: &str, value: Option<&Value>, at: Option<FoundAt>) -> Option<Value> {
        match value {
            Some(value) => self.event(|| Event::Found(key.into(), value.clone(), at)),
            None => self.event(|| Event::NotFound(key.into())),
        }
        value.cloned()
    }
}

/// Returns the call of a `lookup_key` function for this key at this location.
pub(super) fn function_call(level: &Level, location: &Location, search: Search<'_>) -> FunctionCall {
    let number = level.locations.iter().take_while(|other| !ptr::eq(*other, location)).count();
    (level.place.clone(), level.name.clone(), number, search.root.into())
}

/// Returns Puppet's message about a backend of Hiera 3 that is not installed.
fn not_loaded(backend: &str) -> Text {
    let file = backend.to_lowercase();
    format!("Unable to load backend '{backend}': cannot load such file -- hiera/backend/{file}_backend").into()
}

fn is_version3(layer: &Layer) -> bool {
    layer.config.as_ref().is_ok_and(|config| config.version == 3)
}

/// Returns Puppet's name for the kind of a level's function.
fn function_tag(layer: &Layer, level: &Level) -> String {
    let version = if is_version3(layer) { "v3_" } else { "" };
    format!("{version}{}", level.kind.tag())
}

/// Returns an error if Puppet does not accept a value from a function. `from` describes the function.
fn check_type(value: &Value, from: impl Fn() -> String, search: Search<'_>) -> Result<(), LookupError> {
    if is_rich_data(value) {
        return Ok(());
    }
    let (key, from, got) = (search.root, from(), types::inferred(value)?);
    let text = format!("Value for key '{key}', {from}, has wrong type, expects Puppet::LookupValue, got {got}");
    Err(LookupError::puppet(text).sealed(value.secrecy()))
}

/// Returns the location of a function's answer, as worded in messages.
pub(super) fn location_text(location: &Location) -> String {
    location.place().map(|place| format!(", when using location '{place}',")).unwrap_or_default()
}

fn layer_branch(layer: &Layer, config: &Config) -> Branch {
    let place = match layer.owner {
        Owner::Global => "Global",
        Owner::Environment => "Environment",
        Owner::Module => "Module",
    };
    let path = Some(config.path.clone()).filter(|_| !config.implied);
    Branch::Layer(LayerStep { place, module: layer.module.clone(), version: config.version, config: path })
}
