//! Finds levels whose files are in no commit because git ignores them: a deployment may add them to those of the
//! repository.

use crate::fleet::Revision;
use crate::git::ignored::Ignored;
use crate::hiera::layer::path_patterns::{PathPattern, patterns, patterns_of_hiera3};
use crate::tree::{Target, TreeError, follow};

/// A place without files that a level reads.
pub(crate) struct Untracked<'r> {
    /// The path, with `*` for variables.
    pub(crate) place: String,
    /// The file that makes git ignore it.
    pub(crate) file: String,
    pub(crate) pattern: PathPattern<'r>,
}

/// Returns the places of levels that git ignores and that have no file.
pub(crate) fn ignored(revision: &Revision) -> Result<Vec<Untracked<'_>>, TreeError> {
    let tree = &*revision.environment.tree;
    let mut ignored = Ignored::of(tree);
    let (mut found, mut reached) = (Vec::new(), None);
    for pattern in patterns(&revision.environment).into_iter().chain(patterns_of_hiera3(&revision.environment)) {
        let Some(path) = pattern.inside() else { continue };
        let Some((place, file)) = ignored.part_of(&path)? else { continue };
        let is_there = if place.contains('*') {
            reached.get_or_insert_with(|| revision.reached_files()).iter().any(|path| pattern.matches(path))
        } else {
            follow(tree, place)? != Target::Absent
        };
        if !is_there {
            found.push(Untracked { place: place.to_owned(), file, pattern });
        }
    }
    Ok(found)
}
