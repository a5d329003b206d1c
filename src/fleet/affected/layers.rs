//! Compares the levels of all layers in two revisions.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fleet::affected::Comparison;
use crate::fleet::affected::changed_keys::ChangedKeys;
use crate::fleet::affected::functions::Functions;
use crate::fleet::revision::Revision;
use crate::hiera::config::{Config, LevelConfig};
use crate::hiera::layer::LayerId;

/// A declared level with the file and the version of its configuration.
struct DeclaredLevel {
    path: Arc<str>,
    version: u8,
    /// False for a level of a default hierarchy.
    is_own: bool,
    config: LevelConfig,
}

impl DeclaredLevel {
    fn all(config: Option<&Config>) -> Vec<DeclaredLevel> {
        let Some(config) = config else { return Vec::new() };
        let own_count = config.levels.len();
        let level = |(at, level): (usize, &LevelConfig)| DeclaredLevel {
            path: config.path.clone(),
            version: config.version,
            is_own: at < own_count,
            config: level.clone(),
        };
        config.all_levels().enumerate().map(level).collect()
    }

    fn means_the_same(&self, other: &DeclaredLevel) -> bool {
        self.path == other.path
            && self.version == other.version
            && self.is_own == other.is_own
            && self.config.means_the_same(&other.config)
    }
}

impl Comparison<'_> {
    /// Adds the keys for which the levels of some layer have different data on some node. Returns `None` if that may
    /// be any key.
    pub(super) fn add_layers(&self, changed: &mut ChangedKeys) -> Option<()> {
        let ids = |revision: &Revision| revision.environment.layer_ids().collect::<BTreeSet<LayerId>>();
        ids(self.before).union(&ids(self.after)).try_for_each(|id| self.add_layer(id, changed))
    }

    fn add_layer(&self, id: &LayerId, changed: &mut ChangedKeys) -> Option<()> {
        let (before, after) = match (self.before.config(id), self.after.config(id)) {
            (Some(Err(before)), Some(Err(after))) => return (before == after).then_some(()),
            (Some(Err(_)), _) | (_, Some(Err(_))) => return None,
            (before, after) => (before.and_then(Result::ok), after.and_then(Result::ok)),
        };
        let fault = |config: Option<&Config>| config.and_then(|config| config.sound().err());
        if fault(before) != fault(after) {
            return None;
        }
        let (old, new) = (DeclaredLevel::all(before), DeclaredLevel::all(after));
        let (before, after) = (self.before.levels_of(id), self.after.levels_of(id));
        let functions = Functions::new(self, id);
        // Levels of version 3 are resolved together, so there are fewer resolved than declared ones.
        if before.len() != old.len() || after.len() != new.len() {
            let are_same = old.len() == new.len()
                && before.len() == after.len()
                && old.iter().zip(&new).all(|(old, new)| old.means_the_same(new));
            return if are_same {
                before.iter().zip(after).try_for_each(|(before, after)| changed.compare(before, after, &functions))
            } else {
                before.iter().chain(after).for_each(|levels| changed.add_all(levels));
                Some(())
            };
        }
        // A value that is found at only one level is not merged, not even with itself.
        if merges_differ(&old, &new) {
            before.iter().chain(after).for_each(|levels| changed.add_all(levels));
            return Some(());
        }
        for pair in align(&old, &new, DeclaredLevel::means_the_same) {
            match pair {
                (Some(old), Some(new)) => changed.compare(&before[old], &after[new], &functions)?,
                (Some(old), None) => changed.add_all(&before[old]),
                (None, Some(new)) => changed.add_all(&after[new]),
                (None, None) => {}
            }
        }
        Some(())
    }
}

/// Returns true if the numbers of levels differ and one of them is at most one, in the hierarchy itself or in the
/// default one.
fn merges_differ(old: &[DeclaredLevel], new: &[DeclaredLevel]) -> bool {
    let counts = |levels: &[DeclaredLevel]| {
        let own_count = levels.iter().filter(|level| level.is_own).count();
        [own_count, levels.len() - own_count]
    };
    counts(old).iter().zip(&counts(new)).any(|(old, new)| old != new && *old.min(new) <= 1)
}

/// The maximum number of pairs of items to compare.
const MAX_PAIRS: usize = 1_000_000;

