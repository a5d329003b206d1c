//! Keeps a mirror up to date. That its branches have moved the watch of it sees by itself.

use std::process::Stdio;
use std::time::Duration;

use tokio::time::timeout;

use super::sample::Sampler;
use super::service::{Stopped, backoff, ended, pause};
use super::signals::Signals;
use crate::git::Mirror;

/// How long a fetch may take.
const LIMIT: Duration = Duration::from_mins(10);

/// The longest pause after fetches that failed.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// A mirror, and when it is fetched.
#[derive(Debug, Clone)]
pub struct Following {
    /// The mirror.
    pub mirror: Mirror,
    /// How often.
    pub every: Duration,
}

impl Following {
    /// Fetches now.
    pub async fn fetch(&self) -> Result<(), String> {
        let mut command = tokio::process::Command::from(self.mirror.fetch());
        let output = command.stderr(Stdio::piped()).kill_on_drop(true).output();
        match timeout(LIMIT, output).await {
            Err(_) => Err(format!("took longer than {} s", LIMIT.as_secs())),
            Ok(Err(error)) => Err(format!("cannot run `git`: {error}")),
            Ok(Ok(output)) if output.status.success() => Ok(()),
            Ok(Ok(output)) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    /// Fetches again and again, until the service is to end.
    pub(super) async fn run(&self, repository: &str, signals: &Signals, mut stopped: Stopped) {
        let (mut sampler, mut failures) = (Sampler::default(), 0);
        let mut poked = signals.poke.listen();
        signals.meters.mirror(repository);
        while !*stopped.borrow() {
            tokio::select! {
                _ = pause(self.every, &mut stopped) => {}
                Ok(()) = poked.changed() => {}
            }
            let result = tokio::select! {
                result = self.fetch() => result,
                () = ended(&mut stopped) => break,
            };
            signals.meters.fetched(repository, result.is_ok());
            match result {
                Ok(()) => {
                    failures = 0;
                    if let Some(times) = sampler.works() {
                        tracing::info!(repository, times, "fetching works again");
                    }
                }
                Err(error) => {
                    failures += 1;
                    if let Some(times) = sampler.failed(repository) {
                        tracing::warn!(repository, times, error, "cannot fetch; trying again");
                    }
                    pause(backoff(failures, LONGEST_PAUSE), &mut stopped).await;
                }
            }
        }
    }
}
