//! `%{...}` as Hiera 3 evaluates it, including its mistakes.
//!
//! The result of an expression is searched for another expression; the first one found replaces the whole text. An
//! expression must not occur again while it is being evaluated, and a `literal` never counts as evaluated.
//! Source: `hiera/interpolate.rb`, `hiera/recursive_guard.rb`, `parse_answer` in `hiera/backend.rb`.

use std::cell::RefCell;
use std::sync::LazyLock;

use regex::Regex;

use super::key;
use crate::hiera::LookupError;
use crate::hiera::backend::eyaml::Decryption;
use crate::hiera::budget::{Budget, PLACE_STEPS};
use crate::hiera::interpolation::output::Output;
use crate::hiera::interpolation::{Opener, expect_no_expression, server_only};
use crate::hiera::scope::{SERVER_FACTS, Scope, Variable};
use crate::hiera::stand_in::{is_in_expression, made};
use crate::puppet::ruby;
use crate::value::{Hash, Notation, Secrecy, Text, Value};

/// The depth to which lookups may nest before hierad gives up with an honest error.
const DEPTH_LIMIT: usize = 400;

/// A lookup of other keys for interpolation.
pub(super) trait Keys {
    /// Returns the value of `key` with the highest priority, or undef if there is none.
    fn value_of(&self, key: &str, context: &Context<'_>) -> Result<Value, LookupError>;
}

/// The expressions that are being evaluated.
#[derive(Debug, Default)]
pub(super) struct Guard(RefCell<Vec<Text>>);

impl Guard {
    fn enter(&self, name: Text) -> Result<(), LookupError> {
        if self.0.borrow().contains(&name) {
            return Err(self.recursion());
        }
        self.0.borrow_mut().push(name);
        Ok(())
    }

    fn leave(&self) {
        self.0.borrow_mut().pop();
    }

    /// Returns Hiera's error for an expression that occurs again.
    pub(super) fn recursion(&self) -> LookupError {
        let names = self.0.borrow();
        let text = format!("Lookup recursion detected in [{}]", names.join(", "));
        LookupError::puppet(text).sealed(names.iter().map(Text::secrecy).fold(None, Secrecy::join))
    }
}

/// The surroundings of an interpolation.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// The node's variables.
    pub(super) scope: &'a dyn Scope,
    /// The lookup of other keys.
    pub(super) keys: &'a dyn Keys,
    /// The guard of the outer text, which all inner texts share, or `None` if each text gets its own.
    pub(super) guard: Option<&'a Guard>,
    /// The limits of the answer's cost.
    pub(super) budget: &'a Budget,
    /// The current nesting depth of lookups.
    pub(super) depth: usize,
    /// The way in which values are formatted as text.
    pub(super) notation: Notation,
}

/// The method of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Scope,
    Hiera,
    Literal,
    Alias,
}

/// Returns a value of a data file as an answer: anything except texts, numbers, booleans and collections of them
/// becomes undef. With a `decryption`, texts are opened first, but keys of hashes never are.
pub(super) fn answer(
    value: &Value,
    decryption: Option<&Decryption<'_>>,
    context: &Context<'_>,
) -> Result<Value, LookupError> {
    let budget = context.budget;
    let inner = |value| answer(value, decryption, context);
    match value {
        Value::String(_) | Value::Bytes(_) => {
            let opened = decryption.map(|decryption| decryption.open(value)).transpose()?;
            match opened.as_ref().unwrap_or(value) {
                Value::String(string) => interpolate_text(string, context),
                Value::Bytes(bytes) => expect_no_expression(bytes).map(|()| Value::Bytes(bytes.clone())),
                other => Ok(other.clone()),
            }
        }
        Value::Array(items) => budget.inside(|| {
            budget.spend(1)?;
            Ok(Value::array(items.iter().map(inner).collect::<Result<_, _>>()?))
        }),
        Value::Hash(hash) => budget.inside(|| {
            let mut answers = Hash::new();
            for (key, value) in hash.iter() {
                budget.spend(1)?;
                let key = if let Value::String(key) = key { interpolate_text(key, context)? } else { key.clone() };
                answers.insert(key, inner(value)?);
            }
            Ok(Value::hash(answers))
        }),
        Value::Undef | Value::Symbol(_) | Value::Rich(_) => budget.spend(1).map(|()| Value::Undef),
        plain => budget.spend(1).map(|()| plain.clone()),
    }
}

