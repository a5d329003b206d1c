//! Expressions whose value is known from variables alone: literals, access by index, interpolation, and some functions
//! on texts.
//!
//! If Puppet versions might differ or fail on a form, or on the value that it meets, there is no value.
//!
//! Source: `pops/evaluator/access_operator.rb`, `evaluator_impl.rb` (`eval_ConcatenatedString`),
//! `puppet/functions/split.rb`, `regsubst.rb`, `downcase.rb`, `upcase.rb`.

use std::borrow::Cow;
use std::sync::Arc;

use super::literal::leading;
use super::site::{KEYWORDS, is_plain};
use super::tokens::{Template, Token, Word, peek, takes, tokens};
use crate::puppet::regex::RubyRegex;
use crate::value::Value;

/// The maximum nesting depth that is read.
const MAX_DEPTH: usize = 16;

/// The maximum length, in bytes, of a result: variables that double each other would grow forever.
const MAX_LENGTH: usize = 1 << 16;

/// The functions that a formula may call.
const FUNCTIONS: [&str; 4] = ["split", "regsubst", "downcase", "upcase"];

/// An expression that is made of variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula(Node);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Literal(Value),
    Variable(String),
    /// An entry of a hash, an item of an array, a character of a text.
    Entry(Box<Node>, Box<Node>),
    /// Some characters of a text: the first, and how many.
    Slice(Box<Node>, usize, usize),
    /// Texts, one after the other.
    Text(Vec<Node>),
    Split(Box<Node>, Pattern),
    Replace(Box<Node>, Pattern, Replacement),
    Lower(Box<Node>),
    Upper(Box<Node>),
    /// The first group of a match, or all of it if there is no group.
    Match(Box<Node>, Pattern),
}

/// A regular expression.
type Pattern = Arc<RubyRegex>;

/// The text that replaces matches.
#[derive(Debug, Clone, PartialEq)]
struct Replacement {
    parts: Vec<Part>,
    is_global: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    /// The text of a group.
    Group(usize),
}

/// A place inside a variable: its name, and the entries of hashes that lead to it.
pub type Input<'f> = (&'f str, Vec<Value>);

impl Formula {
    /// Reads the expression that words begin with. Also returns the number of its words.
    pub(super) fn leading(words: &[Word]) -> Option<(Formula, usize)> {
        let mut reader = Reader { words, depth: 0 };
        let node = reader.expression()?;
        Some((Formula(node), words.len() - reader.words.len()))
    }

    /// Returns a formula for the first group of a match of `pattern` in a variable, or for the whole match if there
    /// is no group.
    pub fn of_match((variable, entries): Input<'_>, pattern: RubyRegex) -> Formula {
        let entry = |node, entry| Node::Entry(Box::new(node), Box::new(Node::Literal(entry)));
        let subject = entries.into_iter().fold(Node::Variable(variable.to_owned()), entry);
        Formula(Node::Match(Box::new(subject), Arc::new(pattern)))
    }

    /// Returns the value; `None` if it is not known, or if a part of it is undefined.
    pub fn value(&self, variable: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
        self.0.value(variable).filter(|value| !value.is_undef())
    }

    /// Returns the places in variables that this is computed from.
    pub fn inputs(&self) -> Vec<Input<'_>> {
        let mut inputs = Vec::new();
        self.0.add_inputs(&mut inputs);
        inputs
    }
}

