//! Literal values among the words of a manifest.

use super::tokens::{Token, Word};
use crate::value::{Hash, Value};

/// The deepest nesting of values; deeper ones are not read.
const MAX_DEPTH: usize = 16;

/// Returns the arguments of a call, None for each that is no literal; None if there is no call here.
///
/// In parentheses, or, for a function that stands alone, the one argument behind it.
pub(super) fn arguments(words: &[Word]) -> Option<Vec<Option<Value>>> {
    let mut reader = Reader { words, depth: 0 };
    if !reader.takes('(') {
        return matches!(reader.peek(), Some(Token::Text(_))).then(|| vec![reader.literal()]);
    }
    let mut arguments = Vec::new();
    let mut options = Hash::default();
    while !reader.takes(')') {
        // Options at the end need no braces.
        match reader.item()? {
            Item::Entry(Some(Value::String(name)), value) => drop(options.insert(&*name, value.unwrap_or_default())),
            Item::Entry(value, _) | Item::Value(value) => arguments.push(value),
        }
        if !reader.takes(',') && reader.peek() != Some(&Token::Sign(')')) {
            return None;
        }
    }
    if !options.is_empty() {
        arguments.push(Some(Value::Hash(options.into())));
    }
    Some(arguments)
}

/// Returns the literal that words begin with, and the number of its words.
pub(super) fn leading(words: &[Word]) -> Option<(Value, usize)> {
    let mut reader = Reader { words, depth: 0 };
    let value = reader.literal()?;
    Some((value, words.len() - reader.words.len()))
}

/// An item between commas; `None` stands for a value that is no literal.
enum Item {
    Value(Option<Value>),
    /// A key and a value with an arrow between them.
    Entry(Option<Value>, Option<Value>),
}

struct Reader<'w> {
    words: &'w [Word],
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.words.first().map(|word| &word.token)
    }

    fn takes(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(&Token::Sign(sign));
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }

    /// Reads up to the next comma or closing bracket; None at the end of the text.
    fn item(&mut self) -> Option<Item> {
        let before = self.words.len();
        let value = self.value();
        if self.peek() == Some(&Token::Arrow) {
            self.words = &self.words[1..];
            return Some(Item::Entry(value, self.value()));
        }
        (self.words.len() < before).then_some(Item::Value(value))
    }

    /// Reads the literal up to the next comma or closing bracket. `None` if there is something else, which is passed
    /// over.
    fn value(&mut self) -> Option<Value> {
        let value = self.literal();
        let is_whole = matches!(self.peek(), Some(Token::Arrow | Token::Sign(',' | ')' | ']' | '}')));
        if !is_whole {
            self.skip();
        }
        value.filter(|_| is_whole)
    }

    fn literal(&mut self) -> Option<Value> {
        let (word, rest) = self.words.split_first()?;
        match &word.token {
            Token::Text(text) => {
                self.words = rest;
                Some(text.as_str().into())
            }
            Token::Name(name) => {
                self.words = rest;
                Some(named(name))
            }
            Token::Sign('[') => self.nested(Reader::array),
            Token::Sign('{') => self.nested(Reader::hash),
            _ => None,
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<Value>) -> Option<Value> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Option<Value> {
        self.takes('[');
        let mut items = Vec::new();
        while !self.takes(']') {
            items.push(self.value()?);
            if !self.takes(',') && self.peek() != Some(&Token::Sign(']')) {
                return None;
            }
        }
        Some(Value::Array(items.into()))
    }

    /// Reads a hash. An entry whose value is no literal is undef: it exists.
    fn hash(&mut self) -> Option<Value> {
        self.takes('{');
        let mut hash = Hash::default();
        while !self.takes('}') {
            let Item::Entry(Some(Value::String(name)), value) = self.item()? else { return None };
            hash.insert(&*name, value.unwrap_or_default());
            if !self.takes(',') && self.peek() != Some(&Token::Sign('}')) {
                return None;
            }
        }
        Some(Value::Hash(hash.into()))
    }

    /// Goes to the next comma, arrow or closing bracket of the innermost open bracket.
    fn skip(&mut self) {
        let mut open = 0usize;
        while let Some((word, rest)) = self.words.split_first() {
            match &word.token {
                Token::Sign('(' | '[' | '{') => open += 1,
                Token::Sign(')' | ']' | '}') if open > 0 => open -= 1,
                Token::Arrow | Token::Sign(',' | ')' | ']' | '}') if open == 0 => return,
                _ => {}
            }
            self.words = rest;
        }
    }
}

/// Returns the value of a bare word: a string, unless it is a keyword.
fn named(name: &str) -> Value {
    match name {
        "undef" => Value::Undef,
        "true" => true.into(),
        "false" => false.into(),
        name => name.parse::<i64>().map_or_else(|_| name.into(), Value::from),
    }
}
