//! hiera.yaml of version 5.

use std::sync::{Arc, LazyLock, OnceLock};

use super::locations::{Count, KINDS};
use super::node::{Node, fill as fill_in, texts};
use super::{Config, Function, FunctionKind, LevelConfig, Locations, Owner, duplicate_name_error};
use crate::hiera::LookupError;
use crate::puppet::Puppet;
use crate::value::rich::types::{Alias, Element, OwnAlias, Range, Texts};
use crate::value::{Hash, Type, Value};

/// The pattern for the names of options.
const OPTION: &str = r"\A[A-Za-z](:?[0-9A-Za-z_-]*[0-9A-Za-z])?\z";

const RESERVED_OPTIONS: [&str; 2] = ["path", "uri"];

/// Returns the type that Puppet declares. It is built piece by piece, since parsing its text takes longer than
/// reading a hiera.yaml.
pub(super) fn shape() -> &'static Type {
    static SHAPE: LazyLock<Type> = LazyLock::new(|| {
        let hierarchy = Type::array(level_shape(), None);
        Type::Struct(Arc::new([
            Element { key: exact_text("version"), value: Type::Integer(Range::exactly(5)) },
            optional("defaults", defaults_shape()),
            optional("hierarchy", hierarchy.clone()),
            optional("plan_hierarchy", hierarchy.clone()),
            optional("default_hierarchy", hierarchy),
        ]))
    });
    &SHAPE
}

fn level_shape() -> Type {
    let texts = |count: &Count| match count {
        Count::One => text_type(),
        Count::AtLeastOne => Type::array(text_type(), Some(Range::at_least(1))),
        Count::Exactly(count) => Type::array(text_type(), Some(Range::exactly(*count))),
    };
    let of_locations = KINDS.iter().flat_map(|kind| kind.keys()).map(|(key, count)| optional(key, texts(count)));
    let others = [
        Element { key: exact_text("name"), value: text_type() },
        optional("options", options_type()),
        optional("data_hash", text_type()),
        optional("lookup_key", text_type()),
        optional("hiera3_backend", text_type()),
        optional("v4_data_hash", text_type()),
        optional("data_dig", text_type()),
    ];
    Type::Struct(others.into_iter().chain(of_locations).chain([optional("datadir", text_type())]).collect())
}

fn defaults_shape() -> Type {
    Type::Struct(Arc::new([
        optional("data_hash", text_type()),
        optional("lookup_key", text_type()),
        optional("data_dig", text_type()),
        optional("datadir", text_type()),
        optional("options", options_type()),
    ]))
}

fn exact_text(name: &str) -> Type {
    Type::String(Texts::Value(name.into()))
}

fn optional(key: &str, value: Type) -> Element {
    Element { key: Type::Optional(Some(Arc::new(exact_text(key)))), value }
}

/// Returns the type of a text that is not empty.
fn text_type() -> Type {
    Type::String(Texts::Size(Range::at_least(1)))
}

fn options_type() -> Type {
    let data = Type::Alias(Alias::Own(OwnAlias::Data));
    Type::hash(Type::Pattern(Arc::new([Some(OPTION.into())])), data, None)
}

/// Fills in the defaults of a configuration.
pub(super) fn fill(config: &mut Hash) {
    fill_in(config, "defaults", || texts([("datadir", "data"), ("data_hash", "yaml_data")]));
    fill_in(config, "hierarchy", || Value::array(vec![texts([("name", "Common"), ("path", "common.yaml")])]));
}

/// The entry `defaults` of hiera.yaml.
struct Defaults {
    function: Option<Function>,
    datadir: Arc<str>,
    options: Option<Value>,
    owner: Owner,
    puppet: Puppet,
}

pub(super) fn parse(file: &Node<'_>, owner: Owner, puppet: Puppet) -> Result<Config, LookupError> {
    let defaults = defaults(file, owner, puppet)?;
    let levels = |key| file.entry(key).map(|node| defaults.levels(&node)).transpose();
    let hierarchy = levels("hierarchy")?.unwrap_or_default();
    levels("plan_hierarchy")?;
    if let (Some(node), Owner::Global | Owner::Environment) = (file.entry("default_hierarchy"), owner) {
        let text = "'default_hierarchy' is only allowed in the module layer";
        return Err(file.refuse_line(text, r"(?:^|\s+)default_hierarchy:", node.place()));
    }
    let default_hierarchy = levels("default_hierarchy")?;
    let fault =
        duplicate_name_error(file, &hierarchy).or_else(|| duplicate_name_error(file, default_hierarchy.as_deref()?));
    Ok(Config {
        path: file.path(),
        source: file.source(),
        version: 5,
        levels: hierarchy,
        fault,
        default_hierarchy,
        implied: false,
        hiera3: None,
        glob_count: OnceLock::new(),
    })
}

fn defaults(file: &Node<'_>, owner: Owner, puppet: Puppet) -> Result<Defaults, LookupError> {
    let node = file.entry("defaults").unwrap_or_else(|| file.clone());
    let functions = functions(&node);
    if functions.len() > 1 {
        let text = "Only one of data_hash, lookup_key, data_dig, or hiera3_backend can be defined in defaults";
        return Err(file.refuse(text, node.place()));
    }
    if let Some(key) = reserved_option(&node) {
        let text = format!("Option key '{key}' used in defaults is reserved by {}", puppet.name());
        return Err(file.refuse(&text, node.entry_place("options")));
    }
    Ok(Defaults {
        function: functions.into_iter().next(),
        datadir: node.entry_text("datadir").unwrap_or_else(|| "data".into()),
        options: node.entry("options").map(|options| options.value.clone()),
        owner,
        puppet,
    })
}

