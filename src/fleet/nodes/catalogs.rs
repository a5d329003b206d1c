//! The classes in the catalogs of a fleet's nodes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::node::{CatalogClasses, NodeId, NodeSet, Wanted};

/// The classes in the last catalogs of nodes. No lookup sees them.
#[derive(Debug, Clone, Default)]
pub struct Catalogs {
    /// The nodes whose classes are known.
    known: NodeSet,
    /// The nodes by the classes in their catalogs.
    with: HashMap<Arc<str>, NodeSet, RandomState>,
}

impl Catalogs {
    /// Returns the nodes whose classes are known.
    pub fn known(&self) -> &NodeSet {
        &self.known
    }

    /// Returns the nodes with a class, or `None` if no known catalog has it.
    pub fn with(&self, class: &str) -> Option<&NodeSet> {
        self.with.get(class)
    }

    /// Makes the catalogs of nodes by their classes.
    fn of(by_classes: HashMap<CatalogClasses, Vec<NodeId>, RandomState>) -> Catalogs {
        let mut catalogs = Catalogs::default();
        let mut with: HashMap<Arc<str>, Vec<NodeId>, RandomState> = HashMap::default();
        for (classes, nodes) in by_classes {
            catalogs.known.union_with(&nodes.iter().copied().collect());
            for class in classes.names() {
                match with.get_mut(class) {
                    Some(known) => known.extend(&nodes),
                    None => _ = with.insert(class.into(), nodes.clone()),
                }
            }
        }
        catalogs.with = with.into_iter().map(|(class, nodes)| (class, nodes.into_iter().collect())).collect();
        catalogs
    }
}

impl Fleet {
    /// Returns the classes in the catalogs of the nodes, or `None` if those of no node are known. The first call reads
    /// the profiles once more.
    pub fn catalogs(&self) -> Option<&Catalogs> {
        if !self.has_catalogs {
            return None;
        }
        Some(self.catalogs.get_or_init(|| {
            let found: Mutex<HashMap<CatalogClasses, Vec<NodeId>, RandomState>> = Mutex::default();
            let errors = self.source.read(&Wanted::default().with_catalog_classes(), &|batch| {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                for (place, profile) in batch.profiles {
                    let node = self.find(&profile.name).filter(|node| self.is_at(*node, place));
                    if let (Some(node), Some(classes)) = (node, profile.catalog_classes) {
                        found.entry(classes).or_default().push(node);
                    }
                }
            });
            self.tell_new(&errors);
            Catalogs::of(found.into_inner().unwrap_or_else(PoisonError::into_inner))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::read_profiles;

    #[test]
    fn a_node_without_a_catalog_is_not_known() {
        let profiles = "{\"name\": \"a\", \"catalog_classes\": [\"Ntp\", \"Ntp::Config\"]}\n{\"name\": \"b\"}\n\
                        {\"name\": \"c\", \"catalog_classes\": []}\n{\"name\": \"d\", \"catalog_classes\": [\"ntp\"]}\n";
        let (profiles, errors) = read_profiles(profiles.as_bytes(), "n.ndjson", "production");
        assert!(errors.is_empty(), "{errors:?}");
        let fleet = Fleet::new(profiles.clone());
        let catalogs = fleet.catalogs().unwrap();
        let names = |nodes: Option<&NodeSet>| {
            nodes.map(|nodes| fleet.names(nodes).map(|name| &**name).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names(Some(catalogs.known())).unwrap(), "a c d");
        assert_eq!(names(catalogs.with("ntp")).unwrap(), "a d");
        assert_eq!(
            (names(catalogs.with("ntp::config")).unwrap(), names(catalogs.with("apache"))),
            ("a".to_owned(), None)
        );
        assert!(Fleet::new([profiles[1].clone()]).catalogs().is_none());
    }
}
