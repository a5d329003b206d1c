//! The private folder with the files that a function reads and the code that is run.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::disk::{Choice, StageError, create, private_folder, stage};
use crate::hiera::backend::{Folder, Mentions};
use crate::tree::{ContentId, Entry, FileTree, Target, begins_with, below, follow};

/// The maximum number of written data folders to keep.
const MAX_KEPT: usize = 64;

/// The maximum size of the data folders to keep, in bytes, without the last one.
const MAX_KEPT_SIZE: usize = 1 << 30;

/// The maximum number of files and folders to write for one datadir.
const MAX_ENTRIES: usize = 200_000;

/// The maximum number of bytes to write for one datadir.
const MAX_SIZE: usize = 1 << 30;

/// The folder, which is removed on drop.
#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
    root: PathBuf,
    /// The data folders that were used last, as written, or the reasons why they cannot be written.
    data: VecDeque<(Folder, Result<Written, String>)>,
    /// The number of data folders that were written.
    count: usize,
    code: VecDeque<(ContentId, PathBuf)>,
}

/// A written data folder.
#[derive(Debug, Clone)]
pub(super) struct Written {
    /// The folder that stands for the repository.
    pub(super) root: PathBuf,
    /// The references in the files, if the settings promise which files are read.
    pub(super) mentions: Option<Arc<Mentions>>,
    size: usize,
}

/// Describes a failure to write.
pub(super) fn failed(error: &dyn std::fmt::Display) -> String {
    format!("is not run, as its files cannot be written: {error}")
}

impl Stage {
    /// Makes the folder, with the files of the program in it.
    pub(super) fn new(program: &[(&str, &str)]) -> io::Result<Stage> {
        let folder = private_folder("hierad_bridge_")?;
        let root = folder.path().canonicalize()?;
        for name in ["data", "code"] {
            fs::create_dir(root.join(name))?;
        }
        for (name, content) in program {
            create(&root.join(name), content.as_bytes())?;
        }
        Ok(Stage { folder, root, data: VecDeque::new(), count: 0, code: VecDeque::new() })
    }

    /// Returns the path of the folder.
    pub(super) fn root(&self) -> &Path {
        debug_assert!(self.folder.path().exists());
        &self.root
    }

    /// Returns a path below the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes the relevant files of a folder of `tree`.
    pub(super) fn data(&mut self, tree: &dyn FileTree, folder: &Folder) -> Result<Written, String> {
        if let Some(at) = self.data.iter().position(|(known, _)| known == folder) {
            let known = self.data.remove(at);
            self.data.extend(known);
        } else {
            self.make_room()?;
            self.count += 1;
            let root = self.path("data").join(self.count.to_string());
            let written = write_data(tree, folder, root);
            self.data.push_back((folder.clone(), written));
        }
        self.data.back().map_or_else(|| Err(failed(&"nothing is written")), |(_, written)| written.clone())
    }

