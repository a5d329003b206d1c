//! Makes the settings files.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::find::GUESSED;
use super::{Arguments, tell};
use crate::cli::Result;
use crate::disk::FileMode;
use crate::disk::replace;
use crate::git::Repository;
use crate::settings::SETTINGS_FILE;
use crate::setup::Found;

/// The settings files that are to be written.
pub(super) struct Files {
    /// Each file with its path, its content and its permissions.
    files: Vec<(PathBuf, String, FileMode)>,
}

impl Files {
    pub(super) fn of(found: &Found, repository: &Repository, top: &Path) -> Files {
        let own_file = |name: &str| repository.common_dir().join(name);
        let (tree, own) = (top.join(SETTINGS_FILE), own_file(SETTINGS_FILE));
        let mode = |mode: &str| mode.parse::<FileMode>().unwrap_or(FileMode::PRIVATE);
        let of_tree = found.of_tree().map(|text| (tree, text, mode("0644")));
        let of_own = found.of_git_directory(top).map(|text| (own, text, mode("0600")));
        let guessed = found.guessed.as_ref();
        let of_guessed = guessed.map(|guessed| (own_file(GUESSED), guessed.profiles.clone(), mode("0600")));
        Files { files: of_guessed.into_iter().chain(of_tree).chain(of_own).collect() }
    }

    /// Shows the files.
    pub(super) fn show(&self, out: &mut dyn Write) -> std::io::Result<()> {
        self.files.iter().try_for_each(|(path, text, _)| {
            writeln!(out, "\n--- {}\n{}", path.display(), crate::visible::visible_lines(text))
        })
    }

    /// Writes the files. Returns what takes them away again.
    pub(super) fn write(&self, arguments: &Arguments, out: &mut dyn Write) -> Result<Undo> {
        if let Some((path, ..)) =
            self.files.iter().find(|(path, ..)| !arguments.force && path.symlink_metadata().is_ok())
        {
            let path = path.display();
            return Err(
                format!("{path} is there already: --dry-run shows what init would write, --force replaces it").into()
            );
        }
        let before = |(path, _, mode): &(PathBuf, String, FileMode)| (path.clone(), std::fs::read(path).ok(), *mode);
        let undo = Undo(self.files.iter().map(before).collect());
        for (path, text, mode) in &self.files {
            replace(path, text.as_bytes(), *mode)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            tell(out, "written", &path.display().to_string())?;
        }
        Ok(undo)
    }
}

/// The settings files as they were before, with their permissions.
pub(super) struct Undo(Vec<(PathBuf, Option<Vec<u8>>, FileMode)>);

impl Undo {
    /// Puts the files back as they were.
    pub(super) fn undo(&self) -> std::io::Result<()> {
        self.0.iter().try_for_each(|(path, content, mode)| match content {
            Some(content) => replace(path, content, *mode).map(drop),
            None => std::fs::remove_file(path),
        })
    }
}
