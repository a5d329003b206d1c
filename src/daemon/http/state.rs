//! The state that all requests share, with limits on what one request may use.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::answers::{AnswerError, Answers};
use super::connections::places::Places;
use super::problem::Problem;
use super::{Options, Project};
use crate::daemon::handle::ServiceHandle;
use crate::daemon::queue::{Queue, QueueError};
use crate::daemon::shutdown::Shutdown;
use crate::event::RepositoryName;
use crate::forge::Forge;
use crate::workers::Stop;

/// The number of questions that are answered at a time: each may use all threads.
const MAX_QUESTIONS: usize = 2;

/// The time that a question waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that a client waits for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// The time that a client waits for the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of clients of the stream.
const MAX_LISTENERS: usize = 64;

/// The maximum number of browsers that show the overview.
const MAX_VIEWERS: usize = 512;

/// The maximum number of webhooks about requests whose bodies are kept at a time, in total and from one client.
const MAX_BODIES: usize = 8;
const MAX_BODIES_OF_CLIENT: usize = 4;

/// The state that all requests share.
pub(super) struct State {
    pub(super) options: Options,
    pub(super) queue: Queue,
    pub(super) handle: Arc<ServiceHandle>,
    pub(super) shutdown: Shutdown,
    /// The permits of the stream's clients.
    pub(super) listeners: Arc<Semaphore>,
    /// The permits of browsers that show the overview.
    pub(super) viewers: Arc<Semaphore>,
    /// The text that these were sent last, and when it was read.
    pub(super) live: Mutex<Option<(Instant, Arc<str>)>>,
    /// The projects whose requests are reviewed.
    pub(super) projects: Vec<Project>,
    /// The places for bodies that are kept.
    pub(super) bodies: Places,
    /// The effective values, by repository.
    answers: BTreeMap<RepositoryName, Arc<dyn Answers>>,
    /// The permits of questions.
    work: Arc<Semaphore>,
}

/// A client's wish for an answer. The work stops when the wish is over, or too old.
struct Wish {
    end: Instant,
    is_over: AtomicBool,
}

impl Wish {
    fn new(time: Duration) -> Wish {
        Wish { end: Instant::now() + time, is_over: AtomicBool::new(false) }
    }
}

impl Stop for Wish {
    fn reason(&self) -> Option<Arc<str>> {
        let is_over = self.is_over.load(Ordering::Relaxed) || Instant::now() > self.end;
        is_over.then(|| "the answer takes too long".into())
    }
}

/// Ends a wish when the client is gone, or has its answer.
struct End(Arc<Wish>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl State {
    pub(super) fn new(
        options: Options,
        answers: BTreeMap<RepositoryName, Arc<dyn Answers>>,
        projects: Vec<Project>,
        queue: Queue,
        handle: Arc<ServiceHandle>,
        shutdown: Shutdown,
    ) -> State {
        let [listeners, viewers, work] =
            [MAX_LISTENERS, MAX_VIEWERS, MAX_QUESTIONS].map(|permits| Arc::new(Semaphore::new(permits)));
        let bodies = Places::new(MAX_BODIES, MAX_BODIES_OF_CLIENT);
        let live = Mutex::default();
        State { options, queue, handle, shutdown, listeners, viewers, live, projects, bodies, answers, work }
    }

    /// Returns the effective values of a repository, which need not be named if it is the only one.
    fn answers_of(&self, repository: Option<&str>) -> Result<Arc<dyn Answers>, Problem> {
        let found = match repository {
            Some(name) => self.answers.get(&RepositoryName::from(name)),
            None if self.answers.len() > 1 => {
                let names: Vec<&str> = self.answers.keys().map(RepositoryName::as_str).collect();
                return Err(Problem::wrong(format!("'repository' must be one of {}", names.join(", "))));
            }
            None => self.answers.values().next(),
        };
        found.cloned().ok_or_else(|| Problem::unknown("there is no such repository"))
    }

    /// Returns the names of the repositories.
    pub(super) fn repositories(&self) -> Vec<String> {
        self.answers.keys().map(RepositoryName::to_string).collect()
    }

    /// Asks a question about a repository on a thread that may block.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        repository: Option<&str>,
        question: impl FnOnce(&dyn Answers, &Arc<dyn Stop>) -> Result<T, AnswerError> + Send + 'static,
    ) -> Result<T, Problem> {
        let answers = self.answers_of(repository)?;
        let Ok(Ok(turn)) = timeout(TURN_TIMEOUT, self.work.clone().acquire_owned()).await else {
            return Err(Problem::busy("too many requests are being answered; try again later"));
        };
        let wish = Arc::new(Wish::new(ANSWER_TIMEOUT));
        let _end = End(wish.clone());
        let task = spawn_blocking(move || {
            let _turn = turn;
            let stop: Arc<dyn Stop> = wish;
            question(&*answers, &stop)
        });
        match timeout(ANSWER_TIMEOUT, task).await {
            Ok(Ok(answer)) => Ok(answer?),
            Ok(Err(_)) => Err(Problem::fault(&"a panic")),
            Err(_) => Err(Problem::busy("the answer takes too long; try again later")),
        }
    }

    /// Takes a step in the queue, and fails if it takes too long.
    pub(super) async fn queue<T>(&self, step: impl Future<Output = Result<T, QueueError>>) -> Result<T, Problem> {
        match timeout(QUEUE_TIMEOUT, step).await {
            Ok(result) => result.map_err(|error| Problem::fault(&error)),
            Err(_) => Err(Problem::busy("the queue does not answer; try again later")),
        }
    }

    /// Returns the forge called `name` with its secret, or `None` if it may not send webhooks.
    pub(super) fn forge(&self, name: &str) -> Option<(&'static dyn Forge, &[u8])> {
        let (forge, secret) = self.options.webhook_secrets.iter().find(|(forge, _)| forge.name() == name)?;
        Some((*forge, secret))
    }
}
