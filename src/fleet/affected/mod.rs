//! Finds the keys whose answers may differ between two revisions, and the nodes on which they may.
//!
//! The answer of a key follows from the data that its levels have for it, from its options, and from the keys that it
//! refers to. If all of these are equal in both revisions, so is the answer, and nothing has to be evaluated. Nor
//! does it matter if a level is added or removed after the one in which a node finds the key.
//!
//! The result may contain too many keys and nodes, never too few.

mod changed_keys;
mod first;
mod function_references;
mod functions;
mod layers;
mod options;
mod references;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fleet::revision::Revision;
use crate::fleet::{Fleet, NodesByKey};
use crate::hiera::key::{is_plain, root_of};
use crate::hiera::layer::{Environment, LayerId};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::workers::Workers;

use changed_keys::ChangedKeys;
use first::FirstTexts;
use function_references::AskedRoots;
use references::References;

/// The keys that a change can affect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AffectedKeys {
    /// The keys whose answers may differ, with the nodes on which they may.
    pub keys: NodesByKey,
    /// True if the data of some node differs at all, even if no answer can.
    pub touches_data: bool,
}

/// Returns the `keys` whose answers may differ between `before` and `after`, and the nodes on which they may. Both
/// revisions are of the same fleet. The result does not depend on `workers`.
pub fn affected_keys(
    before: &Revision,
    after: &Revision,
    keys: &BTreeSet<Arc<str>>,
    workers: &Workers,
) -> AffectedKeys {
    let mut touches_data = true;
    let comparison = Comparison::new((before, after), keys, workers);
    let keys = match comparison.affected_roots(&mut touches_data) {
        Some(affected) => {
            // Few keys are affected, and most are their own roots.
            let plain = affected.iter().filter(|(root, _)| is_plain(root));
            let plain = plain.filter_map(|(root, nodes)| Some((keys.get(root)?.clone(), nodes.clone())));
            let others = keys.iter().filter(|key| !is_plain(key));
            let others = others.filter_map(|key| Some((key.clone(), affected.get(&root_of(key))?.clone())));
            plain.chain(others).collect()
        }
        None => keys.iter().map(|key| (key.clone(), before.fleet.all())).collect(),
    };
    AffectedKeys { keys, touches_data }
}

/// Returns the root keys that the data of two revisions refers to, or `None` if it may also refer to others. Both
/// revisions are of the same fleet.
pub fn referred_keys(
    before: &Revision,
    after: &Revision,
    keys: &BTreeSet<Arc<str>>,
    workers: &Workers,
) -> Option<BTreeSet<Arc<str>>> {
    let comparison = Comparison::new((before, after), keys, workers);
    let references = References::new(&comparison)?;
    references.are_all_seen().then(|| references.targets().cloned().collect())
}

/// Two revisions of one fleet.
struct Comparison<'a> {
    before: &'a Revision,
    after: &'a Revision,
    fleet: &'a Fleet,
    /// The keys that matter.
    keys: &'a BTreeSet<Arc<str>>,
    /// The roots that functions in Ruby are asked for.
    asked_roots: OnceCell<Option<AskedRoots>>,
    workers: &'a Workers,
}

