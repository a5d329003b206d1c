//! The part of the tree that a bridged function reads: its own code, and the datadir of its level.

use std::sync::Arc;

use super::{Content, Level, Location, Mount, Resolver, unreadable};
use crate::hiera::LookupError;
use crate::hiera::backend::{Backend, Code, DeclaredFunction, Folder, Runner};
use crate::tree::{FileTree, Target, TreeError, child, follow};

/// The name of the environment, where others have that of a module.
const ENVIRONMENT: &str = "environment";

/// All of the tree that a bridged function reads, or why it cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reads {
    /// Its code, or `None` if the tree has none.
    pub code: Option<Code>,
    /// The datadir of its level, or `None` if that is not in the repository.
    pub data: Option<Folder>,
}

/// The outcome of looking for that.
pub type Found = Result<Arc<Reads>, LookupError>;

impl Level {
    /// Returns true if a command, or Puppet, answers for its function.
    pub fn asks_command(&self) -> bool {
        matches!(self.backend, Backend::Declared(DeclaredFunction::Command(_)))
    }
}

impl Resolver<'_> {
    /// Returns what the function of a level reads; `None` if it is not bridged, or has no location to be called for.
    pub(super) fn reads(
        &self,
        function: &str,
        backend: &Backend,
        datadir: &str,
        locations: &[Location],
    ) -> Option<Found> {
        let Backend::Declared(DeclaredFunction::Command(command)) = backend else { return None };
        let is_absent = |location: &Location| matches!(location, Location::Path { content: Content::Absent, .. });
        if !matches!(command.runner, Runner::Bridge(_)) || locations.iter().all(is_absent) {
            return None;
        }
        let has_path = locations.iter().any(|location| matches!(location, Location::Path { .. }));
        let data = || if has_path { self.data(datadir) } else { Ok(None) };
        let found = self.code(function).and_then(|code| Ok(Reads { code, data: data()? }));
        Some(found.map(Arc::new).map_err(|error| unreadable(&error)))
    }

    /// Returns the folder of the repository that a datadir is.
    fn data(&self, datadir: &str) -> Result<Option<Folder>, TreeError> {
        match self.mount(datadir) {
            Mount::Tree(tree, path) if tree.root().is_empty() => self.folder(tree, &path),
            _ => Ok(None),
        }
    }

    fn folder(&self, tree: &dyn FileTree, path: &str) -> Result<Option<Folder>, TreeError> {
        let Target::Folder(at) = follow(tree, path)? else { return Ok(None) };
        let id = tree.content_id(&at, self.source.contents)?;
        Ok(Some(Folder { path: path.trim_end_matches('/').to_owned(), at, id }))
    }

    /// Returns the code of a function: that of the module it is named after, or of the first one that has it.
    fn code(&self, function: &str) -> Result<Option<Code>, TreeError> {
        let (tree, root) = (self.source.repository, (ENVIRONMENT, self.source.environment));
        let modules = self.source.modules.iter().map(|(name, folder)| (&**name, &**folder));
        let named = function.split_once("::").map(|(module, _)| module);
        for (module, folder) in modules.chain([root]).filter(|(module, _)| named.is_none_or(|name| name == *module)) {
            let lib = child(folder, "lib");
            let file = child(&lib, &format!("puppet/functions/{}.rb", function.replace("::", "/")));
            if let (Target::File(..), Some(folder)) = (follow(tree, &file)?, self.folder(tree, &lib)?) {
                return Ok(Some(Code { module: module.to_owned(), lib: folder }));
            }
        }
        Ok(None)
    }
}
