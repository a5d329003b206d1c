//! The key pairs that open encrypted blocks: named by a level's options or by the settings, read from files on disk
//! or from environment variables.
//!
//! Source: `decrypt` in hiera-eyaml's `encryptors/pkcs7.rb`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rsa::RsaPrivateKey;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;

use super::choice::{KeyChoice, KeyName, KeyNames, NoKey};
use super::names::SecretNames;
use super::pkcs7::{Certificate, Envelope, Refusal};
use crate::hiera::backend::host::HostAccess;
use crate::puppet::ruby;
use crate::value::Value;

/// A private key with its certificate, and the blocks opened so far, first without and then with `refuse_ambiguous`.
pub struct KeyPair {
    private: RsaPrivateKey,
    certificate: Option<Certificate>,
    opened: [Mutex<HashMap<Box<[u8]>, Plaintext>>; 2],
}

/// The plaintext of a block, or the reason why there is none.
pub type Plaintext = Result<Arc<[u8]>, Refusal>;

/// A pair, or `None` if it is not on this machine. The error is worded like Ruby's.
pub type FoundPair = Result<Option<Arc<KeyPair>>, Arc<str>>;

/// The key pairs of an environment. Each is read once.
#[derive(Debug)]
pub struct Keys {
    choice: KeyChoice,
    /// The names that replace secrets, or `None` if lookups see the secrets themselves.
    names: Option<Arc<dyn SecretNames>>,
    host: Arc<dyn HostAccess>,
    pairs: Arc<KeyPairs>,
    found: Mutex<HashMap<KeyNames, FoundPair>>,
}

/// Key pairs by the contents of their files. They outlive an environment.
#[derive(Debug, Default)]
pub struct KeyPairs(Mutex<HashMap<[Option<Vec<u8>>; 2], FoundPair>>);

impl Keys {
    /// Returns the keys of `host` that may be read.
    pub fn new(choice: KeyChoice, host: Arc<dyn HostAccess>, pairs: Arc<KeyPairs>) -> Keys {
        Keys { choice, names: None, host, pairs, found: Mutex::default() }
    }

    /// Returns the same keys for lookups that see names instead of secrets.
    #[must_use]
    pub fn with_names(self, names: Option<Arc<dyn SecretNames>>) -> Keys {
        Keys { names, ..self }
    }

    /// Returns the names of secrets, or `None` if lookups see the secrets themselves.
    pub(super) fn names(&self) -> Option<&dyn SecretNames> {
        self.names.as_deref()
    }

    /// Returns the pair of a level with these `options`.
    pub fn pair_for(&self, options: &Value) -> FoundPair {
        let names = match &self.choice {
            KeyChoice::Pair(names) => names.clone(),
            KeyChoice::NoKeys => return Ok(None),
            KeyChoice::Named(allowed) => {
                let names = KeyNames::of_options(options)?;
                if !allowed.allow(&names) {
                    return Ok(None);
                }
                names
            }
        };
        if let Some(found) = lock(&self.found).get(&names) {
            return found.clone();
        }
        let found = self.find(&names);
        lock(&self.found).insert(names, found.clone());
        found
    }

    /// Returns the reason why there is no key for a level with these `options`, or `None` if there is one.
    pub fn missing_reason(&self, options: &Value) -> Option<NoKey> {
        if !matches!(self.pair_for(options), Ok(None)) {
            return None;
        }
        Some(match (&self.choice, KeyNames::of_options(options)) {
            (KeyChoice::NoKeys, _) => NoKey::NotWanted,
            (KeyChoice::Named(allowed), Ok(names)) if !allowed.allow(&names) => NoKey::not_allowed(&names),
            _ => NoKey::NotReadable,
        })
    }

    fn find(&self, names: &KeyNames) -> FoundPair {
        let (private, public) = (self.read(&names.private), self.read(&names.public));
        // hiera-eyaml opens nothing without the certificate; settings may name a private key alone.
        let is_missing = private.is_none() || (public.is_none() && names.public != KeyName::default());
        if is_missing { Ok(None) } else { self.pairs.get([private, public]) }
    }

    /// Returns true if no key was looked for yet.
    pub fn are_unused(&self) -> bool {
        lock(&self.found).is_empty()
    }

    /// Returns true if the keys used so far are unchanged.
    pub fn are_current(&self) -> bool {
        let used = lock(&self.found).clone();
        used.iter().all(|(names, found)| match (found, &self.find(names)) {
            (Ok(Some(old)), Ok(Some(new))) => Arc::ptr_eq(old, new),
            (Ok(None), Ok(None)) => true,
            (Err(old), Err(new)) => old == new,
            _ => false,
        })
    }

