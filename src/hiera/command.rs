//! Requests to the commands that answer for functions: everything that an answer may depend on, as one line of JSON.

use super::LookupError;
use super::backend::{Answer, Command};
use super::config::FunctionKind;
use super::hierarchy::{Level, Location};
use super::interpolation::{Context, NameStack, Undefined, variable};
use super::scope::Scope;
use crate::puppet::json;
use crate::value::{Hash, Value};

/// Asks a command for a key, given as its root and the other segments; None if there is no such key.
pub(super) fn ask(
    command: &Command,
    level: &Level,
    location: &Location,
    key: (&str, &[Value]),
    scope: &dyn Scope,
) -> Result<Option<Value>, LookupError> {
    let request = request(command, level, location, key, scope)?;
    match command.backend.ask(&request) {
        Ok(Answer::Found(value)) => Ok(Some(value)),
        Ok(Answer::NotFound) => Ok(None),
        Err(why) => {
            let text = format!("the command for the function '{}' {why}", level.function);
            Err(LookupError::unknown(text).at(level.place.clone()))
        }
    }
}

/// Returns all that the answer may depend on, as one line of JSON.
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
