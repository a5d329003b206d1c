//! `git log -p` shows of a node's snapshots the same changes as `hierad diff`, for all commits and nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use serde_json::Value as Json;

use super::{REFERENCE, commits, files, sources};
use crate::generator::{self, Repository};
use crate::support::Sandbox;
use crate::support::terminal::{hierad, nodes_of, run};

/// The changed keys of a node: its value or error before and after.
type Changes = BTreeMap<String, [Option<String>; 2]>;

/// The changes of nodes, by source commit.
type History = BTreeMap<String, BTreeMap<String, Changes>>;

/// A repository and the profiles of its nodes.
pub(crate) struct Site {
    pub(crate) sandbox: Sandbox,
    profiles: PathBuf,
}

impl Site {
    pub(crate) fn hierad(&self, arguments: &str) -> crate::support::terminal::Printed {
        let mut command = hierad(self.sandbox.root());
        command.env("HIERAD_FINGERPRINT_KEY", "5a".repeat(32));
        run(command.arg("--profiles").arg(&self.profiles).args(arguments.split_whitespace()))
    }

    /// The demo's repository, all of its commits.
    fn demo() -> Site {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/demo");
        let sandbox = Sandbox::new();
        let copy = |from: PathBuf| {
            sandbox.sh(&format!("cp -R '{}'/. .", from.display()));
            sandbox.commit("step");
        };
        copy(demo.join("start"));
        let mut steps: Vec<PathBuf> =
            fs::read_dir(demo.join("steps")).unwrap().map(|entry| entry.unwrap().path()).collect();
        steps.sort();
        for step in steps {
            copy(step.join("files"));
        }
        Site { sandbox, profiles: demo.join("profiles") }
    }

    /// A random repository with some edits.
    pub(crate) fn random(seed: u64) -> Site {
        let (sandbox, mut repository) = (Sandbox::new(), generator::generate(seed));
        let profiles = repository.write_profiles(&sandbox.beside("profiles")).unwrap();
        commit(&sandbox, &repository);
        for edit in 1..6 {
            repository = generator::edited(&repository, edit);
            commit(&sandbox, &repository);
        }
        Site { sandbox, profiles }
    }

    /// The real repository of this name, in the folder `HIERAD_SHARED`.
    pub(crate) fn corpus(name: &str) -> Site {
        let shared = std::env::var_os("HIERAD_SHARED").map_or("../shared".into(), PathBuf::from);
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join(shared).join("corpus");
        let bundle = corpus.join(format!("{name}.bundle"));
        let site = Site { sandbox: Sandbox::new(), profiles: corpus.join(format!("{name}-profiles")) };
        let heads = site.sandbox.git(["ls-remote", "--heads", bundle.to_str().unwrap()]);
        let fetched = format!("{}:refs/heads/main", heads.split_once('\t').unwrap().1);
        site.sandbox.git(["fetch", "--quiet", "--update-head-ok", bundle.to_str().unwrap(), &fetched]);
        site
    }

    /// Puts all commits on the reference: the first one alone, the others in one run.
    fn export(&self) {
        let commits = commits(&self.sandbox, "main");
        self.hierad(&format!("export --allow-blind {}", commits[0])).is(0);
        self.hierad("export --allow-blind").is(0);
        assert_eq!(sources(&self.sandbox, REFERENCE), commits);
    }

