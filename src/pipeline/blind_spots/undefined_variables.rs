//! Finds levels whose paths need a variable that a profile lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::changed_files::{ChangedFiles, data_file};
use super::variables::{UNDEFINED, fix, is_of_caller, plain};
use super::{DiffContext, wording};
use crate::fleet::Revision;
use crate::hiera::backend::DataFile;
use crate::hiera::key::asks_for;
use crate::hiera::layer::path_patterns::{PathPattern, patterns};
use crate::hiera::layer::{Environment, Root};
use crate::node::NodeSet;
use crate::report::BlindSpot;
use crate::tree::TreeError;

/// The nodes without a variable, and the changed files that it may lead to.
#[derive(Default, PartialEq)]
struct Undefined {
    nodes: NodeSet,
    files: BTreeSet<String>,
}

impl Undefined {
    fn joined(&self, other: &Undefined) -> Undefined {
        let mut nodes = self.nodes.clone();
        nodes.union_with(&other.nodes);
        Undefined { nodes, files: self.files.union(&other.files).cloned().collect() }
    }
}

impl DiffContext<'_> {
    /// Returns blind spots for variables that some profile lacks, if a path with one of them may lead to a changed
    /// file.
    pub(super) fn undefined_variables(&self, files: &ChangedFiles) -> Result<Vec<BlindSpot>, TreeError> {
        let [before, after] = self.both_revisions().map(|revision| self.undefined_at(revision, files));
        let (before, mut after) = (before?, after?);
        let mut spots: Vec<(String, Undefined, bool)> = Vec::new();
        for (name, found) in before {
            let other = after.remove(&name).unwrap_or_default();
            spots.push((name, found.joined(&other), found == other));
        }
        spots.extend(after.into_iter().map(|(name, found)| (name, found, false)));
        spots.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        let all = self.revisions.after.fleet.len();
        let spot = |(name, Undefined { nodes, files }, is_standing): (String, Undefined, bool)| {
            let headline = lacking(&name, &nodes, all);
            let read = read(&nodes);
            let files_text = wording::some(files.iter().map(String::as_str));
            BlindSpot {
                code: UNDEFINED,
                message: format!("{headline} in their profiles, so it is not known if {read} {files_text}"),
                headline,
                fix: Some(fix(&name)),
                nodes,
                files: files.into_iter().collect(),
                is_standing,
                ..BlindSpot::default()
            }
        };
        Ok(spots.into_iter().map(spot).collect())
    }

    /// Returns blind spots for variables that some profile lacks, and levels read, if changed manifests of the nodes'
    /// environment set them in a way that is not known.
    pub(super) fn variables_of_manifests(&self) -> Vec<BlindSpot> {
        let mut without: BTreeMap<String, (NodeSet, BTreeSet<&str>)> = BTreeMap::new();
        let both = self.both_revisions();
        for name in both.iter().flat_map(|revision| revision.environment.roots()).map(|root| &root.name) {
            let sides = both.map(|revision| revision.environment.root(name).map(|root| &root.main_manifests));
            let files = sides.map(|set| set.into_iter().flat_map(|set| &set.files).collect::<BTreeSet<_>>());
            let files: BTreeSet<&str> = files[0].symmetric_difference(&files[1]).map(|(path, _)| &**path).collect();
            for revision in both.into_iter().filter(|_| !files.is_empty()) {
                let Some(root) = revision.environment.root(name) else { continue };
                let of_root = nodes_of(revision, name);
                for variable in patterns(root).iter().flat_map(PathPattern::variables) {
                    let plain = plain(&variable);
                    let may_set = sides.into_iter().flatten().any(|set| set.may_set(plain));
                    if !may_set || is_of_caller(&variable) || self.accepted.has(UNDEFINED, plain) {
                        continue;
                    }
                    let nodes = of_root.intersection(&revision.fleet.nodes_without(&variable));
                    if !nodes.is_empty() {
                        let (known, of) = without.entry(plain.to_owned()).or_default();
                        known.union_with(&nodes);
                        of.extend(&files);
                    }
                }
            }
        }
        let spot = |(name, (nodes, files)): (String, (NodeSet, BTreeSet<&str>))| {
            let headline = lacking(&name, &nodes, self.revisions.after.fleet.len());
            let (files, read) = (wording::some(files.into_iter()), read(&nodes));
            BlindSpot {
                code: UNDEFINED,
                message: format!("{headline} in their profiles, and {files} may set it: it is not known what {read}"),
                headline,
                fix: Some(fix(&name)),
                nodes,
                ..BlindSpot::default()
            }
        };
        without.into_iter().map(spot).collect()
    }

    /// Returns the variables that some profile lacks, by their plain names.
    fn undefined_at(
        &self,
        revision: &Revision,
        files: &ChangedFiles,
    ) -> Result<BTreeMap<String, Undefined>, TreeError> {
        let mut found: BTreeMap<String, Undefined> = BTreeMap::new();
        for pattern in patterns(&revision.environment) {
            let led = self.led_to(&pattern, files, &revision.environment, files.changes_options)?;
            let is_fine =
                |name: &&String| led.is_empty() || is_of_caller(name) || self.accepted.has(UNDEFINED, plain(name));
            for variable in pattern.variables().iter().filter(|name| !is_fine(name)) {
                let nodes = revision.fleet.nodes_without(variable);
                if !nodes.is_empty() {
                    let known = found.entry(plain(variable).to_owned()).or_default();
                    known.nodes.union_with(&nodes);
                    known.files.extend(led.iter().cloned());
                }
            }
        }
        Ok(found)
    }

    /// Returns the changed files that a level may read. If its hiera.yaml changes, these are all files that it may
    /// read; `with_affected`, also those with affected keys.
    pub(super) fn led_to(
        &self,
        pattern: &PathPattern<'_>,
        files: &ChangedFiles,
        environment: &Environment,
        with_affected: bool,
    ) -> Result<Vec<String>, TreeError> {
        let is_led_to = |file: &&String| pattern.matches(file);
        let mut led: Vec<String> = files.all().filter(is_led_to).cloned().collect();
        let is_all = files.may_change_levels_of(pattern.config);
        if !is_all && !with_affected {
            return Ok(led);
        }
        for path in environment.data_files()?.files.iter().map(|(path, _)| path).filter(is_led_to) {
            let is_affected = |key: Arc<str>| self.affected.keys.contains_key(&key);
            let has_affected = |file: &DataFile| file.keys().iter().filter_map(asks_for).any(is_affected);
            if is_all || data_file(environment, path)?.is_some_and(|file| has_affected(&file)) {
                led.push(path.clone());
            }
        }
        Ok(led)
    }
}

/// Returns the nodes that are in an environment.
fn nodes_of(revision: &Revision, root: &Root) -> NodeSet {
    match root {
        Some(name) => revision.nodes_by_environment().remove(name).unwrap_or_default(),
        None => revision.fleet.all(),
    }
}

fn lacking(name: &str, nodes: &NodeSet, all: usize) -> String {
    let lack = if nodes.len() == 1 { "lacks" } else { "lack" };
    format!("{} {lack} the variable '{name}'", wording::nodes_of(nodes, all))
}

fn read(nodes: &NodeSet) -> &'static str {
    if nodes.len() == 1 { "it reads" } else { "they read" }
}
