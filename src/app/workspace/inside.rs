//! Paths that lead into the work tree, however they are spelled: files there are read from the revision in question.

use std::path::{Component, Path, PathBuf, absolute as absolute_path};

use crate::app::settings::Settings;
use crate::git::Repository;
use crate::settings::{DatadirSetting, TreeFolder};

/// Has datadirs and module folders inside the work tree read from each revision, though settings name them by absolute
/// paths. Files that git does not track, such as installed modules, are read from disk.
pub(super) fn read_from_revisions(repository: &Repository, settings: &mut Settings) {
    let tracked = |path: &Path| in_work_tree(repository, path).filter(|inside| repository.tracks(inside));
    for (_, to) in &mut settings.datadirs {
        if let DatadirSetting::Disk(path) = to
            && let Some(inside) = tracked(path)
        {
            *to = DatadirSetting::Tree(inside);
        }
    }
    let absolute_folders =
        settings.modulepath.iter().flatten().filter(|folder| folder.starts_with('/')).map(PathBuf::from);
    let modules: Vec<PathBuf> = settings.basemodulepath.iter().cloned().chain(absolute_folders).collect();
    for folder in modules {
        let inside = tracked(&folder).map(DatadirSetting::Tree);
        settings.datadirs.extend(inside.map(|inside| (absolute(&folder), inside)));
    }
}

/// Returns the path of a file or folder inside the work tree, or `None` if it is elsewhere, or if links lead out.
pub(super) fn in_work_tree(repository: &Repository, path: &Path) -> Option<String> {
    let top = repository.work_dir()?.canonicalize().ok()?;
    let inside = path_below(&top, path)?;
    let is_out = top
        .join(&inside)
        .canonicalize()
        .is_ok_and(|real| !real.starts_with(&top) || real.starts_with(top.join(".git")));
    (!is_out && !Path::new(&inside).starts_with(".git")).then_some(inside)
}

/// Returns `path` relative to the folder `top`, even if it leads there through links; those below it are not followed.
pub(super) fn path_below(top: &Path, path: &Path) -> Option<String> {
    let whole = absolute_path(path).ok()?;
    let place = TreeFolder { root: top.to_owned(), folder: PathBuf::new() };
    let above: Vec<&Path> = whole.ancestors().collect();
    let spelled = above.into_iter().rev().filter(|folder| folder.canonicalize().is_ok_and(|real| real == top));
    let mut inside = spelled.filter_map(|folder| place.inside(whole.strip_prefix(folder).ok()?));
    Some(inside.next()?.to_str()?.to_owned())
}

/// Makes `path` absolute. `..` removes a name, whether it exists or not, as in Puppet's settings.
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
