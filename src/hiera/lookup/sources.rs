//! The hierarchies of one node, each resolved when it is first needed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::Lookup;
use crate::hiera::config::Config;
use crate::hiera::hierarchy::{Hierarchy, HierarchyPart, Level};
use crate::hiera::layer::{Environment, Layer, LayerId};
use crate::hiera::scope::Scope;
use crate::hiera::sources::{FoundOptions, OptionsOf, Resolved, Sources};
use crate::hiera::version3;
use crate::tree::FileTree;

/// The sources of one node. Each hierarchy is resolved when it is first needed.
pub struct NodeSources<'a> {
    environment: &'a Environment,
    scope: &'a dyn Scope,
    hierarchies: RefCell<HashMap<LayerId, Option<Resolved>>>,
    /// Options that are known already.
    options: RefCell<Options>,
    /// True if options that are found are added to the known ones.
    keeps_options: bool,
}

/// Options by their origin.
pub(super) type Options = HashMap<OptionsOf, FoundOptions>;

impl<'a> NodeSources<'a> {
    /// Returns the sources of the node with `scope`.
    pub fn new(environment: &'a Environment, scope: &'a dyn Scope) -> NodeSources<'a> {
        NodeSources::with_options(environment, scope, Options::new(), false)
    }

    /// Returns the sources of the node with `scope`, with known options. With `keeps_options`, other options are
    /// found and added when they are needed.
    pub(super) fn with_options(
        environment: &'a Environment,
        scope: &'a dyn Scope,
        options: Options,
        keeps_options: bool,
    ) -> NodeSources<'a> {
        let options = RefCell::new(options);
        NodeSources { environment, scope, hierarchies: RefCell::default(), options, keeps_options }
    }

    /// Returns the known options.
    pub(super) fn into_options(self) -> Options {
        self.options.into_inner()
    }
}

impl Sources for NodeSources<'_> {
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        if let Some(hierarchy) = self.hierarchies.borrow().get(layer) {
            return hierarchy.clone();
        }
        let hierarchy = self.environment.layer_of(layer).map(|layer| {
            let config = layer.config.as_ref().map_err(Clone::clone)?;
            let tree = &*self.environment.tree;
            let part = |number| resolve_part(self.environment, (layer, config, number), self.scope, tree);
            let parts: Vec<HierarchyPart> = (0..HierarchyPart::count(config)).map(part).collect();
            Hierarchy::assemble(config, &parts).map(Arc::new)
        });
        self.hierarchies.borrow_mut().insert(layer.clone(), hierarchy.clone());
        hierarchy
    }

    fn options(&self, of: &OptionsOf) -> Option<FoundOptions> {
        let known = self.options.borrow().get(of).cloned();
        if known.is_some() || !self.keeps_options {
            return known;
        }
        let found = Lookup::new(self.environment, self, self.scope).find_options(of);
        self.options.borrow_mut().insert(of.clone(), found.clone());
        Some(found)
    }
}

/// Returns the part `number` of a layer's hierarchy for the node with `scope`. `tree` has the files of the
/// repository.
pub fn resolve_part(
    environment: &Environment,
    (layer, config, number): (&Layer, &Config, usize),
    scope: &dyn Scope,
    tree: &dyn FileTree,
) -> HierarchyPart {
    let source = environment.source(layer, tree);
    match (&config.hiera3, config.version) {
        (Some(hiera3), _) => version3::resolve(config, hiera3, &layer.root, scope, source),
        (None, 3) => version3::resolve_global(config, &layer.root, scope, source),
        _ => HierarchyPart::resolve(config, number, &layer.root, scope, source),
    }
}

/// Sources that have only the global layer.
pub(super) struct OnlyGlobal<'a>(pub(super) &'a dyn Sources);

impl Sources for OnlyGlobal<'_> {
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        if *layer == LayerId::Global { self.0.hierarchy(layer) } else { None }
    }

    fn searched(&self, root: &str, layer: &LayerId, levels: Option<&[Arc<Level>]>) {
        self.0.searched(root, layer, levels);
    }
}
