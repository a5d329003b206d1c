//! Error texts: which they are, how often, and which of them differ.

use std::collections::BTreeMap;
use std::fmt;

/// The most that are printed.
const SHOWN: usize = 40;

/// Puppet's text and hierad's, with all that names something taken out, and how often the two came together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts(BTreeMap<[String; 2], Seen>);

/// The number, and the first two texts as they were.
#[derive(Debug, Clone)]
struct Seen {
    count: usize,
    example: [String; 2],
}

impl Texts {
    /// Counts a pair of texts.
    pub(crate) fn add(&mut self, puppet: &str, hierad: &str) {
        let example = [puppet.to_owned(), hierad.to_owned()];
        self.0.entry([kind(puppet), kind(hierad)]).or_insert(Seen { count: 0, example }).count += 1;
    }

    /// Adds all pairs of `other`.
    pub(crate) fn join(&mut self, other: Texts) {
        for (kind, seen) in other.0 {
            let count = seen.count;
            self.0.entry(kind).and_modify(|mine| mine.count += count).or_insert(seen);
        }
    }
}

/// Texts with all that names something taken out, and how often each came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kinds(BTreeMap<String, usize>);

impl Kinds {
    /// Counts a text.
    pub(crate) fn add(&mut self, text: &str) {
        *self.0.entry(kind(text)).or_default() += 1;
    }

    /// Returns their number.
    pub(crate) fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Adds all of `other`.
    pub(crate) fn join(&mut self, other: Kinds) {
        for (kind, count) in other.0 {
            *self.0.entry(kind).or_default() += count;
        }
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen: Vec<_> = self.0.iter().collect();
        seen.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        seen.iter().take(SHOWN).try_for_each(|(kind, count)| writeln!(f, "{count:6}  {kind:?}"))
    }
}

/// A text without its quoted parts, numbers and paths.
fn kind(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']).filter(|word| !word.contains(['\'', '"', '/', '`']));
    words.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit() || ":,.)".contains(c))).collect()
}

impl fmt::Display for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen: Vec<&Seen> = self.0.values().collect();
        seen.sort_by_key(|seen| std::cmp::Reverse(seen.count));
        for Seen { count, example: [puppet, hierad] } in seen.iter().take(SHOWN) {
            writeln!(f, "{count:6}  Puppet: {puppet:?}\n        hierad: {hierad:?}")?;
        }
        Ok(())
    }
}
