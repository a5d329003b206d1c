//! Marks of policies: at lines that the commit changes, and at no other.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

const GUARD: &str = "policies: [{name: guard, level: failure, message: no, keys: 'p*'}]\n-- hiera.yaml";

fn site() -> Sandbox {
    let site = Sandbox::of(&SITE.replace("-- hiera.yaml", GUARD));
    site.files(
        "
-- data/common.yaml
# the port of all
port: 1
pref: \"%{lookup('motd')}\"
plist: [1]
motd: hello
ntp: [a]
-- data/roles/web.yaml
port: 80
plist: [2]
ntp: [b]
",
    );
    site.commit("base");
    site
}

/// The lines of the marks of policies in SARIF, as `PATH:LINE`, with the words that belong to no line.
fn marks(site: &Sandbox) -> (BTreeSet<String>, String) {
    let log: Json = site.hierad("diff HEAD~1 HEAD --format sarif").json();
    let run = &log["runs"][0];
    let place = |result: &Json| {
        let place = &result["locations"][0]["physicalLocation"];
        format!("{}:{}", place["artifactLocation"]["uri"].as_str().unwrap(), place["region"]["startLine"])
    };
    let of_policies = run["results"].as_array().unwrap().iter().filter(|result| result["ruleId"] == "policy");
    let marks = of_policies.map(place).collect();
    (marks, run["invocations"][0]["toolExecutionNotifications"].to_string())
}

/// Commits `files`, and returns the marks, the summary, and the cells that say why.
fn after(files: &str) -> (BTreeSet<String>, String, Vec<String>) {
    let site = site();
    site.files(files);
    site.commit("after");
    let (marks, summary) = marks(&site);
    let commands = site.hierad("diff HEAD~1 HEAD --format github").out;
    assert!(commands.contains("policy guard"), "{commands}");
    let page = site.hierad("diff HEAD~1 HEAD --format markdown").out;
    let rows =
        page.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let why = rows.map(|row| row.rsplit('|').nth(1).unwrap().trim().to_owned()).collect();
    (marks, summary, why)
}

#[track_caller]
fn check(files: &str, expected: &[&str], is_in_summary: bool) {
    let (marks, summary, why) = after(files);
    assert_eq!(marks.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{files}");
    assert_eq!(summary.contains("policy guard"), is_in_summary, "{summary}");
    assert!(!why.is_empty() && why.iter().all(|cell| !cell.is_empty()), "{why:?}");
}

#[test]
fn what_is_removed_has_no_mark_at_what_counts_instead() {
    // A file, an entry, and the last level before the others.
    check("-- data/roles/web.yaml\n", &[], true);
    check("-- data/roles/web.yaml\nplist: [2]\nntp: [b]\n", &[], true);
    let hierarchy = SITE.split("-- hiera.yaml\n").nth(1).unwrap().split("-- profiles").next().unwrap();
    let level = hierarchy.replace("  - {name: Role, path: 'roles/%{role}.yaml'}\n", "");
    check(&format!("-- hiera.yaml\n{level}"), &[], true);
}

#[test]
fn what_is_elsewhere_is_marked_there() {
    let common = "# the port of all\nport: 1\npref: \"%{lookup('motd')}\"\nplist: [1]\n";
    // The key that is referred to, another path of a level, and the options of a key.
    check(&format!("-- data/common.yaml\n{common}motd: bye\nntp: [a]\n"), &["data/common.yaml:5"], false);
    let hierarchy = SITE.split("-- hiera.yaml\n").nth(1).unwrap().split("-- profiles").next().unwrap();
    let other = hierarchy.replace("roles/%{role}.yaml", "kinds/%{role}.yaml");
    check(&format!("-- hiera.yaml\n{other}"), &["hiera.yaml:4"], false);
    let options = "lookup_options: {plist: {merge: unique}}\n";
    check(&format!("-- data/common.yaml\n{common}motd: hello\nntp: [a]\n{options}"), &["data/common.yaml:7"], false);
}

#[test]
fn what_is_edited_is_marked_where_it_is() {
    check("-- data/roles/web.yaml\nport: 81\nplist: [2]\nntp: [b]\n", &["data/roles/web.yaml:1"], false);
    check("-- data/nodes/web01.yaml\nport: 81\n", &["data/nodes/web01.yaml:1"], false);
}
