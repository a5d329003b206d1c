//! Faults: what `hiera.yaml` refuses, files that cannot be read, versions that are not 5. Rare, and one at a time.

use super::Content;
use super::emit::{Language, Node};
use super::files::Files;
use super::hierarchy::Plan;
use super::random::Random;

/// Whole configurations that are not a sound version 5.
const CONFIGS: [&str; 17] = [
    "",
    "# nothing\n",
    "---\nversion: 3\nhierarchy: [common]\n",
    "version: 4\nhierarchy:\n  - {name: common, backend: yaml}\n  - {name: two, backend: json, path: other}\n",
    "version: 4\ndatadir: data\nhierarchy:\n  - {name: 'os/%{os.family}', backend: yaml, paths: ['%{site}', base]}\n",
    "version: 4\n",
    "version: 6\nhierarchy: []\n",
    "version: \"5\"\n",
    "version: 5.0\n",
    ":version: 5\n:hierarchy:\n  - :name: common\n    :path: common.yaml\n",
    "version: 5\n",
    "version: 5\nhierarchy: []\n",
    "version: 5\nhierarchy:\n",
    "hierarchy: [common]\n",
    "[1, 2]\n",
    "version: 5\nhierarchy: [\n",
    "version: 5\nhierarchy: [{name: x}, 2002-01-01]\n",
];

/// Entries that spoil a level: each is refused, or makes the level fail.
const LEVEL: [(&str, &str); 27] = [
    ("name", "level 0"),
    ("name", "\"\""),
    ("name", "5"),
    ("name", "null"),
    ("lookup_key", "hiera_vault"),
    ("data_dig", "somewhere::else"),
    ("data_hash", "nowhere"),
    ("data_hash", "ntp::data"),
    ("data_hash", "environment::data"),
    ("data_hash", "''"),
    ("path", "\"\""),
    ("path", "4"),
    ("path", "\"%{lookup('color')}.yaml\""),
    ("path", "\"%{alias('color')}\""),
    ("path", "\"%{os.family.x.y}.yaml\""),
    ("path", "\"%{os..family}.yaml\""),
    ("paths", "[]"),
    ("paths", "[common.yaml, 5]"),
    ("glob", "[a]"),
    ("uri", "'http://example.com/%{role}'"),
    ("uris", "['http://[', 'x']"),
    ("mapped_paths", "[tiers, tier]"),
    ("mapped_paths", "[\"tiers..x\", tier, '%{tier}.yaml']"),
    ("datadir", "\"data/%{nope}\""),
    ("options", "{path: x}"),
    ("options", "{a_b-c: 1, -bad: 2}"),
    ("hiera3_backend", "yaml"),
];

/// Entries that spoil the whole configuration, or its defaults.
const TOP: [(&str, &str); 10] = [
    ("plan_hierarchy", "[{name: p, path: p.yaml}]"),
    ("unknown", "1"),
    ("default_hierarchy", "[{name: d, path: d.yaml}]"),
    ("hierarchy", "common"),
    ("hierarchy", "[common]"),
    ("hierarchy", "[{path: nameless.yaml}]"),
    ("defaults", "{data_hash: yaml_data, lookup_key: x}"),
    ("defaults", "{path: x}"),
    ("defaults", "{datadir: 5}"),
    ("defaults", "{options: {uri: x}}"),
];

/// Texts that are no YAML, or YAML that Puppet's reader refuses.
const BROKEN: [&str; 10] = [
    "a: [1, 2\n",
    "a: b: c\n",
    "\tx: 1\n",
    "a: 'open\n",
    "a: *nowhere\n",
    "a: 2001-12-14\n",
    "a: !ruby/object:Object {}\n",
    "a: 1\n b: 2\n",
    "%YAML 9.9\n---\na: 1\n",
    "a: \"\\q\"\n",
];

