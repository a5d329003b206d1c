//! The part of the tree that a bridged function reads: its code, and the datadir of its level.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Level, Location, Mount, Resolver, unreadable};
use crate::hiera::LookupError;
use crate::hiera::backend::{Backend, Code, DeclaredFunction, Folder, Runner};
use crate::tree::{FileTree, Target, TreeError, below, child, folder_of, follow};

/// The name for the environment itself, where modules have their names.
const ENVIRONMENT: &str = "environment";

/// Everything in the tree that a bridged function reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reads {
    /// Its code, or `None` if the tree has none.
    pub code: Option<Code>,
    /// Its data.
    pub data: Data,
}

/// The data files that a bridged function may read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Data {
    /// Nothing in the repository.
    Outside,
    /// The whole datadir of its level.
    Datadir(Folder),
    /// The files that begin with one of the function's paths, as the settings promise.
    Promised(BTreeMap<Arc<str>, Folder>),
}

impl Data {
    /// Returns the files that the function may read when it is called for `path`, or `None` if `path` is not among
    /// them.
    pub fn of(&self, path: &str) -> Option<&Folder> {
        match self {
            Data::Outside => None,
            Data::Datadir(folder) => Some(folder).filter(|folder| below(&folder.path, path).is_some()),
            Data::Promised(folders) => folders.get(path),
        }
    }

    /// Returns all files that the function may read.
    pub fn folders(&self) -> Vec<&Folder> {
        match self {
            Data::Outside => Vec::new(),
            Data::Datadir(folder) => vec![folder],
            Data::Promised(folders) => folders.values().collect(),
        }
    }

    /// Returns true if the settings promise which files the function reads.
    pub fn is_promised(&self) -> bool {
        matches!(self, Data::Promised(_))
    }
}

/// Everything that a bridged function reads, or the reason why it cannot be called.
pub type Found = Result<Arc<Reads>, LookupError>;

impl Level {
    /// Returns true if the level's function is answered for by a command or by Puppet.
    pub fn asks_command(&self) -> bool {
        matches!(self.backend, Backend::Declared(DeclaredFunction::Command(_)))
    }

    /// Returns the data that a bridged function reads, unless it is never called or cannot be.
    pub fn data_read(&self) -> Option<&Data> {
        self.reads.as_ref()?.as_ref().ok().map(|reads| &reads.data)
    }
}

impl Resolver<'_> {
    /// Returns everything that a level's function reads, or `None` if it is not bridged or has no location.
    pub(super) fn reads(
        &self,
        function: &str,
        backend: &Backend,
        datadir: &str,
        locations: &[Location],
    ) -> Option<Found> {
        let Backend::Declared(DeclaredFunction::Command(command)) = backend else { return None };
        if !matches!(command.runner, Runner::Bridge(_)) || locations.iter().all(Location::is_absent) {
            return None;
        }
        let has_path = locations.iter().any(|location| matches!(location, Location::Path { .. }));
        let promised = || if command.reads_path { self.promised_folders(datadir, locations) } else { Ok(None) };
        let data = || {
            if !has_path {
                return Ok(Data::Outside);
            }
            promised()?.map_or_else(|| self.data(datadir), |folders| Ok(Data::Promised(folders)))
        };
        let found = self.code(function).and_then(|code| Ok(Reads { code, data: data()? }));
        Some(found.map(Arc::new).map_err(|error| unreadable(&error)))
    }

    /// Returns the files that begin with the paths of a level. Returns `None` if a path leads elsewhere or is
    /// unusual, or if there are links: then the function may read any file of the datadir.
    fn promised_folders(
        &self,
        datadir: &str,
        locations: &[Location],
    ) -> Result<Option<BTreeMap<Arc<str>, Folder>>, TreeError> {
        let mut folders = BTreeMap::new();
        let Mount::Tree(tree, datadir) = self.mount(datadir) else { return Ok(None) };
        for location in locations {
            let Location::Path { path, .. } = location else { return Ok(None) };
            if location.is_absent() {
                continue;
            }
            let is_plain = path.split('/').all(|name| !matches!(name, "" | "." | ".."));
            if !is_plain || !tree.root().is_empty() || below(&datadir, path).is_none() {
                return Ok(None);
            }
            let folder = folder_of(path);
            let Target::Folder(at) = follow(tree, folder)? else { return Ok(None) };
            let name = path[folder.len()..].trim_start_matches('/').to_owned();
            let Some(id) = tree.content_id_beginning(&at, &name, self.source.contents)? else { return Ok(None) };
            folders.insert(path.clone(), Folder { path: folder.to_owned(), at, id, only: Some(name) });
        }
        Ok(Some(folders))
    }

    /// Returns the folder of the repository that a datadir leads to.
    fn data(&self, datadir: &str) -> Result<Data, TreeError> {
        match self.mount(datadir) {
            Mount::Tree(tree, path) if tree.root().is_empty() => {
                Ok(self.folder(tree, &path)?.map_or(Data::Outside, Data::Datadir))
            }
            _ => Ok(Data::Outside),
        }
    }

    fn folder(&self, tree: &dyn FileTree, path: &str) -> Result<Option<Folder>, TreeError> {
        let Target::Folder(at) = follow(tree, path)? else { return Ok(None) };
        let id = tree.content_id(&at, self.source.contents)?;
        Ok(Some(Folder { path: path.trim_end_matches('/').to_owned(), at, id, only: None }))
    }

    /// Returns the code of a function: from the module that its name begins with, or from the first one that defines
    /// it.
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
