//! Lines read at once: nearly every line of a data file is a key and a colon, or a dash, with a word, a quoted text or
//! nothing behind.
//!
//! Events are made of them without tokens. All that the scanner and the parser remember is as if they had gone from
//! character to character; what is not of the simplest form, or might not be, is left to them. They may look further
//! ahead, though: a fault in the line behind an item is found after the item here, and before it there.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::super::event::{Data, Event, Onward, Props};
use super::parser::{Parser, State};
use super::scanner::Scanner;
use crate::puppet::document::Fault;

/// The longest key that is read here, in bytes: surely not longer than libyaml allows.
const LONGEST_KEY: usize = 256;

/// Sets of bytes, as bits.
const WORD: u8 = 1;
const IN_KEY: u8 = 2;
const FIRST_OF_PLAIN: u8 = 4;
const IN_PLAIN: u8 = 8;

/// The sets that a byte is in.
const SETS: [u8; 256] = {
    let mut sets = [0; 256];
    let mut b = b' ';
    while b <= b'~' {
        let is_word = b.is_ascii_alphanumeric() || b == b'_';
        let in_key = is_word || matches!(b, b'-' | b'.' | b'/');
        let is_first = is_word || matches!(b, b'.' | b'/' | b'+' | b'(' | b'<' | b'=' | b'$' | b'~');
        let in_plain = !matches!(b, b':' | b'#');
        let [word, key, first, plain] = [is_word as u8, in_key as u8, is_first as u8, in_plain as u8];
        sets[b as usize] = word * WORD + key * IN_KEY + first * FIRST_OF_PLAIN + plain * IN_PLAIN;
        b += 1;
    }
    sets
};

fn is_in(b: u8, set: u8) -> bool {
    SETS[usize::from(b)] & set != 0
}

/// How many bytes at the start of `bytes` are in the set, and what follows them.
fn run(bytes: &[u8], set: u8) -> (usize, Option<u8>) {
    let len = bytes.iter().position(|b| !is_in(*b, set)).unwrap_or(bytes.len());
    (len, bytes.get(len).copied())
}

/// A scalar that stands in a line, from here on.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// Its bytes, without the quotes.
    pub(super) len: usize,
    /// How many quotes stand at either end.
    pub(super) quotes: usize,
}

/// What stands where a line may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// A key of this length, and a colon.
    Key(usize),
    /// A dash.
    Item,
}

/// What comes next where a line may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Line(Line),
    /// The end of the text.
    End,
}

impl Line {
    /// What `text` starts with, where that is sure.
    pub(super) fn of(text: &[u8]) -> Option<Line> {
        if text.starts_with(b"- ") { Some(Line::Item) } else { key(text).map(Line::Key) }
    }
}

impl<'a> Parser<'a> {
    /// Feeds the events in block mappings to `sink`, as far as lines tell them.
    pub(super) fn entries_in_lines(&mut self, sink: &mut impl FnMut(Event<'a>) -> Onward) -> Result<Onward, Fault> {
        while self.state == State::BlockMappingKey {
            let onward = match self.scanner.line()? {
                Some((Ordering::Less, _)) => sink(self.leave_at_line()),
                Some((Ordering::Equal, Next::Line(Line::Key(len)))) => self.entry(len, sink),
                _ => break,
            };
            if let Onward::Stop = onward {
                return Ok(Onward::Stop);
            }
        }
        Ok(Onward::Next)
    }

    /// Feeds a key of `len` bytes to `sink`, and its value where lines tell it.
    fn entry(&mut self, len: usize, sink: &mut impl FnMut(Event<'a>) -> Onward) -> Onward {
        match sink(self.scanner.scalar(Span { len, quotes: 0 })) {
            Onward::Stop => return Onward::Stop,
            Onward::PastValue(has_value) if self.scanner.pass_value(has_value) => {
                return sink(self.event(Data::Passed));
            }
            _ => {}
        }
        if let Some(span) = self.scanner.value() {
            return sink(self.scanner.scalar(span));
        }
        self.state = State::BlockMappingNode;
        Onward::Next
    }

    /// Returns the start of a block mapping, behind which `next` follows, where a line tells it.
    pub(super) fn mapping_at_line(&mut self, next: State) -> Result<Option<Event<'a>>, Fault> {
        let Some((Ordering::Greater, Next::Line(Line::Key(_)))) = self.scanner.line()? else { return Ok(None) };
        let mark = self.scanner.input.mark;
        self.scanner.enter_indent(mark.column);
        self.starts.push(mark);
        self.states.push(next);
        self.state = State::BlockMappingKey;
        Ok(Some(Event { line: mark.line_number(), data: Data::Mapping(Props::default()) }))
    }

    /// Returns the next event in a block sequence, where a line tells it.
    pub(super) fn line_of_sequence(&mut self) -> Result<Option<Event<'a>>, Fault> {
        Ok(match self.scanner.line()? {
            Some((Ordering::Less, _)) => Some(self.leave_at_line()),
            Some((Ordering::Equal, Next::Line(Line::Item))) => self.scanner.item(),
            _ => None,
        })
    }

