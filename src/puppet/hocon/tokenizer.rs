//! Splits the text of a document into tokens, one at a time.
//!
//! Source: `tokenizer.rb`.

use std::collections::VecDeque;

use super::token::{Kind, Literal, Token};
use super::{Name, Refusal, Result, number};
use crate::puppet::document::MAX_DEPTH;

/// A character, or a byte that is not part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Char {
    Text(char),
    Broken,
}

impl Char {
    /// Returns the character, which must be valid where the gem matches it with a regular expression.
    fn matched(self) -> Result<char> {
        match self {
            Char::Text(c) => Ok(c),
            Char::Broken => Err(Refusal::Ruby("invalid byte sequence in UTF-8".into())),
        }
    }
}

/// A token, or the problem that stands for one.
type Pulled = std::result::Result<Token, Stop>;

/// The reason why there is no token.
enum Stop {
    Problem(Kind),
    Refusal(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refusal(refusal)
    }
}

fn problem(what: &str, message: &str) -> Stop {
    Stop::Problem(Kind::Problem(format!("'{what}' ({message})")))
}

/// Spaces, which are text between two simple values and have no meaning elsewhere.
#[derive(Default)]
struct Spaces {
    text: Vec<u8>,
    follows_simple: bool,
}

impl Spaces {
    /// Returns the spaces in front of `token`.
    fn before(&mut self, token: &Token, line: u32) -> Option<Token> {
        let is_text = token.is_simple() && self.follows_simple;
        self.follows_simple = token.is_simple();
        let text: Name = std::mem::take(&mut self.text).into();
        let kind = if is_text { Kind::Unquoted(text.clone()) } else { Kind::Blank(text.clone()) };
        (!text.is_empty()).then_some(Token { kind, line, origin: Some(line) })
    }
}

/// The tokens of a document.
pub(super) struct Tokenizer<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
    depth: usize,
    spaces: Spaces,
    queue: VecDeque<Token>,
}

