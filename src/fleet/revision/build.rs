//! Makes a revision: from nothing, or from another one that differs a little.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::nodes::mentioned::ReferencedVariables;
use crate::fleet::parallel;
use crate::fleet::revision::keys::RepositoryKeys;
use crate::fleet::revision::lanes::{Keyed, moved};
use crate::fleet::revision::own_paths::OwnPaths;
use crate::fleet::revision::placed::{PartOf, Placed, Seen, see};
use crate::fleet::revision::{Memo, Revision};
use crate::hiera::backend::Format;
use crate::hiera::config::{Config, LevelConfig};
use crate::hiera::hierarchy::Part;
use crate::hiera::layer::{Environment, Layer, LayerId};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeSet;
use crate::tree::{self, Entry, TreeError};
use crate::workers::Workers;

/// What is told of the parts of hierarchies.
const RESOLVING: &str = "resolving hierarchies";

/// How many nodes one thread looks at a time.
const TOGETHER: usize = 4096;

/// One node in so many is many.
const MANY: usize = 8;

/// Which parts are those of a layer.
type Layers = BTreeMap<LayerId, Range<usize>>;

impl Revision {
    /// Resolves the hierarchies of all nodes and finds all keys.
    pub fn new(environment: Environment, fleet: Arc<Fleet>, workers: &Workers) -> Result<Revision, TreeError> {
        let mut mentioned = ReferencedVariables::beyond(&fleet);
        mentioned.add(&environment, workers)?;
        fleet.read_ahead(&mentioned);
        let (parts, layers) = parts(&environment);
        let looks = parts.iter().map(|(_, part)| Look { part: *part, nodes: fleet.all(), before: None }).collect();
        let placed = place(looks, &environment, &fleet, workers);
        let repository_keys = RepositoryKeys::new(&environment)?;
        let keys = all_keys(&repository_keys, &placed);
        Ok(Revision::assemble(environment, fleet, (keys, repository_keys), (placed, layers)))
    }

    /// The revision that `environment` is, for the same fleet and read with the same options. What is as in this revision is not
    /// worked out again; what comes out is the same as if it were.
    pub fn next(&self, environment: Environment, workers: &Workers) -> Result<Revision, TreeError> {
        if self.environment.is_hiera3 || environment.is_hiera3 {
            return Revision::new(environment, self.fleet.clone(), workers);
        }
        let fleet = &self.fleet;
        let changed = tree::changes(&*self.environment.tree, &*environment.tree)?;
        self.add_versions(&environment, &changed)?;
        let mut mentioned = ReferencedVariables::default();
        mentioned.add_changed(&environment, &changed)?;
        fleet.read_ahead(&mentioned);
        let (parts, layers) = parts(&environment);
        let mut looks = Vec::new();
        for (id, part) in &parts {
            let before = self.same_part(id, *part, &environment).map(|before| (before, before.concerned(&changed)));
            let before = before.filter(|(before, nodes)| nodes.is_empty() || !before.is_crowded());
            let (before, nodes) = before.map_or((None, fleet.all()), |(before, nodes)| (Some(before.clone()), nodes));
            looks.push(Look { part: *part, nodes, before });
        }
        let placed = place(looks, &environment, fleet, workers);
        let (repository_keys, touched) = self.repository_keys.updated(&self.environment, &environment, &changed)?;
        let keys = self.keys_after(&repository_keys, touched, &placed);
        Ok(Revision::assemble(environment, fleet.clone(), (keys, repository_keys), (placed, layers)))
    }

    /// Parses the data files at the paths `changed` as new versions of what they are in this revision.
    fn add_versions(&self, environment: &Environment, changed: &BTreeSet<String>) -> Result<(), TreeError> {
        let (before, after) = (&*self.environment.tree, &*environment.tree);
        for path in changed.iter().filter(|path| environment.has_data_file_at(path)) {
            if let (Some(Entry::File(was)), Some(Entry::File(is))) = (before.entry(path)?, after.entry(path)?) {
                let format = environment.format_of(path);
                environment.store.files.add_version((before, was), (after, is), format)?;
            }
        }
        Ok(())
    }

