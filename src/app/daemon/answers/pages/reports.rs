//! Comparisons: of revisions, of nodes, and of a node with itself under other variables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Result;
use super::node::variables;
use crate::app::daemon::answers::{
    EffectiveValues, RequestedRevision, broken, check_still_wanted, node_named, unknown_node,
};
use crate::app::{NodePair, Workspace};
use crate::daemon::http::AnswerError;
use crate::diff::Diff;
use crate::fleet::Fleet;
use crate::hiera::key::any_matches;
use crate::node::Assignment;
use crate::page::content::{Comparison, Content, Field, Part, WhatIf};
use crate::pattern::{Pattern, any, did_you_mean, unmatched};
use crate::pipeline::{DiffFilter, Pipeline, RevisionId};
use crate::report::{Between, ComparedNode};
use crate::workers::Stop;

impl EffectiveValues {
    /// Returns the report on the changes between two revisions, or on those of a commit, of some keys on some nodes.
    pub(super) fn report(
        &self,
        (from, to): (Option<&str>, &str),
        part: &[Option<Pattern>; 2],
        stop: &Arc<dyn Stop>,
    ) -> Result<Content> {
        let after = self.resolve(to)?;
        let sides = self.sides(from, &after)?;
        let [keys, nodes] = part.each_ref().map(Option::as_slice);
        let filter =
            DiffFilter { key: &|key| any_matches(keys, key), node: &|node| any(nodes, node), ..DiffFilter::ALL };
        let text = |pattern: &Option<Pattern>| pattern.as_ref().map(|one| one.as_str().to_owned()).unwrap_or_default();
        let [key, node] = part.each_ref().map(text);
        let part = Part { from: from.map(str::to_owned), to: to.to_owned(), key, node };
        self.retry_while_profiles_change(after.branch.as_ref(), |pipeline| {
            let no_match = |what: &str, text| AnswerError::Unknown(format!("no {what} matches {text}"));
            if let Some(text) = unmatched(nodes, any, || pipeline.fleet.iter().map(|(_, name)| &**name)) {
                return Err(no_match("node", text));
            }
            let report = pipeline.diff_with(&sides, &filter, &self.workers(stop)).map_err(broken)?.report;
            check_still_wanted(stop)?;
            if report.keys.total == 0 && !keys.is_empty() {
                let all = pipeline.keys(&[sides.before, sides.after]).map_err(broken)?;
                if let Some(text) = unmatched(keys, any_matches, || all.iter().map(|key| &**key)) {
                    return Err(no_match("key", text));
                }
            }
            let files = data_files(pipeline, sides.after)?;
            Ok(Content::Report(Box::new(Comparison { report, files, part: Some(part.clone()) })))
        })
    }

    /// Returns the report on the differences between two nodes, or between a node in two environments.
    pub(super) fn compared(
        &self,
        requested: &RequestedRevision,
        nodes: &Diff<ComparedNode>,
        stop: &Arc<dyn Stop>,
    ) -> Result<Content> {
        let known = self.pipeline(requested.branch.as_ref())?;
        let named = |node: &ComparedNode| -> Result<ComparedNode> {
            let name = known.fleet.name(node_named(&node.name, &known.fleet)?).clone();
            Ok(ComparedNode { name, ..node.clone() })
        };
        let nodes = Diff::new(named(&nodes.before)?, named(&nodes.after)?);
        let workspace = |node: &ComparedNode| self.workspace.in_environment(node.environment.as_deref());
        let workspaces = Diff::new(workspace(&nodes.before), workspace(&nodes.after));
        let first = workspaces.before.map_err(|error| AnswerError::Wrong(error.to_string()))?;
        let second = workspaces.after.map_err(|error| AnswerError::Wrong(error.to_string()))?;
        let id = node_named(&nodes.after.name, &known.fleet)?;
        let read = variables(&known, id, requested.point())?.into_iter().map(|(name, _)| name).collect();
        if let Some(unread) = second.unread(&read).first() {
            return Err(AnswerError::Wrong(format!("{unread}; to compare branches, take /diff?from=A&to=B")));
        }
        let sides = [(&first, &*nodes.before.name), (&second, &*nodes.after.name)];
        let between = Between::Nodes(nodes.clone());
        Ok(Content::Report(Box::new(self.compare(requested, sides, between, stop)?)))
    }

