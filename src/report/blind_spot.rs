//! Blind spots, which are changes that a commit may make unseen, and the verdict that takes them into account.

use std::sync::Arc;

use crate::node::NodeSet;

/// The answer to the question if a commit changes effective values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Changes,
    /// It does not: everything that it touches was seen on both sides.
    NoChange,
    /// No change was seen, but not everything that it touches could be seen.
    NoChangeSeen,
}

impl Verdict {
    /// Returns the name that the JSON form uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Changes => "changes",
            Verdict::NoChange => "no_change",
            Verdict::NoChangeSeen => "no_change_seen",
        }
    }
}

/// Something that could not be seen and that the commit may change.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlindSpot {
    /// A stable name for the kind, such as `outside-repository`.
    pub code: &'static str,
    /// The shortest description: a clause that follows "no change seen, but: ".
    pub headline: String,
    /// The description: one or two sentences, with counts.
    pub message: String,
    /// The remedy: text to paste into the settings, or a command. It may have several lines.
    pub fix: Option<String>,
    /// The nodes that it concerns; empty if it does not depend on nodes.
    pub nodes: NodeSet,
    /// The keys that it concerns, if they are known.
    pub keys: Vec<Arc<str>>,
    /// The files that it concerns, if any.
    pub files: Vec<String>,
}
