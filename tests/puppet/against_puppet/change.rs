//! Changes: what a key was on a node before and is after, by Puppet's two answers and by hierad's `diff`.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::answers::{Answer, Answers};
use super::difference;
use super::json::Json;

/// A node and a key.
pub(crate) type Place = (String, String);

/// Before and after.
pub(crate) type Sides = [Option<Answer>; 2];

/// All changes, by node and key.
pub(crate) type Changes = BTreeMap<Place, Sides>;

/// The changes that hierad prints. A change of an error's text alone is left out, as in what is expected.
pub(crate) fn printed(diff: &Json) -> Result<Changes, Fault> {
    let mut changes = Changes::new();
    for change in diff.get("changes").ok_or("no changes")?.items() {
        let key = change.get("key").ok_or("a change without a key")?.text();
        let sides = ["before", "after"].map(|side| change.get(side).and_then(answer));
        if matches!(sides, [Some(Answer::Error(_)), Some(Answer::Error(_))]) {
            continue;
        }
        for node in nodes(diff, change)? {
            changes.insert((node.to_owned(), key.to_owned()), sides.clone());
        }
    }
    Ok(changes)
}

/// The names of the nodes of a change, whose set has ranges of positions in the list of all names.
fn nodes<'d>(diff: &'d Json, change: &Json) -> Result<Vec<&'d str>, Fault> {
    let table = |name: &str| diff.get(name).map(Json::items).ok_or("no names or sets of nodes");
    let (names, sets) = (table("node_names")?, table("node_sets")?);
    let set = sets.get(position(change.get("nodes").ok_or("a change without nodes")?)?);
    let mut nodes = Vec::new();
    for item in set.ok_or("a change with a set of nodes that is not there")?.items() {
        let [first, last] = if let [first, last] = item.items() { [first, last] } else { [item, item] };
        let range = names.get(position(first)?..=position(last)?).ok_or("a range of nodes that are not there")?;
        nodes.extend(range.iter().map(Json::text));
    }
    Ok(nodes)
}

fn position(number: &Json) -> Result<usize, Fault> {
    Ok(number.to_string().parse()?)
}

fn answer(side: &Json) -> Option<Answer> {
    match (side.get("value"), side.get("error")) {
        (Some(value), _) => Some(Answer::Value(value.clone())),
        (None, Some(error)) => Some(Answer::Error(error.text().to_owned())),
        (None, None) => None,
    }
}

/// The answers of both for two revisions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered<'a> {
    /// Puppet, asked for the same keys of both revisions.
    pub(crate) puppet: [&'a Answers; 2],
    /// hierad; the keys of a revision that it knows of.
    pub(crate) hierad: [&'a Answers; 2],
}

impl Answered<'_> {
    /// The places where a diff differs from what Puppet's answers make of it, each in words.
    pub(crate) fn differences(self, diff: &Changes) -> Vec<String> {
        let line = |place: &Place, sides: &Sides| {
            let ours = diff.get(place).map_or_else(|| "no change".to_owned(), words);
            format!("  {} {:?}\n    Puppet: {}\n    hierad: {ours}", place.0, place.1, words(sides))
        };
        let places: BTreeSet<Place> = self.changed().into_iter().chain(diff.keys().cloned()).collect();
        let sides = |place: &Place| sides(self.puppet, place);
        let differ = |place: &&Place| !self.agree(place, &sides(place), diff.get(*place));
        places.iter().filter(differ).map(|place| line(place, &sides(place))).collect()
    }

    /// Returns the keys whose answers by Puppet before and after are not the same.
    pub(crate) fn changed(self) -> Vec<Place> {
        changed(self.puppet)
    }

    /// Returns the keys that one side does not find and that fail on the other one, and that hierad does not list: no
    /// level reads the files that have them.
    pub(crate) fn unlisted(self, diff: &Changes) -> Vec<Place> {
        let is_unlisted = |place: &Place| {
            let fails =
                matches!(sides(self.puppet, place), [None, Some(Answer::Error(_))] | [Some(Answer::Error(_)), None]);
            fails && !diff.contains_key(place) && sides(self.hierad, place).iter().all(Option::is_none)
        };
        self.changed().into_iter().filter(is_unlisted).collect()
    }

    fn agree(self, place: &Place, puppet: &Sides, change: Option<&Sides>) -> bool {
        let each = |ours: &Sides| (0..2).all(|side| difference::same(puppet[side].as_ref(), ours[side].as_ref()));
        let ours = sides(self.hierad, place);
        let by_order = puppet.iter().flatten().any(Answer::depends_on_the_order);
        let is_partial = self.hierad.iter().any(|nodes| nodes.get(&place.0).is_some_and(difference::is_partial));
        match change {
            _ if by_order || is_partial => true,
            Some(ours) => each(ours),
            // What hierad does not know, before and after, is no change.
            None => is_unchanged(puppet) || (is_unchanged(&ours) && each(&ours)),
        }
    }
}

/// Returns the keys whose answers before and after are not the same.
pub(crate) fn changed(answers: [&Answers; 2]) -> Vec<Place> {
    let places = answers.iter().flat_map(|answers| answers.iter());
    let places = places.flat_map(|(node, keys)| keys.keys().map(move |key| (node.clone(), key.clone())));
    places.filter(|place| !is_unchanged(&sides(answers, place))).collect()
}

fn sides(answers: [&Answers; 2], (node, key): &Place) -> Sides {
    answers.map(|answers| answers.get(node).and_then(|node| node.get(key)).cloned())
}

/// Returns true if nothing changes; another text of an error is no change.
pub(crate) fn is_unchanged(sides: &Sides) -> bool {
    matches!(sides, [Some(Answer::Error(_)), Some(Answer::Error(_))]) || sides[0] == sides[1]
}

/// A change in words.
pub(crate) fn words(sides: &Sides) -> String {
    let text = |answer: &Option<Answer>| answer.as_ref().map_or_else(|| "not found".to_owned(), Answer::to_string);
    format!("{} -> {}", text(&sides[0]), text(&sides[1]))
}
