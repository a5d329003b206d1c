//! Secrets that the settings name by their files.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// A secret, wiped from memory when it goes.
pub type Secret = Zeroizing<Vec<u8>>;

/// A secret that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing in the file.
    #[error("the file {} is empty", .0.display())]
    Empty(PathBuf),
}

/// The secret in a file; a line end behind it does not belong to it.
pub fn read_secret(path: &Path) -> Result<Secret, SecretError> {
    match std::fs::read(path).map(Zeroizing::new) {
        Ok(content) if content.trim_ascii_end().is_empty() => Err(SecretError::Empty(path.into())),
        Ok(content) => Ok(Zeroizing::new(content.trim_ascii_end().to_vec())),
        Err(source) => Err(SecretError::Read { path: path.into(), source }),
    }
}
