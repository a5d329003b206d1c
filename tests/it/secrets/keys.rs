//! The keys that hierad reads, and what it tells of blocks that they do not open.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::repository::{SETTINGS, hiera_yaml};
use crate::support::Sandbox;
use crate::support::keys::{encrypted, key_file};
use crate::support::terminal::{Printed, changes, hierad, run};

/// Settings outside of the tree that allow no key.
const NOTHING_ALLOWED: &str = "profiles: [../profiles]\n";

/// A site with the secret `password`, whose hiera.yaml is `hiera`.
fn site(settings: &str, hiera: &str, password: &str) -> Sandbox {
    let site = Sandbox::new();
    site.write(".git/hierad.yaml", settings);
    site.write("profiles/db01.yaml", "{name: db01, facts: {}}\n");
    site.write("hiera.yaml", hiera);
    site.write("data/common.yaml", "motd: hello\n");
    site.write("data/common.eyaml", format!("password: {password}\n"));
    site.commit("first");
    site
}

fn hierad_on(site: &Sandbox, arguments: &str) -> Printed {
    let mut command = hierad(site.root());
    run(command.args(arguments.split_whitespace()).env("XDG_DATA_HOME", site.beside("data")))
}

/// The value of `password`.
fn password(site: &Sandbox, more: &str) -> Json {
    hierad_on(site, &format!("lookup password --node db01 --render-as json {more}")).json()
}

fn commit(site: &Sandbox, password: &str) {
    site.write("data/common.eyaml", format!("password: {password}\n"));
    site.commit("changed");
}

