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
            printed.fails(&["HEAD.. already names two revisions"]);
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
    assert_eq!(report["schema"], "hierad.diff/3");
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

#[test]
fn a_key_that_moves_with_its_value_is_no_change() {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nntp: [a, b]\n-- data/roles/web.yaml\nport: 80\nmotd: hello\n-- data/roles/db.yaml\nport: 5432\nmotd: hello\n",
    );
    site.commit("the message of the day moves to the roles");
    let printed = site.hierad("diff --format json --exit-code");
    let report = printed.is(0).json();
    assert_eq!((&report["verdict"], changes(&report)), (&"no_change".into(), vec![]));
    let lines = report["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines.iter().all(|line| line["effect"] == "none" && line["reason"] == "moved"), "{lines:#?}");
}

#[test]
fn nodes_without_changes_are_left_out() {
    let site = history();
    for format in ["text", "markdown", "html", "json"] {
        let printed = site.hierad(&format!("diff --format {format}"));
        assert!(printed.ok().contains("web01") && !printed.out.contains("db01"), "{format}: {}", printed.out);
    }
}

#[test]
fn failures_are_in_every_form_and_the_status() {
    let site = Sandbox::of(SITE);
    site.files("-- data/roles/web.yaml\nmotd: hi\nport: '%{nope}'\n");
    site.commit("an undefined variable");
    for (format, word) in [
        ("text", "fails    port"),
        ("markdown", "**fails** `port`"),
        ("html", ">fails</span>"),
        ("json", "\"kind\":\"failed\""),
    ] {
        let printed = site.hierad(&format!("diff --exit-code=errors --format {format}"));
        for word in [word, "web01", "nope", "data/roles/web.yaml:2"] {
            assert!(printed.is(2).out.contains(word), "no {word} in {format}: {}", printed.out);
        }
    }
}

#[test]
fn a_revision_differs_from_itself_in_nothing() {
    let site = history();
    site.files("-- data/common.yaml\nmotd: 'x %{nope}'\nntp: [a, b]\n");
    site.commit("a key that fails");
    site.files("-- data/roles/db.yaml\nport: [\n");
    site.commit("a file that cannot be read");
    for revision in ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3", "."] {
        let printed = site.hierad(&format!("diff --exit-code --format json {revision} {revision}"));
        let report = printed.is(0).json();
        assert_eq!((&report["verdict"], changes(&report)), (&"no_change".into(), vec![]), "{revision}");
    }
}

#[test]
fn an_order_alone_is_a_change_of_its_own() {
    let data = |users: &str| {
        format!("-- data/common.yaml\nntp: [a, b]\nusers: {users}\nlookup_options: {{ntp: {{merge: unique}}}}\n")
    };
    let web = "-- data/roles/web.yaml\nport: 80\nntp: [c]\n";
    let site = Sandbox::of(&format!("{SITE}{}{web}", data("{ada: 1, bob: 2}")));
    site.files(&data("{bob: 2, ada: 1}"));
    site.write(
        "hiera.yaml",
        "version: 5\nhierarchy:\n  - {name: Common, path: common.yaml}\n  - {name: Role, path: 'roles/%{role}.yaml'}\n",
    );
    site.commit("common first");
    let report = site.hierad("diff --format json --exit-code");
    assert_eq!(changes(&report.is(2).json()), ["ntp reordered web01", "users reordered db01,web01"]);
    let text = site.hierad("diff");
    assert!(text.ok().contains("reordered  ntp: [\"c\", \"a\", \"b\"] -> [\"a\", \"b\", \"c\"]"), "{}", text.out);
}
