//! The part that settings have in what a report says of the tree: who accepts its blind spots, and what the settings
//! themselves leave unseen.

use super::{Pipeline, RevisionId};
use crate::diff::Diff;
use crate::pipeline::blind_spots::accept::Accepted;
use crate::report::{BlindSpot, PolicyHit, Report};

/// Judges a tree by settings that the tree does not write itself.
pub trait Judge: Send + Sync {
    /// Returns the blind spots that are accepted in what comes after the revision `base`.
    fn accepted(&self, base: RevisionId) -> Accepted;

    /// Returns the blind spot of settings that do not count, if any do not.
    fn refused(&self) -> Option<BlindSpot>;

    /// Returns the blind spot of settings of the tree that differ between two revisions.
    fn changed(&self, revisions: Diff<RevisionId>) -> Option<BlindSpot>;

    /// Returns the policies that a report on what comes after the revision `base` hits.
    fn policies(&self, base: RevisionId, report: &Report) -> Vec<PolicyHit>;
}

/// Accepts no blind spot and has no settings.
pub(super) struct Strict;

impl Judge for Strict {
    fn accepted(&self, _: RevisionId) -> Accepted {
        Accepted::default()
    }

    fn refused(&self) -> Option<BlindSpot> {
        None
    }

    fn changed(&self, _: Diff<RevisionId>) -> Option<BlindSpot> {
        None
    }

    fn policies(&self, _: RevisionId, _: &Report) -> Vec<PolicyHit> {
        Vec::new()
    }
}

impl Pipeline {
    /// Returns the revision before `id`, whose settings judge it.
    pub fn base(&self, id: RevisionId) -> RevisionId {
        let repository = self.repository();
        let commit = match id {
            RevisionId::Commit(commit) => repository.parents(commit).ok().and_then(|p| p.present.first().copied()),
            RevisionId::WorkTree => repository.resolve("HEAD").ok(),
            RevisionId::Empty => None,
        };
        commit.map_or(RevisionId::Empty, RevisionId::Commit)
    }
}
