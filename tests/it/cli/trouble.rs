//! Trouble beside the data: missing revisions and repositories, streams that cannot be written, large files.

use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::support::Sandbox;
use crate::support::terminal::{SITE, changes, hierad, run};

#[test]
fn revisions_that_are_not_there() {
    let site = Sandbox::of(SITE);
    for command in
        ["diff nosuch", "diff HEAD nosuch", "diff nosuch..HEAD", "diff HEAD...nosuch", "render nosuch", "check nosuch"]
    {
        site.hierad(command).fails(&["unknown revision 'nosuch'"]);
    }
    site.hierad("diff HEAD:data").fails(&["hierad: "]);
    site.git(["checkout", "--quiet", "--orphan", "other"]);
    site.commit("unrelated");
    site.hierad("diff main...other").fails(&["main...other: the two have no commit in common"]);
    let empty = Sandbox::new();
    empty.write("p.yaml", "name: a\n");
    empty.hierad("--profiles p.yaml diff").fails(&["HEAD", "branch 'main' is still empty"]);
    empty.hierad("diff").fails(&["HEAD", "branch 'main' is still empty"]);
}

#[test]
fn repositories_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["diff", "render", "check", "lookup x", "watch"] {
        let printed = run(hierad(folder.path()).args(command.split_whitespace()));
        printed.fails(&["is not in a git repository; name the data repository with --repo"]);
    }
    run(hierad(folder.path()).args(["--repo", "nowhere", "diff"])).fails(&["cannot open nowhere: "]);
    run(hierad(folder.path()).args(["-C", ".", "diff"])).fails(&["hierad: . is not in a git repository"]);
}

#[test]
fn closed_pipes_are_not_failures() {
    let site = Sandbox::of(SITE);
    let lines: String = (0..4_000).fold(String::new(), |mut text, at| {
        _ = writeln!(text, "key_{at}: value");
        text
    });
    site.write("data/common.yaml", lines);
    site.commit("many");
    for arguments in ["diff --full", "diff --format json", "render", "render --format yaml"] {
        let mut command = hierad(site.root());
        command.args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::with_capacity(64, child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_failure() {
    let site = Sandbox::of(SITE);
    for arguments in
        ["diff", "diff --format json", "diff --format markdown", "render", "check", "lookup motd --node web01"]
    {
        let mut command = hierad(site.root());
        command.args(arguments.split_whitespace()).stdout(File::create("/dev/full").unwrap());
        let printed = run(&mut command);
        printed.is(1).says(&["cannot write to standard output: "]);
        assert_eq!(printed.err.lines().count(), 1, "{printed:?}");
    }
}

#[test]
fn a_large_file() {
    let site = Sandbox::of(SITE);
    let text = |changed: usize| {
        (0..50_000).fold(String::new(), |mut text, at| {
            let value =
                if at == changed { "changed" } else { "The quick brown fox jumps over the lazy dog, again and again" };
            _ = writeln!(text, "module_{}::parameter_{at}: \"{value}\"", at / 100);
            text
        })
    };
    assert!(text(0).len() > 4_500_000);
    site.write("data/common.yaml", text(0));
    site.commit("large");
    site.write("data/common.yaml", text(49_999));
    site.commit("larger");
    let printed = site.hierad("diff --format json");
    printed.ok();
    let expected = ["module_0::parameter_0 changed db01,web01", "module_499::parameter_49999 changed db01,web01"];
    assert_eq!(changes(&printed.json()), expected);
}

#[test]
fn a_long_array() {
    let site = Sandbox::of(SITE);
    let text = |skipped: usize| {
        let items = (0..100_000).filter(|at| *at != skipped);
        items.fold("list:\n".to_owned(), |mut text, at| {
            _ = writeln!(text, "  - item {at}");
            text
        })
    };
    site.write("data/common.yaml", text(100_000));
    site.commit("long");
    site.write("data/common.yaml", text(50_000));
    site.commit("shorter by one");
    let printed = site.hierad("diff --format json");
    printed.ok();
    let change = &printed.json()["changes"][0];
    assert_eq!(change["leaves"].as_array().unwrap().len(), 1, "{}", change["leaves"]);
    assert_eq!(change["leaves"][0]["before"]["value"], "item 50000");
    let text = site.hierad("diff");
    assert!(text.ok().starts_with("1 key changes on "), "{:?}", text.out.lines().next());
}

/// The clone of a bundle that has these branches, without a `HEAD`.
fn clone_without_head(branches: &[&str]) -> Sandbox {
    let site = Sandbox::of(SITE);
    let names = branches.join(" ");
    site.sh(&format!(
        "for name in {names}; do git branch \"$name\" HEAD; done; git bundle create --quiet ../x.bundle {names}
        git -c init.defaultBranch=nobody clone --quiet ../x.bundle ../clone 2> ../said"
    ));
    site
}

#[test]
fn a_clone_without_a_head_says_which_branch_to_check_out() {
    for (branches, advice) in [
        (vec!["production"], ". Branch 'production' has some: `git checkout production`"),
        (vec!["feature/x"], ". Branch 'feature/x' has some: `git checkout feature/x`"),
        (vec!["a", "production", "z"], ". 3 branches have some, such as 'production': `git checkout production`"),
        (vec!["a", "b"], ". 2 branches have some, such as 'a': `git checkout a`"),
        (vec!["'x;y'"], "branch 'nobody' is still empty\n"),
    ] {
        let site = clone_without_head(&branches);
        let clone = site.beside("clone");
        for command in ["diff", "check", "render", "init --yes"] {
            let arguments = format!("{command} --repo {}", clone.display());
            let printed = site.hierad(&arguments);
            if command.starts_with("init") && branches == ["'x;y'"] {
                continue;
            }
            printed.fails(&[advice]);
        }
    }
    // Nothing has a commit, so there is no advice.
    let empty = Sandbox::new();
    let printed = empty.hierad("diff");
    assert!(printed.err.contains("is still empty\n") && !printed.err.contains("git checkout"), "{printed:?}");
}
