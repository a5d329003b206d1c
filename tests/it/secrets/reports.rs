//! Reports and snapshots of any values with any secrets in them, names, numbers and Puppet's `Sensitive` included.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hierad::diff::{Diff, changes};
use hierad::disclosure::Disclosure;
use hierad::fleet::{Answer, Effective, Fleet};
use hierad::hiera::{LookupError, Outcome};
use hierad::node::{NodeId, NodeSet};
use hierad::report::writers::{json, markdown, text};
use hierad::report::{Input, NodeNames, Origins, Report};
use hierad::snapshot::{Format, Snapshots};
use hierad::value::{Form, Rich, Secrecy, Value};
use hierad::workers::Workers;

use super::search::found;
use crate::support::random::Random;
use crate::support::values;

#[test]
fn reports_and_snapshots_show_no_secret() {
    let mut random = Random::new(11);
    let fleet = Arc::new(values::fleet(&["web[01-04].hush.example.com".to_owned()]));
    let nodes = fleet.all();
    // The names of the nodes hold the mark, and secrets hold those names: only what stands beside them counts.
    let public = |text: String| text.replace("&#46;", ".").replace(".hush.example.com", "");
    let mut unproven: BTreeSet<usize> = (0..FORMS).collect();
    for round in 0..400 {
        let before = effective(&mut random, &fleet, None);
        let after = effective(&mut random, &fleet, Some(&before));
        let both = Diff::new(&before, &after);
        for (form, text) in forms(both, &fleet, &nodes, &values::disclosure()).into_iter().enumerate() {
            let text = public(text);
            assert_eq!(found(text.as_bytes()), None, "round {round}, form {form}:\n{text}");
        }
        for (form, text) in forms(both, &fleet, &nodes, &Disclosure::shown()).into_iter().enumerate() {
            if found(public(text).as_bytes()).is_some() {
                unproven.remove(&form);
            }
        }
    }
    assert!(unproven.is_empty(), "{unproven:?}");
}

const FORMS: usize = 8;

/// All that is written of the values and of what changes, and what a developer sees of it.
fn forms(both: Diff<&Effective>, fleet: &Arc<Fleet>, nodes: &NodeSet, disclosure: &Disclosure) -> [String; FORMS] {
    let nothing = Diff::new(&[][..], &[][..]);
    let report = Report::new(Input {
        distinctions: Vec::new(),
        commit: Diff::default(),
        nodes: fleet.all(),
        names: NodeNames::new(fleet.clone()),
        keys: both.after.keys.len(),
        former_keys: both.after.keys.len(),
        changes: changes(both, &Workers::of(1)),
        uses: BTreeMap::new(),
        origins: Origins::default(),
        disclosure,
        findings: nothing,
        blind_spots: Vec::new(),
        is_unreadable: Diff::default(),
    });
    let write = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let snapshots = |format| {
        write(&|out| Snapshots::new(both.after.clone(), fleet, nodes, format, disclosure, &Workers::of(1)).write(out))
    };
    [
        write(&|out| text::write(&report, text::Options::default(), out)),
        write(&|out| text::write(&report, text::Options { full: true, ..text::Options::default() }, out)),
        write(&|out| json::write(&report, json::Options::default(), out)),
        write(&|out| markdown::write(&report, &markdown::Options::default(), out)),
        snapshots(Format::Json),
        snapshots(Format::Ndjson),
        snapshots(Format::Yaml),
        format!("{report:?}"),
    ]
}

fn effective(random: &mut Random, fleet: &Fleet, before: Option<&Effective>) -> Effective {
    let mut effective = Effective::default();
    for key in ["a", "b", "c"] {
        let mut answers: Vec<Answer> = Vec::new();
        for (node, name) in fleet.iter() {
            let old = before.and_then(|before| before.keys.get(key)?.iter().find(|a| a.nodes.contains(node)));
            let outcome = match (random.below(10), old.map(|old| &*old.outcome)) {
                (0, _) => continue,
                (1, _) => Outcome::Failed(LookupError::puppet("a hush went wrong").sealed(Some(secrecy(random)))),
                (2..6, Some(Outcome::Found(value))) => {
                    let changed = random.variant(value);
                    Outcome::Found(with_secrets(random, &changed, name))
                }
                (6.., Some(outcome)) => outcome.clone(),
                _ => {
                    let value = random.value(3);
                    Outcome::Found(with_secrets(random, &value, name))
                }
            };
            add(&mut answers, node, outcome);
        }
        effective.keys.insert(key.into(), answers);
    }
    effective
}

fn add(answers: &mut Vec<Answer>, node: NodeId, outcome: Outcome) {
    match answers.iter_mut().find(|answer| *answer.outcome == outcome) {
        Some(answer) => answer.nodes.insert(node),
        None => answers.push(Answer::new([node].into_iter().collect(), Arc::new(outcome))),
    }
}

fn secrecy(random: &mut Random) -> Secrecy {
    let form = [Form::Clear, Form::Clear, Form::Named, Form::Encrypted][random.below(4)];
    Secrecy { form, seal: random.next() % 3 }
}

/// `value` with secrets in some places.
fn with_secrets(random: &mut Random, value: &Value, node: &str) -> Value {
    match (random.below(8), value) {
        (0, _) if value.secrecy().is_none() => secret(random, node),
        (_, Value::Array(items)) => items.iter().map(|item| with_secrets(random, item, node)).collect(),
        (_, Value::Hash(hash)) => {
            let entry = |(key, value): (&Value, &Value)| {
                let key = if random.below(8) == 0 { secret(random, node) } else { key.clone() };
                (key, with_secrets(random, value, node))
            };
            Value::hash(hash.iter().map(entry).collect())
        }
        (_, other) => other.clone(),
    }
}

fn secret(random: &mut Random, node: &str) -> Value {
    let plain = match random.below(7) {
        0 => Value::from("hush"),
        1 => Value::from("a hush\nof several\nlines\n"),
        2 => Value::from(format!("hush of {node}")),
        3 => Value::from(735_924_810 + i64::try_from(random.below(3)).unwrap()),
        4 => Value::Symbol("hush".into()),
        5 => Value::Bytes(b"hush\xff".as_slice().into()),
        _ => [Value::from("name"), Value::from("hush")].into_iter().collect(),
    };
    if random.below(3) == 0 {
        return Value::Rich(Arc::new(Rich::sensitive(&plain)));
    }
    plain.sealed(Some(secrecy(random)))
}
