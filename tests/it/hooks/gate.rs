//! The hook `pre-receive`: which pushes the gate of a repository refuses, and what it says to whoever pushes.

use super::{pushed, remote};
use crate::support::terminal::Printed;
use crate::support::{Sandbox, git_in};

/// The policies and nodes of the repository that is pushed to.
const SETTINGS: &str = "
profiles: [profiles]
policies:
  - {name: ports, level: failure, message: Ask the network team., keys: port, nodes: 'web*'}
  - {name: words, level: warning, message: Think again., keys: motd}
";

/// A site with a remote that has a gate, and settings that no commit writes.
fn gated() -> Sandbox {
    let site = pushed();
    site.hierad("hooks remove").ok();
    site.sh("cp -r profiles ../origin.git/; git -C ../origin.git config receive.advertisePushOptions true");
    std::fs::write(site.beside("origin.git/hierad.yaml"), SETTINGS).unwrap();
    let installed = site.hierad("-C ../origin.git hooks install --gate");
    assert!(installed.ok().contains("pre-receive   installed"), "{installed:?}");
    site
}

fn commit(site: &Sandbox, files: &str) {
    site.files(files);
    site.commit("a change");
}

/// Pushes, with the settings of the gate and flags.
fn push(site: &Sandbox, settings: &[&str], flags: &str) -> Printed {
    for setting in settings {
        let (name, value) = setting.split_once('=').unwrap();
        git_in(&site.beside("origin.git"), ["config", name, value]);
    }
    site.shell(&format!("git push --quiet {flags}"))
}

