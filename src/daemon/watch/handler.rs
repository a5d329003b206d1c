//! The interface for whatever takes the commits that a watch finds.

use tokio::task::{JoinError, spawn_blocking};

use super::BranchCheckpoint;
use crate::event::CommitEvent;

/// Takes commits, in the order in which they came to their branches.
pub trait Handler: Send {
    /// The maximum number of commits that are handed out together.
    const TOGETHER: usize;

    /// Takes all of `commits`, or none.
    fn handle(&mut self, commits: &[CommitEvent]) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Notes the checkpoint of the watch: all commits up to it were taken. It is only called when the checkpoint has
    /// changed.
    fn checkpoint(&mut self, checkpoint: &BranchCheckpoint) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Notes that a look begins.
    fn looks(&mut self) {}

    /// Notes the end of a look; `is_good` is false if something could not be read or was refused.
    fn looked(&mut self, is_good: bool) {
        _ = is_good;
    }
}

/// A handler could not take commits.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// The watch has to end.
    #[error(transparent)]
    Critical(Box<dyn std::error::Error + Send + Sync>),
    /// The commits are given up, and the watch continues.
    #[error(transparent)]
    Runtime(Box<dyn std::error::Error + Send + Sync>),
    /// The commits have to be handed out again later.
    #[error(transparent)]
    Refused(Box<dyn std::error::Error + Send + Sync>),
    /// The handler has panicked, which is a fault in hierad.
    #[error(transparent)]
    Task(#[from] JoinError),
}

/// Makes a handler that calls `handle` for each commit. It may block.
pub fn each<H>(handle: H) -> impl Handler
where
    H: FnMut(CommitEvent) -> Result<(), HandlerError> + Send + 'static,
{
    Each(Some(handle))
}

/// The closure is taken out while it runs.
struct Each<H>(Option<H>);

impl<H> Handler for Each<H>
where
    H: FnMut(CommitEvent) -> Result<(), HandlerError> + Send + 'static,
{
    const TOGETHER: usize = 1;

    async fn handle(&mut self, commits: &[CommitEvent]) -> Result<(), HandlerError> {
        for commit in commits.iter().cloned() {
            let Some(mut handle) = self.0.take() else { return Ok(()) };
            let (handle, result) = spawn_blocking(move || {
                let result = handle(commit);
                (handle, result)
            })
            .await?;
            self.0 = Some(handle);
            result?;
        }
        Ok(())
    }

    async fn checkpoint(&mut self, _: &BranchCheckpoint) -> Result<(), HandlerError> {
        Ok(())
    }
}
