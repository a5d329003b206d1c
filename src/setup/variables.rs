//! Finds the variables that a manifest takes from the data and that levels depend on.

use std::collections::BTreeSet;

use super::datadirs::Mapped;
use super::hierarchies::Hierarchy;
use super::site_pp::{bare_variables, manifests, paths};
use crate::puppet::manifest::{LookedUp, looked_up};
use crate::tree::{FileTree, TreeError};

/// A variable that a manifest looks up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableFound {
    /// The path of the manifest in the repository.
    pub file: String,
    /// The variable with its key.
    pub variable: LookedUp,
}

/// Returns the variables that manifests at the top or below `manifests/` look up for the top scope, if paths of
/// levels contain them, in the order in which Puppet sets them.
pub fn variables(
    tree: &dyn FileTree,
    hierarchy: &Hierarchy,
    datadirs: &[Mapped],
) -> Result<Vec<VariableFound>, TreeError> {
    let wanted: BTreeSet<String> = paths(hierarchy, datadirs).iter().flat_map(|path| bare_variables(path)).collect();
    let mut found: Vec<VariableFound> = Vec::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    for (file, text) in manifests(tree)? {
        for variable in looked_up(&text) {
            let is_new = found.iter().all(|known| known.variable.variable != variable.variable);
            if is_new && wanted.contains(&variable.variable) {
                found.push(VariableFound { file: file.clone(), variable });
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{datadirs, hierarchies};
    use crate::tree::MemoryTree;

    #[test]
    fn variables_that_levels_go_by_are_found() {
        let found = |manifest: &str| {
            let tree = MemoryTree::from_fixture(&format!(
                "-- hiera.yaml\nversion: 5\nhierarchy: [{{name: a, paths: ['%{{::role}}.yaml', '%{{tier}}.yaml', '%{{facts.site}}.yaml']}}]\n-- data/web.yaml\na: 1\n-- {manifest}"
            ));
            let hierarchy = &hierarchies(&tree).unwrap().0[0];
            variables(&tree, hierarchy, &datadirs(&tree, hierarchy).unwrap()).unwrap()
        };
        let manifests = "manifests/site.pp\n$role = lookup('role')\n$other = lookup('other')\n-- manifests/a.pp\n$tier = lookup('t')\n$role = lookup('r')\n";
        let told: Vec<String> = found(manifests)
            .into_iter()
            .map(|VariableFound { file, variable: LookedUp { variable, key } }| format!("{file} {variable} {key}"))
            .collect();
        assert_eq!(told, ["manifests/a.pp tier t", "manifests/a.pp role r"]);
        assert_eq!(found("modules/x/manifests/init.pp\n$role = lookup('role')\n"), []);
        assert_eq!(found("manifests/site.pp\n$site = lookup('site')\n"), []);
    }
}
