//! Classes: nodes that share an answer, because all that it was made of is equal on them.

use super::Fleet;
use super::reads::{Read, Reads};
use crate::node::{NodeId, NodeSet};

/// Evaluates something for all of `nodes`: on one node of each class. What an evaluation read decides who is in its class;
/// `split` divides nodes by what one such thing is on them.
pub(super) fn classes<T>(
    nodes: NodeSet,
    evaluate: impl Fn(NodeId, &Reads) -> T,
    split: impl Fn(&Read, &NodeSet) -> Vec<NodeSet>,
) -> Vec<(NodeSet, T)> {
    let mut answers = Vec::new();
    let mut pending: Vec<(NodeSet, Vec<Read>)> = vec![(nodes, Vec::new())];
    while let Some((nodes, mut alike)) = pending.pop() {
        let Some(node) = nodes.smallest() else { continue };
        let reads = Reads::default();
        let answer = evaluate(node, &reads);
        let news: Vec<Read> = reads.into_list().into_iter().filter(|read| !alike.contains(read)).collect();
        let mut parts = vec![nodes];
        for read in &news {
            parts = parts.iter().flat_map(|nodes| split(read, nodes)).collect();
        }
        alike.extend(news);
        let mut answer = Some(answer);
        for part in parts {
            if part.contains(node) {
                answers.extend(answer.take().map(|answer| (part, answer)));
            } else {
                pending.push((part, alike.clone()));
            }
        }
    }
    answers.sort_by_key(|(nodes, _)| nodes.smallest());
    answers
}

/// [`classes`] of what reads nothing but variables.
pub(super) fn classes_by_variables<T>(fleet: &Fleet, evaluate: impl Fn(NodeId, &Reads) -> T) -> Vec<(NodeSet, T)> {
    let split = |read: &Read, nodes: &NodeSet| match read {
        Read::Variable(path) => fleet.column(path).split(nodes),
        Read::Key(..) | Read::Options(_) => vec![nodes.clone()],
    };
    classes(fleet.all(), evaluate, split)
}
