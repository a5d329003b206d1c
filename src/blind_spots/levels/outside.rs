//! Finds levels outside of the repository, and levels that the settings map to folders that do not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::untracked::{self, Untracked};
use crate::blind_spots::accept::Accepted;
use crate::blind_spots::suggestions;
use crate::blind_spots::{accept, wording};
use crate::diagnostic::{Place, Subject};
use crate::fleet::Revision;
use crate::hiera::config::LevelConfig;
use crate::hiera::hierarchy::Datadir;
use crate::hiera::layer::Environment;
use crate::hiera::layer::path_patterns::{PathPattern, fixed, folders, patterns};
use crate::node::NodeSet;
use crate::report::{BlindSpot, Remedy, UnseenLevel};
use crate::tree::{Target, folder_of, follow};

/// The code of the findings on such levels.
pub(crate) const OUTSIDE: &str = "outside-repository";

/// The levels in one place outside of the repository.
#[derive(Default)]
pub(crate) struct OutsideLevels {
    levels: Vec<UnseenLevel>,
    /// The places that declare the levels.
    pub(crate) places: BTreeSet<Place>,
    /// The nodes that have such a level.
    pub(crate) nodes: NodeSet,
    /// The remedy: settings for the place.
    pub(crate) fix: Option<Remedy>,
    /// The path in the repository that leads outside, if the place is one.
    path: Option<String>,
    /// True if a folder of the repository ends like the place.
    is_similar: bool,
}

/// Returns a blind spot for levels whose absolute datadirs the settings map to a folder that does not exist.
pub(crate) fn mapped_to_nothing(revisions: [&Revision; 2]) -> Option<BlindSpot> {
    let mut found: BTreeSet<(String, String)> = BTreeSet::new();
    for environment in revisions.map(|revision| &revision.environment) {
        for (datadir, folder) in absolute_datadirs(environment) {
            let folder = folder.map(|folder| fixed(&folder)).filter(|folder| !is_folder(environment, folder));
            found.extend(folder.map(|folder| (datadir, folder)));
        }
    }
    let (datadir, folder) = found.first()?;
    Some(BlindSpot {
        code: "missing-datadir",
        headline: format!("there is no folder {folder}/, to which the settings map {datadir}"),
        message: format!(
            "the settings map {} to folders that do not exist, so their levels count as absent",
            wording::some(found.iter().map(|(datadir, _)| datadir.as_str()).collect::<Vec<_>>().into_iter())
        ),
        fix: Some(Remedy::words("correct `datadirs` in hierad.yaml; `none` stands for data that is elsewhere")),
        files: found.iter().map(|(_, folder)| folder.clone()).collect(),
        ..BlindSpot::default()
    })
}

/// Returns the folders of the repository with the same endings as absolute datadirs that the settings do not map.
pub(crate) fn similar_folders(environment: &Environment) -> BTreeSet<String> {
    let is_read =
        |folder: &Option<String>| folder.as_ref().is_some_and(|folder| is_folder(environment, &fixed(folder)));
    let settings = &environment.options.datadirs;
    let is_elsewhere = |datadir: &str| {
        let is_prefix = |from: &str| datadir.starts_with(from);
        settings.iter().any(|(from, to)| is_prefix(from) && matches!(to, Datadir::None | Datadir::Disk(_)))
    };
    let unread = absolute_datadirs(environment).filter(|(datadir, folder)| !is_read(folder) && !is_elsewhere(datadir));
    let similar = unread.filter_map(|(datadir, _)| suggestions::folder_with_same_ending(environment, &datadir));
    let is_mapped = |folder: &String| settings.iter().any(|(_, to)| matches!(to, Datadir::Folder(to) if to == folder));
    similar.filter(|folder| folder != "." && !is_mapped(folder)).collect()
}

/// Returns the absolute folders of levels, each with the folder of the repository that it means.
fn absolute_datadirs(environment: &Environment) -> impl Iterator<Item = (String, Option<String>)> {
    let layers = environment.layers().filter_map(|layer| Some((layer, layer.config.as_ref().ok()?)));
    let all = layers.flat_map(|(layer, config)| config.all_levels().map(move |level| (layer, level)));
    all.flat_map(|(layer, level)| folders(environment, layer, level)).filter(|(datadir, _)| datadir.starts_with('/'))
}

fn is_folder(environment: &Environment, path: &str) -> bool {
    matches!(follow(&*environment.tree, path), Ok(Target::Folder(_)))
}

/// Collects the levels outside of the repository, by their places.
pub(crate) fn outside<'r>(
    revisions: impl IntoIterator<Item = &'r Revision>,
    accepted: &Accepted,
) -> BTreeMap<String, OutsideLevels> {
    let mut found: BTreeMap<String, OutsideLevels> = BTreeMap::new();
    for revision in revisions {
        collect_outside(revision, accepted, &mut found);
    }
    joined(found)
}

