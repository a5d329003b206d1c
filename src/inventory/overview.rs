//! The nodes of all entries together, and the entry that each part comes from.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::FactNames;
use super::entries::{Entry, Inventory, OpenError, State};
use super::joined::{EntryMode, EntryProfile};
use super::site_pp::SitePp;
use crate::inventory::files::EnvironmentOfNodes;
use crate::node::{NodeProfile, ProfileSource, VARIABLES, Wanted};

/// All entries and their nodes.
pub struct Overview {
    /// The entries, in order; the folders of a Puppet server's cache are one each.
    pub entries: Vec<EntryState>,
    /// The nodes by name.
    pub nodes: BTreeMap<Arc<str>, KnownNode>,
}

/// An entry in its current state.
#[derive(Debug, Clone)]
pub struct EntryState {
    /// Its name for messages.
    pub label: String,
    /// The time of the fetch, in seconds since 1970; `None` for files.
    pub fetched: Option<u64>,
    /// True if it knows all existing nodes: a `PuppetDB` without a filter.
    pub knows_all: bool,
}

/// A node, with the entries that describe it.
#[derive(Debug, Clone)]
pub struct KnownNode {
    /// The environment.
    pub environment: Arc<str>,
    /// The time of its facts, in seconds since 1970, if a profile says it.
    pub time: Option<i64>,
    /// The numbers of the entries that contribute to it, each with the place of its profile.
    pub places: Vec<(usize, String)>,
}

/// Everything known about one node.
pub struct Described {
    /// The profile.
    pub profile: NodeProfile,
    /// The profiles that it is made of, in order.
    pub origins: Vec<Origin>,
    /// The number of the origin of each variable, by field and name at the top level.
    from: BTreeMap<(&'static str, String), usize>,
}

/// The profile of a node in one entry.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The entry, as messages name it.
    pub entry: String,
    /// The file and the line.
    pub place: String,
    /// The time of the fetch, in seconds since 1970; `None` for files.
    pub fetched: Option<u64>,
    /// The time of the facts, in seconds since 1970, if the profile says it.
    pub time: Option<i64>,
}

impl Described {
    /// Returns the number of the origin of a variable, by its field and its top-level name in it, which is empty if the
    /// field has no names; `None` if it is derived from the name of the node.
    pub fn origin_of(&self, field: &'static str, name: &str) -> Option<usize> {
        self.from.get(&(field, name.to_owned())).copied()
    }
}

impl Inventory {
    /// Returns the nodes of all entries. Sources without an answer are asked for these facts.
    pub fn overview(&self, facts: FactNames) -> Result<Overview, OpenError> {
        let (state, _) = self.read_files(facts)?;
        let mut nodes: BTreeMap<Arc<str>, KnownNode> = BTreeMap::new();
        for part in read_parts(&state, &Wanted::default(), &|_| true) {
            self.add(&mut nodes, &state, part);
        }
        Ok(Overview { entries: state.entries.iter().map(entry_state).collect(), nodes })
    }

    fn add(&self, nodes: &mut BTreeMap<Arc<str>, KnownNode>, state: &State, part: EntryProfile) {
        let manner = state.entries[part.entry].manner;
        let place = (part.entry, place(state, &part));
        let NodeProfile { name, environment, time, .. } = part.profile;
        let new = || KnownNode { environment: self.environment(&environment), time, places: Vec::new() };
        if manner == EntryMode::OverlayKnown && !nodes.contains_key(&name) {
            return;
        }
        let node = nodes.entry(name).or_insert_with(new);
        if manner.replaces() && node.places.iter().all(|(entry, _)| *entry != part.entry) {
            *node = new();
        }
        if !environment.is_empty() {
            node.environment = self.environment(&environment);
        }
        node.time = time.or(node.time);
        node.places.push(place);
    }

