//! `repositories:`, what the daemon watches.

use std::path::PathBuf;
use std::time::Duration;

use super::{Checker, SettingsError, raw};

/// How often a mirror is fetched, if the settings say nothing, in seconds.
const DEFAULT_FETCH_INTERVAL: f64 = 60.0;

/// How long a fetch may take, if the settings say nothing, in seconds.
const DEFAULT_FETCH_TIMEOUT: f64 = 120.0;

/// A repository that the daemon watches.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositorySetting {
    /// The name.
    pub name: String,
    /// Where it is.
    pub place: RepositorySource,
    /// Patterns of its branches to watch; those of its settings if empty.
    pub branches: Vec<String>,
    /// Its own settings; nothing for those that name it.
    pub config: Option<PathBuf>,
}

/// Where a repository is.
#[derive(Debug, Clone, PartialEq)]
pub enum RepositorySource {
    /// Here.
    Path(PathBuf),
    /// Elsewhere: the daemon keeps a mirror of it.
    Url {
        /// In any form that git takes.
        url: String,
        /// How often it is fetched.
        every: Duration,
        /// How long that may take.
        limit: Duration,
    },
}

/// The repository `name`.
pub(super) fn check(
    checker: &Checker<'_>,
    name: String,
    raw: raw::Repository,
) -> Result<RepositorySetting, SettingsError> {
    let invalid = |text: &str| checker.invalid(&["repositories", &name], format!("repository '{name}' {text}"));
    // It names a folder.
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        return Err(invalid("has a name that cannot be that of a folder"));
    }
    let place = match (raw.path, raw.url) {
        (Some(_), None) if raw.fetch.is_some() || raw.fetch_timeout.is_some() => {
            return Err(invalid("has no 'url', so 'fetch' and 'fetch_timeout' mean nothing"));
        }
        (Some(path), None) => RepositorySource::Path(checker.folder.join(path)),
        (None, Some(url)) => {
            let time = |setting: &str, seconds: f64| {
                let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
                let wrong = || invalid(&format!("needs a number of seconds above 0 for '{setting}', not {seconds}"));
                time.ok_or_else(wrong)
            };
            let every = time("fetch", raw.fetch.unwrap_or(DEFAULT_FETCH_INTERVAL))?;
            let limit = time("fetch_timeout", raw.fetch_timeout.unwrap_or(DEFAULT_FETCH_TIMEOUT))?;
            RepositorySource::Url { url, every, limit }
        }
        _ => return Err(invalid("needs one of 'path: DIR' and 'url: URL'")),
    };
    let config = raw.config.map(|path| checker.folder.join(path));
    Ok(RepositorySetting { name, place, branches: raw.branches.into_vec(), config })
}
