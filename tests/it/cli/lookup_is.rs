//! `hierad lookup --is`: answers by the exit status, for `git bisect run`.

use crate::support::Sandbox;
use crate::support::terminal::{Printed, SITE, hierad};

const MORE: &str = "
-- data/common.yaml
motd: hello
port: 80
text: '80'
nothing: ~
ntp: [a, b]
user: {name: root, uid: 0}
broken: '%{nope}'
hidden: secret
lookup_options: {hidden: {convert_to: Sensitive}}
-- data/roles/web.yaml
port: 80
";

fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(MORE);
    site.commit("more");
    site
}

fn lookup(site: &Sandbox, arguments: &[&str]) -> Printed {
    site.masked(hierad(site.root()).arg("lookup").args(arguments).args(["--node", "web01"]))
}

#[test]
fn the_status_tells_if_the_value_is_the_expected_one() {
    let site = site();
    for (arguments, status, words) in [
        (&["motd", "--is", "hello"][..], 0, ""),
        (&["motd", "--is", "'hello'"], 0, ""),
        (&["motd", "--is", "Hello"], 1, "'motd' is \"hello\" on web01"),
        (&["port", "--is", "80"], 0, ""),
        (&["port", "--is", "'80'"], 1, "'port' is 80 on web01"),
        (&["port", "--is", "80.0"], 1, "'port' is 80 on web01"),
        (&["text", "--is", "80"], 1, "'text' is \"80\" on web01"),
        (&["text", "--is", "\"80\""], 0, ""),
        (&["nothing", "--is", "~"], 0, ""),
        (&["nothing", "--is", ""], 0, ""),
        (&["ntp", "--is", "[a, b]"], 0, ""),
        (&["ntp", "--is=- a\n- b\n"], 0, ""),
        (&["ntp", "--is", "[b, a]"], 1, "'ntp' is [\"a\",\"b\"] on web01"),
        (&["user", "--is", "{name: root, uid: 0}"], 0, ""),
        (&["user.uid", "--is", "0"], 0, ""),
        (&["user.uid", "--is", "-1"], 1, "is 0 on"),
        (&["nope", "motd", "--is", "hello"], 0, ""),
        (&["nope", "--is", "~"], 1, "no data for 'nope' on web01"),
        (&["nope", "--default", "x", "--is", "x"], 0, ""),
        (&["broken", "--is", "x"], 1, "lookup of 'broken' failed: "),
        (&["motd", "--is"], 0, ""),
        (&["hidden", "--is"], 0, ""),
        (&["motd", "--type", "String", "--is"], 0, ""),
        (&["motd", "--type", "Integer", "--is"], 1, "Found value has wrong type"),
        (&["nope", "--is"], 1, "no data for 'nope' on web01"),
        (&["broken", "--is"], 1, "lookup of 'broken' failed: "),
        (&["broken", "--is-error"], 0, ""),
        (&["motd", "--type", "Integer", "--is-error"], 0, ""),
        (&["motd", "--type", "String", "--is-error"], 1, "'motd' is \"hello\" on web01"),
        (&["nope", "--is-error"], 1, "no data for 'nope' on web01"),
    ] {
        let printed = lookup(&site, arguments);
        assert_eq!((printed.status, &*printed.out), (status, ""), "{arguments:?}: {printed:#?}");
        assert!(
            printed.err.contains(words) && printed.err.is_empty() == words.is_empty(),
            "{arguments:?}: {printed:#?}"
        );
        assert!(printed.err.lines().count() <= 1, "{arguments:?}: {printed:#?}");
    }
}

