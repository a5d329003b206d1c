//! The names of a fleet's nodes, in reports.

use std::fmt;
use std::sync::Arc;

use crate::fleet::Fleet;
use crate::node::NodeSet;

/// The names of the nodes of a fleet, shared by its reports.
#[derive(Clone)]
pub struct NodeNames {
    /// The fleet.
    pub fleet: Arc<Fleet>,
}

impl NodeNames {
    /// Makes the names of `fleet`.
    pub fn new(fleet: Arc<Fleet>) -> NodeNames {
        NodeNames { fleet }
    }

    /// Returns the names of some nodes, in order.
    pub fn names_of<'n>(&'n self, nodes: &'n NodeSet) -> impl Iterator<Item = &'n str> + Clone {
        nodes.iter().map(|node| &**self.fleet.name(node))
    }
}

impl fmt::Debug for NodeNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names_of(&self.fleet.all())).finish()
    }
}
