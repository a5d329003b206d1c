//! The origin of a settings file, which decides what it may set.

use std::path::{Component, Path, PathBuf};

/// The origin of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A place that commits cannot write, or a file that is unchanged since `hierad trust`: all settings apply.
    Trusted,
    /// The checked-out files or a commit: only what concerns the tree and the report applies.
    Tree(TreeFolder),
}

impl Origin {
    /// Returns the top of the tree, or `None` for a trusted file.
    pub(crate) fn root(&self) -> Option<&Path> {
        match self {
            Origin::Trusted => None,
            Origin::Tree(place) => Some(&place.root),
        }
    }
}

/// The folder of a settings file of the tree, to which its paths are relative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFolder {
    /// The top of the checked-out files, with all links resolved.
    pub root: PathBuf,
    /// The folder below it; empty if it is the top.
    pub folder: PathBuf,
}

impl TreeFolder {
    /// Returns `path` from the top of the tree, or `None` if it leads out of the tree or into the git directory.
    /// Links are not followed.
    pub fn inside(&self, path: &Path) -> Option<PathBuf> {
        let path = self.root.join(&self.folder).join(path);
        let mut inside = PathBuf::new();
        for part in path.strip_prefix(&self.root).ok()?.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => inside.pop().then_some(())?,
                Component::Normal(name) if name.eq_ignore_ascii_case(".git") => return None,
                Component::Normal(name) => inside.push(name),
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(inside)
    }

    /// Returns true if `path` stays in the tree.
    pub(super) fn has(&self, path: &str) -> bool {
        self.inside(Path::new(path)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_tree() {
        let place = TreeFolder { root: "/tree".into(), folder: "a/b".into() };
        let inside = |path: &str| place.inside(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(inside("x/./y").as_deref(), Some("a/b/x/y"));
        assert_eq!(inside("../../x").as_deref(), Some("x"));
        assert_eq!(inside("/tree/x").as_deref(), Some("x"));
        for out in ["../../../x", "/etc", "/tree/../etc", "/tree2", "x/.git/config", "../../.GIT", "/"] {
            assert_eq!(inside(out), None, "{out}");
        }
    }
}