#[test]
fn a_lookup_that_tells_nothing_has_the_status_of_a_revision_to_skip() {
    let site = site();
    site.write("data/roles/web.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
    site.commit("unknown");
    site.write("hiera.yaml", "version: 5\nhierarchy: [{name: Common, path: common.yaml, data_hash: site::own}]\n");
    site.commit("no function");
    site.files("-- hiera.yaml\nversion: 5\nhierarchy: 7\n");
    site.commit("faulty");
    site.files("-- hiera.yaml\n");
    site.commit("none");
    for (arguments, words) in [
        (&["port", "--is", "80", "--rev", "HEAD~3"][..], "Git LFS"),
        (&["port", "--is-error", "--rev", "HEAD~3"], "Git LFS"),
        (&["motd", "--is", "hello", "--rev", "HEAD~2"], "Unable to find 'data_hash' function named 'site::own'"),
        (&["motd", "--is-error", "--rev", "HEAD~2"], "Unable to find 'data_hash' function named 'site::own'"),
        (&["motd", "--is", "--rev", "HEAD~1"], "lookup of 'motd' failed: "),
        (&["motd", "--is"], "there is no hiera.yaml"),
        (&["motd", "--is-error"], "there is no hiera.yaml"),
        (&["motd", "--is", "hello", "--rev", "nosuch"], "unknown revision 'nosuch'"),
        (&["motd", "--is", "[hello", "--rev", "HEAD~4"], "--is: '[hello' is not YAML"),
        (&["motd", "--is", "hello", "--type", "Integer["], "--type: "),
        (&["motd", "--is", "hello", "--explain"], "cannot be used with"),
        (&["motd", "--is-error", "--render-as", "json"], "cannot be used with"),
        (&["motd", "--is=hello", "--nope"], "unexpected argument '--nope'"),
        (&["--is", "motd"], "No keys were given"),
        (&["hidden", "--is", "secret", "--rev", "HEAD~4"], "is a secret on web01: --show-secrets compares it"),
    ] {
        let printed = lookup(&site, arguments);
        assert_eq!((printed.status, &*printed.out), (125, ""), "{arguments:?}: {printed:#?}");
        assert!(printed.err.contains(words), "{arguments:?}: {printed:#?}");
    }
    let unknown = site.hierad("lookup motd --node web1 --is hello");
    unknown.is(125).says(&["there is no profile of node 'web1'"]);
    site.hierad("lookup motd --node web1").is(1);
    site.hierad("lookup motd --nope").is(1);
    assert!(lookup(&site, &["motd", "--is-error", "--rev", "HEAD~1"]).is(0).err.is_empty());
}

#[test]
fn a_secret_is_compared_where_secrets_are_shown() {
    let site = site();
    let hidden = lookup(&site, &["hidden", "--is", "x"]);
    assert!(!hidden.is(125).err.contains("\"secret\""), "{hidden:#?}");
    lookup(&site, &["hidden", "--is", "secret", "--show-secrets"]).is(0);
    lookup(&site, &["hidden", "--is", "x", "--show-secrets"]).is(1).says(&["secret"]);
}

#[test]
fn git_finds_the_commit_that_changes_a_value() {
    let site = Sandbox::of(SITE);
    let commit = |name: &str, port: &str| {
        site.write("data/roles/web.yaml", format!("port: {port}\n"));
        site.write("note", name);
        site.commit(name)
    };
    commit("a note", "80");
    site.write("hiera.yaml", "version: 5\nhierarchy: 7\n");
    commit("a fault", "80");
    site.write("hiera.yaml", "version: 5\nhierarchy: [{name: Role, path: 'roles/%{role}.yaml'}]\n");
    commit("a correction", "80");
    let culprit = commit("the culprit", "8080");
    for number in 0..4 {
        commit(&format!("later {number}"), "8080");
    }
    let program = hierad(site.root()).get_program().to_str().unwrap().to_owned();
    site.git(["bisect", "start", "HEAD", "HEAD~8"]);
    let found = site.git(["bisect", "run", &program, "lookup", "port", "--node", "web01", "--is", "80"]);
    assert!(found.contains(&format!("{culprit} is the first bad commit")), "{found}");
    let log = site.git(["bisect", "log"]);
    assert!(!log.contains("a fault") || log.contains("skip"), "{log}");
}
