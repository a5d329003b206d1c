//! Finds the blind spots of a diff: changes that the commit may make but that could not be seen.
//!
//! A blind spot concerns the commit at hand. A commit that touches nothing of Hiera has none, but there is always one
//! if nothing of the repository can be read ([`unreadable`]). Each kind has its own file, and [`accept`] holds those
//! that the settings accept. `DiffContext` is the shared input.

pub mod accept;
pub(crate) mod files;
pub(crate) mod keys;
pub(crate) mod levels;
pub(crate) mod modules;
mod other_environments;
pub mod suggestions;
mod undefined_variables;
pub mod unreadable;
mod wording;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diff::{Changes, Diff};
use crate::disclosure::Disclosure;
use crate::fleet::{AffectedKeys, Effective, Fleet, Revision, RevisionError};
use crate::hiera::layer::Environment;
use crate::node::NodeSet;
use crate::puppet::manifest::Language;
use crate::report::{BlindSpot, HIDDEN, Remedy};
use crate::tree::{self, TreeError};

use accept::Accepted;
use files::changed::ChangedFiles;
use files::read_otherwise::READ_OTHERWISE;

pub use modules::other_versions::OTHER_VERSION;
pub use wording::nodes_of;

/// The codes of all blind spots.
pub const CODES: [&str; 27] = [
    "absent-backend",
    "absent-module",
    "changed-settings",
    "classified-parameter",
    "every-key-fails",
    "eyaml-key-not-allowed",
    "failing-keys",
    "guessed-profile",
    HIDDEN,
    "invalid-hiera-yaml",
    "merge-in-manifest",
    "merged-otherwise",
    "missing-datadir",
    "no-hiera-yaml",
    "no-keys",
    "no-level-read",
    "no-profiles",
    "other-version",
    "outside-repository",
    "profile-left-out",
    READ_OTHERWISE,
    "refused-setting",
    "undefined-variable",
    "unknown-function",
    "unlisted-keys",
    "unnamed-folder",
    "unreached-file",
];

/// The two revisions of a diff, with the results of comparing them.
pub(crate) struct DiffContext<'a> {
    pub(crate) revisions: Diff<&'a Revision>,
    /// The keys that the change may affect, among all keys.
    pub(crate) affected: &'a AffectedKeys,
    /// The values of these keys.
    pub(crate) effective: &'a Diff<Effective>,
    /// The changes of their values.
    pub(crate) changes: &'a Changes,
    /// The reason why nothing can be read, for each side of which that is so.
    pub(crate) unreadable: &'a Diff<Option<BlindSpot>>,
    /// The blind spots that the settings accept.
    pub(crate) accepted: &'a Accepted,
    /// The blind spots for settings of the tree that differ, and for refused ones.
    pub(crate) settings: [Option<BlindSpot>; 2],
    /// The parts of secrets that may be shown.
    pub(crate) disclosure: &'a Disclosure,
}

