//! The style that Psych asks for when it writes a text: `visit_String` in `yaml_tree.rb`.

use std::sync::LazyLock;

use regex::Regex;

use super::scalar::Style;
use crate::puppet::yaml;

/// Returns the style of `text`, which is not a secret and not `<<`.
pub(super) fn of_text(text: &str) -> Style {
    if has_inner_break(text) {
        Style::Literal
    } else if text == "y" || text == "n" || starts_oddly(text) {
        Style::Double
    } else if !yaml::is_text(text) || looks_octal(text) {
        Style::Single
    } else {
        Style::Plain
    }
}

/// `/\n(?!\Z)/`: a line break, followed by more than another one that ends the text.
fn has_inner_break(text: &str) -> bool {
    text.match_indices('\n').any(|(at, _)| !matches!(&text[at + 1..], "" | "\n"))
}

/// `/^[^[:word:]][^"]*$/`: a line that begins with a non-word character and has no quote up to some line end.
fn starts_oddly(text: &str) -> bool {
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{Nd}\p{Pc}]").ok());
    let is_word = |rest: &str| WORD.as_ref().is_some_and(|word| word.is_match(rest));
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    starts.filter(|at| *at < text.len()).any(|at| {
        let rest = &text[at..];
        if is_word(rest) {
            return false;
        }
        let after_first = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
        let before_quote = &after_first[..after_first.find('"').unwrap_or(after_first.len())];
        before_quote.len() == after_first.len() || before_quote.contains('\n')
    })
}

/// `/\A0[0-7]*[89]/`: not a number in YAML 1.1, but easily taken for one.
fn looks_octal(text: &str) -> bool {
    let Some(digits) = text.strip_prefix('0') else { return false };
    digits.trim_start_matches(|c| ('0'..='7').contains(&c)).starts_with(['8', '9'])
}
