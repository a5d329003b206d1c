//! The same nodes with two sets of profiles.

use std::path::Path;
use std::sync::Arc;

use super::{Result, Workspace};
use crate::fleet::Fleet;
use crate::git::BranchName;
use crate::node::ProfileError;
use crate::pipeline::{Pipeline, RevisionId};
use crate::settings::ProfileEntry;

/// The nodes that two sets of profiles share.
pub struct NodePair {
    /// The nodes with the first profiles.
    pub before: Arc<Fleet>,
    /// A pipeline for the nodes with the second profiles.
    pub pipeline: Pipeline,
    /// The names of nodes that only the first set has.
    pub gone: Vec<Arc<str>>,
    /// The names of nodes that only the second set has.
    pub new: Vec<Arc<str>>,
}

impl Workspace {
    /// Reads the profiles at two paths, as `branch` is deployed, ready for a revision. Profiles that cannot be read are
    /// reported and left out.
    pub fn nodes_of_both(
        &self,
        paths: [&Path; 2],
        branch: Option<&BranchName>,
        at: RevisionId,
        report: &dyn Fn(&ProfileError),
    ) -> Result<NodePair> {
        let revisions = self.revisions();
        let [first, second] = paths.map(|path| self.with_profiles(path));
        let of = |workspace: &Workspace, other: Option<&Fleet>, report: &dyn Fn(&ProfileError)| {
            let is_shared = |name: &str| other.is_none_or(|other| other.find(name).is_some());
            workspace.fleet(&revisions, branch, &[at], &is_shared, report)
        };
        let (before, after) = (of(&first, None, report)?, of(&second, None, report)?);
        let only = |one: &Fleet, other: &Fleet| -> Vec<Arc<str>> {
            one.iter().map(|(_, name)| name.clone()).filter(|name| other.find(name).is_none()).collect()
        };
        let (gone, new) = (only(&before, &after), only(&after, &before));
        if gone.len() == before.len() {
            return Err("the two have no node in common".into());
        }
        let told = |_: &ProfileError| {};
        let (was, is) = if gone.is_empty() && new.is_empty() {
            (before, after)
        } else {
            (of(&first, Some(&after), &told)?, of(&second, Some(&before), &told)?)
        };
        Ok(NodePair { before: Arc::new(was), pipeline: self.pipeline(revisions, Arc::new(is)), gone, new })
    }

    /// Returns the same workspace with other profiles.
    fn with_profiles(&self, path: &Path) -> Workspace {
        let mut workspace = self.clone();
        workspace.settings.profiles = vec![ProfileEntry::files(path)];
        workspace.settings.profiles_within = None;
        workspace
    }
}
