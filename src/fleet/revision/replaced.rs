//! Lookups in a revision some of whose data files are replaced by others: what would the answer be without an edit?

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fleet::dependencies::Dependencies;
use crate::fleet::revision::Revision;
use crate::fleet::revision::node_view::NodeView;
use crate::hiera::Outcome;
use crate::hiera::backend::DataFile;
use crate::hiera::budget::Cost;
use crate::hiera::hierarchy::{Content, Hierarchy, Level, Location};
use crate::hiera::layer::LayerId;
use crate::hiera::lookup::Lookup;
use crate::hiera::sources::{FoundOptions, OptionsOf, Resolved, Sources};
use crate::node::{NodeId, NodeSet};
use crate::tree::BlobId;

/// Data files that stand in the place of those that a revision has at these paths.
#[derive(Default)]
pub struct ReplacedFiles {
    /// The files by path.
    pub files: BTreeMap<Arc<str>, Arc<DataFile>>,
    /// True if some of them have other `lookup_options`.
    pub differ_in_options: bool,
}

/// A data file that some hierarchies lead to.
pub struct ReadFile {
    /// The file.
    pub file: Arc<DataFile>,
    /// The nodes whose hierarchies lead to it.
    pub nodes: NodeSet,
}

impl Revision {
    /// Looks `key` up on a node as if the files were `replaced`, at no more than this cost. Returns the cost, too.
    pub fn get_with(&self, key: &str, node: NodeId, replaced: &ReplacedFiles, limit: Cost) -> (Outcome, Cost) {
        let dependencies = Dependencies::new(false);
        let view = NodeView { revision: self, node, dependencies: &dependencies, answers: None };
        let sources = ReplacingSources { view, replaced };
        let scope = self.fleet.scope(node);
        let lookup = Lookup::new(&self.environment, &sources, &scope).within(limit);
        (lookup.get(key, None), lookup.cost())
    }

    /// Returns the data files that hierarchies lead to at the paths that `is_wanted`, by path.
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

    /// Returns the data files that the hierarchy of a node leads to, with path and level, highest priority first.
    pub fn files_of(&self, node: NodeId) -> Vec<(Arc<str>, Arc<str>, Arc<DataFile>)> {
        let hierarchies = self.environment.layer_ids().filter_map(|layer| self.hierarchy(&layer, node)?.ok());
        let mut files = Vec::new();
        for hierarchy in hierarchies {
            for level in hierarchy.all_levels() {
                files.extend(level.locations.iter().filter_map(|location| match location {
                    Location::Path { path, content: Content::File(_, file), .. } => {
                        Some((path.clone(), level.name.clone(), file.clone()))
                    }
                    _ => None,
                }));
            }
        }
        files
    }
}

struct ReplacingSources<'a> {
    view: NodeView<'a>,
    replaced: &'a ReplacedFiles,
}

impl Sources for ReplacingSources<'_> {
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        let hierarchy = self.view.hierarchy(layer)?;
        Some(hierarchy.map(|hierarchy| Arc::new(self.replaced.put_into(&hierarchy))))
    }

    fn options(&self, of: &OptionsOf) -> Option<FoundOptions> {
        if self.replaced.differ_in_options { None } else { self.view.options(of) }
    }
}

impl ReplacedFiles {
    fn put_into(&self, hierarchy: &Hierarchy) -> Hierarchy {
        let mut hierarchy = hierarchy.clone();
        let levels = hierarchy.levels.iter_mut().chain(hierarchy.default_levels.iter_mut().flatten());
        for level in levels.filter(|level| level.locations.iter().any(|location| self.of(location).is_some())) {
            self.put_into_level(Arc::make_mut(level));
        }
        hierarchy
    }

    fn put_into_level(&self, level: &mut Level) {
        for location in &mut level.locations {
            let file = self.of(location).cloned();
            if let (Some(file), Location::Path { content, .. }) = (file, location) {
                *content = Content::File(BlobId::of(b""), file);
            }
        }
    }

    fn of(&self, location: &Location) -> Option<&Arc<DataFile>> {
        match location {
            Location::Path { path, content: Content::File(..) | Content::Absent, .. } => self.files.get(path),
            _ => None,
        }
    }
}
