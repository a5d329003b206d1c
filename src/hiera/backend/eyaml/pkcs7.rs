//! PKCS #7 enveloped data: a content key, encrypted for the holders of RSA keys, and the encrypted content.
//!
//! It is read as OpenSSL reads it, in any of BER's forms. Source: OpenSSL's `PKCS7_decrypt` as Ruby's
//! `OpenSSL::PKCS7` calls it.

use std::fmt;

use bcder::decode::{self, Constructed, DecodeError, SliceSource};
use bcder::string::BitString;
use bcder::{ConstOid, Mode, OctetString, Oid, Tag};
use cbc::Decryptor;
use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockCipher, BlockDecryptMut, KeyInit, KeyIvInit};
use rsa::pkcs1::EncodeRsaPublicKey;
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey};
use sha2::{Digest, Sha256};

/// The reason why there is no plaintext.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Ruby does not recognise it as PKCS #7, in these words.
    NoPkcs7(&'static str),
    /// Ruby fails to decrypt it, in these words.
    Ruby(&'static str),
    /// The key does not open it.
    Rejected(Rejected),
    /// hierad does not support the cipher or the form; Ruby may.
    Unsupported,
}

/// Data that a key does not open. Anybody who learns that about data of their own making can learn plaintexts bit by
/// bit, so readers must not see a difference from data that it opens.
#[derive(Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Ruby's words.
    pub why: &'static str,
    /// The bytes that result in place of a plaintext. They are equal exactly where plaintexts would be.
    pub instead: Vec<u8>,
}

impl fmt::Debug for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why)
    }
}

/// Ruby's error if the key yields no plaintext.
const BAD_DECRYPT: &str = "bad decrypt";

/// Ruby's error if OpenSSL cannot find the cipher, the recipient or the content.
const DECRYPT_ERROR: Refusal = Refusal::Ruby("decrypt error");

/// Ruby's error for data that is not PKCS #7: it looks for the PEM form last.
const NO_PKCS7: Refusal = Refusal::NoPkcs7("Could not parse the PKCS7: no start line");

const ENVELOPED_DATA: ConstOid = Oid(&[42, 134, 72, 134, 247, 13, 1, 7, 3]);
const AES_128_CBC: ConstOid = Oid(&[96, 134, 72, 1, 101, 3, 4, 1, 2]);
const AES_192_CBC: ConstOid = Oid(&[96, 134, 72, 1, 101, 3, 4, 1, 22]);
const AES_256_CBC: ConstOid = Oid(&[96, 134, 72, 1, 101, 3, 4, 1, 42]);
const DES_EDE3_CBC: ConstOid = Oid(&[42, 134, 72, 134, 247, 13, 3, 7]);

type Source<'a> = SliceSource<'a>;
type Parsed<T> = Result<T, DecodeError<std::convert::Infallible>>;

/// Enveloped data.
#[derive(Debug)]
pub(super) struct Envelope {
    recipients: Vec<Recipient>,
    cipher: Oid,
    iv: Result<OctetString, Refusal>,
    content: Option<OctetString>,
}

/// The recipient that the content key is encrypted for, and the encrypted key.
#[derive(Debug)]
struct Recipient {
    certificate: CertificateName,
    key: OctetString,
}

/// The identity of a certificate: issuer and serial number, as encoded.
#[derive(Debug, PartialEq, Eq)]
struct CertificateName {
    issuer: Vec<u8>,
    serial: Vec<u8>,
}

/// The identity and the public key of a certificate.
#[derive(Debug)]
pub(super) struct Certificate {
    name: CertificateName,
    public_key: Vec<u8>,
}

impl Envelope {
    /// Parses the envelope at the beginning of `data`.
    pub(super) fn parse(data: &[u8]) -> Result<Envelope, Refusal> {
        let looks_like_pem = || data.windows(11).any(|bytes| bytes == b"-----BEGIN ");
        match Mode::Ber.decode(data, content_info) {
            Ok(envelope) => envelope,
            Err(_) if looks_like_pem() => Err(Refusal::Unsupported),
            Err(_) => Err(NO_PKCS7),
        }
    }

