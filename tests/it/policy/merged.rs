//! Requests that begin at an old commit, where the change has another effect than on the branch that takes it.

use super::{DATA, lines};
use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A policy on `motd`, in settings of the tree.
const SETTINGS: &str = "-- hierad.yaml
profiles: [profiles]
policies: [{name: motd, level: failure, message: ask, keys: [motd, ntp]}]
";

/// A hiera.yaml with one more level on top.
const LEVELS: &str = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Top, path: top.yaml}
  - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: Role, path: 'roles/%{role}.yaml'}
  - {name: Common, path: common.yaml}
";

/// A request: what the branch was where it begins, what it is now, and the change.
struct Form {
    was: &'static str,
    is: &'static str,
    change: &'static str,
}

/// Changes whose effect is only on what the branch is now.
const FORMS: [Form; 7] = [
    // A level that hid the data is empty.
    Form {
        was: "-- data/top.yaml\nmotd: top\n",
        is: "-- data/top.yaml\n{}\n",
        change: "-- data/nodes/web01.yaml\nmotd: a\n",
    },
    // A level is new.
    Form { was: "", is: LEVELS, change: "-- data/top.yaml\nmotd: a\n" },
    // A value is looked up.
    Form {
        was: "",
        is: "-- data/roles/web.yaml\nmotd: \"%{lookup('b')}\"\n",
        change: "-- data/nodes/web01.yaml\nb: 2\n",
    },
    // A value is the alias of another one.
    Form {
        was: "",
        is: "-- data/roles/web.yaml\nntp: \"%{alias('c')}\"\n",
        change: "-- data/nodes/web01.yaml\nc: [1]\n",
    },
    // Values are merged.
    Form {
        was: "-- data/nodes/db01.yaml\nntp: [m]\n",
        is: "-- data/nodes/db01.yaml\nntp: [m]\nlookup_options: {ntp: {merge: unique}}\n",
        change: "-- data/roles/db.yaml\nport: 5432\nntp: [n]\n",
    },
    // The data lie in another folder.
    Form {
        was: "",
        is: "-- hiera.yaml\nversion: 5\ndefaults: {datadir: other, data_hash: yaml_data}\nhierarchy:\n  - {name: All, paths: [a.yaml, b.yaml]}\n-- other/a.yaml\nx: 1\n",
        change: "-- other/b.yaml\nmotd: a\n",
    },
    // The files of nodes are gone.
    Form {
        was: "-- data/nodes/web01.yaml\nmotd: w\n-- data/nodes/db01.yaml\nmotd: d\n",
        is: "-- data/nodes/web01.yaml\n{}\n-- data/nodes/db01.yaml\n{}\n",
        change: "-- data/roles/db.yaml\nport: 5432\nmotd: a\n",
    },
];

/// A site on whose branch `main` something was and is, and a branch `request` that begins where it was.
fn stale(settings: &str, &Form { was, is, change }: &Form) -> Sandbox {
    let levels = if was.contains("top.yaml") { LEVELS } else { "" };
    let site = Sandbox::of(&format!("{SITE}{DATA}{settings}{levels}{was}"));
    site.git(["checkout", "--quiet", "-b", "request"]);
    site.files(change);
    site.commit("a request");
    site.git(["checkout", "--quiet", "main"]);
    site.files(is);
    site.commit("main goes on");
    site
}

#[test]
fn a_request_of_an_old_commit_evades_no_policy() {
    for form in &FORMS {
        let site = stale(SETTINGS, form);
        let (name, base) = (form.change, site.git(["merge-base", "main", "request"]));
        site.hierad(&format!("diff --exit-code=policies {} request", base.trim())).is(0);
        assert_eq!(site.hierad("diff --exit-code=policies main...request").status, 4, "{name}");
        site.hierad("review --base main --head request --summary ../summary").is(4);
        let report = site.hierad("diff --format json main...request").json();
        let found = lines(&report);
        assert!(
            found[0].starts_with("motd | hit | failure | 1 key on ") && found[0].ends_with(", merged into main"),
            "{name}: {found:?}"
        );
        // As it turns out.
        site.git(["merge", "--quiet", "--message", "merged", "request"]);
        site.hierad("diff --exit-code=policies HEAD~1 HEAD").is(4);
    }
}

#[test]
fn what_changes_once_it_is_merged_is_no_calm() {
    for form in &FORMS {
        let site = stale("", form);
        let printed = site.hierad("diff --exit-code main...request");
        let headline = printed.out.lines().next().unwrap();
        assert!(printed.status != 0 && headline.contains("merged into main, "), "{}", printed.out);
    }
}

#[test]
fn a_branch_that_cannot_be_read_any_more_is_told() {
    let form = Form {
        was: "",
        is: "-- hiera.yaml\nversion: 5\nhierarchy: [{name: All, data_hash: none}, {path: a.yaml}]\n",
        change: "-- README.md\nhello\n",
    };
    let printed = stale("", &form).hierad("diff --exit-code main...request");
    assert!(printed.status == 3 && printed.out.contains("merged into main, nothing can be compared"), "{printed:?}");
}

