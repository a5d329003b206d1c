//! Tests of permissions: for folders to write and programs to run.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::named::check_output;

/// Tests if files can be created in a named folder, or the folder itself if it does not exist. Changes nothing.
pub fn can_write(folder: &Path) -> io::Result<()> {
    check_output(folder)?;
    let folder = std::path::absolute(folder)?;
    let existing = folder.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(&folder);
    if !existing.is_dir() {
        return Err(io::Error::new(ErrorKind::NotADirectory, format!("{} is not a folder", existing.display())));
    }
    system::may_write(existing).map_err(|error| match error.kind() {
        ErrorKind::ReadOnlyFilesystem => {
            let existing = existing.canonicalize().unwrap_or_else(|_| existing.to_owned());
            let words =
                format!("read-only file system; in a unit of systemd, add ReadWritePaths={}", existing.display());
            io::Error::new(error.kind(), words)
        }
        _ => error,
    })
}

/// Tests if a program can be run, found as the system does: by its path or, without a `/`, in the folders of
/// `PATH`.
pub fn can_run(program: &str) -> io::Result<()> {
    if program.contains('/') {
        return system::may_run(Path::new(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&folders).any(|folder| system::may_run(&folder.join(program)).is_ok());
    if is_there { Ok(()) } else { Err(io::Error::new(ErrorKind::NotFound, "there is no such program in PATH")) }
}

#[cfg(unix)]
mod system {
    use std::io::{self, ErrorKind};
    use std::path::Path;

    use rustix::fs::{Access, access};

    pub(super) fn may_write(folder: &Path) -> io::Result<()> {
        Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
    }

    pub(super) fn may_run(program: &Path) -> io::Result<()> {
        access(program, Access::EXEC_OK)?;
        if program.is_file() { Ok(()) } else { Err(io::Error::new(ErrorKind::IsADirectory, "it is not a file")) }
    }
}

/// Permissions cannot be tested here; an attempt will tell.
#[cfg(not(unix))]
mod system {
    use std::io;
    use std::path::Path;

    pub(super) fn may_write(_: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn may_run(_: &Path) -> io::Result<()> {
        Ok(())
    }
}
