//! The `default_hierarchy` of a module: searched for a key of the module that no layer has, with its own
//! `lookup_options`.
//!
//! Source: `lookup_default_in_module` in `pops/lookup/lookup_adapter.rb`, `pops/lookup/module_data_provider.rb`.

use std::sync::Arc;

use super::{Lookup, Search, SearchResult};
use crate::hiera::LookupKey;
use crate::hiera::explain::Branch;
use crate::hiera::hierarchy::Level;
use crate::hiera::interpolation::NameStack;

impl Lookup<'_> {
    /// Searches the default hierarchy of the key's module. A strategy that the caller asks for is ignored there.
    pub(super) fn search_default(&self, key: &LookupKey, stack: &NameStack<'_>) -> SearchResult {
        let Some(module) = &key.module else { return Ok(None) };
        if self.default_levels(module).is_none() {
            return Ok(None);
        }
        let found = self.step(
            || Branch::Scope(format!("Searching default_hierarchy of module \"{module}\"")),
            || {
                let options = self.effective_options(&*self.default_options(module, stack)?, &key.root, stack)?;
                let search = || {
                    let strategy = options.strategy()?;
                    let inner = stack.push(&key.text)?;
                    let (key, root, segments, module) = (&*key.text, &*key.root, &*key.segments, Some(module));
                    let search = Search { key, root, segments, module, strategy: &strategy, stack: &inner };
                    self.default_provider(search).map_err(|error| error.sealed(options.secrecy()))
                };
                self.step(|| Branch::Scope(format!("Searching for \"{}\"", key.text)), search)
            },
        )?;
        found.map(|value| key.dig(value, self.recorder)).transpose().map(Option::flatten)
    }

    /// Searches the levels of a default hierarchy.
    pub(super) fn default_provider(&self, search: Search<'_>) -> SearchResult {
        let Some(module) = search.module else { return Ok(None) };
        let (layer, levels) = (self.environment.modules.get(module), self.default_levels(module));
        let (Some(layer), Some(levels)) = (layer, levels) else { return Ok(None) };
        self.levels((&self.environment.layer_of_module(module), layer), Ok(&levels), search)
    }

    fn default_levels(&self, module: &Arc<str>) -> Option<Vec<Arc<Level>>> {
        self.sources.hierarchy(&self.environment.layer_of_module(module))?.ok()?.default_levels.clone()
    }
}
