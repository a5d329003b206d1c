//! The role of settings in a report on the tree: they accept blind spots, judge by policies, and may themselves leave
//! parts unseen.

use std::any::Any;
use std::cmp::Reverse;

use super::{DiffFilter, Pipeline, PipelineError, RevisionId};
use crate::blind_spots::accept::Accepted;
use crate::diff::Diff;
use crate::git::{BranchName, CommitId};
use crate::node::NodeSet;
use crate::report::{BlindSpot, PolicyHit, Report};
use crate::workers::Workers;

/// The two revisions of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    /// The earlier one.
    pub before: RevisionId,
    /// The later one.
    pub after: RevisionId,
    /// The tip of the branch that the commits from `before` to `after` go to, whose settings judge them; `None` if
    /// those of `before` do. `before` may be a merge base, which the author of the commits chooses: it may be older
    /// than a policy. [`RevisionId::Empty`] if the branch is unknown: then policies of the tree are unknown, too.
    pub target: Option<RevisionId>,
    /// The branch of that tip, if it is known. If branches are environments, the nodes are in this one once it has
    /// the commits, whatever branch they come from.
    pub branch: Option<BranchName>,
    /// True if the commits are to be merged into that branch; false if it has them, or gets exactly them by a push.
    pub is_request: bool,
}

impl Sides {
    /// Returns the sides of a comparison in which the earlier revision judges the later one.
    pub fn of(before: RevisionId, after: RevisionId) -> Sides {
        Sides { before, after, target: None, branch: None, is_request: false }
    }

    /// Returns the revision whose settings judge.
    pub fn judge(&self) -> RevisionId {
        self.target.unwrap_or(self.before)
    }
}

/// The advice if the revision that judges cannot be read.
const NOT_READ: &str =
    "no policy was judged by the reading of the revision that judges: correct its settings and profiles";

/// The advice if the target branch is unknown.
const NO_TARGET: &str = "no policy was judged: name the target branch with --base, or make `git fetch` work in the job";

/// Provides pipelines that read the tree by the settings of another revision.
pub trait Readings: Send + Sync {
    /// Returns a pipeline that reads the tree like the revision that judges `sides`: by its settings and profiles, on
    /// the nodes of its branch. Returns `None` if the present pipeline does. Fails with the reason if that reading is
    /// impossible.
    fn reading(&self, sides: &Sides) -> Result<Option<OtherReading>, String>;
}

/// Another way to read the tree.
pub struct OtherReading {
    /// The pipeline that reads it that way.
    pub pipeline: Pipeline,
    /// The owner of files that the pipeline reads repeatedly. They exist until this is dropped.
    pub owner: Box<dyn Any>,
}

/// Judges a tree by settings that the tree itself cannot change.
pub trait Judge: Send + Sync {
    /// Returns the id of the commit whose settings judge, given the revision `judge`; `None` if no settings of the
    /// tree do.
    fn id(&self, judge: RevisionId) -> Option<CommitId>;

    /// Returns the blind spots that are accepted by the revision `judge`.
    fn accepted(&self, judge: RevisionId) -> Accepted;

    /// Returns the blind spot for settings that are ignored, if there are any.
    fn refused(&self) -> Option<BlindSpot>;

    /// Returns the blind spot for settings of the tree that differ between two revisions.
    fn changed(&self, revisions: Diff<RevisionId>) -> Option<BlindSpot>;

    /// Returns true if the policies come from the tree, which its commits write.
    fn is_of_tree(&self) -> bool;

    /// Returns true if the revision `judge` has policies, or would if they could be read.
    fn has_policies(&self, judge: RevisionId) -> bool;

    /// Returns the policies of the revision `judge` that a report hits.
    fn policies(&self, judge: RevisionId, report: &Report) -> Vec<PolicyHit>;

    /// Returns the hit of a change after which no policy can be read: whatever follows it would be refused.
    fn broken(&self, sides: &Sides) -> Option<PolicyHit>;

    /// Returns the hit of a change that does nothing but correct policies that cannot be read. It replaces those of
    /// [`Judge::policies`], or nobody could correct them.
    fn mended(&self, sides: &Sides) -> Option<PolicyHit>;
}

/// Accepts no blind spot and has no settings.
pub(super) struct Strict;

impl Judge for Strict {
    fn id(&self, _: RevisionId) -> Option<CommitId> {
        None
    }

