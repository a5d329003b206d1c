//! The tokens of Puppet's language.
//!
//! A token is of any part of the language; `syntax` knows which of them make a type.
//!
//! Source: `pops/parser/lexer2.rb`, `slurp_support.rb`, `interpolation_support.rb`.

use std::borrow::Cow;

use num_bigint::BigInt;

use crate::puppet::Error;
use crate::puppet::regex::RubyRegex;
use crate::value::Value;
use crate::value::rich::Rich;

pub(super) type Parsed<T> = Result<T, Error>;

/// A token and its place in the text.
#[derive(Debug)]
pub(super) struct Token<'t> {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The text that an error shows.
    pub(super) shown: Cow<'t, str>,
    pub(super) form: Form,
}

/// The form of a token.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// An operator, a bracket, a keyword. `[` and `(` that begin an operand wherever they are have a blank before them.
    Sign(&'static str),
    /// `Integer`.
    Reference,
    /// `name`, `a::b`.
    Name,
    /// `'text'`, `a-b`, `17`, `true`, `undef`, `default`.
    Literal(Value),
    /// A number that is too large.
    Huge,
    /// `/regular expression/`.
    Regex(String),
    /// `$variable`, `"text with a $variable"`.
    Evaluated,
}

/// Longer ones precede those that they begin with.
const SIGNS: &[&str] = &[
    "<<|", "|>>", "=>", "+=", "+>", "-=", "==", "=~", "!=", "!~", "<=", ">=", "<<", ">>", "->", "<-", "~>", "<~", "<|",
    "|>", "@@", "@", "~", "?", "|", "+", "-", "*", "/", "%", "<", ">", "[", "]", "{", "}", "(", ")", ",", "!", ":",
    ";", ".", "=",
];

/// Words that are no names; the first three are operators.
const KEYWORDS: [&str; 16] = [
    "and", "or", "in", "case", "class", "define", "if", "elsif", "else", "inherits", "node", "unless", "function",
    "type", "attr", "private",
];

/// Returns the tokens, and an error if the text after them cannot be split.
pub(super) fn tokens(text: &str) -> (Vec<Token<'_>>, Option<Error>) {
    let mut tokens = Vec::new();
    let fault = read_tokens(text, &mut tokens).err();
    (tokens, fault)
}

fn read_tokens<'t>(text: &'t str, tokens: &mut Vec<Token<'t>>) -> Parsed<()> {
    if text.starts_with('\u{feff}') {
        return Err(Error::unknown("a byte order mark in a type"));
    }
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if let Some(length) = ignored_length(text, at, c)? {
            at += length;
            continue;
        }
        let token = token(text, at, c, tokens.last())?;
        at = token.end;
        tokens.push(token);
    }
    Ok(())
}

fn token<'t>(text: &'t str, at: usize, c: char, before: Option<&Token<'t>>) -> Parsed<Token<'t>> {
    let rest = &text[at..];
    let of = |length: usize, form: Form| Token { start: at, end: at + length, shown: rest[..length].into(), form };
    let with = |(length, shown, form): (usize, String, Form)| Token { shown: shown.into(), ..of(length, form) };
    Ok(match c {
        'A'..='Z' => of(reference_length(text, at)?, Form::Reference),
        ':' if rest.starts_with("::") => match rest[2..].chars().next() {
            None => return Err(Error::bare("undefined method `>=' for nil:NilClass")),
            Some('A'..='Z') => of(reference_length(text, at)?, Form::Reference),
            Some('a'..='z' | '_') => word(rest, of),
            Some(_) => return Err(error_at(text, at + 2, "Illegal fully qualified name")),
        },
        'a'..='z' | '_' => word(rest, of),
        '0'..='9' => number_token(text, at).map(|(length, form)| of(length, form))?,
        '\'' => {
            let (from, end) = slurp(text, at + 1, &['\'']).ok_or_else(|| unclosed_quote(text, at + 1, "\"'\""))?;
            let content = single_unescaped(&text[from..end]);
            with((end + 1 - at, content.clone(), Form::Literal(content.into())))
        }
        '"' => with(double_quoted(text, at)?),
        '/' if may_begin_operand(before)
            && let Some((length, pattern)) = regex(rest) =>
        {
            RubyRegex::compile(&pattern)?;
            let shown = Value::Rich(Rich::Regexp(pattern.as_str().into()).into()).to_s();
            with((length, shown, Form::Regex(pattern)))
        }
        '$' => {
            let length = variable_length(&rest[1..]);
            Token { shown: rest[1..=length].into(), ..of(1 + length, Form::Evaluated) }
        }
        '@' if rest.starts_with("@(") => return Err(Error::unknown("a heredoc in a type")),
        '[' if text[..at].chars().next_back().is_none_or(is_blank) => of(1, Form::Sign(" [")),
        '(' if text[..at].rsplit('\n').next().is_some_and(|line| line.chars().all(is_blank)) => of(1, Form::Sign(" (")),
        _ => {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| error_at(text, at, "Syntax error at ''"))?;
            of(sign.len(), Form::Sign(sign))
        }
    })
}