impl Defaults {
    fn levels(&self, node: &Node<'_>) -> Result<Vec<LevelConfig>, LookupError> {
        node.items().iter().map(|level| self.level(level)).collect()
    }

    fn level(&self, node: &Node<'_>) -> Result<LevelConfig, LookupError> {
        let name = node.entry_text("name").unwrap_or_default();
        let function = self.function(node, &name)?;
        let locations = locations(node, &name)?;
        if let Some(key) = reserved_option(node) {
            let text = format!("Option key '{key}' used in hierarchy '{name}' is reserved by {}", self.puppet.name());
            return Err(node.refuse(&text, node.entry_place("options")));
        }
        let options = node.entry("options").map(|options| options.value.clone());
        Ok(LevelConfig {
            name,
            place: node.place(),
            function,
            datadir: node.entry_text("datadir").unwrap_or_else(|| self.datadir.clone()),
            locations,
            options: options.or_else(|| self.options.clone()).unwrap_or_else(|| Value::hash(Hash::new())),
            version4: None,
        })
    }

    fn function(&self, node: &Node<'_>, name: &str) -> Result<Function, LookupError> {
        let kinds = "data_hash, lookup_key, data_dig, or hiera3_backend";
        let functions = functions(node);
        if functions.len() > 1 {
            return Err(node.refuse(&format!("Only one of {kinds} can be defined in hierarchy '{name}'"), node.place()));
        }
        let Some(function) = functions.into_iter().next().or_else(|| self.function.clone()) else {
            return Err(node.refuse(&format!("One of {kinds} must be defined in hierarchy '{name}'"), node.place()));
        };
        if function.kind == FunctionKind::Hiera3Backend {
            self.hiera3_backend(node, &function.name)?;
        }
        Ok(function)
    }

    /// Returns an error if a class of Hiera 3 is not allowed here, or has the name of a format that Puppet reads
    /// itself.
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

fn functions(node: &Node<'_>) -> Vec<Function> {
    let declared = FunctionKind::ALL.into_iter();
    declared.filter_map(|kind| Some(Function { kind, name: node.entry_text(kind.tag())? })).collect()
}

fn reserved_option(node: &Node<'_>) -> Option<&'static str> {
    let options = node.entry("options")?;
    RESERVED_OPTIONS.into_iter().find(|key| options.entry(key).is_some())
}

/// Returns the locations of the level `name`, which may have only one of their keys.
fn locations(level: &Node<'_>, name: &str) -> Result<Locations, LookupError> {
    let keys = || KINDS.iter().flat_map(|kind| kind.keys().iter().map(move |(key, _)| (*kind, *key)));
    let mut written = keys().filter_map(|(kind, key)| Some((kind, level.entry(key)?)));
    let Some((kind, node)) = written.next() else { return Ok(Locations::none()) };
    if written.next().is_some() {
        let mut keys: Vec<&str> = keys().map(|(_, key)| key).collect();
        let last = keys.pop().unwrap_or_default();
        let text = format!("Only one of {}, or {last} can be defined in hierarchy '{name}'", keys.join(", "));
        return Err(level.refuse(&text, level.place()));
    }
    Ok(Locations::new(kind, node.one_or_many().iter().map(Node::declared).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puppet::types;

    /// The type of a hierarchy.
    const HIERARCHY: &str = r"Array[Struct[{
    name => String[1],
    Optional[options] => Hash[Pattern[/\A[A-Za-z](:?[0-9A-Za-z_-]*[0-9A-Za-z])?\z/], Data],
    Optional[data_hash] => String[1],
    Optional[lookup_key] => String[1],
    Optional[hiera3_backend] => String[1],
    Optional[v4_data_hash] => String[1],
    Optional[data_dig] => String[1],
    Optional[path] => String[1],
    Optional[paths] => Array[String[1], 1],
    Optional[glob] => String[1],
    Optional[globs] => Array[String[1], 1],
    Optional[uri] => String[1],
    Optional[uris] => Array[String[1], 1],
    Optional[mapped_paths] => Array[String[1], 3, 3],
    Optional[datadir] => String[1]
}]]";

    /// The type of `defaults`.
    const DEFAULTS: &str = r"Struct[{
    Optional[data_hash] => String[1],
    Optional[lookup_key] => String[1],
    Optional[data_dig] => String[1],
    Optional[datadir] => String[1],
    Optional[options] => Hash[Pattern[/\A[A-Za-z](:?[0-9A-Za-z_-]*[0-9A-Za-z])?\z/], Data]
}]";

    #[test]
    fn the_type_is_as_puppet_writes_it() {
        let written = format!(
            "Struct[{{
                version => Integer[5, 5],
                Optional[defaults] => {DEFAULTS},
                Optional[hierarchy] => {HIERARCHY},
                Optional[plan_hierarchy] => {HIERARCHY},
                Optional[default_hierarchy] => {HIERARCHY}
            }}]"
        );
        assert_eq!(format!("{:?}", shape()), format!("{:?}", types::parse(&written).unwrap()));
    }
}
