//! What a change of the data can reach: the keys that may have another answer in another revision, and the nodes on which they may.
//!
//! A key's answer is made of what its data sources say of it, of its options, and of the keys that it refers to. Where all of these
//! are the same in both revisions, so is the answer, and nothing has to be evaluated. Nor has it where a source comes or goes that a
//! node does not get to, as it finds the key before.

mod compare;
mod first;
pub(in crate::fleet) mod references;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::fleet::Fleet;
use crate::fleet::affected::compare::{Found, pairs};
use crate::fleet::affected::first::First;
use crate::fleet::affected::references::References;
use crate::fleet::resolve::NodesByKey;
use crate::fleet::revision::Revision;
use crate::hiera::LookupKey;
use crate::hiera::config::{Config, LevelConfig};
use crate::hiera::key::{colons, is_plain};
use crate::hiera::layer::{Environment, LayerId};
use crate::hiera::lookup::{Merged, OptionsOf};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::workers::Workers;

/// What a change can reach.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AffectedKeys {
    /// The keys that may have other answers, with the nodes on which they may.
    pub keys: NodesByKey,
    /// Whether data that some node sees differs at all, be it that no answer can.
    pub touches_data: bool,
}

/// The keys of `keys` that may have other answers in `after` than in `before`, with the nodes on which they may. Both revisions are of
/// the same fleet. The result does not depend on `workers`.
pub fn affected_keys(
    before: &Revision,
    after: &Revision,
    keys: &BTreeSet<Arc<str>>,
    workers: &Workers,
) -> AffectedKeys {
    let mut touches_data = true;
    let reached = Comparison { before, after, fleet: &before.fleet, workers }.reached(&mut touches_data);
    let nodes = |key: &Arc<str>| match &reached {
        Some(reached) if is_plain(key) => reached.get(key).cloned(),
        Some(reached) => reached.get(&root(key)).cloned(),
        None => Some(before.fleet.all()),
    };
    let keys = keys.iter().filter_map(|key| Some((key.clone(), nodes(key)?))).collect();
    AffectedKeys { keys, touches_data }
}

struct Comparison<'a> {
    before: &'a Revision,
    after: &'a Revision,
    fleet: &'a Fleet,
    workers: &'a Workers,
}

