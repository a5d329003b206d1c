//! The profiles of all entries, joined.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::entries::{Inventory, OpenError, State};
use super::fetched::age_in_words;
use super::joined::{EntryMode, EntryProfile, Joined};
use super::site_pp::SitePp;
use super::{AnswerSet, FactNames};
use crate::inventory::files::EnvironmentOfNodes;
use crate::node::{Batch, NodeProfile, ProfileError, ProfilePlace, ProfileSource, Wanted};
use crate::settings::ProfileEntry;
use crate::workers::RUN;

/// The maximum number of profiles in a batch.
const MAX_BATCH_SIZE: usize = 4096;

/// Profiles that can be read.
pub struct Opened {
    /// The profiles.
    pub source: Arc<dyn ProfileSource>,
    /// Messages about sources that could not be asked; no node is missing because of them.
    pub notices: Vec<ProfileError>,
}

impl Inventory {
    /// Opens all entries, and asks sources without a usable answer for the facts that are `wanted`.
    pub fn open(self, wanted: &Wanted) -> Result<Opened, OpenError> {
        let has_sources = self.entries.iter().any(|entry| !matches!(entry, ProfileEntry::Files(_)));
        let (state, notices) = self.read_files(FactNames::of(wanted))?;
        for (source, stored) in state.entries.iter().filter_map(|entry| entry.answer.as_ref()) {
            let age = age_in_words(stored.age());
            tracing::debug!(target: RUN, source = source.label(), nodes = stored.header.count, age, "a source of nodes has answered");
        }
        let source: Arc<dyn ProfileSource> =
            if has_sources { Arc::new(Sourced::new(self, state)) } else { Arc::new(state.files) };
        Ok(Opened { source, notices })
    }
}

/// Profiles of which some come from sources other than files. Wanted facts that have not been fetched yet are fetched
/// on demand.
pub(super) struct Sourced {
    inventory: Inventory,
    state: RwLock<Arc<State>>,
    /// True if fetching more facts brought new answers: profiles that were read before should all be read again.
    has_changed: AtomicBool,
}

impl Sourced {
    fn new(inventory: Inventory, state: State) -> Sourced {
        Sourced { inventory, state: RwLock::new(Arc::new(state)), has_changed: AtomicBool::new(false) }
    }

    fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the state for these facts, after fetching missing ones.
    fn state_for(&self, facts: &FactNames) -> Result<Arc<State>, OpenError> {
        let state = self.state();
        if state.facts.cover(facts) {
            return Ok(state);
        }
        let before = state.answers();
        let (state, notices) = self.inventory.read_files(state.facts.clone().with(facts))?;
        for notice in notices {
            tracing::warn!("{notice}");
        }
        // With pinned answers, all other facts stay the same. New answers may differ in more than the wanted facts.
        let has_new_answers = !self.inventory.is_pinned() && state.answers() != before;
        self.has_changed.fetch_or(has_new_answers, Ordering::Relaxed);
        let state = Arc::new(state);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state.clone();
        Ok(state)
    }

    /// Reads the profiles of several entries as one.
    fn read_joined(&self, state: &State, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let batches: Mutex<Vec<Batch>> = Mutex::default();
        let mut errors = state.files.read(wanted, &|batch| {
            batches.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
        });
        let (joined, left_out) = state.joined(batches.into_inner().unwrap_or_else(PoisonError::into_inner));
        errors.extend(left_out);
        let mut parts = joined.all().map(|part| (part.place, self.in_environment(part.profile)));
        for number in 0.. {
            let profiles: Vec<_> = parts.by_ref().take(MAX_BATCH_SIZE).collect();
            if profiles.is_empty() {
                break;
            }
            each(Batch { number, profiles });
        }
        errors
    }

    /// Sets the environment of a profile that has none, or of all if it is fixed.
    fn in_environment(&self, mut profile: NodeProfile) -> NodeProfile {
        match &self.inventory.environment {
            EnvironmentOfNodes::Declared(_) if !profile.environment.is_empty() => {}
            EnvironmentOfNodes::Declared(name) | EnvironmentOfNodes::Fixed(name) => profile.environment = name.clone(),
        }
        profile
    }
}

impl State {
    /// Returns a profile as part of a node.
    pub(super) fn part(&self, place: ProfilePlace, profile: NodeProfile) -> EntryProfile {
        let entry = self.files.declaration(place.file);
        let profile = self.entries[entry].manner.named(profile, || self.files.path(place.file));
        EntryProfile { entry, place, profile }
    }

    /// Returns true if the nodes of some entry are named differently from their profiles.
    fn renames(&self) -> bool {
        self.entries.iter().any(|entry| entry.manner == EntryMode::Factsets)
    }

    /// Returns the answers of all sources.
    pub(super) fn answers(&self) -> AnswerSet {
        let answers = self.entries.iter().filter_map(|entry| entry.answer.as_ref());
        AnswerSet::of(answers.map(|(source, stored)| (source.name(), &*stored.header.file)))
    }

    /// Joins the profiles of all entries. Also returns the errors of nodes that are left out.
    fn joined(&self, mut batches: Vec<Batch>) -> (Joined, Vec<ProfileError>) {
        batches.sort_unstable_by_key(|batch| batch.number);
        let profiles = batches.into_iter().flat_map(|batch| batch.profiles);
        let mut parts: Vec<EntryProfile> = profiles.map(|(place, profile)| self.part(place, profile)).collect();
        // One file may lie at several paths, and is read once.
        parts.sort_by_key(|part| part.entry);
        let (mut joined, mut errors) = (Joined::default(), Vec::new());
        let mut overlays = self.overlays.iter().peekable();
        for part in parts {
            while let Some(site) = overlays.next_if(|site| site.entries_before <= part.entry) {
                joined.change(|profile| site.lay_over(profile));
            }
            let manner = self.entries[part.entry].manner;
            joined.add(part, manner);
        }
        overlays.for_each(|site| joined.change(|profile| site.lay_over(profile)));
        for (source, stored) in self.entries.iter().filter_map(|entry| entry.answer.as_ref()) {
            errors.extend(joined.leave_out(&source.label(), stored.header.failed.iter()));
        }
        (joined, errors)
    }
}

impl ProfileSource for Sourced {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        match self.state_for(&FactNames::of(wanted)) {
            // A partly read profile does not show the extensions that are written outside `extensions`.
            Ok(state) if state.renames() => self.read_joined(&state, &Wanted::whole(), each),
            Ok(state) if state.entries.len() > 1 || !state.overlays.is_empty() => {
                self.read_joined(&state, wanted, each)
            }
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
        let mut answers = state.entries.iter().filter_map(|entry| entry.answer.as_ref());
        let is_pinned = self.inventory.answers.is_some();
        let is_last =
            answers.all(|(source, stored)| is_pinned || source.last().is_some_and(|last| last.path == stored.path));
        is_last && state.files.is_current() && state.overlays.iter().all(SitePp::is_current)
    }

    fn fetched(&self) -> Option<u64> {
        self.state().entries.iter().filter_map(|entry| Some(entry.answer.as_ref()?.1.header.fetched)).min()
    }

    fn answers(&self) -> Option<String> {
        let answers = self.state().answers();
        answers.files().next().is_some().then(|| answers.to_text())
    }

    fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Relaxed) || self.state().files.has_changed()
    }
}
