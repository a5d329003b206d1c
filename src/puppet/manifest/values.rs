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
        let (mut values, mut unknown) = (Values::default(), HashSet::new());
        for (at, pair) in words.windows(2).enumerate() {
            let (Token::Variable(name), Token::Sign('=')) = (&pair[0].token, &pair[1].token) else { continue };
            let known = values.known.entry(name.clone()).or_default();
            let value = whole(first(&words[at + 2..]));
            if value.is_none() {
                unknown.insert(name.clone());
            }
            if value.is_none() && words.get(at + 2).is_some_and(|word| word.token == Token::Sign('{')) {
                values.options.insert(name.clone());
            }
            if known.len() <= MOST_VALUES {
                known.extend(value);
            }
        }
        let is_known = |known: &[Value]| known.len() <= MOST_VALUES && known.iter().all(is_short);
        values.known.retain(|name, known| !unknown.contains(name) && is_known(known));
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

/// Returns the literal that a variable is set to; `None` if it is set to anything else.
fn whole(words: &[Word]) -> Option<Value> {
    let (value, length) = leading(words)?;
    let is_keyword = matches!(&words[0].token, Token::Name(name) if ["if", "unless", "case"].contains(&&**name));
    let is_end = match words.get(length).map(|word| &word.token) {
        None | Some(Token::Variable(_) | Token::Sign(',' | ')' | '}' | ';' | '|' | '@')) => true,
        Some(Token::Name(name)) => !["in", "and", "or"].contains(&&**name),
        _ => false,
    };
    (is_end && !is_keyword).then_some(value)
}

fn is_short(value: &Value) -> bool {
    value.as_array().is_none_or(|items| items.len() <= MOST_VALUES)
}
