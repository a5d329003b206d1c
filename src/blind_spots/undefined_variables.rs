//! Finds levels whose paths need a variable that a profile lacks.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::files::changed::{ChangedFiles, data_file};
use super::levels::outside::unseen;
use super::levels::variables::{UNDEFINED, fix, is_of_caller, plain};
use super::{DiffContext, changed_nodes, wording};
use crate::fleet::{Fleet, Revision};
use crate::hiera::backend::{DataFile, Mentions};
use crate::hiera::key::{asks_for, root_of};
use crate::hiera::layer::path_patterns::{PathPattern, patterns};
use crate::hiera::layer::{Environment, Root};
use crate::node::NodeSet;
use crate::report::{BlindSpot, Remedy, UnseenLevel};
use crate::tree::TreeError;
use crate::value::Value;

/// The nodes without a variable, and the files that it may lead to: changed ones, or ones with keys that change.
#[derive(Default, PartialEq)]
struct Undefined {
    nodes: NodeSet,
    files: BTreeSet<String>,
    /// The manifests that may set it, in a way that is not known.
    set_by: BTreeSet<String>,
    /// The levels that need it, if the values shown may come from others in their place.
    levels: Vec<UnseenLevel>,
    /// True if the commit changes one of the files, and no other blind spot says that it may change values unseen.
    is_touched: bool,
}

impl Undefined {
    fn joined(&self, other: &Undefined) -> Undefined {
        let mut nodes = self.nodes.clone();
        nodes.union_with(&other.nodes);
        let union = |field: fn(&Undefined) -> &BTreeSet<String>| field(self).union(field(other)).cloned().collect();
        let (files, set_by) = (union(|undefined| &undefined.files), union(|undefined| &undefined.set_by));
        let mut levels = self.levels.clone();
        levels.extend(other.levels.iter().filter(|level| !self.levels.contains(level)).cloned());
        Undefined { nodes, files, set_by, levels, is_touched: self.is_touched || other.is_touched }
    }

    fn add(&mut self, nodes: &NodeSet, files: Vec<String>) {
        self.nodes.union_with(nodes);
        self.files.extend(files);
    }
}

