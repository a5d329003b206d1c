//! `hiera.yaml` version 5, and which files it makes worth having.

use super::emit::{Language, Node};
use super::encryption;
use super::expression::{self, Place};
use super::random::Random;
use super::words::{ENVIRONMENT, FAMILIES, NODES, ROLES, SITES, TIERS};

/// A hierarchy and the files it may read on some node.
pub(crate) struct Plan {
    /// The configuration.
    pub(crate) config: Node,
    /// The paths, from the folder of the configuration, with every variable's known values filled in.
    pub(crate) files: Vec<String>,
    /// The reader of it.
    pub(crate) dialect: Dialect,
}

/// The reader of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Puppet.
    Hiera5,
    /// Hiera 3, which has no `lookup_options` in data and refuses aliases.
    Hiera3 {
        /// True if there are some all the same.
        aliases: bool,
    },
}

impl Plan {
    /// The text of `hiera.yaml`.
    pub(crate) fn document(&self, random: &mut Random) -> String {
        Language::Yaml.document(random, &self.config)
    }
}

/// A path with variables, and what it can become.
pub(super) struct Template {
    pub(super) text: String,
    pub(super) paths: Vec<String>,
}

/// A sound hierarchy of some levels.
pub(crate) fn plan(random: &mut Random) -> Plan {
    plan_of(random, false)
}

/// A hierarchy of some levels, at times with a `default_hierarchy`, which only modules have.
pub(crate) fn module_plan(random: &mut Random) -> Plan {
    let with_defaults = random.percent(40);
    plan_of(random, with_defaults)
}

fn plan_of(random: &mut Random, with_default_hierarchy: bool) -> Plan {
    let defaults = random.percent(85);
    let default_datadir = if defaults && random.percent(80) { Some(datadir(random)) } else { None };
    let (levels, mut files) = levels(random, defaults, default_datadir.as_ref());
    let mut config = vec![("version".to_owned(), Node::Scalar("5".into()))];
    if defaults {
        config.push(("defaults".into(), default_entries(random, default_datadir.as_ref())));
    }
    config.push(("hierarchy".into(), Node::List(levels)));
    if with_default_hierarchy {
        let (levels, more) = self::levels(random, defaults, default_datadir.as_ref());
        config.push(("default_hierarchy".into(), Node::List(levels)));
        files.extend(more);
    }
    files.sort();
    files.dedup();
    Plan { config: Node::Map(random.shuffled(&config)), files, dialect: Dialect::Hiera5 }
}

fn levels(random: &mut Random, defaults: bool, datadir: Option<&Template>) -> (Vec<Node>, Vec<String>) {
    let mut levels = Vec::new();
    let mut files = Vec::new();
    for number in random.times(1, 6) {
        let (level, paths) = level(random, number, defaults, datadir);
        levels.push(level);
        files.extend(paths);
    }
    (levels, files)
}

fn default_entries(random: &mut Random, datadir: Option<&Template>) -> Node {
    let mut entries = vec![("data_hash".to_owned(), Node::Scalar("yaml_data".into()))];
    if let Some(datadir) = datadir {
        entries.push(("datadir".into(), Language::Yaml.scalar(random, &datadir.text)));
    }
    Node::Map(random.shuffled(&entries))
}

fn level(random: &mut Random, number: u32, defaults: bool, inherited: Option<&Template>) -> (Node, Vec<String>) {
    let (function, extension) = match random.weighted(&[58, 16, 10, 16]) {
        0 => ("yaml_data", random.pick(&["yaml", "yaml", "yaml", "yml"])),
        1 => ("json_data", "json"),
        2 => ("hocon_data", "conf"),
        _ => ("eyaml_lookup_key", random.pick(&["eyaml", "eyaml", "yaml"])),
    };
    let mut entries = vec![("name".to_owned(), Language::Yaml.scalar(random, &format!("level {number}")))];
    if function == "eyaml_lookup_key" {
        entries.push(("lookup_key".into(), Node::Scalar(function.into())));
        entries.push(("options".into(), encryption::options(random)));
    } else if function != "yaml_data" || !defaults || random.percent(25) {
        entries.push(("data_hash".into(), Node::Scalar(function.into())));
    }
    let own = random.percent(12).then(|| datadir(random));
    if let Some(own) = &own {
        entries.push(("datadir".into(), Language::Yaml.scalar(random, &own.text)));
    }
    let folders = own.as_ref().or(inherited).map_or_else(|| vec!["data".to_owned()], |template| template.paths.clone());
    let (location, paths) = location(random, extension);
    entries.push(location);
    let files = folders.iter().flat_map(|folder| paths.iter().map(move |path| joined(folder, path))).collect();
    (Node::Map(random.shuffled(&entries)), files)
}

/// `path` below `folder`, as the operating system sees it.
pub(super) fn joined(folder: &str, path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in folder.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    names.join("/")
}

pub(super) fn datadir(random: &mut Random) -> Template {
    let fixed = |text: &str| Template { text: text.into(), paths: vec![text.into()] };
    match random.weighted(&[60, 10, 6, 5, 4, 4, 3, 4, 4]) {
        0 => fixed("data"),
        1 => fixed(random.pick(&["hieradata", "data/nested", "./data", "data/"])),
        2 => filled("data/%{site}", &SITES),
        3 => filled("%{facts.site}_data", &SITES),
        4 => filled("data/%{environment}", &[ENVIRONMENT]),
        5 => filled("data/%{::os.family}", &FAMILIES),
        6 => fixed("data//x/../y"),
        7 => fixed("."),
        _ => filled("%{}data", &[""]),
    }
}

