//! Other facts of nodes in the daemon: they have reports of their own, and are in no report of a commit.
//!
//! `HIERAD_SEED` and `HIERAD_SEQUENCES` (200) set the dice and the number of random sequences of the long test.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::server::{PuppetDb, node};
use crate::http::client::Daemon;
use crate::support::random::Random;
use crate::support::terminal::{hierad, nodes_of, run};
use crate::support::{Sandbox, report};

const HIERA: &str = "
-- hiera.yaml
version: 5
hierarchy:
  - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: Role, path: 'roles/%{facts.role}.yaml'}
  - {name: System, path: 'os/%{facts.os.family}.yaml'}
  - {name: Common, path: common.yaml}
-- data/common.yaml
who: '%{facts.os.family} %{facts.role} 0'
port: 1
";

const NODES: [&str; 4] = ["a.example.com", "b.example.com", "c.example.com", "d.example.com"];

/// The values of all nodes by node and key.
type Values = BTreeMap<(String, String), Json>;

/// The values before and after a change by node and key.
type Told = BTreeMap<(String, String), [Option<Json>; 2]>;

/// A daemon with its data, its nodes, and all that was true of them.
struct Site {
    sandbox: Sandbox,
    server: PuppetDb,
    random: Random,
    daemon: Daemon,
    /// The commits and the facts of nodes so far.
    commits: Vec<String>,
    facts: Vec<Vec<Json>>,
    known: RefCell<BTreeMap<(usize, usize), Values>>,
}

impl Site {
    fn start(seed: u64) -> Site {
        let (sandbox, mut random) = (Sandbox::of(HIERA), Random::new(seed));
        let nodes: Vec<Json> = NODES.map(|name| some_node(name, 0, &mut random)).into();
        let server = PuppetDb::with(nodes.clone());
        let settings = format!(
            "profiles: [{{puppetdb: {{url: '{}', refresh: 0.0003}}}}]\nsinks: {{files: {{folder: {}}}}}\n\
             snapshots: {{history: {{ref: true}}}}\n",
            server.url,
            sandbox.beside("files").display()
        );
        sandbox.write(".git/hierad.yaml", settings);
        let daemon = Daemon::start_in(sandbox.root(), &sandbox.beside("state"), "");
        let commits = vec![sandbox.id("HEAD").to_string()];
        Site { sandbox, server, random, daemon, commits, facts: vec![nodes], known: RefCell::default() }
    }

    /// Commits another number somewhere.
    fn commit(&mut self) {
        let number = self.commits.len();
        let (path, content) = match self.random.below(6) {
            0 => ("data/common.yaml", format!("who: '%{{facts.os.family}} {number}'\nport: {number}\n")),
            // Facts that were not asked for before.
            1 => ("data/common.yaml", format!("who: '%{{facts.role}} %{{facts.rack}} {number}'\nport: 1\n")),
            2 => ("data/roles/web.yaml", format!("port: {number}\n")),
            3 => ("data/roles/db.yaml", format!("port: '%{{facts.rack}} {number}'\n")),
            4 => ("data/os/Debian.yaml", format!("only_here: {number}\n")),
            _ => ("data/nodes/b.example.com.yaml", format!("port: {number}\n")),
        };
        self.sandbox.files(&format!("-- {path}\n{content}"));
        self.sandbox.commit(&format!("number {number}"));
        self.commits.push(self.sandbox.id("HEAD").to_string());
    }

    /// Has the server tell of other facts.
    fn refresh(&mut self) {
        let number = self.facts.len();
        let mut nodes = self.facts.last().unwrap().clone();
        for (at, name) in NODES.into_iter().enumerate() {
            if self.random.below(3) == 0 {
                nodes[at] = some_node(name, number, &mut self.random);
            }
        }
        self.server.change(|state| state.nodes.clone_from(&nodes));
        self.facts.push(nodes);
    }

