//! HOCON exactly as the Ruby gem `hocon` 1.3.1 reads it, the reader of Puppet's `hocon_data`.
//!
//! The gem is a translation of the Java library, mistakes included, and existing data relies on them: the answer here
//! is the gem's, even if that is a failure. The stages are the gem's, too: `tokenizer` splits the text into `token`s,
//! `syntax` finds objects, lists and fields, `build` makes `node`s of them, merging duplicate keys and joining
//! adjacent values (`join`), and `resolve` replaces the substitutions.
//!
//! Things outside the text that the gem would use (an environment variable, an included file) are refused as
//! [`FaultKind::Outside`]. Variables whose names are unusual in an environment, such as lower-case ones, count as
//! unset. Puppet Server passes few on: `PATH`, for example, and those that its `environment-vars` names. A file that
//! the gem reads only if it has read another one before is refused, too.
//! Source: `hocon.rb`, `hocon/impl/*.rb` of the gem.

mod build;
mod join;
mod node;
mod number;
mod path;
mod resolve;
mod show;
mod source;
mod syntax;
mod token;
mod tokenizer;

use std::cell::Cell;
use std::fmt::Write;
use std::rc::Rc;

use super::document::{Fault, FaultKind, MAX_DEPTH, Marks, Parsed};
use crate::value::{Hash, Value};
use node::{Kind, NodeRef};

/// A key, or any other text: bytes, since it need not be UTF-8.
type Name = Rc<[u8]>;

/// The maximum number of steps for a document: values that are looked at and copied while duplicate keys are merged
/// and substitutions are replaced. They take some tenths of a second. The gem caches nothing on the way, so each
/// further `a += 1` takes it three times as long: six seconds for a dozen of them.
const STEP_LIMIT: usize = 10_000_000;

/// The maximum size, in bytes, of the text that joining and substitutions make.
const TEXT_LIMIT: usize = 64 << 20;

/// The number of bytes that each copy of a value counts for.
const COPY_SIZE: usize = 160;

/// The stack that must be left, and the size of the piece that is added if there is less.
const MIN_STACK: usize = 2 << 20;
const MORE_STACK: usize = 16 << 20;

/// The reason why there is no value.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The gem's own error, which Puppet expects.
    Config(String),
    /// Another error of Ruby's: a bug in the gem.
    Ruby(String),
    /// A substitution that leads back to itself, with the way there. One further up may do without it.
    Cycle(String),
    /// The answer depends on something that is not in the text.
    Outside(String),
    /// A limit of hierad is exceeded.
    Limit(String),
}

type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    fn config(origin: Option<Origin>, text: &str) -> Refusal {
        Refusal::Config(origin.map_or_else(|| text.to_owned(), |origin| format!("{}: {text}", origin.describe())))
    }

    /// Names the root key of a value that exceeds a limit.
    fn of_key(self, key: &Name) -> Refusal {
        match self {
            Refusal::Limit(text) => {
                Refusal::Limit(format!("{text}, with the key {:.80}", String::from_utf8_lossy(key)))
            }
            other => other,
        }
    }

    fn too_deep() -> Refusal {
        Refusal::Limit(format!("values nest more than {MAX_DEPTH} deep"))
    }

    fn fault(self, line: u32) -> Fault {
        let (kind, text) = match self {
            Refusal::Config(text) => (FaultKind::Syntax, text),
            Refusal::Ruby(text) | Refusal::Cycle(text) => (FaultKind::Exception, text),
            Refusal::Outside(text) => (FaultKind::Outside, text),
            Refusal::Limit(text) => (FaultKind::Limit, text),
        };
        Fault { line, text, kind }
    }
}

