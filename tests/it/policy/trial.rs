//! `hierad policies`: the last commits under rules that are not in force yet.

use super::{DATA, trust};
use crate::support::Sandbox;
use crate::support::terminal::SITE;

const RULES: &str = "policies:
  - {name: ports, level: failure, message: m, keys: port}
  - {name: wide, level: warning, message: m, more_than: {nodes: 50%}}
  - {name: never, level: note, message: m, keys: nothing}
waivers:
  - {policy: ports, reason: r, expires: 2999-01-31}
";

/// Commits that change a port, a file that is no data, the greeting, and a port again.
fn history() -> Sandbox {
    let site = Sandbox::of(&format!("{SITE}{DATA}"));
    for (files, message) in [
        ("-- data/roles/web.yaml\nport: 81\n", "web: 81"),
        ("-- README\nhello\n", "a word"),
        ("-- data/common.yaml\nmotd: bye\n", "bye"),
        ("-- data/roles/db.yaml\nport: 5433\n", "db: 5433"),
    ] {
        site.files(files);
        site.commit(message);
    }
    site
}

#[test]
fn each_rule_is_tried_on_the_last_commits_that_changed_data() {
    let site = history();
    trust(&site, RULES);
    let short = |revision: &str| site.id(revision).to_string()[..8].to_owned();
    let printed = site.hierad("policies");
    let expected = format!(
        "policy  level    hits  last hit
ports   failure     2  {} db: 5433: 1 key on 1 of 2 nodes
wide    warning     1  {} bye: 5 keys on both nodes
never   note        0  -
policy 'never': 'keys': no key matches 'nothing'
3 commits changed data of 4 commits looked at, {} to {}; no more: the history begins there
",
        short("HEAD"),
        short("HEAD~1"),
        site.id("HEAD~3").short(),
        site.id("HEAD").short()
    );
    assert_eq!(printed.ok(), expected);
    let printed = site.hierad("policies --commits 1 --format json").json();
    assert_eq!((&printed["commits"], &printed["looked_at"]), (&1.into(), &1.into()));
    assert_eq!(printed["policies"][0]["last"]["commit"], site.id("HEAD").to_string());
    assert_eq!(printed["policies"][1]["hits"], 0);
    site.hierad("policies HEAD~3").ok();
    site.hierad("check --policies").fails(&["unexpected argument '--policies'"]);
    site.hierad("policies .").fails(&["policies are tried on commits: name the last one, such as HEAD"]);
}

#[test]
fn rules_of_the_checked_out_file_can_be_tried() {
    let site = history();
    site.hierad("policies").fails(&["there are no policies to try: add some to hierad.yaml"]);
    site.files(&format!("-- hierad.yaml\nprofiles: [profiles]\n{RULES}"));
    let printed = site.hierad("policies --commits 2").ok().to_owned();
    assert!(printed.contains("\nports   failure     1  "), "{printed}");
    // They judge nothing yet.
    assert!(site.hierad("diff --format json").json()["policies"].is_null());
}

#[test]
fn commits_that_cannot_be_resolved_are_named() {
    let site = history();
    trust(&site, RULES);
    let tree = site.git(["rev-parse", "HEAD~1:data"]);
    std::fs::remove_file(site.root().join(".git/objects").join(&tree[..2]).join(&tree[2..])).unwrap();
    let printed = site.hierad("policies --no-cache");
    let text = printed.ok();
    assert!(text.contains("\n1 commit changed data of 4 commits looked at, "), "{text}");
    let lost =
        format!("\n2 commits could not be resolved, and may hit any rule:\n  {} cannot read ", site.id("HEAD").short());
    assert!(text.contains(&lost), "{text}");
}

#[test]
fn patterns_that_match_nothing_are_named() {
    let site = history();
    let rules = "policies:
  - {name: near, level: note, message: m, keys: ports, nodes: [web01, 'wev*']}
  - {name: below, level: note, message: m, keys: [motd.text, 'po*'], nodes: 'db*'}
  - {name: odd, level: note, message: m, keys: 're:^zz'}
";
    trust(&site, rules);
    let printed = site.hierad("policies");
    let told: Vec<&str> = printed.ok().lines().filter(|line| line.starts_with("policy '")).collect();
    let expected = [
        "policy 'near': 'keys': no key matches 'ports'; did you mean port?",
        "policy 'near': 'nodes': no node matches 'wev*'",
    ];
    assert_eq!(told, expected);
    let absent = &site.hierad("policies --format json").json()["absent"];
    assert_eq!(absent[0], serde_json::json!({"policy": "near", "setting": "keys", "pattern": "ports", "near": "port"}));
}

/// The committed rules are not tried in their place.
#[test]
fn rules_with_a_fault_are_not_tried() {
    let site = history();
    site.write("hierad.yaml", format!("profiles: [profiles]\n{RULES}"));
    site.commit("policies");
    site.write(".git/hierad.yaml", "profiles: [../profiles]\n");
    assert!(site.hierad("policies").ok().contains("ports"));
    site.write("hierad.yaml", format!("profiles: [profiles]\n{}", RULES.replace("more_than", "more_then")));
    let words = "hierad.yaml:4: this file of the tree does not count: policies[1]: unknown field `more_then`: did you \
                 mean `more_than`?";
    let tried = site.hierad("policies");
    assert_eq!((tried.status, &*tried.out), (1, ""), "{tried:#?}");
    assert_eq!(tried.err.matches(words).count(), 2, "a warning and the failure: {tried:#?}");
}
