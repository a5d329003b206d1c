//! Which texts are URIs: those that Ruby's `URI()` takes.
//!
//! Source: `uri/rfc3986_parser.rb` of Ruby 3.1, which is RFC 3986 with any text as a query.

use super::LookupError;
use crate::value::ruby;

/// Refuses what Ruby refuses, in its words.
pub(super) fn check_uri(text: &str) -> Result<(), LookupError> {
    if !text.is_ascii() {
        return Err(LookupError::puppet(format!("URI must be ascii only {}", dumped(text))));
    }
    let (head, fragment) = text.split_once('#').unwrap_or((text, ""));
    let head = head.split_once('?').map_or(head, |(head, _)| head);
    let is_uri = match head.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => is_hierarchical(rest) || is_relative(head),
        _ => is_relative(head),
    };
    if is_uri && is_made_of(fragment, |c| is_segment_char(c) || c == '/' || c == '?') {
        return Ok(());
    }
    Err(LookupError::puppet(format!("bad URI(is not URI?): {}", ruby::inspect(&text.into()))))
}

/// Ruby's `dump`: what is not ASCII is escaped.
fn dumped(text: &str) -> String {
    let escape = |c: char| match (c.is_ascii(), u32::from(c)) {
        (true, _) => c.to_string(),
        (false, code) if code <= 0xffff => format!("\\u{code:04X}"),
        (false, code) => format!("\\u{{{code:X}}}"),
    };
    ruby::inspect(&text.into()).chars().map(escape).collect()
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// What stands behind the scheme: an authority and a path, or only a path.
fn is_hierarchical(text: &str) -> bool {
    match text.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            is_authority(authority) && is_path(path)
        }
        None => is_path(text),
    }
}

/// A URI without a scheme, whose first segment has no colon. Ruby's expression for it takes no address in brackets.
fn is_relative(text: &str) -> bool {
    let first = text.split('/').next().unwrap_or_default();
    is_hierarchical(text) && !first.contains(':') && !text.contains('[')
}

fn is_path(text: &str) -> bool {
    is_made_of(text, |c| is_segment_char(c) || c == '/')
}

fn is_authority(text: &str) -> bool {
    let host = match text.split_once('@') {
        Some((user, host)) if is_made_of(user, |c| is_name_char(c) || c == ':') => host,
        Some(_) => return false,
        None => text,
    };
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if is_address(address) => ("", port),
            _ => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    is_made_of(name, is_name_char) && is_port
}

/// What stands between brackets: an IPv6 address, or one of a later version.
fn is_address(text: &str) -> bool {
    match text.strip_prefix('v') {
        Some(future) => future.split_once('.').is_some_and(|(version, name)| {
            !version.is_empty()
                && version.bytes().all(|b| b.is_ascii_hexdigit())
                && !name.is_empty()
                && name.chars().all(|c| is_name_char(c) || c == ':')
        }),
        None => is_ipv6(text),
    }
}

/// Eight groups of digits, of which `::` stands for some that are zero; the last two may be written as IPv4.
fn is_ipv6(text: &str) -> bool {
    let is_group = |group: &str| (1..=4).contains(&group.len()) && group.bytes().all(|b| b.is_ascii_hexdigit());
    let is_ipv4 = |group: &str| group.split('.').filter(|byte| byte.parse::<u8>().is_ok()).count() == 4;
    let groups = |part: &str| match part.rsplit_once(':').unwrap_or(("", part)) {
        (before, last) if last.contains('.') => (is_ipv4(last), before.to_owned(), 2),
        _ => (true, part.to_owned(), 0),
    };
    let count = |part: &str| {
        let (fits, rest, more) = groups(part);
        let names: Vec<&str> = rest.split(':').filter(|_| !rest.is_empty()).collect();
        (fits && names.iter().all(|name| is_group(name))).then_some(names.len() + more)
    };
    match text.split_once("::") {
        Some((before, after)) => matches!((count(before), count(after)), (Some(a), Some(b)) if a + b < 8),
        None => count(text) == Some(8),
    }
}

/// Whether `text` is made of such characters and of escapes, `%` and two digits.
fn is_made_of(text: &str, fits: impl Fn(char) -> bool) -> bool {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = match (c, rest.as_bytes()) {
            ('%', [_, a, b, ..]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => &rest[3..],
            (c, _) if fits(c) => &rest[c.len_utf8()..],
            _ => return false,
        };
    }
    true
}

/// What a host's name may have.
fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!$&'()*+,-.;=_~".contains(c)
}

/// What a segment of a path may have.
fn is_segment_char(c: char) -> bool {
    is_name_char(c) || c == ':' || c == '@'
}

#[cfg(test)]
mod tests {
    use super::check_uri;

    #[test]
    fn uris_are_those_of_ruby() {
        let good = "http://h:8/a%20b?any [text]#f /x:y a@b a:b:c x://u:p@[::1]:80/ http://[v1.x] http://[1:2:3:4:5:6:1.2.3.4] ?q #f urn:";
        for text in good.split(' ').filter(|text| !text.contains("[text]")).chain(["", "a?any [text]"]) {
            assert!(check_uri(text).is_ok(), "{text}");
        }
        for text in [
            "http://[",
            "a b",
            "a%2",
            "1a:b",
            "http://h:x",
            "http://a@b@c",
            "http://[1:2]",
            "#a#b",
            "a<b",
            "//[::1]",
            "ü",
        ] {
            assert!(check_uri(text).is_err(), "{text}");
        }
    }
}
