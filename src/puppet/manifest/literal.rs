//! Literal values, and strings of which pieces are known, among the words of a manifest.

use std::sync::Arc;

use super::tokens::{Token, Word, closing, peek, takes};
use crate::value::Value;

/// The maximum nesting of values; deeper ones are not read.
const MAX_DEPTH: usize = 16;

/// An expression, as far as it is known without evaluating anything.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Literal(Value),
    /// A string: the pieces of it that are known, with something unknown between any two.
    Template(Vec<String>),
    /// A variable, by its name.
    Variable(String),
    /// A hash whose names are known, with some values that are not literals.
    Options(Vec<(String, Expression)>),
    /// The items of an array as separate arguments; they are unknown if the value is not an array.
    Splat(Box<Expression>),
    /// A hash that is made of others.
    Composed,
    /// Anything else. In a manifest, it cannot be options.
    Other,
}

impl Expression {
    pub(super) fn literal(&self) -> Option<&Value> {
        if let Expression::Literal(value) = self { Some(value) } else { None }
    }

    /// Returns the entry `name` if this is a hash that has it.
    pub(super) fn entry(&self, name: &str) -> Option<Expression> {
        match self {
            Expression::Literal(Value::Hash(hash)) => hash.get(name).cloned().map(Expression::Literal),
            Expression::Options(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()),
            _ => None,
        }
    }

    /// Makes a hash.
    fn hash(entries: Vec<(String, Expression)>) -> Expression {
        let literal =
            |(name, value): &(String, Expression)| Some((Value::from(name.as_str()), value.literal()?.clone()));
        match entries.iter().map(literal).collect::<Option<Vec<_>>>() {
            Some(entries) => Expression::Literal(Value::Hash(Arc::new(entries.into_iter().collect()))),
            None => Expression::Options(entries),
        }
    }
}

/// Returns the arguments of a call, or `None` if there is no call here.
///
/// They are in parentheses; a function without them takes the one argument after it.
pub(super) fn arguments(words: &[Word]) -> Option<Vec<Expression>> {
    let mut reader = Reader { words, depth: 0 };
    if !reader.takes('(') {
        return matches!(reader.peek(), Some(Token::Text(_) | Token::Template(_)))
            .then(|| reader.simple().into_iter().collect());
    }
    reader.list(Some(')'))
}

/// Parses words as arguments with commas between them; returns `None` if they are something else.
pub(super) fn list(words: &[Word]) -> Option<Vec<Expression>> {
    Reader { words, depth: 0 }.list(None)
}

/// Returns the literal at the beginning of words, and the number of its words.
pub(super) fn leading(words: &[Word]) -> Option<(Value, usize)> {
    let mut reader = Reader { words, depth: 0 };
    let Some(Expression::Literal(value)) = reader.simple() else { return None };
    Some((value, words.len() - reader.words.len()))
}

/// An item between commas.
enum Item {
    Value(Expression),
    /// A key and a value with an arrow between them.
    Entry(Expression, Expression),
}

