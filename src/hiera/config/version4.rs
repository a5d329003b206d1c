//! hiera.yaml of version 4.

use std::sync::{Arc, LazyLock, OnceLock};

use super::node::{Node, fill as fill_in, texts};
use super::{Config, Function, FunctionKind, LevelConfig, Locations, Version4, duplicate_name_error};
use crate::hiera::LookupError;
use crate::puppet;
use crate::puppet::types;
use crate::value::{Hash, Type, Value};

/// The type that Puppet declares.
const SHAPE: &str = "Struct[{
    version => Integer[4, 4],
    Optional[datadir] => String[1],
    Optional[hierarchy] => Array[Struct[{
        backend => String[1],
        name => String[1],
        Optional[datadir] => String[1],
        Optional[path] => String[1],
        Optional[paths] => Array[String[1]]
    }]]
}]";

/// Returns the type of a configuration.
pub(super) fn shape() -> Result<&'static Type, LookupError> {
    static PARSED: LazyLock<Result<Type, puppet::Error>> = LazyLock::new(|| types::parse(SHAPE));
    PARSED.as_ref().map_err(|error| error.clone().into())
}

/// Fills in the defaults of a configuration.
pub(super) fn fill(config: &mut Hash) {
    fill_in(config, "datadir", || "data".into());
    fill_in(config, "hierarchy", || Value::array(vec![texts([("name", "common"), ("backend", "yaml")])]));
}

pub(super) fn parse(file: &Node<'_>) -> Config {
    let datadir = file.entry_text("datadir").unwrap_or_default();
    let entries = file.entry("hierarchy").map(|node| node.items()).unwrap_or_default();
    let levels: Vec<LevelConfig> = entries.iter().map(|entry| level(entry, &datadir)).collect();
    let unknown = entries.iter().enumerate().find_map(|(at, entry)| Some((at, unknown_backend(file, entry)?)));
    // Puppet checks one level after the other.
    let checked_count = unknown.as_ref().map_or(levels.len(), |(at, _)| at + 1);
    let duplicate = duplicate_name_error(file, &levels[..checked_count]);
    let fault = duplicate.or_else(|| unknown.map(|(_, error)| error));
    Config {
        path: file.path(),
        source: file.source(),
        version: 4,
        levels,
        fault,
        default_hierarchy: None,
        implied: false,
        hiera3: None,
        glob_count: OnceLock::new(),
    }
}

fn level(node: &Node<'_>, default: &Arc<str>) -> LevelConfig {
    let (function, extension) = match node.entry_text("backend").as_deref() {
        Some("json") => ("json_data", ".json"),
        Some("hocon") => ("hocon_data", ".conf"),
        _ => ("yaml_data", ".yaml"),
    };
    let paths = match (node.entry("paths"), node.entry("path").or_else(|| node.entry("name"))) {
        (Some(paths), _) => paths.items(),
        (None, path) => path.into_iter().collect(),
    };
    LevelConfig {
        name: node.entry_text("name").unwrap_or_default(),
        place: node.place(),
        function: Function { kind: FunctionKind::DataHash, name: function.into() },
        datadir: node.entry_text("datadir").unwrap_or_else(|| default.clone()),
        locations: Locations::of_paths(paths.iter().map(Node::declared).collect()),
        options: Value::hash(Hash::new()),
        version4: Some(Version4 { extension }),
    }
}

fn unknown_backend(file: &Node<'_>, node: &Node<'_>) -> Option<LookupError> {
    let backend = node.entry_text("backend")?;
    let is_known = matches!(&*backend, "yaml" | "json" | "hocon");
    let text = format!("No data provider is registered for backend '{backend}'");
    let line = format!(r"[^\w]{backend}(?:[^\w]|$)");
    (!is_known).then(|| file.refuse_line(&text, &line, node.entry_place("backend")))
}
