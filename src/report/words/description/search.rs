//! Searches for the shortest description of a set of classes of nodes.
//!
//! A term is a superset of the set that leaves some other classes out. Terms describe the set if together they leave
//! out all others; so the search takes a class that the fewest terms leave out, and tries these. The work is bounded: a
//! set that needs more than a few terms is better described by names.

use fixedbitset::FixedBitSet;
use unicode_width::UnicodeWidthStr;

use super::classes::{ClassValues, Describer};
use super::{Description, Term};
use crate::fleet::VariableValue;

/// The maximum number of terms of a part, values of a term, and terms of one variable.
const MAX_TERMS: usize = 3;
const MAX_VALUES: usize = 3;
const MAX_EXCLUSIONS: usize = 8;
/// The maximum number of values tried for the first of two parts.
const MAX_PARTS: usize = 12;
/// The cost of the words between terms, and of those between parts or before an exception.
const AND_COST: usize = 5;
const OR_COST: usize = 8;
/// The cost of a term's second value, and of a negation, beyond their widths: they take longer to understand.
const VALUE_COST: usize = 4;
const NOT_COST: usize = 8;

/// A search, with the steps that the describer has left.
pub(super) struct Search<'d> {
    describer: &'d mut Describer,
}

/// A part of a description: the terms that describe it, and the number of columns that they take.
#[derive(Clone)]
struct Part {
    terms: Vec<Term>,
    cost: usize,
}

/// A term with the classes that it leaves out.
struct Candidate {
    term: Term,
    cost: usize,
    excluded: FixedBitSet,
}

impl<'d> Search<'d> {
    pub(super) fn new(describer: &'d mut Describer) -> Search<'d> {
        Search { describer }
    }

    /// Returns the shortest description found.
    pub(super) fn describe(&mut self, set: &FixedBitSet) -> Option<Description> {
        let others = complement(set);
        if let Some(Part { terms, .. }) = self.part(set, &others, MAX_TERMS) {
            return Some(Description { is_all_but: false, parts: vec![terms] });
        }
        // "All but" a single term is just its negation, and an exception of a negated term is hard to read.
        let is_plain = |found: &Part| found.terms.len() > 1 && !found.terms.iter().any(|term| term.is_not);
        let exception = self.part(&others, set, MAX_TERMS - 1).filter(is_plain);
        let exception =
            exception.map(|found| (found.cost + OR_COST, Description { is_all_but: true, parts: vec![found.terms] }));
        let both = self.two_parts(set, &others);
        exception.into_iter().chain(both).min_by_key(|(cost, _)| *cost).map(|(_, description)| description)
    }

    /// Returns two parts that make up `set`: the nodes with one value of a variable, and the others.
    fn two_parts(&mut self, set: &FixedBitSet, others: &FixedBitSet) -> Option<(usize, Description)> {
        let mut best: Option<(usize, Description)> = None;
        for first in self.first_parts(set) {
            let mut rest = set.clone();
            rest.difference_with(&first);
            if rest.is_clear() {
                continue;
            }
            let Some(one) = self.part(&first, others, MAX_TERMS - 1) else { continue };
            let Some(two) = self.part(&rest, others, MAX_TERMS - 1) else { continue };
            let cost = one.cost + OR_COST + two.cost;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, Description { is_all_but: false, parts: vec![one.terms, two.terms] }));
            }
        }
        best
    }

    /// Returns the parts of `set` that have the same value of a variable, the largest first.
    fn first_parts(&self, set: &FixedBitSet) -> Vec<FixedBitSet> {
        let mut parts: Vec<FixedBitSet> = Vec::new();
        for variable in &self.describer.variables {
            let hit = hits(variable, set);
            let some = hit.iter().enumerate().filter(|(_, hit)| **hit).take(MAX_PARTS);
            for (value, _) in some {
                let with_value = set.ones().filter(|class| variable.value_of_class[*class] as usize == value);
                let mut part = FixedBitSet::with_capacity(set.len());
                part.extend(with_value);
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        parts.sort_by_key(|part| std::cmp::Reverse(part.count_ones(..)));
        parts.truncate(MAX_PARTS);
        parts
    }

    /// Returns the cheapest terms found that are true of all classes of `inside` and exclude all of `outside`.
    fn part(&mut self, inside: &FixedBitSet, outside: &FixedBitSet, most: usize) -> Option<Part> {
        let candidates = self.candidates(inside, outside);
        // The number of candidates that leave out each class.
        let mut counts = vec![0_usize; inside.len()];
        for candidate in &candidates {
            candidate.excluded.ones().for_each(|class| counts[class] += 1);
        }
        let mut best = None;
        let none = Part { terms: Vec::new(), cost: 0 };
        self.cover((&candidates, &counts), outside, most, &none, &mut best);
        best
    }

    /// Adds terms to `found` until they leave out all of `left`.
    fn cover(
        &mut self,
        (candidates, counts): (&[Candidate], &[usize]),
        left: &FixedBitSet,
        most: usize,
        found: &Part,
        best: &mut Option<Part>,
    ) {
        let Some(class) = left.ones().min_by_key(|class| counts[*class]) else {
            *best = Some(found.clone());
            return;
        };
        if most == 0 {
            return;
        }
        for candidate in candidates.iter().filter(|candidate| candidate.excluded.contains(class)) {
            let cost = found.cost + candidate.cost + if found.terms.is_empty() { 0 } else { AND_COST };
            if best.as_ref().is_some_and(|best| best.cost <= cost) {
                continue;
            }
            if !self.spend(left.len()) {
                return;
            }
            let mut left = left.clone();
            left.difference_with(&candidate.excluded);
            let terms = found.terms.iter().chain([&candidate.term]).cloned().collect();
            self.cover((candidates, counts), &left, most - 1, &Part { terms, cost }, best);
        }
    }

    /// Uses up some of the steps that are left. Returns false if there are too few.
    fn spend(&mut self, steps: usize) -> bool {
        let left = self.describer.steps_left.checked_sub(steps);
        self.describer.steps_left = left.unwrap_or(0);
        left.is_some()
    }

    /// Returns the terms that are true of all classes of `inside` and exclude some of `outside`.
    fn candidates(&mut self, inside: &FixedBitSet, outside: &FixedBitSet) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = Vec::new();
        for at in 0..self.describer.variables.len() {
            if !self.spend(inside.len()) {
                return Vec::new();
            }
            let variable = &self.describer.variables[at];
            for (is_not, values) in choices(&hits(variable, inside), variable) {
                let out = outside
                    .ones()
                    .filter(|class| values.contains(&(variable.value_of_class[*class] as usize)) == is_not);
                let mut bits = FixedBitSet::with_capacity(inside.len());
                bits.extend(out);
                if bits.is_clear() {
                    continue;
                }
                let text = |value: &usize| match &variable.values[*value] {
                    VariableValue::Text(text) => Some(text.clone()),
                    VariableValue::Unset | VariableValue::Other => None,
                };
                let values = values.iter().map(text).collect();
                let term = Term { variable: variable.name.clone(), is_not, values };
                let cost = cost(&term);
                match all.iter_mut().find(|known| known.excluded == bits) {
                    Some(known) if known.cost <= cost => {}
                    Some(known) => *known = Candidate { term, cost, excluded: bits },
                    None => all.push(Candidate { term, cost, excluded: bits }),
                }
            }
        }
        all
    }
}

