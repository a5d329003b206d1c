//! Reads secrets from files that the settings name.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// A secret, which is wiped from memory when it is dropped.
pub type Secret = Zeroizing<Vec<u8>>;

/// A secret that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is empty.
    #[error("the file {} is empty", .0.display())]
    Empty(PathBuf),
}

/// Reads the secret in a file, without white space at its end.
pub fn read_secret(path: &Path) -> Result<Secret, SecretError> {
    match std::fs::read(path).map(Zeroizing::new) {
        Ok(content) if content.trim_ascii_end().is_empty() => Err(SecretError::Empty(path.into())),
        Ok(content) => Ok(Zeroizing::new(content.trim_ascii_end().to_vec())),
        Err(source) => Err(SecretError::Read { path: path.into(), source }),
    }
}
