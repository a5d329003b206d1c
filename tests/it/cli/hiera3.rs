//! Repositories of Hiera 3, through every command.

use crate::support::Sandbox;

const REPOSITORY: &str = "
-- hiera.yaml
---
:backends: [yaml]
:yaml:
  :datadir: hieradata
:hierarchy:
  - nodes/%{::clientcert}
  - common
:merge_behavior: deeper
-- hieradata/nodes/web01.yaml
packages: [vim, curl]
user: {name: web, groups: [adm]}
-- hieradata/common.yaml
packages: [vim, git]
user: {groups: [wheel], shell: /bin/sh}
motd: <%{nope}> %{::role} %{hiera('user.name')}
-- profiles/web01.yaml
name: web01
facts: {role: web}
-- profiles/db01.yaml
name: db01
";

fn site() -> Sandbox {
    Sandbox::of(&format!("{REPOSITORY}-- hierad.yaml\nprofiles: profiles/\n"))
}

#[test]
fn lookup_has_the_three_resolutions() {
    let site = site();
    for (arguments, expected) in [
        ("packages", "[\"vim\",\"curl\"]\n"),
        ("packages --resolution priority", "[\"vim\",\"curl\"]\n"),
        ("packages --resolution array", "[\"vim\",\"curl\",\"git\"]\n"),
        ("user --resolution hash", "{\"groups\":[\"wheel\",\"adm\"],\"shell\":\"/bin/sh\",\"name\":\"web\"}\n"),
        ("motd", "\"<> web web\"\n"),
        ("nope --default %{role}", "\"web\"\n"),
    ] {
        let printed = site.hierad(&format!("lookup {arguments} --node web01 --render-as json"));
        assert_eq!(printed.ok(), expected, "{arguments}");
    }
    let printed = site.hierad("lookup user --node web01 --resolution array");
    assert!(printed.is(1).err.contains("expected Array and got Hash"), "{printed:#?}");
}

#[test]
fn explain_names_files_and_lines() {
    let printed = site().hierad("lookup user --node web01 --resolution hash --explain");
    let out = printed.ok();
    assert!(out.contains("user.name  hieradata/nodes/web01.yaml:2"), "{out}");
    assert!(out.contains("user.shell  hieradata/common.yaml:2"), "{out}");
}

#[test]
fn resolution_is_of_hiera_3_only() {
    let site = site();
    let printed = site.hierad("lookup packages --node web01 --resolution array --hiera 5");
    assert!(printed.is(1).err.contains("--hiera 3"), "{printed:#?}");
}

#[test]
fn check_names_the_reader() {
    let site = site();
    let printed = site.hierad("check");
    assert!(printed.out.contains("note: read as the configuration of Hiera 3"), "{printed:#?}");
    assert!(printed.is(0).out.contains("0 errors, 0 warnings"), "{printed:#?}");
    // Where it is a Puppet environment, Puppet decides.
    site.write("environment.conf", "");
    let printed = site.hierad("check .");
    assert!(printed.is(2).out.contains("hiera.yaml version 3 cannot be used in an environment"), "{printed:#?}");
    assert!(printed.out.contains("--hiera 3"), "{printed:#?}");
    let printed = site.hierad("check . --hiera 3");
    assert!(printed.is(0).out.contains("0 errors, 0 warnings"), "{printed:#?}");
}

#[test]
fn diff_shows_changes_by_moving_to_hiera_5() {
    let site = site();
    site.files(
        "
-- hiera.yaml
version: 5
defaults: {datadir: hieradata, data_hash: yaml_data}
hierarchy:
  - {name: all, paths: ['nodes/%{::clientcert}.yaml', common.yaml]}
-- hieradata/common.yaml
packages: [vim, git]
user: {groups: [wheel], shell: /bin/sh}
motd: <%{nope}> %{::role} %{hiera('user.name')}
lookup_options:
  user: {merge: deep}
",
    );
    site.commit("to Hiera 5");
    let changes = site.hierad("diff --format json").json();
    let keys: Vec<&str> = changes["changes"].as_array().unwrap().iter().map(|c| c["key"].as_str().unwrap()).collect();
    assert!(keys.contains(&"user") && keys.contains(&"motd") && !keys.contains(&"packages"), "{changes:#}");
}

