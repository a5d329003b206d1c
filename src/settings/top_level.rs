//! Checks the settings at the top level, and passes each section to its module.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::daemon::{http, repository, review, sink, snapshots};
use super::keys;
use super::source::SourceFile;
use super::{
    DEFAULT_KEEP_REPORTS, DatadirSetting, EnvironmentName, GlobalSetting, STDOUT, Settings, SettingsError,
    SnapshotSetting, accept, backend, check, key_file, key_pair, limits, policy, profiles, raw, variables,
};
use crate::hiera::Reader;
use crate::hiera::backend::Backends;
use crate::hiera::backend::eyaml::{AllowedKeys, KeyChoice};
use crate::hiera::layer::roots::Folders;
use crate::hiera::options::LookupOptions;
use crate::puppet::regex::Regexes;
use crate::puppet::{Puppet, Ruby};
use crate::value::{Hash, Value};

impl SourceFile<'_> {
    /// Checks all settings of the file.
    pub(super) fn check(&self, raw: keys::Settings) -> Result<Settings, SettingsError> {
        let (mut backends, mut bridges) = (Backends::new(), Vec::new());
        let of_values = raw.backends.values().filter_map(|backend| backend.values.as_ref());
        let value_files = of_values.map(|path| self.folder.join(path)).collect();
        let words = raw.backends.values().flat_map(|backend| backend.command.iter().flatten());
        let backend_commands = words.map(|word| (self.folder.to_owned(), word.clone())).collect();
        for (name, backend) in raw.backends {
            backends.insert(name.clone(), backend::check(self, &name, backend, &mut bridges)?);
        }
        let defaults = Settings::default();
        let (variables, derived) = if raw.variables.is_some() { variables::check(self)? } else { Default::default() };
        let snapshots = self.snapshots(raw.snapshots, raw.repositories.len() > 1, &raw.sinks)?;
        let repositories = raw.repositories.into_iter().map(|(name, raw)| repository::check(self, name, raw));
        let repositories: Vec<_> = repositories.collect::<Result<_, _>>()?;
        let sinks = raw.sinks.into_iter().map(|(name, sink)| sink::check(self, &repositories, &name, sink));
        Ok(Settings {
            snapshots,
            profiles: profiles::check(self, raw.profiles)?,
            profiles_within: None,
            hiera_config: self.hiera_config(raw.hiera_config)?.unwrap_or(defaults.hiera_config),
            environment: raw.environment.map_or(Ok(defaults.environment), |text| self.environment(&text))?,
            global_hiera_config: self.global(raw.global_hiera_config)?,
            modulepath: Some(raw.modulepath.into_vec()).filter(|folders| !folders.is_empty()),
            basemodulepath: raw.basemodulepath.into_vec().into_iter().map(|path| self.folder.join(path)).collect(),
            module_clones: raw.module_clones.into_vec().into_iter().map(|path| self.folder.join(path)).collect(),
            lookup_options: if raw.lookup_options.is_some() { self.lookup_options()? } else { Arc::default() },
            reads_manifests: raw.manifests.unwrap_or(true),
            variables,
            derived,
            puppet: raw.puppet.map_or(Ok(Puppet::default()), |number| self.puppet(number))?,
            ruby: raw.ruby.as_deref().map(|ruby| self.ruby(ruby)).transpose()?,
            reader: self.reader(raw.hiera.as_ref())?,
            hiera3_yaml_aliases: raw.hiera3_yaml_aliases,
            datadirs: self.datadirs(&raw.datadirs)?,
            backends,
            value_files,
            backend_commands,
            bridges,
            accept: Some(accept::check(self, raw.accept)?).filter(|_| self.lines.says("accept")),
            check: Some(check::check(self, raw.check)?).filter(|_| self.lines.says("check")),
            policies: Some(policy::check(self, &raw.policies, &raw.waivers)?).filter(|_| self.lines.says("policies")),
            fingerprint_key: raw.fingerprint_key.map(|path| self.folder.join(path)),
            branches: raw.branches.into_vec(),
            eyaml: self.eyaml(raw.eyaml)?,
            state: raw.state.map(|folder| self.folder.join(folder)),
            keep_reports: raw.keep_reports.map_or(Ok(DEFAULT_KEEP_REPORTS), |days| self.days(days))?,
            sinks: sinks.collect::<Result<_, _>>()?,
            reviews: review::check(self, &repositories, raw.reviews)?,
            repositories,
            http: raw.http.as_ref().map(|raw| http::check(self, raw)).transpose()?,
            limits: limits::check(self, &raw.limits.unwrap_or_default())?,
        })
    }

    fn environment(&self, text: &str) -> Result<EnvironmentName, SettingsError> {
        EnvironmentName::parse(text).ok_or_else(|| {
            let text = format!("'environment' must be a name, 'branch', or a text with %{{branch}} once, not {text}");
            self.invalid(&["environment"], text)
        })
    }

    /// Checks the folders in place of datadirs. The longest entry that contains a path counts, so it comes first.
    fn datadirs(&self, raw: &BTreeMap<String, String>) -> Result<Vec<(String, DatadirSetting)>, SettingsError> {
        let datadirs = raw.iter().map(|(from, to)| Ok((from.clone(), self.datadir(from, to)?)));
        let mut datadirs = datadirs.collect::<Result<Vec<_>, SettingsError>>()?;
        datadirs.sort_by_key(|(from, _)| Reverse(from.trim_end_matches('/').split('/').count()));
        Ok(datadirs)
    }

    fn puppet(&self, number: u64) -> Result<Puppet, SettingsError> {
        let wrong = || self.invalid(&["puppet"], format!("'puppet' must be 7, 8 or 9 (OpenVox), not {number}"));
        Puppet::of_number(number).ok_or_else(wrong)
    }

    fn ruby(&self, version: &str) -> Result<Ruby, SettingsError> {
        Ruby::of_version(version).ok_or_else(|| {
            let versions = "3.1, 3.3, 3.4, jruby-9.3, jruby or jruby-10";
            self.invalid(&["ruby"], format!("'ruby' must be a version such as {versions}, not {version}"))
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
            Some(path) if let Some(fault) = Folders::fault(path) => {
                Err(self.invalid(&["hiera_config"], format!("'hiera_config': {fault}")))
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

    fn eyaml(&self, raw: raw::Eyaml) -> Result<KeyChoice, SettingsError> {
        let raw = match raw {
            raw::Eyaml::Keys(keys) => keys,
            raw::Eyaml::Word(word) if word == "none" => return Ok(KeyChoice::NoKeys),
            raw::Eyaml::Word(word) => {
                return Err(self.invalid(&["eyaml"], format!("'eyaml' must be none or a hash of keys, not '{word}'")));
            }
        };
        let allowed = raw.allowed_keys.into_vec();
        let file = |name: &str, path: &Option<String>| {
            let Some(path) = path.as_ref().map(|path| self.folder.join(path)) else { return Ok(None) };
            key_file(&path).map(Some).map_err(|text| self.invalid(&["eyaml", name], format!("'{name}': {text}")))
        };
        let private = file("pkcs7_private_key", &raw.pkcs7_private_key)?;
        let public = file("pkcs7_public_key", &raw.pkcs7_public_key)?;
        match (private, public) {
            (Some(_), _) if !allowed.is_empty() => {
                let text = "'allowed_keys' says which keys hiera.yaml may name, 'pkcs7_private_key' goes before all of them: one is enough";
                Err(self.invalid(&["eyaml", "allowed_keys"], text))
            }
            (None, None) => {
                let parsed = AllowedKeys::parse(allowed.iter().map(String::as_str)).map(KeyChoice::Named);
                parsed.map_err(|text| self.invalid(&["eyaml", "allowed_keys"], format!("'allowed_keys': {text}")))
            }
            (Some(private), public) => Ok(KeyChoice::Pair(key_pair(private, public))),
            (None, Some(_)) => Err(self.invalid(&["eyaml"], "'eyaml' needs the 'pkcs7_private_key'")),
        }
    }
}
