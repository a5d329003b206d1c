//! Keys, patterns and lists without end count against the budget of a run.

use std::fmt::Write;

use super::repositories::{honest, run, site};
use crate::support::Sandbox;
use crate::support::extent::full_or;

/// The most keys of a revision in these tests: a hundredth of the steps that a run has.
const MOST: usize = 10_000;

const SAID: &str = "unknown to hierad: data/nodes/bad.";

/// Has a run end within so many steps that [`MOST`] keys are all it may look at.
fn limited() -> Sandbox {
    let site = site();
    std::fs::write(site.beside("limits.yaml"), format!("limits: {{steps: {}}}\n", MOST * 100)).unwrap();
    site
}

/// So many keys in YAML, all with names of their own.
fn keys(name: &str, count: usize) -> String {
    (0..count).fold(String::new(), |text, n| text + &format!("{name}{n}: {n}\n"))
}

/// So many keys as entries of a JSON object.
fn entries(name: &str, count: usize) -> String {
    (0..count).map(|n| format!("\"{name}{n}\":{n}")).collect::<Vec<_>>().join(",")
}

/// Commits `files`, of which `bad` is one too many; all that is honest stays.
#[track_caller]
fn set_aside(site: &Sandbox, bad: &str, files: &[(&str, String)]) {
    let before = honest(site);
    for (path, content) in files {
        site.write(path, content);
    }
    site.commit("hostile");
    let printed = run(site, "render --format ndjson");
    let told =
        printed.out.contains(&format!("{SAID}{bad}: too many keys: the file has ")) && printed.out.contains("limits");
    assert!(told, "{bad}: {:.1000}", printed.out);
    assert_eq!(honest(site), before, "{bad}");
    let report = run(site, "diff --format json HEAD~1 HEAD").json();
    assert_ne!(report["verdict"], "no_change", "{bad}");
}

#[test]
fn files_with_too_many_keys_are_set_aside() {
    let json = |count| format!("{{{}}}", entries("evil", count));
    // Entries of a hash that is merged into the root are keys of the root.
    let merged = format!("evil: &all {{{}}}\n<<: *all\n", entries("e", MOST));
    for (extension, content) in [
        ("yaml", keys("evil", MOST + 1)),
        ("json", json(MOST + 1)),
        ("conf", entries("evil", MOST + 1)),
        ("yaml", format!("{{{}}}", entries("evil", MOST + 1))),
        ("yaml", merged),
    ] {
        let site = limited();
        set_aside(&site, extension, &[(&format!("data/nodes/bad.{extension}"), content)]);
    }
}

#[test]
fn files_with_too_many_keys_together_are_set_aside() {
    let site = limited();
    // Nobody reads the others.
    let some = |name: &str| keys(name, MOST / 4);
    let others = ["a", "b", "c", "d"].map(|name| (format!("data/{name}.yaml"), some(name)));
    let mut files: Vec<(&str, String)> = others.iter().map(|(path, keys)| (&**path, keys.clone())).collect();
    files.push(("data/nodes/bad.yaml", some("bad")));
    set_aside(&site, "yaml", &files);
    let of = |threads: usize| run(&site, &format!("render --format ndjson --no-cache --threads {threads}")).out;
    assert_eq!(of(1), of(4));
}

#[test]
fn files_that_only_a_hierarchy_finds_are_counted() {
    let site = limited();
    let config = std::fs::read_to_string(site.root().join("hiera.yaml")).unwrap();
    site.write(
        "hiera.yaml",
        config
            .replace("certname}.yaml'", "certname}.yaml', 'nodes/%{trusted.certname}.txt'")
            .replace("path: 'nodes/%{trusted.certname}.yaml', ", "paths: ['nodes/%{trusted.certname}.yaml', ")
            .replacen("certname}.txt'}", "certname}.txt']}", 1),
    );
    site.commit("texts");
    set_aside(&site, "txt", &[("data/nodes/bad.txt", keys("evil", MOST + 1))]);
}