/// `text` with its one variable replaced by each of `values`.
pub(super) fn filled(text: &str, values: &[&str]) -> Template {
    let (before, rest) = text.split_once("%{").unwrap_or((text, "}"));
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    Template { text: text.into(), paths: values.iter().map(|value| format!("{before}{value}{after}")).collect() }
}

fn template(random: &mut Random, extension: &str) -> Template {
    let variable = |random: &mut Random, spellings: &[&str]| random.one(spellings).to_owned();
    let mut template = match random.weighted(&[26, 14, 12, 12, 6, 6, 4, 5, 4, 3, 3, 2, 2, 2]) {
        0 => filled(random.pick(&["common", "base", "other"]), &[""]),
        1 => filled(
            &format!("nodes/%{{{}}}", variable(random, &["trusted.certname", "::trusted.certname", "clientcert"])),
            &NODES,
        ),
        2 => filled(
            &format!("os/%{{{}}}", variable(random, &["os.family", "facts.os.family", "::os.family"])),
            &FAMILIES,
        ),
        3 => filled(&format!("%{{{}}}", variable(random, &["role", "::role", " role ", "facts.role"])), &ROLES),
        4 => {
            let paths =
                SITES.iter().flat_map(|site| ROLES.iter().map(move |role| format!("site/{site}/{role}"))).collect();
            Template { text: "site/%{site}/%{facts.role}".into(), paths }
        }
        5 => filled("%{site}", &SITES),
        6 => filled(random.pick(&["missing/%{nope}", "missing/%{facts.nope}x", "%{nope.a.b}"]), &[""]),
        7 => filled(random.pick(&["./common", "extra//x", "extra/../common", "sub/common"]), &[""]),
        8 => filled("%{environment}", &[ENVIRONMENT]),
        9 => filled("list/%{list.0}", &["red", "x"]),
        10 => filled("%{}common", &[""]),
        11 => filled("quirk/%{quirk}", &["web", "db", ""]),
        12 => filled("count/%{count}", &["1", "2", "true"]),
        _ => Template { text: format!("any/{}", expression::embedded(random, Place::Config)), paths: Vec::new() },
    };
    template.text = format!("{}.{extension}", template.text);
    template.paths.iter_mut().for_each(|path| *path = format!("{path}.{extension}"));
    template
}

/// A level's location key with its value, and the paths below the datadir that it can lead to.
fn location(random: &mut Random, extension: &str) -> ((String, Node), Vec<String>) {
    match random.weighted(&[55, 20, 7, 7, 11]) {
        0 => {
            let template = template(random, extension);
            (("path".into(), Language::Yaml.scalar(random, &template.text)), template.paths)
        }
        1 => {
            let templates: Vec<_> = random.times(1, 3).map(|_| template(random, extension)).collect();
            let texts = templates.iter().map(|template| Language::Yaml.scalar(random, &template.text)).collect();
            (("paths".into(), Node::List(texts)), templates.into_iter().flat_map(|template| template.paths).collect())
        }
        2 => {
            let pattern = format!("{}.{extension}", glob(random));
            (("glob".into(), Language::Yaml.scalar(random, &pattern)), globbed(extension))
        }
        3 => {
            let patterns = random.times(1, 3).map(|_| {
                let pattern = format!("{}.{extension}", glob(random));
                Language::Yaml.scalar(random, &pattern)
            });
            (("globs".into(), Node::List(patterns.collect())), globbed(extension))
        }
        _ => mapped(random, extension),
    }
}

fn glob(random: &mut Random) -> &'static str {
    random.pick(&[
        "glob/*",
        "glob/**/*",
        "**/*",
        "glob/{b,a}*",
        "glob/[ab]*",
        "glob/[^a]*",
        "glob/?",
        "{common,glob/b}",
        "glob/{,sub/}a",
        "%{role}*",
        "glob/%{site}*",
        "nothing/*",
        "glob/.*",
        "glob/**/b",
        "g*/**",
        "glob/sub/../*",
        "glob/\\a",
        "*/{a,b}",
    ])
}

fn globbed(extension: &str) -> Vec<String> {
    let names = ["a", "b", "B", "10", "9", ".hidden", "sub/a", "sub/deeper/b", ".dot/a", "berlin1", "ä"];
    names.iter().map(|name| format!("glob/{name}.{extension}")).collect()
}

fn mapped(random: &mut Random, extension: &str) -> ((String, Node), Vec<String>) {
    let source = random.pick(&[
        "tiers",
        "facts.tiers",
        "::tiers",
        "role",
        "mapped",
        "nope",
        "list",
        "os.release",
        "enc",
        "site",
    ]);
    let name = random.pick(&["tier", "role", "x", "facts"]);
    let template = match random.weighted(&[70, 15, 15]) {
        0 => format!("tiers/%{{{name}}}.{extension}"),
        1 => format!("%{{site}}/%{{{name}}}.{extension}"),
        _ => format!("tiers/%{{{name}}}_%{{::{name}}}.{extension}"),
    };
    let texts = [source, name, &template].map(|text| Language::Yaml.scalar(random, text));
    let values = TIERS.iter().chain(&ROLES).chain(&SITES);
    let paths = values.map(|value| format!("tiers/{value}.{extension}")).collect();
    (("mapped_paths".into(), Node::List(texts.to_vec())), paths)
}
