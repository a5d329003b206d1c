//! Requests to the commands that answer for functions: everything that an answer may depend on, as one line of JSON.

use super::backend::{Answer, Backend, Call, Command, DeclaredFunction, Mentions, NestedLookup, Runner};
use super::config::FunctionKind;
use super::hierarchy::{Level, Location};
use super::interpolation::{Context, NameStack, Undefined, variable};
use super::layer::{Environment, Layer};
use super::scope::Scope;
use super::{LookupError, Outcome};
use crate::puppet::{ErrorKind, json};
use crate::tree::FileTree;
use crate::value::{Hash, Notation, Value};

/// A call of a function.
pub(super) struct FunctionCall<'a> {
    pub(super) level: &'a Level,
    pub(super) location: &'a Location,
    /// The key: its root and the other segments.
    pub(super) key: (&'a str, &'a [Value]),
    pub(super) scope: &'a dyn Scope,
    /// The module whose layer makes the call.
    pub(super) module: Option<&'a str>,
    /// The files of the repository, or `None` if functions are not bridged.
    pub(super) tree: Option<&'a dyn FileTree>,
    /// The outcome of an interpolation that the function may have looked at.
    pub(super) interpolated: Option<Interpolated<'a>>,
    /// The lookups known so far that the function needs for its answer.
    pub(super) lookups: &'a [LookedUp],
}

/// A lookup that a function makes, with its result.
pub(super) struct LookedUp {
    pub(super) wanted: NestedLookup,
    pub(super) found: Result<Option<Value>, LookupError>,
}

impl LookedUp {
    fn written(&self) -> Value {
        let mut fields = Hash::from_iter([("of", self.wanted.written())]);
        match &self.found {
            Ok(value) => {
                fields.insert("found", value.iter().cloned().collect());
            }
            Err(error) => add_failure(&mut fields, error),
        }
        Value::hash(fields)
    }
}

/// Writes what Puppet raises in the function that made the lookup.
fn add_failure(fields: &mut Hash, error: &LookupError) {
    fields.insert("failed", error.puppets_text().into());
    if error.kind == ErrorKind::Global {
        fields.insert("by", "global".into());
    }
}

/// The outcome of interpolating a value. The call was made before without it.
#[derive(Clone, Copy)]
pub(super) struct Interpolated<'a> {
    /// The value before.
    pub(super) raw: &'a Value,
    /// The value after, or Puppet's error.
    pub(super) made: Result<&'a Value, &'a LookupError>,
}

/// Asks a command for a key.
pub(super) fn ask(command: &Command, asked: &FunctionCall<'_>) -> Result<Answer, LookupError> {
    let answers = ask_all(command, std::slice::from_ref(asked));
    answers.into_iter().next().unwrap_or_else(|| Err(LookupError::unknown("a function that gives no answer")))
}

/// Makes several calls of a command; bridged ones are all made at once.
pub(super) fn ask_all(command: &Command, asked: &[FunctionCall<'_>]) -> Vec<Result<Answer, LookupError>> {
    let unanswered = |asked: &FunctionCall<'_>, what: &str, why: String| {
        let level = asked.level;
        LookupError::unknown(format!("{what} '{}' {why}", level.function)).at(level.place.clone())
    };
    match &command.runner {
        Runner::Program(backend) => {
            let ask = |asked: &FunctionCall<'_>| {
                let request = json::compact(&Value::hash(fields(command, asked)?));
                let answer = match backend.ask(&request) {
                    Ok(Answer::Lookup(_)) => Err("asks for a lookup, which only functions in Ruby may".into()),
                    answer => answer,
                };
                answer.map_err(|why| unanswered(asked, "the command for the function", why))
            };
            asked.iter().map(ask).collect()
        }
        Runner::Bridge(bridge) => {
            let calls: Vec<Result<Call<'_>, LookupError>> =
                asked.iter().map(|asked| bridge_call(command, asked)).collect();
            let (made, results) = split(calls);
            let mut answers = bridge.ask(&made).into_iter();
            let mut answer = |(asked, made): (&FunctionCall<'_>, Result<(), LookupError>)| {
                made?;
                let answer = answers.next().unwrap_or_else(|| Err("gives no answer".into()));
                answer.map_err(|why| unanswered(asked, "the function", why))
            };
            asked.iter().zip(results).map(&mut answer).collect()
        }
    }
}

