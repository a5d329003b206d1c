//! Everything that a workspace reads outside of its repository, in one state: files on disk and the global layer.

use std::sync::Arc;

use super::global_layer::GlobalLayer;
use crate::app::Result;
use crate::disk::Disk;
use crate::git::Repository;
use crate::hiera::layer::GlobalConfig;
use crate::settings::GlobalSetting;

/// One state of modules, datadirs and the global layer outside of the repository.
pub(in crate::app) struct Outside {
    disk: Arc<Disk>,
    global: GlobalLayer,
}

impl Outside {
    /// Finds the global layer, and begins with nothing read from the disk.
    pub(in crate::app) fn find(global: &GlobalSetting, data: &Repository) -> Result<Outside> {
        let disk = Arc::new(Disk::new());
        let global = GlobalLayer::find(global, data, &disk)?;
        Ok(Outside { disk, global })
    }

    /// Returns true if everything that was read is unchanged.
    pub(in crate::app) fn is_current(&self, global: &GlobalSetting) -> bool {
        self.global.is_current(global) && self.disk.is_current()
    }

    pub(in crate::app) fn disk(&self) -> Arc<Disk> {
        self.disk.clone()
    }

    pub(in crate::app) fn global(&self) -> Option<&GlobalConfig> {
        self.global.config.as_ref()
    }
}
