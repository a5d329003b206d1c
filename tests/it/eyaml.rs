//! Encrypted data with and without its keys. What it decrypts to is checked against Puppet in `lookup_vectors`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::support::keys::{TestKeys, all_keys, key_file};
use crate::support::recorded::cases;
use hierad::disclosure::Disclosure;
use hierad::fleet::{Effective, Fleet, Revision, resolve};
use hierad::hiera::Outcome;
use hierad::hiera::backend::eyaml::{KeyChoice, KeyName, KeyNames};
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::merge::Strategy;
use hierad::hiera::scope::NodeScope;
use hierad::hiera::stand_in::made_digest;
use hierad::node::read_profiles;
use hierad::pipeline::host::Host;
use hierad::puppet::ErrorKind;
use hierad::puppet::{json, yaml};
use hierad::tree::MemoryTree;
use hierad::value::{Secrecy, Value};
use hierad::workers::Workers;

/// A case of the recorded vectors.
fn recorded(topic: &str, name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/lookup").join(topic);
    let named = |case: &Value| case.get("name").and_then(Value::as_str) == Some(name);
    cases(&path).into_iter().find(named).unwrap()
}

/// Everything in `fixture` on the nodes of `profiles`, in JSON or YAML.
fn effective(fixture: &str, profiles: &str, options: EnvironmentOptions) -> Effective {
    let (profiles, errors) = read_profiles(profiles.as_bytes(), "p.yaml", "production");
    assert_eq!(errors, []);
    let fleet = Arc::new(Fleet::new(profiles));
    let tree = Arc::new(MemoryTree::from_fixture(fixture));
    let revision =
        Revision::new(Environment::load(tree, options, Arc::default()).unwrap(), fleet, &Workers::of(1)).unwrap();
    resolve(&revision, &revision.fleet.everywhere(revision.keys.iter()), &Workers::of(1))
}

fn with_keys() -> EnvironmentOptions {
    EnvironmentOptions { eyaml: all_keys(), host: Arc::new(TestKeys), ..EnvironmentOptions::default() }
}

/// The one answer of a key.
fn outcome<'e>(effective: &'e Effective, key: &str) -> &'e Outcome {
    match effective.keys.get(key).map(Vec::as_slice) {
        Some([answer]) => &answer.outcome,
        other => panic!("{key} has {other:?}"),
    }
}

/// The seals of the decrypted texts in `open`; `closed`, which is the same without keys, must differ just there.
fn seals(open: &Value, closed: &Value, found: &mut BTreeSet<u64>) {
    match (open, closed) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b.iter()).for_each(|(a, b)| seals(a, b, found));
        }
        (Value::Hash(a), Value::Hash(b)) => {
            assert!(a.keys().eq(b.keys()));
            a.iter().zip(b.iter()).for_each(|((_, a), (_, b))| seals(a, b, found));
        }
        (Value::String(a), Value::String(b)) if a.secrecy().is_some() => {
            assert!(!a.secrecy().unwrap().is_opaque() && a.contains("plaintext-"), "not decrypted with keys");
            assert!(b.secrecy().unwrap().is_opaque() && b.contains("ENC[PKCS7,"), "not opaque without keys");
            assert_eq!(a.secrecy().unwrap().seal, b.secrecy().unwrap().seal);
            found.insert(a.secrecy().unwrap().seal);
        }
        (open, closed) => assert!(open == closed && closed.secrecy().is_none()),
    }
}

#[test]
fn only_encrypted_texts_are_opaque() {
    let case = recorded("eyaml_secrets.json", "60 secrets");
    let fixture = case.get("fixture").and_then(Value::as_str).unwrap();
    let mut found = BTreeSet::new();
    for profile in case.get("profiles").and_then(Value::as_array).unwrap().iter().map(json::compact) {
        let open = effective(fixture, &profile, with_keys());
        let closed = effective(fixture, &profile, EnvironmentOptions::default());
        assert!(open.keys.keys().eq(closed.keys.keys()));
        for key in open.keys.keys() {
            match (outcome(&open, key), outcome(&closed, key)) {
                (Outcome::Found(open), Outcome::Found(closed)) => seals(open, closed, &mut found),
                other => panic!("{key}: {other:?}"),
            }
        }
    }
    assert_eq!(found.len(), 60);
}

#[test]
fn a_missing_certificate_prevents_decryption() {
    let case = recorded("eyaml_secrets.json", "60 secrets");
    let fixture = case.get("fixture").and_then(Value::as_str).unwrap();
    assert!(fixture.contains("/keys/default.pub.pem"));
    let profile = json::compact(&case.get("profiles").and_then(Value::as_array).unwrap()[0]);
    let closed = effective(fixture, &profile, EnvironmentOptions::default());
    assert_eq!(effective(&fixture.replace("default.pub.pem", "none.pem"), &profile, with_keys()), closed);
}

