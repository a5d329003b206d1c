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
    let (requests, given, mode) = (beside("requests"), beside("given"), beside("mode"));
    let script = format!(
        r#"#!/bin/sh
echo "$@" > {requests}
ls -ld "${{3%/*}}" > {mode}
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
fn the_ruby_of_the_machine_is_named_and_followed() {
    for (puppet_version, ruby_version, name, shown) in [
        ("8.10.0", "3.1.2", "Puppet 8.10.0 on Ruby 3.1.2", r#"{\"k\"=>1}"#),
        ("8.11.0", "3.2.5", "Puppet 8.11.0 on Ruby 3.2.5", r#"{\"k\"=>1}"#),
        ("8.10.0", "3.4.1", "Puppet 8.10.0 on Ruby 3.4.1", r#"{\"k\" => 1}"#),
        ("9.0.0-rc1", "3.3.8", "OpenVox 9.0.0-rc1 on Ruby 3.3.8", r#"{\"k\"=>1}"#),
        ("9.0.0", "3.4.11", "OpenVox 9.0.0 on Ruby 3.4.11", r#"{\"k\" => 1}"#),
        ("9.1.0", "4.0.1", "OpenVox 9.1.0 on Ruby 4.0.1", r#"{\"k\" => 1}"#),
    ] {
        let site = site();
        site.write("data/common.yaml", "a: 1\nb: \"%{lookup('h')}\"\nc: '%{nope}'\nh: {k: 1}\n");
        site.commit("a hash in a text");
        let ruby = puppet(&site, &format!(r#"{{"a":1,"b":"{shown}","h":{{"k":1}}}}"#));
        let script = std::fs::read_to_string(&ruby).unwrap();
        let greeting = format!(r#"{{"puppet":"{puppet_version}","ruby":"{ruby_version}"}}"#);
        std::fs::write(&ruby, script.replace(r#"{"puppet":"8.10.0"}"#, &greeting)).unwrap();
        let verified = site.hierad(&format!("verify --profiles nodes --all --puppet-ruby {ruby}"));
        let told = format!("{name} and hierad: 1 node, 4 keys, 4 answers compared\n");
        assert!(verified.ok().starts_with(&told), "{verified:#?}");
    }
}

#[test]
fn another_ruby_than_that_of_the_settings_is_reported() {
    let site = site();
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let script = std::fs::read_to_string(&ruby).unwrap();
    std::fs::write(&ruby, script.replace(r#"8.10.0""#, r#"8.10.0","ruby":"3.1.2""#)).unwrap();
    for (settings, is_other) in [("ruby: 3.4", true), ("ruby: jruby-9.3", true), ("ruby: 3.1", false), ("{}", false)] {
        site.write("hierad.yaml", settings);
        let verified = site.hierad(&format!("verify --profiles nodes --all --puppet-ruby {ruby}"));
        let says = verified.err.contains("the machine has 3.1.2: comparing with 3.1.2");
        assert_eq!(says, is_other, "{settings}: {verified:#?}");
    }
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
    site.hierad(&format!("verify --all --run-code --puppet-ruby {ruby}")).ok();
    let conf = given(&site, "files/environment.conf");
    assert_eq!(conf, "modulepath = site:$basemodulepath\nmanifest = site.pp\n");
    site.hierad(&format!("verify --all --puppet-ruby {ruby}")).ok();
    let request = request(&site);
    let beside = |name| site.beside(name).display().to_string();
    assert_eq!(request["basemodulepath"], serde_json::json!([beside("base")]));
    let key = request["eyaml"]["pkcs7_private_key"].as_str().unwrap();
    assert_eq!(std::path::Path::new(key).canonicalize().unwrap(), site.beside("private.pem"));
    assert_eq!(request["eyaml"].as_object().unwrap().len(), 1);
    let conf = given(&site, "files/environment.conf");
    assert_eq!(conf, "modulepath = site:$basemodulepath\n");
}

#[test]
fn code_of_a_commit_is_not_run() {
    let site = site();
    std::fs::write(site.beside("victim"), "as it was").unwrap();
    std::fs::write(site.beside("secret.yaml"), "a: secret\n").unwrap();
    site.files(
        "-- my-hiera.yaml\nversion: 5\nhierarchy: [{name: E, lookup_key: evil}, {name: C, path: common.yaml}]\n\
         -- environment.conf\nmodulepath = site\nconfig_version = /bin/evil\nmanifest = evil.pp\n\
         -- lib/puppet/functions/evil.rb\nevil\n-- site/evil/lib/puppet/functions/evil/all.RB\nevil\n",
    );
    site.sh(
        "ln -sf ../victim hiera.yaml; ln -s ../../secret.yaml data/linked.yaml; ln -s common.yaml data/inside.yaml",
    );
    site.commit("evil");
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let verify = |more: &str| {
        let flags = format!("verify --profiles nodes --all --hiera-config my-hiera.yaml --puppet-ruby {ruby} {more}");
        let verified = site.hierad(&flags);
        let requests = std::fs::read_to_string(site.beside("requests")).unwrap();
        assert_eq!(std::fs::read_to_string(site.beside("victim")).unwrap(), "as it was");
        let given = |path: &str| site.beside("given/files").join(path).symlink_metadata().is_ok();
        assert!(given("data/inside.yaml") && !given("data/linked.yaml"));
        let code = given("lib/puppet/functions/evil.rb") || given("site/evil/lib/puppet/functions/evil/all.RB");
        let called = requests.lines().next().unwrap().contains("--data-only");
        (verified, called, code)
    };
    let (verified, is_data_only, has_code) = verify("");
    let mode = std::fs::read_to_string(site.beside("mode")).unwrap();
    assert!(mode.starts_with("drwx------"), "{mode}");
    assert!(is_data_only && !has_code);
    let told = "3 are not compared: they need code beyond Puppet's own, or files that hierad does not read, which only --run-code loads\n";
    assert!(verified.is(3).out.contains(told), "{verified:#?}");
    assert_eq!(given(&site, "files/environment.conf"), "modulepath = site\n");
    assert_eq!(verify("--format json").0.json()["code"], 3);
    let (verified, is_data_only, has_code) = verify("--run-code");
    assert!(!is_data_only && has_code);
    assert!(verified.is(3).out.contains("3 are unknown to hierad\n"), "{verified:#?}");
    assert!(given(&site, "files/environment.conf").contains("config_version = /bin/evil\n"));
}

/// Runs only where Puppet is installed.
#[test]
fn the_real_puppet_runs_no_code_of_a_commit() {
    let is_there = std::process::Command::new("puppet").arg("--version").output().is_ok();
    if !is_there {
        return;
    }
    let site = Sandbox::new();
    let ran = site.beside("ran").display().to_string();
    let function = format!(
        "File.write('{ran}', 'function')\nPuppet::Functions.create_function(:'NAME') do\n  dispatch(:one) {{ param 'String', :k; \
         param 'Hash', :o; param 'Puppet::LookupContext', :c }}\n  def one(k, o, c) = c.not_found\nend\n"
    );
    site.write("lib/puppet/functions/environment/evil.rb", function.replace("NAME", "environment::evil"));
    site.write("lib/puppet/functions/evil.rb", function.replace("NAME", "evil"));
    site.write("modules/evil/lib/puppet/functions/evil/key.rb", function.replace("NAME", "evil::key"));
    site.write("modules/evil/metadata.json", "{\"name\": \"a-evil\", \"version\": \"1.0.0\", \"dependencies\": []}");
    site.write("modules/evil/types/alias.pp", "type Evil::Alias = Integer\n");
    site.write("modules/evil/lib/puppet/datatypes/evil/data.rb", format!("File.write('{ran}', 'datatype')\n"));
    site.write("lib/puppet/type/stage.rb", format!("File.write('{ran}', 'type')\n"));
    site.write("manifests/site.pp", format!("generate('/bin/sh', '-c', 'echo manifest > {ran}')\n"));
    site.write("version.sh", format!("#!/bin/sh\necho version | tee {ran}\n"));
    site.sh("chmod +x version.sh");
    site.write(
        "environment.conf",
        format!("config_version = {0}/version.sh\nmodulepath = modules:{0}/modules\n", site.root().display()),
    );
    site.write(
        "hiera.yaml",
        "version: 5\nhierarchy: [{name: A, path: a.yaml}, {name: E, lookup_key: 'environment::evil'}, \
         {name: F, lookup_key: evil}, {name: G, lookup_key: 'evil::key'}]\n",
    );
    site.write("data/a.yaml", "lookup_options: {c: {convert_to: 'Evil::Data'}}\na: 1\nb: \"%{lookup('d')}\"\nc: 1\n");
    site.write("nodes/web01.yaml", "name: web01\n");
    site.commit("evil");
    // The library of the machine need not be in the environment that tests have.
    let verified = site.hierad("verify --profiles nodes --all");
    assert!(!site.beside("ran").exists(), "{:?}: {verified:#?}", std::fs::read_to_string(site.beside("ran")));
    assert!(verified.out.contains("which only --run-code loads"), "{verified:#?}");
    assert!(!verified.out.contains("disagreement\n  "), "{verified:#?}");
    let verified = site.hierad("verify --profiles nodes --all --run-code");
    assert!(site.beside("ran").exists(), "{verified:#?}");
}

/// Runs only where Puppet is installed.
#[test]
fn the_real_puppet_reads_what_hierad_does() {
    if std::process::Command::new("puppet").arg("--version").output().is_err() {
        return;
    }
    let site = Sandbox::new();
    let disk = site.beside("disk").display().to_string();
    let up = format!("{}{disk}", "../".repeat(20));
    std::fs::create_dir(site.beside("disk")).unwrap();
    std::fs::write(site.beside("disk/leak.yaml"), "leak: TOPSECRET\n").unwrap();
    std::os::unix::fs::symlink("../../disk", site.root().join("link")).unwrap();
    site.write("data/common.yaml", "leak: own\na: \"%{lookup('leak')}\"\n");
    site.write("data/real.yaml", "real: 1\n");
    std::os::unix::fs::symlink("real.yaml", site.root().join("data/linked.yaml")).unwrap();
    for level in [
        format!("path: '{disk}/leak.yaml'"),
        format!("datadir: '{disk}', path: leak.yaml"),
        format!("path: '{up}/leak.yaml'"),
        format!("datadir: '{up}', path: leak.yaml"),
        "path: ../../link/leak.yaml".to_owned(),
        "datadir: link, glob: '*.yaml'".to_owned(),
        format!("glob: '{disk}/*.yaml'"),
        format!("globs: ['{up}/**/*.yaml']"),
        "mapped_paths: [facts.paths, path, '%{path}']".to_owned(),
        "path: '%{facts.paths.0}'".to_owned(),
    ] {
        let level = format!(
            "version: 5\nhierarchy: [{{name: E, {level}}}, {{name: L, path: linked.yaml}}, {{name: C, path: common.yaml}}]\n"
        );
        site.write("hiera.yaml", &level);
        site.write("nodes/web01.yaml", format!("{{name: web01, facts: {{paths: ['{disk}/leak.yaml']}}}}"));
        site.commit("reads the disk");
        let verified = site.hierad("verify --profiles nodes --all");
        let said = format!("{verified:?}");
        assert!(
            !said.contains("TOPSECRET") && said.contains("3 answers compared") && said.contains("no disagreement"),
            "{level}: {verified:#?}"
        );
    }
}

/// Runs only where Hiera 3 is installed.
#[test]
fn the_real_hiera_3_loads_no_file_of_a_commit() {
    let is_there = std::process::Command::new("hiera").arg("--version").output().is_ok();
    if !is_there {
        return;
    }
    let site = Sandbox::of("-- data/common.yaml\na: 1\n-- nodes/web01.yaml\nname: web01\n");
    let evil = format!("{}{}/evil", "../".repeat(20), site.root().display());
    for (kind, backend, logger) in [("backend", &*evil, "noop"), ("logger", "yaml", &*evil)] {
        let ran = site.beside(kind);
        site.write(&format!("evil_{kind}.rb"), format!("File.write('{}', '')\n", ran.display()));
        let config = format!(
            ":backends: [yaml, '{backend}']\n:logger: '{logger}'\n:hierarchy: [common]\n:yaml:\n  :datadir: data\n"
        );
        site.write("hiera.yaml", config);
        site.commit("evil");
        let verified = site.hierad("verify --hiera 3 --profiles nodes --all");
        assert!(!ran.exists() && verified.is(3).out.contains("1 are not compared: they need code"), "{verified:#?}");
        site.hierad("verify --hiera 3 --profiles nodes --all --run-code");
        // Names of backends are made lower case, and those of temporary folders are not.
        assert!(ran.exists() || kind == "backend");
    }
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
    let unknown =
        "0 answers compared\n0 fail on both sides, 0 are unknown to hierad\n3 are not compared: they need code beyond";
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
