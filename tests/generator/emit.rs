//! Writes data as YAML, in block or flow style, as JSON or as HOCON.

use std::fmt::Write as _;

use super::random::Random;
use super::scalar::{json_text, quoted};

/// Data on its way into a file. Scalars are already written in the file's own language.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// A scalar, as it is to be written; may start with an anchor, or be an alias.
    Scalar(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping; its keys as they are to be written.
    Map(Vec<(String, Node)>),
    /// A node behind a tag or an anchor; YAML only.
    Marked(String, Box<Node>),
}

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// YAML 1.1.
    Yaml,
    /// JSON.
    Json,
    /// HOCON.
    Hocon,
}

impl Language {
    /// The language that a file's name promises.
    pub(crate) fn of(path: &str) -> Language {
        match path.rsplit_once('.') {
            Some((_, "json")) => Language::Json,
            Some((_, "conf")) => Language::Hocon,
            _ => Language::Yaml,
        }
    }

    /// A text as a scalar.
    pub(crate) fn text(self, random: &mut Random, text: &str) -> String {
        match self {
            Language::Yaml => quoted(random, text),
            Language::Json | Language::Hocon => json_text(text),
        }
    }

    /// A text as a node.
    pub(crate) fn scalar(self, random: &mut Random, text: &str) -> Node {
        Node::Scalar(self.text(random, text))
    }

    /// A whole document.
    pub(crate) fn document(self, random: &mut Random, node: &Node) -> String {
        match self {
            Language::Yaml => yaml(random, node),
            Language::Json => json(node),
            Language::Hocon => hocon(random, node),
        }
    }
}

/// A YAML document.
fn yaml(random: &mut Random, node: &Node) -> String {
    let mut text = String::new();
    if random.percent(25) {
        text.push_str("---\n");
    }
    block(random, node, 0, &mut text);
    text
}

fn block(random: &mut Random, node: &Node, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    match node {
        Node::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                _ = write!(text, "{pad}{key}:");
                value_after(random, value, indent, text);
            }
        }
        Node::List(items) if !items.is_empty() => {
            for item in items {
                _ = write!(text, "{pad}-");
                value_after(random, item, indent, text);
            }
        }
        other => _ = writeln!(text, "{pad}{}", flow(other)),
    }
}

/// Writes the value behind `key:` or `-`: a scalar or a flow collection on the same line, a block collection below.
fn value_after(random: &mut Random, value: &Node, indent: usize, text: &mut String) {
    match value {
        Node::Scalar(scalar) => {
            let pad = " ".repeat(indent);
            _ = writeln!(text, " {}", scalar.replace('\n', &format!("\n{pad}")));
        }
        collection if is_empty(collection) || (is_small(collection) && random.percent(30)) => {
            _ = writeln!(text, " {}", flow(collection));
        }
        Node::Marked(mark, node) => {
            _ = write!(text, " {mark}");
            value_after(random, node, indent, text);
        }
        collection => {
            text.push('\n');
            block(random, collection, indent + 2, text);
        }
    }
}

fn is_empty(node: &Node) -> bool {
    match node {
        Node::Scalar(_) | Node::Marked(..) => false,
        Node::List(items) => items.is_empty(),
        Node::Map(entries) => entries.is_empty(),
    }
}

/// Returns true if flow style can hold a node: no block scalars, and no plain scalars with characters that end them
/// there.
fn is_small(node: &Node) -> bool {
    match node {
        Node::Scalar(text) => {
            text.starts_with(['"', '\'']) || (!text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '.'))
        }
        Node::List(items) => items.iter().all(is_small),
        Node::Marked(..) => false,
        Node::Map(entries) => {
            entries.iter().all(|(key, value)| !key.starts_with(':') && key != "<<" && is_small(value))
        }
    }
}

/// Flow style, which is JSON where all scalars are.
fn flow(node: &Node) -> String {
    match node {
        Node::Scalar(text) => text.clone(),
        Node::Marked(mark, node) => format!("{mark} {}", flow(node)),
        Node::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Node::Map(entries) => {
            let entries: Vec<_> = entries.iter().map(|(key, value)| format!("{key}: {}", flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A JSON document, a line for each entry of the root.
fn json(node: &Node) -> String {
    match node {
        Node::Map(entries) if !entries.is_empty() => {
            let lines: Vec<_> = entries.iter().map(|(key, value)| format!("  {key}: {}", flow(value))).collect();
            format!("{{\n{}\n}}\n", lines.join(",\n"))
        }
        other => flow(other) + "\n",
    }
}

/// A HOCON document: entries with or without braces, keys that come again, and substitutions among them.
fn hocon(random: &mut Random, node: &Node) -> String {
    let Node::Map(entries) = node else { return flow(node) + "\n" };
    let mut lines: Vec<String> = Vec::new();
    for (key, value) in entries {
        let sign = match value {
            Node::Map(_) => random.pick(&["", ":", " = "]),
            _ if random.permille(4) => " += ",
            _ => random.pick(&[":", " = ", ": "]),
        };
        lines.push(format!("{key}{sign}{}", flow(value)));
        if random.percent(2) {
            let (other, node) = &entries[random.index(entries.len())];
            let optional = random.pick(&["", "?"]);
            let more = match node {
                _ if random.percent(3) => random.pick(&[" [1]", " {more: 1}", " x"]),
                Node::List(_) => random.pick(&["", " [1]"]),
                Node::Map(_) => random.pick(&["", " {more: 1}"]),
                _ => random.pick(&["", " x"]),
            };
            lines.push(format!("{key} = ${{{optional}{other}}}{more}"));
        }
        if random.percent(4) {
            lines.push(format!(
                "{key}.{} = {}",
                random.pick(&["a", "tags", "b.c"]),
                random.pick(&["1", "{x: 1}", "[]", "foo"])
            ));
        }
    }
    let ends = random.pick(&["\n", ",\n", " # c\n"]);
    let body = lines.join(ends) + "\n";
    if random.percent(20) { format!("{{\n{body}}}\n") } else { body }
}

/// JSON data as block-style YAML with quoted texts.
pub(crate) fn yaml_of_json(value: &serde_json::Value) -> String {
    fn node(value: &serde_json::Value) -> Node {
        match value {
            serde_json::Value::Array(items) => Node::List(items.iter().map(node).collect()),
            serde_json::Value::Object(entries) => {
                Node::Map(entries.iter().map(|(key, value)| (json_text(key), node(value))).collect())
            }
            scalar => Node::Scalar(scalar.to_string()),
        }
    }
    yaml(&mut Random::new(0), &node(value))
}
