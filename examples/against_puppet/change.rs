//! Changes: what a key was on a node before and is after, by Puppet's two answers and by hierad's `diff`.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::answers::{Answer, Answers};
use super::difference;
use super::json::Json;

/// Before and after.
type Sides = [Option<Answer>; 2];

/// All changes, by node and key.
pub(crate) type Changes = BTreeMap<(String, String), Sides>;

/// What differs between Puppet's answers before and after; both must have been asked for the same keys.
pub(crate) fn between(before: &Answers, after: &Answers) -> Changes {
    let differences = difference::between(before, after).into_iter();
    differences.map(|change| ((change.node, change.key), [change.puppet, change.hierad])).collect()
}

/// The changes that hierad prints. A change of an error's text alone is left out, as in what is expected.
pub(crate) fn printed(diff: &Json) -> Result<Changes, Fault> {
    let mut changes = Changes::new();
    for change in diff.get("changes").ok_or("no changes")?.items() {
        let key = change.get("key").ok_or("a change without a key")?.text();
        let sides = ["before", "after"].map(|side| change.get(side).and_then(answer));
        if matches!(sides, [Some(Answer::Error(_)), Some(Answer::Error(_))]) {
            continue;
        }
        for node in change.get("nodes").ok_or("a change without nodes")?.items() {
            changes.insert((node.text().to_owned(), key.to_owned()), sides.clone());
        }
    }
    Ok(changes)
}

fn answer(side: &Json) -> Option<Answer> {
    match (side.get("value"), side.get("error")) {
        (Some(value), _) => Some(Answer::Value(value.clone())),
        (None, Some(error)) => Some(Answer::Error(error.text().to_owned())),
        (None, None) => None,
    }
}

/// The places where the two sets of changes differ, each in words.
pub(crate) fn differences(expected: &Changes, found: &Changes) -> Vec<String> {
    let agree = |place: &(String, String)| match (expected.get(place), found.get(place)) {
        (Some(one), Some(other)) => (0..2).all(|side| difference::same(one[side].as_ref(), other[side].as_ref())),
        _ => false,
    };
    let places: BTreeSet<_> = expected.keys().chain(found.keys()).filter(|place| !agree(place)).collect();
    let text =
        |changes: &Changes, place: &(String, String)| changes.get(place).map_or_else(|| "no change".to_owned(), words);
    let line = |place: &(String, String)| {
        let (puppet, hierad) = (text(expected, place), text(found, place));
        format!("  {} {:?}\n    Puppet: {puppet}\n    hierad: {hierad}", place.0, place.1)
    };
    places.into_iter().map(line).collect()
}

fn words(sides: &Sides) -> String {
    let text = |answer: &Option<Answer>| answer.as_ref().map_or_else(|| "not found".to_owned(), Answer::to_string);
    format!("{} -> {}", text(&sides[0]), text(&sides[1]))
}
