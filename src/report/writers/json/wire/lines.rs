//! The JSON form of changed lines.

use serde::Serialize;

use super::tables::{PlaceTable, Tables};
use super::{MAX_LISTED, is_zero};
use crate::report::{ChangedLines, Effect, FileChange, Idle, IdlePart, LineReason};

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
    by: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<WireReason>,
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
struct WireReason {
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<usize>,
    #[serde(skip_serializing_if = "is_zero")]
    more_places: usize,
    count: usize,
}

impl<'a> WireLines<'a> {
    pub(super) fn new(lines: &'a ChangedLines, tables: &Tables<'a>) -> WireLines<'a> {
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
            by: idle.and_then(|idle| idle.first.reason.place()).map(|place| tables.places.number(place, None)),
            reasons: idle.map(|idle| WireReason::all(idle, &tables.places)).unwrap_or_default(),
            more_keys: keys.len().saturating_sub(MAX_LISTED),
            keys: keys.into_iter().take(MAX_LISTED).collect(),
            nodes: changes.map(|(_, nodes)| tables.sets.number(nodes)),
            with: &lines.with,
            text: &lines.text,
        }
    }
}

impl WireReason {
    /// Returns all reasons, unless a single reason and place apply to all nodes.
    fn all(idle: &Idle, places: &PlaceTable) -> Vec<WireReason> {
        if idle.is_one() && idle.first.more_places == 0 {
            return Vec::new();
        }
        let reason = |part: &IdlePart| WireReason {
            reason: part.reason.kind().as_str(),
            by: part.reason.place().map(|place| places.number(place, None)),
            more_places: part.more_places,
            count: part.nodes,
        };
        let rest =
            WireReason { reason: LineReason::NotTraced.as_str(), by: None, more_places: 0, count: idle.not_traced };
        idle.all().map(reason).chain((idle.not_traced > 0).then_some(rest)).collect()
    }
}
