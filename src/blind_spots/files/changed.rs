//! Classifies changed files: those that concern Hiera, and those among them that no known node reads.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::misnamed::Misnamed;
use crate::blind_spots::levels::outside;
use crate::blind_spots::{DiffContext, accept, changed_paths, unreadable, wording};
use crate::fleet::Revision;
use crate::hiera::backend::DataFile;
use crate::hiera::layer::path_patterns::{PathPattern, datadirs, is_below, looks_like_data, patterns};
use crate::hiera::layer::{Environment, HIERA_YAML, PUPPETFILE};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::report::{BlindSpot, Remedy};
use crate::tree::{ATTRIBUTES, BlobId, Entry, Extent, FileTree, Target, TreeError, child, folder_of, follow, links};
use crate::value::Value;

/// The code of blind spots for files that no known node reads.
const UNREACHED: &str = "unreached-file";

/// The endings of files that an unknown hierarchy may read; `.yaml` may be a whole name.
const DATA_ENDS: [&str; 5] = [".yaml", ".yml", ".json", ".eyaml", ".conf"];

/// Files that define hierarchies and layers.
const CONFIG_FILES: [&str; 4] = ["hiera.yaml", "environment.conf", DEPLOYMENT_FILES[0], DEPLOYMENT_FILES[1]];

/// Configuration files that only declare modules.
const DEPLOYMENT_FILES: [&str; 2] = ["Puppetfile", ".fixtures.yml"];

/// The role of a changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Data that some node reads, before or after.
    Data,
    /// Data that only functions in Ruby may read.
    Opaque,
    /// A file that defines hierarchies and layers.
    Config,
    /// Data that no known node reads.
    Unreached,
}

/// The changed files that concern Hiera.
#[derive(Debug, Default)]
pub(crate) struct ChangedFiles {
    /// Data that some node reads, before or after.
    pub(crate) reached: BTreeSet<String>,
    /// Data that only functions in Ruby may read.
    pub(crate) opaque: BTreeSet<String>,
    /// Unreadable files of modules that are new, changed or gone, or whose modules change: their keys may be listed
    /// nowhere else.
    pub(crate) unread: BTreeSet<String>,
    /// Data that no known node reads, in a datadir or at a path that a level has for some nodes.
    pub(crate) unreached: BTreeSet<String>,
    /// Files that levels would read under another name.
    pub(crate) misnamed: Vec<Misnamed>,
    /// Files that look like data, in a folder that no level names.
    pub(crate) unnamed: BTreeSet<String>,
    /// Files that define hierarchies and layers.
    pub(crate) configs: BTreeSet<String>,
    /// Attributes files of git.
    pub(crate) attributes: BTreeSet<String>,
    /// True if only files have changed: no link, submodule or configuration, and no attributes of git.
    pub(crate) are_only_files: bool,
    /// Files that no level reads.
    pub(crate) others: BTreeSet<String>,
    /// Submodules with other commits.
    pub(crate) submodules: BTreeSet<String>,
    /// True if the `lookup_options` of a reached file differ before and after.
    pub(crate) changes_options: bool,
    /// True if the commit touches anything of Hiera, configuration included.
    pub(crate) is_hiera_touched: bool,
}

