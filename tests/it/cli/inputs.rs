//! Files of the tree by which both sides of a comparison are read: profiles, and values of backends.

use serde_json::Value as Json;

use crate::support::Sandbox;

/// A backend whose values lie in the tree.
const SITE: &str = "
-- hierad.yaml
profiles: [nodes]
backends: {vault: {values: lib/values.yaml}}
-- hiera.yaml
version: 5
hierarchy:
  - {name: Vault, lookup_key: vault}
  - {name: Common, path: common.yaml}
-- data/common.yaml
a: 1
b: 1
-- nodes/n1.yaml
{name: n1}
-- lib/values.yaml
b: 2
";

fn changed(files: &str) -> (Json, Vec<Json>) {
    let site = Sandbox::of(SITE);
    site.files(files);
    site.commit("second");
    let report = site.hierad("diff --format json").json();
    let spots = report["blind_spots"].as_array().unwrap().iter();
    let spots = spots.filter(|spot| spot["code"] == "changed-settings").cloned().collect();
    (report["verdict"].clone(), spots)
}

#[test]
fn values_of_a_backend_that_change_are_no_calm() {
    for files in [
        "-- lib/values.yaml\nb: 3\n",
        "-- lib/values.yaml\nb: 2\nc: 1\n",
        "-- lib/values.yaml\nb: 3\n-- data/common.yaml\na: 1\nb: 5\n",
        "-- lib/values.yaml\n{b: 2}\n",
        "-- lib/values.yaml\nb: 2\n-- nodes/n1.yaml\n{name: n1, facts: {x: 1}}\n",
    ] {
        let (verdict, spots) = changed(files);
        assert_eq!((verdict, spots.len()), ("no_change_seen".into(), 1), "{files}");
        let (file, says) =
            if files.contains("nodes") { ("nodes/n1.yaml", "node is") } else { ("lib/values.yaml", "finds") };
        assert_eq!(spots[0]["files"][0], file);
        assert!(spots[0]["headline"].as_str().unwrap().ends_with(says), "{spots:?}");
    }
    let (verdict, spots) = changed("-- data/common.yaml\na: 2\nb: 1\n");
    assert_eq!((verdict, spots), ("changes".into(), Vec::new()));
}

#[test]
fn policies_are_not_evaded_by_values() {
    let guarded =
        SITE.replace("-- hiera.yaml", "policies: [{name: guard, level: failure, message: no, keys: b}]\n-- hiera.yaml");
    let in_submodule = guarded.replace("lib/values.yaml}", "sub/values.yaml}");
    for (files, status) in [
        // They are data.
        ("-- lib/values.yaml\nb: 3\n", 4),
        ("-- lib/values.yaml\nb: 2\nlookup_options: {b: {merge: deep}}\n", 4),
        // They hide data, whatever is seen beside.
        ("-- lib/values.yaml\nb: 3\n-- data/common.yaml\na: 1\nb: 5\n", 4),
        ("-- lib/values.yaml\nb: 3\n-- data/common.yaml\na: 2\nb: 5\n", 4),
        (
            "-- lib/values.yaml\nb: 3\n-- hierad.yaml\nprofiles: [nodes]\nbackends: {vault: {values: lib/values.yaml}}\n",
            4,
        ),
        ("-- lib/values.yaml\nb: 3\n-- nodes/n1.yaml\n{name: n1, facts: {x: 1}}\n", 4),
        // Other data, other nodes, other policies and other files beside them.
        ("-- data/common.yaml\na: 2\nb: 1\n", 0),
        ("-- nodes/n2.yaml\n{name: n2}\n", 0),
        ("-- lib/values.yaml.txt\nb: 3\n", 0),
    ] {
        let site = Sandbox::of(&guarded);
        site.files(files);
        site.commit("second");
        let printed = site.hierad("diff --exit-code=policies");
        assert_eq!(printed.status, status, "{files}: {printed:?}");
    }
    // Those that are new count on both sides.
    let site = Sandbox::of(&guarded);
    site.git(["rm", "--quiet", "--cached", "lib/values.yaml"]);
    site.git(["commit", "--quiet", "--message", "without values"]);
    site.files("-- lib/values.yaml\nb: 3\n");
    site.commit("with values");
    site.hierad("diff --exit-code=policies").is(4);
    assert_eq!(site.hierad("diff --format json").json()["verdict"], "no_change_seen");
    // So do those of a submodule that moves.
    let site = Sandbox::of(&in_submodule);
    for commit in ["1", "2"] {
        let link = format!("160000,{},sub", commit.repeat(40));
        site.git(["update-index", "--add", "--cacheinfo", &link]);
        site.git(["commit", "--quiet", "-m", "values"]);
    }
    site.sh("mkdir sub && cp lib/values.yaml sub && git -C sub init --quiet");
    site.hierad("diff --exit-code=policies HEAD~1 HEAD").is(4);
}

