//! hiera.yaml of version 3 as Hiera 3 itself reads it: its keys are symbols, and nothing is checked before it is
//! used.
//!
//! Source: `hiera/config.rb`, `datadir` in `hiera/backend.rb`.

use std::sync::{Arc, OnceLock};

use super::{Config, Function, FunctionKind, LevelConfig, Locations, PlacedText};
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::hiera::merge::DeepOptions;
use crate::puppet::document::Marks;
use crate::puppet::{ruby, yaml};
use crate::value::{Hash, Notation, Value};

/// The default datadir.
const DEFAULT_DATADIR: &str = "/etc/puppetlabs/code/environments/%{environment}/hieradata";

const SYMBOL_INTO_INTEGER: &str = "no implicit conversion of Symbol into Integer";

/// The hierarchy, sections and merge behaviour of hiera.yaml. Its backends are the levels of the [`Config`].
#[derive(Debug, Clone)]
pub struct Hiera3 {
    /// The data sources, highest priority first.
    pub(in crate::hiera) hierarchy: Vec<Source>,
    /// The sections of the backends, one per level.
    pub(in crate::hiera) sections: Vec<Section>,
    /// The merge behaviour for hashes.
    pub(in crate::hiera) merge: HashMerge,
    /// True if data files in YAML may have aliases.
    pub(in crate::hiera) takes_aliases: bool,
    /// The way in which its Ruby formats values.
    pub(in crate::hiera) notation: Notation,
}

/// An entry of `:hierarchy:`.
#[derive(Debug, Clone)]
pub(in crate::hiera) struct Source {
    /// The value as written: usually a text.
    pub(in crate::hiera) value: Value,
    /// The value as text, and its place.
    pub(in crate::hiera) declared: PlacedText,
}

/// The section of a backend. Errors are reported when the backend is used.
#[derive(Debug, Clone)]
pub(in crate::hiera) struct Section {
    pub(in crate::hiera) datadir: Result<Arc<str>, LookupError>,
    pub(in crate::hiera) extension: Result<Arc<str>, LookupError>,
    /// All entries of the section, by the texts of their keys; empty except for `eyaml`.
    pub(in crate::hiera) options: Result<Hash, LookupError>,
}

/// `:merge_behavior:`, with its options.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::hiera) enum HashMerge {
    /// `native`: whole entries of the higher priority win.
    Native,
    /// `deep` and `deeper`: the `deep_merge` gem.
    Deep(DeepOptions),
    /// Options that the gem cannot take: each merge fails.
    Fails(LookupError),
}

impl Config {
    /// Reads the hiera.yaml at `path` as Hiera 3 does. `takes_aliases` is true if its Ruby accepts aliases in YAML,
    /// and `notation` is the way in which that Ruby formats values.
    pub fn parse_hiera3(
        content: &[u8],
        path: &str,
        takes_aliases: bool,
        notation: Notation,
    ) -> Result<Config, LookupError> {
        let parse = if takes_aliases { yaml::parse } else { yaml::parse_without_aliases };
        let parsed = parse(ruby::without_byte_order_mark(content));
        if let Some(fault) = parsed.fault {
            let text = if fault.kind.is_of_class() { fault.text.clone() } else { fault.message(path) };
            return Err(LookupError::document(&fault, text).at(Place::line(path, fault.line)));
        }
        let (path, hash) = (path.into(), hash(&parsed.value, path)?);
        let file = File { path, hash, marks: parsed.marks, takes_aliases, notation };
        file.check_version()?;
        file.config()
    }
}

/// Returns the content as a hash, which is empty for an empty file.
fn hash(value: &Value, path: &str) -> Result<Hash, LookupError> {
    let error = match value {
        Value::Hash(hash) => return Ok((**hash).clone()),
        Value::Undef | Value::Boolean(false) => return Ok(Hash::new()),
        Value::Array(_) | Value::Integer(_) => LookupError::bare("no implicit conversion of String into Integer"),
        Value::String(_) | Value::Bytes(_) => LookupError::bare(SYMBOL_INTO_INTEGER),
        other => LookupError::undefined_method("[]", other),
    };
    Err(error.at(Place::file(path)))
}

