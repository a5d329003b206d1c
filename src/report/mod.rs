//! Reports: the changes between two revisions as plain data, and the formats in which they are written.
//!
//! A [`Report`] holds every decision: the items that are shown, their order and their grouping. `model` has its
//! parts, `build` makes it from changes, `words` has the wording. A writer (a module of [`writers`]) takes a report,
//! options of its own and an output, and decides only on layout. Values become text in one place, `words/value.rs`,
//! which is also where secrets would show.
//!
//! Nothing here reads a repository or looks up a key. Fields of the JSON form are a contract with scripts: they may be
//! added to, never renamed.

mod build;
mod model;
mod numbers;
mod policy;
mod words;
pub mod writers;

use std::borrow::Cow;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Place};
use crate::diff::{ChangeKind, Diff, LeafChange, Variants};
use crate::event::{CommitEvent, EventKind, JobName, PushPart};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::value::ValuePath;

pub use build::catalog_use::{CatalogUse, CountedChanges};
pub use build::causes::Cause;
pub use build::{ChangeOrigins, Input, LeafOrigins, Origins};
pub use model::between::{Between, ComparedNode};
pub use model::blind_spot::{Acceptable, BlindSpot, HIDDEN, Remedy, UnseenLevel, Verdict};
pub use model::idle::{Idle, IdlePart, NoEffect};
pub use model::line_reason::LineReason;
pub use model::lines::{ChangedLines, Effect, FileChange, How, Side, Source, UnknownEffect};
pub use model::node_names::NodeNames;
pub use policy::{PolicyHit, PolicyLevel, PolicyState, UsedWaiver};
pub use words::description::{Description, Term, described};
pub use words::visible::{shorten, shorten_middle};
pub use words::wording::{author_name, count, day, number};
pub use writers::annotation::Annotation;
pub use writers::{Format, Style, write};

pub(crate) use build::groups::is_of_secret;
pub(crate) use words::detail::type_change;
pub(crate) use words::value::type_name;

/// The code of the finding for a variable that differs. It is not a fault, so `hierad check` does not know it.
pub const CHANGED_VARIABLE: &str = "changed-variable";

/// The changes between two revisions on a fleet.
#[derive(Debug, Clone)]
pub struct Report {
    /// The names of the nodes.
    pub names: NodeNames,
    /// The two sides. Unless they are revisions, both commits are the same.
    pub between: Between,
    /// The two commits; the earlier one is `None` for the first commit of a branch.
    pub commit: Diff<Option<Commit>>,
    /// The event that the report is about, or `None` if the revisions were named by hand.
    pub event: Option<CommitEvent>,
    /// The event's job, or `None` outside of a durable queue.
    pub job: Option<JobName>,
    /// In a history, the time of new facts, in RFC 3339.
    pub facts_time: Option<String>,
    /// The number of nodes that were compared, and of those that change.
    pub nodes: Count,
    /// The number of keys that were compared, and of those that change.
    pub keys: Count,
    /// The number of these keys that existed before.
    pub former_keys: usize,
    /// All changes, by key and then by first node. Those whose values differ from node to node may have many variants.
    pub changes: Vec<KeyChange>,
    /// Errors that several keys share. Their changes are in no group.
    pub causes: Vec<Cause>,
    /// The other changes, one group for each set of nodes, in reading order: the most consequential first, then those
    /// on most nodes.
    pub groups: Vec<Group>,
    /// Secrets that were re-encrypted with the same plaintext, by key. They do not count as changes.
    pub reencrypted: Vec<Reencrypted>,
    /// The changed lines of data and of `hiera.yaml`, by file, side and number.
    pub lines: Vec<ChangedLines>,
    /// Findings on one side only: new ones first, then those that are gone.
    pub findings: Vec<FindingChange>,
    /// The blind spots: possible changes that cannot be seen, the most important first.
    pub blind_spots: Vec<BlindSpot>,
    /// The hits of policies, including those that are waived, the most severe first.
    pub policies: Vec<PolicyHit>,
    /// The id of the commit whose settings judge it, if they are settings of the tree.
    pub judge: Option<String>,
    /// The files and folders that it is narrowed to: it contains only what they cause. Empty for a complete report.
    pub narrowed_to: Vec<String>,
    /// True for a side that could not be read at all.
    pub is_unreadable: Diff<bool>,
    /// In a history, the number of keys that change, too, but were not asked for. Other reports have a blind spot for
    /// them.
    pub other_keys: usize,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commit {
    /// Its full id.
    pub id: String,
    /// The first line of its message.
    pub summary: String,
    /// The author, `Name <address>`.
    pub author: String,
    /// The time of writing, in RFC 3339.
    pub time: Option<String>,
}

impl Report {
    /// Returns the time of the oldest answer from a source of nodes, in RFC 3339, or `None` if all are from files.
    pub fn nodes_fetched(&self) -> Option<String> {
        let seconds = i64::try_from(self.names.fleet.fetched()?).ok()?;
        Some(jiff::Timestamp::from_second(seconds).ok()?.to_string())
    }

