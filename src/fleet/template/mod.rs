//! Answers that differ from node to node only by variables in their texts.
//!
//! A [`Template`] is a value with places for variables in its texts. It is the result of an evaluation that has not
//! read the holes ([`crate::value::hole`]): filled with the variables of any node that agrees in all dependencies, it
//! is that node's value.

mod coincidence;

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::nodes::VariableClasses;
use crate::fleet::nodes::variables::VariablePath;
use crate::hiera::{LookupError, Outcome};
use crate::node::{NodeId, NodeSet};
use crate::value::hole::Piece;
use crate::value::{Hash as ValueHash, Segment, Text, Value, ValuePath};

pub use coincidence::coincidences;

/// A value that is filled in for each node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Template(Skeleton);

#[derive(Debug, Clone, Eq, Hash)]
#[expect(clippy::derived_hash_with_manual_eq, reason = "equality looks closer than the hash")]
enum Skeleton {
    /// A value that is the same on all nodes.
    Same(Value),
    Text(Vec<TextPart>),
    Array(Vec<Skeleton>),
    Hash(Vec<(Value, Skeleton)>),
}

impl PartialEq for Skeleton {
    fn eq(&self, other: &Skeleton) -> bool {
        match (self, other) {
            (Skeleton::Same(a), Skeleton::Same(b)) => a == b && a.is_written_like(b),
            (Skeleton::Text(a), Skeleton::Text(b)) => a == b,
            (Skeleton::Array(a), Skeleton::Array(b)) => a == b,
            (Skeleton::Hash(a), Skeleton::Hash(b)) => {
                a == b && a.iter().zip(b).all(|((a, _), (b, _))| a.is_written_like(b))
            }
            _ => false,
        }
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum TextPart {
    Literal(Arc<str>),
    Variable(Variable),
}

/// A variable that is a text on all nodes that the template is for.
#[derive(Clone)]
pub struct Variable {
    path: VariablePath,
    classes: Arc<VariableClasses>,
}

impl Variable {
    /// Returns true if it is certainly the same as another one on all nodes.
    pub fn is_shared_with(&self, other: &Variable) -> bool {
        self.path == other.path && Arc::ptr_eq(&self.classes, &other.classes)
    }

    /// Returns the text of the variable on a node.
    pub fn on(&self, node: NodeId) -> &str {
        self.classes.on(node).plain_text(&self.path.segments).map_or("", Text::as_str)
    }
}

impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.fmt(f)
    }
}

impl PartialEq for Variable {
    fn eq(&self, other: &Variable) -> bool {
        self.path == other.path
    }
}

impl Eq for Variable {}

impl Hash for Variable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

impl TextPart {
    fn variable(&self) -> Option<&Variable> {
        match self {
            TextPart::Literal(_) => None,
            TextPart::Variable(variable) => Some(variable),
        }
    }
}

impl Template {
    /// Returns the value of a node.
    pub fn on(&self, node: NodeId) -> Value {
        self.0.filled(&|variable| variable.on(node).to_owned())
    }

    /// Returns the value with `mark` in place of each variable, by its position in the list of variables.
    pub fn marked(&self, mark: &dyn Fn(usize) -> String) -> Value {
        let variables = self.variables();
        self.0.filled(&|variable| variables.iter().position(|other| *other == variable).map(mark).unwrap_or_default())
    }

    /// Returns true if the part at `path` differs from node to node.
    pub fn varies_at(&self, path: &ValuePath) -> bool {
        self.0.at(&path.0).is_some_and(|part| !matches!(part, Skeleton::Same(_)))
    }

    /// Returns true if the value certainly differs between all of `nodes`.
    pub fn differs_between_all(&self, nodes: &NodeSet) -> bool {
        let tells_apart = |variable: &Variable| variable.classes.partition.tells_apart(nodes);
        self.clear_texts().flatten().filter_map(TextPart::variable).any(tells_apart)
    }

    /// Returns true if values are certainly equal only where all variables are.
    pub fn shows_all_variables(&self) -> bool {
        let shown: HashSet<&Variable> = self.clear_texts().flatten().filter_map(TextPart::variable).collect();
        self.variables().iter().all(|variable| shown.contains(variable))
    }

    /// Returns the texts that are equal only where the variables in them are: each of these ends where the next literal
    /// begins, since no text of it has the first byte of that.
    fn clear_texts(&self) -> impl Iterator<Item = &[TextPart]> {
        let is_clear = |pair: &[TextPart]| match pair {
            [TextPart::Variable(variable), TextPart::Literal(next)] => {
                next.bytes().next().is_some_and(|byte| !variable.classes.has_byte(byte, &variable.path.segments))
            }
            [TextPart::Variable(_), TextPart::Variable(_)] => false,
            _ => true,
        };
        self.texts().into_iter().filter(move |parts| parts.windows(2).all(is_clear))
    }

