//! The hook `pre-push`: what it shows, and what it refuses.

use super::{pushed, remote};
use crate::support::Sandbox;
use crate::support::terminal::{Printed, SITE};

/// Sets the port of the web servers.
fn port(site: &Sandbox, value: &str) {
    site.files(&format!("-- data/roles/web.yaml\nport: {value}\n"));
    site.commit(&format!("port {value}"));
}

/// Each of the lines that name a key, an error or the last commit of a report.
fn told(printed: &Printed) -> Vec<&str> {
    let is_told = |line: &&str| {
        ["  changed", "  added", "  fails", "hierad:", "after"].iter().any(|start| line.starts_with(start))
    };
    printed.err.lines().filter(is_told).collect()
}

#[test]
fn pre_push_shows_the_changes() {
    let site = pushed();
    port(&site, "81");
    port(&site, "82");
    let short = site.open().resolve("HEAD").unwrap().short();
    // What git prints for programs stays as it is.
    let printed = site.shell("git push --porcelain --quiet origin main");
    assert_eq!(printed.ok(), "Done\n");
    let expected = [
        format!("after  {short} port 82 (Ada) on origin/main"),
        "  changed  port: 80 -> 82  data/roles/web.yaml:1".into(),
    ];
    assert_eq!(told(&printed), expected);
    assert_eq!(remote(&site, "main"), site.git(["rev-parse", "main"]));
    // Nothing to push, a branch that goes, a tag: nothing to tell.
    for command in
        ["git push --quiet origin main", "git push --quiet origin main:same", "git push --quiet origin :same"]
    {
        let printed = site.shell(command);
        assert_eq!((printed.ok(), &*printed.err), ("", ""), "{command}");
    }
    port(&site, "83");
    let printed = site.shell("git tag -m t v1; git push --quiet origin v1");
    assert_eq!((printed.ok(), &*printed.err), ("", ""));
    // A push back to an older commit shows what it takes away.
    let printed = site.shell("git push --quiet --force origin HEAD~2:main");
    printed.ok();
    assert_eq!(told(&printed)[1], "  changed  port: 82 -> 81  data/roles/web.yaml:1");
}

#[test]
fn new_branches_show_their_own_commits() {
    let site = pushed();
    site.git(["checkout", "--quiet", "-b", "one"]);
    port(&site, "81");
    site.git(["push", "--quiet", "origin", "one"]);
    site.git(["checkout", "--quiet", "-b", "two"]);
    port(&site, "82");
    let short = site.open().resolve("HEAD").unwrap().short();
    let change = "  changed  port: 81 -> 82  data/roles/web.yaml:1";
    // By its name, by its address, for review.
    for (to, reference, shown) in [
        ("origin", "two", "origin/two"),
        ("../origin.git", "three", "three"),
        ("origin", "refs/for/main%topic=x", "origin/main"),
    ] {
        let printed = site.shell(&format!("git push --quiet {to} HEAD:{reference}"));
        printed.ok();
        assert_eq!(told(&printed), [&*format!("after  {short} port 82 (Ada) on {shown}"), change]);
        site.sh("git update-ref -d refs/remotes/origin/two");
    }
    // Several at once.
    site.git(["checkout", "--quiet", "main"]);
    port(&site, "90");
    let printed = site.shell("git push --quiet origin main two:four");
    let told = told(printed.is(0));
    assert_eq!(told.iter().filter(|line| line.starts_with("  changed")).count(), 2, "{printed:#?}");
    assert!(
        told.contains(&"  changed  port: 80 -> 90  data/roles/web.yaml:1") && told.contains(&change),
        "{printed:#?}"
    );
}

#[test]
fn unknown_remote_commits_are_not_compared() {
    let site = pushed();
    site.sh("git init --quiet --bare ../empty.git; git remote remove origin; git remote add empty ../empty.git");
    let words = "hierad: empty/main is new, with nothing in it that the remote is known to have: not compared";
    assert_eq!(told(site.shell("git push --quiet empty main").is(0)), [words]);
    // Somebody else has pushed, which is not known here.
    let site = pushed();
    site.sh(OTHER_PUSH);
    port(&site, "81");
    let printed = site.shell("git push --quiet --force origin main");
    assert_eq!(told(printed.is(0))[1], "  changed  port: 80 -> 81  data/roles/web.yaml:1");
}

/// Somebody else pushes.
const OTHER_PUSH: &str =
    "git clone --quiet ../origin.git ../other; cd ../other; git commit -q --allow-empty -m other; git push -q";

