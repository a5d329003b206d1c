//! What a lookup asks of its node, variables aside: the hierarchy of each layer, and the options in effect.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::hiera::LookupError;
use crate::hiera::config::Config;
use crate::hiera::hierarchy::{Hierarchy, Level, Part};
use crate::hiera::layer::{Environment, Layer, LayerId};
use crate::hiera::options::LookupOptions;
use crate::hiera::scope::Scope;
use crate::hiera::version3;
use crate::tree::FileTree;

/// The hierarchy of a layer, or why there is none.
pub type Resolved = Result<Arc<Hierarchy>, LookupError>;

/// Options of all layers together, or why they cannot be known.
pub type Merged = Result<Arc<LookupOptions>, LookupError>;

/// Options as one lookup finds them.
#[derive(Debug, Clone)]
pub struct FoundOptions {
    /// Those that were asked for.
    pub options: Merged,
    /// Those that were found on the way, for the keys of other modules or of none, which the lookup goes on with.
    pub on_the_way: Arc<[(Option<Arc<str>>, Merged)]>,
}

impl FoundOptions {
    /// Whether they are the same whatever the lookup that asks for them has found before: they needed no options but those of their
    /// own module and of none.
    pub fn is_alone(&self, module: Option<&Arc<str>>) -> bool {
        self.on_the_way.iter().all(|(other, _)| other.is_none() || other.as_ref() == module)
    }

    /// Those found on the way for the keys of `module`, or of none.
    pub fn on_the_way(&self, module: &Option<Arc<str>>) -> Option<&Merged> {
        self.on_the_way.iter().find(|(other, _)| other == module).map(|(_, options)| options)
    }

    /// The modules of those found on the way.
    pub fn modules_on_the_way(&self) -> impl Iterator<Item = &Option<Arc<str>>> {
        self.on_the_way.iter().map(|(module, _)| module)
    }
}

/// Which options.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OptionsOf {
    /// Of all layers, for keys of a module or of none.
    Layers(Option<Arc<str>>),
    /// Of a module's default hierarchy.
    Default(Arc<str>),
}

impl OptionsOf {
    /// The module for whose keys they are; nothing for those of no module.
    pub fn module(&self) -> Option<Arc<str>> {
        match self {
            OptionsOf::Layers(module) => module.clone(),
            OptionsOf::Default(module) => Some(module.clone()),
        }
    }
}

/// What a lookup asks of its node, variables aside. Who answers may take note of what was asked: an answer depends on nothing
/// else but the variables that the [`Scope`] was asked for.
pub trait Sources {
    /// The hierarchy of a layer; nothing if there is no such layer.
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved>;

    /// The options as a lookup finds them that knows of none yet; nothing if that has still to be done.
    fn options(&self, of: &OptionsOf) -> Option<FoundOptions> {
        _ = of;
        None
    }

    /// The root key `root` was searched in these levels of a layer, and what the others have of it does not count; nothing stands
    /// for all levels.
    fn searched(&self, root: &str, layer: &LayerId, levels: Option<&[Arc<Level>]>) {
        _ = (root, layer, levels);
    }
}

/// The sources of one node. A hierarchy is resolved when it is first asked for.
pub struct NodeSources<'a> {
    environment: &'a Environment,
    scope: &'a dyn Scope,
    hierarchies: RefCell<HashMap<LayerId, Option<Resolved>>>,
}

impl<'a> NodeSources<'a> {
    /// The sources of the node with `scope`.
    pub fn new(environment: &'a Environment, scope: &'a dyn Scope) -> NodeSources<'a> {
        NodeSources { environment, scope, hierarchies: RefCell::default() }
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
            let parts: Vec<Part> = (0..Part::count(config)).map(part).collect();
            Hierarchy::assemble(config, &parts).map(Arc::new)
        });
        self.hierarchies.borrow_mut().insert(layer.clone(), hierarchy.clone());
        hierarchy
    }
}

/// A part of the hierarchy of a layer, by its number, for the node with `scope`; `tree` is for the files of the repository.
pub fn resolve_part(
    environment: &Environment,
    (layer, config, number): (&Layer, &Config, usize),
    scope: &dyn Scope,
    tree: &dyn FileTree,
) -> Part {
    let source = environment.source(layer, tree);
    match (&config.hiera3, config.version) {
        (Some(hiera3), _) => version3::resolve(config, hiera3, &layer.root, scope, source),
        (None, 3) => version3::resolve_global(config, &layer.root, scope, source),
        _ => Part::resolve(config, number, &layer.root, scope, source),
    }
}

/// The global layer alone.
pub(super) struct OnlyGlobal<'a>(pub(super) &'a dyn Sources);

impl Sources for OnlyGlobal<'_> {
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        if *layer == LayerId::Global { self.0.hierarchy(layer) } else { None }
    }

    fn searched(&self, root: &str, layer: &LayerId, levels: Option<&[Arc<Level>]>) {
        self.0.searched(root, layer, levels);
    }
}
