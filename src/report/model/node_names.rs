//! The names of a fleet's nodes, in reports.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::fleet::Fleet;
use crate::node::{NodeId, NodeSet};
use crate::puppet::json;

/// The names of the nodes of a fleet, shared by its reports.
#[derive(Clone)]
pub struct NodeNames {
    /// The fleet.
    pub fleet: Arc<Fleet>,
    quoted: Arc<OnceLock<Quoted>>,
}

impl NodeNames {
    /// Makes the names of `fleet`.
    pub fn new(fleet: Arc<Fleet>) -> NodeNames {
        NodeNames { fleet, quoted: Arc::default() }
    }

    /// Returns the names of some nodes, in order.
    pub fn names_of<'n>(&'n self, nodes: &'n NodeSet) -> impl Iterator<Item = &'n str> + Clone {
        nodes.iter().map(|node| &**self.fleet.name(node))
    }

    /// Returns some numbers and the names of some nodes as a JSON array.
    pub(in crate::report) fn json_list(&self, numbers: &[usize], nodes: &NodeSet) -> Vec<u8> {
        self.quoted.get_or_init(|| Quoted::new(&self.fleet)).list(numbers, nodes)
    }
}

impl fmt::Debug for NodeNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names_of(&self.fleet.all())).finish()
    }
}

/// All names as JSON strings, each followed by a comma. Reports may have thousands of changes that each name thousands
/// of nodes, so each name is quoted once.
struct Quoted {
    text: String,
    /// The start of each name, and the end of the last one.
    places: Vec<usize>,
}

impl Quoted {
    fn new(fleet: &Fleet) -> Quoted {
        let all = fleet.all();
        let names = || all.iter().map(|node| &**fleet.name(node));
        let mut text = String::with_capacity(names().map(|name| name.len() + "\"\",".len()).sum());
        let mut places = Vec::with_capacity(all.len() + 1);
        places.push(0);
        for name in names() {
            json::write_text(name, &mut text);
            text.push(',');
            places.push(text.len());
        }
        Quoted { text, places }
    }

    fn list(&self, numbers: &[usize], nodes: &NodeSet) -> Vec<u8> {
        let place = |node: NodeId| self.places[node.0 as usize]..self.places[node.0 as usize + 1];
        let length: usize = nodes.iter().map(|node| place(node).len()).sum();
        let mut list = Vec::with_capacity(length + "[]".len());
        list.push(b'[');
        for number in numbers {
            list.extend_from_slice(format!("{number},").as_bytes());
        }
        nodes.iter().for_each(|node| list.extend_from_slice(&self.text.as_bytes()[place(node)]));
        list.pop_if(|last| *last == b',');
        list.push(b']');
        list
    }
}
