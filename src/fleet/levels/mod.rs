//! One level of a hierarchy, resolved on all nodes of a fleet.
//!
//! A level leads different nodes to different files. [`ResolvedLevels`] divides the nodes into classes that are led to
//! equal files, and keeps the levels of each class. It remembers which paths of the repository were accessed for which
//! nodes, so that a commit resolves it again only on the nodes that a changed path may concern.
//!
//! Hierarchies of version 3 are resolved as a whole: there all levels together are one part. This module knows
//! nothing of lookups.

pub(in crate::fleet) mod class_levels;
pub(in crate::fleet) mod key_locations;
pub(in crate::fleet) mod key_references;
pub(in crate::fleet) mod key_source;
mod partition_update;
mod path_dependencies;
pub(in crate::fleet) mod per_node_paths;
pub(in crate::fleet) mod resolving;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;

use crate::diagnostic::Diagnostic;
use crate::fleet::Fleet;
use crate::hiera::config::Config;
use crate::hiera::layer::{Layer, Root};
use crate::node::{NodeSet, Partition};

use class_levels::ClassLevels;
use key_locations::KeyLocations;
use key_references::KeyReferences;
use key_source::KeySource;
use partition_update::PartitionUpdate;
use path_dependencies::PathDependencies;
use per_node_paths::PerNodePaths;
use resolving::PartialResolution;

/// A part of the hierarchy of a layer: a declared level or, in version 3, all levels.
#[derive(Clone, Copy)]
pub(in crate::fleet) struct PartRef<'a> {
    /// The environment that has the layer, or `None` if all have it.
    pub(in crate::fleet) root: Option<&'a Root>,
    pub(in crate::fleet) layer: &'a Layer,
    pub(in crate::fleet) config: &'a Config,
    pub(in crate::fleet) number: usize,
}

/// The levels of one part of a hierarchy, resolved on all nodes.
pub(in crate::fleet) struct ResolvedLevels {
    /// The nodes by the levels that they get.
    pub(in crate::fleet) partition: Partition,
    /// The levels of each class.
    pub(in crate::fleet) classes: Vec<Arc<ClassLevels>>,
    /// The classes that may answer, or fail, for any key.
    pub(in crate::fleet) any_key_classes: Vec<usize>,
    /// The root keys at each location.
    pub(in crate::fleet) key_locations: Vec<KeyLocations>,
    /// Findings, with the nodes that they concern.
    pub(in crate::fleet) findings: Vec<(NodeSet, Diagnostic)>,
    /// True if classes were added to those that may answer for any key.
    pub(in crate::fleet) is_marked: bool,
    paths: PathDependencies,
    references: OnceLock<Arc<KeyReferences>>,
}

impl ResolvedLevels {
    /// Puts resolutions together. Each is for some nodes, and together they are for all nodes.
    pub(in crate::fleet) fn new(
        fleet: &Fleet,
        paths: &PerNodePaths,
        resolutions: impl IntoIterator<Item = PartialResolution>,
    ) -> ResolvedLevels {
        let of_nobody = ResolvedLevels {
            partition: Partition::of_classes(fleet.len(), Vec::new()),
            classes: Vec::new(),
            any_key_classes: Vec::new(),
            key_locations: Vec::new(),
            findings: Vec::new(),
            is_marked: false,
            paths: PathDependencies::default(),
            references: OnceLock::new(),
        };
        let mut resolved = of_nobody.updated(&fleet.all(), paths, resolutions);
        resolved.paths.set_initial();
        resolved
    }

    /// Returns the nodes that may get different levels if the files of the repository differ at the paths `changed`.
    pub(in crate::fleet) fn nodes_affected_by(&self, changed: &BTreeSet<String>) -> NodeSet {
        self.paths.nodes_affected_by(changed)
    }

    /// Returns true if it contains so much of earlier revisions that it should be rebuilt.
    pub(in crate::fleet) fn is_overgrown(&self) -> bool {
        self.paths.is_overgrown()
    }