/// Returns `text` in quotes, as in messages and in JSON.
fn quoted(text: &str) -> String {
    let mut json = String::from('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            c if c.is_control() => _ = write!(json, "\\u{:04x}", u32::from(c)),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

/// The lines that the gem believes a value to be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    first: u32,
    last: u32,
}

impl Origin {
    fn line(line: u32) -> Origin {
        Origin { first: line, last: line }
    }

    fn and(self, other: Origin) -> Origin {
        Origin { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    fn describe(self) -> String {
        if self.first == self.last {
            format!("String: {}", self.first)
        } else {
            format!("String: {}-{}", self.first, self.last)
        }
    }
}

/// The resources that one document has used.
#[derive(Debug, Default)]
struct Budget {
    steps: Cell<usize>,
    text: Cell<usize>,
    /// The number of values in the document that were not handed out yet: any further value is a copy.
    values: Cell<usize>,
    /// True if the gem has loaded the class that it needs to merge objects with substitutions.
    merges_loaded: Cell<bool>,
}

impl Budget {
    fn spend(&self, steps: usize) -> Result<()> {
        self.steps.set(self.steps.get().saturating_add(steps));
        if self.steps.get() > STEP_LIMIT {
            return Err(Refusal::Limit(format!("its merges and substitutions take more than {STEP_LIMIT} steps")));
        }
        Ok(())
    }

    /// Checks a merge that waits for substitutions. The gem loads its merges with the first one of values that are
    /// not objects. A merge of objects before that fails, unless another document in the same process had such a
    /// merge.
    fn load_merges(&self, object: bool) -> Result<()> {
        if object && !self.merges_loaded.get() {
            let text = "it lays an object over or under a substitution, which fails (uninitialized constant Hocon::Impl::ConfigDelayedMergeObject) unless Puppet has read another file with a merge of substitutions before";
            return Err(Refusal::Outside(text.into()));
        }
        self.merges_loaded.set(true);
        Ok(())
    }

    fn write(&self, bytes: usize) -> Result<()> {
        self.text.set(self.text.get().saturating_add(bytes));
        if self.text.get() > TEXT_LIMIT {
            return Err(Refusal::Limit(format!("joining and substitutions make more than {} MiB", TEXT_LIMIT >> 20)));
        }
        Ok(())
    }

    /// Hands out a value. There may be more than in the text: each substitution makes a copy.
    fn hand_out(&self) -> Result<()> {
        self.spend(1)?;
        match self.values.get().checked_sub(1) {
            Some(left) => self.values.set(left),
            None => self.write(COPY_SIZE)?,
        }
        Ok(())
    }
}

/// Reads a HOCON document.
pub fn parse(content: &[u8]) -> Parsed {
    stacker::maybe_grow(MIN_STACK, MORE_STACK, || {
        let budget = Budget::default();
        let mut parser = syntax::Parser::new(content);
        let tree = match parser.document() {
            Ok(tree) => tree,
            Err(refusal) => return Parsed::refused(refusal.fault(parser.line())),
        };
        let mut builder = build::Builder::new(&budget);
        let root = match builder.document(&tree) {
            Ok(root) => root,
            Err(refusal) => return Parsed::refused(refusal.fault(builder.line())),
        };
        let mut resolver = resolve::Resolver::new(&budget);
        match resolver.document(&root).and_then(|resolved| unwrap(&resolved, &budget, 0)) {
            Ok((value, marks)) => Parsed { value, marks, ..Parsed::default() },
            Err(refusal) => {
                let (value, marks) = keys_of(&root);
                Parsed { value, marks, fault: Some(refusal.fault(resolver.line())), ..Parsed::default() }
            }
        }
    })
}

/// Returns the data that a resolved node stands for.
fn unwrap(node: &NodeRef, budget: &Budget, depth: usize) -> Result<(Value, Marks)> {
    budget.hand_out()?;
    if depth > MAX_DEPTH {
        return Err(Refusal::too_deep());
    }
    let mut marks = Vec::new();
    let value = match &node.kind {
        Kind::Null => Value::Undef,
        Kind::Boolean(boolean) => Value::Boolean(*boolean),
        Kind::Number(number, _) => number.clone(),
        Kind::Text { text, .. } => {
            budget.write(text.len())?;
            Value::bytes(text.to_vec())
        }
        Kind::List(list) => {
            let items = list.items.iter().map(|item| {
                let (value, mark) = unwrap(item, budget, depth + 1)?;
                marks.push(mark);
                Ok(value)
            });
            Value::array(items.collect::<Result<_>>()?)
        }
        Kind::Object(object) => {
            let entries = object.entries.iter().map(|(key, item)| {
                budget.write(key.len())?;
                let value = unwrap(item, budget, depth + 1);
                let (value, mark) = if depth == 0 { value.map_err(|refusal| refusal.of_key(key))? } else { value? };
                marks.push(mark);
                Ok((Value::bytes(key.to_vec()), value))
            });
            Value::hash(entries.collect::<Result<_>>()?)
        }
        Kind::Reference(_) | Kind::Concat(_) | Kind::Merge { .. } => {
            return Err(Refusal::Config(node::NOT_RESOLVED.into()));
        }
    };
    Ok((value, Marks { line: node.line, children: marks.into() }))
}

/// Returns the root keys of a document that cannot be resolved.
fn keys_of(root: &NodeRef) -> (Value, Marks) {
    let Kind::Object(object) = &root.kind else { return (Value::Undef, Marks::default()) };
    let hash: Hash = object.entries.keys().map(|key| (Value::bytes(key.to_vec()), Value::Undef)).collect();
    let mark = |node: &NodeRef| Marks { line: node.line, ..Marks::default() };
    (Value::hash(hash), Marks { line: root.line, children: object.entries.values().map(mark).collect() })
}
