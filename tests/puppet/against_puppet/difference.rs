//! Differences between what Puppet and hierad answer.

use std::collections::BTreeSet;
use std::fmt;

use super::answers::{Answer, Answers, Node};
use super::json::Json;

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
    /// The part that stays the same while a repository shrinks around one difference: the key, and each side's answer,
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

/// Returns true if two answers count as the same: equal values, or errors of whatever text.
pub(crate) fn same(puppet: Option<&Answer>, hierad: Option<&Answer>) -> bool {
    match (puppet, hierad) {
        (Some(Answer::Error(_)), Some(Answer::Error(_))) => true,
        (Some(Answer::Error(text)), Some(Answer::Value(shown))) if lacks_keys(text) && is_opaque(shown) => true,
        (_, Some(Answer::Error(text))) => is_out_of_reach(text) || depends_on_chance(text),
        (puppet, hierad) => puppet == hierad,
    }
}

/// Returns true if an error of Puppet's depends on earlier lookups: a `convert_to` that is an array holds a type from
/// its first use on, which options of a module cannot be merged with; a default hierarchy that fails does so with this
/// text from the second time on.
pub(crate) fn depends_on_the_order(puppet: &str) -> bool {
    let holds_a_type = puppet.contains("entry 'convert_to' variant") && puppet.contains("got Type");
    holds_a_type || puppet.ends_with("undefined method `empty?' for nil:NilClass")
}

/// Errors of answers that hierad cannot know, for reasons that `docs/compatibility.md` gives: the HOCON files that
/// Puppet's process has read before, the data types of modules, texts of HOCON that are no UTF-8 for Ruby, times beyond
/// the ages, some regular expressions, globs longer than any path.
const OUT_OF_REACH: [&str; 13] = [
    "uninitialized constant Hocon",
    "is not one of Puppet's own",
    "a text with surrogates",
    "a text that is not UTF-8",
    "the format '%p' of a Time",
    "has an address in memory",
    "a time that many ages away",
    "has left of what a function gave",
    "an option of character sets in a regular expression",
    "a class that ignores case in a regular expression",
    "is what a regular expression asks for",
    "target of repeat operator is invalid",
    "is longer than 4096 bytes",
];

fn is_out_of_reach(hierad: &str) -> bool {
    hierad.contains("unknown to hierad: ") && OUT_OF_REACH.iter().any(|reason| hierad.contains(reason))
}

/// Returns true if Puppet fails for missing keys, where hierad shows ciphertext.
fn lacks_keys(puppet: &str) -> bool {
    puppet.contains("No such file or directory @ rb_sysopen")
}

/// Returns true if a value has a part that hierad cannot decrypt.
fn is_opaque(shown: &Json) -> bool {
    let text = shown.to_string();
    text.contains("ENC[") || text.contains(r#""__ptype": "Encrypted""#)
}

/// Returns true if Puppet's answer depends on chance: for a block of another key pair OpenSSL makes up a content key,
/// which now and then opens the block.
fn depends_on_chance(hierad: &str) -> bool {
    let is_of_a_block = ["hiera-eyaml backend error decrypting", "Hiera-eyaml decryption failed"];
    is_of_a_block.iter().any(|text| hierad.contains(text)) && hierad.ends_with("bad decrypt")
}

/// Returns true if hierad's answers lack the keys of a file that only some processes can read.
pub(crate) fn is_partial(hierad: &Node) -> bool {
    hierad.values().any(|answer| matches!(answer, Answer::Error(text) if text.contains(OUT_OF_REACH[0])))
}

/// Every key of every node on which the two disagree, in the order of names.
pub(crate) fn between(puppet: &Answers, hierad: &Answers) -> Vec<Difference> {
    let names: BTreeSet<&String> = puppet.keys().chain(hierad.keys()).collect();
    let empty = Node::new();
    let mut differences = Vec::new();
    for name in names {
        let (left, right) = (puppet.get(name).unwrap_or(&empty), hierad.get(name).unwrap_or(&empty));
        let is_partial = is_partial(right);
        for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
            let (one, other) = (left.get(key), right.get(key));
            let is_same = same(one, other) || (is_partial && other.is_none());
            if !is_same {
                let (puppet, hierad) = (one.cloned(), other.cloned());
                differences.push(Difference { node: name.clone(), key: key.clone(), puppet, hierad });
            }
        }
    }
    differences
}
