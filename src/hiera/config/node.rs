//! The values of a hiera.yaml with their lines, and Puppet's errors about them.

use std::sync::Arc;

use super::PlacedText;
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::puppet::document::Marks;
use crate::puppet::regex::RubyRegex;
use crate::puppet::types;
use crate::value::{Hash, Type, Value};

/// A value in hiera.yaml and its line.
#[derive(Clone)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    marks: Option<&'a Marks>,
    line: Option<u32>,
    path: Arc<str>,
    source: &'a Arc<str>,
}

impl<'a> Node<'a> {
    /// Returns the content of the whole file `path`, whose text is `source`.
    pub(super) fn root(value: &'a Value, marks: &'a Marks, path: &str, source: &'a Arc<str>) -> Node<'a> {
        Node { value, marks: Some(marks), line: None, path: path.into(), source }
    }

    /// Returns the text of the file.
    pub(super) fn source(&self) -> Arc<str> {
        self.source.clone()
    }

    pub(super) fn path(&self) -> Arc<str> {
        self.path.clone()
    }

    pub(super) fn place(&self) -> Place {
        Place { path: self.path.clone(), line: self.line }
    }

    pub(super) fn entry_place(&self, key: &str) -> Place {
        self.entry(key).map_or_else(|| self.place(), |node| node.place())
    }

    /// Returns an error if the file does not match the type that Puppet declares for it.
    pub(super) fn check(&self, kind: &Type) -> Result<(), LookupError> {
        let subject = format!("The Lookup Configuration at '{}'", self.path);
        let Some((error, path)) = types::misfit(&subject, kind, self.value)? else { return self.refuse_bytes() };
        let line = self.marks.and_then(|marks| marks.line_of(self.value, &path.0));
        Err(LookupError::from(error).at(Place { path: self.path.clone(), line }))
    }

    fn refuse_bytes(&self) -> Result<(), LookupError> {
        let text = || LookupError::unknown("a text of hiera.yaml is not UTF-8").at(self.place());
        if has_bytes(self.value) { Err(text()) } else { Ok(()) }
    }

    /// Returns one of Puppet's errors that name the file.
    pub(super) fn refuse(&self, text: &str, place: Place) -> LookupError {
        LookupError::bare(format!("{text} (file: {})", self.path)).at(place)
    }

    /// Returns one of Puppet's errors that name the file and the first line that `pattern` matches.
    pub(super) fn refuse_line(&self, text: &str, pattern: &str, place: Place) -> LookupError {
        match line_matching(self.source, pattern, 1) {
            Ok(line) => LookupError::bare(format!("{text} {}", in_file(&self.path, line))).at(place),
            Err(error) => error.at(place),
        }
    }

    /// Returns one of Puppet's errors about a duplicate, which name the first two lines that `pattern` matches.
    pub(super) fn refuse_second(&self, text: &str, pattern: &str, place: Place) -> LookupError {
        let lines = || {
            let first = line_matching(self.source, pattern, 1)?;
            let second = first.map(|first| line_matching(self.source, pattern, first + 1)).transpose()?.flatten();
            Ok((first, second))
        };
        let error = match lines() {
            Ok((Some(first), Some(second))) => {
                let file = in_file(&self.path, Some(second));
                LookupError::bare(format!("{text} First defined at (line: {first}) {file}"))
            }
            Ok((first, _)) => LookupError::bare(format!("{text} {}", in_file(&self.path, first))),
            Err(error) => error,
        };
        error.at(place)
    }

    /// Returns the entry `key` of a hash, or `None` if it is not there.
    pub(super) fn entry(&self, key: &str) -> Option<Node<'a>> {
        let hash = self.value.as_hash()?;
        let at = hash.index_of_text(key)?;
        Some(self.below(hash.get(key)?, at))
    }

    /// Returns the items of an array.
    pub(super) fn items(&self) -> Vec<Node<'a>> {
        let items = self.value.as_array().unwrap_or_default();
        items.iter().enumerate().map(|(at, item)| self.below(item, at)).collect()
    }

    /// Returns the items of an array, or the only value if it is not an array.
    pub(super) fn one_or_many(&self) -> Vec<Node<'a>> {
        if self.value.as_array().is_some() { self.items() } else { vec![self.clone()] }
    }

    fn below(&self, value: &'a Value, at: usize) -> Node<'a> {
        let marks = self.marks.and_then(|marks| marks.children.get(at));
        let line = marks.map(|marks| marks.line).filter(|line| *line > 0).or(self.line);
        Node { value, marks, line, path: self.path.clone(), source: self.source }
    }

    /// Returns the node as a text.
    pub(super) fn text(&self) -> Arc<str> {
        self.value.to_s().into()
    }

    /// Returns the text of the entry `key`.
    pub(super) fn entry_text(&self, key: &str) -> Option<Arc<str>> {
        self.entry(key).map(|node| node.text())
    }

    /// Returns the node as a text and its place.
    pub(super) fn declared(&self) -> PlacedText {
        PlacedText { text: self.text(), place: self.place() }
    }
}

/// Sets `key` in `hash` if it has no such entry or a false one, like Ruby's `||=`.
pub(super) fn fill(hash: &mut Hash, key: &str, default: impl FnOnce() -> Value) {
    if !hash.get(key).is_some_and(Value::is_truthy) {
        hash.insert(key, default());
    }
}

/// Returns a hash of texts.
pub(super) fn texts<const N: usize>(entries: [(&str, &str); N]) -> Value {
    Value::hash(entries.into_iter().map(|(key, text)| (Value::from(key), Value::from(text))).collect())
}

fn has_bytes(value: &Value) -> bool {
    match value {
        Value::Bytes(_) => true,
        Value::Array(items) => items.iter().any(has_bytes),
        Value::Hash(hash) => hash.iter().any(|(key, value)| has_bytes(key) || has_bytes(value)),
        _ => false,
    }
}

/// Returns the place of an error as Puppet writes it.
pub(super) fn in_file(path: &str, line: Option<u32>) -> String {
    line.map_or_else(|| format!("(file: {path})"), |line| format!("(file: {path}, line: {line})"))
}

/// Returns the first line of `source`, from line `from` on, that `pattern` matches, ignoring comments:
/// `find_line_matching`.
pub(super) fn line_matching(source: &str, pattern: &str, from: u32) -> Result<Option<u32>, LookupError> {
    let pattern = RubyRegex::compile(pattern)?;
    for (number, line) in (1u32..).zip(source.split_inclusive('\n')).filter(|(number, _)| *number >= from) {
        if pattern.is_match(line.split('#').next().unwrap_or_default())? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}
