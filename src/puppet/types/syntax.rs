//! The part of Puppet's language that type expressions are written in: references, brackets, literals.
//!
//! [`parse`] makes a [`Node`] of a text; it does not know which types exist. Puppet parses the rest of the language
//! as well, and then finds that it is not a type.
//!
//! Source: `pops/parser/lexer2.rb`, `egrammar.ra`.

use num_bigint::BigInt;

use crate::puppet::Error;
use crate::value::Value;

/// The maximum nesting of brackets.
const DEPTH_LIMIT: usize = 100;

/// An expression and its text.
#[derive(Debug)]
pub(super) struct Node<'t> {
    /// The text as it is written.
    pub(super) text: &'t str,
    /// The parsed expression.
    pub(super) kind: Kind<'t>,
}

/// A parsed expression.
#[derive(Debug)]
pub(super) enum Kind<'t> {
    /// `Integer`, as it is written.
    Reference(&'t str),
    /// `X[a, b]`.
    Access(Box<Node<'t>>, Vec<Node<'t>>),
    /// `name`, `'text'`, `17`, `true`, `undef`, `default`.
    Literal(Value),
    /// `/regular expression/`.
    Regex(String),
    /// `[a, b]`.
    List(Vec<Node<'t>>),
    /// `{a => b}`.
    Hash(Vec<(Node<'t>, Node<'t>)>),
    /// `-x`.
    Minus(Box<Node<'t>>),
    /// Any expression that is not a type.
    Other,
}

type Parsed<T> = Result<T, Error>;

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Parsed<Node<'_>> {
    let (tokens, fault) = tokens(text);
    let mut parser = Parser { text, tokens, fault, at: 0, depth: 0 };
    if parser.tokens.is_empty() && parser.fault.is_none() {
        return Ok(Node { text: "", kind: Kind::Other });
    }
    let mut node = parser.expression()?;
    while let Some(token) = parser.next() {
        if token.sign == "," {
            let is_last = parser.at + 1 == parser.tokens.len();
            let place = error_at(text, token.start, "illegal comma separated argument list");
            return Err(parser.fault.unwrap_or(if is_last { end_of_input() } else { place }));
        }
        if token.sign == ";" {
            return Err(end_of_input());
        }
        // Several statements are not a type.
        parser.expression()?;
        node = Node { text: text.trim(), kind: Kind::Other };
    }
    parser.fault.map_or(Ok(node), Err)
}

#[derive(Debug)]
struct Token<'t> {
    start: usize,
    end: usize,
    /// The sign; empty for a name or literal.
    sign: &'t str,
    literal: Option<Kind<'t>>,
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    /// The error of the text after the tokens, if it cannot be split.
    fault: Option<Error>,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn next(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at)
    }

    fn is(&self, sign: &str) -> bool {
        self.next().is_some_and(|token| token.literal.is_none() && token.sign == sign)
    }

    fn error(&self) -> Error {
        match self.next() {
            Some(token) => {
                let shown = self.text[token.start..token.end].trim_matches(['\'', '"']);
                error_at(self.text, token.start, &format!("Syntax error at '{shown}'"))
            }
            None => self.fault.clone().unwrap_or_else(end_of_input),
        }
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if !self.is(sign) {
            return Err(self.error());
        }
        self.at += 1;
        Ok(())
    }

    /// Parses an operand and the operators on it; with an operator, it is not a type.
    fn expression(&mut self) -> Parsed<Node<'t>> {
        let start = self.at;
        let mut node = self.operand()?;
        while let Some(sign) = self.next().filter(|token| token.literal.is_none()).map(|token| token.sign)
            && is_operator(sign)
        {
            self.at += 1;
            let is_name = |token: &Token<'_>| matches!(token.literal, Some(Kind::Literal(Value::String(_))));
            if sign == "." && !self.next().is_some_and(is_name) {
                return Err(self.error());
            }
            self.operand()?;
            node = Node { text: self.span(start), kind: Kind::Other };
        }
        Ok(node)
    }

    fn span(&self, start: usize) -> &'t str {
        match (self.tokens.get(start), self.tokens.get(self.at.saturating_sub(1))) {
            (Some(first), Some(last)) if first.start <= last.end => &self.text[first.start..last.end],
            _ => "",
        }
    }

    fn operand(&mut self) -> Parsed<Node<'t>> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(Error::unknown(format!("a type nests more than {DEPTH_LIMIT} deep")));
        }
        let start = self.at;
        let kind = self.primary()?;
        let text = self.span(start);
        // Puppet's text of an expression in parentheses lacks the closing one.
        let text = if text.starts_with('(') { text.trim_end_matches(')') } else { text };
        let mut node = Node { text, kind };
        if self.is("{") && matches!(node.kind, Kind::Reference(_) | Kind::Access(..) | Kind::Literal(Value::String(_)))
        {
            self.at += 1;
            self.entries()?;
            node = Node { text: self.span(start), kind: Kind::Other };
        }
        while self.is("[") {
            self.at += 1;
            let parameters = self.list("]")?;
            if parameters.is_empty() {
                self.at -= 1;
                return Err(self.error());
            }
            node = Node { text: self.span(start), kind: Kind::Access(Box::new(node), parameters) };
        }
        self.depth -= 1;
        Ok(node)
    }

    fn primary(&mut self) -> Parsed<Kind<'t>> {
        let Some(token) = self.tokens.get_mut(self.at) else { return Err(self.error()) };
        if let Some(literal) = token.literal.take() {
            self.at += 1;
            return Ok(literal);
        }
        let sign = token.sign;
        match sign {
            "-" => {
                self.at += 1;
                Ok(Kind::Minus(Box::new(self.operand()?)))
            }
            "[" | " [" => {
                self.at += 1;
                Ok(Kind::List(self.list("]")?))
            }
            "{" => {
                self.at += 1;
                self.entries()
            }
            "(" => {
                self.at += 1;
                self.expression()?;
                self.expect(")")?;
                Ok(Kind::Other)
            }
            "!" | "*" => {
                self.at += 1;
                self.operand()?;
                Ok(Kind::Other)
            }
            _ => Err(self.error()),
        }
    }

    /// Parses expressions separated by commas, up to `end`, with an optional comma before it. Entries without braces
    /// make a hash, which is the last expression.
    fn list(&mut self, end: &str) -> Parsed<Vec<Node<'t>>> {
        let mut nodes = Vec::new();
        let mut entries = Vec::new();
        let start = self.at;
        while !self.is(end) {
            let node = self.expression()?;
            if self.is("=>") {
                self.at += 1;
                entries.push((node, self.expression()?));
            } else if entries.is_empty() {
                nodes.push(node);
            } else {
                return Err(Error::unknown("what follows entries without braces"));
            }
            if !self.is(",") {
                break;
            }
            self.at += 1;
        }
        if !entries.is_empty() {
            nodes.push(Node { text: self.span(start), kind: Kind::Hash(entries) });
        }
        self.expect(end)?;
        Ok(nodes)
    }

    fn entries(&mut self) -> Parsed<Kind<'t>> {
        let mut entries = Vec::new();
        while !self.is("}") {
            let key = self.expression()?;
            self.expect("=>")?;
            entries.push((key, self.expression()?));
            if !self.is(",") {
                break;
            }
            self.at += 1;
        }
        self.expect("}")?;
        Ok(Kind::Hash(entries))
    }
}

