//! The lines that differ between two versions of a file.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::diff::Diff;

/// The most pairs of lines that are compared; where more are left, all lines between equal ends count as changed.
const MAX_PAIRS: usize = 25_000_000;

/// Returns the numbers of the lines that are on one side only, counted from 1.
pub(super) fn changed_lines(content: Diff<&[u8]>) -> Diff<Vec<u32>> {
    let lines = content.map(|content| content.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>());
    let (before, after) = (&lines.before[..], &lines.after[..]);
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let ends = before[head..].iter().rev().zip(after[head..].iter().rev());
    let tail = ends.take_while(|(a, b)| a == b).count();
    let middle = Diff::new(&before[head..before.len() - tail], &after[head..after.len() - tail]);
    let number = |at: usize| u32::try_from(head + at + 1).unwrap_or(u32::MAX);
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

    #[test]
    fn lines_of_one_side_only_are_changed() {
        let changed = |before: &str, after: &str| {
            let Diff { before, after } = changed_lines(Diff::new(before.as_bytes(), after.as_bytes()));
            (before, after)
        };
        assert_eq!(changed("a\nb\nc\n", "a\nx\nc\n"), (vec![2], vec![2]));
        assert_eq!(changed("", "a\nb\n"), (vec![], vec![1, 2]));
        assert_eq!(changed("a\nb\nc", "b\nc\n"), (vec![1, 3], vec![2]));
        assert_eq!(changed("a\n", "a\n"), (vec![], vec![]));
    }
}
