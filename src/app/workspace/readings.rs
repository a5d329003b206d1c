//! Another reading of the tree: that of the revision that judges a change.
//!
//! A change is judged by policies that its author does not write. But its author may write how the tree is read: the
//! settings in it, such as which hiera.yaml is read, and the profiles in it, which say what nodes there are. So
//! policies judge a second comparison as well, by the settings and profiles of the revision that judges.

use std::sync::Arc;

use super::Workspace;
use super::inside::read_from_revisions;
use super::outside::Outside;
use super::tree_profiles::TreeProfiles;
use crate::app::{Failure, Result};
use crate::diagnostic::describe;
use crate::git::{BranchName, CommitId};
use crate::node::ProfileError;
use crate::pipeline::judge::{OtherReading, Readings, Sides};
use crate::pipeline::{Pipeline, RevisionId};
use crate::settings::SettingsFile;

/// The readings of a workspace, for nodes when a branch is deployed.
struct TreeReadings {
    workspace: Workspace,
    branch: Option<BranchName>,
}

impl Readings for TreeReadings {
    fn reading(&self, sides: &Sides) -> std::result::Result<Option<OtherReading>, String> {
        let judge = sides.judge();
        let RevisionId::Commit(commit) = judge else { return Ok(None) };
        self.other_reading(commit, sides).or_else(|failure| {
            // A change of profiles alone evades no policy.
            if self.workspace.judge.changes_profiles_alone(sides) {
                return Ok(None);
            }
            let reason = describe(&*failure);
            Err(format!("the tree cannot be read as {} has it: {reason}", commit.short()))
        })
    }
}

impl TreeReadings {
    fn other_reading(&self, judge: CommitId, sides: &Sides) -> Result<Option<OtherReading>> {
        // The author of commits chooses the branch that they are on, but not the one that takes them.
        let branch = sides.branch.as_ref().or(self.branch.as_ref()).map(BranchName::as_str);
        let other = match self.workspace.as_read_by(judge, sides.after)? {
            Some(other) => other,
            None if self.is_elsewhere(branch) => self.workspace.clone(),
            None => return Ok(None),
        };
        let revisions = other.revisions();
        let (fleet, errors) = other.profiles(&revisions, branch, &[sides.before, sides.after], &|_| true)?;
        match (fleet.is_empty(), errors.into_iter().next()) {
            (true, None) => Ok(None),
            (true, Some(error)) => Err(Failure::from(error.to_string())),
            (false, _) => {
                let pipeline = other.pipeline(revisions, Arc::new(fleet));
                Ok(Some(OtherReading { pipeline, owner: Box::new(other) }))
            }
        }
    }

    /// Returns true if the nodes are in another environment when `branch` is deployed.
    fn is_elsewhere(&self, branch: Option<&str>) -> bool {
        let here = self.branch.as_ref().map(BranchName::as_str);
        let [here, there] = [here, branch].map(|branch| self.workspace.environment_of_nodes(branch));
        here != there
    }
}

impl Workspace {
    /// Makes a pipeline for the `chosen` nodes when `branch` is deployed, with the variables that `points` mention.
    /// Profiles that cannot be read are reported and left out.
    pub fn pipeline_for(
        &self,
        branch: Option<&BranchName>,
        points: &[RevisionId],
        chosen: &(dyn Fn(&str) -> bool + Sync),
        report: &dyn Fn(&ProfileError),
    ) -> Result<Pipeline> {
        let revisions = self.revisions();
        let fleet = self.fleet(&revisions, branch, points, chosen, report)?;
        let readings = TreeReadings { workspace: self.clone(), branch: branch.cloned() };
        Ok(self.pipeline(revisions, Arc::new(fleet)).with_readings(Arc::new(readings)))
    }

    /// Returns the workspace that reads the tree by the settings and profiles of a commit, to judge the revision
    /// `after`; `None` if this one already reads that way.
    fn as_read_by(&self, judge: CommitId, after: RevisionId) -> Result<Option<Workspace>> {
        let Some(top) = self.repository.work_dir().and_then(|top| top.canonicalize().ok()) else { return Ok(None) };
        let file = self.judge.file(RevisionId::Commit(judge))?;
        let is_read_otherwise = !self.sources.is_tree_trusted && self.judge.reads_otherwise(file.as_ref());
        if !is_read_otherwise && !self.has_other_profiles(judge) {
            return Ok(None);
        }
        let mut settings =
            self.sources.settings(file.map(|file| SettingsFile { path: top.join(&file.path), ..file }))?;
        read_from_revisions(&self.repository, &mut settings);
        let stage = tempfile::tempdir()?;
        let profiles = TreeProfiles::of(&self.repository, &settings);
        let kept_files = self.judge.profile_files(after);
        profiles.stage(&self.repository.tree(judge)?, &kept_files, stage.path(), &mut settings)?;
        let outside = Outside::find(&settings.global_hiera_config, &self.repository)?;
        Ok(Some(self.with_reading(settings, outside, stage)))
    }

    /// Returns true if a commit has other profiles in the tree than those that are read from the work tree: whatever
    /// HEAD is, the latter may belong to a change that is not committed, or to another branch.
    fn has_other_profiles(&self, judge: CommitId) -> bool {
        let [read, judging] = [RevisionId::WorkTree, RevisionId::Commit(judge)].map(|id| self.judge.profile_files(id));
        read != judging
    }
}
