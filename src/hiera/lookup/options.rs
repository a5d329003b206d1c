//! The `lookup_options` in effect, which are looked up themselves.
//!
//! Source: `retrieve_lookup_options` and what it calls in `pops/lookup/lookup_adapter.rb`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::{Found, Lookup, Provider, Search};
use crate::hiera::budget::with_stack;
use crate::hiera::explain::{Branch, Event};
use crate::hiera::interpolation::NameStack;
use crate::hiera::merge::Strategy;
use crate::hiera::options::{KeyOptions, LOOKUP_OPTIONS, LookupOptions, validate};
use crate::hiera::{LookupError, LookupKey};
use crate::value::{Hash, Value};

/// The merged `lookup_options` of one node; nodes on which the options read the same variables may share it.
#[derive(Clone, Default)]
pub struct OptionsCache(Rc<OptionsCells>);

/// For keys of a module, or of none.
type ByModule = HashMap<Option<Arc<str>>, Merged, foldhash::fast::RandomState>;

type Merged = Result<Rc<LookupOptions>, LookupError>;

#[derive(Default)]
struct OptionsCells {
    /// Of the global layer and the environment, and of these and a module.
    merged: RefCell<ByModule>,
    /// Of the global layer and the environment, before they are compiled.
    environment: RefCell<Option<Result<Option<Hash>, LookupError>>>,
    /// Those that were found while the options of the global layer were being found, without these: Puppet keeps them, but for the
    /// module of the key that it looks up.
    early: Rc<RefCell<ByModule>>,
    /// Of the modules' default hierarchies.
    defaults: RefCell<HashMap<Arc<str>, Merged, foldhash::fast::RandomState>>,
}

impl OptionsCache {
    /// The options that Puppet has found on the way to what is being resolved: those of the keys on `stack`, and of their modules.
    pub(super) fn known_to(&self, stack: &NameStack<'_>) -> OptionsCache {
        let modules = stack.names().filter_map(|name| LookupKey::parse(name).ok()?.module);
        let merged = self.0.merged.borrow();
        let known = std::iter::once(None).chain(modules.map(Some));
        let known = known.filter_map(|module| Some((module.clone(), merged.get(&module)?.clone()))).collect();
        OptionsCache(Rc::new(OptionsCells {
            merged: RefCell::new(known),
            early: self.0.early.clone(),
            ..OptionsCells::default()
        }))
    }
}

