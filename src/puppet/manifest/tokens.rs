//! Splits manifests into words; parts of the lexer serve Ruby, too.
//!
//! Text that Puppet's lexer refuses is skipped.
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

/// Returns the token of the next word.
pub(super) fn peek(words: &[Word]) -> Option<&Token> {
    words.first().map(|word| &word.token)
}

/// Removes `sign` from the start of the words. Returns true if it was there.
pub(super) fn takes(words: &mut &[Word], sign: char) -> bool {
    let is_next = peek(words) == Some(&Token::Sign(sign));
    if is_next {
        *words = &words[1..];
    }
    is_next
}

/// The maximum number of words that are read of a call, or of a value.
pub(super) const MOST_WORDS: usize = 500;

/// Returns the first words, up to [`MOST_WORDS`].
pub(super) fn first(words: &[Word]) -> &[Word] {
    &words[..words.len().min(MOST_WORDS)]
}

/// Returns the place of the sign that closes the bracket at `open`, or the end.
pub(super) fn closing(words: &[Word], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate().skip(open) {
        match word.token {
            Token::Sign('{' | '(' | '[') => depth += 1,
            Token::Sign('}' | ')' | ']') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    words.len()
}

/// The character that stands for something unknown in a text.
const HOLE: char = '\u{fffc}';

/// The maximum number of lines that are counted between the word of a heredoc and its text.
const MOST_HEREDOCS: usize = 100;

/// A string that is not known as a whole.
#[derive(Debug, PartialEq)]
pub(super) struct Template {
    /// The pieces of it that are known.
    pub(super) pieces: Vec<String>,
    /// The expressions between them: an escape with its backslash, or an empty text for anything unknown.
    pub(super) between: Vec<String>,
}

impl Template {
    /// Returns its text, with [`HOLE`] for what is not known.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            text.push_str(piece);
            text.extend(self.between.get(at).map(|inner| match inner.as_bytes() {
                [b'\\', b'n'] => '\n',
                [b'\\', b't' | b's' | b'r'] => ' ',
                [b'\\', sign @ (b'\'' | b'"' | b'\\' | b'$' | b'#')] => char::from(*sign),
                _ => HOLE,
            }));
        }
        text
    }

    /// Puts the lines of a heredoc between two unknown pieces, since Puppet removes their margins.
    fn fill(&mut self, before: &str, lines: &str, has_variables: bool) {
        let read = if has_variables { Lexer::new(lines, 1, '$').interpolated(None) } else { None };
        let (mut pieces, between) = match read {
            Some(Token::Template(Template { pieces, between })) => (pieces, between),
            _ => (vec![lines.to_owned()], Vec::new()),
        };
        pieces.first_mut().into_iter().for_each(|piece| piece.insert_str(0, before));
        let ends = || [String::new()];
        self.pieces = ends().into_iter().chain(pieces).chain(ends()).collect();
        self.between = ends().into_iter().chain(between).chain(ends()).collect();
    }
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
    /// A string with variables, escapes or other parts that are not known.
    Template(Template),
    /// `=>`
    Arrow,
    /// Any other sign.
    Sign(char),
}

/// Splits a manifest into its words.
pub(super) fn tokens(text: &str) -> Vec<Word> {
    tokens_from(text, 1)
}

/// Splits a text that begins on `line` into its words.
pub(super) fn tokens_from(text: &str, line: u32) -> Vec<Word> {
    let mut lexer = Lexer::new(text, line, '$');
    lexer.run();
    lexer.words
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    rest: Peekable<CharIndices<'t>>,
    pub(super) line: u32,
    /// The sign before the brackets of an expression in a string.
    sigil: char,
    /// True if nothing separates the next word from the last one.
    pub(super) is_joined: bool,
    /// The end marks of the heredocs whose texts begin on the next line, and the places of their words.
    heredocs: Vec<(String, usize)>,
    pub(super) words: Vec<Word>,
}