/// Returns true if an operand may follow a token, where a slash begins a regular expression.
fn may_begin_operand(before: Option<&Token<'_>>) -> bool {
    before.is_none_or(|token| match &token.form {
        Form::Sign(sign) => !matches!(*sign, ")" | "]" | "|>" | "|>>"),
        Form::Literal(value) => matches!(value, Value::Undef | Value::Symbol(_)),
        _ => false,
    })
}

fn is_blank(c: char) -> bool {
    matches!(c, '\t' | '\r' | '\n') || c.is_whitespace() && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns the length of the blank or comment that begins at `at` with `c`, or `None` if there is none.
fn ignored_length(text: &str, at: usize, c: char) -> Parsed<Option<usize>> {
    let rest = &text[at..];
    Ok(match c {
        c if is_blank(c) => Some(c.len_utf8()),
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
pub(super) fn error_at(text: &str, at: usize, what: &str) -> Error {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    Error::puppet(format!("{what} (line: {line}, column: {column})"))
}

/// Returns the error for a quote that is never closed, with the beginning of the text after `from`.
fn unclosed_quote(text: &str, from: usize, quote: &str) -> Error {
    let followed: String = match &text[from..] {
        "" => "<eof>".into(),
        rest => rest.chars().take(5).collect::<String>() + "...",
    };
    let followed = followed.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
    error_at(text, from, &format!("Unclosed quote after {quote} followed by '{followed}'"))
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// Returns the end of the word that begins at `from`.
fn word_end(text: &str, from: usize) -> usize {
    text[from..].find(|c: char| !is_word(c)).map_or(text.len(), |length| from + length)
}

/// Returns the length of a name with capitals at `at`: `A::B`.
fn reference_length(text: &str, at: usize) -> Parsed<usize> {
    let mut end = at;
    loop {
        let start = if text[end..].starts_with("::") { end + 2 } else { end };
        if !text[start..].starts_with(|c: char| c.is_ascii_uppercase()) {
            break;
        }
        end = word_end(text, start);
    }
    if !text[end..].starts_with("::") {
        return Ok(end - at);
    }
    if !text[at..].starts_with("::") {
        return Err(error_at(text, end + 1, "Illegal class reference"));
    }
    if end + 3 > text.len() {
        return Err(Error::bare("index out of range"));
    }
    Err(error_at(text, text.ceil_char_boundary(end + 3), "Illegal fully qualified class reference"))
}

/// Returns the token of a bare word: `a`, `a::b`, `a-b`, a keyword.
fn word<'t>(text: &'t str, of: impl Fn(usize, Form) -> Token<'t>) -> Token<'t> {
    let mut at = 0;
    let mut is_name = true;
    loop {
        let start = if text[at..].starts_with("::") { at + 2 } else { at };
        if !text[start..].starts_with(|c: char| c == '_' || c.is_ascii_lowercase()) {
            break;
        }
        let length = text[start..].find(|c: char| !is_word(c) && c != '-').unwrap_or(text.len() - start);
        let part = text[start..start + length].trim_end_matches('-');
        is_name &= !part.starts_with('_') && !part.contains('-');
        at = start + part.len();
    }
    let literal = |value| of(at, Form::Literal(value));
    match &text[..at] {
        "default" => literal(Value::Symbol("default".into())),
        "undef" => literal(Value::Undef),
        "true" => literal(Value::Boolean(true)),
        "false" => literal(Value::Boolean(false)),
        word => match KEYWORDS.iter().find(|keyword| **keyword == word) {
            Some(keyword) => of(at, Form::Sign(keyword)),
            None if is_name => of(at, Form::Name),
            None => literal(word.into()),
        },
    }
}

/// Returns the length of the name of a variable, which may be empty: `a`, `::a::b`.
fn variable_length(text: &str) -> usize {
    let mut length = 0;
    let mut at = if text.starts_with("::") { 2 } else { 0 };
    while word_end(text, at) > at {
        length = word_end(text, at);
        if !text[length..].starts_with("::") {
            break;
        }
        at = length + 2;
    }
    length
}

/// Returns the length of the number at `at`, and its form.
fn number_token(text: &str, at: usize) -> Parsed<(usize, Form)> {
    let digits = |from: usize| {
        let length = text[from..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - from);
        (length > 0).then_some(from + length)
    };
    let is_end = |end: &usize| !text[*end..].starts_with(|c: char| c == '_' || c.is_alphanumeric());
    let exponent = |end: usize| {
        let from = text[end..].starts_with(['e', 'E']).then_some(end + 1)?;
        digits(if text[from..].starts_with('-') { from + 1 } else { from })
    };
    let end = if text[at..].starts_with("0x") || text[at..].starts_with("0X") {
        let length = text[at + 2..].find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len() - at - 2);
        Some(at + 2 + length).filter(|end| length > 0 && is_end(end))
    } else {
        let whole = digits(at).unwrap_or(at);
        let fraction = if text[whole..].starts_with('.') { digits(whole + 1) } else { None };
        let ends = [fraction.and_then(exponent), fraction, exponent(whole).filter(|_| fraction.is_none()), Some(whole)];
        ends.into_iter().flatten().find(is_end)
    };
    if let Some(end) = end {
        let shown = &text[at..end];
        check_number(text, at, shown)?;
        return Ok((end - at, number(shown).map_or(Form::Huge, Form::Literal)));
    }
    // Puppet shows what follows a dot together with the digits before it, if that is not at the beginning.
    let before = text[..at].strip_suffix('.').filter(|_| at > 1).map_or(at, |before| {
        let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
        if digits == 0 { at } else { before.len() - digits }
    });
    let shown = &text[before..word_end(text, at)];
    check_number(text, before, shown)?;
    Err(error_at(text, before + 1, &format!("Illegal number '{shown}'")))
}

/// Refuses what is no number: Puppet's `assert_numeric`.
fn check_number(text: &str, at: usize, shown: &str) -> Parsed<()> {
    let lower = shown.to_ascii_lowercase();
    let all = |digits: &str, is_digit: fn(&u8) -> bool| !digits.is_empty() && digits.bytes().all(|b| is_digit(&b));
    let is_decimal = |text: &str| all(text, u8::is_ascii_digit);
    let (kind, is_sound) = if let Some(digits) = lower.strip_prefix("0x") {
        ("Not a valid hex number ", all(digits, u8::is_ascii_hexdigit))
    } else if lower.len() > 1 && lower.starts_with('0') && !lower.starts_with("0.") {
        ("Not a valid octal number ", all(&lower[1..], |b| matches!(b, b'0'..=b'7')))
    } else if lower.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['e', '.']) {
        let (base, exponent) = lower.split_once('e').map_or((&*lower, None), |(base, rest)| (base, Some(rest)));
        let (whole, fraction) = base.split_once('.').map_or((base, None), |(whole, rest)| (whole, Some(rest)));
        let exponent = exponent.is_none_or(|digits| is_decimal(digits.strip_prefix('-').unwrap_or(digits)));
        ("Not a valid decimal number ", is_decimal(whole) && fraction.is_none_or(is_decimal) && exponent)
    } else {
        ("Illegal number ", is_decimal(&lower))
    };
    let shown = if kind.starts_with('I') { format!("'{shown}'") } else { shown.to_owned() };
    if is_sound { Ok(()) } else { Err(error_at(text, at, &format!("{kind}{shown}"))) }
}

fn number(text: &str) -> Option<Value> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return BigInt::parse_bytes(hex.as_bytes(), 16).map(Value::big);
    }
    if lower.contains(['.', 'e']) {
        return lower.parse().ok().filter(|f: &f64| f.is_finite()).map(Value::Float);
    }
    let radix = if lower.len() > 1 && lower.starts_with('0') { 8 } else { 10 };
    BigInt::parse_bytes(lower.as_bytes(), radix).map(Value::big)
}

/// Returns the places of a quoted text and of the sign that ends it, or `None` if nothing does.
///
/// A sign with an odd number of backslashes before it does not end the text. As in Puppet, the first character does
/// not either if a sign follows that does: `'''` is one quote.
fn slurp(text: &str, from: usize, signs: &[char]) -> Option<(usize, usize)> {
    let sign_after = |at: usize| {
        let backslashes = text[at..].bytes().take_while(|b| *b == b'\\').count();
        let at = at + backslashes;
        (backslashes % 2 == 0 && text[at..].starts_with(signs)).then_some(at)
    };
    let mut is_line_start = true;
    text[from..].char_indices().find_map(|(at, c)| {
        let at = from + at;
        let after = if c == '\\' { None } else { sign_after(at + c.len_utf8()) };
        let found = after.or_else(|| if is_line_start { sign_after(at) } else { None });
        is_line_start = c == '\n';
        found.map(|end| (from, end))
    })
}

/// Replaces `\'` and `\\`, the only escapes in single quotes.
fn single_unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next @ ('\\' | '\'')) if c == '\\' => {
                out.push(*next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// Returns the length of a text in double quotes, the part that an error shows, and its form, which is a literal if
/// nothing in the text has to be evaluated.
fn double_quoted(text: &str, start: usize) -> Parsed<(usize, String, Form)> {
    let mut content = String::new();
    let mut is_literal = true;
    // Puppet's error names the text that it matched last.
    let mut last = "\"";
    let mut at = start + 1;
    loop {
        let (from, end) = slurp(text, at, &['"', '$']).ok_or_else(|| unclosed_quote(text, at, &format!("'{last}'")))?;
        let part = double_unescaped(&text[from..end])?;
        if is_literal {
            content.push_str(&part);
        }
        let rest = &text[end + 1..];
        if text[end..].starts_with('"') {
            let form = if is_literal { Form::Literal(content.as_str().into()) } else { Form::Evaluated };
            return Ok((end + 1 - start, content, form));
        }
        let (name, length) = if let Some(inner) = rest.strip_prefix('{') {
            let length = word_end(inner, 0);
            if length == 0 || !inner[length..].starts_with('}') || inner.starts_with(|c: char| !c.is_ascii_lowercase())
            {
                return Err(Error::unknown("an expression in a text in a type"));
            }
            (&inner[..length], length + 2)
        } else {
            let length = variable_length(rest);
            (&rest[..length], length)
        };
        if name.is_empty() && is_literal {
            content.push('$');
        }
        is_literal &= name.is_empty();
        last = name;
        at = end + 1 + length;
    }
}

/// Replaces the escapes in double quotes.
fn double_unescaped(text: &str) -> Parsed<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let Some(next) = after.chars().next() else {
            out.push('\\');
            return Ok(out);
        };
        rest = &after[next.len_utf8()..];
        match next {
            '\\' | '$' | '\'' | '"' => out.push(next),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            's' => out.push(' '),
            '\n' => {}
            '\r' if rest.starts_with('\n') => rest = &rest[1..],
            'u' if let Some((length, c)) = unicode(rest) => {
                out.push(c.ok_or_else(|| Error::bare("invalid byte sequence in UTF-8"))?);
                rest = &rest[length..];
            }
            other => out.extend(['\\', other]),
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Reads `XXXX` or `{X...}`: its length, and the character, if there is one of that number.
fn unicode(text: &str) -> Option<(usize, Option<char>)> {
    let (length, digits) = match text.strip_prefix('{') {
        Some(rest) => (rest.find('}')? + 2, &rest[..rest.find('}')?]),
        None => (4, text.get(..4)?),
    };
    let is_number = (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_number.then(|| (length, u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)))
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
