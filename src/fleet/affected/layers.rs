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
        let own = config.levels.len();
        let level = |(at, level): (usize, &LevelConfig)| DeclaredLevel {
            path: config.path.clone(),
            version: config.version,
            is_own: at < own,
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
    /// Adds the keys for which the levels of some layer have other data on some node. Returns `None` if that may be any
    /// key.
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
        // Levels of version 3 are resolved together, so that there are fewer resolved ones.
        if before.len() != old.len() || after.len() != new.len() {
            let are_same = old.len() == new.len()
                && before.len() == after.len()
                && old.iter().zip(&new).all(|(old, new)| old.means_the_same(new));
            return if are_same {
                before.iter().zip(after).try_for_each(|(before, after)| changed.compare(before, after, &functions))
            } else {
                before.iter().chain(after).try_for_each(|levels| changed.add_all(levels))
            };
        }
        // A value that is found at one level only is not merged, not even with itself.
        if merges_differ(&old, &new) {
            return before.iter().chain(after).try_for_each(|levels| changed.add_all(levels));
        }
        for pair in align(&old, &new, DeclaredLevel::means_the_same) {
            match pair {
                (Some(old), Some(new)) => changed.compare(&before[old], &after[new], &functions)?,
                (Some(old), None) => changed.add_all(&before[old])?,
                (None, Some(new)) => changed.add_all(&after[new])?,
                (None, None) => {}
            }
        }
        Some(())
    }
}

/// Returns true if one of the two has at most one level where the other has another number: in the own hierarchy, or in
/// the default one.
fn merges_differ(old: &[DeclaredLevel], new: &[DeclaredLevel]) -> bool {
    let counts = |levels: &[DeclaredLevel]| {
        let own = levels.iter().filter(|level| level.is_own).count();
        [own, levels.len() - own]
    };
    counts(old).iter().zip(&counts(new)).any(|(old, new)| old != new && *old.min(new) <= 1)
}

/// Pairs equal items of two lists, as many as possible in order. Each other item stands alone.
fn align<T>(before: &[T], after: &[T], equal: impl Fn(&T, &T) -> bool) -> Vec<(Option<usize>, Option<usize>)> {
    let (rows, columns) = (before.len(), after.len());
    // The length of the longest common list of what follows each pair of positions.
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