    /// Fails unless the snapshots at `commit` are just the files of `hierad render --output`.
    fn has_rendered(&self, commit: &str, snapshots: &str) {
        let folder = self.sandbox.beside(&format!("rendered-{commit}"));
        self.hierad(&format!("render {commit} --allow-blind --output {}", folder.display())).is(0);
        fs::remove_file(folder.join("manifest.json")).unwrap();
        for (name, entry) in files(&self.sandbox, snapshots) {
            let rendered = fs::read(folder.join(&name)).unwrap();
            let id = hierad::tree::BlobId::of(&rendered).to_string();
            assert_eq!(entry, format!("100644 blob {id}"), "{name} of {commit}");
            fs::remove_file(folder.join(name)).unwrap();
        }
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "{commit}");
    }

    /// Fails unless the log and the diffs say the same, from the second of `commits` on. How many changes there are.
    fn agrees(&self, commits: &[String]) -> usize {
        let (told, mut logged) = (self.told(commits), self.logged());
        // There all files are new.
        assert_eq!(logged.remove(&commits[0]).map(|nodes| nodes.len()), Some(files(&self.sandbox, REFERENCE).len()));
        for pair in commits.windows(2) {
            let [mut told, mut logged] = [&told, &logged].map(|of| of.get(&pair[1]).cloned().unwrap_or_default());
            if told != logged {
                let known = [self.known(&pair[0]), self.known(&pair[1])];
                leave_out_unknown(&mut told, &mut logged, &known);
                hide(&told, &mut logged);
            }
            assert_eq!(logged, told, "{}", pair[1]);
        }
        assert!(logged.keys().all(|commit| commits.contains(commit)));
        told.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum()
    }

    /// Returns the changes by `hierad diff` between each pair of commits.
    fn told(&self, commits: &[String]) -> History {
        let told = Mutex::new(History::new());
        parallel(&commits.windows(2).collect::<Vec<_>>(), |pair| {
            let report = self.hierad(&format!("diff --allow-blind --full --format json {} {}", pair[0], pair[1]));
            report.is(0);
            let report = report.json();
            assert_eq!(report["after"]["commit"], *pair[1]);
            told.lock().unwrap().insert(pair[1].clone(), of_report(&report));
        });
        told.into_inner().unwrap()
    }

    /// Returns the changes by `git log -p` of each file.
    fn logged(&self) -> History {
        let logged = Mutex::new(History::new());
        let names: Vec<String> = files(&self.sandbox, REFERENCE).into_keys().collect();
        parallel(&names, |name| {
            for (commit, changes) in self.log(name) {
                let node = name.strip_suffix(".json").unwrap().to_owned();
                let earlier = logged.lock().unwrap().entry(commit.clone()).or_default().insert(node, changes);
                assert_eq!(earlier, None, "{commit} twice");
            }
        });
        logged.into_inner().unwrap()
    }

    /// The keys that snapshots of a commit can have: a file that cannot be read has none.
    fn known(&self, commit: &str) -> BTreeSet<String> {
        let lines = self.hierad(&format!("render --allow-blind --format ndjson {commit}"));
        let keys = |line: &str| {
            let node: Json = serde_json::from_str(line).unwrap();
            let of = |field: &str| node[field].as_object().unwrap().keys().cloned().collect::<Vec<String>>();
            [of("values"), of("errors")].concat()
        };
        lines.ok().lines().flat_map(keys).collect()
    }

    /// Returns the changes by `git log -p` of a file, by source commit.
    fn log(&self, name: &str) -> Vec<(String, Changes)> {
        let format = "--format=%x01%(trailers:key=Hierad-Commit,valueonly,separator=)";
        let log = self.sandbox.git(["log", "-p", "-U1000000", format, REFERENCE, "--", name]);
        let patch = |text: &str| {
            let (commit, patch) = text.split_once('\n').unwrap();
            let lines = || patch.lines().skip_while(|line| !line.starts_with("@@")).skip(1);
            let side = |sign: char| {
                let kept: Vec<&str> =
                    lines().filter(|line| line.starts_with([' ', sign])).map(|line| &line[1..]).collect();
                kept.join("\n")
            };
            let (before, after) = (side('-'), side('+'));
            let changes = of_snapshots(&before, &after);
            assert!(before.is_empty() || !changes.is_empty(), "{commit} changes just the form of {name}:\n{patch}");
            (commit.to_owned(), changes)
        };
        log.split('\u{1}').skip(1).map(patch).collect()
    }
}

fn commit(sandbox: &Sandbox, repository: &Repository) {
    sandbox.sh("find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +");
    repository.write(sandbox.root()).unwrap();
    sandbox.commit("edit");
}

/// Does `work` on all items, on a few threads.
fn parallel<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    thread::scope(|scope| {
        for chunk in items.chunks(items.len().div_ceil(4).max(1)) {
            scope.spawn(|| chunk.iter().for_each(&work));
        }
    });
}

/// Leaves out what snapshots cannot have: keys of a file that could be read on one side only. What `hierad diff` tells
/// of these is the error that they have on the other side.
fn leave_out_unknown(
    told: &mut BTreeMap<String, Changes>,
    logged: &mut BTreeMap<String, Changes>,
    known: &[BTreeSet<String>; 2],
) {
    let is_unknown = |key: &String, side: usize| !known[side].contains(key);
    for (node, changes) in logged.iter_mut() {
        let is_told = |key: &String| told.get(node).is_some_and(|told| told.contains_key(key));
        changes.retain(|key, _| is_told(key) || !(is_unknown(key, 0) || is_unknown(key, 1)));
    }
    for changes in told.values_mut() {
        for (key, sides) in changes.iter_mut() {
            for side in (0..2).filter(|side| is_unknown(key, *side)) {
                assert!(sides[side].as_ref().is_none_or(|answer| answer.starts_with("error ")), "{key}: {sides:?}");
                sides[side] = None;
            }
        }
        changes.retain(|_, [before, after]| before != after);
    }
    for nodes in [told, logged] {
        nodes.retain(|_, changes| !changes.is_empty());
    }
}

