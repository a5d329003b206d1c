//! The source of substitutions: the root object, and the way from it to the value that is being resolved.
//!
//! Source: `resolve_source.rb`, and `replace_child` of the containers.

use std::rc::Rc;

use super::node::{Entries, Kind, Node, NodeRef, Object, delayed_merge};
use super::path::Path;
use super::{Budget, Refusal, Result};

/// A root and the way from it.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) root: NodeRef,
    way: Option<Rc<Way>>,
}

/// Containers, the innermost first.
pub(super) struct Way {
    node: NodeRef,
    outer: Option<Rc<Way>>,
}

impl Way {
    fn outermost(&self) -> &NodeRef {
        std::iter::successors(Some(self), |way| way.outer.as_deref()).last().map_or(&self.node, |way| &way.node)
    }
}

impl Source {
    /// Returns the source with `root`, and no way.
    pub(super) fn of(root: NodeRef) -> Source {
        Source { root, way: None }
    }

    fn along(way: Rc<Way>) -> Source {
        Source { root: way.outermost().clone(), way: Some(way) }
    }

    /// Returns the source whose way continues into `parent`.
    pub(super) fn into(&self, parent: &NodeRef) -> Source {
        let way = match &self.way {
            None if !Rc::ptr_eq(parent, &self.root) => None,
            outer => Some(Rc::new(Way { node: parent.clone(), outer: outer.clone() })),
        };
        Source { root: self.root.clone(), way }
    }

    /// Returns the source in whose root only `left` is left of the merge `old`, and no way.
    pub(super) fn without(&self, old: &NodeRef, left: Option<NodeRef>, budget: &Budget) -> Result<Source> {
        let Some(way) = &self.way else {
            return Err(match left {
                Some(left) if Rc::ptr_eq(old, &self.root) && left.is_container() => no_parents(),
                _ => Refusal::Config("replace in parent not possible".into()),
            });
        };
        let parent = replace_child(&way.node, old, left, budget)?;
        if Rc::ptr_eq(&parent, &way.node) {
            return Ok(Source::of(self.root.clone()));
        }
        match replace(way, parent, budget)? {
            Some(way) => Ok(Source::of(way.outermost().clone())),
            None => Err(no_parents()),
        }
    }
}

/// Returns the error that the gem raises by mistake for a way that does not exist.
fn no_parents() -> Refusal {
    Refusal::Ruby("undefined local variable or method `this' for Hocon::Impl::ResolveSource".into())
}

/// Returns the way with `new` in place of its innermost container.
fn replace(way: &Way, new: NodeRef, budget: &Budget) -> Result<Option<Rc<Way>>> {
    let Some(outer) = &way.outer else { return Ok(Some(Rc::new(Way { node: new, outer: None }))) };
    let parent = replace_child(&outer.node, &way.node, Some(new.clone()), budget)?;
    let outer = replace(outer, parent, budget)?;
    Ok(Some(Rc::new(Way { node: new, outer })))
}

/// Returns `container` with `new` in place of `old`, or without `old` if there is no `new`.
fn replace_child(container: &NodeRef, old: &NodeRef, new: Option<NodeRef>, budget: &Budget) -> Result<NodeRef> {
    match &container.kind {
        Kind::Object(object) => {
            budget.spend(object.entries.len())?;
            let Some((key, _)) = object.entries.iter().find(|(_, entry)| Rc::ptr_eq(entry, old)) else {
                return Err(Refusal::Config("SimpleConfigObject.replaceChild did not find the child".into()));
            };
            let mut entries: Entries = object.entries.clone();
            match new {
                Some(new) => _ = entries.insert(key.clone(), new),
                None => _ = entries.shift_remove(key),
            }
            Ok(Node::new(Object::of(entries, object.hides), container.origin, container.line))
        }
        Kind::Merge { stack, object: true } => {
            budget.spend(stack.len())?;
            if !stack.iter().any(|value| Rc::ptr_eq(value, old)) {
                return Err(Refusal::Config("tried to replace what is not in the list".into()));
            }
            // Without a new value the gem removes nothing.
            let new = new.as_ref().unwrap_or(old);
            let values = stack.iter().map(|value| if Rc::ptr_eq(value, old) { new.clone() } else { value.clone() });
            Ok(Node::new(delayed_merge(values.collect(), true)?, container.origin, container.line))
        }
        _ => Err(Refusal::Ruby("undefined method `replace_child_in_list'".into())),
    }
}

/// A found value, and the way to it.
pub(super) struct Found {
    pub(super) value: NodeRef,
    way: Rc<Way>,
}

impl Found {
    /// Returns the source along the way to the value.
    pub(super) fn source(&self) -> Source {
        Source::along(self.way.clone())
    }
}

/// Returns the value at `path` in an object that is resolved that far.
pub(super) fn find(object: &NodeRef, path: &Path, budget: &Budget) -> Result<Option<Found>> {
    let mut way = Rc::new(Way { node: object.clone(), outer: None });
    let mut rest = path;
    loop {
        let value = peek(&way.node, rest, path, budget)?;
        match (value, &rest.rest) {
            (Some(value), None) => return Ok(Some(Found { value, way })),
            (Some(value), Some(next)) if value.is_object() => {
                way = Rc::new(Way { node: value, outer: Some(way) });
                rest = next;
            }
            _ => return Ok(None),
        }
    }
}

/// Returns the entry of an object, if it is certain; `whole` is for messages.
fn peek(object: &NodeRef, path: &Path, whole: &Path, budget: &Budget) -> Result<Option<NodeRef>> {
    budget.spend(1)?;
    let stack = match &object.kind {
        Kind::Object(object) => return Ok(object.entries.get(&path.first).cloned()),
        Kind::Merge { stack, .. } => stack,
        _ => return Ok(None),
    };
    for layer in stack.iter() {
        if layer.is_object() {
            match peek(layer, path, whole, budget)? {
                Some(value) if value.hides() => return Ok(Some(value)),
                None if layer.is_unmergeable() => {
                    return Err(Refusal::Config(
                        "should not be reached: unmergeable object returned null value".into(),
                    ));
                }
                _ => {}
            }
        } else if layer.is_unmergeable() {
            let text = "has not been resolved, you need to call Config#resolve, see API docs for Config#resolve";
            return Err(Refusal::Config(format!("{} {text}", whole.render())));
        } else {
            return Err(Refusal::Ruby("undefined method `resolved_status'".into()));
        }
    }
    Err(Refusal::Config("Delayed merge stack does not contain any unmergeable values".into()))
}
