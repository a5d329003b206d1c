//! Finds data that git's attributes convert: its files differ between a checkout and the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::blind_spots::levels::outside;
use crate::blind_spots::{BlindSpot, DiffContext, accept, wording};
use crate::fleet::Revision;
use crate::report::Remedy;
use crate::tree::{ATTRIBUTES, Attributes, BlobId, IDENT, Target, TreeError, converting_lines, follow, with_ident};

impl DiffContext<'_> {
    /// Returns a blind spot for changed attributes files that make git convert files differently.
    pub(crate) fn changed_attributes(&self, changed: &BTreeSet<String>) -> Result<Option<BlindSpot>, TreeError> {
        let mut files = Vec::new();
        for path in changed {
            let [before, after] =
                self.both_revisions().map(|revision| converting_lines(&*revision.environment.tree, path));
            if before? != after? {
                files.push(path.clone());
            }
        }
        let Some(first) = files.first() else { return Ok(None) };
        Ok(Some(BlindSpot {
            code: "changed-settings",
            headline: format!("{first} changes, which controls how git converts files"),
            message: format!(
                "{first} makes git convert files differently, but hierad reads data as the repository stores it"
            ),
            fix: Some(Remedy::words("compare a checkout before and after")),
            files,
            ..BlindSpot::default()
        }))
    }

    /// Returns a blind spot for files that git converts and that differ between both sides, in themselves or in their
    /// conversion. `changed` has the changed files that nodes read, if only files have changed.
    pub(crate) fn converted_files(&self, changed: Option<&BTreeSet<String>>) -> Result<Option<BlindSpot>, TreeError> {
        const CODE: &str = outside::OUTSIDE;
        let checked_out_files = |revision: &Revision| {
            // All others are unchanged, and there are many.
            let changed = changed.map(|paths| paths.iter().map(|path| path.as_str().into()).collect());
            checked_out(revision, changed.unwrap_or_else(|| read_paths(revision)))
        };
        let [before, after] = self.both_revisions().map(checked_out_files);
        let (before, after) = (before?, after?);
        let paths: BTreeSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
        let mut files: Vec<String> = paths
            .into_iter()
            .filter(|path| is_unseen(before.get(*path), after.get(*path)))
            .map(ToString::to_string)
            .collect();
        files.retain(|file| !self.accepted.has(CODE, file));
        let Some(first) = files.first() else { return Ok(None) };
        let short = if files.len() == 1 { first.clone() } else { wording::count(files.len(), "file") };
        let names = wording::some(files.iter().map(String::as_str));
        Ok(Some(BlindSpot {
            code: CODE,
            headline: format!("git converts {short} as {ATTRIBUTES} says"),
            message: format!(
                "git converts {names} as {ATTRIBUTES} says: nodes get the converted files, which hierad does not read"
            ),
            fix: Some(accept::remedy(
                "compare a checkout before and after; if it is the same, add to hierad.yaml",
                CODE,
                files.iter().map(String::as_str),
            )),
            files,
            ..BlindSpot::default()
        }))
    }
}

/// A file as a checkout has it.
#[derive(PartialEq)]
struct CheckedOut {
    /// The content in the repository.
    id: BlobId,
    /// The attributes by which git converts it.
    conversions: Vec<String>,
    /// True if hierad reads it as git converts it.
    is_read: bool,
}

/// Returns true if the content of a checked-out file may have changed unseen, since changes are detected in the
/// repository's content.
fn is_unseen(before: Option<&CheckedOut>, after: Option<&CheckedOut>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) if before.is_read && after.is_read => {
            before.id == after.id && before.conversions != after.conversions
        }
        (Some(one), None) | (None, Some(one)) => !one.is_read,
        (before, after) => before != after,
    }
}

/// Returns the paths of all files of data and configuration that are read.
fn read_paths(revision: &Revision) -> BTreeSet<Arc<str>> {
    let mut paths = revision.reached_files();
    let configs = revision.environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    paths.extend(configs.map(|config| config.path.clone()));
    paths
}

/// Returns some files as a checkout has them.
fn checked_out(revision: &Revision, paths: BTreeSet<Arc<str>>) -> Result<BTreeMap<Arc<str>, CheckedOut>, TreeError> {
    let tree = &*revision.environment.tree;
    let mut attributes = Attributes::default();
    let mut found = BTreeMap::new();
    for path in paths {
        let Target::File(real, id) = follow(tree, &path)? else { continue };
        let conversions = attributes.converting(tree, &real, id)?;
        let is_read = conversions.is_empty() || conversions == [IDENT] && with_ident(tree, id)?.is_some();
        found.insert(path, CheckedOut { id, conversions, is_read });
    }
    Ok(found)
}
