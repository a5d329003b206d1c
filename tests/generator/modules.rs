//! Modules with data of their own, and where the environment finds them.

use super::Content;
use super::data::Writer;
use super::emit::{Language, Node};
use super::expression::Place;
use super::files::Files;
use super::hierarchy;
use super::options::{self, Owner};
use super::random::Random;
use super::version4;
use super::words::Kind;

const NAMES: [&str; 3] = ["ntp", "apache", "profile"];

const KEYS: [(&str, Kind); 6] = [
    ("options", Kind::Hash),
    ("servers", Kind::Array),
    ("port", Kind::Number),
    ("list", Kind::Array),
    ("mods", Kind::Array),
    ("a.b", Kind::Scalar),
];

/// Settings of `environment.conf`, the folder that then holds modules, and whether Puppet looks there.
const SETTINGS: [(&str, &str); 12] = [
    ("", "modules"),
    ("modulepath = modules\n", "modules"),
    ("modulepath = site-modules:modules:$basemodulepath\n", "site-modules"),
    ("modulepath=$basemodulepath:./modules\n", "modules"),
    ("modulepath = dist/../site:modules\n", "site"),
    ("# comment\nmodulepath = code/*\nenvironment_timeout = 0\n", "code/inner"),
    ("modulepath = nowhere:modules\n", "modules"),
    ("modulepath = \"site\"\n", "site"),
    ("modulepath = site\n", "modules"),
    ("environment_data_provider = hiera\nmodulepath = site:modules\n", "site"),
    ("environment_data_provider = none\n", "modules"),
    ("environment_data_provider = \"hiera\"\n", "modules"),
];

/// The folder outside of the repository that `$basemodulepath` stands for.
pub(crate) const BASE: &str = "/base";

/// Adds some modules, or none.
pub(crate) fn add(random: &mut Random, files: &mut Files) {
    if random.percent(45) {
        return;
    }
    let (setting, folder) = if random.percent(60) { SETTINGS[0] } else { random.one(&SETTINGS) };
    if !setting.is_empty() {
        files.insert("environment.conf".into(), Content::File(setting.into()));
    }
    for name in NAMES {
        if random.percent(60) {
            module(random, files, &format!("{folder}/{name}"), name);
        }
        if random.percent(4) {
            module(random, files, &format!("modules/{name}"), name);
        }
        if random.percent(12) {
            module(random, files, &format!("{BASE}/{name}"), name);
        }
    }
    if random.percent(5) {
        files.insert(format!("{folder}/bad-name/hiera.yaml"), Content::File("version: 5\n".into()));
    }
    if random.percent(5) {
        files.insert(format!("{folder}/linked"), Content::Link("ntp".into()));
    }
}

fn module(random: &mut Random, files: &mut Files, root: &str, name: &'static str) {
    metadata(random, files, root, name);
    let plan = hierarchy::module_plan(random);
    let plan = if random.percent(5) { version4::plan(random) } else { plan };
    let config = match random.weighted(&[86, 8, 3, 1, 1, 1]) {
        0 => plan.document(random),
        1 => String::new(),
        2 => "version: 5\n".to_owned(),
        3 => "version: 3\n".to_owned(),
        _ => "# nothing\n".to_owned(),
    };
    if !config.is_empty() {
        files.insert(format!("{root}/hiera.yaml"), Content::File(config));
    }
    for path in plan.files.iter().map(String::as_str).chain(["data/common.yaml"]) {
        if random.percent(60) {
            let text = data_file(random, Language::of(path), name);
            files.entry(format!("{root}/{path}")).or_insert(Content::File(text));
        }
    }
}

fn metadata(random: &mut Random, files: &mut Files, root: &str, name: &str) {
    let full = format!(
        "{{\"name\": \"acme-{name}\", \"version\": \"1.0.0\", \"author\": \"acme\", \"license\": \"x\", \"source\": \"y\"}}\n"
    );
    let providers = ["\"hiera\"", "\"hiera\"", "\"none\"", "null", "\"function\"", "\"sample\""];
    let provider = random.pick(&providers);
    let text = match random.weighted(&[36, 30, 20, 8, 2, 1, 1]) {
        0 => return,
        1 => full,
        2 => full.replace('}', ", \"dependencies\": []}"),
        3 => full.replace('}', &format!(", \"data_provider\": {provider}}}")),
        4 => format!("{{\"name\": \"acme-{name}\", \"version\": \"1.0.0\"}}\n"),
        5 => "{\n".to_owned(),
        _ => "{}\n".to_owned(),
    };
    files.insert(format!("{root}/metadata.json"), Content::File(text));
}

fn data_file(random: &mut Random, language: Language, module: &'static str) -> String {
    let mut entries = Vec::new();
    let mut writer = Writer::new(random, language, false);
    for (key, kind) in KEYS {
        if writer.random.percent(45) {
            let value = writer.value(kind, Place::Aside);
            let outside = writer.random.percent(3);
            let key = if outside { key.to_owned() } else { format!("{module}::{key}") };
            entries.push((language.text(writer.random, &key), value));
        }
    }
    if random.percent(30) {
        entries.push(options::lookup_options(random, language, &Owner::Module(module)));
    }
    language.document(random, &Node::Map(entries))
}
