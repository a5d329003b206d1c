//! Finds the folders of the repository that correspond to datadirs elsewhere.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::hierarchies::{Hierarchy, base_folder};
use crate::puppet::pathname::join;
use crate::tree::{FileTree, Target, TreeError, folder_of, follow};

/// The maximum number of datadirs for which a folder is searched, and the maximum depth of one: each part of each is
/// tried.
const MAX_DATADIRS: usize = 32;
const MAX_DEPTH: usize = 16;

/// A datadir that is not where hiera.yaml says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The datadir as the setting `datadirs` names it.
    pub datadir: String,
    /// The folder that it corresponds to, or `None` if there is none in the repository.
    pub folder: Option<String>,
}

/// Returns the datadirs of a hiera.yaml that are outside of the repository or missing, and the folder for each. A
/// checkout corresponds to one folder on another machine, which is chosen so that most datadirs exist: of
/// `/etc/puppet/hieradata` and `/etc/puppet/private/hieradata`, only the first corresponds to the folder `hieradata`.
pub fn datadirs(tree: &dyn FileTree, hierarchy: &Hierarchy) -> Result<Vec<Mapped>, TreeError> {
    let mut open = BTreeSet::new();
    for level in hierarchy.config.all_levels().filter(|level| !level.locations.are_elsewhere()) {
        for path in level.folders().iter().map(|folder| join(base_folder(&hierarchy.path), folder)) {
            if !is_there(tree, &path)? {
                open.insert(path);
            }
        }
    }
    let is_deep = |path: &String| path.matches('/').count() > MAX_DEPTH;
    let (deep, shallow): (BTreeSet<String>, BTreeSet<String>) = open.into_iter().partition(is_deep);
    let mut shallow = shallow.into_iter();
    let mut open: BTreeSet<String> = shallow.by_ref().take(MAX_DATADIRS).collect();
    let (mut mapped, mut used_folders) = (Vec::new(), BTreeSet::new());
    while let Some(place) = best_place(tree, &open, &used_folders)? {
        let of_place: Vec<String> = open.iter().filter(|path| below(path, &place).is_some()).cloned().collect();
        for datadir in of_place {
            open.remove(&datadir);
            let folder =
                below(&datadir, &place).map(str::to_owned).filter(|folder| !used_folders.contains(&fixed(folder)));
            let folder = match folder {
                Some(folder) if is_folder(tree, &folder)? => Some(folder),
                _ => None,
            };
            used_folders.extend(folder.as_deref().map(fixed));
            mapped.push(Mapped { datadir, folder });
        }
    }
    // Folders that would be inside the repository just do not exist yet.
    let elsewhere = open.into_iter().chain(shallow).chain(deep).filter(|path| path.starts_with(['/', '.']));
    mapped.extend(elsewhere.map(|datadir| Mapped { datadir, folder: None }));
    mapped.sort_by(|one, other| one.datadir.cmp(&other.datadir));
    Ok(mapped)
}

/// Returns the folder that the repository most likely corresponds to, or `None` if there is none.
fn best_place(
    tree: &dyn FileTree,
    datadirs: &BTreeSet<String>,
    used_folders: &BTreeSet<String>,
) -> Result<Option<String>, TreeError> {
    let mut places = BTreeSet::new();
    for datadir in datadirs {
        for (at, _) in datadir.match_indices('/').chain([(datadir.len(), "")]) {
            places.insert(datadir[..at].to_owned());
        }
    }
    let mut rated = Vec::new();
    for place in places {
        let mut existing = BTreeSet::new();
        for folder in datadirs.iter().filter_map(|datadir| below(datadir, &place)) {
            if !used_folders.contains(&fixed(folder)) && is_folder(tree, folder)? {
                existing.insert(folder.to_owned());
            }
        }
        // This repository is most likely the one that is deployed as an environment.
        let is_environment = place.ends_with("environment}");
        if !existing.is_empty() && (is_environment || !existing.contains("")) {
            rated.push(((is_environment, existing.len(), Reverse(place.len())), place));
        }
    }
    Ok(rated.into_iter().max().map(|(_, place)| place))
}

/// Returns the rest of a path below a folder.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Returns true if the part of a datadir that does not depend on variables is in the repository.
fn is_there(tree: &dyn FileTree, path: &str) -> Result<bool, TreeError> {
    is_folder(tree, &fixed(path))
}

fn is_folder(tree: &dyn FileTree, path: &str) -> Result<bool, TreeError> {
    Ok(matches!(follow(tree, &fixed(path))?, Target::Folder(_)))
}

/// Returns the part of a path before the first name with a variable.
fn fixed(path: &str) -> String {
    let fixed = path.split_once("%{").map_or(path, |(before, _)| folder_of(before));
    if fixed.is_empty() && path.starts_with('/') { "/".to_owned() } else { fixed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::hierarchies;
    use crate::tree::MemoryTree;

    /// Returns the datadirs that are mapped, to `none` if they have no folder.
    fn mapped(path: &str, datadirs: &[&str], folders: &[&str]) -> Vec<String> {
        let level = |(at, datadir): (usize, &&str)| format!("- {{name: n{at}, path: x.yaml, datadir: '{datadir}'}}\n");
        let levels: String = datadirs.iter().enumerate().map(level).collect();
        let config = format!("version: 5\nhierarchy:\n{levels}");
        let mut tree = MemoryTree::new();
        tree.add(path, config.as_bytes());
        for folder in folders {
            tree.add(&format!("{folder}/x.yaml"), b"a: 1\n");
        }
        let hierarchy = hierarchies(&tree).unwrap().0.remove(0);
        let found = super::datadirs(&tree, &hierarchy).unwrap();
        let shown = |one: Mapped| format!("{} {}", one.datadir, one.folder.as_deref().unwrap_or("none"));
        found.into_iter().map(shown).collect()
    }

    #[test]
    fn datadirs_in_place_need_nothing() {
        for datadirs in [&["data"][..], &["data/%{environment}", "data"]] {
            assert_eq!(mapped("hiera.yaml", datadirs, &["data"]), [""; 0]);
        }
        assert_eq!(mapped("puppet/hiera.yaml", &["../data"], &["data"]), [""; 0]);
    }

    #[test]
    fn a_checkout_stands_for_a_folder_of_another_machine() {
        let private = "/etc/puppet/private/hieradata";
        let datadirs = ["/etc/puppet/hieradata", private, "/srv/other"];
        let expected = ["/etc/puppet/hieradata hieradata", "/etc/puppet/private/hieradata none", "/srv/other none"];
        assert_eq!(mapped("modules/m/files/hiera.yaml", &datadirs, &["hieradata"]), expected);
        let expected = ["/etc/puppet/hieradata hieradata", "/etc/puppet/private/hieradata private/hieradata"];
        assert_eq!(mapped("hiera.yaml", &datadirs[..2], &["hieradata", "private/hieradata"]), expected);
        let environments = "/etc/puppetlabs/code/environments/%{environment}";
        let datadirs = ["/etc/puppetlabs/code/data", &format!("{environments}/data/%{{facts.site}}")];
        let expected = [
            "/etc/puppetlabs/code/data none".to_owned(),
            format!("{environments}/data/%{{facts.site}} data/%{{facts.site}}"),
        ];
        assert_eq!(mapped("hiera.yaml", &datadirs, &["data"]), expected);
        assert_eq!(mapped("hiera.yaml", &[environments], &["data"]), [format!("{environments} ")]);
    }
}
