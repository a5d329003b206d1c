//! All entries of `profiles` as one source of profiles.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use super::{FactNames, FetchError, SourceFiles};
use crate::node::{Batch, ProfileError, ProfileSource, Wanted};
use crate::pipeline::cache::Cache;
use crate::pipeline::profiles::{EnvironmentOfNodes, FindError, ProfileFiles};
use crate::settings::ProfileEntry;
use crate::workers::Workers;

/// The entries of `profiles`, and how they are read.
#[derive(Clone)]
pub struct Inventory {
    /// The entries, in order.
    pub entries: Vec<ProfileEntry>,
    /// The top of the tree that files must not lead out of, if the tree's own settings name them.
    pub within: Option<PathBuf>,
    /// The folder of what is fetched.
    pub folder: PathBuf,
    /// The environment of the nodes.
    pub environment: EnvironmentOfNodes,
    /// The threads that read.
    pub workers: Workers,
    /// The cache of what was read.
    pub cache: Option<Arc<Cache>>,
}

/// Profiles that can be read.
pub struct Opened {
    /// The profiles.
    pub source: Arc<dyn ProfileSource>,
    /// Messages about sources that could not be asked; none of them leaves a node out.
    pub notices: Vec<ProfileError>,
}

/// Profiles that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Files cannot be found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A source cannot be asked.
    #[error("{label} cannot be asked for nodes: {source}")]
    Fetch {
        /// The source.
        label: String,
        /// The reason.
        source: FetchError,
    },
}

impl Inventory {
    /// Opens all entries, and asks sources whose last answer does not count any more. They are asked for the facts that
    /// are `wanted`.
    pub fn open(self, wanted: &Wanted) -> Result<Opened, OpenError> {
        let has_sources = self.sources().next().is_some();
        let (state, notices) = self.files(FactNames::of(wanted))?;
        let source: Arc<dyn ProfileSource> = if has_sources {
            Arc::new(Sourced { inventory: self, state: RwLock::new(Arc::new(state)), has_changed: false.into() })
        } else {
            Arc::new(state.files)
        };
        Ok(Opened { source, notices })
    }

    /// Returns the sources other than files, in order.
    pub fn sources(&self) -> impl Iterator<Item = SourceFiles> {
        self.entries.iter().filter_map(|entry| match entry {
            ProfileEntry::Files(_) => None,
            ProfileEntry::Source(setting) => Some(SourceFiles::new(setting, &self.folder)),
        })
    }

    fn files(&self, facts: FactNames) -> Result<(State, Vec<ProfileError>), OpenError> {
        let (mut paths, mut answers, mut notices) = (Vec::new(), Vec::new(), Vec::new());
        for entry in &self.entries {
            let setting = match entry {
                ProfileEntry::Files(path) => {
                    paths.push(path.clone());
                    continue;
                }
                ProfileEntry::Source(setting) => SourceFiles::new(setting, &self.folder),
            };
            let failed = |source| OpenError::Fetch { label: setting.label(), source };
            let usable = setting.usable(&facts).map_err(failed)?;
            let told = |text| ProfileError { path: setting.label(), line: None, text };
            notices.extend(usable.notice.map(told));
            paths.push(usable.stored.path.clone());
            answers.push((setting, usable.stored.path));
        }
        let (environment, workers, cache) = (self.environment.clone(), self.workers.clone(), self.cache.clone());
        let within = self.within.as_deref();
        let files = ProfileFiles::find_within(within, &paths, environment, workers, cache)?;
        Ok((State { files, facts, answers }, notices))
    }
}

/// The files that are read at present.
struct State {
    files: ProfileFiles,
    /// The facts that fetched files have.
    facts: FactNames,
    /// The sources, with the files of the answers that are read.
    answers: Vec<(SourceFiles, PathBuf)>,
}

/// Profiles of which some come from sources other than files. If more facts are wanted than were fetched, they are
/// fetched.
struct Sourced {
    inventory: Inventory,
    state: RwLock<Arc<State>>,
    /// True if more facts could not be fetched, or were fetched of other nodes.
    has_changed: AtomicBool,
}

impl Sourced {
    fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sourced {
    /// Returns what to read for these facts, with those that were not fetched yet. Whoever has read the profiles before
    /// sees from then on that they have changed.
    fn with(&self, facts: &FactNames) -> Result<Arc<State>, OpenError> {
        let state = self.state();
        if state.facts.cover(facts) {
            return Ok(state);
        }
        self.has_changed.store(true, Ordering::Relaxed);
        let (state, notices) = self.inventory.files(state.facts.clone().with(facts))?;
        for notice in notices {
            tracing::warn!("{notice}");
        }
        let state = Arc::new(state);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state.clone();
        Ok(state)
    }
}

impl ProfileSource for Sourced {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        match self.with(&FactNames::of(wanted)) {
            Ok(state) => state.files.read(wanted, each),
            Err(error) => vec![ProfileError { path: "profiles".to_owned(), line: None, text: error.to_string() }],
        }
    }

    fn path(&self, file: u32) -> String {
        self.state().files.path(file)
    }

    fn declaration(&self, file: u32) -> usize {
        self.state().files.declaration(file)
    }

    fn is_current(&self) -> bool {
        let state = self.state();
        let is_last = |(source, path): &(SourceFiles, PathBuf)| source.last().is_some_and(|last| last.path == *path);
        state.answers.iter().all(is_last) && state.files.is_current()
    }

    fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Relaxed) || self.state().files.has_changed()
    }
}
