//! Finds the hiera.yaml of the global layer: on disk, in the data repository, or in another repository.

use std::path::{Component, Path, PathBuf, absolute as absolute_path};
use std::sync::Arc;

use super::Result;
use crate::git::Repository;
use crate::hiera::layer::GlobalConfig;
use crate::settings::GlobalSetting;
use crate::tree::{FileTree, MountedTree};

/// Returns the global layer that the settings name, or `None` if they name none. A file in the work tree of the data
/// repository is read from the revision at hand.
pub(super) fn global_config(
    setting: &GlobalSetting,
    data: &Repository,
    disk: &Arc<dyn FileTree>,
) -> Result<Option<GlobalConfig>> {
    Ok(match setting {
        GlobalSetting::None => None,
        GlobalSetting::Tree(path) => Some(GlobalConfig { tree: None, path: path.clone() }),
        GlobalSetting::Disk(path) => Some(match in_work_tree(data, path) {
            Some(path) => GlobalConfig { tree: None, path },
            None => GlobalConfig { tree: Some(disk.clone()), path: absolute(path) },
        }),
        GlobalSetting::Repository { repo, rev, path } => {
            let other = Repository::discover(repo)?;
            let tree = other.tree(other.resolve(rev)?)?;
            let root = absolute(other.work_dir().unwrap_or(repo)).trim_end_matches('/').to_owned();
            let path = format!("{root}/{path}");
            Some(GlobalConfig { tree: Some(Arc::new(MountedTree::new(root, Arc::new(tree)))), path })
        }
    })
}

/// Returns the path of a file inside the work tree, or `None` if it lies elsewhere.
fn in_work_tree(repository: &Repository, path: &Path) -> Option<String> {
    let top = repository.work_dir()?.canonicalize().ok()?;
    let folder = absolute_path(path).ok()?.parent()?.canonicalize().ok()?;
    let inside = folder.strip_prefix(&top).ok()?.join(path.file_name()?);
    (!inside.starts_with(".git")).then(|| inside.to_string_lossy().into_owned())
}

/// Returns `path` from the root of the disk. `..` removes a name, whether it exists or not, as in Puppet's settings.
pub fn absolute(path: &Path) -> String {
    let mut clean = PathBuf::new();
    for part in absolute_path(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => _ = clean.pop(),
            part => clean.push(part),
        }
    }
    clean.to_string_lossy().into_owned()
}
