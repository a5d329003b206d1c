//! Cuts the nodes of a key into pieces that have the same answer before and the same answer after.

use std::sync::Arc;

use super::Diff;
use crate::fleet::Answer;
use crate::hiera::Outcome;
use crate::node::{NodeId, NodeSet};

/// Nodes whose answer changes in the same way.
pub(super) struct Piece<'a> {
    pub(super) outcome: Diff<Option<&'a Arc<Outcome>>>,
    pub(super) nodes: NodeSet,
}

/// The pieces whose answers differ, in the order of their first nodes.
pub(super) fn pieces(answers: Diff<&[Answer]>) -> Vec<Piece<'_>> {
    if is_same_list(answers) {
        return Vec::new();
    }
    let after = Side::new(answers.after);
    let mut pieces = Vec::new();
    for answer in answers.before {
        split(Some(answer), answer.nodes.clone(), &after, &mut pieces);
    }
    let before = union(answers.before);
    for answer in answers.after {
        let nodes = answer.nodes.without(&before);
        if !nodes.is_empty() {
            pieces.push(Piece { outcome: Diff::new(None, Some(&answer.outcome)), nodes });
        }
    }
    pieces.sort_by_key(|piece| piece.nodes.smallest());
    pieces
}

/// Cuts `rest`, the nodes of one answer before, by their answers after.
fn split<'a>(before: Option<&'a Answer>, mut rest: NodeSet, after: &Side<'a>, pieces: &mut Vec<Piece<'a>>) {
    while let Some(node) = rest.smallest() {
        let answer = after.of(node);
        let nodes = match answer {
            Some(answer) => rest.and(&answer.nodes),
            None => rest.without(&after.nodes),
        };
        rest = rest.without(&nodes);
        let outcome = Diff::new(before, answer).map(|answer| answer.map(|a| &a.outcome));
        if !is_same(outcome) {
            pieces.push(Piece { outcome, nodes });
        }
    }
}

fn is_same_list(answers: Diff<&[Answer]>) -> bool {
    let mut pairs = answers.before.iter().zip(answers.after);
    answers.before.len() == answers.after.len()
        && pairs.all(|(a, b)| a.nodes == b.nodes && is_same(Diff::new(Some(&a.outcome), Some(&b.outcome))))
}

fn is_same(outcome: Diff<Option<&Arc<Outcome>>>) -> bool {
    match (outcome.before, outcome.after) {
        (Some(before), Some(after)) => Arc::ptr_eq(before, after) || before == after,
        (before, after) => before.is_none() && after.is_none(),
    }
}

fn union(answers: &[Answer]) -> NodeSet {
    let mut nodes = NodeSet::new();
    for answer in answers {
        nodes.extend(&answer.nodes);
    }
    nodes
}

/// With more answers than this, a table tells which one a node gets.
const FEW: usize = 16;

/// One side's answers, to be asked by node.
struct Side<'a> {
    answers: &'a [Answer],
    /// The position of each node's answer; empty where there are few.
    table: Vec<usize>,
    nodes: NodeSet,
}

impl<'a> Side<'a> {
    fn new(answers: &'a [Answer]) -> Side<'a> {
        let mut table = Vec::new();
        if answers.len() > FEW {
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
        Side { answers, table, nodes: union(answers) }
    }

    fn of(&self, node: NodeId) -> Option<&'a Answer> {
        if self.table.is_empty() {
            return self.answers.iter().find(|answer| answer.nodes.contains(node));
        }
        self.answers.get(*self.table.get(node.0 as usize)?)
    }
}
