//! Snapshots of random answers: each node has its own, whatever the form, the choice of nodes and the number of
//! threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use hierad::disclosure::Disclosure;
use hierad::disk::FileMode;
use hierad::fleet::{Answer, Effective, Fleet};
use hierad::hiera::{LookupError, Outcome};
use hierad::node::{NodeId, NodeSet, read_profiles};
use hierad::puppet::json;
use hierad::snapshot::{Format, Manifest, Snapshots, Written, write_folder};
use hierad::workers::Workers;

/// More than a batch has.
const NODES: u32 = 700;

fn fleet() -> Fleet {
    let profiles: Vec<String> = (0..NODES).map(|node| format!("{{\"name\": \"n{node:04}\"}}")).collect();
    Fleet::new(read_profiles(profiles.join("\n").as_bytes(), "p.ndjson", "production").0)
}

fn outcome(random: &mut fastrand::Rng, number: usize) -> Arc<Outcome> {
    let text = format!("answer {number}\n{}", "\"long\" ".repeat(random.usize(0..9)));
    Arc::new(match random.u8(0..3) {
        0 => Outcome::Failed(LookupError::puppet(text)),
        1 => Outcome::Found([text.as_str().into(), 7.into()].into_iter().collect()),
        _ => Outcome::Found(text.as_str().into()),
    })
}

/// Some keys divide the nodes by chance, others by hundreds, by node, or not at all; many leave nodes out.
fn effective(random: &mut fastrand::Rng, keys: usize) -> Effective {
    let answers = |random: &mut fastrand::Rng, key: usize| {
        let parts = random.usize(1..6);
        let mut of: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
        for node in 0..NODES {
            let part = match key % 4 {
                0 => random.usize(0..parts),
                1 => node as usize / 100,
                2 => node as usize,
                _ => 0,
            };
            if key % 8 < 4 || random.u8(0..4) > 0 {
                of.entry(part).or_default().push(NodeId(node));
            }
        }
        let answer =
            |(part, nodes): (usize, Vec<NodeId>)| Answer::new(nodes.into_iter().collect(), outcome(random, part));
        let mut answers: Vec<Answer> = of.into_iter().map(answer).collect();
        answers.sort_by_key(|answer| answer.nodes.first());
        answers
    };
    Effective { keys: (0..keys).map(|key| (format!("key{key:03}").into(), answers(random, key))).collect() }
}

/// The line of one node, made in the plainest way.
fn line(effective: &Effective, fleet: &Fleet, node: NodeId) -> String {
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for (key, answers) in &effective.keys {
        match answers.iter().find(|answer| answer.nodes.contains(node)).map(|answer| &*answer.outcome) {
            Some(Outcome::Found(value)) => values.push(format!("{}:{}", json::string(key), json::compact(value))),
            Some(Outcome::Failed(error)) => {
                errors.push(format!("{}:{}", json::string(key), json::string(error.text.as_str())));
            }
            Some(Outcome::NotFound) | None => {}
        }
    }
    let one = NodeSet::from_iter([node]);
    let name = json::string(fleet.names(&one).next().unwrap());
    format!("{{\"node\":{name},\"values\":{{{}}},\"errors\":{{{}}}}}\n", values.join(","), errors.join(","))
}

fn written(snapshots: &Snapshots<'_>) -> String {
    let mut out = Vec::new();
    snapshots.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let read =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap());
    fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap())).collect()
}

fn some_nodes(random: &mut fastrand::Rng, fleet: &Fleet) -> Vec<NodeSet> {
    let every = |step| (0..NODES).step_by(step).map(NodeId).collect();
    let chance = (0..NODES).filter(|_| random.u8(0..9) == 0).map(NodeId).collect();
    vec![fleet.all(), every(2), chance, [NodeId(NODES - 1)].into_iter().collect(), NodeSet::new()]
}

#[test]
fn snapshots_have_their_nodes_answers() {
    let (random, fleet) = (&mut fastrand::Rng::with_seed(1), fleet());
    for keys in [0, 1, 40] {
        let effective = effective(random, keys);
        for nodes in some_nodes(random, &fleet) {
            let snapshots = |format| {
                written(&Snapshots::new(
                    effective.clone(),
                    &fleet,
                    &nodes,
                    format,
                    &Disclosure::shown(),
                    &Workers::of(1),
                ))
            };
            let lines = snapshots(Format::Ndjson);
            let expected: String = nodes.iter().map(|node| line(&effective, &fleet, node)).collect();
            assert!(lines == expected, "{keys} keys, {nodes:?}");
            let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            let mut array = parsed(&snapshots(Format::Json));
            for snapshot in array.as_array_mut().unwrap() {
                assert_eq!(snapshot.as_object_mut().unwrap().shift_remove("schema").unwrap(), "hierad.snapshot/1");
            }
            assert_eq!(array, lines.lines().map(parsed).collect::<serde_json::Value>());
        }
    }
}

#[test]
fn folder_and_stream_are_equal() {
    let (random, fleet) = (&mut fastrand::Rng::with_seed(2), fleet());
    let effective = effective(random, 12);
    for (format, extension) in [(Format::Json, "json"), (Format::Yaml, "yaml")] {
        let snapshots =
            Snapshots::new(effective.clone(), &fleet, &fleet.all(), format, &Disclosure::shown(), &Workers::of(1));
        let base = tempfile::tempdir().unwrap();
        let write = |folder: &str, threads: usize| {
            let manifest = Manifest::new(None, fleet.len(), effective.keys.len(), 8);
            write_folder(&snapshots, manifest, &base.path().join(folder), FileMode::PRIVATE, &Workers::of(threads))
                .unwrap()
        };
        for threads in [1, 2, 5, 64] {
            let name = threads.to_string();
            assert_eq!(write(&name, threads), Written { changed: fleet.len(), ..Written::default() });
            assert_eq!(write(&name, threads), Written::default());
            let names = |folder: &str| files(&base.path().join(folder));
            assert!(names(&name) == names("1"), "{threads} threads");
        }
        let mut files = files(&base.path().join("1"));
        assert_eq!(files.len(), fleet.len() + 1);
        files.remove("manifest.json");
        assert_eq!(files.keys().next().unwrap(), &format!("n0000.{extension}"));
        let texts: Vec<&str> = files.values().map(String::as_str).collect();
        let stream = match format {
            Format::Json => format!("[\n{}\n]\n", texts.concat().replace("\n}\n{\n", "\n},\n{\n").trim_end()),
            Format::Yaml | Format::Ndjson => texts.concat(),
        };
        assert!(stream == written(&snapshots));
    }
}

#[test]
fn the_first_nodes_error_is_reported() {
    let fleet = fleet();
    let effective = effective(&mut fastrand::Rng::with_seed(3), 3);
    let snapshots =
        Snapshots::new(effective.clone(), &fleet, &fleet.all(), Format::Json, &Disclosure::shown(), &Workers::of(1));
    for threads in [1, 2, 5, 16] {
        let folder = tempfile::tempdir().unwrap();
        for node in [5, 6, 90, 350, 699] {
            fs::create_dir_all(folder.path().join(format!("n{node:04}.json/x"))).unwrap();
        }
        let manifest = Manifest::new(None, 0, 0, 8);
        let error =
            write_folder(&snapshots, manifest, folder.path(), FileMode::PRIVATE, &Workers::of(threads)).unwrap_err();
        assert!(error.to_string().starts_with("n0005.json: "), "{threads} threads: {error}");
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let odd = |name: &&std::ffi::OsString| *name == "manifest.json" || name.to_string_lossy().starts_with('.');
        assert_eq!(names.iter().find(odd), None);
    }
}
