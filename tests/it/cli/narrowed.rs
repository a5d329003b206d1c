//! `hierad diff -- PATH...`: a report that is narrowed to what some files cause.

use crate::support::Sandbox;
use crate::support::terminal::{SITE, changes};

/// A commit with a change by each of three files, one by two of them together, one by a level, and findings of each.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(
        "-- hiera.yaml
version: 5
hierarchy:
  - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: Role, path: 'roles/%{role}.yaml'}
  - {name: Common, path: common.yaml}
  - {name: Last, path: last.yaml}
-- data/last.yaml
level: 1
-- data/common.yaml
motd: welcome
ntp: [a, b]
both: \"%{lookup('port')}\"
-- data/roles/web.yaml
port: 8080
-- data/roles/db.yaml
port: 5433
-- data/nodes/unknown.yaml
port: 1
-- README.md
Nothing of Hiera.
",
    );
    site.commit("many things");
    site
}

#[test]
fn a_report_is_narrowed_to_what_files_cause() {
    let site = site();
    let (motd, level) = ("motd changed db01,web01", "level added db01,web01");
    let (web, db) = ("port changed web01", "port changed db01");
    let (on_web, on_db) = ("both added web01", "both added db01");
    for (folder, paths, expected) in [
        ("", "data/common.yaml", vec![motd, on_web, on_db]),
        ("", "data/roles/web.yaml", vec![on_web, web]),
        ("", "data/roles", vec![on_web, web, on_db, db]),
        ("", "data/roles/", vec![on_web, web, on_db, db]),
        ("", "./data/roles/../roles/db.yaml", vec![on_db, db]),
        ("", "data/*/web.yaml", vec![on_web, web]),
        ("", "data/roles/web.yaml data/common.yaml", vec![motd, on_web, on_db, web]),
        ("", "data/last.yaml hiera.yaml", vec![level]),
        ("data", "roles/web.yaml", vec![on_web, web]),
        ("data/roles", "web.yaml", vec![on_web, web]),
        ("data/roles", "../common.yaml", vec![motd, on_web, on_db]),
        ("", ".", vec![motd, on_web, on_db, web, db, level]),
        ("", "README.md", vec![]),
        ("", "profiles", vec![]),
    ] {
        let printed = site.hierad_in(folder, &format!("diff --format json -- {paths}"));
        printed.ok();
        let report = printed.json();
        let (mut found, mut expected) = (changes(&report), expected);
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected, "{folder} {paths}");
        assert!(report["headline"].as_str().unwrap().starts_with("narrowed to "), "{}", report["headline"]);
        assert!(report["narrowed_to"].is_array());
        // Each line that is named is there, and so is each cause.
        let lines = report["lines"].as_array().unwrap();
        for change in report["changes"].as_array().unwrap() {
            for line in change["lines"].as_array().into_iter().flatten() {
                assert!(usize::try_from(line.as_u64().unwrap()).unwrap() < lines.len(), "{report:#}");
            }
        }
    }
    let whole = site.hierad("diff --format json").json();
    assert_eq!(changes(&whole).len(), 6);
    assert!(whole["narrowed_to"].is_null() && !whole["headline"].as_str().unwrap().contains("narrowed"));
}

#[test]
fn status_and_blind_spots_are_those_of_the_files() {
    let site = site();
    let status = |paths: &str| site.hierad(&format!("diff --exit-code -- {paths}")).status;
    assert_eq!(status("data/common.yaml"), 2);
    assert_eq!(status("README.md"), 0);
    // Nobody reads it, which is the blind spot of this file alone.
    assert_eq!(status("data/nodes/unknown.yaml"), 3);
    let spots = |paths: &str| site.hierad(&format!("diff -- {paths}")).out.contains("unknown.yaml");
    assert!(spots("data/nodes") && !spots("data/roles/web.yaml"));
    let text = site.hierad("diff -- data/roles/web.yaml");
    let first = text.ok().lines().next().unwrap_or_default();
    assert_eq!(first, "narrowed to data/roles/web.yaml: 2 keys change on 1 of 2 nodes");
}

#[test]
fn code_that_may_take_part_is_a_blind_spot() {
    let site = Sandbox::of(SITE);
    site.files("-- manifests/site.pp\n$other = 1\n-- data/common.yaml\nmotd: welcome\nntp: [a, b]\n");
    site.commit("code and data");
    let printed = site.hierad("diff --exit-code -- manifests/site.pp");
    let words = "narrowed to manifests/site.pp: no change seen, but: manifests/site.pp may take part in 1 change";
    assert!(printed.is(3).out.starts_with(words), "{printed:?}");
    site.hierad("diff --exit-code -- manifests data").is(2);
}

#[test]
fn policies_judge_all_of_the_commit() {
    let site = Sandbox::of(SITE);
    site.settings("profiles: [profiles]\npolicies:\n- {name: motd, level: failure, message: Ask., keys: motd}\n");
    site.commit("a policy");
    site.files("-- data/common.yaml\nmotd: welcome\nntp: [a, b]\n-- data/roles/web.yaml\nport: 8080\n");
    site.commit("two files");
    site.hierad("diff --exit-code -- data/roles/web.yaml").is(4);
}

#[test]
fn paths_that_are_nowhere_are_refused() {
    let site = site();
    site.hierad("diff -- data/comon.yaml").fails(&["data/comon.yaml is in neither revision"]);
    site.hierad("diff -- ../other.yaml").fails(&["../other.yaml is outside of the repository"]);
    site.hierad_in("data", "diff -- data/common.yaml").fails(&["data/data/common.yaml is in neither revision"]);
    site.files("-- data/last.yaml\n");
    site.commit("gone");
    site.hierad("diff -- data/last.yaml").ok();
}

#[test]
fn a_file_in_place_of_a_revision_is_explained() {
    let site = site();
    for (folder, arguments, advice) in [
        ("", "data/common.yaml", "`hierad diff -- data/common.yaml`"),
        ("data", "common.yaml", "`hierad diff -- common.yaml`"),
        ("", "HEAD~ data/common.yaml", "`hierad diff HEAD~ -- data/common.yaml`"),
        ("", "data/roles", "`hierad diff -- data/roles`"),
        ("", "./hiera.yaml", "`hierad diff -- ./hiera.yaml`"),
    ] {
        let printed = site.hierad_in(folder, &format!("diff {arguments}"));
        printed.fails(&["is a file or folder, and diff takes revisions", advice]);
    }
    site.files("-- data/last.yaml\n");
    site.commit("gone");
    site.hierad("diff data/last.yaml").fails(&["`hierad diff -- data/last.yaml`"]);
    site.hierad("diff data/comon.yaml").fails(&["unknown revision 'data/comon.yaml'"]);
}