    /// Returns the next event in a sequence at the indentation of the mapping around it, where a line tells it.
    pub(super) fn line_of_indentless_sequence(&mut self) -> Result<Option<Event<'a>>, Fault> {
        Ok(match self.scanner.line()? {
            Some((Ordering::Equal, Next::Line(Line::Item))) => self.scanner.item(),
            Some((Ordering::Less, _) | (Ordering::Equal, Next::Line(Line::Key(_)))) => {
                self.resume();
                Some(self.event(Data::End))
            }
            _ => None,
        })
    }

    /// Leaves the innermost block collection.
    fn leave_at_line(&mut self) -> Event<'a> {
        self.scanner.leave_indent();
        self.starts.pop();
        self.resume();
        self.event(Data::End)
    }

    /// Returns an event here.
    fn event(&self, data: Data<'a>) -> Event<'a> {
        Event { line: self.scanner.input.mark.line_number(), data }
    }
}

impl<'a> Scanner<'a> {
    /// Whether all tokens were taken and the text ends here.
    pub(super) fn is_at_end(&mut self) -> Result<bool, Fault> {
        Ok(matches!(self.line()?, Some((_, Next::End))))
    }

    /// Goes to where the next token starts, unless tokens wait to be taken, and tells what stands there, where that is
    /// sure, and how its column compares with the innermost block's. To go there twice does no harm.
    fn line(&mut self) -> Result<Option<(Ordering, Next)>, Fault> {
        if !self.by_line || !self.has_taken_all() {
            return Ok(None);
        }
        if !self.skip_to_line() {
            self.skip_to_token()?;
        }
        let Some(text) = self.input.rest().filter(|_| self.key_allowed) else { return Ok(None) };
        let column = i64::from(self.input.mark.column);
        if text.is_empty() {
            // Where the last line is not ended, libyaml takes the end for the start of another one.
            return Ok((column == 0).then_some(((-1).cmp(&self.indent), Next::End)));
        }
        Ok(Line::of(text).map(|line| (column.cmp(&self.indent), Next::Line(line))))
    }

    /// Goes to the first character of the next line that is no blank, where this line ends here; true where a token
    /// surely starts there.
    fn skip_to_line(&mut self) -> bool {
        let Some([b'\n', next @ ..]) = self.input.rest() else { return false };
        let blanks = blanks(next);
        self.input.skip_break();
        self.input.pass(blanks);
        self.key_allowed = true;
        matches!(next.get(blanks), Some(0x21..=0x7e)) && next[blanks] != b'#'
    }

    /// Passes over a scalar.
    fn scalar(&mut self, Span { len, quotes }: Span) -> Event<'a> {
        let line = self.input.mark.line_number();
        self.input.pass(quotes);
        let value = Cow::Borrowed(self.input.slice(self.input.at, self.input.at + len));
        self.input.pass(len + quotes);
        self.key_allowed = false;
        Event { line, data: Data::Scalar { props: Props::default(), value, text: quotes > 0 } }
    }

    /// Passes over a colon and finds the value behind it. Where it finds none, it stays right behind the colon.
    fn value(&mut self) -> Option<Span> {
        self.input.pass(1);
        let rest = self.input.rest()?;
        let blanks = blanks(rest);
        let span = scalar(&rest[blanks..], self.indent)?;
        self.input.pass(blanks);
        Some(span)
    }

    /// Returns a dash and a scalar that is no key.
    fn item(&mut self) -> Option<Event<'a>> {
        let rest = self.input.rest()?;
        let start = 1 + blanks(&rest[1..]);
        let span = scalar(&rest[start..], self.indent)?;
        if span.quotes > 0 && rest.get(start + span.len + 2) != Some(&b'\n') {
            return None;
        }
        self.input.pass(start);
        Some(self.scalar(span))
    }
}

/// Returns true if `text` surely starts with a key.
pub(in crate::puppet::yaml) fn starts_with_key(text: &[u8]) -> bool {
    let after = match text {
        [quote @ (b'\'' | b'"'), ..] => quoted(text, *quote).and_then(|len| text.get(len + 2..)),
        _ => key(text).and_then(|len| text.get(len..)),
    };
    matches!(after, Some([b':', b' ' | b'\n', ..]))
}

pub(super) fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|b| **b == b' ').count()
}

/// Returns the scalar that `text` starts with, in a collection at column `indent`, where that is sure.
pub(super) fn scalar(text: &[u8], indent: i64) -> Option<Span> {
    match *text.first()? {
        quote @ (b'\'' | b'"') => Some(Span { len: quoted(text, quote)?, quotes: 1 }),
        _ => Some(Span { len: plain(text, indent)?, quotes: 0 }),
    }
}

