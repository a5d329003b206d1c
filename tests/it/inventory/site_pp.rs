//! Variables from the node blocks of a manifest.

use super::puppetdb::who;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

fn site(manifest: &str, entry: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(&format!("-- manifests/site.pp\n{manifest}"));
    site.files("-- data/common.yaml\nwho: '%{trusted.certname} %{tier} %{role}'\nplain: 1\n");
    site.write("hierad.yaml", format!("puppet: 7\nprofiles:\n  - profiles\n  - site_pp: {entry}\n"));
    site.commit("manifest");
    site
}

#[test]
fn node_blocks_set_variables() {
    let manifest = "node /^web/ {\n  $tier = 'front'\n  role(web::main)\n}\nnode default { $tier = 2 }\n";
    let one = site(manifest, "{file: manifests/site.pp, role: 'role($role)'}");
    assert_eq!(who(&one), ["db01 2 db", "web01 front web::main"]);
    let other = site(manifest, "{file: manifests/site.pp, role: 'role($role)', separator: /}");
    assert_eq!(who(&other), ["db01 2 db", "web01 front web/main"]);
    assert_eq!(other.hierad("lookup who --node web01 --render-as s").ok(), "web01 front web/main\n");
    let shown = other.hierad("nodes show web01");
    let text = shown.ok();
    assert!(text.contains("/manifests/site.pp:1\n"), "{text}");
    for (name, origin, value) in [("role", "2", "web/main"), ("tier", "2", "front")] {
        let is_line = |line: &str| line.split_whitespace().eq([name, origin, value]);
        assert!(text.lines().any(is_line), "{name}: {text}");
    }
    // Later entries lie over it.
    other.write("hierad.yaml", "puppet: 7\nprofiles:\n  - site_pp: {file: manifests/site.pp}\n  - profiles\n");
    assert_eq!(who(&other), ["db01  db", "web01  web"]);
}

#[test]
fn what_is_not_understood_is_unknown_and_told() {
    let manifest = "node 'web01' {\n  $tier = lookup('x')\n}\n";
    let site = site(manifest, "{file: manifests/site.pp}");
    let printed = site.hierad("render --allow-blind --format ndjson --output -");
    printed.says(&["manifests/site.pp:2: 'tier' is not understood here, so it is unknown on nodes of this block"]);
    assert!(printed.out.contains("manifests/site.pp:2 is not understood"), "{}", printed.out);
    let shown = site.hierad("nodes show web01 --full");
    assert!(shown.ok().contains("manifests/site.pp:2 is not understood"), "{shown:?}");
    assert!(printed.out.contains("no node block is the node's, so Puppet would not compile it"), "{}", printed.out);
    assert_eq!(printed.out.matches("\"plain\":1").count(), 2);
}

#[test]
fn faults_of_node_blocks_are_told_with_their_line() {
    for (entry, words) in [
        ("{file: manifests/site.pp, role: role}", "'role' of 'site_pp' must be a call such as 'role($role)'"),
        ("{role: 'role($x)'}", "missing field `file`"),
        ("x", "expected a hash such as {file: FILE"),
    ] {
        site("# none\n", entry).hierad("lookup who --node web01").fails(&["hierad.yaml:4: ", words]);
    }
    let absent = site("# none\n", "{file: manifests/none.pp}");
    absent.hierad("lookup who --node web01").fails(&["manifests/none.pp: cannot be read: "]);
    let outside = site("# none\n", "{file: /etc/hostname}");
    outside.hierad("lookup who --node web01").says(&["does not count for paths outside of it"]);
}

#[test]
fn pipes_and_huge_manifests_are_refused() {
    let site = site("node default { $tier = 1 }\n", "{file: manifests/site.pp}");
    for makes in ["mkfifo", "truncate -s 9M"] {
        site.sh(&format!("rm manifests/site.pp && {makes} manifests/site.pp"));
        site.hierad("render --output -").is(1).says(&["manifests/site.pp: cannot be read: "]);
    }
}