/// Stands for a value that is a secret on one side only: a report shows neither.
const HIDDEN: &str = "hidden";

/// Hides in the log what `hierad diff` does not tell.
fn hide(told: &BTreeMap<String, Changes>, logged: &mut BTreeMap<String, Changes>) {
    for (node, changes) in logged {
        for (key, sides) in changes {
            let told = told.get(node).and_then(|changes| changes.get(key));
            let is_hidden = |side: &Option<String>| side.as_ref().is_some_and(|text| text.starts_with(HIDDEN));
            if let Some(told) = told.filter(|told| told.iter().all(is_hidden)) {
                sides.clone_from(told);
            }
        }
    }
}

/// The text of an error without the place that a report adds to it.
fn error(text: &Json) -> String {
    let text = text.as_str().unwrap();
    let end = text.rfind(" (").filter(|_| text.ends_with(')')).unwrap_or(text.len());
    format!("error {}", &text[..end])
}

/// The changes in a report of `hierad diff`, by node.
fn of_report(report: &Json) -> BTreeMap<String, Changes> {
    let mut nodes: BTreeMap<String, Changes> = BTreeMap::new();
    for change in report["changes"].as_array().unwrap() {
        let leaves = change["leaves"].as_array().unwrap();
        let is_hidden = leaves.iter().any(|leaf| ["sealed", "unsealed"].iter().any(|kind| leaf["kind"] == *kind));
        let side = |side: &str| {
            if is_hidden {
                return Some(format!("{HIDDEN} {side}"));
            }
            let answer = change[side].as_object()?;
            Some(answer.get("value").map_or_else(|| error(&answer["error"]), Json::to_string))
        };
        for node in nodes_of(report, &change["nodes"]) {
            let key = change["key"].as_str().unwrap().to_owned();
            let known = nodes.entry(node.to_owned()).or_default();
            assert_eq!(known.insert(key, [side("before"), side("after")]), None);
        }
    }
    nodes
}

/// Returns the differences of two snapshots.
fn of_snapshots(before: &str, after: &str) -> Changes {
    let mut changes = Changes::new();
    for (at, text) in [before, after].into_iter().enumerate().filter(|(_, text)| !text.is_empty()) {
        let snapshot: Json = serde_json::from_str(text).unwrap();
        assert_eq!(snapshot["schema"], "hierad.snapshot/1");
        for (key, value) in snapshot["values"].as_object().unwrap() {
            changes.entry(key.clone()).or_default()[at] = Some(value.to_string());
        }
        for (key, text) in snapshot["errors"].as_object().unwrap() {
            changes.entry(key.clone()).or_default()[at] = Some(error(text));
        }
    }
    changes.retain(|_, [before, after]| before != after);
    changes
}

#[test]
fn exports_of_the_demo_agree() {
    let site = Site::demo();
    site.export();
    let commits = commits(&site.sandbox, "main");
    assert!(site.agrees(&commits) > 20);
    for (back, commit) in commits.iter().rev().enumerate() {
        site.has_rendered(commit, &format!("{REFERENCE}~{back}"));
    }
}

#[test]
fn exports_of_random_repositories_agree() {
    let mut changes = 0;
    for seed in 100..108 {
        let site = Site::random(seed);
        site.export();
        let commits = commits(&site.sandbox, "main");
        changes += site.agrees(&commits);
        // What follows is rendered for all nodes, as each run does, and yet nothing is written that was not.
        let tip = site.sandbox.git(["rev-parse", REFERENCE]);
        site.sandbox.git(["update-ref", "-d", REFERENCE]);
        for (back, commit) in commits.iter().rev().enumerate().rev() {
            site.hierad(&format!("export --allow-blind {commit}")).is(0);
            site.has_rendered(commit, &format!("{tip}~{back}"));
        }
        assert_eq!(site.sandbox.git(["rev-parse", REFERENCE]), tip, "seed {seed}");
    }
    assert!(changes > 100, "{changes}");
}

/// The number of commits of the corpus.
const COMMITS: usize = 200;

#[test]
#[ignore = "needs a corpus, in the folder HIERAD_SHARED"]
fn exports_of_a_real_repository_agree() {
    let site = Site::corpus("ocf");
    let all = commits(&site.sandbox, "main");
    let last = &all[all.len() - COMMITS..];
    site.hierad(&format!("export {}~{}..main", "main", COMMITS)).is(0);
    assert_eq!(sources(&site.sandbox, REFERENCE), last);
    assert!(site.agrees(last) > 10_000);
    for back in [0, 50, 150, COMMITS - 1] {
        site.has_rendered(&last[COMMITS - 1 - back], &format!("{REFERENCE}~{back}"));
    }
}