#[test]
fn settings_choose_resolutions_of_keys() {
    let site = site();
    site.write(
        "hierad.yaml",
        "profiles: profiles/\nlookup_options:\n  packages: {merge: unique}\n  ^us: {merge: hash}\n",
    );
    let array = site.hierad("lookup packages --node web01 --resolution array");
    assert_eq!(site.hierad("lookup packages --node web01").ok(), array.ok());
    let hash = site.hierad("lookup user --node web01 --resolution hash");
    assert_eq!(site.hierad("lookup user --node web01").ok(), hash.ok());
    assert_eq!(site.hierad("lookup user.name --node web01").ok(), "--- web\n");
    assert_ne!(site.hierad("lookup user --node web01 --resolution priority").ok(), hash.ok());
}

#[test]
fn settings_choose_the_reader() {
    let site = site();
    site.write("hierad.yaml", "profiles: profiles/\nhiera: 5\n");
    let printed = site.hierad("lookup packages --node web01 --rev .");
    assert!(printed.is(1).err.contains("cannot be used in an environment"), "{printed:#?}");
    site.write("hierad.yaml", "profiles: profiles/\nhiera: 4\n");
    let printed = site.hierad("lookup packages --node web01");
    assert!(printed.is(1).err.contains("hierad.yaml:2: 'hiera' must be 3, 5, auto or by-version"), "{printed:#?}");
}

#[test]
fn encrypted_values_are_opaque_without_key() {
    let site = site();
    site.files(
        "
-- hiera.yaml
:backends: [eyaml, yaml]
:yaml:
  :datadir: hieradata
:eyaml:
  :datadir: hieradata
  :extension: yaml
  :pkcs7_private_key: /nowhere/private.pem
  :pkcs7_public_key: /nowhere/public.pem
:hierarchy: [common]
-- hieradata/common.yaml
password: ENC[PKCS7,QUJDRA==]
url: db://%{hiera('password')}@db
",
    );
    site.commit("secrets");
    let printed = site.hierad("check");
    assert!(printed.out.contains("hiera.yaml:1: note: no settings allow the keys"), "{printed:#?}");
    site.settings("profiles: [profiles]\neyaml: {allowed_keys: ['/nowhere/*']}\n");
    let printed = site.hierad("check");
    assert!(printed.out.contains("hiera.yaml:1: note: there is no key for this level, 'eyaml'"), "{printed:#?}");
    for key in ["password", "url"] {
        let printed = site.hierad(&format!("lookup {key} --node web01 --render-as json"));
        assert!(printed.ok().contains("\"__ptype\":\"Encrypted\""), "{printed:#?}");
    }
    site.write("hieradata/common.yaml", "password: ENC[PKCS7,QUJDRQ==]\n");
    let changes = site.hierad("diff HEAD . --format json").json();
    assert!(changes["changes"].to_string().contains("password"), "{changes:#}");
}

#[test]
fn verify_asks_hiera_with_the_settings() {
    let site = site();
    std::fs::remove_file(site.root().join("profiles/web01.yaml")).unwrap();
    site.write("hierad.yaml", "profiles: profiles/\nlookup_options:\n  packages: {merge: unique}\n");
    let (ruby, log) = (site.beside("ruby"), site.beside("requests"));
    let script = format!(
        r#"#!/bin/sh
case "$*" in *hiera3*) version='{{"hiera":"3.10.0"}}' ;; *) version='{{"puppet":"7.23.0"}}' ;; esac
while read -r line; do
  echo "$line" >> {}
  case "$line" in
  *version*) echo "$version" ;;
  *) echo '{{"nodes":[{{"node":"db01","values":{{"packages":["vim","git"],"user":1,"motd":"<>  "}},"errors":{{}}}}]}}' ;;
  esac
