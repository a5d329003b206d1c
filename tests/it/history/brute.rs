//! Histories against brute force: every commit is resolved from scratch, and all values are compared pairwise. With an
//! index, whatever became of its file, they are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hierad::diff::{Diff, Former, former, innermost, leaves};
use hierad::disk::Disk;
use hierad::fleet::{self, Revision};
use hierad::git::CommitId;
use hierad::hiera::Outcome;
use hierad::history::blame::BlameError;
use hierad::history::commits::Span;
use hierad::history::index::Index;
use hierad::history::transitions::Condition;
use hierad::history::{History, Query};
use hierad::node::NodeId;
use hierad::pipeline::{DiffFilter, Pipeline, PipelineError, RevisionId};
use hierad::report::KeyChange;
use hierad::report::writers::json;
use hierad::value::{Value, ValuePath};
use hierad::workers::{Counted, Stop, Workers};

use super::site::Site;
use crate::support::extent::full_or;
use crate::support::values::disclosure;

/// The answers of one commit: by key and node.
type Answers = BTreeMap<(Arc<str>, NodeId), Arc<Outcome>>;

/// A commit with its answers for the keys that any commit has, and the keys that its own data has. A name that no file
/// has may fail, too, as all names do while a file is broken; nobody asks for those.
struct At {
    commit: CommitId,
    answers: Answers,
    keys: BTreeSet<Arc<str>>,
}

/// True if a comparison of a commit with the one before looks at a key: one of both has it.
fn is_seen(history: &[At], at: usize, key: &str) -> bool {
    history[at..].iter().take(2).any(|one| one.keys.contains(key))
}

/// The commits along first parents, newest first.
fn answers(site: &Site, tip: CommitId) -> Vec<At> {
    let pipeline = site.pipeline(0);
    let repository = pipeline.repository();
    let commits: Vec<CommitId> =
        std::iter::once(tip).chain(repository.first_parents(tip).map(Result::unwrap)).collect();
    let revision = |commit: &CommitId| site.pipeline(0).revision(RevisionId::Commit(*commit)).unwrap();
    let revisions: Vec<Revision> = commits.iter().map(revision).collect();
    let keys: BTreeSet<Arc<str>> = revisions.iter().flat_map(|revision| revision.keys.iter().cloned()).collect();
    let at = |(commit, revision): (CommitId, &Revision)| At {
        commit,
        answers: answers_at(revision, &keys),
        keys: revision.keys.iter().cloned().collect(),
    };
    commits.into_iter().zip(&revisions).map(at).collect()
}

/// The answers of a commit, which knows no other one.
fn answers_at(revision: &Revision, keys: &BTreeSet<Arc<str>>) -> Answers {
    let effective = fleet::resolve(revision, &revision.fleet.everywhere(keys), &Workers::of(1));
    let mut all = Answers::new();
    for (key, answers) in effective.keys {
        for answer in answers {
            all.extend(answer.nodes.iter().map(|node| ((key.clone(), node), answer.on(node))));
        }
    }
    all
}

/// Returns true if two answers are the same to a reader: the place of an error's cause is no part of it.
fn same(one: Option<&Arc<Outcome>>, other: Option<&Arc<Outcome>>) -> bool {
    match (one.map(|outcome| &**outcome), other.map(|outcome| &**outcome)) {
        (Some(Outcome::Failed(one)), Some(Outcome::Failed(other))) => one.text == other.text,
        (one, other) => one == other,
    }
}

/// The events of a history: commit, key and node.
type Events = BTreeSet<(CommitId, Arc<str>, NodeId)>;

fn expected_events(history: &[At]) -> Events {
    let nothing = Answers::new();
    let mut events = Events::new();
    for (at, At { commit, answers: after, .. }) in history.iter().enumerate() {
        let before = history.get(at + 1).map_or(&nothing, |before| &before.answers);
        let keys = before.keys().chain(after.keys()).filter(|(key, _)| is_seen(history, at, key));
        let changed = keys.filter(|key| !same(before.get(*key), after.get(*key)));
        events.extend(changed.map(|(key, node)| (*commit, key.clone(), *node)));
    }
    events
}

