//! What a revision changes, as plain data, and the forms it is written in.
//!
//! A [`Report`] has decided everything: what is shown, in which order, what stands together. A writer ([`json`], [`text`],
//! [`markdown`]) takes it with options of its own and a place to write to, and only chooses how it looks. Values become text in
//! one place, `value.rs`.

mod blind_spot;
mod build;
mod causes;
mod detail;
pub mod json;
pub mod markdown;
mod node_list;
mod node_names;
mod node_sets;
mod secrets;
mod similarity;
pub mod text;
mod value;
mod visible;
mod wording;

use std::borrow::Cow;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Place};
use crate::diff::{ChangeKind, Diff, LeafChange};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::value::ValuePath;

pub use blind_spot::{BlindSpot, Verdict};
pub use build::{Input, Origins};
pub use causes::Cause;
pub use node_names::NodeNames;
pub use visible::visible;

/// What a revision changes on a fleet.
#[derive(Debug, Clone)]
pub struct Report {
    /// What the nodes are called.
    pub names: NodeNames,
    /// The revisions; nothing before the first commit of a branch.
    pub commit: Diff<Option<Commit>>,
    /// How the commit has come to a branch, where that is known.
    pub arrival: Option<Arrival>,
    /// The nodes that were compared.
    pub nodes: Count,
    /// The keys that were compared.
    pub keys: Count,
    /// All changes, by key and then by first node.
    pub changes: Vec<KeyChange>,
    /// Errors that several keys share; their changes are in no group.
    pub causes: Vec<Cause>,
    /// The other changes in the order in which a person should read them: those that fail first, then what concerns most nodes.
    pub groups: Vec<Group>,
    /// What is no change: secrets that were encrypted anew and mean the same, by key.
    pub reencrypted: Vec<Reencrypted>,
    /// Findings that are not the same on both sides: new ones first, then those that are gone.
    pub findings: Vec<FindingChange>,
    /// What the commit may have changed unseen, the most important first.
    pub blind_spots: Vec<BlindSpot>,
    /// The sides on which nothing at all could be read.
    pub is_unreadable: Diff<bool>,
}

/// One revision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commit {
    /// Its full id.
    pub id: String,
    /// The first line of its message.
    pub summary: String,
    /// Who wrote it, `Name <address>`.
    pub author: String,
    /// When, as RFC 3339 has it.
    pub time: Option<String>,
}

/// How a commit has come to a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The branch.
    pub branch: String,
    /// `new`, `created`, `joined`, `rewritten` or `combined`.
    pub kind: &'static str,
    /// What the report is called to its receivers, if they may get it more than once.
    pub job: Option<JobName>,
}

impl Arrival {
    /// The branch, as a person should see it.
    fn label(&self) -> Cow<'_, str> {
        match self.kind {
            "rewritten" | "combined" => format!("{} ({})", self.branch, self.kind).into(),
            _ => (&*self.branch).into(),
        }
    }
}

/// What a report is called to its receivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobName {
    /// The same whenever this report is delivered, and no other report's.
    pub id: String,
    /// Later reports have larger numbers.
    pub number: i64,
    /// The repository.
    pub repository: String,
}

/// How many there are, and how many of them change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// All.
    pub total: usize,
    /// Those with a change.
    pub changed: usize,
}

/// What happens to a key on some nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyChange {
    /// The key.
    pub key: Arc<str>,
    /// What happens.
    pub kind: ChangeKind,
    /// The answers; nothing where the key is not found.
    pub outcome: Diff<Option<Arc<Outcome>>>,
    /// The nodes.
    pub nodes: NodeSet,
    /// Where the values differ; empty where one side is an error.
    pub leaves: Vec<Leaf>,
}

/// One difference of two values and where both sides come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The difference.
    pub change: LeafChange,
    /// The origins, as far as they are known.
    pub origin: Diff<Option<Origin>>,
}

/// Where a part of a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file and line.
    pub place: Place,
    /// The level of the hierarchy.
    pub level: Arc<str>,
}

/// A secret that was encrypted anew and means the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Reencrypted {
    /// The key.
    pub key: Arc<str>,
    /// The place of the secret in its value.
    pub path: ValuePath,
    /// The nodes that see it.
    pub nodes: NodeSet,
    /// Where it stands now, as far as that is known.
    pub origin: Option<Origin>,
}

/// Items that concern the same nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The nodes.
    pub nodes: NodeSet,
    /// The nodes that it does not concern, where they are so few that it is easier to tell those.
    pub except: NodeSet,
    /// What happens there, by key.
    pub items: Vec<Item>,
}

/// Changes of one key that read the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The change that stands for all: a position in [`Report::changes`].
    pub first: usize,
    /// The others.
    pub others: Vec<usize>,
    /// How far they are the same.
    pub similarity: Similarity,
}

/// How far changes are the same that stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Similarity {
    /// The differences are equal, though the values around them may not be.
    Equal,
    /// They are equal but for the name of the node.
    ExceptNodeName,
    /// The same happens at the same places, with other values.
    Shape,
}

/// A finding that is there on one side only.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingChange {
    /// Whether it is new; if not, it is gone.
    pub is_new: bool,
    /// The finding.
    pub diagnostic: Diagnostic,
    /// How many nodes it concerns; 0 if it does not depend on nodes.
    pub nodes: usize,
}