#[test]
fn a_revision_is_the_same_after_one_with_too_many_keys() {
    let site = limited();
    let before = honest(&site);
    site.write("data/nodes/bad.yaml", keys("evil", MOST - 100));
    site.commit("many");
    site.write("data/nodes/bad.yaml", keys("evil", MOST + 1));
    site.commit("too many");
    site.write("data/nodes/bad.yaml", keys("evil", 10));
    site.commit("few");
    let report = |range: &str| run(&site, &format!("diff --format json {range}")).json();
    // The second revision of a comparison is made from the first.
    assert_ne!(report("HEAD~2 HEAD~1")["verdict"], "no_change");
    let few = report("HEAD~3 HEAD");
    assert_eq!(few["changes"].as_array().unwrap().len(), 10, "{few}");
    let printed = run(&site, "diff --format json HEAD~1 HEAD");
    assert!(printed.out.contains("too many keys") && !printed.out.contains("key evil11"), "{:.1000}", printed.out);
    assert_eq!(honest(&site), before);
}

#[test]
fn answers_that_no_share_is_enough_for_fail_at_once() {
    let site = limited();
    site.write("data/nodes/bad.yaml", keys("evil", MOST / 10 * 6));
    site.commit("hostile");
    let printed = run(&site, "diff --format json HEAD~1 HEAD");
    assert!(printed.out.contains("too many keys: 12000 answers take 1200000 steps at least"), "{:.1000}", printed.out);
    assert_ne!(printed.json()["verdict"], "no_change");
}

#[test]
fn honest_keys_may_be_many() {
    let site = site();
    let count = full_or(100_000, 4_000);
    site.write("data/nodes/good.yaml", format!("honest: 2\n{}", keys("profile::key", count)));
    site.commit("many");
    let printed = run(&site, "render --format ndjson --node good");
    assert!(!printed.out.contains("unknown to hierad"), "{:.1000}", printed.out);
    assert!(printed.out.contains(&format!("\"profile::key{}\":{}", count - 1, count - 1)));
    let report = run(&site, "diff --format json HEAD~1 HEAD").json();
    let keys = report["changes"].as_array().unwrap().iter().map(|change| &change["key"]);
    assert_eq!(keys.filter(|key| key.as_str().unwrap().starts_with("profile::")).count(), count);
}

#[test]
fn many_globs_have_a_share_of_the_work() {
    let site = site();
    let before = honest(&site);
    let config = std::fs::read_to_string(site.root().join("hiera.yaml")).unwrap();
    (0..400).for_each(|n| site.write(&format!("modules/evil/data/{n}.txt"), ""));
    let count = full_or(200_000, 50_000);
    let globs = (0..count).fold(String::new(), |text, n| text + &format!("'*{n}.yaml',"));
    site.write("modules/evil/hiera.yaml", format!("version: 5\nhierarchy: [{{name: g, globs: [{globs}]}}]\n"));
    site.write("hiera.yaml", config);
    site.write("data/nodes/bad.yaml", "evil::key: 1\n");
    site.commit("hostile");
    let printed = run(&site, "render --format ndjson");
    let told = format!("leads to more than {} files or comparisons of names", 10_000_000 / count);
    assert!(printed.out.contains(&told), "{:.1000}", printed.out);
    assert_eq!(honest(&site), before);
}

#[test]
fn many_patterns_of_options_are_part_of_the_budget() {
    let site = site();
    let before = honest(&site);
    // Each of these keys is compared with each pattern.
    let mut options = String::from("lookup_options:\n");
    (0..3000).for_each(|n| _ = writeln!(options, "  '^evil::x{n}$': {{merge: first}}"));
    site.write("modules/evil/hiera.yaml", "version: 5\nhierarchy: [{name: c, path: common.yaml}]\n");
    let keys = (0..full_or(30_000, 300)).fold(String::new(), |text, n| text + &format!("evil::k{n}: {n}\n"));
    site.write("modules/evil/data/common.yaml", options + &keys);
    site.commit("hostile");
    let printed = run(&site, "render --format ndjson --node good");
    assert!(printed.out.contains("the budget of the run is used up"), "{:.1000}", printed.out);
    assert_eq!(honest(&site), before);
    // All together they are too many to be compiled.
    let mut options = String::from("lookup_options:\n");
    (0..110_000).for_each(|n| _ = writeln!(options, "  '^evil::x{n}$': {{merge: first}}"));
    site.write("modules/evil/data/common.yaml", options + "evil::k: 1\n");
    site.commit("more");
    let printed = run(&site, "render --format ndjson --node good");
    assert!(printed.out.contains("the answer takes more than 10000000 steps"), "{:.1000}", printed.out);
}
