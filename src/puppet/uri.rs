//! Parses URIs as Ruby's `URI.parse` does.
//!
//! Source: Ruby 3.1's `uri/rfc3986_parser.rb`, `generic.rb` and the classes of its schemes.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

use super::ruby;
use crate::value::Value;
use crate::value::rich::Uri;

/// Parses `text` as `URI.parse` does; the error is Ruby's message.
pub fn parse(text: &str) -> Result<Uri, String> {
    if !text.is_ascii() {
        return Err(format!("URI must be ascii only {}", dump(text)));
    }
    let uri = split(text).ok_or_else(|| format!("bad URI(is not URI?): {}", Value::from(text).inspect()))?;
    checked(uri)
}

/// Changes and checks the parts as the class of the scheme does.
fn checked(mut uri: Uri) -> Result<Uri, String> {
    if uri.port.is_none() {
        uri.port = uri.default_port().map(Value::Integer);
    }
    uri.query = uri.query.as_deref().map(escape_query).transpose()?;
    match uri.scheme.as_deref() {
        Some("file") => {
            uri.host = Some(uri.host.filter(|host| host != "localhost").unwrap_or_default());
            (uri.userinfo, uri.port) = (None, None);
        }
        Some("ldap" | "ldaps") if uri.fragment.is_some() || uri.path.is_none() => {
            return Err("bad LDAP URL".into());
        }
        Some("ftp") => {
            let path = uri.path.as_deref().ok_or("URI::InvalidURIError")?;
            let relative = path.strip_prefix('/').unwrap_or(path);
            uri.path =
                Some(format!("/{}", relative.strip_prefix('/').map_or(relative.into(), |rest| format!("%2F{rest}"))));
        }
        Some("mailto") => check_mail(&mut uri)?,
        _ => {}
    }
    Ok(uri)
}

fn check_mail(uri: &mut Uri) -> Result<(), String> {
    static RECIPIENTS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\A(?:[^@,;]+@[^@,;]+(?:\z|[,;]))*\z").ok());
    uri.opaque = uri.opaque.take().or_else(|| uri.query.as_ref().map(|query| format!("?{query}")));
    let opaque = uri.opaque.as_deref().ok_or("missing opaque part for mailto URL")?;
    let to = opaque.split('?').next().filter(|_| !opaque.is_empty());
    if to.is_some_and(|to| RECIPIENTS.as_ref().is_some_and(|pattern| pattern.is_match(to))) {
        return Ok(());
    }
    Err(format!("unrecognised opaque part for mailtoURL: {opaque}"))
}

/// Ruby's expressions for a URI of RFC 3986, with any text as a query, and for a reference without a scheme. In the
/// latter, an address has only one of its two brackets, by Ruby's mistake.
static EXPRESSIONS: LazyLock<[Option<Regex>; 2]> = LazyLock::new(|| {
    let name = r"(?:%[[:xdigit:]]{2}|[!$&-.0-9;=A-Z_a-z~])";
    let user = r"(?:%[[:xdigit:]]{2}|[!$&-.0-;=A-Z_a-z~])";
    let segment = r"(?:%[[:xdigit:]]{2}|[!$&-.0-;=@-Z_a-z~])";
    let not_colon = r"(?:%[[:xdigit:]]{2}|[!$&-.0-9;=@-Z_a-z~])";
    let byte = r"(?:[1-9]\d|1\d{2}|2[0-4]\d|25[0-5]|\d)";
    let group = "[[:xdigit:]]{1,4}";
    let last = format!(r"(?:{group}:{group}|{byte}\.{byte}\.{byte}\.{byte})");
    let short = |most: u8, rest: String| format!("(?:(?:{group}:){{0,{most}}}{group})?::{rest}");
    let ipv6 = [
        format!("(?:{group}:){{6}}{last}"),
        format!("::(?:{group}:){{5}}{last}"),
        format!("{group}::(?:{group}:){{4}}{last}"),
        short(1, format!("(?:{group}:){{3}}{last}")),
        short(2, format!("(?:{group}:){{2}}{last}")),
        short(3, format!("{group}:{last}")),
        short(4, last),
        short(5, group.to_owned()),
        short(6, String::new()),
    ]
    .join("|");
    let future = r"v[[:xdigit:]]+\.[!$&-.0-;=A-Z_a-z~]+";
    let expression = |scheme: &str, literal: &str, opaque: &str| {
        let authority = format!(r"//(?:(?<userinfo>{user}*)@)?(?<host>{literal}|{name}+)?(?::(?<port>\d*))?");
        let path = format!(
            "(?:{authority}(?<abempty>(?:/{segment}*)*)|(?<absolute>/(?:{segment}+(?:/{segment}*)*)?)|{opaque})"
        );
        Regex::new(&format!(r"\A{scheme}{path}(?:\?(?<query>[^#]*))?(?:#(?<fragment>(?:{segment}|[/?])*))?\z")).ok()
    };
    let rootless = |first: &str| format!("(?<rootless>{first}+(?:/{segment}*)*)|(?<empty>)");
    [
        expression("(?<scheme>[A-Za-z][-+.0-9A-Za-z]*):", &format!(r"\[(?:{ipv6}|{future})\]"), &rootless(segment)),
        expression("", &format!(r"\[(?:{ipv6})|{future}\]"), &rootless(not_colon)),
    ]
});

