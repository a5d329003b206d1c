//! Finds the faults that a change introduces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Fault;
use crate::diagnostic::Severity;
use crate::node::NodeSet;

/// Returns the faults in `after` that are not in `before`: those with new causes and, for known causes, new files and
/// keys and, for errors, new nodes. A known fault that moved to another line is not new, nor is a known warning for
/// one more node.
pub fn new_faults(before: &[Fault], after: Vec<Fault>) -> Vec<Fault> {
    let mut known: BTreeMap<(&str, String), KnownFault<'_>> = BTreeMap::new();
    for fault in before {
        let known = known.entry((fault.code, without_numbers(&fault.text))).or_default();
        known.paths.extend(fault.places.iter().map(|place| &*place.path));
        known.keys.extend(&fault.keys);
        known.nodes.union_with(&fault.nodes);
    }
    after
        .into_iter()
        .filter_map(|fault| match known.get(&(fault.code, without_numbers(&fault.text))) {
            None => Some(fault),
            Some(known) => known.new_part_of(fault),
        })
        .collect()
}

/// The paths, keys and nodes of the known faults with one cause.
#[derive(Default)]
struct KnownFault<'a> {
    paths: BTreeSet<&'a str>,
    keys: BTreeSet<&'a Arc<str>>,
    nodes: NodeSet,
}

impl KnownFault<'_> {
    fn new_part_of(&self, fault: Fault) -> Option<Fault> {
        let places: BTreeSet<_> =
            fault.places.iter().filter(|place| !self.paths.contains(&*place.path)).cloned().collect();
        if !places.is_empty() {
            return Some(Fault { places, ..fault });
        }
        let keys: BTreeSet<_> = fault.keys.iter().filter(|key| !self.keys.contains(key)).cloned().collect();
        if !keys.is_empty() {
            return Some(Fault { keys, ..fault });
        }
        let nodes = fault.nodes.difference(&self.nodes);
        (fault.severity == Severity::Error && !nodes.is_empty()).then_some(Fault { nodes, ..fault })
    }
}

/// Removes digits: lines and counts in a text vary without a change of the fault.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_ascii_digit()).collect()
}
