//! The variables of a manifest that are set to literals, or to strings of which pieces are known.

use std::collections::{HashMap, HashSet};

use super::call::KeyText;
use super::given::{Given, Source};
use super::literal::{Expression, goes_on, leading, unknown};
use super::tokens::{Token, Word, first};
use crate::value::Value;

/// The literals that a manifest sets variables to, or gives them as defaults.
#[derive(Default)]
pub(super) struct Values {
    known: HashMap<String, Vec<Value>>,
    /// The texts of variables that are set only to texts, of which some are known in part.
    texts: HashMap<String, Vec<KeyText>>,
    /// The variables that are set to a hash that is not a literal, or to a value that may be one.
    pub(super) options: HashSet<String>,
    /// The options that come from elsewhere, or go there.
    pub(super) given: Given,
}

/// The maximum number of literals of a variable, and of items in each; with more, the variable is unknown.
const MOST_VALUES: usize = 20;

/// The maximum length, in bytes, of a known text of a variable: each lookup has a copy of it.
const MAX_TEXT_LENGTH: usize = 1000;

impl Values {
    pub(super) fn of(words: &[Word]) -> Values {
        let (mut values, mut unknown) = (Values::default(), parameters_without_default(words));
        let mut unknown_texts = unknown.clone();
        for (at, pair) in words.windows(2).enumerate() {
            let (Token::Variable(name), Token::Sign('=')) = (&pair[0].token, &pair[1].token) else { continue };
            let known = values.known.entry(name.clone()).or_default();
            let set_to = first(&words[at + 2..]);
            let value = whole(set_to);
            if value.is_none() {
                unknown.insert(name.clone());
            }
            if value.is_none() && may_be_hash(set_to) {
                values.options.insert(name.clone());
            }
            match value.as_ref().map_or_else(|| pieces(set_to), |value| Some(vec![value.as_str()?.to_owned()])) {
                Some(pieces) if pieces.iter().map(|piece| piece.len() + 1).sum::<usize>() <= MAX_TEXT_LENGTH => {
                    let texts = values.texts.entry(name.clone()).or_default();
                    texts.extend((texts.len() <= MOST_VALUES).then_some(KeyText(pieces)));
                }
                _ => drop(unknown_texts.insert(name.clone())),
            }
            if known.len() <= MOST_VALUES {
                known.extend(value);
            }
        }
        let is_known = |known: &[Value]| known.len() <= MOST_VALUES && known.iter().all(is_short);
        values.known.retain(|name, known| !unknown.contains(name) && is_known(known));
        values.texts.retain(|name, texts| !unknown_texts.contains(name) && texts.len() <= MOST_VALUES);
        values.given = Given::of(words, &|name| values.has_options(name));
        values
    }

    /// Returns the keys that a variable with an unknown value may stand for.
    pub(super) fn keys(&self, name: &str) -> Vec<KeyText> {
        self.texts.get(name).cloned().unwrap_or_else(|| vec![KeyText::any()])
    }

    /// Returns true if a variable may be the options of a lookup, including its key.
    pub(super) fn may_be_options(&self, name: &str) -> bool {
        self.options.contains(name) || self.get(name).iter().any(|value| value.as_hash().is_some())
    }

    /// Returns the source of the options that a variable may hold.
    pub(super) fn source(&self, name: &str) -> Source {
        self.given.source(name, &|name| self.has_options(name))
    }

    fn has_options(&self, name: &str) -> bool {
        self.options.contains(name) || self.get(name).iter().any(has_options)
    }

    pub(super) fn get(&self, name: &str) -> &[Value] {
        self.known.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Returns the literal that a variable is set to; `None` if it is set to anything else.
fn whole(words: &[Word]) -> Option<Value> {
    let (value, length) = leading(words)?;
    let is_keyword = matches!(&words[0].token, Token::Name(name) if ["if", "unless", "case"].contains(&&**name));
    (is_end(words.get(length)) && !is_keyword).then_some(value)
}

/// Returns the pieces of the string that a variable is set to.
fn pieces(words: &[Word]) -> Option<Vec<String>> {
    let Token::Template(template) = &words.first()?.token else { return None };
    is_end(words.get(1)).then(|| template.pieces.clone())
}

/// Returns true if a value ends before a word.
fn is_end(next: Option<&Word>) -> bool {
    match next.map(|word| &word.token) {
        None | Some(Token::Variable(_) | Token::Sign(',' | ')' | '}' | ';' | '|' | '@')) => true,
        Some(Token::Name(name)) => !["in", "and", "or"].contains(&&**name),
        _ => false,
    }
}

/// Returns the parameters of classes, functions and blocks that have no default: whoever calls them gives their
/// values.
fn parameters_without_default(words: &[Word]) -> HashSet<String> {
    let (mut given, mut depth, mut is_block) = (HashSet::new(), 0_usize, false);
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map(|word| &word.token);
        match &word.token {
            Token::Name(name) if ["class", "define", "function", "plan"].contains(&&**name) => {
                let has_parameters = words.get(at + 2).is_some_and(|word| word.token == Token::Sign('('));
                depth = usize::from(has_parameters && matches!(next, Some(Token::Name(_))));
            }
            // The first bracket is that of the parameters.
            Token::Sign('(' | '[' | '{') if depth > 0 => depth += 1,
            Token::Sign(')' | ']' | '}') if depth > 0 => depth = if depth <= 2 { 0 } else { depth - 1 },
            Token::Sign('|') => is_block = !is_block,
            Token::Variable(name) if (is_block || depth == 2) && next != Some(&Token::Sign('=')) => {
                let is_default = at > 0 && words[at - 1].token == Token::Sign('=');
                given.extend((!is_default).then(|| name.clone()));
            }
            _ => {}
        }
    }
    given
}

/// Returns true if words begin with an unknown value that may be a hash. Another variable is treated as a text.
fn may_be_hash(words: &[Word]) -> bool {
    let is_made = goes_on(words.get(1).map(|word| &word.token));
    match unknown(words) {
        Expression::Composed => true,
        Expression::Variable(_) => is_made || !matches!(words[0].token, Token::Variable(_)),
        _ => false,
    }
}

/// Returns true for options of a lookup that name a strategy, and for values that contain such options.
fn has_options(value: &Value) -> bool {
    match value {
        Value::Hash(hash) => hash.get("merge").is_some() || hash.values().any(has_options),
        Value::Array(items) => items.iter().any(has_options),
        _ => false,
    }
}

fn is_short(value: &Value) -> bool {
    let is_short = |value: &Value| value.as_str().is_none_or(|text| text.len() <= MAX_TEXT_LENGTH);
    value.as_array().map_or_else(|| is_short(value), |items| items.len() <= MOST_VALUES && items.iter().all(is_short))
}
