//! Settings: `hierad.yaml` as written (`raw`), and the checked [`Settings`] that everything else uses.
//!
//! Paths are relative to the folder of the file. Every setting has a flag too, so there may be no file at all. Each
//! section of the file has a module that checks it; a fault names the file and the line. Nothing here reads a
//! repository or opens a connection.

mod accept;
mod backend;
mod check;
mod http;
mod raw;
mod repository;
mod secret;
mod sink;
mod snapshots;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::hiera::Reader;
use crate::hiera::backend::Backends;
use crate::hiera::backend::eyaml::{KeyName, KeyNames};
use crate::hiera::options::LookupOptions;
use crate::pipeline::blind_spots::accept::Accepted;
use crate::puppet::Puppet;
use crate::puppet::document::Parsed;
use crate::puppet::regex::Regexes;
use crate::puppet::yaml;
use crate::value::{Hash, Value};

pub use check::CheckSetting;
pub use http::{HttpSetting, listen_address};
pub use repository::{RepositorySetting, RepositorySource};
pub use secret::{Secret, SecretError, read_secret};
pub use sink::{STDOUT, SinkError, SinkSetting};
pub use snapshots::{FolderPattern, SnapshotSetting, SnapshotTarget};

/// The default of `keep_reports`.
const DEFAULT_KEEP_REPORTS: Duration = Duration::from_hours(30 * 24);

/// The checked settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Files, folders and globs with node profiles.
    pub profiles: Vec<PathBuf>,
    /// The environment layer's hiera.yaml, a path in the tree.
    pub hiera_config: String,
    /// The environment of the nodes.
    pub environment: EnvironmentName,
    /// The version of Puppet whose behaviour is followed.
    pub puppet: Puppet,
    /// The global layer's hiera.yaml.
    pub global_hiera_config: GlobalSetting,
    /// Folders of modules, in place of those in environment.conf: relative ones in the repository, absolute ones on
    /// disk.
    pub modulepath: Option<Vec<String>>,
    /// The value of `$basemodulepath`: folders on disk.
    pub basemodulepath: Vec<PathBuf>,
    /// Merge strategies and conversions that override those in data.
    pub lookup_options: Arc<LookupOptions>,
    /// The reader of hiera.yaml: Puppet or Hiera 3.
    pub reader: Reader,
    /// True if Hiera 3 runs on a Ruby that accepts aliases in YAML.
    pub hiera3_yaml_aliases: bool,
    /// Datadirs, absolute or relative to the root of the repository, and their actual folders.
    pub datadirs: Vec<(String, DatadirSetting)>,
    /// Declarations of functions that hierad does not have.
    pub backends: Backends,
    /// Blind spots that are accepted.
    pub accept: Accepted,
    /// The faults that `hierad check` reports.
    pub check: CheckSetting,
    /// The file with the key for fingerprints of secrets; `None` for this installation's own key.
    pub fingerprint_key: Option<PathBuf>,
    /// Patterns of the branches to watch; all if empty.
    pub branches: Vec<String>,
    /// The key pair for all encrypted data, in place of those that hiera.yaml names.
    pub eyaml_keys: Option<KeyNames>,
    /// The folder of the daemon's queue; `None` for a daemon without one.
    pub state: Option<PathBuf>,
    /// The most new commits of a branch that the daemon reports one by one; beyond that, the oldest are reported
    /// together. `None` for its default.
    pub catch_up: Option<NonZeroUsize>,
    /// The time for which the daemon keeps reports that all sinks have.
    pub keep_reports: Duration,
    /// The sinks of the daemon's reports.
    pub sinks: Vec<SinkSetting>,
    /// The snapshots that the daemon writes.
    pub snapshots: Vec<SnapshotSetting>,
    /// The repositories that the daemon watches, in place of the one that it is started for.
    pub repositories: Vec<RepositorySetting>,
    /// The daemon's HTTP server; `None` for none.
    pub http: Option<HttpSetting>,
}