    /// Returns the environment of a node whose profile names this one, or an empty one.
    fn environment(&self, declared: &Arc<str>) -> Arc<str> {
        match &self.environment {
            EnvironmentOfNodes::Declared(_) if !declared.is_empty() => declared.clone(),
            EnvironmentOfNodes::Declared(name) | EnvironmentOfNodes::Fixed(name) => name.clone(),
        }
    }

    /// Returns everything that the entries say about a node, or `None` if no entry has it. Only facts in kept answers
    /// are included.
    pub fn describe(&self, node: &str) -> Result<Option<Described>, OpenError> {
        let (state, _) = self.read_files(FactNames::default())?;
        let mut described: Option<Described> = None;
        let mut overlays = state.overlays.iter().peekable();
        for part in read_parts(&state, &Wanted::whole(), &|name| name == node) {
            while let Some(site) = overlays.next_if(|site| site.entries_before <= part.entry) {
                if let Some(known) = &mut described {
                    known.lay_block(site);
                }
            }
            described = match (state.entries[part.entry].manner, described) {
                (EntryMode::OverlayKnown, None) => None,
                (EntryMode::Replace | EntryMode::Factsets, _) | (EntryMode::Overlay, None) => {
                    Some(Described::of(&state, part))
                }
                (_, Some(mut known)) => {
                    known.overlay(&state, part);
                    Some(known)
                }
            };
        }
        if let Some(described) = &mut described {
            overlays.for_each(|site| described.lay_block(site));
            described.profile.environment = self.environment(&described.profile.environment);
        }
        Ok(described)
    }
}

impl Described {
    fn of(state: &State, part: EntryProfile) -> Described {
        let profile =
            NodeProfile { name: part.profile.name.clone(), trusted: Arc::default(), ..NodeProfile::default() };
        let mut described = Described { profile, origins: Vec::new(), from: BTreeMap::new() };
        described.overlay(state, part);
        described
    }

    fn overlay(&mut self, state: &State, part: EntryProfile) {
        let (number, from) = (self.origins.len(), &mut self.from);
        self.origins.push(origin(state, &part));
        self.profile.overlay(part.profile, &mut |field, key| _ = from.insert((field, key.to_s()), number));
    }

    /// Lays the variables of the node's block over the others.
    fn lay_block(&mut self, site: &SitePp) {
        let (place, names) = site.place_and_variables(&self.profile.name);
        let number = self.origins.len();
        self.from.extend(names.into_iter().map(|name| ((VARIABLES, name.to_owned()), number)));
        self.origins.push(Origin { entry: site.label(), place, fetched: None, time: None });
        site.lay_over(&mut self.profile);
    }
}

fn entry_state(entry: &Entry) -> EntryState {
    EntryState {
        label: entry.label.clone(),
        fetched: entry.answer.as_ref().map(|(_, stored)| stored.header.fetched),
        knows_all: entry.answer.as_ref().is_some_and(|(source, _)| source.knows_all()),
    }
}

fn origin(state: &State, part: &EntryProfile) -> Origin {
    let entry = &state.entries[part.entry];
    Origin {
        entry: entry.label.clone(),
        place: place(state, part),
        fetched: entry.answer.as_ref().map(|(_, stored)| stored.header.fetched),
        time: part.profile.time,
    }
}

fn place(state: &State, part: &EntryProfile) -> String {
    format!("{}:{}", state.files.path(part.place.file), part.place.line)
}

/// Reads the profiles of the nodes for which `is_wanted` is true, in the order of their entries.
fn read_parts(state: &State, wanted: &Wanted, is_wanted: &(dyn Fn(&str) -> bool + Sync)) -> Vec<EntryProfile> {
    let found: Mutex<Vec<EntryProfile>> = Mutex::default();
    state.files.read(wanted, &|batch| {
        let parts = batch.profiles.into_iter().map(|(place, profile)| state.part(place, profile));
        let parts = parts.filter(|part| is_wanted(&part.profile.name));
        found.lock().unwrap_or_else(PoisonError::into_inner).extend(parts);
    });
    let mut parts = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    parts.sort_by_key(|part| (part.entry, part.place.file, part.place.line));
    parts
}
