//! Stand-ins for secrets in outputs.

use std::fmt;

/// A public stand-in for a secret: its kind, and a fingerprint that tells equal secrets from different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hidden {
    /// The kind of secret.
    pub kind: HiddenKind,
    /// A keyed digest: equal secrets have equal fingerprints, and only the installation knows the key.
    pub fingerprint: [u8; 16],
}

/// The kinds of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HiddenKind {
    /// Puppet's `Sensitive`.
    Sensitive,
    /// Decrypted text, or a value made of a secret.
    Secret,
    /// Ciphertext that could not be decrypted, or a value made of it.
    Encrypted,
}

impl Hidden {
    /// Returns the name of the kind, as in `__ptype`.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            HiddenKind::Sensitive => "Sensitive",
            HiddenKind::Secret => "Secret",
            HiddenKind::Encrypted => "Encrypted",
        }
    }

    /// Returns the whole fingerprint, with the name of its method.
    pub fn fingerprint(&self) -> String {
        format!("hmac-sha256:{:032x}", u128::from_be_bytes(self.fingerprint))
    }
}

/// `<secret 3f2a91c0>`: enough of the fingerprint for a person to tell two apart.
impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beginning = u128::from_be_bytes(self.fingerprint) >> 96;
        write!(f, "<{} {beginning:08x}>", self.type_name().to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_sees_the_beginning_of_the_fingerprint() {
        let hidden = Hidden { kind: HiddenKind::Encrypted, fingerprint: *b"\x03\x2a\x91\xc0456789abcdef" };
        assert_eq!(hidden.to_string(), "<encrypted 032a91c0>");
        assert_eq!(hidden.fingerprint(), "hmac-sha256:032a91c0343536373839616263646566");
    }
}
