//! All entries of `profiles`, and the files that they are read from.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::answers::changes::{note, noted};
use super::answers::store::{add_in_use, mark_in_use};
use super::fetched::Usable;
use super::joined::EntryMode;
use super::site_pp::SitePp;
use super::{AnswerSet, FactNames, FactsChange, FetchError, Request, SourceFiles, Stored};
use crate::inventory::files::{EnvironmentOfNodes, FindError, ProfileFiles};
use crate::node::{ProfileError, ProfileSource, Wanted};
use crate::pipeline::cache::Cache;
use crate::settings::ProfileEntry;
use crate::workers::Workers;

/// The entries of `profiles`, and how they are read.
#[derive(Clone)]
pub struct Inventory {
    /// The entries, in order.
    pub entries: Vec<ProfileEntry>,
    /// The top of the tree that files must not lead out of, if the tree's own settings name them.
    pub within: Option<PathBuf>,
    /// The folder of fetched answers.
    pub folder: PathBuf,
    /// True if the last answers are used, however old they are.
    pub takes_old_answers: bool,
    /// Answers to use instead of the last ones.
    pub answers: Option<AnswerSet>,
    /// The environment of the nodes.
    pub environment: EnvironmentOfNodes,
    /// The threads that read.
    pub workers: Workers,
    /// The cache of parsed profiles.
    pub cache: Option<Arc<Cache>>,
}

/// A failure to open the entries of `profiles`.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Files cannot be found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A source cannot be asked.
    #[error("cannot ask {label} for nodes: {source}")]
    Fetch {
        /// The source.
        label: String,
        /// The reason.
        source: FetchError,
    },
    /// A manifest cannot be read.
    #[error(transparent)]
    SitePp(#[from] ProfileError),
    /// A folder is not a cache of a Puppet server.
    #[error("{} is not the cache of a Puppet server: it contains none of {}", .0.display(), CACHES.join(", "))]
    NoCache(PathBuf),
}

/// The folders of a Puppet server's cache that describe nodes.
const CACHES: [&str; 3] = ["yaml/facts", "server_data/facts", "yaml/node"];

impl Inventory {
    /// Returns true if some entry is a source to query.
    pub fn has_sources(&self) -> bool {
        self.sources().next().is_some()
    }

    /// Returns true if the last answer of some source is too old, or missing.
    pub fn is_due(&self) -> bool {
        self.sources().any(|(_, source)| source.is_due())
    }

    /// Returns the last answers of all sources, or `None` if there are no sources or one has not answered yet.
    pub fn last_answers(&self) -> Option<AnswerSet> {
        let found: Option<Vec<_>> = self.sources().map(|(_, source)| Some((source.last()?, source))).collect();
        let found = found.filter(|found| !found.is_empty())?;
        Some(AnswerSet::of(found.iter().map(|(stored, source)| (source.name(), &*stored.header.file))))
    }

    /// Returns the time of the oldest of the last answers, in seconds since 1970, or `None` if there is none.
    pub fn last_fetched(&self) -> Option<u64> {
        self.sources().filter_map(|(_, source)| Some(source.last()?.header.fetched)).min()
    }

    /// Marks the answers of these sets as in use, instead of those marked before.
    pub fn mark_in_use(&self, sets: &[AnswerSet]) -> std::io::Result<()> {
        mark_in_use(&self.folder, sets)
    }

    /// Notes a change of facts that is reported. Its answers are kept for as long as it is among the last ones.
    pub fn note_change(&self, change: FactsChange) -> std::io::Result<()> {
        note(&self.folder, change)
    }

    /// Returns the changes of facts that were noted, the oldest first.
    pub fn noted_changes(&self) -> Vec<FactsChange> {
        noted(&self.folder).unwrap_or_default()
    }

    /// Returns the answer that replaces a source's last one, if it is still kept.
    fn pinned(&self, source: &SourceFiles) -> Option<Stored> {
        source.kept(self.answers.as_ref()?.file(source.name())?)
    }

    /// Returns an answer to a request: a pinned one, or else the last one.
    fn usable(&self, source: &SourceFiles, request: &Request) -> Result<Usable, FetchError> {
        if let Some(pinned) = self.pinned(source) {
            return source.pinned(pinned, request);
        }
        if self.answers.as_ref().is_some_and(|answers| answers.file(source.name()).is_some()) {
            let source = source.label();
            tracing::warn!(%source, "the answer of the last report is gone: this report may have changes of facts, too");
        }
        source.usable(request, self.takes_old_answers)
    }

    /// Returns true if pinned answers replace the last one of each source.
    pub(super) fn is_pinned(&self) -> bool {
        self.sources().all(|(_, source)| self.pinned(&source).is_some())
    }

    fn sources(&self) -> impl Iterator<Item = (usize, SourceFiles)> {
        self.entries.iter().enumerate().filter_map(|(number, entry)| match entry {
            ProfileEntry::Source(setting) => Some((number, SourceFiles::new(setting, &self.folder))),
            _ => None,
        })
    }

    /// Asks all sources for nodes with these facts, even if they have fresh answers. A source that is asked about
    /// each node is asked about those that earlier entries have by then.
    pub fn fetch(&self, facts: &FactNames) -> Vec<(String, Result<Stored, OpenError>)> {
        self.sources().map(|(number, source)| (source.label(), self.fetch_one(number, &source, facts))).collect()
    }

    fn fetch_one(&self, number: usize, source: &SourceFiles, facts: &FactNames) -> Result<Stored, OpenError> {
        let before = Inventory { entries: self.entries[..number].to_vec(), ..self.clone() };
        let paths =
            if source.is_overlay() { before.read_files(FactNames::default())?.0.declaring() } else { Vec::new() };
        let request = self.request(source, facts, &paths)?;
        source.fetch(&request).map_err(|error| OpenError::Fetch { label: source.label(), source: error })
    }

