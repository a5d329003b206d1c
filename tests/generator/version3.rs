//! Repositories of Hiera 3: its hiera.yaml, and what it makes of the data.

use super::Content;
use super::emit::{Language, Node};
use super::encryption;
use super::expression::{self, Place};
use super::fault;
use super::files::{self, Files};
use super::hierarchy::{Dialect, Plan, Template, datadir, filled, joined};
use super::random::Random;
use super::words::{ENVIRONMENT, FAMILIES, NODES, ROLES, SITES};

/// Whole configurations that are odd or broken.
const CONFIGS: [&str; 24] = [
    "",
    "# nothing\n",
    "false\n",
    "[1, 2]\n",
    "text\n",
    "5\n",
    "5.5\n",
    ":sym\n",
    ":backends: [yaml\n",
    ":backends: []\n",
    ":backends:\n",
    ":backends: [5]\n",
    ":backends: {yaml: 1}\n",
    ":hierarchy: []\n:yaml:\n  :datadir: data\n",
    ":hierarchy:\n:yaml:\n  :datadir: data\n",
    ":hierarchy: {common: 1}\n:yaml:\n  :datadir: data\n",
    ":hierarchy: &a [common]\n:other: *a\n",
    ":hierarchy: [common]\n:day: 2001-12-14\n",
    ":hierarchy: [common]\n:hierarchy: [other]\n:yaml:\n  :datadir: data\n",
    ":merge_behavior: deeper\n:deep_merge_options: [1]\n:yaml:\n  :datadir: data\n",
    ":merge_behavior: deeper\n:deep_merge_options: text\n:yaml:\n  :datadir: data\n",
    ":backends: [eyaml]\n:hierarchy: [common]\n",
    ":backends: [yaml, eyaml]\n:eyaml: ~\n:yaml:\n  :datadir: data\n",
    "hierarchy: [common]\nyaml: {datadir: data}\n",
];

/// The files of a repository of Hiera 3.
pub(crate) fn repository(random: &mut Random) -> Files {
    let plan = plan(random);
    let mut files = files::write(random, &plan);
    for content in files.values_mut() {
        translate(random, content);
    }
    match random.weighted(&[900, 30, 30]) {
        1 => fault::spoil_file(random, &plan, &mut files),
        2 => fault::slip(random, &mut files, |_| true),
        _ => {}
    }
    let config = if random.permille(15) { random.pick(&CONFIGS).to_owned() } else { plan.document(random) };
    if !random.permille(3) {
        files.insert("hiera.yaml".to_owned(), Content::File(config));
    }
    files.retain(|_, content| *content != Content::Nothing);
    super::settle(&mut files);
    files
}

/// Hiera 3 has no `lookup`: most of them become `hiera`.
fn translate(random: &mut Random, content: &mut Content) {
    if let Content::File(text) = content
        && random.percent(93)
    {
        *text = text.replace("{lookup(", "{hiera(").replace("{ lookup(", "{ hiera(");
        if random.percent(80) {
            *text = text.replace("{ hiera(", "{hiera(");
        }
    }
}

fn plan(random: &mut Random) -> Plan {
    let mut config = Vec::new();
    let backends = backends(random, &mut config);
    let sources: Vec<Template> = random.times(1, 5).map(|_| source(random)).collect();
    let mut files = Vec::new();
    for backend in ["yaml", "json", "eyaml"] {
        let used = backends.contains(&backend);
        if let Some((folders, extension)) = section(random, backend, used, &mut config).filter(|_| used) {
            let names = sources.iter().flat_map(|source| &source.paths);
            let paths = names.map(|name| format!("{name}.{extension}"));
            files.extend(paths.flat_map(|path| folders.iter().map(move |folder| joined(folder, &path))));
        }
    }
    if random.percent(95) {
        let entry = hierarchy(random, &sources);
        config.push((":hierarchy".to_owned(), entry));
    } else {
        files.extend(["common.yaml", "nodes/web01.example.com.yaml"].map(|name| joined("data", name)));
    }
    merges(random, &mut config);
    odd_entries(random, &mut config);
    files.sort();
    files.dedup();
    let dialect = Dialect::Hiera3 { aliases: random.percent(6) };
    Plan { config: Node::Map(random.shuffled(&config)), files, dialect }
}

