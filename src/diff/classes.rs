//! Divides the nodes of a key into classes with the same answer before and the same answer after.

use std::cell::OnceCell;
use std::sync::Arc;

use super::Diff;
use crate::fleet::Answer;
use crate::node::{NodeId, NodeSet};

/// A class of nodes whose answer changes in the same way.
pub(super) struct ChangeClass<'a> {
    pub(super) answer: Diff<Option<&'a Answer>>,
    pub(super) nodes: NodeSet,
}

/// Returns the classes whose answers differ, in the order of their first nodes.
pub(super) fn change_classes(answers: Diff<&[Answer]>) -> Vec<ChangeClass<'_>> {
    if is_same_list(answers) {
        return Vec::new();
    }
    let mut after = Side::new(answers.after);
    let mut classes = Vec::new();
    for answer in answers.before {
        split(answer, &mut after, &mut classes);
    }
    let before = OnceCell::new();
    for (answer, met) in answers.after.iter().zip(after.met) {
        if met < answer.nodes.len() {
            let nodes = answer.nodes.difference(before.get_or_init(|| union(answers.before)));
            classes.push(ChangeClass { answer: Diff::new(None, Some(answer)), nodes });
        }
    }
    classes.sort_by_key(|class| class.nodes.first());
    classes
}

/// Divides the nodes of one old answer by their new answers.
fn split<'a>(before: &'a Answer, after: &mut Side<'a>, classes: &mut Vec<ChangeClass<'a>>) {
    let mut rest = after.changed_nodes(before);
    while let Some(node) = rest.first() {
        let at = after.position_of(node);
        let nodes = match at {
            Some(at) => rest.intersection(&after.answers[at].nodes),
            None => rest.difference(after.nodes()),
        };
        rest = if nodes.len() == rest.len() { NodeSet::new() } else { rest.difference(&nodes) };
        if let Some(at) = at {
            after.met[at] += nodes.len();
        }
        let answer = Diff::new(Some(before), at.map(|at| &after.answers[at]));
        if !is_same(answer) {
            classes.push(ChangeClass { answer, nodes });
        }
    }
}

fn is_same_list(answers: Diff<&[Answer]>) -> bool {
    let mut pairs = answers.before.iter().zip(answers.after);
    answers.before.len() == answers.after.len()
        && pairs.all(|(a, b)| a.nodes == b.nodes && is_same(Diff::new(Some(a), Some(b))))
}

/// Returns true if two answers are certainly the same on all nodes.
fn is_same(answer: Diff<Option<&Answer>>) -> bool {
    match (answer.before, answer.after) {
        (Some(before), Some(after)) => match (&before.template, &after.template) {
            (Some(before), Some(after)) => is_equal(before, after),
            (None, None) => is_equal(&before.outcome, &after.outcome),
            _ => false,
        },
        (before, after) => before.is_none() && after.is_none(),
    }
}

fn is_equal<T: PartialEq>(one: &Arc<T>, other: &Arc<T>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

fn union(answers: &[Answer]) -> NodeSet {
    let mut nodes = NodeSet::new();
    for answer in answers {
        nodes.union_with(&answer.nodes);
    }
    nodes
}

/// With more answers than this, the answer of a node is looked up in a table.
const MAX_WITHOUT_TABLE: usize = 16;

/// The answers of one side, to look up by node.
struct Side<'a> {
    answers: &'a [Answer],
    /// The position of each node's answer; empty if there are few answers.
    table: Vec<usize>,
    /// For each answer, the number of its nodes that had an answer before, as counted so far.
    met: Vec<usize>,
    nodes: OnceCell<NodeSet>,
}

impl<'a> Side<'a> {
    fn new(answers: &'a [Answer]) -> Side<'a> {
        let mut table = Vec::new();
        if answers.len() > MAX_WITHOUT_TABLE {
            for (at, answer) in answers.iter().enumerate() {
                for node in answer.nodes.iter() {
                    let node = node.0 as usize;
                    if table.len() <= node {
                        table.resize(node + 1, usize::MAX);
                    }
                    table[node] = at;
                }
            }
        }
        Side { answers, table, met: vec![0; answers.len()], nodes: OnceCell::new() }
    }

    /// Returns the nodes that have an answer.
    fn nodes(&self) -> &NodeSet {
        self.nodes.get_or_init(|| union(self.answers))
    }

    /// Returns the position of a node's answer, or `None` if it has none.
    fn position_of(&self, node: NodeId) -> Option<usize> {
        if self.table.is_empty() {
            return self.answers.iter().position(|answer| answer.nodes.contains(node));
        }
        self.table.get(node.0 as usize).copied().filter(|at| *at < self.answers.len())
    }

    /// Returns the nodes of an old answer, without those whose new answer shares its outcome, as most do.
    fn changed_nodes(&mut self, before: &Answer) -> NodeSet {
        let shares_outcome = |answer: &Answer| match (&answer.template, &before.template) {
            (Some(template), Some(before)) => Arc::ptr_eq(template, before),
            (None, None) => Arc::ptr_eq(&answer.outcome, &before.outcome),
            _ => false,
        };
        let few = if self.table.is_empty() { self.answers } else { &[] };
        let Some(at) = few.iter().position(shares_outcome) else { return before.nodes.clone() };
        let changed = before.nodes.difference(&few[at].nodes);
        self.met[at] += before.nodes.len() - changed.len();
        changed
    }
}
