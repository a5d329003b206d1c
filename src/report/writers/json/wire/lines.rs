//! The JSON form of changed lines, and of the sources of values.

use std::borrow::Cow;

use serde::Serialize;

use super::{MAX_LISTED, is_zero};
use crate::diagnostic::Place;
use crate::diff::Diff;
use crate::report::model::node_sets::NodeSets;
use crate::report::{ChangedLines, Effect, FileChange, Idle, IdlePart, Leaf, LineReason, Source};

#[derive(Serialize)]
pub(super) struct WireLines<'a> {
    path: &'a str,
    line: Option<u32>,
    last: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'static str>,
    side: &'static str,
    effect: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<WirePlace<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<WireReason<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keys: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_zero")]
    more_keys: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<usize>,
    #[serde(skip_serializing_if = "<[usize]>::is_empty")]
    with: &'a [usize],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    text: &'a [String],
}

/// A reason on some of the nodes.
#[derive(Serialize)]
struct WireReason<'a> {
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<WirePlace<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    more_places: usize,
    count: usize,
}

#[derive(Serialize)]
pub(super) struct WirePlace<'a> {
    path: &'a str,
    line: Option<u32>,
}

impl<'a> WireLines<'a> {
    pub(super) fn new(lines: &'a ChangedLines, sets: &mut NodeSets<'a>) -> WireLines<'a> {
        let changes = match &lines.effect {
            Effect::Changes { keys, nodes } => Some((keys, nodes)),
            _ => None,
        };
        let idle = match &lines.effect {
            Effect::None(idle) => Some(idle),
            _ => None,
        };
        let of_unknown_effect = matches!(lines.effect, Effect::Unknown(_)).then_some(&lines.keys);
        let keys = changes.into_iter().flat_map(|(keys, _)| keys).chain(of_unknown_effect.into_iter().flatten());
        let keys: Vec<&str> = keys.map(|key| &**key).collect();
        WireLines {
            path: &lines.place.path,
            line: lines.place.line,
            last: lines.last,
            file: (lines.file != FileChange::Edited).then(|| lines.file.as_str()),
            side: lines.side.as_str(),
            effect: lines.effect.as_str(),
            reason: lines.effect.reason().map(LineReason::as_str),
            by: idle.and_then(|idle| idle.first.reason.place()).map(WirePlace::new),
            reasons: idle.map(WireReason::all).unwrap_or_default(),
            more_keys: keys.len().saturating_sub(MAX_LISTED),
            keys: keys.into_iter().take(MAX_LISTED).collect(),
            nodes: changes.map(|(_, nodes)| sets.number(Cow::Borrowed(nodes))),
            with: &lines.with,
            text: &lines.text,
        }
    }
}

impl<'a> WireReason<'a> {
    /// Returns all reasons, unless a single reason and place apply to all nodes.
    fn all(idle: &'a Idle) -> Vec<WireReason<'a>> {
        if idle.is_one() && idle.first.more_places == 0 {
            return Vec::new();
        }
        let reason = |part: &'a IdlePart| WireReason {
            reason: part.reason.kind().as_str(),
            by: part.reason.place().map(WirePlace::new),
            more_places: part.more_places,
            count: part.nodes,
        };
        let rest =
            WireReason { reason: LineReason::NotTraced.as_str(), by: None, more_places: 0, count: idle.not_traced };
        idle.all().map(reason).chain((idle.not_traced > 0).then_some(rest)).collect()
    }
}

impl<'a> WirePlace<'a> {
    pub(super) fn new(place: &'a Place) -> WirePlace<'a> {
        WirePlace { path: &place.path, line: place.line }
    }
}

/// The sources of both sides of a difference.
#[derive(Serialize)]
pub(super) struct WireSources<'a> {
    before: Vec<WireSource<'a>>,
    after: Vec<WireSource<'a>>,
}

#[derive(Serialize)]
struct WireSource<'a> {
    path: &'a str,
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'a str>,
    how: &'static str,
}

impl<'a> WireSources<'a> {
    /// Returns the sources, or `None` if there are none besides the origins.
    pub(super) fn new(leaf: &'a Leaf) -> Option<WireSources<'a>> {
        let side = |sources: &'a [Source]| sources.iter().map(WireSource::new).collect::<Vec<_>>();
        let Diff { before, after } = leaf.sources().map(side);
        (!before.is_empty() || !after.is_empty()).then_some(WireSources { before, after })
    }
}

impl<'a> WireSource<'a> {
    fn new(source: &'a Source) -> WireSource<'a> {
        let Source { place, level, how } = source;
        WireSource { path: &place.path, line: place.line, level: level.as_deref(), how: how.as_str() }
    }
}