#[test]
fn requests_of_an_old_commit_that_do_nothing_more_once_merged_pass() {
    let harmless = [
        // Nothing of it counts anywhere.
        Form { was: "", is: "-- data/roles/web.yaml\nport: 81\n", change: "-- README.md\nhello\n" },
        // It is the same change on both, which the policy lets pass.
        Form { was: "", is: "-- data/roles/web.yaml\nport: 81\n", change: "-- data/roles/db.yaml\nport: 1\n" },
        // The branch has it already.
        Form { was: "", is: "-- data/nodes/web01.yaml\nport: 1\n", change: "-- data/nodes/web01.yaml\nport: 1\n" },
        // Both edit one file, at other lines.
        Form {
            was: "-- data/nodes/web01.yaml\na: 1\nb: 1\nc: 1\nd: 1\n",
            is: "-- data/nodes/web01.yaml\na: 2\nb: 1\nc: 1\nd: 1\n",
            change: "-- data/nodes/web01.yaml\na: 1\nb: 1\nc: 1\nd: 2\n",
        },
        // What hid it, hides it.
        Form {
            was: "-- data/top.yaml\nmotd: top\n",
            is: "-- data/top.yaml\nmotd: top\nx: 1\n",
            change: "-- data/roles/db.yaml\nport: 5432\nmotd: a\n",
        },
    ];
    for form in &harmless {
        let site = stale(SETTINGS, form);
        site.hierad("diff --exit-code=policies main...request").is(0);
        let report = site.hierad("diff --format json main...request").json();
        assert_eq!(report["blind_spots"].as_array().map_or(0, Vec::len), 0, "{report}");
    }
}

#[test]
fn policies_fail_where_it_is_not_known_what_is_merged() {
    let form = Form { was: "", is: "-- data/roles/web.yaml\nport: 81\n", change: "-- data/roles/web.yaml\nport: 82\n" };
    let site = stale(SETTINGS, &form);
    site.hierad("diff --exit-code=policies main...request").is(4);
    let found = lines(&site.hierad("diff --format json main...request").json());
    let told = "unreadable-policies | hit | failure | merged into main: both sides have changed data/roles/web.yaml";
    assert_eq!(found, [told]);
    // Without policies it is told, too.
    let printed = stale("", &form).hierad("diff --exit-code main...request");
    assert!(printed.status == 2 && printed.out.contains("the changes are unknown"), "{printed:?}");
}

#[test]
fn what_git_merges_in_another_way_is_no_calm() {
    let no_effect = "-- data/nodes/other.yaml\na: 1\n";
    for (name, change, is) in [
        ("a renamed file", "git mv notes.txt more.txt", "echo b > notes.txt"),
        ("a file renamed on the branch", "echo b > notes.txt", "git mv notes.txt more.txt"),
        ("lines that both add", "echo b >> notes.txt", "echo c >> notes.txt"),
        ("a large file", "(seq 600000; echo b) > notes.txt", "(echo c; seq 600000) > notes.txt"),
    ] {
        let site = Sandbox::of(&format!("{SITE}{DATA}-- .gitattributes\nnotes.txt merge=union\n-- notes.txt\na\n"));
        site.git(["checkout", "--quiet", "-b", "request"]);
        site.files(no_effect);
        site.sh(change);
        site.commit("a request");
        site.git(["checkout", "--quiet", "main"]);
        site.sh(is);
        site.commit("main goes on");
        let printed = site.hierad("diff --exit-code main...request");
        assert!(
            printed.status == 3 && printed.out.contains("merged into main, the changes are unknown"),
            "{name}: {printed:?}"
        );
    }
    // Each has merged a part of the other, so that their histories part at two commits.
    let site = Sandbox::of(&format!("{SITE}{DATA}"));
    for (branch, file) in [("main", "x"), ("request", "y")] {
        site.git(["checkout", "--quiet", "-B", branch, "main~0"]);
        site.files(&format!("-- data/nodes/{file}.yaml\na: 1\n"));
        site.commit(branch);
        if branch == "main" {
            site.git(["branch", "--force", "old", "main"]);
            site.git(["checkout", "--quiet", "-B", "main", "main~1"]);
        }
    }
    site.git(["checkout", "--quiet", "-B", "main", "old"]);
    site.git(["branch", "mine", "request"]);
    site.git(["merge", "--quiet", "--no-ff", "--message", "m", "mine"]);
    site.git(["checkout", "--quiet", "request"]);
    site.git(["merge", "--quiet", "--no-ff", "--message", "m", "old"]);
    let printed = site.hierad("diff --exit-code main...request");
    assert!(printed.out.contains("they have several merge bases"), "{printed:?}");
}

#[test]
fn a_push_over_other_commits_merges_nothing() {
    let site = Sandbox::of(&format!("{SITE}{DATA}{SETTINGS}"));
    site.files("-- data/roles/web.yaml\nport: 81\n");
    let pushed = site.commit("a change");
    site.files("-- data/roles/web.yaml\nport: 82\n");
    site.git(["commit", "--quiet", "--all", "--amend", "--message", "a better one"]);
    // Both edit the line, but one is there in the place of the other.
    let review = |base: &str| site.hierad(&format!("review --base {base} --summary ../summary"));
    let printed = review(&pushed.to_string());
    assert_eq!(printed.status, 0, "{printed:?}");
    // A branch of that commit would have to take it.
    site.git(["branch", "former", &pushed.to_string()]);
    assert_eq!(review("former").status, 4);
    let request = site.hierad(&format!("review --base {pushed} --request 7 --summary ../summary"));
    assert_eq!(request.status, 4, "{request:?}");
}