    /// The values at a commit for nodes with the facts of a time.
    fn values(&self, commit: usize, facts: usize) -> Values {
        let known = self.known.borrow().get(&(commit, facts)).cloned();
        known.unwrap_or_else(|| {
            let path = self.sandbox.beside(&format!("facts-{facts}.ndjson"));
            let lines: Vec<String> = self.facts[facts].iter().map(profile).collect();
            fs::write(&path, lines.join("\n")).unwrap();
            let mut command = hierad(self.sandbox.root());
            command.args(["render", &self.commits[commit], "--format", "ndjson", "--output", "-", "--profiles"]);
            let values = rendered(run(command.arg(path)).ok());
            self.known.borrow_mut().insert((commit, facts), values.clone());
            values
        })
    }

    /// The times whose facts give these values at a commit.
    fn times(&self, commit: usize, values: &Values) -> BTreeSet<usize> {
        (0..self.facts.len()).filter(|facts| self.values(commit, *facts) == *values).collect()
    }

    fn reports(&self) -> Vec<Json> {
        let files = fs::read_dir(self.sandbox.beside("files")).into_iter().flatten();
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.iter().map(|path| report::read(fs::read(path).unwrap())).collect()
    }

    /// Goes through the reports so far. Each begins where the one before ends; a commit has the facts that were there
    /// before, and facts have the commit. Returns the last commit, the values then, and the number of either kind.
    fn follow(&self) -> (usize, Values, [usize; 2]) {
        let (mut at, mut values, mut counts) = (0, self.values(0, 0), [0, 0]);
        for report in self.reports() {
            let id = |side: &str| report[side]["commit"].as_str().unwrap();
            assert_eq!(id("before"), self.commits[at], "{report}");
            let before = self.times(at, &values);
            assert!(!before.is_empty(), "no facts give these values: {values:?}");
            apply(&report, &mut values);
            if report["event"]["kind"] == "facts" {
                assert_eq!(id("after"), self.commits[at], "{report}");
                assert!(!report["changes"].as_array().unwrap().is_empty(), "{report}");
                counts[1] += 1;
            } else {
                at += 1;
                assert_eq!(id("after"), self.commits[at], "{report}");
                assert!(before.iter().any(|facts| self.values(at, *facts) == values), "{report}");
                counts[0] += 1;
            }
        }
        (at, values, counts)
    }

