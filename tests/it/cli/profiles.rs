//! Node profiles: every form, faults in them, and none at all.

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A repository where `who` tells what is known of a node.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nwho: '%{trusted.certname} %{facts.os.family} %{role} %{environment} %{trusted.domain} %{trusted.extensions.pp_role}'\n",
    );
    site.commit("who");
    site
}

#[test]
fn every_form_is_read() {
    let own = "name: n.example.com\nenvironment: test\nfacts: {os: {family: F}}\ntrusted: {extensions: {pp_role: p}}\nvariables: {role: r}\n";
    let json = r#"{"name": "n.example.com", "facts": {"os": {"family": "F"}}}"#;
    for (file, content, expected) in [
        ("own.yaml", own, "n.example.com F r test example.com p"),
        ("own.yml", own, "n.example.com F r test example.com p"),
        ("own.json", json, "n.example.com F  production example.com "),
        ("rows.json", &*format!("[{json}]"), "n.example.com F  production example.com "),
        ("rows.ndjson", &*format!("\n{json}\n\n"), "n.example.com F  production example.com "),
        ("rows.jsonl", json, "n.example.com F  production example.com "),
        // facter --json
        (
            "facter.json",
            r#"{"os": {"family": "F"}, "networking": {"fqdn": "n.example.com"}}"#,
            "n.example.com F  production example.com ",
        ),
        ("legacy.yaml", "fqdn: n\nrole: fact\nos: {family: F}\n", "n F fact production  "),
        // puppet facts, and the fact cache
        ("facts.json", r#"{"name": "n", "values": {"os": {"family": "F"}}, "timestamp": "x"}"#, "n F  production  "),
        (
            "cache.yaml",
            "--- !ruby/object:Puppet::Node::Facts\nname: n\nvalues:\n  os: {family: F}\n",
            "n F  production  ",
        ),
        ("found.json", r#"{"name": "n", "values": {"os": {"family": "F"}}, "expiration": "y"}"#, "n F  production  "),
        // PuppetDB: inventory, factsets, an export, facts
        (
            "rows.json",
            r#"[{"certname": "n", "environment": "e", "name": "os", "value": {"family": "F"}}, {"certname": "n", "environment": "e", "name": "role", "value": "r"}]"#,
            "n F r e  ",
        ),
        (
            "rows.ndjson",
            "{\"certname\": \"n\", \"name\": \"os\", \"value\": {\"family\": \"F\"}}\n\n{\"certname\": \"n\", \"name\": \"kernel\", \"value\": \"Linux\"}\n",
            "n F  production  ",
        ),
        (
            "export.json",
            r#"{"certname": "n", "environment": "e", "values": {"os": {"family": "F"}}, "producer_timestamp": "x", "producer": null, "package_inventory": []}"#,
            "n F  e  ",
        ),
        (
            "factsets.json",
            r#"[{"certname": "n", "environment": "e", "timestamp": "x", "producer_timestamp": "x", "producer": "p", "hash": "h", "facts": {"href": "/x", "data": [{"name": "os", "value": {"family": "F"}}]}}]"#,
            "n F  e  ",
        ),
        (
            "inventory.json",
            r#"[{"certname": "n", "environment": "e", "facts": {"os": {"family": "F"}}, "trusted": {"extensions": {"pp_role": "p"}}}]"#,
            "n F  e  p",
        ),
        (
            "factset.json",
            r#"[{"certname": "n", "facts": {"data": [{"name": "os", "value": {"family": "F"}}]}}]"#,
            "n F  production  ",
        ),
        // an ENC's answer
        ("enc.yaml", "name: n\nenvironment: e\nparameters: {role: r}\nfacts: {os: {family: F}}\n", "n F r e  "),
        ("node.yaml", "name: n\nclasses: {a: {}}\nenvironment: e\nparameters: {role: r}\n", "n  r e  "),
        // plain facts with a name
        ("named.yaml", "name: n\nos: {family: F}\nrole: fact\n", "n F fact production  "),
        ("environment.json", r#"{"clientcert": "n", "environment": "e", "os": {"family": "F"}}"#, "n F  e  "),
        ("bare.yaml", "name: n\n", "n   production  "),
    ] {
        let site = site();
        site.write(&format!("other/{file}"), content);
        let printed = site.hierad("lookup who --puppet 7 --render-as s --profiles other");
        assert_eq!(printed.ok().trim_end_matches('\n'), expected, "{file}: {printed:?}");
    }
}

#[test]
fn faulty_profiles_are_reported_and_skipped() {
    let site = site();
    site.files(
        "
-- profiles/a-syntax.yaml
name: x
facts: [
-- profiles/b-list.yaml
- a
-- profiles/c-noname.yaml
facts: {os: 1}
-- profiles/d-facts.yaml
name: x
facts: 7
-- profiles/e-rows.ndjson
{\"name\": \"row1\"}

{\"name\": 
{\"name\": \"row4\"}
-- profiles/f-again.yaml
name: web01
-- profiles/notes.txt
words
-- profiles/.hidden.yaml
words: [
-- profiles/deeper/node.yaml
name: deeper
",
    );
    let printed = site.hierad("render --format ndjson --puppet 7 --key who");
    let names: Vec<String> = printed
        .ok()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["node"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["db01", "deeper", "row1", "row4"]);
    let folder = "hierad: $BASE/repository/profiles/";
    printed.says(&[
        &format!("{folder}a-syntax.yaml:3: "),
        &format!("{folder}b-list.yaml:1: a node profile must be a hash"),
        &format!("{folder}c-noname.yaml:1: a node profile needs a 'name'"),
        &format!("{folder}d-facts.yaml:1: 'facts' of a node profile must be a hash"),
        &format!("{folder}e-rows.ndjson:3: "),
        &format!("{folder}web01.yaml:1: node web01 has a profile in $BASE/repository/profiles/f-again.yaml:1, too; it is left out until there is only one"),
    ]);
    assert_eq!(printed.err.lines().count(), 6, "{printed:#?}");
}

#[test]
fn unknown_fields_are_refused() {
    for (file, content, line, expected) in [
        (
            "a.yaml",
            "name: n\nfact: {os: {family: F}}\n",
            2,
            "unknown field 'fact' of a node profile: did you mean 'facts'?",
        ),
        (
            "a.yaml",
            "name: n\nfacts: {}\nvars:\n  role: r\n",
            3,
            "unknown field 'vars' of a node profile: did you mean 'variables'?",
        ),
        (
            "a.yaml",
            "name: n\ntimestamp: x\nall_parameters: {}\n",
            3,
            "unknown field 'all_parameters' of a node profile: did you mean 'parameters'?",
        ),
        (
            "a.json",
            "{\"name\": \"n\",\n \"Facts\": {}}",
            2,
            "unknown field 'Facts' of a node profile: did you mean 'facts'?",
        ),
        (
            "a.json",
            "[{\"name\": \"m\"},\n {\"name\": \"n\",\n  \"zzz\": 1}]",
            3,
            "it has name, environment, facts, trusted, variables, server_facts",
        ),
        (
            "a.ndjson",
            "{\"name\": \"m\"}\n{\"name\": \"n\", \"role\": \"r\"}\n",
            2,
            "unknown field 'role' of a node profile",
        ),
        // What is known is not passed over to it, nor is the other way round.
        ("a.ndjson", "{\"hash\": 1, \"producer\": 1, \"rolle\": 1, \"name\": \"n\"}\n", 1, "unknown field 'rolle'"),
        ("a.yaml", "name: n\nvalues: 7\n", 1, "'values' of a node profile must be a hash"),
        ("a.yaml", "name: n\nos: {family: F}\nvariables: {role: r}\n", 2, "unknown field 'os' of a node profile"),
        // PuppetDB's fact-contents and nodes
        (
            "a.json",
            "[{\"certname\": \"n\", \"path\": [\"os\"], \"name\": \"os\", \"value\": 1}]",
            1,
            "unknown field 'path'",
        ),
        (
            "a.json",
            "[{\"certname\": \"n\", \"deactivated\": null, \"facts_environment\": \"e\"}]",
            1,
            "unknown field 'deactivated'",
        ),
        // rows of facts
        (
            "a.json",
            "[{\"name\": \"m\"},\n{\"certname\": \"n\", \"name\": \"os\", \"value\": 1}]",
            2,
            "must be alone in their file",
        ),
        (
            "a.ndjson",
            "{\"certname\": \"n\", \"name\": \"os\", \"value\": 1}\n{\"name\": \"m\"}\n",
            2,
            "among rows of PuppetDB's facts",
        ),
        (
            "a.ndjson",
            "{\"certname\": \"n\", \"name\": \"os\", \"value\": 1}\n{\"certname\": \"n\", \"name\": \"os\", \"value\": 2}\n",
            2,
            "the fact 'os' of n has another value in an earlier row",
        ),
    ] {
        let site = site();
        site.write(&format!("other/{file}"), content);
        let printed = site.hierad("render --key who --allow-blind --format ndjson --profiles other");
        let place = format!("hierad: other/{file}:{line}: ");
        let told = printed.err.lines().find(|told| told.starts_with(&place) && told.contains(expected));
        assert!(told.is_some(), "{content}: no {place}{expected} in {printed:#?}");
    }
}

#[test]
fn rows_of_facts_are_joined() {
    let site = site();
    let row = |node: usize, fact: &str, value: &str| {
        format!("{{\"certname\":\"n{node}\",\"environment\":\"e\",\"name\":\"{fact}\",\"value\":{value}}}\n")
    };
    // Larger than what is read at once.
    let facts = |fact: &str, value: &str| (0..2000).map(|node| row(node, fact, value)).collect::<String>();
    site.write("facts.ndjson", facts("os", "{\"family\": \"F\"}") + &facts("unused", "1") + &facts("role", "\"r\""));
    let asked = |more: &str| {
        site.hierad(&format!("lookup who --puppet 7 --node n1999 --render-as s --profiles facts.ndjson {more}"))
    };
    assert_eq!(asked("").ok().trim_end_matches('\n'), "n1999 F r e  ");
    let render = site.hierad("render --key who --puppet 7 --format ndjson --profiles facts.ndjson");
    assert_eq!((render.ok().lines().count(), &*render.err), (2000, ""));
    assert!(render.out.starts_with("{\"node\":\"n0\",\"values\":{\"who\":\"n0 F r e"), "{:.200}", render.out);
}

#[test]
fn one_profile_of_a_node_in_each_declaration() {
    let site = site();
    let values = |arguments: &str| {
        let printed = site.hierad(&format!("render --key who --puppet 7 --format ndjson --allow-blind {arguments}"));
        let err = printed.err.lines().filter(|line| !line.contains("warning: ")).map(str::to_owned).collect::<Vec<_>>();
        let node = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["values"]["who"].as_str().unwrap().split(' ').take(3).collect::<Vec<_>>().join(" ")
        };
        (printed.out.lines().map(node).collect::<Vec<_>>(), err)
    };
    site.write(
        "a.ndjson",
        "{\"name\": \"n\", \"variables\": {\"role\": \"a\"}}\n{\"name\": \"m\"}\n\n{\"name\": \"n\"}\n",
    );
    site.write("b.yaml", "{name: n, variables: {role: b}}\n");
    let twice = "hierad: a.ndjson:4: node n has a profile in a.ndjson:1, too; it is left out until there is only one";
    assert_eq!(values("--profiles a.ndjson"), (vec!["m  ".to_owned()], vec![twice.to_owned()]));
    assert_eq!(values("--profiles b.yaml --profiles a.ndjson").0, ["m  "]);
    // The later one counts.
    assert_eq!(values("--profiles a.ndjson --profiles b.yaml").0, ["m  ", "n  b"]);
    site.write("c.ndjson", "{\"name\": \"n\", \"variables\": {\"role\": \"c\"}}\n");
    assert_eq!(values("--profiles b.yaml --profiles c.ndjson"), (vec!["n  c".to_owned()], vec![]));
    assert_eq!(values("--profiles c.ndjson --profiles b.yaml"), (vec!["n  b".to_owned()], vec![]));
    let only = site.hierad("diff --profiles a.ndjson --node n");
    only.fails(&[twice, "no node matches --node"]);
}

#[test]
fn a_path_without_profiles_is_told() {
    let site = site();
    std::fs::create_dir(site.root().join("empty")).unwrap();
    site.write("none.ndjson", "\n");
    for path in ["empty", "nowhere/*.yaml", "none.ndjson", "pro[f]iles/x*"] {
        let printed =
            site.hierad(&format!("render --key port --puppet 7 --format ndjson --profiles profiles --profiles {path}"));
        assert_eq!(printed.ok().lines().count(), 2);
        assert_eq!(printed.err, format!("hierad: {path}: there is no node profile\n"));
        let check = site.hierad(&format!("check --puppet 7 --profiles profiles --profiles {path}"));
        assert!(check.is(2).out.contains(&format!("{path}: error: there is no node profile [profile]")), "{check:?}");
        let alone = site.hierad(&format!("render --profiles {path}"));
        alone.fails(&[&format!("hierad: no node profile could be read from {path}: expected ")]);
        assert_eq!(alone.err.lines().count(), 1, "{alone:?}");
    }
}

#[test]
#[cfg(unix)]
fn globs_below_links_find_the_folders_files() {
    let site = site();
    std::os::unix::fs::symlink("profiles", site.root().join("link")).unwrap();
    std::fs::create_dir(site.beside("nodes")).unwrap();
    std::os::unix::fs::symlink("../repository/profiles", site.beside("nodes/link")).unwrap();
    for pattern in ["link/*.yaml", "./link/{web,db}*", "../nodes/link/*.yaml", "../nodes/*/*.yaml"] {
        let printed = site.hierad(&format!("render --key port --puppet 7 --format ndjson --profiles {pattern}"));
        assert_eq!((printed.ok().lines().count(), &*printed.err), (2, ""), "{pattern}");
    }
}

#[test]
fn files_folders_and_globs() {
    let site = site();
    let count = |arguments: &str| site.hierad(&format!("{arguments} render --format ndjson")).ok().lines().count();
    assert_eq!(count(""), 2);
    assert_eq!(count("--profiles profiles/web01.yaml"), 1);
    assert_eq!(count("--profiles profiles/*.yaml"), 2);
    assert_eq!(count("--profiles profiles/{web,db}*.yaml"), 2);
    assert_eq!(count("--profiles profiles/web01.yaml --profiles profiles/db01.yaml"), 2);
    let twice = site.hierad("--profiles profiles --profiles profiles/web01.yaml render --format ndjson");
    assert_eq!((twice.ok().lines().count(), &*twice.err), (2, ""), "a file that is named twice is one file");
    site.hierad("--profiles nowhere diff").fails(&["no node profiles at nowhere: there is no such file or folder"]);
    site.hierad("--profiles nowhere/*.yaml diff").fails(&["no node profile could be read from nowhere/*.yaml"]);
    std::fs::create_dir(site.root().join("empty")).unwrap();
    site.hierad("--profiles empty diff").fails(&["no node profile could be read from empty"]);
}

#[test]
fn missing_profiles_explain_how_to_write_them() {
    let site = Sandbox::of(SITE);
    site.files(
        "
-- hierad.yaml
-- hiera.yaml
version: 5
defaults: {data_hash: yaml_data, datadir: 'data/%{environment}'}
hierarchy:
  - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: Role, paths: ['roles/%{role}.yaml', 'ext/%{trusted.extensions.pp_role}.yaml']}
  - {name: Os, glob: 'os/%{facts.os.family}/%{facts.os.release.major}/*.yaml'}
  - {name: Host, path: 'hosts/%{::hostname}.yaml'}
  - {name: Mapped, mapped_paths: [services, service, 'services/%{service}.yaml']}
",
    );
    site.commit("no settings");
    let expected = "\
hierad: no node profiles: what a commit does depends on the node, so hierad needs the facts of each.

`hierad init` looks for them here and on this machine, and takes a PuppetDB with --puppetdb URL.
Or write a file for each node, such as $BASE/repository/profiles/web01.example.com.yaml, with the variables that hiera.yaml asks for:

    name: web01.example.com
    facts:
      os:
        family: Debian
        release:
          major: VALUE
      hostname: web01
    variables:
      role: web
      services: VALUE
    trusted:
      extensions:
        pp_role: web

The output of `facter --json --show-legacy`, `puppet facts show --show-legacy --render-as json` and
PuppetDB works, too. Then name the folder:
with --profiles $BASE/repository/profiles, or for good in $BASE/repository/hierad.yaml:

    profiles: [profiles/]
";
    for command in ["diff", "render", "watch"] {
        let printed = site.hierad(command);
        assert_eq!(printed.is(1).err, expected);
    }
    // The settings that count are named.
    std::fs::write(site.beside("named.yaml"), "limits: {time: 60}\n").unwrap();
    site.hierad("--config ../named.yaml diff").fails(&["or for good in ", "named.yaml:\n\n    profiles: [profiles/]"]);
    std::fs::write(site.beside("several.yaml"), "repositories: {control: {path: repository}}\nstate: state\n").unwrap();
    site.hierad("--config ../several.yaml watch --check-config").fails(&["or for good in ", "several.yaml:\n"]);
    // As it says.
    site.write("profiles/web01.example.com.yaml", "name: web01.example.com\n");
    site.write("hierad.yaml", "profiles: [profiles/]\n");
    site.hierad("diff").is(0);
}

#[test]
fn no_data_is_not_no_change() {
    let site = Sandbox::of("-- hiera.yaml\nversion: 5\n-- profiles/a.yaml\nname: a\n-- README\nwords\n");
    let site_of = |arguments: &str| site.hierad(&format!("--profiles {}/../p {arguments}", site.root().display()));
    std::fs::rename(site.root().join("profiles"), site.beside("p")).unwrap();
    site.commit("no profiles inside");
    site.commit("nothing");
    let diff = site_of("diff");
    assert!(diff.is(1).out.starts_with("no change seen, but: no level of the hierarchy could be read"), "{diff:?}");
    site_of("render --format ndjson").fails(&["nothing could be read: no level of the hierarchy"]);
    let render = site_of("render --format ndjson --allow-blind");
    assert_eq!(render.ok(), "{\"node\":\"a\",\"values\":{},\"errors\":{}}\n");
    render.says(&["no data file gives a value to any key"]);
    assert!(site_of("check").is(2).out.contains("no data file gives a value to any key [no-keys]"));
}