impl<'a> Tokenizer<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Tokenizer<'a> {
        Tokenizer { bytes, at: 0, line: 1, depth: 0, spaces: Spaces::default(), queue: VecDeque::new() }
    }

    /// Returns the next token; after the end, the end again.
    pub(super) fn next(&mut self) -> Result<Token> {
        if let Some(token) = self.queue.pop_front() {
            return Ok(token);
        }
        let mut spaces = std::mem::take(&mut self.spaces);
        let pulled = self.pull(&mut spaces);
        let token = match pulled {
            Ok(token) => token,
            Err(Stop::Refusal(refusal)) => return Err(refusal),
            Err(Stop::Problem(kind)) => Token { kind, line: self.line, origin: Some(self.line) },
        };
        let before = spaces.before(&token, self.line);
        self.spaces = spaces;
        let Some(before) = before else { return Ok(token) };
        self.queue.push_back(token);
        Ok(before)
    }

    fn peek(&self) -> Option<(Char, usize)> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let first = rest.get(..rest.len().min(4)).unwrap_or(rest);
        let text = match std::str::from_utf8(first) {
            Ok(text) => text,
            Err(e) => std::str::from_utf8(first.get(..e.valid_up_to()).unwrap_or_default()).unwrap_or_default(),
        };
        Some(text.chars().next().map_or((Char::Broken, 1), |c| (Char::Text(c), c.len_utf8())))
    }

    fn char(&mut self) -> Option<Char> {
        let (char, length) = self.peek()?;
        self.at += length;
        Some(char)
    }

    fn is_next(&self, text: &[u8]) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text))
    }

    fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// Returns the text since `start`, for a message.
    fn shown(&self, start: usize) -> String {
        String::from_utf8_lossy(self.since(start)).into_owned()
    }

    /// Returns a sign. The gem gives signs no line.
    fn sign(&self, kind: Kind) -> Token {
        Token { kind, line: self.line, origin: None }
    }

    fn token(&self, kind: Kind) -> Token {
        Token { kind, line: self.line, origin: Some(self.line) }
    }

    fn pull(&mut self, spaces: &mut Spaces) -> Pulled {
        loop {
            let start = self.at;
            let Some(char) = self.char() else { return Ok(self.sign(Kind::End)) };
            let c = char.matched()?;
            if c == '\n' {
                let token = self.token(Kind::Newline);
                self.line += 1;
                return Ok(token);
            }
            if !c.is_whitespace() {
                return self.pull_from(start, c);
            }
            spaces.text.extend(self.since(start));
        }
    }

    /// Returns the token that begins with `c` at `start`.
    fn pull_from(&mut self, start: usize, c: char) -> Pulled {
        let kind = match c {
            '#' => return Ok(self.comment()),
            '/' if self.is_next(b"/") => {
                self.at += 1;
                return Ok(self.comment());
            }
            '"' => return self.quoted(start),
            '$' => return self.substitution(),
            ':' => Kind::Colon,
            ',' => Kind::Comma,
            '=' => Kind::Equals,
            '{' => Kind::OpenCurly,
            '}' => Kind::CloseCurly,
            '[' => Kind::OpenSquare,
            ']' => Kind::CloseSquare,
            '+' => self.plus_equals()?,
            '0'..='9' | '-' => return self.number(start),
            c if is_reserved(c) => {
                return Err(problem(
                    &c.to_string(),
                    &format!("Reserved character '{c}' is not allowed outside quotes"),
                ));
            }
            _ => return self.unquoted(start),
        };
        Ok(self.sign(kind))
    }

    fn comment(&mut self) -> Token {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        self.at += length;
        self.token(Kind::Comment(rest.get(..length).unwrap_or_default().into()))
    }

    fn plus_equals(&mut self) -> std::result::Result<Kind, Stop> {
        let start = self.at;
        if self.char() == Some(Char::Text('=')) {
            return Ok(Kind::PlusEquals);
        }
        let what = self.shown_char(start);
        Err(problem(&what, &format!("'+' not followed by =, '{what}' not allowed after '+'")))
    }

    /// Returns the character at `start`, as the gem shows it.
    fn shown_char(&self, start: usize) -> String {
        if start >= self.bytes.len() { "-1".into() } else { self.shown(start) }
    }

    fn number(&mut self, start: usize) -> Pulled {
        while self.bytes.get(self.at).is_some_and(|b| number::CHARACTERS.contains(b)) {
            self.at += 1;
        }
        let written = self.since(start);
        let text = std::str::from_utf8(written).unwrap_or_default();
        if let Some(number) = number::read(text)? {
            return Ok(self.token(Kind::Literal(Literal::Number(number), written.into())));
        }
        match text.chars().find(|c| is_reserved(*c)) {
            Some(c) => Err(problem(&c.to_string(), &format!("Reserved character '{c}'is not allowed outside quotes"))),
            None => Ok(self.token(Kind::Unquoted(written.into()))),
        }
    }

    /// Reads text without quotes, or the keyword that it begins with.
    fn unquoted(&mut self, start: usize) -> Pulled {
        loop {
            let word = match self.since(start) {
                b"true" => Some(Literal::Boolean(true)),
                b"false" => Some(Literal::Boolean(false)),
                b"null" => Some(Literal::Null),
                _ => None,
            };
            if let Some(word) = word {
                return Ok(self.token(Kind::Literal(word, self.since(start).into())));
            }
            let Some((char, length)) = self.peek() else { break };
            let ends = match char {
                Char::Text(c) if is_reserved(c) => true,
                char => char.matched()?.is_whitespace() || self.is_next(b"//"),
            };
            if ends {
                break;
            }
            self.at += length;
        }
        Ok(self.token(Kind::Unquoted(self.since(start).into())))
    }

    fn quoted(&mut self, start: usize) -> Pulled {
        let line = self.line;
        let mut text = Vec::new();
        loop {
            let at = self.at;
            let Some(char) = self.char() else {
                return Err(problem("-1", "End of input but string quote was still open"));
            };
            match char {
                Char::Text('\\') => self.escape(&mut text)?,
                Char::Text('"') => break,
                char if char.matched()?.is_control() => {
                    let what = self.shown(at);
                    let message =
                        format!("JSON does not allow unescaped {what} in quoted strings, use a backslash escape");
                    return Err(problem(&what, &message));
                }
                _ => text.extend(self.since(at)),
            }
        }
        if text.is_empty() && self.is_next(b"\"") {
            self.at += 1;
            text = self.multi_line()?;
        }
        let literal = Literal::Quoted(text.into());
        Ok(Token { kind: Kind::Literal(literal, self.since(start).into()), line, origin: Some(self.line) })
    }

    /// Returns the text after three quotes, up to the last three of the quotes that end it.
    fn multi_line(&mut self) -> std::result::Result<Vec<u8>, Stop> {
        let start = self.at;
        let mut quotes = 0;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => quotes += 1,
                _ if quotes >= 3 => {
                    return Ok(self.bytes.get(start..self.at - 3).unwrap_or_default().to_vec());
                }
                None => return Err(problem("-1", "End of input but triple-quoted string was still open")),
                Some(b) => {
                    quotes = 0;
                    self.line += u32::from(*b == b'\n');
                }
            }
            self.at += 1;
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> std::result::Result<(), Stop> {
        let start = self.at;
        let Some(char) = self.char() else {
            return Err(problem("", "End of input but backslash in string had nothing after it"));
        };
        text.push(match char.matched()? {
            c @ ('"' | '\\' | '/') => c as u8,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'u' => {
                text.extend(self.code_point()?);
                return Ok(());
            }
            _ => {
                // The gem takes the character for the place of the problem.
                let c = self.shown(start);
                return Err(Stop::Problem(Kind::Broken(format!("undefined method `line_number' for \"{c}\":String"))));
            }
        });
        Ok(())
    }

    /// Returns the character of four digits, which the gem reads as leniently as Ruby's `hex`. Half a surrogate pair
    /// counts as a character.
    fn code_point(&mut self) -> std::result::Result<Vec<u8>, Stop> {
        let start = self.at;
        for _ in 0..4 {
            if self.char().is_none() {
                return Err(problem("-1", "End of input but expecting 4 hex digits for \\uXXXX escape"));
            }
        }
        let digits = self.shown(start);
        let code = hex(&digits).ok_or_else(|| Refusal::Ruby("pack(U): value out of range".into()))?;
        if code == u32::from('_') {
            let message = format!("Malformed hex digits after \\u escape in string: '{digits}'");
            return Err(problem(&digits, &message));
        }
        let low = |shift: u32| u8::try_from(0x80 | ((code >> shift) & 0x3f)).unwrap_or_default();
        Ok(match char::from_u32(code) {
            Some(c) => c.to_string().into_bytes(),
            None => vec![0xed, low(6), low(0)],
        })
    }

    fn substitution(&mut self) -> Pulled {
        let start = self.at;
        if self.char() != Some(Char::Text('{')) {
            let what = self.shown_char(start);
            return Err(problem(&what, &format!("'$' not followed by {{, '{what}' not allowed after '$'")));
        }
        let optional = self.is_next(b"?");
        self.at += usize::from(optional);
        if self.depth >= MAX_DEPTH {
            return Err(Refusal::too_deep().into());
        }
        self.depth += 1;
        let expression = self.expression();
        self.depth -= 1;
        Ok(self.token(Kind::Substitution { optional, expression: expression? }))
    }

    fn expression(&mut self) -> std::result::Result<Vec<Token>, Stop> {
        let mut spaces = Spaces::default();
        let mut expression = Vec::new();
        loop {
            let token = self.pull(&mut spaces)?;
            match token.kind {
                Kind::CloseCurly => return Ok(expression),
                Kind::End => return Err(problem(&token.show(), "Substitution ${ was not closed with a }")),
                _ => {
                    expression.extend(spaces.before(&token, self.line));
                    expression.push(token);
                }
            }
        }
    }
}

fn is_reserved(c: char) -> bool {
    "$\"{}[]:=,+#`^?!@*&\\".contains(c)
}

/// Reads a few characters as Ruby's `hex` does, or returns `None` for a negative number.
fn hex(text: &str) -> Option<u32> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (negative, text) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..)?),
        Some(b'+') => (false, text.get(1..)?),
        _ => (false, text),
    };
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let (mut number, mut separated) = (0, true);
    for c in text.chars() {
        match c.to_digit(16) {
            Some(digit) => number = number * 16 + digit,
            None if c == '_' && !separated => {}
            None => break,
        }
        separated = c == '_';
    }
    (!negative || number == 0).then_some(number)
}
