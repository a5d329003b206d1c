//! The rules of the modules: who may use whom, who may touch the world outside.

mod circles;
mod comments;
mod places;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use regex::Regex;

use circles::{circles, siblings};
use source::{Source, root, sources, texts};

/// Returns the modules in the order of `lib.rs`: each may use those before it.
fn modules() -> Vec<String> {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let declared = Regex::new(r"(?m)^pub mod (\w+);").unwrap();
    declared.captures_iter(&lib).map(|found| found[1].to_owned()).collect()
}

/// Returns the top module that a source file belongs to.
fn module_of(path: &str) -> &str {
    path.trim_start_matches("src/").split(['/', '.']).next().unwrap()
}

#[test]
fn each_module_uses_only_those_above_it() {
    let modules = modules();
    assert!(modules.len() > 10, "{modules:?}");
    let position = |name: &str| modules.iter().position(|module| module == name).unwrap();
    let siblings = siblings(sources());
    let top = &siblings[&Vec::new()];
    assert!(top.len() > 50, "{top:?}");
    let wrong: Vec<&String> =
        top.iter().filter(|((user, used), _)| position(user) < position(used)).map(|(_, place)| place).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The modules that `settings` may know, eight at most: nouns of the core, and the names of forges, which are names of
/// settings. What settings are for is known in `app/settings`.
const KNOWN_TO_SETTINGS: [&str; 8] = ["disk", "forge", "pattern", "puppet", "tree", "value", "visible", "workers"];

#[test]
fn settings_know_the_core_alone() {
    let known = |sources: &[&Source]| -> BTreeSet<String> {
        let own = sources.iter().filter(|source| source.module.first().is_some_and(|top| top == "settings"));
        own.flat_map(|source| &source.uses).filter_map(|used| used.first().cloned()).collect()
    };
    let mut sources: Vec<&Source> = sources().iter().collect();
    let allowed: BTreeSet<String> = KNOWN_TO_SETTINGS.into_iter().chain(["settings"]).map(str::to_owned).collect();
    assert_eq!(known(&sources), allowed);
    let planted = "use crate::policy::Policies; fn f() { crate::delivery::Webhook::check(\"\"); }";
    let planted = source::parse("src/settings/repository.rs".into(), planted.into());
    sources.push(&planted);
    assert_eq!(known(&sources).len(), allowed.len() + 2);
}

#[test]
fn siblings_form_no_circle() {
    let found = circles(&siblings(sources()));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_circle_behind_an_export_is_seen() {
    let file = |name: &str, text: &str| source::parse(format!("src/{name}.rs"), text.to_owned());
    let root = file("lib", "pub mod a;");
    let parent = file("a/mod", "mod b; mod c; pub use b::One as Other;");
    let first = file("a/b", "use super::c::Two; pub struct One(Two);");
    let export = file("a/c", "pub struct Two; fn f() { g(super::Other) }");
    let own = file("a/c", "pub struct Two; mod tests { fn f() { g(super::Own) } }");
    let circle = circles(&siblings(&[root, parent, first, export]));
    assert_eq!(circle.len(), 2, "{circle:#?}");
    assert!(circle[0].starts_with("in a: b -> c"), "{circle:#?}");
    let parent = file("a/mod", "mod b; mod c; pub struct Own;");
    let first = file("a/b", "use super::c::Two; pub struct One(Two);");
    assert_eq!(circles(&siblings(&[parent, first, own])), Vec::<String>::new());
}

/// Returns the top modules whose text matches `pattern`, tests inside them included.
fn modules_with(pattern: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    let mut found: Vec<String> = texts("src")
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
    assert_eq!(modules_with(r"\btokio::"), ["app", "cli", "daemon", "delivery", "forge", "inventory", "process"]);
    assert_eq!(modules_with(r"\bprintln!|\bstd::io::stdout"), ["cli"]);
    assert_eq!(modules_with(r"\bserde_yaml::"), ["settings"]);
    for core in ["value", "diagnostic", "tree", "puppet", "event", "pattern", "node", "hiera", "fleet", "diff"] {
        let outside = modules_with(r"\bstd::(fs|env|net|process|time)\b|\bSystemTime\b|\bInstant\b");
        assert!(!outside.iter().any(|module| module == core), "{core} touches the disk, the clock or the environment");
    }
}

#[test]
fn what_strangers_write_meets_the_machine_in_few_places() {
    let texts = texts("src");
    for (rule, planted) in &places::RULES {
        assert_eq!(places::breaches(rule, &texts), Vec::<String>::new());
        for planted in *planted {
            let path = "src/policy/mod.rs";
            let faulty = texts[path].replacen("impl Policies {", &format!("impl Policies {{\n{planted}"), 1);
            let faulty = BTreeMap::from([(path.to_owned(), faulty)]);
            assert_eq!(places::breaches(rule, &faulty).len(), 1, "{}: {planted}: not seen", rule.what);
        }
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
    let sources = sources();
    let mut long: Vec<String> = Vec::new();
    for source in sources {
        let lines = source.text.lines().count();
        if lines > 600 {
            long.push(format!("{}: {lines} lines", source.file));
        }
        if !source.text.starts_with("//!") {
            long.push(format!("{}: no word on what the module owns", source.file));
        }
        let functions = source.functions.iter().filter(|(_, lines)| *lines > 60);
        long.extend(functions.map(|(name, lines)| format!("{}: {name} has {lines} lines", source.file)));
    }
    assert!(long.is_empty(), "{long:#?}");
    let mut lines: Vec<usize> = sources.iter().flat_map(|source| &source.functions).map(|(_, lines)| *lines).collect();
    lines.sort_unstable();
    assert!(lines.len() > 3000, "{}", lines.len());
    let p90 = lines[lines.len() * 9 / 10];
    assert!(p90 < 30, "a tenth of the functions have {p90} lines or more");
}

/// The most files of a folder of `src`, the folders in it not counted.
const MOST_FILES: usize = 15;

/// Returns the folders with too many of some files.
fn crowded<'a>(files: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        *count.entry(file.rsplit_once('/').unwrap().0).or_default() += 1;
    }
    count.retain(|_, count| *count > MOST_FILES);
    count.iter().map(|(folder, count)| format!("{folder} has {count} files")).collect()
}

#[test]
fn folders_stay_small() {
    let mut files: Vec<&str> = sources().iter().map(|source| source.file.as_str()).collect();
    assert_eq!(crowded(files.iter().copied()), Vec::<String>::new());
    let planted: Vec<String> = (0..=MOST_FILES).map(|number| format!("src/policy/one{number}.rs")).collect();
    files.extend(planted.iter().map(String::as_str));
    assert_eq!(crowded(files.into_iter()).len(), 1);
}

#[test]
fn comments_are_narrow_and_say_what_a_thing_does() {
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        for (file, text) in texts(folder) {
            wrong.extend(comments::wide(&file, &text));
            wrong.extend(comments::questions(&file, &text));
        }
    }
    assert!(wrong.is_empty(), "{} lines: {wrong:#?}", wrong.len());
}

#[test]
fn each_kind_of_fault_has_a_name_that_can_be_allowed() {
    let named = Regex::new(
        r#"(?s)(?:Diagnostic::(?:error|warning|note)|\b(?:warn|note)|warning)\(\s*"([a-z0-9-]+)"|Fault::new\([^"]*?"([a-z0-9-]+)""#,
    );
    let named = named.unwrap();
    let mut codes = Vec::new();
    for (path, text) in texts("src") {
        let is_asked = ["src/hiera/", "src/fleet/", "src/pipeline/", "src/blind_spots/", "src/checks/"]
            .iter()
            .any(|folder| path.starts_with(folder));
        if is_asked {
            let found = named.captures_iter(&text).filter_map(|found| found.get(1).or(found.get(2)));
            codes.extend(found.map(|code| code.as_str().to_owned()));
        }
    }
    assert!(codes.len() > 15, "{codes:?}");
    let unknown: Vec<&String> = codes.iter().filter(|code| !hierad::checks::CODES.contains(&code.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
