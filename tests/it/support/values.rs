//! Values, nodes and effective values written down in YAML.

use std::collections::BTreeMap;
use std::sync::Arc;

use hierad::disclosure::{Disclosure, Key};
use hierad::event::{CommitEvent, EventKind};
use hierad::fleet::{Answer, Effective, Fleet, Revision, RevisionError};
use hierad::git::{BranchName, CommitId};
use hierad::hiera::layer::Environment;
use hierad::hiera::{LookupError, Outcome};
use hierad::node::{NodeProfile, NodeSet};
use hierad::tree;
use hierad::value::{Form, Hash, Rich, Secrecy, Value};
use hierad::workers::Workers;
use serde_yaml::Value as Yaml;

/// Fingerprints that are the same on every machine.
pub(crate) fn disclosure() -> Disclosure {
    Disclosure::masked(|| Key::from_hex(&"5a".repeat(32)).unwrap())
}

/// The nodes that texts such as `web[01-12].example.com` stand for.
pub(crate) fn fleet(names: &[String]) -> Fleet {
    let names = names.iter().flat_map(|name| expand(name));
    Fleet::new(names.map(|name| NodeProfile { name: name.into(), ..NodeProfile::default() }))
}

/// The same with variables, as `{PATTERN: {VARIABLE: VALUE}}`; later patterns win.
pub(crate) fn fleet_with(names: &[String], variables: &Yaml) -> Fleet {
    let of = |name: &str| -> Hash {
        let rows = variables.as_mapping().into_iter().flatten();
        let rows = rows.filter(|(pattern, _)| matches(pattern.as_str().unwrap(), name));
        let all = rows.flat_map(|(_, values)| values.as_mapping().unwrap());
        all.map(|(name, value)| (Value::from(name.as_str().unwrap()), self::value(value, ""))).collect()
    };
    let names = names.iter().flat_map(|name| expand(name));
    Fleet::new(names.map(|name| NodeProfile { variables: of(&name), name: name.into(), ..NodeProfile::default() }))
}

fn expand(name: &str) -> Vec<String> {
    let Some((prefix, (range, suffix))) = name.split_once('[').and_then(|(p, r)| Some((p, r.split_once(']')?))) else {
        return vec![name.to_owned()];
    };
    let (first, last) = range.split_once('-').unwrap();
    let (from, to): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    (from..=to).map(|n| format!("{prefix}{n:0width$}{suffix}", width = first.len())).collect()
}

/// Effective values from `{PATTERN: {KEY: VALUE}}`; later patterns win. `!error TEXT`, `!unknown TEXT` and `!absent`
/// are answers of their own, and `%{node}` in a text is the node's name.
pub(crate) fn effective(rows: &Yaml, fleet: &Fleet) -> Effective {
    let mut answers: BTreeMap<Arc<str>, Vec<(Outcome, NodeSet)>> = BTreeMap::new();
    for (id, name) in fleet.iter() {
        let mut of_node: BTreeMap<&str, &Yaml> = BTreeMap::new();
        for (pattern, keys) in rows.as_mapping().into_iter().flatten() {
            if matches(pattern.as_str().unwrap(), name) {
                of_node.extend(keys.as_mapping().unwrap().iter().map(|(k, v)| (k.as_str().unwrap(), v)));
            }
        }
        for (key, yaml) in of_node {
            let Some(outcome) = outcome(yaml, name) else { continue };
            let answers = answers.entry(key.into()).or_default();
            match answers.iter_mut().find(|(other, _)| *other == outcome) {
                Some((_, nodes)) => nodes.insert(id),
                None => answers.push((outcome, [id].into_iter().collect())),
            }
        }
    }
    let answer = |(outcome, nodes)| Answer::new(nodes, Arc::new(outcome));
    Effective { keys: answers.into_iter().map(|(k, a)| (k, a.into_iter().map(answer).collect())).collect() }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    }
}

fn outcome(yaml: &Yaml, node: &str) -> Option<Outcome> {
    if let Yaml::Tagged(tagged) = yaml {
        let text = || tagged.value.as_str().unwrap().replace("%{node}", node);
        match tagged.tag.to_string().as_str() {
            "!absent" => return None,
            "!secret-error" => {
                let error = LookupError::puppet(text());
                return Some(Outcome::Failed(error.sealed(Some(Secrecy::SENSITIVE))));
            }
            "!error" => return Some(Outcome::Failed(LookupError::puppet(text()))),
            "!unknown" => return Some(Outcome::Failed(LookupError::unknown(text()))),
            _ => {}
        }
    }
    Some(Outcome::Found(value(yaml, node)))
}

/// A value; `!secret VALUE` and `!anew VALUE` are secrets of different ciphertext, `!opaque TEXT` one that cannot be
/// decrypted, and `!sensitive VALUE` is Puppet's. `!symbol TEXT`, `!bytes [N, ...]`, `!big TEXT`, `!numbers [FROM, TO]`
/// and `!repeat [TEXT, TIMES]` make what YAML cannot say, or not in little space.
fn value(yaml: &Yaml, node: &str) -> Value {
    match yaml {
        Yaml::Null => Value::Undef,
        Yaml::Bool(b) => Value::from(*b),
        Yaml::Number(n) => n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap()), Value::Integer),
        Yaml::String(s) => Value::from(s.replace("%{node}", node)),
        Yaml::Sequence(items) => items.iter().map(|item| value(item, node)).collect(),
        Yaml::Mapping(map) => Value::hash(map.iter().map(|(k, v)| (value(k, node), value(v, node))).collect::<Hash>()),
        Yaml::Tagged(tagged) => tagged_value(&tagged.tag.to_string(), &tagged.value, node),
    }
}

fn tagged_value(tag: &str, yaml: &Yaml, node: &str) -> Value {
    let number = |i: usize| yaml[i].as_i64().unwrap();
    let sealed = |form, seal| value(yaml, node).sealed(Some(Secrecy { form, seal }));
    match tag {
        "!secret" => sealed(Form::Named, 1),
        "!anew" => sealed(Form::Named, 2),
        "!opaque" => sealed(Form::Encrypted, 3),
        "!sensitive" => Value::Rich(Arc::new(Rich::sensitive(&value(yaml, node)))),
        "!symbol" => Value::Symbol(yaml.as_str().unwrap().into()),
        "!big" => Value::big(yaml.as_str().unwrap().parse().unwrap()),
        "!bytes" => {
            let bytes = yaml.as_sequence().unwrap().iter().map(|b| u8::try_from(b.as_u64().unwrap()).unwrap());
            Value::bytes(bytes.collect())
        }
        "!numbers" if number(0) > number(1) => (number(1)..=number(0)).rev().map(Value::from).collect(),
        "!numbers" => (number(0)..=number(1)).map(Value::from).collect(),
        "!repeat" => Value::from(yaml[0].as_str().unwrap().repeat(usize::try_from(number(1)).unwrap())),
        other => panic!("no such tag: {other}"),
    }
}

/// Returns the revision of `environment`, made from another one as commands make it.
pub(crate) fn next(last: &Revision, environment: Environment, workers: &Workers) -> Result<Revision, RevisionError> {
    let changed = tree::changes(&*last.environment.tree, &*environment.tree)?;
    let environment = last.environment.with_data(&environment.tree, &changed).unwrap_or(environment);
    last.next(environment, &changed, workers)
}

/// A commit that has come to a branch.
pub(crate) fn event(branch: &str) -> CommitEvent {
    let after = CommitId::from_hex(&"c".repeat(40)).unwrap();
    CommitEvent::new(BranchName::new(branch), None, after, EventKind::New)
}
