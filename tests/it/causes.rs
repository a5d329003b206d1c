//! The causes of changes, checked by undoing them: without the lines that cause a difference it is gone, and nothing
//! else changes but what names these lines; without a line that has no effect nothing changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use hierad::hiera::backend::{DataFile, Format};
use serde_json::{Value as Json, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};

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
    /// Undone with others that say the same elsewhere: what was moved has no effect, though a half of it would.
    moved: usize,
    /// Faults in commits that keep the text of a line for another key: lines are not what they change.
    tangled: Vec<String>,
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
        let mut idle: Vec<&Json> =
            report["lines"].as_array().unwrap().iter().filter(|lines| lines["effect"] == "none").collect();
        for _ in 0..samples.min(idle.len()) {
            let lines = idle.swap_remove(random.below(idle.len()));
            self.undo_idle(before, after, &report, lines, tally);
        }
    }

    /// Fails unless each changed line of each file is told of once.
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
        let paths: BTreeSet<String> = told.iter().map(|(_, path, _)| path.clone()).collect();
        let mut changed = Lines::new();
        for path in paths {
            let edit = Edit::of(&self.sandbox, &path, before, after);
            changed.extend(edit.changed());
        }
        assert_eq!(told, changed, "{after}");
    }

    /// Undoes the causes of a difference: it is gone then, and nothing else changes that does not name these lines.
    fn undo_leaf(&self, before: &str, after: &str, report: &Json, (change, leaf): (&Json, &Json), tally: &mut Tally) {
        let positions =
            leaf["lines"].as_array().unwrap().iter().map(|at| usize::try_from(at.as_u64().unwrap()).unwrap());
        let causes: Vec<&Json> = positions.map(|at| &report["lines"][at]).collect();
        let lines: Lines = causes.iter().flat_map(|lines| lines_of(lines)).collect();
        let files = lines.iter().map(|(_, path, _)| path).collect::<BTreeSet<_>>().len();
        let Some(undone) = self.undo(before, after, &lines) else {
            tally.broken += 1;
            return;
        };
        tally.undone_leaves += 1;
        tally.of_several_files += usize::from(files > 1);
        let name = format!(
            "{after}: {} {} ({})",
            change["key"],
            leaf["path"],
            causes.iter().map(|l| shown(l)).collect::<Vec<_>>().join(", ")
        );
        let node = nodes_of(report, &change["nodes"])[0];
        let without = self.report(before, &undone);
        let is_like = |other: &Json| {
            let value = |leaf: &Json, side: &str| leaf[side]["value"].clone();
            other["kind"] == leaf["kind"]
                && without_numbers(&other["path"]) == without_numbers(&leaf["path"])
                && (leaf["kind"] == "reordered"
                    || ["before", "after"].iter().all(|side| value(other, side) == value(leaf, side)))
        };
        let is_there = without["changes"].as_array().unwrap().iter().any(|other| {
            other["key"] == change["key"]
                && nodes_of(&without, &other["nodes"]).contains(&node)
                && other["leaves"].as_array().unwrap().iter().any(is_like)
        });
        let paths = lines.iter().map(|(_, path, _)| path).collect::<BTreeSet<_>>();
        let edits: Vec<Edit> = paths.into_iter().map(|path| Edit::of(&self.sandbox, path, before, after)).collect();
        if is_there {
            tally.add(format!("{name}: still there in {undone}"), &edits);
        }
        if let Some(fault) = unnamed(&self.report(&undone, after), report, &causes) {
            tally.add(format!("{name}: {fault}"), &edits);
        }
    }

    /// Undoes lines without effect, with those that stand opposite to them and have none either: nothing changes.
    fn undo_idle(&self, before: &str, after: &str, report: &Json, lines: &Json, tally: &mut Tally) {
        let path = lines["path"].as_str().unwrap();
        let all: Lines = report["lines"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|other| other["effect"] == "none" && other["path"] == lines["path"])
            .flat_map(lines_of)
            .collect();
        let chosen = lines_of(lines);
        let edit = Edit::of(&self.sandbox, path, before, after);
        let hunks = edit.hunks().into_iter().filter(|hunk| !hunk.is_disjoint(&chosen));
        let undone: Lines = hunks.flatten().filter(|line| all.contains(line)).collect();
        let Some(without) = self.undo(before, after, &undone) else {
            tally.broken += 1;
            return;
        };
        tally.undone_lines += 1;
        let mut changes = self.report(&without, after);
        if changes["changes"] != json!([]) && ["equal", "same"].map(Json::from).contains(&lines["reason"]) {
            tally.moved += 1;
            let all = report["lines"].as_array().unwrap().iter().filter(|other| other["effect"] == "none");
            if let Some(without) = self.undo(before, after, &all.flat_map(lines_of).collect()) {
                changes = self.report(&without, after);
            }
        }
        if let Some(change) = changes["changes"].as_array().unwrap().first() {
            let node = nodes_of(&changes, &change["nodes"])[0].to_owned();
            let fault = format!("{after}: {} has an effect: {} changes on {node}", shown(lines), change["key"]);
            tally.add(fault, [&edit]);
        }
    }

    /// Makes a commit like `after` without these changed lines. `None` if a file of it cannot be parsed.
    fn undo(&self, before: &str, after: &str, lines: &Lines) -> Option<String> {
        let index = self.sandbox.beside("index");
        let git = |arguments: &[&str]| {
            let mut command: Command = git_command(self.sandbox.root());
            let output = command.env("GIT_INDEX_FILE", &index).args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["read-tree", after]);
        for path in lines.iter().map(|(_, path, _)| path).collect::<BTreeSet<_>>() {
            let edit = Edit::of(&self.sandbox, path, before, after);
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

impl Tally {
    fn add<'e>(&mut self, fault: String, edits: impl IntoIterator<Item = &'e Edit>) {
        let is_tangled = edits.into_iter().any(Edit::is_tangled);
        if is_tangled { self.tangled.push(fault) } else { self.faults.push(fault) }
    }
}

/// Returns a change that is not among those which some lines cause.
fn unnamed(changes: &Json, report: &Json, causes: &[&Json]) -> Option<String> {
    let names = |lines: &Json, key: &Json| {
        !lines["more_keys"].is_null() || lines["keys"].as_array().is_some_and(|keys| keys.contains(key))
    };
    changes["changes"].as_array().unwrap().iter().find_map(|change| {
        let naming = causes.iter().filter(|lines| names(lines, &change["key"]));
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
}

impl Edit {
    fn of(sandbox: &Sandbox, path: &str, before: &str, after: &str) -> Edit {
        let content = |commit: &str| {
            let output =
                git_command(sandbox.root()).args(["cat-file", "blob", &format!("{commit}:{path}")]).output().unwrap();
            output.status.success().then_some(output.stdout)
        };
        Edit { path: path.to_owned(), before: content(before), after: content(after) }
    }

    /// Goes through all lines: with the side for a changed one, with `None` for one that both sides have.
    fn walk(&self, mut visit: impl FnMut(usize, Option<(&str, u32)>, &[u8])) {
        let lines = |content: &Option<Vec<u8>>| -> Vec<Vec<u8>> {
            let content = content.as_deref().unwrap_or_default();
            content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
        };
        let (before, after) = (lines(&self.before), lines(&self.after));
        let head = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let rest = (&before[head..], &after[head..]);
        let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(a, b)| a == b).count();
        let middle = (&rest.0[..rest.0.len() - tail], &rest.1[..rest.1.len() - tail]);
        let number = |at: usize| u32::try_from(head + at + 1).unwrap();
        before[..head].iter().for_each(|line| visit(0, None, line));
        let ops = capture_diff_slices(Algorithm::Myers, middle.0, middle.1);
        for (hunk, op) in ops.into_iter().enumerate() {
            if let DiffOp::Equal { old_index, len, .. } = op {
                middle.0[old_index..old_index + len].iter().for_each(|line| visit(hunk, None, line));
                continue;
            }
            op.old_range().for_each(|at| visit(hunk, Some(("before", number(at))), &middle.0[at]));
            op.new_range().for_each(|at| visit(hunk, Some(("after", number(at))), &middle.1[at]));
        }
        before[before.len() - tail..].iter().for_each(|line| visit(usize::MAX, None, line));
    }

    /// Returns true if a line that both versions have belongs to another root key in each.
    fn is_tangled(&self) -> bool {
        let roots = |content: &Option<Vec<u8>>| {
            let file = DataFile::parse(content.as_deref().unwrap_or_default(), Format::of_path(&self.path));
            file.keys().iter().filter_map(|key| Some((file.line(key)?, key.clone()))).collect::<BTreeMap<_, _>>()
        };
        let (before, after) = (roots(&self.before), roots(&self.after));
        let (mut old, mut new, mut is_tangled) = (0, 0, false);
        self.walk(|_, changed, line| {
            old += u32::from(changed.is_none_or(|(side, _)| side == "before"));
            new += u32::from(changed.is_none_or(|(side, _)| side == "after"));
            let of = |roots: &BTreeMap<u32, std::sync::Arc<str>>, at: u32| {
                roots.range(..=at).next_back().map(|(_, key)| key.clone())
            };
            let is_blank = line.trim_ascii().is_empty() || line.trim_ascii().starts_with(b"#");
            is_tangled |= changed.is_none() && !is_blank && of(&before, old) != of(&after, new);
        });
        is_tangled
    }

    fn changed(&self) -> Lines {
        self.hunks().into_iter().flatten().collect()
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

#[test]
#[ignore = "needs corpora, in the folder HIERAD_SHARED"]
fn undone_causes_of_real_commits_take_their_changes_along() {
    let shared = std::env::var_os("HIERAD_SHARED").map_or("../shared".into(), PathBuf::from);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join(shared).join("corpus");
    let chosen = std::env::var("HIERAD_CORPUS").unwrap_or_default();
    let samples = std::env::var("HIERAD_SAMPLES").map_or(4, |count| count.parse().unwrap());
    let mut faults = 0;
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
    }
    assert_eq!(faults, 0);
}
