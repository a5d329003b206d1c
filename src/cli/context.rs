//! What subcommands share: the repository, the settings with flags laid over them, the fleet, the pipeline.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Global, Result};
use crate::fleet::Fleet;
use crate::git::{Environment, Repository, WorkTree};
use crate::hiera::hierarchy::Datadir;
use crate::hiera::layer::EnvironmentOptions;
use crate::node::{NodeProfile, ProfileError, read_profiles};
use crate::pipeline::{Pipeline, Point};
use crate::settings::{DatadirSetting, EnvironmentName, Settings};
use crate::tree::FileTree;

const SETTINGS_FILE: &str = "hierad.yaml";

/// The repository and the effective settings.
pub(super) struct Context {
    pub(super) repository: Arc<Repository>,
    pub(super) settings: Settings,
    threads: NonZeroUsize,
}

/// Profiles that were read, and what was wrong with others.
#[derive(Default)]
pub(super) struct Profiles {
    pub(super) profiles: Vec<NodeProfile>,
    pub(super) errors: Vec<ProfileError>,
}

impl Context {
    /// Finds the repository and reads the settings.
    pub(super) fn open(global: &Global) -> Result<Context> {
        let repository = Repository::locate(global.repo.as_deref(), &Environment::of_process())?;
        let mut settings = match settings_file(global, &repository) {
            Some(path) => Settings::load(&path)?,
            None => Settings::default(),
        };
        if !global.profiles.is_empty() {
            settings.profiles.clone_from(&global.profiles);
        }
        if let Some(path) = &global.hiera_config {
            settings.hiera_config = path.trim_start_matches("./").to_owned();
        }
        if let Some(puppet) = global.puppet {
            settings.puppet = puppet.into();
        }
        let one = NonZeroUsize::MIN;
        let threads = global.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(one);
        Ok(Context { repository: Arc::new(repository), settings, threads })
    }

    /// Reads the profiles; `branch` is the environment where the settings say so.
    pub(super) fn profiles(&self, branch: Option<&str>) -> Result<Profiles> {
        let environment: Arc<str> = match (&self.settings.environment, branch) {
            (EnvironmentName::Named(name), _) => name.clone(),
            (EnvironmentName::Branch, branch) => environment_of(branch.unwrap_or("production")).into(),
        };
        let mut read = Profiles::default();
        for path in &self.settings.profiles {
            for file in files(path)? {
                let content = std::fs::read(&file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
                let (profiles, errors) = read_profiles(&content, &file.display().to_string(), &environment);
                read.profiles.extend(profiles);
                read.errors.extend(errors);
            }
        }
        if self.settings.environment == EnvironmentName::Branch {
            read.profiles.iter_mut().for_each(|profile| profile.environment = environment.clone());
        }
        Ok(read)
    }

    /// The fleet of all profiles. A profile that cannot be read is told and left out.
    pub(super) fn fleet(&self, branch: Option<&str>) -> Result<Fleet> {
        if self.settings.profiles.is_empty() {
            return Err("no node profiles: name them with --profiles, or under 'profiles' in hierad.yaml".into());
        }
        let Profiles { profiles, errors } = self.profiles(branch)?;
        for error in &errors {
            anstream::eprintln!("hierad: {error}");
        }
        if profiles.is_empty() {
            let paths: Vec<String> = self.settings.profiles.iter().map(|path| path.display().to_string()).collect();
            return Err(format!("no node profile could be read from {}", paths.join(", ")).into());
        }
        Ok(Fleet::new(profiles))
    }

    /// A pipeline for `fleet`.
    pub(super) fn pipeline(&self, fleet: Fleet) -> Pipeline {
        Pipeline::new(self.repository.clone(), fleet, self.options(), self.threads)
    }

    /// The fleet of all profiles, as the current branch is deployed.
    pub(super) fn whole_fleet(&self) -> Result<Fleet> {
        let branch = self.repository.branch()?;
        self.fleet(branch.as_ref().map(crate::git::BranchName::as_str))
    }

    pub(super) fn options(&self) -> EnvironmentOptions {
        let datadir = |setting: &DatadirSetting| match setting {
            DatadirSetting::Tree(folder) => Datadir::Folder(folder.clone()),
            DatadirSetting::Disk(folder) => Datadir::Tree(Arc::new(WorkTree::new(folder)) as Arc<dyn FileTree>),
            DatadirSetting::None => Datadir::None,
        };
        EnvironmentOptions {
            puppet: self.settings.puppet,
            hiera_config: self.settings.hiera_config.clone(),
            datadirs: self.settings.datadirs.iter().map(|(from, to)| (from.clone(), datadir(to))).collect(),
            backends: self.settings.backends.clone(),
        }
    }

    /// The point that a revision names; `.` is the checked-out files.
    pub(super) fn point(&self, revision: &str) -> Result<Point> {
        if revision == "." {
            return Ok(Point::WorkTree);
        }
        Ok(Point::Commit(self.repository.resolve(revision)?))
    }
}

fn settings_file(global: &Global, repository: &Repository) -> Option<PathBuf> {
    if let Some(path) = &global.config {
        return Some(path.clone());
    }
    let folders = [repository.work_dir(), Some(repository.git_dir()), Some(repository.common_dir())];
    folders.into_iter().flatten().map(|folder| folder.join(SETTINGS_FILE)).find(|path| path.is_file())
}

/// r10k's name for the environment of a branch.
fn environment_of(branch: &str) -> String {
    branch.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// The profile files that a path means: itself, the files of a folder, or what a glob matches.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_dir() {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|e| format!("cannot read {}: {e}", path.display()))? {
            let file = entry?.path();
            if file.is_file() && is_profile_file(&file) {
                found.push(file);
            }
        }
        found.sort();
        return Ok(found);
    }
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    let text = path.to_string_lossy();
    if !crate::hiera::glob::is_pattern(&text) {
        return Err(format!("no node profiles at {}: there is no such file or folder", path.display()).into());
    }
    let absolute = std::path::absolute(path)?;
    let root = WorkTree::new("/");
    let found = crate::hiera::glob::glob(&root, absolute.to_string_lossy().trim_start_matches('/'))?;
    Ok(found.into_iter().map(|file| Path::new("/").join(file)).collect())
}

fn is_profile_file(path: &Path) -> bool {
    let known = ["yaml", "yml", "json", "ndjson", "jsonl"];
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !hidden && path.extension().is_some_and(|extension| known.iter().any(|known| extension == *known))
}
