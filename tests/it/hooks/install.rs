//! `hierad hooks install|remove|list`: what is there already is kept, and comes back.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;

use super::hierad_at;
use crate::support::Sandbox;

const ALL_ABSENT: &str = "$BASE/repository/.git/hooks
  post-commit   not installed
  post-merge    not installed
  post-rewrite  not installed
  post-receive  not installed
  pre-receive   not installed
  pre-push      not installed
";

#[test]
fn hooks_are_installed_and_removed() {
    let site = Sandbox::new();
    let before = site.listing(".git/hooks");
    assert_eq!(site.hierad("hooks list").ok(), ALL_ABSENT);
    let installed = site.hierad("hooks install");
    let expected = "$BASE/repository/.git/hooks\n  post-commit   installed\n  post-merge    installed\n  \
                    post-rewrite  installed\n  pre-push      installed\n";
    assert_eq!(installed.ok(), expected);
    let hook = site.root().join(".git/hooks/post-commit");
    let first = fs::metadata(&hook).unwrap();
    assert_eq!(first.permissions().mode() & 0o700, 0o700);
    // Once more changes nothing.
    assert_eq!(site.hierad("hooks install").ok(), expected);
    assert_eq!(fs::metadata(&hook).unwrap().ino(), first.ino());
    let list = site.hierad("hooks list --format json").json();
    assert_eq!((&list["schema"], &list["folder"]), (&json!("hierad.hooks/1"), &json!("$BASE/repository/.git/hooks")));
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_hierad")).unwrap();
    assert_eq!(
        list["hooks"][0],
        json!({"name": "post-commit", "state": "installed", "program": program.to_str().unwrap(), "before": null})
    );
    assert_eq!(list["hooks"][3], json!({"name": "post-receive", "state": "absent", "program": null, "before": null}));
    // Git does not run what is not executable.
    site.sh("chmod a-x .git/hooks/post-merge");
    assert!(site.hierad("hooks list").ok().contains("post-merge    not executable"));
    assert_eq!(site.hierad("hooks install").ok(), expected);
    assert_eq!(site.hierad("hooks remove post-merge").ok().lines().count(), 2);
    assert!(site.hierad("hooks remove").ok().ends_with("  pre-push      not installed\n"));
    assert_eq!(site.listing(".git/hooks"), before);
}

#[test]
fn existing_hooks_are_restored() {
    let site = Sandbox::new();
    site.hook(".git/hooks/post-commit", "#!/bin/sh\nexit 3\n");
    site.write("tools/lint", "#!/bin/sh\n");
    site.sh("ln -s ../../tools/lint .git/hooks/pre-push; printf '\\377' > .git/hooks/post-merge");
    let before = site.listing(".git/hooks");
    let listed = site.hierad("hooks list");
    assert!(listed.ok().contains("post-commit   not installed; there is another hook\n"), "{listed:#?}");
    let installed = site.hierad("hooks install");
    assert!(
        installed.ok().contains("  post-commit   installed; runs post-commit.before-hierad first\n"),
        "{installed:#?}"
    );
    assert_ne!(site.listing(".git/hooks"), before);
    let all = site.listing(".git/hooks");
    site.hierad("hooks install").ok();
    assert_eq!(site.listing(".git/hooks"), all);
    site.hierad("hooks remove").ok();
    assert_eq!(site.listing(".git/hooks"), before);
    assert_eq!(site.read(".git/hooks/post-commit"), "#!/bin/sh\nexit 3\n");
    // Nothing is left to remove.
    site.hierad("hooks remove").ok();
    assert_eq!(site.listing(".git/hooks"), before);
}

#[test]
fn no_existing_hook_is_lost() {
    let site = Sandbox::new();
    let refused = |arguments: &str, words: &str| {
        let before = site.listing(".git/hooks");
        site.hierad(arguments).fails(&[words]);
        assert_eq!(site.listing(".git/hooks"), before);
    };
    // Not the one, so none.
    site.hook(".git/hooks/pre-push", "#!/bin/sh\n");
    site.hook(".git/hooks/pre-push.before-hierad", "#!/bin/sh\n#\n");
    refused("hooks install", "there is $BASE/repository/.git/hooks/pre-push.before-hierad already");
    refused("hooks install --force", "pre-push.before-hierad already");
    assert!(site.hierad("hooks list").ok().ends_with("there is another hook, and pre-push.before-hierad\n"));
    site.hierad("hooks remove").ok();
    assert_eq!(site.read(".git/hooks/pre-push.before-hierad"), "#!/bin/sh\n#\n");
    // It would not find itself.
    site.hook(".git/hooks/post-commit", "#!/bin/sh\ncase $(basename \"$0\") in post-commit) ;; esac\n");
    refused("hooks install post-commit", "put a line `hierad hooks run post-commit \"$@\"` into it");
    site.hierad("hooks install post-commit --force").ok();
    site.hierad("hooks remove post-commit").ok();
    // hierad's own, with something of somebody else's in it.
    site.hierad("hooks install post-merge").ok();
    site.sh("echo 'echo mine' >> .git/hooks/post-merge");
    refused("hooks install post-merge", "post-merge was changed by hand");
    refused("hooks remove", "post-merge was changed by hand");
    site.hierad("hooks remove post-merge --force").ok();
    assert!(!site.listing(".git/hooks").contains("post-merge"));
    site.sh("mkdir .git/hooks/post-merge");
    refused("hooks install post-merge", "post-merge: is a directory");
}

