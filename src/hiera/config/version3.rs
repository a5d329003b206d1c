//! hiera.yaml of version 3.

use std::sync::Arc;

use super::check::Node;
use super::{Config, Declared, Function, FunctionKind, LevelConfig, Locations};
use crate::hiera::{LookupError, types};
use crate::value::{Hash, Value};

const DEFAULT_HIERARCHY: [&str; 2] = ["nodes/%{::trusted.certname}", "common"];

/// Where Puppet looks for data if the file does not say.
const DEFAULT_DATADIR: &str = "/etc/puppetlabs/code/environments/%{::environment}/hieradata";

/// Refuses what Puppet refuses. A file that is no hash stands for the default configuration.
pub(super) fn check(file: &Node<'_>) -> Result<(), LookupError> {
    if !matches!(file.value, Value::Hash(_)) {
        return Ok(());
    }
    let present = |key: &str| file.entry(key).filter(|node| node.value.is_truthy());
    let backends = present("backends").map(|node| texts(&node)).transpose()?.unwrap_or_else(|| vec!["yaml".into()]);
    let known = ["version", "backends", "logger", "merge_behavior", "deep_merge_options", "hierarchy"];
    let allowed: Vec<&str> = known.into_iter().chain(backends.iter().map(|name| &**name)).collect();
    file.structure(&allowed)?;
    if let Some(version) = present("version")
        && !matches!(version.value, Value::Integer(3))
    {
        return Err(version.expects("Integer"));
    }
    present("hierarchy").map(|node| texts(&node)).transpose()?;
    file.entry("logger").map(|node| node.text()).transpose()?;
    if let Some(behavior) = present("merge_behavior")
        && !behavior.value.as_str().is_some_and(|text| ["deep", "deeper", "native"].contains(&text))
    {
        let shown = behavior
            .value
            .as_str()
            .map_or_else(|| types::short_name(behavior.value).to_owned(), |text| format!("'{text}'"));
        return Err(behavior.mismatch(&format!("expects a match for Enum['deep', 'deeper', 'native'], got {shown}")));
    }
    for name in &backends {
        file.entry(name).map(|node| node.hash().map(|_| ())).transpose()?;
    }
    present("deep_merge_options").map(|node| node.hash().map(|_| ())).transpose()?;
    Ok(())
}

/// The configuration of the global layer.
pub(super) fn parse(file: &Node<'_>) -> Result<Config, LookupError> {
    let present = |key: &str| file.entry(key).filter(|node| node.value.is_truthy());
    let declared = |node: Node<'_>| Ok(Declared { text: node.text()?, place: node.place() });
    let hierarchy = match present("hierarchy") {
        Some(node) => one_or_many(&node)?.into_iter().map(declared).collect::<Result<Vec<_>, LookupError>>()?,
        None => DEFAULT_HIERARCHY.map(|text| Declared { text: text.into(), place: file.place() }).to_vec(),
    };
    let backends = match present("backends") {
        Some(node) => one_or_many(&node)?.into_iter().map(declared).collect::<Result<Vec<_>, LookupError>>()?,
        None => vec![Declared { text: "yaml".into(), place: file.place() }],
    };
    let mut levels: Vec<LevelConfig> = Vec::new();
    for backend in backends {
        if levels.iter().any(|level| level.name == backend.text) {
            let text = format!("Backend '{}' is defined more than once", backend.text);
            return Err(file.refuse(&text, backend.place));
        }
        levels.push(level(file, backend, &hierarchy));
    }
    Ok(Config {
        path: file.path(),
        source: file.source(),
        version: 3,
        levels,
        default_hierarchy: None,
        fault: None,
        implied: false,
        hiera3: None,
    })
}

/// The level of a backend. Its options are the whole section, as written.
fn level(file: &Node<'_>, backend: Declared, hierarchy: &[Declared]) -> LevelConfig {
    let section = file.entry(&backend.text).map(|node| node.value.clone());
    let (kind, name) = match &*backend.text {
        "yaml" | "json" | "hocon" => (FunctionKind::DataHash, format!("{}_data", backend.text).into()),
        "eyaml" => (FunctionKind::LookupKey, "eyaml_lookup_key".into()),
        _ => (FunctionKind::Hiera3Backend, backend.text.clone()),
    };
    let datadir = section.as_ref().and_then(|section| section.get("datadir")?.as_str().map(Arc::from));
    LevelConfig {
        name: backend.text,
        place: backend.place,
        function: Function { kind, name },
        datadir: datadir.unwrap_or_else(|| DEFAULT_DATADIR.into()),
        locations: Locations::Paths(hierarchy.to_vec()),
        options: section.unwrap_or_else(|| Value::hash(Hash::new())),
        version4: None,
    }
}

/// A node, or the items of an array.
fn one_or_many<'a>(node: &Node<'a>) -> Result<Vec<Node<'a>>, LookupError> {
    if node.value.as_array().is_some() { node.items(0) } else { Ok(vec![node.clone()]) }
}

/// A text, or an array of texts.
fn texts(node: &Node<'_>) -> Result<Vec<std::sync::Arc<str>>, LookupError> {
    match node.value {
        Value::String(_) => Ok(vec![node.text()?]),
        Value::Array(_) => node.items(0)?.iter().map(Node::text).collect(),
        _ => {
            let got = crate::hiera::types::short_name(node.value);
            Err(node.mismatch(&format!("expects a value of type String or Array, got {got}")))
        }
    }
}
