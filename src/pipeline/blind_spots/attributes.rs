//! Finds what git's attributes make of data: a checkout has other files than the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{BlindSpot, DiffContext, accept, outside_levels, wording};
use crate::fleet::Revision;
use crate::report::Remedy;
use crate::tree::{ATTRIBUTES, Attributes, BlobId, IDENT, Target, TreeError, converting_lines, follow, with_ident};

impl DiffContext<'_> {
    /// Returns a blind spot for files of attributes, of those changed, that have files converted in another way.
    pub(super) fn changed_attributes(&self, changed: &BTreeSet<String>) -> Result<Option<BlindSpot>, TreeError> {
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
            headline: format!("{first} changes, which says how git converts files"),
            message: format!(
                "{first} has git convert files in another way, and data are read as the repository holds them"
            ),
            fix: Some(Remedy::words("look at what a checkout gives before and after")),
            files,
            ..BlindSpot::default()
        }))
    }

    /// Returns a blind spot for files that git converts and that are not the same on both sides: they themselves, or
    /// what is made of them. `changed` are those that nodes read, if nothing but files has changed.
    pub(super) fn converted_files(&self, changed: Option<&BTreeSet<String>>) -> Result<Option<BlindSpot>, TreeError> {
        const CODE: &str = outside_levels::OUTSIDE;
        let of = |revision: &Revision| {
            // All others are what they were, and there are many.
            let changed = changed.map(|paths| paths.iter().map(|path| path.as_str().into()).collect());
            converted(revision, changed.unwrap_or_else(|| read_paths(revision)))
        };
        let [before, after] = self.both_revisions().map(of);
        let (before, after) = (before?, after?);
        let paths: BTreeSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
        let mut files: Vec<String> =
            paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).map(ToString::to_string).collect();
        files.retain(|file| !self.accepted.has(CODE, file));
        let Some(first) = files.first() else { return Ok(None) };
        let short = if files.len() == 1 { first.clone() } else { wording::count(files.len(), "file") };
        let names = wording::some(files.iter().map(String::as_str));
        Ok(Some(BlindSpot {
            code: CODE,
            headline: format!("git converts {short} as {ATTRIBUTES} says"),
            message: format!(
                "git converts {names} as {ATTRIBUTES} says: nodes get what a checkout has, and it is not read"
            ),
            fix: Some(Remedy::with_yaml(
                "look at what a checkout gives before and after or, if it is the same, put into hierad.yaml",
                accept::line(CODE, files.iter().map(String::as_str)),
            )),
            files,
            ..BlindSpot::default()
        }))
    }
}

/// Files that git converts, with what is there and what is done to it.
type Converted = BTreeMap<Arc<str>, (BlobId, Vec<String>)>;

/// Returns the paths of all files of data and configuration that are read.
fn read_paths(revision: &Revision) -> BTreeSet<Arc<str>> {
    let mut paths = revision.reached_files();
    let configs = revision.environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    paths.extend(configs.map(|config| config.path.clone()));
    paths
}

/// Returns those of some files that a checkout has otherwise than the repository, with what is there and what is done
/// to it.
fn converted(revision: &Revision, paths: BTreeSet<Arc<str>>) -> Result<Converted, TreeError> {
    let tree = &*revision.environment.tree;
    let mut attributes = Attributes::default();
    let mut found = BTreeMap::new();
    for path in paths {
        let Target::File(real, id) = follow(tree, &path)? else { continue };
        let made = attributes.converting(tree, &real, id)?;
        if !made.is_empty() && (made != [IDENT] || with_ident(tree, id)?.is_none()) {
            found.insert(path, (id, made));
        }
    }
    Ok(found)
}
