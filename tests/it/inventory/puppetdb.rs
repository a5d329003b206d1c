//! Nodes out of `PuppetDB`: what is asked for, and what comes of it.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::server::{Age, PuppetDb, node};
use crate::delivery::servers::Certificate;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A repository where `who` tells what is known of a node.
pub(super) fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nwho: '%{trusted.certname} %{facts.os.family} %{role} %{environment} %{trusted.extensions.pp_role}'\n",
    );
    site.commit("who");
    site
}

pub(super) fn nodes() -> Vec<Json> {
    let facts = |family: &str, role: &str| json!({"os": {"family": family}, "role": role, "unread": {"much": "more"}});
    vec![
        node("web01.example.com", "production", facts("Debian", "web"), &json!({"pp_role": "w"})),
        node("db01.example.com", "staging", facts("RedHat", "db"), &json!({})),
    ]
}

/// The values of `who`, a line each.
#[track_caller]
pub(super) fn who(site: &Sandbox) -> Vec<String> {
    let rendered = site.hierad("render --format ndjson --allow-blind --output -");
    let value = |line: &str| serde_json::from_str::<Json>(line).unwrap()["values"]["who"].as_str().unwrap().to_owned();
    rendered.ok().lines().map(value).collect()
}

const EXPECTED: [&str; 2] = ["db01.example.com RedHat db staging ", "web01.example.com Debian web production w"];

#[test]
fn nodes_have_facts_trusted_data_and_environments() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.settle(&site, "");
    assert_eq!(who(&site), EXPECTED);
}

#[test]
fn only_facts_that_are_read_are_asked_for() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.settle(&site, "");
    who(&site);
    let query = "inventory[certname, environment, timestamp, trusted, facts.environment, facts.os, facts.role, facts.trusted] {  }";
    assert_eq!(server.queries(), [query]);
    // The answer counts for an hour.
    who(&site);
    assert_eq!(server.queries(), [""; 0]);
    // Until something is read that it does not have.
    site.files("-- data/common.yaml\nwho: \"%{facts.unread.much} %{facts.'dotted.name'}\"\n");
    site.commit("more");
    assert_eq!(who(&site), ["more ", "more "]);
    let query = server.queries().remove(0);
    assert!(query.contains("facts.\"dotted.name\" , ") && query.contains(" facts.unread]"), "{query}");
}

#[test]
fn old_servers_are_asked_as_they_can_answer() {
    for (age, count) in [(Age::WithoutDots, 2), (Age::WithoutInventory, 3)] {
        let (site, server) = (site(), PuppetDb::with(nodes()));
        server.change(|state| state.age = age);
        server.settle(&site, "");
        assert_eq!(who(&site), EXPECTED);
        assert_eq!(server.queries().len(), count);
        // Whole facts need not be asked for again.
        site.files("-- data/common.yaml\nwho: '%{facts.unread.much}'\n");
        site.commit("more");
        assert_eq!(who(&site), ["more", "more"]);
        assert_eq!(server.queries(), [""; 0]);
    }
}

#[test]
fn filters_choose_nodes() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.settle(&site, ", query: 'environment = \"staging\"'");
    assert_eq!(who(&site), &EXPECTED[..1]);
    // Another filter is another source.
    server.settle(&site, "");
    assert_eq!(who(&site), EXPECTED);
}

#[test]
fn later_entries_override_nodes() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    site.write("own/web01.yaml", "name: web01.example.com\nvariables: {role: own}\n");
    let settings = format!("profiles: [{{puppetdb: {{url: '{}'}}}}, ../own]\n", server.url);
    site.write(".git/hierad.yaml", settings);
    assert_eq!(who(&site), [EXPECTED[0], "web01.example.com  own production "]);
}

/// The values of a field in the kept profiles, by their nodes.
fn kept(site: &Sandbox, field: &str) -> Vec<(String, Json)> {
    let files = std::fs::read_dir(site.root().join(".git/hierad/nodes")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "ndjson")).collect();
    files.sort_by_key(|path| std::fs::metadata(path).unwrap().modified().unwrap());
    let profiles = std::fs::read_to_string(files.last().unwrap()).unwrap();
    let profile = |line: &str| {
        let profile: Json = serde_json::from_str(line).unwrap();
        (profile["name"].as_str().unwrap().to_owned(), profile[field].clone())
    };
    profiles.lines().map(profile).collect()
}

#[test]
fn classes_of_catalogs_are_fetched_where_the_settings_say_so() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.change(|state| state.nodes[0]["classes"] = json!(["Main", "Apache::Mod::Ssl", "Apache"]));
    server.settle(&site, "");
    assert_eq!(who(&site), EXPECTED);
    assert_eq!(server.queries().len(), 1, "they are not asked for by themselves");
    let unknown = ["db01.example.com", "web01.example.com"].map(|name| (name.to_owned(), Json::Null));
    assert_eq!(kept(&site, "catalog_classes"), unknown);
    // It is another source then, and asked at once. A node without a catalog has no classes, and not an empty list.
    server.settle(&site, ", classes: true");
    assert_eq!(who(&site), EXPECTED);
    assert_eq!(server.queries()[1..], ["records", "classes of db01.example.com, web01.example.com"]);
    let known = ("web01.example.com".to_owned(), json!(["apache", "apache::mod::ssl", "main"]));
    assert_eq!(kept(&site, "catalog_classes"), [unknown[0].clone(), known]);
}

