//! One revision of a repository, with its hierarchies resolved on all nodes of a fleet.
//!
//! A [`Revision`] is made from scratch, or from the revision before ([`Revision::next`]), with the same result. It
//! evaluates what it is given once per node class, and shares the hierarchies and options that it computes on the
//! way. It knows nothing of other revisions' answers.

mod asked;
mod assigned;
mod build;
mod data;
mod findings;
mod memo;
pub(in crate::fleet) mod node_view;
mod options;
mod read_twice;
pub(in crate::fleet) mod replaced;
pub(in crate::fleet) mod shared_answers;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::fleet::dependencies::{Dependencies, Dependency};
use crate::fleet::levels::ResolvedLevels;
use crate::fleet::node_classes::{evaluate_on, evaluate_per_class};
use crate::fleet::repository_keys::RepositoryKeys;
use crate::fleet::{Finding, Fleet};
use crate::hiera::budget::Cost;
use crate::hiera::config::Config;
use crate::hiera::explain::Recorder;
use crate::hiera::hierarchy::{Hierarchy, Level};
use crate::hiera::key::asks_for;
use crate::hiera::layer::{Environment, LayerId};
use crate::hiera::sources::{OptionsOf, Resolved};
use crate::hiera::{LookupError, Outcome};
use crate::node::{NodeId, NodeSet, ProfileError};
use crate::tree::TreeError;

use memo::Memo;
use node_view::NodeView;
use options::OptionsClasses;

/// A failure to make a revision.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// Its files cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Node profiles can no longer be read that could be when the fleet was loaded.
    #[error("node profiles can no longer be read: {0}")]
    Profile(#[from] ProfileError),
}

/// One revision of a repository, resolved on a fleet.
pub struct Revision {
    /// The layers and data of the repository.
    pub environment: Environment,
    /// The nodes.
    pub fleet: Arc<Fleet>,
    /// The findings of the hierarchies.
    pub findings: Vec<Finding>,
    /// All keys of the repository's data files and of what its hierarchies lead to, as lookups ask for them, in
    /// order.
    pub keys: Arc<BTreeSet<Arc<str>>>,
    repository_keys: RepositoryKeys,
    /// The resolved levels of all layers, layer by layer.
    pub(in crate::fleet) levels: Vec<Arc<ResolvedLevels>>,
    /// The positions of each layer's levels. A layer whose configuration fails has none.
    layers: BTreeMap<LayerId, Range<usize>>,
    hierarchies: Memo<(LayerId, Vec<usize>), Resolved>,
    options: Memo<OptionsOf, Arc<OptionsClasses>>,
    /// The revision before the last variable that the data gives was set.
    pub(in crate::fleet) unassigned: Option<Arc<Revision>>,
}

impl Revision {
    /// Returns the configuration of a layer, or `None` if it has none.
    pub(in crate::fleet) fn config(&self, layer: &LayerId) -> Option<Result<&Config, &LookupError>> {
        Some(self.environment.layer_of(layer)?.config.as_deref())
    }

    /// Returns the key of this revision that asks for the root key `root`, or `None` if no data file defines it.
    pub fn key_of(&self, root: &Arc<str>) -> Option<&Arc<str>> {
        self.keys.get(&asks_for(root)?)
    }

    /// Returns the findings on the configuration and on data, without keys that fail.
    pub fn all_findings(&self) -> Vec<Finding> {
        let whole = |diagnostic: &Diagnostic| Finding { diagnostic: diagnostic.clone(), nodes: NodeSet::new() };
        let mut findings: Vec<Finding> = self.environment.diagnostics.iter().map(whole).collect();
        findings.extend(self.findings.iter().cloned());
        findings
    }

    /// Returns the keys that data refers to and no data file defines.
    pub fn absent_keys(&self) -> BTreeSet<Arc<str>> {
        let targets = self.levels.iter().flat_map(|levels| levels.references().targets());
        targets.filter(|key| self.key_of(key).is_none()).cloned().collect()
    }

    /// Returns the resolved levels of a layer.
    pub(in crate::fleet) fn levels_of(&self, layer: &LayerId) -> &[Arc<ResolvedLevels>] {
        self.layers.get(layer).map_or(&[], |range| &self.levels[range.clone()])
    }