fn backends(random: &mut Random, config: &mut Vec<(String, Node)>) -> Vec<&'static str> {
    let names: &[&'static str] = match random.weighted(&[20, 25, 15, 8, 8, 2, 6, 8, 8, 4]) {
        0 => &[],
        1 => &["yaml"],
        2 => &["yaml", "json"],
        3 => &["json", "yaml"],
        4 => &["json"],
        5 => &["yaml", "yaml"],
        6 => &["eyaml"],
        7 => &["eyaml", "yaml"],
        8 => &["yaml", "eyaml"],
        _ => &["json", "eyaml", "yaml"],
    };
    let upper = random.percent(3);
    let scalar = |name: &&str| Node::Scalar(if upper { name.to_uppercase() } else { (*name).to_owned() });
    match (names, random.weighted(&[80, 10, 5, 5])) {
        ([], _) => return vec!["yaml"],
        ([one], 1) => config.push((":backends".into(), scalar(one))),
        (_, 2) => config.push((":backends".into(), Node::List(vec![Node::List(names.iter().map(scalar).collect())]))),
        (_, 3) => {
            let symbols = names.iter().map(|name| Node::Scalar(format!(":{name}"))).collect();
            config.push((":backends".into(), Node::List(symbols)));
        }
        _ => config.push((":backends".into(), Node::List(names.iter().map(scalar).collect()))),
    }
    names.to_vec()
}

/// A backend's section, the folders that its datadir can be, and the extension of its files.
fn section(
    random: &mut Random,
    backend: &'static str,
    used: bool,
    config: &mut Vec<(String, Node)>,
) -> Option<(Vec<String>, &'static str)> {
    if !random.percent(if used { 98 } else { 20 }) {
        return None;
    }
    let template = datadir(random);
    let mut entries = vec![(":datadir".to_owned(), Language::Yaml.scalar(random, &template.text))];
    let mut extension = backend;
    match random.weighted(&[88, 5, 2, 2, 1, 1, 1]) {
        1 => entries.push((":extension".into(), Node::Scalar("yml".into()))),
        2 => entries = vec![("datadir".to_owned(), Node::Scalar("data".into()))],
        3 => entries = vec![(":datadir".to_owned(), Node::List(vec![Node::Scalar("data".into())]))],
        4 => {
            config.push((format!(":{backend}"), Node::Scalar(random.pick(&["data", "~", "5", "[data]"]).to_owned())));
            return Some((vec!["data".into()], extension));
        }
        5 => {
            entries = vec![(":datadir".to_owned(), Node::Scalar(random.pick(&["5", "~", "''", "%{a..b}"]).to_owned()))];
        }
        6 => {
            let text = expression::embedded(random, Place::Aside);
            entries = vec![(":datadir".to_owned(), Language::Yaml.scalar(random, &text))];
        }
        _ => {}
    }
    if matches!(&entries[0].1, Node::Scalar(text) if text.starts_with('%')) {
        entries[0].1 = Node::Scalar("\"%{a..b}\"".into());
    }
    if backend == "eyaml" {
        entries.extend(encryption::options_of_hiera3(random));
        let odd = random.pick(&["5", "~", "'%{role}'", ":yaml"]);
        match random.weighted(&[50, 30, 15, 5]) {
            1 => extension = "yaml",
            2 => entries.push((":extension".into(), Node::Scalar("eyaml".into()))),
            3 => entries.push((":extension".into(), Node::Scalar(odd.to_owned()))),
            _ => {}
        }
        if extension == "yaml" {
            entries.push((":extension".into(), Node::Scalar("yaml".into())));
        }
        entries = random.shuffled(&entries);
    }
    config.push((format!(":{backend}"), Node::Map(entries)));
    Some((template.paths, extension))
}

pub(super) fn source(random: &mut Random) -> Template {
    let spelled = |random: &mut Random, spellings: &[&str]| random.pick(spellings).to_owned();
    let (text, values): (String, &[&str]) = match random.weighted(&[28, 14, 10, 14, 8, 4, 4, 3, 3, 3, 3, 6]) {
        0 => (spelled(random, &["common", "base", "other"]), &[""]),
        1 => (format!("nodes/%{{{}}}", spelled(random, &["::trusted.certname", "clientcert", "::fqdn"])), &NODES),
        2 => (format!("os/%{{{}}}", spelled(random, &["::os.family", "os.family", "facts.os.family"])), &FAMILIES),
        3 => (format!("%{{{}}}", spelled(random, &["role", "::role", "scope('role')", "facts.role"])), &ROLES),
        4 => ("site/%{::site}".into(), &SITES),
        5 => (spelled(random, &["missing/%{nope}", "%{nope}", "missing/%{::nope}x", "%{nope.a.b}"]), &[""]),
        6 => (spelled(random, &["./common", "extra//x", "extra/../common", "/common", "common/", "sub/common"]), &[""]),
        7 => ("%{environment}".into(), &[ENVIRONMENT]),
        8 => ("list/%{list.0}".into(), &["red", "x"]),
        9 => ("quirk/%{quirk}".into(), &["web", "db", ""]),
        10 => ("count/%{count}".into(), &["1", "2", "true"]),
        _ => return looked_up(random),
    };
    filled(&text, values)
}

