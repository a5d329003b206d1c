//! Values of the functions that the settings declare.
//!
//! Source: `data_hash_function_provider.rb`, `lookup_key_function_provider.rb`, `data_dig_function_provider.rb` in
//! `pops/lookup`: a `data_hash` gives all keys, and what is in it is interpolated; a `lookup_key` is call for a root
//! key, a `data_dig` for a whole dotted key, and what they give stays as it is.

use super::search::{function_call, located};
use super::{Lookup, Search, SearchResult};
use crate::hiera::LookupError;
use crate::hiera::backend::{Command, DeclaredFunction};
use crate::hiera::command;
use crate::hiera::config::FunctionKind;
use crate::hiera::hierarchy::{Level, Location};
use crate::hiera::interpolation::{Context, Undefined, interpolate};
use crate::hiera::key::dig;
use crate::puppet::types::data::{is_rich_data, short_name};
use crate::value::{Hash, Value};

/// The largest index of a `data_dig` key: what is found is put at that place of an array.
const MAX_INDEX: usize = 10_000;

impl Lookup<'_> {
    /// Returns the value of a declared function for the key that is searched for.
    pub(super) fn declared(
        &self,
        declared: &DeclaredFunction,
        level: &Level,
        location: &Location,
        search: Search<'_>,
    ) -> SearchResult {
        let found = match declared {
            DeclaredFunction::NotFound => None,
            DeclaredFunction::Values(values) => valued(values, level.kind, search),
            DeclaredFunction::Command(command) => self.commanded(command, level, location, search)?,
        };
        let Some(value) = found else { return Ok(None) };
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
            FunctionKind::DataHash | FunctionKind::V4DataHash => {
                let undefined = Undefined::in_data(self.environment.options.puppet);
                let context = Context { scope: self.scope, resolver: Some(self), stack: search.stack, undefined };
                interpolate(&value, &context).map(Some)
            }
            FunctionKind::LookupKey => {
                let call = function_call(level, location, search);
                search.stack.function_answers().given(value, call, search.strategy).map(Some)
            }
            FunctionKind::DataDig | FunctionKind::Hiera3Backend => undig(search.segments, value).map(Some),
        }
    }

    fn commanded(&self, command: &Command, level: &Level, location: &Location, search: Search<'_>) -> SearchResult {
        let answer = command::ask(command, level, location, (search.root, search.segments), self.scope)?;
        match answer {
            Some(Value::Hash(hash)) if is_hash(level.kind) => Ok(hash.get(search.root).cloned()),
            Some(other) if is_hash(level.kind) => Err(LookupError::puppet(format!(
                "Value returned from {} function '{}'{} has wrong type, expects a Hash value, got {}",
                level.kind.tag(),
                level.function,
                located(location),
                short_name(&other)
            ))),
            answer => Ok(answer),
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
