//! Descriptions of node sets by variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use hierad::diff::{Diff, changes};
use hierad::fleet::{Answer, Distinction, Effective, Fleet};
use hierad::hiera::Outcome;
use hierad::node::{NodeId, NodeProfile, NodeSet};
use hierad::report::{Description, Input, NodeNames, Origins, Report, Term};
use hierad::value::{Hash, Rich, Value};
use hierad::workers::Workers;

use crate::support::random::Random;
use crate::support::values;

/// The variables of a random fleet, as data names them.
const NAMES: [&str; 6] = ["site", "role", "facts.os.family", "facts.role", "trusted.extensions.pp_tier", "secret"];

/// A node's values of [`NAMES`], `None` if not set.
type Row = [Option<Value>; NAMES.len()];

fn row(random: &mut Random) -> Row {
    let texts = ["berlin", "web", "a b", "x|y", "80", "", "é=1"];
    let mut value = |values: usize| -> Option<Value> {
        match random.below(values + 1) {
            0 => None,
            1 if values > 3 => Some(80_i64.into()),
            2 if values > 3 => Some(Value::Boolean(true)),
            at => Some(texts[at % texts.len()].into()),
        }
    };
    let mut row = [value(3), value(6), value(2), value(3), value(1), None];
    let secret = Value::from(["hunter2", "swordfish"][random.below(2)]);
    row[5] = Some(Value::Rich(Arc::new(Rich::Sensitive(secret))));
    row
}

fn profile(number: usize, row: &Row) -> NodeProfile {
    let hash = |entries: &[(&str, &Option<Value>)]| -> Hash {
        let set = entries.iter().filter_map(|(name, value)| Some((Value::from(*name), (*value).clone()?)));
        set.collect()
    };
    let os = Value::hash(hash(&[("family", &row[2])]));
    let extensions = Value::hash(hash(&[("pp_tier", &row[4])]));
    NodeProfile {
        name: format!("node{number:03}").into(),
        variables: hash(&[("site", &row[0]), ("role", &row[1]), ("secret", &row[5])]),
        facts: hash(&[("os", &Some(os)), ("role", &row[3])]).into(),
        trusted: hash(&[("extensions", &Some(extensions))]).into(),
        ..NodeProfile::default()
    }
}

/// The report of a key that changes on each of `sets`, a key of its own for each.
fn report(fleet: &Arc<Fleet>, names: &[&str], sets: &[NodeSet]) -> Report {
    let effective = |value: i64| {
        let answer = |set: &NodeSet| vec![Answer::new(set.clone(), Arc::new(Outcome::Found(value.into())))];
        Effective { keys: sets.iter().enumerate().map(|(at, set)| (format!("key{at}").into(), answer(set))).collect() }
    };
    Report::new(Input {
        distinctions: Distinction::of(fleet, names.iter().copied()),
        commit: Diff::default(),
        nodes: fleet.all(),
        names: NodeNames::new(fleet.clone()),
        keys: sets.len(),
        former_keys: sets.len(),
        changes: changes(Diff::new(&effective(1), &effective(2)), &Workers::of(1)),
        uses: BTreeMap::new(),
        origins: Origins::default(),
        disclosure: &values::disclosure(),
        findings: Diff::new(&[][..], &[][..]),
        blind_spots: Vec::new(),
        is_unreadable: Diff::default(),
    })
}

/// True if a description is true of a node.
fn is_true(who: &Description, row: &Row) -> bool {
    let value = |name: &str| {
        let at = NAMES.iter().position(|known| known.strip_prefix("facts.").unwrap_or(known) == name);
        let at = if name == "facts.role" { 3 } else { at.unwrap_or_else(|| panic!("{name} is no variable")) };
        // A fact is a variable, too.
        row[at].as_ref().or(if name == "role" { row[3].as_ref() } else { None }).map(|value| match value {
            Value::String(text) => text.to_string(),
            other => other.inspect().clone(),
        })
    };
    let term = |term: &Term| {
        let value = value(&term.variable);
        let has = term.values.iter().any(|one| one.as_deref() == value.as_deref());
        has != term.is_not
    };
    who.parts.iter().any(|part| part.iter().all(term)) != who.is_all_but
}

