//! Turns the causes of changes around: finds what each changed line does, or why it does nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::bonds::Bonds;
use super::edits::{ConfigPart, EditedLine};
use super::reasons::Reasons;
use super::search::{Search, Traced};
use crate::blind_spots::files::changed::FileKind;
use crate::diagnostic::Place;
use crate::diff::{Changes, Diff};
use crate::fleet::Effective;
use crate::hiera::Outcome;
use crate::hiera::key::{asks_for, root_of};
use crate::node::NodeSet;
use crate::report::{BlindSpot, ChangedLines, Effect, HIDDEN, NoEffect, UnknownEffect};

/// The maximum number of pairs of lines that are reported as belonging together.
const MAX_PAIRS: usize = 200_000;

pub(super) struct Effects<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) changes: &'a Changes,
    pub(super) traced: &'a [Traced],
    pub(super) effective: Diff<&'a Effective>,
    pub(super) bonds: &'a Bonds,
    pub(super) blind_spots: &'a [BlindSpot],
}

/// The state of the search for reasons why lines do nothing.
struct ReasonSearch<'a> {
    reasons: Reasons<'a>,
    /// For each level, true if it leads no node to any data.
    levels: HashMap<usize, bool>,
    /// True if at most one part of the configuration changes.
    is_lone: bool,
    failing: Failing,
}

/// The nodes on which lookups fail, or may find something other than is shown, on either side: by root key, and all
/// together.
#[derive(Default)]
struct Failing {
    by_root: HashMap<Arc<str>, NodeSet>,
    all: NodeSet,
}

impl Failing {
    fn of(effective: &Diff<&Effective>, blind_spots: &[BlindSpot]) -> Failing {
        let mut failing = Failing::default();
        for spot in blind_spots.iter().filter(|spot| !spot.is_standing) {
            for key in &spot.keys {
                failing.by_root.entry(root_of(key)).or_default().union_with(&spot.nodes);
            }
        }
        for (key, answers) in [effective.before, effective.after].into_iter().flat_map(|side| &side.keys) {
            for answer in answers.iter().filter(|answer| matches!(&*answer.outcome, Outcome::Failed(_))) {
                failing.all.union_with(&answer.nodes);
                failing.by_root.entry(root_of(key)).or_default().union_with(&answer.nodes);
            }
        }
        failing
    }

    /// Returns the nodes on which the key fails; without a key, those on which any key fails.
    fn nodes(&self, root: Option<&str>) -> Option<&NodeSet> {
        root.map_or(Some(&self.all), |root| self.by_root.get(root))
    }
}

/// Returns the name of the key that a line is below.
fn shown_key(line: &EditedLine) -> Option<Arc<str>> {
    line.root.as_ref().map(|root| asks_for(root).unwrap_or_else(|| root.clone()))
}