impl ChangedFiles {
    pub(crate) fn find(context: &DiffContext<'_>) -> Result<ChangedFiles, TreeError> {
        let mut files = ChangedFiles::default();
        let mut folders: Option<[Places<'_>; 2]> = None;
        let outside = Outside::of(context.both_revisions());
        let lacks_layer = unreadable::lacks_layer(context.both_revisions());
        let changed = changed_paths(context.revisions)?;
        let mut reached = context.revisions.before.reached(&changed)?;
        reached.extend(context.revisions.after.reached(&changed)?);
        let has_links = has_links(context, &changed);
        if has_links {
            // A link may lead to data.
            files.is_hiera_touched = true;
            let [before, after] = context.both_revisions();
            let places = [Places::of(before)?, Places::of(after)?];
            files.unreached.extend(led_elsewhere([before, after], &places)?);
            folders = Some(places);
        }
        for path in changed.iter().cloned() {
            if context.both_revisions().iter().any(|revision| is_config(revision, &path)) {
                files.configs.insert(path.clone());
            }
            files.is_hiera_touched |= outside.may_read(&path);
            files.is_hiera_touched |= lacks_layer && DATA_ENDS.iter().any(|end| path.ends_with(end));
            if path.rsplit('/').next() == Some(ATTRIBUTES) {
                files.attributes.insert(path);
                continue;
            }
            if context.both_revisions().iter().any(|revision| is_submodule(revision, &path)) {
                files.submodules.insert(path);
                continue;
            }
            if !context.both_revisions().iter().any(|revision| is_file(revision, &path)) {
                continue;
            }
            if reached.contains(path.as_str()) {
                files.add_reached(context, path)?;
                continue;
            }
            if folders.is_none() {
                let [before, after] = context.both_revisions();
                folders = Some([Places::of(before)?, Places::of(after)?]);
            }
            files.add_other(context, folders.as_ref(), path)?;
        }
        files.unreached.extend(context.configs_of_others(&files.configs)?);
        files.are_only_files = !has_links && files.are_plain();
        files.unread = unread_of_modules(context.both_revisions(), &changed, files.changes_options)?;
        let counts =
            [files.reached.len(), files.unreached.len(), files.unnamed.len(), files.misnamed.len(), files.unread.len()];
        files.is_hiera_touched |= !files.configs.is_empty() || !files.submodules.is_empty();
        files.is_hiera_touched |= counts.iter().any(|count| *count > 0);
        Ok(files)
    }

    /// Adds a file that levels of known nodes read.
    fn add_reached(&mut self, context: &DiffContext<'_>, path: String) -> Result<(), TreeError> {
        let [before, after] = [options(context.revisions.before, &path)?, options(context.revisions.after, &path)?];
        self.changes_options |= before != after;
        let both = context.both_revisions();
        let is_opaque = both.iter().any(|revision| revision.functions_may_read(&path))
            && !both.iter().any(|revision| revision.has_file_at(&path));
        if is_opaque {
            self.opaque.insert(path.clone());
        }
        self.reached.insert(path);
        Ok(())
    }

    /// Adds a file that no level of a known node reads; `folders` are the places where levels may read, on both sides.
    fn add_other(
        &mut self,
        context: &DiffContext<'_>,
        folders: Option<&[Places<'_>; 2]>,
        path: String,
    ) -> Result<(), TreeError> {
        self.others.insert(path.clone());
        let [places_after, places_before] = folders.map_or([None, None], |[before, after]| [Some(after), Some(before)]);
        let misnamed = |revision, places: Option<&Places<'_>>| match places {
            Some(places) => Misnamed::of(revision, &places.patterns, &path),
            None => Ok(None),
        };
        if let Some(found) = misnamed(context.revisions.after, places_after)? {
            self.misnamed.push(found);
            return Ok(());
        }
        if !is_file(context.revisions.after, &path) && misnamed(context.revisions.before, places_before)?.is_some() {
            return Ok(());
        }
        let is_data = context.both_revisions().iter().any(|revision| revision.environment.has_data_file_at(&path));
        if may_be_read(folders, &path, is_data)? {
            self.unreached.insert(path);
        } else if is_data && is_like_data(context, &path)? {
            self.unnamed.insert(path);
        }
        Ok(())
    }

    /// Returns true if the levels of the hiera.yaml at `path` may differ before and after.
    pub(crate) fn may_change_levels_of(&self, path: &str) -> bool {
        let is_of_all = |config: &String| config.ends_with(CONFIG_FILES[1]);
        self.configs.contains(path) || self.configs.iter().any(is_of_all)
    }

    /// Returns true if none of the files is a submodule, configuration or attributes of git.
    fn are_plain(&self) -> bool {
        self.configs.is_empty() && self.attributes.is_empty() && self.submodules.is_empty()
    }

    /// Returns the files of data and configuration by path, with the role of each.
    pub(crate) fn with_kinds(&self) -> Vec<(Arc<str>, FileKind)> {
        let of_kind = |paths: &BTreeSet<String>, kind| -> Vec<(Arc<str>, FileKind)> {
            paths.iter().map(|path| (path.as_str().into(), kind)).collect()
        };
        let mut all = of_kind(&self.opaque, FileKind::Opaque);
        all.extend(of_kind(&self.reached, FileKind::Data));
        all.extend(of_kind(&self.configs.difference(&self.unreached).cloned().collect(), FileKind::Config));
        all.retain(|(path, _)| !DEPLOYMENT_FILES.iter().any(|name| path.rsplit('/').next() == Some(name)));
        all.extend(of_kind(&self.unreached, FileKind::Unreached));
        all.extend(of_kind(&self.unnamed, FileKind::Unreached));
        all.extend(self.misnamed.iter().map(|file| (file.path.as_str().into(), FileKind::Unreached)));
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup_by(|a, b| a.0 == b.0);
        all
    }

    /// Returns true if the file at `path` is among [all](ChangedFiles::all) changed files of data.
    pub(crate) fn has(&self, path: &str) -> bool {
        [&self.reached, &self.unreached, &self.unnamed].iter().any(|files| files.contains(path))
    }

    /// Returns all changed files of data.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        self.reached.iter().chain(&self.unreached).chain(&self.unnamed)
    }
}

