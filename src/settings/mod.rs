//! `hierad.yaml`: the raw form as written, and the checked form that everything else takes.
//!
//! Paths are relative to the folder of the file. Everything has a flag too, so there may be no file at all.

mod raw;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hiera::Puppet;
use crate::hiera::backend::{Backends, Declared};
use crate::value::{Hash, yaml};

/// The checked settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Files, folders and globs with node profiles.
    pub profiles: Vec<PathBuf>,
    /// The environment layer's hiera.yaml, inside the tree.
    pub hiera_config: String,
    /// Which environment nodes are in.
    pub environment: EnvironmentName,
    /// The version whose behaviour counts.
    pub puppet: Puppet,
    /// Absolute datadirs, and where they are.
    pub datadirs: Vec<(String, DatadirSetting)>,
    /// Functions that hierad does not have.
    pub backends: Backends,
    /// Patterns of the branches to watch; all if empty.
    pub branches: Vec<String>,
}

/// Which environment nodes are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentName {
    /// This one, for profiles that name none.
    Named(Arc<str>),
    /// The one that r10k deploys the branch as, whatever profiles name.
    Branch,
}

/// Where an absolute datadir is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatadirSetting {
    /// A folder of the tree.
    Tree(String),
    /// A folder on disk.
    Disk(PathBuf),
    /// Nowhere.
    None,
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not as it should be.
    #[error("{path}{line}: {text}", path = path.display(), line = line.map(|l| format!(":{l}")).unwrap_or_default())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, where it is known.
        line: Option<usize>,
        /// What is wrong.
        text: String,
    },
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            profiles: Vec::new(),
            hiera_config: "hiera.yaml".into(),
            environment: EnvironmentName::Named("production".into()),
            puppet: Puppet::default(),
            datadirs: Vec::new(),
            backends: Backends::new(),
            branches: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads and checks the file at `path`.
    pub fn load(path: &Path) -> Result<Settings, SettingsError> {
        let text = std::fs::read_to_string(path).map_err(|source| SettingsError::Read { path: path.into(), source })?;
        let raw: raw::Settings = if text.trim().is_empty() {
            raw::Settings::default()
        } else {
            serde_yaml::from_str(&text).map_err(|error| SettingsError::Invalid {
                path: path.into(),
                line: error.location().map(|location| location.line()),
                text: strip_location(&error.to_string()),
            })?
        };
        Checker { path, folder: path.parent().unwrap_or(Path::new("")) }.check(raw)
    }
}

/// `serde_yaml`'s texts end in the location, which the error already has.
fn strip_location(text: &str) -> String {
    text.rsplit_once(" at line ").map_or(text, |(text, _)| text).to_owned()
}

struct Checker<'a> {
    path: &'a Path,
    folder: &'a Path,
}

impl Checker<'_> {
    fn invalid(&self, text: impl Into<String>) -> SettingsError {
        SettingsError::Invalid { path: self.path.into(), line: None, text: text.into() }
    }

    fn check(&self, raw: raw::Settings) -> Result<Settings, SettingsError> {
        if raw.global_hiera_config.as_deref().is_some_and(|path| path != "none") {
            return Err(
                self.invalid("'global_hiera_config': the global layer is not supported; 'none' is the only value")
            );
        }
        let mut backends = Backends::new();
        for (name, backend) in raw.backends {
            backends.insert(name.clone(), self.backend(&name, backend)?);
        }
        let defaults = Settings::default();
        Ok(Settings {
            profiles: raw.profiles.into_vec().into_iter().map(|path| self.folder.join(path)).collect(),
            hiera_config: self.hiera_config(raw.hiera_config)?.unwrap_or(defaults.hiera_config),
            environment: match raw.environment.as_deref() {
                None => defaults.environment,
                Some("branch") => EnvironmentName::Branch,
                Some(name) => EnvironmentName::Named(name.into()),
            },
            puppet: match raw.puppet {
                None | Some(8) => Puppet::V8,
                Some(7) => Puppet::V7,
                Some(other) => return Err(self.invalid(format!("'puppet' must be 7 or 8, not {other}"))),
            },
            datadirs: raw.datadirs.into_iter().map(|(from, to)| (from, self.datadir(&to))).collect(),
            backends,
            branches: raw.branches.into_vec(),
        })
    }

    fn hiera_config(&self, path: Option<String>) -> Result<Option<String>, SettingsError> {
        match path.as_deref() {
            Some(path) if path.starts_with('/') || path.split('/').any(|name| name == "..") => {
                Err(self.invalid(format!("'hiera_config' must be a path inside the repository, not {path}")))
            }
            _ => Ok(path.map(|path| path.trim_start_matches("./").to_owned())),
        }
    }

    fn datadir(&self, to: &str) -> DatadirSetting {
        match to {
            "none" => DatadirSetting::None,
            "." => DatadirSetting::Tree(String::new()),
            path if Path::new(path).is_absolute() => DatadirSetting::Disk(path.into()),
            path => DatadirSetting::Tree(path.trim_matches('/').to_owned()),
        }
    }

    fn backend(&self, name: &str, raw: raw::Backend) -> Result<Declared, SettingsError> {
        match raw {
            raw::Backend { not_found: Some(true), values: None, command: None } => Ok(Declared::NotFound),
            raw::Backend { not_found: None | Some(false), values: Some(path), command: None } => {
                Ok(Declared::Values(Arc::new(read_values(&self.folder.join(path))?)))
            }
            raw::Backend { command: Some(_), .. } => {
                Err(self.invalid(format!("backend '{name}': 'command' is not supported")))
            }
            _ => Err(self.invalid(format!("backend '{name}' needs one of 'not_found: true' or 'values: FILE'"))),
        }
    }
}

/// A file of values by key.
fn read_values(path: &Path) -> Result<Hash, SettingsError> {
    let content = std::fs::read(path).map_err(|source| SettingsError::Read { path: path.into(), source })?;
    let parsed = yaml::parse(&content);
    let invalid = |line: Option<u32>, text: &str| SettingsError::Invalid {
        path: path.into(),
        line: line.map(|line| line as usize),
        text: text.to_owned(),
    };
    match (parsed.fault, parsed.value.as_hash()) {
        (Some(fault), _) => Err(invalid(Some(fault.line), &fault.text)),
        (None, Some(hash)) => Ok(hash.clone()),
        (None, None) => Err(invalid(None, "a file of values must be a hash of keys and values")),
    }
}