    /// Looks `key` up on a node and reports each step to `recorder`, except for hierarchies and options that are
    /// known already.
    pub fn explain(&self, key: &str, node: NodeId, recorder: &Recorder) -> Outcome {
        let before = recorder.mark();
        let explain = |node, dependencies: &Dependencies| {
            recorder.back_to(&before);
            NodeView { revision: self, node, dependencies, answers: None }.explain(key, recorder, Cost::OF_KEY).0
        };
        evaluate_on(node, &self.fleet, false, explain).0
    }

    /// Evaluates something for all of `nodes`, once for each class.
    pub(in crate::fleet) fn evaluate_per_class<T>(
        &self,
        nodes: NodeSet,
        evaluate: impl Fn(NodeId, &Dependencies) -> T,
    ) -> Vec<(NodeSet, T)> {
        evaluate_per_class((nodes, &self.fleet), evaluate, |dependency, levels, nodes| {
            self.split(dependency, levels, nodes)
        })
    }

    fn split(&self, dependency: &Dependency, levels: Range<usize>, nodes: &NodeSet) -> Vec<NodeSet> {
        match dependency {
            Dependency::Variable(path) => self.fleet.variable_classes(path.by_ref()).partition.split(nodes),
            Dependency::Hole(path) => {
                let classes = self.fleet.variable_classes(path.by_ref());
                classes.by_plainness(&path.segments).split(nodes)
            }
            Dependency::Options(owner) => self.options(owner).partition.split(nodes),
            Dependency::Answer(classes) => classes.partition.split(nodes),
            Dependency::Key(root, layer) => self.split_by_key(root, layer, &levels, nodes),
        }
    }

    /// Splits `nodes` by the places where they find `root` in the `searched` levels of a layer, and by those that may
    /// fail for any key in its other levels.
    fn split_by_key(&self, root: &str, layer: &LayerId, searched: &Range<usize>, nodes: &NodeSet) -> Vec<NodeSet> {
        let mut split = vec![nodes.clone()];
        for (at, levels) in self.levels_of(layer).iter().enumerate().filter(|(_, levels)| levels.classes.len() > 1) {
            for locations in &levels.key_locations {
                let is_searched = searched.contains(&at);
                let mut apart =
                    if is_searched { locations.classes_with(root) } else { locations.any_key_classes.clone() };
                // If functions answer, all locations count as one, which has the classes of the levels.
                if levels.has_functions() && !is_searched {
                    apart.retain(|class| levels.classes[*class].function().is_none());
                }
                split = if levels.has_functions() && is_searched {
                    self.split_by_answers((&**levels, &locations.partition), (root, layer), &apart, &split)
                } else {
                    split.iter().flat_map(|nodes| locations.partition.split_off(nodes, &apart)).collect()
                };
            }
        }
        split
    }

    /// Returns the hierarchy of a layer for a node, or `None` if there is no such layer.
    fn hierarchy(&self, layer: &LayerId, node: NodeId) -> Option<Resolved> {
        let config = match &self.environment.layer_of(layer)?.config {
            Ok(config) => config,
            Err(error) => return Some(Err(error.clone())),
        };
        let levels = &self.levels[self.layers.get(layer)?.clone()];
        let classes: Vec<usize> = levels.iter().map(|levels| levels.partition.class_of(node)).collect();
        Some(self.hierarchies.get((layer.clone(), classes), |(_, classes)| {
            let parts = levels.iter().zip(classes).map(|(levels, class)| &levels.classes[*class].part);
            Hierarchy::assemble(config, parts).map(Arc::new)
        }))
    }

    /// Returns the number of resolved levels of a layer up to the one with `level` on a node, or of all if there is
    /// none.
    fn levels_up_to(&self, layer: &LayerId, node: NodeId, level: Option<&Arc<Level>>) -> usize {
        let all = self.levels_of(layer);
        let has = |levels: &Arc<ResolvedLevels>, level| {
            let class = &levels.classes[levels.partition.class_of(node)];
            class.part.levels.iter().flatten().any(|other| Arc::ptr_eq(other, level))
        };
        let last = level.and_then(|level| all.iter().rposition(|levels| has(levels, level)));
        last.map_or(all.len(), |last| last + 1)
    }
}
