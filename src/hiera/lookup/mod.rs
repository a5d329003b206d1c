//! The lookup of a key on a node: layers are searched, values merged as `lookup_options` say, interpolated and
//! converted.
//!
//! A [`Lookup`] gets hierarchies from its [`Sources`] and variables from its [`Scope`], and needs nothing else.
//! [`NodeSources`] are the sources of one node. Other implementations may share them between nodes, and record what
//! is requested.
//! Source: `pops/lookup/lookup_adapter.rb`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use hierad::hiera::Outcome;
//! use hierad::hiera::layer::{Environment, EnvironmentOptions};
//! use hierad::hiera::lookup::{Lookup, NodeSources};
//! use hierad::hiera::scope::NodeScope;
//! use hierad::node::read_profiles;
//! use hierad::tree::MemoryTree;
//!
//! # fn main() -> Result<(), hierad::tree::TreeError> {
//! let mut tree = MemoryTree::new();
//! tree.add("hiera.yaml", b"{version: 5, hierarchy: [{name: all, paths: ['%{role}.yaml', common.yaml]}]}");
//! tree.add("data/web.yaml", b"port: 80");
//! tree.add("data/common.yaml", b"{port: 22, url: 'http://localhost:%{lookup(\"port\")}'}");
//! let environment = Environment::load(Arc::new(tree), EnvironmentOptions::default(), Arc::default())?;
//!
//! let (profiles, _) = read_profiles(b"{name: web01, variables: {role: web}}", "web01.yaml", "production");
//! let scope = NodeScope::new(&profiles[0]);
//! let sources = NodeSources::new(&environment, &scope);
//! let lookup = Lookup::new(&environment, &sources, &scope);
//! assert_eq!(lookup.get("url", None), Outcome::Found("http://localhost:80".into()));
//! assert_eq!(lookup.get("user", None), Outcome::NotFound);
//! # Ok(())
//! # }
//! ```

mod default;
mod functions;
mod nested;
mod options;
mod search;
mod shared;
mod sources;
mod variables;
mod version3;

use std::cell::Cell;
use std::sync::Arc;

use super::budget::{Budget, Cost, LOOKUP_STEPS, REGEX_STEPS};
use super::convert::{self, convert};
use super::explain::{self, Branch, Event, Recorder};
use super::interpolation::{Context, NameStack, Resolver, Undefined, interpolate};
use super::layer::Environment;
use super::merge::Strategy;
use super::options::LOOKUP_OPTIONS;
use super::scope::{Scope, refusal};
use super::sources::Sources;
use super::version3::Engine;
use super::{LookupError, LookupKey, Outcome};
use crate::value::Value;

pub use sources::{NodeSources, resolve_part};
pub use variables::{WithVariables, unresolved};

use options::OptionsCells;

/// Looks up keys on one node.
pub struct Lookup<'a> {
    environment: &'a Environment,
    sources: &'a dyn Sources,
    scope: &'a dyn Scope,
    recorder: Option<&'a Recorder>,
    only_options: bool,
    by_data: bool,
    providers: &'static [Provider],
    options: OptionsCells,
    limit: Cost,
    spent: Cell<Cost>,
}

type SearchResult = Result<Option<Value>, LookupError>;

/// The layers, in the order of the search.
#[derive(Clone, Copy)]
enum Provider {
    Global,
    Environment,
    Module,
}

const PROVIDERS: [Provider; 3] = [Provider::Global, Provider::Environment, Provider::Module];

/// The search for a root key in a layer.
#[derive(Clone, Copy)]
struct Search<'s> {
    /// The whole key.
    key: &'s str,
    root: &'s str,
    /// The steps into the value found, which only some functions need.
    segments: &'s [Value],
    module: Option<&'s Arc<str>>,
    strategy: &'s Strategy,
    stack: &'s NameStack<'s>,
}

impl<'a> Lookup<'a> {
    /// Makes a lookup with `sources`, which must be those of the node with `scope` in `environment`.
    pub fn new(environment: &'a Environment, sources: &'a dyn Sources, scope: &'a dyn Scope) -> Lookup<'a> {
        Lookup {
            environment,
            sources,
            scope,
            recorder: None,
            only_options: false,
            by_data: false,
            providers: &PROVIDERS,
            options: OptionsCells::default(),
            limit: Cost::OF_KEY,
            spent: Cell::new(Cost::NONE),
        }
    }

    /// Limits the cost of an answer.
    #[must_use]
    pub fn within(mut self, limit: Cost) -> Lookup<'a> {
        self.limit = limit;
        self
    }

