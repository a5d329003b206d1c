//! Makes the settings files.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::find::GUESSED_NODES_FILE;
use super::{Arguments, print_row};
use crate::cli::Result;
use crate::disk::FileMode;
use crate::disk::replace;
use crate::git::Repository;
use crate::settings::SETTINGS_FILE;
use crate::setup::Found;

/// The path of a file, its content and its permissions.
pub(super) type File = (PathBuf, String, FileMode);

/// The settings files that are to be written.
pub(super) struct Files {
    files: Vec<File>,
}

/// Returns the permissions of settings that are in the work tree.
fn mode_of_tree() -> FileMode {
    "0644".parse().unwrap_or(FileMode::PRIVATE)
}

impl Files {
    pub(super) fn of(found: &Found, repository: &Repository, top: &Path) -> Files {
        let own_file = |name: &str| repository.common_dir().join(name);
        let (tree, own) = (top.join(SETTINGS_FILE), own_file(SETTINGS_FILE));
        let private = FileMode::PRIVATE;
        let of_tree = found.of_tree().map(|text| (tree, text, mode_of_tree()));
        let of_own = found.of_git_directory(top).map(|text| (own, text, private));
        let guessed = found.guessed.as_ref();
        let of_guessed = guessed.map(|guessed| (own_file(GUESSED_NODES_FILE), guessed.profiles.clone(), private));
        Files { files: of_guessed.into_iter().chain(of_tree).chain(of_own).collect() }
    }

    /// Returns the settings file of the work tree if it is among the files, or an empty one if it does not exist yet.
    pub(super) fn work_tree_settings(&self, top: &Path) -> Option<File> {
        let path = top.join(SETTINGS_FILE);
        let written = self.files.iter().find(|(file, ..)| *file == path).cloned();
        written.or_else(|| path.symlink_metadata().is_err().then(|| (path, String::new(), mode_of_tree())))
    }

    /// Shows the files.
    pub(super) fn show(&self, out: &mut dyn Write) -> std::io::Result<()> {
        self.files.iter().try_for_each(|(path, text, _)| {
            writeln!(out, "\n--- {}\n{}", path.display(), crate::visible::visible_lines(text))
        })
    }

    /// Writes the files. Returns the means to undo that.
    pub(super) fn write(&self, arguments: &Arguments, out: &mut dyn Write) -> Result<Undo> {
        if let Some((path, ..)) =
            self.files.iter().find(|(path, ..)| !arguments.force && path.symlink_metadata().is_ok())
        {
            let path = path.display();
            return Err(format!(
                "{path} is there already, so nothing is written: edit it, such as the line 'profiles', or replace \
                     it with --force; --dry-run shows what would be written"
            )
            .into());
        }
        let undo = Undo(self.files.iter().map(|(path, ..)| Former::of(path)).collect::<Result<_>>()?);
        for (path, text, mode) in &self.files {
            replace(path, text.as_bytes(), *mode)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            print_row(out, "written", &path.display().to_string())?;
        }
        Ok(undo)
    }
}

/// A file as it was before, or its path if there was none.
struct Former {
    path: PathBuf,
    content: Option<(Vec<u8>, FileMode)>,
}

impl Former {
    fn of(path: &Path) -> Result<Former> {
        let read = || Ok::<_, std::io::Error>((std::fs::read(path)?, FileMode::of(&path.metadata()?)));
        let content = match read() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            content => Some(content.map_err(|error| format!("cannot read {}: {error}", path.display()))?),
        };
        Ok(Former { path: path.to_owned(), content })
    }
}

/// The files as they were before they were written.
pub(super) struct Undo(Vec<Former>);

impl Undo {
    /// Restores the former contents and permissions, and removes files that did not exist.
    pub(super) fn undo(&self) -> std::io::Result<()> {
        self.0.iter().try_for_each(|Former { path, content }| match content {
            Some((content, mode)) => replace(path, content, *mode).map(drop),
            None => std::fs::remove_file(path),
        })
    }
}
