//! Patterns for nodes and keys: a name, a glob with `*` and `?`, or `re:` and a regular expression.

use std::str::FromStr;

use regex::Regex;

/// A pattern for names.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

/// What was given is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{pattern}' is no pattern: {reason}")]
pub struct PatternError {
    /// As it was given.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Pattern {
    /// Whether a name is meant.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Pattern, PatternError> {
        let expression = if let Some(expression) = text.strip_prefix("re:") {
            expression.to_owned()
        } else {
            let glob = regex::escape(text).replace(r"\*", ".*").replace(r"\?", ".");
            format!("^(?:{glob})$")
        };
        Regex::new(&expression).map(Pattern).map_err(|error| {
            // The lines before show the place.
            let text_of_error = error.to_string();
            let reason = text_of_error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            PatternError { pattern: text.to_owned(), reason }
        })
    }
}

/// Whether one of the patterns matches, or there is none.
pub fn any(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names_and_expressions_any_part() {
        let matches = |pattern: &str, name: &str| pattern.parse::<Pattern>().unwrap().matches(name);
        assert!(matches("web*.example.com", "web01.example.com"));
        assert!(!matches("web*", "aweb01"));
        assert!(matches("re:^web0[1-3]", "web02.example.com"));
        assert!(!matches("a.b", "axb"));
    }

    #[test]
    fn what_is_no_pattern_is_told_in_one_line() {
        let error = "re:(".parse::<Pattern>().unwrap_err();
        assert_eq!(error.to_string(), "'re:(' is no pattern: unclosed group");
    }
}
