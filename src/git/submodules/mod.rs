//! The files of submodules that have been cloned: in the git directory, where `git submodule` puts clones, or in the
//! work tree.
//!
//! Names and commits are a stranger's. A name can only lead to a clone within this repository, of which only the
//! objects are opened.

pub(super) mod gitmodules;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::id::CommitId;
use super::objects::Objects;
use super::open::pointer;
use super::tree::CommitTree;
use super::worktree::WorkTree;
use crate::tree::{Entry, FileTree, Graft, GraftedTree, TreeError, read_config};

use gitmodules::{GITMODULES, names_by_path};

/// The maximum number of submodules in a tree, including those in other submodules.
const MAX_SUBMODULES: usize = 4096;

/// The maximum depth of submodules within one another.
const MAX_DEPTH: usize = 16;

/// The clones opened so far.
#[derive(Default)]
pub(super) struct Clones(Mutex<HashMap<PathBuf, Arc<Objects>>>);

/// A repository that may have submodules.
pub(super) struct Superproject {
    /// Its git directories, which may contain clones.
    pub(super) git_dirs: Vec<PathBuf>,
    /// The top of its work tree.
    pub(super) work: Option<PathBuf>,
    /// True if the files of the work tree are read.
    pub(super) is_work_tree: bool,
    /// The size in bytes of the largest file that is read.
    pub(super) file_limit: u64,
}

/// The submodules that may still be opened.
struct Remaining {
    count: usize,
    depth: usize,
}

impl Clones {
    /// Returns `tree` with the files of its submodules in it. A submodule whose commit is in no clone stays as it is.
    pub(super) fn graft(
        &self,
        tree: Arc<dyn FileTree>,
        superproject: &Superproject,
    ) -> Result<Arc<dyn FileTree>, TreeError> {
        self.graft_some(tree, superproject, &mut Remaining { count: MAX_SUBMODULES, depth: MAX_DEPTH })
    }

    fn graft_some(
        &self,
        tree: Arc<dyn FileTree>,
        superproject: &Superproject,
        remaining: &mut Remaining,
    ) -> Result<Arc<dyn FileTree>, TreeError> {
        let Some(Entry::File(id)) = tree.entry(GITMODULES)? else { return Ok(tree) };
        let mut grafts = BTreeMap::new();
        for (path, name) in names_by_path(&read_config(&*tree, GITMODULES, id)?) {
            let Some(Entry::Submodule(Some(commit))) = tree.entry(&path)? else { continue };
            if remaining.count == 0 || remaining.depth == 0 {
                break;
            }
            remaining.count -= 1;
            let Some((found, inner)) = self.open(superproject, (&name, &path), CommitId(commit)) else { continue };
            remaining.depth -= 1;
            let tree = self.graft_some(found, &inner, remaining)?;
            remaining.depth += 1;
            grafts.insert(path, Graft::Read { tree, commit });
        }
        Ok(if grafts.is_empty() { tree } else { Arc::new(GraftedTree::new(tree, grafts)) })
    }

    /// Opens the files of a submodule, and returns it as a repository that may have submodules, too.
    fn open(
        &self,
        superproject: &Superproject,
        (name, path): (&str, &str),
        commit: CommitId,
    ) -> Option<(Arc<dyn FileTree>, Superproject)> {
        let work = superproject.work.as_deref().and_then(|top| folder_in(top, path));
        let checked_out_git_dir = work.as_deref().and_then(git_dir_of);
        let inner = |git_dir: &Path, is_work_tree| Superproject {
            git_dirs: vec![git_dir.to_owned()],
            work: work.clone(),
            is_work_tree,
            file_limit: superproject.file_limit,
        };
        if let (true, Some(top), Some(git_dir)) = (superproject.is_work_tree, &work, &checked_out_git_dir) {
            let tree = WorkTree::new(top).with_index(git_dir, &self.objects(git_dir, superproject.file_limit)?);
            return Some((Arc::new(tree.reading_at_most(superproject.file_limit)), inner(git_dir, true)));
        }
        let mut clones = superproject
            .git_dirs
            .iter()
            .map(|folder| folder.join("modules").join(name))
            .chain(checked_out_git_dir.clone());
        clones.find_map(|git_dir| {
            let tree = CommitTree::open(&self.objects(&git_dir, superproject.file_limit)?, commit).ok()?;
            Some((Arc::new(tree) as Arc<dyn FileTree>, inner(&git_dir, false)))
        })
    }

    /// Returns the objects of the clone in a git directory, or `None` if there is none.
    fn objects(&self, git_dir: &Path, file_limit: u64) -> Option<Arc<Objects>> {
        let common = pointer(git_dir, "commondir").unwrap_or_else(|| git_dir.to_owned());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(&common) {
            let objects = Objects::open(&common, vec![common.join("objects")]).ok()?;
            known.insert(common.clone(), Arc::new(objects));
        }
        let objects = known.get(&common).map(Arc::clone)?;
        drop(known);
        objects.limit_files(file_limit);
        objects.follow();
        Some(objects)
    }
}

/// Returns the folder at `path` of a work tree, or `None` if it is reached through a link.
fn folder_in(top: &Path, path: &str) -> Option<PathBuf> {
    let mut folder = top.to_owned();
    for name in path.split('/') {
        folder.push(name);
        fs::symlink_metadata(&folder).ok().filter(fs::Metadata::is_dir)?;
    }
    Some(folder)
}

/// Returns the git directory of a submodule in the work tree: its `.git`, or the folder that this file names.
fn git_dir_of(folder: &Path) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    let kind = fs::symlink_metadata(&dot_git).ok()?;
    if kind.is_dir() {
        return Some(dot_git);
    }
    let text = kind.is_file().then(|| fs::read_to_string(dot_git).ok()).flatten()?;
    folder.join(text.strip_prefix("gitdir: ")?.trim_end()).canonicalize().ok()
}