/// Returns the entries of the section of `eyaml`, whose keys become symbols.
fn options(section: &Hash) -> Result<Hash, LookupError> {
    let option = |(key, value): (&Value, &Value)| match key {
        Value::String(_) | Value::Symbol(_) => Ok((Value::from(key.to_s().as_str()), value.clone())),
        other => Err(LookupError::undefined_method("to_sym", other)),
    };
    section.iter().map(option).collect()
}

struct File {
    path: Arc<str>,
    hash: Hash,
    marks: Marks,
    takes_aliases: bool,
    notation: Notation,
}

impl File {
    fn get(&self, name: &str) -> Option<&Value> {
        self.hash.get_value(&Value::Symbol(name.into()))
    }

    /// Returns the marks of the value of `name`.
    fn marks(&self, name: &str) -> Option<&Marks> {
        self.marks.children.get(self.hash.index_of(&Value::Symbol(name.into()))?)
    }

    fn place(&self, marks: Option<&Marks>) -> Place {
        Place { path: self.path.clone(), line: marks.map(|marks| marks.line).filter(|line| *line > 0) }
    }

    fn check_version(&self) -> Result<(), LookupError> {
        let written = [self.hash.get("version"), self.get("version")].into_iter().flatten();
        let Some(version) = written.into_iter().find(|version| version.is_truthy()) else { return Ok(()) };
        let number = match version {
            Value::Integer(n) if *n < 4 => return Ok(()),
            Value::Float(f) if *f < 4.0 => return Ok(()),
            Value::Integer(_) | Value::BigInteger(_) | Value::Float(_) => version.to_s(),
            Value::String(_) => return Err(self.fault("comparison of String with 4 failed", "version")),
            other => return Err(LookupError::undefined_method(">=", other).at(self.place(self.marks("version")))),
        };
        let text = format!(
            "v{number} hiera.yaml is only to be used inside an environment or a module and cannot be given to the global hiera"
        );
        Err(self.fault(&text, "version"))
    }

    fn fault(&self, text: &str, name: &str) -> LookupError {
        LookupError::puppet(text).at(self.place(self.marks(name)))
    }

    fn config(&self) -> Result<Config, LookupError> {
        let backends = match self.get("backends") {
            Some(value) => self.items("backends", value),
            None => vec![(Value::from("yaml"), Place::file(self.path.clone()))],
        };
        let (mut levels, mut sections) = (Vec::new(), Vec::new());
        for (backend, place) in backends {
            let (level, section) = self.backend(&backend, place)?;
            levels.push(level);
            sections.push(section);
        }
        let File { takes_aliases, notation, .. } = *self;
        let hiera3 = Hiera3 { hierarchy: self.hierarchy(), sections, merge: self.merge(), takes_aliases, notation };
        let hiera3 = Some(Arc::new(hiera3));
        Ok(Config {
            path: self.path.clone(),
            source: "".into(),
            version: 3,
            levels,
            default_hierarchy: None,
            implied: false,
            fault: None,
            hiera3,
            glob_count: OnceLock::new(),
        })
    }

    /// Returns one item, or the items of an array, flattened, each with its place.
    fn items(&self, name: &str, value: &Value) -> Vec<(Value, Place)> {
        let mut items = Vec::new();
        self.flatten(value, self.marks(name), &mut items);
        items
    }

    fn flatten(&self, value: &Value, marks: Option<&Marks>, items: &mut Vec<(Value, Place)>) {
        let Value::Array(inner) = value else { return items.push((value.clone(), self.place(marks))) };
        for (at, item) in inner.iter().enumerate() {
            self.flatten(item, marks.and_then(|marks| marks.children.get(at)), items);
        }
    }

