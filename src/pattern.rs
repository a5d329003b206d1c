//! Patterns for the names of nodes and keys: a name, a glob with `*` and `?`, or `re:` and a regular expression. Also
//! suggests names that are similar to a wrong one.

use std::str::FromStr;

use regex::{Regex, RegexBuilder};

/// A pattern for names.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    expression: Regex,
}

/// Returns true if `text` begins with the first piece, ends with the last one and has the others between them in this
/// order, with anything in between.
pub fn is_made_of(text: &str, pieces: &[String]) -> bool {
    let [first, middle @ .., last] = pieces else { return pieces.first().is_some_and(|piece| piece == text) };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for piece in middle {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last.as_str())
}

/// A pattern that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{pattern}' is not a valid pattern: {reason}")]
pub struct PatternError {
    /// The pattern as given.
    pub pattern: String,
    /// The fault.
    pub reason: String,
}

impl Pattern {
    /// Returns true if the pattern matches a name.
    pub fn matches(&self, name: &str) -> bool {
        self.expression.is_match(name)
    }

    /// Parses an untrusted pattern. An expression that compiles to more than `limit` bytes is an error, since
    /// compiling it could take long.
    pub fn bounded(text: &str, limit: usize) -> Result<Pattern, PatternError> {
        Pattern::compile(text, Some(limit))
    }

    fn compile(text: &str, limit: Option<usize>) -> Result<Pattern, PatternError> {
        let expression = if let Some(expression) = text.strip_prefix("re:") {
            expression.to_owned()
        } else {
            let glob = regex::escape(text).replace(r"\*", ".*").replace(r"\?", ".");
            format!("^(?:{glob})$")
        };
        let mut builder = RegexBuilder::new(&expression);
        if let Some(limit) = limit {
            builder.size_limit(limit);
        }
        builder.build().map(|expression| Pattern { text: text.to_owned(), expression }).map_err(|error| {
            // The lines before the last one show the place of the fault.
            let text_of_error = error.to_string();
            let reason = text_of_error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            PatternError { pattern: text.to_owned(), reason }
        })
    }

    /// Returns the pattern as given.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Pattern, PatternError> {
        Pattern::compile(text, None)
    }
}

/// Returns true if one of the patterns matches, or if there are none.
pub fn any(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
}

/// Returns true if one of the patterns matches a path or a folder that it is in, or if there are none.
pub fn is_within(patterns: &[Pattern], path: &str) -> bool {
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    patterns.is_empty() || folders.chain([path]).any(|path| any(patterns, path))
}

/// The least similarity, from 0 to 1, of a suggestion.
const MIN_SIMILARITY: f64 = 0.75;

/// The maximum length, in bytes, of names that are compared letter by letter: the time grows with the product of both
/// lengths.
const MAX_COMPARED: usize = 200;

/// Returns at most `most` of `names` that are similar to `wanted`, the nearest first.
pub fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>, most: usize) -> Vec<&'n str> {
    let wanted = wanted.trim_matches(['*', '?']);
    let similarity = |name: &str| {
        let is_part = !wanted.is_empty() && name.contains(wanted);
        let is_short = wanted.len().max(name.len()) <= MAX_COMPARED;
        match (is_part, is_short) {
            (true, _) => 1.0,
            (false, true) => strsim::jaro_winkler(wanted, name),
            (false, false) => 0.0,
        }
    };
    let mut near: Vec<(f64, &str)> =
        names.map(|name| (similarity(name), name)).filter(|(similarity, _)| *similarity >= MIN_SIMILARITY).collect();
    near.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.len().cmp(&other.len())).then(one.cmp(other)));
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

/// The maximum number of names to suggest.
const MAX_SUGGESTIONS: usize = 3;

/// Returns a pattern that matches nothing if none of `patterns` matches one of `names`, with similar names as a hint.
pub fn unmatched<'n, I: Iterator<Item = &'n str>>(
    patterns: &[Pattern],
    matches: fn(&[Pattern], &str) -> bool,
    names: impl Fn() -> I,
) -> Option<String> {
    let first = patterns.first().filter(|_| !names().any(|name| matches(patterns, name)))?;
    Some(format!("'{}'{}", first.as_str(), did_you_mean(first.as_str(), names())))
}

/// Returns the end of a message about a name that is not among `names`: the similar ones, or nothing.
pub fn did_you_mean<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> String {
    match &nearest(wanted, names, MAX_SUGGESTIONS)[..] {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_made_of_pieces() {
        for (pieces, text, is_one) in [
            (&["a"][..], "a", true),
            (&["a", ""], "a", true),
            (&["a", ""], "ab", true),
            (&["a", "b"], "ab", true),
            (&["ab", "ba"], "aba", false),
            (&["a", "x", "b"], "a1x2b", true),
            (&["a", "x", "x", "b"], "a1x2b", false),
            (&["", ""], "anything", true),
            (&[], "a", false),
        ] {
            let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
            assert_eq!(is_made_of(text, &pieces), is_one, "{pieces:?} {text}");
        }
    }

    #[test]
    fn similar_names_are_suggested() {
        let names = ["ntp::servers", "ntp::package", "monit::alert", "sshd::port"];
        assert_eq!(nearest("ntp::server", names.into_iter(), 1), ["ntp::servers"]);
        assert_eq!(nearest("monit", names.into_iter(), 3), ["monit::alert"]);
        assert_eq!(nearest("zzz", names.into_iter(), 3), [""; 0]);
        let long = ["ab".repeat(5000), "ab".repeat(100), "b".repeat(201)];
        let found = |wanted: &str| nearest(wanted, long.iter().map(String::as_str), 3).len();
        assert_eq!([found(&"ba".repeat(5000)), found(&"ba".repeat(95)), found(&"ab".repeat(90))], [0, 2, 2]);
    }

    #[test]
    fn globs_match_whole_names() {
        let matches = |pattern: &str, name: &str| pattern.parse::<Pattern>().unwrap().matches(name);
        assert!(matches("web*.example.com", "web01.example.com"));
        assert!(!matches("web*", "aweb01"));
        assert!(matches("re:^web0[1-3]", "web02.example.com"));
        assert!(!matches("a.b", "axb"));
    }

    #[test]
    fn faults_are_one_line() {
        let error = "re:(".parse::<Pattern>().unwrap_err();
        assert_eq!(error.to_string(), "'re:(' is not a valid pattern: unclosed group");
    }
}