    /// Returns the levels with these resolutions for `nodes`, and the previous ones for all other nodes.
    pub(in crate::fleet) fn updated(
        &self,
        nodes: &NodeSet,
        paths: &PerNodePaths,
        resolutions: impl IntoIterator<Item = PartialResolution>,
    ) -> ResolvedLevels {
        let mut update = PartitionUpdate::without(nodes, &self.partition, &self.classes);
        let mut dependencies = self.paths.clone();
        dependencies.add_patterns(paths.patterns());
        let remaining = self.findings.iter().map(|(set, diagnostic)| (set.difference(nodes), diagnostic.clone()));
        let mut findings: Vec<(NodeSet, Diagnostic)> = remaining.filter(|(set, _)| !set.is_empty()).collect();
        for resolution in resolutions {
            resolution.accessed.into_iter().for_each(|(nodes, accessed)| dependencies.add(&nodes, accessed));
            findings.extend(resolution.findings);
            resolution.classes.into_iter().for_each(|(class, nodes)| update.add(class, &nodes));
        }
        let (partition, classes) = update.finish();
        let any_key_classes = (0..classes.len()).filter(|at| classes[*at].concerns_any_key).collect::<Vec<_>>();
        let key_locations = KeyLocations::per_location(&partition, &classes, &any_key_classes);
        let updated = ResolvedLevels {
            partition,
            classes,
            any_key_classes,
            key_locations,
            findings,
            is_marked: false,
            paths: dependencies,
            references: OnceLock::new(),
        };
        if let Some(references) = self.references.get() {
            let references = references.updated(self.key_sources(), updated.key_sources(), updated.is_opaque());
            _ = updated.references.set(references);
        }
        updated
    }

    /// Returns for each class the class of `other` with equal levels, or `None` if there is none.
    #[expect(clippy::mutable_key_type, reason = "classes are told apart by their signatures, which do not change")]
    pub(in crate::fleet) fn matching_classes(&self, other: &ResolvedLevels) -> Vec<Option<usize>> {
        // An updated revision shares most classes with the one before: only the rest is compared by value.
        let number_by_address: HashMap<*const ClassLevels, usize, RandomState> =
            other.classes.iter().map(Arc::as_ptr).zip(0..).collect();
        let mut matching: Vec<Option<usize>> =
            self.classes.iter().map(|class| number_by_address.get(&Arc::as_ptr(class)).copied()).collect();
        let matched: HashSet<usize, RandomState> = matching.iter().flatten().copied().collect();
        let rest = other.classes.iter().zip(0..).filter(|(_, at)| !matched.contains(at));
        let rest: HashMap<Arc<ClassLevels>, usize, RandomState> = rest.map(|(class, at)| (class.clone(), at)).collect();
        for (matching, class) in matching.iter_mut().zip(&self.classes).filter(|(matching, _)| matching.is_none()) {
            *matching = rest.get(class).copied();
        }
        matching
    }

    /// Returns the same levels, counting classes that lead to one of `paths` among those that may answer any key.
    pub(in crate::fleet) fn marked(&self, paths: &BTreeSet<Arc<str>>) -> ResolvedLevels {
        let leads_to_path = |at: &usize| self.classes[*at].files().any(|(path, _)| paths.contains(path));
        let more: BTreeSet<usize> =
            (0..self.classes.len()).filter(leads_to_path).chain(self.any_key_classes.clone()).collect();
        let any_key_classes: Vec<usize> = more.into_iter().collect();
        ResolvedLevels {
            partition: self.partition.clone(),
            classes: self.classes.clone(),
            key_locations: vec![KeyLocations::combined(&self.partition, &self.classes, &any_key_classes)],
            any_key_classes,
            findings: self.findings.clone(),
            is_marked: true,
            paths: self.paths.clone(),
            references: OnceLock::new(),
        }
    }

    /// Returns the references between the keys in its data.
    pub(in crate::fleet) fn references(&self) -> &Arc<KeyReferences> {
        self.references.get_or_init(|| Arc::new(KeyReferences::new(self.key_sources(), self.is_opaque())))
    }

    /// Returns all sources of root keys; some occur twice.
    pub(in crate::fleet) fn key_sources(&self) -> impl Iterator<Item = &KeySource> {
        self.key_locations.iter().flat_map(KeyLocations::sources)
    }

    /// Returns true if some node finds the root key here.
    pub(in crate::fleet) fn has(&self, root: &str) -> bool {
        self.key_locations.iter().any(|locations| locations.has(root))
    }

    /// Returns true if some levels could not be read: they may be readable next time.
    pub(in crate::fleet) fn is_unknown(&self) -> bool {
        let is_unknown =
            |class: &Arc<ClassLevels>| class.part.levels.as_ref().is_err_and(|error| error.kind.is_unknown());
        self.classes.iter().any(is_unknown)
    }

    /// Returns true if the references in the answers of some level cannot be seen.
    fn is_opaque(&self) -> bool {
        self.classes.iter().any(|class| class.is_opaque)
    }

    /// Returns true if there are no findings and no errors.
    pub(in crate::fleet) fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.classes.iter().all(|class| class.part.levels.is_ok())
    }
}