impl DiffContext<'_> {
    /// Returns blind spots for variables that some profile lacks, if a path with one of them may lead to a changed
    /// file. For variables that no profile has, or that manifests set, a file with keys that change is enough.
    pub(super) fn undefined_variables(&self, files: &ChangedFiles) -> Result<Vec<BlindSpot>, TreeError> {
        let [before, after] = self.both_revisions().map(|revision| self.undefined_at(revision, files));
        let (before, mut after) = (before?, after?);
        let mut spots: Vec<(String, Undefined, bool)> = Vec::new();
        for (name, found) in before {
            let other = after.remove(&name).unwrap_or_default();
            let is_standing = found == other && !found.is_touched;
            spots.push((name, found.joined(&other), is_standing));
        }
        spots.extend(after.into_iter().map(|(name, found)| (name, found, false)));
        spots.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        let all = self.revisions.after.fleet.len();
        let spot = |(name, Undefined { nodes, files, set_by, levels, .. }, is_standing): (String, Undefined, bool)| {
            let headline = lacking(&name, &nodes, all);
            let read = read(&nodes);
            let files_text = wording::some(files.iter().map(String::as_str));
            let set = wording::some(set_by.iter().map(String::as_str));
            let set = if set_by.is_empty() { String::new() } else { format!(", and {set} may set it") };
            BlindSpot {
                code: UNDEFINED,
                message: format!("{headline} in their profiles{set}, so it is not known if {read} {files_text}"),
                headline,
                fix: Some(fix(&name, nodes.len() == all)),
                nodes,
                files: files.into_iter().collect(),
                is_standing,
                levels,
                ..BlindSpot::default()
            }
        };
        Ok(spots.into_iter().map(spot).collect())
    }

    /// Returns blind spots for variables that some profile lacks and that levels or data read, if changed manifests
    /// of the nodes' environment set them in an unknown way.
    pub(super) fn variables_of_manifests(&self) -> Result<Vec<BlindSpot>, TreeError> {
        let mut without: BTreeMap<String, (NodeSet, BTreeSet<&str>)> = BTreeMap::new();
        let both = self.both_revisions();
        for name in both.iter().flat_map(|revision| revision.environment.roots()).map(|root| &root.name) {
            let sides = both.map(|revision| revision.environment.root(name).map(|root| &root.main_manifests));
            let files = sides.map(|set| set.into_iter().flat_map(|set| &set.files).collect::<BTreeSet<_>>());
            let files: BTreeSet<&str> = files[0].symmetric_difference(&files[1]).map(|(path, _)| &**path).collect();
            for revision in both.into_iter().filter(|_| !files.is_empty()) {
                let Some(root) = revision.environment.root(name) else { continue };
                let of_root = nodes_of(revision, name);
                for variable in variables_of(revision, root)? {
                    let plain = plain(&variable);
                    let may_set = sides.into_iter().flatten().any(|set| set.may_set(plain));
                    if !may_set || is_of_caller(&variable, &revision.environment) || self.accepted.has(UNDEFINED, plain)
                    {
                        continue;
                    }
                    let nodes = of_root.intersection(&revision.fleet.nodes_without(&variable));
                    if !nodes.is_empty() {
                        let (known_nodes, known_files) = without.entry(plain.to_owned()).or_default();
                        known_nodes.union_with(&nodes);
                        known_files.extend(&files);
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
                fix: Some(fix(&name, nodes.len() == self.revisions.after.fleet.len())),
                nodes,
                ..BlindSpot::default()
            }
        };
        Ok(without.into_iter().map(spot).collect())
    }

    /// Returns the variables that some profile lacks, by their plain names.
    fn undefined_at(
        &self,
        revision: &Revision,
        files: &ChangedFiles,
    ) -> Result<BTreeMap<String, Undefined>, TreeError> {
        let mut found: BTreeMap<String, Undefined> = BTreeMap::new();
        let changed = changed_nodes(self.changes);
        for root in revision.environment.roots() {
            let (of_root, mut without) = (nodes_of(revision, &root.name), BTreeMap::new());
            for pattern in patterns(root) {
                let led = self.led_to(&pattern, files, root, files.changes_options)?;
                let is_fine = |name: &str| is_of_caller(name, root) || self.accepted.has(UNDEFINED, plain(name));
                let is_any = !led.is_empty() || !changed.is_empty();
                for variable in pattern.variables().into_iter().filter(|name| is_any && !is_fine(name)) {
                    let of_variable = || revision.fleet.nodes_without(variable).intersection(&of_root);
                    let nodes = without.entry(variable.to_owned()).or_insert_with(of_variable);
                    let led_nodes = nodes_led(&pattern, variable, nodes, &led, &revision.fleet);
                    if !led_nodes.is_empty() {
                        let undefined = found.entry(plain(variable).to_owned()).or_default();
                        undefined.add(&led_nodes, led.clone());
                        // A file that no node reads has its own blind spot.
                        let is_reported = |file: &&String| *nodes == of_root && files.unreached.contains(*file);
                        for file in led.iter().filter(|file| !is_reported(file)) {
                            undefined.is_touched |= !undefined.is_touched && self.changes_data(file, files)?;
                        }
                    }
                    let may_set = root.main_manifests.may_set(plain(variable));
                    if !may_set && *nodes != of_root {
                        continue;
                    }
                    if let Some(more) =
                        undefined_on_changed_nodes(root, &pattern, (nodes, revision.fleet.len()), &changed)?
                    {
                        let known = found.remove(plain(variable)).unwrap_or_default().joined(&more);
                        let manifests = root.main_manifests.files.iter().map(|(path, _)| path.clone());
                        let set_by = known.set_by.into_iter().chain(manifests.filter(|_| may_set)).collect();
                        found.insert(plain(variable).to_owned(), Undefined { set_by, ..known });
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns true if the commit changes the data in a file.
    fn changes_data(&self, path: &str, files: &ChangedFiles) -> Result<bool, TreeError> {
        if !files.has(path) {
            return Ok(false);
        }
        let [before, after] = self.both_revisions().map(|revision| data_file(&revision.environment, path));
        let (before, after) = (before?, after?);
        let [content_before, content_after] =
            [&before, &after].map(|file| file.as_ref().and_then(|file| file.content()));
        Ok(content_before.is_none() || content_before != content_after)
    }

    /// Returns the changed files that a level may read. If its hiera.yaml changes, these are all files that it may
    /// read; with `with_affected`, also those with affected keys.
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
        if is_all {
            led.extend(environment.data_files()?.files.iter().map(|(path, _)| path).filter(is_led_to).cloned());
        } else if environment.is_hiera3 {
            // All keys are presumed affected, so only changed ones are of interest.
            let changed: HashSet<&str> = self.changes.changes.iter().map(|change| &*change.key).collect();
            led.extend(files_with(environment, pattern, |file| has_or_refers_to(file, &changed))?);
        } else {
            let is_affected = |key: &Arc<str>| self.affected.keys.contains_key(key);
            led.extend(files_with(environment, pattern, |file| has_key(file, is_affected))?);
        }
        Ok(led)
    }
}

/// Returns the files that nodes may read by facts that their profiles lack, with the remedy.
pub(super) fn fact_remedies(spots: &[BlindSpot]) -> Vec<(BTreeSet<String>, Remedy)> {
    let of_fact = |spot: &BlindSpot| {
        let fix = spot.fix.clone().filter(|fix| fix.yaml.is_none())?;
        Some((spot.files.iter().cloned().collect(), fix))
    };
    spots.iter().filter_map(of_fact).collect()
}

/// The maximum number of comparisons of a value with a file for a variable. With more, no nodes are ruled out by it.
const MOST_COMPARED: usize = 1_000_000;

/// Returns those of the `nodes` without a variable on which a level may read one of `files`, given the values of the
/// other variables in its path.
fn nodes_led(pattern: &PathPattern<'_>, variable: &str, nodes: &NodeSet, files: &[String], fleet: &Fleet) -> NodeSet {
    let mut led = if files.is_empty() { NodeSet::new() } else { nodes.clone() };
    for other in pattern.variables().into_iter().filter(|other| plain(other) != plain(variable)) {
        if led.is_empty() {
            break;
        }
        let known = fleet.values_of(other, &led).known;
        if known.len().saturating_mul(files.len()) > MOST_COMPARED {
            continue;
        }
        let is_away = |value: &Option<Value>| match value {
            Some(Value::String(text)) if !text.contains("%{") => {
                !files.iter().any(|file| pattern.matches_where(file, (other, text)))
            }
            _ => false,
        };
        let away = known.into_iter().filter(|(value, _)| is_away(value)).map(|(_, on)| on);
        led = led.difference(&NodeSet::union_of(fleet.len(), away));
    }
    led
}

/// Returns the `nodes` on which keys change for which a level may have a value, and the files with such keys that it
/// may read.
fn undefined_on_changed_nodes(
    root: &Environment,
    pattern: &PathPattern<'_>,
    (nodes, all): (&NodeSet, usize),
    changed: &BTreeMap<&Arc<str>, NodeSet>,
) -> Result<Option<Undefined>, TreeError> {
    let on: Vec<NodeSet> = changed.values().map(|on| on.intersection(nodes)).filter(|on| !on.is_empty()).collect();
    if on.is_empty() {
        return Ok(None);
    }
    let files = files_with(root, pattern, |file| has_key(file, |key| changed.contains_key(key)))?;
    let levels = vec![unseen(root, pattern.level)];
    let found = Undefined {
        nodes: NodeSet::union_of(all, on),
        files: files.into_iter().collect(),
        levels,
        ..Undefined::default()
    };
    Ok(Some(found).filter(|found| !found.files.is_empty()))
}

/// Returns the wanted files among those that a level may read.
fn files_with(
    environment: &Environment,
    pattern: &PathPattern<'_>,
    is_wanted: impl Fn(&DataFile) -> bool,
) -> Result<Vec<String>, TreeError> {
    let mut found = Vec::new();
    for (path, _) in environment.data_files()?.files.iter().filter(|(path, _)| pattern.matches(path)) {
        if data_file(environment, path)?.is_some_and(|file| is_wanted(&file)) {
            found.push(path.clone());
        }
    }
    Ok(found)
}

/// Returns true if a data file has a wanted key.
fn has_key(file: &DataFile, is_wanted: impl Fn(&Arc<str>) -> bool) -> bool {
    file.keys().iter().filter_map(asks_for).any(|key| is_wanted(&key))
}

/// Returns the variables that an environment's levels read, and the data in files that some node reads.
fn variables_of(revision: &Revision, root: &Environment) -> Result<BTreeSet<String>, TreeError> {
    let of_levels = patterns(root);
    let of_levels = of_levels.iter().flat_map(PathPattern::variables);
    let mut found: BTreeSet<String> = of_levels.map(str::to_owned).collect();
    for path in revision.reached_files() {
        let Some(file) = data_file(root, &path)? else { continue };
        found.extend(
            file.mentions().iter().flat_map(|(_, mentions)| &mentions.variables).map(|name| root_of(name).to_string()),
        );
    }
    Ok(found)
}

/// Returns true if a data file has, or refers to, one of these keys.
fn has_or_refers_to(file: &DataFile, keys: &HashSet<&str>) -> bool {
    let is_one = |key: &Arc<str>| keys.contains(&**key);
    let refers = |mentions: &Mentions| mentions.anything || mentions.keys.iter().any(is_one);
    file.keys().iter().any(is_one) || file.mentions().iter().any(|(_, mentions)| refers(mentions))
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
