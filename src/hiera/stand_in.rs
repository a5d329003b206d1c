//! Stand-ins for secrets inside of lookups whose readers may not see them.
//!
//! A decrypted text is replaced by a *token*, which can become part of other texts. Anything else that is derived
//! from secrets is replaced by a *made* value. It tells what it was made from and by which operation, but neither the
//! result nor if there is one. No part of a plaintext is ever near it.

use sha2::{Digest, Sha256};

use crate::hiera::encrypted::may_be_encrypted;
use crate::value::{Form, Hidden, HiddenKind, Rich, Secrecy, Text, Value};

const TOKEN: &str = "SECRET[";

/// Returns the text that stands for a secret with this digest.
pub fn token(digest: [u8; 16]) -> String {
    format!("{TOKEN}{:032x}]", u128::from_be_bytes(digest))
}

/// Returns true if a secret with a stand-in in `text` is part of one of its expressions.
pub fn is_in_expression(text: &Text) -> bool {
    let holds_secret = |expression: &str| expression.contains(TOKEN) || may_be_encrypted(expression);
    text.secrecy().is_some_and(Secrecy::is_opaque) && expressions(text).any(holds_secret)
}

/// Returns the `%{...}` of a text; an unclosed one extends to the end.
fn expressions(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = &rest[rest.find("%{")?..];
        let (expression, after) = rest.split_at(rest.find('}').map_or(rest.len(), |end| end + 1));
        rest = after;
        Some(expression)
    })
}

/// Returns the stand-in for the result of an operation on these values, some of which are secrets.
pub fn made(operation: &str, inputs: &[&Value]) -> Value {
    let mut content = Vec::new();
    add_part(b'm', operation.as_bytes(), &mut content);
    for input in inputs {
        add_value(input, &mut content);
    }
    let secrecy = inputs.iter().map(|input| input.secrecy()).fold(None, Secrecy::join);
    let secrecy = secrecy.unwrap_or(Secrecy::SENSITIVE);
    let form = secrecy.form.max(Form::Named);
    let kind = if form == Form::Encrypted { HiddenKind::Encrypted } else { HiddenKind::Secret };
    let mut fingerprint = [0; 16];
    fingerprint.copy_from_slice(&Sha256::digest(content)[..16]);
    let hidden = Hidden { kind, fingerprint };
    Value::Rich(Rich::Hidden(hidden).into()).sealed(Some(Secrecy { form, ..secrecy }))
}

/// Returns the digest of a value that was derived from secrets, or `None` for other values.
pub fn made_digest(value: &Value) -> Option<[u8; 16]> {
    match value.bare() {
        Value::Rich(rich) => match &**rich {
            Rich::Hidden(hidden) => Some(hidden.fingerprint),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if the value, or a part of it, was derived from secrets.
pub fn holds_made(value: &Value) -> bool {
    match value.bare() {
        Value::Array(items) => items.iter().any(holds_made),
        Value::Hash(hash) => hash.iter().any(|(key, value)| holds_made(key) || holds_made(value)),
        Value::Rich(rich) => match &**rich {
            Rich::Hidden(_) => true,
            Rich::Sensitive(inner) => holds_made(inner),
            _ => false,
        },
        _ => false,
    }
}

/// Serialises a value so that different values have different bytes.
fn add_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            add_part(b'a', &(items.len() as u64).to_be_bytes(), out);
            items.iter().for_each(|item| add_value(item, out));
        }
        Value::Hash(hash) => {
            add_part(b'h', &(hash.len() as u64).to_be_bytes(), out);
            for (key, value) in hash.iter() {
                add_value(key, out);
                add_value(value, out);
            }
        }
        Value::Secret(secret) => add_value(&secret.1, out),
        Value::String(text) => add_part(b's', text.as_bytes(), out),
        Value::Bytes(bytes) => add_part(b'b', bytes, out),
        Value::Rich(rich) => match &**rich {
            Rich::Hidden(hidden) => add_part(b'm', &hidden.fingerprint, out),
            Rich::Sensitive(inner) => {
                add_part(b'S', b"", out);
                add_value(inner, out);
            }
            other => add_part(b'r', format!("{} {}", other.type_name(), other.to_text()).as_bytes(), out),
        },
        other => add_part(b'o', format!("{} {}", other.class_name(), other.inspect()).as_bytes(), out),
    }
}

fn add_part(tag: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend((content.len() as u64).to_be_bytes());
    out.extend(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Value {
        Value::from(text).sealed(Some(Secrecy { form: Form::Named, seal: 1 }))
    }

    #[test]
    fn what_is_made_tells_its_making_alone() {
        let (a, b) = (named("a"), named("b"));
        assert_eq!(made("x", &[&a, &b]), made("x", &[&a, &b]));
        for other in [made("y", &[&a, &b]), made("x", &[&b, &a]), made("x", &[&a]), made("x", &[&named("ab")])] {
            assert_ne!(made("x", &[&a, &b]), other);
        }
        let list: Value = [made("x", &[&a])].into_iter().collect();
        assert!(holds_made(&list) && !holds_made(&a) && made_digest(&list).is_none());
        assert!(made("x", &[&a]).secrecy().is_some_and(Secrecy::is_opaque));
    }

    #[test]
    fn expressions_with_a_secret_are_found() {
        let is_in = |text: &str| is_in_expression(&Text::secret(text, Secrecy { form: Form::Named, seal: 1 }));
        assert!(is_in("%{lookup('SECRET[00]')}") && is_in("a %{x} %{SECRET[00]"));
        assert!(!is_in("%{x} SECRET[00]") && !is_in_expression(&"%{SECRET[00]}".into()));
    }
}
