//! The variables that a manifest sets outside of any block, before anything is looked up.

use std::collections::BTreeMap;

use super::formula::{Formula, is_pure};
use super::site::{begins_statement, ends_with, is_assigned, variables_before};
use super::tokens::{Token, Word, closing};

/// The variables that a manifest sets in the top scope.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TopScope {
    /// The variables in their order, each once, with what they are made of; `None` if that is not known, if the
    /// variable is not always set, or if a lookup may come before.
    pub variables: Vec<(String, Option<Formula>)>,
    /// True if the manifest may look something up, or evaluate a class that does, outside of definitions.
    pub looks_up: bool,
}

/// The maximum number of variables that are kept of a manifest.
const MAX_VARIABLES: usize = 1000;

impl TopScope {
    /// Reads the words of a manifest.
    pub(super) fn of(words: &[Word]) -> TopScope {
        let mut scan = Scan { words, at: 0, depth: 0, found: BTreeMap::new(), order: Vec::new(), looks_up: false };
        scan.run();
        let Scan { mut found, order, looks_up, .. } = scan;
        let all = order.into_iter().filter_map(|name| Some((found.remove(&name)?, name)));
        TopScope { variables: all.map(|(formula, name)| (name, formula)).collect(), looks_up }
    }
}

struct Scan<'w> {
    words: &'w [Word],
    at: usize,
    depth: usize,
    found: BTreeMap<String, Option<Formula>>,
    order: Vec<String>,
    looks_up: bool,
}

impl Scan<'_> {
    fn run(&mut self) {
        while let Some(word) = self.words.get(self.at) {
            let next = self.words.get(self.at + 1).map(|word| &word.token);
            match &word.token {
                Token::Sign('{' | '(' | '[') => self.depth += 1,
                Token::Sign('}' | ')') => self.depth = self.depth.saturating_sub(1),
                Token::Sign(']') => self.close_array(),
                Token::Sign('.') => {
                    let is_safe = matches!(next, Some(Token::Name(name)) if is_pure(name));
                    self.looks_up |= !is_safe;
                }
                Token::Template(template) => {
                    let is_code = |inner: &String| inner.contains(['(', '.']) && !inner.starts_with('\\');
                    let may_call = |inner: &String| inner.is_empty() || is_code(inner);
                    self.looks_up |= template.between.iter().any(may_call);
                }
                Token::Variable(name) if is_assigned(&self.words[self.at + 1..]) => {
                    let name = name.clone();
                    self.assign(name);
                }
                Token::Name(name) if self.depth == 0 && is_definition(name, next) => self.skip_definition(),
                Token::Name(name) => self.looks_up |= may_look_up(name, next),
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Moves to the word before the value of an assignment, or to the last word of the value if that is known.
    fn assign(&mut self, name: String) {
        let value = self.at + 2;
        let is_plain = self.depth == 0 && begins_statement(self.words, self.at) && !self.looks_up;
        let formula = self.words.get(value..).filter(|_| is_plain).and_then(Formula::leading);
        let whole = formula.filter(|(_, length)| {
            let end = value + length;
            self.words.get(end - 1).is_some_and(|last| ends_with(last, self.words.get(end)))
        });
        self.at += whole.as_ref().map_or(1, |(_, length)| length + 1);
        self.set(name, whole.map(|(formula, _)| formula));
    }

    fn set(&mut self, name: String, formula: Option<Formula>) {
        if let Some(known) = self.found.get_mut(&name) {
            *known = None;
        } else if self.order.len() < MAX_VARIABLES {
            self.found.insert(name.clone(), formula);
            self.order.push(name);
        }
    }

    fn close_array(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.set_array_variables(self.at);
    }

    /// Marks the variables of an array that is assigned to as unknown.
    fn set_array_variables(&mut self, at: usize) {
        if is_assigned(&self.words[at + 1..]) {
            let words = self.words;
            variables_before(words, at).for_each(|name| self.set(name.to_owned(), None));
        }
    }

    /// Skips a definition. Variables that a node block sets hide those of the top scope.
    fn skip_definition(&mut self) {
        let is_node = self.words[self.at].token == Token::Name("node".to_owned());
        let mut open = self.at;
        while let Some(word) = self.words.get(open).filter(|word| word.token != Token::Sign('{')) {
            open = if matches!(word.token, Token::Sign('(' | '[')) { closing(self.words, open) + 1 } else { open + 1 };
        }
        let end = closing(self.words, open).min(self.words.len());
        for at in (open..end).filter(|_| is_node) {
            match &self.words[at].token {
                Token::Variable(name) if is_assigned(&self.words[at + 1..]) => self.set(name.clone(), None),
                Token::Sign(']') => self.set_array_variables(at),
                _ => {}
            }
        }
        self.at = end;
    }
}

/// Returns true if a name begins a definition, whose body is not evaluated here.
fn is_definition(name: &str, next: Option<&Token>) -> bool {
    matches!(name, "class" | "node" | "define" | "function" | "plan" | "site" | "application")
        && matches!(next, Some(Token::Name(_) | Token::Text(_) | Token::Regex(_)))
}

/// Returns true if a name may call a function that looks something up, or evaluate a class at once.
fn may_look_up(name: &str, next: Option<&Token>) -> bool {
    const NO_FUNCTIONS: [&str; 8] = ["if", "elsif", "unless", "case", "and", "or", "in", "default"];
    let is_class = name == "class" && next == Some(&Token::Sign('{'));
    let is_call = next == Some(&Token::Sign('(')) && !is_pure(name) && !NO_FUNCTIONS.contains(&name);
    is_class || is_call || matches!(name, "include" | "contain" | "require")
}
