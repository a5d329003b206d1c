//! Requests to the commands that answer for functions: everything that an answer may depend on, as one line of JSON.

use super::backend::{Answer, Backend, Call, Command, DeclaredFunction, Runner};
use super::config::FunctionKind;
use super::hierarchy::{Content, Level, Location};
use super::interpolation::{Context, NameStack, Undefined, variable};
use super::layer::{Environment, Layer};
use super::scope::Scope;
use super::{LookupError, Outcome};
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
    let answers = ask_all(command, std::slice::from_ref(asked));
    answers.into_iter().next().unwrap_or_else(|| Err(LookupError::unknown("a function that gives no answer")))
}

/// Makes some calls of a command, bridged ones all at a time.
pub(super) fn ask_all(command: &Command, asked: &[Asked<'_>]) -> Vec<Result<Answer, LookupError>> {
    let unasked = |asked: &Asked<'_>, what: &str, why: String| {
        let level = asked.level;
        LookupError::unknown(format!("{what} '{}' {why}", level.function)).at(level.place.clone())
    };
    match &command.runner {
        Runner::Program(backend) => {
            let ask = |asked: &Asked<'_>| {
                let request = json::compact(&Value::hash(fields(command, asked)?));
                backend.ask(&request).map_err(|why| unasked(asked, "the command for the function", why))
            };
            asked.iter().map(ask).collect()
        }
        Runner::Bridge(bridge) => {
            let calls: Vec<Result<Call<'_>, LookupError>> = asked.iter().map(|asked| call(command, asked)).collect();
            let (made, results) = split(calls);
            let mut answers = bridge.ask(&made).into_iter();
            let mut answer = |(asked, made): (&Asked<'_>, Result<(), LookupError>)| {
                made?;
                let answer = answers.next().unwrap_or_else(|| Err("gives no answer".into()));
                answer.map_err(|why| unasked(asked, "the function", why))
            };
            asked.iter().zip(results).map(&mut answer).collect()
        }
    }
}

/// Returns the calls that can be made, and for each one whether it can be.
fn split(calls: Vec<Result<Call<'_>, LookupError>>) -> (Vec<Call<'_>>, Vec<Result<(), LookupError>>) {
    let mut made = Vec::new();
    let results = calls.into_iter().map(|call| call.map(|call| made.push(call))).collect();
    (made, results)
}

/// Returns the command of a level whose answers for a root key depend on nothing but the level: that of a bridged
/// function which reads no variables.
fn of_level(level: &Level) -> Option<&Command> {
    match &level.backend {
        Backend::Declared(DeclaredFunction::Command(command)) => {
            let is_for_roots = matches!(level.kind, FunctionKind::LookupKey | FunctionKind::DataHash);
            let is_bridged = matches!(command.runner, Runner::Bridge(_));
            Some(command).filter(|command| is_for_roots && is_bridged && command.scope.is_empty())
        }
        _ => None,
    }
}

/// Returns what bridged functions answer for the root key `root` at each location of some levels of `layer`, in which
/// `scope` does not matter; `None` for a level whose answers may depend on more.
pub fn bridged_answers(
    levels: &[&Level],
    root: &str,
    (environment, layer): (&Environment, &Layer),
    scope: &dyn Scope,
) -> Vec<Option<Vec<Outcome>>> {
    let is_there = |location: &&Location| !matches!(location, Location::Path { content: Content::Absent, .. });
    let asked = |(level, location)| Asked {
        level,
        location,
        key: (root, &[]),
        scope,
        module: layer.module.as_deref(),
        tree: Some(&*environment.tree),
        interpolated: None,
    };
    let calls = levels.iter().copied().filter(|level| of_level(level).is_some());
    let calls = calls.flat_map(|level| level.locations.iter().filter(is_there).map(move |location| (level, location)));
    let asked: Vec<Asked<'_>> = calls.map(asked).collect();
    let command = levels.iter().find_map(|level| of_level(level));
    let mut answers = command.map(|command| ask_all(command, &asked)).unwrap_or_default().into_iter();
    let mut outcome = |level: &Level, location: &Location| {
        if !is_there(&location) {
            return Some(Outcome::NotFound);
        }
        match answers.next()?.ok()? {
            Answer::Found(Value::Hash(hash)) if level.kind == FunctionKind::DataHash => {
                Some(hash.get(root).cloned().map_or(Outcome::NotFound, Outcome::Found))
            }
            Answer::Found(value) if level.kind == FunctionKind::LookupKey => Some(Outcome::Found(value)),
            Answer::NotFound => Some(Outcome::NotFound),
            Answer::Found(_) | Answer::Template(_) | Answer::Failed(_) => None,
        }
    };
    let mut of = |level: &&Level| {
        of_level(level)?;
        // All answers are taken, even behind one that is none.
        let outcomes: Vec<Option<Outcome>> = level.locations.iter().map(|location| outcome(level, location)).collect();
        outcomes.into_iter().collect()
    };
    levels.iter().map(&mut of).collect()
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

/// Returns the call of a bridged function.
fn call<'a>(command: &Command, asked: &Asked<'a>) -> Result<Call<'a>, LookupError> {
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
    let mut fields = fields(command, asked)?;
    let key = fields.remove(&"key".into()).unwrap_or_default();
    fields.insert("module_name", asked.module.map_or(Value::Undef, Value::from));
    if let Some(Interpolated { raw, made }) = asked.interpolated {
        let made = made.map_or_else(|text| ("failed", Value::from(text)), |value| ("value", value.clone()));
        fields.insert("interpolated", Value::hash(Hash::from_iter([("raw", raw.clone()), made])));
    }
    let data = reads.data.as_ref().filter(|_| path.is_some_and(|path| !path.starts_with('/')));
    Ok(Call { key, fields, path, tree, code: reads.code.as_ref(), data })
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