#[test]
fn keys_that_hiera_yaml_names_must_be_allowed() {
    let site = site(NOTHING_ALLOWED, &hiera_yaml(), &encrypted("hunter2", 1));
    assert_eq!(password(&site, "")["__ptype"], "Encrypted");
    commit(&site, &encrypted("hunter2", 2));
    let report = hierad_on(&site, "diff --format json").json();
    assert_eq!(changes(&report), ["password changed db01"]);
    let spot = &report["blind_spots"][0];
    assert_eq!(spot["code"], "eyaml-key-not-allowed");
    let (private, public) = (key_file("default.key.pem"), key_file("default.pub.pem"));
    let setting = format!("eyaml: {{allowed_keys: [\"{}\", \"{}\"]}}", private.display(), public.display());
    assert!(spot["fix"].as_str().unwrap().ends_with(&setting), "{spot}");
    assert!(hierad_on(&site, "check").out.contains(&setting));
    // The remedy is one.
    site.write(".git/hierad.yaml", format!("{NOTHING_ALLOWED}{setting}\n"));
    assert_eq!(password(&site, "")["__ptype"], "Secret");
    let report = hierad_on(&site, "diff --format json").json();
    assert!(changes(&report).is_empty() && report["blind_spots"].as_array().unwrap().is_empty(), "{report}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let site = site(NOTHING_ALLOWED, &hiera_yaml(), &encrypted("hunter2", 1));
    std::fs::write(site.beside("key"), "").unwrap();
    for (eyaml, words) in [
        ("nothing", "'eyaml' must be none or a hash of keys, not 'nothing'"),
        ("{allowed_keys: [keys/*.pem]}", "'keys/*.pem' is neither an absolute path nor env:NAME"),
        ("{allowed_keys: ['/a'], pkcs7_private_key: ../../key}", "one is enough"),
    ] {
        site.write(".git/hierad.yaml", format!("{NOTHING_ALLOWED}eyaml: {eyaml}\n"));
        hierad_on(&site, "render").fails(&[words]);
    }
}

#[test]
#[cfg(unix)]
fn a_key_that_is_no_small_file_is_none() {
    let hiera =
        |private: &Path| hiera_yaml().replace(key_file("default.key.pem").to_str().unwrap(), private.to_str().unwrap());
    let site = site(SETTINGS, &hiera_yaml(), &encrypted("hunter2", 1));
    let (pipe, large) = (site.beside("pipe"), site.beside("large"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(&large, vec![b'x'; (1 << 20) + 1]).unwrap();
    for file in [&pipe, &large, Path::new("/dev/zero"), Path::new("/dev/stdin"), Path::new("/proc/self/environ")] {
        site.write("hiera.yaml", hiera(file));
        site.commit("another key");
        let printed = hierad_on(&site, "render --format ndjson");
        let shown = printed.out.clone() + &printed.err;
        assert!(shown.contains("Encrypted") || shown.contains("unsupported"), "{}: {shown}", file.display());
        assert!(!shown.contains("PATH="), "{}: {shown}", file.display());
    }
}

#[test]
fn without_keys_all_secrets_are_opaque() {
    let site = site(SETTINGS, &hiera_yaml(), &encrypted("hunter2", 1));
    assert_eq!(password(&site, "")["__ptype"], "Secret");
    assert_eq!(password(&site, "--no-keys")["__ptype"], "Encrypted");
    commit(&site, &encrypted("hunter2", 2));
    assert_eq!(changes(&hierad_on(&site, "diff --format json").json()), Vec::<String>::new());
    let changed = ["password changed db01"];
    assert_eq!(changes(&hierad_on(&site, "diff --format json --no-keys").json()), changed);
    site.write(".git/hierad.yaml", format!("{NOTHING_ALLOWED}eyaml: none\n"));
    let report = hierad_on(&site, "diff --format json").json();
    assert_eq!(changes(&report), changed);
    assert!(report["blind_spots"].as_array().unwrap().is_empty(), "{report}");
}

#[test]
fn a_converted_secret_is_one_stand_in() {
    let site = site(SETTINGS, &hiera_yaml(), &encrypted("5", 1));
    let mut seen = Vec::new();
    for convert_to in ["Array", "Integer", "Boolean", "[String, '%.1s']", "'Pattern[/^h/]'", "\"Enum['5']\"", "Hash"] {
        let options = format!("motd: hello\nlookup_options: {{password: {{convert_to: {convert_to}}}}}\n");
        site.write("data/common.yaml", options);
        site.commit("converted");
        let value = password(&site, "");
        assert_eq!(value["__ptype"], "Secret", "{convert_to}: {value}");
        seen.push(value);
    }
    // It tells how it was made.
    seen.sort_by_key(ToString::to_string);
    seen.dedup();
    assert_eq!(seen.len(), 7);
    assert_eq!(hierad_on(&site, "lookup password --node db01 --show-secrets").status, 1);
}

#[test]
fn clear_and_encrypted_values_are_never_found_equal() {
    let site = site(SETTINGS, &hiera_yaml(), "hunter2");
    for options in ["{}", "{password: {convert_to: Sensitive}}"] {
        site.write("data/common.yaml", format!("lookup_options: {options}\n"));
        commit(&site, "hunter2");
        commit(&site, &encrypted("hunter2", 1));
        let report = hierad_on(&site, "diff --format json").json();
        assert_eq!(report["changes"].as_array().unwrap().len(), 1, "{report}");
        let change = &report["changes"][0];
        let [before, after] = ["before", "after"].map(|side| change[side]["value"]["__fingerprint"].clone());
        assert!(before.is_string() && after.is_string() && before != after, "{change}");
        assert!(!report.to_string().contains("hunter2"), "{report}");
    }
}

/// A block with one bit of its last byte flipped, so that its padding is wrong.
fn broken(block: &str) -> String {
    let mut data = STANDARD.decode(block.strip_prefix("ENC[PKCS7,").unwrap().trim_end_matches(']')).unwrap();
    *data.last_mut().unwrap() ^= 0x80;
    format!("ENC[PKCS7,{}]", STANDARD.encode(data))
}

/// The same data with something behind it, which nobody reads.
fn longer(block: &str) -> String {
    let mut data = STANDARD.decode(block.strip_prefix("ENC[PKCS7,").unwrap().trim_end_matches(']')).unwrap();
    data.push(0);
    format!("ENC[PKCS7,{}]", STANDARD.encode(data))
}

#[test]
fn blocks_that_do_not_open_look_like_secrets() {
    let good = encrypted("hunter2", 1);
    let bad = broken(&good);
    let site = site(SETTINGS, &hiera_yaml(), &bad);
    assert_eq!(password(&site, "")["__ptype"], "Secret");
    hierad_on(&site, "lookup password --node db01 --show-secrets").fails(&["bad decrypt"]);
    assert!(!hierad_on(&site, "check").out.contains("bad decrypt"));
    // Equal just where others are.
    for block in [&good, &bad] {
        commit(&site, block);
        commit(&site, &longer(block));
        let report = hierad_on(&site, "diff --format json").json();
        assert_eq!(changes(&report), Vec::<String>::new());
        assert_eq!(report["reencrypted"][0]["key"], "password", "{report}");
    }
}

#[test]
fn keys_in_base64_are_read_from_variables_that_are_allowed() {
    let pem = |name: &str| std::fs::read(key_file(name)).unwrap();
    let (key, certificate) = (pem("default.key.pem"), pem("default.pub.pem"));
    let (encoded, public) = (STANDARD.encode(&key), STANDARD.encode(&certificate));
    // As `base64` writes it, and with what Ruby passes over.
    let lines = encoded.as_bytes().chunks(76).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n") + "\n";
    let pair = "pkcs7_b64_private_key_env_var: KEY, pkcs7_b64_public_key_env_var: CERTIFICATE";
    let alone = "pkcs7_b64_private_key_env_var: KEY";
    let file = key_file("default.pub.pem");
    let mixed = format!("pkcs7_b64_private_key_env_var: KEY, pkcs7_public_key: {}", file.display());
    let both = format!("{alone}, pkcs7_private_key: /nowhere/key.pem");
    let plain_first = "pkcs7_private_key_env_var: PEM, pkcs7_b64_private_key_env_var: NONE, pkcs7_b64_public_key_env_var: CERTIFICATE";
    let without = "pkcs7_b64_public_key_env_var: CERTIFICATE, pkcs7_private_key: false";
    let all = format!("[env:KEY, env:PEM, env:NONE, env:CERTIFICATE, /nowhere/key.pem, {}]", file.display());
    for (options, allowed, key_text, expected) in [
        (pair, &*all, &encoded, "Secret"),
        (pair, "[env:KEY, env:CERTIFICATE]", &lines, "Secret"),
        (alone, "[env:KEY]", &encoded, "Secret"),
        (&*mixed, &*all, &encoded, "Secret"),
        (&*both, &*all, &encoded, "Secret"),
        (plain_first, &*all, &encoded, "Secret"),
        // Not allowed, not there.
        (pair, "[env:KEY]", &encoded, "Encrypted"),
        (pair, "[env:CERTIFICATE]", &encoded, "Encrypted"),
        (alone, "[env:OTHER]", &encoded, "Encrypted"),
        ("pkcs7_b64_private_key_env_var: NONE", &*all, &encoded, "Encrypted"),
        // Not in base 64, no key, no private key.
        (alone, &*all, &String::from_utf8(key.clone()).unwrap(), "Neither PUB key nor PRIV key"),
        (alone, &*all, &STANDARD.encode("a key"), "Neither PUB key nor PRIV key"),
        (without, &*all, &encoded, "pkcs7_private_key is not defined"),
    ] {
        let hiera = format!(
            "version: 5\nhierarchy:\n  - {{name: secrets, path: common.eyaml, lookup_key: eyaml_lookup_key, options: {{{options}}}}}\n"
        );
        let settings = format!("{NOTHING_ALLOWED}eyaml: {{allowed_keys: {allowed}}}\n");
        let site = site(&settings, &hiera, &encrypted("hunter2", 1));
        let mut command = hierad(site.root());
        command.args("lookup password --node db01 --render-as json".split_whitespace());
        command.env("KEY", key_text).env("PEM", String::from_utf8_lossy(&key).as_ref()).env("CERTIFICATE", &public);
        let printed = run(command.env("XDG_DATA_HOME", site.beside("data")));
        let shown = printed.out.clone() + &printed.err;
        assert!(shown.contains(expected), "{options}, {allowed}: {shown}");
        assert!(key_text.get(..40).is_none_or(|start| !shown.contains(start)), "{shown}");
    }
}
