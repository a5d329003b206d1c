//! The values of a node.

use super::{Result, VALUES, origins, shown};
use crate::app::daemon::answers::{MAX_REQUEST_COST, RequestedRevision, broken, node_named};
use crate::fleet::NodeRevision;
use crate::hiera::budget::Cost;
use crate::hiera::explain::Recorder;
use crate::hiera::explain::provenance::contributions;
use crate::node::NodeId;
use crate::page::content::{Content, KeyValue, Node, Origin};
use crate::pipeline::{Pipeline, RevisionId};
use crate::puppet::json::compact;
use crate::value::Value;

/// Returns the values of a node whose keys have a text, from one of them on.
pub(super) fn content(
    pipeline: &Pipeline,
    requested: &RequestedRevision,
    name: &str,
    (search, after): (&str, Option<&str>),
) -> Result<Content> {
    let id = node_named(name, &pipeline.fleet)?;
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let effective = pipeline.effective_on(id, &revision, revision.keys.iter(), &pipeline.workers);
    let wanted = search.to_lowercase();
    let total = effective.keys.len();
    let found: Vec<_> = effective.keys.into_iter().filter(|(key, _)| key.to_lowercase().contains(&wanted)).collect();
    let count = found.len();
    let mut rest = found.into_iter().filter(|(key, _)| after.is_none_or(|after| **key > *after));
    let (of_node, mut left) = (revision.of_node(id), MAX_REQUEST_COST);
    let mut values = Vec::new();
    for (key, answers) in rest.by_ref().take(VALUES) {
        let Some(shown) = answers.first().and_then(|answer| shown(&answer.on(id), &pipeline.disclosure)) else {
            continue;
        };
        let origins = some_origins(&of_node, &key, &mut left);
        values.push(KeyValue { key: key.to_string(), shown, origins });
    }
    let next = rest.next().and_then(|_| Some(values.last()?.key.clone()));
    let variables = variables(pipeline, id, requested.point())?;
    let (name, commit, search) = (pipeline.fleet.name(id).to_string(), requested.commit.to_string(), search.to_owned());
    Ok(Content::Node(Node { name, commit, variables, search, found: count, total, values, next }))
}

/// Returns the variables that the data of a revision reads on a node, with their values in JSON.
pub(super) fn variables(pipeline: &Pipeline, id: NodeId, at: RevisionId) -> Result<Vec<(String, Option<String>)>> {
    let shown = |value: Value| compact(&pipeline.disclosure.value(&value));
    let revision = pipeline.cached_revision(at).map_err(broken)?;
    let read = pipeline.fleet.variables_read(id, &revision.environment, &pipeline.workers).map_err(broken)?;
    Ok(read.into_iter().map(|(name, value)| (name, value.map(shown))).collect())
}

/// Returns the places of a key's value, as far as there is work `left` to find them.
fn some_origins(of_node: &NodeRevision<'_>, key: &str, left: &mut Cost) -> Vec<Origin> {
    let recorder = Recorder::default();
    let limit = left.at_most(Cost::OF_KEY);
    if limit.steps == 0 {
        return Vec::new();
    }
    let (_, cost) = of_node.explain(key, &recorder, limit);
    *left = left.minus(cost);
    origins(&contributions(&recorder.finish(), key))
}
