//! bitbucket.org and Bitbucket Data Center: webhooks about pushes, and Pipelines, in which a review is written but
//! not posted.

use super::ci::{Ci, Jobs, Read, Variable};
use super::webhook::{Proof, Webhooks};
use super::{Constants, Forge, ForgeError};

static CONSTANTS: Constants = Constants {
    name: "bitbucket",
    aliases: &[],
    webhooks: Webhooks {
        event: "x-event-key",
        proof: Proof::Signature("x-hub-signature", "sha256="),
        pushes: &["repo:push", "repo:refs_changed"],
        requests: &[],
    },
    jobs: Jobs {
        runners: &["BITBUCKET_BUILD_NUMBER"],
        no_branch: &["BITBUCKET_TAG"],
        branch: &["BITBUCKET_BRANCH"],
        ..Jobs::NONE
    },
    api: None,
};

/// Bitbucket.
#[derive(Debug)]
pub(super) struct Bitbucket;

impl Forge for Bitbucket {
    fn constants(&self) -> &'static Constants {
        &CONSTANTS
    }

    /// Reads the variables of a job. Requests of forks run no jobs on Bitbucket.
    fn ci(&self, variable: Variable<'_>, _read: Read<'_>) -> Result<Ci, ForgeError> {
        Ok(Ci {
            head: variable("BITBUCKET_COMMIT"),
            base_branch: variable("BITBUCKET_PR_DESTINATION_BRANCH"),
            base: variable("BITBUCKET_PR_DESTINATION_COMMIT"),
            is_own: true,
            ..Ci::default()
        })
    }
}
