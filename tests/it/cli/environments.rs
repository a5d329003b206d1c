//! Several environments in one repository: each node is resolved in the folder of its own. What Puppet makes of such
//! repositories is in `tests/vectors/lookup/environments.json`.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::{Printed, changes};

const ENVIRONMENTS: &str = "
-- hierad.yaml
hiera_config: 'environments/%{environment}/hiera.yaml'
profiles: profiles
-- environments/production/hiera.yaml
version: 5
hierarchy:
  - {name: node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: common, path: common.yaml}
-- environments/production/data/common.yaml
a: production
-- environments/development/hiera.yaml
version: 5
hierarchy:
  - {name: common, path: common.yaml}
-- environments/development/data/common.yaml
a: development
-- environments/unused/hiera.yaml
version: 5
hierarchy:
  - {name: common, path: common.yaml}
-- environments/unused/data/common.yaml
a: unused
-- profiles/d1.json
{\"name\": \"d1\", \"environment\": \"development\"}
-- profiles/p1.json
{\"name\": \"p1\", \"environment\": \"production\"}
-- profiles/p2.json
{\"name\": \"p2\"}
";

fn site() -> Sandbox {
    Sandbox::of(ENVIRONMENTS)
}

/// The report and the exit status of a commit that a script makes.
fn commit(script: &str) -> (Json, i32) {
    let site = site();
    site.sh(script);
    site.commit("a commit");
    let report = site.hierad("diff --format json").json();
    (report, site.hierad("diff --exit-code").status)
}

fn codes(report: &Json) -> Vec<String> {
    let spots = report["blind_spots"].as_array().into_iter().flatten();
    let told = |spot: &Json| format!("{} {}", spot["code"].as_str().unwrap(), spot["files"]);
    spots.map(told).collect()
}

fn rendered(site: &Sandbox) -> String {
    site.hierad("render --format ndjson").ok().lines().fold(String::new(), |mut text, line| {
        let node: Json = serde_json::from_str(line).unwrap();
        write!(text, "{} {} ", node["node"].as_str().unwrap(), node["values"]["a"]).unwrap();
        text
    })
}

#[test]
fn a_commit_concerns_the_nodes_of_its_environment() {
    let data = |name: &str| format!("echo 'a: changed' >environments/{name}/data/common.yaml");
    for (script, expected) in [
        (data("production"), &["a changed p1,p2"][..]),
        (data("development"), &["a changed d1"]),
        (format!("{}; {}", data("development"), data("production")), &["a changed d1", "a changed p1,p2"]),
        ("mkdir environments/production/data/nodes; echo 'a: p2' >environments/production/data/nodes/p2.yaml".into(), &[
            "a changed p2",
        ]),
        ("mkdir -p environments/development/data/nodes; sed -i 's/common.yaml/other.yaml/' environments/development/hiera.yaml".into(), &["a removed d1"]),
        ("rm -r environments/production/data; ln -s ../development/data environments/production/data".into(), &["a changed p1,p2"]),
        ("mkdir -p environments/development/modules/m/data; printf 'version: 5\\nhierarchy: [{name: m, path: m.yaml}]\\n' >environments/development/modules/m/hiera.yaml; echo 'm::x: 1' >environments/development/modules/m/data/m.yaml".into(), &["m::x added d1"]),
    ] {
        let (report, status) = commit(&script);
        assert_eq!((changes(&report), status), (expected.iter().map(|text| (*text).to_owned()).collect(), 2), "{script}");
    }
}

#[test]
fn a_change_where_no_node_is_is_told() {
    for (script, file) in [
        ("echo 'a: changed' >environments/unused/data/common.yaml", "environments/unused/data/common.yaml"),
        ("rm -r environments/unused", "environments/unused/data/common.yaml"),
        ("cp -r environments/unused environments/new", "environments/new/data/common.yaml"),
        ("sed -i 's/common.yaml/other.yaml/' environments/unused/hiera.yaml", "environments/unused/hiera.yaml"),
        ("echo 'modulepath = site' >environments/unused/environment.conf", "environments/unused/environment.conf"),
        (
            "mkdir -p environments/unused/modules/m; echo 'version: 5' >environments/unused/modules/m/hiera.yaml",
            "environments/unused/modules/m/hiera.yaml",
        ),
    ] {
        let (report, status) = commit(script);
        let told = codes(&report);
        assert!(
            told.iter().any(|spot| spot.starts_with("unreached-file") && spot.contains(file)),
            "{script}: {told:?}"
        );
        assert_eq!((changes(&report).len(), status), (0, 3), "{script}");
    }
}

#[test]
fn a_change_of_no_effect_is_calm() {
    for script in [
        "echo '# a remark' >>environments/production/data/common.yaml",
        "echo '# a remark' >>environments/development/hiera.yaml",
        "echo text >environments/unused/README",
        "echo text >environments/README",
        "mkdir -p environments/not-a-name; echo text >environments/not-a-name/README",
    ] {
        let (report, status) = commit(script);
        assert_eq!((codes(&report).len(), status), (0, 0), "{script}: {report:#}");
    }
}

#[test]
fn nodes_without_a_folder_are_unknown() {
    let site = site();
    site.files("-- profiles/q1.json\n{\"name\": \"q1\", \"environment\": \"qa\"}\n");
    site.commit("a node");
    let is_told = |printed: &Printed| {
        let text = format!("{}{}", printed.out, printed.err);
        assert!(text.contains("the environment 'qa' has no folder environments/qa in the repository"), "{printed:#?}");
    };
    is_told(&site.hierad("render --format ndjson --node q1"));
    is_told(&site.hierad("check"));
    is_told(&site.hierad("lookup a --node q1"));
    assert_eq!(site.hierad("check").status, 2);
    site.files("-- environments/production/data/common.yaml\na: changed\n");
    site.commit("production");
    let report = site.hierad("diff --format json").json();
    assert_eq!(changes(&report), ["a changed p1,p2"]);
    assert_eq!(codes(&report), ["no-hiera-yaml null"], "{report:#}");
    // It comes with a commit, and goes with one.
    site.sh("cp -r environments/development environments/qa");
    site.commit("qa");
    assert_eq!(changes(&site.hierad("diff --format json").json()), ["a recovered q1"]);
    assert_eq!(rendered(&site), r#"d1 "development" p1 "changed" p2 "changed" q1 "development" "#);
    site.sh("rm -r environments/qa");
    site.commit("no qa");
    assert_eq!(changes(&site.hierad("diff --format json").json()), ["a failed q1"]);
}

#[test]
fn other_folders_links_and_flags() {
    let site = site();
    site.sh("mkdir puppet; git mv environments puppet/envs; ln -s production puppet/envs/staging; rm hierad.yaml");
    site.files("-- profiles/s1.json\n{\"name\": \"s1\", \"environment\": \"staging\"}\n");
    site.settings("profiles: profiles\nhiera_config: 'puppet/envs/%{environment}/hiera.yaml'\n");
    site.commit("moved");
    assert_eq!(rendered(&site), r#"d1 "development" p1 "production" p2 "production" s1 "production" "#);
    assert_eq!(site.hierad("lookup a --node d1 --set environment=production").ok(), "--- production\n");
    assert_eq!(site.hierad("lookup a --node d1 --set environment=unused").ok(), "--- unused\n");
    site.files("-- puppet/envs/production/data/common.yaml\na: changed\n");
    site.commit("by a link");
    assert_eq!(changes(&site.hierad("diff --format json").json()), ["a changed p1,p2,s1"]);
    // The one environment of a flag is that of all nodes.
    let flag = "--hiera-config puppet/envs/development/hiera.yaml";
    assert_eq!(site.hierad(&format!("lookup a --node p1 {flag}")).ok(), "--- development\n");
    for wrong in [
        "e%{environment}/hiera.yaml",
        "e/%{environment}",
        "%{environment}/%{environment}/h.yaml",
        "%{x}/%{environment}/h.yaml",
    ] {
        let printed = site.hierad(&format!("lookup a --node p1 --hiera-config {wrong}"));
        assert!(
            printed.err.contains("as the name of a folder, like environments/%{environment}/hiera.yaml"),
            "{printed:#?}"
        );
    }
}

#[test]
fn a_hierarchy_at_the_top_beside_environments() {
    let site = site();
    site.sh("rm hierad.yaml");
    site.files("-- hiera.yaml\nversion: 5\nhierarchy: [{name: top, path: 'top/%{environment}.yaml'}, {name: c, path: common.yaml}]\n-- data/common.yaml\na: top\n-- data/top/production.yaml\nb: global\n");
    site.settings("profiles: profiles\n");
    site.commit("both");
    assert_eq!(rendered(&site), r#"d1 "top" p1 "top" p2 "top" "#);
    for (script, code) in [
        ("echo 'a: changed' >environments/production/data/common.yaml", "unnamed-folder"),
        ("sed -i 's/common.yaml/other.yaml/' environments/production/hiera.yaml", "unreached-file"),
    ] {
        site.sh(script);
        site.commit("below");
        let told = codes(&site.hierad("diff --format json").json());
        assert!(told.iter().any(|spot| spot.starts_with(code)), "{script}: {told:?}");
        site.hierad("diff --exit-code").is(3);
    }
    // At the top it is the global layer's.
    let global = "global_hiera_config: {path: hiera.yaml}\nhiera_config: 'environments/%{environment}/hiera.yaml'\n";
    site.settings(format!("profiles: profiles\n{global}"));
    site.sh("rm data/common.yaml; git checkout -q HEAD~2 environments");
    site.commit("global");
    assert_eq!(rendered(&site), r#"d1 "development" p1 "production" p2 "production" "#);
    assert_eq!(site.hierad("lookup b --node p1").ok(), "--- global\n");
    site.hierad("lookup b --node d1").is(1);
}

#[test]
fn init_finds_environments() {
    for (script, said) in [
        ("true", "environments/%{environment}/hiera.yaml: 3 environments, production, development, unused (guessed)"),
        ("git mv environments envs", "envs/%{environment}/hiera.yaml: 3 environments"),
        (
            "rm -r environments/development environments/unused; mkdir x; git mv environments/production x",
            "x/%{environment}/hiera.yaml: 1 environment, production",
        ),
        ("mkdir puppet; git mv environments puppet", "puppet/environments/%{environment}/hiera.yaml: 3 environments"),
        (
            "cp environments/production/hiera.yaml .; mkdir data; echo 'a: 1' >data/common.yaml",
            "hiera.yaml: version 5, 2 levels",
        ),
    ] {
        let site = site();
        site.sh(&format!("rm hierad.yaml; {script}"));
        site.commit("other places");
        let printed = site.hierad("init --yes --no-verify --profiles profiles --puppet-config none");
        assert!(printed.out.contains(said), "{script}: {printed:#?}");
        site.hierad("render --format ndjson").is(0);
    }
    let site = site();
    site.sh("rm hierad.yaml");
    site.commit("no settings");
    let flag = "--hiera-config environments/%{environment}/hiera.yaml";
    let printed = site.hierad(&format!("init --yes --no-verify --profiles profiles --puppet-config none {flag}"));
    assert!(printed.out.contains("hiera.yaml: 3 environments, production, development, unused\n"), "{printed:#?}");
    assert_eq!(rendered(&site), r#"d1 "development" p1 "production" p2 "production" "#);
}

#[test]
fn lookups_in_manifests_of_other_environments_do_not_count() {
    let class = "'class p { $x = lookup(\"l\", {merge => unique}) }'";
    for (script, is_merged) in [
        (
            "put environments/production/environment.conf 'modulepath = ../../modules'; put modules/p/manifests/init.pp CLASS",
            false,
        ),
        (
            "put environments/development/environment.conf 'modulepath = ../../modules'; put modules/p/manifests/init.pp CLASS",
            true,
        ),
        (
            "put environments/production/environment.conf 'manifest = ../../manifests'; put manifests/site.pp CLASS",
            false,
        ),
        (
            "put environments/development/environment.conf 'manifest = ../../manifests'; put manifests/site.pp CLASS",
            true,
        ),
        ("ln -s ../../site environments/production/manifests; put site/site.pp CLASS", false),
        ("ln -s ../../site environments/development/modules; put site/p/manifests/init.pp CLASS", true),
        ("put environments/production/modules/p/manifests/init.pp CLASS", false),
        // Nobody knows whose these are.
        ("put elsewhere/p/manifests/init.pp CLASS", true),
    ] {
        let site = site();
        let help = "put() { mkdir -p $(dirname $1); echo \"$2\" >$1; }; ";
        site.sh(&format!("{help}{}", script.replace("CLASS", class)));
        site.files("-- environments/development/hiera.yaml\nversion: 5\nhierarchy:\n  - {name: n, path: n.yaml}\n  - {name: common, path: common.yaml}\n-- environments/development/data/n.yaml\nl: [one]\n-- environments/development/data/common.yaml\nl: [two]\n");
        site.commit("before");
        let expected = if is_merged { "---\n- one\n- two\n" } else { "---\n- one\n" };
        assert_eq!(site.hierad("lookup l --node d1").ok(), expected, "{script}");
        site.files("-- environments/development/data/common.yaml\nl: [two, three]\n");
        site.commit("after");
        assert_eq!(site.hierad("diff --exit-code").status, if is_merged { 2 } else { 0 }, "{script}");
    }
}

#[test]
fn manifests_of_other_environments_set_nothing() {
    let [unknown, other] = ["$role = role('a')\n", "$role = role('b')\n"];
    for (changed, status) in [("production", 0), ("development", 3), ("unused", 0)] {
        let site = site();
        site.files("-- environments/development/hiera.yaml\nversion: 5\nhierarchy:\n  - {name: r, path: 'r/%{role}.yaml'}\n  - {name: common, path: common.yaml}\n");
        for name in ["production", "development", "unused"] {
            site.write(&format!("environments/{name}/manifests/site.pp"), unknown);
        }
        site.commit("before");
        site.write(&format!("environments/{changed}/manifests/site.pp"), other);
        site.commit("after");
        let printed = site.hierad("diff --exit-code");
        assert_eq!(printed.status, status, "{changed}: {printed:#?}");
    }
}
