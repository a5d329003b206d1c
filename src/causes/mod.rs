//! Finds the causes of changes, both ways: the places that a changed value comes from, the changed lines that cause it,
//! and for each changed line of the commit the keys and nodes that it changes, or why it changes none.
//!
//! A line is a cause of a difference if the difference is gone without the entry that the line belongs to, or if that
//! entry alone makes it. This is not derived from the rules of merging, but tried: the key is looked up once more,
//! with the entry as it is on the other side. Work is bounded, and causes beyond the bound are "not traced".
//!
//! `edits` has the changed files, entries, levels and lines; `trace` is one lookup of a key on a node, with all that
//! it read; `sources` finds the places that contribute to a value. `search` finds the lines that cause a change, by a
//! `trial` of each entry, and `effects` turns this around, with the `reasons` of lines that do nothing. `bonds` has
//! the lines that change nothing only together. `turns` and `allowance` bound the work, and `views` shares it. `unread`
//! has the lines of files that no node reads.

mod allowance;
mod bonds;
mod edits;
mod effects;
mod on_node;
mod reasons;
mod search;
mod sources;
mod trace;
mod trial;
mod turns;
mod views;

use std::sync::Arc;

use crate::blind_spots::files::changed::FileKind;
use crate::diff::{Changes, Diff, Reencrypted};
use crate::fleet::{Effective, Revision};
use crate::report::{BlindSpot, ChangeOrigins, LeafOrigins, Origin, Origins};
use crate::tree::TreeError;
use crate::workers::Workers;

use allowance::Allowance;
use bonds::Bonds;
use edits::Edits;
use effects::Effects;
use search::{Lines, Search, Traced, TracedChange, TracedLeaf};
use trace::Trace;

/// The maximum number of newly encrypted secrets whose origin is looked for.
const TRACED_SECRETS: usize = 500;

/// Returns the origins of `changes`, which must not be redacted yet, and the effects of the changed lines of `files`.
/// Lines of keys that `blind_spots` name are never reported to have no effect.
pub(crate) fn find(
    changes: &Changes,
    (revisions, effective): (Diff<&Revision>, Diff<&Effective>),
    files: Vec<(Arc<str>, FileKind)>,
    blind_spots: &[BlindSpot],
    workers: &Workers,
) -> Result<Origins, TreeError> {
    let edits = Edits::find(revisions, files)?;
    let search = Search::new(revisions, &edits, workers.limits.steps);
    let traced = search.changes(&changes.changes, workers);
    let of_secret = |secret: &Reencrypted| {
        let allowance = Allowance::share(search.steps, changes.reencrypted.len().min(TRACED_SECRETS));
        let trace = Trace::of(&revisions.after.of_node(secret.nodes.first()?), &secret.key, &allowance)?;
        trace.origin(&secret.path)
    };
    let reencrypted: Vec<Option<Origin>> = changes.reencrypted.iter().take(TRACED_SECRETS).map(of_secret).collect();
    let bonds = bonds::find(changes, &search, workers);
    let effects = Effects { search: &search, changes, traced: &traced, effective, bonds: &bonds, blind_spots };
    let (mut lines, positions) = effects.find(true);
    effects.add_bonds(&mut lines, &positions);
    Ok(Origins { changes: origins_of(traced, &positions), reencrypted, lines })
}

/// Returns the origins of `changes`, which must not be redacted yet. Of the changed lines of `files`, only those that
/// cause one of them are in it.
pub(crate) fn of_changes(
    changes: &Changes,
    (revisions, effective): (Diff<&Revision>, Diff<&Effective>),
    files: Vec<(Arc<str>, FileKind)>,
    workers: &Workers,
) -> Result<Origins, TreeError> {
    let edits = Edits::find(revisions, files)?;
    let search = Search::new(revisions, &edits, workers.limits.steps);
    let traced = search.changes(&changes.changes, workers);
    let bonds = &Bonds::default();
    let effects = Effects { search: &search, changes, traced: &traced, effective, bonds, blind_spots: &[] };
    let (lines, positions) = effects.find(false);
    Ok(Origins { changes: origins_of(traced, &positions), reencrypted: Vec::new(), lines })
}

/// Returns the origins of all changes up to the last traced one, given the position of each edited line among the
/// changed lines.
fn origins_of(traced: Vec<Traced>, positions: &[usize]) -> Vec<ChangeOrigins> {
    let places_of = |lines: Lines| {
        let mut places: Vec<usize> = lines?.into_iter().map(|line| positions[line]).collect();
        places.dedup();
        Some(places)
    };
    let of_leaf = |TracedLeaf { origin, sources, lines }| LeafOrigins { origin, sources, lines: places_of(lines) };
    let of_change = |change: TracedChange| ChangeOrigins {
        leaves: change.leaves.into_iter().map(of_leaf).collect(),
        lines: places_of(change.lines),
        are_all: change.untraced.is_empty(),
    };
    let mut of_changes: Vec<ChangeOrigins> = Vec::new();
    for (at, change) in traced {
        of_changes.resize_with(at, ChangeOrigins::default);
        of_changes.push(of_change(change));
    }
    of_changes
}
