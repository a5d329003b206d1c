//! The table in `docs/profiles.md` of what each source tells of a node: each cell is tried.

use serde_json::{Value as Json, json};

use super::server::{Age, PuppetDb, node};
use crate::support::Sandbox;
use crate::support::terminal::SITE;

const NAME: &str = "n.example.com";

/// The columns of the table but the age, and what data reads for them with the value that it should have.
const COLUMNS: [(&str, &str, &str); 6] = [
    ("facts", "facts.os.family", "F"),
    ("trusted extensions", "trusted.extensions.pp_role", "p"),
    ("external trusted data", "trusted.external.x", "1"),
    ("environment", "environment", "e"),
    ("parameters", "role", "r"),
    ("server facts", "server_facts.serverversion", "8.7.0"),
];

/// A profile with all that there is.
const OWN: &str = r#"{"name": "n.example.com", "timestamp": "2026-01-02T03:04:05.678Z", "environment": "e",
"facts": {"os": {"family": "F"}}, "trusted": {"extensions": {"pp_role": "p"}, "external": {"x": 1}},
"variables": {"role": "r"}, "server_facts": {"serverversion": "8.7.0"}}"#;

const FACTS: &str =
    r#"{"name": "n.example.com", "values": {"os": {"family": "F"}}, "timestamp": "2026-01-02T03:04:05.678Z"}"#;

/// As Puppet 8 caches a node, with facts and server facts among the parameters.
const NODE: &str = "--- !ruby/object:Puppet::Node\nname: n.example.com\nenvironment: e\nparameters:\n  role: r\n  \
                    os: {family: F}\n  serverversion: 8.7.0\n";

/// A file of onceover's, with fields of other forms.
const FACTSET: &str = r#"{"name": "other", "timestamp": "2026-01-02T03:04:05.678Z", "environment": "e",
"values": {"os": {"family": "F"}}, "trusted": {"extensions": {"pp_role": "p"}}, "trusted_external": {"x": 1},
"parameters": {"role": "r"}, "server_facts": {"serverversion": "8.7.0"}}"#;

/// Each row of the table with the entries of `profiles` for it.
fn rows(puppetdb: &str, old: &str) -> Vec<(&'static str, String)> {
    let over = |entry: &str| format!("  - ../named\n  - {entry}\n");
    vec![
        ("files, in hierad's own form", "  - ../own\n".to_owned()),
        ("`puppetdb`", format!("  - puppetdb: {{url: '{puppetdb}'}}\n")),
        ("`puppetdb` without an inventory (before 4.2)", format!("  - puppetdb: {{url: '{old}'}}\n")),
        ("`puppet_cache`, facts", "  - puppet_cache: ../facts\n".to_owned()),
        ("`puppet_cache`, nodes", "  - puppet_cache: ../nodes\n".to_owned()),
        ("`enc`", over("enc: ./enc")),
        ("`trusted_external`", over("trusted_external: ./external")),
        ("`factsets`", "  - factsets: ../factsets\n".to_owned()),
        ("`site_pp`", over("site_pp: {file: ../site.pp}")),
    ]
}

fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    let read: Vec<String> = COLUMNS.iter().map(|(name, variable, _)| format!("{name}: '%{{{variable}}}'\n")).collect();
    site.files(&format!("-- data/common.yaml\n{}", read.concat()));
    site.commit("all that sources tell");
    for (path, content) in [
        ("own/n.json", OWN),
        ("named/n.json", "{\"name\": \"n.example.com\"}"),
        ("facts/server_data/facts/n.example.com.json", FACTS),
        ("nodes/yaml/node/n.example.com.yaml", NODE),
        ("factsets/n.example.com.json", FACTSET),
        ("site.pp", "node 'n.example.com' { $role = 'r' }\n"),
        (".git/enc", "#!/bin/sh\nprintf 'parameters: {role: r}\\nenvironment: e\\n'\n"),
        (".git/external", "#!/bin/sh\necho '{\"x\": 1}'\n"),
    ] {
        site.write(path, content);
    }
    site.sh("chmod +x .git/enc .git/external");
    site
}

/// The cells of a row of the table in the document.
fn documented(source: &str) -> Vec<String> {
    let page = include_str!("../../../docs/profiles.md");
    let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {source} | ")));
    row.unwrap_or_else(|| panic!("{source} is not in the table"))
        .trim_end_matches(" |")
        .split(" | ")
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_source_tells_what_the_table_says() {
    let site = site();
    let mut server_node = node(NAME, "e", json!({"os": {"family": "F"}}), &json!({"pp_role": "p"}));
    for trusted in ["/trusted/external", "/facts/trusted/external"] {
        *server_node.pointer_mut(trusted).unwrap() = json!({"x": 1});
    }
    let [recent, old] = [Age::Recent, Age::WithoutInventory].map(|age| {
        let server = PuppetDb::with(vec![server_node.clone()]);
        server.change(|state| state.age = age);
        server
    });
    let rows = rows(&recent.url, &old.url);
    for (source, entries) in &rows {
        site.write(".git/hierad.yaml", format!("profiles:\n{entries}"));
        // What is not known is an error of its key.
        let rendered = site.hierad("render --format ndjson --allow-blind --output -");
        let rendered: Json = serde_json::from_str(&rendered.out).unwrap();
        let values = COLUMNS.map(|(name, ..)| rendered["values"][name].as_str());
        let listed: Json = site.hierad("nodes list --format json").json();
        assert_eq!(listed["nodes"][0]["name"], NAME, "{source}");
        let has_age = listed["nodes"][0]["time"] == "2026-01-02T03:04:05Z";
        let tells = values.iter().zip(COLUMNS).map(|(value, (.., expected))| *value == Some(expected)).chain([has_age]);
        let told: Vec<&str> = tells.map(|tells| if tells { "yes" } else { "no" }).collect();
        assert_eq!(told, documented(source), "{source}: {values:?}");
    }
    let count = rows.len();
    let table =
        include_str!("../../../docs/profiles.md").split("| source | facts | trusted extensions |").nth(1).unwrap();
    assert_eq!(
        table.lines().skip(2).take_while(|line| line.starts_with('|')).count(),
        count,
        "rows that are not tried"
    );
    let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).chain(["age"]).collect();
    assert!(include_str!("../../../docs/profiles.md").contains(&format!("| source | {} |", names.join(" | "))));
}
