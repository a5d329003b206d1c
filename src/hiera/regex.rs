//! Ruby's regular expressions, look-around and back-references included.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onig::{MatchParam, RegexOptions, Region, SearchOptions, Syntax};

use super::LookupError;

/// A compiled pattern.
#[derive(Debug)]
pub struct RubyRegex(onig::Regex);

impl RubyRegex {
    /// Compiles `pattern` with Ruby's syntax: `^` and `$` match at every line.
    pub fn compile(pattern: &str) -> Result<RubyRegex, LookupError> {
        onig::Regex::with_options(pattern, RegexOptions::REGEX_OPTION_NONE, Syntax::ruby())
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
        self.0
            .search_with_param(text, from, text.len(), options, Some(&mut region), MatchParam::default())
            .map(|found| found.and(region.pos(0)))
            .map_err(|e| LookupError::unknown(format!("a regular expression gave up: {}", e.description())))
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
        assert!(RubyRegex::compile("^(").is_err());
    }

    #[test]
    fn endless_backtracking_gives_up() {
        let regex = RubyRegex::compile("^(a+)+$").unwrap();
        assert!(regex.is_match(&format!("{}b", "a".repeat(60))).is_err());
    }
}