impl<'a> Comparison<'a> {
    fn new(
        (before, after): (&'a Revision, &'a Revision),
        keys: &'a BTreeSet<Arc<str>>,
        workers: &'a Workers,
    ) -> Comparison<'a> {
        Comparison { before, after, fleet: &before.fleet, keys, asked_roots: OnceCell::new(), workers }
    }

    /// Returns the roots of the keys that matter.
    fn wanted_roots(&self) -> impl Iterator<Item = Arc<str>> + use<'a> {
        self.keys.iter().map(root_of)
    }

    /// Returns the affected root keys, or `None` if all may be. Sets `touches_data` to false if no data differs.
    fn affected_roots(&self, touches_data: &mut bool) -> Option<NodesByKey> {
        if !self.is_comparable() || !self.have_equal_variables() {
            return None;
        }
        let mut changed = ChangedKeys::default();
        self.add_layers(&mut changed)?;
        let asks_functions = changed.asks_functions;
        let any_key_on = std::mem::take(&mut changed.any_key_on);
        let mut affected = changed.into_nodes_by_key();
        if !any_key_on.is_empty() {
            affected.entry(LOOKUP_OPTIONS.into()).or_default().union_with(&any_key_on);
        }
        let keys_asked_otherwise = self.keys_asked_otherwise()?;
        *touches_data = !affected.is_empty() || !keys_asked_otherwise.is_empty() || asks_functions;
        if !affected.is_empty() {
            let references = References::new(self)?;
            if !affected.contains_key(LOOKUP_OPTIONS) && !references.is_referrer(LOOKUP_OPTIONS) {
                let first = FirstTexts { before: self.before, after: self.after, fleet: self.fleet };
                first.narrow(&mut affected, &references, self.workers);
            }
            references.close(&mut affected);
            if affected.remove(LOOKUP_OPTIONS).is_some() {
                self.add_options(&references, &mut affected);
                references.close(&mut affected);
            } else {
                // The options are equal, so they need not be found again.
                self.after.adopt_options(self.before);
            }
        }
        // Keys that others refer to are looked up without the strategies of manifests.
        affected.extend(keys_asked_otherwise.into_iter().map(|key| (key, self.fleet.all())));
        for root in self.wanted_roots().filter(|_| !any_key_on.is_empty()) {
            affected.entry(root).or_default().union_with(&any_key_on);
        }
        affected.insert("".into(), self.fleet.all()); // eyaml fails on it wherever there is a file
        Some(affected)
    }

    /// Returns the root keys that manifests look up with a different strategy, or `None` if any key may be one.
    fn keys_asked_otherwise(&self) -> Option<BTreeSet<Arc<str>>> {
        let mut keys = BTreeSet::new();
        for [before, after] in self.before.environment.roots_in_both(&self.after.environment) {
            keys.extend(before.lookups.differing(&after.lookups)?);
        }
        Some(keys)
    }

    /// Returns true if the data gives the same variables in both revisions, and the options found on the way are also
    /// the same.
    fn have_equal_variables(&self) -> bool {
        if !self.before.fleet.is_like(&self.after.fleet) {
            return false;
        }
        let before = std::iter::successors(self.before.unassigned.as_deref(), |before| before.unassigned.as_deref());
        let after = std::iter::successors(self.after.unassigned.as_deref(), |after| after.unassigned.as_deref());
        before.zip(after).all(|(before, after)| {
            Comparison { before, after, asked_roots: OnceCell::new(), ..*self }.have_equal_options() == Some(true)
        })
    }

    /// Returns true if no options can differ, or `None` if all keys may.
    fn have_equal_options(&self) -> Option<bool> {
        let mut changed = ChangedKeys::default();
        self.add_layers(&mut changed)?;
        if !changed.any_key_on.is_empty() {
            return None;
        }
        let mut affected = changed.into_nodes_by_key();
        let references = References::new(self)?;
        references.close(&mut affected);
        Some(!affected.contains_key(LOOKUP_OPTIONS))
    }

    /// Returns true unless the revisions differ in a way that may affect all keys.
    fn is_comparable(&self) -> bool {
        let (before, after) = (&self.before.environment, &self.after.environment);
        let fault = |environment: &Environment| {
            (environment.name.clone(), environment.fault.clone(), environment.modules_fault.clone())
        };
        let faults = |environment: &Environment| environment.roots().map(fault).collect::<Vec<_>>();
        // References of a global layer of version 3 lead to the global layer only where the environment has none.
        let version = |revision: &Revision, layer: &LayerId| Some(revision.config(layer)?.ok()?.version);
        let own_layers = before.roots().map(Environment::own_layer);
        let mut layers = own_layers.chain([LayerId::Global]);
        !before.is_hiera3
            && !after.is_hiera3
            && faults(before) == faults(after)
            && layers.all(|layer| version(self.before, &layer) == version(self.after, &layer))
    }
}