    fn assemble(
        environment: Environment,
        fleet: Arc<Fleet>,
        (keys, repository_keys): (Arc<BTreeSet<Arc<str>>>, RepositoryKeys),
        (mut placed, layers): (Vec<Arc<Placed>>, Layers),
    ) -> Revision {
        for (id, parts) in &layers {
            if reads_in_many_ways(&environment, id) {
                mark_read_twice(&mut placed[parts.clone()]);
            }
        }
        let mut revision = Revision {
            environment,
            fleet,
            findings: Vec::new(),
            keys,
            repository_keys,
            placed,
            layers,
            hierarchies: Memo::default(),
            options: Memo::default(),
        };
        revision.findings = revision.find();
        revision
    }

    /// The part of this revision that `part` of `environment` is, but for the files in the repository.
    fn same_part(&self, id: &LayerId, part: PartOf<'_>, environment: &Environment) -> Option<&Arc<Placed>> {
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
        let before = self.parts(id).get(number)?;
        // What is odd is told with lines of hiera.yaml.
        let is_kept = !before.is_marked && !before.is_unknown() && (is_same_text || before.is_sound());
        is_kept.then_some(before)
    }

    /// All keys, those of this revision being known; `touched` are those of data files that differ.
    fn keys_after(
        &self,
        repository_keys: &RepositoryKeys,
        touched: BTreeSet<Arc<str>>,
        placed: &[Arc<Placed>],
    ) -> Arc<BTreeSet<Arc<str>>> {
        let is_in = |all: &[Arc<Placed>], one: &Arc<Placed>| all.iter().any(|other| Arc::ptr_eq(other, one));
        let old = self.placed.iter().filter(|one| !is_in(placed, one)).flat_map(|placed| placed.keyed());
        let new = placed.iter().filter(|one| !is_in(&self.placed, one)).flat_map(|placed| placed.keyed());
        let (gone, come) = moved(old, new);
        let moved = without_like(&gone, &come).chain(without_like(&come, &gone)).flat_map(Keyed::keys);
        let stays = |key: &Arc<str>| self.repository_keys.contains(key) && repository_keys.contains(key);
        let moved = moved.filter(|key| !stays(key));
        let mut keys = self.keys.clone();
        for key in touched.into_iter().chain(moved).filter(|key| **key != *LOOKUP_OPTIONS) {
            let is_there = repository_keys.contains(&key) || placed.iter().any(|one| one.has(&key));
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

/// Those of `these` that are no files with the same root keys as one of `others`. Of what goes and what comes with the same keys
/// nothing has to be known: a key of the one is there for the other.
fn without_like<'k>(these: &[&'k Keyed], others: &[&'k Keyed]) -> impl Iterator<Item = &'k Keyed> {
    let known: HashSet<&[Arc<str>], RandomState> =
        others.iter().filter_map(|keyed| keyed.file()).map(|file| file.keys()).collect();
    let is_known = move |keyed: &&Keyed| keyed.file().is_some_and(|file| known.contains(file.keys()));
    these.iter().copied().filter(move |keyed| !is_known(keyed))
}

/// The nodes that look at a part, and what all others see of it.
struct Look<'a> {
    part: PartOf<'a>,
    nodes: NodeSet,
    before: Option<Arc<Placed>>,
}

impl Look<'_> {
    /// What the nodes find at paths of one variable: for a few of them it is more work to list folders than to look at a path each.
    fn own_paths(&self, environment: &Environment, fleet: &Fleet) -> OwnPaths {
        if self.nodes.len() * MANY < fleet.len() {
            return OwnPaths::default();
        }
        OwnPaths::of(&*environment.tree, self.part, fleet)
    }
}

/// Of how many nodes it takes a microsecond to see what they see of a part, about.
const NODES_A_MICROSECOND: usize = 2;

/// What all nodes see of the parts of hierarchies, in their order.
fn place(looks: Vec<Look<'_>>, environment: &Environment, fleet: &Fleet, workers: &Workers) -> Vec<Arc<Placed>> {
    let own: Vec<OwnPaths> = looks.iter().map(|look| look.own_paths(environment, fleet)).collect();
    let mut tasks: Vec<(PartOf<'_>, &OwnPaths, NodeSet)> = Vec::new();
    for (look, own) in looks.iter().zip(&own) {
        tasks.extend(look.nodes.chunks(TOGETHER).map(|nodes| (look.part, own, nodes)));
    }
    let nodes: usize = tasks.iter().map(|(_, _, nodes)| nodes.len()).sum();
    let workers = workers.worth(nodes / NODES_A_MICROSECOND);
    let see = |(part, own, nodes): &(_, &OwnPaths, NodeSet)| see(environment, *part, fleet, own, nodes.clone());
    let mut seen = parallel::map(&tasks, &workers, RESOLVING, see).into_iter();
    let mut placed = Vec::new();
    for (Look { nodes, before, .. }, own) in looks.into_iter().zip(&own) {
        let seen: Vec<Seen> = seen.by_ref().take(nodes.len().div_ceil(TOGETHER)).collect();
        placed.push(match before {
            Some(before) if nodes.is_empty() => before,
            Some(before) => Arc::new(before.updated(&nodes, own, seen)),
            None => Arc::new(Placed::new(fleet, own, seen)),
        });
    }
    placed
}

/// All parts of the hierarchies of all layers, and which of them are a layer's.
fn parts(environment: &Environment) -> (Vec<(LayerId, PartOf<'_>)>, Layers) {
    let (mut parts, mut layers) = (Vec::new(), BTreeMap::new());
    for id in environment.layer_ids() {
        let Some(layer) = environment.layer_of(&id) else { continue };
        let Ok(config) = &layer.config else { continue };
        let first = parts.len();
        parts.extend((0..Part::count(config)).map(|number| (id.clone(), PartOf { layer, config, number })));
        layers.insert(id, first..parts.len());
    }
    (parts, layers)
}

fn all_keys(repository_keys: &RepositoryKeys, placed: &[Arc<Placed>]) -> Arc<BTreeSet<Arc<str>>> {
    let of_hierarchies = placed.iter().flat_map(|placed| placed.keyed()).flat_map(Keyed::keys);
    let others = of_hierarchies.filter(|key| !repository_keys.contains(key));
    let mut keys: BTreeSet<Arc<str>> = repository_keys.iter().cloned().chain(others).collect();
    keys.remove(LOOKUP_OPTIONS);
    Arc::new(keys)
}

fn is_same_place(a: &Layer, b: &Layer) -> bool {
    a.owner == b.owner && a.module == b.module && a.root == b.root
}

/// Whether levels of both configurations are resolved alike: those of version 3 are not resolved one by one.
fn is_same_kind(a: &Config, b: &Config) -> bool {
    let is_plain = |config: &Config| config.version > 3 && config.hiera3.is_none();
    is_plain(a) && is_plain(b) && a.version == b.version && a.path == b.path && a.implied == b.implied
}

/// Whether the level is the same, and stands on the same lines.
fn is_same_level(a: &LevelConfig, b: &LevelConfig) -> bool {
    a.means_the_same(b) && a.place == b.place && a.locations.places().eq(b.locations.places())
}

/// Whether levels of the layer read files with different functions.
fn reads_in_many_ways(environment: &Environment, id: &LayerId) -> bool {
    let config = environment.layer_of(id).and_then(|layer| layer.config.as_ref().ok());
    let functions: BTreeSet<&Arc<str>> =
        config.into_iter().flat_map(|config| config.all_levels()).map(|level| &level.function.name).collect();
    functions.len() > 1 || config.is_none_or(|config| config.version == 3 || config.hiera3.is_some())
}

/// A file that two levels of a layer read with different functions is what its first reader makes of it, so who comes first may
/// decide about any key.
fn mark_read_twice(parts: &mut [Arc<Placed>]) {
    let mut readers: HashMap<&str, Format> = HashMap::new();
    let mut read_twice: BTreeSet<Arc<str>> = BTreeSet::new();
    for (path, file) in parts.iter().flat_map(|placed| &placed.classes).flat_map(|class| class.files()) {
        if *readers.entry(path).or_insert(file.format()) != file.format() {
            read_twice.insert(path.clone());
        }
    }
    if !read_twice.is_empty() {
        for placed in parts {
            *placed = Arc::new(placed.marked(&read_twice));
        }
    }
}