impl Node {
    fn value(&self, variable: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
        let text = |node: &Node| node.value(variable)?.as_str().map(str::to_owned);
        match self {
            Node::Literal(value) => Some(value.clone()),
            Node::Variable(name) => variable(name),
            Node::Entry(subject, at) => entry(&subject.value(variable)?, &at.value(variable)?),
            Node::Slice(subject, from, length) => {
                let part: String = text(subject)?.chars().skip(*from).take(*length).collect();
                Some(part.into())
            }
            Node::Text(parts) => {
                let mut whole = String::new();
                for part in parts {
                    whole += &interpolated(&part.value(variable)?)?;
                    (whole.len() <= MAX_LENGTH).then_some(())?;
                }
                Some(whole.into())
            }
            Node::Split(subject, pattern) => split(&text(subject)?, pattern),
            Node::Replace(subject, pattern, replacement) => replacement.applied(&text(subject)?, pattern),
            Node::Lower(subject) => {
                text(subject).filter(|text| text.is_ascii()).map(|text| text.to_ascii_lowercase().into())
            }
            Node::Upper(subject) => {
                text(subject).filter(|text| text.is_ascii()).map(|text| text.to_ascii_uppercase().into())
            }
            Node::Match(subject, pattern) => {
                let text = interpolated(&subject.value(variable)?)?.into_owned();
                let groups = pattern.captures(&text, 0).ok()??;
                let (start, end) = (*groups.get(1).or(groups.first())?)?;
                Some(text[start..end].into())
            }
        }
    }

    fn add_inputs<'f>(&'f self, inputs: &mut Vec<Input<'f>>) {
        if let Some(place) = self.place() {
            inputs.push(place);
            return;
        }
        match self {
            Node::Literal(_) | Node::Variable(_) => {}
            Node::Entry(subject, at) => [subject, at].into_iter().for_each(|node| node.add_inputs(inputs)),
            Node::Text(parts) => parts.iter().for_each(|part| part.add_inputs(inputs)),
            Node::Slice(subject, ..)
            | Node::Split(subject, _)
            | Node::Replace(subject, ..)
            | Node::Lower(subject)
            | Node::Upper(subject)
            | Node::Match(subject, _) => subject.add_inputs(inputs),
        }
    }

    /// Returns the place in a variable that this refers to, or `None` if it is something else.
    fn place(&self) -> Option<Input<'_>> {
        match self {
            Node::Variable(name) => Some((name, Vec::new())),
            Node::Entry(subject, at) => match (subject.place()?, &**at) {
                ((name, mut entries), Node::Literal(entry @ Value::String(_))) => {
                    entries.push(entry.clone());
                    Some((name, entries))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns the entry of a hash, the item of an array or the character of a text.
fn entry(subject: &Value, at: &Value) -> Option<Value> {
    match (subject, at) {
        (Value::Hash(hash), Value::String(_) | Value::Integer(_)) => hash.get_value(at).cloned(),
        (Value::Array(items), Value::Integer(at)) => items.get(place(*at, items.len())?).cloned(),
        (Value::String(text), Value::Integer(at)) => {
            let sign = text.chars().nth(place(*at, text.chars().count())?)?;
            Some(sign.to_string().into())
        }
        _ => None,
    }
}

/// Resolves an index, which counts from the end if it is negative.
fn place(at: i64, length: usize) -> Option<usize> {
    let from_end = || length.checked_sub(usize::try_from(at.checked_neg()?).ok()?);
    usize::try_from(at).ok().or_else(from_end)
}

/// Returns a value as an interpolation inserts it into a text.
fn interpolated(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text.as_str())),
        Value::Integer(number) => Some(Cow::Owned(number.to_string())),
        Value::Boolean(is_true) => Some(Cow::Owned(is_true.to_string())),
        _ => None,
    }
}

/// Splits a text as Ruby does: without empty texts at the end. In Ruby, groups are among the pieces, and empty
/// matches split between characters: here there is no value then.
fn split(text: &str, pattern: &RubyRegex) -> Option<Value> {
    let (mut parts, mut at) = (Vec::<&str>::new(), 0);
    while let Some(groups) = pattern.captures(text, at).ok()? {
        let [Some((start, end))] = groups[..] else { return None };
        (end > start).then_some(())?;
        parts.push(&text[at..start]);
        at = end;
    }
    parts.push(&text[at..]);
    while parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    Some(Value::array(parts.into_iter().map(Value::from).collect()))
}

