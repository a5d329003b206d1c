//! What functions answer that the settings declare.
//!
//! Source: `data_hash_function_provider.rb`, `lookup_key_function_provider.rb`, `data_dig_function_provider.rb` in `pops/lookup`:
//! a `data_hash` gives all keys, and what is in it is interpolated; a `lookup_key` is asked for a root key, a `data_dig` for a
//! whole dotted key, and what they give stays as it is.

use super::search::{asked, located};
use super::{Found, Lookup, Search};
use crate::hiera::LookupError;
use crate::hiera::backend::{Answer, Command, Declared};
use crate::hiera::config::FunctionKind;
use crate::hiera::hierarchy::{Level, Location};
use crate::hiera::interpolation::{Context, NameStack, Undefined, interpolate, variable};
use crate::hiera::key::dig;
use crate::hiera::scope::Scope;
use crate::puppet::json;
use crate::puppet::types::data::{is_rich_data, short_name};
use crate::value::{Hash, Value};

/// The largest index of a `data_dig` key: what is found is put at that place of an array.
const MAX_INDEX: usize = 10_000;

impl Lookup<'_> {
    /// The value of a declared function for the key that is searched for.
    pub(super) fn declared(
        &self,
        declared: &Declared,
        level: &Level,
        location: &Location,
        search: Search<'_>,
    ) -> Found {
        let found = match declared {
            Declared::NotFound => None,
            Declared::Values(values) => valued(values, level.kind, search),
            Declared::Command(command) => self.commanded(command, level, location, search)?,
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
                let asked = asked(level, location, search);
                search.stack.kept().given(value, asked, search.strategy).map(Some)
            }
            FunctionKind::DataDig | FunctionKind::Hiera3Backend => undig(search.segments, value).map(Some),
        }
    }

    fn commanded(&self, command: &Command, level: &Level, location: &Location, search: Search<'_>) -> Found {
        let answer = ask(command, level, location, (search.root, search.segments), self.scope)?;
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

/// What a command answers for a key, whose root and other segments these are.
pub(in crate::hiera) fn ask(
    command: &Command,
    level: &Level,
    location: &Location,
    key: (&str, &[Value]),
    scope: &dyn Scope,
) -> Found {
    let request = request(command, level, location, key, scope)?;
    match command.asks.ask(&request) {
        Ok(Answer::Found(value)) => Ok(Some(value)),
        Ok(Answer::NotFound) => Ok(None),
        Err(why) => {
            let text = format!("the command for the function '{}' {why}", level.function);
            Err(LookupError::unknown(text).at(level.place.clone()))
        }
    }
}

/// All that the answer may depend on, as one line of JSON.
fn request(
    command: &Command,
    level: &Level,
    location: &Location,
    (root, segments): (&str, &[Value]),
    scope: &dyn Scope,
) -> Result<String, LookupError> {
    let key = match level.kind {
        FunctionKind::DataHash | FunctionKind::V4DataHash => Value::Undef,
        FunctionKind::LookupKey => root.into(),
        FunctionKind::DataDig | FunctionKind::Hiera3Backend => {
            std::iter::once(root.into()).chain(segments.iter().cloned()).collect()
        }
    };
    let location = match location {
        Location::Whole => Value::Undef,
        Location::Path { path, .. } => Value::from(&**path),
        Location::Uri { uri, .. } => Value::from(&**uri),
    };
    let stack = NameStack::default();
    let context = Context { scope, resolver: None, stack: &stack, undefined: Undefined::Empty };
    let told = command.scope.iter().map(|name| Ok((&**name, variable(name, name, &context)?)));
    let entries: [(&str, Value); 7] = [
        ("function", (&*level.function).into()),
        ("kind", level.kind.tag().into()),
        ("key", key),
        ("options", level.options.clone()),
        ("level", (&*level.name).into()),
        ("location", location),
        ("scope", Value::hash(told.collect::<Result<Hash, LookupError>>()?)),
    ];
    Ok(json::compact(&Value::hash(entries.into_iter().collect())))
}

fn valued(values: &Hash, kind: FunctionKind, search: Search<'_>) -> Option<Value> {
    let value = values.get(search.root)?.clone();
    match kind {
        // A function that is asked for a place inside of a text has no such place.
        FunctionKind::DataDig | FunctionKind::Hiera3Backend => {
            dig(search.root, search.segments, value, None).ok().flatten()
        }
        _ => Some(value),
    }
}

/// Whether a function gives all keys at once.
fn is_hash(kind: FunctionKind) -> bool {
    matches!(kind, FunctionKind::DataHash | FunctionKind::V4DataHash)
}

/// A value in which `segments` lead to `value`.
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
