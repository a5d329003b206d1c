//! The text of a file of profiles: its encoding, and the documents in it.

use std::borrow::Cow;

use crate::puppet::{json, ruby};

/// The bytes that a file compressed by gzip begins with.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Returns a text in UTF-8, without a byte order mark. A UTF-16 mark, as `facter --json > FILE` writes it in
/// PowerShell, decides its encoding. The error is a message for content that is not text.
pub(super) fn utf8(content: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let unit = match content {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ if content.starts_with(GZIP) => return Err("the file is compressed: unpack it".to_owned()),
        _ => return Ok(Cow::Borrowed(ruby::without_byte_order_mark(content))),
    };
    let (units, rest) = content[2..].as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|bytes| unit(*bytes)).collect();
    let text = String::from_utf16(&units).ok().filter(|_| rest.is_empty());
    text.map(|text| Cow::Owned(text.into_bytes())).ok_or_else(|| "the file is not valid UTF-16".to_owned())
}

/// Returns true if there is a JSON document on the first line, and another one below it.
pub(super) fn has_one_document_per_line(content: &[u8]) -> bool {
    let mut lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let begins = |line: Option<&[u8]>| line.is_some_and(|line| line.starts_with(b"{"));
    let first = lines.next().filter(|line| line.ends_with(b"}"));
    begins(first) && begins(lines.next()) && first.is_some_and(|line| json::parse(line).fault.is_none())
}

/// Returns the documents of a text in YAML, each with the number of lines before it. Empty ones are left out if there
/// are others. A line that begins with a document mark always starts a document, wherever it is.
pub(super) fn documents(content: &[u8]) -> Vec<(u32, &[u8])> {
    let (mut found, mut start, mut before, mut is_empty) = (Vec::new(), 0, 0, true);
    let (mut at, mut number, mut is_marked) = (0, 0_u32, false);
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        if is_mark(line, b"---") {
            if !is_empty {
                found.push((before, &content[start..at]));
            }
            if !is_empty || is_marked {
                (start, before, is_empty) = (at, number, true);
            }
            is_marked = true;
        }
        at += line.len();
        number = number.saturating_add(1);
        is_empty &= is_blank_yaml_line(line);
        if is_mark(line, b"...") {
            if !is_empty {
                found.push((before, &content[start..at]));
            }
            (start, before, is_empty, is_marked) = (at, number, true, false);
        }
    }
    if !is_empty || found.is_empty() {
        found.push((before, &content[start..]));
    }
    found
}

fn is_mark(line: &[u8], mark: &[u8]) -> bool {
    line.strip_prefix(mark).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// Returns true for a line that is empty, a comment, a directive or only a mark.
fn is_blank_yaml_line(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.is_empty() || text.starts_with(b"#") || line.starts_with(b"%") || text == b"---" || is_mark(line, b"...")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(u32, &str)> {
        documents(text.as_bytes()).into_iter().map(|(at, part)| (at, std::str::from_utf8(part).unwrap())).collect()
    }

    #[test]
    fn documents_begin_and_end_with_marks() {
        assert_eq!(parts("a: 1\n"), [(0, "a: 1\n")]);
        assert_eq!(parts("---\na: 1\n---\nb: 2"), [(0, "---\na: 1\n"), (2, "---\nb: 2")]);
        assert_eq!(parts("a: 1\n...\nb: 2\n...\n"), [(0, "a: 1\n...\n"), (2, "b: 2\n...\n")]);
        assert_eq!(parts("%YAML 1.1\n---\na: 1\n"), [(0, "%YAML 1.1\n---\na: 1\n")]);
        assert_eq!(parts("--- {a: 1}\n--- {b: 2}\n"), [(0, "--- {a: 1}\n"), (1, "--- {b: 2}\n")]);
        assert_eq!(parts("# one\n---\n---\na: 1\n---\n"), [(2, "---\na: 1\n")]);
        assert_eq!(parts("a: ---x\n----\n  ---\n"), [(0, "a: ---x\n----\n  ---\n")]);
        assert_eq!(parts(""), [(0, "")]);
    }

    #[test]
    fn documents_a_line_are_seen() {
        let is = |text: &str| has_one_document_per_line(text.as_bytes());
        assert!(is("{\"a\": 1}\n\n{\"b\": 2}\n") && is("{}\r\n{\r\n"));
        for text in ["{\"a\": 1}", "{\n{\n", "{a: 1}\n{b: 2}\n", "[1]\n{}", "{\"a\": 1}\nb", "", "---\n{}"] {
            assert!(!is(text), "{text}");
        }
    }

    #[test]
    fn marks_tell_the_encoding() {
        let text = |content: &[u8]| utf8(content).map(|text| String::from_utf8(text.into_owned()).unwrap());
        assert_eq!(text(b"\xff\xfe\x61\x00\xe9\x00"), Ok("aé".into()));
        assert_eq!(text(b"\xfe\xff\x00\x61"), Ok("a".into()));
        assert_eq!(
            [text(b"\xef\xbb\xbfa"), text(b"a"), text(b"")],
            [Ok("a".into()), Ok("a".into()), Ok(String::new())]
        );
        assert_eq!(text(b"\xff\xfea"), Err("the file is not valid UTF-16".into()));
        assert_eq!(text(b"\x1f\x8b\x08"), Err("the file is compressed: unpack it".into()));
    }
}