    fn accepted(&self, _: RevisionId) -> Accepted {
        Accepted::default()
    }

    fn refused(&self) -> Option<BlindSpot> {
        None
    }

    fn changed(&self, _: Diff<RevisionId>) -> Option<BlindSpot> {
        None
    }

    fn is_of_tree(&self) -> bool {
        false
    }

    fn has_policies(&self, _: RevisionId) -> bool {
        false
    }

    fn policies(&self, _: RevisionId, _: &Report) -> Vec<PolicyHit> {
        Vec::new()
    }

    fn broken(&self, _: &Sides) -> Option<PolicyHit> {
        None
    }

    fn mended(&self, _: &Sides) -> Option<PolicyHit> {
        None
    }
}

impl Pipeline {
    /// Adds to a report on `sides` the verdict of the judging revision's policies, on the tree as this pipeline reads
    /// it and, if that revision reads it differently, on that reading as well. So changing how the tree is read
    /// evades no policy.
    pub(super) fn judged(
        &self,
        sides: &Sides,
        filter: &DiffFilter<'_>,
        workers: &Workers,
        report: Report,
    ) -> Result<Report, PipelineError> {
        let judge = sides.judge();
        if let Some(hit) = self.judge.mended(sides) {
            return Ok(Report { policies: vec![hit], ..report });
        }
        let mut hits = self.judge.policies(judge, &report);
        hits.extend(self.judge.broken(sides));
        if sides.target == Some(RevisionId::Empty) && self.judge.is_of_tree() {
            hits.push(PolicyHit::unreadable(NO_TARGET, "the target branch is unknown".to_owned()));
        }
        let readings = self.readings.as_ref().filter(|_| self.judge.has_policies(judge));
        let reading = readings.map(|readings| readings.reading(sides));
        match reading {
            None | Some(Ok(None)) => {}
            Some(Ok(Some(OtherReading { pipeline: other, owner: _owner }))) => {
                match other.compared(sides, filter, workers, false) {
                    Ok(compared) => {
                        let circumstances = format!("read as {} does", revision_name(judge));
                        self.add_hits(&mut hits, compared.report, &other, &circumstances);
                    }
                    Err(error @ (PipelineError::Stopped(_) | PipelineError::ProfilesChanged)) => return Err(error),
                    Err(error) => hits.push(PolicyHit::unreadable(NOT_READ, error.to_string())),
                }
            }
            Some(Err(reason)) => hits.push(PolicyHit::unreadable(NOT_READ, reason)),
        }
        weightiest_first(&mut hits);
        Ok(Report { judge: self.judge.id(judge).map(|id| id.to_string()), policies: hits, ..report })
    }

    /// Adds the hits of a report by another pipeline, on a comparison made in other `circumstances`, that weigh more
    /// than those of the same policies so far.
    pub(super) fn add_hits(&self, hits: &mut Vec<PolicyHit>, report: Report, other: &Pipeline, circumstances: &str) {
        for hit in report.policies {
            if hits.iter().any(|known| known.name == hit.name && known.counts_as() >= hit.counts_as()) {
                continue;
            }
            let own_nodes = hit.nodes.iter().filter_map(|node| self.fleet.find(other.fleet.name(node)));
            let nodes: NodeSet = own_nodes.collect();
            hits.push(PolicyHit { found: format!("{}, {circumstances}", hit.found), nodes, ..hit });
        }
    }

    /// Returns the revision before `id`, whose settings judge it.
    pub fn base(&self, id: RevisionId) -> RevisionId {
        let repository = self.repository();
        let commit = match id {
            RevisionId::Commit(commit) => repository.parents(commit).ok().and_then(|parents| parents.first()),
            RevisionId::WorkTree => repository.resolve("HEAD").ok(),
            RevisionId::Merged(_) | RevisionId::Empty => None,
        };
        commit.map_or(RevisionId::Empty, RevisionId::Commit)
    }
}

/// Sorts hits by their weight, the greatest first.
pub(super) fn weightiest_first(hits: &mut [PolicyHit]) {
    hits.sort_by_key(|hit| Reverse(hit.counts_as()));
}

/// Returns the name of a revision for messages.
fn revision_name(judge: RevisionId) -> String {
    match judge {
        RevisionId::Commit(id) => id.short(),
        RevisionId::Merged(_) | RevisionId::WorkTree | RevisionId::Empty => "the revision before".to_owned(),
    }
}
