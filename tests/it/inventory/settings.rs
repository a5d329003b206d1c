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
        .fails(&["cannot ask PuppetDB at http://localhost:1 for nodes: there is no answer"]);
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
    // The other faults are tested where settings are read, in `src/app/settings/profiles.rs`.
    site.write(".git/hierad.yaml", "environment: e\nprofiles:\n  - profiles\n  - {nonsense: x}\n");
    site.hierad("lookup motd --node web01").fails(&[".git/hierad.yaml:4: ", "unknown field `nonsense`"]);
    // A list of one.
    site.write(".git/hierad.yaml", "profiles: {puppetdb: {url: 'http://localhost:1'}}\n");
    site.hierad("lookup motd --node web01").fails(&["cannot ask PuppetDB at http://localhost:1"]);
}
