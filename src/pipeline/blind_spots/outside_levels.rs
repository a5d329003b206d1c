//! Finds levels outside of the repository, and levels that the settings map to folders that do not exist.

use std::collections::{BTreeMap, BTreeSet};

use super::accept::Accepted;
use super::{accept, wording};
use crate::diagnostic::Place;
use crate::fleet::Revision;
use crate::hiera::config::LevelConfig;
use crate::hiera::hierarchy::Datadir;
use crate::hiera::layer::path_patterns::{PathPattern, datadir, fixed, patterns};
use crate::hiera::layer::{Environment, Layer};
use crate::node::NodeSet;
use crate::pipeline::suggestions;
use crate::report::{BlindSpot, Remedy, UnseenLevel};
use crate::tree::{Target, folder_of, follow};

/// The code of the findings on such levels.
pub(super) const OUTSIDE: &str = "outside-repository";

/// The levels in one place outside of the repository.
#[derive(Default)]
pub(in crate::pipeline) struct OutsideLevels {
    levels: Vec<UnseenLevel>,
    /// The places that declare the levels.
    pub(in crate::pipeline) places: BTreeSet<Place>,
    /// The nodes that have such a level.
    pub(in crate::pipeline) nodes: NodeSet,
    /// The line of the settings that maps the place.
    pub(in crate::pipeline) fix: Option<String>,
    /// True if a folder of the repository ends like the place.
    is_similar: bool,
}

/// Returns a blind spot for levels whose absolute datadirs the settings map to a folder that does not exist.
pub(super) fn mapped_to_nothing(revisions: [&Revision; 2]) -> Option<BlindSpot> {
    let mut found: BTreeSet<(&str, String)> = BTreeSet::new();
    for environment in revisions.map(|revision| &revision.environment) {
        for (layer, level) in absolute(environment) {
            let folder = datadir(environment, layer, level).map(|folder| fixed(&folder));
            let folder = folder.filter(|folder| !is_folder(environment, folder));
            found.extend(folder.map(|folder| (&*level.datadir, folder)));
        }
    }
    let (datadir, folder) = found.first()?;
    Some(BlindSpot {
        code: "missing-datadir",
        headline: format!("there is no folder {folder}/, to which the settings map {datadir}"),
        message: format!(
            "the settings map {} to folders that are not there, so that their levels are taken as absent",
            wording::some(found.iter().map(|(datadir, _)| *datadir).collect::<Vec<_>>().into_iter())
        ),
        fix: Some(Remedy::words("correct `datadirs` in hierad.yaml; `none` stands for data that is elsewhere")),
        files: found.iter().map(|(_, folder)| folder.clone()).collect(),
        ..BlindSpot::default()
    })
}

/// Returns the folders of the repository with the same endings as absolute datadirs that the settings map neither there
/// nor anywhere else.
pub(super) fn similar_folders(environment: &Environment) -> BTreeSet<String> {
    let is_read = |layer, level: &LevelConfig| {
        datadir(environment, layer, level).is_some_and(|folder| is_folder(environment, &fixed(&folder)))
    };
    let is_elsewhere = |level: &LevelConfig| {
        let is_meant = |from: &str| level.datadir.starts_with(from);
        let mut datadirs = environment.options.datadirs.iter();
        datadirs.any(|(from, to)| is_meant(from) && matches!(to, Datadir::None | Datadir::Disk(_)))
    };
    let unread = absolute(environment).filter(|(layer, level)| !is_read(layer, level) && !is_elsewhere(level));
    let folders = unread.filter_map(|(_, level)| suggestions::folder_with_same_ending(environment, &level.datadir));
    folders.filter(|folder| folder != ".").collect()
}

/// Returns the levels with absolute datadirs.
fn absolute(environment: &Environment) -> impl Iterator<Item = (&Layer, &LevelConfig)> {
    let levels = environment.layers().filter_map(|layer| Some((layer, layer.config.as_ref().ok()?)));
    let levels = levels.flat_map(|(layer, config)| config.all_levels().map(move |level| (layer, level)));
    levels.filter(|(_, level)| level.datadir.starts_with('/'))
}

fn is_folder(environment: &Environment, path: &str) -> bool {
    matches!(follow(&*environment.tree, path), Ok(Target::Folder(_)))
}

/// Collects the levels outside of the repository, by their places.
pub(in crate::pipeline) fn outside<'r>(
    revisions: impl IntoIterator<Item = &'r Revision>,
    accepted: &Accepted,
) -> BTreeMap<String, OutsideLevels> {
    let mut found: BTreeMap<String, OutsideLevels> = BTreeMap::new();
    for revision in revisions {
        collect_outside(revision, accepted, &mut found);
    }
    found
}

