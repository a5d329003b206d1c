//! The page of one clone, without a daemon: nothing is watched, and nothing is kept but the index of the history.

use std::any::Any;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::app::daemon::answers::answers;
use crate::app::daemon::history::keep_history;
use crate::app::daemon::signals::{Signal, Signals};
use crate::app::{Overrides, Result, Workspace};
use crate::daemon::http::{AnswerError, ListenError, Listener, Options, Server};
use crate::daemon::queue::Queue;
use crate::event::RepositoryName;
use crate::git::BranchPatterns;

/// The time that a browser may take to send a request, and to read a piece of the answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Answers requests for the page until the process is asked to stop. `announce` is told the address. The index of the
/// history of the checked-out branch is extended, by `program` with the flags of this run.
pub async fn serve(
    workspace: Workspace,
    listen: SocketAddr,
    (overrides, program): (&Overrides, Option<&Path>),
    announce: impl FnOnce(SocketAddr),
) -> Result<()> {
    if !listen.ip().is_loopback() {
        return Err(format!("{listen} can be reached by others: `hierad watch --listen` takes a token").into());
    }
    // Nothing is shown without nodes, and what is wrong with them is said here.
    let answers = answers(&workspace.with_own_guard(), None);
    answers.nodes().map_err(|error| match error {
        AnswerError::Broken(error) => error,
        other => other.into(),
    })?;
    let another = |error: ListenError| format!("{error}; `--listen 127.0.0.1:0` takes any free port");
    let listener = Listener::bind(listen).map_err(another)?;
    let mut signals = Signals::new()?;
    // The server wants a queue, in which there is nothing.
    let folder = tempfile::tempdir()?;
    let (queue, _lock) = Queue::create(folder.path()).await?;
    let options = Options { listen, token: None, webhook_secrets: Vec::new(), timeout: TIMEOUT };
    let mut server = Server::new(options, listener.clone());
    server.add(&RepositoryName::from("data"), answers);
    announce(listener.address());
    let here: Arc<dyn Any + Send + Sync> = Arc::new(());
    if let (Some(program), Ok(Some(branch))) = (program, workspace.repository.branch()) {
        let branches = BranchPatterns::new(&[branch.as_str()])?;
        keep_history(&workspace.repository, &branches, Arc::downgrade(&here), overrides, program);
    }
    server.alone(queue, async move { while signals.next().await != Signal::End {} }).await;
    Ok(())
}
