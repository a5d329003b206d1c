//! Turns the causes of changes round: what each changed line does, or why it does nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::allowance::Allowance;
use super::edits::EditedLine;
use super::search::{Search, TracedChange};
use super::trace::{Trace, root};
use crate::diagnostic::Place;
use crate::diff::{Changes, Diff};
use crate::fleet::Effective;
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::pipeline::blind_spots::changed_files::FileKind;
use crate::report::{ChangedLines, Effect, NoEffect, Side, UnknownEffect};
use crate::value::ValuePath;

/// The most entries without effect whose reason is looked for.
const MAX_REASONS: usize = 500;

pub(super) struct Effects<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) changes: &'a Changes,
    pub(super) traced: &'a [TracedChange],
    pub(super) effective: Diff<&'a Effective>,
    pub(super) is_filtered: bool,
}

/// The lookups of the root key of a group on the first node that reads it; none if they take too much.
type Reasons = HashMap<(usize, Side), Option<Diff<Trace>>>;

impl Effects<'_> {
    /// Returns the changed lines, and for each edited line the position of those that it is among.
    pub(super) fn find(&self) -> (Vec<ChangedLines>, Vec<usize>) {
        let changed = self.changed();
        let untraced = self.untraced();
        let members = self.members();
        let mut reasons = Reasons::new();
        let lines = &self.search.edits.lines;
        let (mut found, mut positions): (Vec<ChangedLines>, Vec<usize>) = (Vec::new(), Vec::new());
        for (at, line) in lines.iter().enumerate() {
            let effect = match changed.get(&at) {
                Some((keys, nodes)) => Effect::Changes { keys: keys.clone(), nodes: nodes.clone() },
                None => self.no_effect(line, &untraced, &mut reasons),
            };
            let follows = |last: &ChangedLines| {
                let before = &lines[at - 1];
                (before.edit, before.side, before.number + 1) == (line.edit, line.side, line.number)
                    && members.get(&(at - 1)) == members.get(&at)
                    && last.effect == effect
            };
            match found.last_mut() {
                Some(last) if follows(last) => last.last = line.number,
                _ => found.push(ChangedLines {
                    place: Place::line(self.search.edits.all[line.edit].path.clone(), line.number),
                    last: line.number,
                    side: line.side,
                    effect,
                }),
            }
            positions.push(found.len() - 1);
        }
        (found, positions)
    }

    /// Returns the keys and nodes that each line changes.
    fn changed(&self) -> BTreeMap<usize, (BTreeSet<Arc<str>>, NodeSet)> {
        let mut changed: BTreeMap<usize, (BTreeSet<Arc<str>>, NodeSet)> = BTreeMap::new();
        for (change, traced) in self.changes.changes.iter().zip(self.traced) {
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

    /// Returns the nodes on which something changes whose causes are not known.
    fn untraced(&self) -> NodeSet {
        let beyond = self.changes.changes.iter().skip(self.traced.len()).map(|change| change.nodes.clone());
        let within = self.traced.iter().map(|traced| traced.untraced.clone());
        NodeSet::union_of(self.search.revisions.after.fleet.len(), beyond.chain(within))
    }

    /// Returns the differences that each line is a cause of.
    fn members(&self) -> HashMap<usize, Vec<(usize, usize)>> {
        let mut members: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
        for (change, traced) in self.traced.iter().enumerate() {
            traced.lines.iter().flatten().for_each(|line| members.entry(*line).or_default().push((change, usize::MAX)));
            for (at, leaf) in traced.leaves.iter().enumerate() {
                leaf.lines.iter().flatten().for_each(|line| members.entry(*line).or_default().push((change, at)));
            }
        }
        members
    }

    /// Returns the effect of a line that causes no change.
    fn no_effect(&self, line: &EditedLine, untraced: &NodeSet, reasons: &mut Reasons) -> Effect {
        let edit = &self.search.edits.all[line.edit];
        if !line.is_text || (edit.kind == FileKind::Data && line.entries.is_empty()) {
            return Effect::None(NoEffect::Equal);
        }
        if edit.kind == FileKind::Unreached {
            return Effect::Unknown(UnknownEffect::Unreached);
        }
        if self.is_filtered {
            return Effect::Unknown(UnknownEffect::Hidden);
        }
        let sides = [&edit.nodes.before, &edit.nodes.after];
        let is_config = edit.kind == FileKind::Config;
        if (is_config && !untraced.is_empty()) || sides.iter().any(|nodes| !nodes.intersection(untraced).is_empty()) {
            return Effect::Unknown(UnknownEffect::NotTraced);
        }
        if is_config {
            let is_hierarchy = edit.path.ends_with(".yaml");
            // Modules that come or go are elsewhere.
            return if is_hierarchy { Effect::None(NoEffect::Unused) } else { Effect::Unknown(UnknownEffect::Value) };
        }
        let [(group, path), ..] = &line.entries[..] else { return Effect::None(NoEffect::Equal) };
        if self.is_unknown(*group, &sides) {
            return Effect::Unknown(UnknownEffect::Value);
        }
        match self.reason(*group, line.side, path, reasons) {
            Some(reason) => Effect::None(reason),
            None => Effect::Unknown(UnknownEffect::NotTraced),
        }
    }

    /// Returns true if the lookup of a group's key fails on one of `nodes`: with other profiles it might not.
    fn is_unknown(&self, group: usize, nodes: &[&NodeSet]) -> bool {
        let key = self.search.edits.groups[group].root.as_deref();
        let is_of = |name: &str| key.is_none_or(|key| key == name || *root(name) == *key);
        let sides = [self.effective.before, self.effective.after];
        let of_key = |effective: &Effective| {
            effective
                .keys
                .iter()
                .filter(|(name, _)| is_of(name))
                .flat_map(|(_, answers)| answers.clone())
                .collect::<Vec<_>>()
        };
        sides.iter().flat_map(|effective| of_key(effective)).any(|answer| {
            matches!(&*answer.outcome, Outcome::Failed(_))
                && nodes.iter().any(|nodes| !nodes.intersection(&answer.nodes).is_empty())
        })
    }

    /// Returns the reason why an entry has no effect, as it is on the first node that reads it, or `None` if to find it
    /// takes too much.
    fn reason(&self, group: usize, side: Side, path: &ValuePath, reasons: &mut Reasons) -> Option<NoEffect> {
        let of = &self.search.edits.groups[group];
        let edit = &self.search.edits.all[of.edit];
        let (Some(key), None) = (&of.root, &of.option) else { return Some(NoEffect::Unused) };
        let Some(node) = side.of(&edit.nodes).first() else { return Some(NoEffect::Unused) };
        if reasons.len() >= MAX_REASONS && !reasons.contains_key(&(group, side)) {
            return None;
        }
        let traces = reasons.entry((group, side)).or_insert_with(|| {
            let allowance = Allowance::share(MAX_REASONS);
            let traces = self.search.revisions.map(|revision| Trace::of(revision, node, key, &allowance));
            Some(Diff::new(traces.before?, traces.after?))
        });
        let traces = traces.as_ref()?;
        let trace = side.of(traces);
        let is_own = |place: &Place| edit.paths.contains(&place.path);
        let whole = ValuePath::default();
        let is_found = trace.contributions.iter().filter_map(|one| one.origin_of(&whole)).any(|o| is_own(&o.place));
        if !is_found {
            let first = trace.contributions.iter().find_map(|one| one.origin_of(&whole));
            return Some(first.map_or(NoEffect::Unused, |first| NoEffect::Shadowed(first.place)));
        }
        Some(match trace.origin(path) {
            Some(origin) if is_own(&origin.place) => {
                let other = side.other().of(traces).origin(path).map(|origin| origin.place);
                match other {
                    Some(place) if is_own(&place) => NoEffect::Equal,
                    Some(place) => NoEffect::Same(place),
                    None => NoEffect::Merged,
                }
            }
            Some(origin) => NoEffect::Shadowed(origin.place),
            None => NoEffect::Merged,
        })
    }
}
