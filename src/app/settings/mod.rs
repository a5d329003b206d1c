//! The checked [`Settings`] that everything else uses, with a row for each setting of `hierad.yaml`.
//!
//! [`crate::settings`] reads the file, finds the places of its settings, and decides which of them apply. Each
//! section has a module here that checks it and builds what it asks for: sinks, policies, backends, schedules.

mod accept;
mod backend;
mod check;
mod combine;
mod hiera;
mod http;
mod policy;
mod profiles;
mod review;
mod sink;
mod snapshots;
mod variables;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::blind_spots::accept::Accepted;
use crate::hiera::Reader;
use crate::hiera::backend::eyaml::KeyChoice;
use crate::hiera::layer::HIERA_YAML;
use crate::hiera::options::LookupOptions;
use crate::policy::Policies;
use crate::puppet::{Puppet, Ruby};
use crate::settings::source::SourceFile;
use crate::settings::{
    DatadirSetting, EnvironmentName, GlobalSetting, Limits, ProfileEntry, RepositorySetting, SettingsError, keys,
    limits, repository,
};

pub use backend::Declared;
pub use check::CheckSetting;
pub use combine::{Combined, Judgement};
pub use hiera::{key_file, key_pair};
pub use http::{HttpSetting, listen_address};
pub use review::ReviewSetting;
pub use sink::{STDOUT, SinkError, SinkFault, SinkSetting};
pub use snapshots::{FolderPattern, PushTarget, SnapshotSetting, SnapshotTarget};
pub use variables::TopScope;

/// The default of `keep_reports`.
const DEFAULT_KEEP_REPORTS: Duration = Duration::from_hours(30 * 24);