/// Returns the conditions on a variable that are true of all its values that are `hit`, as a list of values that it
/// has or does not have. Values that are not shown are in no condition, and an unset variable is in no list of
/// values.
fn choices(hit: &[bool], variable: &ClassValues) -> Vec<(bool, Vec<usize>)> {
    let is_shown = |value: &usize| variable.values[*value] != VariableValue::Other;
    let is_list = |values: &[usize]| {
        values.len() < 2 || values.iter().all(|value| variable.values[*value] != VariableValue::Unset)
    };
    let values_hit = |wanted: bool| (0..hit.len()).filter(move |value| hit[*value] == wanted);
    let mut choices = Vec::new();
    let inside: Vec<usize> = values_hit(true).take(MAX_VALUES + 1).collect();
    if inside.len() <= MAX_VALUES && inside.iter().all(is_shown) && is_list(&inside) {
        choices.push((false, inside));
    }
    let outside: Vec<usize> = values_hit(false).filter(is_shown).take(MAX_EXCLUSIONS + 1).collect();
    if outside.len() <= MAX_VALUES && outside.len() > 1 && is_list(&outside) {
        choices.push((true, outside.clone()));
    }
    choices.extend(outside.into_iter().take(MAX_EXCLUSIONS).map(|value| (true, vec![value])));
    choices
}

/// Returns the cost of a term: its width, and more for what takes longer to understand.
fn cost(term: &Term) -> usize {
    let not = if term.is_not { NOT_COST } else { 0 };
    term.to_string().width() + not + VALUE_COST * (term.values.len() - 1)
}

/// Returns for each value of a variable if a class of `set` has it.
fn hits(variable: &ClassValues, set: &FixedBitSet) -> Vec<bool> {
    let mut hit = vec![false; variable.values.len()];
    set.ones().for_each(|class| hit[variable.value_of_class[class] as usize] = true);
    hit
}

fn complement(set: &FixedBitSet) -> FixedBitSet {
    let mut all = set.clone();
    all.toggle_range(..);
    all
}
