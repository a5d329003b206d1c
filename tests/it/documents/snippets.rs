//! Blocks of YAML and JSON: settings, profiles and hierarchies are read as hierad reads them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use hierad::app::settings::Settings;
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::node::read_profiles;
use hierad::puppet::{json, yaml};
use hierad::tree::MemoryTree;
use tempfile::TempDir;

use super::pages::{Block, blocks, none, page, pages};

/// The files that settings in the pages name and that are read along with them.
const FILES: [(&str, &str); 6] = [
    ("ssm.yaml", "a: 1\n"),
    ("secrets.yaml", "{}\n"),
    ("token", "0123456789abcdef0123456789abcdef\n"),
    ("github.secret", "0123456789abcdef\n"),
    ("private.pem", ""),
    ("public.pem", ""),
];

/// Reads a file of settings with this text, beside the files that it may name.
fn settings(text: &str) -> Result<Settings, String> {
    let folder = TempDir::new().unwrap();
    for (name, content) in FILES {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let path = folder.path().join("hierad.yaml");
    fs::write(&path, text).unwrap();
    let masked = |text: String| text.replace(folder.path().to_str().unwrap(), "");
    Settings::load(&path).map_err(|error| masked(error.to_string()))
}

/// Reads a block of YAML as what it is.
fn read(block: &Block) -> Result<(), String> {
    match block.comment("as") {
        None => settings(&block.text).map(drop),
        Some("profile") => {
            let (read, errors) = read_profiles(block.text.as_bytes(), "page.yaml", "production");
            if read.len() == 1 && errors.is_empty() { Ok(()) } else { Err(format!("{errors:?}")) }
        }
        Some("hiera.yaml") => {
            let tree = MemoryTree::from_fixture(&format!("-- hiera.yaml\n{}", block.text));
            let loaded = Environment::load(Arc::new(tree), EnvironmentOptions::default(), Arc::default());
            let loaded = loaded.map_err(|error| error.to_string())?;
            let told = &loaded.diagnostics;
            if told.is_empty() { Ok(()) } else { Err(format!("{told:?}")) }
        }
        Some("data") => {
            let fault = yaml::parse(block.text.as_bytes()).fault;
            fault.map_or(Ok(()), |fault| Err(format!("{fault:?}")))
        }
        Some(other) => Err(format!("no test knows YAML as {other:?}")),
    }
}

#[test]
fn yaml_is_read_as_what_it_is() {
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        for block in blocks(&text).iter().filter(|block| block.language == "yaml") {
            wrong.extend(read(block).err().map(|error| format!("{path}:{}: {error}", block.line)));
        }
    }
    none(&wrong);
}

#[test]
fn json_is_one_document_or_one_a_line() {
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        for block in blocks(&text).iter().filter(|block| block.language == "json") {
            let parse = |text: &str| json::parse(text.as_bytes()).fault;
            let lines = || block.text.lines().all(|line| parse(line).is_none());
            if parse(&block.text).is_some() && !lines() {
                wrong.push(format!("{path}:{}: this is no JSON", block.line));
            }
        }
    }
    none(&wrong);
}

#[test]
fn every_setting_is_documented() {
    // An unknown setting is refused with a list of those that there are.
    let refused = settings("nonsense: 1\n").unwrap_err();
    let (_, expected) = refused.split_once("expected one of ").unwrap();
    let names: Vec<&str> = expected.split(", ").map(|name| name.trim_matches('`')).collect();
    assert!(names.len() > 20, "{names:?}");
    let page = page("docs/settings.md");
    // A line of a list or a table begins with the settings that it describes; those of a section follow a dot.
    let (_, described) = page.split_once("\n## Nodes\n").unwrap();
    let lines = described.lines().filter_map(|line| line.strip_prefix("- `").or(line.strip_prefix("| `")));
    let heads = lines.flat_map(|line| line.split([':', '|']).next().unwrap_or_default().split(", "));
    let described: Vec<&str> =
        heads.map(|head| head.split(['`', '.']).find(|name| !name.is_empty()).unwrap()).collect();
    let wrong = |from: &[&str], among: &[&str]| {
        from.iter().filter(|name| !among.contains(name)).map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    none(&wrong(&names, &described));
    none(&wrong(&described, &names));
}

#[test]
fn every_code_is_documented() {
    let missing = |path: &str, codes: &[&str]| -> Vec<String> {
        let page = page(path);
        let forms = |code: &str| [format!("\n| `{code}` |"), format!("\n- `{code}`: ")];
        let is_missing = |code: &&&str| !forms(code).iter().any(|form| page.contains(form));
        codes.iter().filter(is_missing).map(|code| format!("{path}: {code}")).collect()
    };
    none(&missing("docs/check.md", &hierad::checks::CODES));
    // An unknown code is refused with a list of those that there are.
    let refused = settings("accept: {nonsense: x}\n").unwrap_err();
    let (_, accepted) = refused.split_once("use one of ").unwrap();
    let accepted: Vec<&str> = accepted.split(", ").filter_map(|code| code.split(' ').next()).collect();
    assert!(accepted.len() > 5, "{accepted:?}");
    let (of_blind_spots, of_faults): (Vec<&str>, _) =
        accepted.iter().partition(|code| hierad::blind_spots::accept::CODES.iter().any(|(known, _)| known == *code));
    none(&missing("docs/verdict.md", &of_blind_spots));
    none(&missing("docs/check.md", &of_faults));
}

#[test]
fn the_issue_form_is_a_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/ISSUE_TEMPLATE");
    let texts = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let texts: Vec<String> = texts.collect();
    assert!(texts.iter().any(|text| text.contains("hierad verify")));
    for text in texts {
        let form = yaml::parse(text.as_bytes());
        assert!(form.fault.is_none(), "{:?}", form.fault);
        let Some(body) = form.value.get("body") else { continue };
        let ids = body.as_array().unwrap().iter().filter_map(|item| item.get("id")?.as_str());
        let ids: Vec<&str> = ids.collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    }
}
