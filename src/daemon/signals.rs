//! What the parts of the service tell each other, and whoever asks how they are.

use std::fmt;

use tokio::sync::watch as flag;

use super::meters::Meters;
use crate::git::BranchName;

/// Shared by all parts of a service.
#[derive(Debug)]
pub(super) struct Signals {
    /// What is counted.
    pub(super) meters: Meters,
    /// Has all watches look at once.
    pub(super) poke: Bell,
    /// A report is there.
    pub(super) resolved: Bell,
}

impl Signals {
    /// Nothing has happened yet.
    pub(super) fn new() -> Signals {
        Signals { meters: Meters::new(), poke: Bell::new(), resolved: Bell::new() }
    }

    /// Takes note of whether the data of a branch can be read, or why it cannot.
    pub(super) fn saw(&self, repository: &str, branch: &BranchName, blind: Option<&str>) {
        if !self.meters.sight(repository, branch.as_str(), blind) {
            return;
        }
        if let Some(why) = blind {
            tracing::warn!(repository, %branch, "nothing of the branch can be read: {why}");
        } else {
            tracing::info!(repository, %branch, "the branch can be read again");
        }
    }
}

/// Wakes all who listen. Whoever is busy meanwhile hears it afterwards, once.
pub(super) struct Bell(flag::Sender<()>);

impl Bell {
    fn new() -> Bell {
        Bell(flag::Sender::new(()))
    }

    /// Rings it.
    pub(super) fn ring(&self) {
        self.0.send_replace(());
    }

    /// Who waits for `changed` hears each ring from now on.
    pub(super) fn listen(&self) -> flag::Receiver<()> {
        self.0.subscribe()
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}
