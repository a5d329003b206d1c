//! The hierarchies and options of a node, as lookups ask for them.
//!
//! A lookup depends on nothing but [`Sources`] and the variables of its scope: an implementation may note what was
//! asked for.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::LookupError;
use super::budget::Cost;
use super::hierarchy::{Hierarchy, Level};
use super::layer::LayerId;
use super::options::LookupOptions;
use crate::value::Value;

/// The hierarchy of a layer, or why there is none.
pub type Resolved = Result<Arc<Hierarchy>, LookupError>;

/// Options of all layers together, or why they cannot be known.
pub type Merged = Result<Arc<LookupOptions>, LookupError>;

/// Options as one lookup finds them.
#[derive(Debug, Clone)]
pub struct FoundOptions {
    /// The options that were asked for.
    pub options: Merged,
    /// The options that were found on the way, for the keys of other modules or of none; the lookup continues with
    /// them.
    pub on_the_way: Arc<[(Option<Arc<str>>, Merged)]>,
}

impl FoundOptions {
    /// Returns true if they do not depend on earlier results of the lookup that asks for them: finding them took no
    /// options except those of their own module and of none.
    pub fn is_alone(&self, module: Option<&Arc<str>>) -> bool {
        self.on_the_way.iter().all(|(other, _)| other.is_none() || other.as_ref() == module)
    }

    /// Returns the options found on the way for the keys of `module`, or of none.
    pub fn on_the_way(&self, module: &Option<Arc<str>>) -> Option<&Merged> {
        self.on_the_way.iter().find(|(other, _)| other == module).map(|(_, options)| options)
    }

    /// Returns the modules of the options found on the way.
    pub fn modules_on_the_way(&self) -> impl Iterator<Item = &Option<Arc<str>>> {
        self.on_the_way.iter().map(|(module, _)| module)
    }
}

/// The options of some keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OptionsOf {
    /// Options of all layers, for keys of a module or of none.
    Layers(Option<Arc<str>>),
    /// Options of a module's default hierarchy.
    Default(Arc<str>),
}

impl OptionsOf {
    /// Returns the module whose keys they are for, or `None` for keys of no module.
    pub fn module(&self) -> Option<Arc<str>> {
        match self {
            OptionsOf::Layers(module) => module.clone(),
            OptionsOf::Default(module) => Some(module.clone()),
        }
    }
}

/// The answer for a key that was looked up for the sake of another one, on some node.
#[derive(Debug)]
pub struct SharedAnswer {
    /// The value, if there is one.
    pub value: Option<Value>,
    /// The cost of finding it.
    pub cost: Cost,
    /// The number of names that were being resolved, and of collections that this was inside of: further inside it
    /// might fail.
    pub inside: [usize; 2],
    /// The root keys that it depends on. It would be a recursion if one of these were being resolved.
    pub roots: HashSet<Arc<str>, RandomState>,
}

/// The hierarchies and options of a node. An implementation may note what it was asked for: an answer depends on
/// nothing else but the variables that the [`Scope`](super::scope::Scope) was asked for.
pub trait Sources {
    /// Returns the hierarchy of a layer, or `None` if there is no such layer.
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved>;

    /// Returns the options as a lookup without any options finds them, or `None` if that has not been done yet.
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

    /// The root key `root` was searched in these levels of a layer, and what the others have of it does not count;
    /// nothing stands for all levels.
    fn searched(&self, root: &str, layer: &LayerId, levels: Option<&[Arc<Level>]>) {
        _ = (root, layer, levels);
    }
}
