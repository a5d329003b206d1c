//! Checks `repositories:`, the repositories that the daemon watches.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::source::SourceFile;
use super::{SettingsError, raw};

/// The default interval between fetches of a mirror, in seconds.
const DEFAULT_FETCH_INTERVAL: f64 = 60.0;

/// The default time limit of a fetch, in seconds.
const DEFAULT_FETCH_TIMEOUT: f64 = 120.0;

/// A repository that the daemon watches.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositorySetting {
    /// The name.
    pub name: String,
    /// Its location.
    pub place: RepositorySource,
    /// Patterns of its branches to watch; if empty, those of its own settings apply.
    pub branches: Vec<String>,
    /// The file with its own settings; `None` to use the settings that name it.
    pub config: Option<PathBuf>,
}

/// The location of a repository.
#[derive(Debug, Clone, PartialEq)]
pub enum RepositorySource {
    /// A folder on this machine.
    Path(PathBuf),
    /// A remote repository, of which the daemon keeps a mirror.
    Url {
        /// The address, in any form that git takes.
        url: String,
        /// The interval between fetches.
        every: Duration,
        /// The time limit of a fetch.
        limit: Duration,
    },
}

/// Checks all repositories.
pub(crate) fn check_all(
    source: &SourceFile<'_>,
    raw: BTreeMap<String, raw::Repository>,
) -> Result<Vec<RepositorySetting>, SettingsError> {
    raw.into_iter().map(|(name, raw)| check(source, name, raw)).collect()
}

fn check(source: &SourceFile<'_>, name: String, raw: raw::Repository) -> Result<RepositorySetting, SettingsError> {
    let invalid = |text: &str| source.invalid(&["repositories", &name], format!("repository '{name}' {text}"));
    // The name is used for a folder, too.
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        return Err(invalid("has a name that cannot be used for a folder"));
    }
    let place = match (raw.path, raw.url) {
        (Some(_), None) if raw.fetch.is_some() || raw.fetch_timeout.is_some() => {
            return Err(invalid("has no 'url', so 'fetch' and 'fetch_timeout' have no effect"));
        }
        (Some(path), None) => RepositorySource::Path(source.folder.join(path)),
        (None, Some(url)) => {
            let time = |setting, value| seconds(setting, value).map_err(|text| invalid(&format!("needs {text}")));
            let every = time("fetch", raw.fetch.unwrap_or(DEFAULT_FETCH_INTERVAL))?;
            let limit = time("fetch_timeout", raw.fetch_timeout.unwrap_or(DEFAULT_FETCH_TIMEOUT))?;
            RepositorySource::Url { url, every, limit }
        }
        _ => return Err(invalid("needs one of 'path: DIR' and 'url: URL'")),
    };
    let config = raw.config.map(|path| source.folder.join(path));
    Ok(RepositorySetting { name, place, branches: raw.branches.into_vec(), config })
}

/// Returns a time above zero, or what `setting` must be instead.
pub(crate) fn seconds(setting: &str, value: f64) -> Result<Duration, String> {
    let time = Duration::try_from_secs_f64(value).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("a number of seconds above 0 for '{setting}', not {value}"))
}
