//! The part of a new version of a document that must be read if the former version is known.
//!
//! At a root key that begins a line, libyaml's state is the root mapping and the anchors that were set before, and
//! nothing else. So the entries before such a line and those from it on do not depend on each other, unless the
//! document is entangled, or a key occurs twice. The marks of the former version tell which lines begin with a root
//! key: libyaml has found them there.
//!
//! A document that is not entangled never reaches the limit of its expansion: no text is that dense.

use std::iter::once;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::grammar;
use crate::puppet::document::Marks;
use crate::puppet::server::Notes;

/// The difference between two versions of a document, in whole root entries.
#[derive(Debug)]
pub struct Edit<'a> {
    /// The entries of the former version that differ in the new one.
    pub entries: Range<usize>,
    /// The text of these entries in the new version: a separate document, or nothing.
    pub text: &'a [u8],
    /// The number of lines that the new version has before that text.
    text_shift: i32,
    /// The number of lines by which the entries after it have moved down.
    tail_shift: i32,
}

impl<'a> Edit<'a> {
    /// Finds the difference between `content` and `former`, or `None` if it is not certain, or more than half of
    /// `content`. `former` is a document without fault that is not entangled, whose root is a hash with texts as keys
    /// and has these marks. The result is valid only if the new text has no fault, and none of the keys that stay.
    pub fn of(content: &'a [u8], former: &[u8], marks: &Marks) -> Option<Edit<'a>> {
        if !has_plain_breaks(former) || !has_plain_breaks(content) || !grammar::is_readable(content) {
            return None;
        }
        let keys = root_keys(former, marks).filter(|keys| has_plain_start(former, keys))?;
        let versions = Versions { content, former, keys: &keys };
        let first = versions.first_key()?;
        let last = versions.end_key(first);
        let text = versions.between(first, last);
        if text.len() > content.len() / 2 {
            return None;
        }
        let line = i32::try_from(marks.children[first].line).ok()?;
        let tail_shift = match marks.children.get(last) {
            Some(_) if !goes_on_behind(text) => return None,
            Some(behind) => count_line_ends(text)? - (i32::try_from(behind.line).ok()? - line),
            None => 0,
        };
        Some(Edit { entries: first..last, text, text_shift: line - 1, tail_shift })
    }

    /// Returns the marks of the new version, given the `former` ones and those of the new `text`.
    pub fn marks(&self, former: &Marks, text: &Marks) -> Marks {
        let (head, tail) = (&former.children[..self.entries.start], &former.children[self.entries.end..]);
        let (text, tail) = (shifted(&text.children, self.text_shift), shifted(tail, self.tail_shift));
        Marks { line: former.line, children: head.iter().cloned().chain(text).chain(tail).collect() }
    }
}

impl Edit<'_> {
    /// Returns the notes on the new version, given those on the former one and its marks, and those on the new text.
    pub fn notes(&self, (former, marks): (&Notes, &Marks), text: &Notes) -> Notes {
        let line_of = |entry: usize| marks.children.get(entry).map_or(u32::MAX, |marks| marks.line);
        let (start, end) = (line_of(self.entries.start), line_of(self.entries.end));
        let moved = |by: i32| move |(line, kind): (u32, _)| (line.saturating_add_signed(by), kind);
        let head = former.iter().filter(|(line, _)| *line < start);
        let tail = former.iter().filter(|(line, _)| *line >= end).map(moved(self.tail_shift));
        head.chain(text.iter().map(moved(self.text_shift))).chain(tail).collect()
    }
}

/// Two versions of a document.
struct Versions<'a, 'f> {
    content: &'a [u8],
    former: &'f [u8],
    /// The places of the root keys of the former one.
    keys: &'f [usize],
}

impl<'a> Versions<'a, '_> {
    /// Returns the last root key before the first difference that is also a key of the new version.
    fn first_key(&self) -> Option<usize> {
        let has_key = |at: &usize| starts_with_key(&self.content[self.keys[*at]..]);
        let same = same_start(self.former, self.content);
        (0..self.keys.partition_point(|key| *key <= same)).rev().find(has_key)
    }

    /// Returns the first root key, not before the key `first`, after which nothing differs, or the number of keys if
    /// there is none.
    fn end_key(&self, first: usize) -> usize {
        let start = self.keys[first];
        let same = same_end(&self.former[start..], &self.content[start..]);
        let begins_line = |at: usize| at == start || self.content[at - 1] == b'\n';
        let is_end =
            |at: &usize| self.former.len() - self.keys[*at] <= same && begins_line(self.new_place(self.keys[*at]));
        (first..self.keys.len()).find(is_end).unwrap_or(self.keys.len())
    }

    /// Returns the text of the new version from the key `first` up to the key `last`.
    fn between(&self, first: usize, last: usize) -> &'a [u8] {
        let end = self.keys.get(last).map_or(self.content.len(), |key| self.new_place(*key));
        &self.content[self.keys[first]..end]
    }

    /// Returns the place in the new version of the text at `at` in the former one, counted from the end.
    fn new_place(&self, at: usize) -> usize {
        self.content.len() - (self.former.len() - at)
    }
}