/// The events that only one side has, with the answers of the first of them.
fn described(history: &[At], only: &[Vec<&(CommitId, Arc<str>, NodeId)>; 2]) -> String {
    let Some((commit, key, node)) = only[0].first().or(only[1].first()) else { return String::new() };
    let at = history.iter().position(|one| one.commit == *commit).unwrap();
    let answer = |at: usize| history.get(at).and_then(|one| one.answers.get(&(key.clone(), *node)));
    let counts = only.each_ref().map(Vec::len);
    format!("{counts:?}: {commit} {key} {node:?}: {:?} -> {:?}", answer(at + 1), answer(at))
}

fn all() -> Query<'static> {
    Query { filter: DiffFilter::ALL, is_of_all: true, needle: None }
}

/// The events as `log` finds them.
fn logged(pipeline: &Pipeline, tip: CommitId, query: &Query<'_>, reverse: bool) -> Events {
    let mut history = History::new(pipeline, tip, None).unwrap();
    let mut steps: Vec<_> = Span::up_to(tip).commits(pipeline.repository()).unwrap().map(Result::unwrap).collect();
    if reverse {
        steps.reverse();
    }
    let mut events = Events::new();
    for step in steps {
        let Some(report) = history.report(&step, query).unwrap() else { continue };
        for change in &report.changes {
            events.extend(change.nodes.iter().map(|node| (step.commit.id, change.key.clone(), node)));
        }
    }
    events
}

/// The commit that made a part of a value what it is, or `None` if it was so in the first commit.
fn expected_blame(history: &[At], key: &(Arc<str>, NodeId), path: &ValuePath) -> Option<CommitId> {
    let mut path = path.clone();
    for (at, pair) in history.windows(2).enumerate() {
        let (commit, after, before) = (pair[0].commit, &pair[0].answers, &pair[1].answers);
        let value = |outcome: &Arc<Outcome>| match &**outcome {
            Outcome::Found(value) => Some(value.clone()),
            _ => None,
        };
        let (was, is) = (before.get(key), after.get(key));
        if same(was, is) || !is_seen(history, at, &key.0) {
            continue;
        }
        let (Some(was), Some(is)) = (was.and_then(value), is.and_then(value)) else { return Some(commit) };
        let found = leaves(Diff::new(Some(&was), Some(&is)));
        let part = path.value_in(&is).unwrap();
        let is_empty = matches!(part, Value::Array(_) | Value::Hash(_));
        match former(&found, &path, is_empty) {
            Former::Changed => return Some(commit),
            Former::At(before) => path = before,
        }
    }
    None
}

fn check_blame(site: &Site, pipeline: &Pipeline, history: &[At], index: Option<Index>) -> usize {
    let tip = site.tip();
    let mut commits = Span::up_to(tip).commits(pipeline.repository()).unwrap();
    let rows =
        History::new(pipeline, tip, index).unwrap().blame(tip, &mut commits, &DiffFilter::ALL, usize::MAX).unwrap();
    let mut found = BTreeMap::new();
    for row in &rows {
        for node in row.nodes.iter() {
            let commit = (!row.is_boundary).then_some(row.commit.id);
            assert_eq!(found.insert((row.key.clone(), node, row.path.to_string()), commit), None, "{row:?}");
        }
    }
    let mut expected = BTreeMap::new();
    for (key, outcome) in history[0].answers.iter().filter(|((key, _), _)| history[0].keys.contains(key)) {
        let mut expect = |path: &ValuePath| {
            expected.insert((key.0.clone(), key.1, path.to_string()), expected_blame(history, key, path));
        };
        match &**outcome {
            Outcome::Found(value) => innermost(value, &ValuePath::default(), &mut |path, _| expect(path)),
            _ => expect(&ValuePath::default()),
        }
    }
    assert_eq!(found, expected);
    expected.len()
}

