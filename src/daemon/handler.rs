//! Who takes the commits that the watch finds.

use tokio::task::{JoinError, spawn_blocking};

use super::{CommitEvent, Known};

/// Takes commits, in the order in which they came to their branches.
pub trait Handler: Send {
    /// How many commits are handed out together, at most.
    const TOGETHER: usize;

    /// Takes all of `commits`, or none.
    fn handle(&mut self, commits: &[CommitEvent]) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Takes note of what the watch knows, all commits of it being taken.
    fn known(&mut self, known: &Known) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Takes note of a look, and whether it went well.
    fn looked(&mut self, is_good: bool) {
        _ = is_good;
    }
}

/// The handler could not take commits.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// The watch has to end.
    #[error(transparent)]
    Critical(Box<dyn std::error::Error + Send + Sync>),
    /// The commits are given up, the watch goes on.
    #[error(transparent)]
    Runtime(Box<dyn std::error::Error + Send + Sync>),
    /// Not now: the commits have to be handed out again.
    #[error(transparent)]
    Refused(Box<dyn std::error::Error + Send + Sync>),
    /// The handler has panicked, which is a fault in hierad.
    #[error(transparent)]
    Task(#[from] JoinError),
}

/// A handler that does with each commit what `handle` does, which may block.
pub fn each<H>(handle: H) -> impl Handler
where
    H: FnMut(CommitEvent) -> Result<(), HandlerError> + Send + 'static,
{
    Each(Some(handle))
}

/// The closure is away while it runs.
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

    async fn known(&mut self, _: &Known) -> Result<(), HandlerError> {
        Ok(())
    }
}
