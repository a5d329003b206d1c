//! Ruby's regular expressions, look-around and back-references included.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onig::{MatchParam, RegexOptions, Region, SearchOptions, Syntax};

use super::LookupError;

/// The longest pattern that is compiled, in bytes: what it takes grows faster than its length.
const PATTERN_LIMIT: usize = 1 << 16;

/// How often a search may come back to try another way, all places of a text together, and at each place.
const RETRY_LIMIT: usize = 20_000_000;
const RETRIES_AT_A_PLACE: (usize, usize) = (1_000, 1_000_000);

/// A compiled pattern.
#[derive(Debug)]
pub struct RubyRegex(onig::Regex);

impl RubyRegex {
    /// Compiles `pattern` with Ruby's syntax: `^` and `$` match at every line.
    pub fn compile(pattern: &str) -> Result<RubyRegex, LookupError> {
        if pattern.len() > PATTERN_LIMIT {
            let text = format!("a regular expression is longer than {PATTERN_LIMIT} bytes: /{pattern:.60}.../");
            return Err(LookupError::unknown(text));
        }
        if has_backward_repeat(pattern) {
            let text = format!("upper is smaller than lower in repeat range: /{pattern}/");
            return Err(LookupError::puppet(text));
        }
        let compile =
            |pattern: &str| onig::Regex::with_options(pattern, RegexOptions::REGEX_OPTION_NONE, Syntax::ruby());
        compile(pattern)
            .or_else(|error| compile(&without_repeated_anchors(pattern)).map_err(|_| error))
            .map(RubyRegex)
            .map_err(|e| LookupError::puppet(format!("{}: /{pattern}/", e.description())))
    }

    /// Whether the pattern matches somewhere in `text`. One that backtracks without end is an honest error.
    pub fn is_match(&self, text: &str) -> Result<bool, LookupError> {
        self.find_from(text, 0).map(|found| found.is_some())
    }

    /// `text` with every match removed: Ruby's `gsub(pattern, "")`.
    pub fn remove_all(&self, text: &str) -> Result<String, LookupError> {
        let mut out = String::new();
        let mut at = 0;
        let mut kept = 0;
        while at <= text.len() {
            let Some((start, end)) = self.find_from(text, at)? else { break };
            out.push_str(&text[kept..start]);
            kept = end;
            at = if end > start { end } else { next_char(text, end) };
        }
        out.push_str(&text[kept..]);
        Ok(out)
    }

    fn find_from(&self, text: &str, from: usize) -> Result<Option<(usize, usize)>, LookupError> {
        let mut region = Region::new();
        let options = SearchOptions::SEARCH_OPTION_NONE;
        let mut limits = MatchParam::default();
        let retries = (RETRY_LIMIT / (text.len() + 1)).clamp(RETRIES_AT_A_PLACE.0, RETRIES_AT_A_PLACE.1);
        limits.set_retry_limit_in_match(u32::try_from(retries).unwrap_or(u32::MAX));
        self.0
            .search_with_param(text, from, text.len(), options, Some(&mut region), limits)
            .map(|found| found.and(region.pos(0)))
            .map_err(|e| LookupError::unknown(format!("a regular expression gave up: {}", e.description())))
    }
}

/// Ruby accepts a repeated anchor (`^*`), which Oniguruma refuses. An anchor that may be repeated no times asks for nothing, one
/// that must be there is there once.
fn without_repeated_anchors(pattern: &str) -> String {
    let mut out = String::new();
    let mut skip_to = 0;
    for (at, token, in_class) in tokens(pattern) {
        if at < skip_to {
            continue;
        }
        let is_anchor = !in_class && matches!(token, "^" | "$" | "\\A" | "\\z" | "\\Z" | "\\b" | "\\B" | "\\G");
        let end = at + token.len();
        let quantifier = if is_anchor { quantifier(&pattern[end..]) } else { None };
        if !quantifier.is_some_and(|(_, may_be_absent)| may_be_absent) {
            out.push_str(token);
        }
        skip_to = end + quantifier.map_or(0, |(length, _)| length);
    }
    out
}

