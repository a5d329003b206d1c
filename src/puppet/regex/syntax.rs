//! Ruby's regular expressions in Oniguruma's terms: the two have a common ancestor and differ in details.
//!
//! Source: Ruby 3.1's `re.c`, `regparse.c`.

use crate::puppet::Error;
use crate::value::rich::regexp::{self, tokens};

/// Translates `pattern` for Oniguruma. In Ruby, `\d`, `\s` and `\w` are ASCII, escapes of characters are decoded
/// first, and a repeated anchor (`^*`) is allowed: it is no condition if it may be repeated zero times, and counts
/// once otherwise.
pub(super) fn translate(pattern: &str) -> Result<String, Error> {
    let fault = |what: &str| fault(pattern, what);
    if has_folded_class(pattern) {
        return Err(Error::unknown(format!("a class that ignores case in a regular expression: /{pattern}/")));
    }
    if has_character_set_option(pattern) {
        return Err(Error::unknown(format!("an option of character sets in a regular expression: /{pattern}/")));
    }
    let mut out = String::new();
    let mut skip_to = 0;
    for (at, token, in_class) in tokens(pattern) {
        if at < skip_to {
            continue;
        }
        let end = at + token.len();
        skip_to = end;
        match token {
            "\\" => return Err(fault("too short escape sequence")),
            "\\c" if end == pattern.len() => return Err(fault("too short control escape")),
            "\\M" => {
                return Err(Error::unknown(format!("an escape of a byte in a regular expression: /{pattern}/")));
            }
            "\\p" | "\\P" if let Some(name) = unclosed_property(&pattern[end..]) => {
                return Err(fault(&format!("invalid character property name {{{name}}}")));
            }
            "\\d" | "\\D" | "\\s" | "\\S" | "\\w" | "\\W" if in_class && ends_range(&pattern[..at]) => {
                return Err(fault("char-class value at end of range"));
            }
            "\\d" | "\\D" | "\\s" | "\\S" | "\\w" | "\\W" if in_class && begins_range(&pattern[end..]) => {
                return Err(fault("unmatched range specifier in char-class"));
            }
            "[" if in_class && names_no_bracket(&pattern[end..]) => return Err(fault(UNKNOWN_BRACKET)),
            "\\u" | "\\x" => {
                let (length, decoded) = decode(token, &pattern[end..]).map_err(fault)?;
                out.push_str(&decoded);
                skip_to += length;
            }
            _ if !in_class
                && is_anchor(token)
                && let Some((length, may_be_absent)) = quantifier(&pattern[end..]) =>
            {
                // A group, so that a quantifier after a comment does not repeat what is before the comment.
                out.push_str(if may_be_absent { "(?:)" } else { token });
                skip_to += length;
            }
            _ => out.push_str(ascii_class(token, in_class).unwrap_or(token)),
        }
    }
    Ok(out)
}

/// Refuses patterns that Oniguruma accepts and Ruby does not.
pub(super) fn check(pattern: &str) -> Result<(), Error> {
    if has_backward_repeat(pattern) {
        return Err(fault(pattern, UPPER_BELOW_LOWER));
    }
    if has_variable_look_behind(pattern) {
        return Err(fault(pattern, "invalid pattern in look-behind"));
    }
    Ok(())
}

/// Returns Ruby's error for a pattern.
pub(super) fn fault(pattern: &str, what: &str) -> Error {
    // Ruby looks at the numbers of a repetition before it misses what to repeat.
    let first = pattern.split_inclusive('}').next().filter(|first| first.starts_with('{')).unwrap_or_default();
    let what = if what == NO_TARGET && has_backward_repeat(first) { UPPER_BELOW_LOWER } else { what };
    let renamed = zero_reference(pattern, what).or_else(|| misnamed_group(pattern, what));
    let renamed = renamed.or_else(|| ends_in_options(pattern, what).then(|| UNFINISHED_GROUP.to_owned()));
    let text = format!("{}: {}", renamed.as_deref().unwrap_or(what), regexp::inspect(pattern));
    if renamed.is_none() && is_no_fault_of_ruby(pattern, what) { Error::unknown(text) } else { Error::bare(text) }
}

