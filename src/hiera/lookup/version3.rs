//! Values of a global layer of version 3: what they refer to.
//!
//! Source: `pops/lookup/global_data_provider.rb`.

use super::{Hierarchies, Lookup, OptionsCache, Search};
use crate::hiera::LookupError;
use crate::hiera::interpolation::{Context, Undefined, interpolate};
use crate::hiera::version3::HieraScope;
use crate::value::Value;

impl Lookup<'_> {
    /// `value` interpolated with version 3's variables. Where the environment has no layer, other keys are searched in the
    /// global one only.
    pub(super) fn interpolated_in_version3(&self, value: &Value, search: Search<'_>) -> Result<Value, LookupError> {
        let scope = HieraScope(self.scope);
        let undefined = Undefined::in_data(self.environment.options.puppet);
        let interpolated =
            |keys| interpolate(value, &Context { scope: &scope, resolver: Some(keys), stack: search.stack, undefined });
        if self.environment.layer.is_some() {
            return interpolated(self);
        }
        let hierarchies = Hierarchies { global: self.hierarchies.global.clone(), ..Hierarchies::default() };
        let (environment, scope, recorder, only_options) =
            (self.environment, self.scope, self.recorder, self.only_options);
        let options = OptionsCache::default();
        interpolated(&Lookup { environment, hierarchies: &hierarchies, scope, recorder, only_options, options })
    }
}
