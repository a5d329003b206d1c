//! `%{...}` in values, hash keys, paths and options.
//!
//! A text is parsed to a [`Template`] and then evaluated. Variables come from the scope and other keys from a
//! [`Resolver`], so that this module knows neither layers nor data files.
//! Source: `pops/lookup/interpolation.rb`.

pub(super) mod function_answers;
pub(super) mod output;

use std::iter;
use std::rc::Rc;
use std::sync::Arc;

use super::LookupError;
use super::budget::{Budget, Cost, PLACE_STEPS, with_stack};
use super::explain::{self, Branch, Event, Recorder};
use super::key::{dig, split};
use super::scope::{SERVER_FACTS, Scope, Variable};
use super::stand_in::{is_in_expression, made};
use crate::diagnostic::Subject;
use crate::puppet::Puppet;
use crate::puppet::ruby;
use crate::value::hole::{Hole, Piece};
use crate::value::{Hash, Notation, Secrecy, Text, Value};

use function_answers::FunctionAnswers;
use output::Output;

/// Puppet's error for a method in hiera.yaml.
const NO_METHODS: &str = "Interpolation using method syntax is not allowed in this context";

/// The depth to which lookups and interpolations may nest before hierad gives up with an honest error.
const DEPTH_LIMIT: usize = 400;

/// A lookup of other keys for interpolation.
pub trait Resolver {
    /// Returns the effective value of `key`, or an empty text if it is not found. `stack` has the names that are
    /// being resolved.
    fn lookup(&self, key: &str, stack: &NameStack<'_>) -> Result<Value, LookupError>;

    /// Returns the recorder of the steps, or `None` if there is none.
    fn recorder(&self) -> Option<&Recorder> {
        None
    }
}

/// The names that are being resolved, innermost first: a name that occurs again is a recursion. An empty stack begins
/// a new answer, with its full budget.
#[derive(Debug, Clone, Default)]
pub struct NameStack<'a> {
    frame: Option<(&'a str, &'a NameStack<'a>)>,
    depth: usize,
    shared: Rc<Shared>,
}

/// The state shared by the whole answer.
#[derive(Debug, Default)]
struct Shared {
    budget: Budget,
    function_answers: FunctionAnswers,
}

impl NameStack<'static> {
    /// Returns an empty stack for an answer with this limit on its cost.
    pub(super) fn within(limit: Cost) -> NameStack<'static> {
        let shared = Shared { budget: Budget::within(limit), function_answers: FunctionAnswers::default() };
        NameStack { frame: None, depth: 0, shared: Rc::new(shared) }
    }
}

impl<'a> NameStack<'a> {
    /// Returns the stack with `name` added, or Puppet's error if it is already there.
    pub fn push(&'a self, name: &'a str) -> Result<NameStack<'a>, LookupError> {
        if self.contains(name) {
            let mut names: Vec<&str> = self.names().collect();
            names.reverse();
            return Err(LookupError::puppet(format!("Recursive lookup detected in [{}]", names.join(", "))));
        }
        if self.depth >= DEPTH_LIMIT {
            return Err(LookupError::unknown(format!("lookups nest more than {DEPTH_LIMIT} deep at '{name}'")));
        }
        Ok(NameStack { frame: Some((name, self)), depth: self.depth + 1, shared: self.shared.clone() })
    }

    /// Returns the stack with the root of a search added. Puppet reports a recursion from the global layer, which it
    /// searches first.
    pub fn push_key(&'a self, key: &'a str) -> Result<NameStack<'a>, LookupError> {
        self.push(key).map_err(|error| error.of_key(key))
    }

    /// Returns true if `name` is being resolved.
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|n| n == name)
    }

    /// Returns true if a variable is being resolved, or a key with the same name that the variable has on the stack.
    fn has_variable(&self, name: &str) -> bool {
        self.names().any(|n| n.strip_prefix("scope:") == Some(name))
    }

    /// Returns the innermost name.
    pub(super) fn innermost(&self) -> Option<&str> {
        self.names().next()
    }

    /// Returns the number of names.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the budget of the answer.
    pub(super) fn budget(&self) -> &Budget {
        &self.shared.budget
    }

    /// Returns the calls of functions made so far.
    pub(super) fn function_answers(&self) -> &FunctionAnswers {
        &self.shared.function_answers
    }

    /// Returns all names, innermost first.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let mut at = self.frame;
        std::iter::from_fn(move || {
            let (name, below) = at?;
            at = below.frame;
            Some(name)
        })
    }
}