/// The environment of the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentName {
    /// This one, for profiles that name none.
    Named(Arc<str>),
    /// The environment that r10k deploys the branch as, whatever profiles name.
    Branch,
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
    #[error("{path}{line}: {text}", path = path.display(), line = line.map(|l| format!(":{l}")).unwrap_or_default())]
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
            hiera_config: "hiera.yaml".into(),
            environment: EnvironmentName::Named("production".into()),
            puppet: Puppet::default(),
            global_hiera_config: GlobalSetting::None,
            modulepath: None,
            basemodulepath: Vec::new(),
            lookup_options: Arc::default(),
            reader: Reader::Auto,
            hiera3_yaml_aliases: false,
            datadirs: Vec::new(),
            backends: Backends::new(),
            accept: Accepted::default(),
            check: CheckSetting::default(),
            fingerprint_key: None,
            branches: Vec::new(),
            eyaml_keys: None,
            state: None,
            catch_up: None,
            keep_reports: DEFAULT_KEEP_REPORTS,
            sinks: Vec::new(),
            snapshots: Vec::new(),
            repositories: Vec::new(),
            http: None,
        }
    }
}

impl Settings {
    /// Reads and checks the file at `path`.
    pub fn load(path: &Path) -> Result<Settings, SettingsError> {
        let text = read(path)?;
        let lines = Lines::of(&text);
        // A file of comments alone is null to serde and means no settings.
        let raw: Option<raw::Settings> = serde_yaml::from_str(&text).map_err(|error| SettingsError::Invalid {
            path: path.into(),
            line: lines.of_error(&error),
            text: strip_location(&error.to_string()),
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Checker { path, folder, lines }.check(raw.unwrap_or_default())
    }

    /// Checks the settings of one of several `repositories`: the file at `path` must not have settings that belong to
    /// the daemon.
    pub fn check_repository_settings(path: &Path) -> Result<(), SettingsError> {
        let lines = Lines::of(&read(path)?);
        let found = DAEMON_SETTINGS.into_iter().find_map(|key| Some((key, lines.find([key])?)));
        let Some((key, line)) = found else { return Ok(()) };
        let text =
            format!("'{key}' is the daemon's: it belongs in the settings with 'repositories' that name this file");
        Err(SettingsError::Invalid { path: path.into(), line: Some(line), text })
    }
}

/// The settings that belong to the daemon rather than to one of its repositories.
const DAEMON_SETTINGS: [&str; 6] = ["repositories", "state", "sinks", "snapshots", "http", "keep_reports"];

fn read(path: &Path) -> Result<String, SettingsError> {
    std::fs::read_to_string(path).map_err(|source| SettingsError::Read { path: path.into(), source })
}

/// The lines of the settings in the file.
struct Lines(Parsed);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(yaml::parse(text.as_bytes()))
    }

    /// Returns the line of a setting, given by the names that lead to it.
    fn find<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<usize> {
        let (mut value, mut marks) = (&self.0.value, &self.0.marks);
        for name in names {
            marks = marks.children.get(value.as_hash()?.index_of_text(name)?)?;
            value = value.get(name)?;
        }
        usize::try_from(marks.line).ok().filter(|line| *line > 0)
    }

    /// Returns the line that serde's error is about. The error's own line is at times that of the whole setting, so the
    /// names at the start of its text count first.
    fn of_error(&self, error: &serde_yaml::Error) -> Option<usize> {
        let text = error.to_string();
        let names = text.split_once(": ").map_or("", |(names, _)| names).split(['.', '[']);
        let unknown = text.split_once("unknown field `").and_then(|(_, rest)| Some(rest.split_once('`')?.0));
        let outer: Vec<&str> = if text.starts_with("unknown field") { Vec::new() } else { names.collect() };
        unknown
            .and_then(|unknown| self.find(outer.iter().copied().chain([unknown])))
            .or_else(|| self.find(outer.iter().copied()).filter(|_| !outer.is_empty()))
            .or_else(|| error.location().map(|location| location.line()))
    }
}

/// Removes the location at the end of `serde_yaml`'s texts, which the error has already.
fn strip_location(text: &str) -> String {
    text.rsplit_once(" at line ").map_or(text, |(text, _)| text).to_owned()
}

struct Checker<'a> {
    path: &'a Path,
    folder: &'a Path,
    lines: Lines,
}

