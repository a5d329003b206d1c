//! The answers of the two sides, and their comparison.

use std::fmt;

use crate::disclosure::Disclosure;
use crate::fleet::Effective;
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeId;
use crate::puppet::ErrorKind;
use crate::puppet::json;
use crate::value::{Secrecy, Text, Value};

/// The answer of one side for a key on a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The value.
    Found(Value),
    /// There is no such key.
    NotFound,
    /// The lookup fails.
    Failed(Text),
    /// hierad cannot know the answer: the lookup says so, or the value is ciphertext.
    Unknown,
    /// hierad cannot know the answer: it is the result of a function that hierad does not have.
    Function,
    /// Puppet is not asked: the answer would need code, or a file that hierad does not read.
    NotAsked,
}

/// The result of comparing two answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Equal values, failures with any texts, or no value on both sides.
    Same,
    /// Anything else.
    Different,
    /// hierad does not know the answer.
    Unknown,
    /// Puppet is not asked.
    NotAsked,
}

impl Answer {
    /// Returns hierad's answer for a key on a node.
    pub(super) fn of(effective: &Effective, node: NodeId, key: &str) -> Answer {
        let answers = effective.keys.get(key).into_iter().flatten();
        match answers.into_iter().find(|answer| answer.nodes.contains(node)).map(|answer| &*answer.outcome) {
            Some(Outcome::Found(value)) if value.secrecy().is_some_and(Secrecy::is_opaque) => Answer::Unknown,
            Some(Outcome::Found(value)) => Answer::Found(value.clone()),
            Some(Outcome::Failed(LookupError { kind: ErrorKind::Unknown, .. })) => Answer::Unknown,
            // Puppet may have the function.
            Some(Outcome::Failed(error)) if error.missing_function().is_some() => Answer::Function,
            Some(Outcome::Failed(error)) => Answer::Failed(error.text.clone()),
            Some(Outcome::NotFound) | None => Answer::NotFound,
        }
    }

    /// Makes an answer from Puppet's value, in rich data form.
    pub(super) fn found(value: &Value) -> Answer {
        Answer::Found(value.clone())
    }

    /// Makes an answer from Puppet's error.
    pub(super) fn failed(text: &Value) -> Answer {
        Answer::Failed(text.as_str().unwrap_or_default().into())
    }

    /// Returns true if the answer holds a secret. Puppet marks only Sensitive values.
    pub fn is_secret(&self) -> bool {
        match self {
            Answer::Found(value) => value.secrecy().is_some() || holds_sensitive(value),
            Answer::Failed(text) => text.secrecy().is_some(),
            Answer::NotFound | Answer::Unknown | Answer::Function | Answer::NotAsked => false,
        }
    }

    /// Returns true if the answer needs a function that is not part of the installation.
    pub(super) fn needs_code(&self) -> bool {
        match self {
            Answer::Function => true,
            Answer::Failed(text) => text.visible().contains("' function named '"),
            _ => false,
        }
    }
}

fn holds_sensitive(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_sensitive),
        Value::Hash(hash) => {
            hash.get("__ptype").and_then(Value::as_str) == Some("Sensitive") || hash.values().any(holds_sensitive)
        }
        _ => false,
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Found(value) => f.write_str(&json::compact(value)),
            Answer::NotFound => f.write_str("not found"),
            Answer::Failed(text) => write!(f, "fails: {}", text.visible()),
            Answer::Unknown | Answer::Function => f.write_str("unknown"),
            Answer::NotAsked => f.write_str("not asked"),
        }
    }
}

/// Compares Puppet's answer with hierad's. Secrets are compared, too, and never shown.
pub(super) fn verdict(puppet: &Answer, hierad: &Answer) -> Verdict {
    let same = match (puppet, hierad) {
        (_, Answer::Unknown | Answer::Function) => return Verdict::Unknown,
        (Answer::NotAsked, _) => return Verdict::NotAsked,
        (Answer::Found(theirs), Answer::Found(ours)) => theirs == ours || through_json(theirs) == through_json(ours),
        (Answer::Failed(_), Answer::Failed(_)) | (Answer::NotFound, Answer::NotFound) => true,
        _ => false,
    };
    if same { Verdict::Same } else { Verdict::Different }
}

/// Returns the value as JSON can hold it, since Puppet's answers come as JSON.
fn through_json(value: &Value) -> Value {
    json::parse(json::compact(&Disclosure::shown().value(value)).as_bytes()).value
}
