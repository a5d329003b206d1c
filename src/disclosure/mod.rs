//! Hides secrets from readers: they see only fingerprints, unless they ask for more.
//!
//! The answers of lookups contain secrets in plaintext, marked as secret. Whatever leaves the process (a report, a
//! snapshot, an explanation, an error text, a diagnostic) goes through a [`Disclosure`] first, so that no writer needs
//! to know of secrets.

mod clear;
mod explained;
mod key;
pub mod key_file;
mod same;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::hiera::backend::eyaml::SecretNames;
use crate::hiera::{LookupError, Outcome};
use crate::puppet::json;
use crate::value::{Form, Hidden, HiddenKind, Rich, Secrecy, Segment, Text, Value, ValuePath};

pub use clear::{is_clear_secret, is_secret_name};
pub use key::{Domain, Key};
pub use same::is_same;

/// Makes the key when the first secret is met.
type KeySource = Box<dyn FnOnce() -> Key + Send>;

/// The treatment of secrets in outputs.
pub struct Disclosure(Option<LazyLock<Key, KeySource>>);

impl Disclosure {
    /// Replaces secrets by fingerprints. `source` makes their key, and is called when the first secret is met.
    pub fn masked(source: impl FnOnce() -> Key + Send + 'static) -> Disclosure {
        Disclosure(Some(LazyLock::new(Box::new(source))))
    }

    /// Shows secrets.
    pub fn shown() -> Disclosure {
        Disclosure(None)
    }

    /// Returns the names of secrets for lookups, so that these see no plaintext, or `None` if secrets are shown.
    pub fn names(self: &Arc<Disclosure>) -> Option<Arc<dyn SecretNames>> {
        self.0.is_some().then(|| self.clone() as Arc<dyn SecretNames>)
    }

    /// Returns true if a part of `value` is a secret that is not shown.
    pub fn hides(&self, value: &Value) -> bool {
        self.0.is_some() && value.secrecy().is_some()
    }

    /// Returns `value` with its secrets hidden.
    pub fn value<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        match &self.0 {
            _ if value.secrecy().is_none() => Cow::Borrowed(value),
            Some(key) => Cow::Owned(masked(value, key)),
            None => Cow::Owned(unsealed(value)),
        }
    }

    /// Returns `path` with its secrets hidden.
    pub fn path<'p>(&self, path: &'p ValuePath) -> Cow<'p, ValuePath> {
        if path.secrecy().is_none() {
            return Cow::Borrowed(path);
        }
        let segment = |segment: &Segment| match segment {
            Segment::Key(key) => Segment::Key(self.value(key).into_owned()),
            index @ Segment::Index(_) => index.clone(),
        };
        Cow::Owned(ValuePath(path.0.iter().map(segment).collect()))
    }

    /// Returns a text, such as the name of a key inside a secret text, with its secrets hidden.
    pub fn text<'t>(&self, text: &'t Text) -> Cow<'t, str> {
        match (text.secrecy(), &self.0) {
            (Some(secrecy), Some(key)) => {
                Cow::Owned(hidden(hidden_kind(secrecy), &text.clone().into(), key).to_string())
            }
            _ => Cow::Borrowed(text.as_str()),
        }
    }

    /// Returns `error` with its secrets hidden: a text that may show one is left out.
    pub fn error<'e>(&self, error: &'e LookupError) -> Cow<'e, LookupError> {
        let text = match (error.text.secrecy(), &self.0) {
            (None, _) => return Cow::Borrowed(error),
            (Some(_), None) => error.text.as_str().to_owned(),
            (Some(_), Some(_)) => {
                format!("the message is hidden, since it may show a secret: {}", self.text(&error.text))
            }
        };
        Cow::Owned(LookupError { text: text.into(), ..error.clone() })
    }

    /// Returns `outcome` with its secrets hidden; it is shared if it has none.
    pub fn outcome(&self, outcome: &Arc<Outcome>) -> Arc<Outcome> {
        let disclosed = match &**outcome {
            Outcome::Found(value) => match self.value(value) {
                Cow::Owned(value) => Outcome::Found(value),
                Cow::Borrowed(_) => return outcome.clone(),
            },
            Outcome::Failed(error) => match self.error(error) {
                Cow::Owned(error) => Outcome::Failed(error),
                Cow::Borrowed(_) => return outcome.clone(),
            },
            Outcome::NotFound => return outcome.clone(),
        };
        Arc::new(disclosed)
    }
}

impl SecretNames for Disclosure {
    fn digest(&self, content: &[u8]) -> [u8; 16] {
        self.0.as_ref().map_or([0; 16], |key| key.fingerprint(Domain::Name, content))
    }
}

impl fmt::Debug for Disclosure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Masked" } else { "Shown" })
    }
}

