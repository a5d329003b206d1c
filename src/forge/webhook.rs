//! The webhooks of forges: their events, and the proofs that the sender knows the secret.

use hmac::{Hmac, Mac};
use reqwest::header::HeaderMap;
use sha2::Sha256;

use super::Forge;
use crate::disclosure::is_same;
use crate::hex;

/// The webhooks of a forge.
#[derive(Debug)]
pub struct Webhooks {
    /// The header that names the event.
    pub event: &'static str,
    /// The proof that the sender knows the secret.
    pub proof: Proof,
    /// The events with which references may have moved.
    pub pushes: &'static [&'static str],
    /// The events that are about a request.
    pub requests: &'static [&'static str],
}

/// A proof that a client knows the secret.
#[derive(Debug)]
pub enum Proof {
    /// The secret itself, in this header.
    Token(&'static str),
    /// The HMAC-SHA256 of the body in hexadecimal digits, in this header, after these characters.
    Signature(&'static str, &'static str),
}

/// A request that has news for its review. Only this is taken from the body, since whoever opens a request writes the
/// rest.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestEvent {
    /// The names of its project: its full path and, on forges with such numbers, its number.
    pub project: Vec<String>,
    /// The number of the request.
    pub number: u64,
}

impl Webhooks {
    /// Returns the event of a webhook, or an empty text if it names none.
    pub fn event<'h>(&self, headers: &'h HeaderMap) -> &'h str {
        headers.get(self.event).and_then(|event| event.to_str().ok()).unwrap_or("")
    }
}

/// Checks a body, piece by piece, against the proof in its headers.
pub struct Verifier {
    /// The signature that the body should have, and that of the pieces so far; `None` if the secret itself was sent.
    signatures: Option<(Vec<u8>, Hmac<Sha256>)>,
}

impl Verifier {
    /// Makes a verifier, or returns `None` if the proof is missing, or wrong whatever the body is.
    pub fn new(forge: &dyn Forge, headers: &HeaderMap, secret: &[u8]) -> Option<Verifier> {
        let header = |name: &str| Some(headers.get(name)?.as_bytes());
        let signatures = match forge.constants().webhooks.proof {
            Proof::Token(name) => is_same(header(name)?, secret).then_some(None)?,
            Proof::Signature(name, before) => {
                let digits = header(name)?.strip_prefix(before.as_bytes())?;
                let mut signature = vec![0; digits.len() / 2];
                hex::read(digits, &mut signature)?;
                // A key may have any length.
                Some((signature, Hmac::new_from_slice(secret).ok()?))
            }
        };
        Some(Verifier { signatures })
    }

    /// Adds a piece of the body.
    pub fn update(&mut self, piece: &[u8]) {
        if let Some((_, mac)) = &mut self.signatures {
            mac.update(piece);
        }
    }

    /// Returns true if the sender knows the secret. This takes the same time whatever the answer is.
    pub fn passes(self) -> bool {
        self.signatures.is_none_or(|(signature, mac)| is_same(&signature, &mac.finalize().into_bytes()))
    }
}
