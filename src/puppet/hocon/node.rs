//! Values that may still contain substitutions, and the merging of one over another.
//!
//! Source: `abstract_config_value.rb`, `abstract_config_object.rb`, `simple_config_object.rb`,
//! `config_delayed_merge.rb`, `config_delayed_merge_object.rb`.

use std::rc::Rc;

use indexmap::IndexMap;

use super::path::Path;
use super::{Budget, Name, Origin, Refusal, Result};
use crate::value::Value;

/// A value, which is identified by its address, not only by its content.
pub(super) type NodeRef = Rc<Node>;

/// The entries of an object, in order.
pub(super) type Entries = IndexMap<Name, NodeRef, foldhash::fast::RandomState>;

/// A value, final or not.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The place at which the gem believes it to be.
    pub(super) origin: Origin,
    /// The line of its key or, for an item, its own line.
    pub(super) line: u32,
}

/// The kind of a value.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Null,
    Boolean(bool),
    /// A number, and its text as written.
    Number(Value, Name),
    Text {
        text: Name,
        quoted: bool,
    },
    /// A substitution.
    Reference(Rc<Reference>),
    /// Adjacent values, at least one of them a substitution.
    Concat(Rc<[NodeRef]>),
    /// Values to merge over one another, the first on top, at least one of them not known yet.
    Merge {
        stack: Rc<[NodeRef]>,
        /// True if the first is an object.
        object: bool,
    },
    Object(Rc<Object>),
    List(Rc<List>),
}

/// A substitution.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) path: Path,
    pub(super) optional: bool,
}

/// An object.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) entries: Entries,
    pub(super) resolved: bool,
    /// True if it hides everything below, since it lies over a value that is not an object.
    pub(super) hides: bool,
}

/// A list.
#[derive(Debug)]
pub(super) struct List {
    pub(super) items: Vec<NodeRef>,
    pub(super) resolved: bool,
}

/// The gem's message about the keys of an object that is not known yet.
pub(super) const NOT_RESOLVED: &str =
    "need to Config#resolve() before using this object, see the API docs for Config#resolve()";

impl Reference {
    /// Returns its text for messages.
    pub(super) fn render(&self) -> String {
        format!("${{{}{}}}", if self.optional { "?" } else { "" }, self.path.render())
    }
}

impl Object {
    pub(super) fn of(entries: Entries, hides: bool) -> Kind {
        let resolved = entries.values().all(|entry| entry.is_resolved());
        Kind::Object(Rc::new(Object { entries, resolved, hides }))
    }
}

impl List {
    pub(super) fn of(items: Vec<NodeRef>) -> Kind {
        let resolved = items.iter().all(|item| item.is_resolved());
        Kind::List(Rc::new(List { items, resolved }))
    }
}

impl Node {
    pub(super) fn new(kind: Kind, origin: Origin, line: u32) -> NodeRef {
        Rc::new(Node { kind, origin, line })
    }

    /// Returns the same value for a key on `line`.
    pub(super) fn on_line(self: &Rc<Self>, line: u32) -> NodeRef {
        if self.line == line { self.clone() } else { Rc::new(Node { line, ..(**self).clone() }) }
    }

    pub(super) fn is_resolved(&self) -> bool {
        match &self.kind {
            Kind::Reference(_) | Kind::Concat(_) | Kind::Merge { .. } => false,
            Kind::Object(object) => object.resolved,
            Kind::List(list) => list.resolved,
            _ => true,
        }
    }