impl Effects<'_> {
    /// Returns the changed lines, and for each edited line the position of the changed lines that it belongs to.
    /// Without `with_idle`, leaves out the lines that cause nothing, and their positions mean nothing.
    pub(super) fn find(&self, with_idle: bool) -> (Vec<ChangedLines>, Vec<usize>) {
        let changed = self.changed();
        let untraced = self.untraced();
        let members = self.members();
        let mut why = ReasonSearch {
            reasons: Reasons::of(self.search),
            levels: HashMap::new(),
            is_lone: self.search.edits.config_groups().len() < 2,
            failing: Failing::of(&self.effective, self.blind_spots),
        };
        let lines = &self.search.edits.lines;
        let (mut found, mut positions): (Vec<ChangedLines>, Vec<usize>) = (Vec::new(), Vec::new());
        for (at, line) in lines.iter().enumerate() {
            let effect = match changed.get(&at) {
                Some((keys, nodes)) => Effect::Changes { keys: keys.clone(), nodes: nodes.clone() },
                None if !with_idle => {
                    positions.push(0);
                    continue;
                }
                None => self.no_effect(line, &untraced, &mut why),
            };
            let follows = |last: &ChangedLines| {
                let before = &lines[at - 1];
                (before.edit, before.side, before.number + 1) == (line.edit, line.side, line.number)
                    && members.get(&(at - 1)) == members.get(&at)
                    && last.effect == effect
                    && before.shown.is_some() == line.shown.is_some()
            };
            match found.last_mut() {
                Some(last) if follows(last) => {
                    last.last = line.number;
                    last.keys.extend(shown_key(line).filter(|key| last.keys.last() != Some(key)));
                }
                _ => found.push(ChangedLines {
                    place: Place::line(self.search.edits.all[line.edit].path.clone(), line.number),
                    last: line.number,
                    file: self.search.edits.all[line.edit].change,
                    side: line.side,
                    effect,
                    with: Vec::new(),
                    keys: shown_key(line).into_iter().collect(),
                    text: Vec::new(),
                }),
            }
            if let Some(last) = found.last_mut() {
                last.text.extend(line.shown.clone());
            }
            positions.push(found.len() - 1);
        }
        (found, positions)
    }

    /// Adds to each of `lines` those that have to be undone with it. `positions` has the index of each edited line.
    pub(super) fn add_bonds(&self, lines: &mut [ChangedLines], positions: &[usize]) {
        let positions_of = |lines: &BTreeSet<usize>| lines.iter().map(|line| positions[*line]).collect::<BTreeSet<_>>();
        let mut with: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut left = MAX_PAIRS;
        let mut add = |lines: &BTreeSet<usize>, others: &BTreeSet<usize>| {
            if let Some(rest) = left.checked_sub(lines.len() * others.len()) {
                left = rest;
                for line in lines {
                    with.entry(*line).or_default().extend(others);
                }
            }
        };
        for bond in &self.bonds.all {
            add(&positions_of(&bond.lines), &positions_of(&bond.with));
        }
        for all in self.config_lines(positions).chain(self.equal_key_lines(lines, positions)) {
            add(&all, &all);
        }
        for (line, mut others) in with {
            others.remove(&line);
            lines[line].with = others.into_iter().collect();
        }
    }

    /// Returns the lines of each key that only spell it differently, with its other lines in the same hunks: a single
    /// line may have another place in the order of the key, or be a duplicate.
    fn equal_key_lines(&self, lines: &[ChangedLines], positions: &[usize]) -> Vec<BTreeSet<usize>> {
        let mut hunks: BTreeSet<(usize, &Arc<str>, u32)> = BTreeSet::new();
        let mut equal: BTreeMap<(usize, &Arc<str>), BTreeSet<usize>> = BTreeMap::new();
        let all = || self.search.edits.lines.iter().zip(positions).filter(|(line, _)| line.is_text);
        for (line, position) in all() {
            if let (Some(root), true) = (&line.root, lines[*position].effect.is_of_equal_data()) {
                equal.entry((line.edit, root)).or_default().insert(*position);
                hunks.insert((line.edit, root, line.hunk));
            }
        }
        for (line, position) in all() {
            let root = line.root.as_ref().filter(|root| hunks.contains(&(line.edit, root, line.hunk)));
            if let Some(found) = root.and_then(|root| equal.get_mut(&(line.edit, root))) {
                found.insert(*position);
            }
        }
        equal.into_values().collect()
    }

    /// Returns the lines of each part of the configuration.
    fn config_lines(&self, positions: &[usize]) -> impl Iterator<Item = BTreeSet<usize>> {
        let groups = &self.search.edits.groups;
        let config_groups = self.search.edits.config_groups().into_iter();
        config_groups.map(|group| groups[group].all_lines().map(|line| positions[line]).collect())
    }

    /// Returns the keys and nodes that each line changes.
    fn changed(&self) -> BTreeMap<usize, (BTreeSet<Arc<str>>, NodeSet)> {
        let mut changed: BTreeMap<usize, (BTreeSet<Arc<str>>, NodeSet)> = BTreeMap::new();
        for (change, traced) in self.traced.iter().map(|(at, traced)| (&self.changes.changes[*at], traced)) {
            let of_leaves = traced.leaves.iter().filter_map(|leaf| leaf.lines.as_ref());
            let on_first = of_leaves.flatten().map(|line| (line, traced.parts.first().map(|(nodes, _)| nodes)));
            let on_parts = traced
                .parts
                .iter()
                .flat_map(|(nodes, lines)| lines.iter().flatten().map(move |line| (line, Some(nodes))));
            for (line, nodes) in on_parts.chain(on_first) {
                let (keys, all) = changed.entry(*line).or_default();
                keys.insert(change.key.clone());
                if let Some(nodes) = nodes {
                    all.union_with(nodes);
                }
            }
        }
        changed
    }

    /// Returns the nodes with changes whose causes are unknown.
    fn untraced(&self) -> NodeSet {
        let is_traced: HashSet<usize> = self.traced.iter().map(|(at, _)| *at).collect();
        let all = self.changes.changes.iter().enumerate();
        let beyond = all.filter(|(at, _)| !is_traced.contains(at)).map(|(_, change)| change.nodes.clone());
        let within = self.traced.iter().map(|(_, traced)| traced.untraced.clone());
        NodeSet::union_of(self.search.revisions.after.fleet.len(), beyond.chain(within))
    }

    /// Returns the differences that each line is a cause of.
    fn members(&self) -> HashMap<usize, Vec<(usize, usize)>> {
        let mut members: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
        for (change, traced) in self.traced {
            traced
                .lines
                .iter()
                .flatten()
                .for_each(|line| members.entry(*line).or_default().push((*change, usize::MAX)));
            for (at, leaf) in traced.leaves.iter().enumerate() {
                leaf.lines.iter().flatten().for_each(|line| members.entry(*line).or_default().push((*change, at)));
            }
        }
        members
    }

    /// Returns the effect of a line that causes no change.
    fn no_effect(&self, line: &EditedLine, untraced: &NodeSet, why: &mut ReasonSearch<'_>) -> Effect {
        let edit = &self.search.edits.all[line.edit];
        if !line.is_text || (edit.kind == FileKind::Data && line.entries.is_empty()) {
            return Effect::None(NoEffect::Equal.into());
        }
        match edit.kind {
            FileKind::Unreached => return Effect::Unknown(UnknownEffect::Unreached),
            FileKind::Opaque => return Effect::Unknown(UnknownEffect::Function),
            FileKind::Data | FileKind::Config => {}
        }
        if self.blind_spots.iter().any(|spot| spot.code == HIDDEN) {
            return Effect::Unknown(UnknownEffect::Hidden);
        }
        let sides = [&edit.nodes.before, &edit.nodes.after];
        let is_config = edit.kind == FileKind::Config;
        if (is_config && !untraced.is_empty()) || sides.iter().any(|nodes| !nodes.intersection(untraced).is_empty()) {
            return Effect::Unknown(UnknownEffect::NotTraced);
        }
        if is_config {
            return self.no_effect_of_config(line, why);
        }
        let [(group, path), ..] = &line.entries[..] else { return Effect::None(NoEffect::Equal.into()) };
        if self.is_unknown(*group, &sides, &why.failing) {
            return Effect::Unknown(UnknownEffect::Value);
        }
        if line.entries.iter().any(|(group, _)| self.bonds.unknown.contains(group)) {
            return Effect::Unknown(UnknownEffect::NotTraced);
        }
        match why.reasons.find(*group, line.side, path) {
            Some(reasons) => Effect::None(reasons),
            None => Effect::Unknown(UnknownEffect::NotTraced),
        }
    }

    /// Returns the effect of a line of configuration that causes no change.
    fn no_effect_of_config(&self, line: &EditedLine, why: &mut ReasonSearch<'_>) -> Effect {
        let edits = self.search.edits;
        if !edits.all[line.edit].path.ends_with(".yaml") {
            // Modules that are added or removed have their data elsewhere.
            return Effect::Unknown(UnknownEffect::Value);
        }
        let mut is_idle = |group: usize| *why.levels.entry(group).or_insert_with(|| self.is_idle(group));
        // Each of several levels may hide the effect of another one.
        let nothing_changes = self.changes.changes.is_empty() && why.failing.all.is_empty() && self.sees_all();
        if why.is_lone || nothing_changes || line.entries.iter().all(|(group, _)| is_idle(*group)) {
            Effect::None(NoEffect::Unused.into())
        } else {
            Effect::Unknown(UnknownEffect::NotTraced)
        }
    }

    /// Returns true if the commit cannot change anything unseen.
    fn sees_all(&self) -> bool {
        self.blind_spots.iter().all(|spot| spot.is_standing)
    }

    /// Returns true for a level that leads no node to any data, on either side.
    fn is_idle(&self, group: usize) -> bool {
        let entry = &self.search.edits.groups[group];
        let Some(ConfigPart::Level(name)) = &entry.config else { return false };
        let path = &self.search.edits.all[entry.edit].path;
        self.search.revisions.map(|revision| !revision.has_data_at(path, name)) == Diff::new(true, true)
    }

    /// Returns true if the lookup of a group's key fails on one of `nodes`: with other profiles it might not.
    fn is_unknown(&self, group: usize, nodes: &[&NodeSet], failing: &Failing) -> bool {
        let failing = failing.nodes(self.search.edits.groups[group].root.as_deref());
        failing.is_some_and(|failing| nodes.iter().any(|nodes| !nodes.intersection(failing).is_empty()))
    }
}
