//! Makes jobs for newer answers of sources of nodes. Their effect is reported separately, after all earlier commits.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::spawn_blocking;

use super::resolution::Resolve;
use super::{QUEUE_LOOK_PAUSE, insist};
use crate::daemon::handle::ServiceHandle;
use crate::daemon::queue::Queue;
use crate::daemon::shutdown::Shutdown;
use crate::event::RepositoryName;

/// Looks at the answers of the sources of a repository.
pub(super) struct FactsWatch {
    pub(super) repository: RepositoryName,
    pub(super) queue: Queue,
    pub(super) handle: Arc<ServiceHandle>,
    pub(super) resolve: Arc<dyn Resolve>,
    /// The last answers that were seen, and the time of the look.
    pub(super) seen: Option<(String, Instant)>,
}

/// The result of a look.
pub(super) enum FactsLook {
    /// There are new jobs.
    Jobs,
    /// There are no new jobs.
    Nothing,
    /// There are no sources, or they have not answered yet.
    NoSources,
}

impl FactsWatch {
    /// Makes jobs for branches whose reports were made with former answers.
    pub(super) async fn look(&mut self, shutdown: &mut Shutdown) -> FactsLook {
        let resolve = self.resolve.clone();
        let Ok(Some(sources)) = spawn_blocking(move || resolve.sources()).await else {
            return FactsLook::NoSources;
        };
        let FactsWatch { repository, queue, handle, .. } = &*self;
        handle.saw_sources(repository, sources.fetched, sources.trouble);
        let last = sources.answers;
        // Even so, new branches are looked for from time to time.
        if self.seen.as_ref().is_some_and(|(seen, at)| *seen == last && at.elapsed() < QUEUE_LOOK_PAUSE) {
            return FactsLook::Nothing;
        }
        let Some(jobs) = insist(handle, shutdown, || queue.have_nodes(repository, &last)).await else {
            return FactsLook::Nothing;
        };
        // This comes before a newer answer can replace one that a report still needs.
        if let Some(answers) = insist(handle, shutdown, || queue.answers_in_use(repository)).await {
            let resolve = self.resolve.clone();
            _ = spawn_blocking(move || resolve.mark_in_use(&answers)).await;
        }
        self.seen = Some((last, Instant::now()));
        if jobs > 0 { FactsLook::Jobs } else { FactsLook::Nothing }
    }
}
