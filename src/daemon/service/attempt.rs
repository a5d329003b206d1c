//! Tries a job in this process, which has already read most of what it needs. A job that did not succeed is then
//! tried in a separate process (`apart`) with limits of time and memory: it may die, and the daemon goes on. A job
//! that exceeds the limits there, or dies again, is set aside. `turns` decides where a job is tried.

use std::any::Any;
use std::sync::Arc;

use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::timeout;
use tracing::Span;

use super::deliver::SinkWorker;
use super::resolution::{Outcome, Resolve, Unresolved, address, broken_off};
use crate::daemon::queue::Job;

/// Makes the attempts in this process at the jobs of a repository, one at a time.
pub(super) struct Attempts {
    resolve: Arc<dyn Resolve>,
    sinks: Arc<[Arc<SinkWorker>]>,
    /// An attempt that was given up, but still runs.
    stray: Option<JoinHandle<Result<Outcome, Unresolved>>>,
}

impl Attempts {
    pub(super) fn new(resolve: Arc<dyn Resolve>, sinks: Arc<[Arc<SinkWorker>]>) -> Attempts {
        Attempts { resolve, sinks, stray: None }
    }

    /// Returns the resolver of jobs.
    pub(super) fn resolve(&self) -> &dyn Resolve {
        &*self.resolve
    }

    /// Returns true while an attempt that was given up still runs: nothing else may be resolved here meanwhile.
    pub(super) fn is_lost(&self) -> bool {
        self.stray.as_ref().is_some_and(|stray| !stray.is_finished())
    }

    /// Makes an attempt at a job.
    pub(super) async fn make(&mut self, job: &Job) -> Result<Outcome, Unresolved> {
        let (resolve, sinks, job, span) = (self.resolve.clone(), self.sinks.clone(), job.clone(), Span::current());
        let deadline = self.resolve.limits().deadline();
        let mut task = spawn_blocking(move || {
            let _span = span.entered();
            let resolved = resolve.resolve(&job)?;
            Ok(address(&job, resolved, sinks.iter().map(|worker| &worker.sink)))
        });
        match timeout(deadline, &mut task).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(broken_off(&panicked(error))),
            Err(_) => {
                self.stray = Some(task);
                let seconds = deadline.as_secs_f64();
                tracing::error!(seconds, "the work does not stop; one thread is lost until the daemon is restarted");
                Err(broken_off(&format!("it takes more than {seconds} seconds and does not stop")))
            }
        }
    }
}

fn panicked(error: JoinError) -> String {
    let text = |payload: Box<dyn Any + Send>| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast::<&str>().map_or_else(|_| "no words".to_owned(), |text| (*text).to_owned()),
    };
    match error.try_into_panic() {
        Ok(payload) => format!("hierad panicked, which is a bug: {}", text(payload)),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    use tokio::process::Command;

    use super::super::apart;
    use super::super::resolution::{AttemptLimits, Recovery, Resolved};
    use super::*;
    use crate::event::{CommitEvent, EventKind, JobId, JobName, JobNumber};
    use crate::git::{BranchName, CommitId};

    /// Waits until it is told to fail, or panics.
    struct Trouble {
        here: Mutex<Receiver<()>>,
        panics: bool,
        limits: AttemptLimits,
    }

    impl Resolve for Trouble {
        fn resolve(&self, _: &Job) -> Result<Resolved, Unresolved> {
            assert!(!self.panics, "no {}", "words");
            _ = self.here.lock().unwrap_or_else(PoisonError::into_inner).recv();
            Err(broken_off("here"))
        }

        fn limits(&self) -> AttemptLimits {
            self.limits
        }

        fn apart(&self, _: &Job) -> Option<Command> {
            None
        }
    }

    fn attempts(panics: bool) -> (Attempts, Sender<()>) {
        let (tell, here) = channel();
        let limits = AttemptLimits { time: Duration::from_secs(5), memory: None };
        let resolve = Trouble { here: Mutex::new(here), panics, limits };
        (Attempts::new(Arc::new(resolve), Arc::new([])), tell)
    }

    fn job(attempts: i64) -> Job {
        let after = CommitId::from_hex(&"1".repeat(40)).unwrap();
        let event = CommitEvent::new(BranchName::new("main"), None, after, EventKind::New);
        let name = JobName { id: JobId::new("1"), number: JobNumber(1), repository: "data".into() };
        Job { name, event, attempts, set_aside: Vec::new(), is_delicate: false, answers: None }
    }

    async fn failure(attempts: &mut Attempts, job: Job) -> (String, Recovery) {
        let Unresolved { error, recovery } = attempts.make(&job).await.unwrap_err();
        (error.to_string(), recovery)
    }

    #[tokio::test]
    async fn a_panic_is_a_failed_attempt() {
        let (mut attempts, _) = attempts(true);
        let (error, recovery) = failure(&mut attempts, job(1)).await;
        assert_eq!(error, "hierad panicked, which is a bug: no words");
        assert_eq!(recovery, Recovery::RetryApart);
    }

    #[tokio::test]
    async fn a_process_that_ends_is_a_failed_attempt() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 7"]);
        let limits = AttemptLimits { time: Duration::from_secs(5), memory: None };
        let Unresolved { error, recovery } = apart::resolve(command, limits).await.unwrap_err();
        let text = "the process that resolves it has ended: exit status: 7; the log may tell why";
        assert_eq!((error.to_string().as_str(), recovery), (text, Recovery::RetryApart));
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_does_not_stop_is_left_alone() {
        let (mut attempts, tell) = attempts(false);
        let clock = async {
            tokio::task::yield_now().await;
            tokio::time::advance(Duration::from_secs(16)).await;
        };
        let ((error, recovery), ()) = tokio::join!(failure(&mut attempts, job(1)), clock);
        assert_eq!(error, "it takes more than 15.5 seconds and does not stop");
        assert_eq!(recovery, Recovery::RetryApart);
        tokio::time::resume();
        assert!(attempts.is_lost(), "as long as it goes on, nothing else is resolved here");
        tell.send(()).unwrap();
        _ = attempts.stray.take().unwrap().await.unwrap();
        assert!(!attempts.is_lost());
        tell.send(()).unwrap();
        assert_eq!(failure(&mut attempts, job(1)).await.0, "here");
    }

    #[tokio::test]
    async fn a_process_that_takes_too_long_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $! > $0.new; mv $0.new $0; wait"]).arg(&file);
        let limits = AttemptLimits { time: Duration::from_secs(5), memory: None };
        let attempt = apart::resolve(command, limits);
        let clock = async {
            while !file.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(16)).await;
        };
        let (result, ()) = tokio::join!(attempt, clock);
        let Unresolved { error, recovery } = result.unwrap_err();
        assert_eq!(error.to_string(), "it takes more than 15.5 seconds, even in a process of its own");
        assert_eq!(recovery, Recovery::SetAside);
        let child = std::fs::read_to_string(&file).unwrap();
        let status = || std::fs::read_to_string(format!("/proc/{}/status", child.trim()));
        while status().is_ok_and(|status| !status.contains("Z (zombie)")) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