/// Asserts that a push to `main` is refused for want of a check, with these words, and reaches the remote without one.
fn refused_unchecked(site: &Sandbox, push: &str, words: &[&str]) {
    let before = site.sh("git -C ../origin.git for-each-ref");
    for mode in ["errors", "changes"] {
        let refused = site.shell(&format!("git -c hierad.prePush={mode} {push}"));
        refused.is(1).says(&["hierad: the push is refused, as it cannot be checked: ", "--no-verify"]).says(words);
        assert_eq!(site.sh("git -C ../origin.git for-each-ref"), before);
    }
    site.shell(&format!("git -c hierad.prePush=errors {push} --no-verify")).ok();
    assert_eq!(remote(site, "main"), site.git(["rev-parse", "main"]));
}

#[test]
fn a_first_push_to_an_empty_remote_is_refused() {
    let site = pushed();
    site.sh("rm -r ../origin.git; git init --quiet --bare ../origin.git; git update-ref -d refs/remotes/origin/main");
    refused_unchecked(&site, "push --quiet origin main", &["origin/main is not compared with anything"]);
}

#[test]
fn a_push_over_unknown_commits_is_refused() {
    let site = pushed();
    site.sh(OTHER_PUSH);
    port(&site, "81");
    let short = &remote(&site, "main")[..8];
    let words = format!("origin/main is at {short}, which is not here: `git fetch` fetches it");
    refused_unchecked(&site, "push --quiet --force origin main", &[&words]);
}

#[test]
fn a_push_that_unreadable_nodes_may_see_is_refused() {
    let site = pushed();
    port(&site, "81");
    site.write("profiles/broken.yaml", "name: [");
    refused_unchecked(&site, "push --quiet origin main", &["nodes are left out: ", "profiles/broken.yaml"]);
}

#[test]
fn an_unknown_mode_of_pre_push_refuses() {
    let site = pushed();
    port(&site, "81");
    for mode in ["error", "Errors", "true", ""] {
        let refused = site.shell(&format!("git -c hierad.prePush={mode} push --quiet origin main"));
        let words =
            format!("cannot be checked: hierad.prePush is '{mode}'; expected print, off, policies, errors or changes");
        refused.is(1).says(&["hierad: the push is refused, as it ", &words, "--no-verify"]);
    }
    assert_ne!(remote(&site, "main"), site.git(["rev-parse", "main"]));
}

