//! `hierad verify` with a stand-in for Puppet, which tells the truth or lies.

use crate::support::Sandbox;
use crate::support::terminal::hierad;

const SITE: &str = "
-- hiera.yaml
version: 5
hierarchy: [{name: Common, path: common.yaml}]
-- data/common.yaml
a: 1
b: [x, 2.5]
c: '%{nope}'
-- nodes/web01.yaml
name: web01
";

/// Writes a program in the place of Ruby. It answers each kind of request with a fixed line, writes requests to
/// `requests`, and keeps the files that it is given in `given`.
fn puppet(site: &Sandbox, values: &str) -> String {
    let answer =
        format!(r#"{{"repo":"","keys":[],"nodes":[{{"node":"web01","values":{values},"errors":{{"c":"no"}}}}]}}"#);
    let explained =
        r#"{"repo":"","keys":[],"nodes":[],"explained":[{"text":"Puppet's story\n","data":{},"error":null}]}"#;
    let beside = |name| site.beside(name).display().to_string();
    let (requests, given) = (beside("requests"), beside("given"));
    let script = format!(
        r#"#!/bin/sh
echo "$@" > {requests}
while read -r line; do
  echo "$line" >> {requests}
  case "$line" in
  *version*) echo '{{"puppet":"8.10.0"}}' ;;
  *'"explain"'*) cat <<'END'
{explained}
END
  ;;
  *)
    repo=${{line#*\"repo\":\"}}
    rm -rf {given}
    cp -R "${{repo%%\"*}}/.." {given}
    cat <<'END'
{answer}
END
  ;;
  esac
done
"#
    );
    let path = site.beside("ruby");
    std::fs::write(&path, script).unwrap();
    let mut command = std::process::Command::new("chmod");
    assert!(command.arg("+x").arg(&path).status().unwrap().success());
    path.display().to_string()
}

/// Returns the last request to the stand-in.
fn request(site: &Sandbox) -> serde_json::Value {
    let requests = std::fs::read_to_string(site.beside("requests")).unwrap();
    serde_json::from_str(requests.lines().last().unwrap()).unwrap()
}

