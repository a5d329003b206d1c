//! The comparison of secrets.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Returns true if two secrets are the same. The time that this takes depends on their lengths only.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one).ct_eq(&Sha256::digest(other)).into()
}
