//! Repositories with hostile parts: each run of the program ends soon, in little memory, with the right answers for all
//! that is honest.

use std::time::Instant;

use serde_json::Value as Json;

use super::generators::{ALL, Generator};
use super::setting;
use crate::support::extent::{full_or, is_full};
use crate::support::random::Random;
use crate::support::terminal::{Printed, hierad, read};
use crate::support::{Sandbox, work};

/// The steps of a run of `cargo test`, a hundredth of hierad's own limit: that it ends shows that they are counted.
const STEPS: usize = 1_000_000;

pub(super) const SITE: &str = "
-- hiera.yaml
version: 5
hierarchy:
- {name: yaml, path: 'nodes/%{trusted.certname}.yaml'}
- {name: json, path: 'nodes/%{trusted.certname}.json', data_hash: json_data}
- {name: hocon, path: 'nodes/%{trusted.certname}.conf', data_hash: hocon_data}
- {name: common, path: common.yaml}
-- data/common.yaml
lookup_options: {honest_merge: {merge: deep}}
honest: 1
honest_text: \"%{trusted.certname}: %{lookup('honest')}\"
honest_merge: {a: [1], b: {c: 2}}
-- data/nodes/good.yaml
honest: 2
honest_merge: {a: [3], b: {d: 4}}
";

pub(super) const PROFILES: &str = "{\"name\": \"good\"}\n{\"name\": \"bad\"}\n{\"name\": \"other\"}\n";

/// A repository with the profiles of its nodes beside it.
pub(super) fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    std::fs::write(site.beside("profiles.ndjson"), PROFILES).unwrap();
    if !is_full() {
        std::fs::write(site.beside("limits.yaml"), format!("limits: {{steps: {STEPS}}}\n")).unwrap();
    }
    site
}

/// Runs `hierad` in the repository; it must be done in time and within its memory.
#[track_caller]
pub(super) fn run(site: &Sandbox, arguments: &str) -> Printed {
    let mut command = hierad(site.root());
    command.args(arguments.split_whitespace()).arg("--profiles").arg(site.beside("profiles.ndjson"));
    let limits = site.beside("limits.yaml");
    if limits.exists() {
        command.env("HIERAD_CONFIG", limits);
    }
    work::run(site, &mut command)
}

/// The answers for the honest keys on the nodes whose files are honest.
#[track_caller]
pub(super) fn honest(site: &Sandbox) -> Vec<Json> {
    honest_with(site, "")
}

/// The same with other arguments.
#[track_caller]
pub(super) fn honest_with(site: &Sandbox, arguments: &str) -> Vec<Json> {
    let printed = run(site, &format!("render --format ndjson {arguments}"));
    assert!(matches!(printed.status, 0 | 1), "{:.2000}", printed.err);
    let lines = printed.out.lines().map(read);
    let keep = |mut node: Json| {
        for part in ["values", "errors"] {
            if let Some(part) = node[part].as_object_mut() {
                part.retain(|key, _| key.starts_with("honest"));
            }
        }
        node
    };
    lines.filter(|node| node["node"] != "bad").map(keep).collect()
}

/// Adds what a generator makes to an honest repository, and compares.
fn check(Generator { name, kinds, make }: &Generator, seed: u64, size: usize) {
    let repository = site();
    let before = honest(&repository);
    let mut random = Random::new(seed);
    let kind = random.below(*kinds);
    for (path, content) in make(&mut random, kind, size) {
        repository.write(&path, content);
    }
    repository.commit("hostile");
    let start = Instant::now();
    assert_eq!(honest(&repository), before, "{name}, seed {seed}, size {size}");
    let rendered = start.elapsed();
    let printed = run(&repository, "diff --format json HEAD~1 HEAD");
    assert!(matches!(printed.status, 0 | 1), "{name}, seed {seed}: {:.2000}", printed.err);
    let report = read(&printed.out);
    let changes = report["changes"].as_array().unwrap();
    let is_honest = |change: &&Json| change["key"].as_str().unwrap().starts_with("honest");
    let on_good = |change: &Json| {
        let set = usize::try_from(change["nodes"].as_u64().unwrap()).unwrap();
        report["node_sets"][set].as_array().unwrap().iter().any(|node| node != "bad")
    };
    assert!(!changes.iter().filter(is_honest).any(on_good), "{name}, seed {seed}: {changes:?}");
    eprintln!("{name}, seed {seed}, size {size}: {rendered:?}, {:?}", start.elapsed().saturating_sub(rendered));
}

#[test]
fn honest_keys_beside_hostile_ones_have_their_answers() {
    for generator in &ALL {
        (1..=full_or(2, 1)).for_each(|seed| check(generator, seed, 1));
    }
}

#[test]
#[ignore = "needs hours"]
fn hostile_repositories_of_all_sizes_end_soon() {
    let (seed, rounds) = (setting("HIERAD_SEED", 1), setting("HIERAD_ROUNDS", 20));
    for round in seed..seed + rounds {
        for generator in &ALL {
            check(generator, round, 1 + usize::try_from(round % 10).unwrap());
        }
    }
}
