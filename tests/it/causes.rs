//! The causes of changes, checked by undoing them: without the lines that cause a difference it is gone, and nothing
//! else changes but what names these lines; without a line that has no effect nothing changes.

mod kinds;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use hierad::hiera::backend::{DataFile, Format};
use serde_json::Value as Json;

use crate::generator;
use crate::support::Sandbox;
use crate::support::git_command;
use crate::support::random::Random;
use crate::support::terminal::{hierad, nodes_of, run};

/// Changed lines: the side that has them, the file and the numbers.
type Lines = BTreeSet<(String, String, u32)>;

/// The results.
#[derive(Debug, Default)]
struct Tally {
    commits: usize,
    leaves: usize,
    /// Differences whose causes are not known.
    without_causes: Vec<String>,
    without_origin: usize,
    lines: BTreeMap<String, usize>,
    undone_leaves: usize,
    of_several_files: usize,
    undone_lines: usize,
    /// Undone files that cannot be parsed.
    broken: usize,
    /// Undone with the lines that are told to belong to them: one half of what moved does what the other one undoes.
    with_others: usize,
    faults: Vec<String>,
}

/// A repository whose commits are judged.
struct Lab {
    sandbox: Sandbox,
    profiles: PathBuf,
}

impl Lab {
    fn report(&self, before: &str, after: &str) -> Json {
        let mut command = hierad(self.sandbox.root());
        command.arg("--profiles").arg(&self.profiles);
        let report = run(command.args(["diff", "--full", "--allow-blind", "--format", "json", before, after]));
        report.json()
    }

    /// Judges a commit by up to `samples` differences and as many lines without effect.
    fn judge(&self, before: &str, after: &str, samples: usize, random: &mut Random, tally: &mut Tally) {
        let report = self.report(before, after);
        tally.commits += 1;
        let mut leaves: Vec<(&Json, &Json)> = Vec::new();
        for change in report["changes"].as_array().unwrap() {
            leaves.extend(change["leaves"].as_array().unwrap().iter().map(|leaf| (change, leaf)));
        }
        tally.leaves += leaves.len();
        for (change, leaf) in &leaves {
            if leaf["lines"].is_null() {
                tally.without_causes.push(format!("{after}: {} {}", change["key"], leaf["path"]));
            }
            let lacks_origin = |side: &str| !leaf[side].is_null() && leaf[side]["origin"].is_null();
            tally.without_origin += usize::from(lacks_origin("before") || lacks_origin("after"));
        }
        self.check_lines(before, after, &report, tally);
        leaves.retain(|(_, leaf)| !leaf["lines"].is_null());
        for _ in 0..samples.min(leaves.len()) {
            let (change, leaf) = leaves.swap_remove(random.below(leaves.len()));
            self.undo_leaf(before, after, &report, (change, leaf), tally);
        }
        let lines = report["lines"].as_array().unwrap();
        let mut idle: Vec<usize> = (0..lines.len()).filter(|at| lines[*at]["effect"] == "none").collect();
        for _ in 0..samples.min(idle.len()) {
            let at = idle.swap_remove(random.below(idle.len()));
            self.undo_idle(before, after, &report, at, tally);
        }
    }

    /// Fails unless each line is told of once, and all others are the same on both sides.
    fn check_lines(&self, before: &str, after: &str, report: &Json, tally: &mut Tally) {
        let mut told = Lines::new();
        for lines in report["lines"].as_array().unwrap() {
            let effect = lines["effect"].as_str().unwrap();
            let name = lines["reason"].as_str().map_or(effect.to_owned(), |reason| format!("{effect}: {reason}"));
            for line in lines_of(lines) {
                *tally.lines.entry(name.clone()).or_default() += 1;
                assert!(told.insert(line.clone()), "{after}: {line:?} twice");
            }
        }
        for path in told.iter().map(|(_, path, _)| path).collect::<BTreeSet<_>>() {
            let edit = Edit::of(&self.sandbox, path, before, after, &told);
            let kept = |side: &str, content: Option<&Vec<u8>>| -> Vec<Vec<u8>> {
                let all = lines(content).into_iter().zip(1..);
                all.filter(|(_, number)| !edit.is_told(side, *number)).map(|(line, _)| line).collect()
            };
            assert_eq!(kept("before", edit.before.as_ref()), kept("after", edit.after.as_ref()), "{after}: {path}");
        }
    }

