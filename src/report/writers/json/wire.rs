//! The JSON form of a report: structs that are only serialized. Their field names are a contract with scripts.

mod changes;
mod lines;
mod policies;
pub(super) mod tables;
mod template;

use std::collections::HashSet;

use serde::{Serialize, Serializer};

use super::{Options, SCHEMA};
use crate::diagnostic::Severity;
use crate::diff::{Diff, LeafKind, PlacedValue};
use crate::event::{CommitEvent, JobNumber, PushPart};
use crate::hiera::Outcome;
use crate::report::words::value;
use crate::report::{
    Between, BlindSpot, CatalogUse, Cause, Commit, Count, FindingChange, How, KeyChange, Leaf, Origin, Reencrypted,
    Remedy, Report, Source,
};
use crate::value::Value;

use changes::WireChanges;
use lines::WireLines;
use policies::WirePolicy;
use tables::{NodeNameList, PlaceTable, SetTable, Tables, VariableTexts};
use template::WireTemplate;

/// The whole document.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<WireEvent<'a>>,
    verdict: &'static str,
    headline: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    narrowed_to: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_nodes: Option<WireComparedNodes<'a>>,
    before: Option<WireCommit<'a>>,
    after: Option<WireCommit<'a>>,
    nodes: WireCount,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes_fetched: Option<String>,
    keys: WireCount,
    #[serde(skip_serializing_if = "is_zero")]
    other_keys: usize,
    blind_spots: Vec<WireBlindSpot<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<WirePolicy<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<&'a str>,
    node_names: NodeNameList<'a>,
    node_sets: &'a SetTable<'a>,
    causes: Vec<WireCause<'a>>,
    changes: WireChanges<'a>,
    groups: Vec<WireGroup>,
    reencrypted: Vec<WireReencrypted<'a>>,
    lines: Vec<WireLines<'a>>,
    diagnostics: Vec<WireFinding<'a>>,
    /// It comes after what it is made for: see [`Tables`].
    variables: VariableTexts<'a>,
    places: &'a PlaceTable,
}

/// The maximum number of names in a list; the others are only counted.
const MAX_LISTED: usize = 100;

#[derive(Serialize)]
struct WireBlindSpot<'a> {
    code: &'static str,
    headline: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<WireRemedy<'a>>,
    /// Left out where it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    standing: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keys: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_zero")]
    more_keys: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [String],
    #[serde(skip_serializing_if = "is_zero")]
    more_files: usize,
}

#[derive(Serialize)]
struct WireRemedy<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    yaml: Option<&'a str>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Serialize)]
struct WireCause<'a> {
    state: &'static str,
    error: &'a str,
    unknown: bool,
    path: Option<&'a str>,
    line: Option<u32>,
    /// The number of its places.
    places: usize,
    keys: Vec<&'a str>,
    nodes: usize,
}

#[derive(Serialize)]
struct WireEvent<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<JobNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<&'a str>,
    /// The number of commits of a whole push.
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<u32>,
    /// In a history, the time of new facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<&'a str>,
}

impl<'a> WireEvent<'a> {
    fn new(event: &'a CommitEvent, report: &'a Report) -> WireEvent<'a> {
        let (job, time) = (report.job.as_ref(), report.facts_time.as_deref());
        let (id, repository) = (job.map(|job| job.id.as_str()), job.map(|job| job.repository.as_str()));
        let commits = if let PushPart::Whole(commits) = event.part { Some(commits) } else { None };
        WireEvent { kind: event.kind.as_str(), id, number: job.map(|job| job.number), repository, commits, time }
    }
}

#[derive(Serialize)]
struct WireComparedNodes<'a> {
    before: WireComparedNode<'a>,
    after: WireComparedNode<'a>,
}

#[derive(Serialize)]
struct WireComparedNode<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<&'a str>,
}

