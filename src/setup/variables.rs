//! Finds the variables that a manifest takes from the data, and by which levels go.

use std::collections::BTreeSet;

use super::datadirs::Mapped;
use super::hierarchies::Hierarchy;
use super::site_pp::{bare_variables, manifests, paths};
use crate::puppet::manifest::{LookedUp, looked_up};
use crate::tree::{FileTree, TreeError};

/// The variables that a manifest looks up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariablesFound {
    /// The path of the manifest in the repository.
    pub file: String,
    /// The variables with their keys, in the order of the manifest.
    pub variables: Vec<LookedUp>,
}

/// Returns the variables that a manifest below `manifests/` looks up for the top scope, if paths of levels have them.
/// Of several such manifests it is the first, by its path.
pub fn variables(
    tree: &dyn FileTree,
    hierarchy: &Hierarchy,
    datadirs: &[Mapped],
) -> Result<Option<VariablesFound>, TreeError> {
    let wanted: BTreeSet<String> = paths(hierarchy, datadirs).iter().flat_map(|path| bare_variables(path)).collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    for (file, text) in manifests(tree)? {
        let mut variables = looked_up(&text);
        variables.retain(|found| wanted.contains(&found.variable));
        if !variables.is_empty() {
            return Ok(Some(VariablesFound { file, variables }));
        }
    }
    Ok(None)
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
                "-- hiera.yaml\nversion: 5\nhierarchy: [{{name: a, paths: ['%{{::role}}.yaml', '%{{facts.site}}.yaml']}}]\n-- data/web.yaml\na: 1\n-- {manifest}"
            ));
            let hierarchy = &hierarchies(&tree).unwrap().0[0];
            variables(&tree, hierarchy, &datadirs(&tree, hierarchy).unwrap()).unwrap()
        };
        let site = found("manifests/site.pp\n$role = lookup('role')\n$other = lookup('other')\n").unwrap();
        let role = LookedUp { variable: "role".to_owned(), key: "role".to_owned() };
        assert_eq!(site, VariablesFound { file: "manifests/site.pp".to_owned(), variables: vec![role] });
        assert_eq!(found("modules/x/manifests/init.pp\n$role = lookup('role')\n"), None);
        assert_eq!(found("manifests/site.pp\n$site = lookup('site')\n"), None);
    }
}
