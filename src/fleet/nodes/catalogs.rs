//! The use of keys according to the catalogs of a fleet's nodes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::hiera::class_of_parameter;
use crate::hiera::key::root_of;
use crate::node::{Catalog, Names, NodeId, NodeSet, ProfileError, Wanted};

/// The latest catalogs of nodes. Lookups do not see them.
#[derive(Debug, Clone, Default)]
pub struct Catalogs {
    /// The nodes by the classes in their catalogs.
    classes: NodesByName,
    /// The nodes by the keys that were looked up for their catalogs, apart from those of their classes' parameters.
    keys: NodesByName,
    /// The nodes by the keys of parameters that a classifier gives.
    given: NodesByName,
}

/// Nodes by names that are listed for them.
#[derive(Debug, Clone, Default)]
struct NodesByName {
    /// The nodes whose list is known.
    known: NodeSet,
    /// The nodes by the names on their lists.
    by_name: HashMap<Arc<str>, NodeSet, RandomState>,
}

/// The use of a key according to catalogs.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyUse {
    /// The class that has it as a parameter, if some catalog has that class.
    pub class: Option<Arc<str>>,
    /// The nodes whose catalogs use it: they have the class, or it was looked up for them.
    pub with: NodeSet,
    /// The nodes whose catalogs show if they use it.
    pub known: NodeSet,
    /// The nodes of `known` for which all lookups of the catalog are known.
    pub recorded: NodeSet,
}

impl Catalogs {
    /// Returns the nodes for which a classifier gives the parameter that belongs to a key.
    pub fn given(&self, key: &Arc<str>) -> Option<&NodeSet> {
        self.given.by_name.get(&root_of(key))
    }

    /// Returns the known use of a key, or `None` if nothing is known. A key that belongs to no class in any catalog
    /// may be looked up explicitly, which only records of lookups show.
    pub fn use_of(&self, key: &Arc<str>) -> Option<KeyUse> {
        let of_class = class_of_parameter(key);
        let class = of_class.and_then(|class| self.classes.by_name.get_key_value(class));
        // Lookups of the parameters of a catalog's classes need not be recorded.
        let recorded = match of_class {
            Some(_) => self.keys.known.intersection(&self.classes.known),
            None => self.keys.known.clone(),
        };
        let mut with = self.keys.by_name.get(&root_of(key)).cloned().unwrap_or_default();
        if class.is_none() && recorded.is_empty() && with.is_empty() {
            return None;
        }
        let mut known = recorded.clone();
        known.union_with(&with);
        if let Some((_, nodes)) = class {
            with.union_with(nodes);
            known.union_with(&self.classes.known);
        }
        Some(KeyUse { class: class.map(|(name, _)| name.clone()), with, known, recorded })
    }
}

impl NodesByName {
    /// Lists nodes by what `of_name` makes of each of their names.
    fn of(lists: &NodesByNameList, of_name: impl Fn(&Arc<str>) -> Arc<str>) -> NodesByName {
        let mut known = NodeSet::default();
        let mut by_name: HashMap<Arc<str>, Vec<NodeId>, RandomState> = HashMap::default();
        for (names, nodes) in lists {
            known.union_with(&nodes.iter().copied().collect());
            for name in names.iter() {
                by_name.entry(of_name(&name.into())).or_default().extend(nodes);
            }
        }
        NodesByName {
            known,
            by_name: by_name.into_iter().map(|(name, nodes)| (name, nodes.into_iter().collect())).collect(),
        }
    }
}

/// Nodes by their lists of names.
type NodesByNameList = HashMap<Names, Vec<NodeId>, RandomState>;

impl Fleet {
    /// Returns the data of the nodes' catalogs, or `None` if no catalog is known. The first call reads the profiles
    /// once more; if that fails, all calls do.
    pub fn catalogs(&self) -> Result<Option<&Catalogs>, ProfileError> {
        if !self.has_catalogs {
            return Ok(None);
        }
        let read = self.catalogs.get_or_init(|| {
            let found: Mutex<[NodesByNameList; 3]> = Mutex::default();
            let errors = self.source.read(&Wanted::default().with_catalogs(), &|batch| {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                for (place, profile) in batch.profiles {
                    let Some(node) = self.find(&profile.name).filter(|node| self.is_at(*node, place)) else { continue };
                    let Catalog { classes, keys } = profile.catalog;
                    for (lists, names) in found.iter_mut().zip([classes, keys, profile.given]) {
                        if let Some(names) = names {
                            lists.entry(names).or_default().push(node);
                        }
                    }
                }
            });
            self.check_only_known_errors(errors)?;
            let [classes, keys, given] = found.into_inner().unwrap_or_else(PoisonError::into_inner);
            let [keys, given] = [keys, given].map(|lists| NodesByName::of(&lists, root_of));
            Ok(Catalogs { classes: NodesByName::of(&classes, Arc::clone), keys, given })
        });
        read.as_ref().map(Some).map_err(ProfileError::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::read_profiles;

    #[test]
    fn catalogs_tell_which_nodes_use_a_key() {
        let profiles = "{\"name\": \"a\", \"catalog_classes\": [\"Ntp\", \"Ntp::Config\"]}\n{\"name\": \"b\"}\n\
                        {\"name\": \"c\", \"catalog_classes\": []}\n{\"name\": \"d\", \"catalog_classes\": [\"ntp\"], \
                        \"catalog_keys\": [\"plain.part\", \"'dotted.key'.x\", \"nosuch::x\"]}\n\
                        {\"name\": \"e\", \"catalog_keys\": [\"ntp::x\", \"ntp::x.y\"]}\n";
        let (profiles, errors) = read_profiles(profiles.as_bytes(), "n.ndjson", "production");
        assert!(errors.is_empty(), "{errors:?}");
        let fleet = Fleet::new(profiles.clone());
        let catalogs = fleet.catalogs().unwrap().unwrap();
        let names = |nodes: &NodeSet| fleet.names(nodes).map(|name| &**name).collect::<Vec<_>>().join(" ");
        let described = |key: &str| {
            let key_use = catalogs.use_of(&key.into()).unwrap();
            [
                key_use.class.unwrap_or_default().to_string(),
                names(&key_use.with),
                names(&key_use.known),
                names(&key_use.recorded),
            ]
        };
        assert_eq!(described("ntp::x"), ["ntp", "a d e", "a c d e", "d"]);
        assert_eq!(described("ntp::config::x"), ["ntp::config", "a", "a c d", "d"]);
        assert_eq!(described("nosuch::x"), ["", "d", "d", "d"]);
        assert_eq!(described("plain"), ["", "d", "d e", "d e"]);
        assert_eq!(described("'dotted.key'"), ["", "d", "d e", "d e"]);
        // Without records of lookups, nothing is known about keys of unknown classes.
        let fleet = Fleet::new(profiles[..3].to_vec());
        let catalogs = fleet.catalogs().unwrap().unwrap();
        assert_eq!((catalogs.use_of(&"plain".into()), catalogs.use_of(&"nosuch::x".into())), (None, None));
        assert_eq!(names(&catalogs.use_of(&"ntp::y".into()).unwrap().recorded), "");
        assert!(Fleet::new([profiles[1].clone()]).catalogs().unwrap().is_none());
    }
}