impl<'a> WireComparedNodes<'a> {
    /// Returns the two nodes, or `None` if it is not them that are compared.
    fn of(between: &'a Between) -> Option<WireComparedNodes<'a>> {
        let Between::Nodes(nodes) = between else { return None };
        let Diff { before, after } =
            nodes.as_ref().map(|node| WireComparedNode { name: &node.name, environment: node.environment.as_deref() });
        Some(WireComparedNodes { before, after })
    }
}

#[derive(Serialize)]
struct WireCommit<'a> {
    commit: &'a str,
    summary: &'a str,
    author: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<&'a str>,
}

#[derive(Serialize)]
struct WireCount {
    total: usize,
    changed: usize,
}

#[derive(Serialize)]
pub(super) struct WireChange<'a> {
    key: &'a str,
    kind: &'static str,
    before: Option<WireOutcome<'a>>,
    after: Option<WireOutcome<'a>>,
    /// The position of its set of nodes.
    nodes: usize,
    leaves: Leaves<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<WireTemplate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<&'a [usize]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog_use: Option<WireCatalogUse<'a>>,
    /// Left out where it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    apart: bool,
}

#[derive(Serialize)]
struct WireCatalogUse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a str>,
    with: usize,
    without: usize,
    unknown: usize,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireOutcome<'a> {
    Value { value: Json<'a> },
    Error { error: String, unknown: bool },
}

#[derive(Serialize)]
struct WireLeaf<'a> {
    path: String,
    kind: &'static str,
    before: Option<WirePart<'a>>,
    after: Option<WirePart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<WireSources>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<&'a [usize]>,
}

#[derive(Serialize)]
struct WirePart<'a> {
    /// The path, if it differs from the leaf's because the item has moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    value: Json<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<WirePlace>,
}

/// The position of a place, and the way in which it takes part in a value: none for an origin that just holds it.
#[derive(Serialize)]
struct WirePlace {
    place: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'static str>,
}

/// The sources of both sides of a difference.
#[derive(Serialize)]
struct WireSources {
    before: Vec<WirePlace>,
    after: Vec<WirePlace>,
}

#[derive(Serialize)]
struct WireGroup {
    nodes: usize,
    /// The description of the nodes.
    who: String,
    /// The numbers of its changes.
    changes: Vec<usize>,
    /// Left out where it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    apart: bool,
}

#[derive(Serialize)]
struct WireReencrypted<'a> {
    key: &'a str,
    /// The path, if it is not the whole value.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    nodes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<WirePlace>,
}

#[derive(Serialize)]
struct WireFinding<'a> {
    state: &'static str,
    severity: &'static str,
    code: &'static str,
    path: Option<&'a str>,
    line: Option<u32>,
    text: &'a str,
    nodes: usize,
}

