//! Ruby's regular expressions, look-around and back-references included.
//! [`RubyRegex`] compiles a pattern and matches texts; [`Regexes`] keeps compiled patterns. Oniguruma does the work.
//! If its answer may differ from Ruby's, or a search takes too long, the result is an error and never a guess.

mod syntax;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onig::{EncodedBytes, EncodedChars, MatchParam, RegexOptions, Region, SearchOptions, Syntax};

use super::Error;
use crate::value::rich::regexp;
use syntax::UncertainChars;

/// The maximum length of a pattern, in bytes: the cost of compiling grows faster than the length.
const PATTERN_LIMIT: usize = 1 << 16;

/// The maximum number of times that a search may backtrack: in a whole text, and, within bounds, at each place.
const RETRY_LIMIT: usize = 20_000_000;
const RETRIES_AT_A_PLACE: (usize, usize) = (1_000, 1_000_000);

/// The places of a match and of its groups, which are `None` if they take no part in it.
pub type Groups = Vec<Option<(usize, usize)>>;

/// A compiled pattern.
#[derive(Debug)]
pub struct RubyRegex {
    compiled: onig::Regex,
    source: Box<str>,
    unsure: UncertainChars,
}

impl PartialEq for RubyRegex {
    fn eq(&self, other: &RubyRegex) -> bool {
        self.source == other.source
    }
}

impl RubyRegex {
    /// Compiles `pattern` with Ruby's syntax: `^` and `$` match at every line.
    pub fn compile(pattern: &str) -> Result<RubyRegex, Error> {
        if pattern.len() > PATTERN_LIMIT {
            let text = format!("a regular expression is longer than {PATTERN_LIMIT} bytes: /{pattern:.60}.../");
            return Err(Error::unknown(text));
        }
        let source = syntax::translate(pattern)?;
        // The error is that of the pattern as it was written, if that fails, too.
        let compiled = compile(&source);
        let compiled = compiled.or_else(|error| compile(pattern).and(Err(error)));
        let compiled = compiled.map_err(|e| syntax::fault(pattern, e.description()))?;
        syntax::check(pattern)?;
        Ok(RubyRegex { compiled, source: source.into(), unsure: UncertainChars::of(pattern) })
    }

    /// Returns true if the pattern matches somewhere in `text`. Fails if it backtracks too often.
    pub fn is_match(&self, text: &str) -> Result<bool, Error> {
        self.find_from(text, 0).map(|found| found.is_some())
    }

    /// Returns the same as [`is_match`](RubyRegex::is_match), or `None` if that would take long or fail.
    pub fn is_match_at_once(&self, text: &str) -> Option<bool> {
        if text.chars().any(|c| self.unsure.contains(c)) {
            return None;
        }
        let found = search_within(&self.compiled, text, (0, text.len()), RETRIES_AT_A_PLACE.0);
        Some(found.ok()?.is_some())
    }

    /// Returns true if the pattern matches somewhere in a text that is not UTF-8, byte by byte.
    pub fn is_match_bytes(&self, bytes: &[u8]) -> Result<bool, Error> {
        if regexp::has_fixed_encoding(&self.source) {
            let text = "incompatible encoding regexp match (UTF-8 regexp with ASCII-8BIT string)";
            return Err(Error::bare(text));
        }
        let ascii = compile(EncodedBytes::ascii(self.source.as_bytes()));
        let ascii = ascii.map_err(|e| Error::unknown(e.description()))?;
        search(&ascii, EncodedBytes::ascii(bytes), 0, bytes.len()).map(|found| found.is_some())
    }

    /// Removes every match from `text`: Ruby's `gsub(pattern, "")`.
    pub fn remove_all(&self, text: &str) -> Result<String, Error> {
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

    /// Returns the places of the first match at or after `from`, or `None` if there is no match.
    pub fn captures(&self, text: &str, from: usize) -> Result<Option<Groups>, Error> {
        let found = self.region(text, from)?;
        Ok(found.map(|region| (0..region.len()).map(|group| region.pos(group)).collect()))
    }

    fn find_from(&self, text: &str, from: usize) -> Result<Option<(usize, usize)>, Error> {
        Ok(self.region(text, from)?.and_then(|region| region.pos(0)))
    }

    fn region(&self, text: &str, from: usize) -> Result<Option<Region>, Error> {
        if text.chars().any(|c| self.unsure.contains(c)) {
            // The message does not quote the character, which may be a part of a secret.
            let text =
                "whether the class or the case of a character beyond ASCII is what a regular expression asks for";
            return Err(Error::unknown(text));
        }
        search(&self.compiled, text, from, text.len())
    }
}

fn compile(pattern: impl EncodedChars) -> Result<onig::Regex, onig::Error> {
    onig::Regex::with_options_and_encoding(pattern, RegexOptions::REGEX_OPTION_NONE, Syntax::ruby())
}

fn search(regex: &onig::Regex, text: impl EncodedChars, from: usize, length: usize) -> Result<Option<Region>, Error> {
    let retries = (RETRY_LIMIT / (length + 1)).clamp(RETRIES_AT_A_PLACE.0, RETRIES_AT_A_PLACE.1);
    search_within(regex, text, (from, length), retries)
}

/// Searches a part of a text, backtracking at most `retries` times at each place.
fn search_within(
    regex: &onig::Regex,
    text: impl EncodedChars,
    (from, to): (usize, usize),
    retries: usize,
) -> Result<Option<Region>, Error> {
    let mut region = Region::new();
    let options = SearchOptions::SEARCH_OPTION_NONE;
    let mut limits = MatchParam::default();
    limits.set_retry_limit_in_match(u32::try_from(retries).unwrap_or(u32::MAX));
    let found = regex.search_with_param(text, from, to, options, Some(&mut region), limits);
    let found = found.map_err(|e| Error::unknown(format!("a regular expression gave up: {}", e.description())))?;
    Ok(found.map(|_| region))
}

fn next_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Compiled patterns by their text.
#[derive(Debug, Default)]
pub struct Regexes {
    compiled: Mutex<HashMap<Arc<str>, Compiled>>,
}

type Compiled = Result<Arc<RubyRegex>, Error>;

impl Regexes {
    /// Returns the compiled `pattern`.
    pub fn get(&self, pattern: &Arc<str>) -> Result<Arc<RubyRegex>, Error> {
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
        assert_eq!(regex.is_match_at_once(&format!("{}b", "a".repeat(60))), None);
        assert_eq!(["aa", "ab"].map(|text| regex.is_match_at_once(text)), [Some(true), Some(false)]);
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
