//! Keys at the top of data files that Puppet takes apart, unless a lookup has them in quotes.

use serde_json::{Value as Json, json};

use crate::support::Sandbox;
use crate::support::terminal::{Printed, SITE, changes};

/// Commits these two versions of `data/common.yaml`, and other files with the first one.
fn site(before: &str, after: &str, more: &str) -> Sandbox {
    let site = Sandbox::of(&format!("{SITE}{more}\n-- data/common.yaml\n{before}\n"));
    site.write("data/common.yaml", after);
    site.commit("second");
    site
}

fn report(site: &Sandbox, arguments: &str) -> Json {
    site.hierad(&format!("diff --format json {arguments}")).json()
}

fn says(printed: &Printed, words: &[&str]) {
    for words in words {
        assert!(printed.out.contains(words), "no {words:?} in {printed:#?}");
    }
}

/// Keys of data, and the keys that ask for them. That Puppet answers these is recorded in
/// `tests/vectors/lookup/options.txt`.
const KEYS: [(&str, &str); 9] = [
    ("db1.example.com", "'db1.example.com'"),
    ("m::a.b", "'m::a.b'"),
    ("x.", "'x.'"),
    (".y", "'.y'"),
    (".", "'.'"),
    ("'1.5'", "'1.5'"),
    ("\"it's\"", "\"it's\""),
    ("'say \"x\"'", "'say \"x\"'"),
    ("é.ü", "'é.ü'"),
];

#[test]
fn keys_that_need_quotes_are_compared() {
    for (written, key) in KEYS {
        let changed = [format!("{key} changed db01,web01")];
        assert_eq!(changes(&report(&site(&format!("{written}: 1"), &format!("{written}: 2"), ""), "")), changed);
        let added = [format!("{key} added db01,web01")];
        assert_eq!(changes(&report(&site("v: 1", &format!("v: 1\n{written}: 2"), ""), "")), added);
        let options = format!("lookup_options: {{{written}: {{merge: unique}}}}\n{written}: ");
        let merged = site(
            &format!("{options}[1]"),
            &format!("{options}[2]"),
            &format!("-- data/roles/web.yaml\n{written}: [3]"),
        );
        let values: Vec<Json> = merged
            .hierad("render --format ndjson")
            .ok()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!([&values[0]["values"][key], &values[1]["values"][key]], [&json!([2]), &json!([3, 2])], "{key}");
        assert_eq!(changes(&report(&merged, "")), [format!("{key} changed db01"), format!("{key} changed web01")]);
    }
}

#[test]
fn keys_that_need_quotes_are_those_of_each_layer_and_version() {
    let module = "-- environment.conf\nmodulepath = modules\n-- modules/m/hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: c.yaml}]\n\
                  -- modules/m/data/c.yaml\nm::a.b: 1\nother.key: 1";
    let site = Sandbox::of(&format!("{SITE}{module}\n"));
    site.write("modules/m/data/c.yaml", "m::a.b: 2\nother.key: 2\n");
    site.commit("second");
    assert_eq!(changes(&report(&site, "")), ["'m::a.b' changed db01,web01"]);

    let hiera3 = "-- hierad.yaml\n{profiles: [profiles], hiera: 3}\n-- hiera.yaml\n:backends: [yaml]\n:yaml:\n  :datadir: data\n:hierarchy: [common]";
    let site = self::site("db1.example.com: 1", "db1.example.com: 2", hiera3);
    assert_eq!(changes(&report(&site, "")), ["'db1.example.com' changed db01,web01"]);
}

#[test]
fn references_lead_to_keys_in_quotes() {
    let refers =
        "a.b: {c: 1}\na: {b: {c: nested}}\nquoted: \"%{lookup(\\\"'a.b'.c\\\")}\"\ndug: \"%{lookup('a.b.c')}\"\n";
    let site = site(refers, &refers.replace("c: 1", "c: 2"), "");
    assert_eq!(changes(&report(&site, "")), ["'a.b' changed db01,web01", "quoted changed db01,web01"]);
    site.write("data/common.yaml", refers.replace("c: 1", "c: 2").replace("nested", "other"));
    site.commit("third");
    assert_eq!(changes(&report(&site, "")), ["a changed db01,web01", "dug changed db01,web01"]);
}