/// Returns `value` with fingerprints in place of its secrets.
fn masked(value: &Value, key: &Key) -> Value {
    let stand_in = |kind| Value::Rich(Arc::new(Rich::Hidden(hidden(kind, value, key))));
    match (value, value.secrecy()) {
        (Value::Array(items), Some(_)) => items.iter().map(|item| masked(item, key)).collect(),
        (Value::Hash(hash), Some(_)) => {
            Value::hash(hash.iter().map(|(name, value)| (masked(name, key), masked(value, key))).collect())
        }
        (_, Some(secrecy)) if is_sensitive(value) && !secrecy.is_encrypted() => stand_in(HiddenKind::Sensitive),
        (_, Some(secrecy)) => stand_in(hidden_kind(secrecy)),
        (_, None) => value.clone(),
    }
}

/// Returns `value` without marks of secrecy.
fn unsealed(value: &Value) -> Value {
    match value {
        Value::String(text) if text.secrecy().is_some() => text.as_str().into(),
        Value::Secret(secret) => unsealed(&secret.1),
        Value::Array(items) => items.iter().map(unsealed).collect(),
        Value::Hash(hash) => Value::hash(hash.iter().map(|(name, value)| (unsealed(name), unsealed(value))).collect()),
        Value::Rich(rich) => {
            let Rich::Sensitive(value) = &**rich else { return value.clone() };
            Value::Rich(Arc::new(Rich::Sensitive(unsealed(value))))
        }
        other => other.clone(),
    }
}

fn hidden_kind(secrecy: Secrecy) -> HiddenKind {
    if secrecy.is_encrypted() { HiddenKind::Encrypted } else { HiddenKind::Secret }
}

fn is_sensitive(value: &Value) -> bool {
    matches!(value.bare(), Value::Rich(rich) if matches!(**rich, Rich::Sensitive(_)))
}

/// Returns the stand-in for the secret `value`. Equal contents have equal fingerprints, but encrypted content never
/// has the fingerprint of a plaintext `Sensitive`: otherwise somebody who writes data could test guesses.
fn hidden(kind: HiddenKind, value: &Value, key: &Key) -> Hidden {
    let content = json::compact(&unsealed(value.content()));
    let domain = match value.secrecy().map(|secrecy| secrecy.form) {
        None | Some(Form::Clear) => Domain::Sensitive,
        Some(Form::Named) => Domain::Secret,
        Some(Form::Encrypted) => Domain::Encrypted,
    };
    Hidden { kind, fingerprint: key.fingerprint(domain, content.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masking() -> Disclosure {
        Disclosure::masked(|| Key::from_hex(&"5a".repeat(32)).unwrap())
    }

    fn secret(text: &str) -> Value {
        Value::from(text).sealed(Some(Secrecy::SENSITIVE))
    }

    #[test]
    fn without_a_secret_no_key_is_made_and_nothing_copied() {
        let disclosure = Disclosure::masked(|| panic!("nobody needs a key"));
        let value: Value = [Value::from("a"), Value::from(1)].into_iter().collect();
        assert!(matches!(disclosure.value(&value), Cow::Borrowed(_)));
        assert!(matches!(disclosure.error(&LookupError::puppet("no")), Cow::Borrowed(_)));
    }

    #[test]
    fn equal_secrets_look_equal_whatever_makes_them_secrets() {
        let shown = |value: &Value| json::compact(&masking().value(value));
        let sensitive = Value::Rich(Arc::new(Rich::sensitive(&"a".into())));
        assert_eq!(shown(&sensitive), shown(&secret("a")).replace("Secret", "Sensitive"));
        assert_ne!(shown(&secret("a")), shown(&secret("b")));
        assert_ne!(shown(&secret("5")), shown(&Value::from(5).sealed(Some(Secrecy::SENSITIVE))));
        let opaque = Text::secret("a", Secrecy { form: Form::Encrypted, seal: 7 });
        assert!(shown(&opaque.into()).starts_with(r#"{"__ptype":"Encrypted","__fingerprint":"hmac-sha256:"#));
    }

    #[test]
    fn what_is_public_beside_a_secret_stays() {
        let hash = [(Value::from("user"), Value::from("ann")), (secret("key"), secret("a"))];
        let value = Value::hash(hash.into_iter().collect());
        let text = json::compact(&masking().value(&value));
        assert!(text.contains(r#""user","ann""#) && !text.contains(r#""key""#) && !text.contains(r#""a""#), "{text}");
        assert_eq!(json::compact(&Disclosure::shown().value(&value)), r#"{"user":"ann","key":"a"}"#);
        let sensitive = Value::Rich(Arc::new(Rich::sensitive(&value)));
        let expected = r#"{"__ptype":"Sensitive","__pvalue":{"user":"ann","key":"a"}}"#;
        assert_eq!(json::compact(&Disclosure::shown().value(&sensitive)), expected);
        assert_eq!(json::compact(&sensitive).matches("ann").count(), 0);
    }

    #[test]
    fn an_error_shows_a_secret_to_nobody_else() {
        let error = LookupError::puppet("Unknown strategy: 'a'").sealed(Some(Secrecy::SENSITIVE));
        assert!(!masking().error(&error).to_string().contains("strategy"));
        assert_eq!(Disclosure::shown().error(&error).to_string(), "Unknown strategy: 'a'");
    }
}
