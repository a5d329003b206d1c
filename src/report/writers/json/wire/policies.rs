//! The JSON form of policies that are hit.

use serde::Serialize;

use super::tables::Tables;
use super::{MAX_LISTED, is_zero};
use crate::report::{PolicyHit, UsedWaiver};

#[derive(Serialize)]
pub(super) struct WirePolicy<'a> {
    policy: &'a str,
    state: &'static str,
    level: &'static str,
    message: &'a str,
    found: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reviewers: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keys: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_zero")]
    more_keys: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver: Option<WireWaiver<'a>>,
}

#[derive(Serialize)]
struct WireWaiver<'a> {
    reason: &'a str,
    expires: &'a str,
}

impl<'a> WirePolicy<'a> {
    pub(super) fn new(hit: &'a PolicyHit, tables: &Tables<'a>) -> WirePolicy<'a> {
        let waiver = |UsedWaiver { reason, expires, .. }: &'a UsedWaiver| WireWaiver { reason, expires };
        WirePolicy {
            policy: &hit.name,
            state: hit.state().as_str(),
            level: hit.level.as_str(),
            message: &hit.message,
            found: &hit.found,
            reviewers: &hit.reviewers,
            keys: hit.keys.iter().take(MAX_LISTED).map(|key| &**key).collect(),
            more_keys: hit.keys.len().saturating_sub(MAX_LISTED),
            nodes: (!hit.nodes.is_empty()).then(|| tables.sets.number(&hit.nodes)),
            places: hit.places.iter().map(|place| tables.places.number(place, None)).collect(),
            waiver: hit.waiver.as_ref().map(waiver),
        }
    }
}