impl Replacement {
    /// Reads a replacement with the flags of `regsubst`.
    fn parse(text: &str, flags: &str) -> Option<Replacement> {
        let is_global = match flags {
            "" => false,
            "G" => true,
            _ => return None,
        };
        let mut pieces = text.split('\\');
        let mut parts = vec![Part::Text(pieces.next()?.to_owned())];
        for piece in pieces {
            let group = piece.chars().next()?.to_digit(10)?;
            parts.push(Part::Group(usize::try_from(group).ok()?));
            parts.push(Part::Text(piece[1..].to_owned()));
        }
        Some(Replacement { parts, is_global })
    }

    fn applied(&self, text: &str, pattern: &RubyRegex) -> Option<Value> {
        let (mut whole, mut at) = (String::new(), 0);
        while let Some(groups) = pattern.captures(text, at).ok()? {
            let (start, end) = (*groups.first()?)?;
            (end > start && whole.len() <= MAX_LENGTH).then_some(())?;
            whole += &text[at..start];
            for part in &self.parts {
                match part {
                    Part::Text(text) => whole += text,
                    Part::Group(group) => {
                        let place = groups.get(*group).copied().flatten();
                        whole += place.map_or("", |(start, end)| &text[start..end]);
                    }
                }
            }
            at = end;
            if !self.is_global {
                break;
            }
        }
        whole += &text[at..];
        Some(whole.into())
    }
}

struct Reader<'w> {
    words: &'w [Word],
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        peek(self.words)
    }

    fn skip(&mut self, count: usize) {
        self.words = &self.words[count..];
    }

    fn takes(&mut self, sign: char) -> bool {
        takes(&mut self.words, sign)
    }

    fn is_joined(&self) -> bool {
        self.words.first().is_some_and(|word| word.is_joined)
    }

    /// Reads an expression: a value, and the accesses and method calls on it.
    fn expression(&mut self) -> Option<Node> {
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())?;
        let mut node = self.first()?;
        for _ in 0..MAX_DEPTH {
            if self.is_joined() && self.takes('[') {
                node = self.access(node)?;
            } else if let [Word { token: Token::Sign('.'), .. }, Word { token: Token::Name(name), .. }, ..] = self.words
            {
                let name = name.clone();
                self.skip(2);
                let others = if self.is_joined() && self.peek() == Some(&Token::Sign('(')) {
                    self.list('(', ')')?
                } else {
                    Vec::new()
                };
                node = call(&name, &[vec![Argument::Node(node)], others].concat())?;
            } else {
                self.depth -= 1;
                return Some(node);
            }
        }
        None
    }

    fn first(&mut self) -> Option<Node> {
        let node = match self.peek()? {
            Token::Variable(name) => Node::Variable(variable(name)?.to_owned()),
            Token::Text(text) => Node::Literal(text.as_str().into()),
            Token::Template(template) => interpolation(template, self.depth)?,
            Token::Name(name) if FUNCTIONS.contains(&&**name) => {
                let name = name.clone();
                self.skip(1);
                return call(&name, &self.list('(', ')')?);
            }
            _ => return self.literal(),
        };
        self.skip(1);
        Some(node)
    }

    fn literal(&mut self) -> Option<Node> {
        let (value, length) = leading(self.words)?;
        let (own, rest) = self.words.split_at(length);
        let is_known = own.iter().all(|word| is_plain(&word.token)) && !value.is_undef();
        // A bare word may be a function.
        let is_word = matches!((own, &value), ([Word { token: Token::Name(_), .. }], Value::String(_)));
        self.words = rest;
        Some(Node::Literal(value)).filter(|_| is_known && !is_word)
    }

    /// Reads the rest of an access.
    fn access(&mut self, subject: Node) -> Option<Node> {
        let is_negative = self.takes('-');
        let at = match self.expression()? {
            Node::Literal(Value::Integer(at)) if is_negative => Node::Literal(Value::Integer(at.checked_neg()?)),
            at => Some(at).filter(|_| !is_negative)?,
        };
        if !self.takes(',') {
            return self.takes(']').then(|| Node::Entry(Box::new(subject), Box::new(at)));
        }
        let count =
            |node: &Node| if let Node::Literal(Value::Integer(at)) = node { usize::try_from(*at).ok() } else { None };
        let (from, length) = (count(&at)?, count(&self.expression()?)?);
        self.takes(']').then(|| Node::Slice(Box::new(subject), from, length))
    }

    /// Reads the arguments of a call.
    fn list(&mut self, open: char, close: char) -> Option<Vec<Argument>> {
        self.takes(open).then_some(())?;
        let mut all = Vec::new();
        loop {
            all.push(match self.peek()? {
                Token::Regex(pattern) => {
                    let pattern = pattern.clone();
                    self.skip(1);
                    Argument::Regex(pattern)
                }
                _ => Argument::Node(self.expression()?),
            });
            if !self.takes(',') {
                return self.takes(close).then_some(all);
            }
        }
    }
}

