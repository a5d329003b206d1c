//! Finds functions that levels name and that the repository implements in Ruby.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Hierarchy;
use crate::hiera::backend::{Backend, Backends};
use crate::tree::{FileTree, TreeError, files_called};

/// Returns the names of the functions that hierad does not have, but that a module of the repository or the
/// environment implements in Ruby.
pub fn functions(tree: &dyn FileTree, hierarchy: &Hierarchy) -> Result<Vec<Arc<str>>, TreeError> {
    let none = Backends::new();
    let levels = hierarchy.config.all_levels();
    let is_unknown = |backend: &Backend| matches!(backend, Backend::Fails(_));
    let unknown = levels.filter(|level| is_unknown(&Backend::of(&level.function, &none, true, &hierarchy.path)));
    let unknown: BTreeSet<Arc<str>> = unknown.map(|level| level.function.name.clone()).collect();
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    let is_ruby =
        |name: &str| name.strip_suffix(".rb").is_some_and(|stem| unknown.iter().any(|name| is_last_part(name, stem)));
    let files = files_called(tree, is_ruby, |folder| matches!(folder, "spec" | "fixtures"))?;
    let is_there = |name: &Arc<str>| {
        let end = format!("lib/puppet/functions/{}.rb", name.replace("::", "/"));
        files
            .iter()
            .any(|(path, _)| path.strip_suffix(&*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')))
    };
    Ok(unknown.into_iter().filter(is_there).collect())
}

/// Returns true if the last part of a function's name is `stem`.
fn is_last_part(name: &str, stem: &str) -> bool {
    name.rsplit("::").next() == Some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::hierarchies;
    use crate::tree::MemoryTree;

    #[test]
    fn functions_of_the_repository_are_found() {
        let tree = MemoryTree::from_fixture(concat!(
            "-- hiera.yaml\nversion: 5\nhierarchy:\n",
            "- {name: A, lookup_key: 'site::own', path: a}\n- {name: B, lookup_key: hiera_vault}\n",
            "- {name: C, lookup_key: 'site::none'}\n- {name: D, path: d.yaml}\n- {name: E, lookup_key: other}\n",
            "-- modules/site/lib/puppet/functions/site/own.rb\nx\n",
            "-- site-modules/vault/lib/puppet/functions/hiera_vault.rb\nx\n",
            "-- modules/site/lib/puppet/functions/none.rb\nx\n",
            "-- modules/site/spec/lib/puppet/functions/other.rb\nx\n",
        ));
        let hierarchy = &hierarchies(&tree).unwrap().0[0];
        let found = functions(&tree, hierarchy).unwrap();
        assert_eq!(found.iter().map(|name| &**name).collect::<Vec<_>>(), ["hiera_vault", "site::own"]);
    }
}
