//! Makes a revision: from scratch, or from another one that differs a little.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::levels::key_source::{KeySource, removed_and_added};
use crate::fleet::levels::per_node_paths::PerNodePaths;
use crate::fleet::levels::resolving::{PartialResolution, resolve_levels};
use crate::fleet::levels::{PartRef, ResolvedLevels};
use crate::fleet::nodes::referenced::ReferencedVariables;
use crate::fleet::repository_keys::RepositoryKeys;
use crate::fleet::revision::Revision;
use crate::fleet::revision::RevisionError;
use crate::fleet::revision::memo::Memo;
use crate::fleet::revision::read_twice::mark_files_read_twice;
use crate::fleet::run_budget;
use crate::fleet::{Fleet, parallel};
use crate::hiera::config::{Config, LevelConfig};
use crate::hiera::hierarchy::HierarchyPart;
use crate::hiera::key::asks_for;
use crate::hiera::layer::{Environment, Layer, LayerId};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeSet;
use crate::tree::{self, Entry, TreeError};
use crate::workers::Workers;

/// The name of the stage that resolves hierarchies.
const RESOLVING: &str = "resolving hierarchies";

/// The number of nodes that one thread resolves at a time.
const NODES_PER_TASK: usize = 4096;

/// Nodes are few if there are fewer than the fleet has, divided by this.
const FEW_NODES_DIVISOR: usize = 8;

/// The positions of each layer's parts.
type Layers = BTreeMap<LayerId, Range<usize>>;

impl Revision {
    /// Makes a revision from scratch, with the variables that the nodes of `fleet` have.
    pub(super) fn of_profiles(
        environment: Environment,
        fleet: Arc<Fleet>,
        workers: &Workers,
    ) -> Result<Revision, RevisionError> {
        environment.quota.limit(run_budget::keys_of_run(fleet.len(), workers));
        let mut referenced = ReferencedVariables::beyond(&fleet);
        referenced.add(&environment, workers)?;
        fleet.read_ahead(&referenced)?;
        let (parts, layers) = parts(&environment);
        let (levels, repository_keys) = loop {
            let largest = environment.quota.largest();
            let pending = parts.iter().map(|(_, part)| PendingPart { part: *part, nodes: fleet.all(), before: None });
            let levels = resolve_parts(pending.collect(), &environment, &fleet, workers);
            let repository_keys = RepositoryKeys::new(&environment)?;
            // If too many keys were found, starts again, so that files that were read before that are set aside, too.
            if environment.quota.largest() == largest {
                break (levels, repository_keys);
            }
        };
        let keys = all_keys(&repository_keys, &levels);
        Ok(Revision::assemble(environment, fleet, (keys, repository_keys), (levels, layers)))
    }

    /// Makes the revision of another `environment`, whose files differ at the paths `changed`, with the variables that
    /// the nodes of this one have.
    pub(super) fn next_of_fleet(
        &self,
        environment: Environment,
        changed: &BTreeSet<String>,
        workers: &Workers,
    ) -> Result<Revision, RevisionError> {
        let has_too_many_keys = self.environment.quota.largest().is_some();
        if self.environment.is_hiera3 || environment.is_hiera3 || has_too_many_keys {
            return Revision::of_profiles(environment, self.fleet.clone(), workers);
        }
        // Files that have not changed may be converted in another way from now on.
        if changed.iter().any(|path| path.rsplit('/').next() == Some(tree::ATTRIBUTES)) {
            return Revision::of_profiles(environment, self.fleet.clone(), workers);
        }
        environment.quota.follow(&self.environment.quota);
        let fleet = &self.fleet;
        self.add_versions(&environment, changed)?;
        let mut referenced = ReferencedVariables::default();
        referenced.add_changed(&environment, changed)?;
        fleet.read_ahead(&referenced)?;
        let (parts, layers) = parts(&environment);
        let mut pending = Vec::new();
        for (id, part) in &parts {
            let before = self.same_part(id, *part, &environment);
            let before = before.map(|before| (before, before.nodes_affected_by(changed)));
            let before = before.filter(|(before, nodes)| nodes.is_empty() || !before.is_overgrown());
            let (before, nodes) = before.map_or((None, fleet.all()), |(before, nodes)| (Some(before.clone()), nodes));
            pending.push(PendingPart { part: *part, nodes, before });
        }
        let levels = resolve_parts(pending, &environment, fleet, workers);
        let (repository_keys, touched) = self.repository_keys.updated(&self.environment, &environment, changed)?;
        // Removed files were counted, too. Without them, perhaps no file needs to be set aside.
        if environment.quota.largest().is_some() {
            return Revision::of_profiles(environment, self.fleet.clone(), workers);
        }
        let keys = self.keys_after(&repository_keys, touched, &levels);
        Ok(Revision::assemble(environment, fleet.clone(), (keys, repository_keys), (levels, layers)))
    }

