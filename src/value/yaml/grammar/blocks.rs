//! Blocks of plain lines that are passed over: nobody looks at most of a node's facts.
//!
//! No events are made of them. Where anything in such a block, or right behind it, is not of the simplest form, all of it is left to
//! the parser.

use super::lines::{Line, Span, blanks, scalar};
use super::scanner::Scanner;

/// The most collections within each other that are passed over.
pub(in super::super) const DEEPEST: usize = 8;

impl Scanner<'_> {
    /// Passes over the colon here and its key's value, in this line or in those below, where they are all plain, and `has_value` holds
    /// for each scalar that is not quoted.
    pub(super) fn pass_value(&mut self, has_value: fn(&str) -> bool) -> bool {
        let behind = self.input.rest().and_then(|rest| rest.get(1..));
        let Some((text, column)) = behind.zip(usize::try_from(self.indent).ok()) else { return false };
        let (is_block, len) = match text.first() {
            Some(b'\n') => (true, block(text, column, has_value)),
            _ => (false, value(text, column, has_value)),
        };
        let Some(len) = len else { return false };
        if is_block {
            self.input.pass_lines(1 + len);
        } else {
            self.input.pass(1 + len);
        }
        self.key_allowed = false;
        true
    }
}

/// The length of the block that `text` starts with, below a key at `column`: from the break before its first line to the one behind
/// its last; 0 where there is none.
fn block(text: &[u8], column: usize, has_value: fn(&str) -> bool) -> Option<usize> {
    let mut open = Open { collections: [(column, Kind::Mapping); DEEPEST + 1], depth: 0 };
    let (mut at, mut is_value_next) = (0, true);
    loop {
        let start = at + 1;
        let column = blanks(&text[start..]);
        let rest = &text[start + column..];
        if rest.is_empty() {
            return (column == 0).then_some(at);
        }
        let line = Line::of(rest)?;
        if !open.goes_on(column, line, is_value_next)? {
            return Some(at);
        }
        let indicator = if let Line::Key(len) = line { len + 1 } else { 1 };
        is_value_next = rest[indicator..].starts_with(b"\n") && line != Line::Item;
        let len = if is_value_next { 0 } else { value(&rest[indicator..], open.column(), has_value)? };
        at = start + column + indicator + len;
    }
}

/// The length of the scalar that is all there is in the line behind an indicator, with the blanks before it.
fn value(text: &[u8], column: usize, has_value: fn(&str) -> bool) -> Option<usize> {
    let blanks = blanks(text);
    let Span { len, quotes } = scalar(&text[blanks..], i64::try_from(column).ok()?)?;
    let end = blanks + len + 2 * quotes;
    let is_known = quotes > 0 || std::str::from_utf8(&text[blanks..end]).is_ok_and(has_value);
    (is_known && text.get(end) == Some(&b'\n')).then_some(end)
}

/// The collections that are open in a block, and the mapping around it.
struct Open {
    collections: [(usize, Kind); DEEPEST + 1],
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mapping,
    Sequence,
}

impl Open {
    /// The column of the innermost one.
    fn column(&self) -> usize {
        self.collections[self.depth].0
    }

