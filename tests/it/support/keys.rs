//! The keys that test data is encrypted for: nobody's, made by `tests/puppet/eyaml.rb`.

use std::io;
use std::path::PathBuf;
use std::sync::LazyLock;

use aes::Aes256;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cbc::Encryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockEncryptMut, KeyIvInit};
use hierad::hiera::backend::eyaml::{AllowedKeys, KeyChoice};
use hierad::hiera::backend::host::HostAccess;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::traits::PublicKeyParts;
use rsa::{BigUint, RsaPrivateKey, RsaPublicKey};

use super::random::Random;

/// A world in which the test keys are in `/keys`, and two of them in environment variables.
#[derive(Debug)]
pub(crate) struct TestKeys;

/// The choice of whatever keys hiera.yaml names.
pub(crate) fn all_keys() -> KeyChoice {
    KeyChoice::Named(
        AllowedKeys::parse(["/**", "env:EYAML_PRIVATE_KEY", "env:EYAML_PUBLIC_KEY", "env:NO_SUCH_VARIABLE"]).unwrap(),
    )
}

/// The place of a test key.
pub(crate) fn key_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/eyaml/keys").join(name)
}

impl HostAccess for TestKeys {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(key_file(path.strip_prefix("/keys/").ok_or(io::ErrorKind::NotFound)?))
    }

    fn variable(&self, name: &str) -> Option<String> {
        let file = match name {
            "EYAML_PRIVATE_KEY" => "default.key.pem",
            "EYAML_PUBLIC_KEY" => "default.pub.pem",
            _ => return None,
        };
        std::fs::read_to_string(key_file(file)).ok()
    }
}

/// The public part of the usual key.
static PUBLIC_KEY: LazyLock<RsaPublicKey> = LazyLock::new(|| {
    let pem = std::fs::read_to_string(key_file("default.key.pem")).unwrap();
    let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    RsaPrivateKey::from_pkcs1_der(&STANDARD.decode(base64).unwrap()).unwrap().to_public_key()
});

/// Encrypts a text for the key "default", as `eyaml` does but with all that is random from `seed`.
pub(crate) fn encrypted(text: &str, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut bytes =
        |count: usize| -> Vec<u8> { (0..count).map(|_| u8::try_from(random.next() % 255 + 1).unwrap()).collect() };
    let (key, iv) = (bytes(32), bytes(16));
    let public = &*PUBLIC_KEY;
    // PKCS #1 v1.5: 00 02, bytes that are not zero, 00, the content key.
    let size = public.size();
    let padded = [vec![0, 2], bytes(size - key.len() - 3), vec![0], key.clone()].concat();
    let sealed = BigUint::from_bytes_be(&padded).modpow(public.e(), public.n()).to_bytes_be();
    let sealed = [vec![0; size - sealed.len()], sealed].concat();
    let content = Encryptor::<Aes256>::new_from_slices(&key, &iv).unwrap();
    let content = content.encrypt_padded_vec_mut::<Pkcs7>(text.as_bytes());
    let oid = |bytes: &[u8]| der(0x06, &[bytes]);
    let data = [42, 134, 72, 134, 247, 13, 1, 7, 1];
    let name = der(0x30, &[&der(0x30, &[]), &der(0x02, &[&[1]])]);
    let rsa = der(0x30, &[&oid(&[42, 134, 72, 134, 247, 13, 1, 1, 1]), &der(0x05, &[])]);
    let recipient = der(0x30, &[&der(0x02, &[&[0]]), &name, &rsa, &der(0x04, &[&sealed])]);
    let cipher = der(0x30, &[&oid(&[96, 134, 72, 1, 101, 3, 4, 1, 42]), &der(0x04, &[&iv])]);
    let content = der(0x30, &[&oid(&data), &cipher, &der(0x80, &[&content])]);
    let envelope = der(0x30, &[&der(0x02, &[&[0]]), &der(0x31, &[&recipient]), &content]);
    let enveloped = oid(&[42, 134, 72, 134, 247, 13, 1, 7, 3]);
    let all = der(0x30, &[&enveloped, &der(0xa0, &[&envelope])]);
    format!("ENC[PKCS7,{}]", STANDARD.encode(all))
}

/// A value of ASN.1.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = match content.len() {
        short @ 0..128 => vec![u8::try_from(short).unwrap()],
        long => [&[0x82][..], &u16::try_from(long).unwrap().to_be_bytes()].concat(),
    };
    [vec![tag], length, content].concat()
}