/// Whether a pattern has a repeat like `{2,1}`, which Ruby refuses and Oniguruma turns round.
fn has_backward_repeat(pattern: &str) -> bool {
    let counts = |at: usize| {
        let (low, high) = pattern[at + 1..].split_once('}')?.0.split_once(',')?;
        Some((low.parse::<u32>().ok()?, high.parse::<u32>().ok()?))
    };
    let mut braces = tokens(pattern).filter(|(_, token, in_class)| *token == "{" && !in_class);
    braces.any(|(at, ..)| counts(at).is_some_and(|(low, high)| low > high))
}

/// The characters and escapes of a pattern with their positions, and whether they stand in a class of characters.
fn tokens(pattern: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut at = 0;
    let mut depth = 0usize;
    std::iter::from_fn(move || {
        let rest = &pattern[at..];
        let first = rest.chars().next()?;
        let escaped = rest.chars().nth(1).filter(|_| first == '\\');
        let token = &rest[..first.len_utf8() + escaped.map_or(0, char::len_utf8)];
        let start = at;
        at += token.len();
        let in_class = depth > 0;
        match token {
            "[" => depth += 1,
            "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((start, token, in_class))
    })
}

/// The length of the quantifiers that `text` starts with, and whether one of them allows for none.
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
            let counts = &text[1..text.find('}')?];
            let is_counts = counts.bytes().all(|b| b.is_ascii_digit() || b == b',');
            is_counts.then_some((counts.len() + 2, counts.starts_with(['0', ','])))
        }
        _ => None,
    }
}

fn next_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Compiled patterns by their text.
#[derive(Debug, Default)]
pub struct Regexes {
    compiled: Mutex<HashMap<Arc<str>, Compiled>>,
}

type Compiled = Result<Arc<RubyRegex>, LookupError>;

impl Regexes {
    /// The compiled `pattern`.
    pub fn get(&self, pattern: &Arc<str>) -> Result<Arc<RubyRegex>, LookupError> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let compile = || RubyRegex::compile(pattern).map(Arc::new);
        compiled.entry(pattern.clone()).or_insert_with(compile).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ruby_syntax_is_known() {
        let matches = |pattern: &str, text: &str| RubyRegex::compile(pattern).unwrap().is_match(text).unwrap();
        assert!(matches(r"^(?!secret)a(.)\1\z", "abb"));
        assert!(matches(r"(?<=x)\h+$", "xff\ny"));
        assert!(!matches(r"\Ab", "a\nb"));
        assert!(matches(r"^*b[$^]*\b+", "ab"));
        assert!(RubyRegex::compile("^(").is_err());
        assert!(RubyRegex::compile("^a{2,1}").is_err());
        assert!(matches(r"^[{2,1}]\{2,1}{1,2}", "{{2,1}"));
    }

    #[test]
    fn endless_backtracking_gives_up() {
        let regex = RubyRegex::compile("^(a+)+$").unwrap();
        assert!(regex.is_match(&format!("{}b", "a".repeat(60))).is_err());
        let anywhere = RubyRegex::compile("^|x|(?:a+)+$").unwrap();
        assert!(anywhere.is_match(&format!("{}b", "a".repeat(60))).is_ok());
    }

    #[test]
    fn hostile_patterns_are_refused() {
        assert!(RubyRegex::compile(&format!("^{}", "*".repeat(PATTERN_LIMIT - 1))).is_ok());
        assert!(RubyRegex::compile(&"^{".repeat(PATTERN_LIMIT / 2)).is_ok());
        assert!(RubyRegex::compile(&"(".repeat(PATTERN_LIMIT)).is_err());
        assert!(RubyRegex::compile(&format!("{}a{}", "(".repeat(20_000), ")".repeat(20_000))).is_err());
        assert!(RubyRegex::compile(&"a".repeat(PATTERN_LIMIT + 1)).is_err());
    }
}