    /// Waits until the reports come to where commits and facts are now. Returns the number of either kind.
    fn settle(&self) -> [usize; 2] {
        let (last, facts) = (self.commits.len() - 1, self.facts.len() - 1);
        let end = Instant::now() + Duration::from_mins(2);
        loop {
            let (at, values, counts) = self.follow();
            if at == last && values == self.values(last, facts) && self.has_snapshots(&values) {
                return counts;
            }
            assert!(Instant::now() < end, "at {at} of {last}: {values:?}\n{:?}", self.values(last, facts));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Compares what the history says of facts with the reports about them.
    fn has_facts_in_its_history(&self) {
        let is_of_facts = |entry: &Json| entry["event"]["kind"] == "facts";
        let reports: Vec<_> = self.reports().into_iter().filter(is_of_facts).map(|report| told(&report)).collect();
        let mut command = hierad(self.sandbox.root());
        let printed = run(command.args(["log", "--format", "ndjson", "--reverse"]));
        let entries = printed.ok().lines().map(report::read).filter(is_of_facts);
        assert_eq!(entries.map(|entry| told(&entry)).collect::<Vec<_>>(), reports);
        let page = self.daemon.get("/v1/history?limit=1000").json();
        let entries = page["entries"].as_array().unwrap().iter().rev().map(|entry| report::read(entry.to_string()));
        assert_eq!(entries.filter(is_of_facts).map(|entry| told(&entry)).collect::<Vec<_>>(), reports);
    }

    /// True if the last snapshots have these values, or there are none yet.
    fn has_snapshots(&self, values: &Values) -> bool {
        let mut found = Values::new();
        for name in NODES {
            let place = format!("refs/hierad/snapshots/main:{name}.json");
            let output =
                std::process::Command::new("git").current_dir(self.sandbox.root()).args(["show", &place]).output();
            let Ok(snapshot) = serde_json::from_slice::<Json>(&output.unwrap().stdout) else { return true };
            for (key, value) in snapshot["values"].as_object().unwrap() {
                found.insert((name.to_owned(), key.clone()), value.clone());
            }
        }
        found == *values
    }
}

/// A node with random facts. The rack of a node stays the same, and no data reads the uptime.
fn some_node(name: &str, number: usize, random: &mut Random) -> Json {
    let (family, role) = (*random.pick(&["Debian", "RedHat"]), *random.pick(&["web", "db", "none"]));
    let facts = json!({"os": {"family": family}, "role": role, "rack": name[..1], "uptime": number});
    node(name, "production", facts, &json!({}))
}

/// The values of snapshots, one a line.
fn rendered(snapshots: &str) -> Values {
    let mut values = Values::new();
    for line in snapshots.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()) {
        for (key, value) in line["values"].as_object().unwrap() {
            values.insert((line["node"].as_str().unwrap().to_owned(), key.clone()), value.clone());
        }
    }
    values
}

/// The line of a profile.
fn profile(node: &Json) -> String {
    let mut facts = node["facts"].clone();
    facts.as_object_mut().unwrap().remove("trusted");
    json!({"name": node["certname"], "environment": node["environment"], "facts": facts, "trusted": node["trusted"]})
        .to_string()
}

/// Applies the changes of a report to values, which have to be as it says that they were.
fn apply(report: &Json, values: &mut Values) {
    for change in report["changes"].as_array().unwrap() {
        for node in nodes_of(report, &change["nodes"]) {
            let key = (node.to_owned(), change["key"].as_str().unwrap().to_owned());
            assert_eq!(values.get(&key), change["before"].get("value"), "{key:?} in {report}");
            match change["after"].get("value") {
                Some(value) => _ = values.insert(key, value.clone()),
                None => _ = values.remove(&key),
            }
        }
    }
}

/// The commit of a report, and both values of each node and key that it has.
fn told(report: &Json) -> (Json, Told) {
    let mut all = Told::new();
    for change in report["changes"].as_array().unwrap() {
        for node in nodes_of(report, &change["nodes"]) {
            let key = (node.to_owned(), change["key"].as_str().unwrap().to_owned());
            all.insert(key, ["before", "after"].map(|side| change[side].get("value").cloned()));
        }
    }
    (report["after"]["commit"].clone(), all)
}

/// Lets commits and facts come in random order. Returns the number of reports of either kind.
fn sequence(seed: u64) -> [usize; 2] {
    let mut site = Site::start(seed);
    for _ in 0..5 {
        match site.random.below(4) {
            0 => site.commit(),
            1 => site.refresh(),
            2 => {
                site.commit();
                site.refresh();
            }
            _ => {
                site.refresh();
                site.commit();
            }
        }
        match site.random.below(3) {
            0 => _ = site.settle(),
            1 => std::thread::sleep(Duration::from_millis(site.random.next() % 2000)),
            _ => {}
        }
    }
    let counts = site.settle();
    site.has_facts_in_its_history();
    counts
}

/// Runs sequences, some at a time. Returns the number of reports of either kind.
fn sequences(seed: u64, count: u64, at_once: u64) -> [usize; 2] {
    let some = |first: u64| {
        (first..count).step_by(usize::try_from(at_once).unwrap()).map(move |number| sequence(seed + number))
    };
    let add = |all: [usize; 2], more: [usize; 2]| [all[0] + more[0], all[1] + more[1]];
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|first| scope.spawn(move || some(first).fold([0, 0], add))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold([0, 0], add)
    })
}