/// The surroundings of an interpolation.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The node's variables.
    pub scope: &'a dyn Scope,
    /// The lookup of other keys, or `None` if methods such as `lookup()` are not allowed, as in hiera.yaml.
    pub resolver: Option<&'a dyn Resolver>,
    /// The names that are being resolved.
    pub stack: &'a NameStack<'a>,
    /// Decides what becomes of an undefined variable.
    pub undefined: Undefined,
    /// The way in which values are formatted as text.
    pub notation: Notation,
}

/// The outcome of reading an undefined variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undefined {
    /// The empty text.
    Empty,
    /// An error.
    Error,
}

impl Undefined {
    /// Returns the rule for data, `options` and `datadir`: an error in Puppet 8.
    pub fn in_data(puppet: Puppet) -> Undefined {
        if puppet.refuses_undefined_variables() { Undefined::Error } else { Undefined::Empty }
    }
}

/// One part of a text.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    /// Text as it is.
    Literal(&'a str),
    /// A `%{...}`: the whole of it, and its inside.
    Expression(&'a str, Expression<'a>),
}

/// The inside of a `%{...}`.
#[derive(Debug, PartialEq, Eq)]
enum Expression<'a> {
    /// `%{}`, `%{::}` and their quoted forms: nothing.
    Empty,
    /// `%{facts.os.family}`: a variable.
    Variable(&'a str),
    /// `%{lookup('key')}`: a method and its argument.
    Method(&'a str, &'a str),
}

impl<'a> Part<'a> {
    /// Returns the name of the variable that it stands for. A method does so only where methods may be called.
    fn variable(&self, context: &Context<'_>) -> Option<&'a str> {
        match self {
            Part::Expression(_, Expression::Variable(name)) => Some(*name),
            Part::Expression(_, Expression::Method("scope", name)) => context.resolver.map(|_| *name),
            _ => None,
        }
    }
}

/// A text that was split at its `%{...}`.
#[derive(Debug, PartialEq, Eq)]
pub struct Template<'a> {
    text: &'a str,
    parts: Vec<Part<'a>>,
}

impl<'a> Template<'a> {
    /// Splits `text` at its interpolations, or returns `None` if it has none.
    pub fn parse(text: &'a str) -> Option<Template<'a>> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = find_opening(rest) {
            let Some(length) = rest[start..].find('}') else { break };
            parts.push(Part::Literal(&rest[..start]));
            let whole = &rest[start..=start + length];
            parts.push(Part::Expression(whole, Expression::parse(&whole[2..whole.len() - 1])));
            rest = &rest[start + length + 1..];
        }
        if parts.is_empty() {
            return None;
        }
        parts.push(Part::Literal(rest));
        Some(Template { text, parts })
    }

