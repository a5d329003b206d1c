//! The files of `yaml_data`, `json_data` and `hocon_data`, and of Hiera 3's backends.
//!
//! Source: `functions/yaml_data.rb`, `functions/json_data.rb`, `functions/hocon_data.rb`; `hiera/filecache.rb` of
//! Hiera 3.

use std::sync::{Arc, OnceLock};

use super::mentions::Mentions;
use crate::hiera::LookupError;
use crate::puppet::document::{Fault, FaultKind, Marks, Parsed};
use crate::puppet::server::Notes;
use crate::puppet::types::data::short_name;
use crate::puppet::{Psych, Puppet, Ruby};
use crate::puppet::{hocon, json, ruby, yaml};
use crate::value::{Hash, Value};

/// The format of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// `yaml_data`
    Yaml,
    /// `yaml_data` on Ruby 3.4 and later.
    Yaml34,
    /// `json_data`
    Json,
    /// YAML as Hiera 3 reads it: symbols stay symbols, aliases are refused, a byte order mark is not content.
    Hiera3Yaml,
    /// The same, accepting aliases as a Ruby before 3.1 does.
    Hiera3YamlAliases,
    /// JSON as Hiera 3 reads it: a byte order mark is not content.
    Hiera3Json,
    /// `hocon_data`
    Hocon,
}

impl Format {
    /// Returns the format that the extension of `path` suggests.
    pub fn of_path(path: &str) -> Format {
        let is_any = |extensions: &[&str]| extensions.iter().any(|extension| path.ends_with(extension));
        if is_any(&[".json"]) {
            Format::Json
        } else if is_any(&[".conf", ".hocon"]) {
            Format::Hocon
        } else {
            Format::Yaml
        }
    }

    /// Returns true for the YAML formats.
    pub fn is_yaml(self) -> bool {
        matches!(self, Format::Yaml | Format::Yaml34 | Format::Hiera3Yaml | Format::Hiera3YamlAliases)
    }

    /// Returns the format of Hiera 3's YAML on a Ruby that accepts aliases, or on one that does not.
    pub fn hiera3_yaml(takes_aliases: bool) -> Format {
        if takes_aliases { Format::Hiera3YamlAliases } else { Format::Hiera3Yaml }
    }

    /// Returns the variant of the format for a version of Ruby.
    #[must_use]
    pub fn read_by(self, ruby: Ruby) -> Format {
        if self == Format::Yaml && ruby.psych() >= Psych::V5_2 { Format::Yaml34 } else { self }
    }

    /// Reads a document.
    pub fn parse(self, content: &[u8]) -> Parsed {
        let parsed = match self {
            Format::Yaml => yaml::parse(content),
            Format::Yaml34 => yaml::parse_by(content, Psych::V5_2),
            Format::Json => json::parse(content),
            Format::Hocon => hocon::parse(content),
            Format::Hiera3Yaml => yaml::parse_without_aliases(ruby::without_byte_order_mark(content)),
            Format::Hiera3YamlAliases => yaml::parse(ruby::without_byte_order_mark(content)),
            Format::Hiera3Json => json::parse(ruby::without_byte_order_mark(content)),
        };
        match self {
            Format::Yaml | Format::Yaml34 => {
                let (value, marks) = yaml::symkeys_to_string(parsed.value, parsed.marks);
                Parsed { value, marks, ..parsed }
            }
            _ => parsed,
        }
    }

    /// Returns the function that reads the format.
    pub fn function(self) -> &'static str {
        match self {
            Format::Yaml | Format::Yaml34 | Format::Hiera3Yaml | Format::Hiera3YamlAliases => "yaml_data",
            Format::Json | Format::Hiera3Json => "json_data",
            Format::Hocon => "hocon_data",
        }
    }

    /// Returns the format that the function `name` reads.
    pub fn of_function(name: &str) -> Option<Format> {
        [Format::Yaml, Format::Json, Format::Hocon].into_iter().find(|format| format.function() == name)
    }
}

/// The reason why a file that git converts is not read, in errors.
pub const ANOTHER_CONTENT: &str = "a checkout has another content";

/// The beginnings of the contents that git filters store instead of the real ones.
const PLACEHOLDER_BEGINNINGS: [(&[u8], &str); 2] = [
    (b"version https://git-lfs.github.com/spec/v1\n", "the repository holds a pointer of Git LFS"),
    (b"\0GITCRYPT\0", "git-crypt has encrypted the file"),
];

