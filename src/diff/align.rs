//! Pairs the items of an array with those that they have become.
//!
//! The work is bounded whatever the arrays hold: `similar`'s Myers gives up searching for the shortest script after a
//! number of steps, and gaps that are too large to compare everything with everything are paired by position, or not
//! at all. No clock is involved, so the result is always the same.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Diff;
use crate::value::Value;

/// Returns for each item before the position of its counterpart after, or `None` if it has none.
pub(super) fn align(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    let (ids, gaps) = identical(before, after);
    let mut pairing = Pairing { before, after, partners: ids.partners, has_partner: ids.has_partner };
    pairing.pair_moved(&ids.before, &ids.after);
    let identity = Identity::find(before, after);
    pairing.pair_named(&identity);
    for (old, new) in gaps {
        pairing.pair_in_gap(old, new, &identity);
    }
    pairing.partners
}

type Range = std::ops::Range<usize>;

/// Items as numbers, equal items with equal numbers, and the pairs that keep their order.
struct Identical {
    before: Vec<u32>,
    after: Vec<u32>,
    partners: Vec<Option<usize>>,
    has_partner: Vec<bool>,
}

/// Pairs equal items that keep their order. Returns the gaps between them, too.
fn identical<'v>(before: &'v [Value], after: &'v [Value]) -> (Identical, Vec<(Range, Range)>) {
    let mut numbers: HashMap<&'v Value, u32> = HashMap::new();
    let mut number = |value: &'v Value| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(value).or_insert(next)
    };
    let before: Vec<u32> = before.iter().map(&mut number).collect();
    let after: Vec<u32> = after.iter().map(&mut number).collect();
    let mut partners = vec![None; before.len()];
    let mut has_partner = vec![false; after.len()];
    let mut gaps = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, &before, &after) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                for i in 0..len {
                    partners[old_index + i] = Some(new_index + i);
                    has_partner[new_index + i] = true;
                }
            }
            DiffOp::Replace { .. } => gaps.push((op.old_range(), op.new_range())),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } => {}
        }
    }
    (Identical { before, after, partners, has_partner }, gaps)
}

struct Pairing<'v> {
    before: &'v [Value],
    after: &'v [Value],
    partners: Vec<Option<usize>>,
    has_partner: Vec<bool>,
}

impl Pairing<'_> {
    fn pair(&mut self, a: usize, b: usize) {
        self.partners[a] = Some(b);
        self.has_partner[b] = true;
    }

    fn unpaired_before(&self, range: Range) -> Vec<usize> {
        range.filter(|a| self.partners[*a].is_none()).collect()
    }

    fn unpaired_after(&self, range: Range) -> Vec<usize> {
        range.filter(|b| !self.has_partner[*b]).collect()
    }

    /// Pairs equal items that moved.
    fn pair_moved(&mut self, before: &[u32], after: &[u32]) {
        let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
        for b in self.unpaired_after(0..after.len()).into_iter().rev() {
            places.entry(after[b]).or_default().push(b);
        }
        for a in self.unpaired_before(0..before.len()) {
            if let Some(b) = places.get_mut(&before[a]).and_then(Vec::pop) {
                self.pair(a, b);
            }
        }
    }

    /// Pairs hashes with the same name.
    fn pair_named(&mut self, identity: &Identity) {
        let places: HashMap<&Value, usize> = self
            .unpaired_after(0..self.after.len())
            .into_iter()
            .filter_map(|b| Some((identity.of_item(&self.after[b])?, b)))
            .collect();
        let partner = |a: usize| places.get(identity.of_item(&self.before[a])?).map(|b| (a, *b));
        let pairs: Vec<_> = self.unpaired_before(0..self.before.len()).into_iter().filter_map(partner).collect();
        for (a, b) in pairs {
            self.pair(a, b);
        }
    }

    /// Pairs the remaining items in a gap, in order.
    fn pair_in_gap(&mut self, old: Range, new: Range, identity: &Identity) {
        let (old, new) = (self.unpaired_before(old), self.unpaired_after(new));
        let even = old.len() == new.len();
        let score = |a: usize, b: usize| likeness(&self.before[a], &self.after[b], even, identity);
        let pairs: Vec<(usize, usize)> = if old.len() * new.len() <= MAX_COMPARISONS {
            best_pairs(&old, &new, score)
        } else if even {
            old.into_iter().zip(new).filter(|(a, b)| score(*a, *b) > 0).collect()
        } else {
            Vec::new()
        };
        for (a, b) in pairs {
            self.pair(a, b);
        }
    }
}

