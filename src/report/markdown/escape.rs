//! Escapes, so that no text of the data has a meaning in Markdown, in HTML or to a forge.

use std::fmt::Write as _;

use crate::report::visible::{ELLIPSIS, shorten_middle, visible};

/// The most columns of the name of a key, a place or nodes.
pub(super) const MAX_NAME: usize = 120;

/// Formats text as code, in Markdown or in HTML.
pub(super) fn code(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '/' | '-' | '=');
    if !text.is_empty() && text.chars().all(plain) {
        return format!("`{text}`");
    }
    html_code(text)
}

/// Formats text as code in HTML. Forges look for no names in code.
pub(super) fn html_code(text: &str) -> String {
    format!("<code>{}</code>", html(text).replace(NOTHING, ""))
}

/// Nothing, which parts what a forge would take for a name, a number or an address.
const NOTHING: &str = "<!-- -->";

/// Formats the name of something in the data as code.
pub(super) fn name(text: &str) -> String {
    code(&shorten_middle(&visible(text), MAX_NAME))
}

/// Escapes text so that neither HTML nor Markdown nor the forge gives it a meaning.
///
/// Forges look for names, numbers and addresses in what is rendered, where escapes have gone, so what would begin one
/// is followed by an empty comment.
pub(super) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_in_word = before.is_alphanumeric();
        // A list would begin with `-` or `1.` or `1)`, and a link would have `](`, `://` or `www.` in it.
        let is_own = match c {
            '_' | '.' => is_in_word && !before.is_ascii_digit() && before != 'w' && before != 'W',
            '-' => before != ' ',
            ')' => !before.is_ascii_digit(),
            ':' => rest.peek().is_none_or(|next| *next == ' '),
            ',' | '/' | ';' | '(' | '\'' => true,
            _ => false,
        };
        if c.is_ascii_punctuation() && !is_own {
            _ = write!(out, "&#{};", u32::from(c));
            if matches!(c, '@' | '#' | '!' | '~' | '$' | '%' | '&') {
                out.push_str(NOTHING);
            }
        } else {
            out.push(c);
        }
        before = c;
    }
    out
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
