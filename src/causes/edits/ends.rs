//! The beginning and the end that two versions of a file have in common, as far as their lines surely mean the same.

use super::entries::Entries;
use crate::diff::Diff;

/// The numbers of lines at the beginning and at the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommonEnds {
    pub(super) head: usize,
    pub(super) tail: usize,
}

impl CommonEnds {
    /// Finds the common ends of lines. They are made of whole parts of the file, as a line may be below another key
    /// than before, and of parts that both versions have, as a key may be there once more.
    pub(super) fn of(lines: Diff<&[&[u8]]>, entries: &Diff<Entries<'_>>) -> CommonEnds {
        let Diff { before, after } = lines;
        let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let rest = before[head..].iter().rev().zip(after[head..].iter().rev());
        let tail = rest.take_while(|(a, b)| a == b).count();
        CommonEnds { head: whole_head(head, entries), tail: whole_tail(tail, lines.map(<[_]>::len), entries) }
    }

    /// Returns the lines between the ends.
    pub(super) fn between<'l, 't>(&self, lines: &'l [&'t [u8]]) -> &'l [&'t [u8]] {
        &lines[self.head..lines.len() - self.tail]
    }
}

/// Returns how many of the first `equal` lines are whole parts on both sides.
fn whole_head(equal: usize, Diff { before, after }: &Diff<Entries<'_>>) -> usize {
    let are_alike = before.parts().zip(after.parts()).take_while(|((a, one), (b, other))| a == b && one.is_like(other));
    let alike = are_alike.count();
    let first_changed = number(equal).saturating_add(1);
    let starts = [before, after]
        .map(|entries| [entries.parts().nth(alike).map(|(first, _)| first), entries.part_start(first_changed)]);
    let start = starts.into_iter().flatten().flatten().min();
    start.map_or(equal, |start| (start as usize).saturating_sub(1).min(equal))
}

/// Returns how many of the last `equal` lines are whole parts on both sides; `count` is the number of all lines.
fn whole_tail(equal: usize, count: Diff<usize>, Diff { before, after }: &Diff<Entries<'_>>) -> usize {
    let from_end = |first: u32, count: usize| (count + 1).checked_sub(first as usize).filter(|lines| *lines <= equal);
    let pairs = before.parts().rev().zip(after.parts().rev());
    let alike = pairs.map_while(|((first, one), (other_first, other))| {
        let lines = from_end(first, count.before)?;
        (from_end(other_first, count.after) == Some(lines) && one.is_like(&other)).then_some(lines)
    });
    alike.last().unwrap_or_default()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use fastrand::Rng;

    use super::*;
    use crate::causes::edits::entries::normal;
    use crate::causes::edits::text_lines::{changed_lines, lines};
    use crate::hiera::backend::{DataFile, Format};

    /// Entries of a file, a line each; `K` is a key. Nothing is seen of a file with the last one.
    const ENTRIES: [&str; 8] = [
        "K: 1",
        "K:|  x: 1|  y:|    - 1|    - x: 2",
        "K: {d: 1,|  e: 2}",
        "# no data|",
        "K: >|  text",
        "K:|  x: 2",
        "  x: 3",
        "K: &a 2",
    ];

    fn text(dice: &mut Rng, most: usize) -> Vec<String> {
        let known = ENTRIES.len() - if dice.u8(0..4) == 0 { 0 } else { 2 };
        let entry = |dice: &mut Rng| ENTRIES[dice.usize(0..known)].replace('K', &format!("k{}", dice.u8(0..200)));
        let entries: Vec<String> = (0..dice.usize(0..most)).map(|_| entry(dice)).collect();
        entries.iter().flat_map(|entry| entry.split('|')).map(str::to_owned).collect()
    }

    fn changed(texts: Diff<&[&[u8]]>, entries: &Diff<Entries<'_>>, ends: &CommonEnds) -> Diff<Vec<u32>> {
        let mut names: HashMap<String, usize> = HashMap::new();
        changed_lines(texts.map(|texts| ends.between(texts)), ends.head, &mut |side, number, _| {
            let (name, next) = (normal(side.pick(entries).first_at(number)?), names.len());
            Some(*names.entry(name).or_insert(next))
        })
    }

    #[test]
    fn nothing_differs_at_common_ends() {
        let (dice, mut skipped) = (&mut Rng::with_seed(3), 0);
        for round in 0..3000 {
            let before = text(dice, 15);
            let mut after = before.clone();
            for _ in 0..dice.usize(0..3) {
                let at = dice.usize(0..=after.len());
                let end = (at + dice.usize(0..3)).min(after.len());
                after.splice(at..end, text(dice, 3));
            }
            let texts = Diff::new(before.join("\n"), after.join("\n"));
            let files = texts.as_ref().map(|text| DataFile::parse(text.as_bytes(), Format::Yaml));
            let entries = files.as_ref().map(|file| Entries::of(Some(file)));
            let split = texts.as_ref().map(|text| lines(text.as_bytes()));
            let split = split.as_ref().map(Vec::as_slice);
            let ends = CommonEnds::of(split, &entries);
            skipped += ends.head + ends.tail;
            assert_eq!(
                changed(split, &entries, &ends),
                changed(split, &entries, &CommonEnds::default()),
                "{round}: {texts:#?}"
            );
        }
        assert!(skipped > 10_000, "{skipped}");
    }
}