    /// Finds the files of all entries, and queries sources that have no usable answer with these facts.
    pub(super) fn read_files(&self, facts: FactNames) -> Result<(State, Vec<ProfileError>), OpenError> {
        let (mut paths, mut entries, mut notices) = (Vec::new(), Vec::new(), Vec::new());
        let mut overlays = Vec::new();
        for entry in &self.entries {
            let source = match entry {
                ProfileEntry::Files(path) => {
                    paths.push(path.clone());
                    entries.push(Entry { label: entry.to_string(), manner: EntryMode::Replace, answer: None });
                    continue;
                }
                ProfileEntry::SitePp(setting) => {
                    let site = SitePp::read(setting, self.within.as_deref(), entries.len())?;
                    notices.extend(site.notices());
                    overlays.push(site);
                    continue;
                }
                ProfileEntry::Factsets(path) => {
                    paths.push(path.clone());
                    entries.push(Entry { label: entry.to_string(), manner: EntryMode::Factsets, answer: None });
                    continue;
                }
                ProfileEntry::Cache(folder) => {
                    for path in caches(folder)? {
                        paths.push(path);
                        entries.push(Entry { label: entry.to_string(), manner: EntryMode::Overlay, answer: None });
                    }
                    continue;
                }
                ProfileEntry::Source(setting) => SourceFiles::new(setting, &self.folder),
            };
            let failed = |error| OpenError::Fetch { label: source.label(), source: error };
            let request = self.request(&source, &facts, &declaring(&paths, &entries))?;
            let usable = self.usable(&source, &request).map_err(failed)?;
            notices.extend(usable.notice.map(|text| ProfileError { path: source.label(), line: None, text }));
            paths.push(usable.stored.path.clone());
            let manner = if source.is_overlay() { EntryMode::OverlayKnown } else { EntryMode::Overlay };
            entries.push(Entry { label: source.label(), manner, answer: Some((source, usable.stored)) });
        }
        let environment = if entries.len() > 1 { undeclared() } else { self.environment.clone() };
        let files = self.find(&paths, environment)?;
        let state = State { files, facts, paths, entries, overlays };
        if self.answers.is_some() {
            // The next report needs them, too, and newer ones may arrive in the meantime.
            if let Err(error) = add_in_use(&self.folder, &state.answers()) {
                tracing::warn!(%error, "cannot keep the answers of sources of nodes that a report is made with");
            }
        }
        Ok((state, notices))
    }

    /// Returns the request for a source, with the names of the nodes in these files if it needs them.
    fn request(&self, source: &SourceFiles, facts: &FactNames, paths: &[Declaring]) -> Result<Request, OpenError> {
        let nodes = if source.is_overlay() { self.names(paths)? } else { Vec::new() };
        Ok(Request { facts: facts.clone(), nodes })
    }

    /// Returns the names of the nodes in some files, in order.
    fn names(&self, declaring: &[Declaring]) -> Result<Vec<Arc<str>>, OpenError> {
        let found: Mutex<Vec<Arc<str>>> = Mutex::default();
        let paths: Vec<PathBuf> = declaring.iter().map(|(path, _)| path.clone()).collect();
        let files = self.find(&paths, undeclared())?;
        files.read(&Wanted::default(), &|batch| {
            let names = batch.profiles.into_iter().map(|(place, profile)| {
                let (_, manner) = declaring[files.declaration(place.file)];
                manner.named(profile, || files.path(place.file)).name
            });
            found.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
        });
        let mut names = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn find(&self, paths: &[PathBuf], environment: EnvironmentOfNodes) -> Result<ProfileFiles, FindError> {
        ProfileFiles::find_within(self.within.as_deref(), paths, environment, self.workers.clone(), self.cache.clone())
    }
}

/// Returns an empty default environment, for profiles that may get theirs from another entry.
fn undeclared() -> EnvironmentOfNodes {
    EnvironmentOfNodes::Declared("".into())
}

/// The files in their current state.
pub(super) struct State {
    pub(super) files: ProfileFiles,
    /// The facts that fetched files contain.
    pub(super) facts: FactNames,
    /// The paths of the files, and the entry of each.
    paths: Vec<PathBuf>,
    pub(super) entries: Vec<Entry>,
    /// Manifests that overlay the nodes of the entries before them, in order.
    pub(super) overlays: Vec<SitePp>,
}

impl State {
    fn declaring(&self) -> Vec<Declaring> {
        declaring(&self.paths, &self.entries)
    }
}

/// An entry in its current state.
pub(super) struct Entry {
    /// The name for messages.
    pub(super) label: String,
    pub(super) manner: EntryMode,
    /// The source with its answer; `None` for files.
    pub(super) answer: Option<(SourceFiles, Stored)>,
}

/// A path that nodes come from, and the mode of its entry.
type Declaring = (PathBuf, EntryMode);

/// Returns the paths that nodes come from; entries that are merged over others add none.
fn declaring(paths: &[PathBuf], entries: &[Entry]) -> Vec<Declaring> {
    let declares = |entry: &Entry| entry.manner != EntryMode::OverlayKnown;
    paths
        .iter()
        .zip(entries)
        .filter(|(_, entry)| declares(entry))
        .map(|(path, entry)| (path.clone(), entry.manner))
        .collect()
}

/// Returns the folders of nodes in the cache of a Puppet server, those of facts first.
fn caches(folder: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let found: Vec<PathBuf> = CACHES.iter().map(|name| folder.join(name)).filter(|path| path.is_dir()).collect();
    if found.is_empty() { Err(OpenError::NoCache(folder.to_owned())) } else { Ok(found) }
}