#[test]
fn keys_are_found_by_both_of_their_names() {
    let site = site("db1.example.com: {port: 1}\nv: 1", "db1.example.com: {port: 2}\nv: 2", "");
    let changed = ["'db1.example.com' changed db01,web01"];
    for pattern in ["db1.example.com", "'db1.example.com'", "*.example.com", "re:^db1", "re:^'db1"] {
        assert_eq!(changes(&report(&site, &format!("--key {pattern}"))), changed, "{pattern}");
        let rendered = site.hierad(&format!("render --format ndjson --key {pattern} --node web01"));
        let line = r#"{"node":"web01","values":{"'db1.example.com'":{"port":2}},"errors":{}}"#;
        assert_eq!(rendered.ok(), format!("{line}\n"), "{pattern}");
        let policy = |keys: &str| {
            let text = "policies:\n  - {name: p, level: failure, message: m, keys: ";
            site.settings(format!("profiles: [profiles]\n{text}{}}}\n", json!(keys)));
            report(&site, "")["policies"].as_array().map_or(0, Vec::len)
        };
        assert_eq!([policy(pattern), policy("db1"), policy("db1.example"), policy("other.example.com")], [1, 0, 0, 0]);
        if !pattern.starts_with("re:") {
            let [port, host] = ["port", "host"].map(|entry| policy(&format!("{pattern}.{entry}")));
            assert_eq!([port, host], [1, 0], "{pattern}");
        }
        site.settings("profiles: [profiles]\n");
    }
    site.hierad("diff --key db1").fails(&["no key matches --key 'db1'; did you mean 'db1.example.com'?"]);
}

#[test]
fn lines_are_traced_to_keys_in_quotes() {
    let web = "-- data/roles/web.yaml\ndb1.example.com: own";
    let site =
        site("db1.example.com: a\n\"b'c\": 1\n'd''e\"f': 1", "db1.example.com: b\n\"b'c\": 2\n'd''e\"f': 2", web);
    let printed = site.hierad("diff");
    says(&printed, &["'db1.example.com': \"a\" -> \"b\"  data/common.yaml:1", "\"b'c\": 1 -> 2"]);
    let lines = report(&site, "")["lines"].clone();
    let keys: Vec<&Json> = lines.as_array().unwrap().iter().map(|line| &line["keys"]).collect();
    assert!(keys.contains(&&json!(["'db1.example.com'"])) && !lines.to_string().contains("unknown"), "{lines}");
    site.write("data/common.yaml", "db1.example.com: b\n\"b'c\": 2\n'd''e\"f': 3\n");
    site.commit("a key that nobody can ask for");
    says(site.hierad("diff --exit-code").is(0), &["no effective change"]);
}

/// A reference without quotes asks for something else, and a lookup does, too.
#[test]
fn quotes_that_are_forgotten_are_told() {
    let site = site("v: 1", "db1.example.com: b\nv: \"%{lookup('db1.example.com')}\"", "");
    let told = "(the key 'db1.example.com' has dots: a lookup of it needs these quotes)";
    says(site.hierad("check --severity note").is(2), &[told]);
    let printed = site.hierad("lookup db1.example.com --node web01");
    assert!(
        printed.is(1).err.contains("a key with dots needs quotes of its own: \"'db1.example.com'\""),
        "{printed:?}"
    );
    assert_eq!(site.hierad("lookup 'db1.example.com' --node web01").ok(), "--- b\n");
    let printed = site.hierad("lookup other.example.com --node web01");
    assert!(printed.is(1).err.ends_with("no data for 'other.example.com' on web01\n"), "{printed:?}");
}

#[test]
fn keys_that_nobody_can_ask_for_are_notes() {
    let odd = "'d''e\"f': 1\n1.5: number\n3: number\n";
    let site = site("v: 1", odd, "");
    site.hierad("check").is(0);
    let notes = [
        "data/common.yaml:1: note: no lookup can ask for the key 'd'e\"f': it has quotes of both kinds [unaskable-key]",
        "data/common.yaml:2: note: no lookup finds the key 1.5: it is a number, and lookups ask for text [unaskable-key]",
        "data/common.yaml:3: note: no lookup finds the key 3",
    ];
    says(site.hierad("check --severity note").is(2), &notes);
    site.write("data/common.yaml", "'1.5': text\n\"d'e.f\": 1\n\"\": empty\n");
    site.hierad("check . --severity note").is(0);
}

/// Keys with dots at their begin or end are there to hold anchors.
#[test]
fn keys_that_hold_anchors_do_not_fail() {
    for anchor in [".affinity", "affinity.", ".", ".a.b", "..x", "a..b", "'x-'", "\"'\""] {
        let holds = |value: usize| format!("{anchor}: &anchor {{node: {value}}}\nweb:\n  affinity: *anchor\n");
        let site = site(&holds(1), &holds(2), "");
        site.hierad("check --severity note").is(0);
        let report = report(&site, "");
        assert_eq!(report["causes"], json!([]), "{anchor}");
        assert_eq!(report["blind_spots"], json!([]), "{anchor}");
        assert!(changes(&report).contains(&"web changed db01,web01".to_owned()), "{anchor}");
    }
}
