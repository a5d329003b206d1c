//! Finds changed configuration of environments without known nodes, which affects no value that is shown.

use std::collections::BTreeSet;

use super::DiffContext;
use crate::fleet::Revision;
use crate::hiera::layer::HIERA_YAML;
use crate::hiera::layer::path_patterns::{is_below, is_below_any};
use crate::hiera::layer::roots::USUAL_FOLDERS;
use crate::tree::{Target, TreeError, folder_of, follow};

impl DiffContext<'_> {
    /// Returns the changed configuration files that belong to an environment without nodes.
    pub(super) fn configs_of_others(&self, configs: &BTreeSet<String>) -> Result<BTreeSet<String>, TreeError> {
        let mut found = BTreeSet::new();
        if configs.is_empty() {
            return Ok(found);
        }
        let sides = [Side::of(self.revisions.before)?, Side::of(self.revisions.after)?];
        found.extend(configs.iter().filter(|path| sides.iter().all(|side| side.is_of_other(path))).cloned());
        Ok(found)
    }
}

/// The environments of one revision.
struct Side<'a> {
    revision: &'a Revision,
    /// The folder that environments are in, if there are several.
    around: Option<&'a str>,
    /// The folders of environments with nodes, and of their modules, with links followed.
    own_folders: BTreeSet<String>,
}

impl Side<'_> {
    fn of(revision: &Revision) -> Result<Side<'_>, TreeError> {
        let environment = &revision.environment;
        let around = environment.folders().map(|folders| folders.around);
        let mut own_folders = BTreeSet::new();
        let nodes = revision.nodes_by_environment();
        let is_known = |name: &Option<_>| name.as_ref().is_none_or(|name| nodes.contains_key(name));
        for root in environment.roots().filter(|root| is_known(&root.name)) {
            let folders = root.module_folders.values().map(String::as_str);
            for folder in folders.chain([folder_of(&root.options.hiera_config)]) {
                if let Target::Folder(real) = follow(&*environment.tree, folder)? {
                    own_folders.insert(real);
                }
            }
        }
        Ok(Side { revision, around, own_folders })
    }

    /// Returns true for a file in an environment without nodes: one of several, or one in a usual place that the
    /// settings do not name.
    fn is_of_other(&self, path: &str) -> bool {
        if let Some(around) = self.around {
            return is_below(path, around) && !is_below_any(path, &self.own_folders);
        }
        let is_usual = |path: &str| {
            let around = path.strip_suffix(HIERA_YAML).and_then(|folder| folder.trim_end_matches('/').rsplit_once('/'));
            around.is_some_and(|(around, _)| USUAL_FOLDERS.iter().any(|usual| around.rsplit('/').next() == Some(usual)))
        };
        let is_used = |path: &str| {
            let mut configs = self.revision.environment.layers().filter_map(|layer| layer.config.as_ref().ok());
            path == self.revision.environment.options.hiera_config || configs.any(|config| *config.path == *path)
        };
        is_usual(path) && !is_used(path)
    }
}
