//! Values in plain lines, behind their key or in a block below it, that are passed over: nobody looks at most of a
//! node's facts.
//!
//! No events are made of what is in them. Where anything in such a value, or right behind it, is not of the simplest
//! form, all of it is left to the parser.

use super::lines::{Line, Span, blanks, scalar};
use super::scanner::Scanner;

/// The most collections within each other that are passed over: blocks, and an empty one in the innermost.
pub(in super::super) const DEEPEST: usize = BLOCKS + 1;
const BLOCKS: usize = 8;

impl Scanner<'_> {
    /// Passes over the colon here and its key's value, in this line or in those below, where they are all plain, and
    /// `has_value` holds for each scalar that is not quoted, keys included.
    pub(super) fn pass_value(&mut self, has_value: fn(&str) -> bool) -> bool {
        let behind = self.input.rest_text().and_then(|rest| rest.get(1..));
        let Some((text, column)) = behind.zip(usize::try_from(self.indent).ok()) else { return false };
        if text.starts_with('\n') {
            let Some(len) = block(text, column, has_value) else { return false };
            self.input.pass_lines(1 + len);
        } else {
            let Some(len) = rest_of_line(text, column, has_value) else { return false };
            self.input.pass(1 + len);
        }
        true
    }
}

/// Returns the length of the block that `text` starts with, below a key at `column`: from the break before its first
/// line to the one behind its last; 0 where there is none.
fn block(text: &str, column: usize, has_value: fn(&str) -> bool) -> Option<usize> {
    let mut open = Open { collections: [(column, Kind::Mapping); BLOCKS + 1], depth: 0 };
    let (mut at, mut is_value_next) = (0, true);
    loop {
        let start = at + 1;
        let indentation = blanks(&text.as_bytes()[start..]);
        let rest = &text[start + indentation..];
        if rest.is_empty() {
            return Some(at);
        }
        let line = Line::of(rest.as_bytes())?;
        if !open.goes_on(indentation, line, is_value_next)? {
            return Some(at);
        }
        let indicator = match line {
            Line::Key(len) => rest.get(..len).filter(|key| has_value(key))?.len() + 1,
            Line::Item => 1,
        };
        let behind = &rest[indicator..];
        is_value_next = behind.starts_with('\n');
        let len = if is_value_next { 0 } else { rest_of_line(behind, open.column(), has_value)? };
        at = start + indentation + indicator + len;
    }
}

/// Returns the length of the rest of a line, which is blanks and a scalar or an empty collection, in a collection at
/// `column`.
fn rest_of_line(text: &str, column: usize, has_value: fn(&str) -> bool) -> Option<usize> {
    let blanks = blanks(text.as_bytes());
    let value = &text.as_bytes()[blanks..];
    if let [b'{', b'}', b'\n', ..] | [b'[', b']', b'\n', ..] = value {
        return Some(blanks + 2);
    }
    let Span { len, quotes } = scalar(value, i64::try_from(column).ok()?)?;
    let end = blanks + len + 2 * quotes;
    let is_known = quotes > 0 || has_value(text.get(blanks..end)?);
    (is_known && text.as_bytes().get(end) == Some(&b'\n')).then_some(end)
}

/// The collections that are open in a block, and the mapping around it.
struct Open {
    /// Their columns, and what their lines are.
    collections: [(usize, Kind); BLOCKS + 1],
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mapping,
    Sequence,
}

impl Open {
    /// Returns the column of the innermost one.
    fn column(&self) -> usize {
        self.collections[self.depth].0
    }

    /// Whether the block goes on with a line at `column`, or `None` if that is not sure.
    fn goes_on(&mut self, column: usize, line: Line, is_value_next: bool) -> Option<bool> {
        let kind = if line == Line::Item { Kind::Sequence } else { Kind::Mapping };
        // The items of a sequence may stand right below its key.
        let is_deeper = column > self.column() || (column == self.column() && kind == Kind::Sequence);
        if is_value_next && is_deeper {
            self.depth += 1;
            *self.collections.get_mut(self.depth)? = (column, kind);
            return Some(true);
        }
        // The line belongs to an outer collection, or to none: then the block is over, if it stands no deeper than its
        // key.
        while self.depth > 0 && self.collections[self.depth] != (column, kind) {
            self.depth -= 1;
        }
        (self.depth > 0 || column <= self.column()).then_some(self.depth > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::event::{Data, Event, Onward};
    use super::super::super::scalar;
    use super::super::first_document;
    use crate::puppet::document::Fault;

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
                Data::Scalar { props, value, text } => {
                    assert!(props.tag.is_none() && props.anchor.is_none() && (*text || scalar::has_value(value)));
                }
                Data::Alias(_) | Data::Passed => panic!("{event:?}"),
            }
            if depth == 0 {
                return &events[at + 1..];
            }
        }
        &[]
    }

    /// What lines are made of: plain, and odd.
    const INDICATORS: [&str; 2] = ["a: ¦b: ¦c:¦c:¦- ¦- ", "-¦- a: ¦- - ¦? ¦'d': ¦é: ¦# e¦a:b¦¦0x_: ¦2020-01-01:"];
    const VALUES: [&str; 2] = [
        "a¦1¦'b'¦\"c d\"¦e f¦.5¦{}¦[]",
        "2020-01-01¦1:2¦g #h¦'i' j¦'k' ¦l ¦m: n¦|¦>-¦*a¦&a¦&a b¦!t c¦[¦{} #¦[]: a¦{}{}¦[] ¦é¦\"é\"¦---¦~¦o\tp¦'q''r'¦0x_¦'2020-01-01'",
    ];
    const ENDS: [&str; 2] = ["\n", "¦\n\n¦\n#\n¦\r\n¦\n---\n¦ \n"];

    /// Returns a document of lines that mostly stand where they may.
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

    #[test]
    fn so_many_levels_are_passed_over() {
        let nested =
            |levels: usize| (1..=levels).map(|at| "\n".to_owned() + &" ".repeat(at) + "a:").collect::<String>();
        let passed = |levels: usize| {
            let block = nested(levels) + " 1\n";
            super::block(&block, 0, scalar::has_value).map(|len| len == block.len() - 1)
        };
        assert_eq!([1, super::BLOCKS, super::BLOCKS + 1].map(passed), [Some(true), Some(true), None]);
    }
}
