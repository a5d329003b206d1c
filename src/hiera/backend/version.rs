//! Parses a new version of a data file that was parsed before.

use std::ops::Range;
use std::sync::Arc;

use super::mentions::Mentions;
use super::{DataFile, Format};
use crate::puppet::yaml::Edit;
use crate::value::{Hash, Value};

impl DataFile {
    /// Returns true if no root entry depends on another one, so that other versions of the file can share entries.
    pub fn is_separable(&self) -> bool {
        matches!(self.format(), Format::Yaml | Format::Yaml34) && !self.concerns_all_keys() && !self.is_entangled()
    }

    /// Parses `content` in the format of this file. Entries that it has in common with `former`, the text that this
    /// file was parsed from, are not parsed again, but shared.
    #[must_use]
    pub fn version(&self, content: &[u8], former: &[u8]) -> DataFile {
        self.edited(content, former).unwrap_or_else(|| DataFile::parse(content, self.format()))
    }

    /// Returns the new version with shared entries, or `None` if it is uncertain which can be shared, or not worth
    /// it.
    fn edited(&self, content: &[u8], former: &[u8]) -> Option<DataFile> {
        let hash = self.content().filter(|_| self.is_separable())?;
        let edit = Edit::of(content, former, self.lines())?;
        let new = DataFile::parse(edit.text, self.format());
        if new.fault().is_some() {
            return None;
        }
        let nothing = Hash::new();
        let value = Value::hash(hash.spliced(edit.entries.clone(), new.content().unwrap_or(&nothing))?);
        let file = DataFile::parsed(self.format(), value, edit.marks(self.lines(), new.lines()), new.is_entangled());
        let file = file.with_notes(edit.notes((&self.notes, self.lines()), &new.notes));
        if let Some(mentions) = self.mentions.get() {
            _ = file.mentions.set(self.mentions_with(mentions, edit.entries, new.mentions()));
        }
        Some(file)
    }

