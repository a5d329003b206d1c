//! Finds the causes of changes, both ways: the places that a changed value comes from, the changed lines that cause it,
//! and for each changed line of the commit the keys and nodes that it changes, or why it changes none.
//!
//! A line is a cause of a difference if the difference is gone without the entry that the line belongs to, or if that
//! entry alone makes it. That is not worked out from the rules of merging, but tried: the key is looked up once more,
//! with the entry as it is on the other side. Work is bounded, and what is beyond is "not traced".
//!
//! `edits` has the changed files, entries and lines; `trace` is one lookup of a key on a node, with all that it read;
//! `sources` tells which places take part in a value. `search` finds the lines that cause a change, and `effects` turns
//! that round.

mod edits;
mod effects;
mod entries;
mod search;
mod sources;
mod text_lines;
mod trace;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diff::{Changes, Diff, Reencrypted};
use crate::fleet::{Effective, Revision, parallel};
use crate::pipeline::blind_spots::changed_files::FileKind;
use crate::report::{ChangeOrigins, LeafOrigins, Origin, Origins};
use crate::tree::TreeError;
use crate::workers::Workers;

use edits::Edits;
use search::{Search, TracedChange};
use trace::Trace;

/// The most changes of a report that are traced. Nobody reads the origins of more.
const TRACED_CHANGES: usize = 500;

/// The most secrets that were encrypted anew whose origin is found.
const TRACED_SECRETS: usize = 500;

/// Returns the origins of `changes`, which must not be redacted yet, and the effects of the changed lines of `files`.
/// `is_filtered` tells that there are other changes.
pub(super) fn find(
    changes: &Changes,
    (revisions, effective): (Diff<&Revision>, Diff<&Effective>),
    files: Vec<(Arc<str>, FileKind)>,
    is_filtered: bool,
    workers: &Workers,
) -> Result<Origins, TreeError> {
    let edits = Edits::find(revisions, files)?;
    let search = Search { revisions, edits: &edits };
    let traced = &changes.changes[..changes.changes.len().min(TRACED_CHANGES)];
    let traced: Vec<TracedChange> = parallel::map(traced, workers, "tracing changes", |change| search.change(change));
    let of_secret = |secret: &Reencrypted| {
        let trace = Trace::of(revisions.after, secret.nodes.first()?, &secret.key);
        trace.origin(&secret.path)
    };
    let reencrypted: Vec<Option<Origin>> = changes.reencrypted.iter().take(TRACED_SECRETS).map(of_secret).collect();
    let (lines, positions) =
        effects::Effects { search: &search, changes, traced: &traced, effective, is_filtered }.find();
    let at = |lines: &Option<BTreeSet<usize>>| {
        let lines = lines.as_ref()?;
        let mut places: Vec<usize> = lines.iter().map(|line| positions[*line]).collect();
        places.dedup();
        Some(places)
    };
    let changes = traced
        .iter()
        .map(|change| ChangeOrigins {
            leaves: change
                .leaves
                .iter()
                .map(|leaf| LeafOrigins {
                    origin: leaf.origin.clone(),
                    sources: leaf.sources.clone(),
                    lines: at(&leaf.lines),
                })
                .collect(),
            lines: at(&change.lines),
        })
        .collect();
    Ok(Origins { changes, reencrypted, lines })
}