impl Comparison<'_> {
    /// Root keys, nothing stands for all of them; and whether `data` differs.
    fn reached(&self, data: &mut bool) -> Option<NodesByKey> {
        let (before, after) = (&self.before.environment, &self.after.environment);
        let faults = |environment: &Environment| (environment.fault.clone(), environment.modules_fault.clone());
        if before.is_hiera3 || after.is_hiera3 || faults(before) != faults(after) {
            return None;
        }
        // References of a global layer of version 3 lead to the global layer only where the environment has none.
        let version = |revision: &Revision, layer: &LayerId| Some(revision.config(layer)?.ok()?.version);
        for layer in [LayerId::Environment, LayerId::Global] {
            if version(self.before, &layer) != version(self.after, &layer) {
                return None;
            }
        }
        let mut reached = self.in_data()?;
        *data = !reached.is_empty();
        if !reached.is_empty() {
            let references = References::new([self.before, self.after], self.fleet)?;
            if !reached.contains_key(LOOKUP_OPTIONS) && !references.is_referrer(LOOKUP_OPTIONS) {
                First { before: self.before, after: self.after, fleet: self.fleet }.narrow(
                    &mut reached,
                    &references,
                    self.workers,
                );
            }
            references.close(&mut reached);
            if reached.remove(LOOKUP_OPTIONS).is_some() {
                self.add_options(&references, &mut reached);
                references.close(&mut reached);
            } else {
                // Just so that they need not be found again.
                self.after.adopt_options(self.before);
            }
        }
        reached.insert("".into(), self.fleet.all()); // eyaml fails on it wherever there is a file
        Some(reached)
    }

    /// The keys of which the data sources say something else, to some node.
    fn in_data(&self) -> Option<NodesByKey> {
        let ids = |revision: &Revision| revision.environment.layer_ids().collect::<BTreeSet<LayerId>>();
        let mut found = Found::default();
        for id in ids(self.before).union(&ids(self.after)) {
            self.add_layer(id, &mut found)?;
        }
        Some(found.into_work())
    }

    fn add_layer(&self, id: &LayerId, found: &mut Found) -> Option<()> {
        let (before, after) = (self.before.config(id), self.after.config(id));
        let (before, after) = match (before, after) {
            (Some(Err(before)), Some(Err(after))) => return (before == after).then_some(()),
            (Some(Err(_)), _) | (_, Some(Err(_))) => return None,
            (before, after) => (before.and_then(Result::ok), after.and_then(Result::ok)),
        };
        let fault = |config: Option<&Config>| config.and_then(|config| config.sound().err());
        if fault(before) != fault(after) {
            return None;
        }
        let levels = |config: Option<&Config>| -> Vec<PlacedLevel> {
            let Some(config) = config else { return Vec::new() };
            let own = config.levels.len();
            let levels = config.all_levels().cloned().enumerate();
            levels.map(|(at, level)| ((config.path.clone(), config.version, at < own), level)).collect()
        };
        let (before_levels, after_levels) = (levels(before), levels(after));
        let (before, after) = (self.before.parts(id), self.after.parts(id));
        let alike = |a: &PlacedLevel, b: &PlacedLevel| a.0 == b.0 && a.1.means_the_same(&b.1);
        // Version 3 is one part, however many levels it has.
        if before.len() != before_levels.len() || after.len() != after_levels.len() {
            let as_many = before_levels.len() == after_levels.len() && before.len() == after.len();
            return if as_many && before_levels.iter().zip(&after_levels).all(|(a, b)| alike(a, b)) {
                before.iter().zip(after).try_for_each(|(before, after)| found.compare(before, after))
            } else {
                before.iter().chain(after).try_for_each(|placed| found.add_placed(placed))
            };
        }
        // What is found at one level alone is not merged, not even with itself.
        let counts = |levels: &[PlacedLevel]| {
            let own = levels.iter().filter(|level| level.0.2).count();
            [own, levels.len() - own]
        };
        let (old, new) = (counts(&before_levels), counts(&after_levels));
        if old.iter().zip(&new).any(|(old, new)| old != new && *old.min(new) <= 1) {
            return before.iter().chain(after).try_for_each(|placed| found.add_placed(placed));
        }
        for pair in align(&before_levels, &after_levels, alike) {
            match pair {
                (Some(before_at), Some(after_at)) => found.compare(&before[before_at], &after[after_at])?,
                (Some(at), _) => found.add_placed(&before[at])?,
                (None, Some(at)) => found.add_placed(&after[at])?,
                (None, None) => {}
            }
        }
        Some(())
    }

    /// Adds the keys whose options differ: of those that there are, and those that others refer to.
    fn add_options(&self, references: &References, reached: &mut NodesByKey) {
        let roots = self.roots(references);
        let mut modules: HashMap<(OptionsOf, OptionsOf), Vec<Option<Arc<str>>>> = HashMap::default();
        for module in roots.keys() {
            let of = (options_of(self.before, module.as_ref()), options_of(self.after, module.as_ref()));
            modules.entry(of).or_default().push(module.clone());
            if let Some(name) = module.as_ref().filter(|name| has_data(self.before, name) || has_data(self.after, name))
            {
                let default = OptionsOf::Default(name.clone());
                modules.entry((default.clone(), default)).or_default().push(module.clone());
            }
        }
        for ((before, after), modules) in modules {
            self.add_options_of(&before, &after, &modules, &roots, reached);
        }
    }

    /// Adds the keys of `modules` for which `before` and `after` give other options, and those of which something else comes up on
    /// the way to these.
    fn add_options_of(
        &self,
        before: &OptionsOf,
        after: &OptionsOf,
        modules: &[Option<Arc<str>>],
        roots: &RootsByModule,
        reached: &mut NodesByKey,
    ) {
        let (before, after) = (self.before.options(before), self.after.options(after));
        for ((b, a), nodes) in pairs(before.parts(), after.parts()) {
            let (before, after) = (before.found(b), after.found(a));
            let mut add = |modules: &[Option<Arc<str>>], before: Option<&Merged>, after: Option<&Merged>| {
                for key in differing(before, after, modules, roots) {
                    reached.entry(key).or_default().union_with(&nodes);
                }
            };
            // Who comes to these with options of other modules finds them anew, and others perhaps.
            let is_alone =
                |module: &Option<Arc<str>>| before.is_alone(module.as_ref()) && after.is_alone(module.as_ref());
            let (alone, not_alone): (Vec<_>, Vec<_>) = modules.iter().cloned().partition(is_alone);
            add(&not_alone, None, Some(&after.options));
            add(&alone, Some(&before.options), Some(&after.options));
            let on_the_way: BTreeSet<_> = before.modules_on_the_way().chain(after.modules_on_the_way()).collect();
            for module in on_the_way {
                add(std::slice::from_ref(module), before.on_the_way(module), after.on_the_way(module));
            }
        }
    }

    /// The root keys that there are, and that others refer to; some of them again.
    fn roots(&self, references: &References) -> RootsByModule {
        let (mut roots, mut last) = (RootsByModule::default(), usize::MAX);
        // Most are of the same module as the one before them.
        let mut add = |root: Arc<str>| {
            let module = module(&root);
            if roots.get_index(last).is_none_or(|(of, _)| of.as_deref() != module) {
                let entry = roots.entry(module.map(Arc::from));
                last = entry.index();
                entry.or_default();
            }
            roots[last].push(root);
        };
        let is_same = Arc::ptr_eq(&self.before.keys, &self.after.keys);
        let keys = self.before.keys.iter().chain(self.after.keys.iter().filter(|_| !is_same));
        for key in keys {
            if !is_plain(key) {
                add(root(key));
            }
            add(key.clone());
        }
        references.targets().cloned().for_each(add);
        roots
    }
}

