//! Finds the changed lines that cause a change.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::allowance::Allowance;
use super::edits::{EditedLine, Edits};
use super::entries::normal;
use super::sources::Sources;
use super::trace::{Trace, root};
use crate::diff::{self, Change, Diff, LeafChange, LeafKind};
use crate::fleet::Revision;
use crate::hiera::Outcome;
use crate::node::{NodeId, NodeSet};
use crate::pipeline::blind_spots::changed_files::FileKind;
use crate::report::{Origin, Side, Source};
use crate::value::{Value, ValuePath};

/// The most entries that are tried for one change on one node.
const MAX_GROUPS: usize = 24;
/// The most sets of nodes with other files of one change.
const MAX_PARTS: usize = 24;

/// The lines that cause something, or `None` if they are not known.
pub(super) type Lines = Option<BTreeSet<usize>>;

/// A change with its causes.
#[derive(Default)]
pub(super) struct TracedChange {
    pub(super) leaves: Vec<TracedLeaf>,
    pub(super) lines: Lines,
    /// The causes on some of the nodes each.
    pub(super) parts: Vec<(NodeSet, Lines)>,
    /// The nodes of which nothing is known.
    pub(super) untraced: NodeSet,
}

/// A difference with its causes.
#[derive(Default)]
pub(super) struct TracedLeaf {
    pub(super) origin: Diff<Option<Origin>>,
    pub(super) sources: Diff<Vec<Source>>,
    pub(super) lines: Lines,
}

pub(super) struct Search<'a> {
    pub(super) revisions: Diff<&'a Revision>,
    pub(super) edits: &'a Edits,
}

/// A key on a node, on both sides.
struct OnNode<'a> {
    change: &'a Change,
    node: NodeId,
    allowance: &'a Allowance,
    trace: Diff<Trace>,
    leaves: Vec<Arc<LeafChange>>,
}

