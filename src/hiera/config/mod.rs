//! hiera.yaml: read, checked and put into a form that a hierarchy can be resolved from.
//!
//! [`ReadConfig::new`] refuses what Puppet refuses, at the place where it stands: version 4 only outside of the global layer, and
//! version 3 only in it. Elsewhere Puppet 7 ignores version 3, and 8 refuses it.
//! Source: `pops/lookup/hiera_config.rb`.

mod configs;
mod node;
mod version3;
mod version4;
mod version5;

use std::collections::HashSet;
use std::sync::Arc;

pub use self::configs::Configs;
use self::node::Node;
use super::version3::Hiera3;
use super::{LookupError, Puppet};
use crate::diagnostic::{Diagnostic, Place};
use crate::value::yaml::Parsed;
use crate::value::{Value, ruby, yaml};

/// A hiera.yaml that Puppet accepts.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file.
    pub path: Arc<str>,
    /// Its text, for error texts.
    pub source: Arc<str>,
    /// 5, 4, or 3 where Hiera 3 answers.
    pub version: u8,
    /// The levels, highest priority first.
    pub levels: Vec<LevelConfig>,
    /// What is searched when all layers have nothing (modules only).
    pub default_hierarchy: Option<Vec<LevelConfig>>,
    /// Why no hierarchy can be made of it, though its form is right.
    pub fault: Option<LookupError>,
    /// Whether it stands for a file that is not there; then paths that are not there do not count.
    pub implied: bool,
    /// What Hiera 3 reads, where it answers instead of Puppet.
    pub hiera3: Option<Arc<Hiera3>>,
}

/// A hiera.yaml that was read.
#[derive(Debug)]
pub struct ReadConfig {
    /// What it says, or why Puppet refuses it; nothing where Puppet ignores the file.
    pub config: Result<Option<Arc<Config>>, LookupError>,
    /// Whether it is one as Hiera 3 has them.
    pub is_hiera3: bool,
    /// What was found on the way.
    pub diagnostics: Vec<Diagnostic>,
}

/// One entry of `hierarchy`, the defaults filled in.
#[derive(Debug, Clone)]
pub struct LevelConfig {
    /// Its name.
    pub name: Arc<str>,
    /// Where it stands.
    pub place: Place,
    /// The function that finds its data.
    pub function: Function,
    /// The folder its paths are relative to, as written.
    pub datadir: Arc<str>,
    /// Where its data is, as written.
    pub locations: Locations,
    /// What the function gets, as written: a hash.
    pub options: Value,
    /// Version 4's ways, where it differs.
    pub version4: Option<Version4>,
}

impl LevelConfig {
    /// Whether another level finds the same data in the same files, wherever it stands.
    pub fn means_the_same(&self, other: &LevelConfig) -> bool {
        self.name == other.name
            && self.function == other.function
            && self.datadir == other.datadir
            && self.options == other.options
            && self.version4 == other.version4
            && self.locations.texts() == other.locations.texts()
    }
}

/// Version 4 does not interpolate datadirs, adds an extension to paths, and fails on undefined variables in them where data
/// does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version4 {
    /// What paths end in.
    pub extension: &'static str,
}

/// A data provider function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// How it is called.
    pub kind: FunctionKind,
    /// Its name.
    pub name: Arc<str>,
}

/// How a data provider function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// Once for a location; gives a hash.
    DataHash,
    /// For each key.
    LookupKey,
    /// For each dotted key.
    DataDig,
    /// A class of Hiera 3.
    Hiera3Backend,
    /// A function of Puppet 4's data API.
    V4DataHash,
}

impl FunctionKind {
    /// Its keys in hiera.yaml, in the order in which Puppet looks for them.
    pub const ALL: [FunctionKind; 5] = [
        FunctionKind::DataHash,
        FunctionKind::LookupKey,
        FunctionKind::DataDig,
        FunctionKind::Hiera3Backend,
        FunctionKind::V4DataHash,
    ];

    /// The key in hiera.yaml.
    pub fn tag(self) -> &'static str {
        match self {
            FunctionKind::DataHash => "data_hash",
            FunctionKind::LookupKey => "lookup_key",
            FunctionKind::DataDig => "data_dig",
            FunctionKind::Hiera3Backend => "hiera3_backend",
            FunctionKind::V4DataHash => "v4_data_hash",
        }
    }
}

