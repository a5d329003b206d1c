//! The result of reading a document: its value, the lines of its parts, and the fault for which Ruby refuses it.
//!
//! [`Parsed`] is the same for all formats; with a fault, it still contains what could be read. It knows nothing of
//! files or caches.

use std::sync::Arc;

use super::server::Notes;
use crate::diagnostic::Subject;
use crate::value::{Hash, Segment, Value};

/// The maximum nesting depth of values, with aliases followed. Ruby's stack ends at 500 to 1000.
pub const MAX_DEPTH: usize = 500;

/// The lines that a value was written on, in the shape of the value: one child per item of an array or entry of a
/// hash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The line, counted from 1: of a hash entry's key, of an array's item.
    pub line: u32,
    /// The marks of the items or entries, in order; empty for a scalar. Aliases share them.
    pub children: Arc<[Marks]>,
}

impl Marks {
    /// Returns the line of the part of `value` at `path`, or of the innermost part around it whose line is known.
    /// These must be the marks of `value`.
    pub fn line_of(&self, value: &Value, path: &[Segment]) -> Option<u32> {
        let own_line = (self.line > 0).then_some(self.line);
        let Some((segment, rest)) = path.split_first() else { return own_line };
        let (at, inner) = match (segment, value) {
            (Segment::Index(at), Value::Array(items)) => (*at, items.get(*at)?),
            (Segment::Key(key), Value::Hash(hash)) => (hash.index_of(key)?, hash.get_value(key)?),
            _ => return own_line,
        };
        self.children.get(at).and_then(|marks| marks.line_of(inner, rest)).or(own_line)
    }
}

/// The kinds of faults of a document; Puppet words them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The text breaks the grammar.
    Syntax,
    /// A date, which is an object of a class that is not permitted.
    Date,
    /// An object of another class that is not permitted.
    Class,
    /// An alias whose anchor is unknown, or one that the reader does not accept.
    Alias,
    /// Another exception of Ruby's, which does not name the file.
    Exception,
    /// A limit of this program; Ruby might read the document.
    Limit,
    /// The content depends on something that is not in the text.
    Outside,
    /// The document is too large to be read.
    Size,
    /// A checkout has different content.
    Converted,
}

impl FaultKind {
    /// Returns true if it is an object of a class that is not permitted.
    pub fn is_of_class(self) -> bool {
        matches!(self, FaultKind::Date | FaultKind::Class)
    }

    /// Returns true if hierad cannot tell what Puppet makes of the document.
    pub fn is_unknown(self) -> bool {
        matches!(self, FaultKind::Limit | FaultKind::Outside | FaultKind::Size | FaultKind::Converted)
    }
}

/// A fault for which a document is refused, in the words of Psych.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line of the fault, counted from 1; the text may name the line where its context begins.
    pub line: u32,
    /// The message, as Psych words it after the file's name.
    pub text: String,
    /// The kind of the fault.
    pub kind: FaultKind,
}

impl Fault {
    /// Returns the subject of the fault, if a decision depends on it.
    pub fn subject(&self) -> Option<Subject> {
        match self.kind {
            FaultKind::Alias => Some(Subject::Alias),
            FaultKind::Converted => Some(Subject::Converted),
            _ => None,
        }
    }

    /// Returns the whole message, as Puppet prints it after `Unable to parse `.
    pub fn message(&self, path: &str) -> String {
        match self.kind {
            FaultKind::Exception | FaultKind::Alias => self.text.clone(),
            FaultKind::Syntax
            | FaultKind::Date
            | FaultKind::Class
            | FaultKind::Limit
            | FaultKind::Outside
            | FaultKind::Size
            | FaultKind::Converted => format!("({path}): {}", self.text),
        }
    }
}

/// A document that was read: its value, and the fault for which Psych refuses it, if there is one.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// The value; with a fault, what could be read (nothing after a syntax error).
    pub value: Value,
    /// Its lines.
    pub marks: Marks,
    /// The fault for which Psych refuses the document.
    pub fault: Option<Fault>,
    /// True if it has aliases, `<<` or `!!omap`: entries may depend on others, or be larger than their text.
    pub is_entangled: bool,
    /// The places that the reader knows a Puppet server to read differently.
    pub notes: Notes,
}

impl Parsed {
    /// Returns a document that consists only of a fault.
    pub fn refused(fault: Fault) -> Parsed {
        Parsed { fault: Some(fault), ..Parsed::default() }
    }
}

/// Returns the line of a place in `content`, counted from 1.
pub fn line_at(content: &[u8], at: usize) -> u32 {
    let lines = content.get(..at).unwrap_or(content).split(|b| *b == b'\n').count();
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// Sets an entry and its marks; an existing one keeps its position.
pub fn put(hash: &mut Hash, marks: &mut Vec<Marks>, key: Value, value: Value, mark: Marks) {
    let (at, _) = hash.insert_full(key, value);
    match marks.get_mut(at) {
        Some(known) => *known = mark,
        None => marks.push(mark),
    }
}
