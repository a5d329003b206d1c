//! Blind spots: what a commit may have changed without anybody seeing it, and the verdict that is honest about them.

use std::sync::Arc;

use crate::node::NodeSet;

/// Says whether a commit changes effective values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Changes,
    /// It does not: all that it touches was seen on both sides.
    NoChange,
    /// No change was seen, but not all that it touches could be seen.
    NoChangeSeen,
}

impl Verdict {
    /// The word for it, as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Changes => "changes",
            Verdict::NoChange => "no_change",
            Verdict::NoChangeSeen => "no_change_seen",
        }
    }
}

/// Something that could not be seen and to which the commit may matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlindSpot {
    /// A stable name for the kind, such as `outside-repository`.
    pub code: &'static str,
    /// The shortest form, a clause that follows "no change seen, but: ".
    pub headline: String,
    /// One or two sentences for a person, with counts.
    pub message: String,
    /// What to do about it: text to paste into the settings, or a command; may have several lines.
    pub fix: Option<String>,
    /// The nodes that it concerns; empty where it does not depend on nodes.
    pub nodes: NodeSet,
    /// The keys that it concerns, where they are known.
    pub keys: Vec<Arc<str>>,
    /// The files that it concerns, where there are some.
    pub files: Vec<String>,
}
