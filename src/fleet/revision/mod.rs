//! One revision of a repository, ready to answer for a fleet.

mod build;
pub(in crate::fleet) mod class;
mod division;
pub(in crate::fleet) mod keys;
pub(in crate::fleet) mod lanes;
mod looks;
mod own_paths;
pub(in crate::fleet) mod placed;
mod sight;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;

use crate::diagnostic::{Diagnostic, Place};
use crate::fleet::resolve::classes::classes;
use crate::fleet::resolve::reads::{Read, Reads};
use crate::fleet::resolve::view::NodeView;
use crate::fleet::revision::keys::{RepositoryKeys, absent_modules};
use crate::fleet::revision::placed::Placed;
use crate::fleet::{Finding, Fleet};
use crate::hiera::backend::{Backend, Declared};
use crate::hiera::config::Config;
use crate::hiera::explain::Recorder;
use crate::hiera::hierarchy::{Content, Hierarchy, Level, Location};
use crate::hiera::layer::{Environment, LayerId};
use crate::hiera::lookup::{FoundOptions, OptionsOf, Resolved};
use crate::hiera::options::KeyOptions;
use crate::hiera::{LookupError, Outcome};
use crate::node::{NodeId, NodeSet, Partition};

/// One revision of a repository, ready to answer for a fleet.
pub struct Revision {
    /// What the repository says.
    pub environment: Environment,
    /// The nodes that it is resolved for.
    pub fleet: Arc<Fleet>,
    /// What was found while the hierarchies were resolved.
    pub findings: Vec<Finding>,
    /// Every key that a data file of the repository gives a value to, in order.
    pub keys: Arc<BTreeSet<Arc<str>>>,
    pub(in crate::fleet) repository_keys: RepositoryKeys,
    /// The parts of all hierarchies, those of a layer one after the other.
    pub(in crate::fleet) placed: Vec<Arc<Placed>>,
    /// Those of each layer; nothing for a layer whose configuration fails.
    pub(in crate::fleet) layers: BTreeMap<LayerId, Range<usize>>,
    pub(in crate::fleet) hierarchies: Memo<(LayerId, Vec<usize>), Resolved>,
    pub(in crate::fleet) options: Memo<OptionsOf, Arc<OptionsClasses>>,
}

/// The options in effect on all nodes.
pub(in crate::fleet) struct OptionsClasses {
    partition: Partition,
    found: Vec<FoundOptions>,
}

impl OptionsClasses {
    pub(in crate::fleet) fn of(&self, node: NodeId) -> FoundOptions {
        self.found(self.partition.class_of(node)).clone()
    }

    /// Which options the nodes have.
    pub(in crate::fleet) fn parts(&self) -> impl Iterator<Item = usize> {
        self.partition.class_numbers()
    }

    /// Whether they are known everywhere, errors being none.
    fn is_sound(&self) -> bool {
        let is_ok = |found: &FoundOptions| found.options.is_ok() && found.on_the_way.iter().all(|(_, one)| one.is_ok());
        self.found.iter().all(is_ok)
    }

    /// Whether the key `root` is neither merged nor converted anywhere.
    pub(in crate::fleet) fn are_none_for(&self, root: &str) -> bool {
        let is_none = |found: &FoundOptions| match &found.options {
            Ok(options) => options.of(root).is_ok_and(|options| options == KeyOptions::default()),
            Err(_) => false,
        };
        self.found.iter().all(is_none)
    }

    pub(in crate::fleet) fn found(&self, part: usize) -> &FoundOptions {
        &self.found[part]
    }
}

