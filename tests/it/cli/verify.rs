//! `hierad verify` with a stand-in for Puppet, which tells the truth or lies.

use crate::support::Sandbox;

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

/// A program in the place of Ruby: it answers each kind of request with a fixed line.
fn puppet(site: &Sandbox, values: &str) -> String {
    let answer =
        format!(r#"{{"repo":"","keys":[],"nodes":[{{"node":"web01","values":{values},"errors":{{"c":"no"}}}}]}}"#);
    let explained =
        r#"{"repo":"","keys":[],"nodes":[],"explained":[{"text":"Puppet's story\n","data":{},"error":null}]}"#;
    let script = format!(
        "#!/bin/sh\nwhile read -r line; do\n  case \"$line\" in\n  *version*) echo '{{\"puppet\":\"8.10.0\"}}' ;;\n  \
         *'\"explain\"'*) cat <<'END'\n{explained}\nEND\n  ;;\n  *) cat <<'END'\n{answer}\nEND\n  ;;\n  esac\ndone\n"
    );
    let path = site.beside("ruby");
    std::fs::write(&path, script).unwrap();
    let mut command = std::process::Command::new("chmod");
    assert!(command.arg("+x").arg(&path).status().unwrap().success());
    path.display().to_string()
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
        "Puppet 8.10.0 and hierad: 1 nodes, 3 keys, 3 answers compared\n1 fail on both sides, 0 are unknown to hierad\nno disagreement\n"
    );
}

#[test]
fn a_planted_disagreement_is_found_and_explained() {
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
fn another_version_than_that_of_the_settings_is_told() {
    let site = site();
    let ruby = puppet(&site, r#"{"a":1,"b":["x",2.5]}"#);
    let verified = site.hierad(&format!("verify --profiles nodes --all --puppet 7 --puppet-ruby {ruby}"));
    assert!(verified.err.contains("the settings say Puppet 7, the machine has 8.10.0"), "{verified:#?}");
}

#[test]
fn a_ruby_without_puppet_is_said_to_be_one() {
    let site = site();
    site.hierad("verify --profiles nodes --puppet-ruby /nowhere/ruby").fails(&["cannot run /nowhere/ruby"]);
    site.hierad("verify --profiles nodes --puppet-ruby /bin/false").fails(&["/bin/false has no Puppet that answers"]);
}