#[test]
fn pre_push_can_refuse() {
    let site = pushed();
    let first = remote(&site, "main");
    let push = |setting: &str| site.shell(&format!("git -c hierad.prePush={setting} push --quiet origin main"));
    let all_the_same = "`git push --no-verify` pushes anyway";
    port(&site, "81");
    let refused = push("changes");
    refused.is(1).says(&["hierad: the push is refused, as it changes 1 key", all_the_same]);
    assert_eq!((remote(&site, "main"), &*refused.out), (first.clone(), ""));
    push("errors").ok();
    let second = remote(&site, "main");
    assert_ne!(second, first);
    port(&site, "'%{nosuch}'");
    push("errors").is(1).says(&["as it brings errors to 1 node;", all_the_same, "fails  port"]);
    assert_eq!(remote(&site, "main"), second);
    site.shell("git -c hierad.prePush=errors push --quiet --no-verify origin main").ok();
    assert_eq!(remote(&site, "main"), site.git(["rev-parse", "main"]));
    // An error that was there before is none that the push brings.
    site.files("-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    site.commit("motd");
    push("errors").ok();
    // One that is printed, or not even that.
    port(&site, "'%{nosuch}%{either}'");
    assert_eq!(push("off").err, "");
    // Changes of what no node sees are none.
    site.files("-- data/roles/none.yaml\nport: 1\n");
    site.commit("unseen");
    push("changes").says(&["no change seen, but: no known node reads data/roles/none.yaml"]).ok();
    // Of what nothing can be read nothing is checked.
    site.write("hiera.yaml", "version: 5\nhierarchy: []\n");
    site.commit("blind");
    push("errors").is(1).says(&["hierad: the push is refused, as it cannot be checked: no level of the hierarchy"]);
}

#[test]
fn long_reports_are_cut() {
    let site = pushed();
    let keys = |value: &str| (0..200).map(|n| format!("key{n}: {value}\n")).collect::<Vec<_>>().concat();
    site.write("data/common.yaml", keys("old"));
    site.commit("old");
    site.shell("git push --quiet origin main").ok();
    site.write("data/common.yaml", keys("new"));
    site.commit("new");
    let printed = site.shell("git push --quiet origin main");
    let lines = printed.is(0).err.lines().count();
    assert!((30..50).contains(&lines), "{printed:#?}");
    let [before, after] = ["HEAD~1", "HEAD"].map(|revision| site.open().resolve(revision).unwrap().short());
    assert!(
        printed.err.contains(&format!(" more changes: `hierad diff --full {before} {after}` shows all")),
        "{printed:#?}"
    );
}

#[test]
fn failures_stop_only_a_check() {
    for (trouble, words) in [
        ("git rm --quiet hierad.yaml; git commit --quiet -m x", "no node profiles"),
        ("echo nonsense: > hierad.yaml", "nonsense"),
        ("echo 'profiles: [nowhere]' > hierad.yaml", "no node profiles at "),
    ] {
        let site = pushed();
        port(&site, "81");
        site.sh(trouble);
        let refused = site.shell("git -c hierad.prePush=errors push --quiet origin main");
        refused.is(1).says(&["hierad: the push is refused, as it cannot be checked: ", words, "--no-verify"]);
        assert_eq!(remote(&site, "main"), site.git(["rev-parse", "origin/main"]));
        let printed = site.shell("git push --quiet origin main");
        printed.says(&["hierad: cannot show what the push changes: ", words]).ok();
        assert_eq!(printed.err.lines().count(), 1, "{printed:#?}");
        assert_eq!(remote(&site, "main"), site.git(["rev-parse", "main"]));
    }
}

#[test]
fn environments_by_branch_in_linked_work_trees() {
    let site = Sandbox::of(&format!("{SITE}-- data/nodes/web01.yaml\nwhere: '%{{environment}}'\n"));
    site.files("-- hierad.yaml\nprofiles: [profiles]\nenvironment: branch\n");
    site.commit("second");
    site.sh("git clone --quiet --bare . ../origin.git; git remote add origin ../origin.git; git fetch --quiet");
    site.hierad("hooks install").ok();
    let printed = site.shell(
        "
        git worktree add --quiet ../linked 2> /dev/null
        cd ../linked
        echo \"where: 'in %{environment}'\" > data/nodes/web01.yaml
        git commit --quiet --all --message third
        git push --quiet origin HEAD:test HEAD:main
    ",
    );
    printed.ok();
    let changes: Vec<&str> = told(&printed).into_iter().filter(|line| line.starts_with("  changed")).collect();
    let change = |name: &str| format!("  changed  where: \"{name}\" -> \"in {name}\"  data/nodes/web01.yaml:1");
    assert_eq!(changes, [change("main"), change("test")], "{printed:#?}");
}

#[test]
fn a_strangers_branch_runs_nothing() {
    let site = pushed();
    site.git(["checkout", "--quiet", "-b", "stranger"]);
    site.files(
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: Evil, lookup_key: evil}, {name: C, path: common.yaml}]\n",
    );
    site.files("-- hierad.yaml\nprofiles: [profiles]\nbackends: {evil: {command: [sh, -c, 'touch ../owned; cat']}}\n");
    site.commit("a proposal");
    for branch in ["stranger", "main"] {
        site.git(["commit", "--quiet", "--allow-empty", "--message", "more"]);
        let printed = site.shell(&format!("git push --quiet origin HEAD:{branch}"));
        printed.is(0).says(&["hierad.yaml:2: 'backends' of the tree does not count for commands (evil)"]);
        assert!(!site.beside("owned").exists(), "{printed:#?}");
    }
}

#[test]
fn the_default_branch_judges_a_new_one() {
    let site = pushed();
    let settings = |policies: &str| format!("-- hierad.yaml\nprofiles: [profiles]\n{policies}\n");
    site.files(&settings("policies: [{name: ports, level: failure, message: ask, keys: port}]"));
    site.commit("a policy");
    site.git(["push", "--quiet", "origin", "main"]);
    site.git(["remote", "set-head", "origin", "main"]);
    // The branch begins before the policy.
    site.git(["checkout", "--quiet", "-b", "new", "HEAD~1"]);
    port(&site, "81");
    let printed = site.shell("git push origin new");
    printed.ok();
    assert!(printed.err.contains("ports: 1 key on 1 of 2 nodes"), "{printed:?}");
}

