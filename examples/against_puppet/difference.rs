//! Differences between what Puppet and hierad answer.

use std::collections::BTreeSet;
use std::fmt;

use super::answers::{Answer, Answers};

/// One key of one node on which the two disagree.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    /// The node.
    pub(crate) node: String,
    /// The key.
    pub(crate) key: String,
    /// Puppet's answer.
    pub(crate) puppet: Option<Answer>,
    /// hierad's.
    pub(crate) hierad: Option<Answer>,
}

impl Difference {
    /// What stays the same while a repository shrinks around one difference: the key, and what each side says of it,
    /// for hierad to the text of an error.
    pub(crate) fn kind(&self) -> [String; 3] {
        let hierad = match &self.hierad {
            Some(Answer::Error(text)) => text.clone(),
            other => outcome(other.as_ref()).to_owned(),
        };
        [self.key.clone(), outcome(self.puppet.as_ref()).to_owned(), hierad]
    }
}

fn outcome(answer: Option<&Answer>) -> &'static str {
    match answer {
        Some(Answer::Value(_)) => "a value",
        Some(Answer::Error(_)) => "an error",
        None => "not found",
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |answer: &Option<Answer>| answer.as_ref().map_or_else(|| "not found".to_owned(), Answer::to_string);
        let (puppet, hierad) = (text(&self.puppet), text(&self.hierad));
        write!(f, "  {} {:?}\n    Puppet: {puppet}\n    hierad: {hierad}", self.node, self.key)
    }
}

/// Whether two answers count as the same: equal values, or errors of whatever text.
pub(crate) fn same(one: Option<&Answer>, other: Option<&Answer>) -> bool {
    match (one, other) {
        (Some(Answer::Error(_)), Some(Answer::Error(_))) => true,
        (one, other) => one == other,
    }
}

/// Every key of every node on which the two disagree, in the order of names.
pub(crate) fn between(puppet: &Answers, hierad: &Answers) -> Vec<Difference> {
    let names: BTreeSet<&String> = puppet.keys().chain(hierad.keys()).collect();
    let empty = super::answers::Node::new();
    let mut differences = Vec::new();
    for name in names {
        let (left, right) = (puppet.get(name).unwrap_or(&empty), hierad.get(name).unwrap_or(&empty));
        for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
            let (one, other) = (left.get(key), right.get(key));
            if !same(one, other) {
                let (puppet, hierad) = (one.cloned(), other.cloned());
                differences.push(Difference { node: name.clone(), key: key.clone(), puppet, hierad });
            }
        }
    }
    differences
}
