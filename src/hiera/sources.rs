//! The hierarchies and options of a node that lookups need.
//!
//! A lookup depends on nothing but [`Sources`] and the variables of its scope, so an implementation may record what
//! is requested.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::LookupError;
use super::budget::Cost;
use super::hierarchy::{Hierarchy, Level};
use super::layer::LayerId;
use super::options::LookupOptions;
use crate::value::Value;

/// The hierarchy of a layer, or the reason why there is none.
pub type Resolved = Result<Arc<Hierarchy>, LookupError>;

/// The options of all layers together, or the reason why they cannot be known.
pub type Merged = Result<Arc<LookupOptions>, LookupError>;

/// Options that one lookup has found.
#[derive(Debug, Clone)]
pub struct FoundOptions {
    /// The options that were requested.
    pub options: Merged,
    /// The options that were found meanwhile, for the keys of other modules or without a module. The lookup continues
    /// with them.
    pub on_the_way: Arc<[(Option<Arc<str>>, Merged)]>,
}

impl FoundOptions {
    /// Returns true if the options do not depend on earlier results of the lookup that requests them: finding them
    /// used no options except those for keys of their own module or without a module.
    pub fn is_alone(&self, module: Option<&Arc<str>>) -> bool {
        self.on_the_way.iter().all(|(other, _)| other.is_none() || other.as_ref() == module)
    }

    /// Returns the options found meanwhile for the keys of `module`, or for keys without a module.
    pub fn on_the_way(&self, module: &Option<Arc<str>>) -> Option<&Merged> {
        self.on_the_way.iter().find(|(other, _)| other == module).map(|(_, options)| options)
    }

    /// Returns the modules of the options found meanwhile.
    pub fn modules_on_the_way(&self) -> impl Iterator<Item = &Option<Arc<str>>> {
        self.on_the_way.iter().map(|(module, _)| module)
    }
}

/// The origin of options.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OptionsOf {
    /// Options of all layers, for keys of a module or for keys without a module.
    Layers(Option<Arc<str>>),
    /// Options of a module's default hierarchy.
    Default(Arc<str>),
}

impl OptionsOf {
    /// Returns the module that the options are for, or `None` if they are for keys without a module.
    pub fn module(&self) -> Option<Arc<str>> {
        match self {
            OptionsOf::Layers(module) => module.clone(),
            OptionsOf::Default(module) => Some(module.clone()),
        }
    }
}

/// The answer on some node for a key that another key refers to.
#[derive(Debug)]
pub struct SharedAnswer {
    /// The value, if there is one.
    pub value: Option<Value>,
    /// The cost of finding it.
    pub cost: Cost,
    /// The number of names that were being resolved, and of collections that the lookup was nested in. Deeper inside,
    /// it might fail.
    pub inside: [usize; 2],
    /// The root keys that the answer depends on. If one of them were being resolved, there would be a recursion.
    pub roots: HashSet<Arc<str>, RandomState>,
}

/// The hierarchies and options of a node. An implementation may record what is requested: an answer depends on
/// nothing else but the variables that are read from the [`Scope`](super::scope::Scope).
pub trait Sources {
    /// Returns the hierarchy of a layer, or `None` if there is no such layer.
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved>;

    /// Returns the options as a lookup that knows none yet finds them, or `None` if that has not been done.
    fn options(&self, of: &OptionsOf) -> Option<FoundOptions> {
        _ = of;
        None
    }

    /// Returns an answer for `key` that was found before and `fits`. Otherwise calls `find`, keeps the result, and
    /// returns it if others may use it.
    fn shared(
        &self,
        key: &str,
        fits: &dyn Fn(&SharedAnswer) -> bool,
        find: &mut dyn FnMut() -> Option<SharedAnswer>,
    ) -> Option<Arc<SharedAnswer>> {
        _ = (key, fits, find());
        None
    }

    /// Notes that the root key `root` was searched for in these levels of a layer, so that values in the other levels
    /// do not matter. `None` stands for all levels.
    fn searched(&self, root: &str, layer: &LayerId, levels: Option<&[Arc<Level>]>) {
        _ = (root, layer, levels);
    }
}