#[test]
fn a_policy_that_fails_refuses_a_push() {
    let site = pushed();
    let policy =
        |name: &str, level: &str, key: &str| format!("{{name: {name}, level: {level}, message: Ask., keys: {key}}}");
    let policies =
        [policy("ports", "failure", "port"), policy("words", "warning", "motd"), policy("times", "failure", "ntp")];
    site.settings(format!("profiles: [profiles]\npolicies: [{}]\n", policies.join(", ")));
    let push = || site.shell("git -c hierad.prePush=policies push --quiet origin main");
    site.files("-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    site.commit("only a warning");
    push().is(0).says(&["words: 1 key on both nodes"]);
    port(&site, "'%{nosuch}'");
    push().is(1).says(&["hierad: the push is refused, as it breaks the policy ports; `git push --no-verify`"]);
    site.files("-- data/common.yaml\nmotd: bye\nntp: [b]\n");
    site.commit("another");
    push().is(1).says(&["as it breaks the policies ports, times; "]);
    site.shell("git push --quiet origin main").ok();
    // Policies that cannot be read may be any.
    port(&site, "82");
    site.write("hierad.yaml", "profiles: [profiles]\npolicies: [{}]\n");
    push().is(1).says(&["cannot be checked: ", "hierad.yaml"]);
}

/// Runs the hook as a manager of hooks does, with variables, and git's lines on standard input.
fn managed(site: &Sandbox, mode: &str, variables: &str, input: &str) -> Printed {
    let run = format!("{variables} hierad hooks run pre-push origin ../origin.git {input}");
    site.sh(&format!("git config hierad.prePush {mode}"));
    site.shell(&run)
}

#[test]
fn nothing_passes_without_a_word_about_the_push() {
    let site = pushed();
    port(&site, "'%{nosuch}'");
    for mode in ["errors", "changes", "policies"] {
        for input in ["< /dev/null", "<&-", "< empty"] {
            site.sh("printf '' > empty");
            let refused = managed(&site, mode, "", input);
            refused.is(2).says(&[
                "hierad: the push is refused, as it cannot be checked: standard input names no branch",
                "use_stdin",
            ]);
        }
        let unknown =
            managed(&site, mode, "PRE_COMMIT_REMOTE_BRANCH=refs/heads/main PRE_COMMIT_TO_REF=HEAD", "< /dev/null");
        unknown.is(2).says(&["cannot be checked: pre-commit names no commit that the remote has already"]);
        managed(&site, mode, "PRE_COMMIT_FROM_REF=nowhere PRE_COMMIT_TO_REF=HEAD", "< /dev/null")
            .is(2)
            .says(&["nowhere"]);
    }
    let shown = managed(&site, "print", "", "< /dev/null");
    shown.is(0).says(&["hierad: cannot show what the push changes: standard input names no branch"]);
    assert_eq!(managed(&site, "off", "", "< /dev/null").is(0).err, "");
}

#[test]
fn the_pre_commit_framework_names_the_push() {
    let site = pushed();
    port(&site, "81");
    let range = "PRE_COMMIT_FROM_REF=$(git rev-parse HEAD~1) PRE_COMMIT_TO_REF=$(git rev-parse HEAD)";
    let remote = "PRE_COMMIT_REMOTE_NAME=origin PRE_COMMIT_REMOTE_URL=../origin.git";
    let branch = "PRE_COMMIT_REMOTE_BRANCH=refs/heads/main";
    let shown = managed(&site, "print", &format!("{range} {remote} {branch}"), "< /dev/null");
    assert!(shown.ok().contains("(Ada) on origin/main"), "{shown:?}");
    assert!(shown.out.contains("changed  port: 80 -> 81"), "{shown:?}");
    managed(&site, "changes", &format!("{range} {remote} {branch}"), "< /dev/null")
        .is(2)
        .says(&["as it changes 1 key"]);
    // Names instead of ids, as `pre-commit run --from-ref` has them.
    managed(&site, "changes", "PRE_COMMIT_FROM_REF=origin/main PRE_COMMIT_TO_REF=HEAD", "< /dev/null").is(2);
    // What git says goes before.
    let (new, old) = (site.git(["rev-parse", "HEAD"]), site.git(["rev-parse", "HEAD~1"]));
    let lines = format!("refs/heads/main {new} refs/heads/main {old}");
    managed(
        &site,
        "changes",
        &format!("PRE_COMMIT_FROM_REF={new} PRE_COMMIT_TO_REF={new}"),
        &format!("<<X\n{lines}\nX\n"),
    )
    .is(2);
    // A tag moves no branch.
    managed(&site, "changes", &format!("{range} {remote} PRE_COMMIT_REMOTE_BRANCH=refs/tags/v1"), "< /dev/null").ok();
}