    /// Reads a key's variable or file, or `None` if neither can be read here.
    fn read(&self, name: &KeyName) -> Option<Vec<u8>> {
        if let Some(value) = name.variable.as_ref().and_then(|variable| self.host.variable(variable)) {
            return Some(if name.is_base64 { ruby::unpack(value.as_bytes()) } else { value.into_bytes() });
        }
        // The working folder of a Puppet server is not known.
        let path = name.file.as_ref().filter(|path| path.starts_with('/'))?;
        self.host.read(path).ok()
    }
}

impl KeyPairs {
    /// Returns the pair of a private key and a certificate, parsed from their files.
    fn get(&self, content: [Option<Vec<u8>>; 2]) -> FoundPair {
        if let Some(found) = lock(&self.0).get(&content) {
            return found.clone();
        }
        let [private, certificate] = &content;
        let found = KeyPair::parse(private.as_deref().unwrap_or_default(), certificate.as_deref());
        let found = found.map(|pair| Some(Arc::new(pair))).map_err(Arc::from);
        lock(&self.0).insert(content, found.clone());
        found
    }
}

impl KeyPair {
    /// Parses a private key, and its certificate if there is one. An error is worded like Ruby's.
    pub fn parse(private: &[u8], certificate: Option<&[u8]>) -> Result<KeyPair, &'static str> {
        let private = private_key(private)?;
        let parse = |content: &[u8]| {
            let pem = pem(content, "CERTIFICATE").or_else(|| pem(content, "X509 CERTIFICATE"));
            let parsed = Certificate::parse(pem.as_deref().unwrap_or(content));
            parsed.ok_or("PEM_read_bio_X509: no start line")
        };
        let certificate = certificate.map(parse).transpose()?;
        Ok(KeyPair { private, certificate, opened: Default::default() })
    }

    /// Decrypts `data` without caching the plaintext.
    pub fn peek(&self, data: &[u8]) -> Result<Vec<u8>, Refusal> {
        self.decrypt(data, false)
    }

    /// Decrypts `data`, once for all calls. With `refuse_ambiguous`, data is refused if only the key itself could tell
    /// which of several recipients it belongs to.
    pub fn open(&self, data: &[u8], refuse_ambiguous: bool) -> Plaintext {
        let known = &self.opened[usize::from(refuse_ambiguous)];
        if let Some(opened) = lock(known).get(data) {
            return opened.clone();
        }
        let opened = self.decrypt(data, refuse_ambiguous).map(Arc::from);
        lock(known).insert(data.into(), opened.clone());
        opened
    }

    fn decrypt(&self, data: &[u8], refuse_ambiguous: bool) -> Result<Vec<u8>, Refusal> {
        let (envelope, certificate) = (Envelope::parse(data)?, self.certificate.as_ref());
        if refuse_ambiguous && envelope.is_ambiguous(certificate) {
            return Err(Refusal::Unsupported);
        }
        envelope.open(&self.private, certificate)
    }
}

/// Shows nothing of the key.
impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyPair")
    }
}

/// Returns an RSA key in PKCS #1 or PKCS #8, as PEM or DER.
fn private_key(content: &[u8]) -> Result<RsaPrivateKey, &'static str> {
    const UNREADABLE: &str = "Neither PUB key nor PRIV key: unsupported";
    if ["PUBLIC KEY", "RSA PUBLIC KEY"].iter().any(|label| pem(content, label).is_some()) {
        return Err("private key is needed");
    }
    let pkcs1 = pem(content, "RSA PRIVATE KEY");
    let pkcs8_der = pem(content, "PRIVATE KEY");
    let pkcs1 = RsaPrivateKey::from_pkcs1_der(pkcs1.as_deref().unwrap_or(content)).ok();
    let key = pkcs1.or_else(|| RsaPrivateKey::from_pkcs8_der(pkcs8_der.as_deref().unwrap_or(content)).ok());
    key.ok_or(UNREADABLE)
}

/// Returns the first PEM block with this label, decoded, or `None` if there is none. Text around it is ignored.
fn pem(content: &[u8], label: &str) -> Option<Vec<u8>> {
    let mut lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let is_marker = |line: &[u8], word: &str| line == format!("-----{word} {label}-----").as_bytes();
    lines.find(|line| is_marker(line, "BEGIN"))?;
    let mut text = Vec::new();
    for line in lines {
        if is_marker(line, "END") {
            return Some(ruby::unpack(&text));
        }
        text.extend(line);
    }
    None
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