fn check_transitions(site: &mut Site, pipeline: &Pipeline, history: &[At], index: Option<Index>) {
    let tip = site.tip();
    let known: Vec<_> = history.iter().flat_map(|one| &one.answers).collect();
    let ((key, node), outcome) = *site.random.pick(&known);
    let condition = match &**outcome {
        Outcome::Found(value) => Condition::Is(value.clone()),
        _ => Condition::Error,
    };
    let mut commits = Span::up_to(tip).commits(pipeline.repository()).unwrap();
    let searched = History::new(pipeline, tip, index).unwrap();
    let found = searched.transitions(RevisionId::Commit(tip), &mut commits, (key, *node), &condition).unwrap();
    let missing = Arc::new(Outcome::NotFound);
    let holds = |at: usize| {
        let outcome = history.get(at).and_then(|one| one.answers.get(&(key.clone(), *node)));
        condition.holds(outcome.unwrap_or(&missing), &disclosure())
    };
    let expected: Vec<_> =
        (0..history.len()).filter(|at| holds(*at) != holds(at + 1)).map(|at| history[at].commit).collect();
    assert_eq!(found.all.iter().map(|found| found.step.commit.id).collect::<Vec<_>>(), expected, "{key} {condition:?}");
    assert_eq!(found.commits, history.len());
}

#[test]
fn histories_are_those_of_commits_resolved_one_by_one() {
    let (mut events, mut parts) = (0, 0);
    for seed in 1..=full_or(300, 5) {
        let mut site = Site::new(seed, 14);
        let tip = site.tip();
        let history = answers(&site, tip);
        let expected = expected_events(&history);
        events += expected.len();
        let pipeline = site.pipeline(0);
        // Each comparison by itself finds the same.
        for (at, one) in history.iter().enumerate() {
            let before = history.get(at + 1).map_or(RevisionId::Empty, |before| RevisionId::Commit(before.commit));
            let after = RevisionId::Commit(one.commit);
            let report = site.pipeline(0).diff(before, after, &DiffFilter::ALL).unwrap().report;
            let of_change = |change: &KeyChange| {
                change.nodes.iter().map(|node| (one.commit, change.key.clone(), node)).collect::<Vec<_>>()
            };
            let found: Events = report.changes.iter().flat_map(of_change).collect();
            let of_commit = |event: &&(CommitId, Arc<str>, NodeId)| event.0 == one.commit;
            assert_eq!(found, expected.iter().filter(of_commit).cloned().collect(), "seed {seed}");
        }
        for reverse in [false, true] {
            let found = logged(&pipeline, tip, &all(), reverse);
            let more: Vec<_> = found.difference(&expected).collect();
            let fewer: Vec<_> = expected.difference(&found).collect();
            assert!(
                more.is_empty() && fewer.is_empty(),
                "seed {seed}, reverse {reverse}: {}",
                described(&history, &[more, fewer])
            );
        }
        // One key on some nodes.
        let key = *site.random.pick(&["a", "b", "d", "mod::c"]);
        let filter = DiffFilter { key: &|name| name == key, node: &|name| name < "n4", paths: &[] };
        let some = logged(&site.pipeline(0), tip, &Query { filter, is_of_all: false, needle: None }, false);
        let is_some = |event: &&(CommitId, Arc<str>, NodeId)| *event.1 == *key && event.2.0 < 3;
        assert_eq!(some, expected.iter().filter(is_some).cloned().collect(), "seed {seed}, {key}");
        parts += check_blame(&site, &pipeline, &history, None);
        for _ in 0..5 {
            check_transitions(&mut site, &pipeline, &history, None);
        }
    }
    assert!(events > 500 && parts > 100, "{events} events, {parts} parts");
}

fn index(site: &Site, pipeline: &Pipeline) -> Index {
    let disk = Arc::new(Disk::new());
    Index::open(&site.sandbox.beside("index"), pipeline.fleet.clone(), "settings", disk).unwrap()
}

/// Has a reason after some questions.
struct After(AtomicUsize);

impl Stop for After {
    fn reason(&self) -> Option<Arc<str>> {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then(|| "stopped".into())
    }
}

/// A run that is stopped, at whatever time, fails, and leaves nothing wrong in the index.
#[test]
fn a_stopped_run_keeps_nothing_that_is_not_whole() {
    let mut failures = 0;
    for seed in 1..=full_or(100, 8) {
        let mut site = Site::new(500 + seed, 8);
        let (pipeline, tip) = (site.pipeline(0), site.tip());
        let all = Query { filter: DiffFilter::ALL, is_of_all: true, needle: None };
        let expected = entries(&pipeline, tip, &all, None);
        let stop = Counted::new(Arc::new(After(AtomicUsize::new(site.random.below(60)))));
        let stopped = pipeline.with_workers(Workers { stop: Arc::new(stop), ..Workers::of(1) });
        let mut history = History::new(&stopped, tip, Some(index(&site, &pipeline))).unwrap();
        for step in Span::up_to(tip).commits(pipeline.repository()).unwrap() {
            failures += usize::from(history.keep(&step.unwrap()).is_err());
        }
        drop(history);
        assert_eq!(entries(&pipeline, tip, &all, Some(index(&site, &pipeline))), expected, "seed {seed}");
    }
    assert!(failures > 0);
}

