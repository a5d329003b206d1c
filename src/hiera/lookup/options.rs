//! The `lookup_options` in effect, which are themselves looked up.
//!
//! Source: `retrieve_lookup_options` and what it calls in `pops/lookup/lookup_adapter.rb`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::{Lookup, Provider, Search, SearchResult};
use crate::hiera::LookupError;
use crate::hiera::explain::{Branch, Event};
use crate::hiera::interpolation::NameStack;
use crate::hiera::merge::Strategy;
use crate::hiera::options::{KeyOptions, LOOKUP_OPTIONS, LookupOptions, validate};
use crate::hiera::sources::{FoundOptions, Merged, OptionsOf};
use crate::value::{Hash, Value};

/// Options for the keys of a module, or for keys without a module.
type ByModule = HashMap<Option<Arc<str>>, Merged, foldhash::fast::RandomState>;

/// The `lookup_options` that one lookup has found so far.
#[derive(Default)]
pub(super) struct OptionsCells {
    /// Options of the global layer and the environment, alone or with a module. Puppet keeps the first ones that it
    /// finds, even if that is before it has found the options of the global layer.
    merged: Rc<RefCell<ByModule>>,
    /// Options of the global layer and the environment, not compiled yet.
    environment: RefCell<Option<Result<Option<Hash>, LookupError>>>,
    /// Options of the modules' default hierarchies.
    defaults: RefCell<HashMap<Arc<str>, Merged, foldhash::fast::RandomState>>,
}

impl OptionsCells {
    /// Returns the same cells for lookups in the global layer only.
    pub(super) fn of_global_layer(&self) -> OptionsCells {
        OptionsCells { merged: self.merged.clone(), ..OptionsCells::default() }
    }

    /// Sets the options of the global layer and the environment, before and after they are compiled.
    pub(super) fn set_environment(&self, options: Result<Option<Hash>, LookupError>, compiled: Merged) {
        self.environment.replace(Some(options));
        self.keep(None, compiled);
    }

    fn keep(&self, module: Option<Arc<str>>, options: Merged) {
        self.merged.borrow_mut().entry(module).or_insert(options);
    }
}