/// Returns `subject` with its expressions replaced. If it consists of one `alias`, the value may be of any kind.
pub(super) fn interpolate_text(subject: &Text, context: &Context<'_>) -> Result<Value, LookupError> {
    context.budget.read(subject)?;
    if first_expression(subject).is_none() {
        return Ok(Value::String(subject.clone()));
    }
    if is_in_expression(subject) {
        return Ok(made("an expression", &[&subject.clone().into()]));
    }
    let own_guard = Guard::default();
    let guard = context.guard.unwrap_or(&own_guard);
    let replaced = replace(subject, &Site { context: Context { guard: Some(guard), ..*context }, guard });
    match (subject.secrecy(), replaced) {
        (None, replaced) => replaced,
        (secrecy, Ok(value)) => Ok(value.sealed(secrecy)),
        (secrecy, Err(error)) => Err(error.sealed(secrecy)),
    }
}

fn replace(subject: &str, site: &Site<'_>) -> Result<Value, LookupError> {
    let budget = site.context.budget;
    let mut out = Output::with_capacity(subject.len());
    let mut secrecy = None;
    let mut rest = subject;
    while let Some((start, end)) = first_expression(rest) {
        budget.spend(PLACE_STEPS)?;
        budget.write(start)?;
        out.add(&rest[..start]);
        let (value, method) = site.evaluate(&Value::from(&rest[start..end]))?;
        let is_text = matches!(value, Value::String(_) | Value::Bytes(_));
        if method == Some(Method::Alias) && !is_text {
            if is_only_expression(subject) {
                return Ok(value);
            }
            return Err(LookupError::puppet("Cannot call alias in the string context"));
        }
        secrecy = Secrecy::join(secrecy, value.secrecy());
        out.add_value(value.bare(), budget, site.context.notation)?;
        rest = &rest[end..];
    }
    budget.write(rest.len())?;
    out.add(rest);
    Ok(out.finish()?.sealed(secrecy))
}

/// Returns the start and the end of the first expression in a text.
fn first_expression(text: &str) -> Option<(usize, usize)> {
    let start = text.find("%{")?;
    Some((start, start + text[start..].find('}')? + 1))
}

/// One text whose expressions are evaluated.
struct Site<'a> {
    context: Context<'a>,
    guard: &'a Guard,
}

impl Site<'_> {
    /// Evaluates the first expression in `subject` and returns the result with the method. A value without any
    /// expression is returned as it is.
    fn evaluate(&self, subject: &Value) -> Result<(Value, Option<Method>), LookupError> {
        let Value::String(text) = subject else { return Ok((subject.clone(), None)) };
        let Some((start, end)) = first_expression(text) else { return Ok((subject.clone(), None)) };
        // Everything derived from a secret text is secret, including errors about it.
        match self.expression(text, &text[start + 2..end - 1]) {
            Ok((value, method)) => Ok((value.sealed(text.secrecy()), method)),
            Err(error) => Err(error.sealed(text.secrecy())),
        }
    }

    /// Evaluates an expression of `text`.
    fn expression(&self, text: &Text, expression: &str) -> Result<(Value, Option<Method>), LookupError> {
        if matches!(ruby::strip(expression), "" | "::" | "\"\"" | "''" | "\"::\"" | "'::'") {
            return Ok(("".into(), None));
        }
        self.context.budget.spend(PLACE_STEPS)?;
        self.guard.enter(Text::with(expression, text.secrecy()))?;
        let (method, key) = parse_expression(expression)?;
        let value = match method {
            // Hiera forgets to leave the guard.
            Method::Literal => return Ok((key.into(), Some(method))),
            Method::Scope => variable(key, text, self.context.scope)?,
            Method::Hiera | Method::Alias => self.lookup(key)?,
        };
        let (value, _) = self.evaluate(&value)?;
        self.guard.leave();
        Ok((value, Some(method)))
    }

    fn lookup(&self, key: &str) -> Result<Value, LookupError> {
        let depth = self.context.depth + 1;
        if depth > DEPTH_LIMIT {
            return Err(LookupError::unknown(format!("lookups nest more than {DEPTH_LIMIT} deep at '{key}'")));
        }
        self.context.keys.value_of(key, &Context { depth, ..self.context })
    }
}

