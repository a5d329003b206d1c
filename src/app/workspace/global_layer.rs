//! Finds the hiera.yaml of the global layer: on disk, in the data repository, or in another repository.

use std::sync::Arc;

use super::inside::{absolute, in_work_tree};
use crate::app::Result;
use crate::disk::Disk;
use crate::git::{CommitId, Repository};
use crate::hiera::layer::GlobalConfig;
use crate::settings::GlobalSetting;
use crate::tree::{FileTree, MountedTree};

/// The global layer that the settings name.
pub(super) struct GlobalLayer {
    /// Its hiera.yaml, or `None` if they name none.
    pub(super) config: Option<GlobalConfig>,
    /// The commit of another repository that it is read from.
    commit: Option<CommitId>,
}

impl GlobalLayer {
    /// Finds the global layer. A file in the work tree of the data repository is read from the revision in question.
    pub(super) fn find(setting: &GlobalSetting, data: &Repository, disk: &Arc<Disk>) -> Result<GlobalLayer> {
        let config = |tree, path| Ok(GlobalLayer { config: Some(GlobalConfig { tree, path }), commit: None });
        match setting {
            GlobalSetting::None => Ok(GlobalLayer { config: None, commit: None }),
            GlobalSetting::Tree(path) => config(None, path.clone()),
            GlobalSetting::Disk(path) => match in_work_tree(data, path) {
                Some(path) => config(None, path),
                None => config(Some(disk.clone() as Arc<dyn FileTree>), absolute(path)),
            },
            GlobalSetting::Repository { repo, rev, path } => {
                let other = Repository::discover(repo)?;
                let commit = other.resolve_trusted(rev)?;
                let tree = other.tree(commit)?;
                let root = absolute(other.work_dir().unwrap_or(repo)).trim_end_matches('/').to_owned();
                let path = format!("{root}/{path}");
                let tree: Arc<dyn FileTree> = Arc::new(MountedTree::new(root, Arc::new(tree)));
                Ok(GlobalLayer { commit: Some(commit), ..config(Some(tree), path)? })
            }
        }
    }

    /// Returns true unless the revision of the other repository is known to be another commit now.
    pub(super) fn is_current(&self, setting: &GlobalSetting) -> bool {
        let GlobalSetting::Repository { repo, rev, .. } = setting else { return true };
        let now = Repository::discover(repo).ok().and_then(|other| other.resolve_trusted(rev).ok());
        now.is_none() || now == self.commit
    }
}
