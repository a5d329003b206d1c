//! Makes foreign text safe to show, and fits text into columns.
//!
//! No character that a terminal would act on gets through: control characters, and characters that hide or reorder
//! text, are written as escapes.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks omitted text.
pub(super) const ELLIPSIS: char = '…';

/// Returns a text in quotes, with escapes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text.chars(), &mut out);
    out
}

/// Escapes the characters of foreign text (a name, a message, a line of a longer text) that a terminal would act on.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_dangerous(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Returns the beginning of `text` that fits `columns`, with an ellipsis if that is not all.
pub(super) fn shorten(text: &str, columns: usize) -> String {
    // Every column takes at least a byte, so a short text needs no measuring.
    if text.len() <= columns || (text.len() <= columns.saturating_mul(4) && text.width() <= columns) {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        out.push(c);
    }
    out.push(ELLIPSIS);
    out
}

/// Returns `text` with its middle left out if it does not fit `columns`.
pub(super) fn shorten_middle(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let end = columns / 2;
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= end
    };
    let tail = text.chars().rev().take_while(fits).collect::<Vec<_>>();
    format!("{}{}", shorten(text, columns - end), tail.into_iter().rev().collect::<String>())
}

/// Breaks `text` into lines of at most `columns`, at spaces or within words that are too long.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let separator = usize::from(!line.is_empty());
        if line.width() + separator + word.width() <= columns {
            if separator > 0 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > columns && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

/// Returns true for characters that are acted on rather than shown: controls, and format characters that hide or
/// reorder text.
fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if u32::from(c) > 0xffff => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
        c => _ = write!(out, "\\u{:04x}", u32::from(c)),
    }
}

/// Writes a text in quotes, with escapes.
pub(super) fn quote(text: impl Iterator<Item = char>, out: &mut String) {
    out.push('"');
    for c in text {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_dangerous(c) => escape(c, out),
            c => out.push(c),
        }
    }
    out.push('"');
}
