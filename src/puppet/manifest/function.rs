//! Calls of the functions that look something up: their keys and their strategies.

use std::collections::BTreeSet;

use super::call::{CallMerge, KeyText, LookupCall};
use super::given::Source;
use super::literal::{Expression, arguments};
use super::tokens::{MOST_WORDS, Token, Word, first};
use super::values::Values;
use crate::value::{Hash, Value};

/// Returns the lookups of the call that begins with the name at `at`, if it is one. `values` has the values of
/// variables.
pub(super) fn lookups_at(words: &[Word], at: usize, name: &str, values: &Values) -> Vec<LookupCall> {
    let function = Function::named(name);
    let is_new = name == "new" && is_of_deferred(&words[..at]);
    let is_deferred = is_new || name == DEFERRED;
    if function.is_none() && !is_deferred && name != "call" {
        return Vec::new();
    }
    let before = if is_new { &[][..] } else { &words[..at] };
    let Some(mut arguments) = all_arguments(before, &words[at + 1..]) else { return Vec::new() };
    let function = match function {
        Some(function) => Some(function),
        None if arguments.is_empty() => None,
        None => called(&arguments.remove(0), values),
    };
    if is_deferred {
        arguments = arguments.into_iter().take(1).map(|all| Expression::Splat(Box::new(all))).collect();
    }
    function.map_or_else(Vec::new, |function| function.lookups(arguments, values, words[at].line))
}

/// The type whose values call a function later, or once they are called.
const DEFERRED: &str = "Deferred";

/// Returns true if words end with the type `Deferred` and a dot.
fn is_of_deferred(words: &[Word]) -> bool {
    let [.., kind, dot] = words else { return false };
    dot.token == Token::Sign('.') && matches!(&kind.token, Token::Name(name) if name == DEFERRED)
}

/// Returns the function that `call` calls by name, if it looks something up or may do so.
fn called(name: &Expression, values: &Values) -> Option<Function> {
    let named = |name: &Value| Function::named(&name.as_str()?.to_ascii_lowercase());
    match name {
        Expression::Literal(name) => named(name),
        Expression::Variable(name) => match values.get(name) {
            [] => Some(Function::Any),
            [name] => named(name),
            several => several.iter().find_map(named).map(|_| Function::Any),
        },
        _ => Some(Function::Any),
    }
}

/// Returns the arguments of a call, given the words before and after its name. The first argument of a method is
/// before the dot. A call that is too long may be about anything.
fn all_arguments(before: &[Word], rest: &[Word]) -> Option<Vec<Expression>> {
    let is_call = rest.first().is_some_and(|word| word.token == Token::Sign('('));
    let subject = before.split_last().filter(|(dot, _)| dot.token == Token::Sign('.')).map(|(_, before)| before);
    let whole = arguments(first(rest));
    let mut arguments = match whole {
        None if is_call && rest.len() > MOST_WORDS => vec![Expression::Other; 3],
        // A method needs no brackets.
        _ if subject.is_some() && !is_call => Vec::new(),
        whole => whole?,
    };
    if let Some(before) = subject {
        let subject = match before.last().map(|word| &word.token) {
            Some(Token::Text(text)) => Expression::Literal(text.as_str().into()),
            Some(Token::Template(template)) => Expression::Template(template.pieces.clone()),
            Some(Token::Variable(name)) => Expression::Variable(name.clone()),
            _ => Expression::Variable(String::new()),
        };
        arguments.insert(0, subject);
    }
    Some(arguments)
}

/// Replaces each array that is spread over several arguments by its items, if they are known.
fn spread(arguments: Vec<Expression>, values: &Values) -> Vec<Expression> {
    let items = |items: &Value| items.as_array().map(|items| items.iter().cloned().map(Expression::Literal).collect());
    let spread = |argument: Expression| {
        let Expression::Splat(inner) = &argument else { return vec![argument] };
        let known: Option<Vec<Expression>> = match &**inner {
            Expression::Literal(value) => items(value),
            Expression::Variable(name) => match values.get(name) {
                [value] => items(value),
                _ => None,
            },
            _ => None,
        };
        known.unwrap_or_else(|| vec![argument])
    };
    arguments.into_iter().flat_map(spread).collect()
}

/// The functions that look something up.
#[derive(Clone, Copy)]
pub(super) enum Function {
    Lookup,
    /// One of Hiera 3's, which always merges like this.
    Hiera(&'static str),
    /// One of them, or any other function.
    Any,
}

impl Function {
    pub(super) fn named(name: &str) -> Option<Function> {
        match name.trim_start_matches("::") {
            "lookup" => Some(Function::Lookup),
            "hiera" => Some(Function::Hiera("first")),
            "hiera_array" | "hiera_include" => Some(Function::Hiera("unique")),
            "hiera_hash" => Some(Function::Hiera("hash")),
            _ => None,
        }
    }