/// Returns the levels outside of the repository at one revision, or at one of two, as blind spots of a fleet of `all`
/// nodes.
pub(super) fn outside_spots(revisions: &[&Revision], accepted: &Accepted, all: usize) -> Vec<BlindSpot> {
    let each = revisions.iter().map(|revision| outside([*revision], accepted)).collect::<Vec<_>>();
    let is_standing = |place: &str| match &each[..] {
        [before, after] => before.get(place).is_some_and(|found| after.get(place).is_some_and(|now| found.stays(now))),
        _ => false,
    };
    let found = outside(revisions.iter().copied(), accepted).into_iter();
    found.map(|(place, levels)| BlindSpot { is_standing: is_standing(&place), ..levels.spot(&place, all) }).collect()
}

fn collect_outside(revision: &Revision, accepted: &Accepted, found: &mut BTreeMap<String, OutsideLevels>) {
    let environment = &revision.environment;
    let is_fine = |text: &str| accepted.has(OUTSIDE, leading(text));
    let findings = revision.findings.iter().map(|finding| (finding, &*finding.diagnostic.text));
    let findings = findings.filter(|(finding, text)| finding.diagnostic.code == OUTSIDE && !is_fine(text));
    let mut known = None;
    for (finding, text) in findings {
        let patterns = known.get_or_insert_with(|| patterns(environment));
        let place = finding.diagnostic.place.as_ref();
        let pattern = patterns.iter().find(|pattern| Some(&pattern.declared.place) == place);
        let (name, level, fix) = match pattern {
            Some(pattern) => {
                let (name, fix) = named(environment, pattern, text);
                (name, Some(pattern.level), fix)
            }
            None => (text.to_owned(), None, None),
        };
        let similar = pattern.and_then(|of| suggestions::folder_with_same_ending(environment, &of.level.datadir));
        let outside = found.entry(name).or_default();
        outside.nodes.union_with(&finding.nodes);
        outside.places.extend(place.cloned());
        outside.is_similar |= similar.is_some();
        outside.fix = outside.fix.take().or(fix);
        if let Some(level) = level.filter(|level| !outside.levels.iter().any(|known| *known.name == *level.name)) {
            outside.levels.push(unseen(environment, level));
        }
    }
}

/// Returns a level that cannot be seen, with those behind it.
fn unseen(environment: &Environment, level: &LevelConfig) -> UnseenLevel {
    let configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    let all = configs.flat_map(|config| config.all_levels());
    let behind = all.skip_while(|other| !std::ptr::eq(*other, level)).map(|level| &level.name);
    UnseenLevel { name: level.name.to_string(), before: behind.filter(|name| **name != level.name).cloned().collect() }
}

/// Describes the place of a level outside of the repository, with the setting that maps it.
fn named(environment: &Environment, pattern: &PathPattern<'_>, text: &str) -> (String, Option<String>) {
    let why = text.split_once(", outside the repository").map_or(text, |(why, _)| why);
    let (datadir, path) = (&*pattern.level.datadir, &*pattern.declared.text);
    let written = if path.starts_with('/') { folder_of(path) } else { datadir };
    if written.starts_with('/') {
        let (like, fix) = mapping(environment, written);
        return (format!("datadir {written} is outside of this repository{like}"), Some(fix));
    }
    (why.to_owned(), Some(accept::line(OUTSIDE, [leading(why)])))
}

/// Returns the path that leads outside: the beginning of the finding's text.
fn leading(text: &str) -> &str {
    let ends = [" is a symbolic link to ", " is a submodule", " leads ", " is an absolute path", " is another path"];
    ends.iter().find_map(|end| Some(text.split_once(end)?.0)).unwrap_or(text)
}

/// Returns a note on the folder of the repository with the same ending as an absolute datadir, and the setting that
/// maps it there.
fn mapping(environment: &Environment, datadir: &str) -> (String, String) {
    match suggestions::folder_with_same_ending(environment, datadir) {
        Some(folder) => {
            let like = if folder == "." {
                "; it is that of the environment itself".to_owned()
            } else {
                format!("; it ends like the folder {folder}/ here")
            };
            (like, format!("datadirs: {{{}: {}}}", suggestions::quoted(datadir), suggestions::quoted(&folder)))
        }
        None => (String::new(), format!("datadirs: {{{}: none}}", suggestions::quoted(datadir))),
    }
}

impl OutsideLevels {
    /// Returns true if the same levels of the same nodes are there, wherever they are declared, and the repository has
    /// no folder that may be theirs: any commit may change what is in that.
    fn stays(&self, after: &OutsideLevels) -> bool {
        let names = |levels: &OutsideLevels| levels.levels.iter().map(|level| level.name.clone()).collect::<Vec<_>>();
        names(self) == names(after) && self.nodes == after.nodes && !self.is_similar && !after.is_similar
    }

    /// Describes the levels at `place` and their absence.
    pub(in crate::pipeline) fn text(&self, place: &str) -> String {
        // Hiera 3 has no levels of their own; the finding says that they are absent.
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
        let of = wording::nodes_of(&self.nodes, all);
        BlindSpot {
            code: OUTSIDE,
            headline: format!("{} {} outside of this repository on {of}", self.count(), self.verb()),
            message: format!("{} on {of}", self.text(place)),
            fix: self.fix.map(Remedy::settings),
            nodes: self.nodes,
            levels: self.levels,
            ..BlindSpot::default()
        }
    }
}
