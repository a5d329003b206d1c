//! URI types: the patterns for the parts of a URI.
//!
//! Source: `pops/types/p_uri_type.rb`.

use super::{assignable, is_instance};
use crate::puppet::Error;
use crate::puppet::regex::RubyRegex;
use crate::value::rich::{Rich, Uri};
use crate::value::{Hash, Value};

/// Returns the parts of a URI as a type holds them.
pub(super) fn parts(uri: &Uri) -> Hash {
    let mut parts = Hash::new();
    let text = |part: &Option<String>| part.clone().filter(|part| !part.is_empty());
    let scheme = uri.scheme.as_deref();
    let is_usual = |port: &Value| {
        matches!((port, scheme), (Value::Integer(80), Some("http")) | (Value::Integer(443), Some("https")))
    };
    let port = uri.port.as_ref().filter(|port| !is_usual(port));
    let known = [
        ("scheme", uri.scheme.clone()),
        ("userinfo", uri.userinfo.clone()),
        ("host", text(&uri.host).map(|host| host.to_lowercase())),
        ("port", port.map(Value::to_s)),
        ("path", text(&uri.effective_path())),
        ("query", uri.query.clone()),
        ("fragment", uri.fragment.clone()),
        ("opaque", uri.opaque.clone()),
    ];
    for (name, part) in known {
        if let Some(part) = part {
            parts.insert(name, part.into());
        }
    }
    parts
}

/// Returns true if the parts of a URI match the parameters of a type.
pub(super) fn matches(parameters: Option<&Hash>, uri: &Uri) -> Result<bool, Error> {
    let part = |name: &str| {
        let text = |part: &Option<String>| part.clone().map(Value::from).unwrap_or_default();
        match name {
            "scheme" => text(&uri.scheme),
            "userinfo" => text(&uri.userinfo),
            "host" => text(&uri.host),
            "port" => uri.port.clone().unwrap_or_default(),
            "path" => text(&uri.effective_path()),
            "query" => text(&uri.query),
            "fragment" => text(&uri.fragment),
            _ => text(&uri.opaque),
        }
    };
    for (name, wanted) in parameters.into_iter().flat_map(Hash::iter) {
        if !is_match(&part(name.as_str().unwrap_or_default()), wanted)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns true if all URIs of the type with the parameters `others` are of the type with `parameters`.
pub(super) fn covers(parameters: Option<&Hash>, others: Option<&Hash>) -> bool {
    let Some(parameters) = parameters else { return true };
    let covered = |(name, wanted): (&Value, &Value)| {
        let Some(other) = others.and_then(|others| others.get_value(name)) else { return false };
        let both = || Some(assignable(wanted.as_type()?, other.as_type()?));
        is_match(other, wanted).unwrap_or(false) || both().unwrap_or(false)
    };
    parameters.iter().all(covered)
}

/// Matches a part as an option of a `case` does, for the values that a parameter may have.
fn is_match(part: &Value, wanted: &Value) -> Result<bool, Error> {
    match wanted {
        Value::Rich(rich) => match &**rich {
            Rich::Type(kind) => is_instance(kind, part),
            Rich::Regexp(pattern) => match part {
                Value::String(text) => RubyRegex::compile(pattern)?.is_match(text),
                _ => Ok(false),
            },
            _ => Ok(false),
        },
        Value::String(wanted) => Ok(part.as_str().is_some_and(|part| part.eq_ignore_ascii_case(wanted))),
        wanted => Ok(part.equals(wanted)),
    }
}
