//! A lookup in a manifest, a template or a function, with what is known of its key and merge strategy.

use std::collections::BTreeSet;

use crate::value::Value;

/// The strategies that are tried if one is not known.
const ALL_STRATEGIES: [&str; 4] = ["first", "deep", "hash", "unique"];

/// A lookup.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupCall {
    /// The key.
    pub key: KeyText,
    /// The strategy.
    pub merge: CallMerge,
    /// The line of the function's name, counted from 1.
    pub line: u32,
    /// The names of which one must be given options for the lookup to be made ([`Fed`](super::Fed)); empty if it is
    /// always made.
    pub given: BTreeSet<String>,
}

/// The text of a key in a call: its pieces, with something unknown between any two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyText(pub(super) Vec<String>);

/// The merge strategy of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallMerge {
    /// None is named: `lookup_options` decide.
    ByData,
    /// This one, in the form of `merge` in `lookup_options`: a name, or a hash with `strategy`.
    Named(Value),
    /// Perhaps one of these: it is decided at run time.
    Perhaps(Vec<Value>),
}

impl LookupCall {
    /// Returns a call that may be about any key.
    pub(super) fn any_key(line: u32) -> LookupCall {
        LookupCall { key: KeyText::any(), merge: CallMerge::any(), line, given: BTreeSet::new() }
    }
}

impl KeyText {
    /// Returns the key, if all of it is known.
    pub fn whole(&self) -> Option<&str> {
        if let [key] = &self.0[..] { Some(key) } else { None }
    }

    /// Returns a completely unknown key.
    pub(super) fn any() -> KeyText {
        KeyText(vec![String::new(); 2])
    }

    /// Returns true if no part of the key is known.
    pub fn is_any(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }

    /// Returns the part before the first dot: the root key, if nothing is quoted.
    #[must_use]
    pub fn root(&self) -> KeyText {
        let mut pieces = Vec::new();
        for piece in &self.0 {
            match piece.split_once('.') {
                Some((before, _)) => {
                    pieces.push(before.to_owned());
                    break;
                }
                None => pieces.push(piece.clone()),
            }
        }
        KeyText(pieces)
    }

    /// Returns its pieces.
    pub fn pieces(&self) -> &[String] {
        &self.0
    }
}

impl CallMerge {
    /// Returns a completely unknown strategy.
    pub(super) fn any() -> CallMerge {
        CallMerge::Perhaps(ALL_STRATEGIES.map(Value::from).to_vec())
    }

    /// Returns the strategies that this may be.
    pub fn possible(&self) -> &[Value] {
        match self {
            CallMerge::ByData => &[],
            CallMerge::Named(merge) => std::slice::from_ref(merge),
            CallMerge::Perhaps(merges) => merges,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_a_key_ends_with_its_first_dot() {
        let key = |pieces: &[&str]| KeyText(pieces.iter().map(|piece| (*piece).to_owned()).collect());
        assert_eq!(key(&["include.", ""]).root(), key(&["include"]));
        assert_eq!(key(&["a", "b.c", "d"]).root(), key(&["a", "b"]));
        assert!(key(&["", ""]).is_any() && !key(&["", "x"]).is_any());
    }
}
