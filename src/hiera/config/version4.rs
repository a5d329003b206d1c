//! hiera.yaml of version 4.

use std::sync::Arc;

use super::check::Node;
use super::{Config, Declared, Function, FunctionKind, LevelConfig, Locations, Version4};
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::value::{Hash, Value};

pub(super) fn parse(file: &Node<'_>) -> Result<Config, LookupError> {
    file.structure(&["version", "datadir", "hierarchy"])?;
    if !matches!(file.entry("version").map(|node| node.value), Some(Value::Integer(4))) {
        return Err(file.entry("version").unwrap_or_else(|| file.clone()).expects("Integer"));
    }
    let present = |key: &str| file.entry(key).filter(|node| node.value.is_truthy());
    let datadir = present("datadir").map(|node| node.text()).transpose()?.unwrap_or_else(|| "data".into());
    let levels = match present("hierarchy") {
        Some(node) => {
            node.items(0)?.iter().map(|level| parse_level(file, level, &datadir)).collect::<Result<_, _>>()?
        }
        None => vec![level(file.place(), "common".into(), "yaml", datadir, None)],
    };
    super::version5::check_names(file, &levels)?;
    Ok(Config {
        path: file.path(),
        source: file.source(),
        version: 4,
        levels,
        default_hierarchy: None,
        implied: false,
        hiera3: None,
    })
}

fn parse_level(file: &Node<'_>, node: &Node<'_>, default: &Arc<str>) -> Result<LevelConfig, LookupError> {
    node.structure(&["backend", "name", "datadir", "path", "paths"])?;
    let required =
        |key: &str| node.entry(key).ok_or_else(|| node.mismatch(&format!("expects a value for key '{key}'")))?.text();
    let (backend, name) = (required("backend")?, required("name")?);
    let datadir = node.entry("datadir").map(|node| node.text()).transpose()?.unwrap_or_else(|| default.clone());
    let declare = |node: &Node<'_>| Ok(Declared { text: node.text()?, place: node.place() });
    let path = node.entry("path").map(|node| declare(&node)).transpose()?;
    let paths = match node.entry("paths") {
        Some(paths) => Some(paths.items(0)?.iter().map(declare).collect::<Result<_, _>>()?),
        None => path.map(|path| vec![path]),
    };
    match &*backend {
        "yaml" | "json" | "hocon" => Ok(level(node.place(), name, &backend, datadir, paths)),
        other => {
            let text = format!("No data provider is registered for backend '{other}'");
            Err(file.refuse_line(&text, &format!(r"[^\w]{other}(?:[^\w]|$)"), node.entry_place("backend")))
        }
    }
}

fn level(place: Place, name: Arc<str>, backend: &str, datadir: Arc<str>, paths: Option<Vec<Declared>>) -> LevelConfig {
    let (function, extension) = match backend {
        "json" => ("json_data", ".json"),
        "hocon" => ("hocon_data", ".conf"),
        _ => ("yaml_data", ".yaml"),
    };
    let named = || vec![Declared { text: name.clone(), place: place.clone() }];
    LevelConfig {
        locations: Locations::Paths(paths.unwrap_or_else(named)),
        name,
        place,
        function: Function { kind: FunctionKind::DataHash, name: function.into() },
        datadir,
        options: Value::hash(Hash::new()),
        version4: Some(Version4 { extension }),
    }
}
