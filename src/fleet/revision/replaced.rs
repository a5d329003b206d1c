//! Lookups in a revision some of whose data files or levels are replaced by others: what would the answer be without an
//! edit?

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::fleet::dependencies::{Dependencies, RecordingScope};
use crate::fleet::node_classes::evaluate_on;
use crate::fleet::revision::Revision;
use crate::fleet::revision::memo::Memo;
use crate::fleet::revision::node_view::NodeView;
use crate::hiera::Outcome;
use crate::hiera::backend::DataFile;
use crate::hiera::budget::Cost;
use crate::hiera::explain::{Recorder, Step};
use crate::hiera::hierarchy::{Content, Hierarchy, Level, Location};
use crate::hiera::layer::{Environment, LayerId};
use crate::hiera::lookup::{Lookup, NodeSources};
use crate::hiera::merge::Strategy;
use crate::hiera::sources::{FoundOptions, OptionsOf, Resolved, Sources};
use crate::node::{NodeId, NodeSet};
use crate::tree::BlobId;

/// Data files and levels that replace those of a revision.
#[derive(Default)]
pub struct Replaced<'a> {
    /// The files by path.
    pub files: BTreeMap<Arc<str>, Arc<DataFile>>,
    /// True if these files may change `lookup_options`.
    pub differ_in_options: bool,
    /// The levels, and the revision that they are taken from, along with their positions. Levels that it lacks are
    /// removed.
    pub levels: Option<(&'a NodeRevision<'a>, LevelNames)>,
}

/// The names of levels by the path of their `hiera.yaml`.
pub type LevelNames = BTreeMap<Arc<str>, BTreeSet<Arc<str>>>;

/// A revision as one node sees it, with the paths of this node even where it has no files. To the lookups of a fleet,
/// all nodes without a file are the same.
pub struct NodeRevision<'a> {
    revision: &'a Revision,
    node: NodeId,
    hierarchies: Memo<LayerId, Option<Resolved>>,
}

/// A data file that some hierarchies lead to.
pub struct ReadFile {
    /// The file.
    pub file: Arc<DataFile>,
    /// The nodes whose hierarchies lead to it.
    pub nodes: NodeSet,
}

/// A key as it is and with other files.
pub struct Tried {
    /// The answer.
    pub found: Outcome,
    /// The way to it.
    pub steps: Step,
    /// The answer with the other files.
    pub with: Outcome,
}

impl Revision {
    /// Returns the revision as a node sees it.
    pub fn of_node(&self, node: NodeId) -> NodeRevision<'_> {
        NodeRevision { revision: self, node, hierarchies: Memo::default() }
    }

    /// Returns the data files that hierarchies lead to and that are wanted, by path.
    pub fn files_read(&self, is_wanted: &dyn Fn(&Arc<str>, &Arc<DataFile>) -> bool) -> BTreeMap<Arc<str>, ReadFile> {
        let mut found: BTreeMap<Arc<str>, ReadFile> = BTreeMap::new();
        for levels in &self.levels {
            for (class, nodes) in levels.classes.iter().zip(levels.partition.classes()) {
                for (path, file) in class.files().filter(|(path, file)| is_wanted(path, file)) {
                    let read = ReadFile { file: file.clone(), nodes: NodeSet::new() };
                    found.entry(path.clone()).or_insert(read).nodes.union_with(nodes);
                }
            }
        }
        found
    }

    /// Looks a key up on nodes, as it is and with the files of `replaced`, and has both judged once for each class of
    /// nodes that agree in both. There is nothing to judge once the work that is `left` is not enough.
    pub fn try_replaced<T>(
        &self,
        (key, nodes): (&str, NodeSet),
        replaced: &Replaced<'_>,
        left: &Cell<Cost>,
        judge: impl Fn(Option<Tried>) -> T,
    ) -> Vec<(NodeSet, T)> {
        let within = |look_up: &dyn Fn(Cost) -> (Outcome, Cost)| {
            let limit = left.get().at_most(Cost::OF_KEY);
            let (outcome, cost) = look_up(limit);
            left.set(left.get().minus(cost));
            (limit == Cost::OF_KEY || cost.is_within(limit)).then_some(outcome)
        };
        self.evaluate_per_class(nodes, |node, dependencies| {
            let view = NodeView { revision: self, node, dependencies, answers: None };
            let recorder = Recorder::default();
            let found = within(&|limit| view.explain(key, &recorder, limit));
            let scope = view.scope();
            let sources = EditedSources { view: &view, replaced, known: RefCell::default() };
            let with = within(&|limit| {
                let lookup = Lookup::new(view.environment(&scope), &sources, &scope).within(limit);
                (lookup.get(key, None), lookup.cost())
            });
            judge(found.zip(with).map(|(found, with)| Tried { found, steps: recorder.finish(), with }))
        })
    }

    /// Returns true if a level of a `hiera.yaml` leads some node to any data.
    pub fn has_data_at(&self, config: &str, level: &str) -> bool {
        let has_path =
            |layer: &LayerId| self.config(layer).and_then(Result::ok).is_some_and(|found| *found.path == *config);
        let layers = self.layers.keys().filter(|layer| has_path(layer));
        let classes = layers.flat_map(|layer| self.levels_of(layer)).flat_map(|levels| &levels.classes);
        let matching_levels =
            classes.flat_map(|class| class.part.levels.iter().flatten()).filter(|found| *found.name == *level);
        matching_levels.into_iter().any(|level| !level.locations.iter().all(Location::is_absent))
    }

    /// Returns the data files that the hierarchy of a node leads to, with path and level, highest priority first.
    pub fn files_of(&self, node: NodeId) -> Vec<(Arc<str>, Arc<str>, Arc<DataFile>)> {
        let environment = self.environment.for_scope(&self.fleet.scope(node));
        let hierarchies = environment.layer_ids().filter_map(|layer| self.hierarchy(&layer, node)?.ok());
        let mut files = Vec::new();
        for hierarchy in hierarchies {
            for level in hierarchy.all_levels() {
                let of_level = level.locations.iter().filter_map(Location::file);
                files.extend(of_level.map(|(path, file)| (path.clone(), level.name.clone(), file.clone())));
            }
        }
        files
    }
}

