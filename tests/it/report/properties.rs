//! Properties of reports on any values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hierad::diff::{Diff, LeafChange, LeafKind, changes, leaves};
use hierad::fleet::{Answer, Effective, Fleet};
use hierad::hiera::{LookupError, Outcome};
use hierad::node::{NodeId, NodeSet};
use hierad::report::{Commit, Input, NodeNames, Origins, Report};
use hierad::value::{Hash, Segment, Value, ValuePath};
use hierad::workers::Workers;
use unicode_width::UnicodeWidthStr;

use crate::support::random::Random;
use crate::support::values;

fn pair(random: &mut Random) -> (Value, Value) {
    let before = random.value(4);
    let mut after = before.clone();
    for _ in 0..random.below(4) {
        after = random.variant(&after);
    }
    (before, after)
}

/// The longest time that anything takes, unless its cost grows with the square of the items.
const PATIENCE: Duration = Duration::from_secs(30);

fn both(before: &Value, after: &Value) -> Vec<Arc<LeafChange>> {
    leaves(Diff::new(Some(before), Some(after)))
}

#[test]
fn leaves_are_exactly_the_changes() {
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let (before, after) = pair(&mut random);
        let found = both(&before, &after);
        assert_eq!(found.is_empty(), before == after, "{before:?} {after:?}");
        assert!(both(&before, &before.clone()).is_empty());
        for leaf in &found {
            for (part, root) in [(&leaf.part.before, &before), (&leaf.part.after, &after)] {
                if let Some(part) = part {
                    assert_eq!(part.path.value_in(root), Some(&part.value), "{leaf:?}");
                }
            }
            let sides = (leaf.part.before.is_some(), leaf.part.after.is_some());
            let expected = match leaf.kind {
                LeafKind::Added => (false, true),
                LeafKind::Removed => (true, false),
                _ => (true, true),
            };
            assert_eq!(sides, expected);
        }
    }
}

#[test]
fn leaves_lead_from_before_to_after() {
    let mut random = Random::new(2);
    let mut applied = 0;
    for _ in 0..20_000 {
        let (before, after) = pair(&mut random);
        let found = both(&before, &after);
        if !found.iter().any(|leaf| leaf.kind == LeafKind::Reordered) {
            let result = apply(&before, &found);
            assert!(result.eql(&after), "{before:?}\n{after:?}\n{result:?}\n{found:?}");
            applied += 1;
        }
    }
    assert!(applied > 10_000, "{applied}");
}

#[test]
fn reversed_changes_have_the_same_kind() {
    let mut random = Random::new(3);
    for _ in 0..20_000 {
        let (before, after) = pair(&mut random);
        let pure = |leaves: &[Arc<LeafChange>]| leaves.iter().all(|leaf| leaf.kind == LeafKind::Reordered);
        let (forth, back) = (both(&before, &after), both(&after, &before));
        assert_eq!(pure(&forth), pure(&back), "{before:?}\n{after:?}");
    }
}

/// `before` with all differences made to it.
fn apply(before: &Value, leaves: &[Arc<LeafChange>]) -> Value {
    let mut value = before.clone();
    for leaf in leaves.iter().filter(|leaf| leaf.kind == LeafKind::Changed) {
        let (from, to) = (leaf.part.before.as_ref().unwrap(), leaf.part.after.as_ref().unwrap());
        value = edit(&value, &from.path, &Edit::Set(to.value.clone()));
    }
    for leaf in leaves.iter().rev().filter(|leaf| leaf.kind == LeafKind::Removed) {
        value = edit(&value, &leaf.part.before.as_ref().unwrap().path, &Edit::Remove);
    }
    for leaf in leaves.iter().filter(|leaf| leaf.kind == LeafKind::Added) {
        let part = leaf.part.after.as_ref().unwrap();
        value = edit(&value, &part.path, &Edit::Insert(part.value.clone()));
    }
    value
}

enum Edit {
    Set(Value),
    Insert(Value),
    Remove,
}

