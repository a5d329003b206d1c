//! YAML exactly as Ruby's Psych reads it.

use super::Value;

/// The lines a value was written on, in the shape of the value: for an array a child an item, for a hash a child an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The line, counted from 1: of a hash entry's key, of an array's item.
    pub line: u32,
    /// The marks of the items or entries, in order; empty for a scalar.
    pub children: Vec<Marks>,
}

/// Why a document is refused, in the words of Psych.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, counted from 1.
    pub line: u32,
    /// The message, as Psych words it behind the file's name.
    pub text: String,
}

/// A document that was read: its value, and the fault for which Psych refuses it, if there is one.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// The value; with a fault, what could be read (nothing after a syntax error).
    pub value: Value,
    /// Its lines.
    pub marks: Marks,
    /// Why Psych refuses the document.
    pub fault: Option<Fault>,
}

/// Reads the first document of `content`.
pub fn parse(_content: &[u8]) -> Parsed {
    Parsed::default()
}

impl Fault {
    /// The message behind a file's name.
    pub fn message(&self, path: &str) -> String {
        format!("({path}): {}", self.text)
    }
}

/// Symbol keys as text.
pub fn symkeys_to_string(value: Value, marks: Marks) -> (Value, Marks) {
    (value, marks)
}
