//! The key of an installation, and the fingerprints that it makes.

use std::fmt::{self, Write};

use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::hex::{self, Hex};

const LENGTH: usize = 32;

/// The key that makes fingerprints. Only with this key can a guess at a secret be tested against its fingerprint.
pub struct Key(Zeroizing<[u8; LENGTH]>);

/// The kind of content. Equal contents of two kinds have different fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// A plaintext, for its name in lookups.
    Name,
    /// A name, or a text made of names.
    Secret,
    /// Ciphertext, or data made of it.
    Encrypted,
    /// A `Sensitive` of data in clear text.
    Sensitive,
}

impl Domain {
    /// Returns the text that precedes the content. No label is a prefix of another.
    fn label(self) -> &'static [u8] {
        match self {
            Domain::Name => b"name\0",
            Domain::Secret => b"secret\0",
            Domain::Encrypted => b"encrypted\0",
            Domain::Sensitive => b"sensitive\0",
        }
    }
}

impl Key {
    /// Makes a key from the system's source of randomness, which may fail.
    pub fn random() -> Result<Key, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; LENGTH]);
        getrandom::fill(&mut *bytes)?;
        Ok(Key(bytes))
    }

    /// Parses a key of 64 hexadecimal digits. Returns `None` for any other text.
    pub fn from_hex(text: &str) -> Option<Key> {
        let mut bytes = Zeroizing::new([0; LENGTH]);
        hex::read(text.as_bytes(), &mut *bytes)?;
        Some(Key(bytes))
    }

    /// Returns the key as hexadecimal digits.
    pub fn to_hex(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(2 * LENGTH));
        _ = write!(text, "{}", Hex(&*self.0));
        text
    }

    /// Returns the fingerprint of `content`: the first half of the HMAC of the domain's label and `content`.
    pub fn fingerprint(&self, domain: Domain, content: &[u8]) -> [u8; 16] {
        let mut fingerprint = [0; 16];
        // HMAC takes keys of any length.
        if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&*self.0) {
            mac.update(domain.label());
            mac.update(content);
            fingerprint.copy_from_slice(&mac.finalize().into_bytes()[..16]);
        }
        fingerprint
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_and_read_back() {
        let key = Key::random().unwrap();
        let again = Key::from_hex(&key.to_hex()).unwrap();
        let digest = |key: &Key, content: &[u8]| key.fingerprint(Domain::Name, content);
        assert_eq!(digest(&key, b"x"), digest(&again, b"x"));
        assert_ne!(digest(&key, b"x"), digest(&key, b"y"));
        assert_ne!(digest(&key, b"x"), digest(&Key::random().unwrap(), b"x"));
        assert_ne!(digest(&key, b"x"), key.fingerprint(Domain::Secret, b"x"));
        for wrong in ["", "00", &"+1".repeat(32), &"é".repeat(32), &"0".repeat(63), &"g".repeat(64)] {
            assert!(Key::from_hex(wrong).is_none(), "{wrong}");
        }
    }

    /// `printf 'name\0abc' | openssl dgst -sha256 -mac HMAC -macopt hexkey:5a5a...`.
    #[test]
    fn it_is_the_hmac_of_the_standard() {
        let key = Key::from_hex(&"5a".repeat(32)).unwrap();
        let fingerprint = u128::from_be_bytes(key.fingerprint(Domain::Name, b"abc"));
        assert_eq!(format!("{fingerprint:032x}"), "45dd6d89248fa3a837f42f1f7de69046");
    }
}