impl Lookup<'_> {
    /// The options found so far.
    pub fn options_cache(&self) -> OptionsCache {
        self.options.clone()
    }

    /// Finds the options of all layers.
    pub fn prepare_options(&self) {
        if self.environment.is_hiera3 {
            return; // Hiera 3 has none in its data
        }
        let root = NameStack::default();
        with_stack(|| {
            _ = self.options(None, &root);
            for module in self.hierarchies.modules.keys() {
                _ = self.options(Some(module), &root);
                _ = self.default_options(module, &root);
            }
        });
    }

    /// The options of the key `root`: what the settings say of it, else what the data does.
    pub(super) fn in_effect(&self, in_data: &LookupOptions, root: &str) -> Result<KeyOptions, LookupError> {
        match self.environment.options.lookup_options.find(root)? {
            Some(options) => Ok(options),
            None => in_data.of(root),
        }
    }

    /// The options in effect for keys of `module`, or of none.
    pub(super) fn options(
        &self,
        module: Option<&Arc<str>>,
        stack: &NameStack<'_>,
    ) -> Result<Rc<LookupOptions>, LookupError> {
        if let Some(options) = self.early_options(module, stack) {
            return options;
        }
        let module = module.cloned();
        if let Some(options) = self.options.0.merged.borrow().get(&module) {
            return options.clone();
        }
        // Puppet keeps what it finds first; found on its own it does not depend on who asks.
        let nested = stack.contains(LOOKUP_OPTIONS);
        let root = NameStack::default();
        let stack = if nested { stack } else { &root };
        let merge = || self.merge_options(module.as_ref(), stack).map(Rc::new);
        let options = self.step(|| Branch::Key(LOOKUP_OPTIONS.into()), merge);
        let known = if nested { &*self.options.0.early } else { &self.options.0.merged };
        known.borrow_mut().insert(module, options.clone());
        options
    }

    fn early_options(&self, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> Option<Merged> {
        let outermost = LookupKey::parse(stack.names().last()?).ok()?;
        if outermost.module.as_ref() == module || stack.contains(LOOKUP_OPTIONS) {
            return None;
        }
        self.options.0.early.borrow().get(&module.cloned()).cloned()
    }

    fn merge_options(&self, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> Result<LookupOptions, LookupError> {
        let mut options = self.environment_options(stack)?;
        if module.is_some() {
            // On the way to a module's options those of all other keys are found.
            let compiled = self.compile(options.as_ref())?;
            if !stack.contains(LOOKUP_OPTIONS) {
                self.options.0.merged.borrow_mut().entry(None).or_insert_with(|| Ok(Rc::new(compiled)));
            }
        }
        if let Some(module) = module
            && let Some(found) = self.search_options(Provider::Module, Some(module), stack)?
        {
            options = match (options, validate(found, Some(module))?) {
                (Some(high), Some(low)) => validate(self.merge_layers(module, high, low)?, None)?,
                // A null in the module takes the environment's options away, too.
                (_, low) => low,
            };
        }
        self.compile(options.as_ref())
    }

    fn compile(&self, options: Option<&Hash>) -> Result<LookupOptions, LookupError> {
        options.map_or_else(
            || Ok(LookupOptions::default()),
            |options| LookupOptions::compile(options, &self.environment.store.regexes),
        )
    }

    /// Merges what global and environment layer have over what the module has.
    fn merge_layers(&self, module: &str, high: Hash, low: Hash) -> Result<Value, LookupError> {
        let sources = [("Global and Environment".to_owned(), high), (format!("Module {module}"), low)];
        let merged = self.fold(&Strategy::Hash, &sources, |(name, options)| {
            let found = Value::hash(options.clone());
            let event = || self.event(|| Event::Found(LOOKUP_OPTIONS.into(), found.clone(), None));
            self.step(|| Branch::Scope(name.clone()), event);
            Ok(Some(found))
        })?;
        Ok(merged.unwrap_or_default())
    }

    /// The options in the default hierarchy of `module`, which go for what is found there, and not for other keys.
    pub(super) fn default_options(&self, module: &Arc<str>, stack: &NameStack<'_>) -> Merged {
        if let Some(options) = self.options.0.defaults.borrow().get(module) {
            return options.clone();
        }
        let nested = stack.contains(LOOKUP_OPTIONS);
        let root = NameStack::default();
        let inner = if nested { stack } else { &root }.push(LOOKUP_OPTIONS)?;
        let (name, strategy) = (LOOKUP_OPTIONS, &Strategy::Hash);
        let search = Search { key: name, root: name, segments: &[], module: Some(module), strategy, stack: &inner };
        let find = || {
            let branch = || Branch::Scope(format!("Searching for \"{LOOKUP_OPTIONS}\""));
            let found = self.step(branch, || self.default_provider(search))?;
            self.compile(validate(found.unwrap_or_default(), Some(module))?.as_ref()).map(Rc::new)
        };
        let options = find();
        if !nested {
            self.options.0.defaults.borrow_mut().insert(module.clone(), options.clone());
        }
        options
    }

    /// The options of the global layer and the environment.
    fn environment_options(&self, stack: &NameStack<'_>) -> Result<Option<Hash>, LookupError> {
        if let Some(options) = &*self.options.0.environment.borrow() {
            return options.clone();
        }
        let of = |provider| validate(self.search_options(provider, None, stack)?.unwrap_or_default(), None);
        // While the global options are being found they are none; it is the environment that notices a recursion.
        let global = || if stack.contains(LOOKUP_OPTIONS) { Ok(None) } else { of(Provider::Global) };
        let find = || match (global()?, of(Provider::Environment)?) {
            (Some(high), Some(low)) => validate(Strategy::Hash.merge(&Value::hash(high), &Value::hash(low))?, None),
            (global, environment) => Ok(global.or(environment)),
        };
        let options = find();
        if !stack.contains(LOOKUP_OPTIONS) {
            *self.options.0.environment.borrow_mut() = Some(options.clone());
        }
        options
    }

    fn search_options(&self, provider: Provider, module: Option<&Arc<str>>, stack: &NameStack<'_>) -> Found {
        let strategy = &Strategy::Hash;
        let search = Search { key: LOOKUP_OPTIONS, root: LOOKUP_OPTIONS, segments: &[], module, strategy, stack };
        // Puppet looks for the layer before it looks for a recursion.
        let is_there = match (provider, module) {
            (Provider::Global, _) => true,
            (Provider::Environment, None) => self.hierarchies.environment.is_some(),
            (_, module) => module.is_none_or(|module| self.hierarchies.modules.contains_key(module)),
        };
        if !is_there {
            return self.provider(provider, search);
        }
        let inner = stack.push(LOOKUP_OPTIONS)?;
        self.provider(provider, Search { stack: &inner, ..search })
    }
}
