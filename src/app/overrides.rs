//! The flags that all commands share, in typed form. They override the settings.

use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Result;
use crate::app::settings::{Settings, key_file, key_pair};
use crate::disk;
use crate::git::{self, Environment, OpenError, Repository};
use crate::hiera::Reader;
use crate::hiera::backend::eyaml::KeyChoice;
use crate::hiera::layer::roots::Folders;
use crate::puppet::Puppet;
use crate::settings::{GlobalSetting, ProfileEntry};
use crate::workers::{Progress, Workers};

/// The choices of one run, which override the settings. The default overrides nothing.
#[derive(Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Overrides {
    /// The data repository, or a folder inside it.
    pub repo: Option<PathBuf>,
    /// True if trusted settings name the repository, which may then lie in the work tree of another one.
    pub repo_is_trusted: bool,
    /// The settings file.
    pub config: Option<PathBuf>,
    /// The node profiles: files, folders or globs.
    pub profiles: Vec<PathBuf>,
    /// The environment's hiera.yaml, inside the repository.
    pub hiera_config: Option<String>,
    /// The global layer's hiera.yaml on disk, or `none`.
    pub global_hiera_config: Option<String>,
    /// The folders of modules, separated by `:`.
    pub modulepath: Option<String>,
    /// The folders that `$basemodulepath` stands for, separated by `:`.
    pub basemodulepath: Option<String>,
    /// The version of Puppet to behave as.
    pub puppet: Option<Puppet>,
    /// The version of Hiera to behave as.
    pub reader: Option<Reader>,
    /// The number of threads.
    pub threads: Option<NonZeroUsize>,
    /// True to neither read nor write the cache on disk.
    pub no_cache: bool,
    /// The size of parsed data to keep, in MiB.
    pub cache_size: Option<u64>,
    /// The private key for all encrypted data.
    pub pkcs7_private_key: Option<PathBuf>,
    /// The certificate of that key.
    pub pkcs7_public_key: Option<PathBuf>,
    /// True to read no key, so that everything encrypted stays encrypted.
    pub no_keys: bool,
    /// True to show secrets.
    pub show_secrets: bool,
    /// The key of fingerprints: a file, or hexadecimal digits.
    pub fingerprint_key: Option<String>,
    /// The folder with the repository's objects in quarantine.
    pub quarantine: Option<PathBuf>,
    /// True to ignore settings of the user and of the system.
    pub is_isolated: bool,
    /// The listener for the progress of the work.
    pub progress: Option<Arc<dyn Progress>>,
}

impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overrides").field("repo", &self.repo).field("config", &self.config).finish_non_exhaustive()
    }
}

impl Overrides {
    /// Returns the named settings file, or `None` if none is named. An empty path counts as none.
    pub(super) fn config(&self) -> Option<&Path> {
        self.config.as_deref().filter(|path| !path.as_os_str().is_empty())
    }

