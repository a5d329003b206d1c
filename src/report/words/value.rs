//! Renders values as text: JSON, one line, or a block of lines. Nothing else in a report does that.
//!
//! Lines are close to YAML's flow style, with every string in quotes, so that `"80"` and `80` differ. What must not be
//! shown has to be held back here: the other modules take a value apart only to compare it, and read text only from
//! [`Value::String`].

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use unicode_width::UnicodeWidthStr;

use super::visible::{ELLIPSIS, quote, shorten, visible};
use crate::value::{Hash, Value};

/// Returns a value on one line, or `None` if it does not fit `columns`.
pub(in crate::report) fn inline(value: &Value, columns: usize) -> Option<String> {
    let mut line = Line { text: String::new(), limit: columns.saturating_mul(4), exceeds_limit: false };
    line.value(value);
    (!line.exceeds_limit && line.text.width() <= columns).then_some(line.text)
}

/// Returns a value on one line, cut off at `columns`.
pub(super) fn inline_shortened(value: &Value, columns: usize) -> String {
    let mut line = Line { text: String::new(), limit: columns.saturating_mul(4), exceeds_limit: false };
    line.value(value);
    if line.exceeds_limit {
        line.text.push(ELLIPSIS);
    }
    shorten(&line.text, columns)
}

/// Returns a value over several lines, each within `columns` unless there is hardly any room.
pub(in crate::report) fn block(value: &Value, columns: usize) -> Vec<String> {
    let mut block = Block { lines: Vec::new(), columns };
    block.value("", 0, value);
    block.lines
}

/// Returns Puppet's name of a value's type.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Undef => "Undef",
        Value::Boolean(_) => "Boolean",
        Value::Integer(_) | Value::BigInteger(_) => "Integer",
        Value::Float(_) => "Float",
        Value::String(_) => "String",
        Value::Bytes(_) => "Binary",
        Value::Symbol(_) => "Symbol",
        Value::Array(_) => "Array",
        Value::Hash(_) => "Hash",
        Value::Rich(rich) => rich.type_name(),
        Value::Secret(secret) => type_name(&secret.1),
    }
}

/// Returns a hash key as it is written before its colon.
pub(in crate::report) fn key(key: &Value) -> String {
    match key {
        Value::String(text) if is_plain(text.visible()) => text.visible().to_owned(),
        other => inline_shortened(other, 200),
    }
}

fn is_plain(key: &str) -> bool {
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'));
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@');
    starts && key.chars().all(word) && !key.ends_with(':') && !matches!(key, "true" | "false" | "null")
}

/// One line under construction, which stops growing at its limit.
struct Line {
    text: String,
    limit: usize,
    exceeds_limit: bool,
}

impl Line {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(items) => self.list('[', ']', items.iter(), Line::value),
            Value::Hash(hash) => self.list('{', '}', hash.iter(), |line, (key, value)| {
                match key {
                    Value::String(text) if is_plain(text.visible()) => line.text.push_str(text.visible()),
                    key => line.value(key),
                }
                line.text.push_str(": ");
                line.value(value);
            }),
            Value::String(text) => {
                let room = self.limit.saturating_sub(self.text.len()).saturating_add(1);
                let mut rest = text.visible().chars();
                quote(rest.by_ref().take(room), &mut self.text);
                if rest.next().is_some() {
                    self.text.pop();
                    self.exceeds_limit = true;
                }
            }
            other => scalar(other, &mut self.text),
        }
        self.exceeds_limit |= self.text.len() > self.limit;
    }

    fn list<T>(&mut self, open: char, close: char, items: impl Iterator<Item = T>, item: impl Fn(&mut Line, T)) {
        self.text.push(open);
        for (i, value) in items.enumerate() {
            if self.exceeds_limit {
                return;
            }
            if i > 0 {
                self.text.push_str(", ");
            }
            item(self, value);
        }
        if !self.exceeds_limit {
            self.text.push(close);
        }
    }
}

/// Writes a scalar other than a string.
fn scalar(value: &Value, out: &mut String) {
    match value {
        Value::Undef => out.push_str("null"),
        Value::Symbol(text) => {
            out.push(':');
            if is_plain(text) { out.push_str(text) } else { quote(text.chars(), out) }
        }
        Value::Bytes(bytes) => _ = write!(out, "Binary(\"{}\")", STANDARD.encode(bytes)),
        other => out.push_str(&other.inspect()),
    }
}

/// A block of lines under construction.
struct Block {
    lines: Vec<String>,
    columns: usize,
}

impl Block {
    /// Adds a value; `lead` goes before it on its first line: an item's dash or an entry's key.
    fn value(&mut self, lead: &str, indent: usize, value: &Value) {
        let lead = format!("{:indent$}{lead}", "");
        let room = self.columns.saturating_sub(lead.width()).max(16);
        match value {
            Value::String(text) if text.trim_end_matches('\n').contains('\n') => self.text(&lead, indent, text),
            _ if self.try_inline(&lead, value, room) => {}
            Value::Hash(hash) => self.hash(&lead, indent, hash),
            Value::Array(items) => {
                self.open(&lead);
                for item in items.iter() {
                    self.nested("- ", indent_below(&lead, indent), item);
                }
            }
            other => self.lines.push(lead + &inline_shortened(other, room)),
        }
    }

    fn try_inline(&mut self, lead: &str, value: &Value, room: usize) -> bool {
        let Some(text) = inline(value, room.min(MAX_INLINE)) else { return false };
        self.lines.push(format!("{lead}{text}"));
        true
    }

    fn hash(&mut self, lead: &str, indent: usize, hash: &Hash) {
        self.open(lead);
        for (name, value) in hash.iter() {
            let lead_of_entry = format!("{}: ", key(name));
            self.nested(&lead_of_entry, indent_below(lead, indent), value);
        }
    }

    fn nested(&mut self, lead: &str, indent: usize, value: &Value) {
        self.value(lead, indent, value);
    }

    /// Adds the line above a nested collection.
    fn open(&mut self, lead: &str) {
        let lead = lead.trim_end();
        if !lead.is_empty() {
            self.lines.push(lead.to_owned());
        }
    }

    /// Adds a string of several lines, one below the other.
    fn text(&mut self, lead: &str, indent: usize, text: &str) {
        let (body, chomp) = match text.strip_suffix('\n') {
            Some(body) => (body, "|"),
            None => (text, "|-"),
        };
        self.lines.push(format!("{lead}{chomp}"));
        let indent = indent_below(lead, indent).max(2);
        let room = self.columns.saturating_sub(indent).max(16);
        for line in body.split('\n') {
            let line = shorten(&visible(line), room);
            self.lines.push(if line.is_empty() { line } else { format!("{:indent$}{line}", "") });
        }
    }
}

/// The widest collection that is easy to read on one line.
const MAX_INLINE: usize = 100;

/// Returns an indent two deeper than the line above; the outermost collection has no line above it.
fn indent_below(lead: &str, indent: usize) -> usize {
    if lead.trim().is_empty() { indent } else { indent + 2 }
}

/// Writes a value as JSON, in Puppet's rich data form where JSON has no such value.
pub(in crate::report) fn json(value: &Value, out: &mut String) {
    crate::puppet::json::write(value, out);
}
