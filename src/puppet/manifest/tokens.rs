//! The words of a manifest.
//!
//! Text that the lexer of Puppet refuses is passed over.
//!
//! Source: `pops/parser/lexer2.rb`.

use std::iter::Peekable;
use std::str::CharIndices;

/// A word with its place.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) token: Token,
    /// Counted from 1.
    pub(super) line: u32,
    /// True if nothing separates it from the word before.
    pub(super) is_joined: bool,
}

/// Returns the next of some words.
pub(super) fn peek(words: &[Word]) -> Option<&Token> {
    words.first().map(|word| &word.token)
}

/// Takes the sign off the words if they begin with it, and tells if they did.
pub(super) fn takes(words: &mut &[Word], sign: char) -> bool {
    let is_next = peek(words) == Some(&Token::Sign(sign));
    if is_next {
        *words = &words[1..];
    }
    is_next
}

/// A string that is not known as a whole.
#[derive(Debug, PartialEq)]
pub(super) struct Template {
    /// The pieces of it that are known.
    pub(super) pieces: Vec<String>,
    /// The expressions between any two of them; a lone backslash for an escape, nothing where there is no telling.
    pub(super) between: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Token {
    /// A name, a type, a keyword or a number.
    Name(String),
    /// A string without variables.
    Text(String),
    /// A variable, by its name.
    Variable(String),
    /// A regular expression.
    Regex(String),
    /// A string with variables, escapes or the like.
    Template(Template),
    /// `=>`
    Arrow,
    /// Any other sign.
    Sign(char),
}

/// Splits a manifest into its words.
pub(super) fn tokens(text: &str) -> Vec<Word> {
    let mut lexer = Lexer {
        text,
        rest: text.char_indices().peekable(),
        line: 1,
        is_joined: false,
        heredocs: Vec::new(),
        words: Vec::new(),
    };
    lexer.run();
    lexer.words
}

struct Lexer<'t> {
    text: &'t str,
    rest: Peekable<CharIndices<'t>>,
    line: u32,
    /// True if nothing separates what comes from the last word.
    is_joined: bool,
    /// The ends of the heredocs that begin with the next line.
    heredocs: Vec<String>,
    words: Vec<Word>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some((at, sign)) = self.next() {
            match sign {
                '\n' => self.skip_heredocs(),
                '#' => self.skip_line(),
                '/' if self.peek() == Some('*') => self.skip_comment(),
                '/' if self.may_begin_regex() => self.regex(),
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '@' if self.peek() == Some('(') => self.heredoc(),
                '$' => {
                    let end = self.word_end(at);
                    self.push(Token::Variable(self.text[at + 1..end].to_owned()));
                }
                '=' if self.peek() == Some('>') => {
                    self.next();
                    self.push(Token::Arrow);
                }
                sign if is_word(sign) || sign == ':' && self.peek() == Some(':') => {
                    let end = self.word_end(at);
                    self.push(Token::Name(self.text[at..end].to_owned()));
                }
                sign if sign.is_whitespace() => self.is_joined = false,
                sign => self.push(Token::Sign(sign)),
            }
        }
    }

    fn next(&mut self) -> Option<(usize, char)> {
        let next = self.rest.next();
        if matches!(next, Some((_, '\n'))) {
            self.line += 1;
        }
        next
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, sign)| *sign)
    }

    fn push(&mut self, token: Token) {
        self.push_at(token, self.line);
    }

    fn push_at(&mut self, token: Token, line: u32) {
        self.words.push(Word { token, line, is_joined: self.is_joined });
        self.is_joined = true;
    }

    /// Goes to the end of a name that begins at `start`.
    fn word_end(&mut self, start: usize) -> usize {
        let mut end = start + self.text[start..].chars().next().map_or(0, char::len_utf8);
        while let Some((at, sign)) = self.rest.peek().copied().filter(|(_, sign)| is_word(*sign) || *sign == ':') {
            // `a:` is a title, `a::b` is a name.
            let is_alone = sign == ':' && !self.text[at + 1..].starts_with(':') && !self.text[..at].ends_with(':');
            if is_alone {
                break;
            }
            self.next();
            end = at + sign.len_utf8();
        }
        end
    }

    fn skip_line(&mut self) {
        self.is_joined = false;
        while self.peek().is_some_and(|sign| sign != '\n') {
            self.next();
        }
    }

    fn skip_comment(&mut self) {
        self.is_joined = false;
        self.next();
        let mut last = ' ';
        while let Some((_, sign)) = self.next() {
            if (last, sign) == ('*', '/') {
                break;
            }
            last = sign;
        }
    }

    /// Returns true if a slash begins a regular expression here; behind a value it divides.
    fn may_begin_regex(&self) -> bool {
        match self.words.last().map(|word| &word.token) {
            None | Some(Token::Arrow) => true,
            Some(Token::Name(name)) => matches!(&**name, "node" | "and" | "or" | "in" | "if" | "unless" | "case"),
            Some(Token::Text(_) | Token::Variable(_) | Token::Regex(_) | Token::Template(_)) => false,
            Some(Token::Sign(sign)) => !matches!(sign, ')' | ']'),
        }
    }

    fn regex(&mut self) {
        let mut text = String::new();
        while let Some((_, sign)) = self.next() {
            match sign {
                '\\' if self.peek() == Some('/') => text.extend(self.next().map(|(_, sign)| sign)),
                '\\' => text.extend([Some(sign), self.next().map(|(_, sign)| sign)].into_iter().flatten()),
                '/' | '\n' => break,
                sign => text.push(sign),
            }
        }
        self.push(Token::Regex(text));
    }

    fn single_quoted(&mut self) {
        let (mut text, line) = (String::new(), self.line);
        while let Some((_, sign)) = self.next() {
            match sign {
                '\'' => {
                    self.push_at(Token::Text(text), line);
                    return;
                }
                '\\' if matches!(self.peek(), Some('\'' | '\\')) => text.extend(self.next().map(|(_, sign)| sign)),
                sign => text.push(sign),
            }
        }
    }

    /// Reads a string in double quotes. Inside of `${...}` there may be strings, which may have variables in turn.
    fn double_quoted(&mut self) {
        let (mut pieces, mut between, line) = (vec![String::new()], Vec::<String>::new(), self.line);
        let mut open = 0usize;
        while let Some((at, sign)) = self.next() {
            match sign {
                '"' if open == 0 => {
                    let is_known = pieces.len() == 1;
                    let token = if is_known {
                        Token::Text(pieces.remove(0))
                    } else {
                        Token::Template(Template { pieces, between })
                    };
                    self.push_at(token, line);
                    return;
                }
                '\\' if open == 0 => {
                    self.next();
                    pieces.push(String::new());
                    between.push(sign.to_string());
                }
                '$' if open == 0 && self.peek() == Some('{') => {
                    self.next();
                    open += 1;
                    pieces.push(String::new());
                    between.push(String::new());
                }
                '$' if open == 0 => {
                    let end = self.word_end(at);
                    if end > at + 1 {
                        pieces.push(String::new());
                        between.push(self.text[at + 1..end].to_owned());
                    } else {
                        pieces.last_mut().into_iter().for_each(|piece| piece.push(sign));
                    }
                }
                sign if open == 0 => pieces.last_mut().into_iter().for_each(|piece| piece.push(sign)),
                sign => {
                    open = match sign {
                        '{' => open + 1,
                        '}' => open - 1,
                        _ => open,
                    };
                    // An escaped sign ends nothing.
                    let escaped = if sign == '\\' { self.next() } else { None };
                    if let Some(inner) = between.last_mut().filter(|_| open > 0) {
                        inner.push(sign);
                        inner.extend(escaped.map(|(_, sign)| sign));
                    }
                }
            }
        }
    }

    /// Notes a heredoc, `@(END)` or `@("END":json/L)`: its text is on the lines that follow.
    fn heredoc(&mut self) {
        self.next();
        let mut name = String::new();
        while let Some((_, sign)) = self.next() {
            match sign {
                ')' => {
                    let end = name.split([':', '/']).next().unwrap_or_default();
                    self.heredocs.push(end.trim().trim_matches('"').trim().to_owned());
                    let (pieces, between) = (vec![String::new(); 2], vec![String::new()]);
                    self.push(Token::Template(Template { pieces, between }));
                    return;
                }
                '\n' => return,
                sign => name.push(sign),
            }
        }
    }

    fn skip_heredocs(&mut self) {
        self.is_joined = false;
        for end in std::mem::take(&mut self.heredocs) {
            while self.peek().is_some() {
                let start = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
                self.skip_line();
                let stop = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
                self.next();
                if self.text[start..stop].trim_start_matches([' ', '\t', '|', '-']).trim_end() == end {
                    break;
                }
            }
        }
    }
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}
