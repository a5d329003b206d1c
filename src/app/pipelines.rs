//! The pipelines of a workspace: one for each environment, and so for each branch if branches are environments.
//!
//! A pipeline is made when it is first asked for, and made anew when the profile files have changed. While somebody
//! is still writing them, the former pipeline goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::{Result, Workspace};
use crate::event::CommitEvent;
use crate::git::BranchName;
use crate::node::ProfileError;
use crate::pipeline::{Comparison, DiffFilter, Pipeline, RevisionId};
use crate::settings::EnvironmentName;

/// The pipelines of a workspace by environment.
pub struct BranchPipelines {
    workspace: Workspace,
    /// `None` is the pipeline of all branches.
    by_branch: HashMap<Option<BranchName>, Arc<Pipeline>>,
    /// The time of the next look for changed profiles.
    next_check: Instant,
}

/// The pause after a look at the profile files, in multiples of the time it took: there may be a hundred thousand.
const CHECK_PAUSE: u32 = 50;

impl BranchPipelines {
    /// Makes an empty set of pipelines. Profiles are read when a pipeline is first asked for.
    pub fn new(workspace: Workspace) -> BranchPipelines {
        BranchPipelines { workspace, by_branch: HashMap::new(), next_check: Instant::now() }
    }

    /// Returns what a commit changes.
    pub fn compare(&mut self, event: &CommitEvent) -> Result<Comparison> {
        compare(&*self.get(Some(&event.branch))?, event)
    }

    /// Returns the pipeline of a branch, or that of the checked-out branch for `None`.
    pub fn get(&mut self, branch: Option<&BranchName>) -> Result<Arc<Pipeline>> {
        let branch = branch.filter(|_| self.workspace.settings.environment == EnvironmentName::Branch);
        let known = self.by_branch.get(&branch.cloned()).cloned();
        if let Some(pipeline) = &known
            && self.is_current(pipeline)
        {
            return Ok(pipeline.clone());
        }
        let pipeline = match (self.make(branch), known) {
            (Ok(pipeline), known) => {
                if known.is_some() {
                    tracing::info!("the node profiles have changed and were read again");
                }
                Arc::new(pipeline)
            }
            // Somebody may be writing them right now.
            (Err(error), Some(known)) => {
                tracing::warn!(%error, "the node profiles have changed and cannot be read: the former ones count");
                return Ok(known);
            }
            (Err(error), None) => return Err(error),
        };
        self.by_branch.insert(branch.cloned(), pipeline.clone());
        Ok(pipeline)
    }

    /// Reads the profiles for a branch.
    fn make(&self, branch: Option<&BranchName>) -> Result<Pipeline> {
        let workspace = &self.workspace;
        let tip = workspace.repository.resolve(branch.map_or("HEAD", BranchName::as_str)).ok().map(RevisionId::Commit);
        let report = |error: &ProfileError| {
            tracing::warn!(%error, "a node profile cannot be read: its node is left out");
        };
        workspace.pipeline_for(branch, tip.as_slice(), &|_| true, &report)
    }

    /// Returns true unless the profile files are known to have changed. It does not look each time.
    fn is_current(&mut self, pipeline: &Pipeline) -> bool {
        let start = Instant::now();
        if start < self.next_check {
            return true;
        }
        let is_current = pipeline.fleet.is_current();
        self.next_check = Instant::now() + start.elapsed() * CHECK_PAUSE;
        is_current
    }
}

/// Returns what a commit changes. If git has collected the former tip of a rewritten branch, the commit is compared
/// with its first parent.
pub(super) fn compare(pipeline: &Pipeline, event: &CommitEvent) -> Result<Comparison> {
    let (repository, mut before) = (pipeline.repository(), event.before);
    if let Some(gone) = before.filter(|before| repository.is_gone(*before))
        && !repository.is_gone(event.after)
    {
        before = repository.parents(event.after)?.present.first().copied();
        let compared = before.map(tracing::field::display);
        tracing::warn!(%gone, compared, "the former tip was collected; the commit is compared with its parent");
    }
    let before = before.map_or(RevisionId::Empty, RevisionId::Commit);
    Ok(pipeline.diff(before, RevisionId::Commit(event.after), &DiffFilter::ALL)?)
}
