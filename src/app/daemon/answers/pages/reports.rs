//! Comparisons: of revisions, of nodes, and of a node with itself under other variables.

use std::sync::Arc;

use super::Result;
use super::node::variables;
use crate::app::daemon::answers::{EffectiveValues, RequestedRevision, broken, check_still_wanted, unknown_node};
use crate::app::{NodePair, Workspace};
use crate::daemon::http::AnswerError;
use crate::diff::Diff;
use crate::node::Assignment;
use crate::page::content::{Content, WhatIf};
use crate::pipeline::DiffFilter;
use crate::report::{Between, ComparedNode, Report};
use crate::workers::Stop;

impl EffectiveValues {
    /// Returns the report on the changes between two revisions, or on those of a commit.
    pub(super) fn report(&self, from: Option<&str>, to: &str, stop: &Arc<dyn Stop>) -> Result<Content> {
        let after = self.resolve(to)?;
        let sides = self.sides(from, &after)?;
        self.retry_while_profiles_change(after.branch.as_ref(), |pipeline| {
            let compared = pipeline.diff_with(&sides, &DiffFilter::ALL, &self.workers(stop)).map_err(broken)?;
            check_still_wanted(stop)?;
            Ok(Content::Report(Box::new(compared.report)))
        })
    }

    /// Returns the report on the differences between two nodes, or between a node in two environments.
    pub(super) fn compared(
        &self,
        requested: &RequestedRevision,
        nodes: &Diff<ComparedNode>,
        stop: &Arc<dyn Stop>,
    ) -> Result<Content> {
        let workspace = |node: &ComparedNode| self.workspace.in_environment(node.environment.as_deref());
        let workspaces = Diff::new(workspace(&nodes.before), workspace(&nodes.after));
        let first = workspaces.before.map_err(|error| AnswerError::Wrong(error.to_string()))?;
        let second = workspaces.after.map_err(|error| AnswerError::Wrong(error.to_string()))?;
        let sides = [(&first, &*nodes.before.name), (&second, &*nodes.after.name)];
        let between = Between::Nodes(nodes.clone());
        Ok(Content::Report(Box::new(self.compare(requested, sides, between, stop)?)))
    }

    /// Returns the effect of other values of variables on a node.
    pub(super) fn what_if(
        &self,
        requested: &RequestedRevision,
        (node, set): (&str, &[String]),
        stop: &Arc<dyn Stop>,
    ) -> Result<Content> {
        let mut changed = self.workspace.clone();
        let assignment = |text: &String| text.parse::<Assignment>().map_err(AnswerError::Wrong);
        changed.what_if = set.iter().map(assignment).collect::<Result<_>>()?;
        let known = self.pipeline(requested.branch.as_ref())?;
        let id = known.fleet.find(node).ok_or_else(|| unknown_node(node))?;
        let variables = variables(&known, id);
        let is_read = |set: &Assignment| variables.iter().any(|(name, _)| set.concerns(name));
        let unread = changed.what_if.iter().filter(|set| !is_read(set)).map(ToString::to_string).collect();
        let report = if set.is_empty() {
            None
        } else {
            let sides = [(&self.workspace, node), (&changed, node)];
            Some(self.compare(requested, sides, Between::Facts, stop)?)
        };
        let (node, set) = (node.to_owned(), set.to_vec());
        Ok(Content::WhatIf(Box::new(WhatIf { node, set, variables, unread, report })))
    }

    fn compare(
        &self,
        requested: &RequestedRevision,
        sides: [(&Workspace, &str); 2],
        between: Between,
        stop: &Arc<dyn Stop>,
    ) -> Result<Report> {
        let known = self.pipeline(requested.branch.as_ref())?;
        if let Some((_, name)) = sides.iter().find(|(_, name)| known.fleet.find(name).is_none()) {
            return Err(unknown_node(name));
        }
        let pair = NodePair::of_two(sides, requested.branch.as_ref(), requested.point()).map_err(broken)?;
        let pipeline = pair.pipeline.with_workers(self.workers(stop));
        let compared = pipeline.diff_nodes(&pair.before, requested.point(), &DiffFilter::ALL, between);
        check_still_wanted(stop)?;
        Ok(compared.map_err(broken)?.report)
    }
}
