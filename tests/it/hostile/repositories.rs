//! Repositories with hostile parts: each run of the program ends soon, in little memory, with the right answers for all
//! that is honest.

use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::generators::{ALL, Generator};
use super::setting;
use crate::support::Sandbox;
use crate::support::extent::{ENDLESS, full_or, is_full};
use crate::support::random::Random;
use crate::support::terminal::{Printed, hierad, read};

/// The most processor time of a run within hierad's own limits, where all is tried: so many times as much as an honest
/// repository takes that merges a thousand keys of two hundred levels, whatever the machine and the program. One built
/// for release takes about half a second for that. Otherwise a run has [`STEPS`], and that it ends shows that they are
/// counted.
const TIMES_HONEST: u32 = 100;

/// The steps of a run of `cargo test`, a hundredth of hierad's own limit.
const STEPS: usize = 1_000_000;

/// The most memory of a run, in KiB.
pub(super) const MEMORY: u64 = 2 << 20;

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
    let (out, err) = (site.beside("out"), site.beside("err"));
    let to = |path: &std::path::Path| Stdio::from(std::fs::File::create(path).unwrap());
    let mut command = hierad(site.root());
    command.args(arguments.split_whitespace()).arg("--profiles").arg(site.beside("profiles.ndjson"));
    let limits = site.beside("limits.yaml");
    if limits.exists() {
        command.env("HIERAD_CONFIG", limits);
    }
    let limit = if is_full() { most_work() } else { Duration::MAX };
    let mut child = command.stdin(Stdio::null()).stdout(to(&out)).stderr(to(&err)).spawn().unwrap();
    let start = Instant::now();
    let mut most = 0;
    let status = loop {
        most = most.max(memory(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let work = work(&child).unwrap_or_default();
        if work > limit || start.elapsed() > ENDLESS || most > MEMORY {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{arguments}: after {work:?} of work in {:?} with {most} KiB", start.elapsed());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |path| String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    Printed { status: status.code().unwrap_or(-1), out: read(&out), err: read(&err) }
}

/// Returns the most processor time of a run, which is measured once.
fn most_work() -> Duration {
    static MOST: OnceLock<Duration> = OnceLock::new();
    *MOST.get_or_init(|| {
        let levels = "common.yaml, ".repeat(200);
        let keys = (0..1000).fold(String::new(), |text, n| text + &format!("honest{n}: [{n}, a, b, c, d]\n"));
        let site = Sandbox::new();
        site.write("hiera.yaml", format!("version: 5\nhierarchy: [{{name: common, paths: [{levels}]}}]\n"));
        site.write("data/common.yaml", format!("lookup_options: {{'^honest': {{merge: unique}}}}\n{keys}"));
        site.commit("honest");
        std::fs::write(site.beside("profiles.ndjson"), PROFILES).unwrap();
        let mut command = hierad(site.root());
        command.args(["render", "--format", "ndjson", "--profiles"]).arg(site.beside("profiles.ndjson"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        // One that has ended has its time until it is waited for.
        while stat(&child).is_some_and(|(state, _)| state != "Z") {
            std::thread::sleep(Duration::from_millis(10));
        }
        let taken = work(&child).unwrap_or_default();
        assert!(child.wait().unwrap().success());
        taken * TIMES_HONEST
    })
}

/// Returns the state of a process and the processor time that it has had, where the system tells.
fn stat(child: &Child) -> Option<(String, Duration)> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // Behind the name of the program, which is in parentheses; times are in hundredths of a second.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = fields.iter().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap_or(0));
    Some(((*fields.first()?).to_owned(), Duration::from_millis(ticks.sum::<u64>() * 10)))
}

/// Returns the processor time that a process has had, where the system tells.
fn work(child: &Child) -> Option<Duration> {
    Some(stat(child)?.1)
}

/// Returns the most memory that a process has had since this was last asked, in KiB, where the system tells.
pub(super) fn memory(child: &Child) -> Option<u64> {
    let process = format!("/proc/{}", child.id());
    let status = std::fs::read_to_string(format!("{process}/status")).ok()?;
    std::fs::write(format!("{process}/clear_refs"), "5").ok();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
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