#[test]
fn new_profiles_that_add_to_nodes_are_no_calm() {
    let profiles = |entries: &str| SITE.replace("profiles: [nodes]", &format!("profiles: {entries}"));
    let (joined, alone) = (profiles("[nodes, more]"), profiles("[nodes]"));
    let node = "{name: n1, facts: {role: db}}\n";
    for (site, file, content, verdict) in [
        (&joined, "more/n1.yaml", node, "no_change_seen"),
        (&joined, "more/sub/all.ndjson", "{\"name\":\"n1\",\"facts\":{\"a\":1}}\n", "no_change_seen"),
        (&profiles("[more/*.yaml, nodes]"), "more/n1.yaml", node, "no_change_seen"),
        (&profiles("[nodes, {factsets: more}]"), "more/n1.json", "{\"a\": 1}\n", "no_change_seen"),
        (&profiles("[nodes, more/n1.yaml]"), "more/n1.yaml", node, "no_change_seen"),
        // A node of its own, and no profile.
        (&alone, "nodes/n2.yaml", "{name: n2}\n", "no_change"),
        (&joined, "more/README.md", "ours\n", "no_change"),
    ] {
        let site = Sandbox::of(&format!("{site}-- more/n9.yaml\n{{name: n9}}\n"));
        site.write(file, content);
        site.commit("second");
        let report = site.hierad("diff --format json").json();
        assert_eq!(report["verdict"], verdict, "{file}: {report}");
    }
}

#[cfg(unix)]
#[test]
fn programs_in_the_tree_that_answer_otherwise_are_no_calm() {
    let answers = "#!/bin/sh\ncat \"$(dirname \"$0\")/../answers/$1\"\n";
    let here = "#!/bin/sh\ncat bin/n1 || echo '{}'\n";
    for (entry, script, changed, content, verdict) in [
        ("{enc: TOP/bin/enc}", answers, "bin/enc", "#!/bin/sh\necho '{}'\n", "no_change_seen"),
        ("{enc: TOP/bin/enc}", answers, "answers/n1", "parameters: {role: db}\n", "no_change_seen"),
        ("{enc: TOP/bin/enc}", here, "bin/lib/more.rb", "1\n", "no_change_seen"),
        ("{trusted_external: TOP/bin/enc}", answers, "answers/n1", "{}\n", "no_change_seen"),
        ("{enc: {command: [sh, -c, 'cat TOP/answers/n1']}}", here, "answers/n1", "{}\n", "no_change_seen"),
        ("{enc: {command: [TOP/../enc, TOP/answers]}}", here, "answers/n1", "{}\n", "no_change_seen"),
        // No program reads these.
        ("{enc: TOP/bin/enc}", answers, "docs/README.md", "ours\n", "no_change"),
        ("{enc: TOP/../enc}", answers, "bin/enc", "#!/bin/sh\n", "no_change"),
    ] {
        let site = Sandbox::of(&SITE.replace("-- hierad.yaml", "-- ours.yaml"));
        site.files(&format!(
            "-- bin/enc\n{script}-- ../enc\n#!/bin/sh\n[ -n \"$2\" ] && cat $1/$2 || echo parameters:\n-- answers/n1\n{{parameters: {{}}}}\n"
        ));
        site.sh("chmod +x bin/enc ../enc");
        site.commit("first");
        let top = site.root().display().to_string();
        let entry = entry.replace("TOP", &top);
        site.write(
            ".git/hierad.yaml",
            format!("profiles:\n  - {top}/nodes\n  - {entry}\nbackends: {{vault: {{not_found: true}}}}\n"),
        );
        site.write(changed, content);
        site.commit("second");
        let report = site.hierad("diff --format json").json();
        assert_eq!(report["verdict"], verdict, "{entry} {changed}: {report}");
    }
}

