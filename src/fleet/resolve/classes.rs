//! Classes: nodes that share an answer, because all that it was made of is equal on them.

use std::ops::Range;
use std::rc::Rc;

use crate::fleet::nodes::variables::VariablePath;
use crate::fleet::resolve::reads::{Read, ReadSet, Reads};
use crate::node::{NodeId, NodeSet};

/// What is equal on all nodes of a set.
struct Alike {
    reads: ReadSet,
    /// What was so before the set was divided for the last time.
    before: Option<Rc<Alike>>,
}

impl Alike {
    /// How many parts of a read are so.
    fn parts(alike: Option<&Rc<Alike>>, read: &Read) -> usize {
        let all = std::iter::successors(alike, |alike| alike.before.as_ref());
        all.filter_map(|alike| alike.reads.get(read)).max().copied().unwrap_or_default()
    }
}

/// Evaluates something for all of `nodes`: on one node of each class. What an evaluation read decides who is in its class;
/// `split` divides nodes by what some parts of one such thing are on them.
pub(in crate::fleet) fn classes<T>(
    nodes: NodeSet,
    evaluate: impl Fn(NodeId, &Reads) -> T,
    split: impl Fn(&Read, Range<usize>, &NodeSet) -> Vec<NodeSet>,
) -> Vec<(NodeSet, T)> {
    let mut answers = Vec::new();
    let mut pending: Vec<(NodeSet, Option<Rc<Alike>>)> = vec![(nodes, None)];
    while let Some((nodes, alike)) = pending.pop() {
        let Some(node) = nodes.first() else { continue };
        // There is nothing to tell one node from.
        let reads = Reads::new(!nodes.is_singleton());
        let answer = evaluate(node, &reads);
        let reads = reads.into_set();
        let mut parts = vec![nodes];
        for (read, count) in &reads {
            let known = Alike::parts(alike.as_ref(), read);
            if known < *count {
                parts = parts.iter().flat_map(|nodes| split(read, known..*count, nodes)).collect();
            }
        }
        let alike = Some(Rc::new(Alike { reads, before: alike }));
        let mut answer = Some(answer);
        for part in parts {
            // The one that it is in: of all nodes it is the first.
            if part.first() == Some(node) {
                answers.extend(answer.take().map(|answer| (part, answer)));
            } else {
                pending.push((part, alike.clone()));
            }
        }
    }
    answers.sort_by_cached_key(|(nodes, _)| nodes.first());
    answers
}

/// [`classes`] of what reads nothing but variables; `split` divides nodes by what they have of one.
pub(in crate::fleet) fn classes_by_variables<T>(
    nodes: NodeSet,
    evaluate: impl Fn(NodeId, &Reads) -> T,
    split: impl Fn(&VariablePath, &NodeSet) -> Vec<NodeSet>,
) -> Vec<(NodeSet, T)> {
    let split = |read: &Read, _, nodes: &NodeSet| match read {
        Read::Variable(path) => split(path, nodes),
        Read::Key(..) | Read::Options(_) => vec![nodes.clone()],
    };
    classes(nodes, evaluate, split)
}