const KEYLESS: &str = "\
-- hiera.yaml
version: 5
hierarchy:
  - name: secret
    lookup_key: eyaml_lookup_key
    paths: [high.eyaml, low.eyaml]
    options: {pkcs7_private_key: /nowhere/private.pem, pkcs7_public_key: /nowhere/public.pem}
  - {name: common, path: common.yaml}
-- data/high.eyaml
lookup_options:
  \"^unique_\": {merge: unique}
  \"^hash\": {merge: hash}
  \"^deep_\": {merge: deep}
  \"^knock_\": {merge: {strategy: deep, knockout_prefix: \"--\"}}
  sorted: {merge: {strategy: deep, sort_merged_arrays: true}}
  odd: {merge: \"ENC[GPG,QUFB]\"}
gpg: \"ENC[GPG,QUFB]\"
pkcs7: \"ENC[PKCS7,QUFB] and ENC[QUFB]\"
folded: \"ENC[PKCS7,QU\\n FB]\\n\\nENC[QQ]\\n\"
around: \"%{facts.role}:ENC[PKCS7,QUFB]\"
first: plain
unique_same: [\"ENC[GPG,QUFB]\", \"ENC[GPG,QUFB]\", 5]
unique_different: [\"ENC[GPG,QUFB]\"]
unique_hashes: [{a: \"ENC[GPG,QUFB]\", b: 1}]
unique_open: [{a: \"ENC[GPG,QUFB]\", b: 1}]
hash: {a: \"ENC[GPG,QUFB]\", b: \"ENC[GPG,QUFC]\"}
deep_hash: {a: {b: \"ENC[GPG,QUFB]\"}}
deep_array: {a: [\"ENC[GPG,QUFB]\"]}
knock_text: {a: \"ENC[GPG,QUFB]\", b: [--x]}
knock_array: [\"ENC[GPG,QUFB]\"]
knock_other: [--x]
sorted: [b, a, 1]
odd: 1
-- data/low.eyaml
unique_same: [\"ENC[GPG,QUFB]\", 5]
unique_different: [text]
unique_hashes: [{a: \"ENC[GPG,QUFC]\", b: 2}]
unique_open: [{a: text, b: 1}]
hash: {b: text, c: text}
deep_hash: {a: {b: text, c: \"ENC[GPG,QUFC]\"}}
deep_array: {a: [text]}
knock_text: {a: text, b: [x, y]}
knock_array: [x]
knock_other: [\"ENC[GPG,QUFB]\"]
sorted: [\"ENC[GPG,QUFB]\"]
-- data/common.yaml
url: \"https://%{lookup('gpg')}@host\"
copy: \"%{alias('hash')}\"
named: {\"%{lookup('gpg')}\": 1}
";

/// The outcome of a lookup without a key, with the texts that it is made from.
fn found(effective: &Effective, key: &str) -> String {
    match outcome(effective, key) {
        Outcome::Found(value) if made_digest(value).is_some() => "made".to_owned(),
        Outcome::Found(value) => json::compact(&Disclosure::shown().value(value)),
        Outcome::Failed(error) => {
            assert_eq!(error.kind, ErrorKind::Unknown, "{key}: {error}");
            assert!(error.text.secrecy().is_none() && error.text.contains("that is not open here"), "{error:?}");
            "unknown".to_owned()
        }
        Outcome::NotFound => "not found".to_owned(),
    }
}

#[test]
fn opaque_texts_pass_through() {
    let effective = effective(KEYLESS, "{name: n, facts: {role: web}}", with_keys());
    let secret = |key: &str| match outcome(&effective, key) {
        Outcome::Found(value) => value.secrecy().is_some_and(Secrecy::is_opaque),
        other => panic!("{key}: {other:?}"),
    };
    for (key, expected) in [
        ("gpg", r#""ENC[GPG,QUFB]""#),
        ("pkcs7", r#""ENC[PKCS7,QUFB] and ENC[QUFB]""#),
        ("folded", r#""ENC[PKCS7,QUFB]\n\nENC[QQ]""#),
        ("around", r#""web:ENC[PKCS7,QUFB]""#),
        ("url", r#""https://ENC[GPG,QUFB]@host""#),
        ("unique_same", r#"["ENC[GPG,QUFB]",5]"#),
        ("unique_hashes", r#"[{"a":"ENC[GPG,QUFB]","b":1},{"a":"ENC[GPG,QUFC]","b":2}]"#),
        ("hash", r#"{"b":"ENC[GPG,QUFC]","c":"text","a":"ENC[GPG,QUFB]"}"#),
        ("copy", r#"{"b":"ENC[GPG,QUFC]","c":"text","a":"ENC[GPG,QUFB]"}"#),
        ("deep_hash", r#"{"a":{"b":"ENC[GPG,QUFB]","c":"ENC[GPG,QUFC]"}}"#),
        ("knock_text", r#"{"a":"ENC[GPG,QUFB]","b":["y"]}"#),
    ] {
        assert_eq!(found(&effective, key), expected, "{key}");
        assert!(secret(key), "{key}");
    }
    assert_eq!(found(&effective, "first"), r#""plain""#);
    assert!(!secret("first"));
}

#[test]
fn answers_that_depend_on_opaque_texts_are_stand_ins() {
    let effective = effective(KEYLESS, "{name: n, facts: {role: web}}", with_keys());
    for key in ["unique_different", "unique_open", "deep_array", "knock_array", "knock_other", "sorted", "named"] {
        assert_eq!(found(&effective, key), "made", "{key}");
    }
    assert_eq!(found(&effective, "odd"), "unknown");
}

/// The merge takes "--x" out of what Puppet keeps of the first file, and the nested lookup, which merges nothing, finds
/// what is left.
#[test]
fn later_lookups_after_knock_outs_are_unknown() {
    let fixture = "\
-- hiera.yaml
version: 5
hierarchy:
  - {name: secret, lookup_key: eyaml_lookup_key, paths: [one.eyaml, two.eyaml]}
  - {name: common, path: common.yaml}
-- data/one.eyaml
a: {l: ['--x', y]}
shares: {l: \"%{alias('a.l')}\"}
lookup_options: {shares: {merge: {strategy: deep, knockout_prefix: '--'}}}
-- data/two.eyaml
a: {l: [x]}
shares: {l: [x]}
-- data/common.yaml
a: {m: \"%{alias('a.l')}\"}
twice: [\"%{alias('a.l')}\", \"%{alias('a.l')}\"]
around: [\"%{alias('shares')}\", \"%{alias('a.l')}\"]
";
    let tree = Arc::new(MemoryTree::from_fixture(fixture));
    let environment = Environment::load(tree, with_keys(), Arc::default()).unwrap();
    let (profiles, _) = read_profiles(b"{\"name\": \"n\"}", "p.json", "production");
    let scope = NodeScope::new(&profiles[0]);
    let get = |key: &str, merge: &str| {
        let strategy = Strategy::from_option(&yaml::parse(merge.as_bytes()).value).unwrap();
        let sources = NodeSources::new(&environment, &scope);
        match Lookup::new(&environment, &sources, &scope).get(key, Some(&strategy)) {
            Outcome::Found(value) => json::compact(&value),
            Outcome::Failed(error) => error.text.visible().to_owned(),
            Outcome::NotFound => "not found".to_owned(),
        }
    };
    let knocking = "{strategy: deep, knockout_prefix: '--'}";
    for (key, merge) in [("a", knocking), ("around", "first")] {
        assert!(get(key, merge).contains("unknown to hierad: what a merge with a knock-out prefix has left"), "{key}");
    }
    for (key, merge) in [("a", "{strategy: deep, knockout_prefix: '!'}"), ("twice", knocking)] {
        assert!(!get(key, merge).contains("unknown"), "{key}");
    }
}

#[test]
fn keys_of_the_settings_come_first() {
    let block = recorded("eyaml_secrets.json", "60 secrets");
    let fixture = block.get("fixture").and_then(Value::as_str).unwrap().replace("/keys/", "/nowhere/");
    let file = |name: &str| KeyName { file: key_file(name).to_str().map(Arc::from), ..KeyName::default() };
    let secret = |private: &str, public: KeyName| {
        let names = KeyNames { private: file(private), public };
        let options =
            EnvironmentOptions { eyaml: KeyChoice::Pair(names), host: Arc::new(Host), ..EnvironmentOptions::default() };
        let effective = effective(&fixture, "{name: x, facts: {site: none}}", options);
        match outcome(&effective, "secret_006") {
            Outcome::Found(value) => value.as_str().unwrap().to_owned(),
            Outcome::Failed(error) => error.text.visible().to_owned(),
            Outcome::NotFound => panic!("no secret"),
        }
    };
    assert_eq!(secret("default.key.pem", file("default.pub.pem")), "plaintext-006");
    assert_eq!(secret("default.key.pem", KeyName::default()), "plaintext-006");
    assert!(secret("other.key.pem", KeyName::default()).contains("Error was bad decrypt"));
    assert!(secret("none.pem", KeyName::default()).starts_with("ENC["));
}

#[test]
fn equal_secrets_of_new_ciphertext_are_reported() {
    let case = recorded("eyaml.json", "the end of a line is cut once");
    let effective = effective(case.get("fixture").and_then(Value::as_str).unwrap(), "{name: n}", with_keys());
    let (first, second) = (outcome(&effective, "lf"), outcome(&effective, "cr"));
    let (Outcome::Found(a), Outcome::Found(b)) = (first, second) else { panic!("{first:?} {second:?}") };
    assert!(a == b && !a.is_written_like(b) && first != second);
}
