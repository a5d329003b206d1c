//! Reads parts of YAML documents, fast: most of a node's facts are never looked at.

use super::event::{Data, Event, Onward, Props};
use super::{grammar, scalar};
use crate::puppet::document::MAX_DEPTH;
use crate::value::{Picked, Selection, Value};

/// What `selection` wants of a document, as [`parse`](super::parse) reads it; what is not wanted is passed over, and
/// the first entry of a hash that is left out stays as undef, so that it shows that there was one. Nothing where only
/// the exact reader can tell what the document is: where it is faulty, has tags, aliases or merged keys.
pub fn select(content: &[u8], selection: &Selection) -> Option<Value> {
    let mut selector = Selector { selection, open: Vec::new(), passed: 0, root: None };
    let mut is_plain = true;
    let mut sink = |event: Event<'_>| {
        is_plain = selector.take(event.data).is_some();
        if is_plain { selector.onward() } else { Onward::Stop }
    };
    grammar::first_document(content, &mut sink).ok()?;
    selector.root.filter(|_| is_plain)
}

/// Builds what is wanted of the events of a document.
struct Selector<'s> {
    /// What is wanted of the document.
    selection: &'s Selection,
    /// The collections that are open, outermost first, as far as they are wanted.
    open: Vec<Open<'s>>,
    /// How many more are open inside of them that are passed over.
    passed: usize,
    root: Option<Value>,
}

/// An open collection of which something is wanted.
enum Open<'s> {
    List(Vec<Value>),
    Map { selection: &'s Selection, picked: Picked, next: Next<'s> },
}

/// What comes next in a mapping.
enum Next<'s> {
    Key,
    /// The value of this key, of which this is wanted.
    Wanted(Value, &'s Selection),
    /// A value that is passed over.
    Passed,
}

impl<'s> Selector<'s> {
    /// Takes the next event, or `None` if the document is none that can be read here.
    fn take(&mut self, data: Data<'_>) -> Option<()> {
        match data {
            Data::Alias(_) => None,
            Data::Scalar { props, value, text } => self.scalar(&props, &value, text),
            Data::Sequence(props) => self.begin(&props, |_| Open::List(Vec::new())),
            Data::Mapping(props) => {
                self.begin(&props, |selection| Open::Map { selection, picked: Picked::new(selection), next: Next::Key })
            }
            Data::End => self.end(),
            Data::Passed => {
                self.pass();
                Some(())
            }
        }
    }

    /// How to go on after what was taken: past a value that is not wanted, where the parser can.
    fn onward(&self) -> Onward {
        let is_passed = self.passed == 0 && matches!(self.open.last(), Some(Open::Map { next: Next::Passed, .. }));
        let has_room = self.open.len() + grammar::DEEPEST <= MAX_DEPTH;
        if is_passed && has_room { Onward::PastValue(scalar::has_value) } else { Onward::Next }
    }

    fn scalar(&mut self, props: &Props<'_>, text: &str, is_text: bool) -> Option<()> {
        if props.tag.is_some() {
            return None;
        }
        if self.is_key_next() {
            return self.key(text, is_text);
        }
        if !(is_text || scalar::has_value(text)) {
            return None;
        }
        match self.wanted() {
            Some(_) if is_text => self.add(Value::from(text)),
            Some(_) => self.add(scalar::resolve(text).ok()?),
            None => self.pass(),
        }
        Some(())
    }

    fn is_key_next(&self) -> bool {
        self.passed == 0 && matches!(self.open.last(), Some(Open::Map { next: Next::Key, .. }))
    }

    /// Returns a key, which is text and does not merge.
    fn key(&mut self, text: &str, is_text: bool) -> Option<()> {
        if text == "<<" || !(is_text || scalar::is_text(text)) {
            return None;
        }
        let Some(Open::Map { selection, picked, next }) = self.open.last_mut() else { return None };
        *next = if let Some(inner) = selection.entry(text) {
            Next::Wanted(Value::from(text), inner)
        } else {
            picked.leave_out(text);
            Next::Passed
        };
        Some(())
    }