fn edit(value: &Value, path: &ValuePath, change: &Edit) -> Value {
    let Some((first, rest)) = path.0.split_first() else {
        return match change {
            Edit::Set(new) | Edit::Insert(new) => new.clone(),
            Edit::Remove => Value::Undef,
        };
    };
    let below = |value: &Value| edit(value, &ValuePath(rest.to_vec()), change);
    match (value, first) {
        (Value::Array(items), Segment::Index(i)) => {
            let mut items = items.to_vec();
            match change {
                Edit::Insert(new) if rest.is_empty() => items.insert(*i, new.clone()),
                Edit::Remove if rest.is_empty() => _ = items.remove(*i),
                _ => items[*i] = below(&items[*i]),
            }
            Value::array(items)
        }
        (Value::Hash(hash), Segment::Key(key)) => {
            let mut hash: Hash = (**hash).clone();
            match change {
                Edit::Remove if rest.is_empty() => _ = hash.remove(key),
                _ => _ = hash.insert(key.clone(), hash.get_value(key).map_or_else(|| below(&Value::Undef), below)),
            }
            Value::hash(hash)
        }
        _ => panic!("no {first:?} in {value:?}"),
    }
}

/// Values of one line or several whose differences may come late, where a line has been cut off.
fn long_value(random: &mut Random) -> Value {
    let long = "x".repeat(*random.pick(&[0, 30, 300]));
    let line = |random: &mut Random| format!("{long}{}", random.pick(&["", "a", "b", "a ", "\u{1b}"]));
    match random.below(8) {
        0 => Value::Symbol(format!("s{}", line(random)).into()),
        1 => Value::Bytes(line(random).into_bytes().into()),
        2 => Value::big(format!("{}{}", "7".repeat(300), random.below(3)).parse().unwrap()),
        _ => {
            let lines: Vec<String> = (0..=random.below(5)).map(|_| line(random)).collect();
            Value::from(lines.join("\n") + if random.below(2) == 0 { "\n" } else { "" })
        }
    }
}