/// The entry that distinguishes the hashes of two arrays.
struct Identity(Option<&'static str>);

impl Identity {
    fn find(before: &[Value], after: &[Value]) -> Identity {
        Identity(identifying_entry(Diff::new(before, after)))
    }

    fn of_item<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.get(self.0?)
    }
}

/// Returns the first of `name`, `id`, `title` and `key` that every hash among the items has, each with a different
/// scalar; or `None` if there is none.
pub fn identifying_entry(items: Diff<&[Value]>) -> Option<&'static str> {
    let tells = |name: &&str| is_identifying(items.before, name) && is_identifying(items.after, name);
    ["name", "id", "title", "key"].into_iter().find(tells)
}

fn is_identifying(items: &[Value], name: &str) -> bool {
    let mut seen = std::collections::HashSet::new();
    items.iter().filter_map(Value::as_hash).all(|hash| {
        let scalar = hash.get(name).filter(|v| matches!(v, Value::String(_) | Value::Integer(_) | Value::Symbol(_)));
        scalar.is_some_and(|value| seen.insert(value))
    })
}

/// The largest number of pairs that are compared in a gap.
const MAX_COMPARISONS: usize = 4096;

/// Returns a measure of what two unequal items have in common, or 0 if one did not become the other. Scalars are
/// paired only if the gap is `even`: as many items were removed as added.
fn likeness(before: &Value, after: &Value, even: bool, identity: &Identity) -> usize {
    match (before, after) {
        _ if identity.of_item(before).is_some() && identity.of_item(after).is_some() => 0,
        (Value::Hash(a), Value::Hash(b)) => {
            let shared = a.iter().filter_map(|(key, value)| Some((value, b.get_value(key)?)));
            shared.map(|(a, b)| if a == b { 3 } else { 1 }).sum::<usize>() * 2 + usize::from(even)
        }
        (Value::Array(a), Value::Array(b)) => {
            let equal = a.iter().zip(b.iter()).filter(|(a, b)| a == b).count();
            let from_end = a.iter().rev().zip(b.iter().rev()).filter(|(a, b)| a == b).count();
            equal.max(from_end) * 2 + usize::from(even)
        }
        _ => usize::from(even),
    }
}

/// Returns the pairs, in order and without crossing, with the largest sum of likenesses.
fn best_pairs(old: &[usize], new: &[usize], score: impl Fn(usize, usize) -> usize) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let scores: Vec<usize> = old.iter().flat_map(|a| new.iter().map(|b| score(*a, *b))).collect();
    // total[i][j]: the largest sum of the items from `old[i]` and `new[j]` on.
    let mut total = vec![0; (old.len() + 1) * width];
    let paired = |total: &[usize], i: usize, j: usize| match scores[i * new.len() + j] {
        0 => None,
        score => Some(score + total[(i + 1) * width + j + 1]),
    };
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let skipped = total[(i + 1) * width + j].max(total[i * width + j + 1]);
            total[i * width + j] = paired(&total, i, j).map_or(skipped, |p| p.max(skipped));
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if paired(&total, i, j) == Some(total[i * width + j]) {
            pairs.push((old[i], new[j]));
            (i, j) = (i + 1, j + 1);
        } else if total[(i + 1) * width + j] >= total[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}
