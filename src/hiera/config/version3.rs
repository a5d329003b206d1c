//! hiera.yaml of version 3, as Puppet reads it.

use std::sync::{Arc, LazyLock, OnceLock};

use super::node::{Node, fill as fill_in};
use super::{Config, Function, FunctionKind, LevelConfig, Locations, PlacedText, first_duplicate};
use crate::hiera::LookupError;
use crate::puppet::types;
use crate::value::rich::types::{Element, Texts};
use crate::value::{Hash, Type, Value};

/// The type that Puppet declares, without the sections of the backends.
const SHAPE: &str = "Struct[{
    Optional[version] => Integer[3, 3],
    Optional[backends] => Variant[String[1], Array[String[1]]],
    Optional[logger] => String[1],
    Optional[merge_behavior] => Enum[deep, deeper, native],
    Optional[deep_merge_options] => Hash[String[1], Variant[String, Boolean]],
    Optional[hierarchy] => Variant[String[1], Array[String[1]]]
}]";

/// The type of a backend's section.
const SECTION: &str = "Hash[String[1], Any]";

const DEFAULT_HIERARCHY: [&str; 2] = ["nodes/%{::trusted.certname}", "common"];

/// The default datadir.
const DEFAULT_DATADIR: &str = "/etc/puppetlabs/code/environments/%{::environment}/hieradata";

/// Fills in the defaults of a configuration.
pub(super) fn fill(config: &mut Hash) {
    let list = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect();
    fill_in(config, "version", || 3.into());
    fill_in(config, "backends", || list(&["yaml"]));
    fill_in(config, "hierarchy", || list(&DEFAULT_HIERARCHY));
    fill_in(config, "merge_behavior", || "native".into());
    fill_in(config, "deep_merge_options", || Value::hash(Hash::new()));
}

/// Returns the type of a configuration, in which each of its backends may have a section.
pub(super) fn shape(file: &Node<'_>) -> Result<Type, LookupError> {
    static PARSED: LazyLock<Result<[Type; 2], LookupError>> =
        LazyLock::new(|| Ok([types::parse(SHAPE)?, types::parse(SECTION)?]));
    let [shape, section] = PARSED.as_ref().map_err(Clone::clone)?;
    let Type::Struct(elements) = shape else { return Ok(shape.clone()) };
    let mut elements = elements.to_vec();
    for backend in file.entry("backends").iter().flat_map(flat) {
        let Value::String(name) = backend.value else {
            let text = "undefined method `string' for a type calculator: a backend is no text";
            return Err(LookupError::bare(text).at(backend.place()));
        };
        let key = Type::Optional(Some(Type::String(Texts::Value(name.clone())).into()));
        match elements.iter_mut().find(|element| element.name() == name) {
            Some(element) => element.value = section.clone(),
            None => elements.push(Element { key, value: section.clone() }),
        }
    }
    Ok(Type::Struct(elements.into()))
}

/// Returns the node, or the items of an array and of arrays nested in it.
fn flat<'a>(node: &Node<'a>) -> Vec<Node<'a>> {
    if node.value.as_array().is_some() { node.items().iter().flat_map(flat).collect() } else { vec![node.clone()] }
}

/// Returns the configuration of the global layer.
pub(super) fn parse(file: &Node<'_>) -> Config {
    let declared = |key| file.entry(key).iter().flat_map(flat).map(|node| node.declared()).collect::<Vec<_>>();
    let hierarchy = declared("hierarchy");
    let levels: Vec<LevelConfig> =
        declared("backends").into_iter().map(|backend| level(file, backend, &hierarchy)).collect();
    let fault = first_duplicate(&levels).map(|duplicate| {
        let text = format!("Backend '{}' is defined more than once.", duplicate.name);
        file.refuse_second(&text, &format!(r"[^\w]{}(?:[^\w]|$)", duplicate.name), duplicate.place.clone())
    });
    Config {
        path: file.path(),
        source: file.source(),
        version: 3,
        levels,
        default_hierarchy: None,
        fault,
        implied: false,
        hiera3: None,
        glob_count: OnceLock::new(),
    }
}

/// Returns the level of a backend. Its options are the whole section, as written.
fn level(file: &Node<'_>, backend: PlacedText, hierarchy: &[PlacedText]) -> LevelConfig {
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
        locations: Locations::of_paths(hierarchy.to_vec()),
        options: section.unwrap_or_else(|| Value::hash(Hash::new())),
        version4: None,
    }
}