#[test]
fn classes_are_asked_for_some_nodes_at_a_time() {
    let node = |number: usize| {
        let mut node = node(&format!("n{number:05}"), "e", json!({"role": "r"}), &json!({}));
        node["classes"] = json!([format!("Profile::N{number}")]);
        node
    };
    let (site, server) = (site(), PuppetDb::with((0..501).map(node).collect()));
    server.settle(&site, ", classes: true");
    assert_eq!(who(&site).len(), 501);
    let asked: Vec<usize> = server.queries()[2..].iter().map(|query| query.split(", ").count()).collect();
    assert_eq!(asked, [250, 250, 1]);
    let expected = (0..501).map(|number| (format!("n{number:05}"), json!([format!("profile::n{number}")])));
    assert_eq!(kept(&site, "catalog_classes"), expected.collect::<Vec<_>>());
}

#[test]
fn lookups_for_catalogs_are_fetched_where_there_are_records() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.change(|state| {
        state.nodes[0]["classes"] = json!(["Main", "Ntp"]);
        state.nodes[0]["keys"] = json!(["ntp::servers", "ntp::server::x", "role", "other::y", "role", "ntp"]);
        // A node may have a catalog of which there is no record.
        state.nodes[1]["classes"] = json!(["Main"]);
    });
    server.settle(&site, ", classes: true");
    assert_eq!(who(&site), EXPECTED);
    let both = "db01.example.com, web01.example.com";
    assert_eq!(server.queries()[1..], ["records".to_owned(), format!("classes of {both}"), format!("keys of {both}")]);
    // Those of the parameters of its classes go without saying.
    let keys = ("web01.example.com".to_owned(), json!(["ntp", "ntp::server::x", "other::y", "role"]));
    assert_eq!(kept(&site, "catalog_keys"), [("db01.example.com".to_owned(), Json::Null), keys.clone()]);
    let fetched = site.hierad("nodes fetch --output -");
    let fetched: Json = serde_json::from_str(fetched.ok().lines().last().unwrap()).unwrap();
    assert_eq!((&fetched["catalog_classes"], &fetched["catalog_keys"]), (&json!(["main", "ntp"]), &keys.1));
    let shown = site.hierad("nodes show web01.example.com").out;
    let words = "\nclasses in its last catalog (2): main, ntp\nother keys looked up for it (4): ntp, ntp::server::x, other::y, role\n";
    assert!(shown.ends_with(words), "{shown}");
    site.write("own/x.yaml", "name: x\ncatalog_keys: []\n");
    let shown = site.hierad("nodes show x --profiles own").out;
    assert!(shown.ends_with("\n\nkeys looked up for its last catalog (0): none\n"), "{shown}");
    let shown = site.hierad("nodes show web01.example.com --format json").json();
    assert_eq!(shown["catalog"], json!({"classes": ["main", "ntp"], "keys": keys.1}));
    assert_eq!(
        site.hierad("nodes show db01.example.com --format json").json()["catalog"],
        json!({"classes": ["main"]})
    );
}

#[test]
fn servers_that_cannot_tell_classes_are_told_of() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.change(|state| state.age = Age::WithoutLists);
    server.settle(&site, ", classes: true");
    site.hierad("render --output -")
        .fails(&["answers 400 ('in' is no operator of 'resources')", "remove 'classes' of 'puppetdb'"]);
    server.settle(&site, ", classes: some");
    site.hierad("render --output -").fails(&["hierad.yaml:1", "classes"]);
}

#[test]
fn exported_nodes_have_the_classes_of_their_catalogs() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.change(|state| state.nodes[0]["classes"] = json!(["Ntp"]));
    server.settle(&site, ", classes: true");
    let fetched = site.hierad("nodes fetch --output -");
    let classes = |line: &str| serde_json::from_str::<Json>(line).unwrap()["catalog_classes"].clone();
    let classes: Vec<Json> = fetched.ok().lines().map(classes).collect();
    assert_eq!(classes, [Json::Null, json!(["ntp"])], "{fetched:#?}");
}

#[test]
fn servers_with_tls_and_tokens_are_asked() {
    let certificate = Arc::new(Certificate::new());
    let (site, server) = (site(), PuppetDb::start(nodes(), Some(certificate.clone()), Some("open sesame")));
    site.write(".git/ca.pem", &certificate.pem);
    site.write_secret(".git/token", "open sesame\n");
    server.settle(&site, ", ca: ca.pem, token_file: token");
    assert_eq!(who(&site), EXPECTED);
    // An unknown authority, and no token.
    server.settle(&site, ", query: 'environment = \"staging\"', token_file: token");
    site.hierad("render --output -").fails(&["there is no answer from https://localhost:", "certificate"]);
    server.settle(&site, ", query: 'environment = \"staging\"', ca: ca.pem");
    let words = ["/pdb/query/v4 answers 401: check 'token_file', or 'cert' and 'key'"];
    let printed = site.hierad("render --output -");
    printed.fails(&words);
    assert!(!printed.err.contains("sesame"), "{printed:#?}");
}

#[test]
fn the_tour_of_pages_has_every_node() {
    // As many as make whole pages and one more, as some pages and a bit, and as one page.
    for count in [4001, 4500, 2000, 1999] {
        let node =
            |number: usize| node(&format!("n{number:05}"), "e", json!({"role": format!("r{number}")}), &json!({}));
        let (site, server) = (site(), PuppetDb::with((0..count).rev().map(node).collect()));
        server.settle(&site, ", page: 2000");
        let found = who(&site);
        assert_eq!(found.len(), count);
        assert_eq!(found[count - 1], format!("n{0:05}  r{0} e ", count - 1));
    }
}
