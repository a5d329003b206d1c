//! Answers: what a key is on a node, from whichever side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::Fault;
use super::difference;
use super::json::Json;
use super::texts::{Kinds, Texts};

/// The answer of a lookup; "not found" is the absence of one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// A value.
    Value(Json),
    /// A failure, and its text.
    Error(String),
}

impl Answer {
    /// True if it is an error that depends on earlier lookups.
    pub(crate) fn depends_on_the_order(&self) -> bool {
        matches!(self, Answer::Error(text) if difference::depends_on_the_order(text))
    }
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

/// Reads `{"node": NAME, "values": {...}, "errors": {...}}`. In errors, paths below `folder` are relative to it.
pub(crate) fn node(line: &Json, folder: Option<&Path>) -> Result<(String, Node), Fault> {
    let name = line.get("node").ok_or("an answer without a node")?.text().to_owned();
    let values = line.get("values").ok_or("an answer without values")?.entries();
    let errors = line.get("errors").ok_or("an answer without errors")?.entries();
    let values = values.iter().map(|(key, value)| (key.clone(), Answer::Value(value.clone())));
    let folder = folder.map(|folder| format!("{}/", folder.display()));
    let relative = |text: &str| folder.as_ref().map_or_else(|| text.to_owned(), |folder| text.replace(folder, ""));
    let errors = errors.iter().map(|(key, text)| (key.clone(), Answer::Error(relative(text.text()))));
    Ok((name, values.chain(errors).collect()))
}

/// All keys that have an answer on some node.
pub(crate) fn keys(answers: &Answers) -> BTreeSet<String> {
    answers.values().flat_map(BTreeMap::keys).cloned().collect()
}

/// The beginning of hierad's errors where it cannot know the answer.
const UNKNOWN: &str = "unknown to hierad: ";

/// The numbers of compared things.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Nodes.
    pub(crate) nodes: usize,
    /// Values and errors of Puppet's.
    pub(crate) answers: usize,
    /// Errors among them.
    pub(crate) errors: Kinds,
    /// Why hierad cannot know the answer to some of all these.
    pub(crate) unknown: Kinds,
    /// Errors whose text hierad has word for word.
    pub(crate) same_texts: usize,
    /// Answers that Puppet gives as hierad does only if nothing was looked up before.
    pub(crate) by_order: usize,
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
                let ours = hierad.get(name).and_then(|node| node.get(key));
                if let Some(Answer::Error(ours)) = ours
                    && let Some((_, reason)) = ours.split_once(UNKNOWN)
                {
                    tally.unknown.add(reason);
                }
                let Answer::Error(text) = answer else { continue };
                if difference::depends_on_the_order(text) {
                    continue;
                }
                tally.errors.add(text);
                match ours {
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
        self.errors.join(other.errors);
        self.unknown.join(other.unknown);
        self.same_texts += other.same_texts;
        self.by_order += other.by_order;
        self.texts.join(other.texts);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: usize, whole: usize| if whole == 0 { 0.0 } else { 100.0 * ratio(part, whole) };
        write!(
            f,
            "{} nodes, {} answers ({:.1}% errors, {:.1}% of their texts equal; {:.2}% unknown to hierad, {} depend on the order of lookups)",
            self.nodes,
            self.answers,
            share(self.errors.total(), self.answers),
            share(self.same_texts, self.errors.total()),
            share(self.unknown.total(), self.answers),
            self.by_order
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