/// Separates the calls that can be made, and returns for each call if it can be.
fn split(calls: Vec<Result<Call<'_>, LookupError>>) -> (Vec<Call<'_>>, Vec<Result<(), LookupError>>) {
    let mut made = Vec::new();
    let results = calls.into_iter().map(|call| call.map(|call| made.push(call))).collect();
    (made, results)
}

/// Returns a level's command if its answers for a root key depend only on the level: that of a bridged function that
/// reads no variables.
fn bridged_command(level: &Level) -> Option<&Command> {
    match &level.backend {
        Backend::Declared(DeclaredFunction::Command(command)) => {
            let is_for_roots = matches!(level.kind, FunctionKind::LookupKey | FunctionKind::DataHash);
            let is_bridged = matches!(command.runner, Runner::Bridge(_));
            Some(command).filter(|command| is_for_roots && is_bridged && command.scope.is_empty())
        }
        _ => None,
    }
}

/// The place that calls are made from: a layer of an environment, and variables, which do not matter here.
pub(super) type CalledFrom<'a> = (&'a Environment, &'a Layer, &'a dyn Scope);

/// Returns a bridged function's answers for root keys, at each location of a level, or `None` for answers that may
/// depend on more than level and key.
pub fn bridged_answers(calls: &[(&Level, &str)], from: CalledFrom<'_>) -> Vec<Option<Vec<Outcome>>> {
    let outcome = |answer: Result<Answer, LookupError>, level: &Level, root: &str| match answer.ok()? {
        Answer::Found(Value::Hash(hash)) if level.kind == FunctionKind::DataHash => {
            Some(hash.get(root).cloned().map_or(Outcome::NotFound, Outcome::Found))
        }
        Answer::Found(value) if level.kind == FunctionKind::LookupKey => Some(Outcome::Found(value)),
        Answer::NotFound => Some(Outcome::NotFound),
        Answer::Found(_) | Answer::Template(_) | Answer::Failed(_) | Answer::Lookup(_) => None,
    };
    let answers = answers_at_locations(calls, from).into_iter().zip(calls);
    let outcomes = answers.map(|(answers, (level, root))| {
        answers?.into_iter().map(|answer| outcome(answer, level, root)).collect::<Option<Vec<Outcome>>>()
    });
    outcomes.collect()
}

/// Returns the references in a bridged function's answers for each of some root keys, at all locations of a level, or
/// `None` if its answers may depend on more than level and key.
pub fn bridged_references(level: &Level, roots: &[&str], from: CalledFrom<'_>) -> Option<Vec<Mentions>> {
    let calls: Vec<(&Level, &str)> = roots.iter().map(|root| (level, *root)).collect();
    let mentions = |answer: Result<Answer, LookupError>, root: &str| match answer {
        Ok(Answer::Template(value)) => Mentions::of(&value),
        Ok(Answer::Found(Value::Hash(hash))) if level.kind == FunctionKind::DataHash => {
            hash.get(root).map(Mentions::of).unwrap_or_default()
        }
        Ok(Answer::Found(_) | Answer::NotFound | Answer::Failed(_)) => Mentions::default(),
        Ok(Answer::Lookup(_)) | Err(_) => Mentions { anything: true, ..Mentions::default() },
    };
    let answers = answers_at_locations(&calls, from).into_iter().zip(roots);
    let all = answers.map(|(answers, root)| {
        let mut all = Mentions::default();
        answers?.into_iter().for_each(|answer| all.extend(mentions(answer, root)));
        Some(all)
    });
    all.collect()
}

