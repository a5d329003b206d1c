//! Replaces files atomically, and only if their content changes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use super::FileMode;

/// The number of bytes of an old file that are read at a time.
const CHUNK_SIZE: usize = 1 << 14;

/// The beginning of the names of temporary files, and the number of letters and digits that follow.
const PREFIX: &str = ".hierad-";
const RANDOM_LENGTH: usize = 6;

/// Replaces the file atomically, so that no reader sees half of `content`. Returns true if it had to be written.
pub fn replace(path: &Path, content: &[u8], mode: FileMode) -> io::Result<bool> {
    if keep_if_equal(path, content, mode).unwrap_or(false) {
        return Ok(false);
    }
    replace_with(path, mode, |mut file| file.write_all(content))?;
    Ok(true)
}

/// Replaces the file so that, once this returns, it survives a loss of power. After an earlier loss, it has the old
/// or the new content.
pub fn replace_durably(path: &Path, content: &[u8], mode: FileMode) -> io::Result<()> {
    if keep_if_equal(path, content, mode).unwrap_or(false) {
        File::open(path)?.sync_all()?;
    } else {
        replace_with(path, mode, |mut file| {
            file.write_all(content)?;
            file.sync_all()
        })?;
    }
    File::open(folder_of(path))?.sync_all()
}

/// Replaces the file atomically by what `write` writes, which need not fit into memory, and returns its result. If it
/// fails, the file stays as it was.
pub fn replace_with<T, E: From<io::Error>>(
    path: &Path,
    mode: FileMode,
    write: impl FnOnce(&File) -> Result<T, E>,
) -> Result<T, E> {
    // Created with our own function, so that errors do not show the random name.
    let file = tempfile::Builder::new()
        .prefix(PREFIX)
        .rand_bytes(RANDOM_LENGTH)
        .make_in(folder_of(path), FileMode::create_new)?;
    mode.give(file.as_file())?;
    let result = write(file.as_file())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(result)
}

/// The age at which a temporary file counts as abandoned.
const ABANDONED_AGE: Duration = Duration::from_hours(1);

/// Removes the temporary files that killed processes have left in a folder. Returns their number.
pub fn tidy(folder: &Path) -> io::Result<usize> {
    let mut removed = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_temporary_name(&entry.file_name()) && is_abandoned(&entry) {
            removed += usize::from(remove(&entry.path())?);
        }
    }
    Ok(removed)
}

fn is_temporary_name(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    random
        .is_some_and(|random| random.len() == RANDOM_LENGTH && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Returns true if the file is old enough. A file that was moved to its place meanwhile no longer exists.
fn is_abandoned(entry: &fs::DirEntry) -> bool {
    let Ok(metadata) = entry.metadata() else { return false };
    let is_old = metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed >= ABANDONED_AGE));
    metadata.is_file() && is_old
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Returns true if the file at `path` is not a link and contains exactly `content`; then gives it `mode`. A file of a
/// different size is not read.
fn keep_if_equal(path: &Path, content: &[u8], mode: FileMode) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() || metadata.len() != content.len() as u64 {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let mut chunk = [0; CHUNK_SIZE];
    let mut rest = content;
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        let Some(after) = rest.strip_prefix(&chunk[..read]) else { return Ok(false) };
        rest = after;
    }
    if rest.is_empty() && !mode.is_of(&metadata) {
        mode.give(&file)?;
    }
    Ok(rest.is_empty())
}

/// Removes a file. Returns true if it was there.
pub fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        fs::read_dir(folder).unwrap().map(name).collect()
    }

    #[test]
    fn a_file_is_written_only_where_its_content_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let long = "x".repeat(3 * CHUNK_SIZE + 1);
        let last = long.clone() + "y";
        for (content, written) in [
            ("", true),
            ("", false),
            ("one", true),
            ("two", true),
            ("two", false),
            (&long, true),
            (&long, false),
            (&last, true),
            (&last.replace("xy", "yx"), true),
        ] {
            assert_eq!(replace(&path, content.as_bytes(), FileMode::PRIVATE).unwrap(), written);
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_is_to_last_is_written_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for content in ["one", "one", "two"] {
            replace_durably(&path, content.as_bytes(), FileMode::PRIVATE).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_cannot_be_written_whole_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = |content: &[u8], fault: Option<ErrorKind>| {
            replace_with(&path, FileMode::PRIVATE, |mut file| {
                file.write_all(content)?;
                fault.map_or(Ok(()), |kind| Err(io::Error::from(kind)))
            })
        };
        write(b"one", None).unwrap();
        assert_eq!(write(b"half", Some(ErrorKind::StorageFull)).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_is_that_asked_for() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        // With the same content, too.
        for mode in ["0600", "0644", "0640", "0600"] {
            replace(&path, b"", mode.parse().unwrap()).unwrap();
            let permissions = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(permissions & 0o7777, u32::from_str_radix(mode, 8).unwrap());
        }
    }

    #[test]
    fn a_failure_leaves_nothing_behind_and_tells_no_odd_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        assert!(replace(&folder.path().join("a"), b"x", FileMode::PRIVATE).is_err());
        assert_eq!(names(folder.path()), ["a"]);
        let error = replace(&folder.path().join("none/a"), b"x", FileMode::PRIVATE).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains(".hierad-"), "{error}");
    }
}
