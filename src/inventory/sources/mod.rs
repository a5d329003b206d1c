//! Sources of nodes other than files, with a module for each kind.
//!
//! A new kind needs a module here, a variant of [`SourceSetting`], and an arm of [`source_for`].

mod http;
mod overlay;
mod program;
mod puppetdb;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::inventory::{FactNames, FetchError};
use crate::settings::SourceSetting;
use overlay::{Kind, Program};
use puppetdb::PuppetDb;

/// A source of nodes.
pub(super) trait Source {
    /// Returns the beginning of the names of the files with its answers, and all settings that determine the answers.
    fn identity(&self) -> (&'static str, String);

    /// Returns the age at which an answer is replaced by a new one.
    fn refresh(&self) -> Duration;

    /// Returns true if it is asked about each node, and has no nodes of its own.
    fn is_overlay(&self) -> bool {
        false
    }

    /// Returns true if it knows all existing nodes.
    fn knows_all(&self) -> bool {
        false
    }

    /// Asks for all of its nodes with at least these facts, or about these nodes, if it is asked about each.
    fn ask(&self, facts: &FactNames, nodes: &[Arc<str>]) -> Result<Asked, FetchError>;
}

/// An answer of a source.
pub(super) enum Asked {
    /// All nodes of a source.
    All(Nodes),
    /// The answer for each node: a profile on one line, or the reason why there is none.
    Each(Answers),
}

/// Profiles, as they were fetched.
pub(super) struct Nodes {
    /// The profiles, one per line.
    pub(super) lines: Vec<u8>,
    /// The number of profiles.
    pub(super) count: usize,
    /// The facts that they have.
    pub(super) facts: FactNames,
}

/// The answers for some nodes: each is a profile on one line, or the reason why there is none.
pub(super) type Answers = BTreeMap<Arc<str>, Result<String, String>>;

/// Returns the source that a setting names.
pub(super) fn source_for(setting: &SourceSetting) -> Box<dyn Source + '_> {
    match setting {
        SourceSetting::PuppetDb(setting) => Box::new(PuppetDb(setting)),
        SourceSetting::Enc(setting) => Box::new(Program { kind: Kind::Classifier, setting }),
        SourceSetting::TrustedExternal(setting) => Box::new(Program { kind: Kind::Trusted, setting }),
    }
}

/// Does work in a separate runtime on another thread: the calling thread may have a runtime already.
fn run_blocking<T: Send>(work: impl AsyncFnOnce() -> Result<T, FetchError> + Send) -> Result<T, FetchError> {
    let failed = || FetchError::Settings("the request has failed within".to_owned());
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| FetchError::Settings(error.to_string()))?;
        runtime.block_on(work())
    };
    thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|_| Err(failed()))
}