/// The locations of a level, as written.
#[derive(Debug, Clone)]
pub enum Locations {
    /// None: the function is called without one.
    None,
    /// `path` or `paths`.
    Paths(Vec<Declared>),
    /// `glob` or `globs`.
    Globs(Vec<Declared>),
    /// `uri` or `uris`.
    Uris(Vec<Declared>),
    /// `mapped_paths`: a variable with many values, the name of the one value, and a template for a path.
    MappedPaths([Declared; 3]),
}

impl Locations {
    /// Where they stand.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.declared().iter().map(|declared| &declared.place)
    }

    fn declared(&self) -> &[Declared] {
        match self {
            Locations::None => &[],
            Locations::Paths(declared) | Locations::Globs(declared) | Locations::Uris(declared) => declared,
            Locations::MappedPaths(mapped) => mapped,
        }
    }

    /// Which kind, and what is written.
    fn texts(&self) -> (&'static str, Vec<&str>) {
        let kind = match self {
            Locations::None => "none",
            Locations::Paths(_) => "paths",
            Locations::Globs(_) => "globs",
            Locations::Uris(_) => "uris",
            Locations::MappedPaths(_) => "mapped_paths",
        };
        (kind, self.declared().iter().map(|declared| &*declared.text).collect())
    }
}

/// A text of hiera.yaml and where it stands.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The text, not interpolated.
    pub text: Arc<str>,
    /// Its place.
    pub place: Place,
}

/// Whose hiera.yaml it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The global layer.
    Global,
    /// The environment layer.
    Environment,
    /// A module.
    Module,
}

impl Owner {
    fn with_article(self) -> &'static str {
        match self {
            Owner::Global => "the global layer",
            Owner::Environment => "an environment",
            Owner::Module => "a module",
        }
    }
}

impl Config {
    /// The levels, those of the `default_hierarchy` behind the others.
    pub fn all_levels(&self) -> impl Iterator<Item = &LevelConfig> {
        self.levels.iter().chain(self.default_hierarchy.iter().flatten())
    }