impl<'a> Document<'a> {
    pub(super) fn new(report: &'a Report, options: Options, tables: &'a Tables<'a>) -> Document<'a> {
        let count = |count: Count| WireCount { total: count.total, changed: count.changed };
        let causes_folded = report.causes.iter().filter(|_| !options.full);
        let folded: HashSet<usize> = causes_folded.flat_map(|cause| cause.changes.iter().copied()).collect();
        let changes = report.changes.iter().enumerate().filter(|(at, _)| !folded.contains(at));
        let changes = WireChanges::new(changes, options.full, tables);
        Document {
            schema: SCHEMA,
            branch: report.event.as_ref().map(|event| event.branch.as_str()),
            event: report.event.as_ref().map(|event| WireEvent::new(event, report)),
            verdict: report.verdict().as_str(),
            headline: report.headline(),
            narrowed_to: &report.narrowed_to,
            compared_nodes: WireComparedNodes::of(&report.between),
            before: report.commit.before.as_ref().map(WireCommit::new),
            after: report.commit.after.as_ref().map(WireCommit::new),
            nodes: count(report.nodes),
            nodes_fetched: report.nodes_fetched(),
            keys: count(report.keys),
            other_keys: report.other_keys,
            blind_spots: report.blind_spots.iter().map(|spot| WireBlindSpot::new(spot, tables)).collect(),
            policies: report.policies.iter().map(|hit| WirePolicy::new(hit, tables)).collect(),
            judge: report.judge.as_deref(),
            node_names: tables.sets.node_names(),
            node_sets: &tables.sets,
            causes: report.causes.iter().map(|cause| WireCause::new(cause, tables)).collect(),
            groups: changes.groups(report),
            changes,
            reencrypted: report.reencrypted.iter().map(|secret| WireReencrypted::new(secret, tables)).collect(),
            lines: report.lines.iter().map(|lines| WireLines::new(lines, tables)).collect(),
            diagnostics: report.findings.iter().map(WireFinding::new).collect(),
            variables: tables.variables.by_nodes(&tables.sets),
            places: &tables.places,
        }
    }
}

impl<'a> WireBlindSpot<'a> {
    fn new(spot: &'a BlindSpot, tables: &Tables<'a>) -> WireBlindSpot<'a> {
        let (keys, files) = (spot.keys.len().min(MAX_LISTED), spot.files.len().min(MAX_LISTED));
        WireBlindSpot {
            code: spot.code,
            headline: &spot.headline,
            message: &spot.message,
            fix: spot.fix.as_ref().map(Remedy::to_string),
            remedy: spot.fix.as_ref().map(|fix| WireRemedy { text: &fix.words, yaml: fix.yaml.as_deref() }),
            standing: spot.is_standing,
            nodes: (!spot.nodes.is_empty()).then(|| tables.sets.number(&spot.nodes)),
            keys: spot.keys[..keys].iter().map(|key| &**key).collect(),
            more_keys: spot.keys.len() - keys,
            files: &spot.files[..files],
            more_files: spot.files.len() - files,
        }
    }
}

impl<'a> WireCause<'a> {
    fn new(cause: &'a Cause, tables: &Tables<'a>) -> WireCause<'a> {
        WireCause {
            state: if cause.is_new { "new" } else { "gone" },
            error: cause.error.text.visible(),
            unknown: cause.error.kind.is_unknown(),
            path: cause.error.place.as_ref().map(|place| &*place.path),
            line: cause.error.place.as_ref().and_then(|place| place.line),
            places: cause.places.len(),
            keys: cause.keys.iter().map(|key| &**key).collect(),
            nodes: tables.sets.number(&cause.nodes),
        }
    }
}

impl<'a> WireCommit<'a> {
    fn new(commit: &'a Commit) -> WireCommit<'a> {
        let Commit { id, summary, author, time } = commit;
        WireCommit { commit: id, summary, author, time: time.as_deref() }
    }
}

impl<'a> WireChange<'a> {
    /// Returns the wire form; `nodes` is the position of its set of nodes.
    fn new(change: &'a KeyChange, nodes: usize, places: &'a PlaceTable) -> WireChange<'a> {
        WireChange {
            key: &change.key,
            kind: change.kind.as_str(),
            before: change.outcome.before.as_deref().and_then(WireOutcome::new),
            after: change.outcome.after.as_deref().and_then(WireOutcome::new),
            nodes,
            leaves: Leaves { change, places },
            template: None,
            lines: change.lines.as_deref(),
            catalog_use: change.catalog_use.as_deref().map(WireCatalogUse::new),
            apart: change.is_apart,
        }
    }
}

