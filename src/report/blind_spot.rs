//! Blind spots, which are changes that a commit may make unseen, and the verdict that takes them into account.

use std::fmt::{self, Display};
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

/// The remedy for a blind spot or fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// The advice. With lines for the settings, it ends where they begin.
    pub words: String,
    /// The lines of YAML to put into the settings, as they can be copied.
    pub yaml: Option<String>,
}

impl Remedy {
    /// Makes a remedy of words alone.
    pub fn words(words: impl Into<String>) -> Remedy {
        Remedy { words: words.into(), yaml: None }
    }

    /// Makes a remedy of words and lines for the settings.
    pub fn with_yaml(words: impl Into<String>, yaml: impl Into<String>) -> Remedy {
        Remedy { words: words.into(), yaml: Some(yaml.into()) }
    }

    /// Makes a remedy of lines for `hierad.yaml`.
    pub fn settings(yaml: impl Into<String>) -> Remedy {
        Remedy::with_yaml("put into hierad.yaml", yaml)
    }
}

impl Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.yaml {
            Some(yaml) => write!(f, "{}: {yaml}", self.words),
            None => f.write_str(&self.words),
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
    /// The remedy.
    pub fix: Option<Remedy>,
    /// True if it was there before the commit just as it is after it: the commit has not made it.
    pub is_standing: bool,
    /// The nodes that it concerns; empty if it does not depend on nodes.
    pub nodes: NodeSet,
    /// The keys that it concerns, if they are known.
    pub keys: Vec<Arc<str>>,
    /// The files that it concerns, if any.
    pub files: Vec<String>,
}
