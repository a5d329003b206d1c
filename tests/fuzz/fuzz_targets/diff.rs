//! No two trees make a diff or a writer panic or go on without end. The diff of a tree with itself is empty, a report
//! is the same however the revisions were read, the way back has as many changes, the writers agree on the counts, and
//! nodes without a change have the same snapshots.
//!
//! The input is parts with a zero byte between. The first byte of a part tells what it is, a path follows up to the end
//! of the line, and then the content: `=` is a file of both trees, `-` one of the first, `+` one of the second, `>` a
//! link in both, and `*` a file of node profiles. A part that begins with `7` sets the version of Puppet.
#![no_main]

use std::collections::BTreeSet;
use std::sync::Arc;

use hierad::disclosure::{Disclosure, Key};
use hierad::fleet::Fleet;
use hierad::hiera::layer::EnvironmentOptions;
use hierad::node::{NodeProfile, read_profiles};
use hierad::pipeline::{DiffFilter, Pipeline, RevisionId, Revisions};
use hierad::puppet::Puppet;
use hierad::report::writers::{json, markdown, text};
use hierad::report::{Report, Verdict};
use hierad::snapshot::Format;
use hierad::workers::Workers;
use hierad_fuzz::objects::{Objects, with_objects};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Json;

/// The nodes of an input without any.
const NODES: &[u8] = br#"[{"name": "n", "variables": {"role": "n"}}, {"name": "m", "variables": {"role": "m"}}]"#;

/// The most nodes and files.
const MAX_NODES: usize = 4;
const MAX_PARTS: usize = 24;

fuzz_target!(|content: &[u8]| {
    let input = Input::read(content);
    with_objects(|objects| {
        let [before, after] = [false, true].map(|is_after| objects.commit(&input.files(is_after), 0));
        let (Some(before), Some(after)) = (before, after) else { return };
        // The same tree by another name.
        let Some(again) = objects.commit(&input.files(true), 1) else { return };
        check(&input, objects, [before, after, again].map(RevisionId::Commit));
    });
});

/// A path, with the trees that have it and what lies there.
struct Part<'c> {
    kind: u8,
    path: &'c str,
    content: &'c [u8],
}

struct Input<'c> {
    parts: Vec<Part<'c>>,
    profiles: Vec<NodeProfile>,
    puppet: Puppet,
}

