//! Escapes, so that no text of the data has a meaning in Markdown, in HTML or to a forge.

use std::fmt::Write as _;

use crate::report::words::visible::{ELLIPSIS, visible};

/// Formats text as code, in Markdown or in HTML.
pub(super) fn code(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '/' | '-' | '=');
    if !text.is_empty() && text.chars().all(plain) {
        return format!("`{text}`");
    }
    html_code(text)
}

/// Formats text as code in HTML. Forges do not look for names in code.
pub(super) fn html_code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text, ""))
}

/// An invisible separator for text that a forge would take for a name, a number or an address.
pub(super) const EMPTY_COMMENT: &str = "<!-- -->";

/// Forges take this many hexadecimal digits for the id of a commit.
const DIGITS_OF_ID: usize = 7;

/// Escapes text so that neither HTML nor Markdown nor the forge gives it a meaning.
pub(super) fn html(text: &str) -> String {
    escaped(text, EMPTY_COMMENT)
}

/// Returns Markdown that is safe at the beginning of a line: bots look there for commands in the source, and some
/// commands are only a word (`recheck`). hierad's own marks begin only with the characters that are kept.
pub(super) fn at_start(markdown: &str) -> String {
    let mut rest = markdown.chars();
    match rest.next().filter(|c| !"*<[&`…".contains(*c)) {
        Some(c) => format!("&#{};{}", u32::from(c), rest.as_str()),
        None => markdown.to_owned(),
    }
}

/// Escapes ASCII punctuation, unless it has no meaning where it stands; all other characters are kept. Forges look
/// for names, numbers and addresses in the rendered text, which has no escapes, so anything that would begin one is
/// also followed by `nothing`.
fn escaped(text: &str, nothing: &str) -> String {
    let text = visible(text);
    let mut out = String::with_capacity(text.len());
    let (mut before, mut is_first, mut hex_digits) = (' ', true, 0);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        hex_digits = if c.is_ascii_hexdigit() { hex_digits + 1 } else { 0 };
        if hex_digits == DIGITS_OF_ID {
            out.push_str(nothing);
            hex_digits = 1;
        }
        if c.is_ascii_punctuation() && !is_literal(c, &out, is_first, next) {
            _ = write!(out, "&#{};", u32::from(c));
        } else {
            out.push(c);
        }
        if c.is_ascii_punctuation() && begins_reference(c, before, next) {
            out.push_str(nothing);
        }
        (before, is_first) = (c, is_first && c.is_whitespace());
    }
    out
}

/// Returns true for punctuation that has no meaning after the text `preceding` and before the character `next`.
/// `is_first` is true if only blanks precede it.
fn is_literal(c: char, preceding: &str, is_first: bool, next: char) -> bool {
    let before = preceding.chars().next_back().unwrap_or(' ');
    // A list would begin with `-` or `1.` or `1)`, a command with `/`; a link would have `](`, `://` or `www.` in it.
    match c {
        '.' if before.is_ascii_digit() => next.is_ascii_digit(),
        '_' | '.' => before.is_alphanumeric() && !before.is_ascii_digit() && before != 'w' && before != 'W',
        // An arrow may stand between words.
        '-' if next == '>' => before == ' ' && !is_first,
        '>' => next == ' ' && preceding.ends_with(" -"),
        '-' => before != ' ',
        ')' => !before.is_ascii_digit(),
        ':' => next == ' ',
        '/' => !is_first,
        ',' | ';' | '(' | '\'' => true,
        _ => false,
    }
}

/// Returns true for punctuation that may become part of a reference or an address when rendered, depending on the
/// characters around it: such as `@team`, `#1`, `!1`, `ABC-1`, `:name:`, `[[page]]`, `://`, `www.`.
fn begins_reference(c: char, before: char, next: char) -> bool {
    match c {
        c if r#""'()*+,/;<=>?\]^_`{|}"#.contains(c) => false,
        ':' => !matches!(next, ' ' | ':'),
        '.' => matches!(before, 'w' | 'W'),
        '-' => next.is_ascii_digit(),
        '[' => next == '[',
        _ => true,
    }
}

/// Returns a fence of more backticks than the body has in a row.
pub(super) fn fence(body: &str) -> String {
    let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Returns the number of characters.
pub(super) fn characters(text: &str) -> usize {
    text.chars().count()
}

/// Shortens `text` to at most `most` characters.
pub(super) fn shorten_to(text: &str, most: usize) -> String {
    if characters(text) <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain((most > 0).then_some(ELLIPSIS)).collect()
}
