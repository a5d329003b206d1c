//! A URI, as Ruby's `URI.parse` takes it apart and writes it again.
//!
//! Source: Ruby 3.1's `uri/rfc3986_parser.rb`, `generic.rb` and the classes of its schemes.

use core::net::Ipv6Addr;
use std::fmt::{self, Write};
use std::sync::LazyLock;

use regex::Regex;

use super::super::{Value, ruby};

/// A URI and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Uri {
    /// In lower case.
    pub scheme: Option<String>,
    /// What stands before `@`.
    pub userinfo: Option<String>,
    /// The host, an IPv6 address in brackets.
    pub host: Option<String>,
    /// The port, the scheme's own where none is given.
    pub port: Option<Value>,
    /// The path, nothing where there is an opaque part.
    pub path: Option<String>,
    /// What stands behind the scheme where no path does.
    pub opaque: Option<String>,
    /// What stands behind `?`.
    pub query: Option<String>,
    /// What stands behind `#`.
    pub fragment: Option<String>,
}

/// The schemes with a class of their own: its name, and the port.
const CLASSES: [(&str, &str, Option<i64>); 9] = [
    ("http", "HTTP", Some(80)),
    ("https", "HTTPS", Some(443)),
    ("ws", "WS", Some(80)),
    ("wss", "WSS", Some(443)),
    ("ftp", "FTP", Some(21)),
    ("file", "File", None),
    ("ldap", "LDAP", Some(389)),
    ("ldaps", "LDAPS", Some(636)),
    ("mailto", "MailTo", None),
];

impl Uri {
    /// Takes a text apart, or says what Ruby does.
    pub fn parse(text: &str) -> Result<Uri, String> {
        if !text.is_ascii() {
            return Err(format!("URI must be ascii only {}", dump(text)));
        }
        let uri = split(text).ok_or_else(|| format!("bad URI(is not URI?): {}", ruby::inspect(&text.into())))?;
        uri.checked()
    }

    /// What the class of the scheme makes of the parts.
    fn checked(mut self) -> Result<Uri, String> {
        if self.port.is_none() {
            self.port = self.default_port().map(Value::Integer);
        }
        self.query = self.query.as_deref().map(escape_query).transpose()?;
        match self.scheme.as_deref() {
            Some("file") => {
                self.host = Some(self.host.filter(|host| host != "localhost").unwrap_or_default());
                (self.userinfo, self.port) = (None, None);
            }
            Some("ldap" | "ldaps") if self.fragment.is_some() || self.path.is_none() => {
                return Err("bad LDAP URL".into());
            }
            Some("ftp") if self.path.is_none() => return Err("URI::InvalidURIError".into()),
            Some("mailto") => self.check_mail()?,
            _ => {}
        }
        Ok(self)
    }

    fn check_mail(&self) -> Result<(), String> {
        static TO: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\A(?:[^@,;]+@[^@,;]+(?:\z|[,;]))*\z").ok());
        let query = || self.query.as_ref().map(|query| format!("?{query}"));
        let Some(opaque) = self.opaque.clone().or_else(query) else {
            return Err("missing opaque part for mailto URL".into());
        };
        let to = opaque.split('?').next().unwrap_or_default();
        if TO.as_ref().is_some_and(|pattern| pattern.is_match(to)) {
            return Ok(());
        }
        Err(format!("unrecognised opaque part for mailtoURL: {opaque}"))
    }

    fn class(&self) -> Option<&'static (&'static str, &'static str, Option<i64>)> {
        CLASSES.iter().find(|(scheme, ..)| Some(*scheme) == self.scheme.as_deref())
    }

    fn default_port(&self) -> Option<i64> {
        self.class()?.2
    }

    /// The name of its Ruby class.
    pub fn class_name(&self) -> String {
        format!("URI::{}", self.class().map_or("Generic", |class| class.1))
    }
}

/// The characters that may stand in a part as they are, beside letters and digits.
const UNRESERVED: &str = "-._~!$&'()*+,;=";

fn is_made_of(text: &str, more: &str) -> bool {
    let mut rest = text.bytes();
    while let Some(b) = rest.next() {
        let escape = |rest: &mut std::str::Bytes<'_>| rest.next().is_some_and(|d| d.is_ascii_hexdigit());
        let known = b.is_ascii_alphanumeric() || UNRESERVED.contains(char::from(b)) || more.contains(char::from(b));
        if !(known || b == b'%' && escape(&mut rest) && escape(&mut rest)) {
            return false;
        }
    }
    true
}

