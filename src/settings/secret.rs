//! Reads secrets from files that the settings name.

use std::fs::{File, Metadata};
use std::io::Read;
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
    /// Others can write the file.
    #[error("others can write the file {path} and choose the secret in it: run `chmod go-w {path}`", path = .0.display())]
    Writable(PathBuf),
    /// The token can be guessed.
    #[error(
        "the token in the file {} has fewer than {SHORTEST_TOKEN} characters, so it can be guessed: `openssl rand -hex 32` makes a good one",
        .0.display()
    )]
    Short(PathBuf),
}

/// The least number of characters of a token.
const SHORTEST_TOKEN: usize = 16;

/// Reads a secret by which others prove themselves, such as a token. It must not be short.
pub fn read_token(path: &Path) -> Result<Secret, SecretError> {
    let token = read_secret(path)?;
    let is_long = String::from_utf8_lossy(&token).chars().count() >= SHORTEST_TOKEN;
    if is_long { Ok(token) } else { Err(SecretError::Short(path.into())) }
}

/// Reads the secret in a file, without white space at its end. Others must not be able to write the file. If they can
/// read it, the log tells: containers mount secrets so.
pub fn read_secret(path: &Path) -> Result<Secret, SecretError> {
    let failed = |source| SecretError::Read { path: path.into(), source };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mode = mode(&metadata);
    if mode & 0o022 != 0 {
        return Err(SecretError::Writable(path.into()));
    }
    // With room for all of it, since what is left behind when it grows is not wiped.
    let mut content =
        Zeroizing::new(Vec::with_capacity(usize::try_from(metadata.len()).map_or(0, |length| length + 1)));
    file.read_to_end(&mut content).map_err(failed)?;
    if content.trim_ascii_end().is_empty() {
        return Err(SecretError::Empty(path.into()));
    }
    if mode & 0o004 != 0 {
        let path = path.display();
        tracing::warn!("everybody on this machine can read the secret in {path}: `chmod o-r {path}` ends that");
    }
    Ok(Zeroizing::new(content.trim_ascii_end().to_vec()))
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions())
}

/// There are no such permissions here.
#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    0
}
