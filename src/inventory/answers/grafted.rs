//! Completes an answer in use with facts and nodes of a newer one.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::store::{Answer, Stored};
use crate::inventory::{FactNames, FetchError};

/// The parts of a profile by name, as they are written.
type Parts<'a> = BTreeMap<String, &'a RawValue>;

/// A line of a profile.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    rest: Parts<'a>,
    facts: Parts<'a>,
}

/// Adds to the nodes of `older` those facts of `newer` that were not requested for `older`.
pub(in crate::inventory) fn with_facts(older: &Stored, newer: &Stored) -> Result<Answer, FetchError> {
    let (text, lines) = (older.content()?, newer.lines()?);
    let mut answer = begin_answer(older);
    for line in text.lines() {
        let whole = line_with_facts(line, &older.header.facts, |name| lines.get(name).map(String::as_str));
        answer.lines.extend(whole.as_deref().unwrap_or(line).as_bytes());
        answer.lines.push(b'\n');
    }
    answer.count = older.header.count;
    answer.facts = older.header.facts.clone().with(&newer.header.facts);
    Ok(answer)
}

/// Returns a line with the facts of a newer one for the same node that are not `known`, or `None` if there are none.
fn line_with_facts<'l>(line: &str, known: &FactNames, newer: impl Fn(&str) -> Option<&'l str>) -> Option<String> {
    let mut rest: Parts<'_> = serde_json::from_str(line).ok()?;
    let name: String = serde_json::from_str(rest.get("name")?.get()).ok()?;
    let other: Parts<'_> = serde_json::from_str(newer(&name)?).ok()?;
    let mut facts: Parts<'_> = match rest.remove("facts") {
        Some(facts) => serde_json::from_str(facts.get()).ok()?,
        None => Parts::new(),
    };
    let added: Parts<'_> = serde_json::from_str(other.get("facts")?.get()).ok()?;
    facts.extend(added.into_iter().filter(|(name, _)| !known.has(name)));
    serde_json::to_string(&Line { rest, facts }).ok()
}

/// Adds to `older` those nodes of `newer` that were not requested for `older`.
pub(in crate::inventory) fn with_nodes(older: &Stored, newer: &Stored) -> Result<Answer, FetchError> {
    let (mut lines, mut answer) = (newer.lines()?, begin_answer(older));
    lines.extend(older.lines()?);
    answer.failed = newer.header.failed.clone();
    answer.failed.extend(older.header.failed.clone());
    lines.retain(|name, _| !older.header.failed.contains_key(name));
    answer.failed.retain(|name, _| !lines.contains_key(name));
    answer.count = lines.len();
    answer.lines = lines.into_values().flat_map(|line| line.into_bytes().into_iter().chain([b'\n'])).collect();
    Ok(answer)
}

/// Returns an empty answer with the time and the facts of `older`.
fn begin_answer(older: &Stored) -> Answer {
    Answer { facts: older.header.facts.clone(), fetched: Some(older.header.fetched), ..Answer::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Store;

    fn stored(store: &Store, lines: &str, facts: &str, fetched: u64) -> Stored {
        let facts = FactNames::Some(facts.split_whitespace().map(str::to_owned).collect());
        let count = lines.lines().count();
        let answer = Answer { lines: lines.into(), count, facts, fetched: Some(fetched), ..Answer::default() };
        store.keep("a", answer).unwrap()
    }

    #[test]
    fn known_facts_stay_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), "puppetdb", "a");
        let own = "{\"name\":\"b\",\"timestamp\":\"t1\",\"facts\":{\"os\":1.50,\"role\":\"x\"}}\n{\"name\":\"a\"}\n{\"name\":\"gone\",\"facts\":{}}\n";
        let own = stored(&store, own, "os role gone", 1);
        let newer = "{\"name\":\"a\",\"facts\":{\"os\":9,\"site\":\"s\"}}\n{\"name\":\"b\",\"timestamp\":\"t2\",\"facts\":{\"os\":2,\"gone\":1,\"site\":2.0}}\n{\"name\":\"new\",\"facts\":{\"os\":3}}\n";
        let newer = stored(&store, newer, "os role gone site", 2);
        let Answer { lines, count, facts, fetched, .. } = with_facts(&own, &newer).unwrap();
        let expected = "{\"name\":\"b\",\"timestamp\":\"t1\",\"facts\":{\"os\":1.50,\"role\":\"x\",\"site\":2.0}}\n{\"name\":\"a\",\"facts\":{\"site\":\"s\"}}\n{\"name\":\"gone\",\"facts\":{}}\n";
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
        assert_eq!((count, fetched, facts), (3, Some(1), newer.header.facts));
    }

    #[test]
    fn known_nodes_stay_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), "enc", "a");
        let mut own = stored(&store, "{\"name\":\"b\",\"x\":1}\n", "", 1);
        own.header.failed = [("c".to_owned(), "no".to_owned())].into();
        let mut newer = stored(&store, "{\"name\":\"a\",\"x\":3}\n{\"name\":\"b\",\"x\":2}\n{\"name\":\"c\"}\n", "", 2);
        newer.header.failed = [("b".to_owned(), "no".to_owned()), ("d".to_owned(), "no".to_owned())].into();
        let Answer { lines, count, failed, .. } = with_nodes(&own, &newer).unwrap();
        assert_eq!(String::from_utf8(lines).unwrap(), "{\"name\":\"a\",\"x\":3}\n{\"name\":\"b\",\"x\":1}\n");
        assert_eq!((count, failed.into_keys().collect::<Vec<_>>()), (2, vec!["c".to_owned(), "d".to_owned()]));
    }
}