/// A parsed data file. It does not know its path: equal content at two paths is a single `DataFile`.
#[derive(Debug)]
pub struct DataFile {
    format: Format,
    value: Value,
    marks: Marks,
    fault: Option<Fault>,
    is_entangled: bool,
    /// The places that a Puppet server reads differently, except for floats.
    pub(super) notes: Notes,
    keys: OnceLock<Vec<Arc<str>>>,
    has_odd_keys: OnceLock<bool>,
    pub(super) mentions: OnceLock<Vec<(Arc<str>, Mentions)>>,
}

impl DataFile {
    /// Parses `content`.
    pub fn parse(content: &[u8], format: Format) -> DataFile {
        if let Some(placeholder) = PLACEHOLDER_BEGINNINGS.iter().find(|(begin, _)| content.starts_with(begin)) {
            return DataFile::unknown(format, FaultKind::Converted, format!("{}: {ANOTHER_CONTENT}", placeholder.1));
        }
        let file = DataFile::read(content, format);
        let notes = file.all_notes(content);
        file.with_notes(notes)
    }

    /// Parses `content`. Places that a server reads differently are noted only if the parser itself finds them.
    pub(super) fn read(content: &[u8], format: Format) -> DataFile {
        let parsed = format.parse(content);
        let (fault, notes) = (parsed.fault, parsed.notes);
        DataFile { fault, notes, ..DataFile::parsed(format, parsed.value, parsed.marks, parsed.is_entangled) }
    }

    /// Returns a file that is not read, with the reason: it is too large, or Puppet would read another content.
    pub(super) fn unknown(format: Format, kind: FaultKind, text: String) -> DataFile {
        let fault = Fault { line: 1, text, kind };
        DataFile { fault: Some(fault), ..DataFile::parsed(format, Value::Undef, Marks::default(), false) }
    }

    /// Returns a file without a fault that was parsed earlier.
    pub(super) fn parsed(format: Format, value: Value, marks: Marks, is_entangled: bool) -> DataFile {
        DataFile {
            format,
            value,
            marks,
            fault: None,
            is_entangled,
            notes: Notes::default(),
            keys: OnceLock::new(),
            has_odd_keys: OnceLock::new(),
            mentions: OnceLock::new(),
        }
    }

    /// Adds the places that a server reads differently.
    pub(super) fn with_notes(self, notes: Notes) -> DataFile {
        DataFile { notes, ..self }
    }

    /// Returns the whole content.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the line numbers of the whole content.
    pub fn lines(&self) -> &Marks {
        &self.marks
    }

    /// Returns true if entries may depend on other entries.
    pub fn is_entangled(&self) -> bool {
        self.is_entangled
    }

    /// Returns the names of the root keys as text, including those of a file that Puppet refuses, if they can be
    /// read.
    pub fn keys(&self) -> &[Arc<str>] {
        let name = |key: &Value| match key {
            Value::String(text) => text.to_arc(),
            other => other.to_s().into(),
        };
        self.keys.get_or_init(|| self.value.as_hash().into_iter().flat_map(Hash::keys).map(name).collect())
    }

    /// Returns true if one of [`keys`](DataFile::keys) is `key`.
    pub fn has(&self, key: &str) -> bool {
        if self.has_odd_keys() {
            return self.keys().iter().any(|other| **other == *key);
        }
        self.content().is_some_and(|hash| hash.get(key).is_some())
    }

    /// Returns true if some root keys are not texts.
    fn has_odd_keys(&self) -> bool {
        let is_odd = |key: &Value| !matches!(key, Value::String(_));
        *self.has_odd_keys.get_or_init(|| self.content().is_some_and(|hash| hash.keys().any(is_odd)))
    }

    /// Returns the references in the values of the root keys; values without any are left out.
    pub fn mentions(&self) -> &[(Arc<str>, Mentions)] {
        self.mentions.get_or_init(|| self.content().map(Mentions::of_all).unwrap_or_default())
    }

    /// Returns the format that the file was read as.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the line of the root key `key`.
    pub fn line(&self, key: &str) -> Option<u32> {
        self.value.as_hash()?.index_of_text(key).and_then(|at| self.marks.children.get(at)).map(|marks| marks.line)
    }

    /// Returns the line numbers of the value of the root key `key`.
    pub fn marks(&self, key: &str) -> Option<&Marks> {
        self.marks.children.get(self.value.as_hash()?.index_of_text(key)?)
    }

    /// Returns the whole content, if it is a hash.
    pub fn content(&self) -> Option<&Hash> {
        self.value.as_hash()
    }

