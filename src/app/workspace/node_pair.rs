//! Nodes to compare with each other at one revision: the same ones with two sets of profiles, or two of a set.

use std::path::Path;
use std::sync::Arc;

use crate::app::{Failure, Result, Workspace};
use crate::diagnostic::Diagnostic;
use crate::fleet::Fleet;
use crate::git::BranchName;
use crate::node::{NodeId, ProfileError};
use crate::pipeline::{Pipeline, RevisionId};
use crate::report::{FindingChange, count};
use crate::settings::ProfileEntry;

/// The nodes that two sets of profiles share, or two nodes. Those at the same position are compared.
pub struct NodePair {
    /// The first nodes.
    pub before: Arc<Fleet>,
    /// A pipeline for the second nodes.
    pub pipeline: Pipeline,
    /// The names of nodes that only the first set has.
    pub gone: Vec<Arc<str>>,
    /// The names of nodes that only the second set has.
    pub new: Vec<Arc<str>>,
}

impl NodePair {
    /// Reads the profiles of two workspaces that differ in nothing else, when `branch` is deployed, with the
    /// variables that the revision mentions. Profiles that cannot be read are reported and left out. Returns `None`
    /// if the two have no node in common.
    pub(in crate::app) fn of(
        [first, second]: [&Workspace; 2],
        branch: Option<&BranchName>,
        at: RevisionId,
        report: &dyn Fn(&ProfileError),
    ) -> Result<Option<NodePair>> {
        let revisions = second.revisions();
        let read_fleet = |workspace: &Workspace, other: Option<&Fleet>, report: &dyn Fn(&ProfileError)| {
            let is_shared = |name: &str| other.is_none_or(|other| other.find(name).is_some());
            workspace.fleet(&revisions, branch, &[at], &is_shared, report)
        };
        let (before, after) = (read_fleet(first, None, report)?, read_fleet(second, None, report)?);
        let names_only_in = |one: &Fleet, other: &Fleet| -> Vec<Arc<str>> {
            one.iter().map(|(_, name)| name.clone()).filter(|name| other.find(name).is_none()).collect()
        };
        let (gone, new) = (names_only_in(&before, &after), names_only_in(&after, &before));
        if gone.len() == before.len() {
            return Ok(None);
        }
        let ignore = |_: &ProfileError| {};
        let (shared_before, shared_after) = if gone.is_empty() && new.is_empty() {
            (before, after)
        } else {
            (read_fleet(first, Some(&after), &ignore)?, read_fleet(second, Some(&before), &ignore)?)
        };
        Ok(Some(NodePair {
            before: Arc::new(shared_before),
            pipeline: second.pipeline(revisions, Arc::new(shared_after)),
            gone,
            new,
        }))
    }

    /// Reads two nodes of a fleet again, each with the values that its workspace sets. The workspaces differ in nothing
    /// else. Fails if one of the two is not there.
    pub fn within(fleet: &Fleet, [first, second]: [(&Workspace, &str); 2]) -> Result<NodePair> {
        let find = |name: &str| fleet.find(name).ok_or_else(|| format!("there is no node '{name}'"));
        let ids = [find(first.1)?, find(second.1)?];
        let profiles = fleet.profiles(&ids.into_iter().collect());
        let only = |id: NodeId, workspace: &Workspace| {
            let profile = profiles.get(&id).cloned().ok_or("a node profile cannot be read again")?;
            Ok::<_, Failure>(Arc::new(fleet.only(profile, &workspace.what_if)))
        };
        let (before, after) = (only(ids[0], first.0)?, only(ids[1], second.0)?);
        let pipeline = second.0.pipeline(second.0.revisions(), after);
        Ok(NodePair { before, pipeline, gone: Vec::new(), new: Vec::new() })
    }

    /// Returns findings for the nodes that only one of the sets has.
    pub(in crate::app) fn findings(&self) -> Vec<FindingChange> {
        let sets = [("gone-nodes", &self.gone, "is not known any more"), ("new-nodes", &self.new, "is new")];
        let finding = |(code, names, text): (&'static str, &Vec<Arc<str>>, &str)| {
            let others = match names.len() - 1 {
                0 => String::new(),
                more => format!(", and so {} {} more", if more == 1 { "is" } else { "are" }, count(more, "node")),
            };
            let text = format!("{} {text}{others}: not compared", names.first()?);
            Some(FindingChange { is_new: true, diagnostic: Diagnostic::note(code, None, text), nodes: names.len() })
        };
        sets.into_iter().filter(|(_, names, _)| !names.is_empty()).filter_map(finding).collect()
    }
}

impl Workspace {
    /// Reads the profiles at two paths, when `branch` is deployed, with the variables that the revision mentions.
    /// Profiles that cannot be read are reported and left out.
    pub fn nodes_of_both(
        &self,
        paths: [&Path; 2],
        branch: Option<&BranchName>,
        at: RevisionId,
        report: &dyn Fn(&ProfileError),
    ) -> Result<NodePair> {
        let [first, second] = paths.map(|path| self.with_profiles(path));
        let pair = NodePair::of([&first, &second], branch, at, report)?;
        pair.ok_or_else(|| "the two have no node in common".into())
    }

    /// Returns the same workspace with other profiles.
    fn with_profiles(&self, path: &Path) -> Workspace {
        let mut workspace = self.clone();
        workspace.settings.profiles = vec![ProfileEntry::files(path)];
        workspace.settings.profiles_within = None;
        workspace
    }
}