/// The maximum number of paths of a folder that are listed one by one.
const MAX_LISTED_PATHS: usize = 3;

/// Joins the paths of each folder that has many of them.
fn joined(mut found: BTreeMap<String, OutsideLevels>) -> BTreeMap<String, OutsideLevels> {
    let mut by_folder: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (text, levels) in &found {
        if let Some(path) = &levels.path {
            by_folder.entry(folder_of(path).to_owned()).or_default().push(text.clone());
        }
    }
    for (folder, texts) in by_folder.into_iter().filter(|(_, texts)| texts.len() > MAX_LISTED_PATHS) {
        let mut all = OutsideLevels { fix: Some(Remedy::words(MANY_PATHS_ADVICE)), ..OutsideLevels::default() };
        let of_folder: Vec<OutsideLevels> = texts.iter().filter_map(|text| found.remove(text)).collect();
        let text = format!("{folder}/ has {} paths like this: {}", wording::number(of_folder.len()), texts[0]);
        for one in of_folder {
            all.nodes.union_with(&one.nodes);
            all.places.extend(one.places);
            let is_new = |level: &UnseenLevel| all.levels.iter().all(|known| known.name != level.name);
            let levels: Vec<UnseenLevel> = one.levels.into_iter().filter(is_new).collect();
            all.levels.extend(levels);
        }
        found.insert(text, all);
    }
    found
}

/// The remedy for many paths.
const MANY_PATHS_ADVICE: &str = "name the folders of this machine that have them in .git/hierad.yaml, as `datadirs`, \
or accept their paths there as `outside-repository`";

/// Returns the levels outside of the repository at one revision, or at either of two, as blind spots of a fleet of
/// `all` nodes.
pub(crate) fn outside_spots(revisions: &[&Revision], accepted: &Accepted, all: usize) -> Vec<BlindSpot> {
    let by_side = revisions.iter().map(|revision| outside([*revision], accepted)).collect::<Vec<_>>();
    let is_standing = |place: &str| match &by_side[..] {
        [before, after] => {
            before.get(place).is_some_and(|found| after.get(place).is_some_and(|now| found.is_unchanged_in(now)))
        }
        _ => false,
    };
    let found = outside(revisions.iter().copied(), accepted).into_iter();
    found.map(|(place, levels)| BlindSpot { is_standing: is_standing(&place), ..levels.spot(&place, all) }).collect()
}

fn collect_outside(revision: &Revision, accepted: &Accepted, found: &mut BTreeMap<String, OutsideLevels>) {
    let environment = &revision.environment;
    let mut known = None;
    for finding in revision.findings.iter().filter(|finding| finding.diagnostic.code == OUTSIDE) {
        let Some(Subject::Outside { path, how }) = &finding.diagnostic.subject else { continue };
        if accepted.has(OUTSIDE, path) {
            continue;
        }
        let patterns = known.get_or_insert_with(|| patterns(environment));
        let place = finding.diagnostic.place.as_ref();
        let pattern = patterns.iter().find(|pattern| Some(&pattern.declared.place) == place);
        let written = pattern.and_then(|pattern| pattern.written_outside(environment));
        let outside = match &written {
            Some(written) => at_datadir(environment, written, found),
            None => at_path(path, how.to_string(), found),
        };
        outside.nodes.union_with(&finding.nodes);
        outside.places.extend(place.cloned());
        outside.add(environment, pattern);
    }
    // A layer on disk sees the disk, except for folders that this machine does not have.
    for pattern in patterns(environment).iter().filter(|pattern| pattern.is_missing_on_disk(environment)) {
        if let Some(written) = pattern.written_outside(environment).filter(|place| !accepted.has(OUTSIDE, place)) {
            at_datadir(environment, &written, found).add_everywhere(revision, pattern);
        }
    }
    for Untracked { place, file, pattern } in untracked::ignored(revision).unwrap_or_default() {
        if !accepted.has(OUTSIDE, &place) {
            let text = format!("{place} is in no commit, as {file} says");
            at_path(&place, text, found).add_everywhere(revision, &pattern);
        }
    }
}

/// Returns the entry of the levels in an outside folder, which hiera.yaml names as `written`.
fn at_datadir<'f>(
    environment: &Environment,
    written: &str,
    found: &'f mut BTreeMap<String, OutsideLevels>,
) -> &'f mut OutsideLevels {
    let folder = suggestions::folder_with_same_ending(environment, written);
    let folder_hint = match folder.as_deref() {
        Some(".") => "; it is that of the environment itself".to_owned(),
        Some(folder) => format!("; it ends like the folder {folder}/ here"),
        None => String::new(),
    };
    let to = folder.as_deref().map_or("none".to_owned(), suggestions::quoted);
    let fix = || Remedy::settings(format!("datadirs: {{{}: {to}}}", suggestions::quoted(written)));
    let outside = found.entry(format!("datadir {written} is outside of this repository{folder_hint}")).or_default();
    outside.fix.get_or_insert_with(fix);
    outside.is_similar |= folder.is_some();
    outside
}

