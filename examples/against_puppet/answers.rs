//! Answers: what a key is on a node, from whichever side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Fault;
use super::json::Json;
use super::texts::Texts;

/// What a lookup comes to; "not found" is the absence of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// A value.
    Value(Json),
    /// A failure, and its text.
    Error(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Value(value) => write!(f, "{value}"),
            Answer::Error(text) => write!(f, "error: {}", text.replace('\n', "\\n")),
        }
    }
}

/// The answers of one node, by key.
pub(crate) type Node = BTreeMap<String, Answer>;

/// The answers of all nodes, by name.
pub(crate) type Answers = BTreeMap<String, Node>;

/// Reads `{"node": NAME, "values": {...}, "errors": {...}}`.
pub(crate) fn node(line: &Json) -> Result<(String, Node), Fault> {
    let name = line.get("node").ok_or("an answer without a node")?.text().to_owned();
    let values = line.get("values").ok_or("an answer without values")?.entries();
    let errors = line.get("errors").ok_or("an answer without errors")?.entries();
    let values = values.iter().map(|(key, value)| (key.clone(), Answer::Value(value.clone())));
    let errors = errors.iter().map(|(key, text)| (key.clone(), Answer::Error(text.text().to_owned())));
    Ok((name, values.chain(errors).collect()))
}

/// All keys that have an answer on some node.
pub(crate) fn keys(answers: &Answers) -> BTreeSet<String> {
    answers.values().flat_map(BTreeMap::keys).cloned().collect()
}

/// How much was compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Nodes.
    pub(crate) nodes: usize,
    /// Values and errors of Puppet's.
    pub(crate) answers: usize,
    /// Errors among them.
    pub(crate) errors: usize,
    /// Errors whose text hierad has word for word.
    pub(crate) same_texts: usize,
    /// The texts of the others.
    pub(crate) texts: Texts,
}

impl Tally {
    /// Counts what Puppet answered, and how often hierad said the same.
    pub(crate) fn of(puppet: &Answers, hierad: &Answers) -> Tally {
        let mut tally = Tally { nodes: puppet.len(), ..Tally::default() };
        for (name, node) in puppet {
            tally.answers += node.len();
            for (key, answer) in node {
                let Answer::Error(text) = answer else { continue };
                tally.errors += 1;
                match hierad.get(name).and_then(|node| node.get(key)) {
                    Some(Answer::Error(ours)) if ours == text => tally.same_texts += 1,
                    Some(Answer::Error(ours)) => tally.texts.add(text, ours),
                    _ => {}
                }
            }
        }
        tally
    }

    /// Adds another count.
    pub(crate) fn add(&mut self, other: Tally) {
        self.nodes += other.nodes;
        self.answers += other.answers;
        self.errors += other.errors;
        self.same_texts += other.same_texts;
        self.texts.join(other.texts);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: usize, whole: usize| if whole == 0 { 0.0 } else { 100.0 * ratio(part, whole) };
        write!(
            f,
            "{} nodes, {} answers ({:.1}% errors, {:.1}% of their texts equal)",
            self.nodes,
            self.answers,
            share(self.errors, self.answers),
            share(self.same_texts, self.errors)
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