/// Declares the checked settings, a row for each, in the order in which they are checked. A row has the name, the
/// type, the default, the setting in the file that it comes from (`of`), and the check, which returns the value, or
/// `None` for the default. The first file that mentions a setting decides it.
macro_rules! settings {
    (|$source:ident, $raw:ident| $(
        $(#[$attribute:meta])* $name:ident: $form:ty = $default:expr, of $key:ident => $check:expr;
    )*) => {
        /// The checked settings.
        #[derive(Debug, Clone)]
        pub struct Settings {
            $($(#[$attribute])* pub $name: $form,)*
        }

        impl Default for Settings {
            fn default() -> Settings {
                Settings { $($name: $default,)* }
            }
        }

        impl Settings {
            /// Checks those settings of a file that apply.
            fn check($source: &SourceFile<'_>, $raw: keys::Settings) -> Result<Settings, SettingsError> {
                $(let $name = Option::<$form>::from($check).unwrap_or_else(|| $default);)*
                Ok(Settings { $($name,)* })
            }

            /// Takes the settings for which `says` returns true from `self`, and the others from `below`.
            fn over(self, below: Settings, says: impl Fn(&str) -> bool) -> Settings {
                Settings { $($name: if says(stringify!($key)) { self.$name } else { below.$name },)* }
            }
        }
    };
}

settings! {
    |source, raw|
    /// Declarations of functions that hierad does not have.
    backends: Declared = Declared::default(), of backends => backend::check_all(source, raw.backends)?;
    /// Variables of the top scope, from data or from other variables.
    variables: TopScope = TopScope::default(),
        of variables => raw.variables.map(|_| variables::check(source)).transpose()?;
    /// The snapshots that the daemon writes.
    snapshots: Vec<SnapshotSetting> = Vec::new(),
        of snapshots => snapshots::check_all(source, raw.snapshots, raw.repositories.len() > 1, &raw.sinks)?;
    /// The repositories that the daemon watches, in place of the one that it is started for.
    repositories: Vec<RepositorySetting> = Vec::new(),
        of repositories => repository::check_all(source, raw.repositories)?;
    /// Files, folders, globs and other sources of node profiles.
    profiles: Vec<ProfileEntry> = Vec::new(), of profiles => profiles::check(source, raw.profiles)?;
    /// The top of the tree that profiles must not lead out of, if the tree's own settings name them.
    profiles_within: Option<PathBuf> = None, of profiles => source.origin.root().map(Path::to_owned);
    /// The environment layer's hiera.yaml, a path in the tree.
    hiera_config: String = HIERA_YAML.into(), of hiera_config => source.hiera_config(raw.hiera_config)?;
    /// The environment of the nodes.
    environment: EnvironmentName = EnvironmentName::Named("production".into()),
        of environment => raw.environment.map(|text| source.environment(&text)).transpose()?;
    /// The global layer's hiera.yaml.
    global_hiera_config: GlobalSetting = GlobalSetting::None,
        of global_hiera_config => source.global(raw.global_hiera_config)?;
    /// Folders of modules, in place of those in environment.conf: relative ones in the repository, absolute ones on
    /// disk.
    modulepath: Option<Vec<String>> = None,
        of modulepath => Some(raw.modulepath.into_vec()).filter(|folders| !folders.is_empty());
    /// The value of `$basemodulepath`: folders on disk.
    basemodulepath: Vec<PathBuf> = Vec::new(), of basemodulepath => source.paths(raw.basemodulepath);
    /// The folders with clones of the modules that a Puppetfile takes from git.
    module_clones: Vec<PathBuf> = Vec::new(), of module_clones => source.paths(raw.module_clones);
    /// Merge strategies and conversions that override those in data.
    lookup_options: Arc<LookupOptions> = Arc::default(),
        of lookup_options => raw.lookup_options.map(|_| source.lookup_options()).transpose()?;
    /// True if lookups in manifests decide how keys are merged.
    reads_manifests: bool = true, of manifests => raw.manifests;
    /// The version of Puppet whose behaviour is followed.
    puppet: Puppet = Puppet::default(), of puppet => raw.puppet.map(|number| source.puppet(number)).transpose()?;
    /// The Ruby whose behaviour is followed, if it is not the one that belongs to that Puppet.
    ruby: Option<Ruby> = None, of ruby => raw.ruby.as_deref().map(|ruby| source.ruby(ruby)).transpose()?;
    /// The reader of hiera.yaml: Puppet or Hiera 3.
    reader: Reader = Reader::Auto,
        of hiera => raw.hiera.map(|hiera| source.reader(hiera.as_u64(), hiera.as_str())).transpose()?;
    /// True if Hiera 3 runs on a Ruby that accepts aliases in YAML.
    hiera3_yaml_aliases: bool = false, of hiera3_yaml_aliases => raw.hiera3_yaml_aliases;
    /// Datadirs, absolute or relative to the root of the repository, and their actual folders.
    datadirs: Vec<(String, DatadirSetting)> = Vec::new(), of datadirs => source.datadirs(&raw.datadirs)?;
    /// Blind spots that are accepted; `None` for those that the base revision accepts.
    accept: Option<Accepted> = None,
        of accept => Some(accept::check(source, raw.accept)?).filter(|_| source.judges("accept"));
    /// The faults that `hierad check` reports; `None` for those that the base revision asks for.
    check: Option<CheckSetting> = None,
        of check => Some(check::check(source, &raw.check)?).filter(|_| source.judges("check"));
    /// The rules on what a change does, with their waivers; `None` for those of the base revision.
    policies: Option<Policies> = None,
        of policies => Some(policy::check(source, &raw.policies, &raw.waivers)?).filter(|_| source.judges("policies"));
    /// The file with the key for fingerprints of secrets; `None` for this installation's own key.
    fingerprint_key: Option<PathBuf> = None, of fingerprint_key => source.path(raw.fingerprint_key);
    /// Patterns of the branches to watch; all if empty.
    branches: Vec<String> = Vec::new(), of branches => raw.branches.into_vec();
    /// The keys of encrypted data that may be read.
    eyaml: KeyChoice = KeyChoice::default(), of eyaml => source.eyaml(raw.eyaml)?;
    /// The folder of the daemon's queue; `None` for a daemon without one.
    state: Option<PathBuf> = None, of state => source.path(raw.state);
    /// The time for which the daemon keeps reports that all sinks have.
    keep_reports: Duration = DEFAULT_KEEP_REPORTS,
        of keep_reports => raw.keep_reports.map(|days| source.days(days)).transpose()?;
    /// The sinks of the daemon's reports.
    sinks: Vec<SinkSetting> = Vec::new(), of sinks => sink::check_all(source, &repositories, raw.sinks)?;
    /// The reviews that the daemon posts.
    reviews: Vec<ReviewSetting> = Vec::new(), of reviews => review::check(source, &repositories, raw.reviews)?;
    /// The daemon's HTTP server; `None` for none.
    http: Option<HttpSetting> = None, of http => raw.http.as_ref().map(|raw| http::check(source, raw)).transpose()?;
    /// The limits on what hierad may use.
    limits: Limits = Limits::default(), of limits => limits::check(source, &raw.limits.unwrap_or_default())?;
}

impl Settings {
    /// Returns the settings without those that belong to the daemon.
    #[must_use]
    pub fn without_daemon(self) -> Settings {
        Settings::default().over(self, |name| keys::DAEMON_SETTINGS.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Settings;
    use crate::settings::{Origin, SettingsFile, TreeFolder};

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