#[test]
fn facts_have_reports_of_their_own() {
    let mut site = Site::start(1);
    site.commit();
    assert_eq!(site.settle(), [1, 0]);
    site.server.change(|state| {
        for (number, node) in state.nodes.iter_mut().enumerate() {
            node["facts"]["os"]["family"] = ["Debian", "RedHat", "Suse", "Arch"][number].into();
        }
    });
    let nodes = site.server.change(|state| state.nodes.clone());
    site.facts.push(nodes);
    assert_eq!(site.settle(), [1, 1]);
    let report = site.reports().pop().unwrap();
    // A commit is asked for by its id, facts by their number, too.
    let id = site.commits[1].clone();
    let answer = |query: &str| site.daemon.get(&format!("/v1/reports/{id}{query}")).json();
    assert_eq!(answer("")["event"]["kind"], "new");
    assert_eq!(answer(&format!("?number={}", report["event"]["number"])), report);
    assert_eq!((&report["event"]["kind"], &report["before"]), (&json!("facts"), &report["after"]));
    assert!(report["nodes_fetched"].is_string(), "{report}");
    let findings: Vec<&str> =
        report["diagnostics"].as_array().unwrap().iter().map(|finding| finding["text"].as_str().unwrap()).collect();
    assert!(findings.iter().any(|text| text.starts_with("the variable facts.os.family changes: ")), "{findings:?}");
    let log = site.sandbox.git(["log", "-1", "--format=%B", "refs/hierad/snapshots/main"]);
    assert!(log.contains("The facts of nodes have changed since the snapshots before these."), "{log}");
    has_the_facts_of_then(&site);
    // Facts that no data reads say nothing, and no commit says anything of facts.
    site.server.change(|state| state.nodes.iter_mut().for_each(|node| node["facts"]["uptime"] = json!("long")));
    site.commit();
    assert_eq!(site.settle(), [2, 1]);
}

/// Looks at the time before the last change of facts, and at its own.
fn has_the_facts_of_then(site: &Site) {
    let hierad = |arguments: &str| site.sandbox.hierad(arguments);
    let log = hierad("log who --format json").json();
    let time = log[0]["event"]["time"].as_str().unwrap();
    for (flags, words) in [
        (
            "-n 1",
            &["facts of nodes, after commit ", &*site.commits[1], time, "\n    the variable facts.os.family changes: "]
                [..],
        ),
        ("-n 1 --oneline", &["facts of nodes: the variable facts.os.family changes: "]),
    ] {
        let printed = hierad(&format!("log who {flags}"));
        assert!(words.iter().all(|words| printed.ok().contains(words)), "{}", printed.out);
    }
    assert!(!hierad("log who --author Ada").ok().contains("facts of nodes"));
    let second = time.parse::<jiff::Timestamp>().unwrap().as_second();
    for (number, date) in [(0, format!("@{}", second - 1)), (1, time.to_owned())] {
        let mut command = crate::support::terminal::hierad(site.sandbox.root());
        let printed = run(command.args(["render", "--format", "ndjson", "--as-of", &date]));
        assert!(printed.err.contains("with the facts of then"), "{}", printed.err);
        assert_eq!(rendered(printed.ok()), site.values(1, number), "{date}");
    }
}

#[test]
fn commits_and_facts_in_any_order_add_up() {
    let [commits, facts] = sequences(10, 4, 4);
    assert!(commits > 5 && facts > 2, "{commits} of commits, {facts} of facts");
}

#[test]
#[ignore = "takes minutes"]
fn commits_and_facts_in_two_hundred_orders_add_up() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (seed, count) = (number("HIERAD_SEED").unwrap_or(1000), number("HIERAD_SEQUENCES").unwrap_or(200));
    let [commits, facts] = sequences(seed, count, 8);
    println!("{count} sequences from seed {seed}: {commits} reports of commits, {facts} of facts");
    assert!(commits > 0 && facts > 0);
}
