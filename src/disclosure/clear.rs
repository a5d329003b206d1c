//! Recognises secrets in clear text by the names of their places and by their form.

use crate::value::{Segment, Value, ValuePath};

/// The endings of names under which secrets are kept, in lower case.
const SECRET_ENDINGS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "private_key",
    "privatekey",
    "secret_key",
    "secretkey",
    "api_key",
    "apikey",
    "access_key",
];

/// Words that are never secrets.
const HARMLESS_WORDS: [&str; 12] =
    ["absent", "present", "undef", "none", "nil", "null", "true", "false", "yes", "no", "default", "disabled"];

/// Returns true if a value is a text that looks like a secret in clear at its place.
pub fn is_clear_secret(key: &str, path: &ValuePath, value: &Value) -> bool {
    match value {
        Value::String(text) if text.secrecy().is_none() => {
            is_private_key(text) || (is_secret_name(last_name(key, path)) && may_be_secret(text))
        }
        _ => false,
    }
}

/// Returns the name of a place: that of its last entry, or else of the key, without its namespace.
fn last_name<'a>(key: &'a str, path: &'a ValuePath) -> &'a str {
    let entry = path.0.iter().rev().find_map(|segment| match segment {
        Segment::Key(name) => Some(name.as_str().unwrap_or_default()),
        Segment::Index(_) => None,
    });
    entry.unwrap_or_else(|| key.rsplit("::").next().unwrap_or(key))
}

/// Returns true for names such as `db_password` and `tokens`, but not for `token_ttl` or `password_file`.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '.', ' '], "_");
    let is_word_of = |name: &str| {
        SECRET_ENDINGS
            .iter()
            .any(|word| name.strip_suffix(word).is_some_and(|before| before.is_empty() || before.ends_with(['_', ':'])))
    };
    is_word_of(&name) || name.strip_suffix('s').is_some_and(is_word_of)
}

/// Returns true for a text that may be a secret, and is not just a common word, a path, an address or a digest.
fn may_be_secret(text: &str) -> bool {
    let text = text.trim();
    let is_path = text.starts_with(['/', '~']) || text.contains("://");
    let is_digest = text.starts_with('$') && text.matches('$').count() >= 3;
    let is_marked = text.is_empty() || text.chars().all(|c| matches!(c, '*' | '!' | 'x' | 'X' | '-'));
    !(is_path || is_digest || is_marked || HARMLESS_WORDS.contains(&text.to_ascii_lowercase().as_str()))
}

/// Returns true for a private key in PEM form.
fn is_private_key(text: &str) -> bool {
    text.contains("PRIVATE KEY-----") && text.contains("-----BEGIN ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(key: &str, value: &str) -> bool {
        is_clear_secret(key, &ValuePath::default(), &value.into())
    }

    #[test]
    fn names_of_secrets_end_in_words_for_them() {
        for key in ["db::password", "api_token", "profile::web::API-KEY", "passwords", "x::ssh_private_key"] {
            assert!(looks(key, "hunter2"), "{key}");
        }
        for key in ["token_ttl", "db::password_file", "compassword", "motd"] {
            assert!(!looks(key, "hunter2"), "{key}");
        }
        let entry = ValuePath(vec![Segment::Key("users".into()), Segment::Index(0), Segment::Key("password".into())]);
        assert!(is_clear_secret("accounts", &entry, &"hunter2".into()));
    }

    #[test]
    fn words_paths_and_digests_are_no_secrets() {
        for value in ["", "absent", "/etc/ssl/key", "https://vault/x", "$6$salt$digest", "*", "!!", "True"] {
            assert!(!looks("db::password", value), "{value}");
        }
        assert!(!is_clear_secret("db::password", &ValuePath::default(), &5.into()));
        assert!(looks("motd", "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n"));
    }
}
