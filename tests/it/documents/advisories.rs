//! The advisories that are accepted: those of `deny.toml` are those that `docs/security.md` tells of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use regex::Regex;

use super::pages::{page, root};

/// Returns what is accepted, with the name of the crate that begins its reason.
fn accepted(deny: &str) -> BTreeMap<String, String> {
    let entry = Regex::new(r#"\{ id = "([^"]+)", reason = "([\w-]+): [^"]+" \}"#).unwrap();
    let found = entry.captures_iter(deny).map(|entry| (entry[1].to_owned(), entry[2].to_owned()));
    found.collect()
}

/// Returns the items of the list: the advisory, or that there is none, and the crates.
fn told(security: &str) -> Vec<(String, BTreeSet<String>)> {
    let lines = security.lines().skip_while(|line| *line != "## Dependencies");
    let item = Regex::new(r"^- \*\*([^*]+)\*\* \(([^)]+)\): ").unwrap();
    let name = Regex::new("`([^`]+)`").unwrap();
    let crates = |text: &str| name.captures_iter(text).map(|found| found[1].to_owned()).collect();
    let items = lines.filter_map(|line| item.captures(line));
    let told: Vec<_> = items.map(|item| (item[1].to_owned(), crates(&item[2]))).collect();
    assert!(told.len() > 2, "{told:?}");
    told
}

#[test]
fn accepted_advisories_are_told() {
    let deny = fs::read_to_string(root().join("deny.toml")).unwrap();
    let (accepted, told) = (accepted(&deny), told(&page("docs/security.md")));
    assert_eq!(accepted.len(), deny.matches("id = ").count(), "each entry has a reason that begins with its crate");
    let is_advisory = |(id, _): &&(String, BTreeSet<String>)| id.starts_with("RUSTSEC-");
    let ids: BTreeSet<&String> = told.iter().filter(is_advisory).map(|(id, _)| id).collect();
    assert_eq!(accepted.keys().collect::<BTreeSet<_>>(), ids);
    for (id, crates) in told.iter().filter(is_advisory) {
        assert!(crates.contains(&accepted[id]), "{id} is told of {crates:?}");
    }
}

#[test]
fn what_is_told_of_is_there() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for (id, crates) in told(&page("docs/security.md")) {
        assert!(!crates.is_empty(), "{id}");
        for name in crates {
            assert!(lock.contains(&format!("name = \"{name}\"\n")), "{id}: {name}");
        }
    }
}
