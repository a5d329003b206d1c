//! Lookup keys and dotted access: `module::name`, `users.bob.'first.name'.0`.
//!
//! Source: `pops/lookup/sub_lookup.rb` and `lookup_key.rb`.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use super::LookupError;
use super::explain::{self, Branch, Event, Recorder};
use super::stand_in::{made, made_digest};
use crate::pattern::{Pattern, any};
use crate::puppet::ruby;
use crate::value::Value;

/// A parsed key: the name to look up in data files, and the steps into the value found there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupKey {
    /// The key as written.
    pub text: Arc<str>,
    /// The name to search for.
    pub root: Arc<str>,
    /// The steps into the value: texts or integers.
    pub segments: Vec<Value>,
    /// The module whose layer the key belongs to: the part before the first `::`.
    pub module: Option<Arc<str>>,
}

impl LookupKey {
    /// Parses `text`. If it cannot be split, the error is worded like Puppet's.
    pub fn parse(text: &str) -> Result<LookupKey, LookupError> {
        let whole: Arc<str> = text.into();
        let (root, segments) = if is_plain(text) { (whole.clone(), Vec::new()) } else { split_root(text)? };
        // Ruby: root[0..index-1], so that a leading `::` makes the whole key the module's name.
        let module = colons(&root).map(|at| if at == 0 { root.clone() } else { root[..at].into() });
        Ok(LookupKey { text: whole, root, segments, module })
    }

    /// Returns the part of a root value that the key selects, or `None` if it has no such part.
    pub fn dig(&self, value: Value, recorder: Option<&Recorder>) -> Result<Option<Value>, LookupError> {
        dig(&self.text, &self.segments, value, recorder)
    }
}

/// Returns the key to look up a root key of data: the root key itself or, if Puppet would split it, the root key in
/// quotes. Returns `None` if it contains both kinds of quotes, since no key can look it up then.
pub fn asks_for(root: &Arc<str>) -> Option<Arc<str>> {
    if is_plain(root) {
        return Some(root.clone());
    }
    let quote = ['\'', '"'].into_iter().find(|quote| !root.contains(*quote))?;
    Some(format!("{quote}{root}{quote}").into())
}

/// Returns the root key of a key, or the key itself if Puppet cannot split it.
pub fn root_of(key: &Arc<str>) -> Arc<str> {
    root_apart(key).unwrap_or_else(|| key.clone())
}

/// Returns the root key of a key, or `None` if that is the key itself or Puppet cannot split it.
pub fn root_apart(key: &str) -> Option<Arc<str>> {
    if is_plain(key) { None } else { LookupKey::parse(key).ok().map(|key| key.root) }
}

/// Returns true if one of the patterns matches a key, as written in a lookup or in data, or if there are no patterns.
pub fn any_matches(patterns: &[Pattern], key: &str) -> bool {
    any(patterns, key) || root_apart(key).is_some_and(|root| any(patterns, &root))
}

/// Finds the first `::` in a name. Names are short, so preparing a search would take longer.
pub(crate) fn colons(name: &str) -> Option<usize> {
    name.as_bytes().windows(2).position(|pair| pair == b"::")
}

/// Returns the class for whose parameter Puppet looks up this key automatically, or `None` if the key belongs to no
/// class.
pub fn class_of_parameter(key: &str) -> Option<&str> {
    let (class, parameter) = key.rsplit_once("::")?;
    let are_words = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = |text: &str, others: &[u8]| {
        text.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || others.contains(&first))
    };
    let is_class = class.split("::").all(|name| begins(name, b"") && are_words(name));
    (is_class && begins(parameter, b"_") && are_words(parameter)).then_some(class)
}

/// Returns true if a key is certain to have a single segment: it contains no quotes and no dots.
pub fn is_plain(key: &str) -> bool {
    !key.bytes().any(|byte| matches!(byte, b'\'' | b'"' | b'.'))
}

