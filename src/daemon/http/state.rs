//! What all requests share, and how much of it one may take.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Options;
use super::answers::{Answers, Unanswered};
use super::forge::Forge;
use super::problem::Problem;
use crate::daemon::queue::{Queue, QueueError};
use crate::daemon::service::Stopped;
use crate::daemon::signals::Signals;

/// How many questions are worked on at a time: each may take all threads.
const AT_WORK: usize = 2;

/// How long a question waits for its turn.
const TURN: Duration = Duration::from_secs(5);

/// How long a client waits for an answer. The work goes on to its end.
const ANSWER: Duration = Duration::from_mins(1);

/// How long a client waits for the queue.
const QUEUE: Duration = Duration::from_secs(5);

/// How many clients may listen to the stream.
const LISTENERS: usize = 64;

/// What all requests share.
pub(super) struct State {
    pub(super) options: Options,
    pub(super) queue: Queue,
    pub(super) signals: Arc<Signals>,
    /// Whether the service is to end.
    pub(super) stopped: Stopped,
    /// Places for clients that listen to the stream.
    pub(super) listeners: Arc<Semaphore>,
    /// By the names of repositories.
    answers: BTreeMap<String, Arc<dyn Answers>>,
    work: Arc<Semaphore>,
}

impl State {
    pub(super) fn new(
        options: Options,
        answers: BTreeMap<String, Arc<dyn Answers>>,
        queue: Queue,
        signals: Arc<Signals>,
        stopped: Stopped,
    ) -> State {
        let [listeners, work] = [LISTENERS, AT_WORK].map(|places| Arc::new(Semaphore::new(places)));
        State { options, queue, signals, stopped, listeners, answers, work }
    }

    /// Who knows a repository; it need not be named if there is only one.
    fn of(&self, repository: Option<&str>) -> Result<Arc<dyn Answers>, Problem> {
        let found = match repository {
            Some(name) => self.answers.get(name),
            None if self.answers.len() > 1 => {
                let names: Vec<&str> = self.answers.keys().map(String::as_str).collect();
                return Err(Problem::wrong(format!("'repository' must be one of {}", names.join(", "))));
            }
            None => self.answers.values().next(),
        };
        found.cloned().ok_or_else(|| Problem::unknown("there is no such repository"))
    }

    /// Has a question about a repository answered on a thread that may block.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        repository: Option<&str>,
        question: impl FnOnce(&dyn Answers) -> Result<T, Unanswered> + Send + 'static,
    ) -> Result<T, Problem> {
        let answers = self.of(repository)?;
        let Ok(Ok(turn)) = timeout(TURN, self.work.clone().acquire_owned()).await else {
            return Err(Problem::busy("others are being answered; ask again later"));
        };
        let task = spawn_blocking(move || {
            let _turn = turn;
            question(&*answers)
        });
        match timeout(ANSWER, task).await {
            Ok(Ok(answer)) => Ok(answer?),
            Ok(Err(_)) => Err(Problem::fault(&"a panic")),
            Err(_) => Err(Problem::busy("the answer takes too long; ask again later")),
        }
    }

    /// What the queue says, if it says so in time.
    pub(super) async fn queue<T>(&self, step: impl Future<Output = Result<T, QueueError>>) -> Result<T, Problem> {
        match timeout(QUEUE, step).await {
            Ok(result) => result.map_err(|error| Problem::fault(&error)),
            Err(_) => Err(Problem::busy("the queue does not answer; ask again later")),
        }
    }

    /// The secret of a forge, if it may call.
    pub(super) fn secret(&self, forge: Forge) -> Option<&[u8]> {
        let secrets = self.options.webhook_secrets.iter();
        secrets.filter(|(of, _)| *of == forge).map(|(_, secret)| secret.as_slice()).next()
    }
}

/// Whether two secrets are the same, in a time that depends on neither.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one).ct_eq(&Sha256::digest(other)).into()
}
