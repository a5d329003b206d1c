//! Replaces substitutions by their values.
//!
//! The gem caches nothing on the way (its cache compares keys by identity, and keys are made anew each time), so it
//! follows each substitution again wherever it occurs. The same happens here, within a [`Budget`].
//! Source: `resolve_context.rb`, `config_reference.rb`, and `resolve_substitutions` of the other classes.

use std::rc::Rc;

use super::node::{Kind, List, Node, NodeRef, Object, Reference};
use super::path::Path;
use super::source::{Source, find};
use super::{Budget, MIN_STACK, MORE_STACK, Refusal, Result, join};

/// The maximum depth of values that substitutions may lead to. The gem's stack ends before that.
const MAX_DEPTH: usize = 5000;

/// Replaces substitutions.
pub(super) struct Resolver<'a> {
    budget: &'a Budget,
    /// The values that are being resolved, the innermost last.
    trace: Vec<NodeRef>,
    /// The substitutions among them.
    open_references: Vec<NodeRef>,
    /// The line of the substitution that was followed last.
    line: u32,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(budget: &'a Budget) -> Resolver<'a> {
        Resolver { budget, trace: Vec::new(), open_references: Vec::new(), line: 1 }
    }

    /// Returns the line of the substitution that was followed last.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Returns the document without substitutions.
    pub(super) fn document(&mut self, root: &NodeRef) -> Result<NodeRef> {
        let resolved = self.resolve(root, None, &Source::of(root.clone()))?;
        resolved.ok_or_else(|| Refusal::Config("the document has no value".into()))
    }

    /// Resolves `node`, or returns `None` if that makes it vanish. With `only`, just the way to that path is resolved
    /// in an object.
    fn resolve(&mut self, node: &NodeRef, only: Option<&Path>, source: &Source) -> Result<Option<NodeRef>> {
        self.budget.spend(1)?;
        if self.trace.len() >= MAX_DEPTH {
            return Err(Refusal::Limit(format!("substitutions lead more than {MAX_DEPTH} values deep")));
        }
        self.trace.push(node.clone());
        let resolved = stacker::maybe_grow(MIN_STACK, MORE_STACK, || self.dispatch(node, only, source));
        self.trace.pop();
        let resolved = resolved?;
        if only.is_none() && resolved.as_ref().is_some_and(|node| !node.is_resolved()) {
            return Err(Refusal::Config("resolve_substitutions did not give us a resolved object".into()));
        }
        Ok(resolved)
    }

    fn dispatch(&mut self, node: &NodeRef, only: Option<&Path>, source: &Source) -> Result<Option<NodeRef>> {
        match &node.kind {
            Kind::Reference(_) if self.open_references.iter().any(|open| Rc::ptr_eq(open, node)) => {
                self.budget.spend(self.trace.len())?;
                Err(Refusal::Cycle(self.trace_text()))
            }
            Kind::Reference(reference) => self.reference(node, reference, only, source),
            Kind::Concat(pieces) => self.concat(pieces, source),
            Kind::Merge { stack, object } => {
                let merged = self.merge(node, stack, only, source)?;
                if *object && !merged.as_ref().is_some_and(|merged| merged.is_object()) {
                    return Err(Refusal::Config("Expecting a resolve result to be an object, but it was not".into()));
                }
                Ok(merged)
            }
            Kind::Object(object) if !object.resolved => self.object(node, object, only, source).map(Some),
            Kind::List(list) if !list.resolved && only.is_none() => match self.list(node, list, source) {
                // The gem cannot say what went wrong in a list.
                Err(Refusal::Config(_) | Refusal::Ruby(_)) => Err(Refusal::Config("unexpected exception".into())),
                other => other.map(Some),
            },
            _ => Ok(Some(node.clone())),
        }
    }

    /// Returns the substitutions that lead here.
    fn trace_text(&self) -> String {
        let text = |node: &NodeRef| match &node.kind {
            Kind::Reference(reference) => Some(reference.render()),
            _ => None,
        };
        self.trace.iter().filter_map(text).collect::<Vec<_>>().join(", ")
    }

    fn reference(
        &mut self,
        node: &NodeRef,
        reference: &Reference,
        only: Option<&Path>,
        source: &Source,
    ) -> Result<Option<NodeRef>> {
        // Each substitution is compared with those that are open.
        self.budget.spend(self.open_references.len())?;
        self.open_references.push(node.clone());
        let found = self.follow(reference, only, source);
        self.open_references.pop();
        let unresolved = |detail: String| {
            let text = format!("Could not resolve substitution to a value: {detail}");
            Refusal::config(Some(node.origin), &text)
        };
        let found = match found {
            Err(Refusal::Cycle(_)) if reference.optional => None,
            Err(Refusal::Cycle(cycle)) => {
                self.line = node.line;
                let detail = format!("{} was part of a cycle of substitutions involving {cycle}", reference.render());
                return Err(unresolved(detail));
            }
            other => other?,
        };
        if found.is_none() && !reference.optional {
            self.line = node.line;
            return Err(unresolved(reference.render()));
        }
        Ok(found)
    }

    fn follow(&mut self, reference: &Reference, only: Option<&Path>, source: &Source) -> Result<Option<NodeRef>> {
        let path = &reference.path;
        let object = self.resolve(&source.root, Some(path), &Source::of(source.root.clone()))?;
        let Some(object) = object.filter(|object| object.is_object()) else {
            return Err(Refusal::Ruby("no implicit conversion into String".into()));
        };
        match find(&object, path, self.budget)? {
            Some(found) => self.resolve(&found.value, only, &found.source()),
            None => outside(path),
        }
    }

    fn concat(&mut self, pieces: &[NodeRef], source: &Source) -> Result<Option<NodeRef>> {
        let mut resolved = Vec::new();
        for piece in pieces {
            resolved.extend(self.resolve(piece, None, source)?);
        }
        let mut joined = join::consolidate(resolved, self.budget)?;
        if joined.len() > 1 {
            return Err(Refusal::Config("Bug in the library; resolved list was joined to too many values".into()));
        }
        Ok(joined.pop())
    }

    /// Resolves a merge. A substitution in it is looked up in a document in which only the values below it are left
    /// of the merge.
    fn merge(
        &mut self,
        node: &NodeRef,
        stack: &[NodeRef],
        only: Option<&Path>,
        source: &Source,
    ) -> Result<Option<NodeRef>> {
        let mut merged: Option<NodeRef> = None;
        for (at, value) in stack.iter().enumerate() {
            let source = match value.kind {
                Kind::Merge { .. } => {
                    return Err(Refusal::Config("A delayed merge should not contain another one".into()));
                }
                _ if value.is_unmergeable() => {
                    let left = remainder(stack.get(at + 1..).unwrap_or_default(), self.budget)?;
                    source.without(node, left, self.budget)?
                }
                _ => source.into(node),
            };
            let Some(resolved) = self.resolve(value, only, &source)? else { continue };
            merged = Some(match merged {
                Some(merged) => merged.over(&resolved, self.budget)?,
                None => resolved,
            });
        }
        Ok(merged.map(|merged| merged.on_line(node.line)))
    }

    fn object(&mut self, node: &NodeRef, object: &Object, only: Option<&Path>, source: &Source) -> Result<NodeRef> {
        let source = source.into(node);
        let mut changes = Vec::new();
        match only {
            Some(path) => {
                let at = object.entries.get_index_of(&path.first);
                if let (Some(at), Some(rest)) = (at, &path.rest) {
                    self.entry(object, at, Some(rest), &source, &mut changes)?;
                }
            }
            None => {
                for at in 0..object.entries.len() {
                    self.entry(object, at, None, &source, &mut changes)?;
                }
            }
        }
        if changes.is_empty() {
            return Ok(node.clone());
        }
        self.budget.spend(object.entries.len())?;
        let mut changes = changes.into_iter().peekable();
        let entries = object.entries.iter().enumerate().filter_map(|(at, (key, value))| {
            match changes.next_if(|(changed, _)| *changed == at) {
                Some((_, value)) => value.map(|value| (key.clone(), value)),
                None => Some((key.clone(), value.clone())),
            }
        });
        let entries = entries.collect();
        Ok(Node::new(Object::of(entries, object.hides), node.origin, node.line))
    }

    fn entry(
        &mut self,
        object: &Object,
        at: usize,
        only: Option<&Path>,
        source: &Source,
        changes: &mut Vec<(usize, Option<NodeRef>)>,
    ) -> Result<()> {
        let Some((_, value)) = object.entries.get_index(at) else { return Ok(()) };
        let resolved = self.resolve(value, only, source)?;
        if !resolved.as_ref().is_some_and(|resolved| Rc::ptr_eq(resolved, value)) {
            changes.push((at, resolved.map(|resolved| resolved.on_line(value.line))));
        }
        Ok(())
    }

    fn list(&mut self, node: &NodeRef, list: &List, source: &Source) -> Result<NodeRef> {
        let source = source.into(node);
        let mut items = Vec::new();
        for item in &list.items {
            items.extend(self.resolve(item, None, &source)?.map(|resolved| resolved.on_line(item.line)));
        }
        Ok(Node::new(List::of(items), node.origin, node.line))
    }
}

/// Looks a path up in the environment of Puppet, whose variables are paths of one key.
fn outside(path: &Path) -> Result<Option<NodeRef>> {
    if path.rest.is_some() || !may_be_variable(&path.first) {
        return Ok(None);
    }
    let name = String::from_utf8_lossy(&path.first);
    Err(Refusal::Outside(format!("it depends on the environment variable {name} of Puppet")))
}

/// Merges the values that are left of a merge, or returns `None` if there are none.
fn remainder(stack: &[NodeRef], budget: &Budget) -> Result<Option<NodeRef>> {
    let Some((first, rest)) = stack.split_first() else { return Ok(None) };
    rest.iter().try_fold(first.clone(), |merged, value| merged.over(value, budget)).map(Some)
}

/// Returns true if a process may have an environment variable of this name.
fn may_be_variable(name: &[u8]) -> bool {
    let conventional = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.');
    let proxy = matches!(name, b"http_proxy" | b"https_proxy" | b"ftp_proxy" | b"all_proxy" | b"no_proxy");
    proxy || (name.iter().all(conventional) && name.iter().any(u8::is_ascii_uppercase)) || name == b"_"
}