    /// Returns the cost of the last answer.
    pub fn cost(&self) -> Cost {
        self.spent.get()
    }

    /// Reports the steps of lookups to `recorder`.
    #[must_use]
    pub fn explained_by(mut self, recorder: &'a Recorder) -> Lookup<'a> {
        self.recorder = Some(recorder);
        self
    }

    /// Searches for `lookup_options` instead of any key, as `--explain-options` does. The result is undef.
    #[must_use]
    pub fn only_options(mut self) -> Lookup<'a> {
        self.only_options = true;
        self
    }

    /// Ignores the merge strategies of manifests.
    #[must_use]
    pub fn by_data(mut self) -> Lookup<'a> {
        self.by_data = true;
        self
    }

    /// Returns the effective value of `key`, merged with `strategy` or else with the strategy of the manifests or of
    /// `lookup_options`. It needs 1 MiB of the thread's stack; nested lookups get more.
    pub fn get(&self, key: &str, strategy: Option<&Strategy>) -> Outcome {
        let uses_manifests = strategy.is_none() && !self.only_options && !self.by_data;
        let agreed = if uses_manifests { self.environment.asked_by_manifests(key) } else { None };
        if let Some(agreed) = &agreed {
            self.step(|| Branch::MergeInManifest(agreed.place.clone()), || ());
        }
        let strategy = strategy.or(agreed.as_ref().map(|agreed| &agreed.strategy));
        if let Some(engine) = self.hiera3() {
            return Outcome::from_result(engine.and_then(|engine| self.get_from_hiera3(&engine, key, strategy)));
        }
        let stack = NameStack::within(self.limit);
        let found = self.find(key, strategy, &stack);
        self.spent.set(stack.budget().spent());
        Outcome::from_result(found)
    }

    /// Returns a text with its interpolations resolved, as in data.
    pub fn interpolate(&self, text: &str) -> Result<Value, LookupError> {
        if self.environment.is_hiera3 {
            return Err(LookupError::unknown("variables of the settings are not resolved by Hiera 3"));
        }
        let stack = NameStack::within(self.limit);
        interpolate(&text.into(), &self.context(&stack))
    }

    /// Returns the context of interpolations in data.
    fn context<'c>(&'c self, stack: &'c NameStack<'c>) -> Context<'c> {
        let options = &self.environment.options;
        let (undefined, notation) = (Undefined::in_data(options.puppet), options.ruby.notation());
        Context { scope: self.scope, resolver: Some(self), stack, undefined, notation }
    }

    /// Returns the effective value of `key` by the rules of Hiera 3.
    fn get_from_hiera3(&self, engine: &Engine<'_>, key: &str, strategy: Option<&Strategy>) -> SearchResult {
        let configured = || self.environment.options.lookup_options.hiera3_strategy(key);
        let budget = Budget::within(self.limit);
        let strategy = strategy.map_or_else(configured, |strategy| Ok(strategy.clone()))?;
        let found = engine.get(key, &strategy, &budget);
        self.spent.set(budget.spent());
        found
    }

    /// Returns the engine that answers instead of Hiera 5, if this is a repository of Hiera 3.
    pub fn hiera3(&self) -> Option<Result<Engine<'a>, LookupError>> {
        let hiera3 = self.environment.hiera3()?.map_err(Clone::clone);
        let hierarchy = self.sources.hierarchy(&self.environment.own_layer())?;
        let keys = &self.environment.keys;
        Some(
            hiera3.and_then(|hiera3| {
                Ok(Engine::new(hiera3, (self.sources, &*hierarchy?), self.scope, keys, self.recorder))
            }),
        )
    }

    fn find(&self, key: &str, strategy: Option<&Strategy>, stack: &NameStack<'_>) -> SearchResult {
        if key == LOOKUP_OPTIONS || key.strip_prefix(LOOKUP_OPTIONS).is_some_and(|rest| rest.starts_with('.')) {
            return self.step(|| Branch::InvalidKey(LOOKUP_OPTIONS.into()), || Ok(None));
        }
        let key = LookupKey::parse(key)?;
        let fault = self.environment.modules_fault.as_ref().filter(|_| key.module.is_some());
        if let Some(fault) = self.environment.fault.as_ref().or(fault) {
            return Err(fault.clone());
        }
        if let Some(error) = self.environment.no_folder(self.scope).or_else(|| refusal(self.scope)) {
            return Err(error);
        }
        if self.only_options {
            let (name, strategy) = (LOOKUP_OPTIONS, &Strategy::Hash);
            let module = key.module.as_ref();
            let search = Search { key: name, root: name, segments: &[], module, strategy, stack };
            return self.search_layers(search).map(|_| Some(Value::Undef));
        }
        let options =
            self.effective_options(&*self.options(key.module.as_ref(), stack)?, &key.root, stack).map_err(|error| {
                // Only a regular expression that gives up takes long.
                let cost = if error.kind.is_unknown() { REGEX_STEPS } else { 0 };
                stack.budget().spend(cost).err().unwrap_or(error)
            })?;
        if strategy.is_none() && options.names_strategy() {
            self.step(|| Branch::MergeSource(LOOKUP_OPTIONS), || ());
        }
        let found = self.step(|| Branch::Key(key.text.clone()), || self.search(&key, strategy, &options, stack))?;
        match (found, &options.convert_to) {
            (Some(value), Some(convert_to)) => {
                stack.budget().spend_on_merge(&value)?;
                let ruby = self.environment.options.ruby;
                let converted = convert(value, convert_to, &key.text, ruby)?;
                stack.budget().write_value(&converted)?;
                explain::text(self.recorder, || convert::conversion_line(convert_to, ruby));
                Ok(Some(converted))
            }
            (found, _) => Ok(found),
        }
    }

    fn search(
        &self,
        key: &LookupKey,
        strategy: Option<&Strategy>,
        options: &super::options::KeyOptions,
        stack: &NameStack<'_>,
    ) -> SearchResult {
        let strategy = strategy.map_or_else(|| options.strategy(), |strategy| Ok(strategy.clone()))?;
        let (root, segments, module) = (&*key.root, &*key.segments, key.module.as_ref());
        let search = Search { key: &key.text, root, segments, module, strategy: &strategy, stack };
        let found = self.search_layers(search).map_err(|error| error.sealed(options.secrecy()))?;
        match found.map(|value| key.dig(value, self.recorder)).transpose()?.flatten() {
            Some(value) => Ok(Some(value)),
            None => self.search_default(key, stack),
        }
    }

    /// Searches all layers. A recursion is detected in the first one.
    fn search_layers(&self, search: Search<'_>) -> SearchResult {
        let find = |provider: &Provider| {
            let inner = search.stack.push_key(search.key)?;
            self.provider(*provider, Search { stack: &inner, ..search })
        };
        match self.providers {
            // If Puppet searches only the global layer, it does not merge, so not even an array of one layer is made
            // unique.
            [alone] => find(alone),
            all => self.fold((search.strategy, search.stack.budget()), all, find),
        }
    }

    /// Merges the results of `find` for the `variants`. Fewer than two variants are not recorded as a merge.
    fn fold<T>(
        &self,
        (strategy, budget): (&Strategy, &Budget),
        variants: &[T],
        find: impl FnMut(&T) -> SearchResult,
    ) -> SearchResult {
        if !strategy.merges() || variants.len() <= 1 {
            return strategy.fold(variants, budget, find);
        }
        self.step(
            || Branch::Merge(strategy.name(), strategy.options()),
            || {
                let found = strategy.fold(variants, budget, find)?;
                if let Some(value) = &found {
                    self.event(|| Event::Result(value.clone()));
                }
                Ok(found)
            },
        )
    }

    fn step<R>(&self, branch: impl FnOnce() -> Branch, work: impl FnOnce() -> R) -> R {
        explain::step(self.recorder, branch, work)
    }

    fn event(&self, event: impl FnOnce() -> Event) {
        explain::event(self.recorder, event);
    }
}

impl Resolver for Lookup<'_> {
    fn lookup(&self, key: &str, stack: &NameStack<'_>) -> Result<Value, LookupError> {
        stack.budget().spend(LOOKUP_STEPS)?;
        Ok(self.find_shared(key, stack)?.unwrap_or_else(|| "".into()))
    }

    fn recorder(&self) -> Option<&Recorder> {
        self.recorder
    }
}