/// Returns true for an error of Oniguruma's that Ruby does not have, or not as the first one.
fn is_no_fault_of_ruby(pattern: &str, what: &str) -> bool {
    match what {
        "target of repeat operator is invalid" => true,
        NO_TARGET => has_backward_repeat(pattern),
        UNKNOWN_BRACKET => !has_unknown_bracket(pattern),
        what => {
            let name = what.strip_prefix("invalid group name <");
            what.starts_with("invalid char in group name") || name.is_some_and(|name| !is_number(name))
        }
    }
}

/// Returns true for the name of a group that Oniguruma takes for a number.
fn is_number(name: &str) -> bool {
    name.starts_with(|sign: char| sign.is_ascii_digit() || sign == '-')
}

/// Errors that both have.
const NO_TARGET: &str = "target of repeat operator is not specified";
const UNKNOWN_BRACKET: &str = "invalid POSIX bracket type";

/// Ruby's error for `{2,1}`.
const UPPER_BELOW_LOWER: &str = "upper is smaller than lower in repeat range";

/// Ruby's error for a group without an end.
const UNFINISHED_GROUP: &str = "end pattern in group";

/// Returns Ruby's error for `\k<0>`, which names all that follows.
fn zero_reference(pattern: &str, what: &str) -> Option<String> {
    if what != "invalid backref number/name" && !what.starts_with("invalid group name <-0") {
        return None;
    }
    let names = tokens(pattern).filter(|(_, token, _)| *token == "\\k").map(|(at, ..)| &pattern[at + 2..]);
    let is_zero = |name: &&str| {
        let digits = name.strip_prefix('-').unwrap_or(name);
        let rest = digits.trim_start_matches('0');
        rest.len() < digits.len() && rest.starts_with(['>', '\'', '+', '-'])
    };
    let name = names.filter_map(|name| name.strip_prefix(['<', '\''])).find(is_zero)?;
    Some(format!("invalid group name <{name}>"))
}

/// Returns Ruby's error for a group whose name Oniguruma refuses. In Ruby, the name extends to its bracket or the
/// end.
fn misnamed_group(pattern: &str, what: &str) -> Option<String> {
    let name = what.strip_prefix("invalid char in group name <").or(what.strip_prefix("invalid group name <"))?;
    // A number ends where Oniguruma ends it.
    let name = name.strip_suffix('>').filter(|name| !is_number(name))?;
    let at = pattern.find(&format!("<{name}"))?;
    let name = &pattern[at + 1..];
    // A parenthesis before the bracket is no end either.
    let bracketed = name.split_once('>').map(|(name, _)| name).filter(|name| !name.contains(')'));
    match bracketed {
        // Ruby accepts such characters, in references as well.
        Some(name) => {
            let is_reference = what.starts_with("invalid char") && pattern[..at].ends_with("\\k");
            is_reference.then(|| format!("undefined name <{name}> reference"))
        }
        None => Some(format!("invalid group name <{name}>")),
    }
}

/// Returns true if the pattern ends among the options of a group.
fn ends_in_options(pattern: &str, what: &str) -> bool {
    let options = pattern.rsplit_once("(?").filter(|_| what == "undefined group option");
    options.is_some_and(|(_, options)| options.bytes().all(|option| b"adimux-".contains(&option)))
}

/// The first character beyond ASCII, and the first after Cyrillic, from which on versions of Unicode differ in
/// scripts.
const BEYOND_ASCII: char = '\u{80}';
const BEYOND_CYRILLIC: char = '\u{530}';

/// Properties that all versions of Unicode agree on for Latin, Greek and Cyrillic.
const SETTLED_PROPERTIES: [&str; 18] = [
    "ascii", "cntrl", "cyrillic", "digit", "greek", "l", "latin", "letter", "ll", "lower", "lu", "n", "nd", "p", "s",
    "space", "upper", "z",
];

/// The characters that a pattern may treat differently in Ruby.
#[derive(Debug)]
pub(super) struct UncertainChars {
    from: char,
    /// Others, below that.
    folded: Vec<char>,
}