impl<'c> Input<'c> {
    fn read(content: &'c [u8]) -> Input<'c> {
        let mut input = Input { parts: Vec::new(), profiles: Vec::new(), puppet: Puppet::V8 };
        for part in content.split(|byte| *byte == 0).take(MAX_PARTS) {
            let Some((kind, rest)) = part.split_first() else { continue };
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let Ok(path) = std::str::from_utf8(&rest[..end]) else { continue };
            let content = rest.get(end + 1..).unwrap_or_default();
            match kind {
                b'7' => input.puppet = Puppet::V7,
                b'*' => input.profiles.extend(read_profiles(content, path, "production").0),
                kind => input.parts.push(Part { kind: *kind, path, content }),
            }
        }
        let mut names = BTreeSet::new();
        input.profiles.retain(|profile| names.insert(profile.name.clone()));
        input.profiles.truncate(MAX_NODES);
        if input.profiles.is_empty() {
            input.profiles = read_profiles(NODES, "nodes.json", "production").0;
        }
        input
    }

    /// Returns the files of a tree with their modes.
    fn files(&self, is_after: bool) -> Vec<(&'c str, &'c [u8], bool)> {
        let other = if is_after { b'-' } else { b'+' };
        let here = self.parts.iter().filter(|part| part.kind != other);
        here.map(|part| (part.path, part.content, part.kind == b'>')).collect()
    }

    fn pipeline(&self, objects: &Objects) -> Pipeline {
        let options = EnvironmentOptions { puppet: self.puppet, ..EnvironmentOptions::default() };
        let revisions = Revisions::new(objects.repository.clone(), options, Arc::default());
        let fleet = Arc::new(Fleet::new(self.profiles.iter().cloned()));
        let disclosure = Disclosure::masked(|| Key::from_hex(&"5".repeat(64)).unwrap());
        Pipeline::new(revisions, fleet, Workers::of(1), Arc::new(disclosure))
    }
}

fn check(input: &Input<'_>, objects: &Objects, [before, after, again]: [RevisionId; 3]) {
    let diff = |pipeline: &Pipeline, from, to| pipeline.diff(from, to, &DiffFilter::ALL).ok().map(|diff| diff.report);
    let pipeline = input.pipeline(objects);
    let Some(report) = diff(&pipeline, before, after) else { return };
    let Some(same) = diff(&pipeline, after, again) else { panic!("only one of two equal trees can be read") };
    assert_ne!(same.verdict(), Verdict::Changes, "{}", written(&same));
    assert!(same.changes.is_empty() && same.findings.is_empty(), "{}", written(&same));
    // Read the other way round, so that each is derived from the other one.
    let other = input.pipeline(objects);
    _ = other.cached_revision(after);
    let derived = diff(&other, before, after).map(|report| written(&report));
    assert_eq!(derived, Some(written(&report)));
    let back = diff(&other, after, before).unwrap();
    assert_eq!((back.keys, back.nodes), (report.keys, report.nodes), "{}\n{}", written(&report), written(&back));
    writers(&report);
    snapshots(&pipeline, &report, [before, after]);
}

fn written(report: &Report) -> String {
    let mut out = Vec::new();
    json::write(report, json::Options::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Checks that all writers tell the same.
fn writers(report: &Report) {
    let document: Json = serde_json::from_str(&written(report)).unwrap();
    for (part, count) in [("keys", report.keys), ("nodes", report.nodes)] {
        assert_eq!(document[part]["changed"], count.changed);
        assert_eq!(document[part]["total"], count.total);
    }
    let entries = ["changes", "causes"].map(|part| document[part].as_array().unwrap());
    let number = |number: &Json| number.as_u64().unwrap() as usize;
    let range =
        |item: &Json| item.as_array().map_or_else(|| [number(item); 2], |range| [number(&range[0]), number(&range[1])]);
    let set = |entry: &Json| document["node_sets"][number(&entry["nodes"])].as_array().unwrap().clone();
    let ranges = entries.iter().flat_map(|list| list.iter().flat_map(set)).map(|item| range(&item));
    let nodes: BTreeSet<usize> = ranges.flat_map(|[first, last]| first..=last).collect();
    assert!(nodes.iter().all(|node| document["node_names"][node].is_string()), "{document}");
    assert_eq!(nodes.len(), report.nodes.changed, "{document}");
    for (pretty, full) in [(true, false), (false, true)] {
        let mut out = Vec::new();
        json::write(report, json::Options { pretty, full }, &mut out).unwrap();
        let other: Json = serde_json::from_slice(&out).unwrap();
        assert_eq!(other["headline"], document["headline"]);
        if pretty {
            assert_eq!(other, document);
        } else {
            let keys = other["changes"].as_array().unwrap().iter().filter_map(|change| change["key"].as_str());
            assert_eq!(keys.collect::<BTreeSet<_>>().len(), report.keys.changed, "{other}");
        }
    }
    let headline = report.headline();
    let is_plain = headline.len() < 300 && headline.chars().all(|c| c.is_ascii_alphanumeric() || " ,".contains(c));
    for (full, lines) in [(true, None), (false, Some(10))] {
        let mut out = Vec::new();
        text::write(report, text::Options { color: full, width: 10_000, full, lines, one_line: false }, &mut out)
            .unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(!is_plain || page.contains(&headline), "{headline}\n{page}");
    }
    for budget in [60_000, 1_000, 100] {
        let mut out = Vec::new();
        markdown::write(report, &markdown::Options { budget, ..markdown::Options::default() }, &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.chars().count() <= budget, "{page}");
        assert!(!is_plain || budget < 60_000 || page.contains(&headline), "{headline}\n{page}");
    }
}

/// Checks that nodes whose snapshots differ are among those that change.
fn snapshots(pipeline: &Pipeline, report: &Report, ids: [RevisionId; 2]) {
    let [before, after] = ids.map(|id| {
        let revision = pipeline.cached_revision(id).unwrap();
        let rendered = pipeline.snapshots(id, &revision, &revision.keys, Format::Json);
        rendered.snapshots.texts()
    });
    let values = |text: &Vec<u8>| serde_json::from_slice::<Json>(text).unwrap()["values"].clone();
    let differing = before.iter().zip(&after).filter(|(before, after)| values(before) != values(after)).count();
    assert!(report.reencrypted.len() > 0 || differing <= report.nodes.changed, "{}", written(report));
}
