//! Removes evidence that somebody has waived.

use super::evidence::{Evidence, Other, TouchedChange};
use super::names::Names;
use super::{Day, Rule, Waiver};
use crate::node::NodeSet;
use crate::pattern::any;
use crate::report::{PolicyHit, PolicyLevel, UsedWaiver};

/// Returns the hits of a rule: for each waiver the part that it covers, and the rest. An expired waiver covers
/// nothing, and turns what it would cover into a failure.
pub(super) fn hits(rule: &Rule, waivers: &[&Waiver], mut evidence: Evidence<'_>, today: Day) -> Vec<PolicyHit> {
    if !evidence.is_enough_for(rule) {
        return Vec::new();
    }
    let (valid, expired): (Vec<&Waiver>, Vec<&Waiver>) = waivers.iter().partition(|waiver| waiver.expires >= today);
    let mut hits = Vec::new();
    apply_waivers(&mut evidence, rule, &valid, false, &mut hits);
    if evidence.is_enough_for(rule) {
        apply_waivers(&mut evidence, rule, &expired, true, &mut hits);
        if !evidence.is_empty() {
            hits.push(evidence.hit(rule));
        }
    }
    hits
}

fn apply_waivers(
    evidence: &mut Evidence<'_>,
    rule: &Rule,
    waivers: &[&Waiver],
    has_expired: bool,
    hits: &mut Vec<PolicyHit>,
) {
    for waiver in waivers {
        let fleet = &evidence.report.names.fleet;
        let matching = || fleet.iter().filter(|(_, name)| any(&waiver.nodes, name)).map(|(node, _)| node).collect();
        let nodes: Option<NodeSet> = (!waiver.nodes.is_empty()).then(matching);
        let taken = evidence.take(waiver, nodes.as_ref());
        if !taken.is_empty() {
            let (reason, expires) = (waiver.reason.clone(), waiver.expires.to_string());
            let hit = taken.hit(rule);
            let level = if has_expired { PolicyLevel::Failure } else { hit.level };
            hits.push(PolicyHit { level, waiver: Some(UsedWaiver { reason, expires, has_expired }), ..hit });
        }
    }
}

impl Evidence<'_> {
    /// Removes the part that a waiver covers, and returns it.
    pub(super) fn take(&mut self, waiver: &Waiver, nodes: Option<&NodeSet>) -> Self {
        let mut taken = Evidence { changes: Vec::new(), others: Vec::new(), ..*self };
        for change in std::mem::take(&mut self.changes) {
            let key = &*self.report.changes[change.at].key;
            let (covered, rest) = change.divided(key, waiver, nodes);
            taken.changes.extend(covered);
            self.changes.extend(rest);
        }
        for other in std::mem::take(&mut self.others) {
            let (covered, rest) = other.divided(waiver);
            taken.others.extend(covered);
            self.others.extend(rest);
        }
        taken
    }
}

impl TouchedChange {
    /// Divides the change into the part that a waiver covers on `nodes`, and the rest.
    pub(super) fn divided(
        self,
        key: &str,
        waiver: &Waiver,
        nodes: Option<&NodeSet>,
    ) -> (Option<TouchedChange>, Vec<TouchedChange>) {
        if !waiver.files.is_empty() {
            return (None, vec![self]);
        }
        let covered_nodes = nodes.map_or_else(|| self.nodes.clone(), |nodes| self.nodes.intersection(nodes));
        let names = Names::of(&waiver.keys, key);
        let (covered, others): (Vec<_>, Vec<_>) = self.places.iter().cloned().partition(|(path, _)| names.have(path));
        if covered_nodes.is_empty() || covered.is_empty() {
            return (None, vec![self]);
        }
        let mut rest = Vec::new();
        if covered_nodes.len() < self.nodes.len() {
            rest.push(TouchedChange { nodes: self.nodes.difference(&covered_nodes), ..self.clone() });
        }
        if !others.is_empty() {
            rest.push(TouchedChange { nodes: covered_nodes.clone(), places: others, ..self });
        }
        (Some(TouchedChange { nodes: covered_nodes, places: covered, ..self }), rest)
    }
}

impl Other {
    /// Divides this into the part that a waiver covers, and the rest.
    pub(super) fn divided(mut self, waiver: &Waiver) -> (Option<Other>, Option<Other>) {
        if !waiver.keys.is_empty() || !waiver.nodes.is_empty() {
            return (None, Some(self));
        }
        if waiver.files.is_empty() {
            return (Some(self), None);
        }
        let (covered, others): (Vec<String>, Vec<String>) =
            std::mem::take(&mut self.files).into_iter().partition(|file| any(&waiver.files, file));
        let part = |files: Vec<String>| (!files.is_empty()).then(|| Other { files, ..self.clone() });
        let rest = part(others.clone());
        let is_whole = covered.is_empty() && others.is_empty();
        (part(covered), if is_whole { Some(self) } else { rest })
    }
}