    /// Returns true if it is an object, or will be one.
    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_) | Kind::Merge { object: true, .. })
    }

    /// Returns true if its kind is not known yet.
    pub(super) fn is_unmergeable(&self) -> bool {
        matches!(self.kind, Kind::Reference(_) | Kind::Concat(_) | Kind::Merge { .. })
    }

    /// Returns true if the gem considers it to contain other values.
    pub(super) fn is_container(&self) -> bool {
        matches!(self.kind, Kind::Concat(_) | Kind::Merge { .. } | Kind::Object(_) | Kind::List(_))
    }

    /// Returns true if it hides everything below it.
    pub(super) fn hides(&self) -> bool {
        match &self.kind {
            Kind::Reference(_) | Kind::Concat(_) => false,
            Kind::Merge { stack, .. } => stack.last().is_some_and(|last| last.hides()),
            Kind::Object(object) => object.hides,
            Kind::List(list) => list.resolved,
            _ => true,
        }
    }

    /// Returns the values that this is a merge of, or only itself if it is not a merge.
    pub(super) fn stack(self: &Rc<Self>) -> Vec<NodeRef> {
        match &self.kind {
            Kind::Merge { stack, .. } => stack.to_vec(),
            _ => vec![self.clone()],
        }
    }

    /// Returns this value merged over `below`.
    pub(super) fn over(self: &Rc<Self>, below: &NodeRef, budget: &Budget) -> Result<NodeRef> {
        if self.hides() {
            return Ok(self.clone());
        }
        match (&self.kind, &below.kind) {
            _ if below.is_unmergeable() => self.delayed(below.stack(), budget),
            (Kind::Object(above), Kind::Object(under)) => self.merged(above, below, under, budget),
            (Kind::Object(above), _) if above.resolved => {
                budget.spend(above.entries.len())?;
                let object = Object { entries: above.entries.clone(), resolved: true, hides: true };
                Ok(Node::new(Kind::Object(Rc::new(object)), self.origin, self.line))
            }
            _ => self.delayed(vec![below.clone()], budget),
        }
    }

    fn delayed(self: &Rc<Self>, below: Vec<NodeRef>, budget: &Budget) -> Result<NodeRef> {
        budget.load_merges(self.is_object())?;
        let mut stack = self.stack();
        stack.extend(below);
        budget.spend(stack.len())?;
        let origin = merged_origin(&stack).unwrap_or(self.origin);
        Ok(Node::new(delayed_merge(stack, self.is_object())?, origin, self.line))
    }

    fn merged(self: &Rc<Self>, above: &Object, below: &NodeRef, under: &Object, budget: &Budget) -> Result<NodeRef> {
        budget.spend(above.entries.len() + under.entries.len())?;
        let mut entries = Entries::default();
        let mut changed = false;
        for (key, first) in &above.entries {
            let merged =
                under.entries.get(key).map_or_else(|| Ok(first.clone()), |second| first.over(second, budget))?;
            changed |= !first.equals(&merged, budget)?;
            entries.insert(key.clone(), merged);
        }
        for (key, second) in &under.entries {
            if !above.entries.contains_key(key) {
                changed = true;
                entries.insert(key.clone(), second.clone());
            }
        }
        if !changed {
            // The gem then keeps the upper entries, and loses what merging them has recorded about the lower ones.
            if under.hides == above.hides {
                return Ok(self.clone());
            }
            entries.clone_from(&above.entries);
        }
        let origin = merged_origin(&[self.clone(), below.clone()]).unwrap_or(self.origin);
        Ok(Node::new(Object::of(entries, under.hides), origin, self.line))
    }

    /// Compares like Ruby's `==`, which fails if it would have to look into a value that is not known yet.
    fn equals(self: &Rc<Self>, other: &NodeRef, budget: &Budget) -> Result<bool> {
        if Rc::ptr_eq(self, other) {
            return Ok(true);
        }
        budget.spend(1)?;
        match (&self.kind, &other.kind) {
            (Kind::Object(_), Kind::Merge { object: true, .. }) => Err(Refusal::Config(NOT_RESOLVED.into())),
            (Kind::Object(a), Kind::Object(b)) => {
                if a.entries.len() != b.entries.len() || !a.entries.keys().all(|key| b.entries.contains_key(key)) {
                    return Ok(false);
                }
                all_equal(a.entries.iter().filter_map(|(key, value)| Some((value, b.entries.get(key)?))), budget)
            }
            (Kind::Merge { stack: a, object: x }, Kind::Merge { stack: b, object: y }) => {
                Ok(x == y && a.len() == b.len() && all_equal(a.iter().zip(b.iter()), budget)?)
            }
            (Kind::Reference(a), Kind::Reference(b)) => Ok(a == b),
            (Kind::Concat(a), Kind::Concat(b)) => Ok(a.len() == b.len() && all_equal(a.iter().zip(b.iter()), budget)?),
            (Kind::List(a), Kind::List(b)) => {
                Ok(a.items.len() == b.items.len() && all_equal(a.items.iter().zip(&b.items), budget)?)
            }
            (Kind::Number(a, _), Kind::Number(b, _)) => Ok(a == b),
            (Kind::Null | Kind::Boolean(_) | Kind::Text { .. }, _) if other.is_unmergeable() && !other.is_object() => {
                Err(Refusal::Config("need to Config#resolve, see the API docs for Config#resolve".into()))
            }
            (Kind::Null, Kind::Null) => Ok(true),
            (Kind::Boolean(a), Kind::Boolean(b)) => Ok(a == b),
            (Kind::Text { text: a, .. }, Kind::Text { text: b, .. }) => Ok(a == b),
            _ => Ok(false),
        }
    }
}

fn all_equal<'a>(mut pairs: impl Iterator<Item = (&'a NodeRef, &'a NodeRef)>, budget: &Budget) -> Result<bool> {
    pairs.try_fold(true, |all, (a, b)| Ok(all && a.equals(b, budget)?))
}

/// Returns a merge that waits for substitutions.
pub(super) fn delayed_merge(stack: Vec<NodeRef>, object: bool) -> Result<Kind> {
    let nested = |node: &NodeRef| matches!(node.kind, Kind::Merge { object: inner, .. } if inner || !object);
    if stack.iter().any(nested) {
        let text = "placed nested DelayedMerge in a ConfigDelayedMerge, should have consolidated stack";
        return Err(Refusal::Config(text.into()));
    }
    Ok(Kind::Merge { stack: stack.into(), object })
}

/// Returns the place of a merge; empty objects are ignored.
fn merged_origin(stack: &[NodeRef]) -> Option<Origin> {
    let empty = |node: &NodeRef| matches!(&node.kind, Kind::Object(object) if object.entries.is_empty());
    let origins = stack.iter().filter(|node| !empty(node)).map(|node| node.origin);
    origins.reduce(Origin::and).or_else(|| stack.first().map(|first| first.origin))
}