impl Search<'_> {
    /// Finds the causes of a change.
    pub(super) fn change(&self, change: &Change, allowance: &Allowance) -> TracedChange {
        let Some(first) = change.nodes.first() else { return TracedChange::default() };
        let Some(on_node) = self.on_node(change, first, allowance) else {
            return TracedChange { untraced: change.nodes.clone(), ..TracedChange::default() };
        };
        let groups = self.groups(&on_node);
        let (leaf_lines, lines) = self.lines(&on_node, &groups);
        let sources = Sources::new(self.revisions, self.edits, (&change.key, first, &on_node.trace));
        let of_leaf = |(leaf, lines): (&Arc<LeafChange>, Lines)| {
            let (origin, sources) = sources.of(leaf);
            TracedLeaf { origin, sources, lines }
        };
        let mut traced = TracedChange {
            leaves: change.leaves.iter().zip(leaf_lines).map(of_leaf).collect(),
            lines,
            ..TracedChange::default()
        };
        for (at, nodes) in self.parts(change, &groups).into_iter().enumerate() {
            let lines = match nodes.first() {
                Some(node) if node == first => traced.lines.clone(),
                Some(node) if at < MAX_PARTS => {
                    self.on_node(change, node, allowance).and_then(|on_node| self.add_part(&mut traced, &on_node))
                }
                _ => None,
            };
            if lines.is_none() {
                traced.untraced.union_with(&nodes);
            }
            traced.parts.push((nodes, lines));
        }
        traced
    }

    /// Adds what causes the change on another node.
    fn add_part(&self, traced: &mut TracedChange, on_node: &OnNode<'_>) -> Lines {
        let (leaves, lines) = self.lines(on_node, &self.groups(on_node));
        let add = |all: &mut Lines, more: &Lines| match (all, more) {
            (Some(all), Some(more)) => all.extend(more),
            (all @ None, Some(_)) => all.clone_from(more),
            (_, None) => {}
        };
        traced.leaves.iter_mut().zip(&leaves).for_each(|(leaf, lines)| add(&mut leaf.lines, lines));
        add(&mut traced.lines, &lines);
        lines
    }

    /// Looks the key up on a node. Returns `None` if that takes too much.
    fn on_node<'c>(&self, change: &'c Change, node: NodeId, allowance: &'c Allowance) -> Option<OnNode<'c>> {
        let trace = self.revisions.map(|revision| Trace::of(revision, node, &change.key, allowance));
        let trace = Diff::new(trace.before?, trace.after?);
        let is_first = change.nodes.first() == Some(node);
        let leaves = if change.leaves.is_empty() || is_first {
            change.leaves.clone()
        } else {
            diff::leaves(Diff::new(found(&trace.before.outcome), found(&trace.after.outcome)))
        };
        Some(OnNode { change, node, allowance, trace, leaves })
    }

    /// Returns the entries that differ and that one of the lookups may have read.
    fn groups(&self, on_node: &OnNode<'_>) -> Vec<usize> {
        let traces = [&on_node.trace.before, &on_node.trace.after];
        let mut groups: BTreeSet<usize> = BTreeSet::new();
        for (path, root) in traces.iter().flat_map(|trace| &trace.searched) {
            groups.extend(self.edits.groups_at(path, root));
        }
        let is_searched = |name: &Arc<str>| {
            name.starts_with('^')
                || root(&on_node.change.key) == *name
                || traces.iter().any(|trace| trace.roots.contains_key(name))
        };
        let options = self.edits.groups.iter().enumerate().filter(|(_, group)| {
            let nodes = &self.edits.all[group.edit].nodes;
            let is_read = nodes.before.contains(on_node.node) || nodes.after.contains(on_node.node);
            is_read && group.option.as_ref().is_some_and(is_searched)
        });
        groups.extend(options.map(|(at, _)| at));
        groups.into_iter().collect()
    }

    /// Divides the nodes of a change by the files with candidates that they read.
    fn parts(&self, change: &Change, groups: &[usize]) -> Vec<NodeSet> {
        let roots: BTreeSet<_> = groups.iter().map(|group| &self.edits.groups[*group].root).collect();
        let own = root(&change.key);
        let files: BTreeSet<usize> = self
            .edits
            .groups
            .iter()
            .filter(|group| roots.contains(&group.root) || group.root.as_ref() == Some(&own))
            .map(|group| group.edit)
            .collect();
        let mut parts = vec![change.nodes.clone()];
        for edit in files.into_iter().map(|edit| &self.edits.all[edit]) {
            for nodes in [&edit.nodes.before, &edit.nodes.after] {
                let split = |part: NodeSet| [part.intersection(nodes), part.difference(nodes)];
                parts = parts.into_iter().flat_map(split).filter(|part| !part.is_empty()).collect();
            }
            if parts.len() > MAX_PARTS * 2 {
                break;
            }
        }
        parts
    }

    /// Returns the lines that cause each difference, and the change as a whole.
    fn lines(&self, on_node: &OnNode<'_>, groups: &[usize]) -> (Vec<Lines>, Lines) {
        let unknown = || (vec![None; on_node.leaves.len()], None);
        if groups.len() > MAX_GROUPS {
            return unknown();
        }
        let has_config = self.edits.all.iter().any(|edit| edit.kind == FileKind::Config);
        let has_secrets = on_node.trace.before.steps.has_secrets() || on_node.trace.after.steps.has_secrets();
        // Nothing else that it read differs.
        if let ([only], false, false) = (groups, has_config, has_secrets) {
            let all = on_node.leaves.iter().map(|_| vec![*only]).collect();
            return self.lines_of(on_node, all, &[*only], &[]);
        }
        self.tried_lines(on_node, groups, has_config).unwrap_or_else(unknown)
    }

    /// Returns the lines that cause each difference, and the change as a whole, as trials show it. Returns `None` if
    /// they take too much.
    fn tried_lines(&self, on_node: &OnNode<'_>, groups: &[usize], has_config: bool) -> Option<(Vec<Lines>, Lines)> {
        let trial = Trial { search: self, on_node };
        let gone: Vec<Vec<bool>> = groups.iter().map(|group| trial.causes(&[*group])).collect::<Option<_>>()?;
        let mut by_leaf: Vec<Vec<usize>> = (0..trial.count())
            .map(|leaf| groups.iter().zip(&gone).filter(|(_, gone)| gone[leaf]).map(|(group, _)| *group).collect())
            .collect();
        let none = || vec![false; trial.count()];
        let without_all = if groups.is_empty() { none() } else { trial.gone(groups)? };
        let with_all = if groups.is_empty() { none() } else { trial.made(groups)? };
        for (leaf, causes) in by_leaf.iter_mut().enumerate() {
            if causes.is_empty() && without_all[leaf] {
                causes.extend(groups);
            }
        }
        let config_leaves: Vec<bool> =
            (0..trial.count()).map(|leaf| has_config && !(without_all[leaf] && with_all[leaf])).collect();
        let whole: BTreeSet<usize> = by_leaf.iter().flatten().copied().collect();
        Some(self.lines_of(on_node, by_leaf, &whole.into_iter().collect::<Vec<_>>(), &config_leaves))
    }

    /// Returns the lines of the entries that cause each difference, and with those that a hiera.yaml takes part in the
    /// lines of that.
    fn lines_of(
        &self,
        on_node: &OnNode<'_>,
        by_leaf: Vec<Vec<usize>>,
        whole: &[usize],
        config: &[bool],
    ) -> (Vec<Lines>, Lines) {
        let config_lines = if config.contains(&true) { self.config_lines() } else { BTreeSet::new() };
        let known = |lines: BTreeSet<usize>| Some(lines).filter(|lines| !lines.is_empty());
        if on_node.leaves.is_empty() {
            let mut lines: BTreeSet<usize> =
                whole.iter().flat_map(|group| self.edits.groups[*group].lines.values().flatten().copied()).collect();
            lines.extend(&config_lines);
            return (Vec::new(), known(lines));
        }
        let mut leaves = Vec::new();
        for (at, (leaf, groups)) in on_node.leaves.iter().zip(by_leaf).enumerate() {
            let mut lines = BTreeSet::new();
            for group in groups {
                lines.extend(self.leaf_lines(on_node, group, leaf));
            }
            if config.get(at) == Some(&true) {
                lines.extend(&config_lines);
            }
            leaves.push(known(lines));
        }
        let is_complete = leaves.iter().all(Option::is_some);
        let all = leaves.iter().flatten().flatten().copied().collect();
        (leaves, if is_complete { known(all) } else { None })
    }

    /// Returns the changed lines of configuration: each of them may decide which files are read.
    fn config_lines(&self) -> BTreeSet<usize> {
        let is_config = |line: &EditedLine| self.edits.all[line.edit].kind == FileKind::Config;
        let lines = self.edits.lines.iter().enumerate().filter(|(_, line)| line.is_text && is_config(line));
        lines.map(|(at, _)| at).collect()
    }

    /// Returns the lines of a group that belong to a difference.
    fn leaf_lines(&self, on_node: &OnNode<'_>, group: usize, leaf: &LeafChange) -> Vec<usize> {
        let of = &self.edits.groups[group];
        let all = || of.lines.values().flatten().copied().collect::<Vec<_>>();
        let (Some(root_key), None, Some(path)) = (&of.root, &of.option, leaf.path()) else { return all() };
        let is_own = *root_key == root(&on_node.change.key);
        let traces = [&on_node.trace.before, &on_node.trace.after];
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
        let found = starts.iter().map(|start| of.lines_at(start)).find(|lines| !lines.is_empty());
        let found = found.unwrap_or_else(all);
        if is_own { self.exact(group, found, leaf) } else { found }
    }

    /// Returns those of `lines` that hold an equal value, where items of an array are told apart by nothing else.
    fn exact(&self, group: usize, lines: Vec<usize>, leaf: &LeafChange) -> Vec<usize> {
        if leaf.kind == LeafKind::Reordered {
            return lines;
        }
        // Of the path of a line, as far as it leads to the item: shorter if the line is one around it.
        let place = |line: &usize| {
            let line = &self.edits.lines[*line];
            let part = line.side.of(&leaf.part).as_ref()?;
            let (_, path) = line.entries.iter().find(|(of, _)| *of == group)?;
            let length = path.0.len().min(part.path.0.len());
            Some((line.side, ValuePath(path.0[..length].to_vec()), part))
        };
        let is_around = |line: &usize| place(line).is_some_and(|(_, path, part)| path.0.len() < part.path.0.len());
        let is_exact = |line: &usize| {
            place(line).filter(|_| !is_around(line)).is_some_and(|(side, path, part)| {
                let value = self.edits.value(group, side).and_then(|value| path.of(value));
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

/// Trials of what would be without an edit, or with it alone. They return `None` if they take too much.
struct Trial<'a> {
    search: &'a Search<'a>,
    on_node: &'a OnNode<'a>,
}

impl Trial<'_> {
    /// Returns the number of differences; an error as a whole is one.
    fn count(&self) -> usize {
        self.on_node.leaves.len().max(1)
    }

    /// Tells of each difference if these entries cause it.
    fn causes(&self, groups: &[usize]) -> Option<Vec<bool>> {
        let gone = self.gone(groups)?;
        if gone.iter().all(|gone| *gone) {
            return Some(gone);
        }
        Some(gone.iter().zip(self.made(groups)?).map(|(gone, made)| *gone || made).collect())
    }

    /// Tells of each difference if it is gone when these entries are undone.
    fn gone(&self, groups: &[usize]) -> Option<Vec<bool>> {
        Some(self.there(groups, Side::After)?.into_iter().map(|there| !there).collect())
    }

    /// Tells of each difference if these entries alone make it.
    fn made(&self, groups: &[usize]) -> Option<Vec<bool>> {
        self.there(groups, Side::Before)
    }

    /// Tells of each difference if it is there when these entries are as on the other side than `base`.
    fn there(&self, groups: &[usize], base: Side) -> Option<Vec<bool>> {
        let Trial { search, on_node } = self;
        let replaced = search.edits.replaced(groups, base);
        let revision = base.of(&search.revisions);
        let other = on_node
            .allowance
            .look_up(|limit| revision.get_with(&on_node.change.key, on_node.node, &replaced, limit))?;
        let trace = on_node.trace.as_ref();
        if on_node.leaves.is_empty() {
            return Some(vec![is_same(&other, &trace.after.outcome)]);
        }
        if matches!(other, Outcome::Failed(_)) {
            return Some(vec![false; on_node.leaves.len()]);
        }
        let leaves = diff::leaves(Diff::new(found(&trace.before.outcome), found(&other)));
        let mut by_place: HashMap<(LeafKind, String), Vec<&LeafChange>> = HashMap::new();
        for leaf in &leaves {
            by_place.entry(place(leaf)).or_default().push(leaf);
        }
        let is_like = |a: &LeafChange, b: &LeafChange| a.kind == LeafKind::Reordered || values(a) == values(b);
        let is_there = |leaf: &Arc<LeafChange>| {
            by_place.get(&place(leaf)).is_some_and(|others| others.iter().any(|other| is_like(leaf, other)))
        };
        Some(on_node.leaves.iter().map(is_there).collect())
    }
}

fn values(leaf: &LeafChange) -> Diff<Option<&Value>> {
    leaf.part.as_ref().map(|part| part.as_ref().map(|part| &part.value))
}

fn place(leaf: &LeafChange) -> (LeafKind, String) {
    (leaf.kind, leaf.path().map(|path| normal(&path.0)).unwrap_or_default())
}

fn is_same(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        // Their places may differ: a file that was put together knows no lines.
        (Outcome::Failed(one), Outcome::Failed(other)) => one.text == other.text,
        _ => one == other,
    }
}

fn found(outcome: &Outcome) -> Option<&Value> {
    match outcome {
        Outcome::Found(value) => Some(value),
        _ => None,
    }
}