/// Spoils one repository in twelve.
pub(crate) fn spoil(random: &mut Random, plan: &mut Plan, files: &mut Files) {
    match random.weighted(&[920, 8, 12, 6, 10, 6, 6, 32]) {
        1 => _ = files.insert("hiera.yaml".into(), Content::File(random.pick(&CONFIGS).into())),
        2 => spoil_level(random, plan),
        3 => {
            let (key, value) = random.one(&TOP);
            set(&mut plan.config, key, value);
        }
        4 => spoil_file(random, plan, files),
        5 => _ = files.insert("hiera.yaml".into(), Content::Nothing),
        6 => options(random, plan),
        7 => slip(random, files, |_| true),
        _ => {}
    }
}

/// Spoils a level of the hierarchy.
pub(crate) fn spoil_level(random: &mut Random, plan: &mut Plan) {
    let (key, value) = random.one(&LEVEL);
    let Node::Map(entries) = &mut plan.config else { return };
    let Some((_, Node::List(levels))) = entries.iter_mut().find(|(key, _)| key == "hierarchy") else { return };
    let level = random.index(levels.len());
    if random.percent(50) && ["path", "paths", "glob", "uri", "uris", "mapped_paths"].contains(&key) {
        remove_locations(&mut levels[level]);
    }
    set(&mut levels[level], key, value);
}

fn remove_locations(level: &mut Node) {
    if let Node::Map(entries) = level {
        entries.retain(|(key, _)| !["path", "paths", "glob", "globs", "mapped_paths"].contains(&key.as_str()));
    }
}

/// Options of the functions that read files: those take none.
fn options(random: &mut Random, plan: &mut Plan) {
    let options = random.pick(&["{}", "{key: '%{role}'}", "{key: \"%{lookup('color')}\"}", "{key: {'%{role}': [1]}}"]);
    let Node::Map(entries) = &mut plan.config else { return };
    match entries.iter_mut().find(|(key, _)| key == "defaults" || key == "hierarchy") {
        Some((_, Node::List(levels))) => set(&mut levels[0], "options", options),
        Some((_, defaults)) => set(defaults, "options", options),
        None => {}
    }
}

pub(super) fn spoil_file(random: &mut Random, plan: &Plan, files: &mut Files) {
    if !plan.files.is_empty() {
        let path = random.one(&plan.files);
        let text = if path.ends_with("json") { "{\"a\": 1,}\n" } else { random.pick(&BROKEN) };
        files.insert(path, Content::File(text.into()));
    }
}

/// A slip of the finger in some of the files that `is_wanted` accepts: a character too many, too few, or another one.
/// Not in JSON, which it nearly always breaks.
pub(crate) fn slip(random: &mut Random, files: &mut Files, is_wanted: impl Fn(&str) -> bool) {
    let is_yaml = |path: &&String| Language::of(path) == Language::Yaml && is_wanted(path);
    let paths: Vec<String> = files.keys().filter(is_yaml).cloned().collect();
    for _ in random.times(1, 3) {
        if paths.is_empty() {
            return;
        }
        if let Some(Content::File(text)) = files.get_mut(&random.one(&paths)) {
            let mut characters: Vec<char> = text.chars().collect();
            let at = random.index(characters.len().max(1));
            let slipped = random
                .one(&[':', '{', '}', '[', ']', ',', '"', '\'', '%', '&', '*', '|', '>', '-', '#', ' ', '\n', '<']);
            match random.between(0, 2) {
                0 => characters.insert(at.min(characters.len()), slipped),
                1 if at < characters.len() => characters[at] = slipped,
                _ if at < characters.len() => _ = characters.remove(at),
                _ => {}
            }
            *text = characters.into_iter().collect();
        }
    }
}

fn set(map: &mut Node, key: &str, value: &str) {
    let Node::Map(entries) = map else { return };
    let value = Node::Scalar(value.into());
    match entries.iter_mut().find(|(other, _)| other == key) {
        Some((_, old)) => *old = value,
        None => entries.push((key.into(), value)),
    }
}
