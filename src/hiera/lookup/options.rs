//! The `lookup_options` in effect, which are looked up themselves.
//!
//! Source: `retrieve_lookup_options` and what it calls in `pops/lookup/lookup_adapter.rb`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::{Found, Lookup, Provider, Search};
use crate::hiera::LookupError;
use crate::hiera::budget::with_stack;
use crate::hiera::explain::Branch;
use crate::hiera::interpolation::NameStack;
use crate::hiera::merge::Strategy;
use crate::hiera::options::{KeyOptions, LOOKUP_OPTIONS, LookupOptions, validate};
use crate::value::{Hash, Value};

/// The merged `lookup_options` of one node; nodes on which the options read the same variables may share it.
#[derive(Clone, Default)]
pub struct OptionsCache(Rc<OptionsCells>);

type Merged = Result<Rc<LookupOptions>, LookupError>;

#[derive(Default)]
struct OptionsCells {
    /// Of the global layer and the environment, and of these and a module.
    merged: RefCell<HashMap<Option<Arc<str>>, Merged, foldhash::fast::RandomState>>,
    /// Of the global layer and the environment, before they are compiled.
    environment: RefCell<Option<Result<Option<Hash>, LookupError>>>,
    /// Of the modules' default hierarchies.
    defaults: RefCell<HashMap<Arc<str>, Merged, foldhash::fast::RandomState>>,
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

    /// The options in the default hierarchy of `module`, which go for what is found there, and not for other keys.
    pub(super) fn default_options(&self, module: &Arc<str>, stack: &NameStack<'_>) -> Merged {
        if let Some(options) = self.options.0.defaults.borrow().get(module) {
            return options.clone();
        }
        let nested = stack.contains(LOOKUP_OPTIONS);
        let root = NameStack::default();
        let inner = if nested { stack } else { &root }.push(LOOKUP_OPTIONS)?;
        let search = Search {
            root: LOOKUP_OPTIONS,
            segments: &[],
            module: Some(module),
            strategy: &Strategy::Hash,
            stack: &inner,
        };
        let find = || {
            let found = self.step(|| Branch::Key(LOOKUP_OPTIONS.into()), || self.default_provider(search))?;
            let options = validate(found.unwrap_or_default(), Some(module))?.unwrap_or_default();
            LookupOptions::compile(&options, &self.environment.store.regexes).map(Rc::new)
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
        let find = || match (of(Provider::Global)?, of(Provider::Environment)?) {
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
        let inner = stack.push(LOOKUP_OPTIONS)?;
        let search = Search { root: LOOKUP_OPTIONS, segments: &[], module, strategy: &Strategy::Hash, stack: &inner };
        self.step(|| Branch::Key(LOOKUP_OPTIONS.into()), || self.provider(provider, search))
    }
}