fn is_operator(sign: &str) -> bool {
    ["=", "+=", "-=", ".", "+", "-", "*", "/", "%", "<<", ">>", "==", "!=", "=~", "!~", "<", ">", "<=", ">="]
        .contains(&sign)
}

const SIGNS: [&str; 33] = [
    "=>", "+=", "-=", "==", "=~", "!=", "!~", "<=", ">=", "<<", ">>", "->", "<-", "~>", "+", "-", "*", "/", "%", "<",
    ">", "[", "]", "{", "}", "(", ")", ",", "!", ":", ";", ".", "=",
];

/// Returns the tokens, and an error if the text after them cannot be split.
fn tokens(text: &str) -> (Vec<Token<'_>>, Option<Error>) {
    let mut tokens = Vec::new();
    let fault = read_tokens(text, &mut tokens).err();
    (tokens, fault)
}

fn read_tokens<'t>(text: &'t str, tokens: &mut Vec<Token<'t>>) -> Parsed<()> {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if let Some(length) = ignored_length(text, at, c)? {
            at += length;
            continue;
        }
        let value_before = tokens.last().is_some_and(|last| last.literal.is_some() || matches!(last.sign, "]" | ")"));
        let (length, sign, literal) = match c {
            'A'..='Z' | ':' if let Some(length) = reference_length(rest) => {
                if rest[length..].starts_with("::") {
                    return Err(error_at(text, at + length + 1, "Illegal class reference"));
                }
                (length, "", Some(Kind::Reference(&rest[..length])))
            }
            'a'..='z' | '_' | ':' if let Some(length) = word_length(rest) => (
                length,
                "",
                Some(word_literal(&rest[..length]).ok_or_else(|| keyword_error(text, at, &rest[..length]))?),
            ),
            '0'..='9' => {
                let length = number_length(rest);
                (length, "", Some(Kind::Literal(number(&rest[..length]).ok_or_else(|| no_number(text, at, length))?)))
            }
            '\'' => {
                let (length, content) = single_quoted(rest).ok_or_else(|| unclosed_quote(text, at, "\"'\""))?;
                (length, "", Some(Kind::Literal(content.into())))
            }
            '"' => {
                let (length, literal) = double_quoted(rest).ok_or_else(|| unclosed_quote(text, at, "'\"'"))?;
                (length, "", Some(literal))
            }
            '/' if !value_before && let Some((length, pattern)) = regex(rest) => {
                (length, "", Some(Kind::Regex(pattern)))
            }
            '[' if at == 0 || text[..at].ends_with([' ', '\t', '\r', '\n']) => (1, " [", None),
            '$' => {
                (1 + rest[1..].find(|c: char| !is_word(c) && c != ':').unwrap_or(rest.len() - 1), "", Some(Kind::Other))
            }
            '@' if rest.starts_with("@(") => {
                return Err(Error::unknown("a heredoc in a type"));
            }
            _ => {
                let sign = SIGNS
                    .iter()
                    .find(|sign| rest.starts_with(**sign))
                    .ok_or_else(|| error_at(text, at, "Syntax error at ''"))?;
                (sign.len(), *sign, None)
            }
        };
        tokens.push(Token { start: at, end: at + length, sign, literal });
        at += length;
    }
    Ok(())
}

