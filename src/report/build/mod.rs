//! Builds a [`Report`] from changes and findings: counts, groups, order.

pub(super) mod catalog_use;
pub(super) mod causes;
pub(super) mod causing;
mod fold;
pub(super) mod groups;
mod similarity;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::words::secrets::redacted;
use super::{
    Between, BlindSpot, CatalogUse, ChangedLines, Commit, Count, FindingChange, Item, KeyChange, Leaf, NodeNames,
    Origin, Reencrypted, Remedy, Report, Source,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::diff::{Change, ChangeKind, Changes, Diff};
use crate::disclosure::Disclosure;
use crate::fleet::{Distinction, Finding, KeyUse};
use crate::node::NodeSet;

use catalog_use::{Divided, divided};
use causes::causes;
use groups::{Compared, groups_by_use};

/// The parts of a report.
#[derive(Clone)]
pub struct Input<'a> {
    /// The two commits.
    pub commit: Diff<Option<Commit>>,
    /// The names of the nodes.
    pub names: NodeNames,
    /// The nodes that were compared.
    pub nodes: NodeSet,
    /// The number of keys that were compared.
    pub keys: usize,
    /// The number of these keys that the earlier side has.
    pub former_keys: usize,
    /// The changes, as [`crate::diff::changes`] gives them.
    pub changes: Changes,
    /// The use of those changed keys for which it is reported.
    pub uses: BTreeMap<Arc<str>, KeyUse>,
    /// The origins of the changed values.
    pub origins: Origins,
    /// The variables by which sets of nodes are described, the most important first.
    pub distinctions: Vec<Distinction>,
    /// The parts of secrets that may be shown.
    pub disclosure: &'a Disclosure,
    /// The findings of both sides.
    pub findings: Diff<&'a [Finding]>,
    /// The blind spots: possible changes that cannot be seen, the most important first.
    pub blind_spots: Vec<BlindSpot>,
    /// True for a side that could not be read at all.
    pub is_unreadable: Diff<bool>,
}

/// The origins of changed values. Each list may end early: origins beyond its end are unknown.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// The origins of each change.
    pub changes: Vec<ChangeOrigins>,
    /// The origins of the re-encrypted secrets.
    pub reencrypted: Vec<Option<Origin>>,
    /// The changed lines.
    pub lines: Vec<ChangedLines>,
}

/// The origins of a change.
#[derive(Debug, Clone, Default)]
pub struct ChangeOrigins {
    /// The origins of its differences.
    pub leaves: Vec<LeafOrigins>,
    /// The changed lines that cause it, if they are known: positions in [`Origins::lines`].
    pub lines: Option<Vec<usize>>,
    /// True if these are the causes on all of its nodes.
    pub are_all: bool,
}

/// The origins of a difference.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeafOrigins {
    /// The places of both values.
    pub origin: Diff<Option<Origin>>,
    /// The other places that contribute to each side.
    pub sources: Diff<Vec<Source>>,
    /// The changed lines that cause it, if they are known: positions in [`Origins::lines`].
    pub lines: Option<Vec<usize>>,
}

impl Report {
    /// Builds the report.
    pub fn new(mut input: Input<'_>) -> Report {
        let Changes { changes, reencrypted } = std::mem::take(&mut input.changes);
        // Not even the equality of secrets may show, so they are redacted before anything is compared.
        let changes: Vec<Change> = changes.into_iter().map(|change| redacted(change, input.disclosure)).collect();
        let origins = input.origins.changes.into_iter().chain(std::iter::repeat_with(ChangeOrigins::default));
        let divided = divided(changes, origins, &input.uses).into_iter();
        let (changes, others): (Vec<Change>, Vec<ChangeContext>) = divided.map(split_context).unzip();
        let apart: HashSet<usize> =
            (0..).zip(&others).filter(|(_, context)| context.is_apart).map(|(at, _)| at).collect();
        let nodes = NodeSet::union_of(input.names.fleet.len(), changes.iter().map(|change| change.nodes.clone()));
        let keys: BTreeSet<&Arc<str>> = changes.iter().map(|change| &change.key).collect();
        let keys = Count { total: input.keys, changed: keys.len() };
        let causes = causes(&changes);
        let folded: HashSet<usize> = causes.iter().flat_map(|cause| cause.changes.iter().copied()).collect();
        let compared = Compared { names: &input.names, nodes: &input.nodes, distinctions: &input.distinctions };
        let groups = groups_by_use(&changes, &folded, &apart, &compared);
        let mut blind_spots = input.blind_spots;
        blind_spots.extend(emptiness(input.nodes.len(), keys.total).filter(|_| blind_spots.is_empty()));
        // The commit has not caused standing ones, so they come last.
        blind_spots.sort_by_key(|spot| spot.is_standing);
        let origin = input.origins.reencrypted.into_iter().chain(std::iter::repeat(None));
        Report {
            names: input.names,
            between: Between::Revisions,
            commit: input.commit,
            event: None,
            job: None,
            facts_time: None,
            nodes: Count { total: input.nodes.len(), changed: nodes.len() },
            keys,
            former_keys: input.former_keys,
            groups,
            causes,
            changes: changes.into_iter().zip(others).map(key_change).collect(),
            reencrypted: reencrypted
                .into_iter()
                .zip(origin)
                .map(|(secret, origin)| Reencrypted {
                    key: secret.key,
                    path: input.disclosure.path(&secret.path).into_owned(),
                    nodes: secret.nodes,
                    origin,
                })
                .collect(),
            lines: input.origins.lines,
            findings: findings(input.findings),
            blind_spots,
            policies: Vec::new(),
            judge: None,
            narrowed_to: Vec::new(),
            is_unreadable: input.is_unreadable,
            other_keys: 0,
        }
    }