    /// Removes the least recently used data folders, if there are many.
    fn make_room(&mut self) -> Result<(), String> {
        let size =
            |(_, written): &(Folder, Result<Written, String>)| written.as_ref().map_or(0, |written| written.size);
        while self.data.len() >= MAX_KEPT || self.data.iter().map(size).sum::<usize>() > MAX_KEPT_SIZE {
            if let Some((_, Ok(old))) = self.data.pop_front() {
                fs::remove_dir_all(old.root).map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    }

    /// Writes the folder `lib` of a module, and returns the folder that contains the module.
    pub(super) fn code(&mut self, tree: &dyn FileTree, module: &str, lib: &Folder) -> Result<PathBuf, String> {
        if let Some((_, known)) = self.code.iter().find(|(id, _)| *id == lib.id) {
            return Ok(known.clone());
        }
        let modules = self.path("code").join(lib.id.to_string());
        write(tree, lib, &modules.join(module).join("lib"))?;
        self.code.push_back((lib.id, modules.clone()));
        Ok(modules)
    }
}

/// Writes the relevant files of a folder of `tree` to the same path below `root`.
fn write_data(tree: &dyn FileTree, folder: &Folder, root: PathBuf) -> Result<Written, String> {
    let size = write(tree, folder, &root.join(&folder.path))?;
    let mentions = folder.only.as_ref().map(|_| Mentions::of_folder(tree, folder)).transpose();
    let mentions = mentions.map_err(|error| failed(&error))?;
    Ok(Written { root, mentions: mentions.map(Arc::new), size })
}

/// Writes the relevant files of a folder of `tree` to `target`, and returns the number of bytes.
fn write(tree: &dyn FileTree, folder: &Folder, target: &Path) -> Result<usize, String> {
    let mut selection = Selection { tree, folder, entries: 0, size: 0, links: Vec::new() };
    let staged = stage(tree, &folder.at, target, &mut |path, entry, target| selection.choose(path, entry, target));
    let written = staged.and_then(|()| selection.check_links(target));
    if written.is_err() {
        _ = fs::remove_dir_all(target);
    }
    written.map(|()| selection.size).map_err(|error| failed(&error))
}

/// The choice of what is written.
struct Selection<'a> {
    tree: &'a dyn FileTree,
    folder: &'a Folder,
    entries: usize,
    size: usize,
    /// The links, with the places in the folder that they lead to.
    links: Vec<(PathBuf, String)>,
}

impl Selection<'_> {
    fn choose(&mut self, path: &str, entry: &Entry, target: &Path) -> Result<Choice, StageError> {
        if let (Some(only), (folder, name)) = (&self.folder.only, path.rsplit_once('/').unwrap_or(("", path)))
            && folder == self.folder.at
            && !begins_with(name, only)
        {
            return Ok(Choice::Nothing);
        }
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(self.refused(&format!("has more than {MAX_ENTRIES} files")));
        }
        match entry {
            Entry::Folder => Ok(Choice::Entry),
            Entry::Link(to) => self.link(path, to, target),
            Entry::Submodule(_) => Err(StageError::Refused(format!("{path} is a submodule"))),
            Entry::File(id) => {
                let content = self.tree.read(*id)?;
                self.size += content.len();
                if self.size > MAX_SIZE {
                    return Err(self.refused(&format!("has more than {MAX_SIZE} bytes")));
                }
                Ok(Choice::Content(content))
            }
        }
    }

    fn refused(&self, why: &str) -> StageError {
        StageError::Refused(format!("{} {why}", self.folder.path))
    }

    /// Writes a link, which must lead to something in the folder.
    fn link(&mut self, path: &str, to: &str, target: &Path) -> Result<Choice, StageError> {
        let at = match follow(self.tree, path)? {
            Target::File(at, _) | Target::Folder(at) => Some(at),
            Target::Absent | Target::Dangling(_) | Target::Loop(_) | Target::Outside(_) => None,
        };
        let inside = at.as_deref().and_then(|at| below(&self.folder.at, at));
        let Some(inside) = inside.filter(|_| !to.starts_with('/')) else { return Err(self.link_refusal(path)) };
        self.links.push((target.to_owned(), inside.trim_start_matches('/').to_owned()));
        Ok(Choice::Entry)
    }

    /// Refuses written links that do not lead where they do in the tree, since another link on the way leaves the
    /// folder.
    fn check_links(&self, target: &Path) -> Result<(), StageError> {
        let refused = |error: io::Error| StageError::Refused(error.to_string());
        let root = target.canonicalize().map_err(refused)?;
        let leads_elsewhere =
            |(link, inside): &&(PathBuf, String)| link.canonicalize().ok() != root.join(inside).canonicalize().ok();
        match self.links.iter().find(leads_elsewhere) {
            Some((link, _)) => Err(self.link_refusal(&link.strip_prefix(target).unwrap_or(link).display().to_string())),
            None => Ok(()),
        }
    }

    fn link_refusal(&self, path: &str) -> StageError {
        let folder = &self.folder.path;
        StageError::Refused(format!("{path} is a symbolic link to nothing in {folder}, and the function might read it"))
    }
}
