//! Values in messages.
//!
//! Source: `render` in `abstract_config_value.rb` and the classes over it, `config_impl_util.rb`.

use std::fmt::Write;

use super::node::{Kind, NodeRef};
use super::quoted;

/// The maximum number of levels of a value, and of bytes, that a message shows.
const MAX_SHOWN_DEPTH: usize = 20;
const MAX_SHOWN_LENGTH: usize = 4000;

/// Returns a value and the name of its class.
pub(super) fn node(node: &NodeRef) -> String {
    let class = match &node.kind {
        Kind::Null => "ConfigNull",
        Kind::Boolean(_) => "ConfigBoolean",
        Kind::Number(crate::value::Value::Float(_), _) => "ConfigDouble",
        Kind::Number(..) => "ConfigInt",
        Kind::Text { quoted: true, .. } => "Quoted",
        Kind::Text { quoted: false, .. } => "Unquoted",
        Kind::Reference(_) => "ConfigReference",
        Kind::Concat(_) => "ConfigConcatenation",
        Kind::Merge { object: false, .. } => "ConfigDelayedMerge",
        Kind::Merge { object: true, .. } => "ConfigDelayedMergeObject",
        Kind::Object(_) => "SimpleConfigObject",
        Kind::List(_) => "SimpleConfigList",
    };
    let mut text = format!("{class}(");
    render(node, 0, &mut text);
    text.push(')');
    text
}

fn render(node: &NodeRef, depth: usize, text: &mut String) {
    if depth > MAX_SHOWN_DEPTH || text.len() > MAX_SHOWN_LENGTH {
        text.push_str("...");
        return;
    }
    match &node.kind {
        Kind::Null => text.push_str("null"),
        Kind::Boolean(boolean) => _ = write!(text, "{boolean}"),
        Kind::Number(number, _) => text.push_str(&number.to_s()),
        Kind::Text { text: inner, .. } => text.push_str(&quoted(&String::from_utf8_lossy(inner))),
        Kind::Reference(reference) => text.push_str(&reference.render()),
        Kind::Concat(pieces) => pieces.iter().for_each(|piece| render(piece, depth + 1, text)),
        Kind::Merge { stack, .. } => stack.iter().for_each(|piece| render(piece, depth + 1, text)),
        Kind::List(list) => {
            text.push('[');
            for (at, item) in list.items.iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                render(item, depth + 1, text);
            }
            text.push(']');
        }
        Kind::Object(object) => {
            let mut entries: Vec<_> = object.entries.iter().collect();
            entries.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
            text.push('{');
            let entries = entries.into_iter().flat_map(|(key, value)| {
                // A merge is shown as the fields that it was made of, in their order.
                value.stack().into_iter().rev().map(move |value| (key, value))
            });
            for (at, (key, value)) in entries.enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                _ = write!(text, "{}:", quoted(&String::from_utf8_lossy(key)));
                render(&value, depth + 1, text);
            }
            text.push('}');
        }
    }
}

/// Returns the sort key of a name: numbers come first, by their size.
fn order(key: &[u8]) -> (bool, usize, &[u8]) {
    let is_number = !key.is_empty() && key.iter().all(u8::is_ascii_digit);
    let digits = if is_number { key.iter().skip_while(|b| **b == b'0').count() } else { 0 };
    (!is_number, digits, key)
}
