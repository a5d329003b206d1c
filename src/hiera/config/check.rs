//! Checks of the shape of hiera.yaml, with texts as Puppet's type mismatches have them.

use std::sync::Arc;

use crate::diagnostic::Place;
use crate::hiera::regex::RubyRegex;
use crate::hiera::{LookupError, types};
use crate::value::yaml::Marks;
use crate::value::{Hash, Value};

/// A value in hiera.yaml with its line and the words that lead to it.
#[derive(Clone)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    marks: Option<&'a Marks>,
    line: Option<u32>,
    path: Arc<str>,
    source: &'a Arc<str>,
    /// ` entry 'hierarchy' index 0`, empty for the root.
    trail: String,
}

impl<'a> Node<'a> {
    /// The whole file `path`, whose text is `source`.
    pub(super) fn root(value: &'a Value, marks: &'a Marks, path: &str, source: &'a Arc<str>) -> Node<'a> {
        Node { value, marks: Some(marks), line: None, path: path.into(), source, trail: String::new() }
    }

    /// The text of the file.
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

    /// An error of Puppet that names the file.
    pub(super) fn refuse(&self, text: &str, place: Place) -> LookupError {
        LookupError::puppet(format!("{text} (file: {})", self.path)).at(place)
    }

    /// An error of Puppet that names the file and the first line that `pattern` matches.
    pub(super) fn refuse_line(&self, text: &str, pattern: &str, place: Place) -> LookupError {
        match line_matching(self.source, pattern, 1) {
            Ok(line) => LookupError::puppet(format!("{text} {}", in_file(&self.path, line))).at(place),
            Err(error) => error.at(place),
        }
    }

    /// A mismatch of types at this node.
    pub(super) fn mismatch(&self, problem: &str) -> LookupError {
        let subject = format!("The Lookup Configuration at '{}'", self.path);
        LookupError::puppet(format!("{subject} has wrong type,{} {problem}", self.trail)).at(self.place())
    }

    /// A mismatch with one type.
    pub(super) fn expects(&self, expected: &str) -> LookupError {
        let article = if expected.starts_with(['A', 'I', 'O', 'U', 'E']) { "an" } else { "a" };
        self.mismatch(&format!("expects {article} {expected} value, got {}", types::short_name(self.value)))
    }

    /// The entry `key` of a hash; nothing if it is not there.
    pub(super) fn entry(&self, key: &str) -> Option<Node<'a>> {
        let hash = self.value.as_hash()?;
        let at = hash.index_of_text(key)?;
        self.nth(hash, at, &format!("entry '{key}'"))
    }

    fn nth(&self, hash: &'a Hash, at: usize, word: &str) -> Option<Node<'a>> {
        let (_, value) = hash.iter().nth(at)?;
        Some(self.below(value, at, word))
    }

    fn below(&self, value: &'a Value, at: usize, word: &str) -> Node<'a> {
        let marks = self.marks.and_then(|marks| marks.children.get(at));
        let line = marks.map(|marks| marks.line).filter(|line| *line > 0).or(self.line);
        Node {
            value,
            marks,
            line,
            path: self.path.clone(),
            source: self.source,
            trail: format!("{} {word}", self.trail),
        }
    }

    /// The node as a hash.
    pub(super) fn hash(&self) -> Result<&'a Hash, LookupError> {
        self.value.as_hash().ok_or_else(|| self.expects("Hash"))
    }

    /// The node as a hash with no keys but `allowed`.
    pub(super) fn structure(&self, allowed: &[&str]) -> Result<&'a Hash, LookupError> {
        let hash = self.value.as_hash().ok_or_else(|| self.expects("Struct"))?;
        for (at, key) in hash.keys().enumerate() {
            if !key.as_str().is_some_and(|key| allowed.contains(&key)) {
                let shown = crate::value::ruby::to_s(key);
                let entry = self.nth(hash, at, "").map_or_else(|| self.place(), |node| node.place());
                let mut error = self.mismatch(&format!("unrecognized key '{shown}'"));
                error.place = Some(entry);
                return Err(error);
            }
        }
        Ok(hash)
    }

    /// The node as an array of at least `least` items.
    pub(super) fn items(&self, least: usize) -> Result<Vec<Node<'a>>, LookupError> {
        let items = self.value.as_array().ok_or_else(|| self.expects("Array"))?;
        if items.len() < least {
            return Err(self.mismatch(&format!("expects size to be at least {least}, got {}", items.len())));
        }
        Ok(items.iter().enumerate().map(|(i, item)| self.below(item, i, &format!("index {i}"))).collect())
    }

    /// The node as a text that is not empty.
    pub(super) fn text(&self) -> Result<Arc<str>, LookupError> {
        match self.value {
            Value::String(s) if s.is_empty() => Err(self.mismatch("expects a String[1] value, got String")),
            Value::String(s) => Ok(s.to_arc()),
            _ => Err(self.expects("String")),
        }
    }

    /// The node as `options`: a hash of data with well-formed names.
    pub(super) fn options(&self) -> Result<Value, LookupError> {
        let hash = self.hash()?;
        for (at, (key, value)) in hash.iter().enumerate() {
            let shown = crate::value::ruby::to_s(key);
            if !key.as_str().is_some_and(is_option_name) {
                let pattern = r"Pattern[/\A[A-Za-z](:?[0-9A-Za-z_-]*[0-9A-Za-z])?\z/]";
                return Err(
                    self.mismatch(&format!("key of entry '{shown}' expects a match for {pattern}, got '{shown}'"))
                );
            }
            if !types::is_data(value) {
                return Err(self.below(value, at, &format!("entry '{shown}'")).expects("Data"));
            }
        }
        Ok(self.value.clone())
    }
}

/// Where Puppet says an error is.
pub(super) fn in_file(path: &str, line: Option<u32>) -> String {
    line.map_or_else(|| format!("(file: {path})"), |line| format!("(file: {path}, line: {line})"))
}

/// The first line of `source`, from line `from` on, in which `pattern` matches, comments aside: `find_line_matching`.
pub(super) fn line_matching(source: &str, pattern: &str, from: u32) -> Result<Option<u32>, LookupError> {
    let pattern = RubyRegex::compile(pattern)?;
    for (number, line) in (1u32..).zip(source.split_inclusive('\n')).filter(|(number, _)| *number >= from) {
        if pattern.is_match(line.split('#').next().unwrap_or_default())? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// `\A[A-Za-z](:?[0-9A-Za-z_-]*[0-9A-Za-z])?\z`, the stray colon included.
fn is_option_name(name: &str) -> bool {
    let mut rest = name.chars();
    if !rest.next().is_some_and(|c| c.is_ascii_alphabetic()) {
        return false;
    }
    let rest = rest.as_str();
    let tail = rest.strip_prefix(':').unwrap_or(rest);
    rest.is_empty()
        || (tail.ends_with(|c: char| c.is_ascii_alphanumeric())
            && tail.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'))
}
