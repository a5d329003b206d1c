//! Narrows a report to the effects of some files.
//!
//! Everything is still compared and judged; only less is shown. A change stays if one of its causes is a line of
//! these files, or if not all of its causes are known.

use std::collections::BTreeSet;

use crate::blind_spots::untraced_in;
use crate::pattern::{Pattern, is_within};
use crate::report::{BlindSpot, ChangeOrigins, ChangedLines, Input, Report};

/// The files to narrow to, and the files that differ.
pub(super) struct Narrowing<'a> {
    /// Paths and globs of files and folders; empty for all files.
    pub(super) paths: &'a [Pattern],
    /// All paths of the repository that differ.
    pub(super) changed: BTreeSet<String>,
    /// The paths of files whose lines are traced to their effects.
    pub(super) traced: BTreeSet<String>,
}

impl Narrowing<'_> {
    fn has(&self, path: &str) -> bool {
        is_within(self.paths, path)
    }

    /// Returns true for a blind spot about files that differ, none of which is among those to narrow to.
    fn is_of_others(&self, spot: &BlindSpot) -> bool {
        !spot.files.is_empty() && spot.files.iter().all(|file| self.changed.contains(file) && !self.has(file))
    }

    /// Narrows the parts of a report.
    pub(super) fn narrow(&self, input: &mut Input<'_>) {
        let are_touched = self.changed.iter().any(|path| self.has(path));
        let own_lines: Vec<bool> = input.origins.lines.iter().map(|lines| self.has(&lines.place.path)).collect();
        let is_own = |at: &usize| own_lines.get(*at).copied().unwrap_or(true);
        let may_cause = |origins: Option<&ChangeOrigins>| {
            let known = origins.filter(|origins| origins.are_all).and_then(|origins| origins.lines.as_ref());
            are_touched && known.is_none_or(|lines| lines.is_empty() || lines.iter().any(is_own))
        };
        let stays: Vec<bool> =
            (0..input.changes.changes.len()).map(|at| may_cause(input.origins.changes.get(at))).collect();
        let hidden = stays.iter().filter(|stays| !**stays).count();
        keep(&mut input.changes.changes, &stays);
        keep(&mut input.origins.changes, &stays);
        let secrets: Vec<bool> = (0..input.changes.reencrypted.len())
            .map(|at| input.origins.reencrypted.get(at).and_then(Option::as_ref))
            .map(|origin| origin.map_or(are_touched, |origin| self.has(&origin.place.path)))
            .collect();
        keep(&mut input.changes.reencrypted, &secrets);
        keep(&mut input.origins.reencrypted, &secrets);
        input.blind_spots.retain(|spot| !self.is_of_others(spot));
        let untraced = self.changed.iter().filter(|path| self.has(path) && !self.traced.contains(*path));
        input.blind_spots.extend(untraced_in(untraced.cloned().collect(), hidden));
        renumber(input, &own_lines);
    }

    /// Leaves out the findings of other files, and names the files in the headline.
    pub(super) fn narrow_report(&self, report: Report) -> Report {
        let mut findings = report.findings;
        findings.retain(|finding| finding.diagnostic.place.as_ref().is_none_or(|place| self.has(&place.path)));
        let narrowed_to = self.paths.iter().map(|path| path.as_str().to_owned()).collect();
        Report { findings, narrowed_to, ..report }
    }
}

/// Keeps the entries of a list for which `stays` is true. The list may be shorter than `stays`.
pub(super) fn keep<T>(list: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    list.retain(|_| stays.next().is_none_or(|stays| *stays));
}

/// Leaves out the lines of other files that cause no remaining change, and renumbers the rest.
fn renumber(input: &mut Input<'_>, own_lines: &[bool]) {
    let mut is_kept = own_lines.to_vec();
    let origins = &mut input.origins;
    let of_changes = origins.changes.iter().flat_map(|change| {
        let leaves = change.leaves.iter().map(|leaf| &leaf.lines);
        leaves.chain([&change.lines]).flatten().flatten()
    });
    let of_lines = origins.lines.iter().zip(own_lines).filter(|(_, own)| **own).flat_map(|(lines, _)| &lines.with);
    for at in of_changes.chain(of_lines) {
        if let Some(is_kept) = is_kept.get_mut(*at) {
            *is_kept = true;
        }
    }
    let mut next = 0;
    let numbers: Vec<Option<usize>> = is_kept
        .iter()
        .map(|is_kept| {
            next += usize::from(*is_kept);
            is_kept.then(|| next - 1)
        })
        .collect();
    let number = |at: &usize| numbers.get(*at).copied().flatten();
    keep(&mut origins.lines, &is_kept);
    let renumbered = |lines: &mut Vec<usize>| *lines = lines.iter().filter_map(number).collect();
    origins.lines.iter_mut().for_each(|lines: &mut ChangedLines| renumbered(&mut lines.with));
    for change in &mut origins.changes {
        let leaves = change.leaves.iter_mut().map(|leaf| &mut leaf.lines);
        leaves.chain([&mut change.lines]).flatten().for_each(renumbered);
    }
}