/// Returns the entry of the levels at a path of the repository, which `text` describes.
fn at_path<'f>(path: &str, text: String, found: &'f mut BTreeMap<String, OutsideLevels>) -> &'f mut OutsideLevels {
    let outside = found.entry(text).or_default();
    outside.fix.get_or_insert_with(|| overlay(&[path]));
    outside.path.get_or_insert_with(|| path.to_owned());
    outside
}

/// Returns the remedy for paths of the repository that have their data elsewhere.
pub(crate) fn overlay(places: &[&str]) -> Remedy {
    let names = places.iter().copied();
    let Some(first) = places.iter().find(|place| !place.contains('*')) else {
        return accept::remedy("to silence this, add to hierad.yaml", OUTSIDE, names);
    };
    let is_file = Path::new(first).extension().is_some();
    let (what, example) = if is_file { ("file", "/srv/FILE") } else { ("folder", "/srv/DIR") };
    let words = format!(
        "name the {what} of this machine that has it in .git/hierad.yaml, such as datadirs: {{{}: {example}}} or, to silence this, add to hierad.yaml",
        suggestions::quoted(first)
    );
    accept::remedy(words, OUTSIDE, names)
}

/// Returns a level that cannot be seen, with the levels after it.
pub(crate) fn unseen(environment: &Environment, level: &LevelConfig) -> UnseenLevel {
    let configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    let all = configs.flat_map(|config| config.all_levels());
    let from_level = all.skip_while(|other| !std::ptr::eq(*other, level)).map(|level| &level.name);
    UnseenLevel {
        name: level.name.to_string(),
        before: from_level.filter(|name| **name != level.name).cloned().collect(),
    }
}

impl OutsideLevels {
    /// Adds the level of a path.
    fn add(&mut self, environment: &Environment, pattern: Option<&PathPattern<'_>>) {
        let level = pattern.map(|pattern| pattern.level).filter(|level| !level.locations.are_none());
        if let Some(level) = level.filter(|level| !self.levels.iter().any(|known| *known.name == *level.name)) {
            self.levels.push(unseen(environment, level));
        }
    }

    /// Adds the level of a path at which no node finds a file.
    fn add_everywhere(&mut self, revision: &Revision, pattern: &PathPattern<'_>) {
        self.nodes.union_with(&revision.fleet.all());
        self.places.insert(pattern.declared.place.clone());
        self.add(&revision.environment, Some(pattern));
    }

    /// Returns true if the same levels of the same nodes exist, wherever they are declared, and the repository has no
    /// folder that may be theirs: any commit may change what is in such a folder.
    fn is_unchanged_in(&self, after: &OutsideLevels) -> bool {
        let names = |levels: &OutsideLevels| levels.levels.iter().map(|level| level.name.clone()).collect::<Vec<_>>();
        names(self) == names(after) && self.nodes == after.nodes && !self.is_similar && !after.is_similar
    }

    /// Describes the levels at `place` and their absence.
    pub(crate) fn text(&self, place: &str) -> String {
        // Paths of Hiera 3 have no separate levels; the finding says that they are absent.
        if self.levels.is_empty() {
            return place.to_owned();
        }
        let names = wording::some(self.levels.iter().map(|level| &*level.name));
        format!("{place}: {} ({names}) {} taken as absent", self.count(), self.verb())
    }

    fn count(&self) -> String {
        wording::count(self.levels.len(), "level")
    }

    fn verb(&self) -> &'static str {
        if self.levels.len() == 1 { "is" } else { "are" }
    }

    fn spot(self, place: &str, all: usize) -> BlindSpot {
        let node_share = wording::nodes_of(&self.nodes, all);
        let message = format!("{} on {node_share}", self.text(place));
        let headline = match &self.levels[..] {
            [] => message.clone(),
            _ => format!("{} {} outside of this repository on {node_share}", self.count(), self.verb()),
        };
        BlindSpot {
            code: OUTSIDE,
            headline,
            message,
            fix: self.fix,
            nodes: self.nodes,
            levels: self.levels,
            ..BlindSpot::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever names a folder for a file has all lookups fail.
    #[test]
    fn the_remedy_names_what_is_missing() {
        for (path, what, example) in [
            ("hieradata/private.yaml", "name the file", "/srv/FILE"),
            ("hieradata/private", "name the folder", "/srv/DIR"),
            ("a.d/.private", "name the folder", "/srv/DIR"),
        ] {
            let words = overlay(&[path]).words;
            assert!(words.starts_with(what) && words.contains(example), "{path}: {words}");
        }
    }
}