impl<'a> WireCatalogUse<'a> {
    fn new(catalog_use: &'a CatalogUse) -> WireCatalogUse<'a> {
        let CatalogUse { class, with, without, unknown, .. } = catalog_use;
        WireCatalogUse { class: class.as_deref(), with: *with, without: *without, unknown: *unknown }
    }
}

impl<'a> WireOutcome<'a> {
    fn new(outcome: &'a Outcome) -> Option<WireOutcome<'a>> {
        match outcome {
            Outcome::Found(value) => Some(WireOutcome::Value { value: Json(value) }),
            Outcome::NotFound => None,
            Outcome::Failed(error) => {
                Some(WireOutcome::Error { error: error.to_string(), unknown: error.kind.is_unknown() })
            }
        }
    }
}

impl<'a> WireLeaf<'a> {
    fn new(change: &'a KeyChange, leaf: &'a Leaf, places: &PlaceTable) -> WireLeaf<'a> {
        let path = leaf.path(change);
        let origins = leaf.origins();
        let part = |part: &'a Option<PlacedValue>, origin: Option<&'a Origin>| {
            let part = part.as_ref()?;
            let side_path = part.path.below(&change.key);
            let origin = origin.map(|origin| WirePlace::of_origin(origin, places));
            Some(WirePart { path: (side_path != path).then_some(side_path), value: Json(&part.value), origin })
        };
        WireLeaf {
            kind: leaf_kind(leaf.change.kind),
            before: part(&leaf.change.part.before, origins.before),
            after: part(&leaf.change.part.after, origins.after),
            sources: WireSources::new(leaf, places),
            lines: leaf.lines(),
            path,
        }
    }
}

impl<'a> WireReencrypted<'a> {
    fn new(secret: &'a Reencrypted, tables: &Tables<'a>) -> WireReencrypted<'a> {
        WireReencrypted {
            key: &secret.key,
            path: (!secret.path.0.is_empty()).then(|| secret.name()),
            nodes: tables.sets.number(&secret.nodes),
            origin: secret.origin.as_ref().map(|origin| WirePlace::of_origin(origin, &tables.places)),
        }
    }
}

impl WirePlace {
    fn of_origin(origin: &Origin, places: &PlaceTable) -> WirePlace {
        let how = Some(origin.how).filter(|how| *how != How::Value).map(How::as_str);
        WirePlace { place: places.number(&origin.place, Some(&origin.level)), how }
    }

    fn of_source(source: &Source, places: &PlaceTable) -> WirePlace {
        let Source { place, level, how } = source;
        WirePlace { place: places.number(place, level.as_ref()), how: Some(how.as_str()) }
    }
}

impl WireSources {
    /// Returns the sources, or `None` if there are none besides the origins.
    fn new(leaf: &Leaf, places: &PlaceTable) -> Option<WireSources> {
        let side = |sources: &[Source]| sources.iter().map(|source| WirePlace::of_source(source, places)).collect();
        let Diff { before, after }: Diff<Vec<WirePlace>> = leaf.sources().map(side);
        (!before.is_empty() || !after.is_empty()).then_some(WireSources { before, after })
    }
}

impl<'a> WireFinding<'a> {
    fn new(finding: &'a FindingChange) -> WireFinding<'a> {
        let diagnostic = &finding.diagnostic;
        WireFinding {
            state: if finding.is_new { "new" } else { "gone" },
            severity: match diagnostic.severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
                Severity::Error => "error",
            },
            code: diagnostic.code,
            path: diagnostic.place.as_ref().map(|place| &*place.path),
            line: diagnostic.place.as_ref().and_then(|place| place.line),
            text: &diagnostic.text,
            nodes: finding.nodes,
        }
    }
}

fn leaf_kind(kind: LeafKind) -> &'static str {
    match kind {
        LeafKind::Added => "added",
        LeafKind::Removed => "removed",
        LeafKind::Changed => "changed",
        LeafKind::Reordered => "reordered",
        LeafKind::Sealed => "sealed",
        LeafKind::Unsealed => "unsealed",
    }
}

/// The parts of a value that change. The wire forms are made one at a time.
struct Leaves<'a> {
    change: &'a KeyChange,
    places: &'a PlaceTable,
}

impl Serialize for Leaves<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Leaves { change, places } = self;
        serializer.collect_seq(change.leaves.iter().map(|leaf| WireLeaf::new(change, leaf, places)))
    }
}

/// A value in Puppet's rich data form.
struct Json<'a>(&'a Value);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        value::json(self.0, &mut text);
        serializer.serialize_bytes(text.as_bytes())
    }
}
