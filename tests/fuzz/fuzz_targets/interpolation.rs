//! No text makes interpolation or a lookup panic or go on without end: as a value, a hash key, a variable and a key.
//!
//! The input is texts with a zero byte between them: the first four are values of variables, the others of keys.
#![no_main]

use std::sync::Arc;

use hierad::hiera::interpolation::{Context, NameStack, Resolver, Undefined, interpolate};
use hierad::hiera::key::{LookupKey, split};
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::scope::NodeScope;
use hierad::hiera::{LookupError, Outcome};
use hierad::node::NodeProfile;
use hierad::puppet::Puppet;
use hierad::puppet::json;
use hierad::tree::MemoryTree;
use hierad::value::{Hash, Notation, Segment, Value, ValuePath};
use libfuzzer_sys::fuzz_target;

const CONFIG: &[u8] = b"version: 5\nhierarchy: [{name: h, paths: [a.json, b.json]}]\n";

/// Gives every key back as its value.
struct Echo;

impl Resolver for Echo {
    fn lookup(&self, key: &str, _: &NameStack<'_>) -> Result<Value, LookupError> {
        Ok(key.into())
    }
}

fuzz_target!(|content: &[u8]| {
    let text = String::from_utf8_lossy(content);
    let texts: Vec<&str> = text.split('\0').take(20).collect();
    let (variables, values) = texts.split_at(texts.len().min(4));
    let node = node(variables);
    let scope = NodeScope::new(&node);
    for text in values {
        keys(text);
        let value = Value::hash(Hash::from_iter([(*text, Value::array(vec![(*text).into()]))]));
        for undefined in [Undefined::Empty, Undefined::Error] {
            for resolver in [None, Some(&Echo as &dyn Resolver)] {
                let context = Context {
                    scope: &scope,
                    resolver,
                    stack: &NameStack::default(),
                    undefined,
                    notation: Notation::default(),
                };
                _ = interpolate(&value, &context);
            }
        }
    }
    lookups(&scope, values);
});

fn node(variables: &[&str]) -> NodeProfile {
    let mut node = NodeProfile { name: "n".into(), environment: "production".into(), ..NodeProfile::default() };
    let names = ["v", "w", "x", "y"];
    for (at, (name, text)) in names.into_iter().zip(variables).enumerate() {
        let text = Value::from(*text);
        let value = match at {
            2 => Value::array(vec![text.clone(), Value::Undef]),
            3 => Value::hash(Hash::from_iter([(text.clone(), text)])),
            _ => text,
        };
        node.variables.insert(name, value);
    }
    node
}

/// A key that can be split can be shown, and what is shown leads to the same place.
fn keys(text: &str) {
    let Some(segments) = split(text) else { return };
    if let Ok(key) = LookupKey::parse(text) {
        _ = key.dig(Value::hash(Hash::from_iter([(text, Value::from(text))])), None);
    }
    let path = ValuePath(segments.iter().cloned().map(Segment::Key).collect());
    let shown = path.below("k");
    let plain =
        |segment: &Value| segment.as_str().is_some_and(|s| !s.is_empty() && !s.contains(['\'', '"', '[', '\n']));
    let simple = segments.iter().all(|segment| plain(segment) && split(&segment.to_s()).is_some());
    if simple && let Some(again) = split(&shown) {
        assert_eq!(again.len(), segments.len() + 1, "{shown:?} of {text:?}");
    }
}

fn lookups(scope: &NodeScope, values: &[&str]) {
    let names = ["a", "b", "c", "d", "e", "f"];
    let file = |values: &[&str], list: bool| {
        let value = |text: &&str| if list { Value::array(vec![(**text).into()]) } else { (**text).into() };
        json::compact(&Value::hash(names.into_iter().zip(values.iter().map(value)).collect()))
    };
    let mut tree = MemoryTree::new();
    tree.add("hiera.yaml", CONFIG);
    tree.add("data/a.json", file(values, false).replace(".json", "").as_bytes());
    tree.add("data/b.json", file(values.get(4..).unwrap_or_default(), true).as_bytes());
    let tree = Arc::new(tree);
    for puppet in [Puppet::V7, Puppet::V8] {
        let options = EnvironmentOptions { puppet, ..EnvironmentOptions::default() };
        let Ok(environment) = Environment::load(tree.clone(), options, Arc::default()) else { return };
        let sources = NodeSources::new(&environment, scope);
        let lookup = Lookup::new(&environment, &sources, scope);
        for name in names.into_iter().chain(values.iter().copied().take(2)) {
            if let Outcome::Found(value) = lookup.get(name, None) {
                _ = value.inspect();
            }
        }
    }
}