done
"#,
        log.display()
    );
    std::fs::write(&ruby, script).unwrap();
    let mut command = std::process::Command::new("chmod");
    assert!(command.arg("+x").arg(&ruby).status().unwrap().success());
    let printed = site.hierad(&format!("verify . --all --puppet-ruby {}", ruby.display()));
    assert_eq!(printed.err, "");
    let words = "Hiera 3.10.0 and hierad: 1 node, 3 keys, 3 answers compared";
    assert!(printed.is(2).out.contains(words), "{printed:#?}");
    assert!(printed.out.contains("db01 user\n  Hiera: 1\n  hierad: {\"groups\""), "{printed:#?}");
    let requests = std::fs::read_to_string(log).unwrap();
    assert!(requests.contains(r#""resolutions":{"packages":"array"}"#), "{requests}");
}

#[test]
fn without_its_configuration_every_key_fails() {
    let site = site();
    std::fs::remove_file(site.root().join("hiera.yaml")).unwrap();
    let printed = site.hierad("lookup packages --node web01 --rev . --hiera 3");
    assert!(printed.is(1).err.contains("Config file hiera.yaml not found"), "{printed:#?}");
}

#[test]
fn yaml_aliases_need_a_setting() {
    let site = site();
    let data = |items: &str| site.write("hieradata/common.yaml", format!("base: &base [{items}]\nother: *base\n"));
    data("a");
    site.commit("aliases");
    data("a, b");
    let setting = "hiera3_yaml_aliases: true";
    let lookup = "lookup --node web01 --rev . --render-as json other";
    site.hierad(lookup).fails(&["Unknown alias: base", setting]);
    let check =
        "-> if Hiera 3 runs on a Ruby before 3.1, which accepts aliases, add to hierad.yaml: hiera3_yaml_aliases";
    let checked = site.hierad("check .");
    assert!(checked.is(2).out.contains(check), "{checked:#?}");
    let diff = site.hierad("diff . --format json").json();
    assert!(diff["blind_spots"][0]["fix"].as_str().is_some_and(|fix| fix.contains(setting)), "{diff:#}");
    site.write("hierad.yaml", format!("profiles: profiles/\n{setting}\n"));
    assert_eq!(site.hierad(lookup).ok(), "[\"a\",\"b\"]\n");
    let diff = site.hierad("diff . --format json").json();
    assert_eq!(diff["verdict"], "changes", "{diff:#}");
    assert_eq!(site.hierad("check .").out.matches("alias").count(), 0);
}

#[test]
fn each_revision_can_choose_the_reader() {
    let site = Sandbox::of(
        "
-- hiera.yaml
:backends: yaml
:hierarchy: [common]
:yaml:
  :datadir: hieradata
:puppet:
  :datasource: data
-- environment.conf
modulepath = modules
-- hieradata/common.yaml
a: 1
-- profiles/a.yaml
name: a
-- hierad.yaml
profiles: profiles/
",
    );
    site.write("hieradata/common.yaml", "a: 2\n");
    site.commit("second");
    let report = site.hierad("diff --allow-blind --format json").json();
    let fix = report["blind_spots"][0]["fix"].as_str().unwrap();
    assert_eq!(fix, "if Hiera 3 reads it, add to hierad.yaml: hiera: by-version");
    site.write(
        "hiera.yaml",
        "version: 5\ndefaults: {datadir: hieradata, data_hash: yaml_data}\nhierarchy: [{name: C, path: common.yaml}]\n",
    );
    site.write(".git/hierad.yaml", "profiles: [../profiles/]\nhiera: by-version\n");
    site.commit("third");
    for (range, verdict) in [("HEAD~2 HEAD~1", "changes"), ("HEAD~1 HEAD", "no_change")] {
        assert_eq!(site.hierad(&format!("diff {range} --format json")).json()["verdict"], verdict, "{range}");
    }
}
