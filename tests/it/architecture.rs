//! The rules of the modules: who may use whom, who may touch the world outside.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// All Rust files below a folder, with their text.
fn sources(folder: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root().join(folder)];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// The modules in the order of `lib.rs`: each may use those before it.
fn modules() -> Vec<String> {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let declared = Regex::new(r"(?m)^pub mod (\w+);").unwrap();
    declared.captures_iter(&lib).map(|found| found[1].to_owned()).collect()
}

/// The module that a source file belongs to.
fn module_of(path: &str) -> &str {
    path.trim_start_matches("src/").split(['/', '.']).next().unwrap()
}

#[test]
fn each_module_uses_only_those_above_it() {
    let modules = modules();
    assert!(modules.len() > 10, "{modules:?}");
    let used = Regex::new(r"\bcrate::(\w+)").unwrap();
    let position = |name: &str| modules.iter().position(|module| module == name);
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let Some(own) = position(module_of(&path)) else { continue };
        for found in used.captures_iter(&text) {
            if position(&found[1]).is_none_or(|other| other > own) {
                wrong.push(format!("{path} uses {}", &found[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The modules whose text matches `pattern`, tests inside them included.
fn modules_with(pattern: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    let mut found: Vec<String> = sources("src")
        .iter()
        .filter(|(_, text)| pattern.is_match(text))
        .map(|(path, _)| module_of(path).to_owned())
        .collect();
    found.dedup();
    found
}

#[test]
fn the_world_outside_is_touched_at_the_edges() {
    assert_eq!(modules_with(r"\bgit2::"), ["git"]);
    assert_eq!(modules_with(r"\btokio::"), ["app", "cli", "daemon", "delivery", "process"]);
    assert_eq!(modules_with(r"\bprintln!|\bstd::io::stdout"), ["cli"]);
    assert_eq!(modules_with(r"\bserde_yaml::"), ["settings"]);
    for core in ["value", "diagnostic", "tree", "puppet", "node", "hiera", "fleet", "diff"] {
        let outside = modules_with(r"\bstd::(fs|env|net|process|time)\b|\bSystemTime\b|\bInstant\b");
        assert!(!outside.iter().any(|module| module == core), "{core} touches the disk, the clock or the environment");
    }
}

#[test]
fn no_test_file_is_forgotten() {
    let main = fs::read_to_string(root().join("tests/it/main.rs")).unwrap();
    for entry in fs::read_dir(root().join("tests/it")).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(name == "main" || main.contains(&format!("mod {name};")), "tests/it/main.rs does not know {name}");
    }
}

#[test]
fn files_and_functions_stay_small() {
    let mut long: Vec<String> = Vec::new();
    for (path, text) in sources("src") {
        let lines = text.lines().count();
        if lines > 600 {
            long.push(format!("{path}: {lines} lines"));
        }
        if !text.starts_with("//!") {
            long.push(format!("{path}: no word on what the module owns"));
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn each_kind_of_fault_has_a_name_that_can_be_allowed() {
    let named = Regex::new(
        r#"(?s)(?:Diagnostic::(?:error|warning|note)|\b(?:warn|note)|warning)\(\s*"([a-z0-9-]+)"|Fault::new\([^"]*?"([a-z0-9-]+)""#,
    );
    let named = named.unwrap();
    let mut codes = Vec::new();
    for (path, text) in sources("src") {
        let is_asked = ["src/hiera/", "src/fleet/", "src/pipeline/"].iter().any(|folder| path.starts_with(folder));
        if is_asked {
            let found = named.captures_iter(&text).filter_map(|found| found.get(1).or(found.get(2)));
            codes.extend(found.map(|code| code.as_str().to_owned()));
        }
    }
    assert!(codes.len() > 15, "{codes:?}");
    let unknown: Vec<&String> =
        codes.iter().filter(|code| !hierad::pipeline::check::CODES.contains(&code.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