    /// Returns the lookups of a call on a line.
    pub(super) fn lookups(self, arguments: Vec<Expression>, values: &Values, line: u32) -> Vec<LookupCall> {
        let arguments = spread(arguments, values);
        let merge = self.merge(&arguments, values);
        let call = |key| LookupCall { key, merge: merge.clone(), line, given: BTreeSet::new() };
        let mut calls: Vec<LookupCall> = self.keys(&arguments, values).into_iter().map(call).collect();
        calls.extend(self.of_options(&arguments, values, line));
        calls
    }

    /// Returns the keys that are looked up, as far as they are known. `values` has the values of variables that stand
    /// for a key.
    pub(super) fn keys(self, arguments: &[Expression], values: &Values) -> Vec<KeyText> {
        let Some(first) = arguments.first() else { return Vec::new() };
        let name = first.entry("name");
        match name.as_ref().unwrap_or(first) {
            Expression::Literal(name) => self.keys_named_by(name),
            Expression::Template(pieces) => vec![KeyText(pieces.clone())],
            Expression::Variable(name) => match values.get(name) {
                _ if values.options.contains(name) => vec![KeyText::any()],
                [] => values.keys(name),
                known => known.iter().flat_map(|value| self.keys_named_by(value)).collect(),
            },
            Expression::Options(_) => Vec::new(),
            Expression::Splat(_) | Expression::Composed | Expression::Other => vec![KeyText::any()],
        }
    }

    /// Returns the lookup that a variable as the only argument makes if it is given options elsewhere.
    fn of_options(self, arguments: &[Expression], values: &Values, line: u32) -> Option<LookupCall> {
        let [Expression::Variable(name)] = arguments else { return None };
        if !matches!(self, Function::Lookup) || values.may_be_options(name) {
            return None;
        }
        let Source { is_any, origins } = values.source(name);
        let given = if is_any { BTreeSet::new() } else { origins };
        (is_any || !given.is_empty()).then(|| LookupCall { given, ..LookupCall::any_key(line) })
    }

    fn keys_named_by(self, name: &Value) -> Vec<KeyText> {
        match name {
            Value::String(name) => vec![KeyText(vec![name.to_string()])],
            Value::Array(names) if !matches!(self, Function::Hiera(_)) => {
                names.iter().filter_map(Value::as_str).map(|name| KeyText(vec![name.to_owned()])).collect()
            }
            Value::Hash(options) => options.get("name").map_or_else(Vec::new, |name| self.keys_named_by(name)),
            _ => Vec::new(),
        }
    }

    /// Returns the strategy that the call names: `lookup(NAME, TYPE, MERGE, ...)`, or an option in the last or only
    /// argument. `values` has the values of variables.
    fn merge(self, arguments: &[Expression], values: &Values) -> CallMerge {
        if let Function::Hiera(strategy) = self {
            return CallMerge::Named(strategy.into());
        }
        let is_unknown = |argument: &Expression| matches!(argument, Expression::Splat(_));
        if matches!(self, Function::Any) || arguments.iter().any(is_unknown) {
            return CallMerge::any();
        }
        let of_options = |options: &Expression| options.entry("merge");
        let named_merge = match arguments {
            [_, _, merge, ..] if of_options(merge).is_none() => Some(merge.clone()),
            [options @ Expression::Composed] | [_, options @ (Expression::Variable(_) | Expression::Composed)] => {
                Some(options.clone())
            }
            [options @ Expression::Variable(name)] if name.is_empty() || values.may_be_options(name) => {
                Some(options.clone())
            }
            [options] => of_options(options),
            [_, rest @ ..] => rest.iter().rev().find_map(of_options),
            [] => None,
        };
        match named_merge {
            Some(Expression::Literal(merge)) if is_strategy(&merge) => CallMerge::Named(merge),
            None | Some(Expression::Literal(_)) => CallMerge::ByData,
            Some(Expression::Variable(name)) => CallMerge::Perhaps(strategies_of(&name, values)),
            Some(_) => CallMerge::any(),
        }
    }
}

/// Returns the strategies that a variable may stand for.
fn strategies_of(name: &str, values: &Values) -> Vec<Value> {
    let strategy = |value: Value| value.as_hash().and_then(|options| options.get("merge").cloned()).unwrap_or(value);
    let values: Vec<Value> = values.get(name).iter().cloned().map(strategy).filter(is_strategy).collect();
    if values.is_empty() { CallMerge::any().possible().to_vec() } else { values }
}

fn is_strategy(merge: &Value) -> bool {
    match merge {
        Value::String(_) => true,
        Value::Hash(options) => has_strategy(options),
        _ => false,
    }
}

fn has_strategy(options: &Hash) -> bool {
    options.get("strategy").is_some()
}