    /// Decrypts the content with the key `private`, which must be that of `certificate` if there is one.
    pub(super) fn open(&self, private: &RsaPrivateKey, certificate: Option<&Certificate>) -> Result<Vec<u8>, Refusal> {
        if let Some(certificate) = certificate
            && !certificate.belongs_to(private)
        {
            return Err(Refusal::Ruby("private key does not match certificate"));
        }
        let decrypt = match &self.cipher {
            cipher if *cipher == AES_128_CBC => decrypt::<aes::Aes128>,
            cipher if *cipher == AES_192_CBC => decrypt::<aes::Aes192>,
            cipher if *cipher == AES_256_CBC => decrypt::<aes::Aes256>,
            cipher if *cipher == DES_EDE3_CBC => decrypt::<des::TdesEde3>,
            _ => return Err(Refusal::Unsupported),
        };
        let content = self.content.as_ref().ok_or(DECRYPT_ERROR)?.to_bytes();
        let iv = self.iv.as_ref().map_err(Clone::clone)?.to_bytes();
        decrypt(self.content_key(private, certificate)?, &iv, &content)
    }

    /// Returns true if only the key itself decides which recipient's content key is used.
    pub(super) fn is_ambiguous(&self, certificate: Option<&Certificate>) -> bool {
        certificate.is_none() && self.recipients.len() > 1
    }

    /// Decrypts the content key of the first recipient with the certificate's name or, without a certificate, the
    /// first one that the key opens.
    fn content_key(&self, private: &RsaPrivateKey, certificate: Option<&Certificate>) -> Result<ContentKey, Refusal> {
        // Blinded, so that the time reveals nothing about the key.
        let open = |recipient: &Recipient| {
            private.decrypt_blinded(&mut rsa::rand_core::OsRng, Pkcs1v15Encrypt, &recipient.key.to_bytes())
        };
        let (first, key) = match certificate {
            Some(certificate) => {
                let recipient = self.recipients.iter().find(|recipient| recipient.certificate == certificate.name);
                let recipient = recipient.ok_or(DECRYPT_ERROR)?;
                (Some(recipient), open(recipient).ok())
            }
            None => (self.recipients.first(), self.recipients.iter().find_map(|recipient| open(recipient).ok())),
        };
        Ok(match key {
            Some(key) => ContentKey { key, is_real: true },
            None => ContentKey {
                key: first.map_or_else(Vec::new, |recipient| recipient.key.to_bytes().to_vec()),
                is_real: false,
            },
        })
    }
}

/// A content key, or its substitute if the key does not open one.
struct ContentKey {
    key: Vec<u8>,
    is_real: bool,
}

/// Decrypts with a block cipher in CBC mode.
fn decrypt<C>(key: ContentKey, iv: &[u8], content: &[u8]) -> Result<Vec<u8>, Refusal>
where
    C: BlockCipher + BlockDecryptMut + KeyInit,
{
    if iv.len() != C::block_size() {
        return Err(DECRYPT_ERROR);
    }
    // If the key has a wrong length, OpenSSL continues with a substitute, too, lest somebody learn from the
    // difference.
    let is_real = key.is_real && key.key.len() == C::key_size();
    let key = if is_real { key.key } else { Sha256::digest(&key.key)[..C::key_size()].to_vec() };
    let rejected = |why, instead: &[u8]| Refusal::Rejected(Rejected { why, instead: instead.to_vec() });
    if content.is_empty() || !content.len().is_multiple_of(C::block_size()) {
        return Err(rejected(if is_real { "wrong final block length" } else { BAD_DECRYPT }, content));
    }
    let cipher = Decryptor::<C>::new_from_slices(&key, iv).map_err(|_| rejected(BAD_DECRYPT, content))?;
    let opened = cipher.decrypt_padded_vec_mut::<NoPadding>(content).map_err(|_| rejected(BAD_DECRYPT, content))?;
    match unpadded(&opened, C::block_size()) {
        Some(plain) if is_real => Ok(plain.to_vec()),
        _ => Err(rejected(BAD_DECRYPT, &opened)),
    }
}

/// Returns the data before the padding of PKCS #7, or `None` if there is no such padding.
fn unpadded(opened: &[u8], block: usize) -> Option<&[u8]> {
    let length = usize::from(*opened.last()?);
    let (plain, padding) = opened.split_at_checked(opened.len().checked_sub(length)?)?;
    let is_padding = (1..=block).contains(&length) && padding.iter().all(|byte| usize::from(*byte) == length);
    is_padding.then_some(plain)
}