/// Returns the method of an expression and its argument. In Ruby, `^` and `$` match at every line.
fn parse_expression(expression: &str) -> Result<(Method, &str), LookupError> {
    static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)^([0-9A-Za-z_]+)\(([^)]*)\)$").ok());
    static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?m)^(?:"([^"]+)"|'([^']+)')$"#).ok());
    let call = CALL.as_ref().and_then(|call| call.captures(expression));
    let Some((_, [name, argument])) = call.map(|call| call.extract()) else { return Ok((Method::Scope, expression)) };
    let method = match name {
        "scope" => Method::Scope,
        "hiera" => Method::Hiera,
        "literal" => Method::Literal,
        "alias" => Method::Alias,
        _ => return Err(LookupError::puppet(format!("Invalid interpolation method '{name}'"))),
    };
    let quoted = QUOTED.as_ref().and_then(|quoted| quoted.captures(argument));
    let Some((_, [key])) = quoted.map(|quoted| quoted.extract()) else {
        let text = format!("Argument to interpolation method '{name}' must be quoted, got '{argument}'");
        return Err(LookupError::puppet(text));
    };
    Ok((method, key))
}

fn is_only_expression(text: &str) -> bool {
    static ONLY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)^%\{[^}]*\}$").ok());
    ONLY.as_ref().is_some_and(|only| only.is_match(text))
}

/// Returns the variable `name` with dotted access, or undef if there is none. `subject` is for error texts.
fn variable(name: &str, subject: &str, scope: &dyn Scope) -> Result<Value, LookupError> {
    let syntax = || LookupError::puppet(format!("Syntax error in interpolation expression: {subject}"));
    let segments = key::split(name).ok_or_else(syntax)?;
    let Some((root, inner)) = segments.split_first() else { return Ok(Value::Undef) };
    if let Some(at) = key::index(root) {
        return Err(LookupError::puppet(format!(
            "Hiera type mismatch: Got Hash when Array was expected to access value using '{}' from key '{name}'",
            at.to_s()
        )));
    }
    // The command defines each variable under two names, with and without one `::`.
    if root.starts_with("::::") {
        return Ok(Value::Undef);
    }
    let looked_at: Vec<Value> = inner.iter().map(|segment| Value::from(*segment)).collect();
    match scope.variable_at(root, &looked_at) {
        Variable::Value(value) => Ok(key::walk(value, inner, name)?.unwrap_or_default()),
        Variable::Partial(known) => match (key::walk(known, inner, name)?, inner.first()) {
            (_, None) => Err(server_only(name)),
            (None, Some(fact)) if SERVER_FACTS.contains(fact) => Err(server_only(name)),
            (found, _) => Ok(found.unwrap_or_default()),
        },
        Variable::Unknown => Err(server_only(name)),
        Variable::Unresolved(reason) => Err(LookupError::unknown(&*reason)),
        Variable::Undefined { .. } => Ok(Value::Undef),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A secret for every key, and no variables.
    struct Secrets;

    impl Keys for Secrets {
        fn value_of(&self, key: &str, _: &Context<'_>) -> Result<Value, LookupError> {
            let text = if key == "wrong" { "%{hunter2('x')}" } else { "%{literal('hunter2')}" };
            Ok(Text::secret(text, Secrecy::SENSITIVE).into())
        }
    }

    impl Scope for Secrets {
        fn variable(&self, _: &str) -> Variable {
            Variable::Undefined { name: String::new(), reason: String::new() }
        }
    }

    #[test]
    fn what_a_secret_gives_is_one() {
        let answer = |subject: &str| {
            let budget = Budget::default();
            let context = Context {
                scope: &Secrets,
                keys: &Secrets,
                guard: None,
                budget: &budget,
                depth: 0,
                notation: Notation::default(),
            };
            interpolate_text(&subject.into(), &context)
        };
        let value = answer("a %{hiera('right')}").unwrap();
        assert_eq!((value.as_str(), value.secrecy().is_some()), (Some("a hunter2"), true));
        assert!(answer("%{hiera('wrong')}").unwrap_err().text.secrecy().is_some());
    }
}
