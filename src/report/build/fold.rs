//! Folds what changes alike: keys whose names differ in one word, and entries of a value whose paths differ in one
//! step.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::diff::{Change, ChangeKind, LeafChange, LeafKind};
use crate::report::{Item, LeafFold, Similarity};
use crate::value::{Segment, Value, ValuePath};

/// The least number of keys or entries that are folded.
const MIN_FOLDED: usize = 3;
/// The maximum number of differences of a value that are compared with each other.
const MAX_COMPARED: usize = 2000;

/// Stands for the word or step in which names or paths differ.
const PLACEHOLDER: &str = "*";

/// Folds items of keys that change alike on the same nodes.
pub(super) fn fold_keys(items: Vec<Item>, changes: &[Change]) -> Vec<Item> {
    if items.len() < MIN_FOLDED {
        return items;
    }
    let mut signatures: HashMap<(ChangeKind, &[Arc<LeafChange>]), usize, RandomState> = HashMap::default();
    let mut masks: Vec<Vec<(usize, String)>> = Vec::with_capacity(items.len());
    for item in &items {
        let change = &changes[item.first];
        let is_single = item.similarity == Similarity::Equal && change.variants.is_none() && !change.leaves.is_empty();
        let next = signatures.len();
        let signature = *signatures.entry((change.kind, &change.leaves)).or_insert(next);
        let words: Vec<&str> = change.key.split("::").collect();
        let masked = |at: usize| {
            let words = words.iter().enumerate().map(|(i, word)| if i == at { PLACEHOLDER } else { word });
            (signature, words.collect::<Vec<_>>().join("::"))
        };
        let can_differ = is_single && words.len() > 1;
        masks.push(if can_differ { (0..words.len()).map(masked).collect() } else { Vec::new() });
    }
    let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    let mut folded = Vec::new();
    for (members, (_, pattern)) in largest_groups(&masks) {
        let mut members = members.into_iter().filter_map(|at| items[at].take());
        let Some(mut first) = members.next() else { continue };
        for other in members {
            first.others.push(other.first);
            first.others.extend(other.others);
            first.keys += 1;
        }
        first.pattern = Some(pattern);
        folded.push(first);
    }
    folded.extend(items.into_iter().flatten());
    folded
}

/// Folds the differences of a change that are alike.
pub(super) fn fold_leaves(change: &Change) -> Vec<LeafFold> {
    let single = |first: usize| LeafFold { first, others: Vec::new(), path: None };
    let leaves = &change.leaves;
    if !(MIN_FOLDED..=MAX_COMPARED).contains(&leaves.len()) || change.variants.is_some() {
        return (0..leaves.len()).map(single).collect();
    }
    let mut signatures: HashMap<(LeafKind, Option<&Value>, Option<&Value>), usize, RandomState> = HashMap::default();
    let masks = leaves.iter().map(|leaf| {
        let values = leaf.part.as_ref().map(|part| part.as_ref().map(|part| &part.value));
        let next = signatures.len();
        let signature = *signatures.entry((leaf.kind, values.before, values.after)).or_insert(next);
        let parts = [&leaf.part.before, &leaf.part.after];
        let path = leaf.path().filter(|path| parts.into_iter().flatten().all(|part| part.path == **path));
        let steps = path.map_or(0, |path| path.0.len());
        (0..steps).filter_map(|at| Some((signature, masked(path?, at)))).collect()
    });
    let masks: Vec<Vec<(usize, String)>> = masks.collect();
    let mut folds: Vec<LeafFold> = Vec::new();
    let mut is_folded = vec![false; leaves.len()];
    for (members, (_, path)) in largest_groups(&masks) {
        for at in &members {
            is_folded[*at] = true;
        }
        folds.push(LeafFold { first: members[0], others: members[1..].to_vec(), path: Some(path) });
    }
    folds.extend((0..leaves.len()).filter(|at| !is_folded[*at]).map(single));
    folds.sort_by_key(|fold| fold.first);
    folds
}

/// Returns a path as it is written after a key, with a placeholder for one step.
fn masked(path: &ValuePath, at: usize) -> String {
    let step = |(i, segment): (usize, &Segment)| match segment {
        Segment::Key(_) if i == at => format!(".{PLACEHOLDER}"),
        Segment::Index(_) if i == at => format!("[{PLACEHOLDER}]"),
        segment => ValuePath(vec![segment.clone()]).to_string(),
    };
    path.0.iter().enumerate().map(step).collect()
}

/// Returns the groups of members with a mask in common, the largest first, and each member only once.
fn largest_groups<M: Clone + Eq + Hash>(masks: &[Vec<M>]) -> Vec<(Vec<usize>, M)> {
    let mut by_mask: HashMap<&M, Vec<usize>, RandomState> = HashMap::default();
    for (at, mask) in masks.iter().enumerate().flat_map(|(at, masks)| masks.iter().map(move |mask| (at, mask))) {
        by_mask.entry(mask).or_default().push(at);
    }
    let mut all: Vec<(Vec<usize>, &M)> = by_mask.into_iter().map(|(mask, members)| (members, mask)).collect();
    all.retain(|(members, _)| members.len() >= MIN_FOLDED);
    all.sort_by(|(one, _), (other, _)| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    let mut taken = vec![false; masks.len()];
    let mut found = Vec::new();
    for (mut members, mask) in all {
        members.retain(|at| !taken[*at]);
        if members.len() >= MIN_FOLDED {
            for at in &members {
                taken[*at] = true;
            }
            found.push((members, mask.clone()));
        }
    }
    found
}
