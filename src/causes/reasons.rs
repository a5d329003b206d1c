//! Finds the reasons why an entry of data has no effect: one for each part of the nodes that read it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::allowance::Allowance;
use super::search::Search;
use super::trace::Trace;
use crate::diagnostic::Place;
use crate::diff::Diff;
use crate::fleet::{ReadFile, Revision};
use crate::hiera::Outcome;
use crate::hiera::backend::DataFile;
use crate::hiera::key::asks_for;
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeSet;
use crate::report::{Idle, NoEffect, Side};
use crate::value::{Segment, Value, ValuePath};

/// The maximum number of entries whose reasons are looked for.
const MAX_ENTRIES: usize = 500;

/// The maximum number of parts of nodes that are distinguished for one entry.
const MAX_PARTS: usize = 250;

/// The maximum number of parts of nodes beyond the first of each entry, for all entries together.
const MAX_FURTHER: usize = 1000;

/// The files of a revision that nodes read, by path.
type Files = BTreeMap<Arc<str>, ReadFile>;

/// Finds the reasons of entries, and keeps the lookups for them.
pub(super) struct Reasons<'a> {
    search: &'a Search<'a>,
    entries: HashMap<(usize, Side), Vec<SameFiles>>,
    /// The files that have one of the changed keys, or options.
    files: Option<Diff<Files>>,
    /// The number of further parts that may still be looked at.
    left: usize,
}

/// Nodes that read an entry along with the same files, and the lookups of its root key on one of them, or `None` if
/// these take too much work.
struct SameFiles {
    nodes: usize,
    traces: Option<Diff<Trace>>,
}

impl<'a> Reasons<'a> {
    pub(super) fn of(search: &'a Search<'a>) -> Reasons<'a> {
        Reasons { search, entries: HashMap::new(), files: None, left: MAX_FURTHER }
    }

    /// Returns the reasons why an entry has no effect, or `None` if finding them takes too much work.
    pub(super) fn find(&mut self, group: usize, side: Side, path: &ValuePath) -> Option<Idle> {
        let edits = self.search.edits;
        let entry = &edits.groups[group];
        let nodes = side.pick(&edits.all[entry.edit].nodes);
        let key = entry.root.as_ref().and_then(asks_for);
        let (Some(root), Some(key), None, false) = (&entry.root, key, &entry.option, nodes.is_empty()) else {
            return Some(NoEffect::Unused.into());
        };
        if !self.entries.contains_key(&(group, side)) {
            if self.entries.len() >= MAX_ENTRIES {
                return None;
            }
            let parts = self.look_up((root, &key), nodes);
            self.entries.insert((group, side), parts);
        }
        let parts = &self.entries[&(group, side)];
        let reason = |traces: &Diff<Trace>| self.reason(group, side, path, traces);
        Idle::of(parts.iter().map(|part| (part.nodes, part.traces.as_ref().map(reason))))
    }

    /// Looks a root key up, as `key`, on one node of each part of `nodes`, the largest first.
    fn look_up(&mut self, (root, key): (&Arc<str>, &str), nodes: &NodeSet) -> Vec<SameFiles> {
        let allowance = Allowance::share(self.search.steps, MAX_ENTRIES);
        let (mut parts, are_exact) = self.parts(root, nodes);
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        let mut looked_up = Vec::new();
        for part in &parts {
            let is_further = !looked_up.is_empty();
            let may_look_up = !is_further || (self.left > 0 && looked_up.len() < MAX_PARTS);
            let traces = part.first().filter(|_| may_look_up).and_then(|node| {
                let traces = (*self.search.views.of(node)).as_ref().map(|view| Trace::of(view, key, &allowance));
                Some(Diff::new(traces.before?, traces.after?))
            });
            self.left -= usize::from(is_further && may_look_up);
            // Nodes that were not distinguished may differ.
            let alike = if are_exact { part.len() } else { 1 };
            looked_up.push(SameFiles { nodes: alike, traces });
            looked_up.extend((alike < part.len()).then(|| SameFiles { nodes: part.len() - alike, traces: None }));
        }
        looked_up
    }

    /// Divides nodes by the files that they read and that have the key `root`, or options. Also returns false if a
    /// part may contain nodes that differ.
    fn parts(&mut self, root: &Arc<str>, nodes: &NodeSet) -> (Vec<NodeSet>, bool) {
        let search = self.search;
        let files = self.files.get_or_insert_with(|| {
            let keys: BTreeSet<&str> = search.edits.groups.iter().filter_map(|group| group.root.as_deref()).collect();
            search.revisions.map(|revision| files_with(revision, &keys))
        });
        let mut parts = vec![nodes.clone()];
        for read in files.before.values().chain(files.after.values()).filter(|read| has_any_key(&read.file, [&**root]))
        {
            let split = |part: NodeSet| [part.intersection(&read.nodes), part.difference(&read.nodes)];
            parts = parts.into_iter().flat_map(split).filter(|part| !part.is_empty()).collect();
            if parts.len() > MAX_PARTS {
                return (parts, false);
            }
        }
        (parts, true)
    }

    /// Returns the reason why an entry has no effect, given these lookups.
    fn reason(&self, group: usize, side: Side, path: &ValuePath, traces: &Diff<Trace>) -> NoEffect {
        let edits = self.search.edits;
        let edit = &edits.all[edits.groups[group].edit];
        let trace = side.pick(traces);
        let is_own = |place: &Place| edit.paths.contains(&place.path);
        let whole = ValuePath::default();
        let is_found = trace.contributions.iter().filter_map(|one| one.origin_of(&whole)).any(|o| is_own(&o.place));
        if !is_found {
            let first = trace.contributions.iter().find_map(|one| one.origin_of(&whole));
            return first.map_or(NoEffect::Unused, |first| NoEffect::Shadowed(first.place));
        }
        match trace.origin(path) {
            Some(origin) if is_own(&origin.place) => {
                let other = side.other().pick(traces).origin(path).map(|origin| origin.place);
                match other {
                    Some(place) if is_own(&place) => NoEffect::Equal,
                    Some(place) if edits.is_changed(side.other(), &place) => NoEffect::Moved(place),
                    Some(place) => NoEffect::Same(place),
                    None => NoEffect::Merged,
                }
            }
            Some(origin) if !is_of_collection(path, &trace.outcome) => NoEffect::Shadowed(origin.place),
            Some(_) | None => NoEffect::Merged,
        }
    }
}

/// Returns the files that nodes read and that have one of `keys`, or options.
fn files_with(revision: &Revision, keys: &BTreeSet<&str>) -> Files {
    revision.files_read(&|_, file| has_any_key(file, keys.iter().copied()))
}

/// Returns true if a file has one of `keys`, or options, or concerns all keys.
fn has_any_key<'k>(file: &DataFile, keys: impl IntoIterator<Item = &'k str>) -> bool {
    let Some(content) = file.content() else { return true };
    keys.into_iter().chain([LOOKUP_OPTIONS]).any(|key| content.get(key).is_some())
}

/// Returns true if the outcome has a collection, or an item of an array, at `path`, to which others may contribute.
fn is_of_collection(path: &ValuePath, outcome: &Outcome) -> bool {
    let Outcome::Found(value) = outcome else { return false };
    let is_item = path.0.iter().any(|segment| matches!(segment, Segment::Index(_)));
    is_item || matches!(path.value_in(value), Some(Value::Array(_) | Value::Hash(_)))
}
