//! Values of the functions that the settings declare.
//!
//! Source: `data_hash_function_provider.rb`, `lookup_key_function_provider.rb`, `data_dig_function_provider.rb` in
//! `pops/lookup`: a `data_hash` gives all keys, and what is in it is interpolated; a `lookup_key` is call for a root
//! key, a `data_dig` for a whole dotted key, and what they give stays as it is.

use super::search::{function_call, located};
use super::{Lookup, Search, SearchResult};
use crate::hiera::LookupError;
use crate::hiera::backend::{Answer, Command, DeclaredFunction};
use crate::hiera::command::{self, Asked};
use crate::hiera::config::FunctionKind;
use crate::hiera::explain;
use crate::hiera::function_answers::FunctionCall;
use crate::hiera::hierarchy::{Level, Location};
use crate::hiera::interpolation::{Context, Undefined, interpolate};
use crate::hiera::key::dig;
use crate::hiera::layer::Layer;
use crate::puppet::types::data::{is_rich_data, short_name};
use crate::value::{Hash, Value};

/// The largest index of a `data_dig` key: what is found is put at that place of an array.
const MAX_INDEX: usize = 10_000;

/// A value that a function gives.
enum Given {
    /// A value that stays as it is, or that a `data_hash` has.
    Value(Value),
    /// A value that the function would have interpolated before.
    Template(Value),
}

impl Lookup<'_> {
    /// Returns the value of a declared function for the key that is searched for.
    pub(super) fn declared(
        &self,
        declared: &DeclaredFunction,
        (layer, level): (&Layer, &Level),
        location: &Location,
        search: Search<'_>,
    ) -> SearchResult {
        let given = match declared {
            DeclaredFunction::NotFound => None,
            DeclaredFunction::Values(values) => valued(values, level.kind, search).map(Given::Value),
            DeclaredFunction::Command(command) => self.commanded(command, (layer, level), location, search)?,
        };
        let call = function_call(level, location, search);
        let value = match given {
            None => return Ok(None),
            Some(Given::Value(value)) => value,
            Some(Given::Template(value)) => self.interpolated(&value, level, &call, search)?,
        };
        if !is_rich_data(&value) {
            let function = format!("{} function '{}'", level.kind.tag(), level.function);
            let origin = if is_hash(level.kind) { "in hash returned" } else { "returned" };
            return Err(LookupError::puppet(format!(
                "Value for key '{}', {origin} from {function}{} has wrong type, expects Puppet::LookupValue",
                search.root,
                located(location)
            )));
        }
        match level.kind {
            FunctionKind::DataHash | FunctionKind::V4DataHash => self.interpolate_for(&value, search).map(Some),
            FunctionKind::LookupKey => search.stack.function_answers().given(value, call, search.strategy).map(Some),
            FunctionKind::DataDig | FunctionKind::Hiera3Backend => undig(search.segments, value).map(Some),
        }
    }

    fn interpolate_for(&self, value: &Value, search: Search<'_>) -> Result<Value, LookupError> {
        let undefined = Undefined::in_data(self.environment.options.puppet);
        interpolate(value, &Context { scope: self.scope, resolver: Some(self), stack: search.stack, undefined })
    }

    /// Interpolates what a function would have interpolated before it gave it away. It may have looked whether that is
    /// anything at all, and nothing else.
    fn interpolated(
        &self,
        value: &Value,
        level: &Level,
        call: &FunctionCall,
        search: Search<'_>,
    ) -> Result<Value, LookupError> {
        let interpolate = || self.interpolate_for(value, search);
        let is_first = !search.stack.function_answers().has(call);
        let made = if is_first { interpolate() } else { explain::unseen(self.recorder, interpolate) }?;
        if matches!(made, Value::Undef | Value::Boolean(false)) {
            let text = format!(
                "the function '{}' has a value interpolated that becomes {}, and may go another way for that",
                level.function,
                made.inspect()
            );
            return Err(LookupError::unknown(text));
        }
        Ok(made)
    }

    fn commanded(
        &self,
        command: &Command,
        (layer, level): (&Layer, &Level),
        location: &Location,
        search: Search<'_>,
    ) -> Result<Option<Given>, LookupError> {
        let asked = Asked {
            level,
            location,
            key: (search.root, search.segments),
            scope: self.scope,
            module: layer.module.as_deref(),
            tree: Some(&*self.environment.tree),
        };
        let refused = |got: &str| {
            let (kind, function, located) = (level.kind.tag(), &level.function, located(location));
            LookupError::puppet(format!(
                "Value returned from {kind} function '{function}'{located} has wrong type, expects a Hash value, got {got}",
            ))
        };
        match command::ask(command, &asked)? {
            Answer::NotFound => Ok(None),
            Answer::Failed(text) => Err(LookupError::puppet(text)),
            Answer::Found(Value::Hash(hash)) | Answer::Template(Value::Hash(hash)) if is_hash(level.kind) => {
                Ok(hash.get(search.root).cloned().map(Given::Value))
            }
            Answer::Found(other) | Answer::Template(other) if is_hash(level.kind) => Err(refused(short_name(&other))),
            Answer::Found(value) => Ok(Some(Given::Value(value))),
            Answer::Template(value) => Ok(Some(Given::Template(value))),
        }
    }
}

fn valued(values: &Hash, kind: FunctionKind, search: Search<'_>) -> Option<Value> {
    let value = values.get(search.root)?.clone();
    match kind {
        // A function that is call for a place inside of a text has no such place.
        FunctionKind::DataDig | FunctionKind::Hiera3Backend => {
            dig(search.root, search.segments, value, None).ok().flatten()
        }
        _ => Some(value),
    }
}

/// Returns true if a function gives all keys at once.
fn is_hash(kind: FunctionKind) -> bool {
    matches!(kind, FunctionKind::DataHash | FunctionKind::V4DataHash)
}

/// Returns a value in which `segments` lead to `value`.
fn undig(segments: &[Value], value: Value) -> Result<Value, LookupError> {
    segments.iter().rev().try_fold(value, |value, segment| {
        let Value::Integer(index) = segment else {
            return Ok(Value::hash(Hash::from_iter([(segment.clone(), value)])));
        };
        match usize::try_from(*index) {
            Ok(index) if index <= MAX_INDEX => Ok(std::iter::repeat_n(Value::Undef, index).chain([value]).collect()),
            _ => Err(LookupError::unknown(format!("the index {index} in a dotted key is too large"))),
        }
    })
}
