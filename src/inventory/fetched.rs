//! A source together with the file that keeps its answers.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::puppetdb::{self, Nodes};
use super::store::{Store, Stored};
use super::{FactNames, FetchError};
use crate::settings::{PuppetDbSetting, SourceSetting};

/// A source, and the file of its last answer.
#[derive(Debug, Clone)]
pub struct SourceFiles {
    setting: SourceSetting,
    store: Store,
}

/// An answer to use, and what to tell of it.
pub(super) struct Usable {
    pub(super) stored: Stored,
    /// The reason why it is not a new one, if it should be.
    pub(super) notice: Option<String>,
}

impl SourceFiles {
    /// Returns the files of a source in `folder`, which need not exist.
    pub fn new(setting: &SourceSetting, folder: &Path) -> SourceFiles {
        let SourceSetting::PuppetDb(PuppetDbSetting { url, query, .. }) = setting;
        let store = Store::new(folder, "puppetdb", &format!("{url}\n{}", query.as_deref().unwrap_or_default()));
        SourceFiles { setting: setting.clone(), store }
    }

    /// Returns the name of the source for messages.
    pub fn label(&self) -> String {
        let SourceSetting::PuppetDb(PuppetDbSetting { url, .. }) = &self.setting;
        format!("PuppetDB at {url}")
    }

    /// Returns the last answer, or `None` if there is none.
    pub fn last(&self) -> Option<Stored> {
        self.store.last()
    }

    /// Returns an answer with these facts: the last one while it counts, or else a new one. If that cannot be had, the
    /// last one goes on, unless it lacks some of the facts.
    pub(super) fn usable(&self, facts: &FactNames) -> Result<Usable, FetchError> {
        let last = self.last();
        let covers = |stored: &&Stored| stored.header.facts.cover(facts);
        if let Some(stored) = last.as_ref().filter(covers).filter(|stored| stored.age() < self.refresh()) {
            return Ok(Usable { stored: stored.clone(), notice: None });
        }
        match (self.fetch(facts), last) {
            (Ok(stored), _) => Ok(Usable { stored, notice: None }),
            (Err(error), Some(stored)) if covers(&&stored) => {
                let notice = format!("{error}; the nodes of {} ago stay in use", told(stored.age()));
                Ok(Usable { stored, notice: Some(notice) })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Asks the source, whatever is kept. What is kept then has these facts, and those that it had before.
    pub fn fetch(&self, facts: &FactNames) -> Result<Stored, FetchError> {
        let known = self.last().map(|stored| stored.header.facts);
        let facts = known.map_or_else(|| facts.clone(), |known| known.with(facts));
        let Nodes { lines, count, facts } = self.ask(&facts)?;
        self.store.keep(&self.label(), facts, count, &lines)
    }

    fn ask(&self, facts: &FactNames) -> Result<Nodes, FetchError> {
        let SourceSetting::PuppetDb(setting) = &self.setting;
        waited(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| FetchError::Settings(error.to_string()))?;
            runtime.block_on(puppetdb::fetch(setting, facts))
        })
    }

    fn refresh(&self) -> Duration {
        let SourceSetting::PuppetDb(setting) = &self.setting;
        setting.refresh
    }
}

/// Does work with a runtime of its own on another thread: the calling one may have one already.
fn waited<T: Send>(work: impl FnOnce() -> Result<T, FetchError> + Send) -> Result<T, FetchError> {
    let failed = || FetchError::Settings("the request has failed within".to_owned());
    thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|_| Err(failed()))
}

/// Returns an age in the largest unit that makes it more than one.
fn told(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_words() {
        for (seconds, expected) in [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 days")] {
            assert_eq!(told(Duration::from_secs(seconds)), expected);
        }
    }
}
