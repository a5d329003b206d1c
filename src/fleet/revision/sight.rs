//! What a revision reads of its repository: which files are data of some node, and whether anything is read at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fleet::resolve::resolve;
use crate::fleet::revision::Revision;
use crate::fleet::revision::class::Class;
use crate::fleet::revision::placed::Placed;
use crate::hiera::backend::{Backend, Declared};
use crate::hiera::hierarchy::{Content, Level, Location};
use crate::hiera::layer::Layer;
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeSet;
use crate::tree::{FileTree, Target, TreeError, follow};
use crate::workers::Workers;

/// A key that no data has: it fails where a lookup of any key fails.
const PROBE: &str = "hierad_probe";

impl Revision {
    /// Returns true if the hierarchy of some node leads to the file at `path` of the repository.
    pub fn reaches(&self, path: &str) -> Result<bool, TreeError> {
        let changed = BTreeSet::from([path.to_owned()]);
        for placed in &self.placed {
            let classes = classes_of(placed, &placed.concerned(&changed));
            if classes.iter().any(|class| class.paths().any(|one| one == path)) {
                return Ok(true);
            }
            // A path of the hierarchy may lead to the file through links.
            for one in classes.iter().flat_map(|class| class.paths()) {
                if leads_to(&*self.environment.tree, one, path)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The nodes of which no level of any layer could be read.
    pub fn nodes_without_data(&self) -> NodeSet {
        let mut rest = self.fleet.all();
        for placed in &self.placed {
            for (class, nodes) in placed.classes.iter().zip(placed.partition.classes()) {
                if class.reads() {
                    rest = rest.difference(nodes);
                }
            }
            if rest.is_empty() {
                break;
            }
        }
        rest
    }

    /// Returns true if some level of some layer can be read on some node.
    pub fn reads_data(&self) -> bool {
        self.placed.iter().flat_map(|placed| &placed.classes).any(|class| class.reads())
    }

    /// Returns the error with which lookups fail, if there are keys and none of them has a value on any node. Cheap where lookups
    /// work.
    pub fn fault_of_every_key(&self, workers: &Workers) -> Option<LookupError> {
        let fault = self.fault_of_any_key(workers)?;
        let effective = resolve(self, &self.fleet.everywhere(self.keys.iter()), workers);
        let mut answers = effective.keys.values().flatten();
        let has_value = answers.any(|answer| matches!(&*answer.outcome, Outcome::Found(_)));
        (!has_value).then_some(fault)
    }

    /// Returns an error with which a lookup of any key may fail on some node.
    fn fault_of_any_key(&self, workers: &Workers) -> Option<LookupError> {
        let environment = &self.environment;
        if let Some(fault) = &environment.fault {
            return Some(fault.clone());
        }
        let fails =
            |layer: &Layer| layer.config.as_ref().is_err() || layer.config.as_ref().is_ok_and(|c| c.sound().is_err());
        let may_fail =
            environment.layers().any(fails) || self.placed.iter().any(|placed| !placed.for_any_key.is_empty());
        if !may_fail {
            return None;
        }
        let probe = self.fleet.everywhere([&Arc::from(PROBE)]);
        let answers = resolve(self, &probe, workers).keys.into_values().flatten();
        answers.into_iter().find_map(|answer| match &*answer.outcome {
            Outcome::Failed(error) => Some(error.clone()),
            _ => None,
        })
    }
}

impl Class {
    /// The paths at which there is something, as the hierarchy has them.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let locations = self.part.levels.iter().flatten().flat_map(|level| &level.locations);
        locations.filter_map(|location| match location {
            Location::Path { path, content: Content::File(..) | Content::Other | Content::Unreadable(_), .. } => {
                Some(&**path)
            }
            _ => None,
        })
    }

    /// Returns true if there is data for its nodes.
    fn reads(&self) -> bool {
        let is_declared =
            |level: &Level| matches!(level.backend, Backend::Declared(Declared::Values(_) | Declared::Command(_)));
        let is_read = |location: &Location| {
            matches!(location, Location::Path { content: Content::File(..) | Content::Other, .. })
        };
        let mut levels = self.part.levels.iter().flatten();
        let is_absent = |level: &Level| matches!(level.backend, Backend::Absent);
        levels.any(|level| is_declared(level) || !is_absent(level) && level.locations.iter().any(is_read))
    }
}

/// The classes that some of `nodes` are of.
fn classes_of<'p>(placed: &'p Placed, nodes: &NodeSet) -> Vec<&'p Arc<Class>> {
    let (classes, partition) = (&placed.classes, &placed.partition);
    if nodes.len() < classes.len() {
        let parts: BTreeSet<usize> = nodes.iter().map(|node| partition.class_of(node)).collect();
        return parts.into_iter().map(|part| &classes[part]).collect();
    }
    let is_of = |of_class: &NodeSet| !of_class.intersection(nodes).is_empty();
    classes.iter().zip(partition.classes()).filter(|(_, of_class)| is_of(of_class)).map(|(class, _)| class).collect()
}

fn leads_to(tree: &dyn FileTree, from: &str, to: &str) -> Result<bool, TreeError> {
    Ok(!from.starts_with('/') && matches!(follow(tree, from)?, Target::File(at, _) if at == to))
}