    fn hierarchy(&self) -> Vec<Source> {
        let default =
            || ["nodes/%{::trusted.certname}", "common"].map(|name| (name.into(), Place::file(self.path.clone())));
        let items = self.get("hierarchy").map_or_else(|| default().to_vec(), |value| self.items("hierarchy", value));
        let source = |(value, place): (Value, Place)| {
            let declared = PlacedText { text: value.to_s().into(), place };
            Source { value, declared }
        };
        items.into_iter().map(source).collect()
    }

    fn backend(&self, backend: &Value, place: Place) -> Result<(LevelConfig, Section), LookupError> {
        let (Value::String(_) | Value::Symbol(_)) = backend else {
            return Err(LookupError::undefined_method("downcase", backend).at(place));
        };
        let name: Arc<str> = backend.to_s().to_lowercase().into();
        let section = self.section(&name);
        let datadir = section.datadir.clone().unwrap_or_else(|_| DEFAULT_DATADIR.into());
        let level = LevelConfig {
            function: Function { kind: FunctionKind::Hiera3Backend, name: name.clone() },
            name,
            place,
            datadir,
            locations: Locations::none(),
            options: Value::hash(Hash::new()),
            version4: None,
        };
        Ok((level, section))
    }

    fn section(&self, backend: &str) -> Section {
        let is_eyaml = backend == "eyaml";
        let written = self.get(backend).filter(|value| value.is_truthy());
        let place = || self.place(self.marks(backend));
        let entry = |name: &str| match written {
            Some(Value::Hash(hash)) => {
                Ok(hash.get_value(&Value::Symbol(name.into())).filter(|value| value.is_truthy()))
            }
            None => Ok(None),
            Some(other) => {
                let error = match other {
                    Value::String(_) | Value::Array(_) | Value::Integer(_) => LookupError::bare(SYMBOL_INTO_INTEGER),
                    other => LookupError::undefined_method("[]", other),
                };
                Err(error.at(place()))
            }
        };
        let datadir = entry("datadir").and_then(|datadir| match datadir {
            None => Ok(DEFAULT_DATADIR.into()),
            Some(Value::String(text)) => Ok(text.to_arc()),
            Some(_) => Err(LookupError::puppet(format!("datadir for {backend} cannot be an array")).at(place())),
        });
        let extension = match (is_eyaml, written) {
            (false, _) => Ok(if backend == "json" { "json" } else { "yaml" }.into()),
            (true, None) => Err(LookupError::undefined_method("[]", &Value::Undef).at(place())),
            (true, Some(_)) => entry("extension").map(|text| text.map_or("eyaml".into(), |text| text.to_s().into())),
        };
        let options = match written {
            Some(Value::Hash(hash)) if is_eyaml => options(hash).map_err(|error| error.at(place())),
            _ => Ok(Hash::new()),
        };
        Section { datadir, extension, options }
    }

    fn merge(&self) -> HashMerge {
        let behavior = match self.get("merge_behavior") {
            Some(Value::String(text)) => text.to_arc(),
            Some(Value::Symbol(text)) => text.clone(),
            _ => return HashMerge::Native,
        };
        if !matches!(&*behavior, "deep" | "deeper") {
            return HashMerge::Native;
        }
        let none = Hash::new();
        let options = match self.get("deep_merge_options").filter(|value| value.is_truthy()) {
            None => &none,
            Some(Value::Hash(hash)) => hash,
            Some(other) => {
                let text = format!("no implicit conversion of {} into Hash", other.class_name());
                return HashMerge::Fails(self.fault(&text, "deep_merge_options"));
            }
        };
        let options = DeepOptions::of_hiera3(&*behavior == "deep", options);
        let fails = |error: LookupError| HashMerge::Fails(error.at(self.place(self.marks("deep_merge_options"))));
        options.map_or_else(fails, HashMerge::Deep)
    }
}
