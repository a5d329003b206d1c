//! The folder of a repository's hooks, and the installation and removal of hierad's hooks there.
//!
//! An existing hook is renamed, and hierad's hook runs it. It gets its own name back when hierad's hook is removed.
//! If the file system has hard links, a hook is in place at every moment.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::script::{Hook, asks_for_its_name, is_marked};
use crate::cli::Result;
use crate::disk::{self, FileMode, replace_durably};

/// The maximum size of a hook that is read, in bytes.
const MAX_SIZE: u64 = 64 << 20;

/// The state of a hook's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// There is no hook.
    Absent,
    /// hierad's script, which falls back on a program.
    Installed { program: String, is_executable: bool },
    /// hierad's script, but changed by hand.
    Changed,
    /// Another hook.
    Foreign { asks_for_its_name: bool },
}

/// A hook in a folder.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) hook: Hook,
    pub(super) state: State,
    /// True if there is a previous hook that was put aside.
    pub(super) has_previous: bool,
    path: PathBuf,
    previous: PathBuf,
}

impl Slot {
    /// Examines a hook's file.
    pub(super) fn examine(folder: &Path, hook: Hook) -> Result<Slot> {
        let (path, previous) = (folder.join(hook.name()), folder.join(hook.previous_name()));
        let state = state(&path, hook).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(Slot { hook, state, has_previous: fs::symlink_metadata(&previous).is_ok(), path, previous })
    }

    /// Returns the reason why the hook cannot be installed, or only with `--force`; `None` if it can.
    pub(super) fn install_refusal(&self, is_forced: bool) -> Option<String> {
        let (name, path, previous) = (self.hook.name(), self.path.display(), self.previous.display());
        match &self.state {
            State::Changed if !is_forced => Some(self.changed_by_hand()),
            State::Foreign { .. } if self.has_previous && !is_same_file(&self.path, &self.previous) => {
                Some(format!("{path} is another hook, and cannot be put aside: there is {previous} already"))
            }
            State::Foreign { asks_for_its_name: true } if !is_forced => Some(format!(
                "{path} looks at its own name, and would be called {} beside hierad's: put a line `hierad hooks run {name} \
                 \"$@\"` into it instead, or confirm with --force",
                self.hook.previous_name()
            )),
            _ => None,
        }
    }

    /// Returns the reason why hierad's hook can be removed only with `--force`, or `None` if it needs no force.
    pub(super) fn removal_refusal(&self, is_forced: bool) -> Option<String> {
        (self.state == State::Changed && !is_forced).then(|| self.changed_by_hand())
    }

    fn changed_by_hand(&self) -> String {
        format!("{} was changed by hand, which would be lost; confirm with --force", self.path.display())
    }

    /// Installs hierad's hook. Another hook in its place is renamed.
    pub(super) fn install(&self, program: &str) -> Result<()> {
        let wanted = State::Installed { program: program.to_owned(), is_executable: true };
        if self.state == wanted {
            return Ok(());
        }
        let set_aside = matches!(self.state, State::Foreign { .. }) && !self.has_previous;
        let written = if set_aside { put_aside(&self.path, &self.previous) } else { Ok(()) };
        let written = written.and_then(|()| write(&self.path, &self.hook.script(program)));
        written.map_err(|error| format!("cannot install {}: {error}", self.path.display()).into())
    }

    /// Removes hierad's hook, and restores the previous one.
    pub(super) fn remove(&self) -> Result<()> {
        let removed = match self.state {
            State::Foreign { .. } => Ok(()),
            _ if self.has_previous => fs::rename(&self.previous, &self.path),
            State::Absent => Ok(()),
            _ => fs::remove_file(&self.path),
        };
        removed.map_err(|error| format!("cannot remove {}: {error}", self.path.display()).into())
    }
}

fn state(path: &Path, hook: Hook) -> io::Result<State> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Absent),
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        found => _ = found?,
    }
    let (content, metadata) = match (disk::read_regular(path, MAX_SIZE), fs::metadata(path)) {
        (Ok(content), Ok(metadata)) => (content, metadata),
        // A dangling link is somebody's hook, too.
        (Err(error), _) | (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(State::Foreign { asks_for_its_name: false });
        }
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    let text = String::from_utf8_lossy(&content);
    Ok(match hook.program_in(&text) {
        Some(program) => State::Installed { program, is_executable: is_executable(&metadata) },
        None if is_marked(&text) => State::Changed,
        None => State::Foreign { asks_for_its_name: asks_for_its_name(&text) },
    })
}

/// Gives the file at `path` a second name. The first name is freed when the script replaces it, or at once if the
/// file system has no hard links.
fn put_aside(path: &Path, previous: &Path) -> io::Result<()> {
    fs::hard_link(path, previous).or_else(|_| fs::rename(path, previous))
}

/// Replaces the file by a script atomically.
fn write(path: &Path, script: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    replace_durably(path, script.as_bytes(), FileMode::PROGRAM)
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    true
}

/// Returns true if two names belong to one file. An interrupted installation leaves a hook with both names.
#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path| fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    id(one).is_some() && id(one) == id(other)
}

#[cfg(not(unix))]
fn is_same_file(_: &Path, _: &Path) -> bool {
    false
}
