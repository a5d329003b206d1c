//! `-- PATH...`: the files of the repository that a report is narrowed to.

use std::path::Path;
use std::sync::Arc;

use crate::app::Workspace;
use crate::cli::{Global, Result};
use crate::fleet::Revision;
use crate::pattern::Pattern;
use crate::pipeline::Pipeline;
use crate::pipeline::judge::Sides;
use crate::tree::FileTree;

/// Returns patterns of paths in the repository for paths as the user writes them: relative to the current folder,
/// like git's.
pub(in crate::cli) fn patterns(global: &Global, workspace: &Workspace, paths: &[String]) -> Result<Vec<Pattern>> {
    paths.iter().map(|path| Ok(inside(global, workspace, path)?.parse()?)).collect()
}

/// Returns the path in the repository for a path as the user writes it; `*` stands for the whole repository.
fn inside(global: &Global, workspace: &Workspace, path: &str) -> Result<String> {
    if path.starts_with("re:") {
        return Ok(path.to_owned());
    }
    let here = match &global.repo {
        Some(folder) => folder.canonicalize(),
        None => std::env::current_dir().and_then(|folder| folder.canonicalize()),
    };
    let top = workspace.repository.work_dir().and_then(|top| top.canonicalize().ok());
    let below = here.ok().zip(top.clone()).and_then(|(here, top)| Some(here.strip_prefix(top).ok()?.to_owned()));
    let (relative, mut parts) = match top.and_then(|top| Path::new(path).strip_prefix(top).ok()).map(Path::to_owned) {
        Some(rest) => (rest, Vec::new()),
        None => (path.into(), names(&below.unwrap_or_default())),
    };
    for name in names(&relative) {
        match name.as_str() {
            "." => {}
            ".." if parts.is_empty() => return Err(format!("{path} is outside of the repository").into()),
            ".." => _ = parts.pop(),
            _ => parts.push(name),
        }
    }
    Ok(if parts.is_empty() { "*".to_owned() } else { parts.join("/") })
}

fn names(path: &Path) -> Vec<String> {
    path.to_string_lossy().split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Fails if a path is in neither of two revisions. Globs may match nothing.
pub(in crate::cli) fn check_existence(paths: &[Pattern], pipeline: &Pipeline, sides: &Sides) -> Result<()> {
    let revisions = [pipeline.cached_revision(sides.before)?, pipeline.cached_revision(sides.after)?];
    let is_literal = |path: &&Pattern| !path.as_str().starts_with("re:") && !path.as_str().contains(['*', '?']);
    for path in paths.iter().filter(is_literal) {
        let is_in = |revision: &Arc<Revision>| matches!(revision.environment.tree.entry(path.as_str()), Ok(Some(_)));
        if !revisions.iter().any(is_in) {
            return Err(format!("{} is in neither revision", path.as_str()).into());
        }
    }
    Ok(())
}

/// Returns advice for arguments that should name revisions if one of them names a file or folder.
pub(in crate::cli) fn advice(global: &Global, workspace: &Workspace, arguments: [Option<&str>; 2]) -> Option<String> {
    let arguments: Vec<&str> = arguments.into_iter().flatten().collect();
    let is_file = |text: &&&str| {
        workspace.point(text).is_err() && inside(global, workspace, text).is_ok_and(|path| is_known(workspace, &path))
    };
    let file = arguments.iter().find(is_file)?;
    let others: Vec<&str> = arguments.iter().filter(|text| text != &file).copied().collect();
    let command = [&["hierad", "diff"], &*others, &["--", file]].concat().join(" ");
    Some(format!(
        "'{file}' is a file or folder, and diff takes revisions: `{command}` shows only what changes because of it"
    ))
}

/// Returns true if the work tree, the last commit or the one before has something at a path.
fn is_known(workspace: &Workspace, path: &str) -> bool {
    let repository = &workspace.repository;
    if repository.work_dir().is_some_and(|top| top.join(path).symlink_metadata().is_ok()) {
        return true;
    }
    let has = |commit| repository.tree(commit).is_ok_and(|tree| matches!(tree.entry(path), Ok(Some(_))));
    ["HEAD", "HEAD~"].into_iter().flat_map(|revision| repository.resolve(revision)).any(has)
}