impl DiffContext<'_> {
    /// Returns the changed files that concern Hiera; none if nothing can be read.
    pub(crate) fn changed_files(&self) -> Result<ChangedFiles, TreeError> {
        let is_unreadable = self.unreadable.after.is_some() || self.unreadable.before.is_some();
        if is_unreadable { Ok(ChangedFiles::default()) } else { ChangedFiles::find(self) }
    }

    /// Returns the blind spots, the most important first. `files` are the [changed files](DiffContext::changed_files).
    pub(crate) fn blind_spots(&self, files: &ChangedFiles) -> Result<Vec<BlindSpot>, RevisionError> {
        // If nothing can be read, nothing else matters.
        if let Some(blind) = self.unreadable.after.as_ref().or(self.unreadable.before.as_ref()) {
            return Ok([blind.clone()].into_iter().chain(left_out(&self.revisions.after.fleet)).collect());
        }
        let [changed, refused] = &self.settings;
        let mut spots: Vec<BlindSpot> = changed.iter().cloned().collect();
        spots.extend(self.changed_attributes(&files.attributes)?);
        spots.extend(self.converted_files(files.are_only_files.then_some(&files.reached))?);
        spots.extend(self.modules_outside());
        spots.extend(self.other_versions(files)?);
        spots.extend(self.changed_programs(files)?);
        spots.extend(self.other_keys(files));
        if changed.is_some() || files.is_hiera_touched || self.affected.touches_data {
            spots.extend(refused.iter().cloned());
        }
        if files.is_hiera_touched || self.affected.touches_data {
            spots.extend(left_out(&self.revisions.after.fleet));
            spots.extend(guessed(&self.revisions.after.fleet));
            spots.extend(unreadable::missing_layer(self.both_revisions()));
            spots.extend(unreadable::missing_folders(self.revisions.after, Some(self.revisions.before)));
            spots.extend(levels::outside::mapped_to_nothing(self.both_revisions()));
            spots.extend(levels::outside::outside_spots(
                &self.both_revisions(),
                self.accepted,
                self.revisions.after.fleet.len(),
            ));
            spots.extend(keys::referred::referred(&self.both_revisions(), self.accepted)?);
            spots.extend(levels::absent_backends::absent_backends(&self.both_revisions()));
            spots.extend(self.classified()?);
            spots.extend(self.keys_not_allowed());
            spots.extend(self.failing_keys());
            let undefined = self.undefined_variables(files)?;
            let by_facts = undefined_variables::fact_remedies(&undefined);
            spots.extend(undefined);
            spots.extend(self.merges_in_manifests()?);
            spots.extend(self.absent_modules());
            let callers = self.callers(files)?;
            let files_of_callers = callers.iter().flat_map(|spot| spot.files.iter().cloned()).collect();
            spots.extend(callers);
            spots.extend(self.unreached_files(files, &files_of_callers, &by_facts));
            spots.extend(self.unlisted_keys(files));
        }
        for spot in self.variables_of_manifests()? {
            let is_reported = spots.iter().any(|known| (known.code, &known.headline) == (spot.code, &spot.headline));
            spots.extend(Some(spot).filter(|_| !is_reported));
        }
        Ok(spots)
    }

    /// Returns the environments that exist both before and after.
    fn both_environments(&self) -> Vec<[&Environment; 2]> {
        let [before, after] = self.both_revisions().map(|revision| &revision.environment);
        before.roots_in_both(after)
    }

    /// Returns both revisions.
    fn both_revisions(&self) -> [&Revision; 2] {
        [self.revisions.before, self.revisions.after]
    }
}

/// Returns the blind spots of one revision's data; `effective` has all of its values.
pub(crate) fn of_revision(
    revision: &Revision,
    effective: &Effective,
    (accepted, refused): (&Accepted, Option<BlindSpot>),
    disclosure: &Disclosure,
) -> Vec<BlindSpot> {
    let mut spots: Vec<BlindSpot> = refused.into_iter().chain(of_sources(revision, accepted)).collect();
    spots.extend(levels::keys_not_allowed::of_values(revision, effective));
    spots.extend(keys::failing::of_answers(effective, &revision.fleet, accepted, disclosure));
    spots
}

/// Returns the blind spots that one revision has whatever its values are: of its nodes and of its levels.
pub(crate) fn of_sources(revision: &Revision, accepted: &Accepted) -> Vec<BlindSpot> {
    let fleet = &revision.fleet;
    let mut spots: Vec<BlindSpot> = left_out(fleet).into_iter().chain(guessed(fleet)).collect();
    spots.extend(levels::outside::outside_spots(&[revision], accepted, fleet.len()));
    spots.extend(unreadable::missing_folders(revision, None));
    spots.extend(levels::absent_backends::absent_backends(&[revision]));
    spots
}

