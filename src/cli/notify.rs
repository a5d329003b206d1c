//! `hierad notify`: asks a daemon to look for commits. It is quick, and never makes a commit fail.

use clap::Args;

use super::{Global, Result, Status, describe};
use crate::daemon;
use crate::git::{self, Environment};

/// Arguments of `notify`: none.
#[derive(Debug, Args)]
pub(super) struct Arguments {}

/// Notifies the daemon. Failures are only logged, since the daemon also looks for commits from time to time.
pub(super) fn run(global: &Global) -> Status {
    if let Err(failure) = tell(global) {
        tracing::info!("no daemon was notified: {}", describe(&*failure));
    }
    Status::Done
}

fn tell(global: &Global) -> Result<()> {
    let folders = git::git_dirs(global.repo.as_deref(), &Environment::of_process())?;
    daemon::request_look(&folders.common)?;
    tracing::info!(repository = %folders.common.display(), "a daemon that watches it was notified");
    Ok(())
}
