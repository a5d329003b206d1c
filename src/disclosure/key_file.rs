//! The file with the key of an installation, readable by its owner only.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::Key;
use crate::disk::{FileMode, SecretError, is_of_work_tree, read_secret};

/// A key file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be read, or is refused.
    #[error("the key for fingerprints of secrets: {0}")]
    Secret(#[from] SecretError),
    /// It is where commits can put files.
    #[error(
        "the key for fingerprints of secrets would be {path} in the work tree, where a commit may put one that its author knows: name a file elsewhere with 'fingerprint_key', --fingerprint-key or HIERAD_FINGERPRINT_KEY"
    )]
    OfWorkTree {
        /// The file.
        path: PathBuf,
    },
    /// It does not hold a key.
    #[error(
        "{path} does not hold a key for fingerprints of secrets: 64 hexadecimal digits, as `openssl rand -hex 32` prints"
    )]
    Invalid {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be created.
    #[error("cannot keep the key for fingerprints of secrets in {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Reads the key in the file at `path`.
pub fn read(path: &Path) -> Result<Key, KeyError> {
    let failed = |source| SecretError::Read { path: path.into(), source };
    if is_of_work_tree(path).map_err(failed)? {
        return Err(KeyError::OfWorkTree { path: path.into() });
    }
    let text = read_secret(path)?;
    let key = std::str::from_utf8(&text).ok().and_then(|text| Key::from_hex(text.trim()));
    key.ok_or_else(|| KeyError::Invalid { path: path.into() })
}

/// Reads the key in the file at `path`, or makes the file with the key `fresh` if there is none. Several processes that
/// do so at the same time get the same key.
pub fn read_or_make(path: &Path, fresh: &Key) -> Result<Key, KeyError> {
    match read(path) {
        Err(KeyError::Secret(SecretError::Read { source, .. })) if source.kind() == ErrorKind::NotFound => {}
        known => return known,
    }
    match make(path, fresh) {
        Ok(()) => read(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read(path),
        Err(source) => Err(KeyError::Write { path: path.into(), source }),
    }
}

/// Makes the file atomically, unless another process has made it meanwhile.
fn make(path: &Path, key: &Key) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    FileMode::PRIVATE.create_folder(folder)?;
    // Temporary files are private to their owner, and stay so under their new name.
    let mut file = tempfile::Builder::new().prefix(".fingerprint-").tempfile_in(folder)?;
    file.write_all(key.to_hex().as_bytes())?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map(|_| ()).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disclosure::Domain;

    fn fresh() -> Key {
        Key::random().unwrap()
    }

    #[test]
    fn the_first_key_stays() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/b/key");
        let keys: Vec<[u8; 16]> = std::thread::scope(|scope| {
            let make = || scope.spawn(|| read_or_make(&path, &fresh()).unwrap().fingerprint(Domain::Name, b""));
            let threads: Vec<_> = (0..16).map(|_| make()).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let kept = read(&path).unwrap().fingerprint(Domain::Name, b"");
        assert_eq!(keys, vec![kept; 16]);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_key_is_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("key");
        fs::write(&path, "hello").unwrap();
        assert!(matches!(read_or_make(&path, &fresh()), Err(KeyError::Invalid { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"hello");
        assert!(matches!(
            read_or_make(&path.join("below"), &fresh()),
            Err(KeyError::Secret(SecretError::Read { .. }) | KeyError::Write { .. })
        ));
    }
}
