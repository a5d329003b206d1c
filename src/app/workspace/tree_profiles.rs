//! The node profiles in the tree, which commits can change, and the files of values of `backends`. Both are read once
//! for all revisions.

mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::inside::path_below;
use crate::app::Result;
use crate::app::settings::Settings;
use crate::diff::Diff;
use crate::disk;
use crate::git::{CommitId, CommitTree, Environment, Repository};
use crate::inventory::files::files_in_tree;
use crate::puppet::glob::SHARED_LIMIT;
use crate::settings::ProfileEntry;
use crate::tree::{BlobId, FileTree, TreeError, WithSubmodules};

use programs::TreePrograms;

/// The paths of profiles, and of files of values, in a work tree.
pub(super) struct TreeProfiles {
    top: PathBuf,
    /// The paths from the top, which may be patterns.
    paths: Vec<String>,
    /// Paths of files of values.
    values: Vec<String>,
    /// True if entries are joined, so that one may add to the nodes of another.
    is_joined: bool,
    programs: TreePrograms,
}

impl TreeProfiles {
    /// Returns the paths in these settings; none if there is no work tree.
    pub(super) fn of(repository: &Repository, settings: &Settings) -> TreeProfiles {
        let top = repository.work_dir().and_then(|top| top.canonicalize().ok()).unwrap_or_default();
        let mut entries = settings.profiles.clone();
        let values: Vec<String> =
            settings.backends.value_files.iter().filter_map(|path| path_below(&top, path)).collect();
        let paths = entries.iter_mut().filter_map(ProfileEntry::path_mut).filter_map(|path| path_below(&top, path));
        let paths = paths.chain(values.iter().cloned()).collect();
        let (is_joined, programs) = (settings.profiles.len() > 1, TreePrograms::of(&top, settings));
        TreeProfiles { top, paths, values, is_joined, programs }
    }

    /// Returns the files of a revision, by path. A submodule that may contain some is listed as one file, with its
    /// commit as the id.
    pub(super) fn files(&self, tree: &dyn FileTree) -> std::result::Result<BTreeMap<String, BlobId>, TreeError> {
        let (mut files, mut left) = (BTreeMap::new(), SHARED_LIMIT);
        let tree = WithSubmodules::new(tree, |_, _| None);
        for path in &self.paths {
            files.extend(files_in_tree(&tree, path, &mut left)?);
        }
        files.extend(tree.met());
        Ok(files)
    }

    /// Returns true for a file of values, or a submodule that contains one.
    pub(super) fn is_of_values(&self, file: &str) -> bool {
        let is_in =
            |path: &String| path.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.values.iter().any(is_in)
    }

    /// Returns true if a new file may mean more than a new node.
    pub(super) fn counts_if_new(&self, file: &str) -> bool {
        self.is_joined || self.is_of_values(file)
    }

    /// Returns true if the settings have programs in the tree.
    pub(super) fn has_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    /// Returns the files that differ between two trees and that programs of the settings may read.
    pub(super) fn changed_for_programs(
        &self,
        trees: Diff<&dyn FileTree>,
    ) -> std::result::Result<BTreeSet<String>, TreeError> {
        self.programs.changed(trees.before, trees.after)
    }

    /// Returns the meaning of a file, in words.
    pub(super) fn meaning(&self, file: &str) -> &'static str {
        if self.is_of_values(file) { "says what a backend finds" } else { "says what a node is" }
    }

    /// Writes the profile files of a revision to `folder`, and makes `settings` name them there. Paths at which the
    /// revision has none stay. Files in submodules are read from the checked-out submodules. Fails if one of these
    /// lacks the commit, unless the commit is among the `kept_files`, so the submodule has not been moved.
    pub(super) fn stage(
        &self,
        tree: &dyn FileTree,
        kept_files: &BTreeMap<String, BlobId>,
        folder: &Path,
        settings: &mut Settings,
    ) -> Result<()> {
        let mut left = SHARED_LIMIT;
        let tree = WithSubmodules::new(tree, |path, commit| Some(Box::new(submodule(&self.top.join(path), commit)?)));
        for path in settings.profiles.iter_mut().filter_map(ProfileEntry::path_mut) {
            let Some(inside) = path_below(&self.top, path) else { continue };
            let files = files_in_tree(&tree, &inside, &mut left)?;
            if let Some((path, commit)) =
                tree.absent().iter().find(|(path, commit)| kept_files.get(path) != Some(commit))
            {
                let text = format!("{path} is a submodule, and its commit {commit} is not here: fetch it there");
                return Err(text.into());
            }
            for (path, id) in &files {
                let at = folder.join(path);
                if !at.exists() {
                    fs::create_dir_all(at.parent().unwrap_or(folder))?;
                    disk::create(&at, &tree.read(*id)?)?;
                }
            }
            if !files.is_empty() {
                *path = folder.join(inside);
            }
        }
        settings.profiles_within = None;
        Ok(())
    }
}

/// Returns the files of a commit of the submodule that is checked out at a folder, if it has them.
fn submodule(folder: &Path, commit: BlobId) -> Option<CommitTree> {
    let repository = Repository::locate(Some(folder), &Environment::default()).ok()?;
    let is_there = repository.work_dir().is_some_and(|top| top == folder);
    is_there.then(|| repository.tree(CommitId::from_hex(&commit.to_string())?).ok()).flatten()
}