impl Lookup<'_> {
    /// Finds options, assuming that none are known yet.
    pub fn find_options(&self, of: &OptionsOf) -> FoundOptions {
        let root = NameStack::default();
        let options = match of {
            OptionsOf::Layers(module) => self.merge_options(module.as_ref(), &root).map(Arc::new),
            OptionsOf::Default(module) => {
                // By then Puppet has found the options of the layers, which the default hierarchy may refer to.
                _ = self.options(Some(module), &root);
                self.find_default_options(module, &root)
            }
        };
        let on_the_way = self.options.merged.borrow().clone();
        FoundOptions { options, on_the_way: on_the_way.into_iter().collect() }
    }

    /// Returns the options that other lookups have found, if this lookup would find the same.
    fn shared_options(&self, of: &OptionsOf) -> Option<FoundOptions> {
        let found = self.sources.options(of)?;
        let knows_none = self.options.merged.borrow().is_empty();
        Some(found).filter(|found| knows_none || found.is_alone(of.module().as_ref()))
    }

    /// Returns the options of the key `root`: those of the settings, completed by those of the data.
    pub(super) fn effective_options(
        &self,
        in_data: &LookupOptions,
        root: &str,
        stack: &NameStack<'_>,
    ) -> Result<KeyOptions, LookupError> {
        stack.budget().spend(in_data.steps_to_find(root))?;
        match self.environment.options.lookup_options.find(root)? {
            Some(options) => Ok(options.above(in_data.for_key(root)?)),
            None => in_data.for_key(root),
        }
    }

    /// Returns the options in effect for the keys of `module`, or for keys without a module.
    pub(super) fn options(&self, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> Merged {
        let module = module.cloned();
        if let Some(options) = self.options.merged.borrow().get(&module) {
            return options.clone();
        }
        let is_nested = stack.contains(LOOKUP_OPTIONS);
        let root = NameStack::default();
        let stack = if is_nested { stack } else { &root };
        let merge = || self.merge_options(module.as_ref(), stack).map(Arc::new);
        let find = || self.step(|| Branch::Key(LOOKUP_OPTIONS.into()), merge);
        // The keys of a module without data have the same options as keys without a module.
        let has_data = |module: &Arc<str>| self.environment.modules.contains_key(module);
        let of = OptionsOf::Layers(module.clone().filter(has_data));
        let shared = if is_nested { None } else { self.shared_options(&of) };
        let options = match shared {
            Some(found) => {
                for (module, options) in found.on_the_way.iter() {
                    self.options.keep(module.clone(), options.clone());
                }
                self.options.keep(of.module(), found.options.clone());
                found.options
            }
            None => find(),
        };
        self.options.merged.borrow_mut().insert(module, options.clone());
        options
    }

    fn merge_options(&self, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> Result<LookupOptions, LookupError> {
        let mut options = self.environment_options(stack)?;
        if module.is_some() {
            // Finding a module's options also finds those of all other keys.
            self.options.keep(None, Ok(Arc::new(self.compile(options.as_ref(), stack)?)));
        }
        if let Some(module) = module
            && let Some(found) = self.search_options(Provider::Module, Some(module), stack)?
        {
            options = match (options, validate(found, Some(module))?) {
                (Some(high), Some(low)) => validate(self.merge_layers(module, high, low)?, None)?,
                // A null in the module discards the environment's options, too.
                (_, low) => low,
            };
        }
        self.compile(options.as_ref(), stack)
    }

    fn compile(&self, options: Option<&Hash>, stack: &NameStack<'_>) -> Result<LookupOptions, LookupError> {
        let Some(options) = options else { return Ok(LookupOptions::default()) };
        stack.budget().spend(LookupOptions::steps_to_compile(options))?;
        LookupOptions::compile(options, &self.environment.store.regexes)
    }

    /// Merges the options of the global and the environment layer over those of the module.
    fn merge_layers(&self, module: &str, high: Hash, low: Hash) -> Result<Value, LookupError> {
        let sources = [("Global and Environment".to_owned(), high), (format!("Module {module}"), low)];
        let merged =
            self.fold((&Strategy::Hash, &crate::hiera::budget::Budget::default()), &sources, |(name, options)| {
                let found = Value::hash(options.clone());
                let event = || self.event(|| Event::Found(LOOKUP_OPTIONS.into(), found.clone(), None));
                self.step(|| Branch::Scope(name.clone()), event);
                Ok(Some(found))
            })?;
        Ok(merged.unwrap_or_default())
    }

    /// Returns the options in the default hierarchy of `module`, which apply only to keys found there.
    pub(super) fn default_options(&self, module: &Arc<str>, stack: &NameStack<'_>) -> Merged {
        if let Some(options) = self.options.defaults.borrow().get(module) {
            return options.clone();
        }
        let is_nested = stack.contains(LOOKUP_OPTIONS);
        let root = NameStack::default();
        let find = || self.find_default_options(module, if is_nested { stack } else { &root });
        let of = OptionsOf::Default(module.clone());
        let shared = if is_nested { None } else { self.shared_options(&of) };
        let options = shared.map_or_else(find, |found| found.options);
        if !is_nested {
            self.options.defaults.borrow_mut().insert(module.clone(), options.clone());
        }
        options
    }

    fn find_default_options(&self, module: &Arc<str>, stack: &NameStack<'_>) -> Merged {
        let inner = stack.push(LOOKUP_OPTIONS)?;
        let (name, strategy) = (LOOKUP_OPTIONS, &Strategy::Hash);
        let search = Search { key: name, root: name, segments: &[], module: Some(module), strategy, stack: &inner };
        let branch = || Branch::Scope(format!("Searching for \"{LOOKUP_OPTIONS}\""));
        let found = self.step(branch, || self.default_provider(search))?;
        self.compile(validate(found.unwrap_or_default(), Some(module))?.as_ref(), stack).map(Arc::new)
    }

    /// Returns the options of the global layer and the environment.
    pub(super) fn environment_options(&self, stack: &NameStack<'_>) -> Result<Option<Hash>, LookupError> {
        if let Some(options) = &*self.options.environment.borrow() {
            return options.clone();
        }
        let options_of = |provider| validate(self.search_options(provider, None, stack)?.unwrap_or_default(), None);
        // While global options are being searched for, there are none; the environment layer detects a recursion.
        let global = || if stack.contains(LOOKUP_OPTIONS) { Ok(None) } else { options_of(Provider::Global) };
        let find = || match (global()?, options_of(Provider::Environment)?) {
            (Some(high), Some(low)) => {
                validate(Strategy::Hash.merge(&Value::hash(high), &Value::hash(low), stack.budget())?, None)
            }
            (global, environment) => Ok(global.or(environment)),
        };
        let options = find();
        if !stack.contains(LOOKUP_OPTIONS) {
            *self.options.environment.borrow_mut() = Some(options.clone());
        }
        options
    }

    fn search_options(&self, provider: Provider, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> SearchResult {
        let strategy = &Strategy::Hash;
        let search = Search { key: LOOKUP_OPTIONS, root: LOOKUP_OPTIONS, segments: &[], module, strategy, stack };
        // Puppet looks for the layer before it checks for a recursion.
        let layer = match (provider, module) {
            (Provider::Global, _) => None,
            (_, None) => Some(self.environment.own_layer()),
            (_, Some(module)) => Some(self.environment.layer_of_module(module)),
        };
        if layer.is_some_and(|layer| self.sources.hierarchy(&layer).is_none()) {
            return self.provider(provider, search);
        }
        let inner = stack.push(LOOKUP_OPTIONS)?;
        self.provider(provider, Search { stack: &inner, ..search })
    }
}
