//! `new` of the types of one thing: Boolean, String, Regexp, Binary, URI, Sensitive.
//!
//! Source: `pops/types/types.rb`, `p_binary_type.rb`, `p_uri_type.rb`, `p_sensitive_type.rb`; Ruby's `base64.rb`.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::Made;
use super::function::Function;
use super::number::refused;
use crate::puppet::format;
use crate::puppet::regex::RubyRegex;
use crate::puppet::{Error, uri};
use crate::value::rich::{Rich, Uri};
use crate::value::{Hash, Value};

type Found = Result<&'static Function, Error>;

pub(super) fn boolean_function() -> Found {
    new_function!(
        "new_boolean",
        &[],
        &[&[("from", "Variant[Integer, Float, Boolean, Enum['false','true','yes','no','y','n',true]]")]]
    )
}

/// `Boolean.new(from)`.
pub(super) fn boolean(args: &[Value]) -> Made {
    let function = boolean_function()?;
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

pub(super) fn string_function() -> Found {
    new_function!(
        "new_string",
        &[
            ("Format", format::PATTERN_TYPE),
            (
                "ContainerFormat",
                "Struct[{Optional[format] => Format, Optional[separator] => String, Optional[separator2] => String, \
                 Optional[string_formats] => Hash[Type, Format]}]",
            ),
            ("TypeMap", "Hash[Type, Variant[Format, ContainerFormat]]"),
            ("Convertible", "Any"),
            ("Formats", "Variant[Default, String[1], TypeMap]"),
        ],
        &[&[("from", "Convertible"), ("string_formats?", "Formats")]]
    )
}

/// `String.new(from, formats)`.
pub(super) fn string(args: &[Value]) -> Made {
    let function = string_function()?;
    if function.pick(args)?.is_none() {
        return Err(function.mismatch(args));
    }
    format::convert(&args[0], args.get(1)).map(Value::bytes)
}

pub(super) fn regexp_function() -> Found {
    new_function!("new_float", &[], &[&[("pattern", "String"), ("escape?", "Boolean")]])
}

/// `Regexp.new(pattern, escape)`.
pub(super) fn regexp(args: &[Value]) -> Made {
    let function = regexp_function()?;
    let (Some(_), Some(Value::String(text))) = (function.pick(args)?, args.first()) else {
        return Err(function.mismatch(args));
    };
    let escaped = matches!(args.get(1), Some(Value::Boolean(true)));
    let pattern = if escaped { escape(text) } else { text.as_str().to_owned() };
    RubyRegex::compile(&pattern)?;
    Ok(Value::Rich(Rich::Regexp(pattern.into()).into()))
}

/// Ruby's `Regexp.escape`.
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

pub(super) fn binary_function() -> Found {
    new_function!(
        "new_Binary",
        &[
            ("ByteInteger", "Integer[0,255]"),
            ("Base64Format", "Enum['%b', '%u', '%B', '%s', '%r']"),
            ("StringHash", "Struct[{value => String, 'format' => Optional[Base64Format]}]"),
            ("ArrayHash", "Struct[{value => Array[ByteInteger]}]"),
            ("BinaryArgsHash", "Variant[StringHash, ArrayHash]"),
        ],
        &[
            &[("str", "String"), ("format?", "Base64Format")],
            &[("byte_array", "Array[ByteInteger]")],
            &[("hash_args", "BinaryArgsHash")],
        ]
    )
}

/// `Binary.new(text, format)`.
pub(super) fn binary(args: &[Value]) -> Made {
    let function = binary_function()?;
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
            Ok(lenient(&[text, &b"==="[..padding]].concat()))
        }
        "%u" => {
            // Padding may be missing, and is not asked for where it may.
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
            strict(&usual).ok_or_else(invalid)
        }
        "%B" => strict(text).ok_or_else(invalid),
        _ => Ok(text.to_vec()),
    }
}

/// Ruby's `unpack("m0")`.
fn strict(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Ruby's `unpack("m")`: what is no Base64 is passed over, and the first padding ends it.
fn lenient(text: &[u8]) -> Vec<u8> {
    let digit = |b: u8| match b {
        b'A'..=b'Z' => Some(b - b'A'),
        b'a'..=b'z' => Some(b - b'a' + 26),
        b'0'..=b'9' => Some(b - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut out = Vec::new();
    let mut group: Vec<u8> = Vec::new();
    for b in text {
        if *b == b'=' && group.len() > 1 {
            break;
        }
        group.extend(digit(*b));
        if let [a, b, c, d] = group[..] {
            out.extend([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
            group.clear();
        }
    }
    match group[..] {
        [a, b] => out.push(a << 2 | b >> 4),
        [a, b, c] => out.extend([a << 2 | b >> 4, b << 4 | c >> 2]),
        _ => {}
    }
    out
}

/// The texts of bytes: strict, with line ends, and for URLs.
pub(crate) fn encoded(bytes: &[u8], format: char) -> String {
    match format {
        'b' => bytes.chunks(45).fold(String::new(), |out, line| out + &STANDARD.encode(line) + "\n"),
        'u' => URL_SAFE.encode(bytes),
        _ => STANDARD.encode(bytes),
    }
}

pub(super) fn uri_function() -> Found {
    new_function!(
        "new_error",
        &[],
        &[
            &[("uri", "String[1]")],
            &[(
                "hash",
                "Struct[{Optional[scheme] => String[1], Optional[userinfo] => String[1], Optional[host] => String[1], \
                 Optional[port] => Integer[0], Optional[path] => String[1], Optional[query] => String[1], \
                 Optional[fragment] => String[1], Optional[opaque] => String[1]}]",
            )],
        ]
    )
}

/// `URI.new(text)`.
pub(super) fn uri(args: &[Value]) -> Made {
    let function = uri_function()?;
    match (function.pick(args)?, args) {
        (Some(0), [Value::String(text)]) => {
            let uri = uri::parse(text).map_err(Error::puppet)?;
            Ok(Value::Rich(Rich::Uri(uri).into()))
        }
        (Some(_), [Value::Hash(hash)]) => uri_of_parts(hash),
        _ => Err(function.mismatch(args)),
    }
}

/// A URI of its parts: as if it were written, where that gives the same parts.
fn uri_of_parts(hash: &Hash) -> Made {
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

pub(super) fn sensitive_function() -> Found {
    new_function!("new_Sensitive", &[], &[&[("value", "Sensitive")], &[("value", "Any")]])
}

/// `Sensitive.new(value)`.
pub(super) fn sensitive(args: &[Value]) -> Made {
    let function = sensitive_function()?;
    match (function.pick(args)?, args) {
        (Some(0), [value]) => Ok(value.clone()),
        (Some(_), [value]) => Ok(Value::Rich(Rich::sensitive(value).into())),
        _ => Err(function.mismatch(args)),
    }
}
