//! The lookup of one key on one node.
//!
//! Source: `pops/lookup/lookup_adapter.rb`, `configured_data_provider.rb`, `data_hash_function_provider.rb`.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::backend::{Backend, DataFile, Declared};
use super::budget::{LOOKUP_STEPS, PLACE_STEPS, with_stack};
use super::explain::{Branch, Event, FoundAt, Recorder};
use super::hierarchy::{Content, Hierarchy, Level, Location, resolve};
use super::interpolation::{Context, NameStack, Resolver, Undefined, interpolate};
use super::layer::{Environment, Layer};
use super::merge::Strategy;
use super::options::{LOOKUP_OPTIONS, LookupOptions, text_key, validate};
use super::scope::Scope;
use super::{LookupError, LookupKey, Outcome, types};
use crate::diagnostic::Place;
use crate::value::{Hash, Value};

/// The hierarchies of all layers for one node, or for all nodes that share them.
#[derive(Debug, Clone, Default)]
pub struct Hierarchies {
    /// The environment's; nothing if it has no hiera.yaml.
    pub environment: Option<Result<Arc<Hierarchy>, LookupError>>,
    /// The modules', by name; a module without data is not here.
    pub modules: BTreeMap<Arc<str>, Result<Arc<Hierarchy>, LookupError>>,
}

impl Hierarchies {
    /// Resolves the hierarchies of `environment` for the node with `scope`.
    pub fn resolve(environment: &Environment, scope: &dyn Scope) -> Hierarchies {
        let hierarchy = |layer: &Layer| {
            let config = layer.config.as_ref().map_err(Clone::clone)?;
            resolve(config, &layer.root, scope, environment.source()).map(Arc::new)
        };
        Hierarchies {
            environment: environment.layer.as_ref().map(hierarchy),
            modules: environment.modules.iter().map(|(name, layer)| (name.clone(), hierarchy(layer))).collect(),
        }
    }

    /// All hierarchies that could be resolved.
    pub fn all(&self) -> impl Iterator<Item = &Hierarchy> {
        self.environment.iter().chain(self.modules.values()).filter_map(|h| h.as_deref().ok())
    }
}

/// Looks keys up on one node.
pub struct Lookup<'a> {
    environment: &'a Environment,
    hierarchies: &'a Hierarchies,
    scope: &'a dyn Scope,
    recorder: Option<&'a Recorder>,
    options: OptionsCache,
}

/// The merged `lookup_options` of one node; nodes on which the options read the same variables may share it.
#[derive(Clone, Default)]
pub struct OptionsCache(Rc<OptionsCells>);

type Merged = Result<Rc<LookupOptions>, LookupError>;

#[derive(Default)]
struct OptionsCells {
    /// Of the environment, and of it and a module.
    merged: RefCell<HashMap<Option<Arc<str>>, Merged, foldhash::fast::RandomState>>,
    /// Of the environment, before they are compiled.
    environment: RefCell<Option<Result<Option<Hash>, LookupError>>>,
}

type Found = Result<Option<Value>, LookupError>;

/// The layers in order. The global one is always empty here.
#[derive(Clone, Copy)]
enum Provider {
    Global,
    Environment,
    Module,
}

const PROVIDERS: [Provider; 3] = [Provider::Global, Provider::Environment, Provider::Module];

/// What is searched for: a root key in a layer.
#[derive(Clone, Copy)]
struct Search<'s> {
    root: &'s str,
    module: Option<&'s Arc<str>>,
    strategy: &'s Strategy,
    stack: &'s NameStack<'s>,
}

impl<'a> Lookup<'a> {
    /// Looks up in `hierarchies`, which were resolved from `environment` for the node with `scope`.
    pub fn new(environment: &'a Environment, hierarchies: &'a Hierarchies, scope: &'a dyn Scope) -> Lookup<'a> {
        Lookup::with_options(environment, hierarchies, scope, OptionsCache::default())
    }

    /// Looks up with options that were found by another lookup in the same environment and hierarchies.
    pub fn with_options(
        environment: &'a Environment,
        hierarchies: &'a Hierarchies,
        scope: &'a dyn Scope,
        options: OptionsCache,
    ) -> Lookup<'a> {
        Lookup { environment, hierarchies, scope, recorder: None, options }
    }