fn shifted(marks: &[Marks], by: i32) -> impl Iterator<Item = Marks> {
    let shift = move |mark: &Marks| match by {
        0 => mark.clone(),
        _ => Marks { line: mark.line.saturating_add_signed(by), children: shifted(&mark.children, by).collect() },
    };
    marks.iter().map(shift)
}

/// Returns the places of the root keys of a text, or `None` if lines other than keys, blank lines, comments and items
/// begin at the left edge. A duplicate key has one mark for two lines.
fn root_keys(text: &[u8], marks: &Marks) -> Option<Vec<usize>> {
    let mut known = marks.children.iter().map(|marks| marks.line);
    let mut keys = Vec::with_capacity(known.len());
    for (start, line) in once(0).chain(memchr_iter(b'\n', text).map(|at| at + 1)).zip(1..) {
        if !is_no_key(&text[start..]) {
            if known.next() != Some(line) {
                return None;
            }
            keys.push(start);
        }
    }
    known.next().is_none().then_some(keys)
}

/// Returns true if a line certainly does not begin with a root key.
fn is_no_key(line: &[u8]) -> bool {
    matches!(
        line,
        [] | [b'\n' | b' ' | b'\t' | b'#', ..] | [b'-', b' ' | b'\n', ..] | [b'-', b'-', b'-', b' ' | b'\n', ..]
    )
}

/// Returns true if the root of a text with these keys is certainly a block mapping, and nothing before it changes how
/// it is read.
fn has_plain_start(text: &[u8], keys: &[usize]) -> bool {
    let is_plain = |line: &[u8]| matches!(line.trim_ascii(), [] | [b'#', ..] | b"---");
    let is_first = |key: &usize| text[..*key].split(|b| *b == b'\n').all(is_plain) && starts_with_key(&text[*key..]);
    keys.first().is_some_and(is_first)
}

/// Returns true if `text` certainly starts with a key.
fn starts_with_key(text: &[u8]) -> bool {
    let after = match text {
        [quote @ (b'\'' | b'"'), ..] => after_quoted(&text[1..], *quote),
        _ => after_plain_key(text),
    };
    matches!(after, Some([b':', b' ' | b'\n', ..]))
}

/// Returns what follows the key that `text` starts with, or `None` if that is uncertain.
fn after_plain_key(text: &[u8]) -> Option<&[u8]> {
    let text = &text[..text.len().min(MAX_KEY_LENGTH + 2)];
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    if !is_word(text.first()?) {
        return None;
    }
    let mut len = 0;
    loop {
        len += text[len..].iter().take_while(|b| is_word(b) || matches!(b, b'-' | b'.' | b'/')).count();
        match text.get(len..)? {
            [b':', b' ' | b'\n', ..] => return text.get(len..),
            [b':', 0x21..=0x7e, ..] => len += 1,
            _ => return None,
        }
    }
}

/// Returns what follows a quoted text, given the text after the opening quote; `None` if it is not read literally.
fn after_quoted(inner: &[u8], quote: u8) -> Option<&[u8]> {
    let len = inner.iter().position(|b| *b == quote || *b == b'\\' || !matches!(b, b' '..=b'~'))?;
    (inner[len] == quote && inner.get(len + 1) != Some(&quote)).then(|| &inner[len + 1..])
}

/// Returns true if the document certainly continues after a text that can be read as a separate document.
fn goes_on_behind(text: &[u8]) -> bool {
    let ends = |line: &[u8]| line.starts_with(b"---") || line.starts_with(b"...") || line.starts_with(b"%");
    !text.split(|b| *b == b'\n').any(ends)
}

/// Returns true if the lines that libyaml counts in a text are exactly those that `\n` ends.
fn has_plain_breaks(text: &[u8]) -> bool {
    let has_others = |text: &str| text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    memchr(b'\r', text).is_none() && (text.is_ascii() || str::from_utf8(text).is_ok_and(|text| !has_others(text)))
}

/// Returns the number of lines that end in a text.
fn count_line_ends(text: &[u8]) -> Option<i32> {
    i32::try_from(memchr_iter(b'\n', text).count()).ok()
}

/// The maximum length of a key that is recognised, in bytes: surely not more than libyaml allows.
const MAX_KEY_LENGTH: usize = 256;

/// The number of bytes that are compared at once.
const BLOCK: usize = 256;

/// Returns the number of bytes at the start of both texts that are the same.
fn same_start(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    let at = blocks * BLOCK;
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

/// Returns the number of bytes at the end of both texts that are the same.
fn same_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - blocks * BLOCK], &b[..b.len() - blocks * BLOCK]);
    blocks * BLOCK + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}