fn split(text: &str) -> Option<Uri> {
    let [absolute, relative] = EXPRESSIONS.each_ref().map(|expression| expression.as_ref()?.captures(text));
    let found = absolute.or(relative)?;
    let part = |name: &str| found.name(name).map(|part| part.as_str().to_owned());
    let scheme = part("scheme").map(|scheme| scheme.to_ascii_lowercase());
    let (mut path, mut query, mut opaque) = (part("abempty").or_else(|| part("absolute")), part("query"), None);
    match part("rootless") {
        // Without a path, the rest is opaque, including a query.
        Some(rest) if scheme.is_some() => {
            opaque = Some(format!("{rest}{}", query.map(|query| format!("?{query}")).unwrap_or_default()));
            query = None;
        }
        rest => path = path.or(rest).or(Some(String::new())),
    }
    Some(Uri {
        userinfo: part("userinfo").filter(|userinfo| !userinfo.is_empty()),
        host: part("host"),
        port: part("port").filter(|port| !port.is_empty()).map(|port| ruby::to_i(&port)),
        fragment: part("fragment"),
        scheme,
        path,
        query,
        opaque,
    })
}

/// Escapes the characters that are not allowed in a query.
fn escape_query(query: &str) -> Result<String, String> {
    let mut out = String::new();
    let bytes: Vec<u8> = query.bytes().filter(|b| !b"\t\r\n".contains(b)).collect();
    for (at, b) in bytes.iter().copied().enumerate() {
        let hex = |n: usize| bytes.get(at + n).is_some_and(u8::is_ascii_hexdigit);
        match b {
            b'%' if at + 2 < bytes.len() && !hex(1) && !hex(2) => {
                return Err(format!("invalid percent escape: {}", String::from_utf8_lossy(&bytes[at..at + 3])));
            }
            b'!' | b'$'..=b'&' | b'('..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'~' => out.push(char::from(b)),
            b => _ = write!(out, "%{b:02X}"),
        }
    }
    Ok(out)
}

/// Shows a text that is not all ASCII as Ruby's `dump` does.
fn dump(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if c.is_ascii_control() && !('\x07'..='\r').contains(&c) && c != '\x1b' {
            _ = write!(out, "\\x{:02X}", u32::from(c));
        } else if c.is_ascii() {
            let shown = Value::from(c.to_string()).inspect();
            out.push_str(&shown[1..shown.len() - 1]);
        } else if u32::from(c) > 0xffff {
            _ = write!(out, "\\u{{{:X}}}", u32::from(c));
        } else {
            _ = write!(out, "\\u{:04X}", u32::from(c));
        }
    }
    out + "\""
}
