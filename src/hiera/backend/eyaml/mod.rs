//! `eyaml_lookup_key`, and Hiera 3's backend `eyaml`: YAML whose texts contain encrypted blocks.
//!
//! [`blocks`] finds them, `keys` has the key pairs, `pkcs7` opens the blocks. If a block cannot be opened because its
//! key is missing or hierad does not support its method or cipher, it stays as it is, and its text is an opaque
//! secret.
//! Source: `functions/eyaml_lookup_key.rb`, hiera-eyaml's `hiera/backend/eyaml_backend.rb`.

pub mod blocks;
mod choice;
mod keys;
mod names;
mod pkcs7;

pub use choice::{AllowedKeys, KeyChoice, KeyName, KeyNames, NoKey};
pub use keys::{FoundPair, KeyPair, KeyPairs, Keys, Plaintext};
pub use names::SecretNames;
pub use pkcs7::{Refusal, Rejected};

use std::sync::Arc;

use self::blocks::{Block, TextPart};
use self::names::NamedContent;
use crate::hiera::LookupError;
use crate::hiera::interpolation::Opener;
use crate::puppet::ruby;
use crate::value::{Form, Secrecy, Value};

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
    /// The program that decrypts, which determines the wording of errors.
    pub reader: Reader<'a>,
}

/// The program that decrypts.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// Puppet, whose errors name the key that is looked up and the file.
    Puppet {
        /// The key.
        key: &'a str,
        /// The file.
        path: &'a str,
    },
    /// Hiera 3.
    Hiera3 {
        /// The key.
        key: &'a str,
    },
}

/// The failure to open a block, in Ruby's words.
struct Failure {
    why: Arc<str>,
    /// True if OpenSSL reports it for the block itself.
    is_of_block: bool,
}

impl<T: Into<Arc<str>>> From<T> for Failure {
    fn from(why: T) -> Failure {
        Failure { why: why.into(), is_of_block: false }
    }
}

/// The outcome of opening a block.
enum Piece {
    /// The plaintext.
    Plain(Arc<[u8]>),
    /// The key does not open the block; these are the bytes that result in place of a plaintext.
    Rejected(Vec<u8>),
    /// hierad cannot know the content.
    Closed,
}

impl Opener for Decryption<'_> {
    /// Opens all blocks of a text. Plaintexts are not searched for expressions if lookups see names: by flipping bits
    /// of a ciphertext, somebody could learn from the results how the plaintext continues.
    fn open(&self, value: &Value) -> Result<Value, LookupError> {
        let text = match value {
            Value::String(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            _ => return Ok(value.clone()),
        };
        if !blocks::is_encrypted(text) {
            return Ok(value.clone());
        }
        let parts: Vec<TextPart<'_>> = blocks::parts(text).collect();
        let mut opened = Vec::with_capacity(text.len());
        let mut secrecy = None;
        for (at, part) in parts.iter().enumerate() {
            match part {
                TextPart::Plain(plain) => opened.extend(*plain),
                TextPart::Block(block) => {
                    let piece = self.decrypt(block).map_err(|why| self.failed(text, why))?;
                    let (form, content) = self.content(piece, block, at + 1 == parts.len());
                    opened.extend(&*content);
                    secrecy = Secrecy::join(secrecy, Some(Secrecy { form, seal: block.seal() }));
                }
            }
        }
        chomp(&mut opened);
        match Value::bytes(opened) {
            // Ruby fails to search a text that is not UTF-8.
            Value::Bytes(bytes) if self.keys.names().is_none() && self.is_searched(&bytes) => {
                Err(LookupError::puppet("invalid byte sequence in UTF-8"))
            }
            value => Ok(value.sealed(secrecy)),
        }
    }
}

impl Decryption<'_> {
    /// Returns true if a plaintext is searched for expressions: Puppet first looks for the beginning of one.
    fn is_searched(&self, plain: &[u8]) -> bool {
        matches!(self.reader, Reader::Hiera3 { .. }) || plain.windows(2).any(|two| two == b"%{")
    }

    /// Returns the content to put in place of a block, which is a name if lookups see names, and the secret's form.
    fn content(&self, piece: Piece, block: &Block, is_last: bool) -> (Form, Arc<[u8]>) {
        let (Reader::Puppet { key, .. } | Reader::Hiera3 { key }) = self.reader;
        let stand_in =
            |names, kind, content: &[u8]| (Form::Named, Arc::from(names::name(names, kind, key, content).into_bytes()));
        match (piece, self.keys.names()) {
            (Piece::Plain(plain), None) => (Form::Clear, plain),
            (Piece::Plain(plain), Some(names)) => {
                let mut plain = plain.to_vec();
                if is_last {
                    chomp(&mut plain);
                }
                stand_in(names, NamedContent::Plain, &plain)
            }
            (Piece::Rejected(instead), Some(names)) => stand_in(names, NamedContent::Rejected, &instead),
            (Piece::Rejected(_) | Piece::Closed, _) => (Form::Encrypted, block.text().as_bytes().into()),
        }
    }

    /// Decrypts a block.
    fn decrypt(&self, block: &Block) -> Result<Piece, Failure> {
        if block.data().is_empty() {
            return Err("undefined method `[]' for nil:NilClass".into());
        }
        if !block.is_pkcs7() {
            return Ok(Piece::Closed);
        }
        let Some(pair) = self.keys.pair_for(self.options)? else { return Ok(Piece::Closed) };
        let sees_names = self.keys.names().is_some();
        match pair.open(&ruby::unpack(block.data().as_bytes()), sees_names) {
            Ok(plain) => Ok(Piece::Plain(plain)),
            Err(Refusal::Unsupported) => Ok(Piece::Closed),
            Err(Refusal::NoPkcs7(why)) => Err(why.into()),
            Err(Refusal::Rejected(rejected)) if sees_names => Ok(Piece::Rejected(rejected.instead)),
            Err(Refusal::Ruby(why) | Refusal::Rejected(Rejected { why, .. })) => {
                Err(Failure { why: why.into(), is_of_block: true })
            }
        }
    }

    fn failed(&self, text: &[u8], Failure { why, is_of_block }: Failure) -> LookupError {
        LookupError::puppet(match self.reader {
            Reader::Puppet { key, path } => {
                let text = String::from_utf8_lossy(text);
                format!("hiera-eyaml backend error decrypting {text} when looking up {key} in {path}. Error was {why}")
            }
            Reader::Hiera3 { .. } if is_of_block => format!(
                "Hiera-eyaml decryption failed, check the encrypted data matches the key you are using.\nRaw message from system: {why}"
            ),
            Reader::Hiera3 { .. } => why.to_string(),
        })
    }
}

/// Removes a line break at the end, like Ruby's `chomp`.
fn chomp(text: &mut Vec<u8>) {
    if text.last() == Some(&b'\n') {
        text.pop();
        text.pop_if(|byte| *byte == b'\r');
    } else {
        text.pop_if(|byte| *byte == b'\r');
    }
}
