//! The code in templates: what is between `<%` and `%>`.
//!
//! Source: Ruby's `erb.rb`, `pops/parser/epp_support.rb`.

use super::tokens::{Token, Word, tokens_from};

/// A piece of code.
pub(super) struct Code<'t> {
    pub(super) text: &'t str,
    /// The line that it begins on.
    pub(super) line: u32,
}

/// Returns the code in a text that begins on `line`, without comments.
pub(super) fn code(text: &str, mut line: u32) -> Vec<Code<'_>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("<%") {
        line += count_line_ends(before);
        if let Some(literal) = after.strip_prefix('%') {
            rest = literal;
            continue;
        }
        let (inner, next) = after.split_once("%>").unwrap_or((after, ""));
        if !inner.starts_with('#') {
            found.push(Code { text: inner.trim_start_matches(['=', '-']), line });
        }
        line += count_line_ends(inner);
        rest = next;
    }
    found
}

fn count_line_ends(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX)
}

/// Returns the words of code in the language of manifests, whose pieces form one program.
pub(super) fn words(code: &[Code<'_>]) -> Vec<Word> {
    let mut words = Vec::new();
    for Code { text, line } in code {
        words.extend(tokens_from(text, *line));
        words.push(Word { token: Token::Sign(';'), line: *line, is_joined: false });
    }
    words
}