/// Pairs equal items of two lists in order, as many as possible unless that takes too long. Each other item is
/// returned alone.
fn align<T>(before: &[T], after: &[T], equal: impl Fn(&T, &T) -> bool) -> Vec<(Option<usize>, Option<usize>)> {
    let shortest = before.len().min(after.len());
    let prefix = before.iter().zip(after).take_while(|(old, new)| equal(old, new)).count();
    let suffix = before.iter().rev().zip(after.iter().rev()).take(shortest - prefix);
    let suffix = suffix.take_while(|(old, new)| equal(old, new)).count();
    let (ends, other_ends) = (before.len() - suffix, after.len() - suffix);
    let between = align_all(&before[prefix..ends], &after[prefix..other_ends], equal);
    let shifted = |at: Option<usize>| at.map(|at| at + prefix);
    let between = between.into_iter().map(|(old, new)| (shifted(old), shifted(new)));
    let same = (0..prefix).zip(0..prefix).map(|(old, new)| (Some(old), Some(new)));
    let rest = (ends..before.len()).zip(other_ends..after.len()).map(|(old, new)| (Some(old), Some(new)));
    same.chain(between).chain(rest).collect()
}

/// Pairs equal items of lists that begin and end differently. If the lists are long, no items are paired.
fn align_all<T>(before: &[T], after: &[T], equal: impl Fn(&T, &T) -> bool) -> Vec<(Option<usize>, Option<usize>)> {
    let (rows, columns) = (before.len(), after.len());
    if rows.saturating_mul(columns) > MAX_PAIRS {
        let (old, new) = ((0..rows).map(|row| (Some(row), None)), (0..columns).map(|column| (None, Some(column))));
        return old.chain(new).collect();
    }
    // The length of the longest common subsequence after each pair of positions.
    let mut longest = vec![vec![0_usize; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            longest[row][column] = if equal(&before[row], &after[column]) {
                longest[row + 1][column + 1] + 1
            } else {
                longest[row + 1][column].max(longest[row][column + 1])
            };
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows || column < columns {
        if row < rows && column < columns && equal(&before[row], &after[column]) {
            pairs.push((Some(row), Some(column)));
            (row, column) = (row + 1, column + 1);
        } else if column == columns || (row < rows && longest[row + 1][column] >= longest[row][column + 1]) {
            pairs.push((Some(row), None));
            row += 1;
        } else {
            pairs.push((None, Some(column)));
            column += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of pairs of equal characters, and checks that each character is there once and in order.
    fn pairs(before: &str, after: &str) -> usize {
        let [before, after] = [before, after].map(|text| text.chars().collect::<Vec<_>>());
        let pairs = align(&before, &after, |old, new| old == new);
        let (old, new) = (pairs.iter().filter_map(|pair| pair.0), pairs.iter().filter_map(|pair| pair.1));
        assert!(old.eq(0..before.len()) && new.eq(0..after.len()), "{pairs:?}");
        let both = pairs.iter().filter_map(|(old, new)| Some((before[(*old)?], after[(*new)?])));
        both.inspect(|(old, new)| assert_eq!(old, new)).count()
    }

    #[test]
    fn as_many_levels_as_possible_are_paired() {
        for (before, after, expected) in [
            ("", "", 0),
            ("abc", "abc", 3),
            ("abc", "axc", 2),
            ("abcd", "bcda", 3),
            ("aa", "aaa", 2),
            ("aba", "a", 1),
            ("a", "aba", 1),
            ("xaybz", "1a2b3", 2),
        ] {
            assert_eq!(pairs(before, after), expected, "{before} {after}");
        }
    }

    #[test]
    fn lists_of_any_length_are_aligned_soon() {
        let many = "ab".repeat(100_000);
        assert_eq!(pairs(&many, &many), 200_000);
        // One that is added, one that is removed, one that is replaced, at any place.
        assert_eq!(pairs(&many, &format!("{}x{}", &many[..70_000], &many[70_000..])), 200_000);
        assert_eq!(pairs(&format!("y{many}"), &many), 200_000);
        assert_eq!(pairs(&format!("{many}y"), &format!("{many}x")), 200_000);
        // Levels between two changes are not paired, either.
        assert_eq!(pairs(&format!("xc{many}dx"), &format!("yc{many}dy")), 0);
        assert_eq!(pairs(&format!("a{many}cb"), &format!("ac{many}b")), 2);
    }
}