#[derive(Clone)]
enum Argument {
    Node(Node),
    Regex(String),
}

impl Argument {
    fn text(&self) -> Option<&str> {
        if let Argument::Node(Node::Literal(value)) = self { value.as_str() } else { None }
    }

    fn pattern(&self) -> Option<Pattern> {
        let text = if let Argument::Regex(text) = self { text } else { self.text()? };
        RubyRegex::compile(text).ok().map(Arc::new)
    }
}

/// Returns the call of a function.
fn call(name: &str, arguments: &[Argument]) -> Option<Node> {
    let Argument::Node(subject) = arguments.first()?.clone() else { return None };
    let subject = Box::new(subject);
    match (name, &arguments[1..]) {
        ("downcase", []) => Some(Node::Lower(subject)),
        ("upcase", []) => Some(Node::Upper(subject)),
        ("split", [pattern]) => Some(Node::Split(subject, pattern.pattern()?)),
        ("regsubst", [pattern, replacement, flags @ ..]) => {
            let flags = match flags {
                [] => "",
                [flags] => flags.text()?,
                _ => return None,
            };
            Some(Node::Replace(subject, pattern.pattern()?, Replacement::parse(replacement.text()?, flags)?))
        }
        _ => None,
    }
}

/// Returns a text with variables.
fn interpolation(template: &Template, depth: usize) -> Option<Node> {
    let mut parts = Vec::new();
    for (at, piece) in template.pieces.iter().enumerate() {
        parts.push(Node::Literal(piece.as_str().into()));
        if let Some(inner) = template.between.get(at) {
            parts.push(inside(inner, depth)?);
        }
    }
    Some(Node::Text(parts))
}

/// Reads the expression inside of a text: a name is a variable there.
fn inside(text: &str, depth: usize) -> Option<Node> {
    let mut words = tokens(text);
    let is_call = matches!(words.get(1), Some(Word { token: Token::Sign('('), .. }));
    if let Some(Word { token, .. }) = words.first_mut().filter(|_| !is_call)
        && let Token::Name(name) = token
    {
        let name = std::mem::take(name);
        (!KEYWORDS.contains(&&*name)).then_some(())?;
        *token = Token::Variable(name);
    }
    let mut reader = Reader { words: &words, depth };
    reader.expression().filter(|_| reader.words.is_empty())
}

/// Returns the name of a variable of the top scope that nodes may have, without leading colons.
fn variable(name: &str) -> Option<&str> {
    /// Variables that differ between classes, or that the server sets.
    const NOT_OF_NODES: [&str; 5] = ["module_name", "caller_module_name", "title", "name", "server_facts"];
    let name = name.strip_prefix("::").unwrap_or(name);
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    (is_name && !NOT_OF_NODES.contains(&name)).then_some(name)
}

/// Returns true if the result of a function depends only on its arguments.
pub(super) fn is_pure(function: &str) -> bool {
    const MESSAGES: [&str; 7] = ["debug", "info", "notice", "warning", "err", "fail", "versioncmp"];
    FUNCTIONS.contains(&function) || MESSAGES.contains(&function)
}
