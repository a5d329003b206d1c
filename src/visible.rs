//! Makes foreign text safe to show, in one place for everything that the program writes.
//!
//! No character that a terminal would act on gets through: control characters, and characters that hide or reorder
//! text, are written as escapes. It knows neither what the text is nor where it goes.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, Hir, HirKind};

/// Escapes the active characters of foreign text (a name, a message, a line of a longer text).
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |_| true, escape)
}

/// Escapes the active characters of foreign text except for line ends.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n', escape)
}

/// Escapes the active characters in the texts of a JSON document, or of a part of one. The document keeps its value.
pub fn visible_json(document: &str) -> Cow<'_, str> {
    // JSON itself forbids the other control characters in texts, and has line ends between them.
    escaped(document, |c| c >= '\u{7f}', escape_json)
}

/// Escapes the active characters of whole lines that a program writes, except for tabs. A JSON document keeps its
/// value.
pub fn visible_output(lines: &str) -> Cow<'_, str> {
    // Nearly all output is plain. This check has no branches, so it is fast.
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) || byte == b'\n' || byte == b'\t';
    if lines.bytes().fold(true, |all, byte| all & is_plain(byte)) {
        return Cow::Borrowed(lines);
    }
    escaped(lines, |c| !matches!(c, '\n' | '\t'), escape_json)
}

/// Does the same for lines whose writer has escaped all foreign text and added colours, which stay.
pub fn visible_coloured(lines: &str) -> Cow<'_, str> {
    if !lines.contains('\x1b') {
        return visible_output(lines);
    }
    let mut out = String::with_capacity(lines.len());
    for (at, text) in lines.split('\x1b').enumerate() {
        let colour = if at == 0 { 0 } else { colour_length(text) };
        match (at, colour) {
            (0, _) => {}
            (_, 0) => escape_json('\x1b', &mut out),
            _ => out.push('\x1b'),
        }
        let (colour, text) = text.split_at(colour);
        out.push_str(colour);
        out.push_str(&visible_output(text));
    }
    Cow::Owned(out)
}

/// Returns the length of the colour sequence at the start of the text after an escape character, or 0.
fn colour_length(text: &str) -> usize {
    let Some(sequence) = text.strip_prefix('[') else { return 0 };
    let end = sequence.bytes().position(|byte| !matches!(byte, b'0'..=b'9' | b';'));
    end.filter(|end| sequence.as_bytes()[*end] == b'm').map_or(0, |end| end + 2)
}

/// Breaks up what the runner of a CI job would take for a command in its log: a line that begins with `::` and
/// contains it once more, unlike `::1`, and `##[`, `##vso[` and `##teamcity[` anywhere. A carriage return begins a
/// line, too. In JSON the value stays the same.
pub fn without_commands(lines: &str) -> Cow<'_, str> {
    const MARKS: [&str; 3] = ["##[", "##vso[", "##teamcity["];
    let begins_command = |line: &str| line.trim_start().strip_prefix("::").is_some_and(|rest| rest.contains("::"));
    if !lines.contains("##") && !lines.split(['\n', '\r']).any(begins_command) {
        return Cow::Borrowed(lines);
    }
    let parted = |line: &str| {
        let line = if begins_command(line) { line.replacen("::", "\\u003a:", 1) } else { line.to_owned() };
        MARKS.iter().fold(line, |line, mark| line.replace(mark, &format!("#\\u0023{}", &mark[2..])))
    };
    Cow::Owned(lines.split_inclusive(['\n', '\r']).map(parted).collect())
}

/// Writes a text in quotes, with escapes.
pub fn quote(text: impl Iterator<Item = char>, out: &mut String) {
    out.push('"');
    let mut before = ' ';
    for c in text {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_active(before, c) => escape(c, out),
            c => out.push(c),
        }
        before = c;
    }
    out.push('"');
}

/// Returns true for characters that, after `before`, are acted on instead of shown: controls, and all that Unicode
/// calls invisible, which hide or reorder text or make two names look the same. The variation selector of an emoji
/// stays, since that is how people type it.
fn is_active(before: char, c: char) -> bool {
    if c < '\u{7f}' {
        return c < ' ';
    }
    let is_unseen =
        c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}') || IGNORABLE.has(c);
    is_unseen && !(c == EMOJI_STYLE && PICTURES.has(before))
}

/// The variation selector that asks for the picture of the character before it.
const EMOJI_STYLE: char = '\u{fe0f}';

/// Characters that are shown as nothing wherever they are unknown.
static IGNORABLE: LazyLock<Characters> = LazyLock::new(|| Characters::of(r"\p{Default_Ignorable_Code_Point}"));

/// Characters that are pictures.
static PICTURES: LazyLock<Characters> = LazyLock::new(|| Characters::of(r"[\p{Extended_Pictographic}--\p{ASCII}]"));

/// A class of characters: the ends of its ranges, in order.
struct Characters(Vec<(char, char)>);

impl Characters {
    /// Returns the characters of a Unicode class.
    fn of(class: &str) -> Characters {
        match regex_syntax::parse(class).map(Hir::into_kind) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Characters(class.ranges().iter().map(|range| (range.start(), range.end())).collect())
            }
            _ => Characters(Vec::new()),
        }
    }

    fn has(&self, c: char) -> bool {
        let at = self.0.partition_point(|(_, end)| *end < c);
        self.0.get(at).is_some_and(|(start, _)| *start <= c)
    }
}

