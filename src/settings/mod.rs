//! Settings: `hierad.yaml` as written (`raw`), and the checked [`Settings`] that everything else uses.
//!
//! Files are trusted by their [`Origin`]: of those of the tree only some settings count.
//! Paths are relative to the folder of the file. Every setting has a flag too, so there may be no file at all. Each
//! section of the file has a module that checks it; a fault names the file and the line. Nothing here reads a
//! repository or opens a connection.

mod accept;
mod backend;
mod check;
mod confine;
mod daemon;
mod files;
mod keys;
mod limits;
mod origin;
mod policy;
mod profiles;
mod raw;
mod reading;
mod source;
mod top_level;
mod variables;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::blind_spots::accept::Accepted;
use crate::functions::bridge::PuppetBridge;
use crate::hiera::Reader;
use crate::hiera::backend::Backends;
use crate::hiera::backend::eyaml::{KeyChoice, KeyName, KeyNames};
use crate::hiera::derived::DerivedVariable;
use crate::hiera::layer::{HIERA_YAML, VariableText};
use crate::hiera::options::LookupOptions;
use crate::policy::Policies;
use crate::puppet::{Puppet, Ruby};
use crate::visible::visible;

use source::Lines;

pub use check::CheckSetting;
pub use confine::Refusal;
pub use daemon::http::{HttpSetting, listen_address};
pub use daemon::repository::{RepositorySetting, RepositorySource};
pub use daemon::review::ReviewSetting;
pub use daemon::sink::{STDOUT, SinkError, SinkSetting};
pub use daemon::snapshots::{FolderPattern, PushTarget, SnapshotSetting, SnapshotTarget};
pub use files::{Combined, Judgement, MAX_SETTINGS_SIZE, Privilege, SettingsFile, judging};
pub use limits::Limits;
pub use origin::{Origin, TreeFolder};
pub use profiles::*;
pub use reading::Reading;

/// The name of settings files.
pub const SETTINGS_FILE: &str = "hierad.yaml";

/// The default of `keep_reports`.
const DEFAULT_KEEP_REPORTS: Duration = Duration::from_hours(30 * 24);

/// The checked settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Files, folders, globs and other sources of node profiles.
    pub profiles: Vec<ProfileEntry>,
    /// The top of the tree that profiles must not lead out of, if the tree's own settings name them.
    pub profiles_within: Option<PathBuf>,
    /// The environment layer's hiera.yaml, a path in the tree.
    pub hiera_config: String,
    /// The environment of the nodes.
    pub environment: EnvironmentName,
    /// The version of Puppet whose behaviour is followed.
    pub puppet: Puppet,
    /// The Ruby whose behaviour is followed, if it is not the one that belongs to that Puppet.
    pub ruby: Option<Ruby>,
    /// The global layer's hiera.yaml.
    pub global_hiera_config: GlobalSetting,
    /// Folders of modules, in place of those in environment.conf: relative ones in the repository, absolute ones on
    /// disk.
    pub modulepath: Option<Vec<String>>,
    /// The value of `$basemodulepath`: folders on disk.
    pub basemodulepath: Vec<PathBuf>,
    /// The folders with clones of the modules that a Puppetfile takes from git.
    pub module_clones: Vec<PathBuf>,
    /// Merge strategies and conversions that override those in data.
    pub lookup_options: Arc<LookupOptions>,
    /// True if the lookups of manifests say how keys are merged.
    pub reads_manifests: bool,
    /// Variables of the top scope that the data gives, in the order in which they are set.
    pub variables: Arc<[VariableText]>,
    /// Variables of the top scope that are matches in others.
    pub derived: Arc<[DerivedVariable]>,
    /// The reader of hiera.yaml: Puppet or Hiera 3.
    pub reader: Reader,
    /// True if Hiera 3 runs on a Ruby that accepts aliases in YAML.
    pub hiera3_yaml_aliases: bool,
    /// Datadirs, absolute or relative to the root of the repository, and their actual folders.
    pub datadirs: Vec<(String, DatadirSetting)>,
    /// Declarations of functions that hierad does not have.
    pub backends: Backends,
    /// The files of values of some of them.
    pub value_files: Vec<PathBuf>,
    /// The words of the commands of some, with the folder that they run in.
    pub backend_commands: Vec<(PathBuf, String)>,
    /// The backends that the machine's Puppet runs, which must be told their repository.
    pub bridges: Vec<Arc<PuppetBridge>>,
    /// Blind spots that are accepted; `None` for those that the base revision accepts.
    pub accept: Option<Accepted>,
    /// The faults that `hierad check` reports; `None` for those that the base revision asks for.
    pub check: Option<CheckSetting>,
    /// The rules on what a change does, with their waivers; `None` for those of the base revision.
    pub policies: Option<Policies>,
    /// The file with the key for fingerprints of secrets; `None` for this installation's own key.
    pub fingerprint_key: Option<PathBuf>,
    /// Patterns of the branches to watch; all if empty.
    pub branches: Vec<String>,
    /// The keys of encrypted data that may be read.
    pub eyaml: KeyChoice,
    /// The folder of the daemon's queue; `None` for a daemon without one.
    pub state: Option<PathBuf>,
    /// The time for which the daemon keeps reports that all sinks have.
    pub keep_reports: Duration,
    /// The sinks of the daemon's reports.
    pub sinks: Vec<SinkSetting>,
    /// The snapshots that the daemon writes.
    pub snapshots: Vec<SnapshotSetting>,
    /// The repositories that the daemon watches, in place of the one that it is started for.
    pub repositories: Vec<RepositorySetting>,
    /// The reviews that the daemon posts.
    pub reviews: Vec<ReviewSetting>,
    /// The daemon's HTTP server; `None` for none.
    pub http: Option<HttpSetting>,
    /// The most that hierad may use.
    pub limits: Limits,
}

