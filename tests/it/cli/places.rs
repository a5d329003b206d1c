//! Places to call hierad from: bare repositories, linked work trees, subfolders, hooks.

use std::process::Command;

use crate::support::terminal::{SITE, changes, hierad, run};
use crate::support::{Sandbox, git_in, report};

/// A repository with a second commit that changes `motd`.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: hi\nntp: [a, b]\n");
    site.commit("motd");
    site
}

const MOTD: [&str; 1] = ["motd changed db01,web01"];

#[test]
fn a_subfolder() {
    let site = site();
    for (folder, arguments) in [("data", ""), ("data/roles", ""), (".git", ""), ("data", "-C .."), ("", "--repo data")]
    {
        let printed = site.hierad_in(folder, &format!("{arguments} diff --format json"));
        printed.ok();
        assert_eq!(changes(&printed.json()), MOTD, "{folder} {arguments}");
    }
    let profiles = site.hierad_in("data", "--profiles ../profiles/db01.yaml diff --format json");
    assert_eq!(changes(&profiles.json()), ["motd changed db01"], "a flag's path is relative to where it is called");
}

#[test]
fn a_bare_repository() {
    let site = site();
    git_in(&site.beside(""), ["clone", "--quiet", "--bare", "repository", "bare.git"]);
    let bare = site.beside("bare.git");
    let hierad = |arguments: &str| site.masked(hierad(&bare).args(arguments.split_whitespace()));
    hierad("diff").fails(&["no node profiles", "$BASE/bare.git/hierad.yaml"]);
    let printed = hierad("diff --format json --profiles ../repository/profiles");
    printed.ok();
    assert_eq!(changes(&printed.json()), MOTD);
    std::fs::write(bare.join("hierad.yaml"), "profiles: [../repository/profiles]\n").unwrap();
    assert_eq!(changes(&hierad("diff --format json").json()), MOTD);
    hierad("check").is(0);
    hierad("diff .").fails(&["the repository has no work tree, so '.' cannot be used"]);
}

#[test]
fn a_linked_work_tree() {
    let site = site();
    site.git(["worktree", "add", "--quiet", "-b", "linked", "../linked", "HEAD~1"]);
    let linked = site.beside("linked");
    let hierad = |arguments: &str| site.masked(hierad(&linked).args(arguments.split_whitespace()));
    assert_eq!(changes(&hierad("diff --format json HEAD main").json()), MOTD);
    assert_eq!(hierad("lookup motd --node web01").ok(), "--- hello\n");
    std::fs::write(linked.join("data/common.yaml"), "motd: linked\nntp: [a, b]\n").unwrap();
    assert_eq!(changes(&hierad("diff --format json .").json()), MOTD);
    // Settings in the git directory that all work trees share.
    std::fs::remove_file(linked.join("hierad.yaml")).unwrap();
    hierad("diff").fails(&["no node profiles"]);
    site.write(".git/hierad.yaml", "profiles: [../profiles]\n");
    assert_eq!(changes(&hierad("diff --format json .").json()), MOTD);
}

#[test]
fn a_hook() {
    let site = site();
    let hook = format!("#!/bin/sh\nexec {} diff --format json > \"$PWD/../report\"\n", env!("CARGO_BIN_EXE_hierad"));
    site.write(".git/hooks/post-commit", hook);
    site.sh("chmod +x .git/hooks/post-commit");
    site.files("-- data/roles/db.yaml\nport: 1\n");
    site.commit("port");
    let report = std::fs::read_to_string(site.beside("report")).unwrap();
    assert_eq!(changes(&report::read(report)), ["port changed db01"]);
    // Hooks of a push run in the git directory, and git says where that is.
    let mut command = hierad(&site.root().join(".git"));
    command.env("GIT_DIR", ".").args(["diff", "--format", "json"]);
    assert_eq!(changes(&run(&mut command).json()), ["port changed db01"]);
    let elsewhere = site.beside("");
    let mut command = hierad(&elsewhere);
    command.env("GIT_DIR", site.root().join(".git")).args(["diff", "--format", "json"]);
    command.arg("--profiles").arg(site.root().join("profiles"));
    assert_eq!(changes(&run(&mut command).json()), ["port changed db01"]);
}

#[test]
fn pre_receive_sees_the_pushed_objects() {
    let site = site();
    git_in(&site.beside(""), ["clone", "--quiet", "--bare", "repository", "bare.git"]);
    let bare = site.beside("bare.git");
    std::fs::write(bare.join("hierad.yaml"), "profiles: [../repository/profiles]\n").unwrap();
    let hook =
        format!("#!/bin/sh\nread old new ref\n{} diff --format json $old $new >&2\n", env!("CARGO_BIN_EXE_hierad"));
    std::fs::write(bare.join("hooks/pre-receive"), hook).unwrap();
    run(Command::new("chmod").arg("+x").arg(bare.join("hooks/pre-receive"))).ok();
    site.files("-- data/roles/db.yaml\nport: 1\n");
    site.commit("port");
    let pushed = run(crate::support::git_command(site.root()).args(["push", "--quiet", "../bare.git", "main"]));
    pushed.is(0);
    let line = pushed.err.lines().find_map(|line| line.trim_end().strip_prefix("remote: {")).expect("a report");
    assert_eq!(changes(&report::read(format!("{{{line}"))), ["port changed db01"]);
}
