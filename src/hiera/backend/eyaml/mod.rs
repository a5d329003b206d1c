//! `eyaml_lookup_key`: YAML whose texts hold encrypted blocks.
//!
//! [`blocks`] finds them, `keys` has the key pairs, `pkcs7` opens what is inside. A block that cannot be opened for want of
//! a key, or whose method or cipher is not one of hierad's, stays as it is in a text that is an opaque secret.
//! Source: `functions/eyaml_lookup_key.rb`.

pub mod blocks;
mod keys;
mod pkcs7;

pub use keys::{Found, KeyName, KeyNames, KeyPair, KeyPairs, Keys, Opened};
pub use pkcs7::Refusal;

use std::sync::Arc;

use self::blocks::{Block, Part};
use crate::hiera::LookupError;
use crate::value::{Secrecy, Value, ruby};

/// What Puppet says of a level without paths.
pub const NEEDS_PATH: &str = "'eyaml_lookup_key': one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' must be declared in hiera.yaml when using this lookup_key function";

/// What Puppet says of the empty key.
pub const NEEDS_KEY: &str = "'eyaml_lookup_key' parameter 'key' expects a String[1] value, got String";

/// The decryption of the value of one key in one file.
#[derive(Debug, Clone, Copy)]
pub struct Decryption<'a> {
    /// All keys.
    pub keys: &'a Keys,
    /// The level's options, which name its keys.
    pub options: &'a Value,
    /// The key that is looked up, for error texts.
    pub key: &'a str,
    /// The file, for error texts.
    pub path: &'a str,
}

impl Decryption<'_> {
    /// `value` with the blocks in its texts opened. Keys of hashes are left alone.
    pub fn value(&self, value: &Value) -> Result<Value, LookupError> {
        match value {
            Value::String(text) => self.text(value, text.as_bytes()),
            Value::Bytes(bytes) => self.text(value, bytes),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Hash(hash) => {
                let entries = hash.iter().map(|(key, value)| Ok((key.clone(), self.value(value)?)));
                Ok(Value::hash(entries.collect::<Result<_, LookupError>>()?))
            }
            other => Ok(other.clone()),
        }
    }

    fn text(&self, value: &Value, text: &[u8]) -> Result<Value, LookupError> {
        if !blocks::is_encrypted(text) {
            return Ok(value.clone());
        }
        let mut out = Vec::with_capacity(text.len());
        let mut secrecy = None;
        for part in blocks::parts(text) {
            match part {
                Part::Plain(plain) => out.extend(plain),
                Part::Block(block) => {
                    let opened = self.open(&block).map_err(|why| self.failed(text, &why))?;
                    let own = Secrecy { opaque: opened.is_none(), seal: block.seal() };
                    secrecy = Secrecy::join(secrecy, Some(own));
                    out.extend(opened.as_deref().unwrap_or(block.text().as_bytes()));
                }
            }
        }
        chomp(&mut out);
        match Value::bytes(out) {
            // Ruby searches no text for a pattern that is not UTF-8.
            Value::Bytes(bytes) if bytes.windows(2).any(|two| two == b"%{") => {
                Err(LookupError::puppet("invalid byte sequence in UTF-8"))
            }
            value => Ok(value.sealed(secrecy)),
        }
    }

    /// What is in a block; nothing if hierad cannot know.
    fn open(&self, block: &Block) -> Result<Option<Arc<[u8]>>, Arc<str>> {
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
            Err(Refusal::Ruby(why)) => Err(why.into()),
        }
    }

    fn failed(&self, text: &[u8], why: &str) -> LookupError {
        let (key, path, text) = (self.key, self.path, String::from_utf8_lossy(text));
        LookupError::puppet(format!(
            "hiera-eyaml backend error decrypting {text} when looking up {key} in {path}. Error was {why}"
        ))
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
