//! The JSON form of the changes of keys, and of their groups.

use std::collections::HashMap;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::tables::Tables;
use super::{WireChange, WireGroup, template};
use crate::node::{NodeId, NodeSet};
use crate::report::words::node_list;
use crate::report::{Group, KeyChange, Report};

/// The maximum width of a description of nodes, in columns.
const MAX_WHO: usize = 200;

/// The changes of a report. Those of one key are ordered by their first nodes.
pub(super) struct WireChanges<'a> {
    all: Vec<Listed<'a>>,
    tables: &'a Tables<'a>,
}

/// A change to write.
struct Listed<'a> {
    /// The position in the report, which all variants of a change share.
    at: usize,
    change: &'a KeyChange,
    /// Its first node.
    first: NodeId,
    /// The position of its set of nodes.
    nodes: usize,
    /// True if it is one of the variants of the change.
    is_variant: bool,
}

impl<'a> WireChanges<'a> {
    /// Makes the list of some changes with their positions in the report. With `full`, each variant of a change is one.
    pub(super) fn new(
        changes: impl Iterator<Item = (usize, &'a KeyChange)>,
        full: bool,
        tables: &'a Tables<'a>,
    ) -> WireChanges<'a> {
        let (mut all, mut start) = (Vec::new(), 0);
        let changes: Vec<(usize, &KeyChange)> = changes.collect();
        for of_key in changes.chunk_by(|(_, a), (_, b)| a.key == b.key) {
            for (at, change) in of_key {
                let mut add = |first: Option<NodeId>, nodes, is_variant| {
                    let first = first.unwrap_or(NodeId(0));
                    all.push(Listed { at: *at, change, first, nodes, is_variant });
                };
                match change.variants.as_ref().filter(|_| full) {
                    None => add(change.nodes.first(), tables.sets.number(&change.nodes), false),
                    Some(variants) => {
                        let classes = variants.classes(&change.nodes, usize::MAX).into_iter();
                        classes.for_each(|nodes| add(nodes.first(), tables.sets.number_of_own(nodes), true));
                    }
                }
            }
            all[start..].sort_by_key(|change| change.first);
            start = all.len();
        }
        WireChanges { all, tables }
    }

    /// Returns the groups of a report, with the positions of their changes.
    pub(super) fn groups(&self, report: &'a Report) -> Vec<WireGroup> {
        let mut numbers: HashMap<usize, Vec<usize>> = HashMap::new();
        self.all.iter().enumerate().for_each(|(number, change)| numbers.entry(change.at).or_default().push(number));
        let group = |group: &'a Group| {
            let changes = group.items.iter().flat_map(|item| std::iter::once(&item.first).chain(&item.others));
            let mut changes: Vec<usize> = changes.filter_map(|at| numbers.get(at)).flatten().copied().collect();
            changes.sort_unstable();
            let who = node_list::which(report, group, MAX_WHO);
            let who = who.map_or_else(|| report.share_of(group.nodes.len()), |(but, who)| format!("{but}{who}"));
            WireGroup { nodes: self.tables.sets.number(&group.nodes), who, changes, apart: group.is_apart }
        };
        report.groups.iter().map(group).collect()
    }
}

impl Serialize for WireChanges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.all.len()))?;
        let places = &self.tables.places;
        for Listed { change, first, nodes, is_variant, .. } in &self.all {
            match &change.variants {
                None => all.serialize_element(&WireChange::new(change, *nodes, places))?,
                Some(_) if *is_variant => {
                    let change = change.on(NodeSet::from_iter([*first]));
                    all.serialize_element(&WireChange::new(&change, *nodes, places))?;
                }
                Some(variants) => {
                    let (change, template) = template::marked(change, variants, self.tables);
                    let change = WireChange::new(&change, *nodes, places);
                    all.serialize_element(&WireChange { template: Some(template), ..change })?;
                }
            }
        }
        all.end()
    }
}
