//! Variables that profiles lack, in paths that may lead to a file that the commit changes.

use serde_json::Value as Json;

use crate::support::Sandbox;

/// Two nodes, of which only `db01` has the facts, and data of its own for what the commit changes.
const NODES: &str = "-- profiles/web01.yaml
name: web01
facts: {kernel: Linux}
-- profiles/db01.yaml
name: db01
facts: {kernel: Linux, osfamily: Debian, site: osl, os: {family: Debian}}
trusted: {extensions: {pp_role: db}}
variables: {tier: one}
-- hierad.yaml
profiles: [profiles]
-- data/nodes/db01.yaml
motd: own
";

/// Makes a site with this level between those of nodes and of all, whose last commit changes a file.
fn site(level: &str, more: &str, file: &str) -> Sandbox {
    let site = Sandbox::of(&format!(
        "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {{name: Node, path: 'nodes/%{{trusted.certname}}.yaml'}}\n  \
         - {{name: Lacking, {level}}}\n  - {{name: Common, path: common.yaml}}\n\
         {NODES}-- data/common.yaml\nmotd: all\n-- {file}\nmotd: first\n{more}"
    ));
    site.files(&format!("-- {file}\nmotd: second\n"));
    site.commit("second");
    site
}

fn report(site: &Sandbox) -> Json {
    site.hierad("diff --format json").json()
}

/// The blind spots for variables that profiles lack.
fn lacking(report: &Json) -> Vec<&Json> {
    let spots = report["blind_spots"].as_array().unwrap().iter();
    spots.filter(|spot| spot["code"] == "undefined-variable").collect()
}

/// Levels by variables that only some nodes have, with the name of the variable and the file that a commit changes.
const LEVELS: [(&str, &str, &str); 12] = [
    ("path: 'os/%{::osfamily}.yaml'", "osfamily", "data/os/Debian.yaml"),
    ("path: 'os/%{osfamily}.yaml'", "osfamily", "data/os/Debian.yaml"),
    ("path: 'os/%{facts.osfamily}.yaml'", "facts.osfamily", "data/os/Debian.yaml"),
    ("path: 'os/%{facts.os.family}.yaml'", "facts.os.family", "data/os/Debian.yaml"),
    ("path: 'os/%{os.family}.yaml'", "os.family", "data/os/Debian.yaml"),
    ("path: 'sites/%{facts.site}.yaml'", "facts.site", "data/sites/osl.yaml"),
    ("path: 'roles/%{trusted.extensions.pp_role}.yaml'", "trusted.extensions.pp_role", "data/roles/db.yaml"),
    ("path: 'tiers/%{tier}.yaml'", "tier", "data/tiers/one.yaml"),
    ("mapped_paths: [osfamily, family, 'os/%{family}.yaml']", "osfamily", "data/os/Debian.yaml"),
    ("glob: 'os/%{osfamily}/*.yaml'", "osfamily", "data/os/Debian/a.yaml"),
    ("datadir: 'data/%{osfamily}', path: os.yaml", "osfamily", "data/Debian/os.yaml"),
    ("paths: [none.yaml, 'os/%{kernel}/%{osfamily}.yaml']", "osfamily", "data/os/Linux/Debian.yaml"),
];

#[test]
fn what_only_some_nodes_lack_is_in_doubt_for_a_changed_file() {
    for (level, name, file) in LEVELS {
        let site = site(level, "", file);
        let report = report(&site);
        let spots = lacking(&report);
        assert_eq!((spots.len(), spots[0].get("standing")), (1, None), "{level}: {report}");
        let headline = format!("no change seen, but: 1 of 2 nodes lacks the variable '{name}'");
        assert_eq!(report["headline"], *headline, "{level}");
        // Nothing proposes to accept what can be had.
        assert_eq!(spots[0]["remedy"].get("yaml"), None, "{level}: {report}");
        site.hierad("diff --exit-code").is(3);
        for command in ["nodes check", "check"] {
            let told = site.hierad(command).out;
            assert!(!told.contains("accept: {"), "{command}, {level}: {told}");
        }
    }
}

