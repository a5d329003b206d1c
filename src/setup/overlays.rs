//! Finds data that is in the work tree but in no commit: a deployment puts it into the datadir.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::datadirs::Mapped;
use super::hierarchies::Hierarchy;
use super::site_pp::paths;
use crate::disk::check_named;
use crate::git::ignored::Ignored;
use crate::git::is_tracked;
use crate::tree::{FileTree, Target, TreeError, follow};

/// Returns the folders and files of levels that git ignores, or that links lead to outside of the repository, with
/// their places on disk, if they exist. A committed link that leads out of the work tree is left out.
pub fn overlays(
    tree: &dyn FileTree,
    top: &Path,
    hierarchy: &Hierarchy,
    datadirs: &[Mapped],
) -> Result<Vec<(String, PathBuf)>, TreeError> {
    let (mut ignored, mut found) = (Ignored::of(tree), BTreeSet::new());
    for path in paths(hierarchy, datadirs).iter().filter(|path| !path.starts_with(['/', '.'])) {
        let sample = path.split_once("%{").map_or_else(|| path.clone(), |(fixed, _)| format!("{fixed}x"));
        let place = match ignored.part_of(&sample)? {
            Some((part, _)) => Some(part).filter(|part| *part != sample || sample == *path),
            None => link(tree, &sample)?,
        };
        let Some(place) =
            place.filter(|place| !matches!(follow(tree, place), Ok(Target::Folder(_) | Target::File(..))))
        else {
            continue;
        };
        let disk_path = top.join(place);
        // The settings written from this are trusted like the user's own, so no commit may choose a folder of the
        // machine.
        if check_named(&disk_path).is_ok() || is_tracked(&disk_path).is_ok_and(|is_tracked| !is_tracked) {
            found.extend(disk_path.canonicalize().ok().map(|real| (place.to_owned(), real)));
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the first part of a path that is a link to nothing in the repository, or a submodule.
fn link<'p>(tree: &dyn FileTree, path: &'p str) -> Result<Option<&'p str>, TreeError> {
    for part in path.match_indices('/').map(|(at, _)| &path[..at]) {
        if matches!(follow(tree, part)?, Target::Dangling(_) | Target::Loop(_) | Target::Outside(_)) {
            return Ok(Some(part));
        }
    }
    Ok(None)
}
