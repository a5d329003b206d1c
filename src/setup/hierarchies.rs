//! Finds the environment's hiera.yaml, which people keep in many places.

use std::sync::Arc;

use crate::hiera::LookupError;
use crate::hiera::config::{Config, Owner, ReadConfig};
use crate::hiera::layer::roots::{USUAL_FOLDERS, VARIABLE};
use crate::hiera::layer::{HIERA_YAML, own_module};
use crate::puppet::Puppet;
use crate::tree::{FileTree, TreeError, files_called, folder_of, read_config};
use crate::value::Notation;

/// A file that may be the environment's hiera.yaml.
pub struct Hierarchy {
    /// Its path in the repository.
    pub path: String,
    /// Its content.
    pub config: Arc<Config>,
}

impl Hierarchy {
    /// Returns true if it is on disk, and in no commit.
    pub fn is_on_disk(&self) -> bool {
        self.path.starts_with('/')
    }

    /// Returns true if a module contains the file to install it on servers, where it belongs to the global layer.
    pub fn is_installed(&self) -> bool {
        folder_of(&self.path).split('/').any(|folder| matches!(folder, "files" | "templates"))
    }
}

/// The maximum size, in bytes, of all such files. Beyond it, the less likely ones are ignored.
const MAX_TOTAL_SIZE: usize = 16 << 20;

/// The folders that contain modules.
const MODULE_FOLDERS: [&str; 9] =
    ["modules", "site", "site-modules", "dist", "external_modules", "thirdparty", "vendor", "forge", "puppet_modules"];

/// Returns the files that may be the environment's hiera.yaml, the likeliest first: `hiera.yaml` at the root, then
/// others by depth. Those of modules are left out. Also returns the errors of those that Puppet refuses.
pub fn hierarchies(tree: &dyn FileTree) -> Result<(Vec<Hierarchy>, Vec<LookupError>), TreeError> {
    let mut found = files_called(tree, is_hiera_yaml_name, |folder| super::SKIPPED_FOLDERS.contains(&folder))?;
    found.retain(|(path, _)| !is_of_module(path));
    found.sort_by_key(|(path, _)| (path != HIERA_YAML, path.matches('/').count(), path.clone()));
    let (mut hierarchies, mut errors) = (Vec::new(), Vec::new());
    let (is_module, mut left) = (own_module(tree)?.is_some(), MAX_TOTAL_SIZE);
    for (path, id) in found {
        let owner = if is_module && path == HIERA_YAML { Owner::Module } else { Owner::Environment };
        let Ok(content) = read_config(tree, &path, id) else { continue };
        let Some(rest) = left.checked_sub(content.len()) else { break };
        left = rest;
        match config(&content, &path, owner) {
            // A data file may have such a name, too.
            Ok(config) => hierarchies.extend(config.map(|config| Hierarchy { path, config })),
            Err(error) => errors.push(error),
        }
    }
    Ok((hierarchies, errors))
}

/// Returns the setting that names the environments of a repository with several, each in its own folder, or `None` if
/// there seems to be only one. Their folder has a usual name, or one of them is Puppet's default.
pub fn of_environments(found: &[Hierarchy]) -> Option<String> {
    let arounds = found.iter().filter_map(|hierarchy| {
        let (around, name) = folder_of(&hierarchy.path).rsplit_once('/')?;
        let is_usual = USUAL_FOLDERS.contains(&around.rsplit('/').next()?) || name == "production";
        (hierarchy.path.ends_with("/hiera.yaml") && is_usual && !hierarchy.is_installed()).then_some(around)
    });
    arounds.map(|around| format!("{around}/{VARIABLE}/{HIERA_YAML}")).next()
}

/// Returns the hierarchy of the hiera.yaml at an absolute path, which is in no commit; `None` if it is not a
/// hiera.yaml.
pub fn hierarchy_of(path: &str, content: &[u8]) -> Result<Option<Hierarchy>, LookupError> {
    let config = config(content, path, Owner::Global)?;
    Ok(config.map(|config| Hierarchy { path: path.to_owned(), config }))
}

