//! The encrypted blocks in a text: `ENC[METHOD,DATA]`. A block without a method uses PKCS #7.
//!
//! `DEC::METHOD[...]!` is written by `eyaml edit`; in data it is ordinary text.
//! Source: `Parser` and `EncHieraTokenType` in hiera-eyaml's `parser`, `encrypted?` in
//! `functions/eyaml_lookup_key.rb`.

use std::sync::LazyLock;

use regex::bytes::Regex;
use sha1::{Digest, Sha1};

use crate::hiera::encrypted::START;

/// The method that every hiera-eyaml has; the others are plug-ins.
const PKCS7: &str = "PKCS7";

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub enum TextPart<'a> {
    /// Text as it is.
    Plain(&'a [u8]),
    /// An encrypted block.
    Block(Block),
}

/// An encrypted block without the spaces and line breaks inside it.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    text: String,
    comma: Option<usize>,
}

impl Block {
    /// Returns the whole block, including `ENC[` and `]`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the method is PKCS #7.
    pub fn is_pkcs7(&self) -> bool {
        self.comma.is_none_or(|comma| self.text[START.len()..comma].eq_ignore_ascii_case(PKCS7))
    }

    /// Returns the ciphertext, in base 64.
    pub fn data(&self) -> &str {
        &self.text[self.comma.map_or(START.len(), |comma| comma + 1)..self.text.len() - 1]
    }

    /// Returns a digest of the block, never 0.
    pub fn seal(&self) -> u64 {
        let digest = Sha1::digest(&self.text);
        digest.iter().take(8).fold(0, |seal, byte| seal << 8 | u64::from(*byte)).max(1)
    }
}

/// Returns true if Puppet looks for blocks in `text`: only if a single line contains something like one.
pub fn is_encrypted(text: &[u8]) -> bool {
    static SEEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?-u)ENC\[[^\n]*\]").ok());
    SEEN.as_ref().is_some_and(|seen| seen.is_match(text))
}

/// Splits `text` into plain text and blocks.
pub fn parts(text: &[u8]) -> impl Iterator<Item = TextPart<'_>> {
    static BLOCK: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?-u)ENC\[(\w+,)?[a-zA-Z0-9+/ =\n]+?\]").ok());
    let mut at = 0;
    let mut blocks = BLOCK.as_ref().into_iter().flat_map(|block| block.captures_iter(text)).peekable();
    std::iter::from_fn(move || {
        let next = blocks.peek().and_then(|block| block.get(0));
        if let Some(start) = next.map(|next| next.start()).or(Some(text.len())).filter(|start| *start > at) {
            let plain = &text[at..start];
            at = start;
            return Some(TextPart::Plain(plain));
        }
        let captures = blocks.next()?;
        at = captures.get(0)?.end();
        Some(TextPart::Block(block(captures.get(0)?.as_bytes(), captures.get(1).is_some())))
    })
}

/// Makes a block from the text of a match, which is ASCII.
fn block(matched: &[u8], has_method: bool) -> Block {
    let text: String =
        matched.iter().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| char::from(*byte)).collect();
    let comma = text.find(',').filter(|_| has_method);
    Block { text, comma }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<(bool, String)> {
        let block = |part| match part {
            TextPart::Block(block) => Some((block.is_pkcs7(), block.data().to_owned())),
            TextPart::Plain(_) => None,
        };
        parts(text.as_bytes()).filter_map(block).collect()
    }

    #[test]
    fn a_text_is_taken_apart_at_its_blocks() {
        let text = "a ENC[PKCS7,QUJD\n RA==] b ENC[gpg,QQ==]ENC[QQ]ENC[no!]";
        let expected = [(true, "QUJDRA=="), (false, "QQ=="), (true, "QQ")];
        assert_eq!(blocks(text), expected.map(|(own, data)| (own, data.to_owned())));
        let plain: Vec<_> = parts(text.as_bytes()).filter(|part| matches!(part, TextPart::Plain(_))).collect();
        assert_eq!(plain, [TextPart::Plain(b"a "), TextPart::Plain(b" b "), TextPart::Plain(b"ENC[no!]")]);
    }

    #[test]
    fn a_block_over_several_lines_alone_is_not_seen() {
        assert!(!is_encrypted(b"ENC[PKCS7,QUJD\nRA==]"));
        assert!(is_encrypted(b"x\nENC[]"));
    }
}
