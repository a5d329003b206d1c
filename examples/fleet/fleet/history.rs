//! The commits.

use super::Shape;

/// A kind of commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    /// A key of the file of a node.
    Node(usize),
    /// A key of the file of a role.
    Role(usize),
    /// A key of the common file.
    Common(usize),
    /// An entry of `lookup_options`.
    Options(usize),
    /// A level goes, or comes back.
    Hierarchy(usize),
}

impl Edit {
    /// The branch that stands on the first commit of the kind.
    pub(super) fn branch(self) -> Option<&'static str> {
        match self {
            Edit::Node(0) => Some("node"),
            Edit::Role(0) => Some("role"),
            Edit::Common(0) => Some("common"),
            Edit::Options(0) => Some("options"),
            Edit::Hierarchy(0) => Some("hierarchy"),
            _ => None,
        }
    }
}

/// The commits of a fleet: one of each kind, then `shape.commits` more.
pub(super) fn edits(shape: &Shape) -> Vec<Edit> {
    let kinds = [Edit::Node, Edit::Role, Edit::Common, Edit::Options, Edit::Hierarchy];
    let first = kinds.iter().map(|kind| kind(0));
    let mut random = fastrand::Rng::with_seed(shape.seed);
    let more = (0..shape.commits).map(|_| {
        // Levels come and go less often than values.
        let kind = [0, 0, 0, 1, 1, 1, 2, 2, 3, 4][random.usize(0..10)];
        kinds[kind](random.usize(1..1_000_000))
    });
    first.chain(more).collect()
}