    /// Returns true if its variables have more than `most` combinations of values on `nodes`.
    pub fn has_more_classes(&self, most: usize, nodes: &NodeSet) -> bool {
        let variables = self.variables();
        let class = |node| variables.iter().map(|variable| variable.classes.partition.class_of(node)).collect();
        let mut seen: HashSet<Vec<usize>, RandomState> = HashSet::default();
        nodes.iter().any(|node| seen.insert(class(node)) && seen.len() > most)
    }

    /// Divides `nodes` by the values of its variables, in the order of the first nodes. The nodes of a class have the
    /// same value.
    pub fn split(&self, nodes: &NodeSet) -> Vec<NodeSet> {
        let mut classes = vec![nodes.clone()];
        for variable in self.variables() {
            classes = classes.iter().flat_map(|nodes| variable.classes.partition.split(nodes)).collect();
        }
        classes.sort_by_cached_key(NodeSet::first);
        classes
    }

    /// Returns the variables, each once.
    pub fn variables(&self) -> Vec<&Variable> {
        let mut variables: Vec<&Variable> = Vec::new();
        for variable in self.texts().into_iter().flatten().filter_map(TextPart::variable) {
            if !variables.contains(&variable) {
                variables.push(variable);
            }
        }
        variables
    }

    fn texts(&self) -> Vec<&[TextPart]> {
        let mut texts = Vec::new();
        self.0.add_texts(&mut texts);
        texts
    }

    /// Returns true if each variable at `path` has one of the texts that `names` gives for a node, on all of `nodes`.
    pub fn has_only<'n>(&self, path: &ValuePath, nodes: &NodeSet, names: &dyn Fn(NodeId) -> [&'n str; 2]) -> bool {
        let is_name = |part: &TextPart| match part {
            TextPart::Literal(_) => true,
            TextPart::Variable(variable) => nodes.iter().all(|node| names(node).contains(&variable.on(node))),
        };
        let Some(part) = self.0.at(&path.0) else { return true };
        let mut texts = Vec::new();
        part.add_texts(&mut texts);
        texts.into_iter().flatten().all(is_name)
    }
}

impl Skeleton {
    /// Returns the value with the text that `text_of` gives for each variable.
    fn filled(&self, text_of: &dyn Fn(&Variable) -> String) -> Value {
        let text = |part: &TextPart| match part {
            TextPart::Literal(text) => (**text).to_owned(),
            TextPart::Variable(variable) => text_of(variable),
        };
        match self {
            Skeleton::Same(value) => value.clone(),
            Skeleton::Text(parts) => Value::String(parts.iter().map(text).collect::<String>().into()),
            Skeleton::Array(items) => items.iter().map(|item| item.filled(text_of)).collect(),
            Skeleton::Hash(entries) => {
                let entry = |(key, value): &(Value, Skeleton)| (key.clone(), value.filled(text_of));
                Value::hash(entries.iter().map(entry).collect::<ValueHash>())
            }
        }
    }

    /// Returns the part at a path, or `None` if the path leads into something that is the same on all nodes.
    fn at(&self, path: &[Segment]) -> Option<&Skeleton> {
        let Some((segment, rest)) = path.split_first() else { return Some(self) };
        let part = match (self, segment) {
            (Skeleton::Array(items), Segment::Index(at)) => items.get(*at),
            (Skeleton::Hash(entries), Segment::Key(key)) => {
                entries.iter().find(|(other, _)| other == key).map(|(_, value)| value)
            }
            _ => None,
        };
        part?.at(rest)
    }

    fn add_texts<'s>(&'s self, texts: &mut Vec<&'s [TextPart]>) {
        match self {
            Skeleton::Same(_) => {}
            Skeleton::Text(parts) => texts.push(parts),
            Skeleton::Array(items) => items.iter().for_each(|item| item.add_texts(texts)),
            Skeleton::Hash(entries) => entries.iter().for_each(|(_, value)| value.add_texts(texts)),
        }
    }
}

fn part_on(part: &TextPart, node: NodeId) -> &str {
    match part {
        TextPart::Literal(text) => text,
        TextPart::Variable(variable) => variable.on(node),
    }
}

/// The result of an evaluation on one node, and its template if it differs on other nodes of its class.
pub(in crate::fleet) struct Evaluated {
    pub(in crate::fleet) outcome: Outcome,
    pub(in crate::fleet) template: Option<Template>,
}

impl PartialEq for Evaluated {
    fn eq(&self, other: &Evaluated) -> bool {
        match (&self.template, &other.template) {
            (Some(template), Some(other)) => template == other,
            (None, None) => self.outcome == other.outcome,
            _ => false,
        }
    }
}

impl Eq for Evaluated {}

impl Hash for Evaluated {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.template {
            Some(template) => template.hash(state),
            None => self.outcome.hash(state),
        }
    }
}