#[test]
fn interrupted_installations_are_finished() {
    let site = Sandbox::new();
    site.hook(".git/hooks/pre-push", "#!/bin/sh\n#mine\n");
    site.sh("ln .git/hooks/pre-push .git/hooks/pre-push.before-hierad");
    site.hierad("hooks install pre-push").ok();
    assert_eq!(site.read(".git/hooks/pre-push.before-hierad"), "#!/bin/sh\n#mine\n");
    // What somebody has deleted comes back with what it ran.
    site.sh("rm .git/hooks/pre-push");
    let listed = site.hierad("hooks list");
    assert!(listed.ok().ends_with("not installed; the hook that was there is pre-push.before-hierad\n"), "{listed:#?}");
    site.hierad("hooks remove").ok();
    assert_eq!(site.read(".git/hooks/pre-push"), "#!/bin/sh\n#mine\n");
}

#[test]
fn a_folder_of_the_repositorys_own() {
    let site = Sandbox::new();
    site.commit("first");
    site.git(["config", "core.hooksPath", "tools/hooks"]);
    site.write("sub/file", "");
    let installed = site.hierad_in("sub", "hooks install post-commit");
    assert_eq!(installed.ok(), "$BASE/repository/tools/hooks\n  post-commit   installed\n");
    site.shell("git commit --quiet --allow-empty --message second").ok();
    assert!(site.was_told());
    site.git(["config", "core.hooksPath", ""]);
    site.hierad("hooks install").fails(&["core.hooksPath is empty"]);
    site.git(["config", "core.hooksPath", "/dev/null"]);
    site.hierad("hooks install").fails(&["/dev/null/post-commit"]);
}

#[test]
fn hooks_are_installed_through_no_link_of_the_tree() {
    let site = Sandbox::new();
    std::fs::create_dir(site.beside("victim")).unwrap();
    std::fs::write(site.beside("victim/pre-push"), "precious").unwrap();
    site.write("own/readme", "hooks of the repository");
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, site.root().join(name)).unwrap();
    for (target, name) in [("../victim", "out"), ("../new", "new"), (".git/info", "git"), ("own", "linked")] {
        link(target, name);
    }
    std::fs::create_dir(site.root().join("files")).unwrap();
    link("../../victim/pre-push", "files/pre-push");
    site.commit("links");
    for folder in ["out", "out/deep", "new", "git", "linked/../out", "files"] {
        site.git(["config", "core.hooksPath", folder]);
        for command in ["hooks install", "hooks install pre-push --force", "hooks remove"] {
            site.hierad(command).fails(&["link, which a commit may have made"]);
        }
    }
    assert_eq!(std::fs::read_to_string(site.beside("victim/pre-push")).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(site.beside("victim")).unwrap().count(), 1);
    assert!(!site.beside("new").exists() && !site.root().join(".git/info/pre-push").exists());
    // The user's own folder may be elsewhere, a link of the git directory, or a link that stays in the tree.
    link("../../victim", ".git/elsewhere");
    for folder in ["own", "linked", ".git/elsewhere", "../victim"] {
        site.git(["config", "core.hooksPath", folder]);
        site.hierad("hooks install").ok();
        site.hierad("hooks remove").ok();
    }
    assert_eq!(std::fs::read_to_string(site.beside("victim/pre-push")).unwrap(), "precious");
}

#[test]
fn a_folder_of_the_users() {
    let site = Sandbox::new();
    let own = site.beside("hooks");
    site.write("../gitconfig", format!("[core]\nhooksPath = {}\n", own.display()));
    let hierad = |arguments: &str| {
        let mut command = crate::support::terminal::hierad(site.root());
        site.masked(command.env("GIT_CONFIG_GLOBAL", site.beside("gitconfig")).args(arguments.split_whitespace()))
    };
    for arguments in ["hooks install", "hooks remove"] {
        hierad(arguments).fails(&["core.hooksPath is $BASE/hooks by git's global settings", "--shared"]);
    }
    assert!(!own.exists());
    assert!(hierad("hooks list").ok().starts_with("$BASE/hooks\n"));
    hierad("hooks install --shared").ok();
    assert!(own.join("pre-push").exists());
    hierad("hooks remove --shared").ok();
    assert_eq!(fs::read_dir(own).unwrap().count(), 0);
    // The repository's own setting is the one that counts.
    site.git(["config", "core.hooksPath", ".hooks"]);
    assert!(hierad("hooks install").ok().starts_with("$BASE/repository/.hooks\n"));
}

#[test]
fn repositories_of_each_kind() {
    let bare = Sandbox::with(&["--bare"]);
    bare.sh("rm -r hooks");
    assert_eq!(bare.hierad("hooks install").ok(), "$BASE/repository/hooks\n  post-receive  installed\n");
    assert_eq!(bare.hierad("hooks install pre-push").ok(), "$BASE/repository/hooks\n  pre-push      installed\n");
    let site = Sandbox::new();
    site.commit("first");
    site.git(["worktree", "add", "--quiet", "../linked"]);
    let installed = hierad_at(&site.beside("linked"), "hooks install");
    assert!(installed.ok().contains("/repository/.git/hooks\n"), "{installed:#?}");
    assert!(site.hierad("hooks list").ok().contains("post-commit   installed"));
    let nowhere = tempfile::tempdir().unwrap();
    hierad_at(nowhere.path(), "hooks install").fails(&["is not in a git repository"]);
    hierad_at(site.root(), "hooks install pre-commit").fails(&["pre-commit"]);
}
