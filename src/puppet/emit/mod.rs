//! Values as YAML, as Ruby's `to_yaml` writes them.
//!
//! Psych chooses the style of a text (`style`); `scalar` and `writer` are libyaml's part. Two things differ: values
//! that Ruby writes once and refers to by an alias are written in full, and values other than plain data (secrets,
//! values of Puppet's own types) are written in rich data form. Source: `psych/visitors/yaml_tree.rb` of Psych 4,
//! `emitter.c` of libyaml 0.2.5.

mod scalar;
mod style;
mod writer;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::json;
use crate::value::{Hash, Value};
use scalar::{Scalar, Style};
use writer::Writer;

/// The place of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the top, or in a sequence.
    Item,
    /// The key of a mapping, on the line of its value.
    SimpleKey,
    /// The value of a mapping, or a key on a separate line.
    Entry,
}

/// Returns a document: `--- value`, in block style.
pub fn document(value: &Value) -> String {
    let mut emitter = Emitter { out: Writer::new(None) };
    emitter.out.indicator("---", true, false);
    emitter.node(value, Place::Item);
    emitter.out.end_document()
}

/// Returns an entry `key: value` of a map, at a depth of `depth` times two spaces, without a line end.
pub fn entry(name: &str, value: &Value, depth: usize) -> String {
    let mut emitter = Emitter { out: Writer::new(Some(depth * 2)) };
    emitter.entry(&name.into(), value);
    emitter.out.end_entry()
}

/// Returns a text as a key.
pub fn key(text: &str) -> String {
    let mut emitter = Emitter { out: Writer::new(Some(0)) };
    emitter.node(&text.into(), Place::SimpleKey);
    emitter.out.end_entry()
}

struct Emitter {
    out: Writer,
}

impl Emitter {
    fn node(&mut self, value: &Value, place: Place) {
        match value {
            Value::Array(items) if items.is_empty() => self.empty('[', ']'),
            Value::Hash(hash) if hash.is_empty() => self.empty('{', '}'),
            Value::Array(items) => self.sequence(items, place),
            Value::Hash(hash) => self.mapping(hash),
            _ => match scalar(value) {
                Some(scalar) => self.scalar(&scalar, place),
                // JSON is YAML.
                None => self.out.indicator(&json::compact(value), true, false),
            },
        }
    }

    fn empty(&mut self, open: char, close: char) {
        self.out.indicator(&open.to_string(), true, false);
        self.out.indicator(&close.to_string(), false, false);
    }

    /// Writes a sequence. If it is a mapping's value, its items are indented no deeper than the key.
    fn sequence(&mut self, items: &[Value], place: Place) {
        let before = self.out.indent;
        if place != Place::Entry || self.out.is_indention() {
            self.out.increase_indent();
        }
        for item in items {
            self.out.new_line();
            self.out.indicator("-", true, true);
            self.node(item, Place::Item);
        }
        self.out.indent = before;
    }

    fn mapping(&mut self, hash: &Hash) {
        let before = self.out.indent;
        self.out.increase_indent();
        hash.iter().for_each(|(key, value)| self.entry(key, value));
        self.out.indent = before;
    }

    fn entry(&mut self, key: &Value, value: &Value) {
        self.out.new_line();
        if is_simple_key(key) {
            self.node(key, Place::SimpleKey);
            self.out.indicator(":", false, false);
        } else {
            self.out.indicator("?", true, true);
            self.node(key, Place::Entry);
            self.out.new_line();
            self.out.indicator(":", true, true);
        }
        self.node(value, Place::Entry);
    }

    fn scalar(&mut self, scalar: &Scalar<'_>, place: Place) {
        let is_key = place == Place::SimpleKey;
        let (style, tag) = scalar.choose(is_key);
        if let Some(tag) = tag {
            self.out.indicator(tag, true, false);
        }
        let before = self.out.indent;
        self.out.increase_indent_in_flow();
        match style {
            Style::Plain => self.out.plain(&scalar.text, !is_key),
            Style::Single => self.out.single_quoted(&scalar.text, !is_key),
            Style::Double => self.out.double_quoted(&scalar.text, !is_key),
            Style::Literal => self.out.literal(&scalar.text),
        }
        self.out.indent = before;
    }
}

/// Returns true if a key can stand on one line with its value.
fn is_simple_key(key: &Value) -> bool {
    match key {
        Value::Array(items) => items.is_empty(),
        Value::Hash(hash) => hash.is_empty(),
        _ => scalar(key).is_none_or(|scalar| scalar.is_simple_key()),
    }
}

/// Returns the scalar that is written for a value, or `None` if the value is not plain data.
fn scalar(value: &Value) -> Option<Scalar<'_>> {
    Some(match value {
        Value::Undef => Scalar::plain(""),
        Value::Boolean(_) | Value::Integer(_) | Value::BigInteger(_) => Scalar::plain(value.to_s()),
        Value::Float(f) if f.is_nan() => Scalar::plain(".nan"),
        Value::Float(f) if f.is_infinite() => Scalar::plain(if *f > 0.0 { ".inf" } else { "-.inf" }),
        Value::Float(f) => Scalar::plain(Value::Float(*f).to_s()),
        Value::Symbol(name) if name.is_empty() => Scalar::tagged("", "!ruby/symbol", Style::Plain),
        Value::Symbol(name) => Scalar::plain(format!(":{name}")),
        Value::Bytes(bytes) => Scalar::tagged(STANDARD.encode(bytes), "!binary", Style::Literal),
        Value::String(text) if text.secrecy().is_some() => return None,
        Value::String(text) if **text == *"<<" => Scalar::tagged("<<", "!!str", Style::Single),
        Value::String(text) => Scalar::text(text.as_str(), style::of_text(text)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puppet::yaml;

    #[test]
    fn what_is_written_is_read_back() {
        let source =
            b"a: 'yes'\nb: [1, '1', 1.5, null, true, {x: {}}, [], [[1]]]\nc::d: \"l1\\nl2 %{x}\"\n'1': x\nz: 'a: b'\n";
        let value = yaml::parse(source).value;
        let written = document(&value);
        assert_eq!(yaml::parse(written.as_bytes()).value, value, "{written}");
    }
}