/// Escapes the active characters that `is_selected` accepts.
fn escaped(text: &str, is_selected: impl Fn(char) -> bool, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    // Nearly all texts are plain. This check has no branches, so it is fast.
    let is_plain = text.bytes().fold(true, |is_plain, byte| is_plain & (0x20..0x7f).contains(&byte));
    let is_escaped = |before: &mut char, c: char| {
        let before = std::mem::replace(before, c);
        Some((c, is_active(before, c) && is_selected(c)))
    };
    let characters = || text.chars().scan(' ', is_escaped);
    if is_plain || !characters().any(|(_, is_escaped)| is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (c, is_escaped) in characters() {
        if is_escaped { escape(c, &mut out) } else { out.push(c) }
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

/// Escapes as JSON does: characters beyond 16 bits become surrogate pairs.
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
    fn output_keeps_its_lines_and_the_colours_of_its_writer_only() {
        let written = "a\tb\n\u{1b}[1;32mgreen\u{1b}[0m \u{1b}[2J\u{1b}]0;x\u{7} \u{202e}\u{1b}[\r\n\u{1b}";
        let shown = "a\tb\n\u{1b}[1;32mgreen\u{1b}[0m \\u001b[2J\\u001b]0;x\\u0007 \\u202e\\u001b[\\u000d\n\\u001b";
        assert_eq!(visible_coloured(written), shown);
        assert_eq!(visible_output(written), shown.replace('\u{1b}', "\\u001b"));
        assert!(matches!(visible_output("a\tb\n"), Cow::Borrowed(_)));
        assert!(matches!(visible_coloured("\u{e9}\n"), Cow::Borrowed(_)));
        let value = "é\u{202e}\u{7f}\u{e0041}\u{1f600}";
        let document = serde_json::to_string(value).unwrap();
        let shown = visible_output(&document);
        assert!(shown.is_ascii() || !shown.contains('\u{202e}'), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), value);
    }

    #[test]
    fn what_shows_nothing_becomes_an_escape_and_emoji_stay() {
        for c in "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180b}\u{180e}\u{180f}\u{200b}\u{200d}\u{200f}\u{2028}\u{202e}\u{2060}\u{2065}\
                  \u{206f}\u{3164}\u{fe00}\u{fe0e}\u{fe0f}\u{feff}\u{ffa0}\u{fff0}\u{fff9}\u{1bca0}\u{1d173}\u{e0000}\u{e0041}\u{e0100}\u{e0fff}"
            .chars()
        {
            let (text, escape) = (format!("a{c}1"), format!("{:x}", u32::from(c)));
            for shown in [visible(&text), visible_lines(&text)] {
                assert!(!shown.contains(c) && shown.contains(&escape), "{escape}: {shown:?}");
            }
            assert!(![visible_output(&text), visible_json(&text)].iter().any(|shown| shown.contains(c)), "{escape}");
        }
        for honest in [
            "⚠\u{fe0f} été",
            "❤\u{fe0f}",
            "1️".trim_end_matches('\u{fe0f}'),
            "한글 ᄒᆞᆫ",
            "日本語",
            "हिन्दी",
            "עברית",
            "Ω\u{301}",
            "🇫🇷",
        ] {
            assert!(matches!(visible(honest), Cow::Borrowed(_)), "{honest}");
        }
        // It stays only directly after a picture.
        assert_eq!(visible("⚠\u{fe0f}\u{fe0f} 1\u{fe0f}"), "⚠\u{fe0f}\\ufe0f 1\\ufe0f");
    }

    #[test]
    fn runners_find_no_command() {
        for (line, parted) in [
            ("::error::x\n  ::set-output name=x::y\n", "\\u003a:error::x\n  \\u003a:set-output name=x::y\n"),
            ("x\r::add-mask::y\n", "x\r\\u003a:add-mask::y\n"),
            ("::a b::", "\\u003a:a b::"),
            ("a ##[add-mask]x\n", "a #\\u0023[add-mask]x\n"),
            ("##vso[task.x]##teamcity[y]", "#\\u0023vso[task.x]#\\u0023teamcity[y]"),
        ] {
            assert_eq!(without_commands(line), parted);
        }
        for line in ["apache::port ::x\n", "## heading\n", "#[x]", "::1", "- ::\n::\n::ffff:1.2.3.4\n::"] {
            assert!(matches!(without_commands(line), Cow::Borrowed(_)) || without_commands(line) == line, "{line}");
        }
    }

    #[test]
    fn json_keeps_its_value() {
        for text in ["plain", "é\u{202e}\u{9b}\u{7f}", "\u{2028}\u{feff}\u{e0041}\u{1f600}", "\"\\\n\u{1}"] {
            for document in [serde_json::to_string(text), serde_json::to_string_pretty(&[text])].map(Result::unwrap) {
                let safe = visible_json(&document);
                assert!(!safe.chars().any(|c| is_active(' ', c) && c != '\n'), "{safe:?}");
                let value = |document: &str| serde_json::from_str::<serde_json::Value>(document).unwrap();
                assert_eq!(value(&safe), value(&document));
            }
        }
    }
}