    /// Whether the block goes on with a line at `column`; nothing where that is not sure.
    fn goes_on(&mut self, column: usize, line: Line, is_value_next: bool) -> Option<bool> {
        let kind = if line == Line::Item { Kind::Sequence } else { Kind::Mapping };
        // The items of a sequence may stand right below its key.
        let is_deeper = column > self.column() || (column == self.column() && kind == Kind::Sequence);
        if is_value_next && is_deeper {
            self.depth += 1;
            *self.collections.get_mut(self.depth)? = (column, kind);
            return Some(true);
        }
        while self.depth > 0 && self.collections[self.depth] != (column, kind) && column <= self.column() {
            self.depth -= 1;
        }
        match self.collections[self.depth] {
            (of, _) if column > of => None,
            _ => Some(self.depth > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::event::{Data, Event, Onward};
    use super::super::super::{Fault, scalar};
    use super::super::first_document;

    fn read(document: &str, passes: bool) -> (Vec<Event<'_>>, Option<Fault>) {
        let mut events = Vec::new();
        let read = first_document(document.as_bytes(), &mut |event| {
            events.push(event);
            if passes { Onward::PastValue(scalar::has_value) } else { Onward::Next }
        });
        (events, read.err())
    }

    /// What is left of `events` behind the node that they start with.
    fn behind_node<'e, 'a>(events: &'e [Event<'a>]) -> &'e [Event<'a>] {
        let mut depth = 0;
        for (at, event) in events.iter().enumerate() {
            match &event.data {
                Data::Sequence(_) | Data::Mapping(_) => depth += 1,
                Data::End => depth -= 1,
                Data::Scalar { props, .. } => assert!(props.tag.is_none() && props.anchor.is_none()),
                Data::Alias(_) | Data::Passed => panic!("{event:?}"),
            }
            if depth == 0 {
                return &events[at + 1..];
            }
        }
        &[]
    }

    /// What lines are made of: plain, and odd.
    const INDICATORS: [&str; 2] = ["a: ¦b: ¦c:¦c:¦- ¦- ", "-¦- a: ¦- - ¦? ¦'d': ¦é: ¦# e¦a:b¦"];
    const VALUES: [&str; 2] = [
        "a¦1¦'b'¦\"c d\"¦e f¦.5",
        "2020-01-01¦1:2¦g #h¦'i' j¦'k' ¦l ¦m: n¦|¦>-¦*a¦&a¦&a b¦!t c¦[¦{}¦é¦\"é\"¦---¦~¦o\tp¦'q''r'",
    ];
    const ENDS: [&str; 2] = ["\n", "¦\n\n¦\n#\n¦\r\n¦\n---\n¦ \n"];

    /// A document of lines that mostly stand where they may.
    fn document(dice: &mut fastrand::Rng) -> String {
        let part = |dice: &mut fastrand::Rng, [plain, odd]: [&'static str; 2]| {
            let parts = if dice.u8(0..24) == 0 { odd } else { plain };
            dice.choice(parts.split('¦').collect::<Vec<_>>()).unwrap_or_default()
        };
        let (mut text, mut columns, mut is_open) = (String::from("x:\n"), vec![0], true);
        for _ in 0..dice.usize(1..10) {
            if is_open {
                columns.push(columns.last().copied().unwrap_or(0) + dice.usize(0..3));
            } else {
                columns.truncate(dice.usize(1..=columns.len()));
            }
            let odd = if dice.u8(0..24) == 0 { dice.usize(0..3) } else { 0 };
            text.push_str(&" ".repeat(columns.last().copied().unwrap_or(0) + odd));
            let indicator = part(dice, INDICATORS);
            text.push_str(indicator);
            is_open = indicator.ends_with(':');
            if !is_open {
                text.push_str(part(dice, VALUES));
            }
            text.push_str(part(dice, ENDS));
        }
        text
    }

    #[test]
    fn what_is_passed_over_is_a_plain_node() {
        let dice = &mut fastrand::Rng::with_seed(5);
        let (mut passed, mut faulty) = (0, 0);
        for _ in 0..60_000 {
            let document = document(dice);
            let ((events, fault), (all, all_fault)) = (read(&document, true), read(&document, false));
            let mut rest = &all[..];
            for event in &events {
                // A fault further on is met earlier where the scanner has to look ahead.
                let Some((first, behind)) = rest.split_first() else { break };
                if event.data == Data::Passed {
                    passed += usize::from(!matches!(first.data, Data::Scalar { .. }));
                    rest = behind_node(rest);
                } else {
                    assert_eq!(event, first, "{document:?}");
                    rest = behind;
                }
            }
            assert_eq!(fault, all_fault, "{document:?}");
            assert!(fault.is_some() || (rest.is_empty() && !events.is_empty()), "{document:?} {rest:?}");
            faulty += usize::from(fault.is_some());
        }
        assert!(passed > 1000 && faulty > 1000, "{passed} {faulty}");
    }
}
