//! The texts of a regular expression in Ruby and Puppet.
//!
//! Source: Ruby 3.1's `re.c`, `PRegexpType` in `pops/types/types.rb`.

use std::fmt::Write;

/// Returns true if Ruby ties the expression to UTF-8, as an option does: it contains more than ASCII, literally or
/// escaped, or a character property.
pub fn has_fixed_encoding(source: &str) -> bool {
    !source.is_ascii() || escapes(source).any(|(letter, rest)| is_beyond_ascii(letter, rest))
}

/// Returns the escapes: the letter of each, and the text after it.
fn escapes(source: &str) -> impl Iterator<Item = (char, &str)> {
    let mut rest = source;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once('\\')?;
        let letter = after.chars().next()?;
        rest = &after[letter.len_utf8()..];
        Some((letter, rest))
    })
}

fn is_beyond_ascii(letter: char, rest: &str) -> bool {
    let code = |most: usize| {
        let end = rest.bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
        u32::from_str_radix(&rest[..end], 16).unwrap_or_default()
    };
    match (letter, rest.strip_prefix('{')) {
        ('p' | 'P', _) => true,
        ('u', Some(list)) => {
            let codes = list.split('}').next().unwrap_or_default().split_ascii_whitespace();
            codes.filter_map(|code| u32::from_str_radix(code, 16).ok()).any(|code| code > 0x7f)
        }
        ('u', None) => code(4) > 0x7f,
        ('x', _) => code(2) > 0x7f,
        _ => false,
    }
}

/// Returns Ruby's `inspect`.
pub fn inspect(source: &str) -> String {
    let is_plain = source.chars().all(|c| c != '/' && !needs_escape(c));
    format!("/{}/", if is_plain { source.to_owned() } else { escaped(source, true) })
}

/// Returns Ruby's `to_s`: options at the start of the expression become options of all of it.
pub fn to_s(source: &str) -> String {
    let (options, rest) = leading_options(source).unwrap_or(([false; 3], source));
    let letters = |wanted: bool| {
        OPTION_LETTERS.iter().zip(options).filter(move |(_, on)| *on == wanted).map(|(letter, _)| *letter)
    };
    let on: String = letters(true).collect();
    let off: String = letters(false).collect();
    let dash = if off.is_empty() { "" } else { "-" };
    format!("(?{on}{dash}{off}:{})", escaped(rest, false))
}

/// Returns Puppet's text of the expression.
pub fn text(source: &str) -> String {
    if has_fixed_encoding(source) { format!("(?-imx:{source})") } else { source.to_owned() }
}

/// Returns Puppet's text of the expression between slashes.
pub fn slashed(source: &str) -> String {
    if has_fixed_encoding(source) { format!("/{}/", to_s(source)) } else { inspect(source) }
}

/// The options in the order in which Ruby writes them.
const OPTION_LETTERS: [char; 3] = ['m', 'i', 'x'];

/// Returns the options that apply to a whole expression, and the expression that they apply to.
fn leading_options(source: &str) -> Option<([bool; 3], &str)> {
    let mut options = [false; 3];
    let mut rest = source;
    while let Some(group) = rest.strip_prefix("(?").filter(|group| group.len() > 1) {
        let end = group.find(|c| !OPTION_LETTERS.contains(&c) && c != '-')?;
        let (on, off) = group[..end].split_once('-').unwrap_or((&group[..end], ""));
        for (letter, option) in OPTION_LETTERS.iter().zip(&mut options) {
            *option = (*option || on.contains(*letter)) && !off.contains(*letter);
        }
        match group[end..].strip_prefix(':') {
            Some(inner) => return Some((options, inner.strip_suffix(')').filter(|inner| is_balanced(inner))?)),
            None => rest = group[end..].strip_prefix(')')?,
        }
    }
    (rest.len() < source.len()).then_some((options, rest))
}

/// Returns true if each parenthesis is closed, and none before it is opened.
fn is_balanced(source: &str) -> bool {
    let (mut depth, mut name_end) = (0_usize, 0);
    for (at, token, in_class) in tokens(source) {
        if in_class || at < name_end {
            continue;
        }
        match token {
            "(" => {
                depth += 1;
                // The name of a group may have anything in it.
                let name = source[at..].strip_prefix("(?<").filter(|name| !name.starts_with(['=', '!']));
                name_end = name.and_then(|name| name.find('>')).map_or(at, |length| at + "(?<".len() + length);
            }
            ")" => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            "\\" => return false,
            _ => {}
        }
    }
    depth == 0
}

/// Returns the characters and escapes of a pattern with their positions, and whether they are in a character class.
pub fn tokens(pattern: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut at = 0;
    let mut depth = 0_usize;
    // At the start of a class, a closing bracket is an ordinary character.
    let mut class_start = 0;
    std::iter::from_fn(move || {
        let rest = &pattern[at..];
        let first = rest.chars().next()?;
        let escaped = rest.chars().nth(1).filter(|_| first == '\\');
        let token = &rest[..first.len_utf8() + escaped.map_or(0, char::len_utf8)];
        let start = at;
        at += token.len();
        let in_class = depth > 0;
        match token {
            "[" => {
                depth += 1;
                class_start = at + usize::from(pattern[at..].starts_with('^'));
            }
            "]" if in_class && start == class_start => {}
            "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((start, token, in_class))
    })
}

fn needs_escape(c: char) -> bool {
    c.is_ascii_control()
}

/// Returns the source with slashes and control characters escaped; with `all`, also everything beyond ASCII.
fn escaped(source: &str, all: bool) -> String {
    let mut out = String::new();
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend([c].into_iter().chain(chars.next())),
            '/' => out.push_str("\\/"),
            c if needs_escape(c) && !matches!(c, '\t'..='\r') => _ = write!(out, "\\x{:02X}", u32::from(c)),
            c if c.is_ascii() || !all => out.push(c),
            c if u32::from(c) > 0xffff => _ = write!(out, "\\u{{{:X}}}", u32::from(c)),
            c => _ = write!(out, "\\u{:04X}", u32::from(c)),
        }
    }
    out
}
