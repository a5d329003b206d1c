//! Fits text into columns, and re-exports the functions that make it safe to show.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(in crate::report) use crate::visible::{quote, visible, visible_lines};

/// Marks omitted text.
pub(in crate::report) const ELLIPSIS: char = '…';

/// The maximum number of characters of foreign text in a headline. Nothing else limits headlines, which are in every
/// summary.
const MAX_IN_HEADLINE: usize = 200;

/// Returns a text in quotes, with escapes.
pub(in crate::report) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text.chars(), &mut out);
    out
}

/// Returns the beginning of `text` that fits `columns`, with an ellipsis if that is not all.
pub fn shorten(text: &str, columns: usize) -> String {
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
pub fn shorten_middle(text: &str, columns: usize) -> String {
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

/// Returns foreign text for a headline: with escapes, and without its middle if it has too many characters, which may
/// all share one column.
pub(in crate::report) fn in_headline(text: &str) -> String {
    let text = visible(text);
    let all = text.chars().count();
    if all <= MAX_IN_HEADLINE {
        return text.into_owned();
    }
    let end = MAX_IN_HEADLINE / 2;
    let start = text.chars().take(MAX_IN_HEADLINE - end - 1).chain([ELLIPSIS]);
    start.chain(text.chars().skip(all - end)).collect()
}

/// Breaks `text` into lines of at most `columns`, at spaces or within words that are too long.
pub(in crate::report) fn wrap(text: &str, columns: usize) -> Vec<String> {
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