    /// Parses the data files at the paths `changed` as new versions of those in this revision.
    fn add_versions(&self, environment: &Environment, changed: &BTreeSet<String>) -> Result<(), TreeError> {
        let (before, after) = (&*self.environment.tree, &*environment.tree);
        for path in changed.iter().filter(|path| environment.has_data_file_at(path)) {
            if let (Some(Entry::File(old_id)), Some(Entry::File(new_id))) = (before.entry(path)?, after.entry(path)?) {
                let format = environment.format_of(path);
                environment.store.files.add_version((before, old_id), (after, new_id), format)?;
            }
        }
        Ok(())
    }

    fn assemble(
        environment: Environment,
        fleet: Arc<Fleet>,
        (keys, repository_keys): (Arc<BTreeSet<Arc<str>>>, RepositoryKeys),
        (mut levels, layers): (Vec<Arc<ResolvedLevels>>, Layers),
    ) -> Revision {
        environment.quota.close();
        for (id, range) in &layers {
            mark_files_read_twice(&environment, id, &mut levels[range.clone()]);
        }
        let mut revision = Revision {
            environment,
            fleet,
            findings: Vec::new(),
            keys,
            repository_keys,
            levels,
            layers,
            hierarchies: Memo::default(),
            options: Memo::default(),
            unassigned: None,
        };
        revision.findings = revision.find();
        revision
    }

    /// Returns this revision's levels of `part`, a part in `environment`, if only changed files of the repository can
    /// make them differ.
    fn same_part(&self, id: &LayerId, part: PartRef<'_>, environment: &Environment) -> Option<&Arc<ResolvedLevels>> {
        let layer = self.environment.layer_of(id)?;
        let config = layer.config.as_ref().ok()?;
        let is_own = |layer: &Layer, environment: &Environment| Arc::ptr_eq(&layer.tree, &environment.tree);
        let same_files = Arc::ptr_eq(&layer.tree, &part.layer.tree)
            || (is_own(layer, &self.environment) && is_own(part.layer, environment));
        if !same_files || !is_same_place(layer, part.layer) || !is_same_kind(config, part.config) {
            return None;
        }
        let is_same_text = config.source == part.config.source;
        let number = if is_same_text {
            part.number
        } else {
            let level = part.config.all_levels().nth(part.number)?;
            config.all_levels().position(|other| is_same_level(other, level))?
        };
        let before = self.levels_of(id).get(number)?;
        // Findings and errors name lines of hiera.yaml.
        let is_kept = !before.is_marked && !before.is_unknown() && (is_same_text || before.is_sound());
        is_kept.then_some(before)
    }

    /// Returns all keys of the next revision, which has `levels`. The keys of data files that differ are `touched`.
    fn keys_after(
        &self,
        repository_keys: &RepositoryKeys,
        touched: BTreeSet<Arc<str>>,
        levels: &[Arc<ResolvedLevels>],
    ) -> Arc<BTreeSet<Arc<str>>> {
        let is_in =
            |all: &[Arc<ResolvedLevels>], one: &Arc<ResolvedLevels>| all.iter().any(|other| Arc::ptr_eq(other, one));
        let old = self.levels.iter().filter(|one| !is_in(levels, one)).flat_map(|levels| levels.key_sources());
        let new = levels.iter().filter(|one| !is_in(&self.levels, one)).flat_map(|levels| levels.key_sources());
        let (removed, added) = removed_and_added(old, new);
        let moved = without_equal_keys(&removed, &added).chain(without_equal_keys(&added, &removed));
        let stays = |key: &Arc<str>| self.repository_keys.contains(key) && repository_keys.contains(key);
        let moved = moved.flat_map(KeySource::keys).filter(|key| !stays(key));
        let mut keys = self.keys.clone();
        for root in touched.into_iter().chain(moved).filter(|root| **root != *LOOKUP_OPTIONS) {
            let Some(key) = asks_for(&root) else { continue };
            let is_there = repository_keys.contains(&root) || levels.iter().any(|one| one.has(&root));
            if is_there != keys.contains(&key) {
                let keys = Arc::make_mut(&mut keys);
                if is_there {
                    keys.insert(key)
                } else {
                    keys.remove(&key)
                };
            }
        }
        keys
    }
}

