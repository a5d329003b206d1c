//! Names for secrets, so that lookups know which of them are equal and nothing else of them.
//!
//! An answer shows what a lookup did with a plaintext: a conversion that takes it apart, a pattern that it fits, an
//! item that a merge leaves out. So where an answer is for readers who may not see secrets, no lookup has a plaintext:
//! a name takes its place as soon as a block is opened. A lookup does with it what it does with ciphertext that it has
//! no key for.

use std::fmt;

use crate::hiera::stand_in::token;

/// Makes names. Without its key nobody can test a guess at a secret against a name.
pub trait SecretNames: fmt::Debug + Send + Sync {
    /// Returns the keyed digest of `content`.
    fn digest(&self, content: &[u8]) -> [u8; 16];
}

/// The kinds of things that have names. No two of different kinds have the same one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Named {
    /// A plaintext.
    Plain,
    /// The bytes that a block holds in place of a plaintext.
    Rejected,
}

/// Returns the name of the content of a block in the value of `key`. Secrets of two keys have different names, even
/// if they are equal.
pub(super) fn name(names: &dyn SecretNames, kind: Named, key: &str, content: &[u8]) -> String {
    let domain: &[u8] = match kind {
        Named::Plain => b"plaintext",
        Named::Rejected => b"rejected",
    };
    let mut all = Vec::with_capacity(content.len() + key.len() + 32);
    for part in [domain, key.as_bytes(), content] {
        all.extend((part.len() as u64).to_be_bytes());
        all.extend(part);
    }
    token(names.digest(&all))
}