impl UncertainChars {
    /// Returns the characters that `pattern` may treat differently, because it ignores case or has a class that
    /// differs between versions of Unicode.
    pub(super) fn of(pattern: &str) -> UncertainChars {
        let all_from = |from| UncertainChars { from, folded: Vec::new() };
        if pattern.contains(":punct:]") || pattern.contains(":^punct:]") {
            return all_from(BEYOND_ASCII);
        }
        let mut properties = properties(pattern).peekable();
        let has_some = properties.peek().is_some();
        match (ignores_case(pattern), has_some, properties.all(|name| SETTLED_PROPERTIES.contains(&name.as_str()))) {
            (false, false, _) => all_from(char::MAX),
            (false, true, true) => all_from(BEYOND_CYRILLIC),
            (true, false, _) if is_plain(pattern) => {
                UncertainChars { from: BEYOND_CYRILLIC, folded: folded_letters(pattern) }
            }
            _ => all_from(BEYOND_ASCII),
        }
    }

    /// Returns true if hierad does not know how the pattern treats `c`.
    pub(super) fn contains(&self, c: char) -> bool {
        c >= self.from || self.folded.contains(&c)
    }
}

/// Returns true for a pattern that consists of literal ASCII characters, anchors and groups.
fn is_plain(pattern: &str) -> bool {
    let is_anchor = |token: &str| matches!(token, "\\A" | "\\z" | "\\Z");
    pattern.is_ascii() && tokens(pattern).all(|(_, token, _)| is_anchor(token) || !token.starts_with(['\\', '[']))
}

/// Returns the characters beyond ASCII that are letters of a plain pattern when case is ignored.
fn folded_letters(pattern: &str) -> Vec<char> {
    let pattern = pattern.to_ascii_lowercase();
    // Two letters `s` match one `ß`.
    let letters_s = pattern.matches('s').count() + usize::from(pattern.contains(['*', '+', '{']));
    let is_of_letter = |c: char| match c {
        'ß' => letters_s > 1,
        'ſ' => pattern.contains('s'),
        'İ' | 'ı' => pattern.contains('i'),
        'ŉ' => pattern.contains('n'),
        _ => pattern.contains('j'),
    };
    ['ß', 'ſ', 'İ', 'ı', 'ŉ', 'ǰ'].into_iter().filter(|c| is_of_letter(*c)).collect()
}

/// Returns the names of the properties in a pattern, without their `^`, in lower case.
fn properties(pattern: &str) -> impl Iterator<Item = String> + '_ {
    let classes = tokens(pattern).filter(|(_, token, _)| matches!(*token, "\\p" | "\\P"));
    classes.map(|(at, ..)| {
        let name = pattern[at + 2..].trim_start_matches(['{', '^']).split('}').next().unwrap_or_default();
        name.to_ascii_lowercase()
    })
}

/// Returns true if an option ignores the case of letters.
fn ignores_case(pattern: &str) -> bool {
    let mut groups = tokens(pattern).filter(|(_, token, in_class)| *token == "(" && !in_class);
    groups.any(|(at, ..)| {
        let options = pattern[at + 1..].strip_prefix('?').unwrap_or_default();
        let end = options.find(|c| !"imx-".contains(c)).unwrap_or(options.len());
        options[..end].contains('i') && options[end..].starts_with([':', ')'])
    })
}

fn has_property(pattern: &str) -> bool {
    properties(pattern).next().is_some()
}

/// Returns true if a class has or excludes letters whose other case is beyond ASCII: the two engines fold them
/// differently.
fn has_folded_class(pattern: &str) -> bool {
    let is_negated = |token: &str, in_class: bool| in_class && token == "\\W";
    ignores_case(pattern)
        && (has_property(pattern)
            || pattern.contains("[:^")
            || tokens(pattern).any(|(_, token, in_class)| is_negated(token, in_class)))
}

fn is_anchor(token: &str) -> bool {
    matches!(token, "^" | "$" | "\\A" | "\\z" | "\\Z" | "\\b" | "\\B" | "\\G")
}

/// Returns true if the rest would make a class such as `\d`, which comes before it, the start of a range.
fn begins_range(rest: &str) -> bool {
    rest.strip_prefix('-').is_some_and(|rest| !rest.starts_with(']'))
}

