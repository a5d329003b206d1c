//! PKCS #7 enveloped data: a content key, encrypted for whoever holds an RSA key, and the content.
//!
//! Read as OpenSSL reads it, in any of BER's forms. Source: OpenSSL's `PKCS7_decrypt` as Ruby's `OpenSSL::PKCS7` calls
//! it.

use bcder::decode::{self, Constructed, DecodeError, SliceSource};
use bcder::string::BitString;
use bcder::{ConstOid, Mode, OctetString, Oid, Tag};
use cbc::Decryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipher, BlockDecryptMut, KeyInit, KeyIvInit};
use rsa::pkcs1::EncodeRsaPublicKey;
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey};

/// The reason for which there is no plaintext.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Ruby takes it for no PKCS #7, in these words.
    NoPkcs7(&'static str),
    /// Ruby fails to decrypt it, in these words.
    Ruby(&'static str),
    /// Ruby may know the cipher.
    Unsupported,
}

/// No plaintext comes out with the key.
const BAD_DECRYPT: Refusal = Refusal::Ruby("bad decrypt");

/// OpenSSL cannot make out cipher, recipient or content.
const DECRYPT_ERROR: Refusal = Refusal::Ruby("decrypt error");

/// Ruby's error for data that is no PKCS #7: it looks for the PEM form last.
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

/// For whom the content key is encrypted, and the encrypted key.
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
    /// Reads what starts at the beginning of `data`.
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
        decrypt(&self.content_key(private, certificate)?, &iv, &content)
    }

    /// Decrypts the content key: that of the first recipient of the certificate's name or, without a certificate, the
    /// first that comes out.
    fn content_key(&self, private: &RsaPrivateKey, certificate: Option<&Certificate>) -> Result<Vec<u8>, Refusal> {
        let open = |recipient: &Recipient| private.decrypt(Pkcs1v15Encrypt, &recipient.key.to_bytes());
        let Some(certificate) = certificate else {
            return self.recipients.iter().find_map(|recipient| open(recipient).ok()).ok_or(BAD_DECRYPT);
        };
        let own = self.recipients.iter().find(|recipient| recipient.certificate == certificate.name);
        open(own.ok_or(DECRYPT_ERROR)?).map_err(|_| BAD_DECRYPT)
    }
}

/// Decrypts with a block cipher in CBC mode.
fn decrypt<C>(key: &[u8], iv: &[u8], content: &[u8]) -> Result<Vec<u8>, Refusal>
where
    C: BlockCipher + BlockDecryptMut + KeyInit,
{
    if iv.len() != C::block_size() {
        return Err(DECRYPT_ERROR);
    }
    // With a key of another length OpenSSL takes a random one, lest somebody learn from the difference.
    let cipher = Decryptor::<C>::new_from_slices(key, iv).map_err(|_| BAD_DECRYPT)?;
    if content.is_empty() || !content.len().is_multiple_of(C::block_size()) {
        return Err(Refusal::Ruby("wrong final block length"));
    }
    cipher.decrypt_padded_vec_mut::<Pkcs7>(content).map_err(|_| BAD_DECRYPT)
}

impl Certificate {
    /// Reads the certificate at the beginning of `data`, or `None` if there is none.
    pub(super) fn parse(data: &[u8]) -> Option<Certificate> {
        Mode::Ber.decode(data, certificate).ok()
    }

    fn belongs_to(&self, key: &RsaPrivateKey) -> bool {
        key.to_public_key().to_pkcs1_der().is_ok_and(|der| der.as_bytes() == self.public_key)
    }
}

/// `ContentInfo`, which may be of other data or empty.
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
                // Without parameters the vector is whatever OpenSSL has there.
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
    let certificate =
        info.take_sequence(|name| Ok(CertificateName { issuer: sequence(name)?, serial: captured(name)? }))?;
    // OpenSSL takes the padding of PKCS #1 v1.5, whatever the algorithm is said to be.
    sequence(info)?;
    Ok(Recipient { certificate, key: OctetString::take_from(info)? })
}

fn certificate(cons: &mut Constructed<'_, Source<'_>>) -> Parsed<Certificate> {
    cons.take_sequence(|whole| {
        let certificate = whole.take_sequence(|body| {
            body.take_opt_constructed_if(Tag::CTX_0, skip_integer)?;
            let serial = captured(body)?;
            sequence(body)?;
            let issuer = sequence(body)?;
            let _validity = sequence(body)?;
            let _subject = sequence(body)?;
            let public_key = body.take_sequence(|key| {
                sequence(key)?;
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
fn captured(cons: &mut Constructed<'_, Source<'_>>) -> Parsed<Vec<u8>> {
    cons.capture_one().map(|value| value.as_slice().to_vec())
}

/// Returns the next value, which must be a sequence, as encoded.
fn sequence(cons: &mut Constructed<'_, Source<'_>>) -> Parsed<Vec<u8>> {
    let value = cons.capture(|value| value.take_sequence(skip_all))?;
    Ok(value.as_slice().to_vec())
}

fn skip_all<S: decode::Source>(cons: &mut Constructed<'_, S>) -> Result<(), DecodeError<S::Error>> {
    cons.skip_all()
}