impl Checker<'_> {
    fn invalid(&self, names: &[&str], text: impl Into<String>) -> SettingsError {
        SettingsError::Invalid {
            path: self.path.into(),
            line: self.lines.find(names.iter().copied()),
            text: text.into(),
        }
    }

    fn check(&self, raw: raw::Settings) -> Result<Settings, SettingsError> {
        let mut backends = Backends::new();
        for (name, backend) in raw.backends {
            backends.insert(name.clone(), backend::check(self, &name, backend)?);
        }
        let datadirs = raw.datadirs.iter().map(|(from, to)| Ok((from.clone(), self.datadir(from, to)?)));
        let datadirs = datadirs.collect::<Result<Vec<_>, SettingsError>>()?;
        let defaults = Settings::default();
        let snapshots = self.snapshots(raw.snapshots, raw.repositories.len() > 1, &raw.sinks)?;
        let repositories = raw.repositories.into_iter().map(|(name, raw)| repository::check(self, name, raw));
        let repositories: Vec<_> = repositories.collect::<Result<_, _>>()?;
        Ok(Settings {
            snapshots,
            profiles: raw.profiles.into_vec().into_iter().map(|path| self.folder.join(path)).collect(),
            hiera_config: self.hiera_config(raw.hiera_config)?.unwrap_or(defaults.hiera_config),
            environment: match raw.environment.as_deref() {
                None => defaults.environment,
                Some("branch") => EnvironmentName::Branch,
                Some(name) => EnvironmentName::Named(name.into()),
            },
            global_hiera_config: self.global(raw.global_hiera_config)?,
            modulepath: Some(raw.modulepath.into_vec()).filter(|folders| !folders.is_empty()),
            basemodulepath: raw.basemodulepath.into_vec().into_iter().map(|path| self.folder.join(path)).collect(),
            lookup_options: if raw.lookup_options.is_some() { self.lookup_options()? } else { Arc::default() },
            puppet: match raw.puppet {
                None | Some(8) => Puppet::V8,
                Some(7) => Puppet::V7,
                Some(other) => return Err(self.invalid(&["puppet"], format!("'puppet' must be 7 or 8, not {other}"))),
            },
            reader: self.reader(raw.hiera.as_ref())?,
            hiera3_yaml_aliases: raw.hiera3_yaml_aliases,
            datadirs,
            backends,
            accept: accept::check(self, raw.accept)?,
            check: check::check(self, raw.check)?,
            fingerprint_key: raw.fingerprint_key.map(|path| self.folder.join(path)),
            branches: raw.branches.into_vec(),
            eyaml_keys: self.eyaml(&raw.eyaml)?,
            state: raw.state.map(|folder| self.folder.join(folder)),
            catch_up: raw.catch_up,
            keep_reports: raw.keep_reports.map_or(Ok(DEFAULT_KEEP_REPORTS), |days| self.days(days))?,
            sinks: raw
                .sinks
                .into_iter()
                .map(|(name, sink)| sink::check(self, &repositories, &name, sink))
                .collect::<Result<_, _>>()?,
            repositories,
            http: raw.http.as_ref().map(|raw| http::check(self, raw)).transpose()?,
        })
    }

    fn reader(&self, hiera: Option<&serde_yaml::Value>) -> Result<Reader, SettingsError> {
        match hiera.map(|hiera| (hiera.as_u64(), hiera.as_str())) {
            None | Some((None, Some("auto"))) => Ok(Reader::Auto),
            Some((None, Some("by-version"))) => Ok(Reader::ByVersion),
            Some((Some(3), None)) => Ok(Reader::Hiera3),
            Some((Some(5), None)) => Ok(Reader::Puppet),
            Some(_) => Err(self.invalid(&["hiera"], "'hiera' must be 3, 5, auto or by-version")),
        }
    }

    /// Checks the snapshots. Their names in the queue are shared with `sinks`, so no two may be the same.
    fn snapshots(
        &self,
        raw: BTreeMap<String, raw::Snapshots>,
        several: bool,
        sinks: &BTreeMap<String, raw::Sink>,
    ) -> Result<Vec<SnapshotSetting>, SettingsError> {
        let is_taken = |name: &String| sinks.contains_key(name) || (sinks.is_empty() && name == STDOUT);
        if let Some(name) = raw.keys().find(|name| is_taken(name)) {
            return Err(
                self.invalid(&["snapshots", name], format!("there is a sink '{name}': snapshots need another name"))
            );
        }
        raw.into_iter().map(|(name, raw)| snapshots::check(self, &name, raw, several)).collect()
    }

    /// Returns the path of a program: one with a folder in its name is relative to the settings, others are found by
    /// the system.
    fn program(&self, program: &str) -> String {
        let beside = std::path::absolute(self.folder.join(program)).ok().filter(|_| program.contains('/'));
        beside.map_or_else(|| program.to_owned(), |path| path.display().to_string())
    }

    fn days(&self, days: f64) -> Result<Duration, SettingsError> {
        let wrong = |_| self.invalid(&["keep_reports"], format!("'keep_reports' must be a number of days, not {days}"));
        Duration::try_from_secs_f64(days * 86_400.0).map_err(wrong)
    }

    fn hiera_config(&self, path: Option<String>) -> Result<Option<String>, SettingsError> {
        match path.as_deref() {
            Some(path) if path.starts_with('/') || path.split('/').any(|name| name == "..") => {
                let text = format!("'hiera_config' must be a path inside the repository, not {path}");
                Err(self.invalid(&["hiera_config"], text))
            }
            _ => Ok(path.map(|path| path.trim_start_matches("./").to_owned())),
        }
    }

    fn global(&self, raw: Option<raw::GlobalConfig>) -> Result<GlobalSetting, SettingsError> {
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

    /// Compiles options in the form of `lookup_options` in data, each on its own first, to find the place of a fault.
    fn lookup_options(&self) -> Result<Arc<LookupOptions>, SettingsError> {
        const NAME: &str = "lookup_options";
        let regexes = Regexes::default();
        let Some(options) = self.lines.0.value.get(NAME).and_then(Value::as_hash) else {
            return Err(self.invalid(&[NAME], format!("'{NAME}' must be a hash of keys, or of patterns with '^'")));
        };
        for (key, value) in options.iter() {
            let one = Hash::from_iter([(key.clone(), value.clone())]);
            LookupOptions::compile(&one, &regexes).and_then(|compiled| compiled.check()).map_err(|error| {
                let key = key.to_s();
                self.invalid(&[NAME, &key], format!("'{key}' in '{NAME}': {}", error.text.visible()))
            })?;
        }
        let compiled = LookupOptions::compile(options, &regexes);
        compiled.map(Arc::new).map_err(|error| self.invalid(&[NAME], error.text.visible()))
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

    fn eyaml(&self, raw: &raw::Eyaml) -> Result<Option<KeyNames>, SettingsError> {
        let file = |name: &str, path: &Option<String>| {
            let Some(path) = path.as_ref().map(|path| self.folder.join(path)) else { return Ok(None) };
            key_file(&path).map(Some).map_err(|text| self.invalid(&["eyaml", name], format!("'{name}': {text}")))
        };
        let private = file("pkcs7_private_key", &raw.pkcs7_private_key)?;
        let public = file("pkcs7_public_key", &raw.pkcs7_public_key)?;
        match (private, public) {
            (None, None) => Ok(None),
            (Some(private), public) => Ok(Some(key_pair(private, public))),
            (None, Some(_)) => Err(self.invalid(&["eyaml"], "'eyaml' needs the 'pkcs7_private_key'")),
        }
    }
}

/// Makes a pair of a private key's file and, if there is one, that of its certificate.
pub fn key_pair(private: KeyName, public: Option<KeyName>) -> KeyNames {
    KeyNames { private, public: public.unwrap_or_default() }
}

/// Returns the key in the file at `path`, which must exist.
pub fn key_file(path: &Path) -> Result<KeyName, String> {
    match std::path::absolute(path) {
        Ok(whole) if whole.is_file() => Ok(KeyName { file: Some(whole.to_string_lossy().into()), variable: None }),
        _ => Err(format!("there is no file {}", path.display())),
    }
}