    /// Returns the effect of other values of variables on a node: those that are set, and the fields of a form.
    pub(super) fn what_if(
        &self,
        requested: &RequestedRevision,
        node: &str,
        (set, fields): (&[String], &[(String, String)]),
        stop: &Arc<dyn Stop>,
    ) -> Result<Content> {
        let assignment = |text: &String| text.parse::<Assignment>().map_err(AnswerError::Wrong);
        let known = self.pipeline(requested.branch.as_ref())?;
        let id = node_named(node, &known.fleet)?;
        let node = &**known.fleet.name(id);
        let mut variables: Vec<Field> =
            variables(&known, id, requested.point())?.into_iter().map(|one| field(one, &known.fleet)).collect();
        let read = variables.iter().map(|field| field.name.clone()).collect();
        let given: BTreeMap<&str, &str> = fields.iter().map(|(name, text)| (&**name, &**text)).collect();
        for variable in &mut variables {
            if let Some(text) = given.get(&*variable.name) {
                variable.text = (*text).to_owned();
            }
        }
        let mut others = Vec::new();
        for text in set {
            let name = assignment(text)?.name();
            let value = text.split_once('=').filter(|(written, _)| *written == name).map(|(_, value)| value);
            match (variables.iter_mut().find(|field| field.name == name && !field.is_json), value) {
                (Some(field), Some(value)) => value.clone_into(&mut field.text),
                _ => others.push(text.clone()),
            }
        }
        let tried: Vec<String> = variables.iter().filter_map(Field::assignment).chain(others.iter().cloned()).collect();
        let mut changed = self.workspace.clone();
        changed.what_if = tried.iter().map(assignment).collect::<Result<_>>()?;
        let mut notices: Vec<String> = changed.unread(&read).iter().map(ToString::to_string).collect();
        let report = if notices.len() == tried.len() {
            None
        } else {
            let sides = [(&self.workspace, node), (&changed, node)];
            Some(self.compare(requested, sides, Between::Facts, stop)?)
        };
        notices.extend(variables.iter().filter_map(Field::unusual));
        Ok(Content::WhatIf(Box::new(WhatIf { node: node.to_owned(), variables, others, notices, report })))
    }

    fn compare(
        &self,
        requested: &RequestedRevision,
        sides: [(&Workspace, &str); 2],
        between: Between,
        stop: &Arc<dyn Stop>,
    ) -> Result<Comparison> {
        let known = self.pipeline(requested.branch.as_ref())?;
        if let Some((_, name)) = sides.iter().find(|(_, name)| known.fleet.find(name).is_none()) {
            return Err(unknown_node(name, &known.fleet));
        }
        let pair = NodePair::within(&known.fleet, sides).map_err(broken)?;
        let pipeline = pair.pipeline.with_workers(self.workers(stop));
        let compared = pipeline.diff_nodes(&pair.before, requested.point(), &DiffFilter::ALL, between);
        check_still_wanted(stop)?;
        let report = compared.map_err(broken)?.report;
        Ok(Comparison { report, files: data_files(&known, requested.point())?, part: None })
    }
}

/// The maximum number of texts of a variable for which the field has them all, and of those in a notice.
const MAX_KNOWN: usize = 20;
const MAX_NAMED: usize = 5;

/// Returns the field of a variable, whose value is in JSON.
fn field((name, json): (String, Option<String>), fleet: &Fleet) -> Field {
    let text = json.as_deref().and_then(|json| serde_json::from_str::<String>(json).ok());
    let is_json = json.is_some() && text.is_none();
    let own = text.or(json).unwrap_or_default();
    let known = fleet.texts_of(&name, MAX_KNOWN).unwrap_or_default();
    Field { name, text: own.clone(), own, is_json, known }
}

impl Field {
    /// Returns what `--set` takes, if the value is another than the node's own.
    fn assignment(&self) -> Option<String> {
        let Field { name, own, text, is_json, .. } = self;
        let sign = if *is_json { ":=" } else { "=" };
        (own != text).then(|| format!("{name}{sign}{text}"))
    }

    /// Returns a notice if no node has the value, though the values of the nodes are few: it may be misspelled.
    fn unusual(&self) -> Option<String> {
        let Field { name, text, known, .. } = self;
        let is_usual = text.is_empty() || known.is_empty() || known.contains(text);
        let all = || known.iter().map(String::as_str);
        let hint = || match did_you_mean(text, all()) {
            near if near.is_empty() => format!("; nodes have {}", all().take(MAX_NAMED).collect::<Vec<_>>().join(", ")),
            near => near,
        };
        (!is_usual).then(|| format!("{name}={text}: no node has this value{}", hint()))
    }
}

/// Returns the data files of a revision.
fn data_files(pipeline: &Pipeline, point: RevisionId) -> Result<BTreeSet<Arc<str>>> {
    Ok(pipeline.cached_revision(point).map_err(broken)?.data_files())
}