    /// The options found so far.
    pub fn options_cache(&self) -> OptionsCache {
        self.options.clone()
    }

    /// Finds the options of the environment and of all modules with data.
    pub fn prepare_options(&self) {
        let root = NameStack::default();
        with_stack(|| {
            _ = self.options(None, &root);
            for module in self.hierarchies.modules.keys() {
                _ = self.options(Some(module), &root);
            }
        });
    }

    /// Tells `recorder` what the lookups do.
    #[must_use]
    pub fn explained_by(mut self, recorder: &'a Recorder) -> Lookup<'a> {
        self.recorder = Some(recorder);
        self
    }

    /// The effective value of `key`: with the merge strategy that `lookup_options` name, or with `strategy`.
    pub fn get(&self, key: &str, strategy: Option<&Strategy>) -> Outcome {
        Outcome::from_result(with_stack(|| self.find(key, strategy, &NameStack::default())))
    }

    fn find(&self, key: &str, strategy: Option<&Strategy>, stack: &NameStack<'_>) -> Found {
        if key == LOOKUP_OPTIONS || key.strip_prefix(LOOKUP_OPTIONS).is_some_and(|rest| rest.starts_with('.')) {
            return self.step(|| Branch::InvalidKey(LOOKUP_OPTIONS.into()), || Ok(None));
        }
        let key = LookupKey::parse(key)?;
        let fault = self.environment.modules_fault.as_ref().filter(|_| key.module.is_some());
        if let Some(fault) = self.environment.fault.as_ref().or(fault) {
            return Err(fault.clone());
        }
        let options = self.options(key.module.as_ref(), stack)?.of(&key.root)?;
        let found = self.step(|| Branch::Key(key.text.clone()), || self.search(&key, strategy, &options, stack))?;
        if found.is_some() && options.convert_to.is_some() {
            return Err(LookupError::unknown(format!(
                "'convert_to' in lookup_options for '{}' is not supported",
                key.root
            )));
        }
        Ok(found)
    }

    fn search(
        &self,
        key: &LookupKey,
        strategy: Option<&Strategy>,
        options: &super::options::KeyOptions,
        stack: &NameStack<'_>,
    ) -> Found {
        let strategy = strategy.map_or_else(|| options.strategy(), |strategy| Ok(strategy.clone()))?;
        let inner = stack.push(&key.text)?;
        let search = Search { root: &key.root, module: key.module.as_ref(), strategy: &strategy, stack: &inner };
        let found =
            self.merged(&strategy, || strategy.fold(&PROVIDERS, |provider| self.provider(*provider, search)))?;
        let found = found.map(|value| self.dig(key, value)).transpose()?.flatten();
        match (&found, self.default_hierarchy(key.module.as_ref())) {
            (None, Some(place)) => {
                Err(LookupError::unknown("'default_hierarchy' of a module is not supported").at(place))
            }
            _ => Ok(found),
        }
    }

    fn dig(&self, key: &LookupKey, value: Value) -> Found {
        if key.segments.is_empty() {
            return Ok(Some(value));
        }
        let path = || key.segments.iter().map(crate::value::ruby::to_s).collect::<Vec<_>>().join(".");
        self.step(
            || Branch::SubKey(path()),
            || {
                let found = key.dig(value)?;
                match &found {
                    Some(value) => self.event(|| Event::Found(path().into(), value.clone(), None)),
                    None => self.event(|| Event::NotFound(path().into())),
                }
                Ok(found)
            },
        )
    }

    /// Where the module has a `default_hierarchy`, which is searched when all layers have nothing.
    fn default_hierarchy(&self, module: Option<&Arc<str>>) -> Option<Place> {
        let config = self.environment.modules.get(module?)?.config.as_ref().ok()?;
        config.default_hierarchy.map(|line| Place::line(config.path.clone(), line))
    }

    fn provider(&self, provider: Provider, search: Search<'_>) -> Found {
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

    /// The options in effect for keys of `module`, or of none.
    fn options(&self, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> Result<Rc<LookupOptions>, LookupError> {
        let module = module.cloned();
        if let Some(options) = self.options.0.merged.borrow().get(&module) {
            return options.clone();
        }
        // Puppet keeps what it finds first; found on its own it does not depend on who asks.
        let nested = stack.contains(LOOKUP_OPTIONS);
        let root = NameStack::default();
        let options = self.merge_options(module.as_ref(), if nested { stack } else { &root }).map(Rc::new);
        if !nested {
            self.options.0.merged.borrow_mut().insert(module, options.clone());
        }
        options
    }

    fn merge_options(&self, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> Result<LookupOptions, LookupError> {
        let mut options = self.environment_options(stack)?;
        if let Some(module) = module
            && self.hierarchies.modules.contains_key(module)
            && let Some(found) = self.search_options(Provider::Module, Some(module), stack)?
        {
            options = match (options, validate(found, Some(module))?) {
                (Some(high), Some(low)) => {
                    validate(Strategy::Hash.merge(&Value::hash(high), &Value::hash(low))?, None)?
                }
                // A null in the module takes the environment's options away, too.
                (_, low) => low,
            };
        }
        LookupOptions::compile(&options.unwrap_or_default(), &self.environment.store.regexes)
    }

    fn environment_options(&self, stack: &NameStack<'_>) -> Result<Option<Hash>, LookupError> {
        if let Some(options) = &*self.options.0.environment.borrow() {
            return options.clone();
        }
        let search = || validate(self.search_options(Provider::Environment, None, stack)?.unwrap_or_default(), None);
        let options = search();
        if !stack.contains(LOOKUP_OPTIONS) {
            *self.options.0.environment.borrow_mut() = Some(options.clone());
        }
        options
    }

    fn search_options(&self, provider: Provider, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> Found {
        let inner = stack.push(LOOKUP_OPTIONS)?;
        let search = Search { root: LOOKUP_OPTIONS, module, strategy: &Strategy::Hash, stack: &inner };
        self.step(|| Branch::Key(LOOKUP_OPTIONS.into()), || self.provider(provider, search))
    }

    fn merged(&self, strategy: &Strategy, fold: impl FnOnce() -> Found) -> Found {
        if !strategy.merges() {
            return fold();
        }
        self.step(
            || Branch::Merge(strategy.name()),
            || {
                let found = fold()?;
                if let Some(value) = &found {
                    self.event(|| Event::Result(value.clone()));
                }
                Ok(found)
            },
        )
    }

    fn step<R>(&self, branch: impl FnOnce() -> Branch, work: impl FnOnce() -> R) -> R {
        match self.recorder {
            Some(recorder) => recorder.step(branch(), work),
            None => work(),
        }
    }

    fn event(&self, event: impl FnOnce() -> Event) {
        if let Some(recorder) = self.recorder {
            recorder.event(event());
        }
    }
}

impl Resolver for Lookup<'_> {
    fn lookup(&self, key: &str, stack: &NameStack<'_>) -> Result<Value, LookupError> {
        self.step(
            || Branch::Interpolation(key.into()),
            || {
                stack.budget().spend(LOOKUP_STEPS)?;
                Ok(with_stack(|| self.find(key, None, stack))?.unwrap_or_else(|| "".into()))
            },
        )
    }
}

fn layer_branch(layer: &Layer) -> Branch {
    let name = layer.module.as_ref().map_or_else(|| "Environment".into(), |module| format!("Module \"{module}\""));
    let path = layer.config.as_ref().map_or_else(|_| "".into(), |config| config.path.clone());
    Branch::Layer(name, path)
}
