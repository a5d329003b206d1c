//! The settings of sources: what is wrong with them, and who may write them.

use crate::support::Sandbox;
use crate::support::terminal::SITE;

#[test]
fn a_commit_has_no_server_asked() {
    let site = Sandbox::of(SITE);
    let settings = "profiles:\n  - profiles\n  - puppetdb: {url: 'http://localhost:1'}\n";
    site.write("hierad.yaml", settings);
    let printed = site.hierad("lookup motd --node web01 --render-as s");
    assert_eq!(printed.ok(), "hello\n");
    printed.says(&["hierad.yaml:1: 'profiles' of the tree does not count for sources other than files (puppetdb)"]);
    site.hierad("trust").ok();
    site.hierad("lookup motd --node web01")
        .fails(&["PuppetDB at http://localhost:1 cannot be asked for nodes: there is no answer"]);
}

#[test]
fn a_commit_has_no_program_asked() {
    let site = Sandbox::of(SITE);
    site.write("evil", "#!/bin/sh\ntouch ../owned\n");
    site.sh("chmod +x evil");
    for source in ["enc: ./evil", "trusted_external: ./evil", "enc: {command: [./evil]}", "puppet_cache: /"] {
        site.write("hierad.yaml", format!("profiles:\n  - profiles\n  - {source}\n"));
        let printed = site.hierad("lookup motd --node web01 --render-as s");
        assert_eq!(printed.ok(), "hello\n");
        let name = source.split(':').next().unwrap();
        printed.says(&[&format!("'profiles' of the tree does not count for sources other than files ({name})")]);
        assert!(!site.beside("owned").exists());
    }
    // Trust ends when the program changes.
    site.write("hierad.yaml", "profiles:\n  - profiles\n  - enc: ./evil\n");
    site.hierad("trust").ok();
    site.hierad("lookup motd --node web01").fails(&["prints nothing"]);
    assert!(site.beside("owned").exists());
    site.write("evil", "#!/bin/sh\ntouch ../owned2\n");
    site.hierad("lookup motd --node web01").says(&["does not count for sources other than files"]);
    assert!(!site.beside("owned2").exists());
}

#[test]
fn faults_are_told_with_their_line() {
    let site = Sandbox::of(SITE);
    for (entry, words) in [
        ("{nonsense: x}", "unknown field `nonsense`"),
        ("{}", "an entry of 'profiles' is a path, or a hash with exactly one source"),
        ("{puppetdb: {}}", "missing field `url`"),
        (
            "{puppetdb: {url: 'ftp://x'}}",
            "'url' of 'puppetdb' this is no address: it must begin with http:// or https://",
        ),
        ("{puppetdb: {url: 'https://a:b@x'}}", "'url' of 'puppetdb' must not have a password"),
        ("{puppetdb: {url: 'https://x/pdb/query/v4'}}", "'url' of 'puppetdb' must be the server's alone"),
        ("{puppetdb: {url: 'https://x', cert: a}}", "'cert' of 'puppetdb' needs 'key'"),
        ("{puppetdb: {url: 'https://x', key: a}}", "'key' of 'puppetdb' needs 'cert'"),
        ("{puppetdb: {url: 'http://x', token_file: a}}", "'url' of 'puppetdb' must begin with https://"),
        ("{puppetdb: {url: 'https://x', token_file: a, token_env: B}}", "'token_env' of 'puppetdb' is one too many"),
        (
            "{puppetdb: {url: 'https://x', timeout: 0}}",
            "'timeout' of 'puppetdb' must be a number of seconds up to 3600",
        ),
        ("{puppetdb: {url: 'https://x', refresh: -1}}", "'refresh' of 'puppetdb' must be a number of hours"),
        ("{enc: {command: []}}", "'enc' needs a program"),
        ("{enc: {command: [x], timeout: 0}}", "'timeout' of 'enc' must be a number of seconds up to 3600, not 0"),
        ("{enc: [x]}", "expected a program, or a hash such as"),
        ("{enc: x, trusted_external: y}", "exactly one source"),
        ("[x]", "expected a path, or a hash with one source such as {puppetdb: {url: URL}}"),
    ] {
        site.write(".git/hierad.yaml", format!("environment: e\nprofiles:\n  - profiles\n  - {entry}\n"));
        site.hierad("lookup motd --node web01").fails(&[".git/hierad.yaml:4: ", words]);
    }
    // A list of one.
    site.write(".git/hierad.yaml", "profiles: {puppetdb: {url: 'http://localhost:1'}}\n");
    site.hierad("lookup motd --node web01").fails(&["PuppetDB at http://localhost:1 cannot be asked"]);
}
