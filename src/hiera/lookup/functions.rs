//! Values of the functions that the settings declare.
//!
//! Source: `data_hash_function_provider.rb`, `lookup_key_function_provider.rb`, `data_dig_function_provider.rb` in
//! `pops/lookup`. A `data_hash` returns all keys, and its values are interpolated. A `lookup_key` is called for a
//! root key and a `data_dig` for a whole dotted key; their values stay as they are.

use super::search::{function_call, location_text};
use super::{Lookup, Search, SearchResult};
use crate::hiera::LookupError;
use crate::hiera::backend::{Answer, Command, DeclaredFunction, Runner};
use crate::hiera::command::{FunctionCall, Interpolated};
use crate::hiera::config::FunctionKind;
use crate::hiera::explain;
use crate::hiera::hierarchy::{Level, Location};
use crate::hiera::interpolation::interpolate;
use crate::hiera::key::dig;
use crate::hiera::layer::Layer;
use crate::puppet::types::data::{is_rich_data, short_name};
use crate::value::{Hash, Value};

/// The largest index in a `data_dig` key, since the value found is put at that index of an array.
const MAX_INDEX: usize = 10_000;

/// A value that a function returns.
enum FunctionValue {
    /// A value that stays as it is, or one from the hash of a `data_hash`.
    Value(Value),
    /// A value that the function would have interpolated before returning it.
    Template(Value),
}

impl Lookup<'_> {
    /// Returns a declared function's value for the key that is searched for.
    pub(super) fn declared(
        &self,
        declared: &DeclaredFunction,
        (layer, level): (&Layer, &Level),
        location: &Location,
        search: Search<'_>,
    ) -> SearchResult {
        let answer = match declared {
            DeclaredFunction::NotFound => None,
            DeclaredFunction::Values(values) => declared_value(values, level.kind, search).map(FunctionValue::Value),
            DeclaredFunction::Command(command) => {
                let asked = self.call_for((layer, level), location, search);
                match self.ask_for_value(command, &asked, search)? {
                    Some(FunctionValue::Template(raw)) => {
                        self.interpolate_answer(command, &raw, &asked, search)?.map(FunctionValue::Value)
                    }
                    answer => answer,
                }
            }
        };
        let call = function_call(level, location, search);
        let value = match answer {
            None => return Ok(None),
            Some(FunctionValue::Value(value) | FunctionValue::Template(value)) => value,
        };
        if !is_rich_data(&value) {
            let function = format!("{} function '{}'", level.kind.tag(), level.function);
            let origin = if returns_hash(level.kind) { "in hash returned" } else { "returned" };
            return Err(LookupError::puppet(format!(
                "Value for key '{}', {origin} from {function}{} has wrong type, expects Puppet::LookupValue",
                search.root,
                location_text(location)
            )));
        }
        match level.kind {
            FunctionKind::DataHash | FunctionKind::V4DataHash => self.interpolate_for(&value, search).map(Some),
            FunctionKind::LookupKey => search.stack.function_answers().record(value, call, search.strategy).map(Some),
            FunctionKind::DataDig | FunctionKind::Hiera3Backend => undig(search.segments, value).map(Some),
        }
    }

    fn interpolate_for(&self, value: &Value, search: Search<'_>) -> Result<Value, LookupError> {
        interpolate(value, &self.context(search.stack))
    }

    fn call_for<'s>(
        &'s self,
        owner: (&'s Layer, &'s Level),
        location: &'s Location,
        search: Search<'s>,
    ) -> FunctionCall<'s> {
        let (layer, level) = owner;
        FunctionCall {
            level,
            location,
            key: (search.root, search.segments),
            scope: self.scope,
            module: layer.module.as_deref(),
            tree: Some(&*self.environment.tree),
            interpolated: None,
            lookups: &[],
        }
    }

    /// Interpolates a value that a function would have interpolated before returning it. A function in Ruby has not
    /// seen the result. If that is an error or nothing, the function might have done something else, so it is called
    /// once more with the result.
    fn interpolate_answer(
        &self,
        command: &Command,
        raw: &Value,
        asked: &FunctionCall<'_>,
        search: Search<'_>,
    ) -> SearchResult {
        let call = function_call(asked.level, asked.location, search);
        let interpolate = || self.interpolate_for(raw, search);
        let is_first = !search.stack.function_answers().has(&call);
        let made = if is_first { interpolate() } else { explain::unrecorded(self.recorder, interpolate) };
        let made = match &made {
            _ if matches!(command.runner, Runner::Program(_)) => return made.map(Some),
            Ok(Value::Undef | Value::Boolean(false)) => made,
            Err(error) if !error.kind.is_unknown() => made,
            Ok(_) | Err(_) => return made.map(Some),
        };
        if made.as_ref().is_err_and(|error| error.text.secrecy().is_some()) {
            let text = "what a function makes of a failed interpolation that may show a secret";
            return Err(LookupError::unknown(text));
        }
        let interpolated = Some(Interpolated { raw, made: made.as_ref() });
        match self.ask_for_value(command, &FunctionCall { interpolated, ..*asked }, search) {
            Ok(Some(FunctionValue::Value(value))) => Ok(Some(value)),
            Ok(None) => Ok(None),
            // The original error is clearer than its copy that has passed through Ruby.
            Err(error) if made.as_ref().is_err_and(|original| original.puppets_text() == error.puppets_text()) => {
                made.map(Some)
            }
            Err(error) => Err(error),
            Ok(Some(FunctionValue::Template(_))) => {
                let function = &asked.level.function;
                let text = format!("what the function '{function}' makes of an interpolation that gives nothing");
                Err(LookupError::unknown(text))
            }
        }
    }

    /// Asks a command for the key that is searched for.
    fn ask_for_value(
        &self,
        command: &Command,
        asked: &FunctionCall<'_>,
        search: Search<'_>,
    ) -> Result<Option<FunctionValue>, LookupError> {
        let FunctionCall { level, location, key: (root, _), .. } = *asked;
        let wrong_type = |got: &str| {
            let (kind, function, located) = (level.kind.tag(), &level.function, location_text(location));
            LookupError::puppet(format!(
                "Value returned from {kind} function '{function}'{located} has wrong type, expects a Hash value, got \
                 {got}",
            ))
        };
        match self.ask(command, asked, search)? {
            Answer::NotFound => Ok(None),
            Answer::Failed(failed) => Err(LookupError::raised(&level.function, failed)),
            Answer::Found(Value::Hash(hash)) | Answer::Template(Value::Hash(hash)) if returns_hash(level.kind) => {
                Ok(hash.get(root).cloned().map(FunctionValue::Value))
            }
            Answer::Found(other) | Answer::Template(other) if returns_hash(level.kind) => {
                Err(wrong_type(short_name(&other)))
            }
            Answer::Found(value) => Ok(Some(FunctionValue::Value(value))),
            Answer::Template(value) => Ok(Some(FunctionValue::Template(value))),
            Answer::Lookup(_) => Err(LookupError::unknown("a function that gives no answer")),
        }
    }
}

fn declared_value(values: &Hash, kind: FunctionKind, search: Search<'_>) -> Option<Value> {
    let value = values.get(search.root)?.clone();
    match kind {
        // A place inside of a text does not exist, so a function called for it finds nothing.
        FunctionKind::DataDig | FunctionKind::Hiera3Backend => {
            dig(search.root, search.segments, value, None).ok().flatten()
        }
        _ => Some(value),
    }
}

/// Returns true if a function returns all keys at once.
fn returns_hash(kind: FunctionKind) -> bool {
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
