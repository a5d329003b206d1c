//! Shared by the fuzz targets: of those of hiera.yaml a small repository around the configurations in the input, and
//! commits that are made of inputs (`objects`).
//!
//! The input of the former is files with a zero byte between them: hiera.yaml of the environment, of a module, of the
//! global layer, environment.conf, metadata.json, Puppetfile, .fixtures.yml. The first is read as that of each layer,
//! too.

pub mod objects;

use std::sync::Arc;

use hierad::hiera::Reader;
use hierad::hiera::config::{Owner, ReadConfig};
use hierad::hiera::hierarchy::Datadir;
use hierad::hiera::layer::{Environment, EnvironmentOptions, GlobalConfig};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::merge::Strategy;
use hierad::hiera::scope::NodeScope;
use hierad::node::NodeProfile;
use hierad::puppet::Puppet;
use hierad::puppet::yaml;
use hierad::tree::{Entry, FileTree, MemoryTree, MountedTree};
use hierad::value::Value;

const FILES: [&str; 7] = [
    "hiera.yaml",
    "modules/m/hiera.yaml",
    "global/hiera.yaml",
    "environment.conf",
    "modules/m/metadata.json",
    "Puppetfile",
    ".fixtures.yml",
];

/// The folder of Hiera 3's default datadirs; here it is the repository.
const CODE: &str = "/etc/puppetlabs/code/environments/production";

/// The folder of data.
const DATA_FILES: [&str; 9] = [
    "data/common.yaml",
    "global/data/common.yaml",
    "data/n.yaml",
    "data/v/w.yaml",
    "data/n.eyaml",
    "data/common.conf",
    "hieradata/common.yaml",
    "modules/m/data/common.yaml",
    "d/a.json",
];

/// The same in YAML, JSON and HOCON.
const DATA: &[u8] =
    br#"{"lookup_options": {"a": {"merge": "deep"}, "^m::": {"merge": "unique"}}, "a": {"x": [1]}, "m::a": [1, "%{v}", "%{hiera('a')}"]}"#;

/// Reads and uses configurations of `version`, in each layer, as both Puppets, and one of version 3 as Hiera 3, too.
/// False for input that is of another version.
pub fn hiera_yaml(version: i64, content: &[u8]) -> bool {
    let mut contents = content.split(|byte| *byte == 0);
    let Some(first) = contents.next().filter(|first| is_of(version, first)) else { return false };
    for owner in [Owner::Global, Owner::Environment, Owner::Module] {
        for puppet in [Puppet::V7, Puppet::V8] {
            _ = ReadConfig::new(first, "hiera.yaml", owner, puppet);
        }
    }
    let tree = tree(first, contents);
    for puppet in [Puppet::V7, Puppet::V8] {
        lookups(&tree, puppet, Reader::Puppet, if version == 3 { "hiera.yaml" } else { "global/hiera.yaml" });
    }
    if version == 3 {
        lookups(&tree, Puppet::V8, Reader::Hiera3, "nowhere");
        lookups(&tree, Puppet::V8, Reader::Auto, "nowhere");
    }
    true
}

/// Returns true if a file may be of `version`; one that cannot be read may be of any.
pub fn is_of(version: i64, content: &[u8]) -> bool {
    let parsed = yaml::parse(content);
    let (value, _) = yaml::symkeys_to_string(parsed.value, parsed.marks);
    match (&value, value.get("version")) {
        (Value::Hash(_), None) => version == 3,
        (_, Some(Value::Integer(number))) => *number == version,
        _ => true,
    }
}

fn tree<'c>(first: &'c [u8], others: impl Iterator<Item = &'c [u8]>) -> Arc<dyn FileTree> {
    let mut tree = MemoryTree::new();
    for (path, content) in FILES.into_iter().zip(std::iter::once(first).chain(others)) {
        tree.add(path, content);
    }
    for path in DATA_FILES {
        tree.add(path, DATA);
    }
    tree.insert("data/link.yaml", Entry::Link("../d/a.json".to_owned()));
    tree.insert("data/loop", Entry::Link(".".to_owned()));
    tree.insert("data/out", Entry::Link("/etc".to_owned()));
    Arc::new(tree)
}

fn lookups(tree: &Arc<dyn FileTree>, puppet: Puppet, reader: Reader, global: &str) {
    let mut node = NodeProfile { name: "n".into(), environment: "production".into(), ..NodeProfile::default() };
    node.variables.insert("v", "%{name}".into());
    node.variables.insert("l", Value::array(vec!["n".into(), Value::Undef, 1.into()]));
    let scope = NodeScope::new(&node);
    let disk = Arc::new(MountedTree::new("/outside", tree.clone()));
    let options = EnvironmentOptions {
        puppet,
        reader,
        global: Some(GlobalConfig { tree: Some(disk.clone()), path: format!("/outside/{global}") }),
        basemodulepath: vec!["/outside/modules".to_owned()],
        disk,
        datadirs: vec![(CODE.to_owned(), Datadir::Folder(String::new()))],
        ..EnvironmentOptions::default()
    };
    let Ok(environment) = Environment::load(tree.clone(), options, Arc::default()) else { return };
    let sources = NodeSources::new(&environment, &scope);
    let lookup = Lookup::new(&environment, &sources, &scope);
    let strategies = ["first", "unique", "hash"].map(|name| Strategy::from_option(&name.into()));
    for key in ["a", "m::a", "none.x"] {
        _ = lookup.get(key, None);
        for strategy in strategies.iter().flatten() {
            _ = lookup.get(key, Some(strategy));
        }
    }
}
