//! Writes values as JSON; those that JSON cannot hold are written in Puppet's rich data form.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::value::{Hash, Rich, Value};
use crate::visible::visible_json;

/// Appends `value`, without any blanks.
pub fn write(value: &Value, out: &mut String) {
    Writer { out, indent: None }.value(value);
}

/// Appends `value` over several lines, with two blanks for each level, as `JSON.pretty_generate` does.
pub fn pretty(value: &Value, out: &mut String) {
    Writer { out, indent: Some(0) }.value(value);
}

/// Returns the text of `value`, without any blanks.
pub fn compact(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Returns the text of `value` over several lines, inside something that is indented by `level` times two blanks.
pub fn indented(value: &Value, level: usize) -> String {
    let mut out = String::new();
    Writer { out: &mut out, indent: Some(level) }.value(value);
    out
}

/// Returns a text as a JSON string.
pub fn string(text: &str) -> String {
    let mut out = String::new();
    write_text(text, &mut out);
    out
}

/// Appends a text as a JSON string.
pub fn write_text(text: &str, out: &mut String) {
    Writer { out, indent: None }.text(text);
}

/// Returns true if a byte of a text needs no escape, unless it is part of an active character.
fn is_plain_byte(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// Returns true if a byte is a character that needs no escape.
fn is_plain_ascii(byte: u8) -> bool {
    is_plain_byte(byte) && byte < 0x7f
}

struct Writer<'a> {
    out: &'a mut String,
    /// The level of indentation; `None` for the compact form.
    indent: Option<usize>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Undef => self.out.push_str("null"),
            Value::Boolean(b) => self.out.push_str(if *b { "true" } else { "false" }),
            Value::Integer(n) => _ = write!(self.out, "{n}"),
            Value::BigInteger(n) => _ = write!(self.out, "{n}"),
            Value::Float(f) if f.is_finite() => self.out.push_str(&Value::Float(*f).to_s()),
            Value::Float(f) => self.typed("Float", |w| w.text(&Value::Float(*f).to_s())),
            // Secrets that may be shown arrive here without their mark.
            Value::String(s) if s.secrecy().is_some() => self.typed("Secret", |w| w.out.push_str("null")),
            Value::Secret(_) => self.typed("Secret", |w| w.out.push_str("null")),
            Value::String(s) => self.text(s),
            Value::Bytes(bytes) => match str::from_utf8(bytes) {
                Ok(text) => self.text(text),
                Err(_) => self.typed("BinaryString", |w| w.text(&STANDARD.encode(bytes))),
            },
            Value::Symbol(name) => self.typed("Symbol", |w| w.text(name)),
            Value::Rich(rich) => self.rich(rich),
            Value::Array(items) => self.list('[', ']', items.iter(), Self::value),
            Value::Hash(hash) if hash.keys().all(|key| matches!(key, Value::String(s) if s.secrecy().is_none())) => {
                self.object(hash);
            }
            // Bytes as keys cannot be distinguished from text in JSON, so they are treated as keys that are not text.
            Value::Hash(hash) => self.typed("Hash", |w| {
                w.list('[', ']', hash.iter().flat_map(|(key, value)| [key, value]), Self::value);
            }),
        }
    }

    fn rich(&mut self, rich: &Rich) {
        match rich {
            Rich::Sensitive(value) => self.typed("Sensitive", |w| w.value(value)),
            Rich::Hidden(hidden) => self.entry(hidden.type_name(), "__fingerprint", |w| w.text(&hidden.fingerprint())),
            Rich::Regexp(pattern) => self.typed("Regexp", |w| w.text(pattern)),
            other => self.typed(other.type_name(), |w| w.text(&other.to_text())),
        }
    }

    fn object(&mut self, hash: &Hash) {
        self.list('{', '}', hash.iter(), |w, (key, value)| {
            w.key(key.as_str().unwrap_or_default());
            w.value(value);
        });
    }

    /// Writes `{"__ptype": name, "__pvalue": content}`.
    fn typed(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.entry(name, "__pvalue", content);
    }

    /// Writes `{"__ptype": name, label: content}`.
    fn entry(&mut self, name: &str, label: &str, content: impl FnOnce(&mut Self)) {
        let mut content = Some(content);
        self.list('{', '}', [("__ptype", true), (label, false)].into_iter(), |w, (key, is_name)| {
            w.key(key);
            match content.take_if(|_| !is_name) {
                Some(content) => content(w),
                None => w.text(name),
            }
        });
    }

    fn key(&mut self, key: &str) {
        self.text(key);
        self.out.push_str(if self.indent.is_some() { ": " } else { ":" });
    }

    fn list<T>(
        &mut self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.out.push(open);
        self.indent = self.indent.map(|level| level + 1);
        let mut empty = true;
        for item in items {
            if !empty {
                self.out.push(',');
            }
            empty = false;
            self.new_line();
            write(self, item);
        }
        self.indent = self.indent.map(|level| level - 1);
        if !empty {
            self.new_line();
        }
        self.out.push(close);
    }

    fn new_line(&mut self) {
        if let Some(level) = self.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", level));
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        // Nearly all texts are plain, and without an early exit many bytes are examined at a time.
        if text.bytes().fold(true, |is_plain, b| is_plain & is_plain_ascii(b)) {
            self.out.push_str(text);
            self.out.push('"');
            return;
        }
        let mut from = 0;
        for (at, b) in text.bytes().enumerate() {
            if is_plain_byte(b) {
                continue;
            }
            self.out.push_str(&visible_json(&text[from..at]));
            from = at + 1;
            match b {
                b'"' => self.out.push_str("\\\""),
                b'\\' => self.out.push_str("\\\\"),
                b'\n' => self.out.push_str("\\n"),
                b'\r' => self.out.push_str("\\r"),
                b'\t' => self.out.push_str("\\t"),
                8 => self.out.push_str("\\b"),
                12 => self.out.push_str("\\f"),
                b => _ = write!(self.out, "\\u{b:04x}"),
            }
        }
        self.out.push_str(&visible_json(&text[from..]));
        self.out.push('"');
    }
}