#[test]
fn both_sides_of_a_difference_look_different() {
    let (mut random, mut compared) = (Random::new(8), 0);
    for _ in 0..3_000 {
        let (before, after) = (long_value(&mut random), long_value(&mut random));
        let side = |value: &Value| {
            let answer = Answer::new(NodeSet::from_iter([NodeId(0)]), Arc::new(Outcome::Found(value.clone())));
            Effective { keys: [("key".into(), vec![answer])].into() }
        };
        let report = report_of(values::fleet(&["node".into()]), &side(&before), &side(&after));
        let comment = super::markdown(&report, 60_000);
        let Some((_, block)) = comment.split_once("diff\n@@ key @@") else { continue };
        let (note, lines) = block.split_once('\n').unwrap();
        let lines: Vec<&str> = lines.lines().take_while(|line| !line.starts_with("```")).collect();
        let runs: Vec<&[&str]> = lines.chunk_by(|one, next| one[..1] == next[..1]).collect();
        for runs in runs.windows(2).filter(|runs| runs[0][0].starts_with('-') && runs[1][0].starts_with('+')) {
            for (before, after) in runs[0].iter().zip(runs[1]) {
                assert!(!note.is_empty() || before[1..] != after[1..], "{comment}");
                compared += 1;
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// A report of random values.
fn report(random: &mut Random) -> Report {
    let fleet = values::fleet(&["web[1-12].example.com".into(), "日本.example.com".into(), "@x|`y`".into()]);
    let before = effective(random, &fleet, None);
    let after = effective(random, &fleet, Some(&before));
    report_of(fleet, &before, &after)
}

fn report_of(fleet: Fleet, before: &Effective, after: &Effective) -> Report {
    let commit = |text: &str| Commit { id: text.repeat(9), summary: text.repeat(20), ..Commit::default() };
    let mut report = Report::new(Input {
        distinctions: Vec::new(),
        commit: Diff::new(Some(commit("\u{1b}[1m")), Some(commit("@a`|"))),
        nodes: fleet.all(),
        names: NodeNames::new(Arc::new(fleet)),
        keys: before.keys.keys().chain(after.keys.keys()).collect::<BTreeSet<_>>().len(),
        former_keys: before.keys.keys().chain(after.keys.keys()).collect::<BTreeSet<_>>().len(),
        changes: changes(Diff::new(before, after), &Workers::of(1)),
        uses: BTreeMap::new(),
        origins: Origins::default(),
        disclosure: &values::disclosure(),
        findings: Diff::new(&[], &[]),
        blind_spots: Vec::new(),
        is_unreadable: Diff::default(),
    });
    report.event = Some(values::event(&"<b>".repeat(9)));
    report
}

fn effective(random: &mut Random, fleet: &Fleet, before: Option<&Effective>) -> Effective {
    let mut effective = Effective::default();
    for key in ["a", "b::c", "`|<x>@y", "\u{1b}[2J", &"long".repeat(60)] {
        let mut answers: Vec<Answer> = Vec::new();
        for node in 0..u32::try_from(fleet.len()).unwrap() {
            let old = before.and_then(|b| b.keys.get(key)?.iter().find(|a| a.nodes.contains(NodeId(node))));
            let outcome = match (random.below(12), old.map(|old| &*old.outcome)) {
                (0, _) => continue,
                (1, _) => Outcome::Failed(LookupError::puppet("wrong \u{1b}[31m @team ``` </details> ".repeat(9))),
                (2..5, Some(Outcome::Found(value))) => Outcome::Found(random.variant(value)),
                (5.., Some(outcome)) => outcome.clone(),
                _ => Outcome::Found(random.value(3)),
            };
            let nodes = NodeSet::from_iter([NodeId(node)]);
            match answers.iter_mut().find(|answer| *answer.outcome == outcome) {
                Some(answer) => answer.nodes.union_with(&nodes),
                None => answers.push(Answer::new(nodes, Arc::new(outcome))),
            }
        }
        effective.keys.insert(key.into(), answers);
    }
    effective
}

#[test]
fn text_lines_fit_and_are_escaped() {
    let mut random = Random::new(4);
    for width in [40, 57, 80, 120].into_iter().cycle().take(200) {
        let report = report(&mut random);
        let text = super::text(&report, super::text::Options { width, ..Default::default() });
        for line in text.lines() {
            assert!(line.width() <= width, "{} > {width}: {line}", line.width());
        }
        let full = super::text(&report, super::text::Options { width, full: true, ..super::text::Options::default() });
        assert!(!(text + &full).chars().any(|c| c.is_control() && c != '\n'));
    }
}

#[test]
fn pretty_json_is_the_same_data() {
    let mut random = Random::new(6);
    for _ in 0..100 {
        let report = report(&mut random);
        let (compact, pretty) = (super::json(&report, false), super::json(&report, true));
        assert_eq!(compact.lines().count(), 1);
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parsed(&compact), parsed(&pretty));
        assert_eq!(parsed(&compact)["schema"], "hierad.diff/3");
    }
}

#[test]
fn large_collections_are_compared_fast() {
    let n = 10_000_i64;
    let mut random = Random::new(7);
    let numbers = |f: &mut dyn FnMut(i64) -> i64| (0..n).map(|i| Value::from(f(i))).collect::<Value>();
    let ordered = numbers(&mut |i| i);
    let hashes = |shift: i64| {
        let hash = |i: i64| Value::hash(Hash::from_iter([("a", Value::from(i)), ("b", Value::from(i * shift))]));
        (0..n).map(hash).collect::<Value>()
    };
    let table = |shift: i64| Value::hash((0..n).map(|i| (Value::from(i), Value::from(i + shift))).collect::<Hash>());
    let mut below = |n: usize| i64::try_from(random.below(n)).unwrap();
    let cases = [
        ("reversed", ordered.clone(), numbers(&mut |i| n - i)),
        ("shuffled", numbers(&mut |_| below(1 << 30)), numbers(&mut |_| below(1 << 30))),
        ("few values", numbers(&mut |_| below(3)), numbers(&mut |_| below(3))),
        ("some values", numbers(&mut |_| below(300)), numbers(&mut |_| below(300))),
        ("other", ordered.clone(), numbers(&mut |i| i + n)),
        ("every second", ordered, numbers(&mut |i| i * 2)),
        ("hashes", hashes(1), hashes(2)),
        ("table", table(0), table(1)),
    ];
    for (name, before, after) in cases {
        let (tell, found) = mpsc::channel();
        std::thread::spawn(move || tell.send(both(&before, &after).len()));
        assert!(found.recv_timeout(PATIENCE).is_ok(), "{name} takes too long");
    }
}