struct Reader<'w> {
    words: &'w [Word],
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        peek(self.words)
    }

    fn takes(&mut self, sign: char) -> bool {
        takes(&mut self.words, sign)
    }

    /// Reads arguments up to a sign, or the end of the words.
    fn list(&mut self, end: Option<char>) -> Option<Vec<Expression>> {
        let (mut arguments, mut options) = (Vec::new(), Vec::new());
        while !end.map_or(self.words.is_empty(), |end| self.takes(end)) {
            // Options at the end need no braces.
            match self.item()? {
                Item::Entry(Expression::Literal(Value::String(name)), value) => options.push((name.to_string(), value)),
                Item::Entry(value, _) | Item::Value(value) => arguments.push(value),
            }
            if !self.takes(',') && self.peek() != end.map(Token::Sign).as_ref() {
                return None;
            }
        }
        if !options.is_empty() {
            arguments.push(Expression::hash(options));
        }
        Some(arguments)
    }

    /// Reads up to the next comma or closing bracket; `None` at the end of the text.
    fn item(&mut self) -> Option<Item> {
        let before = self.words.len();
        let value = self.value();
        if self.peek() == Some(&Token::Arrow) {
            self.words = &self.words[1..];
            return Some(Item::Entry(value, self.value()));
        }
        (self.words.len() < before).then_some(Item::Value(value))
    }

    /// Reads the expression up to the next comma or closing bracket.
    fn value(&mut self) -> Expression {
        let start = self.words;
        let value = self.simple();
        if value.is_none() {
            self.words = start;
        }
        let is_whole = matches!(self.peek(), None | Some(Token::Arrow | Token::Sign(',' | ')' | ']' | '}')));
        if is_whole {
            return value.unwrap_or_else(|| unknown(start));
        }
        self.skip();
        let read = &start[..start.len() - self.words.len()];
        let is_sum = read.iter().any(|word| word.token == Token::Sign('+'));
        let rest = &read[read.len().min(1)..];
        match value {
            Some(Expression::Literal(Value::Hash(_)) | Expression::Options(_)) => Expression::Composed,
            Some(Expression::Variable(_)) if is_sum => Expression::Composed,
            Some(Expression::Literal(Value::String(text))) if matches!(read[0].token, Token::Text(_)) => {
                extended_string(vec![text.to_string()], rest)
            }
            Some(Expression::Template(pieces)) => extended_string(pieces, rest),
            _ => unknown(read),
        }
    }

    /// Reads a literal, a string or a variable; `None` if something else begins here.
    fn simple(&mut self) -> Option<Expression> {
        let (word, rest) = self.words.split_first()?;
        let simple = match &word.token {
            Token::Text(text) => Expression::Literal(text.as_str().into()),
            Token::Name(name) => Expression::Literal(bare_word(name)),
            Token::Template(template) => Expression::Template(template.pieces.clone()),
            Token::Variable(name) => Expression::Variable(name.clone()),
            Token::Sign('*') => {
                self.words = rest;
                return Some(Expression::Splat(Box::new(self.simple()?)));
            }
            Token::Sign('[') => return self.nested(Reader::array),
            Token::Sign('{') => return self.nested(Reader::hash),
            _ => return None,
        };
        self.words = rest;
        Some(simple)
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<Expression>) -> Option<Expression> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Reads an array of literals.
    fn array(&mut self) -> Option<Expression> {
        self.takes('[');
        let mut items = Vec::new();
        while !self.takes(']') {
            let Expression::Literal(item) = self.value() else { return None };
            items.push(item);
            if !self.takes(',') && self.peek() != Some(&Token::Sign(']')) {
                return None;
            }
        }
        Some(Expression::Literal(Value::Array(items.into())))
    }

    fn hash(&mut self) -> Option<Expression> {
        self.takes('{');
        let mut entries = Vec::new();
        while !self.takes('}') {
            let Item::Entry(Expression::Literal(Value::String(name)), value) = self.item()? else { return None };
            entries.push((name.to_string(), value));
            if !self.takes(',') && self.peek() != Some(&Token::Sign('}')) {
                return None;
            }
        }
        Some(Expression::hash(entries))
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

/// Returns a string that a Ruby operator extends or inserts something into.
fn extended_string(mut pieces: Vec<String>, rest: &[Word]) -> Expression {
    let sign = |at: usize| rest.get(at).map(|word| &word.token);
    match (sign(0), sign(1)) {
        (Some(Token::Sign('+')), _) | (Some(Token::Sign('<')), Some(Token::Sign('<'))) => {}
        (Some(Token::Sign('%')), _) => {
            let place = pieces.iter().enumerate().find_map(|(number, piece)| Some((number, piece.find('%')?)));
            let Some((number, at)) = place else { return Expression::Template(pieces) };
            pieces.truncate(number + 1);
            pieces[number].truncate(at);
        }
        _ => return Expression::Other,
    }
    pieces.push(String::new());
    Expression::Template(pieces)
}

/// Functions that return texts.
pub(super) const MAKING_TEXTS: [&str; 9] =
    ["regsubst", "downcase", "upcase", "capitalize", "join", "sprintf", "strip", "lstrip", "rstrip"];

/// Returns an expression that is not read: an unknown value, or `Other` if it cannot be options.
pub(super) fn unknown(words: &[Word]) -> Expression {
    let sign = |at: usize| words.get(at).map(|word| &word.token);
    let is_call = sign(1) == Some(&Token::Sign('('));
    let is_type = |name: &str| name.starts_with(|first: char| first.is_ascii_uppercase() || first == ':') && !is_call;
    // A method or an index after the call could turn its text into options.
    let is_text = |name: &&str| is_call && MAKING_TEXTS.contains(name) && !goes_on(sign(closing(words, 1) + 1));
    match sign(0) {
        Some(Token::Name(name)) if is_type(name) || is_text(&&**name) => Expression::Other,
        Some(Token::Variable(_)) if selects_text(words) => Expression::Other,
        Some(Token::Name(_) | Token::Variable(_) | Token::Sign('(')) => Expression::Variable(String::new()),
        Some(Token::Sign('{')) => Expression::Composed,
        Some(Token::Sign('*')) => Expression::Splat(Box::new(Expression::Other)),
        _ => Expression::Other,
    }
}

/// Returns true if the next word continues the expression before it, and so changes its value.
pub(super) fn goes_on(next: Option<&Token>) -> bool {
    matches!(next, Some(Token::Sign('.' | '[' | '?' | '+')))
}

/// Returns true for a variable, or a place in it, with a selector whose results are all texts.
fn selects_text(words: &[Word]) -> bool {
    let sign = |at: usize| words.get(at).map(|word| &word.token);
    let mut at = 1;
    while sign(at) == Some(&Token::Sign('[')) {
        at = closing(words, at) + 1;
    }
    if (sign(at), sign(at + 1)) != (Some(&Token::Sign('?')), Some(&Token::Sign('{'))) {
        return false;
    }
    let end = closing(words, at + 1);
    let is_end = |next: usize| matches!(sign(next), Some(Token::Sign(',' | '}')));
    let is_text = |at: usize| matches!(sign(at), Some(Token::Text(_) | Token::Template(_))) && is_end(at + 1);
    (at..end).all(|at| sign(at) != Some(&Token::Arrow) || is_text(at + 1)) && !goes_on(sign(end + 1))
}

/// Returns the value of a bare word: a string, unless it is a keyword.
fn bare_word(name: &str) -> Value {
    match name {
        "undef" => Value::Undef,
        "true" => true.into(),
        "false" => false.into(),
        name => name.parse::<i64>().map_or_else(|_| name.into(), Value::from),
    }
}
