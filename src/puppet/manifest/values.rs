//! The variables of a manifest, as far as they are set to literals.

use std::collections::{HashMap, HashSet};

use super::literal::leading;
use super::tokens::{Token, Word};
use crate::value::Value;

/// The literals that a manifest sets variables to, or gives them as defaults.
#[derive(Default)]
pub(super) struct Values {
    known: HashMap<String, Vec<Value>>,
    /// The variables that are set to a hash that is no literal.
    pub(super) options: HashSet<String>,
}

/// The most literals of one variable that are told apart, and the most items of one: with more it is not known.
const MOST_VALUES: usize = 20;

impl Values {
    pub(super) fn of(words: &[Word]) -> Values {
        let mut values = Values::default();
        for (at, pair) in words.windows(2).enumerate() {
            let (Token::Variable(name), Token::Sign('=')) = (&pair[0].token, &pair[1].token) else { continue };
            let known = values.known.entry(name.clone()).or_default();
            let value = leading(first(&words[at + 2..]));
            if value.is_none() && words.get(at + 2).is_some_and(|word| word.token == Token::Sign('{')) {
                values.options.insert(name.clone());
            }
            if known.len() <= MOST_VALUES {
                known.extend(value.map(|(value, _)| value));
            }
        }
        values.known.retain(|_, known| known.len() <= MOST_VALUES && known.iter().all(is_short));
        values
    }

    /// Returns true for a variable that may be the options of a lookup, its key among them.
    pub(super) fn may_be_options(&self, name: &str) -> bool {
        self.options.contains(name) || self.get(name).iter().any(|value| value.as_hash().is_some())
    }

    pub(super) fn get(&self, name: &str) -> &[Value] {
        self.known.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The most words that are read of a call, or of a value.
pub(super) const MOST_WORDS: usize = 500;

/// Returns the words that are read at a place.
pub(super) fn first(words: &[Word]) -> &[Word] {
    &words[..words.len().min(MOST_WORDS)]
}

fn is_short(value: &Value) -> bool {
    value.as_array().is_none_or(|items| items.len() <= MOST_VALUES)
}