    /// Returns true if it is about different facts at one revision instead of a commit.
    pub fn is_of_facts(&self) -> bool {
        self.between != Between::Revisions
    }

    /// Returns true if it says anything about the data, even if only that lines change nothing.
    pub fn says_anything(&self) -> bool {
        let is_empty = self.changes.is_empty() && self.lines.is_empty() && self.reencrypted.is_empty();
        !(is_empty && self.findings.is_empty() && self.blind_spots.is_empty())
    }

    /// Returns the number of changes, each variant counted.
    pub fn change_count(&self) -> usize {
        let mut parts = CountedChanges::default();
        self.changes.iter().filter(|change| parts.is_new(change)).map(KeyChange::variants_of_whole).sum()
    }
}

/// Returns the branch of an event, with the kind of the event if that is unusual.
pub(crate) fn branch_label(event: &CommitEvent) -> Cow<'_, str> {
    if let PushPart::Whole(commits) = event.part {
        return format!("{} ({commits} commits)", event.branch).into();
    }
    match event.kind {
        EventKind::Rewritten | EventKind::Combined | EventKind::Facts => {
            format!("{} ({})", event.branch, event.kind.as_str()).into()
        }
        EventKind::New | EventKind::Created | EventKind::Joined => event.branch.as_str().into(),
    }
}

/// A total, and the part of it that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// The total.
    pub total: usize,
    /// The number of those that change.
    pub changed: usize,
}

/// A change of one key on a set of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyChange {
    /// The key.
    pub key: Arc<str>,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The outcomes of the lookup on both sides, `None` where the key is not found.
    pub outcome: Diff<Option<Arc<Outcome>>>,
    /// The nodes.
    pub nodes: NodeSet,
    /// The differences between the values; empty if one side is an error.
    pub leaves: Vec<Leaf>,
    /// The values on the other nodes, if they are not the same: outcomes and leaves are those of the first node.
    pub variants: Option<Variants>,
    /// The changed lines that cause it: positions in [`Report::lines`]. `None` if they are not known.
    pub lines: Option<Vec<usize>>,
    /// The use of the key by the nodes; `None` if it is unknown.
    pub catalog_use: Option<Arc<CatalogUse>>,
    /// True if the catalogs of the nodes do not use the key.
    pub is_apart: bool,
}

impl KeyChange {
    /// Returns the number of variants, which consumers count as separate changes.
    pub fn variant_count(&self) -> usize {
        self.variants.as_ref().map_or(1, |variants| variants.count(&self.nodes))
    }

    /// Returns the nodes of the first variants, at most `most`, in the order of their first nodes.
    fn variant_nodes(&self, most: usize, count: usize) -> Vec<NodeSet> {
        match &self.variants {
            None => Vec::new(),
            Some(_) if count == self.nodes.len() => {
                self.nodes.iter().take(most).map(|node| NodeSet::from_iter([node])).collect()
            }
            Some(variants) => variants.classes(&self.nodes, most),
        }
    }

    /// Returns each variant as a separate change, in the order of their first nodes.
    pub(crate) fn each_variant(&self) -> impl Iterator<Item = Cow<'_, KeyChange>> {
        self.first_variants(usize::MAX, 0)
    }

    /// Returns the first variants, at most `most`. `count` is the number of all variants, or 0 if it is not known: if
    /// each node has its own variant, the nodes need not be divided.
    fn first_variants(&self, most: usize, count: usize) -> impl Iterator<Item = Cow<'_, KeyChange>> {
        let whole = self.variants.is_none().then_some(Cow::Borrowed(self));
        let classes = self.variant_nodes(most, count);
        whole.into_iter().chain(classes.into_iter().map(|nodes| Cow::Owned(self.on(nodes))))
    }

    /// Returns the change restricted to `nodes`, the nodes of a variant.
    fn on(&self, nodes: NodeSet) -> KeyChange {
        let mut change = KeyChange { nodes, variants: None, ..self.clone() };
        if let (Some(variants), Some(first)) = (&self.variants, change.nodes.first()) {
            variants.fill(first, &mut change.outcome, change.leaves.iter_mut().map(|leaf| &mut leaf.change));
        }
        change
    }

    /// Returns the change with each variable whose values make variants replaced by `mark`, called with its position
    /// among `variables`.
    fn marked(&self, variants: &Variants, mark: &dyn Fn(usize) -> String) -> KeyChange {
        let mut change = KeyChange { variants: None, ..self.clone() };
        variants.mark(mark, &mut change.outcome, change.leaves.iter_mut().map(|leaf| &mut leaf.change));
        change
    }
}

