//! A key on a node, level by level.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Result, blind_levels, shown, written};
use crate::app::daemon::answers::{RequestedRevision, broken, node_named};
use crate::fleet::NodeRevision;
use crate::hiera::budget::Cost;
use crate::hiera::explain::provenance::contributions;
use crate::hiera::explain::{Event, Places, Recorder, Step};
use crate::hiera::hierarchy::{self, Location};
use crate::hiera::layer::LayerId;
use crate::hiera::{LookupKey, Outcome};
use crate::node::NodeSet;
use crate::page::content::{Content, Ladder, Rung, RungState};
use crate::pipeline::Pipeline;
use crate::report::UnseenLevel;
use crate::tree::{Target, follow};
use crate::value::ValuePath;

/// Returns a key on a node, with each level from the top; `None` if no data has it.
pub(super) fn content(
    pipeline: &Pipeline,
    requested: &RequestedRevision,
    (node, key): (&str, &str),
) -> Result<Option<Content>> {
    let id = node_named(node, &pipeline.fleet)?;
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let recorder = Recorder::default();
    let of_node = revision.of_node(id);
    let (outcome, _) = of_node.explain(key, &recorder, Cost::OF_KEY);
    let of_root = |root: &Arc<str>| revision.keys.get(root).or_else(|| revision.key_of(root));
    let whole_key = LookupKey::parse(key).ok().and_then(|parsed| of_root(&parsed.root));
    if matches!(outcome, Outcome::NotFound) && whole_key.is_none() {
        return Ok(None);
    }
    let steps = recorder.finish();
    let whole = ValuePath::default();
    let used = contributions(&steps, key).iter().filter_map(|one| Some(one.origin_of(&whole)?.place.path)).collect();
    let disclosure = &pipeline.disclosure;
    // A value may be a secret only by its conversion: neither files nor steps know that. Where there is no value, as
    // for a part that is not there, it cannot be known.
    let is_secret = |value| disclosure.hides(value);
    let is_known_to_be_open = matches!(&outcome, Outcome::Found(value) if !is_secret(value));
    let may_explain = is_known_to_be_open || !has_values(&steps);
    let is_open = is_known_to_be_open && !steps.has_secrets();
    let rungs = Rungs { revision: &of_node, used, outcome: &outcome, is_open }.all(key);
    let is_rung = |level: &UnseenLevel| rungs.iter().any(|rung| rung.level == level.name);
    let blind_spots = blind_levels(pipeline, requested, &NodeSet::from_iter([id]), is_rung)?;
    Ok(Some(Content::Ladder(Ladder {
        node: pipeline.fleet.name(id).to_string(),
        key: key.to_owned(),
        whole: whole_key.map_or_else(|| key.to_owned(), ToString::to_string),
        commit: requested.commit.to_string(),
        shown: shown(&outcome, disclosure),
        rungs,
        blind_spots,
        explanation: may_explain.then(|| disclosure.step(steps).text(Places::Shown)),
    })))
}

/// Returns true if a step has found a value.
fn has_values(step: &Step) -> bool {
    matches!(step.event, Some(Event::Found(..) | Event::Result(_))) || step.steps.iter().any(has_values)
}

struct Rungs<'r> {
    revision: &'r NodeRevision<'r>,
    /// The files that the value comes from.
    used: BTreeSet<Arc<str>>,
    outcome: &'r Outcome,
    /// True if what files have may be shown.
    is_open: bool,
}

impl Rungs<'_> {
    fn all(&self, key: &str) -> Vec<Rung> {
        let Ok(key) = LookupKey::parse(key) else { return Vec::new() };
        let mut rungs = Vec::new();
        for (layer, level) in self.revision.levels_of_key(&key.root) {
            let layer = match layer {
                LayerId::Global => "global".to_owned(),
                LayerId::Environment(_) => "environment".to_owned(),
                LayerId::Module(_, name) => format!("module {name}"),
            };
            for location in &level.locations {
                let rung = self.rung(location, &key.root);
                rungs.push(Rung { layer: layer.clone(), level: level.name.to_string(), ..rung });
            }
        }
        rungs
    }

    /// Returns the reason why a path where nothing is may have something on the server.
    fn led_out(&self, path: &str) -> Option<String> {
        if path.starts_with('/') {
            return Some("it is outside of the repository".to_owned());
        }
        match follow(&*self.revision.environment().tree, path) {
            Ok(Target::Dangling(why) | Target::Loop(why) | Target::Outside(why)) => Some(why.to_string()),
            _ => None,
        }
    }

    fn rung(&self, location: &Location, root: &str) -> Rung {
        let path = location.place().map(ToString::to_string);
        let none = Rung {
            layer: String::new(),
            level: String::new(),
            path,
            state: RungState::Asked,
            reason: None,
            line: None,
            written: None,
        };
        if location.is_absent() {
            let reason = none.path.as_deref().and_then(|path| self.led_out(path));
            let state = if reason.is_some() { RungState::Blind } else { RungState::NoFile };
            return Rung { state, reason, ..none };
        }
        let Some((path, file)) = location.file() else {
            return match location {
                Location::Path { content: hierarchy::Content::Unreadable(error), .. } => {
                    Rung { state: RungState::Broken, reason: Some(error.to_string()), ..none }
                }
                _ => none,
            };
        };
        if let Some(fault) = file.fault() {
            return Rung { state: RungState::Broken, reason: Some(fault.text.clone()), line: Some(fault.line), ..none };
        }
        let Some(value) = file.content().and_then(|content| content.get(root)) else {
            return Rung { state: RungState::Absent, ..none };
        };
        let state = match self.outcome {
            Outcome::Found(_) if !self.used.contains(path) => RungState::Shadowed,
            Outcome::Found(_) if self.used.len() > 1 => RungState::Merged,
            Outcome::Found(_) => RungState::Found,
            _ => RungState::Read,
        };
        let written = self.is_open.then(|| written(value));
        Rung { state, line: file.line(root), written, ..none }
    }
}
