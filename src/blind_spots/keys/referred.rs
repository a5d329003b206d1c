//! Finds keys that data refers to and no file has, if a level without a file at any revision may have them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::blind_spots::accept::Accepted;
use crate::blind_spots::levels::outside::{OUTSIDE, outside, overlay, unseen};
use crate::blind_spots::wording;
use crate::fleet::Revision;
use crate::hiera::layer::path_patterns::{PathPattern, patterns};
use crate::report::{BlindSpot, UnseenLevel};
use crate::tree::{FileTree, Target, TreeError, child, folder_of, follow};

/// Returns a blind spot for keys that data refers to and no file has, if a level for which no revision has any file
/// may have them.
pub(crate) fn referred(revisions: &[&Revision], accepted: &Accepted) -> Result<Option<BlindSpot>, TreeError> {
    // Levels outside may have them, too, and are reported already.
    if !outside(revisions.iter().copied(), &Accepted::default()).is_empty() {
        return Ok(None);
    }
    let mut places: Option<BTreeMap<String, UnseenLevel>> = None;
    for revision in revisions {
        let mut without_files = places_without_files(revision)?;
        if let Some(others) = places {
            without_files.retain(|place, _| others.contains_key(place));
        }
        places = Some(without_files);
    }
    let mut places = places.unwrap_or_default();
    places.retain(|place, _| !accepted.has(OUTSIDE, place));
    if places.is_empty() {
        return Ok(None);
    }
    let absent: Vec<BTreeSet<Arc<str>>> = revisions.iter().map(|revision| revision.absent_keys()).collect();
    let keys: BTreeSet<&Arc<str>> = absent.iter().flatten().collect();
    let Some(last) = revisions.last().filter(|_| !keys.is_empty()) else { return Ok(None) };
    let count = wording::count(keys.len(), "key");
    let (pronoun, verb) = if keys.len() == 1 { ("it", "is") } else { ("them", "are") };
    let have = if places.len() == 1 { "has" } else { "have" };
    let all: Vec<&str> = places.keys().map(String::as_str).collect();
    let (key_names, place_names) = (wording::some(keys.iter().map(|key| &***key)), wording::some(all.iter().copied()));
    Ok(Some(BlindSpot {
        code: OUTSIDE,
        headline: format!("{count} that data refer to {verb} in no file here"),
        message: format!(
            "{count} that data refer to {verb} in no file here ({key_names}): {place_names}, which {have} \
             no files, may have {pronoun}"
        ),
        fix: Some(overlay(&all)),
        is_standing: revisions.len() == 2 && absent.windows(2).all(|pair| pair[0] == pair[1]),
        nodes: last.fleet.all(),
        levels: places.into_values().collect(),
        ..BlindSpot::default()
    }))
}

/// Returns the places of levels without any file in the repository.
fn places_without_files(revision: &Revision) -> Result<BTreeMap<String, UnseenLevel>, TreeError> {
    let environment = &revision.environment;
    let implied = |pattern: &PathPattern<'_>| pattern.layer.config.as_ref().is_ok_and(|config| config.implied);
    let mut found = BTreeMap::new();
    for pattern in patterns(environment).iter().filter(|pattern| !implied(pattern)) {
        let place = pattern.inside().map(|path| absent_part(&*environment.tree, &path, pattern));
        if let Some(place) = place.transpose()?.flatten() {
            found.entry(place).or_insert_with(|| unseen(environment, pattern.level));
        }
    }
    Ok(found)
}

/// Returns the first part of a path that is missing for all values of its variables, or `None` if none is known to
/// be.
fn absent_part(tree: &dyn FileTree, path: &str, pattern: &PathPattern<'_>) -> Result<Option<String>, TreeError> {
    let parts = path.match_indices('/').map(|(at, _)| &path[..at]).chain([path]);
    for part in parts.take_while(|part| !part.contains('*')) {
        if follow(tree, part)? == Target::Absent {
            return Ok(Some(part.to_owned()));
        }
    }
    let folder = folder_of(path);
    if !path.contains('*') || folder.contains('*') {
        return Ok(None);
    }
    let Target::Folder(real) = follow(tree, folder)? else { return Ok(None) };
    let names = tree.list(&real)?;
    let is_there = names.iter().any(|(name, _)| pattern.matches(&child(folder, name)));
    Ok((!is_there).then(|| path.to_owned()))
}