/// A source that another key names, or any expression.
fn looked_up(random: &mut Random) -> Template {
    let text = match random.weighted(&[30, 20, 10, 20]) {
        0 => "%{hiera('region')}".to_owned(),
        1 => "regions/%{hiera('color')}".to_owned(),
        2 => "%{alias('zones')}".to_owned(),
        _ => format!("any/{}", expression::embedded(random, Place::Aside)),
    };
    let paths = ["red", "green", "regions/red", "any/web"].map(str::to_owned).to_vec();
    Template { text, paths }
}

fn hierarchy(random: &mut Random, sources: &[Template]) -> Node {
    let mut items: Vec<Node> = sources.iter().map(|source| Language::Yaml.scalar(random, &source.text)).collect();
    match random.weighted(&[85, 5, 3, 3, 2, 2]) {
        1 if items.len() == 1 => return items.remove(0),
        2 => items = vec![Node::List(items)],
        3 => items.push(Node::Scalar(random.pick(&[":common", "5", "~", "true"]).to_owned())),
        4 => items.insert(0, Node::Scalar("\"%{a..b}\"".into())),
        5 => items.push(Node::Scalar("\"%{foo('x')}\"".into())),
        _ => {}
    }
    Node::List(items)
}

fn merges(random: &mut Random, config: &mut Vec<(String, Node)>) {
    if random.percent(25) {
        return;
    }
    let behavior =
        random.pick(&["native", "deep", "deep", "deeper", "deeper", "deeper", ":deeper", ":deep", "deepest", "~"]);
    config.push((":merge_behavior".into(), Node::Scalar(behavior.to_owned())));
    if random.percent(45) {
        return;
    }
    let mut options = Vec::new();
    if random.percent(55) {
        let prefix = random.pick(&["--", "--", "--", "~", "r", "", "[-]", "("]);
        options.push((":knockout_prefix".to_owned(), Language::Yaml.scalar(random, prefix)));
    }
    let flags = [
        ":sort_merged_arrays",
        ":merge_hash_arrays",
        ":overwrite_arrays",
        ":extend_existing_arrays",
        ":preserve_unmergeables",
    ];
    for (flag, percent) in flags.into_iter().zip([25, 35, 6, 6, 6]) {
        if random.percent(percent) {
            options.push((flag.to_owned(), Node::Scalar(random.pick(&["true", "true", "false"]).to_owned())));
        }
    }
    if random.percent(8) {
        let separator = random.pick(&["','", "' '", "','", "'|'", "~", "''", "e"]);
        options.push((":unpack_arrays".to_owned(), Node::Scalar(separator.to_owned())));
    }
    if random.percent(4) {
        let odd = [(":sort_merged_arrays", "text"), (":merge_hash_arrays", "0"), ("5", "x")];
        let (name, value) = random.one(&odd);
        options.push((name.to_owned(), Node::Scalar(value.to_owned())));
    }
    if random.percent(5) {
        options.push(("knockout_prefix".to_owned(), Node::Scalar("'--'".into())));
    }
    config.push((":deep_merge_options".into(), Node::Map(options)));
}

fn odd_entries(random: &mut Random, config: &mut Vec<(String, Node)>) {
    let mut add = |key: &str, value: &str| config.push((key.to_owned(), Node::Scalar(value.to_owned())));
    match random.weighted(&[900, 30, 20, 5, 10, 5]) {
        1 => add(":logger", "noop"),
        2 => add(random.pick(&["version", ":version"]), "3"),
        3 => add("version", random.pick(&["5", "4", "'3'", "3.5", "true"])),
        4 => add(random.pick(&["hierarchy", "backends", "unknown", ":unknown"]), "[x]"),
        5 => add(":unknown", "*nowhere"),
        _ => {}
    }
}
