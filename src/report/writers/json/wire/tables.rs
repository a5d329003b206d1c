//! The tables of a document: what it has once, and elsewhere refers to by position.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use crate::diagnostic::Place;
use crate::fleet::Variable;
use crate::node::{NodeId, NodeSet};
use crate::report::NodeNames;
use crate::report::model::node_sets::NodeSets;

/// The tables, as far as they are known. Variables and places are met while changes are written, so theirs come last.
pub(in crate::report::writers::json) struct Tables<'a> {
    pub(super) sets: SetTable<'a>,
    pub(super) places: PlaceTable,
    pub(super) variables: VariableTable<'a>,
}

impl<'a> Tables<'a> {
    pub(in crate::report::writers::json) fn new(names: &'a NodeNames) -> Tables<'a> {
        let variables = VariableTable { names, known: RefCell::default() };
        Tables { sets: SetTable { names, sets: RefCell::default() }, places: PlaceTable::default(), variables }
    }
}

/// The sets of nodes, as ranges of positions among the nodes that any of them has.
pub(super) struct SetTable<'a> {
    names: &'a NodeNames,
    sets: RefCell<NodeSets<'a>>,
}

impl<'a> SetTable<'a> {
    /// Returns the position of a set.
    pub(super) fn number(&self, set: &'a NodeSet) -> usize {
        self.sets.borrow_mut().number(Cow::Borrowed(set))
    }

    /// Returns the position of a set of which the table keeps a copy.
    pub(super) fn number_of_own(&self, set: NodeSet) -> usize {
        self.sets.borrow_mut().number(Cow::Owned(set))
    }

    /// Returns the nodes of all sets, in order.
    fn nodes(&self) -> NodeSet {
        let mut all = NodeSet::new();
        self.sets.borrow().all().for_each(|set| all.union_with(set));
        all
    }

    /// Returns the names of all nodes of the sets, for the document.
    pub(super) fn node_names(&'a self) -> NodeNameList<'a> {
        NodeNameList(self)
    }
}

impl Serialize for SetTable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut positions: Vec<u32> = Vec::new();
        for (at, node) in (0..).zip(self.nodes().iter()) {
            positions.resize(node.0 as usize, 0);
            positions.push(at);
        }
        serializer.collect_seq(self.sets.borrow().all().map(|set| Ranges(set, &positions)))
    }
}

/// A set as ranges of positions, given the position of each node.
struct Ranges<'a>(&'a NodeSet, &'a [u32]);

impl Serialize for Ranges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for node in self.0.iter() {
            let at = self.1[node.0 as usize];
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == at => *last = at,
                _ => ranges.push((at, at)),
            }
        }
        let mut all = serializer.serialize_seq(Some(ranges.len()))?;
        for (first, last) in ranges {
            if first == last { all.serialize_element(&first)? } else { all.serialize_element(&[first, last])? }
        }
        all.end()
    }
}

/// The names of the nodes of all sets.
pub(super) struct NodeNameList<'a>(&'a SetTable<'a>);

impl Serialize for NodeNameList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.names.names_of(&self.0.nodes()))
    }
}

/// A place, with the level of the hierarchy if it is one of data.
type LevelPlace = (Place, Option<Arc<str>>);

/// The places of values: path, line and level.
#[derive(Default)]
pub(super) struct PlaceTable {
    numbers: RefCell<HashMap<LevelPlace, usize, RandomState>>,
}

impl PlaceTable {
    /// Returns the position of a place, which has a level if it is one of data.
    pub(super) fn number(&self, place: &Place, level: Option<&Arc<str>>) -> usize {
        let mut numbers = self.numbers.borrow_mut();
        let next = numbers.len();
        *numbers.entry((place.clone(), level.cloned())).or_insert(next)
    }
}

impl Serialize for PlaceTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = self.numbers.borrow();
        let mut places: Vec<_> = numbers.iter().collect();
        places.sort_unstable_by_key(|(_, number)| **number);
        serializer
            .collect_seq(places.into_iter().map(|((place, level), _)| (&*place.path, place.line, level.as_deref())))
    }
}

/// The variables in texts of changes: for each, its text by the positions of the nodes.
pub(super) struct VariableTable<'a> {
    names: &'a NodeNames,
    known: RefCell<KnownVariables<'a>>,
}

#[derive(Default)]
struct KnownVariables<'a> {
    /// All that were met, each with its position. Those of two revisions may be the same.
    met: HashMap<&'a Variable, Vec<(&'a Variable, usize)>, RandomState>,
    /// Each variable, and the nodes on which its text is put into another one.
    all: Vec<(&'a Variable, NodeSet)>,
}

impl<'a> VariableTable<'a> {
    /// Returns the position of a variable whose text is put into others on `nodes`.
    pub(super) fn number(&self, variable: &'a Variable, nodes: &NodeSet) -> usize {
        let mut known = self.known.borrow_mut();
        let KnownVariables { met, all } = &mut *known;
        let met = met.entry(variable).or_default();
        let same = met.iter().find(|(other, _)| other.is_shared_with(variable)).map(|(_, number)| *number);
        let number = same.unwrap_or_else(|| {
            let fleet = self.names.fleet.all();
            let has_same_texts = |other: &Variable| fleet.iter().all(|node| other.on(node) == variable.on(node));
            let equal = met.iter().find(|(other, _)| has_same_texts(other)).map(|(_, number)| *number);
            let number = equal.unwrap_or_else(|| {
                all.push((variable, NodeSet::new()));
                all.len() - 1
            });
            met.push((variable, number));
            number
        });
        all[number].1.union_with(nodes);
        number
    }

    /// Returns the table for the document, given the nodes that it has.
    pub(super) fn by_nodes(&'a self, sets: &'a SetTable<'a>) -> VariableTexts<'a> {
        VariableTexts(self, sets)
    }
}

/// The texts of all variables, in the order of the nodes of a document: null where no text has the variable.
pub(super) struct VariableTexts<'a>(&'a VariableTable<'a>, &'a SetTable<'a>);

impl Serialize for VariableTexts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (known, nodes) = (self.0.known.borrow(), self.1.nodes());
        let texts = |(variable, on): &(&Variable, NodeSet)| -> Vec<Option<String>> {
            let text = |node: NodeId| on.contains(node).then(|| variable.on(node).to_owned());
            nodes.iter().map(text).collect()
        };
        serializer.collect_seq(known.all.iter().map(texts))
    }
}