impl Revision {
    /// What is odd about the hierarchies, and for whom.
    pub(in crate::fleet) fn find(&self) -> Vec<Finding> {
        let mut findings: HashMap<&Diagnostic, NodeSet> = HashMap::new();
        for parts in self.layers.values() {
            let parts = &self.placed[parts.clone()];
            // Where a layer fails, the failure says it all.
            let fails = |placed: &Arc<Placed>| {
                let failing = placed
                    .classes
                    .iter()
                    .zip(placed.partition.classes())
                    .filter(|(class, _)| class.part.levels.is_err());
                failing.map(|(_, nodes)| nodes.clone()).collect::<Vec<_>>()
            };
            let failing: Vec<NodeSet> = parts.iter().flat_map(fails).collect();
            for (nodes, diagnostic) in parts.iter().flat_map(|placed| &placed.findings) {
                let nodes = failing.iter().fold(nodes.clone(), |nodes, failing| nodes.difference(failing));
                if !nodes.is_empty() {
                    findings.entry(diagnostic).or_default().union_with(&nodes);
                }
            }
        }
        let found = findings.into_iter().map(|(diagnostic, nodes)| Finding { diagnostic: diagnostic.clone(), nodes });
        let mut findings: Vec<Finding> = found.collect();
        findings.sort_by(|a, b| a.diagnostic.cmp(&b.diagnostic));
        findings.extend(absent_modules(&self.environment, &self.keys));
        findings
    }

    /// The configuration of a layer, where there is one.
    pub(in crate::fleet) fn config(&self, layer: &LayerId) -> Option<Result<&Config, &LookupError>> {
        Some(self.environment.layer_of(layer)?.config.as_deref())
    }

    /// The parts of a layer's hierarchy.
    pub(in crate::fleet) fn parts(&self, layer: &LayerId) -> &[Arc<Placed>] {
        self.layers.get(layer).map_or(&[], |parts| &self.placed[parts.clone()])
    }

    /// The hierarchy of a layer for a node.
    pub(in crate::fleet) fn hierarchy(&self, layer: &LayerId, node: NodeId) -> Option<Resolved> {
        let config = match &self.environment.layer_of(layer)?.config {
            Ok(config) => config,
            Err(error) => return Some(Err(error.clone())),
        };
        let parts = &self.placed[self.layers.get(layer)?.clone()];
        let classes: Vec<usize> = parts.iter().map(|placed| placed.partition.class_of(node)).collect();
        Some(self.hierarchies.get((layer.clone(), classes), |(_, classes)| {
            let parts = parts.iter().zip(classes).map(|(placed, class)| &placed.classes[*class].part);
            Hierarchy::assemble(config, parts).map(Arc::new)
        }))
    }

    /// The options in effect on all nodes.
    pub(in crate::fleet) fn options(&self, of: &OptionsOf) -> Arc<OptionsClasses> {
        self.options.get(of.clone(), |of| {
            let find = |node, reads: &Reads| NodeView { revision: self, node, reads }.find_options(of);
            let (sets, found) = self.classes(self.fleet.all(), find).into_iter().unzip();
            Arc::new(OptionsClasses { partition: Partition::of_classes(self.fleet.len(), sets), found })
        })
    }

    /// Takes the options over that another revision of the same fleet has found, as they are the same. What stands in errors of them
    /// may not be.
    pub(in crate::fleet) fn adopt_options(&self, before: &Revision) {
        for (of, found) in before.options.known().into_iter().filter(|(_, found)| found.is_sound()) {
            self.options.get(of, |_| found);
        }
    }

    /// Looks `key` up on a node and tells `recorder` where its value comes from; what is known of hierarchies and options is not told
    /// again.
    pub fn explain(&self, key: &str, node: NodeId, recorder: &Recorder) -> Outcome {
        NodeView { revision: self, node, reads: &Reads::new(false) }.explain(key, recorder)
    }

    /// Evaluates something for all of `nodes`: on one of each class.
    pub(in crate::fleet) fn classes<T>(
        &self,
        nodes: NodeSet,
        evaluate: impl Fn(NodeId, &Reads) -> T,
    ) -> Vec<(NodeSet, T)> {
        classes(nodes, evaluate, |read, parts, nodes| self.split(read, parts, nodes))
    }