impl<'t> Lexer<'t> {
    /// Makes a lexer for a text that begins on `line`, in a language that has `sigil` before expressions in strings.
    pub(super) fn new(text: &'t str, line: u32, sigil: char) -> Lexer<'t> {
        let rest = text.char_indices().peekable();
        Lexer { text, rest, line, sigil, is_joined: false, heredocs: Vec::new(), words: Vec::new() }
    }

    fn run(&mut self) {
        while let Some((at, sign)) = self.next() {
            match sign {
                '\n' => self.read_heredocs(),
                '#' => self.skip_line(),
                '/' if self.peek() == Some('*') => self.skip_comment(),
                '/' if self.may_begin_regex() => self.regex(),
                '\'' => self.single_quoted(),
                '"' => {
                    let line = self.line;
                    if let Some(token) = self.interpolated(Some('"')) {
                        self.push_at(token, line);
                    }
                }
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

    pub(super) fn next(&mut self) -> Option<(usize, char)> {
        let next = self.rest.next();
        if matches!(next, Some((_, '\n'))) {
            self.line += 1;
        }
        next
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, sign)| *sign)
    }

    pub(super) fn push(&mut self, token: Token) {
        self.push_at(token, self.line);
    }

    fn push_at(&mut self, token: Token, line: u32) {
        self.words.push(Word { token, line, is_joined: self.is_joined });
        self.is_joined = true;
    }

    /// Goes to the end of a name that begins at `start`.
    pub(super) fn word_end(&mut self, start: usize) -> usize {
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

    pub(super) fn skip_line(&mut self) {
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

    /// Returns true if a slash begins a regular expression here; after a value, it divides.
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

    pub(super) fn single_quoted(&mut self) {
        let (mut pieces, line) = (vec![String::new()], self.line);
        while let Some((_, sign)) = self.next() {
            let known = match sign {
                '\'' => {
                    let between = vec![String::new(); pieces.len() - 1];
                    self.push_at(string(pieces, between), line);
                    return;
                }
                '\\' if matches!(self.peek(), Some('\'' | '\\')) => self.next().map(|(_, sign)| sign),
                HOLE => {
                    pieces.push(String::new());
                    None
                }
                sign => Some(sign),
            };
            pieces.last_mut().into_iter().for_each(|piece| piece.extend(known));
        }
    }

    /// Reads a string with variables up to `end`, or to the end of the text if that is `None`. Strings inside of
    /// `${...}` may have variables in turn.
    pub(super) fn interpolated(&mut self, end: Option<char>) -> Option<Token> {
        let (mut pieces, mut between) = (vec![String::new()], Vec::<String>::new());
        let mut open = 0usize;
        while let Some((at, sign)) = self.next() {
            let inner = match sign {
                sign if open == 0 && Some(sign) == end => return Some(string(pieces, between)),
                '\\' if open == 0 => {
                    let escaped = self.next().map(|(_, sign)| sign);
                    if let Some(known) = escaped.and_then(|escaped| self.code(escaped)) {
                        pieces.last_mut().into_iter().for_each(|piece| piece.push(known));
                        continue;
                    }
                    Some([Some(sign), escaped].into_iter().flatten().collect())
                }
                HOLE if open == 0 => Some(String::new()),
                sign if open == 0 && sign == self.sigil && self.peek() == Some('{') => {
                    self.next();
                    open += 1;
                    Some(String::new())
                }
                '$' if open == 0 && self.sigil == '$' => {
                    let end = self.word_end(at);
                    (end > at + 1).then(|| self.text[at + 1..end].to_owned())
                }
                _ => None,
            };
            if let Some(inner) = inner {
                pieces.push(String::new());
                between.push(inner);
            } else if open == 0 {
                pieces.last_mut().into_iter().for_each(|piece| piece.push(sign));
            } else {
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
        end.is_none().then(|| string(pieces, between))
    }

    /// Skips the digits of an escape after its letter. Returns the character of `\u`, the only such escape in Puppet.
    fn code(&mut self, escaped: char) -> Option<char> {
        let is_in_braces = escaped == 'u' && self.peek() == Some('{');
        let most = match escaped {
            'u' if is_in_braces => 6,
            'u' => 4,
            'x' | '0'..='7' => 2,
            _ => return None,
        };
        self.rest.next_if(|_| is_in_braces);
        let mut digits = String::new();
        while let Some((_, digit)) = self.rest.next_if(|(_, sign)| digits.len() < most && sign.is_ascii_hexdigit()) {
            digits.push(digit);
        }
        let is_closed = !is_in_braces || self.rest.next_if(|(_, sign)| *sign == '}').is_some();
        let is_whole = is_closed && escaped == 'u' && (is_in_braces || digits.len() == most);
        u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).filter(|_| is_whole)
    }

    /// Notes a heredoc, `@(END)` or `@("END":json/L)`: its text is on the lines that follow.
    fn heredoc(&mut self) {
        self.next();
        let mut name = String::new();
        while let Some((_, sign)) = self.next() {
            match sign {
                ')' => {
                    self.heredocs.push((name, self.words.len()));
                    let (pieces, between) = (vec![String::new(); 2], vec![String::new()]);
                    self.push(Token::Template(Template { pieces, between }));
                    return;
                }
                '\n' => return,
                sign => name.push(sign),
            }
        }
    }

    fn read_heredocs(&mut self) {
        self.is_joined = false;
        for (name, word) in std::mem::take(&mut self.heredocs) {
            let end = name.split([':', '/']).next().unwrap_or_default().trim();
            let (from, line) = (self.position(), self.line);
            let mut to = from;
            while self.peek().is_some() {
                to = self.position();
                self.skip_line();
                let stop = self.position();
                self.next();
                if self.text[to..stop].trim_start_matches([' ', '\t', '|', '-']).trim_end()
                    == end.trim_matches('"').trim()
                {
                    break;
                }
            }
            if let Some(Word { token: Token::Template(template), line: of_word, .. }) = self.words.get_mut(word) {
                // The lines between the word and its text belong to other heredocs.
                let before = "\n".repeat(usize::try_from(line - *of_word).unwrap_or_default().min(MOST_HEREDOCS));
                template.fill(&before, &self.text[from..to], end.starts_with('"'));
            }
        }
    }

    fn position(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |(at, _)| *at)
    }
}

/// Makes a string of its pieces.
fn string(mut pieces: Vec<String>, between: Vec<String>) -> Token {
    match &mut pieces[..] {
        [piece] => Token::Text(std::mem::take(piece)),
        _ => Token::Template(Template { pieces, between }),
    }
}

pub(super) fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}
