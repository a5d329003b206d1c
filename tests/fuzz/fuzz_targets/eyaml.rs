//! No text makes the search for encrypted blocks panic, and nothing that is in a block its decryption.
//!
//! The input is a text and, behind a zero byte, what would be in a block: PKCS #7, a private key or a certificate.
#![no_main]

use std::sync::LazyLock;

use hierad::hiera::backend::eyaml::KeyPair;
use hierad::hiera::backend::eyaml::blocks::{TextPart, is_encrypted, parts};
use libfuzzer_sys::fuzz_target;

static PAIR: LazyLock<KeyPair> = LazyLock::new(pair);

fn pair() -> KeyPair {
    let private = include_bytes!("../../vectors/eyaml/keys/small.key.pem");
    let certificate = include_bytes!("../../vectors/eyaml/keys/small.pub.pem");
    KeyPair::parse(private, Some(certificate)).unwrap()
}

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let (text, data) = input.split_at(end);
    let mut length = 0;
    for part in parts(text) {
        match part {
            TextPart::Plain(plain) => length += plain.len(),
            TextPart::Block(block) => {
                assert!(block.text().starts_with("ENC[") && block.text().contains(block.data()));
                assert!(block.is_pkcs7() || block.text().contains(','));
                length += block.text().len();
            }
        }
    }
    assert!(length <= text.len());
    _ = is_encrypted(text);
    let data = data.get(1..).unwrap_or_default();
    _ = PAIR.peek(data);
    _ = KeyPair::parse(data, Some(data));
    _ = KeyPair::parse(include_bytes!("../../vectors/eyaml/keys/small.key.pem"), Some(data));
});
