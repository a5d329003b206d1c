//! Decides how the process shows secrets, and finds the key of their fingerprints.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::app::{Overrides, Result};
use crate::disclosure::{Disclosure, Key, key_file};
use crate::git::is_tracked;

/// Returns how secrets are shown, according to the flags and the settings' key file.
pub(in crate::app) fn disclosure(overrides: &Overrides, key_file: Option<&Path>) -> Result<Disclosure> {
    if overrides.show_secrets {
        return Ok(Disclosure::shown());
    }
    // An empty environment variable counts as unset.
    let given_key = match overrides.fingerprint_key.as_deref().filter(|key| !key.is_empty()) {
        Some(key) => Some(key_from_flag(key)?),
        None => key_file.map(key_file::read).transpose()?,
    };
    if let Some(key) = given_key {
        return Ok(Disclosure::masked(|| key));
    }
    let fresh = Key::random().map_err(|error| format!("the system gives no random numbers: {error}"))?;
    let path = default_file(|name| std::env::var_os(name).map(PathBuf::from));
    Ok(Disclosure::masked(|| installation_key(path, fresh)))
}

/// Returns the key given by a flag or the environment, or read from the file named there. Text that is not the path
/// of an existing file may be a mistyped key, so the error does not show it.
fn key_from_flag(text: &str) -> Result<Key> {
    if let Some(key) = Key::from_hex(text.trim()) {
        return Ok(key);
    }
    if Path::new(text).symlink_metadata().is_err() {
        let wrong = "--fingerprint-key or HIERAD_FINGERPRINT_KEY has neither 64 hexadecimal digits, as `openssl rand -hex 32` \
                     prints, nor the path of a file that is there";
        return Err(wrong.into());
    }
    Ok(key_file::read(Path::new(text))?)
}

/// Returns the key of this installation, creating it if there is none. If it cannot be stored, `fresh` serves for
/// this process.
fn installation_key(path: Option<PathBuf>, fresh: Key) -> Key {
    let Some(path) = path else {
        tracing::warn!("there is no home directory to keep the key in: fingerprints of secrets differ from run to run");
        return fresh;
    };
    let key = check_untracked(&path).and_then(|()| Ok(key_file::read_or_make(&path, &fresh)?));
    key.unwrap_or_else(|error| {
        tracing::warn!("{error}: fingerprints of secrets differ from run to run");
        fresh
    })
}

/// Fails for a key file that a commit may have brought, in any work tree: a service may have its home in one, and
/// nobody has named this file.
fn check_untracked(path: &Path) -> Result<()> {
    let why = match is_tracked(path) {
        Ok(false) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Ok(true) => "git tracks it, or a link to it".to_owned(),
        Err(error) => format!("it may be tracked by git: {error}"),
    };
    let path = path.display();
    Err(format!("the key for fingerprints of secrets is not taken from {path}, since whoever made the commit may know it ({why}); name a file with 'fingerprint_key', --fingerprint-key or HIERAD_FINGERPRINT_KEY").into())
}

/// Returns the path of this installation's key from the process's environment, or `None` without a home directory.
fn default_file(environment: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let data = environment("XDG_DATA_HOME").filter(absolute);
    let data = data.or_else(|| Some(environment("HOME").filter(absolute)?.join(".local/share")));
    Some(data?.join("hierad/fingerprint.key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_among_the_data_of_the_user() {
        let of = |home: Option<&str>, data: Option<&str>| {
            default_file(|name| if name == "HOME" { home } else { data }.map(PathBuf::from))
        };
        assert_eq!(of(Some("/home/a"), None), Some("/home/a/.local/share/hierad/fingerprint.key".into()));
        assert_eq!(of(Some("/home/a"), Some("/data")), Some("/data/hierad/fingerprint.key".into()));
        assert_eq!(of(None, Some("relative")), None);
    }
}