impl NodeRevision<'_> {
    /// Returns the files and settings of the revision.
    pub fn environment(&self) -> &Environment {
        &self.revision.environment
    }

    /// Looks `key` up as if files and levels were `replaced`, at no more than this cost. Returns the cost, too.
    pub fn get_with(&self, key: &str, replaced: &Replaced<'_>, limit: Cost) -> (Outcome, Cost) {
        self.look_up(replaced, limit, |lookup| (lookup.get(key, None), lookup.cost()))
    }

    /// Looks `key` up at no more than this cost, and reports each step to `recorder`. Returns the cost, too.
    pub fn explain(&self, key: &str, recorder: &Recorder, limit: Cost) -> (Outcome, Cost) {
        let before = recorder.mark();
        self.look_up(&Replaced::default(), limit, |lookup| {
            recorder.back_to(&before);
            let lookup = lookup.explained_by(recorder);
            (lookup.get(key, None), lookup.cost())
        })
    }

    /// Looks `key` up with this strategy, or with that of `lookup_options`, whatever manifests say, at no more than
    /// this cost.
    pub fn merged(&self, key: &str, strategy: Option<&Strategy>, limit: Cost) -> Outcome {
        self.look_up(&Replaced::default(), limit, |lookup| lookup.by_data().get(key, strategy))
    }

    fn look_up<T>(&self, replaced: &Replaced<'_>, limit: Cost, ask: impl Fn(Lookup<'_>) -> T) -> T {
        let fleet = &self.revision.fleet;
        let ask = |node, dependencies: &Dependencies| {
            let view = NodeView { revision: self.revision, node, dependencies, answers: None };
            let sources = ReplacingSources { node_revision: self, view, replaced, known: RefCell::default() };
            let scope = RecordingScope { scope: fleet.scope(node), dependencies };
            ask(Lookup::new(self.revision.environment.for_scope(&scope), &sources, &scope).within(limit))
        };
        evaluate_on(self.node, fleet, false, ask).0
    }

    /// Returns the levels that a search for a root key goes through if none of them has it, with their layers, highest
    /// priority first. Layers that cannot be read are left out.
    pub fn levels_of_key(&self, root: &str) -> Vec<(LayerId, Arc<Level>)> {
        let environment = self.revision.environment.for_scope(&self.revision.fleet.scope(self.node));
        let module = root.split_once("::").map(|(module, _)| module);
        let is_searched = |layer: &LayerId| match layer {
            LayerId::Module(_, name) => module.is_some_and(|module| **name == *module),
            _ => true,
        };
        let mut found = Vec::new();
        for layer in environment.layer_ids().filter(is_searched) {
            let Some(Ok(hierarchy)) = self.hierarchy(&layer) else { continue };
            let levels = hierarchy.levels.iter().chain(hierarchy.default_levels.iter().flatten());
            found.extend(levels.map(|level| (layer.clone(), level.clone())));
        }
        found
    }

    /// Returns the hierarchy of a layer, or `None` if there is no such layer.
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        let find = |layer: &LayerId| {
            let scope = self.revision.fleet.scope(self.node);
            NodeSources::new(self.revision.environment.for_scope(&scope), &scope).hierarchy(layer)
        };
        self.hierarchies.get(layer.clone(), find)
    }
}