/// One difference between two values, with the origins of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The difference, which other changes of the key may share.
    pub change: Arc<LeafChange>,
    /// Its origins, or `None` if they are not traced. Few are, since reports may have millions of differences.
    pub traced: Option<Box<LeafOrigins>>,
}

impl Leaf {
    /// Returns the origins of both sides, if they are known.
    pub fn origins(&self) -> Diff<Option<&Origin>> {
        self.traced.as_ref().map(|traced| traced.origin.as_ref().map(Option::as_ref)).unwrap_or_default()
    }

    /// Returns the other places that contribute to each side.
    pub fn sources(&self) -> Diff<&[Source]> {
        self.traced.as_ref().map(|traced| traced.sources.as_ref().map(Vec::as_slice)).unwrap_or_default()
    }

    /// Returns the changed lines that cause it: positions in [`Report::lines`]. `None` if they are not known.
    pub fn lines(&self) -> Option<&[usize]> {
        self.traced.as_ref()?.lines.as_deref()
    }
}

/// The origin of a part of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file and line.
    pub place: Place,
    /// The level of the hierarchy.
    pub level: Arc<str>,
    /// The way in which the place gives the value.
    pub how: How,
}

/// A secret that was re-encrypted with the same plaintext.
#[derive(Debug, Clone, PartialEq)]
pub struct Reencrypted {
    /// The key.
    pub key: Arc<str>,
    /// The place of the secret in its value.
    pub path: ValuePath,
    /// The nodes whose value contains it.
    pub nodes: NodeSet,
    /// Its place in the data now, if that is known.
    pub origin: Option<Origin>,
}

/// All changes on the same set of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The nodes.
    pub nodes: NodeSet,
    /// The other nodes, if they are so few that the group is easier to describe by them; otherwise empty.
    pub except: NodeSet,
    /// The description of the nodes by their variables, if there is one that is easier to read than their names.
    pub who: Option<Description>,
    /// The changes, the most consequential first, then by key.
    pub items: Vec<Item>,
    /// True if the catalogs of the nodes do not use the keys. Such groups come after all others.
    pub is_apart: bool,
}

/// Similar changes of one key, or equal ones of several keys, shown as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The change that is shown: a position in [`Report::changes`].
    pub first: usize,
    /// The others.
    pub others: Vec<usize>,
    /// The number of changes that are not shown, each variant counted.
    pub more: usize,
    /// Their similarity.
    pub similarity: Similarity,
    /// The number of their keys.
    pub keys: usize,
    /// The pattern of the keys, such as `sudo::configs::*`, if there are several.
    pub pattern: Option<String>,
    /// The differences of the change that is shown.
    pub leaves: Vec<LeafFold>,
}

/// Equal differences at places that differ in one step, shown as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafFold {
    /// The difference that is shown: a position in [`KeyChange::leaves`].
    pub first: usize,
    /// The others.
    pub others: Vec<usize>,
    /// The pattern of their paths after the key, such as `.*.priority`, if there are several.
    pub path: Option<String>,
}

/// The similarity of the changes of an [`Item`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Similarity {
    /// The differences are equal, though the values around them may differ.
    Equal,
    /// The differences are equal except for the node's own name.
    ExceptNodeName,
    /// The differences are equal except for positions in lists.
    ExceptPosition,
    /// The same kinds of difference at the same paths, with other values.
    Shape,
}

impl Report {
    /// Adds a finding for each sentence about a name of a revision.
    pub fn tell_names(&mut self, sentences: Vec<String>) {
        let finding = |text| {
            let diagnostic = Diagnostic::note("ambiguous-name", None, text);
            FindingChange { is_new: true, diagnostic, nodes: 0 }
        };
        self.findings.extend(sentences.into_iter().map(finding));
    }
}

/// A finding that only one side has.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingChange {
    /// True if it is new, false if it is gone.
    pub is_new: bool,
    /// The finding.
    pub diagnostic: Diagnostic,
    /// The number of nodes that it concerns; 0 if it does not depend on nodes.
    pub nodes: usize,
}
