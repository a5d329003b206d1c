//! Answers of the two sides, and whether they are the same.

use std::fmt;

use crate::disclosure::Disclosure;
use crate::fleet::Effective;
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeId;
use crate::pipeline::suggestions::missing_function;
use crate::puppet::ErrorKind;
use crate::puppet::json;
use crate::value::{Text, Value};

/// What one side answers to a key on a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// A value.
    Found(Value),
    /// No such key.
    NotFound,
    /// A failure.
    Failed(Text),
    /// hierad cannot know: what it says so of, ciphertext, and what functions of others say.
    Unknown,
}

/// What comes of two answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Equal values, or failures of whatever text, or nothing on both sides.
    Same,
    /// Anything else.
    Different,
    /// hierad does not know.
    Unknown,
}

impl Answer {
    /// hierad's.
    pub(super) fn of(effective: &Effective, node: NodeId, key: &str) -> Answer {
        let answers = effective.keys.get(key).into_iter().flatten();
        match answers.into_iter().find(|answer| answer.nodes.contains(node)).map(|answer| &*answer.outcome) {
            Some(Outcome::Found(value)) if value.secrecy().is_some_and(|secrecy| secrecy.opaque) => Answer::Unknown,
            Some(Outcome::Found(value)) => Answer::Found(value.clone()),
            Some(Outcome::Failed(LookupError { kind: ErrorKind::Unknown, .. })) => Answer::Unknown,
            // Here Puppet may have it.
            Some(Outcome::Failed(error)) if missing_function(error.text.visible()).is_some() => Answer::Unknown,
            Some(Outcome::Failed(error)) => Answer::Failed(error.text.clone()),
            Some(Outcome::NotFound) | None => Answer::NotFound,
        }
    }

    /// A value of Puppet's, in rich data form.
    pub(super) fn found(value: &Value) -> Answer {
        Answer::Found(value.clone())
    }

    /// An error of Puppet's.
    pub(super) fn failed(text: &Value) -> Answer {
        Answer::Failed(text.as_str().unwrap_or_default().into())
    }

    /// Whether it holds something that not everybody may see. Puppet marks only what is Sensitive.
    pub(super) fn is_secret(&self) -> bool {
        match self {
            Answer::Found(value) => value.secrecy().is_some() || holds_sensitive(value),
            Answer::Failed(text) => text.secrecy().is_some(),
            Answer::NotFound | Answer::Unknown => false,
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
            Answer::Unknown => f.write_str("unknown"),
        }
    }
}

/// Compares Puppet's answer with hierad's. Secrets are compared, too, and stay inside.
pub(super) fn verdict(puppet: &Answer, hierad: &Answer) -> Verdict {
    let same = match (puppet, hierad) {
        (_, Answer::Unknown) => return Verdict::Unknown,
        (Answer::Found(theirs), Answer::Found(ours)) => theirs == ours || written(theirs) == written(ours),
        (Answer::Failed(_), Answer::Failed(_)) | (Answer::NotFound, Answer::NotFound) => true,
        _ => false,
    };
    if same { Verdict::Same } else { Verdict::Different }
}

/// The value as JSON can hold it: what Puppet answers has been through JSON.
fn written(value: &Value) -> Value {
    json::parse(json::compact(&Disclosure::shown().value(value)).as_bytes()).value
}
