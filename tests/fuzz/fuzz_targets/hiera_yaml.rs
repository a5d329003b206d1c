//! No configuration makes loading an environment or a lookup in it panic or go on without end.
//!
//! The input is files with a zero byte between them: hiera.yaml of the environment, of a module, environment.conf, metadata.json.
#![no_main]

use std::sync::Arc;

use hierad::hiera::Puppet;
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::hiera::lookup::{Hierarchies, Lookup};
use hierad::hiera::scope::NodeScope;
use hierad::node::NodeProfile;
use hierad::tree::{Entry, MemoryTree};
use hierad::value::Value;
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 4] = ["hiera.yaml", "modules/m/hiera.yaml", "environment.conf", "modules/m/metadata.json"];
const DATA: &[u8] = b"lookup_options: {a: {merge: deep}, '^m::': {merge: unique}}\na: {x: [1]}\nm::a: [1, '%{v}']\n";

fuzz_target!(|content: &[u8]| {
    let mut tree = MemoryTree::new();
    for (path, content) in FILES.into_iter().zip(content.split(|byte| *byte == 0)) {
        tree.add(path, content);
    }
    for path in ["data/common.yaml", "data/n.yaml", "data/v/w.yaml", "modules/m/data/common.yaml", "d/a.json"] {
        tree.add(path, DATA);
    }
    tree.insert("data/link.yaml", Entry::Link("../d/a.json".to_owned()));
    tree.insert("data/loop", Entry::Link(".".to_owned()));
    tree.insert("data/out", Entry::Link("/etc".to_owned()));
    let tree = Arc::new(tree);
    let mut node = NodeProfile { name: "n".into(), environment: "production".into(), ..NodeProfile::default() };
    node.variables.insert("v", "%{name}".into());
    node.variables.insert("l", Value::array(vec!["n".into(), Value::Undef, 1.into()]));
    let scope = NodeScope::new(&node);
    for puppet in [Puppet::V7, Puppet::V8] {
        let options = EnvironmentOptions { puppet, ..EnvironmentOptions::default() };
        let Ok(environment) = Environment::load(tree.clone(), options, Arc::default()) else { return };
        let hierarchies = Hierarchies::resolve(&environment, &scope);
        let lookup = Lookup::new(&environment, &hierarchies, &scope);
        for key in ["a", "m::a", "none.x"] {
            _ = lookup.get(key, None);
        }
    }
});
