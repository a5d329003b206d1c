//! `hierad diff`: revisions, forms, filters, exit status.

use crate::support::Sandbox;
use crate::support::terminal::{SITE, changes};

/// A root, a second commit on `main`, a branch `side` from the root, and their merge.
fn history() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.git(["branch", "side"]);
    site.files("-- data/common.yaml\nmotd: hi\nntp: [a, b]\n");
    site.commit("motd");
    site.git(["checkout", "--quiet", "side"]);
    site.files("-- data/roles/web.yaml\nport: 8080\n");
    site.commit("port");
    site.git(["checkout", "--quiet", "main"]);
    site.git(["merge", "--quiet", "--no-edit", "side"]);
    site
}

#[test]
fn revisions_are_named_in_all_ways() {
    let site = history();
    let motd = "motd changed db01,web01";
    let port = "port changed web01";
    let all = ["motd added db01,web01", "ntp added db01,web01", "port added db01", "port added web01"];
    for (arguments, expected) in [
        ("", vec![port]), // the merge, against its first parent
        ("HEAD", vec![]),
        ("HEAD~1", vec![port]),
        ("HEAD^2", vec![motd]),
        ("HEAD~2", vec![motd, port]),
        ("HEAD~2 HEAD~1", vec![motd]),
        ("HEAD~2..HEAD~1", vec![motd]),
        ("HEAD~2..", vec![motd, port]),
        ("..HEAD~1", vec![port]),
        ("HEAD~1..side", vec![motd, port]),
        ("HEAD~1...side", vec![port]),
        ("side...HEAD~1", vec![motd]),
        ("main HEAD", vec![]),
        (".", vec![]),
        ("HEAD~1 .", vec![port]),
    ] {
        let printed = site.hierad(&format!("diff --format json {arguments}"));
        printed.ok();
        let (mut found, mut expected) = (changes(&printed.json()), expected);
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected, "diff {arguments}");
    }
    let root = Sandbox::of(SITE).hierad("diff --format json");
    assert_eq!(changes(&root.json()), all);
    assert!(root.json()["before"].is_null());
}

#[test]
fn uncommitted_files_are_compared() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: changed\nntp: [a, b]\n-- data/nodes/db01.yaml\nnew: 1\n");
    for arguments in [".", "HEAD .", "HEAD.. ."] {
        let printed = site.hierad(&format!("diff --format json {arguments}"));
        if arguments.contains("..") {
            printed.fails(&["HEAD.. names two revisions already"]);
            continue;
        }
        printed.ok();
        let report = printed.json();
        assert_eq!(changes(&report), ["motd changed db01,web01", "new added db01"]);
        assert_eq!(report["after"]["commit"], ".");
    }
    let back = site.hierad("diff --format json . HEAD");
    assert_eq!(changes(&back.json()), ["motd changed db01,web01", "new removed db01"]);
}

#[test]
fn a_report_has_three_formats() {
    let site = history();
    let verdict = "1 key changes on 1 of 2 nodes";
    let text = site.hierad("diff");
    assert_eq!(text.ok().lines().next(), Some(verdict));
    assert!(text.out.contains("port"), "{text:?}");
    let markdown = site.hierad("diff --format markdown");
    assert!(markdown.ok().contains(verdict), "{markdown:?}");
    let report = site.hierad("diff --format json").json();
    assert_eq!(report["schema"], "hierad.diff/2");
    assert_eq!(report["before"]["commit"], site.git(["rev-parse", "HEAD~1"]));
    assert_eq!(report["after"]["commit"], site.git(["rev-parse", "HEAD"]));
    assert_eq!(report["nodes"], serde_json::json!({"total": 2, "changed": 1}));
    assert_eq!(report["keys"]["changed"], 1);
    assert_eq!(report["changes"][0]["before"], serde_json::json!({"value": 80}));
    assert_eq!(report["changes"][0]["after"], serde_json::json!({"value": 8080}));
    assert_eq!(report["diagnostics"], serde_json::json!([]));
    for format in ["text", "json", "markdown"] {
        let again = |threads| site.hierad(&format!("diff --format {format} --threads {threads} HEAD~2")).out;
        assert_eq!(again(1), again(4), "{format}");
    }
}

#[test]
fn nodes_and_keys_are_selected() {
    let site = history();
    for (arguments, expected) in [
        ("--node db01", vec!["motd changed db01"]),
        ("--node web*", vec!["motd changed web01", "port changed web01"]),
        ("--node re:^d", vec!["motd changed db01"]),
        ("--node db01 --node web01 --key port", vec!["port changed web01"]),
        ("--key m?td", vec!["motd changed db01,web01"]),
    ] {
        let printed = site.hierad(&format!("diff --format json HEAD~2 {arguments}"));
        printed.ok();
        assert_eq!(changes(&printed.json()), expected, "{arguments}");
    }
    site.hierad("diff --node nope").fails(&["no node matches --node 'nope'"]);
    site.hierad("diff --node re:(").fails(&["--node <PATTERN>", "unclosed group"]);
    site.hierad("diff --key nothing").fails(&["no key matches --key 'nothing'"]);
}

#[test]
fn exit_code_needs_its_flag() {
    let site = history();
    for (arguments, status) in [
        ("diff", 0),
        ("diff --exit-code", 2),
        ("diff --exit-code HEAD", 0),
        ("diff --exit-code --node db01", 3),
        ("diff --exit-code --format json", 2),
        ("diff --exit-code --format markdown", 2),
        ("diff --exit-code nosuch", 1),
    ] {
        assert_eq!(site.hierad(arguments).status, status, "{arguments}");
    }
}

#[test]
fn keys_failing_on_both_sides_are_reported() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: 'x %{nope}'\nntp: [a, b]\n");
    site.commit("broken");
    let failing = site.hierad("diff --format json");
    failing.ok();
    assert_eq!(changes(&failing.json()), ["motd failed db01,web01"]);
    assert_eq!(failing.err, "");
    site.files("-- data/common.yaml\nmotd: 'y %{nope}'\nntp: [a, b]\n");
    site.commit("still broken");
    let blind = site.hierad("diff");
    let headline = "no change seen, but: 1 key fails before and after on all 2 nodes";
    assert!(blind.ok().starts_with(headline), "{blind:?}");
    assert!(blind.out.contains("'nope'") && blind.out.contains("hierad check"), "{blind:?}");
    assert!(site.hierad("diff --key ntp").ok().starts_with("no change seen, but"));
    site.files("-- data/common.yaml\nmotd: 'z %{nope}'\nntp: [a, b]\n");
    assert!(site.hierad("diff .").ok().starts_with(headline));
}