    /// Returns true if this file can make a lookup of any key fail: it cannot be read, or has keys that are not
    /// texts.
    pub fn concerns_all_keys(&self) -> bool {
        self.fault.is_some() || self.is_no_hash() || self.has_odd_keys()
    }

    /// Returns the reader's error, or `None` if the file is valid.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Returns true if the file is well-formed but not a hash (an empty YAML file passes as a hash without entries).
    pub fn is_no_hash(&self) -> bool {
        let is_empty = self.format.is_yaml() && matches!(self.value, Value::Undef | Value::Boolean(false));
        self.fault.is_none() && !is_empty && self.value.as_hash().is_none()
    }

    /// Returns the data that the function returns to Puppet, or `None` for an empty file. `path` is for error texts.
    pub fn hash(&self, path: &str, puppet: Puppet) -> Result<Option<&Hash>, LookupError> {
        if let Some(fault) = &self.fault {
            return Err(self.refusal(fault, path));
        }
        match &self.value {
            Value::Hash(hash) => Ok(Some(hash)),
            _ if self.format.is_yaml() && (!self.is_no_hash() || !puppet.refuses_data_files_that_are_no_hash()) => {
                Ok(None)
            }
            _ if self.format.is_yaml() => {
                Err(LookupError::puppet(format!("{path}: file does not contain a valid yaml hash")))
            }
            other => Err(LookupError::puppet(format!(
                "Value returned from data_hash function '{}', when using location '{path}', has wrong type, expects a Hash value, got {}",
                self.format.function(),
                short_name(other)
            ))),
        }
    }

    fn refusal(&self, fault: &Fault, path: &str) -> LookupError {
        match (self.format, fault.kind) {
            (_, kind) if kind.is_unknown() => LookupError::unknown(format!("{path}: {}", fault.text)).of_fault(fault),
            // Puppet rescues only the gem's own errors.
            (Format::Hocon, FaultKind::Exception) => LookupError::puppet(fault.text.clone()),
            _ if self.format.is_yaml() => LookupError::puppet(format!("Unable to parse {}", fault.message(path))),
            _ => LookupError::puppet(format!("Unable to parse ({path}): {}", fault.text)),
        }
    }
}

impl DataFile {
    /// Returns this file with the entry at `path` as in `other`, or without it if `other` does not have it. The
    /// result has no line numbers.
    #[must_use]
    pub fn with_entry_of(&self, other: Option<&DataFile>, path: &[Value]) -> DataFile {
        let value = with_entry(&self.value, other.map(|other| &other.value), path).unwrap_or_default();
        DataFile::parsed(self.format, value, Marks::default(), self.is_entangled)
    }

    /// Returns the data as Hiera 3 sees it, or `None` for an empty file. `path` is for error texts.
    pub fn hiera3_hash(&self, path: &str) -> Result<Option<&Hash>, LookupError> {
        match (&self.fault, &self.value) {
            (Some(fault), _) if fault.kind.is_unknown() => Err(self.refusal(fault, path)),
            (Some(fault), _) if !self.format.is_yaml() => Err(LookupError::puppet(fault.text.as_str())),
            (Some(fault), _) if fault.kind.is_of_class() => Err(LookupError::puppet(fault.text.as_str())),
            (Some(fault), _) => Err(LookupError::puppet(fault.message("<unknown>")).of_fault(fault)),
            (None, Value::Hash(hash)) => Ok(Some(hash)),
            (None, _) if self.format.is_yaml() && !self.is_no_hash() => Ok(None),
            (None, other) => {
                let class = other.class_name();
                Err(LookupError::puppet(format!("Data retrieved from {path} is {class} not Hash")))
            }
        }
    }
}

/// Returns `value` with the entry at `path` as in `other`, or `None` if `path` is empty and `other` has no value.
fn with_entry(value: &Value, other: Option<&Value>, path: &[Value]) -> Option<Value> {
    let Some((key, rest)) = path.split_first() else { return other.cloned() };
    let mut hash = value.as_hash().cloned().unwrap_or_default();
    let other = other.and_then(Value::as_hash).and_then(|other| other.get_value(key));
    let entry = match hash.get_value(key) {
        Some(existing) if !rest.is_empty() => with_entry(existing, other, rest),
        _ => other.filter(|_| rest.is_empty()).cloned().or_else(|| {
            let nothing = Value::hash(Hash::new());
            (!rest.is_empty()).then(|| with_entry(&nothing, other, rest)).flatten()
        }),
    };
    match entry {
        Some(entry) => _ = hash.insert(key.clone(), entry),
        None => _ = hash.remove(key),
    }
    Some(Value::hash(hash))
}
