//! Kinds of repositories, and what is pushed from them.

use super::{REFERENCE, commits, sources};
use crate::support::terminal::{SITE, hierad, run};
use crate::support::{Sandbox, git_in};

#[test]
fn bare_repositories_and_reftables() {
    for format in ["files", "reftable"] {
        let site = Sandbox::with(&["--ref-format", format]);
        site.files(SITE);
        site.commit("first");
        let told = site.hierad("export");
        assert_eq!(told.is(0).err, format!("1 commit on {REFERENCE}: 2 files written, 0 removed\n"), "{format}");
        let bare = site.beside("bare.git");
        let clone = ["clone", "--quiet", "--bare", "--ref-format", format, ".", bare.to_str().unwrap()];
        git_in(site.root(), clone);
        let profiles = site.root().join("profiles");
        let export = || run(hierad(&bare).args(["export", "--profiles", profiles.to_str().unwrap()]));
        assert_eq!(export().is(0).err, format!("1 commit on {REFERENCE}: 2 files written, 0 removed\n"), "{format}");
        assert_eq!(export().is(0).err, format!("{REFERENCE} has these snapshots already\n"), "{format}");
        assert_eq!(git_in(&bare, ["rev-parse", REFERENCE]), site.git(["rev-parse", REFERENCE]));
    }
}

#[test]
fn linked_work_trees_share_the_reference() {
    let site = Sandbox::of(SITE);
    let linked = site.beside("linked");
    site.git(["worktree", "add", "--quiet", "-b", "feature/x", linked.to_str().unwrap()]);
    run(hierad(&linked).arg("export")).is(0);
    assert_eq!(sources(&site, "refs/hierad/snapshots/feature/x"), commits(&site, "main"));
    site.git(["checkout", "--quiet", "--detach"]);
    site.hierad("export").fails(&["no branch is checked out; name one with --branch"]);
    site.hierad("export --branch main").is(0);
    assert_eq!(sources(&site, REFERENCE), commits(&site, "main"));
}

#[test]
fn a_repository_of_sha256_is_refused() {
    let site = Sandbox::with(&["--object-format=sha256"]);
    site.hierad("export").fails(&["uses SHA-256 object ids, which hierad cannot read"]);
}

#[test]
fn hooks_are_not_run() {
    let site = Sandbox::of(SITE);
    let hooks = ["reference-transaction", "pre-push", "post-commit"];
    for hook in hooks {
        site.write(
            &format!(".git/hooks/{hook}"),
            "#!/bin/sh\necho \"$0\" >> \"$(git rev-parse --git-dir)/ran\"\nexit 1\n",
        );
        site.sh(&format!("chmod +x .git/hooks/{hook}"));
    }
    let remote = site.beside("remote.git");
    git_in(site.root(), ["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    site.git(["config", "remote.snapshots.url", remote.to_str().unwrap()]);
    let told = site.hierad("export --push snapshots");
    let expected = format!("1 commit on {REFERENCE}: 2 files written, 0 removed\n{REFERENCE} pushed to snapshots\n");
    assert_eq!(told.is(0).err, expected);
    assert_eq!(git_in(&remote, ["rev-parse", REFERENCE]), site.git(["rev-parse", REFERENCE]));
    let refused = site.hierad("export --push ../nowhere.git");
    refused.is(1).says(&["has these snapshots already", "`git push` failed in ", "nowhere.git"]);
    site.hierad("export --push --mirror").is(1);
    site.hierad("export --push=--mirror").is(1).says(&["`git push` failed"]);
    assert_eq!(sources(&site, REFERENCE), commits(&site, "main"));
    assert!(!site.root().join(".git/ran").exists(), "{:?}", std::fs::read_to_string(site.root().join(".git/ran")));
}

#[test]
fn impossible_arguments_are_refused() {
    let site = Sandbox::of(SITE);
    site.hierad("export HEAD...HEAD").fails(&["use two dots, FROM..TO"]);
    site.hierad("export nothing").fails(&["unknown revision 'nothing'"]);
    site.hierad("export --branch none").fails(&["there is no branch 'none' with a commit"]);
    site.hierad("export --node none").fails(&["no node matches --node"]);
    let newline = run(hierad(site.root()).args(["export", "HEAD", "--branch", "a\nreset refs/heads/main\n"]));
    newline.fails(&["is not valid"]);
    assert_eq!(site.git(["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    let empty = Sandbox::new();
    empty.hierad("export").fails(&["there is no branch 'main' with a commit"]);
}
