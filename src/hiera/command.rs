//! Requests to the commands that answer for functions: everything that an answer may depend on, as one line of JSON.

use super::LookupError;
use super::backend::{Answer, Bridge, Call, Command, Runner};
use super::config::FunctionKind;
use super::hierarchy::{Level, Location};
use super::interpolation::{Context, NameStack, Undefined, variable};
use super::scope::Scope;
use crate::puppet::json;
use crate::tree::{FileTree, below};
use crate::value::{Hash, Value};

/// A call of a function.
pub(super) struct Asked<'a> {
    pub(super) level: &'a Level,
    pub(super) location: &'a Location,
    /// The key: its root and the other segments.
    pub(super) key: (&'a str, &'a [Value]),
    pub(super) scope: &'a dyn Scope,
    /// The module whose layer calls it.
    pub(super) module: Option<&'a str>,
    /// The files of the repository; `None` where functions are not bridged.
    pub(super) tree: Option<&'a dyn FileTree>,
    /// The outcome of an interpolation that the function may have looked at.
    pub(super) interpolated: Option<Interpolated<'a>>,
}

/// The outcome of the interpolation of a value, in a call that was made before without it.
#[derive(Clone, Copy)]
pub(super) struct Interpolated<'a> {
    /// The value before.
    pub(super) raw: &'a Value,
    /// The value after, or the text of Puppet's error.
    pub(super) made: Result<&'a Value, &'a str>,
}

/// Asks a command for a key.
pub(super) fn ask(command: &Command, asked: &Asked<'_>) -> Result<Answer, LookupError> {
    let level = asked.level;
    let fields = fields(command, asked)?;
    let answer = match &command.runner {
        Runner::Program(backend) => {
            let unasked = |why| format!("the command for the function '{}' {why}", level.function);
            backend.ask(&json::compact(&Value::hash(fields))).map_err(unasked)
        }
        Runner::Bridge(bridge) => {
            let unasked = |why| format!("the function '{}' {why}", level.function);
            call(&**bridge, fields, asked)?.map_err(unasked)
        }
    };
    answer.map_err(|text| LookupError::unknown(text).at(level.place.clone()))
}

/// Asks a command for a key where nothing that it answers is interpolated; `None` if there is no such key.
pub(super) fn value(command: &Command, asked: &Asked<'_>) -> Result<Option<Value>, LookupError> {
    match ask(command, asked)? {
        Answer::Found(value) => Ok(Some(value)),
        Answer::NotFound => Ok(None),
        Answer::Failed(text) => Err(LookupError::puppet(text).at(asked.level.place.clone())),
        Answer::Template(_) => {
            let text = format!(
                "the command for the function '{}' has its answer interpolated, which a backend of Hiera 3 cannot",
                asked.level.function
            );
            Err(LookupError::unknown(text).at(asked.level.place.clone()))
        }
    }
}

/// Calls a bridged function.
fn call(bridge: &dyn Bridge, mut fields: Hash, asked: &Asked<'_>) -> Result<Result<Answer, String>, LookupError> {
    let level = asked.level;
    let unknown = |text: String| LookupError::unknown(text).at(level.place.clone());
    let (Some(tree), Some(reads)) = (asked.tree, &level.reads) else {
        return Err(unknown(format!("the function '{}' cannot be run by Puppet from this layer", level.function)));
    };
    let reads = reads.as_ref().map_err(Clone::clone)?;
    let path = match asked.location {
        Location::Path { path, .. } => Some(&**path),
        _ => None,
    };
    let is_inside =
        |path: &str| path.starts_with('/') || reads.data.as_ref().is_some_and(|data| below(&data.path, path).is_some());
    if let Some(path) = path.filter(|path| !is_inside(path)) {
        return Err(unknown(format!("{path} is not in the datadir of its level, so no function is run for it")));
    }
    fields.insert("module_name", asked.module.map_or(Value::Undef, Value::from));
    if let Some(Interpolated { raw, made }) = asked.interpolated {
        let made = made.map_or_else(|text| ("failed", Value::from(text)), |value| ("value", value.clone()));
        fields.insert("interpolated", Value::hash(Hash::from_iter([("raw", raw.clone()), made])));
    }
    let data = reads.data.as_ref().filter(|_| path.is_some_and(|path| !path.starts_with('/')));
    Ok(bridge.ask(Call { fields, path, tree, code: reads.code.as_ref(), data }))
}

/// Returns all that the answer may depend on but the files.
fn fields(command: &Command, asked: &Asked<'_>) -> Result<Hash, LookupError> {
    let Asked { level, location, key: (root, segments), scope, .. } = *asked;
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
    Ok(entries.into_iter().collect())
}
