//! `eyaml_lookup_key`, and Hiera 3's backend `eyaml`: YAML whose texts hold encrypted blocks.
//!
//! [`blocks`] finds them, `keys` has the key pairs, `pkcs7` opens what is inside. A block that cannot be opened for
//! want of a key, or whose method or cipher is not one of hierad's, stays as it is in a text that is an opaque secret.
//! Source: `functions/eyaml_lookup_key.rb`, hiera-eyaml's `hiera/backend/eyaml_backend.rb`.

pub mod blocks;
mod keys;
mod pkcs7;

pub use keys::{FoundPair, KeyName, KeyNames, KeyPair, KeyPairs, Keys, Opened};
pub use pkcs7::Refusal;

use std::sync::Arc;

use self::blocks::{Block, Part};
use crate::hiera::LookupError;
use crate::puppet::ruby;
use crate::value::{Secrecy, Value};

/// Puppet's error for a level without paths.
pub const NEEDS_PATH: &str = "'eyaml_lookup_key': one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' must be declared in hiera.yaml when using this lookup_key function";

/// Puppet's error for the empty key.
pub const NEEDS_KEY: &str = "'eyaml_lookup_key' parameter 'key' expects a String[1] value, got String";

/// The decryption of the value of one key in one file.
#[derive(Debug, Clone, Copy)]
pub struct Decryption<'a> {
    /// All keys.
    pub keys: &'a Keys,
    /// The level's options, which name its keys.
    pub options: &'a Value,
    /// The program that decrypts, which shows in errors.
    pub reader: Reader<'a>,
}

/// The program that decrypts.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// Puppet, which tells of the key that is looked up and of the file.
    Puppet {
        /// The key.
        key: &'a str,
        /// The file.
        path: &'a str,
    },
    /// Hiera 3.
    Hiera3,
}

/// A block that cannot be opened, in Ruby's words.
struct Failure {
    why: Arc<str>,
    /// True if OpenSSL says so of the block itself.
    of_block: bool,
}

impl<T: Into<Arc<str>>> From<T> for Failure {
    fn from(why: T) -> Failure {
        Failure { why: why.into(), of_block: false }
    }
}

impl Decryption<'_> {
    /// Returns the text `value` with its blocks opened; any other value is itself.
    pub fn text(&self, value: &Value) -> Result<Value, LookupError> {
        let text = match value {
            Value::String(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            other => return Ok(other.clone()),
        };
        if !blocks::is_encrypted(text) {
            return Ok(value.clone());
        }
        let mut out = Vec::with_capacity(text.len());
        let mut secrecy = None;
        for part in blocks::parts(text) {
            match part {
                Part::Plain(plain) => out.extend(plain),
                Part::Block(block) => {
                    let opened = self.open(&block).map_err(|why| self.failed(text, why))?;
                    let own = Secrecy { opaque: opened.is_none(), seal: block.seal() };
                    secrecy = Secrecy::join(secrecy, Some(own));
                    out.extend(opened.as_deref().unwrap_or(block.text().as_bytes()));
                }
            }
        }
        chomp(&mut out);
        match Value::bytes(out) {
            // Ruby searches no text for a pattern that is not UTF-8.
            Value::Bytes(bytes) if self.is_searched(&bytes) => {
                Err(LookupError::puppet("invalid byte sequence in UTF-8"))
            }
            value => Ok(value.sealed(secrecy)),
        }
    }

    /// Returns true if a plaintext is searched for expressions: Puppet looks for the beginning of one first.
    fn is_searched(&self, plain: &[u8]) -> bool {
        matches!(self.reader, Reader::Hiera3) || plain.windows(2).any(|two| two == b"%{")
    }

    /// Decrypts a block, or `None` if hierad cannot know its content.
    fn open(&self, block: &Block) -> Result<Option<Arc<[u8]>>, Failure> {
        if block.data().is_empty() {
            return Err("undefined method `[]' for nil:NilClass".into());
        }
        if !block.is_pkcs7() {
            return Ok(None);
        }
        let Some(pair) = self.keys.of(self.options)? else { return Ok(None) };
        match pair.open(&ruby::unpack(block.data().as_bytes())) {
            Ok(plain) => Ok(Some(plain)),
            Err(Refusal::Unsupported) => Ok(None),
            Err(Refusal::NoPkcs7(why)) => Err(why.into()),
            Err(Refusal::Ruby(why)) => Err(Failure { why: why.into(), of_block: true }),
        }
    }

    fn failed(&self, text: &[u8], Failure { why, of_block }: Failure) -> LookupError {
        LookupError::puppet(match self.reader {
            Reader::Puppet { key, path } => {
                let text = String::from_utf8_lossy(text);
                format!("hiera-eyaml backend error decrypting {text} when looking up {key} in {path}. Error was {why}")
            }
            Reader::Hiera3 if of_block => format!(
                "Hiera-eyaml decryption failed, check the encrypted data matches the key you are using.\nRaw message from system: {why}"
            ),
            Reader::Hiera3 => why.to_string(),
        })
    }
}

/// Ruby's `chomp`.
fn chomp(text: &mut Vec<u8>) {
    if text.last() == Some(&b'\n') {
        text.pop();
        text.pop_if(|byte| *byte == b'\r');
    } else {
        text.pop_if(|byte| *byte == b'\r');
    }
}
