//! Dotted keys as Hiera 3 splits them: white space is kept, quotes are removed, and digits are always an index.
//!
//! Source: `split_key` in `hiera/util.rb`, `qualified_lookup` in `hiera/backend.rb`.

use std::sync::LazyLock;

use regex::Regex;

use crate::hiera::LookupError;
use crate::hiera::stand_in::{made, made_digest};
use crate::puppet::ruby;
use crate::value::Value;

/// Returns the segments of `key`, which are none if it is empty. Returns `None` if Hiera calls it a syntax error.
pub(super) fn split(key: &str) -> Option<Vec<&str>> {
    static PIECE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""([^"]+)"|'([^']+)'|([^'".]+)"#).ok());
    if key.is_empty() {
        return Some(Vec::new());
    }
    // Ruby's split alternates the texts between pieces and the pieces, and drops empty texts at the end.
    let mut parts: Vec<&str> = Vec::new();
    let mut end = 0;
    for piece in PIECE.as_ref()?.captures_iter(key) {
        let (Some(whole), Some(inner)) = (piece.get(0), (1..=3).find_map(|group| piece.get(group))) else { continue };
        parts.extend([&key[end..whole.start()], inner.as_str()]);
        end = whole.end();
    }
    parts.push(&key[end..]);
    while parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    let (first, rest) = parts.split_first()?;
    let segments: Vec<&str> = rest.iter().copied().filter(|part| *part != ".").collect();
    (first.is_empty() && !rest.is_empty() && segments.len() * 2 == rest.len() + 1).then_some(segments)
}

/// Returns the index that a segment stands for, as shown in error texts, or `None` if it is a name.
pub(super) fn index(segment: &str) -> Option<Value> {
    // In Ruby, ^ and $ match at every line, and `to_i` reads the first one.
    let digits = |line: &str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
    segment.split('\n').any(digits).then(|| ruby::to_i(segment))
}

/// Follows `segments` into `value`, or returns `None` if there is no such place. `key` is for error texts.
pub(super) fn walk(mut value: Value, segments: &[&str], key: &str) -> Result<Option<Value>, LookupError> {
    if !segments.is_empty() && made_digest(&value).is_some() {
        return Ok(Some(made("a part", &[&value, &segments.join(".").into()])));
    }
    for segment in segments {
        let mismatch = |expected: &str, segment: &str| {
            let class = value.class_name();
            let text = format!(
                "Hiera type mismatch: Got {class} when {expected} was expected to access value using '{segment}' from key '{key}'"
            );
            LookupError::puppet(text).sealed(value.secrecy())
        };
        let next = match (value.bare(), index(segment)) {
            (Value::Undef, _) | (Value::Array(_), Some(Value::BigInteger(_))) => None,
            (Value::Array(items), Some(Value::Integer(at))) => {
                usize::try_from(at).ok().and_then(|at| items.get(at)).cloned()
            }
            (_, Some(at)) => return Err(mismatch("Array", &at.to_s())),
            (Value::Hash(hash), None) => hash.get(segment).cloned(),
            // In Ruby, integers and symbols have `[]`, but not `include?`.
            (Value::Integer(_) | Value::BigInteger(_) | Value::Symbol(_), None) => {
                return Err(LookupError::undefined_method("include?", &value).sealed(value.secrecy()));
            }
            (_, None) => return Err(mismatch("a hash-like object", segment)),
        };
        match next {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}
