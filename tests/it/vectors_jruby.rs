//! The documents that a Puppet server on JRuby reads otherwise are named, as `tests/puppet/record_jruby.rb` recorded.

use std::convert::Infallible;

use hierad::hiera::backend::{DataFile, Format};
use hierad::puppet::Ruby;
use hierad::puppet::server::{Effect, Kind, Notes};
use serde_json::Value;

use crate::vectors_yaml::cases;

/// The kinds that are named of a document.
fn kinds(input: &[u8], case: &Value) -> Vec<Kind> {
    let format = if case["format"] == "json" { Format::Json } else { Format::Yaml };
    DataFile::parse(input, format)
        .read_otherwise(|| Ok::<_, Infallible>(input))
        .map(|notes| named(&notes))
        .unwrap_or_default()
}

fn named(notes: &Notes) -> Vec<Kind> {
    notes.iter().map(|(_, kind)| kind).collect()
}

/// Returns a message if a server's reading of a document is not named, or named otherwise than it is.
fn fault(case: &Value, kinds: &[Kind], (ruby, name): (Ruby, &str)) -> Option<String> {
    let (here, there) = (&case["ruby"], &case[name]);
    let named: Vec<Kind> = kinds.iter().copied().filter(|kind| kind.servers().have(ruby)).collect();
    let is_named = !named.is_empty() && case["odd"] != true;
    if is_named != (here != there && case["odd"] != true) {
        return Some(format!("{name}: {case}\n  named: {named:?}"));
    }
    let is_so = |kind: &Kind| match kind.effect() {
        Effect::Refuses => there.is_null(),
        Effect::Differs => !here.is_null() && !there.is_null() || named.len() > 1,
        Effect::Reads => here.is_null() && !there.is_null(),
    };
    // An anchor before a `:` is the one that is not refused for sure.
    let is_anchor = case["in"].as_str().is_some_and(|text| text.starts_with("&x:"));
    (!named.iter().all(is_so) && !is_anchor).then(|| format!("{name}: {case}\n  is not so: {named:?}"))
}

#[test]
fn what_servers_read_otherwise_is_named_and_nothing_else() {
    let servers = [(Ruby::JRuby9_3, "jruby-9.3"), (Ruby::JRuby9_4, "jruby-9.4")];
    let cases = cases("jruby.ndjson");
    assert!(cases.len() > 150);
    let wrong: Vec<String> = cases
        .iter()
        .flat_map(|(input, case)| {
            let kinds = kinds(input, case);
            servers.iter().filter_map(|server| fault(case, &kinds, *server)).collect::<Vec<_>>()
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn a_server_looks_for_no_token_behind_so_many_characters() {
    const MOST: usize = 3 << 20;
    let filled = |mark: &str, start: &str, len: usize| {
        let line = format!("{mark}{}\n", "x".repeat(98));
        let mut text = format!("{start}\n{}", line.repeat(len / 100 + 1));
        text.truncate(len - 1);
        text + "\n"
    };
    let cases = [
        ("text", filled(" ", "k: |", MOST), false),
        ("text", filled(" ", "k: |", MOST + 1), true),
        ("keys", (0..400_000).map(|n| format!("k{n:06}: v\n")).collect::<Vec<_>>().concat(), true),
        ("comment behind", filled("#", "k: 1", MOST + 200), false),
        ("comment before", filled("#", "#", MOST + 200) + "k: 1\n", true),
        ("another document", filled("#", "k: 1\n---", MOST + 200), false),
        ("two bytes each", filled(" ", "k: |", MOST / 2 + 2).replace('x', "é"), false),
    ];
    for (name, text, is_named) in cases {
        let file = DataFile::parse(text.as_bytes(), Format::Yaml);
        let named = file.read_otherwise(|| Err::<&[u8], _>(name)).map(|notes| named(&notes));
        assert_eq!(named, Ok(vec![Kind::TooLong; usize::from(is_named)]), "{name}: {} bytes", text.len());
    }
}