/// Returns `these` without the files that have the same root keys as one of `others`: a file that replaces another
/// with the same keys adds and removes none.
fn without_equal_keys<'k>(these: &[&'k KeySource], others: &[&'k KeySource]) -> impl Iterator<Item = &'k KeySource> {
    let known: HashSet<&[Arc<str>], RandomState> =
        others.iter().filter_map(|source| source.file()).map(|file| file.keys()).collect();
    let is_known = move |source: &&KeySource| source.file().is_some_and(|file| known.contains(file.keys()));
    these.iter().copied().filter(move |source| !is_known(source))
}

/// A part of a hierarchy that is to be resolved on `nodes`. All other nodes keep their levels of the revision before.
struct PendingPart<'a> {
    part: PartRef<'a>,
    nodes: NodeSet,
    before: Option<Arc<ResolvedLevels>>,
}

impl PendingPart<'_> {
    /// Finds the paths that contain one variable. For few nodes none are used: listing folders is more work than
    /// looking at one path for each node.
    fn per_node_paths(&self, environment: &Environment, fleet: &Fleet) -> PerNodePaths {
        if self.nodes.len() * FEW_NODES_DIVISOR < fleet.len() {
            return PerNodePaths::default();
        }
        PerNodePaths::of(&*environment.tree, self.part, fleet)
    }
}

/// Resolves parts of hierarchies, in their order.
fn resolve_parts(
    pending: Vec<PendingPart<'_>>,
    environment: &Environment,
    fleet: &Fleet,
    workers: &Workers,
) -> Vec<Arc<ResolvedLevels>> {
    let paths: Vec<PerNodePaths> = pending.iter().map(|part| part.per_node_paths(environment, fleet)).collect();
    let mut tasks: Vec<(PartRef<'_>, &PerNodePaths, NodeSet)> = Vec::new();
    for (PendingPart { part, nodes, .. }, paths) in pending.iter().zip(&paths) {
        tasks.extend(nodes.chunks(NODES_PER_TASK).map(|nodes| (*part, paths, nodes)));
    }
    let resolve = |(part, paths, nodes): &(_, &PerNodePaths, NodeSet)| {
        resolve_levels(environment, *part, fleet, paths, nodes.clone())
    };
    let mut resolutions = parallel::map(&tasks, workers, RESOLVING, resolve).into_iter();
    let mut resolved = Vec::new();
    for (PendingPart { nodes, before, .. }, paths) in pending.into_iter().zip(&paths) {
        let tasks = nodes.len().div_ceil(NODES_PER_TASK);
        let resolutions: Vec<PartialResolution> = resolutions.by_ref().take(tasks).collect();
        resolved.push(match before {
            Some(before) if nodes.is_empty() => before,
            Some(before) => Arc::new(before.updated(&nodes, paths, resolutions)),
            None => Arc::new(ResolvedLevels::new(fleet, paths, resolutions)),
        });
    }
    resolved
}

/// Returns all parts of the hierarchies of all layers, and the positions of each layer's.
fn parts(environment: &Environment) -> (Vec<(LayerId, PartRef<'_>)>, Layers) {
    let (mut parts, mut layers) = (Vec::new(), BTreeMap::new());
    for id in environment.layer_ids() {
        let Some(layer) = environment.layer_of(&id) else { continue };
        let Ok(config) = &layer.config else { continue };
        let (first, root) = (parts.len(), id.root().and_then(|root| Some(&environment.root(root)?.name)));
        parts.extend(
            (0..HierarchyPart::count(config)).map(|number| (id.clone(), PartRef { root, layer, config, number })),
        );
        layers.insert(id, first..parts.len());
    }
    (parts, layers)
}

/// Returns all keys of a repository and of the sources that its hierarchies lead to.
fn all_keys(repository_keys: &RepositoryKeys, levels: &[Arc<ResolvedLevels>]) -> Arc<BTreeSet<Arc<str>>> {
    let of_hierarchies = levels.iter().flat_map(|levels| levels.key_sources()).flat_map(KeySource::keys);
    let others = of_hierarchies.filter(|key| !repository_keys.contains(key));
    let roots = repository_keys.iter().cloned().chain(others);
    let mut keys: BTreeSet<Arc<str>> = roots.filter_map(|root| asks_for(&root)).collect();
    keys.remove(LOOKUP_OPTIONS);
    Arc::new(keys)
}

fn is_same_place(a: &Layer, b: &Layer) -> bool {
    a.owner == b.owner && a.module == b.module && a.root == b.root
}

/// Returns true if both configurations are resolved level by level, and in the same way.
fn is_same_kind(a: &Config, b: &Config) -> bool {
    let is_plain = |config: &Config| config.version > 3 && config.hiera3.is_none();
    is_plain(a) && is_plain(b) && a.version == b.version && a.path == b.path && a.implied == b.implied
}

/// Returns true if the levels are the same, and on the same lines.
fn is_same_level(a: &LevelConfig, b: &LevelConfig) -> bool {
    a.means_the_same(b) && a.place == b.place && a.locations.places().eq(b.locations.places())
}