/// Returns the root and the other segments of a key.
fn split_root(text: &str) -> Result<(Arc<str>, Vec<Value>), LookupError> {
    let segments = split(text).ok_or_else(|| LookupError::puppet(format!("Syntax error in key: '{text}'")))?;
    let mut segments = segments.into_iter();
    let root: Arc<str> = match segments.next() {
        Some(Value::String(root)) => root.to_arc(),
        // Puppet forgets that a first segment of digits has become a number.
        Some(number) => {
            let number = number.inspect();
            return Err(LookupError::bare(format!("undefined method `index' for {number}:Integer")));
        }
        None => "".into(),
    };
    Ok((root, segments.collect()))
}

/// Returns true if [`split`] can split a dotted key.
pub fn is_split(key: &str) -> bool {
    // Nearly all keys are simple, and need no list of segments.
    let is_simple = !key.contains(['\'', '"']) && key.split('.').all(|segment| !segment.is_empty());
    is_simple || split(key).is_some()
}

/// Splits a dotted key into its segments, of which the first is the root. Segments are texts, or integers if they
/// look like one. Returns `None` if Puppet calls the key a syntax error.
pub fn split(key: &str) -> Option<Vec<Value>> {
    if is_plain(key) {
        return Some(vec![key.into()]);
    }
    // Ruby's split with a capture alternates the texts between pieces and the pieces, and drops empty texts at the
    // end.
    let mut parts: Vec<&str> = Vec::new();
    let mut end = 0;
    for piece in pieces(key) {
        parts.extend([&key[end..piece.start], &key[piece.clone()]]);
        end = piece.end;
    }
    parts.push(&key[end..]);
    while parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    let (first, rest) = parts.split_first()?;
    let segments: Vec<&str> = rest.iter().copied().filter(|part| *part != ".").collect();
    if !first.is_empty() || rest.is_empty() || segments.len() * 2 != rest.len() + 1 {
        return None;
    }
    Some(segments.into_iter().map(parse_segment).collect())
}

/// Returns the matches of `/\s*"[^"]+"\s*|\s*'[^']+'\s*|[^'".]+/`. They are found by hand: every run splits keys, and
/// compiling the expression would take longer than that.
fn pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    iter::from_fn(move || {
        while at < text.len() {
            let start = at;
            let length = piece_length(&text[at..]);
            at += length.max(1); // a dot or a quote is passed over
            if length > 0 {
                return Some(start..at);
            }
        }
        None
    })
}

/// Returns the length of the piece at the beginning of `text`, or 0 if there is none.
fn piece_length(text: &str) -> usize {
    let is_space = |c| matches!(c, '\t'..='\r' | ' ');
    let quoted = text.trim_start_matches(is_space);
    if let Some(quote @ ('"' | '\'')) = quoted.chars().next()
        && let Some((inner, rest)) = quoted[1..].split_once(quote)
        && !inner.is_empty()
    {
        return text.len() - rest.trim_start_matches(is_space).len();
    }
    text.find(['\'', '"', '.']).unwrap_or(text.len())
}