/// The environment of the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentName {
    /// This one, for profiles that name none.
    Named(Arc<str>),
    /// The environment that r10k deploys the branch as, whatever profiles name: the text before its name, such as
    /// r10k's `prefix` with an underscore, and the text behind it.
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

    /// Returns true if it contains the name of a branch.
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
    /// There is none.
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

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            profiles: Vec::new(),
            profiles_within: None,
            hiera_config: HIERA_YAML.into(),
            environment: EnvironmentName::Named("production".into()),
            puppet: Puppet::default(),
            ruby: None,
            global_hiera_config: GlobalSetting::None,
            modulepath: None,
            basemodulepath: Vec::new(),
            module_clones: Vec::new(),
            lookup_options: Arc::default(),
            reads_manifests: true,
            variables: Arc::default(),
            derived: Arc::default(),
            reader: Reader::Auto,
            hiera3_yaml_aliases: false,
            datadirs: Vec::new(),
            backends: Backends::new(),
            value_files: Vec::new(),
            backend_commands: Vec::new(),
            bridges: Vec::new(),
            accept: None,
            check: None,
            policies: None,
            fingerprint_key: None,
            branches: Vec::new(),
            eyaml: KeyChoice::default(),
            state: None,
            keep_reports: DEFAULT_KEEP_REPORTS,
            sinks: Vec::new(),
            snapshots: Vec::new(),
            repositories: Vec::new(),
            reviews: Vec::new(),
            http: None,
            limits: Limits::default(),
        }
    }
}

impl Settings {
    /// Lays these settings over others: those count of which `says` returns true.
    fn over(self, below: Settings, says: impl Fn(&str) -> bool) -> Settings {
        macro_rules! laid_over {
            ($($field:ident: $name:literal,)*) => {
                Settings { $($field: if says($name) { self.$field } else { below.$field },)* }
            };
        }
        laid_over! {
            profiles: "profiles",
            profiles_within: "profiles",
            hiera_config: "hiera_config",
            environment: "environment",
            puppet: "puppet",
            ruby: "ruby",
            global_hiera_config: "global_hiera_config",
            modulepath: "modulepath",
            basemodulepath: "basemodulepath",
            module_clones: "module_clones",
            lookup_options: "lookup_options",
            reads_manifests: "manifests",
            variables: "variables",
            derived: "variables",
            reader: "hiera",
            hiera3_yaml_aliases: "hiera3_yaml_aliases",
            datadirs: "datadirs",
            backends: "backends",
            value_files: "backends",
            backend_commands: "backends",
            bridges: "backends",
            accept: "accept",
            check: "check",
            policies: "policies",
            fingerprint_key: "fingerprint_key",
            branches: "branches",
            eyaml: "eyaml",
            state: "state",
            keep_reports: "keep_reports",
            sinks: "sinks",
            snapshots: "snapshots",
            repositories: "repositories",
            reviews: "reviews",
            http: "http",
            limits: "limits",
        }
    }

    /// Returns the settings without those that belong to the daemon.
    #[must_use]
    pub fn without_daemon(self) -> Settings {
        let Settings { state, keep_reports, sinks, snapshots, repositories, reviews, http, .. } = Settings::default();
        Settings { state, keep_reports, sinks, snapshots, repositories, reviews, http, ..self }
    }

    /// Checks the settings of one of several `repositories`: they must not have any that belong to the daemon.
    pub fn check_repository_settings(file: &SettingsFile) -> Result<(), SettingsError> {
        let lines = Lines::of(&file.text);
        let found = DAEMON_SETTINGS.into_iter().find_map(|key| Some((key, lines.find([key])?)));
        let Some((key, line)) = found else { return Ok(()) };
        let text =
            format!("'{key}' is the daemon's: it belongs in the settings with 'repositories' that name this file");
        Err(SettingsError::Invalid { path: file.path.clone(), line: Some(line), text })
    }
}

/// The settings that belong to the daemon rather than to one of its repositories.
const DAEMON_SETTINGS: [&str; 7] = ["repositories", "reviews", "state", "sinks", "snapshots", "http", "keep_reports"];

/// Makes a pair of a private key's file and, if there is one, that of its certificate.
pub fn key_pair(private: KeyName, public: Option<KeyName>) -> KeyNames {
    KeyNames { private, public: public.unwrap_or_default() }
}

/// Returns the key in the file at `path`, which must exist.
pub fn key_file(path: &Path) -> Result<KeyName, String> {
    match std::path::absolute(path) {
        Ok(whole) if whole.is_file() => {
            Ok(KeyName { file: Some(whole.to_string_lossy().into()), ..KeyName::default() })
        }
        _ => Err(format!("there is no file {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Origin, Settings, SettingsFile, TreeFolder};

    /// Fails unless settings of the tree, and those of the machine, are refused with these words.
    #[track_caller]
    pub(super) fn refuses(settings: &str, expected: &str) {
        for origin in [Origin::Tree(TreeFolder { root: "/".into(), folder: "".into() }), Origin::Trusted] {
            refuses_from(origin, settings, expected);
        }
    }

    /// Fails unless settings that no commit writes are refused with these words.
    #[track_caller]
    pub(super) fn refuses_trusted(settings: &str, expected: &str) {
        refuses_from(Origin::Trusted, settings, expected);
    }

    #[track_caller]
    fn refuses_from(origin: Origin, settings: &str, expected: &str) {
        let file = SettingsFile::new(Path::new("/hierad.yaml"), Ok(settings.into()), origin);
        let fault = file.and_then(|file| Settings::combine(&[file])).unwrap_err().to_string();
        assert!(fault.contains(expected), "{settings}: {fault}");
    }
}