/// Returns true if `before` ends with the start of a range and its dash.
fn ends_range(before: &str) -> bool {
    let Some(before) = before.strip_suffix('-') else { return false };
    let is_range = before.chars().nth_back(1) == Some('-');
    !is_range && !before.ends_with(['[', '^'])
}

fn has_unknown_bracket(pattern: &str) -> bool {
    tokens(pattern).any(|(at, token, in_class)| token == "[" && in_class && names_no_bracket(&pattern[at + 1..]))
}

/// Returns true if the rest continues `[:name:]` with an unknown name; other texts than that are no such bracket.
fn names_no_bracket(rest: &str) -> bool {
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
        "xdigit", "word",
    ];
    let is_closed = |rest: &&str| rest.find(']').is_some_and(|end| rest[..end].ends_with(':'));
    let Some(rest) = rest.strip_prefix(':').filter(is_closed) else { return false };
    let rest = rest.strip_prefix('^').unwrap_or(rest);
    let after_name = NAMES.iter().find_map(|name| rest.strip_prefix(name));
    after_name.map_or_else(
        || {
            rest.chars().take(20).any(|c| c == ':')
                && rest.split_once(':').is_some_and(|(_, rest)| rest.starts_with(']'))
        },
        |rest| !rest.starts_with(":]"),
    )
}

/// Returns the name of a property of characters whose brace is not closed.
fn unclosed_property(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix('{').filter(|name| !name.contains('}'))?;
    // At the end of the pattern Ruby leaves the last character out.
    let last = || name.char_indices().next_back().map_or(0, |(at, _)| at);
    Some(&name[..name.find(['(', ')', '{', '|']).unwrap_or_else(last)])
}

/// Returns the class that an escape stands for in Ruby, or `None` if it is not a class.
fn ascii_class(token: &str, in_class: bool) -> Option<&'static str> {
    Some(match token {
        "\\d" => "[0-9]",
        "\\D" => "[^0-9]",
        "\\s" => r"[\t-\r ]",
        "\\S" => r"[^\t-\r ]",
        "\\w" if in_class => "[0-9A-Za-z_]",
        "\\W" if in_class => "[^0-9A-Za-z_]",
        "\\w" => "(?-i:[0-9A-Za-z_])",
        "\\W" => "(?-i:[^0-9A-Za-z_])",
        // Only Oniguruma has these escapes.
        "\\y" => "y",
        "\\Y" => "Y",
        "\\N" => "N",
        "\\O" => "O",
        _ => return None,
    })
}

/// Returns the characters that an escape stands for, and the length of the part after its letter.
fn decode(token: &str, rest: &str) -> Result<(usize, String), &'static str> {
    match (token, rest.strip_prefix('{')) {
        ("\\u", Some(list)) => {
            let (list, _) = list.split_once('}').ok_or("unterminated Unicode escape")?;
            let codes = list
                .split_ascii_whitespace()
                .map(|code| u32::from_str_radix(code, 16).map_err(|_| "invalid Unicode list"));
            let decoded = codes.map(|code| character(code?)).collect::<Result<String, _>>()?;
            if decoded.is_empty() { Err("invalid Unicode list") } else { Ok((list.len() + 2, decoded)) }
        }
        ("\\u", None) => {
            let digits = hex_digits(rest, 4);
            match digits.len() {
                0 if rest.is_empty() => Err("too short escape sequence"),
                4 => Ok((4, character(u32::from_str_radix(digits, 16).map_err(|_| "invalid Unicode escape")?)?)),
                _ => Err("invalid Unicode escape"),
            }
        }
        _ => {
            let digits = hex_digits(rest, 2);
            let first = u8::from_str_radix(digits, 16).map_err(|_| "invalid hex escape")?;
            if first.is_ascii() {
                return Ok((digits.len(), format!("\\x{first:02X}")));
            }
            bytes(first, digits.len(), rest)
        }
    }
}

/// Decodes a character of several bytes, each of them an escape.
fn bytes(first: u8, length: usize, rest: &str) -> Result<(usize, String), &'static str> {
    let (mut bytes, mut length) = (vec![first], length);
    loop {
        if let Ok(text) = std::str::from_utf8(&bytes) {
            return Ok((length, text.to_owned()));
        }
        let digits = rest[length..].strip_prefix("\\x").map(|rest| hex_digits(rest, 2)).unwrap_or_default();
        let next = u8::from_str_radix(digits, 16).ok().filter(|_| bytes.len() < 4);
        bytes.push(next.ok_or("invalid multibyte escape")?);
        length += 2 + digits.len();
    }
}

