//! `hiera.yaml` of each version with parts that do not belong there, which Puppet refuses, or accepts against
//! expectation.

use super::Content;
use super::emit::{Language, Node};
use super::files::Files;
use super::random::Random;

/// Values in the place of a part.
const ODD: [&str; 27] = [
    "null",
    "~",
    "false",
    "true",
    "5",
    "3",
    "-1",
    "1.5",
    "1e400",
    "123456789012345678901234567890",
    "\"\"",
    "common",
    "\"5\"",
    "'it''s'",
    ":symbol",
    "[]",
    "{}",
    "[a]",
    "[[a], 1]",
    "[null]",
    "['']",
    "[a, a]",
    "{a: 1}",
    "{a: [null, {b: c}]}",
    "{1: a}",
    "{'': a, b: 2}",
    "{:s: :t}",
];

/// Keys that some configuration has, and one that none has.
const KEYS: [&str; 27] = [
    "version",
    "defaults",
    "hierarchy",
    "default_hierarchy",
    "plan_hierarchy",
    "name",
    "options",
    "data_hash",
    "lookup_key",
    "data_dig",
    "hiera3_backend",
    "path",
    "paths",
    "glob",
    "globs",
    "uris",
    "mapped_paths",
    "datadir",
    "backend",
    "backends",
    "logger",
    "merge_behavior",
    "deep_merge_options",
    "yaml",
    ":datadir",
    "extra",
    "7",
];

const CONFIGS: [&str; 8] = [
    "version: 5",
    "version: 5|defaults: {datadir: data, data_hash: yaml_data}",
    "version: 5|defaults: {datadir: data, lookup_key: x, options: {a: b}}",
    "version: 4|datadir: data",
    "version: 4",
    "version: 3|backends: yaml|yaml: {datadir: /global/data}",
    ":backends: [yaml, json]|:yaml: {:datadir: /global/data}|:json: {}",
    "version: 3|logger: console|merge_behavior: deeper|deep_merge_options: {knockout_prefix: '--'}",
];

const LEVELS: [&str; 12] = [
    "name: one|path: common.yaml",
    "name: two|paths: [common.yaml, other.yaml]",
    "name: 'it''s'|glob: '*.yaml'",
    "name: four|globs: [a, '*.yaml']|datadir: data",
    "name: five|mapped_paths: [names, name, '%{name}.yaml']",
    "name: six|uri: 'http://example.com'|data_hash: nowhere",
    "name: seven|lookup_key: eyaml_lookup_key|path: common.yaml|options: {pkcs7_private_key: nowhere}",
    "name: one|data_hash: json_data|path: common.json",
    "name: one|data_hash: yaml_data|lookup_key: b",
    "name: nine|hiera3_backend: yaml",
    "name: nine|path: a|glob: b",
    "name: nine|options: {uri: a, b: 1}",
];

const LEVELS_4: [&str; 4] = [
    "name: common|backend: yaml",
    "name: x|backend: yaml|path: common",
    "name: x|backend: json",
    "name: z|backend: sql",
];

/// A repository with such configurations in some of its layers.
pub(crate) fn repository(random: &mut Random) -> Files {
    let mut files = Files::new();
    for folder in ["", "/global/", "modules/ntp/"] {
        let prefix = if folder.starts_with("modules") { "ntp::" } else { "" };
        files.insert(format!("{folder}data/common.yaml"), Content::File(format!("{prefix}a: 1\n{prefix}b: [x]\n")));
        let is_there = folder.is_empty() || random.percent(30);
        let text = if random.percent(60) { configuration(random) } else { "version: 5\n".to_owned() };
        if is_there {
            files.insert(format!("{folder}hiera.yaml"), Content::File(text));
        }
    }
    if !files.contains_key("/global/hiera.yaml") {
        files.remove("/global/data/common.yaml");
    }
    files
}

/// A configuration with one to three oddities.
pub(crate) fn configuration(random: &mut Random) -> String {
    let config = random.pick(&CONFIGS);
    let mut config = map(config);
    let Node::Map(entries) = &mut config else { return String::new() };
    let levels: &[&str] = if entries.iter().any(|(_, value)| is(value, "4")) { &LEVELS_4 } else { &LEVELS };
    let is_version_3 = entries.iter().any(|(key, value)| key == ":backends" || is(value, "3"));
    let hierarchy = random.times(1, 4).map(|_| if is_version_3 { scalar("common") } else { map(random.pick(levels)) });
    let hierarchy = Node::List(hierarchy.collect());
    let key = if entries.iter().any(|(key, _)| key == ":backends") { ":hierarchy" } else { "hierarchy" };
    entries.push((key.to_owned(), hierarchy));
    if random.percent(10) {
        entries.push(("default_hierarchy".to_owned(), Node::List(vec![map(random.pick(levels))])));
    }
    for _ in random.times(1, 4) {
        spoil(random, &mut config);
    }
    Language::Yaml.document(random, &config)
}

fn is(node: &Node, text: &str) -> bool {
    matches!(node, Node::Scalar(scalar) if scalar == text)
}

fn scalar(text: &str) -> Node {
    Node::Scalar(text.to_owned())
}

/// `key: value|key: value` as a mapping.
fn map(text: &str) -> Node {
    let entries = text.split('|').filter_map(|entry| entry.split_once(": "));
    Node::Map(entries.map(|(key, value)| (key.to_owned(), scalar(value))).collect())
}

/// Spoils a part, here or further in.
fn spoil(random: &mut Random, node: &mut Node) {
    match node {
        Node::Map(entries) if !entries.is_empty() => {
            let at = random.index(entries.len());
            match random.weighted(&[35, 20, 12, 12, 8]) {
                0 => spoil(random, &mut entries[at].1),
                1 => entries[at].1 = scalar(random.pick(&ODD)),
                2 => entries[at].0 = random.pick(&KEYS).to_owned(),
                3 => entries.push((random.pick(&KEYS).to_owned(), scalar(random.pick(&ODD)))),
                _ => _ = entries.remove(at),
            }
        }
        Node::List(items) if !items.is_empty() => {
            let at = random.index(items.len());
            match random.weighted(&[60, 15, 15, 10]) {
                0 => spoil(random, &mut items[at]),
                1 => items.push(items[at].clone()),
                2 => items[at] = scalar(random.pick(&ODD)),
                _ => *node = Node::List(vec![node.clone()]),
            }
        }
        other => *other = scalar(random.pick(&ODD)),
    }
}
