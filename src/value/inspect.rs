//! Values as Ruby writes them: `to_s`, `inspect`, the names of their classes.
//!
//! Interpolation, merges and error texts show these to users. The text of a secret is a secret, too: callers must
//! mark it. Source: Ruby 3.1, which the reference Puppet runs on; [`Notation`] lists the differences of later
//! versions.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

use super::float::{self, Floats};
use super::{Value, symbol};

/// The way in which a Ruby writes values; that of Ruby 3.1 by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Notation {
    /// True for `{"k" => 1}` and `{k: 1}`, false for `{"k"=>1}` and `{:k=>1}`.
    pub spaces_hashes: bool,
    /// The characters that are shown as they are.
    pub printable: Printable,
    /// The digits of floats.
    pub floats: Floats,
}

/// The characters that Ruby's `inspect` shows as they are: those in its version of Unicode, except controls and
/// separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Printable {
    /// The characters of Unicode 13, and U+0085: Ruby 3.1.
    #[default]
    Unicode13,
    /// The characters of Unicode 15: Ruby 3.3 and 3.4.
    Unicode15,
}

impl Value {
    /// Returns Ruby's `to_s`, as string interpolation uses it; for `nil` that is the empty text.
    pub fn to_s(&self) -> String {
        self.text_in(Notation::default())
    }

    /// Does the same in the notation of another Ruby.
    pub fn text_in(&self, notation: Notation) -> String {
        match self.bare() {
            Value::Undef => String::new(),
            Value::String(s) => s.as_str().to_owned(),
            Value::Symbol(s) => s.to_string(),
            Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
            Value::Rich(rich) => rich.to_text(),
            Value::Secret(secret) => secret.1.text_in(notation),
            other => other.inspect_in(notation),
        }
    }

    /// Returns Ruby's `inspect`.
    pub fn inspect(&self) -> String {
        self.inspect_in(Notation::default())
    }

    fn inspect_in(&self, notation: Notation) -> String {
        let mut out = String::new();
        write_inspect(self, notation, &mut out);
        out
    }

    /// Returns the name of the value's Ruby class.
    pub fn class_name(&self) -> Cow<'static, str> {
        let name = match self {
            Value::Undef => "NilClass",
            Value::Boolean(true) => "TrueClass",
            Value::Boolean(false) => "FalseClass",
            Value::Integer(_) | Value::BigInteger(_) => "Integer",
            Value::Float(_) => "Float",
            Value::String(_) | Value::Bytes(_) => "String",
            Value::Symbol(_) => "Symbol",
            Value::Array(_) => "Array",
            Value::Hash(_) => "Hash",
            Value::Rich(rich) => return rich.class_name(),
            Value::Secret(secret) => return secret.1.class_name(),
        };
        name.into()
    }
}

fn write_inspect(value: &Value, notation: Notation, out: &mut String) {
    match value {
        Value::Undef => out.push_str("nil"),
        Value::Boolean(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Integer(n) => _ = write!(out, "{n}"),
        Value::BigInteger(n) => _ = write!(out, "{n}"),
        Value::Float(f) => out.push_str(&float::text(*f, notation.floats)),
        Value::String(s) => inspect_text(s, notation, out),
        Value::Bytes(b) => inspect_bytes(b, out),
        Value::Symbol(s) => inspect_symbol(s, notation, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_inspect(item, notation, out);
            }
            out.push(']');
        }
        Value::Hash(hash) => {
            out.push('{');
            for (i, (k, v)) in hash.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                inspect_key(k, notation, out);
                write_inspect(v, notation, out);
            }
            out.push('}');
        }
        Value::Rich(rich) => out.push_str(&rich.inspect()),
        Value::Secret(secret) => write_inspect(&secret.1, notation, out),
    }
}

/// Writes the key of a hash, and what stands between it and its value.
fn inspect_key(key: &Value, notation: Notation, out: &mut String) {
    match key {
        Value::Symbol(s) if notation.spaces_hashes => {
            if symbol::is_label(s) && s.chars().all(|c| is_printable(c, notation.printable)) {
                out.push_str(s);
            } else {
                inspect_text(s, notation, out);
            }
            out.push_str(": ");
        }
        _ => {
            write_inspect(key, notation, out);
            out.push_str(if notation.spaces_hashes { " => " } else { "=>" });
        }
    }
}

/// Returns true for a character that needs no escape.
fn is_printable(c: char, printable: Printable) -> bool {
    static UNICODE_13: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{Age:13.0}\u{85}--[[\p{Cc}--\u{85}]\p{Zl}\p{Zp}\p{Cn}]]$").ok());
    static UNICODE_15: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{Age:15.0}--[\p{Cc}\p{Zl}\p{Zp}\p{Cn}]]$").ok());
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    let shown = match printable {
        Printable::Unicode13 => &UNICODE_13,
        Printable::Unicode15 => &UNICODE_15,
    };
    shown.as_ref().is_none_or(|re| re.is_match(c.encode_utf8(&mut [0; 4])))
}

/// Returns the short escape of a character, which is the same in every encoding; `next` follows the character.
fn short_escape(c: char, next: Option<char>) -> Option<&'static str> {
    Some(match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '#' if matches!(next, Some('{' | '$' | '@')) => "\\#",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{c}' => "\\f",
        '\u{b}' => "\\v",
        '\u{8}' => "\\b",
        '\u{7}' => "\\a",
        '\u{1b}' => "\\e",
        _ => return None,
    })
}

fn inspect_text(text: &str, notation: Notation, out: &mut String) {
    out.push('"');
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if let Some(escape) = short_escape(c, rest.peek().copied()) => out.push_str(escape),
            c if is_printable(c, notation.printable) => out.push(c),
            c if u32::from(c) > 0xffff => _ = write!(out, "\\u{{{:X}}}", u32::from(c)),
            c => _ = write!(out, "\\u{:04X}", u32::from(c)),
        }
    }
    out.push('"');
}

fn inspect_bytes(bytes: &[u8], out: &mut String) {
    out.push('"');
    for (at, b) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1).copied().map(char::from);
        match short_escape(char::from(*b), next) {
            Some(escape) => out.push_str(escape),
            None if (b' '..=b'~').contains(b) => out.push(char::from(*b)),
            None => _ = write!(out, "\\x{b:02X}"),
        }
    }
    out.push('"');
}

/// Writes a symbol, without quotes if Ruby's syntax allows it. In quotes, ASCII symbols have no Unicode escapes.
fn inspect_symbol(symbol: &str, notation: Notation, out: &mut String) {
    out.push(':');
    if symbol::kind(symbol).is_some() && symbol.chars().all(|c| is_printable(c, notation.printable)) {
        out.push_str(symbol);
    } else if symbol.is_ascii() {
        inspect_bytes(symbol.as_bytes(), out);
    } else {
        inspect_text(symbol, notation, out);
    }
}
