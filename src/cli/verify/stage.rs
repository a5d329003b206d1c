//! The temporary folder: the files of a revision as a Puppet environment, and what Puppet itself writes.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::Result;
use crate::settings::{DatadirSetting, Settings};
use crate::tree::{Entry, FileTree};

/// The temporary folder.
pub(super) struct Stage {
    folder: TempDir,
}

impl Stage {
    pub(super) fn new() -> Result<Stage> {
        let stage = Stage { folder: tempfile::Builder::new().prefix("hierad_verify_").tempdir()? };
        for name in ["files", "nothing", "tmp"] {
            fs::create_dir(stage.path(name))?;
        }
        Ok(stage)
    }

    /// A path below the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder that is the environment.
    pub(super) fn environment(&self) -> PathBuf {
        let root = fs::read_to_string(self.path("root")).unwrap_or_default();
        self.path("files").join(root)
    }

    /// Writes the files of `tree`, links kept. Datadirs that the settings map are put in place of the written ones.
    pub(super) fn write(&self, tree: &dyn FileTree, settings: &Settings) -> Result<()> {
        let writer = Writer { tree, datadirs: self.datadirs(settings) };
        writer.folder("", &self.path("files"))?;
        let (root, name) = settings.hiera_config.rsplit_once('/').unwrap_or(("", &settings.hiera_config));
        fs::write(self.path("root"), root)?;
        let config = self.path("files").join(root);
        if name != "hiera.yaml" && config.join(name).is_file() {
            // Puppet knows the environment's configuration under one name only.
            fs::copy(config.join(name), config.join("hiera.yaml"))?;
        }
        Ok(())
    }

    /// What stands in hiera.yaml, and the folder that is meant.
    fn datadirs(&self, settings: &Settings) -> Vec<(String, String)> {
        let target = |setting: &DatadirSetting| match setting {
            DatadirSetting::Tree(folder) => self.path("files").join(folder.trim_start_matches("./")),
            DatadirSetting::Disk(folder) => folder.clone(),
            DatadirSetting::None => self.path("nothing"),
        };
        settings.datadirs.iter().map(|(from, to)| (from.clone(), target(to).display().to_string())).collect()
    }
}

struct Writer<'a> {
    tree: &'a dyn FileTree,
    datadirs: Vec<(String, String)>,
}

impl Writer<'_> {
    fn folder(&self, path: &str, target: &Path) -> Result<()> {
        fs::create_dir_all(target)?;
        for (name, entry) in self.tree.list(path)? {
            if path.is_empty() && name == ".git" {
                continue;
            }
            let target = target.join(&name);
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            match entry {
                Entry::File(id) => fs::write(&target, self.content(&path, self.tree.read(id)?))?,
                Entry::Folder => self.folder(&path, &target)?,
                Entry::Link(to) => link(&to, &target)?,
                Entry::Submodule => {}
            }
        }
        Ok(())
    }

    fn content(&self, path: &str, content: Vec<u8>) -> Vec<u8> {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        if self.datadirs.is_empty() || !name.contains("hiera") {
            return content;
        }
        match String::from_utf8(content) {
            Ok(text) => self.datadirs.iter().fold(text, |text, (from, to)| text.replace(from, to)).into_bytes(),
            Err(error) => error.into_bytes(),
        }
    }
}

#[cfg(unix)]
fn link(to: &str, at: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> std::io::Result<()> {
    Ok(())
}
