//! Finds the lines that differ between two versions of a file. An unchanged line that now belongs to another entry
//! differs, too: it means something else.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::diff::Diff;
use crate::report::Side;

/// The maximum number of pairs of lines to compare. With more, all lines between equal ends are taken as changed.
const MAX_PAIRS: usize = 25_000_000;

/// A line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct TextLine<'a> {
    text: &'a [u8],
    /// The number of its entry, if the line is ambiguous by itself: equal lines of different entries differ.
    entry: Option<usize>,
}

/// Returns the number of the entry that a line of a side belongs to, or `None` if that does not matter.
pub(super) type EntryOf<'a> = dyn FnMut(Side, u32, &[u8]) -> Option<usize> + 'a;

/// Returns the lines of a file, each with its end.
pub(super) fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns the numbers of the lines that are on only one side, counted from 1. `above` lines come before the texts on
/// both sides.
pub(super) fn changed_lines(texts: Diff<&[&[u8]]>, above: usize, entry: &mut EntryOf<'_>) -> Diff<Vec<u32>> {
    let number = |at: usize| u32::try_from(above + at + 1).unwrap_or(u32::MAX);
    let mut lines_of = |side: Side| -> Vec<TextLine<'_>> {
        let texts = side.pick(&texts).iter().copied().enumerate();
        texts.map(|(at, text)| TextLine { text, entry: entry(side, number(at), text) }).collect()
    };
    let lines = Diff::new(lines_of(Side::Before), lines_of(Side::After));
    let (before, after) = (&lines.before[..], &lines.after[..]);
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let ends = before[head..].iter().rev().zip(after[head..].iter().rev());
    let tail = ends.take_while(|(a, b)| a == b).count();
    let middle = Diff::new(&before[head..before.len() - tail], &after[head..after.len() - tail]);
    let number = |at: usize| number(head + at);
    if middle.before.len().saturating_mul(middle.after.len()) > MAX_PAIRS {
        return middle.map(|lines| (0..lines.len()).map(number).collect());
    }
    let mut changed = Diff::<Vec<u32>>::default();
    for op in capture_diff_slices(Algorithm::Myers, middle.before, middle.after) {
        if !matches!(op, DiffOp::Equal { .. }) {
            changed.before.extend(op.old_range().map(number));
            changed.after.extend(op.new_range().map(number));
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, entry: &dyn Fn(&str) -> Option<usize>) -> (Vec<u32>, Vec<u32>) {
        let mut entry_of = |side: Side, number: u32, _: &[u8]| {
            let text = if side == Side::Before { before } else { after };
            entry(&text.lines().take(number as usize).collect::<Vec<_>>().join("\n"))
        };
        let texts = Diff::new(lines(before.as_bytes()), lines(after.as_bytes()));
        let Diff { before, after } = changed_lines(texts.as_ref().map(Vec::as_slice), 0, &mut entry_of);
        (before, after)
    }

    #[test]
    fn lines_of_one_side_only_are_changed() {
        let changed = |before: &str, after: &str| check(before, after, &|_| None);
        assert_eq!(changed("a\nb\nc\n", "a\nx\nc\n"), (vec![2], vec![2]));
        assert_eq!(changed("", "a\nb\n"), (vec![], vec![1, 2]));
        assert_eq!(changed("a\nb\nc", "b\nc\n"), (vec![1, 3], vec![2]));
        assert_eq!(changed("a\n", "a\n"), (vec![], vec![]));
    }

    #[test]
    fn equal_lines_of_other_entries_are_changed() {
        // The entry is the last line that is not indented.
        let entry =
            |text: &str| text.lines().rfind(|line| !line.starts_with(' ')).map(|line| line.as_bytes()[0].into());
        assert_eq!(check("a\n x\nc\n", "a\n x\nb\n x\nc\n", &entry), (vec![], vec![3, 4]));
        assert_eq!(check("a\n x\n", "b\n x\n", &entry), (vec![1, 2], vec![1, 2]));
    }
}
