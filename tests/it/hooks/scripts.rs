//! The scripts as git runs them: with and without hierad, alone and with another hook.

use super::{remote, shell};
use crate::support::Sandbox;
use crate::support::terminal::{SITE, run};

const HOOKS: [&str; 6] = ["post-commit", "post-merge", "post-rewrite", "post-receive", "pre-receive", "pre-push"];

fn source(hook: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks").join(hook);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn scripts_are_small_posix_shell() {
    let here = tempfile::tempdir().unwrap();
    for hook in HOOKS {
        let text = source(hook);
        assert!(text.starts_with("#!/bin/sh\n") && text.lines().count() <= 12, "{text}");
        for shell in ["dash", "bash", "busybox sh", "ksh", "zsh", "shellcheck"] {
            let (command, flag) = if shell == "shellcheck" { (shell, "") } else { (shell, "-n") };
            let check = format!(
                "command -v {} > /dev/null || exit 0; {command} {flag} \"$HOOK\"",
                &shell.split(' ').next().unwrap()
            );
            let file = here.path().join(hook);
            std::fs::write(&file, &text).unwrap();
            run(super::shell(here.path(), &check).env("HOOK", &file)).is(0);
        }
    }
}

#[test]
fn each_hook_notifies_the_daemon() {
    let site = Sandbox::of(SITE);
    let told = |hook: &str, script: &str| {
        site.hierad("hooks remove").ok();
        site.was_told();
        site.hierad(&format!("hooks install {hook}")).ok();
        let printed = site.shell(script);
        assert_eq!((printed.ok(), &*printed.err, site.was_told()), ("", "", true), "{hook}: {printed:#?}");
    };
    told("post-commit", "git commit --quiet --allow-empty --message second");
    told("post-merge", "git checkout --quiet -b side HEAD~1; git merge --quiet main");
    told("post-rewrite", "git commit --quiet --amend --allow-empty --message third");
    site.sh("git checkout --quiet -b other HEAD~1; git commit --quiet --allow-empty --message fourth; echo > file; git add file;
        git commit --quiet --message fifth");
    told("post-rewrite", "git rebase --quiet side 2> /dev/null");
    told(
        "post-commit",
        "git worktree add --quiet ../linked 2> /dev/null; cd ../linked; git commit --quiet --allow-empty -m sixth",
    );
    told("post-receive", "git clone --quiet . ../clone; cd ../clone; git push --quiet origin HEAD:refs/heads/new");
}

#[test]
fn post_receive_notifies_the_daemon() {
    let bare = Sandbox::with(&["--bare"]);
    bare.hierad("hooks install").ok();
    bare.shell(
        "git clone --quiet . ../clone 2> /dev/null; cd ../clone; git commit --quiet --allow-empty --message first
        git push --quiet origin HEAD",
    )
    .ok();
    assert!(bare.root().join("hierad.notify").exists());
}

/// A hook that takes note of all that it is given, and ends with a status.
fn noting(status: u8) -> String {
    format!("#!/bin/sh\n{{ echo \"$# $*\"; cat; }} >> ../noted\nexit {status}\n")
}

#[test]
fn chained_hooks_get_their_input() {
    let script = "
        git commit --quiet --allow-empty --message second
        git commit --quiet --allow-empty --amend --message third < /dev/null
        git checkout --quiet -b side HEAD~1
        git merge --quiet main
        git checkout --quiet main
        git push --quiet ../origin.git main side HEAD:refs/heads/x/y || echo \"push $?\"
        git push --quiet ../origin.git main || echo \"push $?\"
        git push --quiet ../origin.git :x/y || echo \"push $?\"
        rm -rf ../origin.git
    ";
    let noted = |install: bool, status: u8| {
        let site = Sandbox::of(SITE);
        site.sh("git init --quiet --bare ../origin.git");
        for hook in HOOKS {
            site.hook(&format!(".git/hooks/{hook}"), &noting(status));
        }
        if install {
            site.hierad("hooks install").ok();
        }
        let printed = run(&mut shell(site.root(), script));
        (printed.out.clone(), std::fs::read_to_string(site.beside("noted")).unwrap())
    };
    for status in [0, 4] {
        let (with, without) = (noted(true, status), noted(false, status));
        assert!(without.1.contains("1 amend\n") && without.1.contains("refs/heads/x/y"), "{without:#?}");
        assert_eq!(without.0.contains("push 1"), status != 0, "{without:#?}");
        assert_eq!(with, without);
    }
}

#[test]
fn chained_hooks_decide_the_exit_status() {
    let site = Sandbox::new();
    for hook in HOOKS {
        site.hook(&format!(".git/hooks/{hook}"), "#!/bin/sh\nod -c > ../read\nexit 4\n");
        site.hierad(&format!("hooks install {hook}")).ok();
        for input in ["", "a", "a\n", "\n\n", " a\\n%s\n\n"] {
            let call = format!(
                "printf %s \"$INPUT\" | {{ .git/hooks/{hook} a 'b c' || echo $?; }}; printf %s \"$INPUT\" | od -c"
            );
            let printed = run(shell(site.root(), &call).env("INPUT", input));
            let (status, expected) = printed.ok().split_once('\n').unwrap();
            assert_eq!((status, &*std::fs::read_to_string(site.beside("read")).unwrap()), ("4", expected), "{hook}");
        }
        // One that reads nothing is no trouble.
        site.hook(&format!(".git/hooks/{hook}.before-hierad"), "#!/bin/sh\nexit 0\n");
        let call = format!("seq 100000 | sed 's/^/not a line of git /' | .git/hooks/{hook} a b; trap '' PIPE");
        assert_eq!(run(&mut shell(site.root(), &format!("trap '' PIPE; {call}"))).status, 0, "{hook}");
        // Git would not run one that is not executable.
        site.sh(&format!("chmod a-x .git/hooks/{hook}.before-hierad"));
        site.shell(&format!(".git/hooks/{hook} a b < /dev/null")).ok();
    }
}

#[test]
fn scripts_without_hierad_do_nothing() {
    let site = Sandbox::of(SITE);
    site.sh("git init --quiet --bare ../origin.git");
    for hook in HOOKS {
        // The script as it is for somebody whose hierad is gone.
        site.hook(&format!(".git/hooks/{hook}"), &source(hook).replace("/usr/local/bin/hierad", "/nowhere/hierad"));
        site.hook(&format!(".git/hooks/{hook}.before-hierad"), &noting(0));
    }
    let commands = "mkdir -p ../bin
        for tool in git sh cat; do ln -sf \"$(command -v $tool)\" ../bin/$tool; done
        PATH=$(cd ../bin; pwd)
        git commit --quiet --allow-empty --message second
        git push --quiet ../origin.git main";
    let printed = site.shell(commands);
    assert_eq!((printed.ok(), &*printed.err), ("", ""));
    assert!(!site.was_told());
    let noted = std::fs::read_to_string(site.beside("noted")).unwrap();
    assert!(noted.starts_with("0 \n2 ../origin.git ../origin.git\nrefs/heads/main "), "{noted}");
    // A hierad that is too old to know hooks complains, and that is all.
    let old = site.beside("bin/hierad");
    std::fs::write(&old, "#!/bin/sh\necho \"unrecognized subcommand '$1'\" >&2\nexit 1\n").unwrap();
    site.sh("chmod +x ../bin/hierad");
    let printed = site.shell(commands);
    assert_eq!(printed.ok(), "");
    assert_eq!(printed.err, "unrecognized subcommand 'hooks'\n".repeat(2));
    assert_eq!(remote(&site, "main"), site.git(["rev-parse", "main"]));
}

#[test]
fn a_check_that_hierad_cannot_make_refuses() {
    let site = Sandbox::of(SITE);
    site.sh("git init --quiet --bare ../origin.git; mkdir ../bin");
    site.hook(".git/hooks/pre-push", &source("pre-push").replace("/usr/local/bin/hierad", "../bin/hierad"));
    let push = |mode: &str| {
        let path =
            "for tool in git sh cat; do ln -sf \"$(command -v $tool)\" ../bin/$tool; done; PATH=$(cd ../bin; pwd)";
        site.shell(&format!("{path}; git -c hierad.prePush={mode} push --quiet ../origin.git main:{mode}"))
    };
    // It is gone, too old, or killed.
    for program in [None, Some("exit 1"), Some("kill -9 $$")] {
        if let Some(text) = program {
            site.hook("../bin/hierad", &format!("#!/bin/sh\n{text}\n"));
        }
        for mode in ["errors", "changes", "error"] {
            push(mode).is(1).says(&["hierad: the push is refused, as hierad cannot check it", "--no-verify"]);
        }
        assert_eq!(site.sh("git -C ../origin.git branch"), "", "{program:?}");
    }
    for mode in ["print", "off"] {
        push(mode).ok();
    }
}

#[test]
fn scripts_work_without_hierad_on_the_path() {
    let site = Sandbox::of(SITE);
    site.hierad("hooks install").ok();
    site.sh("git commit --quiet --allow-empty --message second");
    assert!(site.was_told());
}

#[test]
fn post_commit_can_print_the_diff() {
    let site = Sandbox::of(SITE);
    site.hierad("hooks install").ok();
    let commit = "git commit --quiet --all --allow-empty --message 'a word'";
    site.files("-- data/roles/web.yaml\nport: 81\n");
    let printed = site.shell(&format!("git config hierad.postCommit print; {commit}"));
    assert_eq!(printed.ok(), "");
    printed.says(&[
        "1 key changes on 1 of 2 nodes\n",
        "a word (Ada)",
        "changed  port: 80 -> 81  data/roles/web.yaml:1",
    ]);
    assert!(site.was_told());
    // What hierad cannot do is told, and the commit is made.
    for (trouble, words) in [
        ("git config hierad.postCommit loud", "hierad: hierad.postCommit is 'loud'; expected notify or print\n"),
        ("git config hierad.postCommit print; echo nonsense: >> hierad.yaml", "nonsense"),
    ] {
        let before = site.id("HEAD");
        site.shell(&format!("{trouble}; {commit}")).says(&[words]).ok();
        assert_ne!(site.id("HEAD"), before);
    }
}