#[test]
fn descriptions_are_exact() {
    let mut random = Random::new(11);
    let (mut described, mut parts, mut exceptions) = (0, 0, 0);
    for _ in 0..200 {
        let rows: Vec<Row> = (0..random.below(60) + 4).map(|_| row(&mut random)).collect();
        let profiles = rows.iter().enumerate().map(|(number, row)| profile(number, row));
        let fleet = Arc::new(Fleet::new(profiles));
        let set = |random: &mut Random| -> NodeSet {
            let conditions: Vec<(usize, usize, bool)> = (0..=random.below(3))
                .map(|_| (random.below(5), random.below(rows.len()), random.below(3) == 0))
                .collect();
            let is_union = random.below(4) == 0;
            let holds = |node: &usize| {
                let mut all = conditions.iter().map(|(at, of, is_not)| (rows[*node][*at] == rows[*of][*at]) != *is_not);
                if is_union { all.any(|holds| holds) } else { all.all(|holds| holds) }
            };
            let mut nodes: NodeSet =
                (0..rows.len()).filter(holds).map(|node| NodeId(u32::try_from(node).unwrap())).collect();
            if random.below(6) == 0 {
                nodes.insert(NodeId(u32::try_from(random.below(rows.len())).unwrap()));
            }
            nodes
        };
        let sets: Vec<NodeSet> = (0..8).map(|_| set(&mut random)).filter(|set| !set.is_empty()).collect();
        for group in report(&fleet, &NAMES, &sets).groups {
            let Some(who) = &group.who else { continue };
            for (node, row) in rows.iter().enumerate() {
                let is_in = group.nodes.contains(NodeId(u32::try_from(node).unwrap()));
                assert_eq!(is_true(who, row), is_in, "{who} and {row:?}");
            }
            assert!(!who.to_string().contains("secret"), "{who}");
            described += 1;
            parts += usize::from(who.parts.len() > 1);
            exceptions += usize::from(who.is_all_but);
        }
    }
    assert!(described > 500 && parts > 5 && exceptions > 5, "{described} {parts} {exceptions}");
}

/// Nodes of a fleet with a site and a role each.
fn sites(rows: &[(&str, &str)]) -> Arc<Fleet> {
    let profile = |(number, (site, role)): (usize, &(&str, &str))| NodeProfile {
        name: format!("n{number}-{}.example.com", number * 7 % 5).into(),
        variables: [("site", *site), ("role", *role)]
            .map(|(k, v)| (Value::from(k), Value::from(v)))
            .into_iter()
            .collect(),
        ..NodeProfile::default()
    };
    Arc::new(Fleet::new(rows.iter().enumerate().map(profile)))
}

#[test]
fn the_shortest_description_is_chosen() {
    let mut rows = Vec::new();
    for site in ["berlin", "paris", "tokyo", "lima", "oslo"] {
        for role in ["web", "db", "mail", "web"] {
            rows.push((site, role));
        }
    }
    let fleet = sites(&rows);
    let check = |holds: &dyn Fn(&str, &str) -> bool, expected: &str| {
        let profiles = fleet.profiles(&fleet.all());
        let text = |node: &NodeId, name: &str| profiles[node].variables.get(name).unwrap().as_str().unwrap().to_owned();
        let nodes: NodeSet =
            fleet.all().iter().filter(|node| holds(&text(node, "site"), &text(node, "role"))).collect();
        let report = report(&fleet, &["site", "role"], &[nodes]);
        assert_eq!(report.groups[0].who.as_ref().map(ToString::to_string).as_deref(), Some(expected));
    };
    check(&|_, role| role == "web", "role=web");
    check(&|_, role| role != "web", "role=db|mail");
    check(&|site, role| site == "berlin" || site == "oslo" && role != "x", "site=berlin|oslo");
    check(&|site, role| site != "berlin" && role == "web", "site!=berlin and role=web");
    check(&|site, role| site == "berlin" || role == "db", "role=db or site=berlin");
    check(&|site, role| !(site == "oslo" && role == "web"), "all but site=oslo and role=web");
}

#[test]
fn sets_that_no_variables_describe_are_named() {
    let mut random = Random::new(3);
    let rows: Vec<(String, String)> =
        (0..2_000).map(|_| (format!("site{}", random.below(40)), format!("role{}", random.below(60)))).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(site, role)| (&**site, &**role)).collect();
    let sets: Vec<NodeSet> =
        (0..100).map(|_| (0..2_000).filter(|_| random.below(2) == 0).map(NodeId).collect()).collect();
    let report = report(&sites(&rows), &["site", "role"], &sets);
    assert!(report.groups.iter().all(|group| group.who.is_none()));
}
