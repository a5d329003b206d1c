//! Finds changed files that a Puppet server on JRuby reads differently from Ruby, whose reading hierad follows.

use std::collections::{BTreeMap, BTreeSet};

use super::changed::{ChangedFiles, remedy, short};
use crate::blind_spots::{DiffContext, changed_paths, wording};
use crate::diagnostic::{Diagnostic, Place};
use crate::diff::Diff;
use crate::fleet::{Finding, Revision};
use crate::hiera::backend::{DataFile, Format};
use crate::hiera::config::PlacedText;
use crate::hiera::layer::path_patterns::patterns;
use crate::hiera::layer::{Environment, HIERA_YAML};
use crate::node::NodeSet;
use crate::puppet::Ruby;
use crate::puppet::ruby::without_byte_order_mark;
use crate::puppet::server::{Effect, Kind, Notes};
use crate::report::BlindSpot;
use crate::tree::{BlobId, FileTree, Target, TreeError, folder_of, follow};

/// The code of findings and blind spots of such files.
pub(crate) const READ_OTHERWISE: &str = "read-otherwise";

/// The reason why the files of a glob have another order on some Rubies.
pub(crate) const ORDER_OF_GLOB: &str =
    "Ruby sorts the files of a glob since 3.0; before, and on JRuby 9.3, they are in the order of the folder";

/// Returns the places of a data file that a server reads differently.
pub(crate) fn places(environment: &Environment, id: BlobId, file: &DataFile) -> Result<Notes, TreeError> {
    match file.read_otherwise(|| environment.tree.read(id)) {
        Err(error) if error.is_too_large => Ok(Notes::default()),
        notes => notes,
    }
}

/// Returns the places of a hiera.yaml that a server reads differently. Puppet removes a byte order mark from it.
pub(crate) fn places_of_config(tree: &dyn FileTree, path: &str) -> Result<Notes, TreeError> {
    let Target::File(_, id) = follow(tree, path)? else { return Ok(Notes::default()) };
    let content = tree.read(id)?;
    let content = without_byte_order_mark(&content);
    DataFile::parse(content, Format::Yaml).read_otherwise(|| Ok(content))
}

impl DiffContext<'_> {
    /// Returns blind spots for changed files that only a server can read, or that the server of the settings reads
    /// differently from Ruby. Differences on other servers are added to the findings of both sides.
    pub(crate) fn read_otherwise(
        &self,
        files: &ChangedFiles,
        findings: &mut Diff<Vec<Finding>>,
    ) -> Result<Vec<BlindSpot>, TreeError> {
        let reached = self.reached(files)?;
        let ruby = self.revisions.after.environment.options.ruby;
        let mut unseen: BTreeMap<Kind, BTreeSet<String>> = BTreeMap::new();
        let sides = [&mut findings.before, &mut findings.after];
        for (revision, findings) in self.both_revisions().into_iter().zip(sides) {
            let configs = files.configs.iter().filter(|path| path.ends_with(HIERA_YAML));
            let configs = configs.map(|path| (path, places_of_config(&*revision.environment.tree, path)));
            let data = reached.iter().map(|path| (path, places_at(revision, path)));
            for (path, notes) in data.chain(configs).filter(|(path, _)| !self.accepted.has(READ_OTHERWISE, path)) {
                for (line, kind) in notes?.iter() {
                    if kind.effect() == Effect::Reads || kind.servers().have(ruby) {
                        unseen.entry(kind).or_default().insert(path.clone());
                    } else {
                        let place = Some(Place::line(path.as_str(), line));
                        let diagnostic = Diagnostic::warning(READ_OTHERWISE, place, kind.sentence("this file"));
                        findings.push(Finding { diagnostic, nodes: NodeSet::new() });
                    }
                }
            }
        }
        let spots = unseen.into_iter().map(|(kind, files)| spot_of(kind, files));
        Ok(spots.chain(self.order_of_globs(files)).collect())
    }

    /// Returns the changed data files that some node reads, even if a side is unreadable and no keys are looked up.
    fn reached(&self, files: &ChangedFiles) -> Result<BTreeSet<String>, TreeError> {
        if self.unreadable.before.is_none() && self.unreadable.after.is_none() {
            return Ok(files.reached.clone());
        }
        let changed = changed_paths(self.revisions)?;
        let mut reached = self.revisions.before.reached(&changed)?;
        reached.extend(self.revisions.after.reached(&changed)?);
        Ok(reached.into_iter().map(str::to_owned).collect())
    }

    /// Returns a blind spot for changed files that a glob finds along with others, if the settings name a Ruby of the
    /// server that does not sort them.
    fn order_of_globs(&self, files: &ChangedFiles) -> Option<BlindSpot> {
        if self.revisions.after.environment.options.ruby != Ruby::JRuby9_3 {
            return None;
        }
        let mut found = BTreeSet::new();
        for revision in self.both_revisions() {
            for (_, beside) in globs_of_several(revision) {
                found.extend(beside.into_iter().filter(|path| files.reached.contains(path)));
            }
        }
        found.retain(|path| !self.accepted.has(READ_OTHERWISE, path));
        let files = Vec::from_iter(found);
        (!files.is_empty()).then(|| BlindSpot {
            code: READ_OTHERWISE,
            headline: format!("the folder decides the order of {} and others", short(&files)),
            message: format!("{ORDER_OF_GLOB}: {}", wording::some(files.iter().map(String::as_str))),
            fix: Some(remedy(READ_OTHERWISE, "name the files with `paths`, in their order", &files)),
            files,
            ..BlindSpot::default()
        })
    }
}

fn places_at(revision: &Revision, path: &str) -> Result<Notes, TreeError> {
    let environment = &revision.environment;
    match follow(&*environment.tree, path)? {
        Target::File(_, id) => places(environment, id, &*environment.data_file(path, id)?),
        _ => Ok(Notes::default()),
    }
}

fn spot_of(kind: Kind, files: BTreeSet<String>) -> BlindSpot {
    let files = Vec::from_iter(files);
    let consequence = match kind.effect() {
        Effect::Refuses => "every lookup that sees it fails there",
        Effect::Differs => "values may be others there",
        Effect::Reads => "lookups that fail here may succeed there",
    };
    let names = wording::some(files.iter().map(String::as_str));
    BlindSpot {
        code: READ_OTHERWISE,
        headline: kind.sentence(&short(&files)),
        message: format!("{}: {consequence}", kind.sentence(&names)),
        fix: Some(remedy(READ_OTHERWISE, kind.remedy(), &files)),
        files,
        ..BlindSpot::default()
    }
}

/// Returns the globs that may find several files for one node, each with the files.
pub(crate) fn globs_of_several(revision: &Revision) -> Vec<(PlacedText, BTreeSet<String>)> {
    let environment = &revision.environment;
    let patterns = patterns(environment);
    let globs: Vec<_> = patterns.iter().filter(|pattern| pattern.level.locations.have_wildcards()).collect();
    if globs.is_empty() {
        return Vec::new();
    }
    let reached = revision.reached_files();
    let mut found = Vec::new();
    for glob in globs {
        let mut folders: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let names_folders = glob.declared.text.rsplit_once('/').is_some_and(|(folder, _)| folder.contains('*'));
        for path in reached.iter().filter(|path| glob.matches(path)) {
            let folder = if names_folders { "" } else { folder_of(path) };
            folders.entry(folder).or_default().insert(path.to_string());
        }
        let several = folders.into_values().filter(|files| files.len() > 1).flatten().collect::<BTreeSet<_>>();
        if !several.is_empty() {
            found.push((glob.declared.clone(), several));
        }
    }
    found
}
