//! Finds the keys whose options (`lookup_options`) differ between two revisions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::fleet::NodesByKey;
use crate::fleet::affected::Comparison;
use crate::fleet::affected::changed_keys::pairs;
use crate::fleet::affected::references::References;
use crate::fleet::revision::Revision;
use crate::hiera::key::{colons, root_of};
use crate::hiera::sources::{Merged, OptionsOf};

/// Root keys by the module that they belong to, or `None`.
type RootsByModule = IndexMap<Option<Arc<str>>, Vec<Arc<str>>, RandomState>;

impl Comparison<'_> {
    /// Adds the keys whose options differ, among all keys and those that others refer to.
    pub(super) fn add_options(&self, references: &References, affected: &mut NodesByKey) {
        let roots = self.roots(references);
        let mut modules: HashMap<(OptionsOf, OptionsOf), Vec<Option<Arc<str>>>> = HashMap::default();
        for module in roots.keys() {
            let both_options = (options_of(self.before, module.as_ref()), options_of(self.after, module.as_ref()));
            modules.entry(both_options).or_default().push(module.clone());
            let has_data = |name: &&Arc<str>| has_data(self.before, name) || has_data(self.after, name);
            if let Some(name) = module.as_ref().filter(has_data) {
                let default = OptionsOf::Default(name.clone());
                modules.entry((default.clone(), default)).or_default().push(module.clone());
            }
        }
        for ((before, after), modules) in modules {
            self.add_options_of(&before, &after, &modules, &roots, affected);
        }
    }

    /// Adds the keys of `modules` for which `before` and `after` give different options, and those of modules whose
    /// options are met on the way to these and differ.
    fn add_options_of(
        &self,
        before: &OptionsOf,
        after: &OptionsOf,
        modules: &[Option<Arc<str>>],
        roots: &RootsByModule,
        affected: &mut NodesByKey,
    ) {
        let (before, after) = (self.before.options(before), self.after.options(after));
        for ((b, a), nodes) in pairs(&before.partition, &after.partition) {
            let (before, after) = (before.found(b), after.found(a));
            let mut add = |modules: &[Option<Arc<str>>], before: Option<&Merged>, after: Option<&Merged>| {
                for key in differing(before, after, modules, roots) {
                    affected.entry(key).or_default().union_with(&nodes);
                }
            };
            // A lookup that comes from other modules merges the options again, and may get different ones.
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

    /// Returns the root keys of all keys, and those that others refer to; some occur twice.
    fn roots(&self, references: &References) -> RootsByModule {
        let (mut roots, mut last) = (RootsByModule::default(), usize::MAX);
        // Most keys are of the same module as the one before them.
        let mut add = |root: Arc<str>| {
            let module = module(&root);
            if roots.get_index(last).is_none_or(|(last_module, _)| last_module.as_deref() != module) {
                let entry = roots.entry(module.map(Arc::from));
                last = entry.index();
                entry.or_default();
            }
            roots[last].push(root);
        };
        let is_same = Arc::ptr_eq(&self.before.keys, &self.after.keys);
        let keys = self.before.keys.iter().chain(self.after.keys.iter().filter(|_| !is_same));
        keys.map(root_of).for_each(&mut add);
        references.targets().cloned().for_each(add);
        roots
    }
}

/// Returns the module of a key, which is the text before its first `::`, or `None` if it has none.
pub(super) fn module(key: &str) -> Option<&str> {
    match colons(key) {
        Some(0) => Some(key),
        at => at.map(|at| &key[..at]),
    }
}

/// Returns the options of a module's keys in a revision: a module without data has those of no module.
pub(super) fn options_of(revision: &Revision, module: Option<&Arc<str>>) -> OptionsOf {
    OptionsOf::Layers(module.filter(|module| has_data(revision, module)).cloned())
}

fn has_data(revision: &Revision, module: &Arc<str>) -> bool {
    revision.environment.roots().any(|root| root.modules.contains_key(module))
}

/// Returns the keys of `modules` whose options differ.
fn differing(
    before: Option<&Merged>,
    after: Option<&Merged>,
    modules: &[Option<Arc<str>>],
    roots: &RootsByModule,
) -> Vec<Arc<str>> {
    let differing_keys = match (before, after) {
        (Some(Ok(before)), Some(Ok(after))) => before.differing(after),
        _ => None,
    };
    let is_in_modules = |key: &Arc<str>| modules.iter().any(|name| name.as_deref() == module(key));
    let keys: Vec<Arc<str>> = match differing_keys {
        Some(differing_keys) => differing_keys.into_iter().filter(is_in_modules).collect(),
        None => modules.iter().filter_map(|module| roots.get(module)).flatten().cloned().collect(),
    };
    keys.into_iter().filter(|key| !same_options(before, after, key)).collect()
}

fn same_options(before: Option<&Merged>, after: Option<&Merged>, key: &str) -> bool {
    match (before, after) {
        (Some(Ok(before)), Some(Ok(after))) => !before.may_differ(after, key),
        (Some(Err(before)), Some(Err(after))) => before == after,
        _ => false,
    }
}
