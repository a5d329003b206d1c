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
        // PuppetDB: inventory, factsets
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
        ("bare.yaml", "name: n\n", "n   production  "),
    ] {
        let site = site();
        site.write(&format!("other/{file}"), content);
        let printed = site.hierad("lookup who --puppet 7 --render-as s --profiles other");
        assert_eq!(printed.ok().trim_end_matches('\n'), expected, "{file}: {printed:?}");
    }
}

#[test]
fn what_is_wrong_is_told_and_the_rest_goes_on() {
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
    assert_eq!(names, ["db01", "deeper", "row1", "row4", "web01"]);
    let folder = "hierad: $BASE/repository/profiles/";
    printed.says(&[
        &format!("{folder}a-syntax.yaml:3: "),
        &format!("{folder}b-list.yaml:1: a node profile must be a hash"),
        &format!("{folder}c-noname.yaml:1: a node profile needs a 'name'"),
        &format!("{folder}d-facts.yaml:1: 'facts' of a node profile must be a hash"),
        &format!("{folder}e-rows.ndjson:3: "),
        &format!("{folder}f-again.yaml:1: node web01 is declared again in $BASE/repository/profiles/web01.yaml, and that counts"),
    ]);
    assert_eq!(printed.err.lines().count(), 6, "{printed:#?}");
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
fn without_profiles_the_user_is_told_what_to_write() {
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

Write a file for each node, such as $BASE/repository/profiles/web01.example.com.yaml, with the variables that hiera.yaml asks for:

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

What `facter --json`, `puppet facts` and PuppetDB give out does as well. Then name the folder:
with --profiles $BASE/repository/profiles, or for good in $BASE/repository/hierad.yaml:

    profiles: [profiles/]
";
    for command in ["diff", "render", "watch"] {
        let printed = site.hierad(command);
        assert_eq!(printed.is(1).err, expected);
    }
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
