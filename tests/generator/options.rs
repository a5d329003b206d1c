//! `lookup_options`: merges by key and by pattern.

use super::conversion;
use super::emit::{Language, Node};
use super::random::Random;
use super::words::{KEYS, Kind};

/// The owner of the data that the options lie in.
pub(crate) enum Owner {
    /// The environment's.
    Environment,
    /// A module's, which may speak of its own keys only.
    Module(&'static str),
}

const PATTERNS: [&str; 14] = [
    "^ntp::.*",
    "^ntp::(servers|options)$",
    "^.*::",
    "^[a-c]$",
    "^(?!apache)",
    "^(?=.*s$).+",
    "^(.)\\1",
    "^(?i)PACKAGES",
    "^a\\z",
    "^users|zones",
    "^(?<x>t)wo",
    "^.{3,5}$",
    "^\\p{L}+$",
    "^%{role}",
];

/// Keys in a module's options, behind its namespace.
const MODULE_KEYS: [(&str, Kind); 5] = [
    ("options", Kind::Hash),
    ("servers", Kind::Array),
    ("list", Kind::Array),
    ("port", Kind::Number),
    (".*", Kind::Mixed),
];

/// The entry `lookup_options` of a data file.
pub(crate) fn lookup_options(random: &mut Random, language: Language, owner: &Owner) -> (String, Node) {
    let mut entries = Vec::new();
    for _ in random.times(1, 5) {
        let (name, kind) = name(random, owner);
        let options = options(random, language, kind);
        entries.push((language.text(random, &name), options));
    }
    if random.permille(1) {
        let bad = random.pick(&["^(", "^[", "^*", "^a{2,1}"]);
        entries.push((language.text(random, bad), options(random, language, Kind::Mixed)));
    }
    let value = if random.permille(3) { bad_shape(random, language) } else { Node::Map(entries) };
    (language.text(random, "lookup_options"), value)
}

fn name(random: &mut Random, owner: &Owner) -> (String, Kind) {
    match owner {
        Owner::Module(module) => {
            let inside = !random.permille(5);
            let (suffix, kind) = random.one(&MODULE_KEYS);
            let pattern = if suffix == ".*" || random.percent(20) { "^" } else { "" };
            (if inside { format!("{pattern}{module}::{suffix}") } else { format!("{pattern}other::x") }, kind)
        }
        Owner::Environment if random.percent(22) => (random.pick(&PATTERNS).to_owned(), Kind::Mixed),
        Owner::Environment => {
            let (key, kind) = random.one(&KEYS);
            (key.to_owned(), kind)
        }
    }
}

fn options(random: &mut Random, language: Language, kind: Kind) -> Node {
    if random.percent(2) {
        return bad_shape(random, language);
    }
    let (merged, converted) = [(true, false), (false, true), (true, true)][random.weighted(&[60, 24, 16])];
    let mut entries = Vec::new();
    if merged {
        entries.push((language.text(random, "merge"), merge(random, language, kind)));
    }
    if converted {
        let convert_to = Node::Scalar(conversion::convert_to(random, kind).to_owned());
        entries.insert(random.index(entries.len() + 1), (language.text(random, "convert_to"), convert_to));
    }
    if random.percent(3) {
        entries.push((language.text(random, "note"), Node::Scalar("1".into())));
    }
    if random.percent(2) {
        entries.clear();
    }
    Node::Map(entries)
}

fn bad_shape(random: &mut Random, language: Language) -> Node {
    match random.between(0, 4) {
        0 => language.scalar(random, "unique"),
        1 => language.scalar(random, "merge"),
        2 => Node::List(vec![language.scalar(random, "merge")]),
        3 => Node::Scalar("5".into()),
        _ => Node::Scalar("null".into()),
    }
}

/// A strategy, by name or as a hash with options.
fn merge(random: &mut Random, language: Language, kind: Kind) -> Node {
    let strategy = strategy(random, kind);
    if random.percent(if strategy == "deep" { 30 } else { 85 }) {
        return language.scalar(random, strategy);
    }
    let mut entries = vec![(language.text(random, "strategy"), language.scalar(random, strategy))];
    if strategy == "deep" || random.percent(4) {
        deep_options(random, language, &mut entries);
    }
    if random.percent(2) {
        entries.remove(0);
    }
    Node::Map(random.shuffled(&entries))
}

fn strategy(random: &mut Random, kind: Kind) -> &'static str {
    if random.percent(3) {
        return random.pick(&[
            "first",
            "default",
            "Unique",
            "none",
            "unconstrained_deep",
            "reverse_deep",
            "%{role}",
            "",
        ]);
    }
    let fitting: &[&str] = match kind {
        Kind::Scalar | Kind::Number | Kind::Flag | Kind::Stamp | Kind::Span | Kind::Version => &["first", "unique"],
        Kind::Array => &["unique", "deep", "unique", "deep", "first"],
        Kind::Hash => &["hash", "deep", "deep", "first"],
        Kind::Mixed => &["first", "unique", "hash", "deep", "deep"],
    };
    random.pick(fitting)
}

fn deep_options(random: &mut Random, language: Language, entries: &mut Vec<(String, Node)>) {
    if random.percent(70) {
        let prefix = random.pick(&["--", "--", "--", "~", "r", "%{role}", "", "[-]", "("]);
        entries.push((language.text(random, "knockout_prefix"), language.scalar(random, prefix)));
    }
    for option in ["sort_merged_arrays", "merge_hash_arrays"] {
        if random.percent(35) {
            let value = random.pick(&["true", "true", "true", "false"]).to_owned();
            entries.push((language.text(random, option), Node::Scalar(value)));
        }
    }
    if random.percent(3) {
        let option = random.pick(&["preserve_unmergeables", "unpack_arrays", "overwrite_arrays", "knockout"]);
        entries.push((language.text(random, option), Node::Scalar("true".into())));
    }
}