    /// Returns the other keys that the text refers to by `lookup`, `hiera` or `alias`.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Expression(_, Expression::Method("lookup" | "hiera" | "alias", key)) => Some(*key),
            _ => None,
        })
    }

    /// Returns the variables that the text reads, including dotted access.
    pub fn variables(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Expression(_, Expression::Variable(name) | Expression::Method("scope", name)) => Some(*name),
            _ => None,
        })
    }

    /// Returns true if the text interpolates nothing but variables.
    pub fn is_of_variables(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Literal(_) | Part::Expression(_, Expression::Variable(_))))
    }

    /// Returns the text between the interpolations.
    pub fn literals(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(text) => Some(*text),
            Part::Expression(..) => None,
        })
    }

    fn evaluate(&self, context: &Context<'_>) -> Result<Value, LookupError> {
        let budget = context.stack.budget();
        let mut out = Output::with_capacity(self.text.len());
        let mut secrecy = None;
        for part in &self.parts {
            budget.spend(PLACE_STEPS)?;
            if let Some(hole) = part.variable(context).and_then(|name| context.hole(name)) {
                budget.look_at(hole.size())?;
                budget.write(hole.size())?;
                out.add_hole(hole);
                continue;
            }
            let value = match part {
                Part::Literal(text) => {
                    budget.write(text.len())?;
                    out.add(text);
                    continue;
                }
                Part::Expression(_, Expression::Empty) => continue,
                Part::Expression(_, Expression::Variable(name)) => {
                    let value = variable(name, self.text, context)?;
                    let interpolate_nested = || context.interpolate_nested(&format!("scope:{name}"), &value);
                    match &value {
                        _ if context.stack.has_variable(name) => interpolate_nested()?,
                        // The text stays as it is, and leads to nothing that could recur.
                        Value::String(text) if !text.contains("%{") => budget.read(text).map(|()| value)?,
                        Value::String(_) | Value::Array(_) | Value::Hash(_) => interpolate_nested()?,
                        _ => budget.spend(1).map(|()| value)?,
                    }
                }
                Part::Expression(whole, Expression::Method(method, key)) => {
                    let value = self.call(method, key, whole, context)?;
                    if *method == "alias" {
                        return Ok(value);
                    }
                    let name = if *method == "scope" { format!("scope:{key}") } else { (*key).to_owned() };
                    context.interpolate_nested(&name, &value)?
                }
            };
            secrecy = Secrecy::join(secrecy, value.secrecy());
            out.add_value(value.bare(), budget, context.notation)?;
        }
        Ok(out.finish()?.sealed(secrecy))
    }

    fn call(&self, method: &str, key: &str, whole: &str, context: &Context<'_>) -> Result<Value, LookupError> {
        let Some(resolver) = context.resolver else {
            return Err(LookupError::bare(NO_METHODS).about(Subject::Method));
        };
        match method {
            "alias" if whole != self.text => Err(LookupError::bare(
                "'alias' interpolation is only permitted if the expression is equal to the entire string",
            )),
            "lookup" | "hiera" | "alias" => resolver.lookup(key, context.stack),
            "scope" => variable(key, self.text, context),
            "literal" => Ok(key.into()),
            _ => Err(LookupError::bare(format!("Unknown interpolation method '{method}'"))),
        }
    }
}

/// Returns the variables that `text` reads, including dotted access.
pub fn variables(text: &str) -> Vec<&str> {
    Template::parse(text).map(|template| template.variables().collect()).unwrap_or_default()
}

/// Finds the first `%{` in `text`. Most texts are short, so searching for one character is faster than preparing a
/// search for two.
fn find_opening(text: &str) -> Option<usize> {
    text.match_indices('%').map(|(at, _)| at).find(|at| text[at + 1..].starts_with('{'))
}

impl<'a> Expression<'a> {
    fn parse(inside: &'a str) -> Expression<'a> {
        let text = ruby::strip(inside);
        if matches!(text, "" | "::" | "\"\"" | "''" | "\"::\"" | "'::'") {
            return Expression::Empty;
        }
        // In Ruby, ^ and $ match at every line.
        let lines = iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let call = lines.map(|start| &text[start..]).find_map(parse_call);
        call.map_or(Expression::Variable(text), |(method, key)| Expression::Method(method, key))
    }
}

/// Returns the method and the key if `text` begins with `/^(\w+)\((?:"([^"]+)"|'([^']+)')\)$/`.
fn parse_call(text: &str) -> Option<(&str, &str)> {
    // The search that may go far comes last, since a text may have as many lines as characters.
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|end| *end > 0)?;
    let (method, rest) = text.split_at(end);
    let rest = rest.strip_prefix('(')?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (key, rest) = rest[1..].split_once(quote)?;
    let rest = rest.strip_prefix(')')?;
    (!key.is_empty() && (rest.is_empty() || rest.starts_with('\n'))).then_some((method, key))
}

impl Context<'_> {
    fn recorder(&self) -> Option<&Recorder> {
        self.resolver.and_then(Resolver::recorder)
    }

    /// Returns a hole for the variable `name`, or `None` if its value must be read.
    fn hole(&self, name: &str) -> Option<Arc<Hole>> {
        let is_seen = self.recorder().is_some() || self.stack.has_variable(name);
        if is_seen { None } else { self.scope.hole(name) }
    }

    /// Interpolates the value of a variable or method, under its name.
    fn interpolate_nested(&self, name: &str, value: &Value) -> Result<Value, LookupError> {
        let stack = self.stack.push(name)?;
        with_stack(|| interpolate(value, &Context { stack: &stack, ..*self }))
    }
}

