//! hiera.yaml: read, checked and put into a form that a hierarchy can be resolved from.
//!
//! [`ReadConfig::new`] refuses what Puppet refuses, and reports the place. Version 4 is refused in the global layer.
//! Version 3 is read only there; elsewhere Puppet 7 ignores it, and Puppet 8 refuses it.
//! Source: `pops/lookup/hiera_config.rb`.

mod configs;
mod hiera3;
mod level;
mod locations;
mod node;
mod read;
mod version3;
mod version4;
mod version5;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

pub use self::configs::Configs;
pub use self::hiera3::Hiera3;
pub(super) use self::hiera3::{HashMerge, Section, Source};
pub use self::level::{LevelConfig, Version4};
pub use self::locations::{Finder, Form, Locations};
use self::node::Node;
pub use self::read::ReadConfig;
use super::LookupError;
use super::interpolation;
use crate::diagnostic::Place;
use crate::value::Value;

/// A hiera.yaml that Puppet accepts.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file.
    pub path: Arc<str>,
    /// The text of the file, for error messages.
    pub source: Arc<str>,
    /// The version: 5, 4, or 3 if Hiera 3 answers.
    pub version: u8,
    /// The levels, highest priority first.
    pub levels: Vec<LevelConfig>,
    /// The levels that are searched if no layer has the key (modules only).
    pub default_hierarchy: Option<Vec<LevelConfig>>,
    /// The reason why the configuration cannot be resolved to a hierarchy although it is well-formed.
    pub fault: Option<LookupError>,
    /// True if this replaces a missing file; missing paths are then ignored.
    pub implied: bool,
    /// The configuration of Hiera 3, if it answers instead of Puppet.
    pub hiera3: Option<Arc<Hiera3>>,
    /// The number of globs, once it has been needed.
    glob_count: OnceLock<usize>,
}

/// A data provider function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its kind.
    pub kind: FunctionKind,
    /// Its name, as written.
    pub name: Arc<str>,
}

impl Function {
    /// Returns the name that Puppet's loaders use: in lower case, without a leading `::`. The name of a class of
    /// Hiera 3 stays as it is.
    ///
    /// Source: `Puppet::Pops::Loader::TypedName`.
    pub fn loaded_name(&self) -> Cow<'_, str> {
        if self.kind == FunctionKind::Hiera3Backend {
            return Cow::Borrowed(&self.name);
        }
        Cow::Owned(self.name.strip_prefix("::").unwrap_or(&self.name).to_lowercase())
    }
}

/// The kinds of data provider functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// Called once per location; returns a hash.
    DataHash,
    /// Called for each key.
    LookupKey,
    /// Called for each dotted key.
    DataDig,
    /// A class of Hiera 3.
    Hiera3Backend,
    /// A function of Puppet 4's data API.
    V4DataHash,
}

impl FunctionKind {
    /// All kinds, in the order in which Puppet looks for their keys.
    pub const ALL: [FunctionKind; 5] = [
        FunctionKind::DataHash,
        FunctionKind::LookupKey,
        FunctionKind::DataDig,
        FunctionKind::Hiera3Backend,
        FunctionKind::V4DataHash,
    ];

    /// Returns the key in hiera.yaml.
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

/// A text in hiera.yaml, and its place.
#[derive(Debug, Clone)]
pub struct PlacedText {
    /// The text, not interpolated.
    pub text: Arc<str>,
    /// Its place.
    pub place: Place,
}

/// The owner of a hiera.yaml.
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
    /// Returns the names of all variables that the file refers to, in levels and elsewhere. Names may occur several
    /// times.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        interpolation::variables(&self.source)
            .into_iter()
            .chain(self.all_levels().filter_map(|level| level.locations.mapped()).map(|mapped| &*mapped.variable.text))
    }

    /// Returns the levels, followed by those of the `default_hierarchy`.
    pub fn all_levels(&self) -> impl Iterator<Item = &LevelConfig> {
        self.levels.iter().chain(self.default_hierarchy.iter().flatten())
    }

    /// Returns the number of globs in all levels.
    pub(super) fn glob_count(&self) -> usize {
        let globs = |level: &LevelConfig| level.locations.paths().map_or(0, <[PlacedText]>::len);
        let levels = || self.all_levels().filter(|level| level.locations.have_wildcards());
        *self.glob_count.get_or_init(|| levels().map(globs).sum())
    }

    /// Returns the approximate memory of the configuration, in bytes: each use of an alias makes a separate level.
    fn size(&self) -> usize {
        let of_level = |level: &LevelConfig| {
            let declared = level.locations.declared().iter();
            size_of::<LevelConfig>() + declared.map(|one| size_of::<PlacedText>() + one.text.len()).sum::<usize>()
        };
        self.source.len() + self.all_levels().map(of_level).sum::<usize>()
    }

    /// Returns an error if the configuration cannot be resolved to a hierarchy.
    pub fn sound(&self) -> Result<(), LookupError> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Returns Puppet's error about the undefined variable `name`, which names the line that uses it.
    pub fn undefined_variable(&self, name: &str) -> LookupError {
        let pattern = format!(r#"%\{{['"]?{name}['"]?}}"#);
        match node::line_matching(&self.source, &pattern, 1) {
            Ok(line) => LookupError::bare(format!("Undefined variable '{name}' {}", node::in_file(&self.path, line))),
            Err(error) => error,
        }
    }

    /// Returns the configuration that is used if there is no hiera.yaml at `path`, in the global layer or with
    /// `data_provider: hiera`. It reads `data/common.yaml`.
    pub fn implied(path: &str) -> Config {
        let path: Arc<str> = path.into();
        let place = Place::file(path.clone());
        Config {
            levels: vec![LevelConfig {
                name: "Common".into(),
                place: place.clone(),
                function: Function { kind: FunctionKind::DataHash, name: "yaml_data".into() },
                datadir: "data".into(),
                locations: Locations::of_paths(vec![PlacedText { text: "common.yaml".into(), place }]),
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
            glob_count: OnceLock::new(),
        }
    }
}

/// Returns the first level that has the same name as an earlier one.
fn first_duplicate(levels: &[LevelConfig]) -> Option<&LevelConfig> {
    let mut seen = HashSet::new();
    levels.iter().find(|level| !seen.insert(&level.name))
}

fn duplicate_name_error(file: &Node<'_>, levels: &[LevelConfig]) -> Option<LookupError> {
    let duplicate = first_duplicate(levels)?;
    let text = format!("Hierarchy name '{}' defined more than once.", duplicate.name);
    let pattern = format!(r#"\s+name:\s+['"]?{}(?:[^\w]|$)"#, duplicate.name);
    Some(file.refuse_second(&text, &pattern, duplicate.place.clone()))
}