    /// Undoes the causes of a difference: it is gone then, and nothing else changes that does not name these lines.
    fn undo_leaf(&self, before: &str, after: &str, report: &Json, (change, leaf): (&Json, &Json), tally: &mut Tally) {
        let causes = positions(&leaf["lines"]);
        let name = format!("{after}: {} {} ({})", change["key"], leaf["path"], told(report, &causes));
        let node = nodes_of(report, &change["nodes"])[0];
        let is_like = |other: &Json| {
            let value = |leaf: &Json, side: &str| leaf[side]["value"].clone();
            other["kind"] == leaf["kind"]
                && without_numbers(&other["path"]) == without_numbers(&leaf["path"])
                && (leaf["kind"] == "reordered"
                    || ["before", "after"].iter().all(|side| value(other, side) == value(leaf, side)))
        };
        let is_there = |report: &Json| {
            report["changes"].as_array().unwrap().iter().any(|other| {
                other["key"] == change["key"]
                    && nodes_of(report, &other["nodes"]).contains(&node)
                    && other["leaves"].as_array().unwrap().iter().any(is_like)
            })
        };
        let fault = |lines: &BTreeSet<usize>, undone: &str| {
            if is_there(&self.report(before, undone)) {
                return Some(format!("{name}: still there in {undone}"));
            }
            let fault = unnamed(&self.report(undone, after), report, lines)?;
            Some(format!("{name}: {fault} in {undone}"))
        };
        let files = causes.iter().map(|at| &report["lines"][*at]["path"]).map(Json::to_string).collect::<BTreeSet<_>>();
        tally.of_several_files += usize::from(files.len() > 1);
        tally.undone_leaves += usize::from(self.undo_together(before, after, report, causes, tally, &fault));
    }

    /// Undoes lines without effect, with those that stand opposite to them and have none either: nothing changes.
    fn undo_idle(&self, before: &str, after: &str, report: &Json, at: usize, tally: &mut Tally) {
        let is_idle = |other: &Json| other["effect"] == "none" && other["path"] == report["lines"][at]["path"];
        let all = report["lines"].as_array().unwrap();
        let chosen = lines_of(&all[at]);
        let edit = Edit::of(&self.sandbox, all[at]["path"].as_str().unwrap(), before, after, &lines_of_all(report));
        let hunks: Lines = edit.hunks().into_iter().filter(|hunk| !hunk.is_disjoint(&chosen)).flatten().collect();
        let opposite = (0..all.len()).filter(|at| is_idle(&all[*at]) && !lines_of(&all[*at]).is_disjoint(&hunks));
        let name = format!("{after}: {}", shown(&all[at]));
        let fault = |lines: &BTreeSet<usize>, undone: &str| {
            let fault = unnamed(&self.report(undone, after), report, lines)?;
            Some(format!("{name} has an effect: {fault} in {undone}"))
        };
        tally.undone_lines += usize::from(self.undo_together(before, after, report, opposite.collect(), tally, &fault));
    }

    /// Undoes lines and, if `fault` has something against that, with them those that belong to them. Returns false if
    /// that cannot be parsed.
    fn undo_together(
        &self,
        before: &str,
        after: &str,
        report: &Json,
        mut lines: BTreeSet<usize>,
        tally: &mut Tally,
        fault: &dyn Fn(&BTreeSet<usize>, &str) -> Option<String>,
    ) -> bool {
        let undo = |lines: &BTreeSet<usize>| {
            let undone = lines.iter().flat_map(|at| lines_of(&report["lines"][*at])).collect();
            self.undo(before, after, &undone, &lines_of_all(report))
        };
        let Some(undone) = undo(&lines) else {
            tally.broken += 1;
            return false;
        };
        let Some(mut found) = fault(&lines, &undone) else { return true };
        let alone = lines.len();
        while let Some(more) =
            lines.iter().flat_map(|at| positions(&report["lines"][*at]["with"])).find(|at| !lines.contains(at))
        {
            lines.insert(more);
        }
        if lines.len() > alone {
            let Some(undone) = undo(&lines) else {
                tally.broken += 1;
                return false;
            };
            tally.with_others += 1;
            match fault(&lines, &undone) {
                Some(fault) => found = fault,
                None => return true,
            }
        }
        tally.faults.push(found);
        true
    }

    /// Makes a commit like `after` without these changed lines. `None` if a file of it cannot be parsed.
    fn undo(&self, before: &str, after: &str, lines: &Lines, told: &Lines) -> Option<String> {
        let index = self.sandbox.beside("index");
        let git = |arguments: &[&str]| {
            let mut command: Command = git_command(self.sandbox.root());
            let output = command.env("GIT_INDEX_FILE", &index).args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["read-tree", after]);
        for path in lines.iter().map(|(_, path, _)| path).collect::<BTreeSet<_>>() {
            let edit = Edit::of(&self.sandbox, path, before, after, told);
            let content = edit.without(lines);
            if content.is_empty() && (edit.before.is_none() || edit.after.is_none()) {
                git(&["update-index", "--force-remove", path]);
                continue;
            }
            let file = DataFile::parse(&content, Format::of_path(path));
            let was = edit.after.as_ref().or(edit.before.as_ref()).unwrap();
            if file.fault().is_some() && DataFile::parse(was, Format::of_path(path)).fault().is_none() {
                return None;
            }
            let scratch = self.sandbox.beside("content");
            std::fs::write(&scratch, &content).unwrap();
            let id = git(&["hash-object", "-w", scratch.to_str().unwrap()]);
            git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},{path}")]);
        }
        let tree = git(&["write-tree"]);
        Some(git(&["commit-tree", "-p", before, "-m", "undone", &tree]))
    }
}

