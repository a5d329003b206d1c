//! Blind spots, which are changes that a commit may make unnoticed, and the verdict that takes them into account.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::sync::Arc;

use crate::node::NodeSet;
use crate::report::Report;
use crate::report::numbers::count;

/// The answer to the question whether a commit changes effective values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The commit changes something.
    Changes,
    /// The commit changes nothing: everything that it touches was seen on both sides.
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
    /// The advice. If there are lines for the settings, it leads up to them.
    pub words: String,
    /// The lines of YAML to put into the settings, as they can be copied.
    pub yaml: Option<String>,
    /// The names that these lines accept, if they do nothing else.
    pub accepts: Option<Acceptable>,
}

/// Names that settings accept for blind spots with a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptable {
    /// The code.
    pub code: &'static str,
    /// The names of files, keys, variables and so on.
    pub names: Vec<String>,
}

impl Remedy {
    /// Makes a remedy of words alone.
    pub fn words(words: impl Into<String>) -> Remedy {
        Remedy { words: words.into(), yaml: None, accepts: None }
    }

    /// Makes a remedy of words and lines for the settings.
    pub fn with_yaml(words: impl Into<String>, yaml: impl Into<String>) -> Remedy {
        Remedy { words: words.into(), yaml: Some(yaml.into()), accepts: None }
    }

    /// Makes a remedy of lines for `hierad.yaml`.
    pub fn settings(yaml: impl Into<String>) -> Remedy {
        Remedy::with_yaml("add to hierad.yaml", yaml)
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
    /// True if it was the same before the commit, which therefore has not caused it.
    pub is_standing: bool,
    /// The nodes that it concerns; empty if it does not depend on nodes.
    pub nodes: NodeSet,
    /// The keys that it concerns, if they are known.
    pub keys: Vec<Arc<str>>,
    /// The files that it concerns, if any.
    pub files: Vec<String>,
    /// The levels of the hierarchy that cannot be seen, if it is about levels.
    pub levels: Vec<UnseenLevel>,
}

/// A level that cannot be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnseenLevel {
    /// Its name.
    pub name: String,
    /// The names of the levels that it takes precedence over.
    pub before: BTreeSet<Arc<str>>,
}

/// The code of the changes that a filter hides.
pub const HIDDEN: &str = "hidden-by-filter";

impl BlindSpot {
    /// Returns true if it is about changes that the user filters out.
    pub(in crate::report) fn is_filtered(&self) -> bool {
        self.code == HIDDEN
    }

    /// Returns the same with words that say on which of two compared nodes it is.
    pub(crate) fn on(self, nodes: &dyn Display) -> BlindSpot {
        let named = |text: &str| format!("{nodes}: {text}");
        BlindSpot { headline: named(&self.headline), message: named(&self.message), ..self }
    }

    /// Returns true if it is about levels that cannot be seen for some of these nodes.
    fn is_on_some_of(&self, nodes: &NodeSet) -> bool {
        !self.levels.is_empty() && !self.nodes.intersection(nodes).is_empty()
    }
}

impl Report {
    /// Returns a sentence on the changed keys whose new values would be overridden if a level that cannot be seen had
    /// these keys, or `None` if there are none.
    pub(in crate::report) fn unseen_before_values(&self) -> Option<String> {
        let (mut levels, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for spot in &self.blind_spots {
            for change in self.changes.iter().filter(|change| spot.is_on_some_of(&change.nodes)) {
                let origins = || change.leaves.iter().filter_map(|leaf| leaf.origins().after);
                let is_first = |level: &&UnseenLevel| origins().any(|origin| level.before.contains(&origin.level));
                for level in spot.levels.iter().filter(is_first) {
                    levels.insert(&*level.name);
                    keys.insert(&*change.key);
                }
            }
        }
        let names = levels.iter().take(MAX_LEVELS).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let more = match levels.len().saturating_sub(MAX_LEVELS) {
            0 => String::new(),
            more => format!(" and {}", count(more, "more level")),
        };
        let verb = if levels.len() == 1 { "counts" } else { "count" };
        let values = if keys.len() == 1 { "the new value" } else { "the new values" };
        let keys = count(keys.len(), "key");
        (!levels.is_empty()).then(|| format!("{names}{more} cannot be seen and {verb} before {values} of {keys}"))
    }
}

/// The maximum number of levels that a sentence names.
const MAX_LEVELS: usize = 3;
