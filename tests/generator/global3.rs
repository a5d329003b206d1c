//! `hiera.yaml` of version 3 as Puppet's global layer.

use super::Content;
use super::emit::{Language, Node};
use super::encryption;
use super::files::{self, Files};
use super::hierarchy::{Dialect, Plan, Template, datadir, joined};
use super::random::Random;
use super::version3;

/// The folder of data in the environment if the file names none.
const DEFAULT_DATADIR: &str = "hieradata";

/// Faults of a configuration: each is refused, or fails every key.
const FAULTS: [(&str, &str); 14] = [
    (":backends", "[yaml, yaml]"),
    (":backends", "[[yaml]]"),
    (":backends", "[:yaml]"),
    (":backends", "[custom]"),
    (":backends", "''"),
    (":merge_behavior", "deepest"),
    (":merge_behavior", ":deeper"),
    (":deep_merge_options", "[x]"),
    (":hierarchy", "[[common]]"),
    (":hierarchy", "[common, 5]"),
    (":hierarchy", "[\"%{hiera('color')}\"]"),
    (":yaml", "data"),
    (":unknown", "1"),
    ("version", "'3'"),
];

/// Adds a global layer below `folder`, and the data that it takes from the environment.
pub(crate) fn add(random: &mut Random, folder: &str, all: &mut Files) {
    let mut environment = Vec::new();
    let mut plan = plan(random, &mut environment);
    let files = files::write(random, &plan);
    plan.files = environment;
    all.extend(files::write(random, &plan));
    all.extend(files.into_iter().map(|(path, content)| (format!("{folder}/{path}"), content)));
    all.insert(format!("{folder}/hiera.yaml"), Content::File(plan.document(random)));
    // Those who have such a file mostly have none in the environment, or an early one.
    if random.percent(25) {
        all.insert("hiera.yaml".into(), Content::Nothing);
    }
}

fn plan(random: &mut Random, environment: &mut Vec<String>) -> Plan {
    let mut config = Vec::new();
    let sources: Vec<Template> = random.times(1, 4).map(|_| source(random)).collect();
    let backends: &[&str] = match random.weighted(&[20, 25, 15, 10, 12, 8, 10]) {
        0 => &[],
        1 => &["yaml"],
        2 => &["yaml", "json"],
        3 => &["json", "yaml"],
        4 => &["eyaml", "yaml"],
        5 => &["hocon"],
        _ => &["eyaml"],
    };
    let mut files = Vec::new();
    for backend in if backends.is_empty() { &["yaml"] } else { backends } {
        let (extension, folders) = section(random, backend, &mut config);
        let paths: Vec<String> =
            sources.iter().flat_map(|source| &source.paths).map(|path| format!("{path}.{extension}")).collect();
        match folders {
            Some(folders) => {
                files.extend(folders.iter().flat_map(|folder| paths.iter().map(|path| joined(folder, path))));
            }
            None => environment.extend(paths.iter().map(|path| joined(DEFAULT_DATADIR, path))),
        }
    }
    let scalar = |name: &&str| Node::Scalar((*name).to_owned());
    match backends {
        [] => {}
        [one] if random.percent(20) => config.push((":backends".into(), scalar(one))),
        several => config.push((":backends".into(), Node::List(several.iter().map(scalar).collect()))),
    }
    let hierarchy = sources.iter().map(|source| Language::Yaml.scalar(random, &source.text)).collect();
    config.push((":hierarchy".into(), Node::List(hierarchy)));
    others(random, &mut config);
    files.sort();
    files.dedup();
    Plan { config: Node::Map(random.shuffled(&config)), files, dialect: Dialect::Hiera5 }
}

/// A source without another key, which Puppet refuses there.
fn source(random: &mut Random) -> Template {
    loop {
        let source = version3::source(random);
        if !source.text.contains('(') {
            return source;
        }
    }
}

/// A backend's section; the extension of its files, and the folders that its datadir can be.
fn section(random: &mut Random, backend: &str, config: &mut Vec<(String, Node)>) -> (String, Option<Vec<String>>) {
    let mut extension = if backend == "hocon" { "conf" } else { backend }.to_owned();
    let mut entries = Vec::new();
    let mut folders = None;
    if random.percent(85) {
        let template = datadir(random);
        entries.push((":datadir".to_owned(), Language::Yaml.scalar(random, &template.text)));
        folders = Some(template.paths);
    }
    if random.percent(12) {
        random.pick(&["yml", "data"]).clone_into(&mut extension);
        entries.push((":extension".into(), Node::Scalar(extension.clone())));
    }
    if let ("eyaml", Node::Map(keys)) = (backend, encryption::options(random)) {
        entries.extend(keys.into_iter().map(|(key, value)| (format!(":{key}"), value)));
    }
    if !entries.is_empty() || random.percent(30) {
        config.push((format!(":{backend}"), Node::Map(random.shuffled(&entries))));
    }
    (extension, folders)
}

fn others(random: &mut Random, config: &mut Vec<(String, Node)>) {
    if random.percent(40) {
        let behavior = random.pick(&["native", "deep", "deeper"]);
        config.push((":merge_behavior".into(), Node::Scalar(behavior.to_owned())));
        if random.percent(30) {
            let options = vec![(":knockout_prefix".to_owned(), Node::Scalar("'--'".into()))];
            config.push((":deep_merge_options".into(), Node::Map(options)));
        }
    }
    if random.percent(10) {
        config.push((":logger".into(), Node::Scalar(random.pick(&["noop", "console"]).to_owned())));
    }
    if random.percent(10) {
        config.push((random.pick(&["version", ":version"]).to_owned(), Node::Scalar("3".into())));
    }
    if random.percent(4) {
        let (key, value) = random.one(&FAULTS);
        config.retain(|(other, _)| other != key);
        config.push((key.to_owned(), Node::Scalar(value.to_owned())));
    }
}
