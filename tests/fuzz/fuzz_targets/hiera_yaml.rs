//! No configuration makes loading an environment or a lookup in it panic or go on without end.
//!
//! The input is files with a zero byte between them: hiera.yaml of the environment, of a module, of the global layer,
//! environment.conf, metadata.json, Puppetfile, .fixtures.yml. The first is read as that of each layer, too.
#![no_main]

use std::sync::Arc;

use hierad::hiera::Puppet;
use hierad::hiera::config::{Config, Owner};
use hierad::hiera::layer::{Environment, EnvironmentOptions, GlobalConfig};
use hierad::hiera::lookup::{Hierarchies, Lookup};
use hierad::hiera::scope::NodeScope;
use hierad::node::NodeProfile;
use hierad::tree::{Entry, FileTree, MemoryTree, Placed};
use hierad::value::Value;
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 7] = [
    "hiera.yaml",
    "modules/m/hiera.yaml",
    "global/hiera.yaml",
    "environment.conf",
    "modules/m/metadata.json",
    "Puppetfile",
    ".fixtures.yml",
];
const DATA: &[u8] = b"lookup_options: {a: {merge: deep}, '^m::': {merge: unique}}\na: {x: [1]}\nm::a: [1, '%{v}']\n";

fuzz_target!(|content: &[u8]| {
    let mut tree = MemoryTree::new();
    for (path, content) in FILES.into_iter().zip(content.split(|byte| *byte == 0)) {
        tree.add(path, content);
    }
    let mut contents = content.split(|byte| *byte == 0);
    if let Some(first) = contents.next() {
        for owner in [Owner::Global, Owner::Environment, Owner::Module] {
            for puppet in [Puppet::V7, Puppet::V8] {
                _ = Config::parse(first, "hiera.yaml", owner, puppet, &mut Vec::new());
            }
        }
    }
    for path in ["data/common.yaml", "global/data/common.yaml", "data/n.yaml", "data/v/w.yaml", "modules/m/data/common.yaml", "d/a.json"] {
        tree.add(path, DATA);
    }
    tree.insert("data/link.yaml", Entry::Link("../d/a.json".to_owned()));
    tree.insert("data/loop", Entry::Link(".".to_owned()));
    tree.insert("data/out", Entry::Link("/etc".to_owned()));
    let tree: Arc<dyn FileTree> = Arc::new(tree);
    let mut node = NodeProfile { name: "n".into(), environment: "production".into(), ..NodeProfile::default() };
    node.variables.insert("v", "%{name}".into());
    node.variables.insert("l", Value::array(vec!["n".into(), Value::Undef, 1.into()]));
    let scope = NodeScope::new(&node);
    for puppet in [Puppet::V7, Puppet::V8] {
        let disk = Arc::new(Placed::new("/outside", tree.clone()));
        let options = EnvironmentOptions {
            puppet,
            global: Some(GlobalConfig { tree: Some(disk.clone()), path: "/outside/global/hiera.yaml".to_owned() }),
            basemodulepath: vec!["/outside/modules".to_owned()],
            disk,
            ..EnvironmentOptions::default()
        };
        let Ok(environment) = Environment::load(tree.clone(), options, Arc::default()) else { return };
        let hierarchies = Hierarchies::resolve(&environment, &scope);
        let lookup = Lookup::new(&environment, &hierarchies, &scope);
        for key in ["a", "m::a", "none.x"] {
            _ = lookup.get(key, None);
        }
    }
});