#[test]
fn changes_on_other_nodes_hide_no_doubt() {
    let site = site("path: 'os/%{osfamily}.yaml'", "", "data/os/Debian.yaml");
    site.files("-- data/os/Debian.yaml\nmotd: third\nntp: a\n");
    site.commit("third");
    let report = report(&site);
    let headline = "1 key changes on 1 of 2 nodes; 1 blind spot: 1 of 2 nodes lacks the variable 'osfamily'";
    assert_eq!(report["headline"], headline);
}

#[test]
fn what_all_nodes_lack_is_in_doubt_too() {
    // Another level reads the file, so it is not unreached.
    let by = |level: &str| site(level, "", "data/labs/a.yaml");
    let report_of = |level: &str| report(&by(level));
    let reached = report_of("paths: ['nodes/../labs/a.yaml', 'labs/%{lab}.yaml']");
    assert_eq!(lacking(&reached)[0].get("standing"), None, "{reached}");
    // For a file that no node reads, that is said; a fact is to be had all the same.
    let unreached = report_of("path: 'labs/%{hostname}.yaml'");
    assert_eq!(unreached["headline"], "no change seen, but: no known node reads data/labs/a.yaml");
    for spot in unreached["blind_spots"].as_array().unwrap() {
        assert!(spot["fix"].as_str().unwrap().contains("facter --json --show-legacy"), "{spot}");
        assert_eq!(spot["remedy"].get("yaml"), None, "{spot}");
    }
}

#[test]
fn nodes_that_cannot_read_a_changed_file_are_in_no_doubt() {
    for (level, more, file) in [
        // The node has the variable, and its value leads elsewhere.
        (
            "path: 'os/%{osfamily}.yaml'",
            "-- profiles/web01.yaml\n{name: web01, facts: {osfamily: RedHat}}\n",
            "data/os/Debian.yaml",
        ),
        // It is known to have none.
        (
            "path: 'sites/%{facts.site}.yaml'",
            "-- profiles/web01.yaml\n{name: web01, facts: {site: null}}\n",
            "data/sites/osl.yaml",
        ),
        // The level cannot lead to the file.
        ("path: 'os/%{osfamily}.yaml'", "", "data/nodes/db01.yaml"),
        ("path: 'os/%{osfamily}.yaml'", "", "data/common.yaml"),
        // Another variable leads elsewhere on the nodes without this one.
        ("path: 'os/%{osfamily}/%{trusted.certname}.yaml'", "", "data/os/Debian/db01.yaml"),
        ("glob: 'os/%{trusted.certname}/%{osfamily}/*.yaml'", "", "data/os/db01/Debian/a.yaml"),
        ("datadir: 'data/%{trusted.certname}', path: '%{osfamily}.yaml'", "", "data/db01/Debian.yaml"),
        (
            "path: 'os/%{osfamily}.yaml'",
            "-- hierad.yaml\nprofiles: [profiles]\naccept: {undefined-variable: [osfamily]}\n",
            "data/os/Debian.yaml",
        ),
    ] {
        let report = report(&site(level, more, file));
        assert_eq!(lacking(&report), Vec::<&Json>::new(), "{level}: {report}");
    }
}

#[test]
fn a_comment_in_a_file_puts_nothing_in_doubt() {
    let site = site("path: 'os/%{osfamily}.yaml'", "", "data/os/Debian.yaml");
    site.files("-- data/os/Debian.yaml\n# More.\nmotd: second\n");
    site.commit("third");
    let report = report(&site);
    assert!(lacking(&report).iter().all(|spot| spot["standing"] == true), "{report}");
}

#[test]
fn legacy_facts_are_to_be_had_by_a_flag() {
    let flag = "take the facts of these nodes with `facter --json --show-legacy` or `puppet facts show --show-legacy`";
    for (name, is_legacy) in [
        ("osfamily", true),
        ("::hostname", true),
        ("facts.ipaddress_eth0", true),
        ("fqdn", true),
        ("processor0", true),
        ("site", false),
        ("facts.os.name", false),
    ] {
        let site = site(&format!("path: 'os/%{{{name}}}.yaml'"), "", "data/os/Debian.yaml");
        let report = report(&site);
        let fix = lacking(&report)[0]["fix"].as_str().unwrap().to_owned();
        assert_eq!(fix.starts_with(flag), is_legacy, "{name}: {fix}");
        for command in ["nodes check", "check"] {
            let told = site.hierad(command).out;
            assert_eq!(told.contains(flag), is_legacy, "{command}, {name}: {told}");
        }
    }
}