/// A file that the stand-in was given.
fn given(site: &Sandbox, path: &str) -> String {
    let path = site.beside("given").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn site() -> Sandbox {
    Sandbox::of(SITE)
}

#[test]
fn equal_answers_are_counted() {
    let site = site();
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let verified = site.hierad(&format!("verify --profiles nodes --all --puppet-ruby {ruby}"));
    assert_eq!(
        verified.ok(),
        "Puppet 8.10.0 and hierad: 1 node, 3 keys, 3 answers compared\n1 fail on both sides, 0 are unknown to hierad\nno disagreement\n"
    );
}

#[test]
fn disagreements_are_explained() {
    let site = site();
    let ruby = puppet(&site, r#"{"a":"1","b":["x",2.5]}"#);
    let verified = site.hierad(&format!("verify --profiles nodes --all --puppet-ruby {ruby}"));
    verified.is(2);
    for words in [
        "1 disagreement\n",
        "web01 a\n  Puppet: \"1\"\n  hierad: 1\n",
        "Puppet's story",
        "Found key: \"a\" value: 1 (data/common.yaml:1)",
    ] {
        assert!(verified.out.contains(words), "no {words:?} in {verified:#?}");
    }
    let verified =
        site.hierad(&format!("verify --profiles nodes --sample 3 --seed 7 --format json --puppet-ruby {ruby}"));
    let found: serde_json::Value = serde_json::from_str(&verified.is(2).out).unwrap();
    assert_eq!(found["seed"], 7);
    assert_eq!(found["disagreements"][0]["puppet"]["value"], "1");
    assert_eq!(found["disagreements"][0]["hierad"]["value"], 1);
}

#[test]
fn another_puppet_version_is_reported() {
    let site = site();
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let verified = site.hierad(&format!("verify --profiles nodes --all --puppet 7 --puppet-ruby {ruby}"));
    assert!(verified.err.contains("the settings say Puppet 7, the machine has 8.10.0"), "{verified:#?}");
}

#[test]
fn ruby_without_puppet_is_reported() {
    let site = site();
    site.hierad("verify --profiles nodes --puppet-ruby /nowhere/ruby").fails(&["cannot run /nowhere/ruby"]);
    site.hierad("verify --profiles nodes --puppet-ruby /bin/false").fails(&["/bin/false has no Puppet that answers"]);
}

#[test]
fn the_global_layer_is_handed_over() {
    let site = site();
    site.files("-- global/hiera.yaml\nversion: 5\n-- global/data/common.yaml\na: 1\n");
    site.commit("global");
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let other = Sandbox::of("-- puppet/hiera.yaml\nversion: 5\n-- puppet/data/common.yaml\na: 1\n");
    std::fs::create_dir_all(site.beside("etc/data")).unwrap();
    std::fs::write(site.beside("etc/hiera.yaml"), "version: 5\ndefaults: {datadir: /srv/data}\n").unwrap();
    let other = other.root().display();
    for (setting, handed) in [
        ("global_hiera_config: none".to_owned(), None),
        ("global_hiera_config: {path: global/hiera.yaml}".to_owned(), Some("/files/global/hiera.yaml")),
        (format!("global_hiera_config: {{repo: {other}, path: puppet/hiera.yaml}}"), Some("/global/puppet/hiera.yaml")),
        ("global_hiera_config: ../etc/hiera.yaml".to_owned(), Some("/etc/hiera.yaml")),
        ("global_hiera_config: ../etc/hiera.yaml\ndatadirs: {/srv/data: data}".to_owned(), Some("/etc/hiera.yaml")),
    ] {
        site.settings(format!("profiles: nodes\n{setting}\n"));
        site.hierad(&format!("verify --all --puppet-ruby {ruby}")).says(&[]);
        let request = request(&site);
        let global = request["global"].as_str();
        assert_eq!(global.is_some(), handed.is_some(), "{setting}: {request}");
        assert!(global.is_none_or(|global| global.ends_with(handed.unwrap())), "{setting}: {global:?}");
    }
    // The mapped datadir stands in the file; what lies around it is linked.
    let folder = site.beside("etc").canonicalize().unwrap();
    let at = |name: &str| format!("global{}/{name}", folder.display());
    let written = given(&site, &at("hiera.yaml"));
    assert!(written.contains("/files/data"), "{written}");
    assert!(site.beside("given").join(at("data")).symlink_metadata().unwrap().is_symlink());
    assert!(site.beside("given").join(at("../ruby")).symlink_metadata().unwrap().is_symlink());
}

#[test]
fn environments_keep_their_neighbours() {
    let site = Sandbox::of(
        "-- code/env/hiera.yaml\nversion: 5\ndefaults: {datadir: ../data, data_hash: yaml_data}\n-- code/data/common.yaml\na: 1\n-- nodes/web01.yaml\nname: web01\n",
    );
    let ruby = puppet(&site, r#"{"a":1}"#).replace(r#"{"c":"no"}"#, "{}");
    let hiera_config = "--hiera-config code/env/hiera.yaml";
    let verified = site.hierad(&format!("verify --profiles nodes --all {hiera_config} --puppet-ruby {ruby}"));
    assert!(verified.ok().contains("1 node, 1 key, 1 answers compared"), "{verified:#?}");
    let request = request(&site);
    let path = |field: &str| request[field].as_str().unwrap_or_else(|| panic!("no {field} in {request}"));
    assert!(path("repo").ends_with("/files/code/env"), "{request}");
    assert!(path("environmentpath").ends_with("/files/code"), "{request}");
}

#[test]
fn modulepath_and_keys_are_handed_over() {
    let site = site();
    site.files("-- environment.conf\nmodulepath = nowhere\nmanifest = site.pp\n");
    site.commit("modules");
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    std::fs::write(site.beside("private.pem"), "").unwrap();
    site.settings(
        "profiles: nodes\nmodulepath: [site, $basemodulepath]\nbasemodulepath: ../base\n\
         eyaml: {pkcs7_private_key: ../private.pem}\n",
    );
    site.hierad(&format!("verify --all --puppet-ruby {ruby}")).ok();
    let request = request(&site);
    let beside = |name| site.beside(name).display().to_string();
    assert_eq!(request["basemodulepath"], serde_json::json!([beside("base")]));
    let key = request["eyaml"]["pkcs7_private_key"].as_str().unwrap();
    assert_eq!(std::path::Path::new(key).canonicalize().unwrap(), site.beside("private.pem"));
    assert_eq!(request["eyaml"].as_object().unwrap().len(), 1);
    let conf = given(&site, "files/environment.conf");
    assert_eq!(conf, "modulepath = site:$basemodulepath\nmanifest = site.pp\n");
}

#[test]
fn answers_that_depend_on_settings_are_skipped() {
    let site = site();
    site.files("-- hiera.yaml\nversion: 5\nhierarchy: [{name: V, lookup_key: vault}, {name: C, path: common.yaml}]\n");
    site.commit("vault");
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let verify = || site.hierad(&format!("verify --profiles nodes --all --puppet-ruby {ruby}"));
    let nothing = "nothing was compared: hierad knows none of the answers by itself\n";
    let verified = verify();
    let unknown = "0 answers compared\n0 fail on both sides, 3 are unknown to hierad\n";
    assert!(verified.is(3).out.contains(unknown) && verified.out.ends_with(nothing), "{verified:#?}");
    site.write("hierad.yaml", "backends: {vault: {not_found: true}}\n");
    let told = "3 are not compared: they depend on 'backends' or 'lookup_options' in the settings";
    let verified = verify();
    assert!(verified.is(3).out.contains(told) && verified.out.ends_with(nothing), "{verified:#?}");
    site.files("-- hiera.yaml\nversion: 5\nhierarchy: [{name: C, path: common.yaml}]\n");
    site.commit("no vault");
    site.write("hierad.yaml", "lookup_options: {a: {convert_to: String}, b: {merge: first}}\n");
    let compared = "2 answers compared\n1 fail on both sides, 0 are unknown to hierad\n1 are not compared";
    assert!(verify().ok().contains(compared), "{:#?}", verify());
}

#[test]
fn skipped_keys_are_reported() {
    let site = site();
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let verify = |arguments: &str| site.hierad(&format!("verify {arguments} --puppet-ruby {ruby}"));
    let verified = verify("--profiles nodes --sample 0");
    assert!(verified.is(3).out.ends_with("nothing was compared: the sample is empty\n"), "{verified:#?}");
    let found: serde_json::Value =
        serde_json::from_str(&verify("--profiles nodes --sample 0 --format json").out).unwrap();
    assert_eq!((&found["complete"], &found["asked"]), (&false.into(), &0.into()), "{found:#}");
    site.write("broken/broken.yaml", "name: [\n");
    let left_out = "1 node profile left out: what nodes get by such profiles is not compared\n";
    let verified = verify("--profiles nodes --profiles broken --all");
    assert!(verified.is(3).out.ends_with(&format!("{left_out}no disagreement\n")), "{verified:#?}");
    // Disagreements count for more.
    let ruby = puppet(&site, r#"{"a":2,"b":["x",2.5]}"#);
    let lies = |arguments: &str| site.hierad(&format!("verify {arguments} --all --puppet-ruby {ruby}"));
    lies("--profiles nodes --profiles broken").is(2);
    let silent = r#"{"repo":"","keys":[],"nodes":[]}"#;
    let script = std::fs::read_to_string(&ruby).unwrap();
    let line = script.lines().find(|line| line.contains(r#""values""#)).unwrap();
    std::fs::write(&ruby, script.replace(line, silent)).unwrap();
    lies("--profiles nodes").fails(&["Puppet answered for 0 of 1 nodes"]);
}

#[test]
fn revisions_without_keys_are_not_verified() {
    let site = Sandbox::of("-- hiera.yaml\nversion: 5\n-- nodes/web01.yaml\nname: web01\n");
    let ruby = puppet(&site, "{}");
    let verified = site.hierad(&format!("verify --profiles nodes --all --puppet-ruby {ruby}"));
    let told = "nothing was compared: no data file gives a value to any key\n";
    assert!(verified.is(3).out.ends_with(told), "{verified:#?}");
}

#[test]
fn no_progress_without_a_terminal() {
    let site = site();
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let slept = site.beside("slept");
    let slow = format!("\n  *)\n    sleep 1.5; touch {}\n", slept.display());
    let slow = std::fs::read_to_string(&ruby).unwrap().replace("\n  *)\n", &slow);
    std::fs::write(&ruby, slow).unwrap();
    let mut verify = hierad(site.root());
    verify.env("TERM", "xterm").args(["verify", "--profiles", "nodes", "--all", "--puppet-ruby", &ruby]);
    let verified = site.masked(&mut verify);
    assert!(verified.ok().contains("no disagreement"), "{verified:#?}");
    assert!(slept.exists(), "it was slow");
    assert_eq!(verified.err, "");
}