/// The levels outside of the repository that the settings do not map.
struct Outside<'a> {
    /// Folders of the repository whose paths end like the datadirs of these levels.
    folders: BTreeSet<String>,
    patterns: Vec<PathPattern<'a>>,
}

impl<'a> Outside<'a> {
    fn of(revisions: [&'a Revision; 2]) -> Outside<'a> {
        let environments = revisions.map(|revision| &revision.environment);
        Outside {
            folders: environments.iter().flat_map(|environment| outside::similar_folders(environment)).collect(),
            patterns: environments
                .iter()
                .flat_map(|environment| patterns(environment))
                .filter(PathPattern::is_outside)
                .collect(),
        }
    }

    /// Returns true if one of the levels may read a file of the repository: any file in such a folder, whatever its
    /// name, and any file whose path a path of the level ends with.
    fn may_read(&self, path: &str) -> bool {
        self.folders.iter().any(|folder| is_below(path, folder))
            || self.patterns.iter().any(|pattern| pattern.ends_like(path))
    }
}

/// The maximum number of steps to find all names of changed paths through links: each link is compared with each
/// name.
const MOST_STEPS: usize = 200_000_000;

/// The maximum number of names of one changed path through links.
const MOST_NAMES: usize = 20_000;

/// Returns true if a level of either side leads to a path, or if the path is data in a datadir.
fn may_be_read(sides: Option<&[Places<'_>; 2]>, path: &str, is_data: bool) -> Result<bool, TreeError> {
    for places in sides.into_iter().flatten() {
        if places.leads_to(path)? || is_data && places.has_datadir_of(path) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The paths and folders that the levels of a revision read.
struct Places<'a> {
    patterns: Vec<PathPattern<'a>>,
    /// The datadirs, each up to its first variable.
    datadirs: BTreeSet<String>,
    /// The links of the tree, with the paths that they lead to.
    links: Vec<(String, String)>,
    /// The steps that are left.
    steps: Cell<usize>,
}

impl<'a> Places<'a> {
    fn of(revision: &'a Revision) -> Result<Places<'a>, TreeError> {
        let mut datadirs = datadirs(&revision.environment);
        // The root of the repository is not taken for a datadir.
        datadirs.remove("");
        let links = links(&*revision.environment.tree)?;
        Ok(Places { patterns: patterns(&revision.environment), datadirs, links, steps: Cell::new(MOST_STEPS) })
    }

    /// Returns true if a level leads to a path, or to a link that leads there, directly or through other links.
    fn leads_to(&self, path: &str) -> Result<bool, TreeError> {
        Ok(self.names_of(path)?.iter().any(|path| self.is_read(path)))
    }

    fn is_read(&self, path: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(path))
    }

    /// Returns a path, and the paths that lead there through links, using each link once.
    fn names_of(&self, path: &str) -> Result<BTreeSet<String>, TreeError> {
        let (mut found, mut pending) = (BTreeSet::new(), vec![(path.to_owned(), Vec::new())]);
        while let Some((path, passed)) = pending.pop() {
            if found.contains(&path) {
                continue;
            }
            let cost = 1 + self.links.len() * (1 + passed.len());
            let left = self.steps.get().checked_sub(cost).filter(|_| found.len() < MOST_NAMES);
            let too_many = || TreeError::too_large(&*path, "links lead there by more names than are followed");
            self.steps.set(left.ok_or_else(too_many)?);
            for (link, target) in self.links.iter().filter(|(link, _)| !passed.contains(&link)) {
                if path == *target || is_below(&path, target) && !target.is_empty() {
                    let passed = passed.iter().copied().chain([link]).collect();
                    pending.push((format!("{link}{}", &path[target.len()..]), passed));
                }
            }
            found.insert(path);
        }
        Ok(found)
    }

    /// Returns the paths at which levels read files through links that lead elsewhere in `other`.
    fn led_elsewhere(&self, other: &Places<'_>, tree: &dyn FileTree) -> Result<BTreeSet<String>, TreeError> {
        let (mut found, known) = (BTreeSet::new(), BTreeSet::from_iter(&other.links));
        for (link, target) in self.links.iter().filter(|led| !known.contains(led)) {
            for file in files_below(tree, target)? {
                let path = format!("{link}{}", &file[target.len()..]);
                found.extend(self.names_of(&path)?.into_iter().filter(|path| self.is_read(path)));
            }
        }
        Ok(found)
    }

    fn has_datadir_of(&self, path: &str) -> bool {
        self.datadirs.iter().any(|folder| is_below(path, folder))
    }
}

/// Returns the paths that levels lead to through links that now lead elsewhere, if the files there differ and no
/// known node reads them.
fn led_elsewhere(revisions: [&Revision; 2], [before, after]: &[Places<'_>; 2]) -> Result<BTreeSet<String>, TreeError> {
    let trees = revisions.map(|revision| &*revision.environment.tree);
    let mut found = before.led_elsewhere(after, trees[0])?;
    found.extend(after.led_elsewhere(before, trees[1])?);
    let mut led = BTreeSet::new();
    let reached = if found.is_empty() { Default::default() } else { revisions.map(Revision::reached_files) };
    for path in found {
        let content = |tree| Ok(if let Target::File(_, id) = follow(tree, &path)? { Some(id) } else { None });
        let is_known = reached.iter().any(|files| files.contains(path.as_str()));
        if !is_known && content(trees[0])? != content(trees[1])? {
            led.insert(path);
        }
    }
    Ok(led)
}

/// Returns the file at `path`, or the files below it, without links.
fn files_below(tree: &dyn FileTree, path: &str) -> Result<Vec<String>, TreeError> {
    let (mut found, mut extent, mut pending) = (Vec::new(), Extent::default(), vec![path.to_owned()]);
    while let Some(path) = pending.pop() {
        extent.see(&path)?;
        match tree.entry(&path)? {
            Some(Entry::File(_)) => found.push(path),
            Some(Entry::Folder) => pending.extend(tree.list(&path)?.iter().map(|(name, _)| child(&path, name))),
            _ => {}
        }
    }
    Ok(found)
}

fn is_config(revision: &Revision, path: &str) -> bool {
    let environment = &revision.environment;
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_of = |root: &Environment| {
        let config = &*root.options.hiera_config;
        path == config || CONFIG_FILES[1..].contains(&name) && child(folder_of(config), name) == path
    };
    path == PUPPETFILE
        || environment.roots().any(is_of)
        || name == CONFIG_FILES[0]
        || environment.layers().any(|layer| layer.config.as_ref().is_ok_and(|config| *config.path == *path))
}

fn is_link(revision: &Revision, path: &str) -> bool {
    matches!(revision.environment.tree.entry(path), Ok(Some(Entry::Link(_))))
}

/// Returns true for a submodule whose commit is known; other repositories in a work tree are not submodules.
fn is_submodule(revision: &Revision, path: &str) -> bool {
    matches!(revision.environment.tree.entry(path), Ok(Some(Entry::Submodule(Some(_)))))
}

/// Returns the unreadable files of modules that may have another effect on one side: the files themselves differ, or
/// the levels and options of their keys. Only the paths in `changed` differ.
fn unread_of_modules(
    revisions: [&Revision; 2],
    changed: &BTreeSet<String>,
    changes_options: bool,
) -> Result<BTreeSet<String>, TreeError> {
    if changed.is_empty() {
        return Ok(BTreeSet::new());
    }
    let [before, after] = [unreadable_files(revisions[0])?, unreadable_files(revisions[1])?];
    let differs = |(path, file): (&Arc<str>, &Unreadable)| {
        let is_touched = |path: &String| file.folders.iter().any(|folder| is_below(path, folder));
        let is_other = changes_options
            || [&before, &after].iter().any(|side| side.get(path).is_none_or(|other| other.id != file.id))
            || changed.iter().any(is_touched);
        is_other.then(|| path.to_string())
    };
    Ok(before.iter().chain(&after).filter_map(differs).collect())
}

/// A file that cannot be read.
struct Unreadable {
    id: BlobId,
    /// The folder of its module, as it is named and with links followed.
    folders: [String; 2],
}

impl Unreadable {
    fn new(tree: &dyn FileTree, id: BlobId, folder: &str) -> Result<Unreadable, TreeError> {
        let real = if let Target::Folder(real) = follow(tree, folder)? { real } else { folder.to_owned() };
        Ok(Unreadable { id, folders: [folder.to_owned(), real] })
    }
}

/// Returns the unreadable data files of modules that some node's hierarchy leads to, and each hiera.yaml whose
/// content is unknown, along with its files and keys.
fn unreadable_files(revision: &Revision) -> Result<BTreeMap<Arc<str>, Unreadable>, TreeError> {
    let (environment, mut found) = (&revision.environment, BTreeMap::new());
    let tree = &*environment.tree;
    for layer in environment.layers().filter(|layer| Arc::ptr_eq(&layer.tree, &environment.tree)) {
        if let Some(error) = layer.config.as_ref().err().filter(|error| error.kind.is_unknown()) {
            let id = BlobId::of(error.text.visible().as_bytes());
            let path = child(&layer.root, HIERA_YAML).into();
            found.insert(path, Unreadable::new(tree, id, &layer.root)?);
        }
    }
    let folders = || environment.roots().flat_map(|root| root.module_folders.values());
    // Most files are not below any of the few folders that contain modules.
    let around: BTreeSet<&str> = folders().map(|folder| folder_of(folder)).collect();
    if around.is_empty() {
        return Ok(found);
    }
    for path in revision.reached_files() {
        if !around.iter().any(|folder| folder.is_empty() || is_below(&path, folder)) {
            continue;
        }
        let Some(folder) = folders().find(|folder| is_below(&path, folder)) else { continue };
        let Target::File(_, id) = follow(tree, &path)? else { continue };
        if environment.data_file(&path, id)?.fault().is_some() {
            found.insert(path, Unreadable::new(tree, id, folder)?);
        }
    }
    Ok(found)
}

/// Returns true if any of the paths is a link on either side.
fn has_links(context: &DiffContext<'_>, paths: &BTreeSet<String>) -> bool {
    paths.iter().any(|path| context.both_revisions().iter().any(|revision| is_link(revision, path)))
}

fn is_file(revision: &Revision, path: &str) -> bool {
    matches!(follow(&*revision.environment.tree, path), Ok(Target::File(..)))
}

/// Returns true if the file at `path` looks like data on either side.
fn is_like_data(context: &DiffContext<'_>, path: &str) -> Result<bool, TreeError> {
    for revision in context.both_revisions() {
        if data_file(&revision.environment, path)?.is_some_and(|file| looks_like_data(path, &file)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the `lookup_options` in a file.
fn options(revision: &Revision, path: &str) -> Result<Option<Value>, TreeError> {
    let file = data_file(&revision.environment, path)?;
    Ok(file.as_deref().and_then(DataFile::content).and_then(|content| content.get(LOOKUP_OPTIONS)).cloned())
}

/// Returns the data file at `path`, or `None` if there is no file.
pub(crate) fn data_file(environment: &Environment, path: &str) -> Result<Option<Arc<DataFile>>, TreeError> {
    match follow(&*environment.tree, path)? {
        Target::File(_, id) => environment.data_file(path, id).map(Some),
        _ => Ok(None),
    }
}

/// The texts of a blind spot for files whose keys are not all known.
struct Unlisted {
    headline: String,
    message: String,
    advice: &'static str,
}

impl DiffContext<'_> {
    /// Returns blind spots for changed files with keys that nothing lists: files of functions in Ruby, and unreadable
    /// files of modules.
    pub(crate) fn unlisted_keys(&self, files: &ChangedFiles) -> impl Iterator<Item = BlindSpot> {
        let opaque = self.unlisted(&files.opaque, |names, short| Unlisted {
            headline: format!("functions may find more keys in {short}"),
            message: format!(
                "only functions in Ruby may read {names}: keys that they find there beside those at the top of data files are not looked up",
            ),
            advice: "ask for such keys by name, with `hierad lookup`,",
        });
        let unread = self.unlisted(&files.unread, |names, short| Unlisted {
            headline: format!("{short} cannot be read"),
            message: format!("{names} cannot be read before or after: keys that nothing else has are not looked up"),
            advice: "`hierad check` says what is wrong: correct it",
        });
        [opaque, unread].into_iter().flatten()
    }

    fn unlisted(&self, files: &BTreeSet<String>, say: impl FnOnce(&str, &str) -> Unlisted) -> Option<BlindSpot> {
        const CODE: &str = "unlisted-keys";
        let files = self.not_accepted(CODE, files);
        if files.is_empty() {
            return None;
        }
        let Unlisted { headline, message, advice } =
            say(&wording::some(files.iter().map(String::as_str)), &short(&files));
        let fix = Some(remedy(CODE, advice, &files));
        Some(BlindSpot { code: CODE, headline, message, fix, files, ..BlindSpot::default() })
    }

    /// Returns the files that are not accepted for blind spots with this code.
    fn not_accepted(&self, code: &str, files: &BTreeSet<String>) -> Vec<String> {
        files.iter().filter(|file| !self.accepted.has(code, file)).cloned().collect()
    }

    /// Returns blind spots for changed files that no known node reads, in datadirs and elsewhere, without those
    /// already `reported`. If nodes may read them by facts that their profiles lack, `by_facts` has the remedy.
    pub(crate) fn unreached_files(
        &self,
        files: &ChangedFiles,
        reported: &BTreeSet<String>,
        by_facts: &[(BTreeSet<String>, Remedy)],
    ) -> impl Iterator<Item = BlindSpot> + use<> {
        let mut unreached = self.not_accepted(UNREACHED, &files.unreached);
        unreached.retain(|file| !reported.contains(file));
        let unnamed = self.not_accepted("unnamed-folder", &files.unnamed);
        let names = |files: &[String]| wording::some(files.iter().map(String::as_str));
        let verb = |files: &[String]| if files.len() == 1 { "is" } else { "are" };
        let mut facts = by_facts.iter().filter(|(led, _)| unreached.iter().any(|file| led.contains(file)));
        let fix = facts.next().map(|(_, fix)| fix.clone());
        let unreached_spot = (!unreached.is_empty()).then(|| BlindSpot {
            code: UNREACHED,
            headline: format!("no known node reads {}", short(&unreached)),
            message: format!(
                "no known node's hierarchy leads to {}, which {} changed: if a node reads {}, it is not among the profiles",
                names(&unreached),
                verb(&unreached),
                if unreached.len() == 1 { "it" } else { "them" },
            ),
            fix: fix.or_else(|| Some(remedy(UNREACHED, "add profiles of the nodes that read such files", &unreached))),
            files: unreached.clone(),
            ..BlindSpot::default()
        });
        let unnamed_spot = (!unnamed.is_empty()).then(|| BlindSpot {
            code: "unnamed-folder",
            headline: format!("no level of the hierarchy names {}", short(&unnamed)),
            message: format!(
                "{} {} changed and {} like data, and no level of the hierarchy looks there",
                names(&unnamed),
                verb(&unnamed),
                if unnamed.len() == 1 { "looks" } else { "look" },
            ),
            fix: Some(remedy("unnamed-folder", "if it is data, have a level name its folder", &unnamed)),
            files: unnamed.clone(),
            ..BlindSpot::default()
        });
        unreached_spot.into_iter().chain(unnamed_spot).chain(self.misnamed_files(files))
    }

    /// Returns a blind spot for changed files that levels would read under another name.
    fn misnamed_files(&self, files: &ChangedFiles) -> Option<BlindSpot> {
        let found: Vec<_> = files.misnamed.iter().filter(|file| !self.accepted.has(UNREACHED, &file.path)).collect();
        let (text, advice) = Misnamed::fault_and_fix(&found)?;
        let files: Vec<String> = found.iter().map(|file| file.path.clone()).collect();
        Some(BlindSpot {
            code: UNREACHED,
            headline: text.clone(),
            message: text,
            fix: Some(remedy(UNREACHED, &advice, &files)),
            files,
            ..BlindSpot::default()
        })
    }
}

/// Returns the path of a single file, or the number of files.
pub(crate) fn short(files: &[String]) -> String {
    match files {
        [file] => file.clone(),
        files => wording::count(files.len(), "changed file"),
    }
}

/// The maximum number of files that a suggested setting names.
pub(crate) const MOST_ACCEPTED: usize = 8;

/// Returns the advice, with the setting that accepts exactly these files unless there are many of them.
pub(crate) fn remedy(code: &'static str, advice: &str, files: &[String]) -> Remedy {
    if files.len() > MOST_ACCEPTED {
        return Remedy::words(advice);
    }
    let words = format!("{advice} or, to silence this, add to hierad.yaml");
    accept::remedy(words, code, files.iter().map(String::as_str))
}
