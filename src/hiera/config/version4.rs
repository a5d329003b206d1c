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
    let entries = present("hierarchy").map(|node| node.items(0)).transpose()?;
    let levels = match &entries {
        Some(entries) => entries.iter().map(|level| parse_level(level, &datadir)).collect::<Result<_, _>>()?,
        None => vec![level(file.place(), "common".into(), "yaml", datadir, None)],
    };
    let unknown = entries.iter().flatten().find_map(|level| unknown_backend(file, level));
    let fault = unknown.or_else(|| super::version5::doubled_name(file, &levels));
    Ok(Config {
        path: file.path(),
        source: file.source(),
        version: 4,
        levels,
        fault,
        default_hierarchy: None,
        implied: false,
        hiera3: None,
    })
}

fn parse_level(node: &Node<'_>, default: &Arc<str>) -> Result<LevelConfig, LookupError> {
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
    Ok(level(node.place(), name, &backend, datadir, paths))
}

fn unknown_backend(file: &Node<'_>, node: &Node<'_>) -> Option<LookupError> {
    let backend = node.entry("backend")?.text().ok()?;
    let known = matches!(&*backend, "yaml" | "json" | "hocon");
    let text = format!("No data provider is registered for backend '{backend}'");
    let line = format!(r"[^\w]{backend}(?:[^\w]|$)");
    (!known).then(|| file.refuse_line(&text, &line, node.entry_place("backend")))
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
