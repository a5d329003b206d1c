//! Which part of each division a node is in, for a batch of nodes at a time: no table has all nodes and all keys.

use std::ops::Range;

use super::divisions::Parts;
use crate::node::{NodeId, NodeSet};

/// The cells of the table of a batch, unless the batch is a single node.
const CELLS: usize = 1 << 20;

/// With more nodes a batch does not get cheaper.
const MANY: usize = 256;

/// In the place of a part's number: the node is in none.
const NONE: u32 = u32::MAX;

/// Goes through nodes in their order, a batch at a time.
pub(super) struct Batches<'a> {
    nodes: &'a [NodeId],
    divisions: Vec<Division<'a>>,
    /// The nodes in a batch.
    len: usize,
    /// How many nodes were in batches.
    done: usize,
}

impl<'a> Batches<'a> {
    /// Batches of at most `most` of the `nodes`, which are in order.
    pub(super) fn new(nodes: &'a [NodeId], divisions: &'a [Parts], most: usize) -> Batches<'a> {
        let divisions: Vec<_> =
            divisions.iter().map(|parts| Division { parts, first: 0, entered: Vec::new() }).collect();
        let len = (CELLS / divisions.len().max(1)).min(MANY).min(most).max(1);
        Batches { nodes, divisions, len, done: 0 }
    }

    /// Puts the parts of the nodes of the next batch into `table`. The places of these nodes; nothing after the last one.
    pub(super) fn next(&mut self, table: &mut Table) -> Option<Range<usize>> {
        let batch = self.done..(self.done + self.len).min(self.nodes.len());
        let nodes = &self.nodes[batch.clone()];
        let last = *nodes.last()?;
        table.clear(nodes.len(), self.divisions.len());
        for (column, division) in self.divisions.iter_mut().enumerate() {
            division.advance(last, |node, part| {
                if let Some(row) = row_of(node, nodes) {
                    table.cells[row * table.width + column] = part;
                }
            });
        }
        self.done = batch.end;
        Some(batch)
    }
}

/// The place of a node in a batch. Mostly all nodes are wanted, so that there is no gap.
fn row_of(node: NodeId, batch: &[NodeId]) -> Option<usize> {
    let guess = node.0.checked_sub(batch.first()?.0)? as usize;
    if batch.get(guess) == Some(&node) { Some(guess) } else { batch.binary_search(&node).ok() }
}

/// A division, of which nodes are passed one after the other.
struct Division<'a> {
    /// The parts none of whose nodes has been passed, and the number of the first one of them.
    parts: &'a [NodeSet],
    first: u32,
    /// The parts some of whose nodes have been passed.
    entered: Vec<Entered<'a>>,
}

struct Entered<'a> {
    part: u32,
    /// The first node that has not been passed, and those after it.
    next: NodeId,
    rest: Box<dyn Iterator<Item = NodeId> + Send + 'a>,
}

impl Division<'_> {
    /// Passes the nodes up to `last`.
    fn advance(&mut self, last: NodeId, mut put: impl FnMut(NodeId, u32)) {
        self.entered.retain_mut(|entered| entered.advance(last, &mut put));
        while let Some((nodes, rest)) = self.parts.split_first()
            && nodes.first() <= Some(last)
        {
            let mut nodes = nodes.iter();
            if let Some(next) = nodes.next() {
                let mut entered = Entered { part: self.first, next, rest: Box::new(nodes) };
                if entered.advance(last, &mut put) {
                    self.entered.push(entered);
                }
            }
            self.parts = rest;
            self.first += 1;
        }
    }
}

impl Entered<'_> {
    /// Passes the nodes up to `last`. Whether there are more of them.
    fn advance(&mut self, last: NodeId, put: &mut impl FnMut(NodeId, u32)) -> bool {
        while self.next <= last {
            put(self.next, self.part);
            match self.rest.next() {
                Some(next) => self.next = next,
                None => return false,
            }
        }
        true
    }
}

/// The parts that each node of a batch is in.
#[derive(Default)]
pub(super) struct Table {
    cells: Vec<u32>,
    width: usize,
}

impl Table {
    fn clear(&mut self, rows: usize, width: usize) {
        self.width = width;
        self.cells.clear();
        self.cells.resize(rows * width, NONE);
    }

    /// The parts of a node of the batch.
    pub(super) fn row(&self, node: usize) -> Row<'_> {
        Row(&self.cells[node * self.width..][..self.width])
    }
}

/// The parts that one node is in.
#[derive(Clone, Copy)]
pub(super) struct Row<'t>(&'t [u32]);

impl Row<'_> {
    /// The number of its part in a division; nothing where it is in none.
    pub(super) fn part(self, division: usize) -> Option<usize> {
        let part = self.0[division];
        (part != NONE).then_some(part as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(nodes: impl IntoIterator<Item = u32>) -> NodeSet {
        nodes.into_iter().map(NodeId).collect()
    }

    /// The parts of each node in each division, batch by batch.
    fn parts(nodes: &NodeSet, divisions: &[Vec<NodeSet>], most: usize) -> Vec<Vec<Vec<Option<usize>>>> {
        let nodes: Vec<NodeId> = nodes.iter().collect();
        let mut batches = Batches::new(&nodes, divisions, most);
        let (mut table, mut found) = (Table::default(), Vec::new());
        while let Some(batch) = batches.next(&mut table) {
            let row = |row| (0..divisions.len()).map(|division| table.row(row).part(division)).collect();
            found.push((0..batch.len()).map(row).collect());
        }
        found
    }

    #[test]
    fn each_node_is_in_its_parts_whatever_the_batches() {
        let divisions = [
            vec![set((0..1000).step_by(2)), set((1..1000).step_by(2))],
            (0..1000).map(|node| set([node])).collect(),
            vec![set([7, 400]), set(600..700)],
            vec![],
        ];
        for nodes in [set(0..1000), set((0..1000).step_by(7)), set([999]), set([])] {
            let expected = |node: NodeId| -> Vec<Option<usize>> {
                divisions.iter().map(|parts| parts.iter().position(|part| part.contains(node))).collect()
            };
            let expected: Vec<_> = nodes.iter().map(expected).collect();
            for most in [1, 2, 3, 64, 5000] {
                let batches = parts(&nodes, &divisions, most);
                assert!(batches.iter().all(|batch| batch.len() <= most.min(MANY)));
                assert_eq!(batches.concat(), expected, "{most}");
            }
        }
    }

    #[test]
    fn the_table_of_a_batch_has_a_bound() {
        let nodes: Vec<NodeId> = (0..600).map(NodeId).collect();
        let rows = |divisions: usize| {
            let mut table = Table::default();
            Batches::new(&nodes, &vec![Vec::new(); divisions], nodes.len()).next(&mut table);
            table.cells.len().checked_div(divisions)
        };
        assert_eq!(rows(1), Some(MANY));
        assert_eq!(rows(CELLS / 100), Some(100));
        assert_eq!(rows(CELLS * 2), Some(1), "one node at least");
    }
}