#[test]
fn profiles_in_a_submodule_that_moves_are_other_profiles() {
    let site = Sandbox::of(SITE);
    site.git(["rm", "--quiet", "-r", "nodes"]);
    for commit in ["1", "2"] {
        let link = format!("160000,{},nodes", commit.repeat(40));
        site.git(["update-index", "--add", "--cacheinfo", &link]);
        site.git(["commit", "--quiet", "-m", "nodes"]);
    }
    site.files("-- ../nodes/n1.yaml\n{name: n1}\n");
    site.sh("cp -r ../nodes nodes && git -C nodes init --quiet");
    let report = site.hierad("diff --format json HEAD~1 HEAD").json();
    let codes: Vec<&Json> = report["blind_spots"].as_array().unwrap().iter().map(|spot| &spot["code"]).collect();
    assert_eq!(codes, ["changed-settings", "other-version"], "{report}");
}

#[test]
fn attributes_that_convert_files_are_no_calm() {
    let site = |before: &str, after: &str| {
        let site = Sandbox::of(SITE);
        site.files(before);
        site.commit("before");
        site.files(after);
        site.commit("after");
        site.hierad("diff --format json").json()
    };
    let (root, data) = ("-- .gitattributes\n# ours\n", "-- data/.gitattributes\n");
    for (before, after) in [
        (root.to_owned(), format!("{root}data/*.yaml ident\n")),
        (format!("{root}docs/* filter=lfs diff=lfs -text\n"), root.to_owned()),
        (format!("{data}x/*.yaml filter=a\n"), format!("{data}x/*.yaml filter=b\n")),
        (root.to_owned(), format!("{root}*.txt text working-tree-encoding=UTF-16LE\n")),
        (format!("{root}docs/* filter=x\n"), format!("{root}docs/* filter=x\ndocs/a* -filter\n")),
        (format!("{root}docs/* filter=x\n"), format!("{root}docs/* filter=x\ndocs/a* !filter\n")),
        (root.to_owned(), format!("{root}[attr]hidden filter=x\n")),
    ] {
        let report = site(&before, &after);
        let spot = &report["blind_spots"][0];
        assert_eq!(
            (&report["verdict"], &spot["code"]),
            (&"no_change_seen".into(), &"changed-settings".into()),
            "{after}"
        );
        assert!(
            spot["headline"].as_str().unwrap().ends_with("changes, which controls how git converts files"),
            "{spot}"
        );
    }
    for (before, after) in [
        (root.to_owned(), format!("{root}* text=auto\n*.sh eol=lf\nspec export-ignore\n")),
        (format!("{root}*.txt filter=a\n"), format!("{root}# encrypted\n*.txt   filter=a\n")),
    ] {
        assert_eq!(site(&before, &after)["verdict"], "no_change", "{after}");
    }
}

#[test]
fn files_of_modules_that_cannot_be_read_are_no_calm() {
    let deep = |value: u32| format!("m::x: {value}\nm::d: {}{}\n", "[".repeat(800), "]".repeat(800));
    let json = |value: u32| format!("{{\"m::x\": {value}, \"m::d\": {}{}}}\n", "[".repeat(800), "]".repeat(800));
    let path = "modules/m/data/c.yaml";
    for (file, format, before, after) in [
        (path, "yaml_data", deep(1), deep(2)),
        (path, "yaml_data", String::new(), deep(2)),
        (path, "yaml_data", deep(1), String::new()),
        ("modules/m/data/c.json", "json_data", json(1), json(2)),
        (path, "yaml_data", "m::x: [\n".to_owned(), "m::x: [1\n".to_owned()),
    ] {
        let name = file.rsplit('/').next().unwrap();
        let module = format!(
            "-- modules/m/hiera.yaml\nversion: 5\nhierarchy: [{{name: c, path: {name}, data_hash: {format}}}]\n"
        );
        let site = Sandbox::of(&format!("{SITE}{module}"));
        for text in [before, after] {
            if text.is_empty() {
                _ = std::fs::remove_file(site.root().join(file));
            } else {
                site.write(file, text);
            }
            site.git(["add", "--all"]);
            site.git(["commit", "--quiet", "--allow-empty", "-m", "one more"]);
        }
        let report = site.hierad("diff --format json").json();
        let codes: Vec<&Json> = report["blind_spots"].as_array().unwrap().iter().map(|spot| &spot["code"]).collect();
        assert!(codes.contains(&&Json::from("unlisted-keys")), "{file}: {report}");
        site.hierad("diff --exit-code").is(3);
    }
}