fn split(text: &str) -> Option<Uri> {
    let (rest, fragment) = match text.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (text, None),
    };
    if fragment.is_some_and(|fragment| !is_made_of(fragment, ":@/?")) {
        return None;
    }
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let fragment = fragment.map(ToOwned::to_owned);
    let mut uri = Uri { fragment, query: query.map(ToOwned::to_owned), ..Uri::default() };
    if let Some((scheme, rest)) = scheme(rest) {
        uri.scheme = Some(scheme.to_ascii_lowercase());
        if rest.is_empty() || rest.starts_with('/') {
            uri.place(rest)?;
        } else if is_made_of(rest, ":@/") {
            // The rest is opaque, a query too.
            uri.opaque = Some(format!("{rest}{}", query.map(|query| format!("?{query}")).unwrap_or_default()));
            uri.query = None;
        } else {
            return None;
        }
    } else {
        if !rest.starts_with('/') && rest.split('/').next()?.contains(':') {
            return None;
        }
        uri.place(rest)?;
    }
    Some(uri)
}

fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let known = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    (scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(known)).then_some((scheme, rest))
}

impl Uri {
    /// `//authority/path` or `path`.
    fn place(&mut self, text: &str) -> Option<()> {
        let path = match text.strip_prefix("//") {
            None => text,
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                self.authority(authority)?;
                path
            }
        };
        self.path = Some(path.to_owned());
        is_made_of(path, ":@/").then_some(())
    }

    fn authority(&mut self, text: &str) -> Option<()> {
        let rest = match text.split_once('@') {
            Some((userinfo, rest)) => {
                self.userinfo = Some(userinfo.to_owned()).filter(|userinfo| !userinfo.is_empty());
                is_made_of(userinfo, ":").then_some(rest)?
            }
            None => text,
        };
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, Some(port)),
            _ => (rest, None),
        };
        self.port = port.filter(|port| !port.is_empty()).map(ruby::to_i);
        self.host = Some(host.to_owned()).filter(|host| !host.is_empty());
        let literal = || is_literal(host.strip_prefix('[')?.strip_suffix(']')?).then_some(());
        literal().or_else(|| is_made_of(host, "").then_some(()))
    }
}

fn is_literal(text: &str) -> bool {
    let future = |text: &str| {
        let (version, rest) = text.strip_prefix('v')?.split_once('.')?;
        let hex = !version.is_empty() && version.bytes().all(|b| b.is_ascii_hexdigit());
        Some(hex && !rest.is_empty() && !rest.contains('%') && is_made_of(rest, ":"))
    };
    text.parse::<Ipv6Addr>().is_ok() || future(text).unwrap_or(false)
}

/// A query with what may not stand there escaped.
fn escape_query(query: &str) -> Result<String, String> {
    let mut out = String::new();
    let bytes: Vec<u8> = query.bytes().filter(|b| !b"\t\r\n".contains(b)).collect();
    for (at, b) in bytes.iter().copied().enumerate() {
        let hex = |n: usize| bytes.get(at + n).is_some_and(u8::is_ascii_hexdigit);
        match b {
            b'%' if at + 2 < bytes.len() && !hex(1) && !hex(2) => {
                return Err(format!("invalid percent escape: {}", String::from_utf8_lossy(&bytes[at..at + 3])));
            }
            b'%' if hex(1) && hex(2) => out.push('%'),
            b'!' | b'$'..=b'&' | b'('..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'~' if b != b'%' => out.push(char::from(b)),
            b => _ = write!(out, "%{b:02X}"),
        }
    }
    Ok(out)
}

/// Ruby's `dump`, of a text that is not ASCII alone.
fn dump(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if c.is_ascii() {
            let shown = ruby::inspect(&c.to_string().into());
            out.push_str(&shown[1..shown.len() - 1]);
        } else if u32::from(c) > 0xffff {
            _ = write!(out, "\\u{{{:X}}}", u32::from(c));
        } else {
            _ = write!(out, "\\u{:04X}", u32::from(c));
        }
    }
    out + "\""
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = &self.scheme {
            write!(f, "{scheme}:")?;
        }
        if let Some(opaque) = &self.opaque {
            f.write_str(opaque)?;
        } else {
            if self.host.is_some() || matches!(self.scheme.as_deref(), Some("file" | "postgres")) {
                f.write_str("//")?;
            }
            if let Some(userinfo) = &self.userinfo {
                write!(f, "{userinfo}@")?;
            }
            f.write_str(self.host.as_deref().unwrap_or_default())?;
            if let Some(port) =
                self.port.as_ref().filter(|port| self.default_port().map(Value::Integer) != Some((*port).clone()))
            {
                write!(f, ":{}", ruby::to_s(port))?;
            }
            f.write_str(self.path.as_deref().unwrap_or_default())?;
            if let Some(query) = &self.query {
                write!(f, "?{query}")?;
            }
        }
        match &self.fragment {
            Some(fragment) => write!(f, "#{fragment}"),
            None => Ok(()),
        }
    }
}
