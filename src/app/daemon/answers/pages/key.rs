//! A key on all nodes.

use std::sync::Arc;

use super::{Result, blind_levels, counts_before, origins, part, shown};
use crate::app::daemon::answers::{RequestedRevision, broken};
use crate::daemon::http::AnswerError;
use crate::fleet::{Answer, Revision};
use crate::hiera::budget::Cost;
use crate::hiera::explain::Recorder;
use crate::hiera::explain::provenance::contributions;
use crate::node::NodeSet;
use crate::page::content::{Content, Distinct, Holders, Key};
use crate::pipeline::Pipeline;
use crate::report::{count, described};

/// The maximum number of distinct values, and of names for each.
const MAX_VALUES: usize = 50;
const MAX_NAMES: usize = 5;

/// Returns the nodes with the value of a key at a position, from 1, from one of them on; `None` if no data has it.
pub(super) fn holders(
    pipeline: &Pipeline,
    requested: &RequestedRevision,
    name: &str,
    (position, after): (usize, Option<&str>),
) -> Result<Option<Content>> {
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let Some((key, answers)) = answers(pipeline, &revision, name) else { return Ok(None) };
    let found = answers.get(position.saturating_sub(1)).and_then(|answer| Some((answer, answer.nodes.first()?)));
    let shown = found.and_then(|(answer, first)| Some((answer, shown(&answer.on(first), &pipeline.disclosure)?)));
    let (answer, shown) = shown.ok_or_else(|| {
        AnswerError::Unknown(format!("'{key}' has {}, not {position}", count(answers.len(), "value")))
    })?;
    let names = part(pipeline.fleet.names(&answer.nodes), "", after);
    Ok(Some(Content::Holders(Holders { key: key.to_string(), position, shown, names })))
}

/// Returns a key and its values, that of most nodes first; `None` if no data has it.
fn answers(pipeline: &Pipeline, revision: &Revision, name: &str) -> Option<(Arc<str>, Vec<Answer>)> {
    let key = revision.keys.get(name).or_else(|| revision.key_of(&name.into()))?;
    let mut answers: Vec<Answer> = pipeline.effective(revision, [key]).keys.remove(key).unwrap_or_default();
    answers.sort_by_key(|answer| std::cmp::Reverse(answer.nodes.len()));
    Some((key.clone(), answers))
}

/// Returns the distinct values of a key, and who has them; `None` if no data has it.
pub(super) fn content(pipeline: &Pipeline, requested: &RequestedRevision, name: &str) -> Result<Option<Content>> {
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let Some((key, mut answers)) = answers(pipeline, &revision, name) else { return Ok(None) };
    let key = &key;
    let with: usize = answers.iter().map(|answer| answer.nodes.len()).sum();
    let more = answers.len().saturating_sub(MAX_VALUES);
    answers.truncate(MAX_VALUES);
    let distinctions = pipeline.distinctions_at(requested.point()).map_err(broken)?;
    let fleet = &pipeline.fleet;
    let who = described(fleet, &distinctions, answers.iter().map(|answer| &answer.nodes));
    let distinct = |(answer, who): (&Answer, Option<String>)| {
        let first = answer.nodes.first()?;
        let recorder = Recorder::default();
        revision.of_node(first).explain(key, &recorder, Cost::OF_KEY);
        Some(Distinct {
            shown: shown(&answer.on(first), &pipeline.disclosure)?,
            nodes: answer.nodes.len(),
            who: who.filter(|_| answer.nodes.len() > 1 && answer.nodes.len() < fleet.len()),
            names: fleet.names(&answer.nodes).take(MAX_NAMES).map(ToString::to_string).collect(),
            origins: origins(&contributions(&recorder.finish(), key)),
        })
    };
    let values: Vec<Distinct> = answers.iter().zip(who).filter_map(distinct).collect();
    let levels = values.iter().flat_map(|one| &one.origins).map(|origin| origin.level.as_str().into()).collect();
    let on = NodeSet::union_of(fleet.len(), answers.iter().map(|answer| answer.nodes.clone()));
    let blind_spots = blind_levels(pipeline, requested, &on, |level| counts_before(level, &levels))?;
    let (nodes, without) = (fleet.len(), fleet.len() - with);
    let (key, commit) = (key.to_string(), requested.commit.to_string());
    Ok(Some(Content::Key(Key { key, commit, nodes, values, more, without, blind_spots })))
}