/// `hiera.yaml`, `hiera5.yaml`, `hiera-prod.yml`, `production.hiera.yaml`, `win_hiera.yaml`
fn is_hiera_yaml_name(name: &str) -> bool {
    let stem = [".yaml", ".yml"].iter().find_map(|end| name.strip_suffix(end));
    stem.is_some_and(|stem| {
        let stem = stem.to_ascii_lowercase();
        let is_end = |rest: &str| rest.is_empty() || !rest.starts_with(|c: char| c.is_ascii_alphabetic());
        stem.strip_prefix("hiera").is_some_and(is_end)
            || stem.strip_suffix("hiera").is_some_and(|rest| rest.ends_with(['.', '_', '-']))
    })
}

/// Returns true for the hiera.yaml at the top of a module.
fn is_of_module(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    matches!(names[..], [.., folder, _, "hiera.yaml"] if MODULE_FOLDERS.contains(&folder))
}

/// Returns the configuration in a file, or `None` if it is not a hiera.yaml.
fn config(content: &[u8], path: &str, owner: Owner) -> Result<Option<Arc<Config>>, LookupError> {
    let read = ReadConfig::new(content, path, owner, Puppet::default());
    let config = if read.is_hiera3 {
        // As Puppet reads it, it has paths.
        let of_puppet = ReadConfig::new(content, path, Owner::Global, Puppet::default()).config;
        let hiera3 = || Config::parse_hiera3(content, path, true, Notation::default()).map(Arc::new);
        Some(of_puppet.ok().flatten().map_or_else(hiera3, Ok)?)
    } else {
        read.config?
    };
    Ok(config.filter(|config| config.all_levels().next().is_some()))
}

/// Returns the folder that paths in a hiera.yaml are relative to.
pub(super) fn base_folder(path: &str) -> &str {
    folder_of(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    const CONFIG: &str = "version: 5\nhierarchy:\n- {name: all, path: all.yaml}\n";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut tree = MemoryTree::new();
        for (path, text) in files {
            tree.add(path, text.as_bytes());
        }
        hierarchies(&tree).unwrap().0.into_iter().map(|hierarchy| hierarchy.path).collect()
    }

    #[test]
    fn hiera_yaml_is_found_wherever_people_keep_it() {
        let paths =
            ["hiera.yaml", "hiera-prod.yml", "puppet/hiera5.yaml", "modules/master/files/production.hiera.yaml"];
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (*path, CONFIG)).collect();
        files.reverse();
        assert_eq!(found(&files), paths);
    }

    #[test]
    fn files_of_modules_are_installed_elsewhere() {
        let mut tree = MemoryTree::new();
        for path in ["hiera.yaml", "puppet/hiera.yaml", "modules/master/files/production.hiera.yaml"] {
            tree.add(path, CONFIG.as_bytes());
        }
        let installed: Vec<bool> = hierarchies(&tree).unwrap().0.iter().map(Hierarchy::is_installed).collect();
        assert_eq!(installed, [false, false, true]);
    }

    #[test]
    fn other_files_are_no_hiera_yaml() {
        let files = [
            ("modules/ntp/hiera.yaml", CONFIG),
            ("spec/fixtures/hiera.yaml", CONFIG),
            ("hierarchy.yaml", CONFIG),
            ("notes/hiera.yaml", "version: 5\n"),
            ("broken/hiera.yaml", "version: [\n"),
        ];
        assert_eq!(found(&files[..4]), ["notes/hiera.yaml"]);
        assert_eq!(found(&files[4..]), [""; 0]);
        let old = "---\n:backends:\n- yaml\n:hierarchy:\n- common\n:yaml:\n  :datadir: /etc/puppet/data\n";
        assert_eq!(found(&[("hiera.yaml", old)]), ["hiera.yaml"]);
    }
}
