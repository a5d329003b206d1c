//! How the answers for keys divide the nodes: many keys share a division.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::node::NodeSet;

/// A division: the nodes of each part, in the order of their first nodes. Some nodes may be in none.
pub(super) type Parts = Vec<NodeSet>;

/// The distinct divisions.
#[derive(Default)]
pub(super) struct Divisions {
    pub(super) list: Vec<Parts>,
    /// Their numbers by a hash of the first node and the size of each part.
    known: HashMap<u64, Vec<usize>, RandomState>,
}

impl Divisions {
    /// The number of a division.
    pub(super) fn number(&mut self, parts: Parts) -> usize {
        let looks: Vec<_> = parts.iter().map(|nodes| (nodes.first(), nodes.len())).collect();
        let alike = self.known.entry(self.known.hasher().hash_one(looks)).or_default();
        if let Some(known) = alike.iter().find(|number| self.list[**number] == parts) {
            return *known;
        }
        alike.push(self.list.len());
        self.list.push(parts);
        self.list.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeId;

    #[test]
    fn equal_divisions_have_one_number() {
        let set = |nodes: &[u32]| nodes.iter().map(|node| NodeId(*node)).collect::<NodeSet>();
        let sets = [set(&[0, 2, 4]), set(&[0, 3, 4]), set(&[1]), set(&[1]), set(&[0, 2, 4])];
        let mut divisions = Divisions::default();
        let mut number = |parts: &[usize]| divisions.number(parts.iter().map(|at| sets[*at].clone()).collect());
        assert_eq!(number(&[0, 2]), 0);
        assert_eq!(number(&[1, 2]), 1, "the first nodes and the sizes are the same");
        assert_eq!(number(&[4, 3]), 0);
        assert_eq!(number(&[0]), 2);
        assert_eq!(number(&[]), 3);
    }
}