    fn split(&self, read: &Read, parts: Range<usize>, nodes: &NodeSet) -> Vec<NodeSet> {
        match read {
            Read::Variable(path) => self.fleet.column(path.by_ref()).partition.split(nodes),
            Read::Options(of) => self.options(of).partition.split(nodes),
            Read::Key(root, layer) => self.split_by_key(root, layer, &parts, nodes),
        }
    }

    /// `nodes` by where they find `root` in those parts of a layer, and by what may fail for any key in the others.
    fn split_by_key(&self, root: &str, layer: &LayerId, searched: &Range<usize>, nodes: &NodeSet) -> Vec<NodeSet> {
        let mut parts = vec![nodes.clone()];
        for (at, placed) in self.parts(layer).iter().enumerate().filter(|(_, placed)| placed.classes.len() > 1) {
            for lane in &placed.lanes {
                let apart = if searched.contains(&at) { lane.parts_with(root) } else { lane.for_any_key.clone() };
                parts = parts.iter().flat_map(|nodes| lane.partition.split_off(nodes, &apart)).collect();
            }
        }
        parts
    }

    /// How many parts of a layer's hierarchy there are up to the one that `level` is of on a node; all if it is of none.
    pub(in crate::fleet) fn parts_to(&self, layer: &LayerId, node: NodeId, level: Option<&Arc<Level>>) -> usize {
        let parts = self.parts(layer);
        let is_of = |placed: &Arc<Placed>, level| {
            let class = &placed.classes[placed.partition.class_of(node)];
            class.part.levels.iter().flatten().any(|other| Arc::ptr_eq(other, level))
        };
        let last = level.and_then(|level| parts.iter().rposition(|placed| is_of(placed, level)));
        last.map_or(parts.len(), |last| last + 1)
    }

    /// Whether a level asks a command.
    pub(in crate::fleet) fn asks_commands(&self) -> bool {
        let parts = self.placed.iter().flat_map(|placed| &placed.classes);
        let mut levels = parts.flat_map(|class| class.part.levels.iter().flatten());
        levels.any(|level| matches!(level.backend, Backend::Declared(Declared::Command(_))))
    }

    /// The levels of encrypted data that have files, but no key here, by place and name, with the nodes whose they are.
    pub fn keyless_levels(&self) -> BTreeMap<(Place, Arc<str>), NodeSet> {
        let mut found: BTreeMap<_, NodeSet> = BTreeMap::new();
        let is_file = |location: &Location| matches!(location, Location::Path { content: Content::File(..), .. });
        for (class, nodes) in
            self.placed.iter().flat_map(|placed| placed.classes.iter().zip(placed.partition.classes()))
        {
            for level in class.part.levels.iter().flatten() {
                let is_encrypted = matches!(level.backend, Backend::Eyaml(_)) && level.locations.iter().any(is_file);
                if is_encrypted && matches!(self.environment.keys.of(&level.options), Ok(None)) {
                    found.entry((level.place.clone(), level.name.clone())).or_default().union_with(nodes);
                }
            }
        }
        found
    }

    /// The paths of all files that some node's hierarchy leads to.
    pub fn reached_files(&self) -> BTreeSet<Arc<str>> {
        let levels =
            self.placed.iter().flat_map(|placed| &placed.classes).flat_map(|class| class.part.levels.iter().flatten());
        let path = |location: &Location| match location {
            Location::Path { path, content: Content::File(..) | Content::Other, .. } => Some(path.clone()),
            _ => None,
        };
        levels.flat_map(|level| level.locations.iter().filter_map(path)).collect()
    }
}

/// Answers that are worked out once, by whoever comes first.
pub(in crate::fleet) struct Memo<K, V>(RwLock<HashMap<K, V, RandomState>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Memo<K, V> {
        Memo(RwLock::default())
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Memo<K, V> {
    fn known(&self) -> Vec<(K, V)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn get(&self, key: K, find: impl FnOnce(&K) -> V) -> V {
        if let Some(value) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return value.clone();
        }
        let value = find(&key);
        self.0.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(value).clone()
    }
}
