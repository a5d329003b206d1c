//! Patterns for nodes and keys: a name, a glob with `*` and `?`, or `re:` and a regular expression.

use std::str::FromStr;

use regex::Regex;

/// A pattern for names.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Regex);

impl Pattern {
    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl FromStr for Pattern {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Pattern, regex::Error> {
        let expression = if let Some(expression) = text.strip_prefix("re:") {
            expression.to_owned()
        } else {
            let glob = regex::escape(text).replace(r"\*", ".*").replace(r"\?", ".");
            format!("^(?:{glob})$")
        };
        Regex::new(&expression).map(Pattern)
    }
}

/// Whether one of the patterns matches, or there is none.
pub(super) fn any(patterns: &[Pattern], name: &str) -> bool {
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
        assert!("re:(".parse::<Pattern>().is_err());
    }
}