/// Returns a change that is not among those which some lines cause.
fn unnamed(changes: &Json, report: &Json, lines: &BTreeSet<usize>) -> Option<String> {
    let names = |lines: &Json, key: &Json| {
        !lines["more_keys"].is_null() || lines["keys"].as_array().is_some_and(|keys| keys.contains(key))
    };
    changes["changes"].as_array().unwrap().iter().find_map(|change| {
        let naming = lines.iter().map(|at| &report["lines"][*at]).filter(|lines| names(lines, &change["key"]));
        let nodes: BTreeSet<&str> = naming.flat_map(|lines| nodes_of(report, &lines["nodes"])).collect();
        let hit = nodes_of(changes, &change["nodes"]);
        let other = hit.iter().find(|node| !nodes.contains(*node))?;
        Some(format!("{} changes on {other}", change["key"]))
    })
}

/// The two versions of a file.
struct Edit {
    path: String,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    told: Lines,
}

impl Edit {
    /// Returns the versions, with those lines of `told` that are of this file.
    fn of(sandbox: &Sandbox, path: &str, before: &str, after: &str, told: &Lines) -> Edit {
        let content = |commit: &str| {
            let output =
                git_command(sandbox.root()).args(["cat-file", "blob", &format!("{commit}:{path}")]).output().unwrap();
            output.status.success().then_some(output.stdout)
        };
        let told = told.iter().filter(|(_, of, _)| of == path).cloned().collect();
        Edit { path: path.to_owned(), before: content(before), after: content(after), told }
    }

    fn is_told(&self, side: &str, number: u32) -> bool {
        self.told.contains(&(side.to_owned(), self.path.clone(), number))
    }

    /// Goes through all lines: with the side for a changed one, with `None` for one that both sides have.
    fn walk(&self, mut visit: impl FnMut(usize, Option<(&str, u32)>, &[u8])) {
        let mut before = (1..).zip(lines(self.before.as_ref())).peekable();
        let mut after = (1..).zip(lines(self.after.as_ref())).peekable();
        for hunk in 0.. {
            while let Some((number, line)) = before.next_if(|(number, _)| self.is_told("before", *number)) {
                visit(hunk, Some(("before", number)), &line);
            }
            while let Some((number, line)) = after.next_if(|(number, _)| self.is_told("after", *number)) {
                visit(hunk, Some(("after", number)), &line);
            }
            before.next();
            let Some((_, line)) = after.next() else { return };
            visit(hunk, None, &line);
        }
    }

    /// Returns the changed lines that follow each other.
    fn hunks(&self) -> Vec<Lines> {
        let mut hunks: BTreeMap<usize, Lines> = BTreeMap::new();
        self.walk(|hunk, changed, _| {
            if let Some((side, number)) = changed {
                hunks.entry(hunk).or_default().insert((side.to_owned(), self.path.clone(), number));
            }
        });
        hunks.into_values().collect()
    }

    /// Returns the content after, without these changed lines.
    fn without(&self, lines: &Lines) -> Vec<u8> {
        let mut content: Vec<u8> = Vec::new();
        self.walk(|_, changed, line| {
            let is_undone =
                changed.is_some_and(|(side, number)| lines.contains(&(side.to_owned(), self.path.clone(), number)));
            let stays = match changed {
                None => true,
                Some(("before", _)) => is_undone,
                Some(_) => !is_undone,
            };
            if stays {
                if !content.is_empty() && !content.ends_with(b"\n") {
                    content.push(b'\n');
                }
                content.extend(line);
            }
        });
        content
    }
}