impl Certificate {
    /// Parses the certificate at the beginning of `data`, or returns `None` if there is none.
    pub(super) fn parse(data: &[u8]) -> Option<Certificate> {
        Mode::Ber.decode(data, certificate).ok()
    }

    fn belongs_to(&self, key: &RsaPrivateKey) -> bool {
        key.to_public_key().to_pkcs1_der().is_ok_and(|der| der.as_bytes() == self.public_key)
    }
}

/// Reads a `ContentInfo`, which may contain other data or nothing.
fn content_info(cons: &mut Constructed<'_, Source<'_>>) -> Parsed<Result<Envelope, Refusal>> {
    cons.take_sequence(|info| {
        let kind = Oid::take_from(info)?;
        if kind != ENVELOPED_DATA {
            info.skip_all()?;
            return Ok(Err(Refusal::Ruby("wrong content type")));
        }
        let envelope = info.take_opt_constructed_if(Tag::CTX_0, |content| content.take_sequence(enveloped_data))?;
        Ok(envelope.ok_or(DECRYPT_ERROR))
    })
}

fn enveloped_data(data: &mut Constructed<'_, Source<'_>>) -> Parsed<Envelope> {
    skip_integer(data)?;
    let recipients = data.take_set(|set| {
        let mut recipients = Vec::new();
        while let Some(recipient) = set.take_opt_sequence(recipient)? {
            recipients.push(recipient);
        }
        Ok(recipients)
    })?;
    data.take_sequence(|content| {
        Oid::take_from(content)?;
        let (cipher, iv) = content.take_sequence(|algorithm| {
            let cipher = Oid::take_from(algorithm)?;
            let iv = match OctetString::take_opt_from(algorithm)? {
                Some(iv) => Ok(iv),
                // Without parameters, OpenSSL uses whatever the vector happens to be.
                None => Err(algorithm.skip_one()?.map_or(Refusal::Unsupported, |()| DECRYPT_ERROR)),
            };
            Ok((cipher, iv))
        })?;
        let encrypted = content.take_opt_value_if(Tag::CTX_0, OctetString::from_content)?;
        Ok((cipher, iv, encrypted))
    })
    .map(|(cipher, iv, content)| Envelope { recipients, cipher, iv, content })
}

fn recipient(info: &mut Constructed<'_, Source<'_>>) -> Parsed<Recipient> {
    skip_integer(info)?;
    let certificate = info
        .take_sequence(|name| Ok(CertificateName { issuer: capture_sequence(name)?, serial: capture_value(name)? }))?;
    // OpenSSL uses the padding of PKCS #1 v1.5, whatever algorithm the data names.
    capture_sequence(info)?;
    Ok(Recipient { certificate, key: OctetString::take_from(info)? })
}

fn certificate(cons: &mut Constructed<'_, Source<'_>>) -> Parsed<Certificate> {
    cons.take_sequence(|whole| {
        let certificate = whole.take_sequence(|body| {
            body.take_opt_constructed_if(Tag::CTX_0, skip_integer)?;
            let serial = capture_value(body)?;
            capture_sequence(body)?;
            let issuer = capture_sequence(body)?;
            let _validity = capture_sequence(body)?;
            let _subject = capture_sequence(body)?;
            let public_key = body.take_sequence(|key| {
                capture_sequence(key)?;
                BitString::take_from(key)
            })?;
            body.skip_all()?;
            let public_key = public_key.octet_bytes().to_vec();
            Ok(Certificate { name: CertificateName { issuer, serial }, public_key })
        })?;
        whole.skip_all()?;
        Ok(certificate)
    })
}

fn skip_integer(cons: &mut Constructed<'_, Source<'_>>) -> Parsed<()> {
    cons.take_value_if(Tag::INTEGER, |integer| integer.as_primitive()?.skip_all())
}

/// Returns the next value, as encoded.
fn capture_value(cons: &mut Constructed<'_, Source<'_>>) -> Parsed<Vec<u8>> {
    cons.capture_one().map(|value| value.as_slice().to_vec())
}

/// Returns the next value, which must be a sequence, as encoded.
fn capture_sequence(cons: &mut Constructed<'_, Source<'_>>) -> Parsed<Vec<u8>> {
    let value = cons.capture(|value| value.take_sequence(skip_all))?;
    Ok(value.as_slice().to_vec())
}

fn skip_all<S: decode::Source>(cons: &mut Constructed<'_, S>) -> Result<(), DecodeError<S::Error>> {
    cons.skip_all()
}
