//! Settings: `hierad.yaml` as written (`raw`), with the places of its settings, and the part that applies.
//!
//! Trust depends on a file's [`Origin`]: only some settings of files in the tree apply, by the rule in each setting's
//! row (`keys`). Paths are relative to the folder of the file. Every setting has a flag too, so there may be no file.
//! Checks that need only the file and types of the core are made here; the others, at the same time, in
//! [`crate::app::settings`], which knows what settings are for and turns them into sinks, policies and backends.
//! Errors name the file and the line. No code here reads a repository or opens a connection.

mod confine;
mod files;
pub(crate) mod keys;
pub(crate) mod limits;
mod origin;
mod profiles;
pub(crate) mod raw;
mod reading;
pub(crate) mod repository;
pub(crate) mod source;
mod top_level;

use std::path::PathBuf;

use crate::visible::visible;

pub use confine::Refusal;
pub use files::{MAX_SETTINGS_SIZE, SettingsFile, Written, is_judging, judging, not_judging};
pub use limits::Limits;
pub use origin::{Origin, TreeFolder};
pub use profiles::*;
pub use reading::Reading;
pub use repository::{RepositorySetting, RepositorySource};
pub use top_level::{DatadirSetting, EnvironmentName, GlobalSetting};

/// The name of settings files.
pub const SETTINGS_FILE: &str = "hierad.yaml";

/// Returns the names of all settings.
pub fn names() -> impl Iterator<Item = &'static str> {
    keys::Settings::RULES.iter().map(|(name, _)| *name)
}

/// Returns true if a setting belongs to the daemon rather than to one of its repositories.
pub fn is_of_daemon(setting: &str) -> bool {
    keys::DAEMON_SETTINGS.contains(&setting)
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file is invalid.
    #[error("{path}{line}: {text}", path = path.display(), text = visible(text), line = line.map(|l| format!(":{l}")).unwrap_or_default())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, if it is known.
        line: Option<usize>,
        /// The fault.
        text: String,
    },
}
