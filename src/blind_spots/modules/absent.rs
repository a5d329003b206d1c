//! Finds modules that are not in the repository. Their `lookup_options` may merge in values that a commit changes at
//! a level that others would hide.

use std::collections::BTreeSet;

use crate::blind_spots::{DiffContext, accept, changed_nodes, wording};
use crate::hiera::key::{colons, root_of};
use crate::hiera::layer::Environment;
use crate::node::NodeSet;
use crate::report::BlindSpot;

const ABSENT: &str = "absent-module";

impl DiffContext<'_> {
    /// Returns a blind spot for absent modules if the commit touches keys in their namespaces whose values do not
    /// change on all affected nodes.
    pub(crate) fn absent_modules(&self) -> Option<BlindSpot> {
        let environment = &self.revisions.after.environment;
        let absent = || environment.roots().flat_map(|root| &root.absent_modules);
        let is_named = |name: &str| absent().any(|module| *module.name == *name);
        let leads_outside = environment.diagnostics.iter().any(|diagnostic| diagnostic.code == "modules-outside");
        if absent().next().is_none() && !leads_outside {
            return None;
        }
        let changed = changed_nodes(self.changes);
        let mut modules: BTreeSet<String> = BTreeSet::new();
        let (mut keys, mut nodes) = (Vec::new(), NodeSet::new());
        for (key, affected) in &self.affected.keys {
            let root = root_of(key);
            let Some(module) = colons(&root).map(|at| &root[..at]).filter(|module| !module.is_empty()) else {
                continue;
            };
            let is_absent = is_named(module) || leads_outside && !is_loaded(environment, module);
            if !is_absent || self.accepted.has(ABSENT, module) {
                continue;
            }
            let unseen = changed.get(key).map_or_else(|| affected.clone(), |changed| affected.difference(changed));
            if !unseen.is_empty() {
                modules.insert(module.to_owned());
                nodes.union_with(&unseen);
                keys.push(key.clone());
            }
        }
        let first = modules.first()?.as_str();
        let node_share = wording::nodes_of(&nodes, self.revisions.after.fleet.len());
        let count = wording::count(modules.len(), "module");
        let verb = if modules.len() == 1 { "is" } else { "are" };
        let accepted = if modules.len() == 1 { first } else { "*" };
        Some(BlindSpot {
            code: ABSENT,
            headline: format!("{count} {verb} not in this repository"),
            message: format!(
                "{count} ({}) {verb} not in this repository: options that merge {} on {node_share} may be \
                 in their data",
                wording::some(modules.iter().map(String::as_str)),
                wording::count(keys.len(), "key"),
            ),
            fix: Some(accept::remedy(
                "deploy them and name their folder with basemodulepath or, if they have no data, add to hierad.yaml",
                ABSENT,
                [accepted],
            )),
            nodes,
            keys,
            ..BlindSpot::default()
        })
    }
}

fn is_loaded(environment: &Environment, module: &str) -> bool {
    environment.roots().all(|root| root.module_names.contains(module))
}