struct ReplacingSources<'a> {
    node_revision: &'a NodeRevision<'a>,
    view: NodeView<'a>,
    replaced: &'a Replaced<'a>,
    known: RefCell<HashMap<LayerId, Option<Resolved>>>,
}

impl Sources for ReplacingSources<'_> {
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        self.known
            .borrow_mut()
            .entry(layer.clone())
            .or_insert_with(|| self.replaced.hierarchy(self.node_revision, layer))
            .clone()
    }

    fn options(&self, owner: &OptionsOf) -> Option<FoundOptions> {
        if self.replaced.differ_in_options { None } else { self.view.options(owner) }
    }
}

/// A revision as one node sees it, with other data files at the same places; everything that differs between nodes is
/// recorded when it is read.
struct EditedSources<'a> {
    view: &'a NodeView<'a>,
    replaced: &'a Replaced<'a>,
    known: RefCell<HashMap<LayerId, Option<Resolved>>>,
}

impl Sources for EditedSources<'_> {
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        let edited = |hierarchy: Arc<Hierarchy>| Arc::new(self.replaced.with_files((*hierarchy).clone()));
        let find = || self.view.hierarchy(layer).map(|hierarchy| hierarchy.map(edited));
        self.known.borrow_mut().entry(layer.clone()).or_insert_with(find).clone()
    }

    fn options(&self, owner: &OptionsOf) -> Option<FoundOptions> {
        self.view.options(owner)
    }

    fn searched(&self, root: &str, layer: &LayerId, levels: Option<&[Arc<Level>]>) {
        self.view.searched(root, layer, levels);
    }
}

impl Replaced<'_> {
    /// Returns a hierarchy of `node_revision`, with replacements.
    fn hierarchy(&self, node_revision: &NodeRevision<'_>, layer: &LayerId) -> Option<Resolved> {
        let hierarchy = node_revision.hierarchy(layer)?;
        if self.files.is_empty() && self.levels.is_none() {
            return Some(hierarchy);
        }
        let other = self.levels_of(node_revision.revision, layer);
        let with_levels = |hierarchy: &Hierarchy| match other {
            None => Ok(hierarchy.clone()),
            Some((names, other)) => Ok(with_levels_of(hierarchy, &*other?, names)),
        };
        Some(
            hierarchy
                .and_then(|hierarchy| with_levels(&hierarchy))
                .map(|hierarchy| Arc::new(self.with_files(hierarchy))),
        )
    }

    /// Returns the names of the levels of a layer that are replaced, and the hierarchy that they are taken from.
    fn levels_of(&self, revision: &Revision, layer: &LayerId) -> Option<(&BTreeSet<Arc<str>>, Resolved)> {
        let (other, by_config) = self.levels.as_ref()?;
        let names = by_config.get(&revision.config(layer)?.ok()?.path)?;
        Some((names, other.hierarchy(layer)?))
    }

    fn with_files(&self, mut hierarchy: Hierarchy) -> Hierarchy {
        let levels = hierarchy.levels.iter_mut().chain(hierarchy.default_levels.iter_mut().flatten());
        for level in levels.filter(|level| level.locations.iter().any(|location| self.replacement(location).is_some()))
        {
            self.replace_files_in(Arc::make_mut(level));
        }
        hierarchy
    }

    fn replace_files_in(&self, level: &mut Level) {
        for location in &mut level.locations {
            let file = self.replacement(location).cloned();
            if let (Some(file), Location::Path { content, .. }) = (file, location) {
                *content = Content::File(BlobId::of(b""), file);
            }
        }
    }

    fn replacement(&self, location: &Location) -> Option<&Arc<DataFile>> {
        match location {
            Location::Path { path, content: Content::File(..) | Content::Absent, .. } => self.files.get(path),
            _ => None,
        }
    }
}

/// Returns `base` with the levels `names` taken from `other`.
fn with_levels_of(base: &Hierarchy, other: &Hierarchy, names: &BTreeSet<Arc<str>>) -> Hierarchy {
    let mixed = |base: &[Arc<Level>], other: &[Arc<Level>]| {
        let mut levels: Vec<Arc<Level>> = base.iter().filter(|level| !names.contains(&level.name)).cloned().collect();
        let mut at = 0;
        for level in other {
            if names.contains(&level.name) {
                levels.insert(at, level.clone());
                at += 1;
            } else if let Some(same) = levels.iter().position(|candidate| candidate.name == level.name) {
                at = same + 1;
            }
        }
        levels
    };
    let defaults = |hierarchy: &'_ Hierarchy| hierarchy.default_levels.clone().unwrap_or_default();
    Hierarchy {
        levels: mixed(&base.levels, &other.levels),
        default_levels: base.default_levels.as_ref().map(|base| mixed(base, &defaults(other))),
        diagnostics: base.diagnostics.clone(),
    }
}
