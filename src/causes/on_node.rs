//! A key on a node, on both sides: the edits that may concern it, and their lines.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::allowance::Allowance;
use super::edits::Edits;
use super::edits::entries::normal;
use super::trace::Trace;
use super::views::View;
use crate::diff::{Diff, LeafChange, LeafKind};
use crate::hiera::Outcome;
use crate::hiera::key::root_of;
use crate::node::NodeId;
use crate::value::{Value, ValuePath};

/// A key on a node, on both sides.
pub(super) struct OnNode<'a> {
    pub(super) revisions: View<'a>,
    pub(super) edits: &'a Edits,
    pub(super) key: &'a Arc<str>,
    root: Arc<str>,
    pub(super) node: NodeId,
    pub(super) allowance: &'a Allowance,
    pub(super) trace: Diff<Trace>,
}

impl<'a> OnNode<'a> {
    /// Looks `key` up on a node. Returns `None` if that takes too much work.
    pub(super) fn new(
        (revisions, edits): (View<'a>, &'a Edits),
        key: &'a Arc<str>,
        node: NodeId,
        allowance: &'a Allowance,
    ) -> Option<OnNode<'a>> {
        let trace = (*revisions).as_ref().map(|revision| Trace::of(revision, key, allowance));
        let trace = Diff::new(trace.before?, trace.after?);
        Some(OnNode { revisions, edits, key, root: root_of(key), node, allowance, trace })
    }

    /// Returns the edits that one of the lookups may have read.
    pub(super) fn groups(&self) -> Vec<usize> {
        let traces = [&self.trace.before, &self.trace.after];
        let mut groups: BTreeSet<usize> = BTreeSet::new();
        for (path, root) in traces.iter().flat_map(|trace| &trace.searched) {
            groups.extend(self.edits.index.at(path, root));
        }
        let is_no_data = |group: &usize| {
            let group = &self.edits.groups[*group];
            group.config.is_some() || group.option.is_some()
        };
        groups.extend(self.relevant().into_iter().filter(is_no_data));
        groups.into_iter().collect()
    }

    /// Returns the edits that any lookup may read, whichever of them are undone.
    pub(super) fn relevant(&self) -> Vec<usize> {
        let index = &self.edits.index;
        let mut names: BTreeSet<&str> = BTreeSet::from([&*self.root]);
        names.extend(
            [&self.trace.before, &self.trace.after].iter().flat_map(|trace| trace.roots.keys()).map(|name| &**name),
        );
        let mut groups: BTreeSet<usize> = index.of_any_key().collect();
        groups.extend(names.into_iter().flat_map(|name| index.needed_by(name)));
        groups.into_iter().filter(|group| self.is_read(*group)).collect()
    }

    /// Returns true if the node reads the file of a group.
    fn is_read(&self, group: usize) -> bool {
        let group = &self.edits.groups[group];
        let nodes = &self.edits.all[group.edit].nodes;
        group.config.is_some() || nodes.before.contains(self.node) || nodes.after.contains(self.node)
    }

    /// Returns the lines of a group that belong to a difference.
    pub(super) fn leaf_lines(&self, group: usize, leaf: &LeafChange) -> Vec<usize> {
        let entry = &self.edits.groups[group];
        let all_lines = || entry.all_lines().collect::<Vec<_>>();
        let (Some(root_key), None, Some(path)) = (&entry.root, &entry.option, leaf.path()) else { return all_lines() };
        let is_own = *root_key == self.root;
        let traces = [&self.trace.before, &self.trace.after];
        let mut starts: Vec<String> = Vec::new();
        let digs: BTreeSet<&Vec<String>> =
            traces.iter().filter_map(|trace| trace.roots.get(root_key)).flatten().collect();
        if is_own {
            starts.push(normal(&path.0));
        }
        for dig in digs {
            let dig: String = dig.iter().flat_map(|name| ["\u{1}", &**name]).collect();
            let ends = (0..=path.0.len()).map(|from| format!("{dig}{}", normal(&path.0[from..])));
            starts.extend(ends.filter(|_| !is_own || !dig.is_empty()));
        }
        let found = starts.iter().map(|start| entry.lines_at(start)).find(|lines| !lines.is_empty());
        let found = found.unwrap_or_else(all_lines);
        if is_own { self.exact(group, found, leaf) } else { found }
    }

    /// Returns the `lines` with an equal value, if nothing else distinguishes the items of an array.
    fn exact(&self, group: usize, lines: Vec<usize>, leaf: &LeafChange) -> Vec<usize> {
        if leaf.kind == LeafKind::Reordered {
            return lines;
        }
        // The part of a line's path that leads to the item. It is shorter if the line is around the item.
        let place = |line: &usize| {
            let line = &self.edits.lines[*line];
            let part = line.side.pick(&leaf.part).as_ref()?;
            let (_, path) = line.entries.iter().find(|(line_group, _)| *line_group == group)?;
            let length = path.0.len().min(part.path.0.len());
            Some((line.side, ValuePath(path.0[..length].to_vec()), part))
        };
        let is_around = |line: &usize| place(line).is_some_and(|(_, path, part)| path.0.len() < part.path.0.len());
        let is_exact = |line: &usize| {
            place(line).filter(|_| !is_around(line)).is_some_and(|(side, path, part)| {
                let value = self.edits.value(group, side).and_then(|value| path.value_in(value));
                value.is_some_and(|value| value.eql(&part.value))
            })
        };
        let has_items = |path: &ValuePath| normal(&path.0).contains("\u{1}[]");
        if !leaf.path().is_some_and(has_items) || !lines.iter().any(is_exact) {
            return lines;
        }
        lines.into_iter().filter(|line| is_around(line) || is_exact(line)).collect()
    }
}

/// Returns the value of an outcome.
pub(super) fn found_value(outcome: &Outcome) -> Option<&Value> {
    match outcome {
        Outcome::Found(value) => Some(value),
        _ => None,
    }
}