    /// What is wanted of the node that comes next, which is no key, or `None` if it is passed over.
    fn wanted(&self) -> Option<&'s Selection> {
        match self.open.last() {
            _ if self.passed > 0 => None,
            None => Some(self.selection),
            Some(Open::List(_)) => Some(&Selection::Whole),
            Some(Open::Map { next: Next::Wanted(_, selection), .. }) => Some(selection),
            Some(Open::Map { .. }) => None,
        }
    }

    /// Opens a collection, which is no key.
    fn begin(&mut self, props: &Props<'_>, open: impl FnOnce(&'s Selection) -> Open<'s>) -> Option<()> {
        if props.tag.is_some() || self.is_key_next() || self.open.len() + self.passed >= MAX_DEPTH {
            return None;
        }
        match self.wanted() {
            Some(selection) => self.open.push(open(selection)),
            None => self.passed += 1,
        }
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        if self.passed > 0 {
            self.passed -= 1;
            self.pass();
            return Some(());
        }
        let value = match self.open.pop()? {
            Open::List(items) => Value::array(items),
            Open::Map { picked, .. } => Value::hash(picked.hash()),
        };
        self.add(value);
        Some(())
    }

    /// Puts a value where it is wanted.
    fn add(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map { picked, next, .. }) => {
                if let Next::Wanted(key, _) = std::mem::replace(next, Next::Key) {
                    picked.add(key, value);
                }
            }
        }
    }

    /// A node that is not wanted is over.
    fn pass(&mut self) {
        if let Some(Open::Map { next, .. }) = self.open.last_mut().filter(|_| self.passed == 0) {
            *next = Next::Key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puppet::yaml;

    #[test]
    fn what_is_selected_is_what_the_exact_reader_reads() {
        let documents = [
            "a: 1\nb: {c: \"x\\ny\", d: [1, ~, yes, {e: ''}]}\na: 2\n",
            "- -1\n- 1.5\n- :a\n- |\n  text\n-\n",
            "a: &anchor 1\nb: 2020-01\n",
            "--- {}\n",
            "'2020-01-01'",
            "~",
            "a: 1\n--- second",
        ];
        for document in documents {
            let exact = yaml::parse(document.as_bytes());
            assert_eq!(exact.fault, None, "{document}");
            assert_eq!(select(document.as_bytes(), &Selection::Whole), Some(exact.value), "{document}");
        }
    }

    #[test]
    fn what_is_odd_is_left_to_the_exact_reader() {
        let deep = format!("{}{}", "[".repeat(501), "]".repeat(501));
        let documents = [
            "a: &x 1\nb: *x\n",
            "a: !ruby/symbol x\n",
            "a: !!omap [b: 1]\n",
            "<<: {a: 1}\n",
            "'<<': {a: 1}\n",
            "1: a\n",
            "yes: a\n",
            "? [a]\n: b\n",
            "a: 2020-01-01\n",
            "b: {c: [2020-01-01]}\n",
            "a: [1\n",
            "a: 1\n]",
            "",
            &deep,
        ];
        for document in documents {
            assert_eq!(select(document.as_bytes(), &Selection::Whole), None, "{document}");
        }
        // Where nothing is wanted, what is passed over is no matter, unless it is a fault.
        let digits = format!("x: 1\na: {}\n", "1".repeat(20_001));
        let level = |depth: usize| format!("{}x:\n", " ".repeat(depth));
        let nested = |depth: usize| (0..depth).map(level).collect::<String>() + &" ".repeat(depth) + "y: 1\n";
        let mut selection = Selection::default();
        selection.add(&vec!["x"; 495]);
        for (depth, is_read) in [(499, true), (500, false)] {
            let unwanted = nested(depth).replace(&format!("{}x", " ".repeat(492)), &format!("{}z", " ".repeat(492)));
            assert_eq!(select(unwanted.as_bytes(), &selection).is_some(), is_read, "{depth}");
            assert_eq!(yaml::parse(unwanted.as_bytes()).fault.is_none(), is_read, "{depth}");
        }
        for document in [
            "x: 1\na:\n  2020-01-01: b\n",
            "a: ''\nb: 0x_\n",
            "a:\n x: 0x_\n",
            "- a: 2020-1-1\n",
            "a: b\x7f\n",
            &digits,
        ] {
            assert!(yaml::parse(document.as_bytes()).fault.is_some(), "{document}");
            assert_eq!(select(document.as_bytes(), &Selection::default()), None, "{document}");
        }
        let document = "a: {1: b, ? [c] : d, <<: {e: f}}\n";
        assert!(select(document.as_bytes(), &Selection::default()).is_some());
        for document in [&documents[..3], &documents[8..]].concat() {
            assert_eq!(select(document.as_bytes(), &Selection::default()), None, "{document}");
        }
    }

    #[test]
    fn what_is_not_wanted_is_passed_over() {
        let mut selection = Selection::default();
        selection.add(&["os", "family"]);
        selection.add(&["list", "x"]);
        let document = "os: {family: Debian, release: {major: 12.5}, name: 1}\nlist: [{y: 1}]\nup:\n  - x: 1\n    y: [2]\nlast: 1\n";
        let expected = "os: {family: Debian, release: ~}\nlist: [{y: 1}]\nup: ~\n";
        assert_eq!(select(document.as_bytes(), &selection), Some(yaml::parse(expected.as_bytes()).value));
    }

    #[test]
    fn random_documents_are_read_alike() {
        let parts = [
            "a",
            "b",
            ": ",
            ":",
            "\n",
            "\n  ",
            "- ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            "'",
            "\"",
            "1",
            "2020-01-01",
            "~",
            "&x ",
            "*x",
            "!t ",
            "<<",
            "? ",
            "|\n ",
            "yes",
            " #",
            "--- ",
        ];
        let mut inner = Selection::default();
        inner.add(&["a", "b"]);
        let (dice, mut read) = (&mut fastrand::Rng::with_seed(1), 0);
        for _ in 0..50_000 {
            let document: String = (0..dice.usize(1..12)).filter_map(|_| dice.choice(&parts)).copied().collect();
            for selection in [&Selection::Whole, &inner] {
                let Some(value) = select(document.as_bytes(), selection) else { continue };
                let exact = yaml::parse(document.as_bytes());
                assert_eq!(exact.fault, None, "{document:?}");
                assert_eq!(selection.of(&value), selection.of(&exact.value), "{document:?}");
                read += 1;
            }
        }
        assert!(read > 10_000, "{read}");
    }
}