/// Returns `value` with all its interpolations resolved, in texts and hash keys, at any depth.
pub fn interpolate(value: &Value, context: &Context<'_>) -> Result<Value, LookupError> {
    let budget = context.stack.budget();
    match value {
        Value::String(text) if interpolates_nothing(text) => {
            budget.look_at(text.size())?;
            Ok(value.clone())
        }
        Value::String(text) => {
            budget.read(text)?;
            if !text.contains("%{") {
                return Ok(value.clone());
            }
            if is_in_expression(text) {
                return Ok(made("an expression", &[value]));
            }
            let evaluate = || Template::parse(text).map_or_else(|| Ok(value.clone()), |t| t.evaluate(context));
            match text.secrecy() {
                None => explain::step(context.recorder(), || Branch::Interpolation(text.clone()), evaluate),
                // Everything derived from a secret text is secret, including errors about it and the steps that it
                // leads to.
                secrecy => match explain::unrecorded(context.recorder(), evaluate) {
                    Ok(value) => Ok(value.sealed(secrecy)),
                    Err(error) => Err(error.sealed(secrecy)),
                },
            }
        }
        Value::Bytes(bytes) => {
            budget.look_at(bytes.len())?;
            expect_no_expression(bytes)?;
            Ok(value.clone())
        }
        Value::Array(_) | Value::Hash(_) => interpolate_collection(value, context, &|part| interpolate(part, context)),
        _ => budget.spend(1).map(|()| value.clone()),
    }
}

/// Returns an error if bytes without an encoding may have an expression: Ruby replaces it in them, too.
pub(super) fn expect_no_expression(bytes: &[u8]) -> Result<(), LookupError> {
    let start = bytes.windows(2).position(|two| two == b"%{");
    if start.is_some_and(|start| bytes[start..].contains(&b'}')) {
        return Err(LookupError::unknown("an expression in a text that has bytes without an encoding"));
    }
    Ok(())
}

/// Returns true for a text with holes that certainly interpolates nothing. Holes never contain `%`.
fn interpolates_nothing(text: &Text) -> bool {
    let is_plain = |piece: &Piece| match piece {
        Piece::Literal(text) => !text.contains('%'),
        Piece::Hole(_) => true,
    };
    text.pieces().is_some_and(|pieces| pieces.iter().all(is_plain))
}

/// Opens encrypted texts.
pub trait Opener {
    /// Returns a text with its encrypted blocks opened, or replaced by names if lookups see names. Other values are
    /// returned as they are.
    fn open(&self, value: &Value) -> Result<Value, LookupError>;
}

/// Returns `value` interpolated, with each text first opened by `opener`, except for hash keys.
pub fn interpolate_opened(value: &Value, context: &Context<'_>, opener: &dyn Opener) -> Result<Value, LookupError> {
    if matches!(value, Value::Array(_) | Value::Hash(_)) {
        return interpolate_collection(value, context, &|part| interpolate_opened(part, context, opener));
    }
    interpolate(&opener.open(value)?, context)
}

/// Returns a collection of the results of `interpolate_part` for the items of an array or the values of a hash. If
/// nothing changes, it is the same collection, which nodes can share.
fn interpolate_collection(
    value: &Value,
    context: &Context<'_>,
    interpolate_part: &dyn Fn(&Value) -> Result<Value, LookupError>,
) -> Result<Value, LookupError> {
    let budget = context.stack.budget();
    match value {
        Value::Array(items) => budget.inside(|| {
            budget.spend(1)?;
            let new = items.iter().map(interpolate_part).collect::<Result<Vec<_>, _>>()?;
            let is_same = new.iter().zip(items.iter()).all(|(new, item)| new.is_same(item));
            Ok(if is_same { value.clone() } else { Value::array(new) })
        }),
        Value::Hash(hash) => budget.inside(|| {
            let mut result: Option<Hash> = None;
            let mut is_named = true;
            for (at, (key, value)) in hash.iter().enumerate() {
                budget.spend(1)?;
                let new_key = interpolate(key, context)?;
                // Which names are equal decides which entries remain.
                is_named &= !new_key.secrecy().is_some_and(Secrecy::is_opaque);
                let new = interpolate_part(value)?;
                if result.is_some() || !new_key.is_same(key) || !new.is_same(value) {
                    let before = || hash.iter().take(at).map(|(key, value)| (key.clone(), value.clone())).collect();
                    result.get_or_insert_with(before).insert(new_key, new);
                }
            }
            let result = result.map_or_else(|| value.clone(), Value::hash);
            Ok(if is_named { result } else { made("names of a hash", &[&result]) })
        }),
        other => interpolate_part(other),
    }
}

