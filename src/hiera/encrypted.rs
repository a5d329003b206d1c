//! The mark of encrypted texts, for code that must not mistake such a text for its plaintext.

/// The beginning of each encrypted block of eyaml.
pub const START: &str = "ENC[";

/// Returns true if a text may contain an encrypted block.
pub fn may_be_encrypted(text: &str) -> bool {
    text.contains(START)
}
