//! hiera.yaml of version 5.

use std::collections::HashSet;
use std::sync::Arc;

use super::check::{Node, in_file, line_matching};
use super::{Config, Declared, Function, FunctionKind, LevelConfig, Locations, Owner};
use crate::hiera::LookupError;
use crate::value::{Hash, Value};

const TOP_KEYS: [&str; 5] = ["version", "defaults", "hierarchy", "plan_hierarchy", "default_hierarchy"];
const DEFAULTS_KEYS: [&str; 5] = ["data_hash", "lookup_key", "data_dig", "datadir", "options"];
const LOCATION_KEYS: [&str; 7] = ["path", "paths", "glob", "globs", "uri", "uris", "mapped_paths"];
const LEVEL_KEYS: [&str; 15] = [
    "name",
    "options",
    "data_hash",
    "lookup_key",
    "hiera3_backend",
    "v4_data_hash",
    "data_dig",
    "path",
    "paths",
    "glob",
    "globs",
    "uri",
    "uris",
    "mapped_paths",
    "datadir",
];
const RESERVED_OPTIONS: [&str; 2] = ["path", "uri"];

/// `defaults`, checked.
struct Defaults {
    function: Option<Function>,
    datadir: Arc<str>,
    options: Option<Value>,
}

pub(super) fn parse(file: &Node<'_>, owner: Owner) -> Result<Config, LookupError> {
    file.structure(&TOP_KEYS)?;
    if !matches!(file.entry("version").map(|v| v.value), Some(Value::Integer(5))) {
        return Err(file.entry("version").unwrap_or_else(|| file.clone()).expects("Integer"));
    }
    let defaults = defaults(file)?;
    // Puppet checks all shapes before it looks at what they mean.
    let reader = Reader { defaults: &defaults, owner };
    let hierarchy = present(file, "hierarchy").map(|node| reader.levels(&node)).transpose()?;
    file.entry("plan_hierarchy").map(|node| reader.levels(&node)).transpose()?;
    let default_hierarchy = file.entry("default_hierarchy");
    if let (Some(node), Owner::Global | Owner::Environment) = (&default_hierarchy, owner) {
        node.items(0)?;
        let text = "'default_hierarchy' is only allowed in the module layer";
        return Err(file.refuse_line(text, r"(?:^|\s+)default_hierarchy:", node.place()));
    }
    let default_hierarchy = default_hierarchy.map(|node| reader.levels(&node)).transpose()?;
    let levels = match hierarchy {
        Some(levels) => levels,
        None => vec![reader.implied_level(file)?],
    };
    let fault = doubled_name(file, &levels).or_else(|| doubled_name(file, default_hierarchy.as_deref()?));
    Ok(Config {
        path: file.path(),
        source: file.source(),
        version: 5,
        levels,
        fault,
        default_hierarchy,
        implied: false,
        hiera3: None,
    })
}

/// Reads levels.
struct Reader<'a> {
    defaults: &'a Defaults,
    owner: Owner,
}

impl Reader<'_> {
    fn levels(&self, node: &Node<'_>) -> Result<Vec<LevelConfig>, LookupError> {
        node.items(0)?.iter().map(|level| self.level(level)).collect()
    }

    fn level(&self, node: &Node<'_>) -> Result<LevelConfig, LookupError> {
        node.structure(&LEVEL_KEYS)?;
        let Some(name) = node.entry("name") else { return Err(node.mismatch("expects a value for key 'name'")) };
        let name = name.text()?;
        let options = node.entry("options").map(|n| n.options()).transpose()?;
        let functions = functions(node)?;
        let datadir = node.entry("datadir").map(|n| n.text()).transpose()?;
        let locations = locations(node)?;
        let function = self.function(node, &name, functions)?;
        if locations.len() > 1 {
            let text = format!(
                "Only one of path, paths, glob, globs, uri, uris, or mapped_paths can be defined in hierarchy '{name}'"
            );
            return Err(node.refuse(&text, node.place()));
        }
        if let Some(key) = options.as_ref().and_then(Value::as_hash).and_then(reserved) {
            let text = format!("Option key '{key}' used in hierarchy '{name}' is reserved by Puppet");
            return Err(node.refuse(&text, node.entry_place("options")));
        }
        Ok(LevelConfig {
            name,
            place: node.place(),
            function,
            datadir: datadir.unwrap_or_else(|| self.defaults.datadir.clone()),
            locations: locations.into_iter().next().unwrap_or(Locations::None),
            options: options.or_else(|| self.defaults.options.clone()).unwrap_or_else(|| Value::hash(Hash::new())),
            version4: None,
        })
    }

    /// The level that stands for a `hierarchy` that is not there.
    fn implied_level(&self, file: &Node<'_>) -> Result<LevelConfig, LookupError> {
        let place = file.place();
        Ok(LevelConfig {
            name: "Common".into(),
            function: self.function(file, "Common", Vec::new())?,
            datadir: self.defaults.datadir.clone(),
            locations: Locations::Paths(vec![Declared { text: "common.yaml".into(), place: place.clone() }]),
            options: self.defaults.options.clone().unwrap_or_else(|| Value::hash(Hash::new())),
            place,
            version4: None,
        })
    }

    fn function(&self, node: &Node<'_>, name: &str, functions: Vec<Function>) -> Result<Function, LookupError> {
        let kinds = "data_hash, lookup_key, data_dig, or hiera3_backend";
        if functions.len() > 1 {
            return Err(node.refuse(&format!("Only one of {kinds} can be defined in hierarchy '{name}'"), node.place()));
        }
        let Some(function) = functions.into_iter().next().or_else(|| self.defaults.function.clone()) else {
            return Err(node.refuse(&format!("One of {kinds} must be defined in hierarchy '{name}'"), node.place()));
        };
        if function.kind == FunctionKind::Hiera3Backend {
            self.hiera3_backend(node, &function.name)?;
        }
        Ok(function)
    }

    /// Where a class of Hiera 3 may be named, and which.
    fn hiera3_backend(&self, node: &Node<'_>, name: &str) -> Result<(), LookupError> {
        let (text, pattern) = match (self.owner, name) {
            (Owner::Environment | Owner::Module, _) => {
                ("'hiera3_backend' is only allowed in the global layer".to_owned(), r"\s+hiera3_backend:".to_owned())
            }
            (Owner::Global, "json" | "yaml" | "hocon") => (
                format!("Use \"data_hash: {name}_data\" instead of \"hiera3_backend: {name}\""),
                format!(r#"\s+hiera3_backend:\s*['"]?{name}(?:[^\w]|$)"#),
            ),
            (Owner::Global, _) => return Ok(()),
        };
        Err(node.refuse_line(&text, &pattern, node.entry_place("hiera3_backend")))
    }
}

