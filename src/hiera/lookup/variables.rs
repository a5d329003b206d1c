//! Variables of the top scope in addition to those of profiles: those that are computed from others, then those that
//! come from the data, set one after the other as a manifest does.
//!
//! The text of a variable is interpolated before that variable and later ones are set. Puppet finds `lookup_options`
//! at the first lookup of a compilation and keeps them, so the options for all later lookups do not know these
//! variables, either.

use std::sync::Arc;

use super::sources::{NodeSources, Options};
use super::{Lookup, LookupError};
use crate::hiera::layer::Environment;
use crate::hiera::scope::{NodeScope, Scope};
use crate::node::NodeProfile;

/// A profile with the variables that are computed from others, and those that come from the data.
pub struct WithVariables {
    /// The profile.
    pub profile: NodeProfile,
    /// The options that were found meanwhile.
    options: Options,
}

impl WithVariables {
    /// Sets the variables of `environment` in a profile. Variables that the profile has already are kept.
    pub fn of(environment: &Environment, mut profile: NodeProfile) -> WithVariables {
        let mut options = Options::new();
        environment.derived.set(&mut profile);
        for variable in environment.options.variables.iter() {
            if profile.has_variable(&variable.name) {
                continue;
            }
            let scope = NodeScope::new(&profile);
            let sources = NodeSources::with_options(environment, &scope, options, true);
            let value = Lookup::new(environment, &sources, &scope).interpolate(&variable.text);
            options = sources.into_options();
            profile.set_variable(&variable.name, value.map_err(|error| unresolved(&variable.name, &error)));
        }
        WithVariables { profile, options }
    }

    /// Returns the sources of the node, whose `scope` must be that of this profile.
    pub fn sources<'a>(&self, environment: &'a Environment, scope: &'a dyn Scope) -> NodeSources<'a> {
        NodeSources::with_options(environment, scope, self.options.clone(), false)
    }
}

/// Returns the reason why a variable of the settings is unknown.
pub fn unresolved(name: &str, error: &LookupError) -> Arc<str> {
    let reason = if error.text.secrecy().is_some() { "its lookup fails with a secret" } else { &*error.text };
    format!("the variable '{name}' of the settings cannot be resolved: {reason}").into()
}