/// Returns `text` with all its interpolations resolved, for places that need a text, such as paths.
pub fn interpolate_text(text: &str, context: &Context<'_>) -> Result<String, LookupError> {
    context.stack.budget().read(text)?;
    let Some(template) = Template::parse(text) else { return Ok(text.to_owned()) };
    template.evaluate(context).map(|value| value.text_in(context.notation))
}

/// Returns the variable `name`, with dotted access, as `%{name}` reads it, or undef if there is none. `subject` is
/// for error texts.
pub fn variable(name: &str, subject: &str, context: &Context<'_>) -> Result<Value, LookupError> {
    let syntax = || LookupError::puppet(format!("Syntax error in string: {subject}"));
    let mut segments = split(name).ok_or_else(syntax)?.into_iter();
    let root = match segments.next() {
        Some(Value::String(root)) => root,
        Some(number) => {
            let shown = number.inspect();
            return Err(LookupError::puppet(format!("Scope variable name {shown} is a Integer, not a string")));
        }
        None => return Ok(Value::Undef),
    };
    let segments: Vec<Value> = segments.collect();
    let recorder = context.recorder();
    let (found, segments) = match recorder {
        None => context.scope.within(&root, &segments),
        Some(_) => (recorded_variable(&root, &segments, context), &*segments),
    };
    match found {
        Variable::Value(Value::Undef) => Ok(Value::Undef),
        Variable::Value(value) => dig(name, segments, value, recorder).map(Option::unwrap_or_default),
        Variable::Partial(known) => {
            match (dig(name, segments, known, recorder)?, segments.first().and_then(Value::as_str)) {
                (_, None) => Err(server_only(name)),
                (None, Some(fact)) if SERVER_FACTS.contains(&fact) => Err(server_only(name)),
                (found, _) => Ok(found.unwrap_or_default()),
            }
        }
        Variable::Unknown => Err(server_only(name)),
        Variable::Unresolved(reason) => Err(LookupError::unknown(&*reason)),
        Variable::Undefined { .. } if context.undefined == Undefined::Empty => Ok(Value::Undef),
        Variable::Undefined { name, reason } => {
            let error = LookupError::bare(format!("Undefined variable '{name}'; {reason}"));
            Err(error.about(Subject::Variable(name.into())))
        }
    }
}

/// Returns the variable `root`, and records the search for it.
fn recorded_variable(root: &Text, segments: &[Value], context: &Context<'_>) -> Variable {
    let recorder = context.recorder();
    let look = || {
        let found = context.scope.variable_at(root, segments);
        if let Variable::Value(value) | Variable::Partial(value) = &found {
            explain::event(recorder, || Event::Found(root.to_arc(), value.clone(), None));
        }
        found
    };
    explain::step(recorder, || Branch::Scope("Global Scope".to_owned()), look)
}

pub(super) fn server_only(name: &str) -> LookupError {
    LookupError::unknown(format!(
        "the variable '{name}' is set by the Puppet server; declare it under server_facts or variables of the node profile"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart_once() {
        let template = Template::parse("a%{ lookup('k.0') }%{::x}%{}b%{open").unwrap();
        assert_eq!(template.keys().collect::<Vec<_>>(), ["k.0"]);
        assert_eq!(template.variables().collect::<Vec<_>>(), ["::x"]);
        assert_eq!(template.parts.last(), Some(&Part::Literal("b%{open")));
        assert_eq!(Template::parse("100%"), None);
    }

    #[test]
    fn a_call_is_what_the_expression_says() {
        let expression = regex::Regex::new(r#"(?m)^((?-u:\w)+)\((?:"([^"]+)"|'([^']+)')\)$"#).unwrap();
        let dice = &mut fastrand::Rng::with_seed(1);
        let mut part = || *dice.choice(&["a", "_1", "é", "(", "('", "\"", "')", "\")", "\n", "a('b')", " "]).unwrap();
        let mut calls = 0;
        for _ in 0..50_000 {
            let text: String = (0..5).map(|_| part()).collect();
            let text = ruby::strip(&text);
            let call = expression.captures(text).map(|call| {
                let group = |i| call.get(i).map(|group| group.as_str());
                (group(1).unwrap(), group(2).or(group(3)).unwrap())
            });
            calls += usize::from(call.is_some());
            let found = match Expression::parse(text) {
                Expression::Method(method, key) => Some((method, key)),
                _ => None,
            };
            assert_eq!(found, call, "{text:?}");
        }
        assert!(calls > 1_000);
    }
}
