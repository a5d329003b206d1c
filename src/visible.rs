//! Makes foreign text safe to show, in one place for everything that the program writes.
//!
//! No character that a terminal would act on gets through: control characters, and characters that hide or reorder
//! text, are written as escapes. It knows neither what the text is nor where it goes.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes the active characters of foreign text (a name, a message, a line of a longer text).
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_active, escape)
}

/// Escapes the active characters of foreign text but for the ends of its lines.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_active(c) && c != '\n', escape)
}

/// Escapes the active characters in the texts of a JSON document, or of a part of one. It stands for the same value.
pub fn visible_json(document: &str) -> Cow<'_, str> {
    // JSON itself forbids the other control characters in texts, and has line ends between them.
    escaped(document, |c| is_active(c) && c >= '\u{7f}', escape_json)
}

/// Escapes the active characters of whole lines that a program writes, but for tabulators and the colours that it gives
/// them. A JSON document stands for the same value.
pub fn visible_output(lines: &str) -> Cow<'_, str> {
    // Nearly all output is so, and its bytes are looked at together.
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) || byte == b'\n' || byte == b'\t';
    let is_all_plain = lines.bytes().fold(true, |all, byte| all & is_plain(byte));
    if is_all_plain || !lines.chars().any(|c| is_active(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(lines);
    }
    let mut out = String::with_capacity(lines.len());
    let mut rest = lines;
    while let Some(c) = rest.chars().next() {
        let colour = colour(rest);
        let (shown, behind) = rest.split_at(if colour > 0 { colour } else { c.len_utf8() });
        match c {
            _ if colour > 0 => out.push_str(shown),
            c if is_active(c) && !matches!(c, '\n' | '\t') => escape_json(c, &mut out),
            c => out.push(c),
        }
        rest = behind;
    }
    Cow::Owned(out)
}

/// Returns the length of the sequence for a colour that a text begins with, or 0 if it begins with none.
fn colour(text: &str) -> usize {
    let Some(sequence) = text.strip_prefix("\u{1b}[") else { return 0 };
    let end = sequence.bytes().position(|byte| !matches!(byte, b'0'..=b'9' | b';'));
    end.filter(|end| sequence.as_bytes()[*end] == b'm').map_or(0, |end| end + 3)
}

/// Parts what the runner of a CI job would take for a command in its log: a line that begins with `::`, and `##[`,
/// `##vso[` and `##teamcity[` anywhere. In JSON the value stays the same.
pub fn without_commands(lines: &str) -> Cow<'_, str> {
    const MARKS: [&str; 3] = ["##[", "##vso[", "##teamcity["];
    let begins = |line: &str| line.trim_start().starts_with("::");
    if !lines.contains("##") && !lines.lines().any(begins) {
        return Cow::Borrowed(lines);
    }
    let parted = |line: &str| {
        let line = if begins(line) { line.replacen("::", "\\u003a:", 1) } else { line.to_owned() };
        MARKS.iter().fold(line, |line, mark| line.replace(mark, &format!("#\\u0023{}", &mark[2..])))
    };
    Cow::Owned(lines.split_inclusive('\n').map(parted).collect())
}

/// Writes a text in quotes, with escapes.
pub fn quote(text: impl Iterator<Item = char>, out: &mut String) {
    out.push('"');
    for c in text {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_active(c) => escape(c, out),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Returns true for characters that are acted on rather than shown: controls, and format characters that hide or
/// reorder text.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn escaped(text: &str, is_meant: impl Fn(char) -> bool, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    // Nearly all texts are so, and their bytes are looked at together.
    let is_plain = text.bytes().fold(true, |is_plain, byte| is_plain & (0x20..0x7f).contains(&byte));
    if is_plain || !text.chars().any(&is_meant) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_meant(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

fn escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if u32::from(c) > 0xffff => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
        c => _ = write!(out, "\\u{:04x}", u32::from(c)),
    }
}

/// Escapes as JSON does: characters beyond 16 bits are two halves.
fn escape_json(c: char, out: &mut String) {
    for half in c.encode_utf16(&mut [0; 2]) {
        _ = write!(out, "\\u{half:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_characters_become_escapes() {
        assert_eq!(visible("a é\u{202e}\u{9b}31m\n\u{e0041}"), "a é\\u202e\\u009b31m\\n\\u{e0041}");
        assert_eq!(visible_lines("a\u{1b}\nb"), "a\\u001b\nb");
        assert!(matches!(visible("plain, \u{e9}"), Cow::Borrowed(_)));
    }

    #[test]
    fn output_keeps_its_lines_and_colours_only() {
        let written = "a\tb\n\u{1b}[1;32mgreen\u{1b}[0m \u{1b}[2J\u{1b}]0;x\u{7} \u{202e}\u{1b}[\r\n";
        let shown = "a\tb\n\u{1b}[1;32mgreen\u{1b}[0m \\u001b[2J\\u001b]0;x\\u0007 \\u202e\\u001b[\\u000d\n";
        assert_eq!(visible_output(written), shown);
        assert!(matches!(visible_output("a\tb\n"), Cow::Borrowed(_)));
        let value = "é\u{202e}\u{7f}\u{e0041}\u{1f600}";
        let document = serde_json::to_string(value).unwrap();
        let shown = visible_output(&document);
        assert!(!shown.chars().any(is_active) && serde_json::from_str::<String>(&shown).unwrap() == value, "{shown}");
    }

    #[test]
    fn runners_find_no_command() {
        for (line, parted) in [
            ("::error::x\n  ::set-output name=x::y\n", "\\u003a:error::x\n  \\u003a:set-output name=x::y\n"),
            ("a ##[add-mask]x\n", "a #\\u0023[add-mask]x\n"),
            ("##vso[task.x]##teamcity[y]", "#\\u0023vso[task.x]#\\u0023teamcity[y]"),
        ] {
            assert_eq!(without_commands(line), parted);
        }
        for line in ["apache::port ::x\n", "## heading\n", "#[x]"] {
            assert!(matches!(without_commands(line), Cow::Borrowed(_)) || without_commands(line) == line, "{line}");
        }
    }

    #[test]
    fn json_keeps_its_value() {
        for text in ["plain", "é\u{202e}\u{9b}\u{7f}", "\u{2028}\u{feff}\u{e0041}\u{1f600}", "\"\\\n\u{1}"] {
            for document in [serde_json::to_string(text), serde_json::to_string_pretty(&[text])].map(Result::unwrap) {
                let safe = visible_json(&document);
                assert!(!safe.chars().any(|c| is_active(c) && c != '\n'), "{safe:?}");
                let value = |document: &str| serde_json::from_str::<serde_json::Value>(document).unwrap();
                assert_eq!(value(&safe), value(&document));
            }
        }
    }
}