/// Returns the length of the key that `text` starts with, where that is sure.
fn key(text: &[u8]) -> Option<usize> {
    let text = &text[..text.len().min(LONGEST_KEY + 2)];
    if !is_in(*text.first()?, WORD) {
        return None;
    }
    let mut len = 0;
    loop {
        let (more, end) = run(&text[len..], IN_KEY);
        len += more;
        if end != Some(b':') {
            return None;
        }
        match text.get(len + 1)? {
            b' ' | b'\n' => return Some(len),
            0x21..=0x7e => len += 1,
            _ => return None,
        }
    }
}

/// Returns the length of the text between the quotes that `text` starts with, where it reads as it stands.
fn quoted(text: &[u8], quote: u8) -> Option<usize> {
    let inner = &text[1..];
    let len = inner.iter().position(|b| *b == quote || *b == b'\\' || !matches!(b, b' '..=b'~'))?;
    (inner[len] == quote && inner.get(len + 1) != Some(&quote)).then_some(len)
}

/// Returns the length of the plain scalar that `text` starts with, where it surely ends on its line.
fn plain(text: &[u8], indent: i64) -> Option<usize> {
    if !is_in(*text.first()?, FIRST_OF_PLAIN) {
        return None;
    }
    let mut len = 0;
    loop {
        let (more, end) = run(&text[len..], IN_PLAIN);
        len += more;
        let before = text[..len].last().copied()?;
        match end {
            Some(b'#') if before == b' ' => break,
            Some(b':') if !matches!(text.get(len + 1), Some(0x21..=0x7e)) => return None,
            Some(b'#' | b':') => len += 1,
            Some(b'\n') if is_over(&text[len + 1..], indent) => break,
            _ => return None,
        }
    }
    Some(text[..len].trim_ascii_end().len())
}

/// Returns true if a plain scalar in a collection at column `indent` surely does not go on in the line at the start of
/// `text`.
fn is_over(text: &[u8], indent: i64) -> bool {
    let blanks = blanks(text);
    match text.get(blanks) {
        None | Some(b'#') => true,
        Some(0x21..=0x7e) => i64::try_from(blanks).is_ok_and(|column| column <= indent),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(document: &str, by_line: bool) -> (Vec<Event<'_>>, Option<Fault>) {
        let mut parser = Parser::new(document.as_bytes());
        parser.scanner.by_line = by_line;
        let mut events = Vec::new();
        let read = parser.document(&mut |event| {
            events.push(event);
            Onward::Next
        });
        (events, read.err())
    }

    /// What lines are made of: starts, plain keys and odd ones, plain values and odd ones, ends.
    const PARTS: [&str; 6] = [
        "¦¦¦¦  ¦  ¦  ¦    ¦    ¦ ¦\t¦---¦\u{85}  ¦\u{feff}",
        "- ¦- ¦-  ¦a: ¦b::c: ¦d-e/f.g:  ",
        "-¦? ¦: ¦h:¦1: ¦'j': ¦&k ¦!l ¦<<: ¦m:\t¦n o: ¦p:q ¦- a: ¦LONG: ",
        "¦¦a¦b c¦12.5¦'d'¦\"e f\"",
        "'g''h'¦\"i\\n\"¦'j¦\"k¦{}¦[l, m]¦[n¦{o: p¦|¦>-¦*q¦~¦2020-01-01¦r: s¦t #u¦v#w¦# x¦y ¦z:¦a:b¦a::¦-¦- b¦-1¦'c' #¦'d'  ¦'e' f\
         ¦\"g\": h¦i\t¦é¦j\u{85}k¦%l¦m  # n¦'o'p¦q: 'r'¦? s¦\"é\" t: u¦\"é\": v¦\"w\tx\"¦'é' y",
        "\n¦\n¦\n¦\n\n¦\r\n¦\n  \n¦",
    ];

    #[test]
    fn lines_read_at_once_are_as_if_read_by_characters() {
        let [starts, keys, odd_keys, values, odd_values, ends] =
            PARTS.map(|parts| parts.split('¦').collect::<Vec<_>>());
        let dice = &mut fastrand::Rng::with_seed(3);
        let (mut whole, mut faulty) = (0, 0);
        for _ in 0..60_000 {
            let mut document = String::new();
            for _ in 0..dice.usize(1..8) {
                let mut plain_or = |plain, odd| if dice.u8(0..6) == 0 { odd } else { plain };
                for parts in [&starts, plain_or(&keys, &odd_keys), plain_or(&values, &odd_values), &ends] {
                    document.push_str(dice.choice(parts).unwrap_or(&""));
                }
            }
            let document = document.replace("LONG", &"l".repeat(dice.usize(250..1100)));
            let (mut by_line, by_character) = (read(&document, true), read(&document, false));
            // A fault further on is met earlier where the scanner has to look ahead.
            let is_faulty = by_line.1.is_some();
            by_line.0.truncate(if is_faulty { by_character.0.len() } else { usize::MAX });
            assert_eq!(by_line, by_character, "{document:?}");
            *if is_faulty { &mut faulty } else { &mut whole } += 1;
        }
        assert!(whole > 5_000 && faulty > 5_000, "{whole} {faulty}");
    }
}
