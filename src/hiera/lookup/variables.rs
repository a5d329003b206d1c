//! Variables of the top scope beyond those of profiles: those that are made of others, then those that the data gives,
//! set one after the other as a manifest does.
//!
//! The text of a variable is interpolated while it and those after it are not set yet. Puppet finds `lookup_options` at
//! the first lookup of a compilation and keeps them, so those that count for all later lookups do not know these
//! variables, either.

use std::sync::Arc;

use super::sources::{NodeSources, Options};
use super::{Lookup, LookupError};
use crate::hiera::layer::Environment;
use crate::hiera::scope::{NodeScope, Scope};
use crate::node::NodeProfile;

/// A profile with the variables that are made of others, and those that the data gives.
pub struct WithVariables {
    /// The profile.
    pub profile: NodeProfile,
    /// The options that were found on the way.
    options: Options,
}

impl WithVariables {
    /// Sets the variables of `environment` in a profile. What the profile says itself stays.
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

    /// Returns the sources of the node, whose `scope` is that of the profile alone.
    pub fn sources<'a>(&self, environment: &'a Environment, scope: &'a dyn Scope) -> NodeSources<'a> {
        NodeSources::with_options(environment, scope, self.options.clone(), false)
    }
}

/// Returns the reason why a variable of the settings is unknown.
pub fn unresolved(name: &str, error: &LookupError) -> Arc<str> {
    let reason = if error.text.secrecy().is_some() { "its lookup fails with a secret" } else { &*error.text };
    format!("the variable '{name}' of the settings cannot be resolved: {reason}").into()
}