/// Returns true if a line of the text matches `/^:?[+-]?[0-9]+$/`.
fn has_number(text: &str) -> bool {
    let is_number = |line: &str| {
        let line = line.strip_prefix(':').unwrap_or(line);
        let digits = line.strip_prefix(['+', '-']).unwrap_or(line);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    text.split('\n').any(is_number)
}

fn parse_segment(text: &str) -> Value {
    let text = ruby::strip(text);
    if text.starts_with(['"', '\'']) {
        let mut inner = text.chars();
        inner.next();
        inner.next_back();
        return inner.as_str().into();
    }
    if has_number(text) { ruby::to_i(text) } else { text.into() }
}

/// Follows `segments` into `value`, or returns `None` if there is no such place. `key` is for error texts.
pub fn dig(
    key: &str,
    segments: &[Value],
    mut value: Value,
    recorder: Option<&Recorder>,
) -> Result<Option<Value>, LookupError> {
    if segments.is_empty() {
        return Ok(Some(value));
    }
    let path = || segments.iter().map(Value::to_s).collect::<Vec<_>>().join(".");
    explain::step(
        recorder,
        || Branch::SubKey(path()),
        || {
            for segment in segments {
                let name = || segment.to_s().into();
                let next = explain::step(
                    recorder,
                    || Branch::Segment,
                    || {
                        let next = dig_one(key, segment, &value)?;
                        explain::event(recorder, || match &next {
                            Some(next) => Event::Found(name(), next.clone(), None),
                            None => Event::NotFound(name()),
                        });
                        Ok::<_, LookupError>(next)
                    },
                )?;
                match next {
                    Some(next) => value = next,
                    None => return Ok(None),
                }
            }
            Ok(Some(value))
        },
    )
}

/// Returns the part of `value` that `segment` names.
fn dig_one(key: &str, segment: &Value, value: &Value) -> Result<Option<Value>, LookupError> {
    if made_digest(value).is_some() {
        return Ok(Some(made("a part", &[value, segment])));
    }
    match (value.bare(), segment) {
        (Value::Array(items), Value::Integer(i)) => Ok(usize::try_from(*i).ok().and_then(|i| items.get(i)).cloned()),
        (Value::Undef, _) | (Value::Array(_), Value::BigInteger(_)) => Ok(None),
        (Value::Hash(hash), segment) => Ok(hash.get_value(segment).cloned()),
        // In Ruby, integers and symbols have `[]`, but not `include?`.
        (Value::Integer(_) | Value::BigInteger(_) | Value::Symbol(_), _) => {
            let (shown, class) = (value.inspect(), value.class_name());
            let error = LookupError::bare(format!("undefined method `include?' for {shown}:{class}"));
            Err(error.sealed(value.secrecy()))
        }
        _ => Err(LookupError::puppet(format!(
            "Data Provider type mismatch: Got {} when a hash-like object was expected to access value using '{}' from key '{key}'",
            value.class_name(),
            segment.to_s(),
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_what_stands_before_the_first_colons() {
        assert_eq!(LookupKey::parse("ntp::servers.0").unwrap().module.as_deref(), Some("ntp"));
        assert_eq!(LookupKey::parse("::servers").unwrap().module.as_deref(), Some("::servers"));
        assert_eq!(LookupKey::parse("servers").unwrap().module, None);
    }

    #[test]
    fn parameters_belong_to_classes() {
        for (key, class) in [("ntp::servers", Some("ntp")), ("a::b_2::_c", Some("a::b_2")), ("a::b::C", None)] {
            assert_eq!(class_of_parameter(key), class, "{key}");
        }
        for key in
            ["ntp", "::ntp::servers", "ntp::servers.0", "'ntp::x'", "Ntp::x", "a-b::c", "a::", "::", "a::1b", "a:::b"]
        {
            assert_eq!(class_of_parameter(key), None, "{key}");
        }
    }

    #[test]
    fn texts_are_matched_as_the_expressions_say() {
        let matches = |expression: &str| regex::Regex::new(expression).unwrap();
        let expression = matches(r#"(?-u:\s)*"[^"]+"(?-u:\s)*|(?-u:\s)*'[^']+'(?-u:\s)*|[^'".]+"#);
        let number = matches(r"(?m)^:?[+-]?[0-9]+$");
        let dice = &mut fastrand::Rng::with_seed(1);
        let mut letter = || *dice.choice(&['a', '1', '.', '\'', '"', ' ', '\n', '\x0b', ':', '+', '-', 'é']).unwrap();
        for _ in 0..50_000 {
            let text: String = (0..8).map(|_| letter()).collect();
            let expected: Vec<_> = expression.find_iter(&text).map(|piece| piece.range()).collect();
            assert_eq!(pieces(&text).collect::<Vec<_>>(), expected, "{text:?}");
            assert_eq!(is_split(&text), split(&text).is_some(), "{text:?}");
            let short: String = text.chars().take(4).collect();
            assert_eq!(has_number(&short), number.is_match(&short), "{short:?}");
        }
    }
}
