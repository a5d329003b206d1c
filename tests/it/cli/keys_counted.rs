//! The keys of a repository are those of files that levels may read. All others are of no concern to Hiera.

use serde_json::json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// Files that no level can read.
const OTHERS: &str = "
-- appveyor.yml
clone_depth: 10
build: off
-- mkdocs.yml
site_name: docs
-- package.json
{\"name\": \"lint\", \"version\": \"1.0.0\"}
-- .travis.yml
language: ruby
-- examples/data/common.yaml
example::key: 1
-- docs/openapi.yaml
openapi: 3
-- provision.yaml
default: {provisioner: docker}
-- modules/ntp/examples/init.yaml
ntp::example: 1
-- modules/ntp/.sync.yml
unmanaged: true
";

/// Returns the number of keys that are compared between the last commit and itself.
fn count(site: &Sandbox) -> u64 {
    site.hierad("diff HEAD HEAD --format json").json()["keys"]["total"].as_u64().unwrap()
}

#[test]
fn keys_of_files_that_no_level_can_read_do_not_count() {
    // Roles have the key `port`.
    let site = Sandbox::of(&format!("{SITE}{OTHERS}"));
    assert_eq!(count(&site), 3);
    site.hierad("diff HEAD HEAD --key build").fails(&["no key matches --key 'build'"]);
    for (path, broken) in [
        ("data/common.yaml", "motd: %\n"),
        ("data/common.yaml", "motd: [a\n"),
        ("hiera.yaml", "version: 5\nhierarchy: [{name: c, path: [x}]\n"),
        ("hiera.yaml", "version: 5\nhierarchy: 1\n"),
        ("hiera.yaml", "version: 5\nhierarchy: [{name: c, path: c.yaml, data_hash: nosuch}]\n"),
        ("data/common.yaml", "motd: hello\nlookup_options: {motd: {merge: nosuch}, ntp: 1}\n"),
    ] {
        let before = std::fs::read_to_string(site.root().join(path)).unwrap();
        site.write(path, broken);
        site.commit("broken");
        let report = site.hierad("diff --format json").json();
        assert!(report["keys"]["total"].as_u64().unwrap() <= 3, "{path}: {broken}: {report}");
        let text = format!("{}{}", report["changes"], report["causes"]);
        for other in ["build", "clone_depth", "openapi", "site_name", "example", "default", "unmanaged"] {
            assert!(!text.contains(&format!("\"{other}")), "{path}: {broken}: {text}");
        }
        site.write(path, before);
        site.commit("whole");
    }
}

#[test]
fn keys_of_files_that_levels_may_read_count() {
    let hiera = |rest: &str| format!("{SITE}{OTHERS}-- hiera.yaml\nversion: 5\n{rest}\n");
    let by_role = "hierarchy: [{name: r, path: '%{role}.yaml'}, {name: c, path: common.yaml}]";
    for (site, expected) in [
        // Of the kinds of nodes that there may be, and in a datadir at any place.
        (format!("{SITE}{OTHERS}-- data/nodes/new.yaml\nnew: 1\n-- data/sub/other.yaml\nother: 1\n"), 5),
        (
            hiera(&format!(
                "defaults: {{datadir: hieradata, data_hash: yaml_data}}\n{by_role}\n-- hieradata/x.yaml\nx: 1"
            )),
            1,
        ),
        (
            hiera(&format!(
                "defaults: {{datadir: 'env/%{{environment}}/data', data_hash: yaml_data}}\n{by_role}\n-- env/p/data/x.yaml\nx: 1\n-- env/p/ci.yml\ny: 1"
            )),
            1,
        ),
        // The root is the datadir: what the paths of its levels match.
        (
            hiera(
                "defaults: {datadir: ., data_hash: yaml_data}\nhierarchy: [{name: r, path: 'roles/%{role}.yaml'}, {name: c, path: common.yaml}]\n-- common.yaml\nc: 1\n-- roles/x.yaml\nr: 1",
            ),
            2,
        ),
        (
            hiera(
                "defaults: {datadir: ., data_hash: yaml_data}\nhierarchy: [{name: r, glob: 'conf/*.yaml'}]\n-- conf/a.yaml\na: 1\n-- other/a.yaml\nb: 1",
            ),
            1,
        ),
        // Outside of the repository, as it is deployed: files that its paths end with, such as
        // provision.yaml, and those that look like data.
        (hiera(&format!("defaults: {{datadir: /srv/hieradata, data_hash: yaml_data}}\n{by_role}")), 4),
        (
            format!(
                "{SITE}{OTHERS}-- environment.conf\nmodulepath = modules\n-- modules/ntp/hiera.yaml\nversion: 5\nhierarchy: [{{name: c, path: c.yaml}}]\n-- modules/ntp/data/c.yaml\nntp::a: 1\n"
            ),
            4,
        ),
        (
            format!(
                "{SITE}{OTHERS}-- hierad.yaml\n{{profiles: [profiles], hiera: 3}}\n-- hiera.yaml\n:backends: [yaml, json]\n:yaml:\n  :datadir: data\n:json:\n  :datadir: json\n:hierarchy: ['roles/%{{role}}', common]\n-- json/common.json\n{{\"j\": 1}}\n"
            ),
            4,
        ),
    ] {
        assert_eq!(count(&Sandbox::of(&site)), expected, "{site}");
    }
}

/// Another hiera.yaml makes data of other files, and back.
#[test]
fn keys_come_and_go_with_the_levels_that_may_read_them() {
    let site = Sandbox::of(&format!("{SITE}-- other/unread.yaml\nunread: 1\n-- other/common.yaml\nin_other: 1\n"));
    let hiera = std::fs::read_to_string(site.root().join("hiera.yaml")).unwrap();
    assert_eq!(count(&site), 3);
    site.write(
        "hiera.yaml",
        hiera.replace("hierarchy:", "defaults: {datadir: other, data_hash: yaml_data}\nhierarchy:"),
    );
    site.commit("other");
    let report = site.hierad("diff --format json").json();
    assert_eq!(report["keys"], json!({"total": 5, "changed": 4}), "{report}");
    assert_eq!(count(&site), 2);
    site.write("hiera.yaml", hiera);
    site.commit("back");
    assert_eq!(site.hierad("diff --format json").json()["keys"], json!({"total": 5, "changed": 4}));
    assert_eq!(count(&site), 3);
}
