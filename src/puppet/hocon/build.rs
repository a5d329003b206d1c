//! Builds values from the syntax: fields with paths become nested objects, and values of duplicate keys are merged.
//!
//! The gem counts lines anew here for its messages, and misses those inside fields.
//! Source: `config_parser.rb`, `config_node_simple_value.rb`; for includes `simple_includer.rb`, `parseable.rb`.

use std::rc::Rc;

use super::node::{Entries, Kind, List, Node, NodeRef, Object, Reference};
use super::path::Path;
use super::syntax::{Document, Include, Item, Member, MemberKind, Tree};
use super::token::{Kind as TokenKind, Literal, Token};
use super::{Budget, Name, Origin, Refusal, Result, join};

/// The reason why `+=` is refused in lists.
const ADDS_IN_LIST: &str = "Due to current limitations of the config parser, += does not work nested inside a list. \
+= expands to a ${} substitution and the path in ${} cannot currently refer to list elements. \
You might be able to move the += outside of the list and then refer to it from inside the list with ${}.";

/// Builds values.
pub(super) struct Builder<'a> {
    budget: &'a Budget,
    /// The line according to the gem's count.
    counted_line: u32,
    line: u32,
    path: Vec<Path>,
    list_depth: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(budget: &'a Budget) -> Builder<'a> {
        Builder { budget, counted_line: 1, line: 1, path: Vec::new(), list_depth: 0 }
    }

    /// Returns the line of the value that was built last.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Returns the root object.
    pub(super) fn document(&mut self, document: &Document) -> Result<NodeRef> {
        self.counted_line += document.newlines;
        let root = self.value(&document.root)?;
        if root.is_object() {
            return Ok(root);
        }
        Err(Refusal::config(Some(root.origin), " has type LIST rather than object at file root"))
    }

    fn origin(&self) -> Origin {
        Origin::line(self.counted_line)
    }

    fn error(&self, text: &str) -> Refusal {
        Refusal::config(Some(self.origin()), text)
    }

    fn value(&mut self, tree: &Tree) -> Result<NodeRef> {
        self.budget.spend(1)?;
        self.budget.values.set(self.budget.values.get() + 1);
        match tree {
            Tree::Simple(token) => self.simple(token),
            Tree::Object { line, members, trailing } => self.object(*line, members, *trailing),
            Tree::List { line, items, trailing } => self.list(*line, items, *trailing),
            Tree::Concat(trees) => {
                let pieces = trees.iter().map(|tree| self.value(tree)).collect::<Result<_>>()?;
                join::concat(pieces, self.budget)?.ok_or_else(|| self.error("no value"))
            }
        }
    }

    fn simple(&mut self, token: &Token) -> Result<NodeRef> {
        self.line = token.line;
        let origin = Origin::line(token.origin.unwrap_or(token.line));
        let kind = match &token.kind {
            TokenKind::Literal(literal, written) => literal_kind(literal, written),
            TokenKind::Substitution { optional, expression } => {
                let path = Path::parse(expression, Some(origin))?;
                Kind::Reference(Rc::new(Reference { path, optional: *optional }))
            }
            _ => Kind::Text { text: token.written().into(), quoted: false },
        };
        Ok(Node::new(kind, origin, token.line))
    }

    fn object(&mut self, line: u32, members: &[Member], trailing: u32) -> Result<NodeRef> {
        let mut entries = Entries::default();
        let origin = self.origin();
        for member in members {
            self.counted_line += member.newlines;
            match &member.kind {
                MemberKind::Include(include) => self.include(include)?,
                MemberKind::Field { line, path, adds, value } => {
                    self.line = *line;
                    self.path.push(path.clone());
                    let value = self.field(*adds, value);
                    let value = nested(path.rest.as_deref(), value?.on_line(*line));
                    self.budget.values.set(self.budget.values.get() + path.names().count());
                    self.path.pop();
                    self.put(&mut entries, &path.first, value)?;
                }
            }
        }
        self.counted_line += trailing;
        Ok(Node::new(Object::of(entries, false), origin, line))
    }

    /// Sets an entry, merged over the value that the key has already.
    fn put(&self, entries: &mut Entries, key: &Name, value: NodeRef) -> Result<()> {
        let value = match entries.get(key) {
            Some(existing) => value.over(existing, self.budget)?,
            None => value,
        };
        entries.insert(key.clone(), value);
        Ok(())
    }

    fn field(&mut self, adds: bool, tree: &Tree) -> Result<NodeRef> {
        if !adds {
            return self.value(tree);
        }
        if self.list_depth > 0 {
            return Err(self.error(ADDS_IN_LIST));
        }
        self.list_depth += 1;
        let value = self.value(tree);
        self.list_depth -= 1;
        self.added(value?)
    }

    /// Returns the value of `+=`: the list that the key stands for so far, and one more item.
    fn added(&self, value: NodeRef) -> Result<NodeRef> {
        let (origin, line) = (value.origin, value.line);
        let Some(path) = Path::concat(self.path.iter()) else { return Ok(value) };
        let before = Kind::Reference(Rc::new(Reference { path, optional: true }));
        let pieces = vec![Node::new(before, origin, line), Node::new(List::of(vec![value]), origin, line)];
        join::concat(pieces, self.budget)?.ok_or_else(|| self.error("no value"))
    }

    fn list(&mut self, line: u32, items: &[Item], trailing: u32) -> Result<NodeRef> {
        let origin = self.origin();
        self.list_depth += 1;
        let mut values = Vec::new();
        for item in items {
            self.counted_line += item.newlines;
            values.push(self.value(&item.value)?);
        }
        self.counted_line += trailing;
        self.list_depth -= 1;
        Ok(Node::new(List::of(values), origin, line))
    }

    /// Evaluates an include. Puppet passes a text without a path to the gem, so files next to it are not found, and
    /// missing ones are ignored.
    fn include(&self, include: &Include) -> Result<()> {
        let no_method =
            |name: &str| Err(Refusal::Ruby(format!("undefined method `{name}' for Hocon::Impl::SimpleIncluder")));
        match include {
            Include::Any(name) if is_url(name) => no_method("include_url_without_fallback"),
            Include::Any(_) => Ok(()),
            Include::Url(name) if is_url(name) => no_method("include_url"),
            Include::Url(name) => Err(self.error(&format!("include url() specifies an invalid URL: {name}"))),
            Include::Resource => no_method("include_resources"),
            Include::File(name) => {
                Err(Refusal::Outside(format!("it includes the file {name} of the machine that Puppet runs on")))
            }
        }
    }
}

fn literal_kind(literal: &Literal, written: &Name) -> Kind {
    match literal {
        Literal::Null => Kind::Null,
        Literal::Boolean(boolean) => Kind::Boolean(*boolean),
        Literal::Number(number) => Kind::Number(number.clone(), written.clone()),
        Literal::Quoted(text) => Kind::Text { text: text.clone(), quoted: true },
    }
}

/// Returns `value` inside the objects that the rest of a path stands for.
fn nested(path: Option<&Path>, value: NodeRef) -> NodeRef {
    let Some(path) = path else { return value };
    let names: Vec<&Name> = path.names().collect();
    names.into_iter().rev().fold(value, |value, name| {
        let (origin, line) = (value.origin, value.line);
        Node::new(Object::of(Entries::from_iter([(name.clone(), value)]), false), origin, line)
    })
}

/// Returns true if Ruby's `URI` takes the name for an address of `http` or `https`.
fn is_url(name: &str) -> bool {
    let scheme = name.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    matches!(scheme.as_deref(), Some("http" | "https")) && name.chars().all(fits)
}