/// Returns the length of the blank or comment that begins at `at` with `c`, or `None` if there is none.
fn ignored_length(text: &str, at: usize, c: char) -> Parsed<Option<usize>> {
    let rest = &text[at..];
    Ok(match c {
        c if c.is_whitespace() => Some(c.len_utf8()),
        '#' => Some(rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => {
            // The end shares no sign with the beginning: `/*/` is not closed.
            let length = rest[2..].find("*/").ok_or_else(|| error_at(text, at, "Unclosed multiline comment"))?;
            Some(length + 4)
        }
        _ => None,
    })
}

/// Returns an error with its line and column.
fn error_at(text: &str, at: usize, what: &str) -> Error {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    Error::puppet(format!("{what} (line: {line}, column: {column})"))
}

fn end_of_input() -> Error {
    Error::puppet("Syntax error at end of input")
}

/// Returns the error for a quote that is never closed, with the beginning of the quoted text.
fn unclosed_quote(text: &str, at: usize, quote: &str) -> Error {
    let rest = &text[at + 1..];
    let followed: String = match rest {
        "" => "<eof>".into(),
        rest => rest.chars().take(5).collect::<String>() + "...",
    };
    let followed = followed.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
    error_at(text, at + 1, &format!("Unclosed quote after {quote} followed by '{followed}'"))
}

fn no_number(text: &str, at: usize, length: usize) -> Error {
    let shown = &text[at..at + length];
    if shown.parse::<f64>().is_ok_and(f64::is_infinite) {
        let text = format!("Internal Error, NUMBER token does not contain a valid number, {shown}");
        return Error::puppet(text);
    }
    let what = match shown.to_ascii_lowercase() {
        lower if lower.starts_with("0x") => match lower[2..].split_once('.') {
            // If only digits precede the dot, Puppet leaves out the `0x` and calls the number decimal.
            Some((digits, _)) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                return error_at(text, at + 2, &format!("Not a valid decimal number {}", &shown[2..]));
            }
            _ => format!("Not a valid hex number {shown}"),
        },
        lower if lower.starts_with('0') && !lower.starts_with("0.") => format!("Not a valid octal number {shown}"),
        lower if lower.trim_start_matches(|sign: char| sign.is_ascii_digit()).starts_with('e') => {
            format!("Not a valid decimal number {shown}")
        }
        _ => format!("Illegal number '{shown}'"),
    };
    error_at(text, at, &what)
}

fn keyword_error(text: &str, at: usize, word: &str) -> Error {
    if word == "type" {
        return Error::unknown("a declaration in a type");
    }
    error_at(text, at, &format!("Syntax error at '{word}'"))
}

/// Returns the length of a name with capitals: `A::B`.
fn reference_length(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let start = if text[at..].starts_with("::") { at + 2 } else { at };
        if !text[start..].starts_with(|c: char| c.is_ascii_uppercase()) {
            return (at > 0).then_some(at);
        }
        at = start + text[start..].find(|c: char| !is_word(c)).unwrap_or(text.len() - start);
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// Returns the length of a bare word: `a`, `a::b`, `a-b`.
fn word_length(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let start = if text[at..].starts_with("::") { at + 2 } else { at };
        if !text[start..].starts_with(|c: char| c == '_' || c.is_ascii_lowercase()) {
            return (at > 0).then_some(at);
        }
        let length = text[start..].find(|c: char| !is_word(c) && c != '-').unwrap_or(text.len() - start);
        at = start + text[start..start + length].trim_end_matches('-').len();
    }
}

