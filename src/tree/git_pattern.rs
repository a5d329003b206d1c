//! Patterns of paths, as `.gitattributes` and `.gitignore` have them.

use regex::Regex;

/// Returns a pattern of paths as a regular expression; nothing if it matches no path.
///
/// Source: git's `wildmatch.c`.
pub fn git_pattern(pattern: &str) -> Option<Regex> {
    let is_anchored = pattern.trim_end_matches('/').contains('/');
    let mut text = String::from(if is_anchored { "^" } else { "^(?:.*/)?" });
    let mut rest = pattern.strip_prefix('/').unwrap_or(pattern);
    while let Some(first) = rest.chars().next() {
        let (piece, length) = match rest {
            _ if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            _ if rest.starts_with("**") => (".*".to_owned(), 2),
            _ if first == '*' => ("[^/]*".to_owned(), 1),
            _ if first == '?' => ("[^/]".to_owned(), 1),
            _ if first == '[' => class(rest)?,
            _ if first == '\\' => {
                let escaped = rest[1..].chars().next()?;
                (regex::escape(escaped.encode_utf8(&mut [0; 4])), 1 + escaped.len_utf8())
            }
            _ => (regex::escape(&rest[..first.len_utf8()]), first.len_utf8()),
        };
        text.push_str(&piece);
        rest = &rest[length..];
    }
    Regex::new(&format!("(?s){text}$")).ok()
}

/// Returns the class of characters that a pattern begins with as one of a regular expression, which never has a slash,
/// and its length.
fn class(pattern: &str) -> Option<(String, usize)> {
    let is_negated = pattern[1..].starts_with(['!', '^']);
    let begin = 1 + usize::from(is_negated);
    let mut class = String::from(if is_negated { "[^/" } else { "[" });
    let mut at = begin;
    loop {
        let rest = &pattern[at..];
        let sign = rest.chars().next()?;
        let mut length = sign.len_utf8();
        match sign {
            ']' if at > begin => return Some((class + if is_negated { "]" } else { "&&[^/]]" }, at + 1)),
            '[' if rest.starts_with("[:") => {
                length = rest.find(":]")? + 2;
                class.push_str(&rest[..length]);
            }
            '-' if at > begin && !rest[1..].starts_with(']') => class.push('-'),
            '\\' => {
                let escaped = rest[1..].chars().next()?;
                class.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
                length += escaped.len_utf8();
            }
            sign => class.push_str(&regex::escape(sign.encode_utf8(&mut [0; 4]))),
        }
        at += length;
    }
}
