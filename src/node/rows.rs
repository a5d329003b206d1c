//! Joins rows of `PuppetDB`'s endpoint `facts`, one for each fact of each node.

use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::puppet::json;
use crate::value::{Hash, Selection, Value};

/// A fact of a node.
struct Row<'v> {
    certname: &'v str,
    environment: Option<&'v Value>,
    fact: &'v str,
    value: &'v Value,
}

impl Row<'_> {
    fn of(value: &Value) -> Option<Row<'_>> {
        let hash = value.as_hash()?;
        let environment = hash.get("environment");
        // A row with other columns is from another endpoint, such as the one with paths of parts of facts.
        let is_whole = hash.len() == 3 + usize::from(environment.is_some());
        let [certname, fact] = ["certname", "name"].map(|name| hash.get(name).and_then(Value::as_str));
        Some(Row { certname: certname?, environment, fact: fact?, value: hash.get("value")? }).filter(|_| is_whole)
    }
}

/// Returns true if a value is a fact of a node instead of a profile.
pub(super) fn is_fact_row(value: &Value) -> bool {
    Row::of(value).is_some()
}

/// Returns true if the first line of `content` is a fact of a node, so that all lines must be joined.
pub fn begins_with_fact_row(content: &[u8]) -> bool {
    let first = content.split(|b| *b == b'\n').find(|line| !line.trim_ascii().is_empty());
    first.and_then(|line| json::select(line, &Selection::Whole)).is_some_and(|value| is_fact_row(&value))
}

/// A node, joined from its rows.
struct Node {
    line: u32,
    environment: Value,
    facts: Hash,
}

/// Rows, joined by their nodes.
#[derive(Default)]
pub(super) struct Rows(IndexMap<Arc<str>, Node, RandomState>);

impl Rows {
    /// Adds the `wanted` part of a row. Fails if `value` is not a row, or contradicts an earlier one.
    pub(super) fn add(&mut self, line: u32, value: &Value, wanted: &Selection) -> Result<(), String> {
        let Some(Row { certname, environment, fact, value }) = Row::of(value) else {
            return Err(
                "among rows of PuppetDB's facts, each must have certname, environment, name and value".to_owned()
            );
        };
        let new = || Node { line, environment: environment.cloned().unwrap_or_default(), facts: Hash::new() };
        let node = self.0.entry(certname.into()).or_insert_with(new);
        let Some(wanted) = wanted.entry(fact) else { return Ok(()) };
        let value = wanted.of(value);
        if node.facts.get(fact).is_some_and(|known| *known != value) {
            return Err(format!("the fact '{fact}' of {certname} has another value in an earlier row"));
        }
        node.facts.insert(fact, value);
        Ok(())
    }

    /// Returns the nodes as `PuppetDB`'s inventory has them, with the lines of their first rows.
    pub(super) fn joined(self) -> impl Iterator<Item = (u32, Value)> {
        self.0.into_iter().map(|(certname, Node { line, environment, facts })| {
            let certname: &str = &certname;
            let entries = [("certname", certname.into()), ("environment", environment), ("facts", Value::hash(facts))];
            (line, Value::hash(Hash::from_iter(entries)))
        })
    }
}
