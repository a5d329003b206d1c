//! References in the values of a data file, as far as they can be seen: other keys and variables.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::hiera::interpolation::Template;
use crate::hiera::key::{LookupKey, is_plain, is_split};
use crate::value::{Hash, Value};

/// The references in the value of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mentions {
    /// The root keys that it looks up.
    pub keys: BTreeSet<Arc<str>>,
    /// The variables that it reads, dotted access included.
    pub variables: BTreeSet<Arc<str>>,
    /// True if it may look up anything: it holds encrypted text, or makes up text that is interpolated again.
    pub anything: bool,
}

/// Returns true if a text may be the begin of an interpolation that something else completes: what a lookup gave is
/// interpolated again.
fn begins_more(text: &str) -> bool {
    text.ends_with('%') || text.rfind("%{").is_some_and(|start| !text[start..].contains('}'))
}

impl Mentions {
    /// Returns the references in each value of `hash`; values without any are left out.
    pub(super) fn of_all(hash: &Hash) -> Vec<(Arc<str>, Mentions)> {
        let of = |(key, value): (&Value, &Value)| {
            let mut mentions = Mentions::default();
            mentions.add(value);
            mentions.is_some().then(|| (key.to_s().into(), mentions))
        };
        hash.iter().filter_map(of).collect()
    }

    /// Returns the references in `value`.
    pub fn of(value: &Value) -> Mentions {
        let mut mentions = Mentions::default();
        mentions.add(value);
        mentions
    }

    /// Returns true if it refers to anything.
    pub fn is_some(&self) -> bool {
        self.anything || !self.keys.is_empty() || !self.variables.is_empty()
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Hash(hash) => hash.iter().for_each(|(key, value)| {
                self.add(key);
                self.add(value);
            }),
            Value::Bytes(bytes) => self.anything |= bytes.contains(&b'%'),
            Value::Symbol(name) => self.anything |= name.contains('%'),
            _ => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        // Most texts are told by one look at each byte.
        if !text.bytes().any(|byte| matches!(byte, b'%' | b'[')) {
            return;
        }
        self.anything |= text.contains("ENC[");
        if !text.contains('%') {
            return;
        }
        self.anything |= begins_more(text);
        let Some(template) = Template::parse(text) else { return };
        self.anything |= template.literals().any(begins_more);
        self.anything |= text.contains("literal");
        for key in template.keys() {
            let root = if is_plain(key) { Ok(key.into()) } else { LookupKey::parse(key).map(|key| key.root) };
            match root {
                Ok(root) => _ = self.keys.insert(root),
                Err(_) => self.anything = true,
            }
        }
        for name in template.variables() {
            self.anything |= !is_split(name);
            self.variables.insert(name.into());
        }
    }
}