#[test]
fn a_blame_has_bounds() {
    let site = Site::new(1, 5);
    let (pipeline, tip) = (site.pipeline(0), site.tip());
    let blame = |pipeline: &Pipeline, most| {
        let mut commits = Span::up_to(tip).commits(pipeline.repository()).unwrap();
        History::new(pipeline, tip, None)
            .unwrap()
            .blame(tip, &mut commits, &DiffFilter::ALL, most)
            .map(|parts| parts.len())
    };
    assert!(blame(&pipeline, usize::MAX).unwrap() > 1);
    assert!(matches!(blame(&pipeline, 1), Err(BlameError::TooMany(1))));
    let stop = Arc::new(Counted::new(Arc::new(After(AtomicUsize::new(0)))));
    let stopped = pipeline.with_workers(Workers { stop, ..Workers::of(1) });
    assert!(matches!(blame(&stopped, usize::MAX), Err(BlameError::Pipeline(PipelineError::Stopped(_)))));
}

/// The entries of a log, as JSON.
fn entries(pipeline: &Pipeline, tip: CommitId, query: &Query<'_>, index: Option<Index>) -> Vec<String> {
    let mut history = History::new(pipeline, tip, index).unwrap();
    let mut found = Vec::new();
    for step in Span::up_to(tip).commits(pipeline.repository()).unwrap() {
        if let Some(report) = history.report(&step.unwrap(), query).unwrap() {
            let mut text = Vec::new();
            json::write(&report, json::Options::default(), &mut text).unwrap();
            found.push(String::from_utf8(text).unwrap());
        }
    }
    found
}

/// Does something to the file of an index that processes and disks do.
fn disturb(site: &mut Site) {
    let path = std::fs::read_dir(site.sandbox.beside("index")).unwrap().next().unwrap().unwrap().path();
    let mut content = std::fs::read(&path).unwrap();
    let at = site.random.below(content.len());
    match site.random.below(4) {
        0 => content.truncate(at),
        1 => content[at] ^= 1,
        2 => content.extend(b"half a segment"),
        _ => return,
    }
    std::fs::write(&path, content).unwrap();
}

#[test]
fn an_index_changes_no_answer() {
    for seed in 1..=full_or(300, 6) {
        let mut site = Site::new(100 + seed, 8);
        for round in 0..3 {
            if round > 0 {
                disturb(&mut site);
                // Perhaps a rewritten branch.
                if site.random.below(3) == 0 {
                    site.sandbox.git(["reset", "--quiet", "--hard", "HEAD~2"]);
                }
                (0..3).for_each(|number| site.step(100 * round + number));
            }
            let (tip, shift) = (site.tip(), usize::from(site.random.below(4) == 0));
            let pipeline = site.pipeline(shift);
            let expected = entries(&site.pipeline(shift), tip, &all(), None);
            let rival = index(&site, &pipeline);
            assert_eq!(entries(&pipeline, tip, &all(), Some(index(&site, &pipeline))), expected, "seed {seed}");
            assert_eq!(entries(&pipeline, tip, &all(), Some(rival)), expected, "seed {seed}");
            let again = site.pipeline(shift);
            assert_eq!(entries(&again, tip, &all(), Some(index(&site, &again))), expected, "seed {seed}, read");
            let key = *site.random.pick(&["a", "b", "d", "mod::c"]);
            let filter = DiffFilter { key: &|name| name == key, node: &|name| name > "n2", paths: &[] };
            let some = Query { filter, is_of_all: false, needle: None };
            let expected = entries(&site.pipeline(shift), tip, &some, None);
            assert_eq!(entries(&again, tip, &some, Some(index(&site, &again))), expected, "seed {seed}, {key}");
            if shift == 0 {
                let history = answers(&site, tip);
                check_blame(&site, &again, &history, Some(index(&site, &again)));
                let known = index(&site, &again);
                check_transitions(&mut site, &again, &history, Some(known));
            }
        }
    }
}