/// Returns the lines of a file.
fn lines(content: Option<&Vec<u8>>) -> Vec<Vec<u8>> {
    let content = content.map(Vec::as_slice).unwrap_or_default();
    content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn positions(numbers: &Json) -> BTreeSet<usize> {
    numbers.as_array().into_iter().flatten().map(|at| usize::try_from(at.as_u64().unwrap()).unwrap()).collect()
}

fn lines_of_all(report: &Json) -> Lines {
    report["lines"].as_array().unwrap().iter().flat_map(lines_of).collect()
}

fn told(report: &Json, lines: &BTreeSet<usize>) -> String {
    lines.iter().map(|at| shown(&report["lines"][*at])).collect::<Vec<_>>().join(", ")
}

fn lines_of(lines: &Json) -> Lines {
    let text = |name: &str| lines[name].as_str().unwrap().to_owned();
    let number = |name: &str| u32::try_from(lines[name].as_u64().unwrap()).unwrap();
    (number("line")..=number("last")).map(|line| (text("side"), text("path"), line)).collect()
}

fn shown(lines: &Json) -> String {
    let text = |name: &str| lines[name].as_str().unwrap_or_default().to_owned();
    format!("{} {}:{}-{} {}", text("side"), text("path"), lines["line"], lines["last"], text("reason"))
}

/// Returns a path with all positions in arrays alike.
fn without_numbers(path: &Json) -> String {
    let mut shown = String::new();
    for part in path.as_str().unwrap().split('[') {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        shown.push_str(if rest.starts_with(']') { rest } else { part });
    }
    shown
}

#[test]
fn undone_causes_take_their_changes_along() {
    let mut tally = Tally::default();
    for seed in 300..304 {
        let (sandbox, mut repository) = (Sandbox::new(), generator::generate(seed));
        let profiles = repository.write_profiles(&sandbox.beside("profiles")).unwrap();
        let lab = Lab { sandbox, profiles };
        let mut random = Random::new(seed);
        let mut commits = Vec::new();
        for edit in 0..4 {
            if edit > 0 {
                repository = generator::edited(&repository, edit);
            }
            lab.sandbox.sh("find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +");
            repository.write(lab.sandbox.root()).unwrap();
            commits.push(lab.sandbox.commit("edit").to_string());
        }
        for pair in commits.windows(2) {
            lab.judge(&pair[0], &pair[1], 2, &mut random, &mut tally);
        }
    }
    assert!(tally.faults.is_empty(), "{tally:#?}");
    assert!(tally.undone_leaves > 3 && tally.undone_lines > 1, "{tally:#?}");
}

/// The last commits of each corpus that are judged.
const COMMITS: usize = 100;

/// The least number of differences, and of lines without effect, that are undone.
const SAMPLE: usize = 300;

#[test]
#[ignore = "needs corpora, in the folder HIERAD_SHARED"]
fn undone_causes_of_real_commits_take_their_changes_along() {
    let shared = std::env::var_os("HIERAD_SHARED").map_or("../shared".into(), PathBuf::from);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join(shared).join("corpus");
    let chosen = std::env::var("HIERAD_CORPUS").unwrap_or_default();
    let samples = std::env::var("HIERAD_SAMPLES").map_or(8, |count| count.parse().unwrap());
    let (mut faults, mut undone) = (0, [0, 0]);
    for (name, profiles) in [("ocf", "ocf-profiles"), ("ronin", "ronin-profiles"), ("wmf", "wmf-profiles.ndjson")] {
        if !chosen.is_empty() && chosen != name {
            continue;
        }
        let lab = Lab { sandbox: Sandbox::new(), profiles: corpus.join(profiles) };
        let bundle = corpus.join(format!("{name}.bundle"));
        let heads = lab.sandbox.git(["ls-remote", "--heads", bundle.to_str().unwrap()]);
        let branch = heads.lines().next().unwrap().split_once('\t').unwrap().1;
        let fetched = format!("{branch}:refs/heads/main");
        lab.sandbox.git(["fetch", "--quiet", "--update-head-ok", bundle.to_str().unwrap(), &fetched]);
        if name == "wmf" {
            let settings = "hiera_config: modules/puppetmaster/files/production.hiera.yaml\ndatadirs:\n  \
                            /etc/puppet/hieradata: hieradata\n  /etc/puppet/private/hieradata: none\n  \
                            /etc/puppet/netbox/hieradata: none\nbackends:\n  \
                            'wmflib::regex_data': {not_found: true}\n  'wmflib::expand_path': {not_found: true}\n";
            lab.sandbox.write_secret(".git/hierad.yaml", settings);
        }
        let listed = lab.sandbox.git(["rev-list", "--first-parent", &format!("--max-count={}", COMMITS + 1), "main"]);
        let commits: Vec<&str> = listed.lines().rev().collect();
        let (mut tally, mut random) = (Tally::default(), Random::new(28));
        for pair in commits.windows(2) {
            lab.judge(pair[0], pair[1], samples, &mut random, &mut tally);
        }
        println!("{name}: {tally:#?}");
        faults += tally.faults.len();
        undone = [undone[0] + tally.undone_leaves, undone[1] + tally.undone_lines];
    }
    assert_eq!(faults, 0);
    assert!(!chosen.is_empty() || undone.iter().all(|count| *count >= SAMPLE), "{undone:?}");
}