fn hex_digits(text: &str, most: usize) -> &str {
    &text[..text.bytes().take(most).take_while(u8::is_ascii_hexdigit).count()]
}

/// Returns the character of a code, as it is written in a pattern.
fn character(code: u32) -> Result<String, &'static str> {
    let c = char::from_u32(code).ok_or("invalid Unicode range")?;
    Ok(if c.is_ascii() { format!("\\x{code:02X}") } else { c.to_string() })
}

/// Returns true if an option selects the characters of `\w` and similar classes: `(?u)`, `(?a)`, `(?d)`.
fn has_character_set_option(pattern: &str) -> bool {
    let mut groups = tokens(pattern).filter(|(_, token, in_class)| *token == "(" && !in_class);
    groups.any(|(at, ..)| {
        let options = pattern[at + 1..].strip_prefix('?').unwrap_or_default();
        let end = options.find(|c| !"imxaud-".contains(c)).unwrap_or(options.len());
        options[end..].starts_with([':', ')']) && options[..end].contains(['a', 'u', 'd'])
    })
}

/// Returns true if a look-behind has no fixed length, which Ruby refuses.
fn has_variable_look_behind(pattern: &str) -> bool {
    let mut depth: Vec<bool> = Vec::new();
    tokens(pattern).filter(|(.., in_class)| !in_class).any(|(at, token, _)| {
        match token {
            "(" => {
                let rest = &pattern[at + 1..];
                let inside = depth.last().is_some_and(|inside| *inside);
                depth.push(inside || rest.starts_with("?<=") || rest.starts_with("?<!"));
                // The mark of the group is not a quantifier.
                return false;
            }
            ")" => _ = depth.pop(),
            _ => {}
        }
        let is_mark = token == "?" && pattern[..at].ends_with('(');
        !is_mark && depth.last().is_some_and(|inside| *inside) && is_variable(&pattern[at..])
    })
}

/// Returns true if a quantifier begins here that allows several lengths.
fn is_variable(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'*' | b'+' | b'?') => true,
        Some(b'{') => text.split_once('}').is_some_and(|(counts, _)| match counts[1..].split_once(',') {
            Some((low, high)) => low != high && one_quantifier(text).is_some(),
            None => false,
        }),
        _ => false,
    }
}

/// Returns true if a pattern has a repeat like `{2,1}`, which Ruby refuses and Oniguruma reverses.
fn has_backward_repeat(pattern: &str) -> bool {
    let counts = |at: usize| {
        let (low, high) = pattern[at + 1..].split_once('}')?.0.split_once(',')?;
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|_| !digits.starts_with('+'));
        Some((number(low)?, number(high)?))
    };
    let mut braces = tokens(pattern).filter(|(_, token, in_class)| *token == "{" && !in_class);
    braces.any(|(at, ..)| counts(at).is_some_and(|(low, high)| low > high))
}

/// Returns the length of the quantifiers that `text` starts with, and true if one of them allows zero repeats.
fn quantifier(text: &str) -> Option<(usize, bool)> {
    let (mut length, mut may_be_absent) = (0, false);
    while let Some((more, absent)) = one_quantifier(&text[length..]) {
        length += more;
        may_be_absent |= absent;
    }
    (length > 0).then_some((length, may_be_absent))
}

fn one_quantifier(text: &str) -> Option<(usize, bool)> {
    match text.as_bytes().first()? {
        b'*' | b'?' => Some((1, true)),
        b'+' => Some((1, false)),
        b'{' => {
            // Without a number, it is literal text.
            let counts = &text[1..text.find('}')?];
            let (low, high) = counts.split_once(',').unwrap_or((counts, counts));
            let is_counts = !(low.is_empty() && high.is_empty()) && [low, high].iter().all(|n| is_digits(n));
            is_counts.then_some((counts.len() + 2, low.bytes().all(|digit| digit == b'0')))
        }
        _ => None,
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
