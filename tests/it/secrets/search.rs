//! The search for marked secrets in any form that an output could give them.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::bytes::Regex;

/// Marks: every secret of the tests holds one of them, and nothing else does.
const MARKS: [&str; 2] = ["hush", "73592481"];

/// The first form of a mark that is in `bytes`; nothing if there is none.
pub(super) fn found(bytes: &[u8]) -> Option<String> {
    static FORMS: LazyLock<Regex> = LazyLock::new(|| {
        let forms: Vec<String> = forms().iter().map(|form| regex::escape(form)).collect();
        Regex::new(&forms.join("|")).unwrap()
    });
    FORMS.find(bytes).map(|found| String::from_utf8_lossy(found.as_bytes()).into_owned())
}

/// The marks as they are, in hexadecimal digits, and in base 64 at each of the three places that they can have in it.
fn forms() -> Vec<String> {
    let mut forms = Vec::new();
    for mark in MARKS {
        forms.push(mark.to_owned());
        forms.push(mark.to_uppercase());
        forms.push(mark.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat());
        forms.push(mark.chars().rev().collect());
        for lead in 0..3 {
            let encoded = STANDARD.encode([&b"???"[..lead], mark.as_bytes()].concat());
            // The first and last characters depend on what stands around the mark.
            let first = if lead == 0 { 0 } else { lead + 1 };
            forms.push(encoded.trim_end_matches('=')[first..].to_owned());
            let whole = (lead + mark.len()) * 8 / 6;
            forms.last_mut().unwrap().truncate(whole - first);
        }
    }
    forms
}

#[test]
fn the_search_finds_secrets() {
    for text in ["a hush", "HUSH", "x\"hush\\n", "68757368", "hsuh"] {
        assert!(found(text.as_bytes()).is_some(), "{text}");
    }
    for lead in 0..6 {
        let encoded = STANDARD.encode(format!("{}hush and more", "x".repeat(lead)));
        assert!(found(encoded.as_bytes()).is_some(), "{encoded}");
    }
    assert_eq!(found(b"<secret 3f2a91c0> hus h"), None);
    assert!(forms().iter().all(|form| form.len() >= 4), "{:?}", forms());
}
