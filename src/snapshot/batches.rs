//! Looks up the answer classes of a batch of nodes at a time, so that no table has all nodes and all keys.

use std::ops::Range;

use super::answer_classes::AnswerClasses;
use crate::node::{NodeId, NodeSet};

/// The largest number of cells in the table of a batch, unless the batch is a single node.
const MAX_CELLS: usize = 1 << 20;

/// The largest number of nodes in a batch; more do not make it cheaper.
const MAX_NODES: usize = 256;

/// Stands for a missing class number: the node has no answer.
const NO_CLASS: u32 = u32::MAX;

/// Divides nodes into batches, in their order.
pub(super) struct Batches<'a> {
    nodes: &'a [NodeId],
    cursors: Vec<Cursor<'a>>,
    /// The number of nodes in a batch.
    len: usize,
    /// The number of nodes that were in batches.
    done: usize,
}

impl<'a> Batches<'a> {
    /// Makes batches of at most `most` of the `nodes`, which are in order.
    pub(super) fn new(nodes: &'a [NodeId], lists: &'a [AnswerClasses], most: usize) -> Batches<'a> {
        let cursors: Vec<_> = lists.iter().map(|classes| Cursor { classes, first: 0, open: Vec::new() }).collect();
        let len = (MAX_CELLS / cursors.len().max(1)).min(MAX_NODES).min(most).max(1);
        Batches { nodes, cursors, len, done: 0 }
    }

    /// Puts the classes of the nodes of the next batch into `table`. Returns the positions of these nodes, or `None`
    /// after the last batch.
    pub(super) fn next(&mut self, table: &mut Table) -> Option<Range<usize>> {
        let batch = self.done..(self.done + self.len).min(self.nodes.len());
        let nodes = &self.nodes[batch.clone()];
        let last = *nodes.last()?;
        table.clear(nodes.len(), self.cursors.len());
        for (column, cursor) in self.cursors.iter_mut().enumerate() {
            cursor.advance(last, |node, class| {
                if let Some(row) = row_of(node, nodes) {
                    table.cells[row * table.width + column] = class;
                }
            });
        }
        self.done = batch.end;
        Some(batch)
    }
}

/// Returns the position of a node in a batch, or `None` if it is not in there. Usually all nodes are wanted, so there
/// are no gaps.
fn row_of(node: NodeId, batch: &[NodeId]) -> Option<usize> {
    let guess = node.0.checked_sub(batch.first()?.0)? as usize;
    if batch.get(guess) == Some(&node) { Some(guess) } else { batch.binary_search(&node).ok() }
}

/// A position in a list of answer classes, whose nodes are passed in order.
struct Cursor<'a> {
    /// The classes of which no node has been passed, and the number of the first of them.
    classes: &'a [NodeSet],
    first: u32,
    /// The classes of which some nodes have been passed.
    open: Vec<OpenClass<'a>>,
}

/// An answer class of which some nodes have been passed.
struct OpenClass<'a> {
    class: u32,
    /// The first node that has not been passed, and those after it.
    next: NodeId,
    rest: Box<dyn Iterator<Item = NodeId> + Send + 'a>,
}

impl Cursor<'_> {
    /// Passes the nodes up to `last`.
    fn advance(&mut self, last: NodeId, mut put: impl FnMut(NodeId, u32)) {
        self.open.retain_mut(|open| open.advance(last, &mut put));
        while let Some((nodes, rest)) = self.classes.split_first()
            && nodes.first() <= Some(last)
        {
            let mut nodes = nodes.iter();
            if let Some(next) = nodes.next() {
                let mut open = OpenClass { class: self.first, next, rest: Box::new(nodes) };
                if open.advance(last, &mut put) {
                    self.open.push(open);
                }
            }
            self.classes = rest;
            self.first += 1;
        }
    }
}

impl OpenClass<'_> {
    /// Passes the nodes up to `last`. Returns true if more follow.
    fn advance(&mut self, last: NodeId, put: &mut impl FnMut(NodeId, u32)) -> bool {
        while self.next <= last {
            put(self.next, self.class);
            match self.rest.next() {
                Some(next) => self.next = next,
                None => return false,
            }
        }
        true
    }
}

/// The answer classes of each node of a batch.
#[derive(Default)]
pub(super) struct Table {
    cells: Vec<u32>,
    width: usize,
}

impl Table {
    fn clear(&mut self, rows: usize, width: usize) {
        self.width = width;
        self.cells.clear();
        self.cells.resize(rows * width, NO_CLASS);
    }

    /// Returns the answer classes of a node of the batch.
    pub(super) fn row(&self, node: usize) -> Row<'_> {
        Row(&self.cells[node * self.width..][..self.width])
    }
}

/// The answer classes of one node.
#[derive(Clone, Copy)]
pub(super) struct Row<'t>(&'t [u32]);

impl Row<'_> {
    /// Returns the number of its class in a list of answer classes, or `None` if it has no answer.
    pub(super) fn class(self, list: usize) -> Option<usize> {
        let class = self.0[list];
        (class != NO_CLASS).then_some(class as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(nodes: impl IntoIterator<Item = u32>) -> NodeSet {
        nodes.into_iter().map(NodeId).collect()
    }

    /// Returns the classes of each node, batch by batch.
    fn classes(nodes: &NodeSet, cursors: &[Vec<NodeSet>], most: usize) -> Vec<Vec<Vec<Option<usize>>>> {
        let nodes: Vec<NodeId> = nodes.iter().collect();
        let mut batches = Batches::new(&nodes, cursors, most);
        let (mut table, mut found) = (Table::default(), Vec::new());
        while let Some(batch) = batches.next(&mut table) {
            let row = |row| (0..cursors.len()).map(|cursor| table.row(row).class(cursor)).collect();
            found.push((0..batch.len()).map(row).collect());
        }
        found
    }

    #[test]
    fn each_node_is_in_its_parts_whatever_the_batches() {
        let cursors = [
            vec![set((0..1000).step_by(2)), set((1..1000).step_by(2))],
            (0..1000).map(|node| set([node])).collect(),
            vec![set([7, 400]), set(600..700)],
            vec![],
        ];
        for nodes in [set(0..1000), set((0..1000).step_by(7)), set([999]), set([])] {
            let expected = |node: NodeId| -> Vec<Option<usize>> {
                cursors.iter().map(|classes| classes.iter().position(|class| class.contains(node))).collect()
            };
            let expected: Vec<_> = nodes.iter().map(expected).collect();
            for most in [1, 2, 3, 64, 5000] {
                let batches = classes(&nodes, &cursors, most);
                assert!(batches.iter().all(|batch| batch.len() <= most.min(MAX_NODES)));
                assert_eq!(batches.concat(), expected, "{most}");
            }
        }
    }

    #[test]
    fn the_table_of_a_batch_has_a_bound() {
        let nodes: Vec<NodeId> = (0..600).map(NodeId).collect();
        let rows = |cursors: usize| {
            let mut table = Table::default();
            Batches::new(&nodes, &vec![Vec::new(); cursors], nodes.len()).next(&mut table);
            table.cells.len().checked_div(cursors)
        };
        assert_eq!(rows(1), Some(MAX_NODES));
        assert_eq!(rows(MAX_CELLS / 100), Some(100));
        assert_eq!(rows(MAX_CELLS * 2), Some(1), "one node at least");
    }
}