/// An entry that is there and not null: Puppet fills in `defaults` and `hierarchy` with `||=`.
fn present<'a>(file: &Node<'a>, key: &str) -> Option<Node<'a>> {
    file.entry(key).filter(|node| node.value.is_truthy())
}

fn defaults(file: &Node<'_>) -> Result<Defaults, LookupError> {
    let Some(node) = present(file, "defaults") else {
        let function = Function { kind: FunctionKind::DataHash, name: "yaml_data".into() };
        return Ok(Defaults { function: Some(function), datadir: "data".into(), options: None });
    };
    node.structure(&DEFAULTS_KEYS)?;
    let functions = functions(&node)?;
    let datadir = node.entry("datadir").map(|n| n.text()).transpose()?;
    let options = node.entry("options").map(|n| n.options()).transpose()?;
    if functions.len() > 1 {
        let text = "Only one of data_hash, lookup_key, data_dig, or hiera3_backend can be defined in defaults";
        return Err(file.refuse(text, node.place()));
    }
    if let Some(key) = options.as_ref().and_then(Value::as_hash).and_then(reserved) {
        let text = format!("Option key '{key}' used in defaults is reserved by Puppet");
        return Err(file.refuse(&text, node.entry_place("options")));
    }
    Ok(Defaults { function: functions.into_iter().next(), datadir: datadir.unwrap_or_else(|| "data".into()), options })
}

fn functions(node: &Node<'_>) -> Result<Vec<Function>, LookupError> {
    let declared = FunctionKind::ALL.into_iter().filter_map(|kind| Some((kind, node.entry(kind.tag())?)));
    declared.map(|(kind, function)| Ok(Function { kind, name: function.text()? })).collect()
}

fn reserved(options: &Hash) -> Option<&'static str> {
    RESERVED_OPTIONS.into_iter().find(|key| options.get(key).is_some())
}

fn locations(node: &Node<'_>) -> Result<Vec<Locations>, LookupError> {
    let mut found = Vec::new();
    for key in LOCATION_KEYS {
        let Some(entry) = node.entry(key) else { continue };
        let declared = match key {
            "path" | "glob" | "uri" => vec![declare(&entry)?],
            "mapped_paths" => mapped_paths(&entry)?,
            _ => entry.items(1)?.iter().map(declare).collect::<Result<_, _>>()?,
        };
        found.push(match key {
            "path" | "paths" => Locations::Paths(declared),
            "glob" | "globs" => Locations::Globs(declared),
            "uri" | "uris" => Locations::Uris(declared),
            _ => Locations::MappedPaths(three(declared).ok_or_else(|| entry.mismatch("expects size to be 3"))?),
        });
    }
    Ok(found)
}

fn mapped_paths(entry: &Node<'_>) -> Result<Vec<Declared>, LookupError> {
    let items = entry.items(0)?;
    if items.len() != 3 {
        return Err(entry.mismatch(&format!("expects size to be 3, got {}", items.len())));
    }
    items.iter().map(declare).collect()
}

fn three(declared: Vec<Declared>) -> Option<[Declared; 3]> {
    declared.try_into().ok()
}

fn declare(node: &Node<'_>) -> Result<Declared, LookupError> {
    Ok(Declared { text: node.text()?, place: node.place() })
}

pub(super) fn doubled_name(file: &Node<'_>, levels: &[LevelConfig]) -> Option<LookupError> {
    let mut seen = HashSet::new();
    let doubled = levels.iter().find(|level| !seen.insert(&level.name))?;
    Some(defined_twice(file, &doubled.name).unwrap_or_else(|error| error).at(doubled.place.clone()))
}

fn defined_twice(file: &Node<'_>, name: &str) -> Result<LookupError, LookupError> {
    let pattern = format!(r#"\s+name:\s+['"]?{name}(?:[^\w]|$)"#);
    let (source, path) = (file.source(), file.path());
    let first = line_matching(&source, &pattern, 1)?;
    let second = first.map(|first| line_matching(&source, &pattern, first + 1)).transpose()?.flatten();
    let text = format!("Hierarchy name '{name}' defined more than once.");
    Ok(LookupError::puppet(match (first, second) {
        (Some(first), Some(_)) => format!("{text} First defined at (line: {first}) {}", in_file(&path, second)),
        _ => format!("{text} {}", in_file(&path, first)),
    }))
}