/// Returns the literal of a word, or `None` for a keyword that cannot be part of a type.
fn word_literal(word: &str) -> Option<Kind<'_>> {
    const KEYWORDS: [&str; 16] = [
        "case", "class", "define", "if", "elsif", "else", "inherits", "node", "and", "or", "in", "unless", "function",
        "type", "attr", "private",
    ];
    Some(Kind::Literal(match word {
        "default" => Value::Symbol("default".into()),
        "undef" => Value::Undef,
        "true" | "false" => Value::Boolean(word == "true"),
        word if KEYWORDS.contains(&word) => return None,
        word => word.into(),
    }))
}

fn number_length(text: &str) -> usize {
    let end = |from: usize| text[from..].find(|c: char| !is_word(c)).map_or(text.len(), |at| from + at);
    let mut length = end(0);
    let digits_follow = |at: usize| text[at..].starts_with(|c: char| c.is_ascii_digit());
    let has_exponent =
        |length: usize| text[..length].ends_with(['e', 'E']) && !text.starts_with("0x") && !text.starts_with("0X");
    if has_exponent(length) && text[length..].starts_with('-') && digits_follow(length + 1) {
        return end(length + 1);
    }
    if text[length..].starts_with('.') && digits_follow(length + 1) {
        length = end(length + 1);
        if has_exponent(length) && text[length..].starts_with('-') && digits_follow(length + 1) {
            length = end(length + 1);
        }
    }
    length
}

fn number(text: &str) -> Option<Value> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return BigInt::parse_bytes(hex.as_bytes(), 16).map(Value::big);
    }
    if !lower.bytes().all(|b| b.is_ascii_digit() || b".e-".contains(&b)) {
        return None;
    }
    if lower.contains(['.', 'e']) {
        // At most one leading zero is allowed.
        let is_octal = lower.starts_with("00");
        return if is_octal { None } else { lower.parse().ok().filter(|f: &f64| f.is_finite()).map(Value::Float) };
    }
    let radix = if lower.len() > 1 && lower.starts_with('0') { 8 } else { 10 };
    BigInt::parse_bytes(lower.as_bytes(), radix).map(Value::big)
}

/// Returns the length and the content of a text in single quotes, where only `\'` and `\\` are escapes.
fn single_quoted(text: &str) -> Option<(usize, String)> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match (c, chars.peek()) {
            ('\'', _) => return Some((at + 1, out)),
            ('\\', Some((_, next @ ('\\' | '\'')))) => {
                out.push(*next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    None
}

/// Returns the length and the content of a text in double quotes, which is not a literal if anything in it has to be
/// evaluated.
fn double_quoted(text: &str) -> Option<(usize, Kind<'_>)> {
    let mut out = String::new();
    let mut evaluated = false;
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match (c, chars.peek().map(|(_, next)| *next)) {
            ('"', _) => {
                let kind = if evaluated { Kind::Other } else { Kind::Literal(out.into()) };
                return Some((at + 1, kind));
            }
            ('$', Some(next)) if next == '{' || next == ':' || is_word(next) => evaluated = true,
            ('\\', Some(next)) => {
                chars.next();
                match next {
                    '\\' | '$' | '\'' | '"' => out.push(next),
                    'n' => out.push('\n'),
                    'r' => out.push('\r'),
                    't' => out.push('\t'),
                    's' => out.push(' '),
                    '\n' => {}
                    'u' => {
                        let rest = &text[at + 2..];
                        let (length, c) = unicode(rest)?;
                        out.push(c);
                        for _ in 0..length {
                            chars.next();
                        }
                    }
                    other => out.extend(['\\', other]),
                }
            }
            _ => out.push(c),
        }
    }
    None
}

/// Reads `XXXX` or `{X...}`: its length and the character.
fn unicode(text: &str) -> Option<(usize, char)> {
    let (length, digits) = match text.strip_prefix('{') {
        Some(rest) => (rest.find('}')? + 2, &rest[..rest.find('}')?]),
        None => (4, text.get(..4)?),
    };
    Some((length, char::from_u32(u32::from_str_radix(digits, 16).ok()?)?))
}

/// Returns the length and the pattern of a regular expression, in which `\/` is a slash.
fn regex(text: &str) -> Option<(usize, String)> {
    let mut at = 1;
    loop {
        at += text.get(at..)?.find('/')? + 1;
        let backslashes = text[..at - 1].bytes().rev().take_while(|b| *b == b'\\').count();
        if backslashes % 2 == 0 {
            return Some((at, text[1..at - 1].replace("\\/", "/")));
        }
    }
}
