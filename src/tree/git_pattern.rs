//! Path patterns of `.gitattributes` and `.gitignore`.

use std::fmt::Write as _;

use regex::bytes::Regex;

/// Returns a path pattern as a regular expression on bytes, or `None` if it matches no path.
///
/// Source: git's `wildmatch.c`, `dir.c` (`match_pathname`).
pub fn git_pattern(pattern: &str) -> Option<Regex> {
    let is_anchored = pattern.trim_end_matches('/').contains('/');
    let mut text = String::from(if is_anchored { "^" } else { "^(?:.*/)?" });
    let bytes = pattern.strip_prefix('/').unwrap_or(pattern).as_bytes();
    let mut at = 0;
    while let Some(first) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match first {
            b'*' => {
                let stars = rest.iter().take_while(|byte| **byte == b'*').count();
                // Git compares the text before the first special character separately.
                let begins = |byte: &u8| *byte == b'/' || !bytes[..at].iter().any(|byte| b"*?[\\".contains(byte));
                let is_alone = stars > 1 && bytes[..at].last().is_none_or(begins);
                let (piece, more) = match &rest[stars..] {
                    [b'/', ..] if is_alone => ("(?:.*/)?", 1),
                    [] | [b'\\', b'/', ..] if is_alone => (".*", 0),
                    _ => ("[^/]*", 0),
                };
                text.push_str(piece);
                stars + more
            }
            b'?' => {
                text.push_str("[^/]");
                1
            }
            b'[' => push_class(rest, &mut text)?,
            b'\\' => {
                push_byte(&mut text, *rest.get(1)?);
                2
            }
            byte => {
                push_byte(&mut text, *byte);
                1
            }
        };
        at += length;
    }
    Regex::new(&format!("(?s-u){text}$")).ok()
}

/// Adds the class of bytes that a pattern begins with, which never matches a slash, and returns the length of its
/// text. A class without an end, or with an unknown name, matches nothing.
fn push_class(pattern: &[u8], text: &mut String) -> Option<usize> {
    const NAMES: [&[u8]; 12] = [
        b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph", b"lower", b"print", b"punct", b"space", b"upper",
        b"xdigit",
    ];
    let is_negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let begin = 1 + usize::from(is_negated);
    text.push_str(if is_negated { "[^/" } else { "[" });
    let (mut at, mut range_start) = (begin, None);
    loop {
        let rest = &pattern[at..];
        let escaped = |at: usize| match rest.get(at)? {
            b'\\' => Some((*rest.get(at + 1)?, 2)),
            byte => Some((*byte, 1)),
        };
        let name = rest.strip_prefix(b"[:").and_then(|inner| {
            let end = inner.iter().position(|byte| *byte == b']')?;
            inner[..end].strip_suffix(b":")
        });
        let length = match (rest.first()?, range_start.take(), rest.get(1)) {
            (b']', ..) if at > begin => {
                text.push_str(if is_negated { "]" } else { "&&[^/]]" });
                return Some(at + 1);
            }
            (b'-', Some(from), Some(next)) if *next != b']' => {
                let (to, length) = escaped(1)?;
                if from <= to {
                    push_byte(text, from);
                    text.push('-');
                    push_byte(text, to);
                }
                1 + length
            }
            (b'[', ..) if name.is_some() => {
                let name = name.filter(|name| NAMES.contains(name))?;
                _ = write!(text, "[:{}:]", String::from_utf8_lossy(name));
                name.len() + 4
            }
            _ => {
                let (byte, length) = escaped(0)?;
                push_byte(text, byte);
                range_start = Some(byte);
                length
            }
        };
        at += length;
    }
}

/// Adds a byte that stands for itself.
fn push_byte(text: &mut String, byte: u8) {
    _ = write!(text, r"\x{byte:02x}");
}
