//! `new` of the types of single values: Boolean, String, Regexp, Binary, URI, Sensitive.
//!
//! Source: `pops/types/types.rb`, `p_binary_type.rb`, `p_uri_type.rb`, `p_sensitive_type.rb`; Ruby's `base64.rb`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{NewValue, refused};
use crate::puppet::regex::RubyRegex;
use crate::puppet::types::constructors;
use crate::puppet::{Error, Ruby, format, ruby, uri};
use crate::value::rich::{Rich, Uri};
use crate::value::{Hash, Value};

/// Evaluates `Boolean.new(from)`.
pub(super) fn boolean(args: &[Value]) -> NewValue {
    let function = constructors::boolean()?;
    if function.pick(args)?.is_none() {
        return Err(match args {
            [_] => refused(function, args, "Boolean"),
            _ => function.mismatch(args),
        });
    }
    Ok(Value::Boolean(match args[0].bare() {
        Value::Float(f) => *f != 0.0,
        Value::Integer(n) => *n != 0,
        Value::Boolean(b) => *b,
        Value::String(text) => !matches!(text.to_lowercase().as_str(), "false" | "no" | "n"),
        _ => true,
    }))
}

/// Evaluates `String.new(from, formats)`.
pub(super) fn string(args: &[Value], ruby: Ruby) -> NewValue {
    let function = constructors::string()?;
    if function.pick(args)?.is_none() {
        return Err(function.mismatch(args));
    }
    format::convert(&args[0], args.get(1), ruby).map(Value::bytes)
}

/// Evaluates `Regexp.new(pattern, escape)`.
pub(super) fn regexp(args: &[Value]) -> NewValue {
    let function = constructors::regexp()?;
    let (Some(_), Some(Value::String(text))) = (function.pick(args)?, args.first()) else {
        return Err(function.mismatch(args));
    };
    let escaped = matches!(args.get(1), Some(Value::Boolean(true)));
    let pattern = if escaped { escape(text) } else { text.as_str().to_owned() };
    RubyRegex::compile(&pattern)?;
    Ok(Value::Rich(Rich::Regexp(pattern.into()).into()))
}

/// Escapes a text as Ruby's `Regexp.escape` does.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '[' | ']' | '{' | '}' | '(' | ')' | '|' | '-' | '*' | '.' | '\\' | '?' | '+' | '^' | '$' | '#' | ' ' => {
                out.extend(['\\', c]);
            }
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c => out.push(c),
        }
    }
    out
}

/// Evaluates `Binary.new(text, format)`.
pub(super) fn binary(args: &[Value]) -> NewValue {
    let function = constructors::binary()?;
    let (from, format) = match (function.pick(args)?, args) {
        (None, _) => return Err(function.mismatch(args)),
        (Some(_), [Value::Hash(hash)]) => (hash.get("value").cloned().unwrap_or_default(), hash.get("format").cloned()),
        (Some(_), args) => (args[0].clone(), args.get(1).cloned()),
    };
    let bytes = match &from {
        Value::Array(items) => items.iter().map(byte).collect(),
        Value::String(text) => decode(text.as_bytes(), format.as_ref().and_then(Value::as_str).unwrap_or("%B"))?,
        Value::Bytes(bytes) => match format.as_ref().and_then(Value::as_str) {
            Some("%s") => {
                let text =
                    "The given string in encoding 'ASCII-8BIT' is invalid. Cannot create a Binary UTF-8 representation";
                return Err(Error::puppet(text));
            }
            format => decode(bytes, format.unwrap_or("%B"))?,
        },
        _ => Vec::new(),
    };
    Ok(Value::Rich(Rich::Binary(bytes.into()).into()))
}

fn byte(value: &Value) -> u8 {
    match value.bare() {
        Value::Integer(n) => u8::try_from(*n).unwrap_or_default(),
        _ => 0,
    }
}

fn decode(text: &[u8], format: &str) -> Result<Vec<u8>, Error> {
    let invalid = || Error::puppet("invalid base64");
    match format {
        "%b" => {
            let padding = String::from_utf8_lossy(text).chars().count() % 3;
            Ok(ruby::unpack(&[text, &b"==="[..padding]].concat()))
        }
        "%u" => {
            // Padding is optional, as in Ruby's `urlsafe_decode64`.
            let padding = if text.ends_with(b"=") { 0 } else { (4 - text.len() % 4) % 4 };
            let padded = [text, &b"==="[..padding]].concat();
            let usual: Vec<u8> = padded
                .iter()
                .map(|b| match b {
                    b'-' => b'+',
                    b'_' => b'/',
                    b => *b,
                })
                .collect();
            decode_strictly(&usual).ok_or_else(invalid)
        }
        "%B" => decode_strictly(text).ok_or_else(invalid),
        _ => Ok(text.to_vec()),
    }
}

/// Decodes base 64 as Ruby's `unpack("m0")` does, or returns `None` where that fails.
fn decode_strictly(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Evaluates `URI.new(text)`.
pub(super) fn uri(args: &[Value], ruby: Ruby) -> NewValue {
    let function = constructors::uri()?;
    match (function.pick(args)?, args) {
        (Some(0), [Value::String(text)]) => {
            let mut uri = uri::parse(text).map_err(Error::puppet)?;
            let has_authority = text.split_once(':').is_some_and(|(_, rest)| rest.starts_with("//"));
            if ruby.keeps_empty_hosts() && uri.scheme.is_some() && has_authority {
                uri.host.get_or_insert_default();
            }
            Ok(Value::Rich(Rich::Uri(uri).into()))
        }
        (Some(_), [Value::Hash(hash)]) => uri_of_parts(hash),
        _ => Err(function.mismatch(args)),
    }
}

/// Makes a URI of its parts. Fails if its text would not have the same parts.
fn uri_of_parts(hash: &Hash) -> NewValue {
    let unknown = || Error::unknown("a URI of such parts is not supported");
    let part = |name: &str| hash.get(name).map(Value::to_s);
    let scheme = part("scheme");
    if !matches!(scheme.as_deref(), None | Some("http" | "https" | "ws" | "wss")) {
        return Err(unknown());
    }
    let uri = Uri {
        scheme,
        userinfo: part("userinfo"),
        host: part("host"),
        port: hash.get("port").cloned(),
        path: Some(part("path").unwrap_or_default()),
        query: part("query"),
        fragment: part("fragment"),
        opaque: part("opaque"),
    };
    let mut again = uri::parse(&uri.to_string()).map_err(|_| unknown())?;
    if uri.port.is_none() && again.scheme.is_none() {
        again.port = None;
    }
    let same = Uri { port: again.port.clone(), ..uri.clone() } == again;
    if !same || uri.opaque.is_some() {
        return Err(unknown());
    }
    Ok(Value::Rich(Rich::Uri(again).into()))
}

/// Evaluates `Sensitive.new(value)`.
pub(super) fn sensitive(args: &[Value]) -> NewValue {
    let function = constructors::sensitive()?;
    match (function.pick(args)?, args) {
        (Some(0), [value]) => Ok(value.clone()),
        (Some(_), [value]) => Ok(Value::Rich(Rich::sensitive(value).into())),
        _ => Err(function.mismatch(args)),
    }
}
