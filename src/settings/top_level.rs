//! Checks the top-level settings that have simple values.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::source::SourceFile;
use super::{SettingsError, raw};
use crate::puppet::{Puppet, Ruby};

/// The environment of the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentName {
    /// This one, for profiles that name none.
    Named(Arc<str>),
    /// The environment that r10k deploys the branch as, whatever profiles name: the text before its name, such as
    /// r10k's `prefix` with an underscore, and the text after it.
    Branch(Arc<str>, Arc<str>),
}

impl EnvironmentName {
    /// Reads the setting: a name, `branch`, or a text with `%{branch}` in the place of the branch's name. Returns
    /// `None` for a text with anything else to interpolate.
    pub fn parse(text: &str) -> Option<EnvironmentName> {
        let parts: Vec<&str> = text.split("%{branch}").collect();
        match parts[..] {
            _ if parts.iter().any(|part| part.contains("%{")) => None,
            ["branch"] => Some(EnvironmentName::Branch("".into(), "".into())),
            [name] => Some(EnvironmentName::Named(name.into())),
            [before, after] => Some(EnvironmentName::Branch(before.into(), after.into())),
            _ => None,
        }
    }

    /// Returns true if the environment is named after the branch.
    pub fn is_of_branch(&self) -> bool {
        matches!(self, EnvironmentName::Branch(..))
    }
}

/// The global layer's hiera.yaml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobalSetting {
    /// There is no global layer.
    None,
    /// A file on disk.
    Disk(PathBuf),
    /// A path in the data repository, at the revision that is read.
    Tree(String),
    /// A path at a revision of another repository.
    Repository {
        /// The repository.
        repo: PathBuf,
        /// The revision.
        rev: String,
        /// The path.
        path: String,
    },
}

impl GlobalSetting {
    /// Parses a flag or a setting of one word: `none`, or a file below `folder`.
    pub fn parse(text: &str, folder: &Path) -> GlobalSetting {
        if text == "none" { GlobalSetting::None } else { GlobalSetting::Disk(folder.join(text)) }
    }
}

/// The actual folder of a datadir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatadirSetting {
    /// A folder of the tree.
    Tree(String),
    /// A folder on disk.
    Disk(PathBuf),
    /// No folder.
    None,
}

impl SourceFile<'_> {
    pub(crate) fn environment(&self, text: &str) -> Result<EnvironmentName, SettingsError> {
        EnvironmentName::parse(text).ok_or_else(|| {
            let text = format!("'environment' must be a name, 'branch', or a text with %{{branch}} once, not {text}");
            self.invalid(&["environment"], text)
        })
    }

    /// Checks the folders that replace datadirs. The longest entry that contains a path wins, so longer ones come
    /// first.
    pub(crate) fn datadirs(
        &self,
        raw: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, DatadirSetting)>, SettingsError> {
        let datadirs = raw.iter().map(|(from, to)| Ok((from.clone(), self.datadir(from, to)?)));
        let mut datadirs = datadirs.collect::<Result<Vec<_>, SettingsError>>()?;
        datadirs.sort_by_key(|(from, _)| Reverse(from.trim_end_matches('/').split('/').count()));
        Ok(datadirs)
    }

    pub(crate) fn puppet(&self, number: u64) -> Result<Puppet, SettingsError> {
        let wrong = || self.invalid(&["puppet"], format!("'puppet' must be 7, 8 or 9 (OpenVox), not {number}"));
        Puppet::of_number(number).ok_or_else(wrong)
    }

    pub(crate) fn ruby(&self, version: &str) -> Result<Ruby, SettingsError> {
        Ruby::of_version(version).ok_or_else(|| {
            let versions = "3.1, 3.3, 3.4, jruby-9.3, jruby or jruby-10";
            self.invalid(&["ruby"], format!("'ruby' must be a version such as {versions}, not {version}"))
        })
    }

    pub(crate) fn days(&self, days: f64) -> Result<Duration, SettingsError> {
        let wrong = |_| self.invalid(&["keep_reports"], format!("'keep_reports' must be a number of days, not {days}"));
        Duration::try_from_secs_f64(days * 86_400.0).map_err(wrong)
    }

    pub(crate) fn global(&self, raw: Option<raw::GlobalConfig>) -> Result<GlobalSetting, SettingsError> {
        let raw::RepositoryFile { repo, rev, path } = match raw {
            None => return Ok(GlobalSetting::None),
            Some(raw::GlobalConfig::File(path)) => return Ok(GlobalSetting::parse(&path, self.folder)),
            Some(raw::GlobalConfig::InRepository(file)) => file,
        };
        let invalid =
            |text: &str| Err(self.invalid(&["global_hiera_config"], format!("'global_hiera_config': {text}")));
        if path.starts_with('/') || path.split('/').any(|name| name == "..") {
            return invalid(&format!("'path' must be a path inside the repository, not {path}"));
        }
        match (repo, rev) {
            (None, None) => Ok(GlobalSetting::Tree(path)),
            (None, Some(_)) => invalid("'rev' needs 'repo': this repository's is the revision that is looked at"),
            (Some(repo), rev) => {
                let rev = rev.unwrap_or_else(|| "HEAD".to_owned());
                Ok(GlobalSetting::Repository { repo: self.folder.join(repo), rev, path })
            }
        }
    }

    fn datadir(&self, from: &str, to: &str) -> Result<DatadirSetting, SettingsError> {
        if from.is_empty() || from == "." {
            let text = "'datadirs' are folders or files, not the whole repository";
            return Err(self.invalid(&["datadirs", from], text));
        }
        if to.split('/').any(|name| name == "..") {
            return Err(self.invalid(&["datadirs", from], format!("'{to}' under 'datadirs' must not contain '..'")));
        }
        Ok(match to {
            "none" => DatadirSetting::None,
            path if Path::new(path).is_absolute() => DatadirSetting::Disk(path.into()),
            path => {
                let names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
                DatadirSetting::Tree(names.collect::<Vec<_>>().join("/"))
            }
        })
    }
}
