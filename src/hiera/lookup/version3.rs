//! Interpolation of values from a global layer of version 3.
//!
//! Source: `pops/lookup/global_data_provider.rb`.

use super::sources::OnlyGlobal;
use super::{Lookup, PROVIDERS, Search};
use crate::hiera::LookupError;
use crate::hiera::interpolation::Context;
use crate::hiera::version3::HieraScope;
use crate::value::Value;

impl Lookup<'_> {
    /// Interpolates a value with `interpolated`, using version 3's variables. If the environment has no layer of
    /// version 5, other keys are searched for in the global layer only.
    pub(super) fn in_version3(
        &self,
        search: Search<'_>,
        interpolated: &dyn Fn(&Context<'_>) -> Result<Value, LookupError>,
    ) -> Result<Value, LookupError> {
        let scope = HieraScope(self.scope);
        let context_with = |keys| Context { scope: &scope, resolver: Some(keys), ..self.context(search.stack) };
        if self.has_environment_of_version5() {
            return interpolated(&context_with(self));
        }
        let sources = &OnlyGlobal(self.sources);
        let (providers, options) = (&PROVIDERS[..1], self.options.of_global_layer());
        interpolated(&context_with(&Lookup { sources, providers, options, spent: self.spent.clone(), ..*self }))
    }

    fn has_environment_of_version5(&self) -> bool {
        let config = self.environment.layer.as_ref().and_then(|layer| layer.config.as_ref().ok());
        config.is_some_and(|config| config.version >= 5)
    }

    /// Returns an error if the environment's configuration is invalid: Puppet determines its version before it
    /// searches a global layer of version 3.
    pub(super) fn check_environment(&self) -> Result<(), LookupError> {
        match self.environment.layer.as_ref().map(|layer| &layer.config) {
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }
}