    /// Returns the flags for another process. The key of fingerprints is not among them: others can see arguments.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let words = self.given_flags().into_iter().flat_map(|(flag, value)| [Some(flag.into()), value]);
        words.flatten().collect()
    }

    /// Returns the flags that are given, each with its value if it has one. The key of fingerprints is not among them.
    pub fn given_flags(&self) -> Vec<(&'static str, Option<OsString>)> {
        let Overrides { repo, config, profiles, hiera_config, global_hiera_config, modulepath, .. } = self;
        let Overrides { basemodulepath, puppet, reader, threads, no_cache, cache_size, .. } = self;
        let Overrides { pkcs7_private_key, pkcs7_public_key, no_keys, show_secrets, repo_is_trusted, .. } = self;
        let path = |path: &Option<PathBuf>| path.as_ref().map(OsString::from);
        let text = |text: &Option<String>| text.as_ref().map(OsString::from);
        let valued = [
            ("--repo", path(repo)),
            ("--config", path(config)),
            ("--pkcs7-private-key", path(pkcs7_private_key)),
            ("--pkcs7-public-key", path(pkcs7_public_key)),
            ("--hiera-config", text(hiera_config)),
            ("--global-hiera-config", text(global_hiera_config)),
            ("--modulepath", text(modulepath)),
            ("--basemodulepath", text(basemodulepath)),
            ("--puppet", puppet.map(|version| version.number().to_string().into())),
            ("--hiera", reader.map(|reader| version_of_hiera(reader).into())),
            ("--threads", threads.map(|threads| threads.to_string().into())),
            ("--cache-size", cache_size.map(|size| size.to_string().into())),
        ];
        let profiles = profiles.iter().map(|path| ("--profiles", Some(path.into())));
        let switches = [
            ("--repo-is-trusted", repo_is_trusted),
            ("--no-cache", no_cache),
            ("--no-keys", no_keys),
            ("--show-secrets", show_secrets),
        ];
        let switches = switches.into_iter().filter(|(_, is_set)| **is_set).map(|(flag, _)| (flag, None));
        valued.into_iter().filter(|(_, value)| value.is_some()).chain(profiles).chain(switches).collect()
    }

    /// Opens the repository. From then on, links in its work trees, or in its checkouts elsewhere, lead no named path
    /// out of them. Fails as [`Repository::locate`] does.
    pub fn repository(&self) -> std::result::Result<Repository, OpenError> {
        let repository = match &self.repo {
            Some(folder) if self.repo_is_trusted => Repository::discover_with(folder, self.quarantine.as_deref()),
            repo => {
                let environment = Environment { quarantine: self.quarantine.clone(), ..Environment::of_process() };
                Repository::locate(repo.as_deref(), &environment)
            }
        }?;
        repository.folders_of_commits().for_each(|top| disk::look_at(&top));
        disk::look_at_checkouts(repository.git_dir(), git::any_checkout);
        Ok(repository)
    }

    /// Returns the threads to work with.
    pub(super) fn workers(&self) -> Workers {
        let workers = self.threads.map_or_else(Workers::default, |threads| Workers::of(threads.get()));
        match &self.progress {
            Some(progress) => Workers { progress: progress.clone(), ..workers },
            None => workers,
        }
    }

    /// Overrides the settings with the choices.
    pub(super) fn apply_to(&self, settings: &mut Settings) -> Result<()> {
        if !self.profiles.is_empty() {
            settings.profiles = self.profiles.iter().map(ProfileEntry::files).collect();
            settings.profiles_within = None;
        }
        if let Some(path) = &self.hiera_config {
            settings.hiera_config = hiera_config(path)?;
        }
        if let Some(path) = &self.global_hiera_config {
            settings.global_hiera_config = GlobalSetting::parse(path, Path::new(""));
        }
        if let Some(text) = &self.modulepath {
            settings.modulepath = Some(folders(text).map(str::to_owned).collect());
        }
        if let Some(text) = &self.basemodulepath {
            settings.basemodulepath = folders(text).map(PathBuf::from).collect();
        }
        if let Some(private) = &self.pkcs7_private_key {
            let public = self.pkcs7_public_key.as_deref().map(key_file).transpose()?;
            settings.eyaml = KeyChoice::Pair(key_pair(key_file(private)?, public));
        }
        if self.no_keys {
            settings.eyaml = KeyChoice::NoKeys;
        }
        if let Some(puppet) = self.puppet {
            settings.puppet = puppet;
        }
        if let Some(reader) = self.reader {
            settings.reader = reader;
        }
        Ok(())
    }
}

/// Returns the value of `--hiera`.
fn version_of_hiera(reader: Reader) -> &'static str {
    match reader {
        Reader::Hiera3 => "3",
        Reader::Puppet => "5",
        Reader::Auto => "auto",
        Reader::ByVersion => "by-version",
    }
}

/// Splits a list of folders, separated by `:`.
fn folders(text: &str) -> impl Iterator<Item = &str> {
    text.split(':').filter(|folder| !folder.is_empty())
}

/// Checks that the flag's path is inside the repository, and returns it without a leading `./`.
fn hiera_config(path: &str) -> Result<String> {
    if path.starts_with('/') || path.split('/').any(|name| name == "..") {
        return Err(format!(
            "--hiera-config must be a path inside the repository, relative to its root, not \
                            {path}"
        )
        .into());
    }
    if let Some(fault) = Folders::fault(path) {
        return Err(format!("--hiera-config: {fault}").into());
    }
    Ok(path.trim_start_matches("./").to_owned())
}
