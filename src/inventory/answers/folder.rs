//! The folder that keeps answers.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The maximum size, in bytes, of a header or a list.
pub(super) const MAX_HEADER: u64 = 16 << 20;

/// The file that is locked while a list of answers changes.
const LOCK: &str = "lock";

/// Waits for other processes that change one of its lists, and returns the lock.
pub(super) fn lock(folder: &Path) -> io::Result<fs::File> {
    let file = fs::File::options().create(true).append(true).open(folder.join(LOCK))?;
    file.lock()?;
    Ok(file)
}

/// Creates a folder that nobody else may look into.
pub(super) fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.recursive(true).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
