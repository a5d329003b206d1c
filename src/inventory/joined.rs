//! Joins the profiles of a node from several entries.
//!
//! A profile in a file replaces those of earlier entries for its node. A profile from another source is laid over
//! them: its environment, and its facts, trusted data and variables by their top-level names. Sources that are asked
//! about each node add no nodes.

use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use super::factsets::named_by_file;
use crate::node::{NodeProfile, ProfileError, ProfilePlace};

/// The effect of an entry on earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryMode {
    /// Replaces earlier entries.
    Replace,
    /// Is merged over earlier entries.
    Overlay,
    /// Is merged over earlier entries, and adds no nodes.
    OverlayKnown,
    /// Replaces earlier entries, and its nodes are named after their files.
    Factsets,
}

impl EntryMode {
    /// Returns true if it replaces earlier entries.
    pub(super) fn replaces(self) -> bool {
        matches!(self, EntryMode::Replace | EntryMode::Factsets)
    }

    /// Returns a profile of the file at `path` with the name of its node.
    pub(super) fn named(self, profile: NodeProfile, path: impl FnOnce() -> String) -> NodeProfile {
        if self == EntryMode::Factsets { named_by_file(profile, &path()) } else { profile }
    }
}

/// A profile in an entry.
#[derive(Debug, Clone)]
pub struct EntryProfile {
    /// The number of the entry.
    pub entry: usize,
    /// The place of the profile.
    pub place: ProfilePlace,
    /// The profile; its environment is empty if it names none.
    pub profile: NodeProfile,
}

/// The nodes of the entries so far.
#[derive(Default)]
pub(super) struct Joined {
    nodes: IndexMap<Arc<str>, EntryProfile, RandomState>,
    /// Further profiles of nodes that an entry declares twice.
    duplicates: Vec<EntryProfile>,
}

impl Joined {
    /// Adds a profile. Profiles must be added in the order of their entries.
    pub(super) fn add(&mut self, part: EntryProfile, manner: EntryMode) {
        let Some(known) = self.nodes.get_mut(&part.profile.name) else {
            if manner != EntryMode::OverlayKnown {
                self.nodes.insert(part.profile.name.clone(), part);
            }
            return;
        };
        if known.entry == part.entry {
            self.duplicates.push(part);
        } else if manner.replaces() {
            self.duplicates.retain(|other| other.profile.name != part.profile.name);
            *known = part;
        } else {
            known.profile.overlay(part.profile, &mut |_, _| {});
        }
    }

    /// Removes nodes for which an entry has failed, and returns their errors.
    pub(super) fn leave_out<'f>(
        &mut self,
        source: &str,
        failed: impl Iterator<Item = (&'f String, &'f String)>,
    ) -> Vec<ProfileError> {
        let mut errors = Vec::new();
        for (name, reason) in failed {
            if self.nodes.swap_remove(&**name).is_some() {
                let text = format!("node {name} is left out: it {reason}");
                errors.push(ProfileError { path: source.to_owned(), line: Some(1), text });
            }
        }
        errors
    }

    /// Changes all nodes.
    pub(super) fn change(&mut self, change: impl Fn(&mut NodeProfile)) {
        self.nodes.values_mut().chain(&mut self.duplicates).for_each(|part| change(&mut part.profile));
    }

    /// Returns all nodes, and the further profiles of those that an entry declares twice.
    pub(super) fn all(self) -> impl Iterator<Item = EntryProfile> {
        self.nodes.into_values().chain(self.duplicates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::read_profiles;

    fn part(entry: usize, line: u32, profile: &str) -> EntryProfile {
        let (mut profiles, errors) = read_profiles(profile.as_bytes(), "n.yaml", "");
        assert!(errors.is_empty(), "{errors:?}");
        EntryProfile { entry, place: ProfilePlace { file: 0, line }, profile: profiles.remove(0) }
    }

    const WHOLE: &str = "name: a.b\nenvironment: e\nfacts: {os: {x: 1, y: 2}, role: r}\nvariables: {v: 1, w: 2}\n\
                         trusted: {authenticated: local, extensions: {pp_role: p}}\nserver_facts: {s: 1}\n";

    /// Merges two profiles of one node.
    fn two(first: &str, second: &str, manner: EntryMode) -> NodeProfile {
        let mut joined = Joined::default();
        joined.add(part(0, 1, first), EntryMode::Overlay);
        joined.add(part(1, 1, second), manner);
        let mut all = joined.all();
        let profile = all.next().unwrap().profile;
        assert!(all.next().is_none());
        profile
    }

    #[test]
    fn later_entries_lie_over_earlier_ones() {
        let second = "name: a.b\nfacts: {os: {x: 3}, new: n}\nvariables: {v: 3}\ntrusted: {external: {x: 1}}\n";
        let expected = "name: a.b\nenvironment: e\nfacts: {os: {x: 3}, role: r, new: n}\nvariables: {v: 3, w: 2}\n\
                        trusted: {authenticated: local, extensions: {pp_role: p}, external: {x: 1}}\nserver_facts: {s: 1}\n";
        for manner in [EntryMode::Overlay, EntryMode::OverlayKnown] {
            assert_eq!(two(WHOLE, second, manner), part(0, 1, expected).profile);
        }
        assert_eq!(two(WHOLE, second, EntryMode::Replace), part(0, 1, second).profile);
        assert_eq!(two("name: a.b\n", WHOLE, EntryMode::Overlay), part(0, 1, WHOLE).profile);
    }

    #[test]
    fn sources_that_are_asked_for_nodes_add_none() {
        let mut joined = Joined::default();
        joined.add(part(0, 1, WHOLE), EntryMode::OverlayKnown);
        assert_eq!(joined.all().count(), 0);
    }

    #[test]
    fn nodes_twice_in_an_entry_stay_so_until_they_are_replaced() {
        let mut joined = Joined::default();
        for line in 1..3 {
            joined.add(part(0, line, WHOLE), EntryMode::Replace);
        }
        joined.add(part(1, 1, "name: a.b\n"), EntryMode::Overlay);
        let lines: Vec<u32> = joined.all().map(|part| part.place.line).collect();
        assert_eq!(lines, [1, 2]);
        let mut joined = Joined::default();
        for (entry, line) in [(0, 1), (0, 2), (1, 3)] {
            joined.add(part(entry, line, WHOLE), EntryMode::Replace);
        }
        assert_eq!(joined.all().map(|part| part.place.line).collect::<Vec<_>>(), [3]);
    }
}
