//! Checks the settings that say how data is looked up: the reader, hiera.yaml, `lookup_options` and `eyaml`.

use std::path::Path;
use std::sync::Arc;

use crate::hiera::Reader;
use crate::hiera::backend::eyaml::{AllowedKeys, KeyChoice, KeyName, KeyNames};
use crate::hiera::layer::roots::Folders;
use crate::hiera::options::LookupOptions;
use crate::puppet::regex::Regexes;
use crate::settings::source::SourceFile;
use crate::settings::{SettingsError, raw};
use crate::value::{Hash, Value};

impl SourceFile<'_> {
    pub(super) fn reader(&self, number: Option<u64>, word: Option<&str>) -> Result<Reader, SettingsError> {
        match (number, word) {
            (None, Some("auto")) => Ok(Reader::Auto),
            (None, Some("by-version")) => Ok(Reader::ByVersion),
            (Some(3), None) => Ok(Reader::Hiera3),
            (Some(5), None) => Ok(Reader::Puppet),
            _ => Err(self.invalid(&["hiera"], "'hiera' must be 3, 5, auto or by-version")),
        }
    }

    pub(super) fn hiera_config(&self, path: Option<String>) -> Result<Option<String>, SettingsError> {
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

    /// Compiles options in the form of `lookup_options` in data, each separately first, to find the place of a fault.
    pub(super) fn lookup_options(&self) -> Result<Arc<LookupOptions>, SettingsError> {
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

    pub(super) fn eyaml(&self, raw: raw::Eyaml) -> Result<KeyChoice, SettingsError> {
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

/// Makes a pair of a private key and, if there is one, its certificate.
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
