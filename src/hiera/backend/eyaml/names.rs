//! Names for secrets, which tell lookups only which secrets are equal.
//!
//! An answer shows what a lookup did with a plaintext: a conversion that splits it, a pattern that it matches, an
//! item that a merge leaves out. So if an answer is for readers who may not see secrets, no lookup has a plaintext: a
//! name replaces it as soon as a block is opened. A lookup handles the name as it handles ciphertext that it has no
//! key for.

use std::fmt;

use crate::hiera::stand_in::token;

/// Makes names. Without the key of the digest, nobody can test a guess at a secret against a name.
pub trait SecretNames: fmt::Debug + Send + Sync {
    /// Returns the keyed digest of `content`.
    fn digest(&self, content: &[u8]) -> [u8; 16];
}

/// The kinds of things that have names. Things of different kinds never share a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum NamedContent {
    /// A plaintext.
    Plain,
    /// The bytes that result from a rejected block in place of a plaintext.
    Rejected,
}

/// Returns the name of the content of a block in the value of `key`. Secrets of two keys have different names, even
/// if they are equal.
pub(super) fn name(names: &dyn SecretNames, kind: NamedContent, key: &str, content: &[u8]) -> String {
    let domain: &[u8] = match kind {
        NamedContent::Plain => b"plaintext",
        NamedContent::Rejected => b"rejected",
    };
    let mut all = Vec::with_capacity(content.len() + key.len() + 32);
    for part in [domain, key.as_bytes(), content] {
        all.extend((part.len() as u64).to_be_bytes());
        all.extend(part);
    }
    token(names.digest(&all))
}
