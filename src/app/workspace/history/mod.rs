//! The index of the repository's history, if answers depend on nothing else than commits, settings and facts.

pub(in crate::app) mod facts;

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::settings::Settings;
use crate::app::{Result, Workspace};
use crate::fleet::Fleet;
use crate::git::{BranchName, Repository};
use crate::hiera::backend::DeclaredFunction;
use crate::history::index::Index;
use crate::settings::GlobalSetting;

/// Returns the folder of a repository's index, which need not exist.
pub(in crate::app) fn index_folder(repository: &Repository) -> PathBuf {
    repository.common_dir().join("hierad").join("history")
}

impl Workspace {
    /// Opens the index of the history for `fleet`, when `branch` is deployed. Returns `None` if nothing is cached, or
    /// if answers depend on programs or on other repositories.
    pub fn history_index(&self, fleet: Arc<Fleet>, branch: Option<&BranchName>) -> Result<Option<Index>> {
        let Settings { backends, global_hiera_config, module_clones, .. } = &self.settings;
        let runs_programs = backends.functions.values().any(|one| matches!(one, DeclaredFunction::Command(_)));
        let is_elsewhere = matches!(global_hiera_config, GlobalSetting::Repository { .. }) || !module_clones.is_empty();
        if self.cache.is_none() || runs_programs || is_elsewhere || !self.what_if.is_empty() {
            return Ok(None);
        }
        let environment = self.environment_of_nodes(branch.map(BranchName::as_str));
        let folder = index_folder(&self.repository);
        let settings = format!("{:?} {environment:?}", self.settings);
        Ok(Some(Index::open(&folder, fleet, &settings, self.outside().disk())?))
    }
}