    /// Fails if no hierarchy can be made of it.
    pub fn sound(&self) -> Result<(), LookupError> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Puppet's error about the undefined variable `name`, which names the line that uses it.
    pub fn undefined_variable(&self, name: &str) -> LookupError {
        let pattern = format!(r#"%\{{['"]?{name}['"]?}}"#);
        match node::line_matching(&self.source, &pattern, 1) {
            Ok(line) => LookupError::puppet(format!("Undefined variable '{name}' {}", node::in_file(&self.path, line))),
            Err(error) => error,
        }
    }

    /// The configuration in place of a hiera.yaml at `path` that is not there, in the global layer or with `data_provider: hiera`:
    /// `data/common.yaml`.
    pub fn implied(path: &str) -> Config {
        let path: Arc<str> = path.into();
        let place = Place::file(path.clone());
        Config {
            levels: vec![LevelConfig {
                name: "Common".into(),
                place: place.clone(),
                function: Function { kind: FunctionKind::DataHash, name: "yaml_data".into() },
                datadir: "data".into(),
                locations: Locations::Paths(vec![Declared { text: "common.yaml".into(), place }]),
                options: Value::hash(crate::value::Hash::new()),
                version4: None,
            }],
            path,
            source: "".into(),
            version: 5,
            default_hierarchy: None,
            fault: None,
            implied: true,
            hiera3: None,
        }
    }
}

impl ReadConfig {
    /// Reads `content`, which stands at `path`.
    pub fn new(content: &[u8], path: &str, owner: Owner, puppet: Puppet) -> ReadConfig {
        let parsed = yaml::parse(content);
        let (is_hiera3, mut diagnostics) = (is_hiera3(&parsed), Vec::new());
        let config = parse(content, parsed, path, owner, puppet, &mut diagnostics);
        ReadConfig { config: config.map(|config| config.map(Arc::new)), is_hiera3, diagnostics }
    }
}

/// Whether it is a hiera.yaml as Hiera 3 has them: of version 3 or of none, with symbols as keys. Hiera 3 ignores texts.
fn is_hiera3(parsed: &Parsed) -> bool {
    let Value::Hash(hash) = &parsed.value else { return false };
    let is_symbol = |key: &Value| matches!(key, Value::Symbol(_));
    let version = [hash.get("version"), hash.get_value(&Value::Symbol("version".into()))];
    let version = version.into_iter().flatten().find(|version| version.is_truthy());
    parsed.fault.is_none()
        && hash.keys().any(is_symbol)
        && version.is_none_or(|version| matches!(version, Value::Integer(..4)))
}

/// What a hiera.yaml says; nothing where Puppet ignores the file, why it does is a diagnostic.
fn parse(
    content: &[u8],
    parsed: Parsed,
    path: &str,
    owner: Owner,
    puppet: Puppet,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Config>, LookupError> {
    if let Some(fault) = parsed.fault {
        return Err(LookupError::puppet(fault.message(path)).at(Place::line(path, fault.line)));
    }
    let version = version(&parsed.value, path)?;
    let (value, marks) = yaml::symkeys_to_string(parsed.value, parsed.marks);
    let value = filled(&version, &value);
    let source: Arc<str> = String::from_utf8_lossy(content).into();
    let file = Node::root(&value, &marks, path, &source);
    match &version {
        Value::Integer(5) => {
            file.check(version5::shape())?;
            version5::parse(&file, owner).map(Some)
        }
        Value::Integer(4) => {
            file.check(version4::shape()?)?;
            if owner == Owner::Global {
                let text = "hiera.yaml version 4 cannot be used in the global layer";
                return Err(file.refuse(text, file.entry_place("version")));
            }
            Ok(Some(version4::parse(&file)))
        }
        Value::Integer(3) => {
            file.check(&version3::shape(&file)?)?;
            match owner {
                Owner::Global => Ok(Some(version3::parse(&file))),
                _ => ignore_version_3(path, owner, puppet, diagnostics),
            }
        }
        other => {
            let text = format!("This runtime does not support hiera.yaml version {}", ruby::to_s(other));
            Err(file.refuse(&text, file.entry_place("version")))
        }
    }
}

/// What Puppet takes for the configuration: with the defaults of its version, and for a file that is no hash those alone.
fn filled(version: &Value, value: &Value) -> Value {
    let mut hash = value.as_hash().cloned().unwrap_or_default();
    match version {
        Value::Integer(3) => version3::fill(&mut hash),
        Value::Integer(4) => version4::fill(&mut hash),
        Value::Integer(5) => version5::fill(&mut hash),
        _ => {}
    }
    Value::hash(hash)
}

/// The version, as Ruby's `to_i` makes it from what is written; a file that is no hash is of version 3.
fn version(value: &Value, path: &str) -> Result<Value, LookupError> {
    let Value::Hash(hash) = value else { return Ok(3.into()) };
    let written = [hash.get("version"), hash.get_value(&Value::Symbol("version".into()))];
    let text = match written.into_iter().flatten().find(|version| version.is_truthy()) {
        None => return Ok(3.into()),
        Some(number @ (Value::Integer(_) | Value::BigInteger(_))) => return Ok(number.clone()),
        #[expect(clippy::cast_possible_truncation, reason = "Ruby's Float#to_i truncates")]
        Some(Value::Float(f)) if f.is_finite() => return Ok(Value::Integer(*f as i64)),
        Some(Value::String(text)) => return Ok(ruby::to_i(text)),
        Some(Value::Float(f)) => ruby::float(*f),
        Some(other) => {
            format!("undefined method `to_i' for {}:{}", ruby::inspect(other), ruby::class_name(other))
        }
    };
    Err(LookupError::puppet(text).at(Place::file(path)))
}

fn ignore_version_3(
    path: &str,
    owner: Owner,
    puppet: Puppet,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Config>, LookupError> {
    if puppet.refuses_version_3_below_the_global_layer() {
        let text = format!("hiera.yaml version 3 cannot be used in {} (file: {path})", owner.with_article());
        return Err(LookupError::puppet(text).at(Place::file(path)));
    }
    let text = "hiera.yaml version 3 has no effect here: Puppet reads it in the global layer only";
    diagnostics.push(Diagnostic::warning("hiera-version-3", Some(Place::file(path)), text));
    Ok(None)
}

/// The first level that has the name of one before it.
fn doubled(levels: &[LevelConfig]) -> Option<&LevelConfig> {
    let mut seen = HashSet::new();
    levels.iter().find(|level| !seen.insert(&level.name))
}

fn doubled_name(file: &Node<'_>, levels: &[LevelConfig]) -> Option<LookupError> {
    let doubled = doubled(levels)?;
    let text = format!("Hierarchy name '{}' defined more than once.", doubled.name);
    let pattern = format!(r#"\s+name:\s+['"]?{}(?:[^\w]|$)"#, doubled.name);
    Some(file.refuse_second(&text, &pattern, doubled.place.clone()))
}
