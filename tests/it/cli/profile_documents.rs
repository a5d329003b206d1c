//! Files with several profiles, and files as other programs write them.

use crate::support::Sandbox;

const REPOSITORY: &str = "
-- hierad.yaml
profiles: [profiles]
-- hiera.yaml
version: 5
hierarchy: [{name: n, path: 'nodes/%{trusted.certname}.yaml'}, {name: c, path: common.yaml}]
-- data/common.yaml
v: 1
";

/// The names of the nodes that a file has, and what is said of those that cannot be read.
fn nodes(name: &str, content: &[u8]) -> (Vec<String>, String) {
    let site = Sandbox::of(REPOSITORY);
    site.write(&format!("profiles/{name}"), content);
    let printed = site.hierad("render . --format ndjson");
    let name = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["node"].as_str().unwrap().to_owned()
    };
    (printed.out.lines().map(name).collect(), printed.err)
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    ['\u{feff}'].into_iter().collect::<String>().encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
}

#[test]
fn each_document_is_a_node() {
    let own = |name: &str| format!("name: {name}\nparameters: {{role: web}}\n");
    let facts = |name: &str| format!("--- !ruby/object:Puppet::Node::Facts\nname: {name}\nvalues: {{role: web}}\n");
    let json = |name: &str| format!("{{\"name\": \"{name}\", \"variables\": {{\"role\": \"web\"}}}}\n");
    for (name, content) in [
        ("all.yaml", format!("---\n{}---\n{}", own("a"), own("b"))),
        ("all.yml", format!("{}...\n{}...\n", own("a"), own("b"))),
        ("all.yaml", format!("# nodes\n---\n---\n{}--- # the other one\n{}---\n", own("a"), own("b"))),
        ("all.yaml", facts("a") + &facts("b")),
        ("all.yaml", "--- {name: a}\n--- {name: b}\n".to_owned()),
        ("all.facts", facts("a") + &facts("b")),
        ("all.yaml", json("a") + &json("b")),
        ("all.json", json("a") + "\n" + &json("b")),
        ("all.NDJSON", json("a") + &json("b")),
        ("all.JSON", format!("[{},{}]", json("a"), json("b"))),
        ("all", format!("---\n{}---\n{}", own("a"), own("b"))),
    ] {
        assert_eq!(
            nodes(name, content.as_bytes()),
            (vec!["a".to_owned(), "b".to_owned()], String::new()),
            "{name}: {content}"
        );
    }
}

#[test]
fn files_are_read_in_their_encoding_and_by_any_spelling_of_their_names() {
    let json = "{\"networking\": {\"fqdn\": \"w.example.com\"}, \"role\": \"web\"}";
    for (name, content) in [
        ("w.json", utf16(json, u16::to_le_bytes)),
        ("w.json", utf16(json, u16::to_be_bytes)),
        ("w.yaml", utf16("name: w.example.com\n", u16::to_le_bytes)),
        ("w.json", [b"\xef\xbb\xbf", json.as_bytes()].concat()),
        ("w.ndjson", [b"\xef\xbb\xbf", json.as_bytes()].concat()),
        ("w.yaml", b"\xef\xbb\xbfname: w.example.com\n".to_vec()),
        ("W.JSON", json.into()),
        ("w.Yaml", "name: w.example.com\n".into()),
        ("w.example.com", json.into()),
        ("w.example.com", "---\nname: w.example.com\n".into()),
    ] {
        assert_eq!(nodes(name, &content), (vec!["w.example.com".to_owned()], String::new()), "{name}: {content:?}");
    }
}

/// A fault is told with its line, and the other nodes are read.
#[test]
fn faults_of_documents_are_told() {
    for (name, content, told) in [
        (
            "all.yaml",
            "name: a\n---\nname: b\nfact: {}\n",
            "all.yaml:4: unknown field 'fact' of a node profile: did you mean 'facts'?",
        ),
        ("all.yaml", "name: a\n---\nname: [\n", "all.yaml:4: "),
        (
            "all.yaml",
            "name: a\n---\nname: b\nhostname: c\n",
            "all.yaml:4: unknown field 'hostname' of a node profile: it has name,",
        ),
        ("all.yaml", "name: a\n---\nname: b\nvariables: {since: 2024-01-31}\n", "class: Date: put dates in quotes"),
        ("all.json", "{\"name\": \"a\"}\n{\"name\": 1 \n", "all.json:2: "),
        (
            "c.json",
            "{\n\"name\": \"a\"}\n{\n\"name\": \"b\"}\n",
            "put several into an array, or one per line into an .ndjson file",
        ),
        ("a.json.gz", "\u{1f}", "a.json.gz:1: "),
    ] {
        let content = if content == "\u{1f}" { b"\x1f\x8b\x08\x00" } else { content.as_bytes() };
        let (_, err) = nodes(name, content);
        assert!(err.contains(told), "{name}: {err}");
    }
    assert_eq!(nodes("all.yaml", b"name: a\n---\nname: b\nfact: {}\n").0, ["a"]);
}

/// Other files in a folder of profiles are passed over.
#[test]
fn other_files_are_passed_over() {
    for (name, content) in [
        ("README", "---\nnodes\n"),
        ("notes.md", "---\ntitle: x\n"),
        ("notes", "nodes\n"),
        ("a.json.bak", "{}"),
        (".hidden", "{}"),
    ] {
        let site = Sandbox::of(&format!("{REPOSITORY}-- profiles/a.yaml\nname: a\n-- profiles/{name}\n{content}"));
        let printed = site.hierad("render . --format ndjson");
        assert_eq!((printed.out.lines().count(), &*printed.err), (1, ""), "{name}");
    }
}