/// The variable in a hole, by the hole's number.
type Filling<'h> = &'h dyn Fn(usize) -> Option<(&'h VariablePath, &'h Arc<VariableClasses>)>;

impl Evaluated {
    /// Makes a result free of holes; `filling` gives the variables in them.
    pub(in crate::fleet) fn close(outcome: Outcome, filling: Filling<'_>) -> Evaluated {
        let value = match outcome {
            Outcome::Found(value) => value,
            Outcome::Failed(error) => {
                _ = error.text.as_str(); // marks its holes as read, since whoever meets the error reads it
                let text = error.text.closed();
                return Evaluated { outcome: Outcome::Failed(LookupError { text, ..error }), template: None };
            }
            Outcome::NotFound => return Evaluated { outcome: Outcome::NotFound, template: None },
        };
        read_odd_parts(&value, value.secrecy().is_some());
        let template =
            skeleton(&value, filling).filter(|skeleton| !matches!(skeleton, Skeleton::Same(_))).map(Template);
        Evaluated { outcome: Outcome::Found(closed(&value).unwrap_or(value)), template }
    }
}

/// Reads the holes that a template cannot have: in hash keys and in values of Puppet's own types. With `all`, reads
/// all holes.
fn read_odd_parts(value: &Value, all: bool) {
    let read = |value: &Value| value.hash(&mut std::hash::DefaultHasher::new());
    match value {
        Value::String(text) if text.pieces().is_none() || !all => {}
        Value::Array(items) => items.iter().for_each(|item| read_odd_parts(item, all)),
        Value::Hash(hash) => hash.iter().for_each(|(key, value)| {
            read(key);
            read_odd_parts(value, all);
        }),
        other => read(other),
    }
}

/// Returns a value without its holes, or `None` if it has none.
fn closed(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => text.pieces().map(|_| Value::String(text.closed())),
        Value::Array(items) => {
            let new: Vec<Option<Value>> = items.iter().map(closed).collect();
            let has_holes = new.iter().any(Option::is_some);
            let item = |(new, old): (Option<Value>, &Value)| new.unwrap_or_else(|| old.clone());
            has_holes.then(|| new.into_iter().zip(items.iter()).map(item).collect())
        }
        Value::Hash(hash) => {
            let has_holes = hash.iter().any(|(key, value)| closed(key).is_some() || closed(value).is_some());
            let without = |value: &Value| closed(value).unwrap_or_else(|| value.clone());
            let entries = || hash.iter().map(|(key, value)| (without(key), without(value))).collect::<ValueHash>();
            has_holes.then(|| Value::hash(entries()))
        }
        _ => None,
    }
}

/// Returns the skeleton of a value, whose unread holes become places for variables; or `None` if a hole has no
/// variable.
fn skeleton(value: &Value, filling: Filling<'_>) -> Option<Skeleton> {
    let is_same = |part: &Skeleton| matches!(part, Skeleton::Same(_));
    let same = |value: &Value| Skeleton::Same(closed(value).unwrap_or_else(|| value.clone()));
    Some(match value {
        Value::String(text) => match text.pieces() {
            Some(pieces) if pieces.iter().any(is_unread) => Skeleton::Text(parts(pieces, filling)?),
            _ => same(value),
        },
        Value::Array(items) => {
            let items = items.iter().map(|item| skeleton(item, filling)).collect::<Option<Vec<_>>>()?;
            if items.iter().all(is_same) { same(value) } else { Skeleton::Array(items) }
        }
        Value::Hash(hash) => {
            let entry = |(key, value): (&Value, &Value)| {
                Some((closed(key).unwrap_or_else(|| key.clone()), skeleton(value, filling)?))
            };
            let entries = hash.iter().map(entry).collect::<Option<Vec<_>>>()?;
            if entries.iter().all(|(_, value)| is_same(value)) { same(value) } else { Skeleton::Hash(entries) }
        }
        _ => same(value),
    })
}

fn is_unread(piece: &Piece) -> bool {
    matches!(piece, Piece::Hole(hole) if !hole.is_read())
}

/// Returns the parts of a text, with neighbouring literals joined.
fn parts(pieces: &[Piece], filling: Filling<'_>) -> Option<Vec<TextPart>> {
    let (mut parts, mut literal) = (Vec::new(), String::new());
    for piece in pieces {
        match piece {
            Piece::Literal(text) => literal.push_str(text),
            Piece::Hole(hole) if hole.is_read() => literal.push_str(hole.read()),
            Piece::Hole(hole) => {
                add_literal(&mut parts, mem::take(&mut literal));
                let (path, classes) = filling(hole.number)?;
                parts.push(TextPart::Variable(Variable { path: path.clone(), classes: classes.clone() }));
            }
        }
    }
    add_literal(&mut parts, literal);
    Some(parts)
}

fn add_literal(parts: &mut Vec<TextPart>, literal: String) {
    if !literal.is_empty() {
        parts.push(TextPart::Literal(literal.into()));
    }
}
