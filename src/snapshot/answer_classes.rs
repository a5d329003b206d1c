//! The node classes of the answers for keys. Many keys have the same classes, which are kept once.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::node::NodeSet;

/// The nodes of each answer for a key, in the order of their first nodes. Some nodes may have no answer.
pub(super) type AnswerClasses = Vec<NodeSet>;

/// The distinct lists of answer classes.
#[derive(Default)]
pub(super) struct ClassLists {
    pub(super) list: Vec<AnswerClasses>,
    /// Their numbers, by a hash of the first node and the size of each class.
    known: HashMap<u64, Vec<usize>, RandomState>,
}

impl ClassLists {
    /// Returns the number of a list of classes, which may be a new one.
    pub(super) fn number(&mut self, classes: AnswerClasses) -> usize {
        let outline: Vec<_> = classes.iter().map(|nodes| (nodes.first(), nodes.len())).collect();
        let alike = self.known.entry(self.known.hasher().hash_one(outline)).or_default();
        if let Some(known) = alike.iter().find(|number| self.list[**number] == classes) {
            return *known;
        }
        alike.push(self.list.len());
        self.list.push(classes);
        self.list.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeId;

    #[test]
    fn equal_lists_have_one_number() {
        let set = |nodes: &[u32]| nodes.iter().map(|node| NodeId(*node)).collect::<NodeSet>();
        let sets = [set(&[0, 2, 4]), set(&[0, 3, 4]), set(&[1]), set(&[1]), set(&[0, 2, 4])];
        let mut lists = ClassLists::default();
        let mut number = |classes: &[usize]| lists.number(classes.iter().map(|at| sets[*at].clone()).collect());
        assert_eq!(number(&[0, 2]), 0);
        assert_eq!(number(&[1, 2]), 1, "the first nodes and the sizes are the same");
        assert_eq!(number(&[4, 3]), 0);
        assert_eq!(number(&[0]), 2);
        assert_eq!(number(&[]), 3);
    }
}