/// A level, with the file and the version of its configuration, and whether it is not one of a default hierarchy.
type PlacedLevel = ((Arc<str>, u8, bool), LevelConfig);

/// Root keys by the module that they belong to, or none.
type RootsByModule = IndexMap<Option<Arc<str>>, Vec<Arc<str>>, RandomState>;

/// The name that is searched for a key.
fn root(key: &Arc<str>) -> Arc<str> {
    if is_plain(key) {
        return key.clone();
    }
    LookupKey::parse(key).map_or_else(|_| key.clone(), |key| key.root)
}

/// What stands before the first `::` of a key.
fn module(key: &str) -> Option<&str> {
    match colons(key) {
        Some(0) => Some(key),
        at => at.map(|at| &key[..at]),
    }
}

/// Where a revision has the options of a module's keys: a module without data has those of none.
fn options_of(revision: &Revision, module: Option<&Arc<str>>) -> OptionsOf {
    OptionsOf::Layers(module.filter(|module| has_data(revision, module)).cloned())
}

fn has_data(revision: &Revision, module: &Arc<str>) -> bool {
    revision.environment.layer_of(&LayerId::Module(module.clone())).is_some()
}

/// The keys of `modules` that have other options.
fn differing(
    before: Option<&Merged>,
    after: Option<&Merged>,
    modules: &[Option<Arc<str>>],
    roots: &RootsByModule,
) -> Vec<Arc<str>> {
    let named = match (before, after) {
        (Some(Ok(before)), Some(Ok(after))) => before.differing(after),
        _ => None,
    };
    let is_of = |key: &Arc<str>| modules.iter().any(|of| of.as_deref() == module(key));
    let keys: Vec<Arc<str>> = match named {
        Some(named) => named.into_iter().filter(is_of).collect(),
        None => modules.iter().filter_map(|module| roots.get(module)).flatten().cloned().collect(),
    };
    keys.into_iter().filter(|key| !same_options(before, after, key)).collect()
}

fn same_options(before: Option<&Merged>, after: Option<&Merged>, key: &str) -> bool {
    match (before, after) {
        (Some(Ok(before)), Some(Ok(after))) => before.of(key) == after.of(key),
        (Some(Err(before)), Some(Err(after))) => before == after,
        _ => false,
    }
}

/// Pairs equal items of two lists, as many as can be in order; each other item stands alone.
fn align<T>(before: &[T], after: &[T], equal: impl Fn(&T, &T) -> bool) -> Vec<(Option<usize>, Option<usize>)> {
    let (rows, columns) = (before.len(), after.len());
    // The length of the longest common list from each pair of places on.
    let mut longest = vec![vec![0_usize; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            longest[row][column] = if equal(&before[row], &after[column]) {
                longest[row + 1][column + 1] + 1
            } else {
                longest[row + 1][column].max(longest[row][column + 1])
            };
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows || column < columns {
        if row < rows && column < columns && equal(&before[row], &after[column]) {
            pairs.push((Some(row), Some(column)));
            (row, column) = (row + 1, column + 1);
        } else if column == columns || (row < rows && longest[row + 1][column] >= longest[row][column + 1]) {
            pairs.push((Some(row), None));
            row += 1;
        } else {
            pairs.push((None, Some(column)));
            column += 1;
        }
    }
    pairs
}