    /// Returns the change that is shown for an item.
    pub fn first(&self, item: &Item) -> &KeyChange {
        &self.changes[item.first]
    }
}

impl ChangeKind {
    /// Returns true if the lookup fails after the change.
    pub fn is_error(self) -> bool {
        matches!(self, ChangeKind::Failed | ChangeKind::ErrorChanged)
    }
}

/// The context of a change: everything known about it besides the change itself.
struct ChangeContext {
    origins: ChangeOrigins,
    catalog_use: Option<Arc<CatalogUse>>,
    is_apart: bool,
}

fn split_context(
    Divided { change, origins, catalog_use, is_apart }: Divided<ChangeOrigins>,
) -> (Change, ChangeContext) {
    (change, ChangeContext { origins, catalog_use, is_apart })
}

fn key_change((change, ChangeContext { origins, catalog_use, is_apart }): (Change, ChangeContext)) -> KeyChange {
    let known = origins.leaves.into_iter().map(|origins| Some(Box::new(origins)));
    let known = known.chain(std::iter::repeat_with(|| None));
    KeyChange {
        nodes: change.nodes,
        key: change.key,
        kind: change.kind,
        outcome: change.outcome,
        leaves: change.leaves.into_iter().zip(known).map(|(change, traced)| Leaf { change, traced }).collect(),
        variants: change.variants,
        lines: origins.lines,
        catalog_use,
        is_apart,
    }
}

/// Returns a blind spot if there is nothing to compare.
fn emptiness(nodes: usize, keys: usize) -> Option<BlindSpot> {
    let (code, headline, fix) = match (nodes, keys) {
        (0, _) => ("no-profiles", "there are no node profiles", "add profiles of the nodes"),
        (_, 0) => (
            "no-keys",
            "no data file has a key",
            "put data where the hierarchy looks for it; `hierad check` tells more",
        ),
        _ => return None,
    };
    let message = format!("{headline}, so no change can be seen");
    Some(BlindSpot {
        code,
        headline: headline.to_owned(),
        message,
        fix: Some(Remedy::words(fix)),
        ..BlindSpot::default()
    })
}

/// Returns the findings that only one side has. A finding that merely moved to another line is the same finding.
fn findings(findings: Diff<&[Finding]>) -> Vec<FindingChange> {
    let keys = findings.map(|list| list.iter().map(|f| without_line(&f.diagnostic)).collect::<BTreeSet<_>>());
    let only = |list: &[Finding], other: &BTreeSet<_>, is_new| -> Vec<FindingChange> {
        let mut only: Vec<FindingChange> = list
            .iter()
            .filter(|finding| !other.contains(&without_line(&finding.diagnostic)))
            .map(|f| FindingChange { is_new, diagnostic: f.diagnostic.clone(), nodes: f.nodes.len() })
            .collect();
        only.sort_by(|a, b| order(&a.diagnostic).cmp(&order(&b.diagnostic)));
        only
    };
    let mut changed = only(findings.after, &keys.before, true);
    changed.extend(only(findings.before, &keys.after, false));
    changed
}

fn without_line(diagnostic: &Diagnostic) -> (Option<&str>, Severity, &str, &str) {
    let path = diagnostic.place.as_ref().map(|place| &*place.path);
    (path, diagnostic.severity, diagnostic.code, &diagnostic.text)
}

fn order(diagnostic: &Diagnostic) -> (std::cmp::Reverse<Severity>, &Diagnostic) {
    (std::cmp::Reverse(diagnostic.severity), diagnostic)
}