/// Calls a bridged function for root keys, each at every location of its level.
fn answers_at_locations(
    calls: &[(&Level, &str)],
    (environment, layer, scope): CalledFrom<'_>,
) -> Vec<Option<Vec<Result<Answer, LookupError>>>> {
    let is_there = |location: &&Location| !location.is_absent();
    let asked = |(level, location, root)| FunctionCall {
        level,
        location,
        key: (root, &[]),
        scope,
        module: layer.module.as_deref(),
        tree: Some(&*environment.tree),
        interpolated: None,
        lookups: &[],
    };
    let locations =
        calls.iter().copied().filter(|(level, _)| bridged_command(level).is_some()).flat_map(|(level, root)| {
            level.locations.iter().filter(is_there).map(move |location| (level, location, root))
        });
    let asked: Vec<FunctionCall<'_>> = locations.map(asked).collect();
    let command = calls.iter().find_map(|(level, _)| bridged_command(level));
    let mut answers = command.map(|command| ask_all(command, &asked)).unwrap_or_default().into_iter();
    let mut answer = |location: &Location| {
        let no_answer = || Err(LookupError::unknown("a function that gives no answer"));
        if is_there(&location) { answers.next().unwrap_or_else(no_answer) } else { Ok(Answer::NotFound) }
    };
    let mut answers_to_call = |(level, _): &(&Level, &str)| {
        bridged_command(level)?;
        Some(level.locations.iter().map(&mut answer).collect())
    };
    calls.iter().map(&mut answers_to_call).collect()
}

/// Asks a command for a key if its answers cannot be interpolated. Returns `None` if there is no such key.
pub(super) fn ask_for_value(command: &Command, asked: &FunctionCall<'_>) -> Result<Option<Value>, LookupError> {
    match ask(command, asked)? {
        Answer::Found(value) => Ok(Some(value)),
        Answer::NotFound => Ok(None),
        Answer::Failed(failed) => Err(LookupError::raised(&asked.level.function, failed).at(asked.level.place.clone())),
        Answer::Template(_) | Answer::Lookup(_) => {
            let text = format!(
                "the command for the function '{}' has its answer interpolated, which a backend of Hiera 3 cannot",
                asked.level.function
            );
            Err(LookupError::unknown(text).at(asked.level.place.clone()))
        }
    }
}

/// Returns the call of a bridged function.
fn bridge_call<'a>(command: &Command, asked: &FunctionCall<'a>) -> Result<Call<'a>, LookupError> {
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
    let is_inside = |path: &str| path.starts_with('/') || reads.data.of(path).is_some();
    if let Some(path) = path.filter(|path| !is_inside(path)) {
        return Err(unknown(format!("{path} is not in the datadir of its level, so no function is run for it")));
    }
    let mut fields = fields(command, asked)?;
    let key = fields.remove(&"key".into()).unwrap_or_default();
    fields.insert("module_name", asked.module.map_or(Value::Undef, Value::from));
    if let Some(Interpolated { raw, made }) = asked.interpolated {
        let mut interpolated = Hash::from_iter([("raw", raw.clone())]);
        match made {
            Ok(value) => {
                interpolated.insert("value", value.clone());
            }
            Err(error) => add_failure(&mut interpolated, error),
        }
        fields.insert("interpolated", Value::hash(interpolated));
    }
    if !asked.lookups.is_empty() {
        fields.insert("lookups", asked.lookups.iter().map(LookedUp::written).collect());
    }
    let data = path.filter(|path| !path.starts_with('/')).and_then(|path| reads.data.of(path));
    if data.is_some_and(|data| data.only.is_some()) {
        fields.insert("reads", "path".into());
    }
    Ok(Call { key, fields, path, tree, code: reads.code.as_ref(), data })
}

/// Returns everything that the answer may depend on, except the files.
fn fields(command: &Command, asked: &FunctionCall<'_>) -> Result<Hash, LookupError> {
    let FunctionCall { level, location, key: (root, segments), scope, .. } = *asked;
    let key = match level.kind {
        FunctionKind::DataHash | FunctionKind::V4DataHash => Value::Undef,
        FunctionKind::LookupKey => root.into(),
        FunctionKind::DataDig | FunctionKind::Hiera3Backend => {
            std::iter::once(root.into()).chain(segments.iter().cloned()).collect()
        }
    };
    let location = location.place().map_or(Value::Undef, |place| Value::from(&**place));
    let stack = NameStack::default();
    let context =
        Context { scope, resolver: None, stack: &stack, undefined: Undefined::Empty, notation: Notation::default() };
    let variables = command.scope.iter().map(|name| Ok((&**name, variable(name, name, &context)?)));
    let entries: [(&str, Value); 7] = [
        ("function", (&*level.function).into()),
        ("kind", level.kind.tag().into()),
        ("key", key),
        ("options", level.options.clone()),
        ("level", (&*level.name).into()),
        ("location", location),
        ("scope", Value::hash(variables.collect::<Result<Hash, LookupError>>()?)),
    ];
    Ok(entries.into_iter().collect())
}