    /// Returns `mentions`, which are in the order of the entries, with those of some entries replaced.
    fn mentions_with(
        &self,
        mentions: &[(Arc<str>, Mentions)],
        entries: Range<usize>,
        others: &[(Arc<str>, Mentions)],
    ) -> Vec<(Arc<str>, Mentions)> {
        let place = |key: &str| self.content().and_then(|hash| hash.index_of_text(key)).unwrap_or(usize::MAX);
        let before = |entry: usize| mentions.partition_point(|(key, _)| place(key) < entry);
        let (head, tail) = (&mentions[..before(entries.start)], &mentions[before(entries.end)..]);
        head.iter().chain(others).chain(tail).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of a data file, plain and odd. Edits may leave odder parts of them.
    const ENTRIES: &str = "a: 1\n¦b: two\n¦c::d: '%{e}'\n¦f: \"g\"\n¦h:\n  i: j\n  k: [l, m]\n¦n:\n- o\n- p: '%{lookup(\"a\")}'\n¦q: |\n  r\n\n  s\n\n\
        ¦t: >-\n  u\n  v\n¦w: x\n  y\n¦# z\n¦\n¦  \n¦  # A\n¦'B': C\n¦\"D\": E\n¦? F\n: G\n¦? H\n¦:I: J\n¦:a: 2\n¦b: K\n¦1: 2\n¦-L: M\n¦'-L': N\n¦\"-L\": O\n¦? --L\n¦--L: P\n¦---\n¦...\n\
        ¦--- # N\n¦--- O\n¦%P\n¦Q: &R S\n¦T: *R\n¦U: '*V'\n¦W: '\nX: Y'\n¦Z: {é: f,\ng: h}\n¦i: [j,\n  k]\n¦l: \"m\n  n\"\n¦<<: {o: p}\n¦<<: {b: q, k1: r,\nk2: s}\n¦q: |+\n\n\n\
        ¦r: |2\n   s\n¦t:\n  - u\n  -\n¦v: !w x\n¦y: 2020-01-01\n¦z: {A: {B: C}}\n¦D:\n  E:\n    F: '%{G}'\n    :H: I\n¦J: K # L\n¦M:\n¦N: 'O''P'\n¦\
        {Q: R}\n¦- S\n¦T\n¦U: V: W\n¦X:\tY\n¦\tZ\n¦é: ENC[x]\n¦f: g\r\n¦h: i\u{85}j: k\n¦l: m\u{2028}\n¦n: \u{1}\n¦\u{feff}\n¦0.0: o\n¦-0.0: p\n¦q: |\n r";

    fn entries(dice: &mut fastrand::Rng, most: usize) -> Vec<String> {
        let all: Vec<&str> = ENTRIES.split('¦').collect();
        let one = |dice: &mut fastrand::Rng| match dice.u8(0..8) {
            0 => (*dice.choice(&all).unwrap_or(&"")).to_owned(),
            1 => format!("{}: {}\n", dice.alphabetic(), dice.u8(..)),
            2 => format!("k{}:\n  a: {}\n  b: '%{{c{}}}'\n", dice.u8(..), dice.u8(..), dice.u8(..4)),
            3 => dice.choice(&all[..14]).map_or(String::new(), |entry| (*entry).to_owned()),
            _ => format!("k{}: v{}\n", dice.u8(..), dice.u8(..)),
        };
        (0..dice.usize(0..most)).map(|_| one(dice)).collect()
    }

    /// Returns everything about a file's content, as text.
    fn all_of(file: &DataFile) -> String {
        _ = (file.keys(), file.mentions(), file.concerns_all_keys());
        format!("{file:?}")
    }

    /// Returns true if the version shares entries with the former one. Checks that it equals the file parsed from
    /// scratch.
    fn check(former: &[u8], content: &[u8]) -> bool {
        let file = DataFile::parse(former, Format::Yaml);
        file.mentions();
        let (version, expected) = (file.version(content, former), DataFile::parse(content, Format::Yaml));
        assert_eq!(all_of(&version), all_of(&expected), "{} | {}", former.escape_ascii(), content.escape_ascii());
        file.edited(content, former).is_some()
    }

    #[test]
    fn a_version_is_what_is_parsed_from_nothing() {
        let dice = &mut fastrand::Rng::with_seed(4);
        let mut edited = 0;
        for _ in 0..20_000 {
            let mut lines = entries(dice, 12);
            let former = lines.concat();
            for _ in 0..dice.usize(1..3) {
                let start = dice.usize(0..=lines.len());
                let end = dice.usize(start..=lines.len().min(start + 3));
                lines.splice(start..end, entries(dice, 3));
            }
            let mut content = lines.concat().into_bytes();
            if dice.u8(0..4) == 0 && !content.is_empty() {
                let at = dice.usize(0..content.len());
                content.drain(at..content.len().min(at + dice.usize(0..4)));
            }
            edited += usize::from(check(former.as_bytes(), &content));
        }
        assert!(edited > 5_000, "{edited}");
    }

    #[test]
    fn what_entries_do_to_others_is_seen() {
        let padding = "#".repeat(16_369);
        let items = format!("[{}]", vec!["a"; 4_000].join(","));
        let omaps = (0..8).fold(items, |inner, _| format!("!!omap [[{inner}]]"));
        let with_omaps = |text: &str| text.replace('O', &omaps).replace('Z', &"z".repeat(3 * omaps.len()));
        let bad_behind = |keys: &str| format!("{keys}---\n{padding}\u{1}");
        for (former, content) in [
            // The target of an anchor.
            ("a: &x 1\nb: 2\nc: *x\n", "a: &x 2\nb: 2\nc: *x\n"),
            ("a: &x 1\nb: {c: d}\nc: [ *x]\n", "a: &x 2\nb: {c: d}\nc: [ *x]\n"),
            // Entries that `<<` takes from elsewhere.
            ("x: 0\n<<: {c: 1, b: 2}\nb: 5\nd: 6\n", "x: 0\n<<: {c: 1, b: 2}\nd: 6\n"),
            ("x: 0\n!y <<: {c: 1, b: 2}\nb: 5\nd: 6\n", "x: 0\n!y <<: {c: 1, b: 2}\nd: 6\n"),
            ("x: 0\n\"\\x3c<\": {c: 1, b: 2}\nb: 5\nd: 6\n", "x: 0\n\"\\x3c<\": {c: 1, b: 2}\nd: 6\n"),
            ("x: 0\n<<: {a: 1,\nb: 2}\nc: 3\n", "x: 0\n<<: {a: 1,\nb: 3}\nc: 3\n"),
            ("x: 0\ny: 1\nz: 2\nb: 3\n", "x: 0\ny: 1\nz: 2\n<<: {c: 1, b: 2}\nb: 3\n"),
            ("x: 0\ny: 1\nz: 2\nb: 3\n", "x: 0\ny: 1\nz: 2\n<<: {c: 1, d: 2}\nb: 3\n"),
            // Keys that occur twice.
            ("a: 0\n-x: 1\n'-x': 3\nc: 4\n", "a: 0\n-x: 1\nc: 4\n"),
            ("a: 0\n-x: 1\n'-x': 3\nc: 4\n", "a: 0\n-x: 1\ny: 3\nc: 4\n"),
            ("a: 0\n--x: 1\n? --x\nc: 4\n", "a: 0\n--x: 1\nc: 4\n"),
            // Keys that are the same to Ruby.
            ("a: b\n0.0: c\nd: e\nf: g\n", "a: b\n0.0: c\nd: e\n-0.0: f\nf: g\n"),
            ("a: b\nc: d\ne: f\ng: h\n", "a: b\nc: d\n:a: e\ne: f\ng: h\n"),
            // A root that is not a block mapping.
            ("{a: 1,\nb: 2}\n", "{a: 1,\nb: 3}\n"),
            ("--- {\na: 1,\nb: 2}\n", "--- {\na: 1,\nb: 3}\n"),
            // The end of the document, or more documents.
            ("a: 1\nb: 2\nc: 3\n", "a: 1\nb: 2\n---\nc: 3\n"),
            ("a: 1\nb: 2\nc: 3\n", "a: 1\nb: 2\n...\nc: 3\n"),
            ("a: {b: c, d: e}\nf: 1\ng: 2\n", "a: {b: c, d: e}\nf: 1\n%TAG ! x\ng: 2\n"),
            ("a: 1\nb: 2\nc: 3\n", "a: 1\nb: '2\nc: 3\n"),
            ("a: 1\nb: 2\nc: 3\n", "a: 1\nb:\nc: 3\n"),
            ("a: 1\nb:\n- 2\nc: 3\n", "a: 1\n- 2\nc: 3\n"),
            // The part that libyaml reads in one go.
            (&bad_behind("a: 1\nb: 2\nc: 3\n"), &bad_behind("a: 1\nc: 3\n")),
            // The limit of a file's size.
            (&with_omaps("k0: O\nk1: O\nz: Z\n"), &with_omaps("k0: O\nk1: O\nk2: O\nz: Z\n")),
        ] {
            check(former.as_bytes(), content.as_bytes());
        }
    }

    #[test]
    fn most_versions_are_not_parsed_from_nothing() {
        for (former, content) in [
            ("---\n# a\nb: 1\nc: 2\nd: 3\n", "---\n# a\nb: 1\nc: 4\nd: 3\n"),
            ("'a': 1\n\"b\": 2\n'c::d': 3\n", "'a': 1\n\"b\": 4\n'c::d': 3\n"),
            ("a:\n- 1\nb:\n  c: d\n  e: f\n", "a:\n- 1\n- 2\nb:\n  c: d\n  e: f\n"),
            ("a: 1\nb: |\n  c\n\nd: '*.e'\n", "a: 1\nd: '*.e'\n"),
            ("a: {b: c, d: e}\nf: 1\n", "a: {b: c, d: e}\nf: 1\ng: 2\n"),
        ] {
            assert!(check(former.as_bytes(), content.as_bytes()), "{former} {content}");
        }
    }
}