#[test]
fn a_policy_refuses_a_push_and_says_what_it_changes() {
    let site = gated();
    let first = remote(&site, "main");
    commit(&site, "-- data/roles/web.yaml\nport: 81\n");
    let refused = push(&site, &[], "origin main");
    refused.is(1).says(&[
        "remote: 1 key changes on 1 of 2 nodes",
        "remote:   changed  port: 80 -> 81  data/roles/web.yaml:1",
        "remote:   failure  ports: 1 key on 1 of 2 nodes",
        "hierad: the push is refused, as it breaks the policy ports; `git push -o hierad-bypass=REASON` pushes anyway",
        "pre-receive hook declined",
    ]);
    assert_eq!(remote(&site, "main"), first);
    // Nothing of it is left: its objects were in quarantine.
    assert!(site.shell("git -C ../origin.git cat-file -e $(git rev-parse main)").status != 0);
    // Of several branches, one is enough.
    push(&site, &[], "origin HEAD~1:refs/heads/calm main:refs/heads/other").is(1);
    // A push that only warns, one of other nodes, tags and branches that go.
    site.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    commit(&site, "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    push(&site, &[], "origin main").is(0).says(&["remote:   warning  words: 1 key on both nodes"]);
    commit(&site, "-- data/roles/db.yaml\nport: 5433\n");
    push(&site, &[], "origin main main:refs/heads/gone").ok();
    site.git(["tag", "v1"]);
    assert_eq!(push(&site, &[], "origin v1 :gone").is(0).err, "");
}

#[test]
fn a_gate_without_policies_says_so() {
    let site = pushed();
    site.hierad("hooks remove").ok();
    site.sh("cp -r profiles ../origin.git/");
    std::fs::write(site.beside("origin.git/hierad.yaml"), "profiles: [profiles]\n").unwrap();
    let told = |setting: &str| {
        format!(
            "hierad: no policy refuses anything, not even errors: add 'policies' to the settings, or `git config \
             {setting} errors`"
        )
    };
    site.hierad("-C ../origin.git hooks install --gate").is(0).says(&[&told("hierad.gate")]);
    commit(&site, "-- data/roles/db.yaml\nport: '%{nosuch}'\n");
    site.hierad("hooks install pre-push").ok();
    let pushed = site.shell("git -c hierad.prePush=policies push --quiet origin main");
    pushed.is(0).says(&[&told("hierad.prePush"), &format!("remote: {}", told("hierad.gate")), "fails  port"]);
    // A gate that asks for something else, and one that the default branch has policies for.
    git_in(&site.beside("origin.git"), ["config", "hierad.gate", "errors"]);
    assert_eq!(site.hierad("-C ../origin.git hooks install --gate").is(0).err, "");
    git_in(&site.beside("origin.git"), ["config", "--unset", "hierad.gate"]);
    site.write("hierad.yaml", SETTINGS);
    site.commit("policies");
    push(&site, &[], "--no-verify origin main").is(0);
    assert_eq!(site.hierad("-C ../origin.git hooks install --gate").is(0).err, "");
    commit(&site, "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    assert!(!push(&site, &[], "--no-verify origin main").is(0).err.contains("no policy"));
}

#[test]
fn the_gate_can_ask_for_more() {
    let site = gated();
    commit(&site, "-- data/roles/db.yaml\nport: '%{nosuch}'\n");
    push(&site, &["hierad.gate=errors"], "origin main").is(1).says(&["as it brings errors to 1 node"]);
    push(&site, &["hierad.gate=changes"], "origin main").is(1).says(&["as it changes 1 key"]);
    push(&site, &["hierad.gate=policy"], "origin main")
        .is(1)
        .says(&["cannot be checked: hierad.gate is 'policy'; expected print, off, policies, errors or changes"]);
    push(&site, &["hierad.gate=print"], "origin main").is(0).says(&["fails  port"]);
    site.sh("mv ../origin.git/profiles ../origin.git/nowhere");
    commit(&site, "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    push(&site, &[], "origin main").is(0).says(&["hierad: cannot show what the push changes: no node profiles at "]);
    commit(&site, "-- data/roles/web.yaml\nport: 81\n");
    assert_eq!(push(&site, &["hierad.gate=off"], "origin main").is(0).err, "");
}

#[test]
fn nothing_passes_that_cannot_be_checked() {
    for (trouble, words) in [
        ("rm -r ../origin.git/profiles", "no node profiles at "),
        ("echo nonsense: > ../origin.git/hierad.yaml", "nonsense"),
        ("echo 'name: [' > ../origin.git/profiles/broken.yaml", "nodes are left out: "),
        ("git -C ../origin.git config hierad.gateTimeout 0", "that takes more than 0 seconds (hierad.gateTimeout)"),
        ("git -C ../origin.git config hierad.gateTimeout soon", "hierad.gateTimeout is 'soon'; expected seconds"),
        ("git checkout --quiet --orphan other; git commit --quiet -m x", "is not compared with anything"),
    ] {
        let site = gated();
        let before = site.sh("git -C ../origin.git for-each-ref");
        commit(&site, "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
        site.sh(trouble);
        let refused = push(&site, &[], "origin HEAD:refs/heads/new");
        refused.is(1).says(&["hierad", words]);
        assert_eq!(site.sh("git -C ../origin.git for-each-ref"), before, "{refused:#?}");
    }
    // Without hierad nothing passes either.
    let site = gated();
    site.sh("sed -i 's/hierad=.*/hierad=\\/nowhere/' ../origin.git/hooks/pre-receive");
    commit(&site, "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    push(&site, &[], "origin main").is(1).says(&["the push is refused, as hierad cannot check it"]);
    push(&site, &["hierad.gate=off"], "origin main").ok();
}

#[test]
fn a_comparison_that_hangs_is_ended() {
    let site = gated();
    let pid = site.beside("pid");
    let command = format!("[sh, -c, 'echo $$ > {}; exec sleep 600']", pid.display());
    let settings = format!("{SETTINGS}backends: {{slow: {{command: {command}, timeout: 900}}}}\n");
    std::fs::write(site.beside("origin.git/hierad.yaml"), settings).unwrap();
    let hierarchy = "[{name: Slow, lookup_key: slow}, {name: Common, path: common.yaml}]";
    commit(&site, &format!("-- hiera.yaml\nversion: 5\nhierarchy: {hierarchy}\n"));
    let refused = push(&site, &["hierad.gateTimeout=2"], "origin main");
    refused.is(1).says(&["cannot be checked: that takes more than 2 seconds (hierad.gateTimeout)"]);
    let begun = std::fs::read_to_string(pid).unwrap();
    assert!(!std::path::Path::new("/proc").join(begun.trim()).join("exe").exists(), "the command goes on");
}

#[test]
fn a_gate_without_nodes_says_where_its_settings_are() {
    let site = gated();
    let settings = site.beside("origin.git/hierad.yaml");
    std::fs::write(&settings, SETTINGS.replace("profiles:", "modulepath:")).unwrap();
    commit(&site, "-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    push(&site, &[], "origin main").is(1).says(&["cannot be checked: no node profiles", "origin.git/hierad.yaml)"]);
}

#[test]
fn a_push_that_is_let_past_is_logged() {
    let site = gated();
    let log = || std::fs::read_to_string(site.beside("origin.git/hierad-gate.log")).unwrap_or_default();
    commit(&site, "-- data/roles/web.yaml\nport: 81\n");
    let new = site.git(["rev-parse", "main"]);
    for flag in ["-o hierad-bypass=", "-o hierad-bypass", "-o other=1", "-o 'hierad-bypass= '"] {
        push(&site, &[], &format!("{flag} origin main")).is(1);
    }
    assert_eq!(log(), "");
    let passed = site.shell("USER=ada git push --quiet -o x=1 -o 'hierad-bypass=the site is down' origin main");
    passed.is(0).says(&["remote:   failure  ports: 1 key", "the push is let past, which is logged: the site is down"]);
    assert_eq!(remote(&site, "main"), new);
    let line: serde_json::Value = serde_json::from_str(&log()).unwrap();
    assert_eq!(line["reason"], "the site is down");
    assert!(line["moved"][0].as_str().unwrap().ends_with(&format!(" {new} refs/heads/main")), "{line}");
    assert!(line["time"].is_string() && line["who"] == "ada", "{line}");
    // A server that sets no name has a user all the same.
    commit(&site, "-- data/roles/web.yaml\nport: 83\n");
    let flags = "-o hierad-bypass=again origin main";
    site.shell(&format!("env -u USER -u LOGNAME git push --quiet {flags}")).is(0);
    let line: serde_json::Value = serde_json::from_str(log().lines().last().unwrap()).unwrap();
    assert!(line["who"].as_str().unwrap().starts_with("uid "), "{line}");
    // Nothing is noted of a push that needs no way past, and none is told where the server takes no options.
    commit(&site, "-- data/roles/db.yaml\nport: 5433\n");
    push(&site, &[], "-o hierad-bypass=needless origin main").ok();
    assert_eq!(log().lines().count(), 2);
    commit(&site, "-- data/roles/web.yaml\nport: 82\n");
    let refused = push(&site, &["receive.advertisePushOptions=false"], "origin main");
    assert!(!refused.is(1).err.contains("hierad-bypass"), "{refused:#?}");
}

#[test]
fn settings_of_the_pushed_commits_do_not_judge_them() {
    let site = gated();
    std::fs::write(site.beside("origin.git/hierad.yaml"), "profiles: [profiles]\n").unwrap();
    let policies = |level: &str| {
        format!(
            "-- hierad.yaml\nprofiles: [profiles]\npolicies: [{{name: ports, level: {level}, message: Ask., keys: port}}]\n"
        )
    };
    commit(&site, &policies("failure"));
    push(&site, &[], "origin main").ok();
    commit(&site, &format!("{}-- data/roles/web.yaml\nport: 81\n", policies("note")));
    push(&site, &[], "origin main").is(1).says(&["as it breaks the policy ports"]);
    push(&site, &[], "origin main:refs/heads/new").is(1).says(&["as it breaks the policy ports"]);
}

#[test]
fn the_first_push_passes() {
    let site = gated();
    site.sh("git init --quiet --bare ../empty.git; cp -r profiles ../origin.git/hierad.yaml ../empty.git/");
    site.hierad("-C ../empty.git hooks install pre-receive").ok();
    push(&site, &[], "../empty.git main")
        .is(0)
        .says(&["remote: hierad: the first push, which is not compared with anything"]);
}
