//! The options (`lookup_options`) in effect on all nodes of a revision.

use std::sync::Arc;

use crate::fleet::dependencies::Dependencies;
use crate::fleet::revision::Revision;
use crate::fleet::revision::node_view::NodeView;
use crate::hiera::sources::{FoundOptions, OptionsOf};
use crate::node::{NodeId, Partition};

/// The options in effect, by classes of nodes.
pub(in crate::fleet) struct OptionsClasses {
    /// The nodes by the options that they have.
    pub(in crate::fleet) partition: Partition,
    found: Vec<FoundOptions>,
}

impl OptionsClasses {
    /// Returns the options of a node.
    pub(super) fn for_node(&self, node: NodeId) -> FoundOptions {
        self.found(self.partition.class_of(node)).clone()
    }

    /// Returns the options of a class.
    pub(in crate::fleet) fn found(&self, class: usize) -> &FoundOptions {
        &self.found[class]
    }

    /// Returns true if no class has an error in place of options.
    fn is_sound(&self) -> bool {
        let is_ok = |found: &FoundOptions| found.options.is_ok() && found.on_the_way.iter().all(|(_, one)| one.is_ok());
        self.found.iter().all(is_ok)
    }

    /// Returns true if the key `root` is neither merged nor converted on any node.
    pub(in crate::fleet) fn are_none_for(&self, root: &str) -> bool {
        let is_none = |found: &FoundOptions| match &found.options {
            Ok(options) => options.are_none_for(root),
            Err(_) => false,
        };
        self.found.iter().all(is_none)
    }
}

impl Revision {
    /// Returns the options in effect on all nodes.
    pub(in crate::fleet) fn options(&self, owner: &OptionsOf) -> Arc<OptionsClasses> {
        self.options.get(owner.clone(), |owner| {
            let find = |node, dependencies: &Dependencies| {
                NodeView { revision: self, node, dependencies, answers: None }.find_options(owner)
            };
            let (classes, found) = self.evaluate_per_class(self.fleet.all(), find).into_iter().unzip();
            Arc::new(OptionsClasses { partition: Partition::of_classes(self.fleet.len(), classes), found })
        })
    }

    /// Takes over the options of another revision of the same fleet, which are known to be equal. Leaves out errors:
    /// their texts may differ.
    pub(in crate::fleet) fn adopt_options(&self, before: &Revision) {
        for (owner, classes) in before.options.known().into_iter().filter(|(_, classes)| classes.is_sound()) {
            self.options.get(owner, |_| classes);
        }
    }
}
