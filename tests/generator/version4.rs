//! `hiera.yaml` of version 4.

use super::emit::{Language, Node};
use super::hierarchy::{Dialect, Plan, Template, filled, joined};
use super::random::Random;
use super::words::{FAMILIES, ROLES, SITES};

/// A sound configuration, which reads variables in names and paths, and nowhere else.
pub(crate) fn plan(random: &mut Random) -> Plan {
    let mut config = vec![("version".to_owned(), Node::Scalar("4".into()))];
    let folder = random.pick(&["data", "data", "hieradata", "data/%{site}"]);
    let declared = folder != "data" || random.percent(50);
    if declared {
        config.push(("datadir".into(), Language::Yaml.scalar(random, folder)));
    }
    let mut files = Vec::new();
    if random.percent(95) {
        let levels = random.times(1, 4).map(|number| level(random, number, folder, &mut files)).collect();
        config.push(("hierarchy".into(), Node::List(levels)));
    } else {
        files.push(joined(folder, "common.yaml"));
    }
    Plan { config: Node::Map(random.shuffled(&config)), files, dialect: Dialect::Hiera5 }
}

fn level(random: &mut Random, number: u32, folder: &str, files: &mut Vec<String>) -> Node {
    let (backend, extension) = random.one(&[("yaml", "yaml"), ("yaml", "yaml"), ("json", "json"), ("hocon", "conf")]);
    let mut entries = vec![("backend".to_owned(), Node::Scalar(backend.into()))];
    let own = random.percent(15).then(|| random.pick(&["other", "data/./nested"]));
    if let Some(own) = own {
        entries.push(("datadir".into(), Node::Scalar(own.into())));
    }
    let templates: Vec<Template> = random.times(1, 3).map(|_| template(random)).collect();
    let name = if random.percent(60) { format!("level {number}") } else { templates[0].text.clone() };
    let paths = templates.iter().map(|template| Language::Yaml.scalar(random, &template.text)).collect();
    match random.weighted(&[30, 50]) {
        0 if name == templates[0].text => {}
        1 => entries.push(("paths".into(), Node::List(paths))),
        _ => entries.push(("path".into(), Language::Yaml.scalar(random, &templates[0].text))),
    }
    entries.push(("name".into(), Language::Yaml.scalar(random, &name)));
    let paths = templates.iter().flat_map(|template| &template.paths);
    files.extend(paths.map(|path| joined(own.unwrap_or(folder), &format!("{path}.{extension}"))));
    Node::Map(random.shuffled(&entries))
}

fn template(random: &mut Random) -> Template {
    match random.weighted(&[40, 20, 20, 15, 5]) {
        0 => filled(random.pick(&["common", "base", "other"]), &[""]),
        1 => filled(random.pick(&["%{role}", "%{::role}", "%{facts.role}"]), &ROLES),
        2 => filled(random.pick(&["os/%{os.family}", "os/%{facts.os.family}"]), &FAMILIES),
        3 => filled("%{site}", &SITES),
        _ => filled(random.pick(&["quirk/%{quirk}", "missing/%{trusted.nope}"]), &["web", "db"]),
    }
}