/// Returns a blind spot for profiles that could not be read, so that their nodes' values are unknown.
fn left_out(fleet: &Fleet) -> Option<BlindSpot> {
    let errors = fleet.left_out();
    let first = errors.first()?;
    let profiles = wording::count(errors.len(), "node profile");
    let files: BTreeSet<String> = errors.iter().map(|error| error.path.clone()).collect();
    let others =
        if errors.len() > 1 { format!("; and {} more", wording::number(errors.len() - 1)) } else { String::new() };
    Some(BlindSpot {
        code: "profile-left-out",
        headline: format!("{profiles} could not be read"),
        message: format!("{profiles} could not be read, so it is unknown what their nodes get: {first}{others}"),
        fix: Some(Remedy::words("correct the profiles; `hierad check` names each fault")),
        files: files.into_iter().collect(),
        ..BlindSpot::default()
    })
}

/// Returns a blind spot for nodes that are guessed.
fn guessed(fleet: &Fleet) -> Option<BlindSpot> {
    let nodes = fleet.guessed().clone();
    let node_share = wording::nodes_of(&nodes, fleet.len());
    let are = if nodes.len() == 1 { "is" } else { "are" };
    (!nodes.is_empty()).then(|| BlindSpot {
        code: "guessed-profile",
        headline: format!("{node_share} {are} guessed"),
        message: format!(
            "{node_share} {are} guessed from the names of data files: there may be others, with other facts \
             and other values"
        ),
        fix: Some(Remedy::words(
            "name the facts of your nodes with --profiles or --puppetdb (`hierad init` takes them, too), or correct the guesses and remove `guessed`",
        )),
        nodes,
        ..BlindSpot::default()
    })
}

/// Returns the nodes on which each key changes.
pub(crate) fn changed_nodes(changes: &Changes) -> BTreeMap<&Arc<str>, NodeSet> {
    let mut by_key: BTreeMap<&Arc<str>, NodeSet> = BTreeMap::new();
    for change in &changes.changes {
        by_key.entry(&change.key).or_default().union_with(&change.nodes);
    }
    by_key
}

/// Returns the paths of the repository that differ.
pub(crate) fn changed_paths(revisions: Diff<&Revision>) -> Result<BTreeSet<String>, TreeError> {
    tree::changes(&*revisions.before.environment.tree, &*revisions.after.environment.tree)
}

/// Returns a blind spot for the changes that a filter hides.
pub(crate) fn hidden(changes: &Changes, all: usize) -> Option<BlindSpot> {
    if changes.changes.is_empty() {
        return None;
    }
    let keys: BTreeSet<&Arc<str>> = changes.changes.iter().map(|change| &change.key).collect();
    let nodes = NodeSet::union_of(all, changes.changes.iter().map(|change| change.nodes.clone()));
    let count = wording::count(keys.len(), "key");
    let verb = if keys.len() == 1 { "changes" } else { "change" };
    let on = if all == 1 { String::new() } else { format!(" on {}", wording::nodes_of(&nodes, all)) };
    Some(BlindSpot {
        code: HIDDEN,
        headline: format!("{count} that the filter hides {verb}{on}"),
        message: format!("the filter of nodes and keys hides changes: {count} {verb}{on}"),
        fix: Some(Remedy::words("leave the filter out to see them")),
        keys: keys.into_iter().cloned().collect(),
        nodes,
        ..BlindSpot::default()
    })
}

/// Returns a blind spot for changes that are left out of a report on `files` because lines of other files cause them:
/// code among `files` may take part in them.
pub(crate) fn untraced_in(files: Vec<String>, left_out: usize) -> Option<BlindSpot> {
    let files: Vec<String> = files.into_iter().filter(|file| Language::of(file).is_some()).collect();
    let first = files.first().filter(|_| left_out > 0)?;
    let (names, changes) = (wording::some(files.iter().map(String::as_str)), wording::count(left_out, "change"));
    Some(BlindSpot {
        code: HIDDEN,
        headline: format!("{first} may take part in {changes} of other files"),
        message: format!(
            "what code causes is not traced to its lines: {names} may take part in {changes} of other files"
        ),
        fix: Some(Remedy::words("leave out the paths to see them")),
        files,
        ..BlindSpot::default()
    })
}
