//! What subcommands share: the repository, the settings with flags laid over them, the fleet, the pipeline.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::global::{absolute, global_config};
use super::progress::{Progress, Shown};
use super::{Failure, Global, Result, sample, secrets};
use crate::disclosure::Disclosure;
use crate::disk::Disk;
use crate::fleet::Fleet;
use crate::git::{BranchName, Environment, OpenError, Repository};
use crate::hiera::backend::{DataFiles, Declared, Shelf};
use crate::hiera::hierarchy::Datadir;
use crate::hiera::layer::{EnvironmentOptions, GlobalConfig, Store};
use crate::node::ProfileError;
use crate::pipeline::cache::Cache;
use crate::pipeline::host::Host;
use crate::pipeline::profiles::{self, EnvironmentOfNodes, ProfileFiles};
use crate::pipeline::{Pipeline, RevisionId, Revisions};
use crate::settings::{DatadirSetting, EnvironmentName, GlobalSetting, Settings, key_file, key_pair};
use crate::tree::FileTree;
use crate::workers::Workers;

const SETTINGS_FILE: &str = "hierad.yaml";

/// How many MiB of parsed data are kept where nobody says.
const CACHE_SIZE: u64 = 256;

/// The repository and the effective settings.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) repository: Arc<Repository>,
    pub(super) settings: Settings,
    /// What may be seen of secrets.
    pub(super) disclosure: Arc<Disclosure>,
    /// Who does the work, and tells `progress` how far it is.
    pub(super) workers: Workers,
    pub(super) progress: Progress,
    /// The hiera.yaml of the global layer.
    pub(super) global: Option<GlobalConfig>,
    disk: Arc<dyn FileTree>,
    store: Arc<Store>,
    cache: Option<Arc<Cache>>,
}

impl Context {
    /// Finds the repository and reads the settings.
    pub(super) fn open(global: &Global) -> Result<Context> {
        let located = Repository::locate(global.repo.as_deref(), &Environment::of_process());
        let repository = located.map_err(|error| not_located(error, global))?;
        let mut settings = match settings_file(global, &repository) {
            Some(path) => Settings::load(&path)?,
            None => Settings::default(),
        };
        if !global.profiles.is_empty() {
            settings.profiles.clone_from(&global.profiles);
        }
        if let Some(path) = &global.hiera_config {
            settings.hiera_config = hiera_config(path)?;
        }
        if let Some(path) = &global.global_hiera_config {
            settings.global_hiera_config = GlobalSetting::parse(path, Path::new(""));
        }
        let folders = |text: &String| -> Vec<String> {
            text.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned).collect()
        };
        if let Some(text) = &global.modulepath {
            settings.modulepath = Some(folders(text));
        }
        if let Some(text) = &global.basemodulepath {
            settings.basemodulepath = folders(text).into_iter().map(PathBuf::from).collect();
        }
        if let Some(private) = &global.pkcs7_private_key {
            let public = global.pkcs7_public_key.as_deref().map(key_file).transpose()?;
            settings.eyaml_keys = Some(key_pair(key_file(private)?, public));
        }
        if let Some(puppet) = global.puppet {
            settings.puppet = puppet.into();
        }
        if let Some(hiera) = global.hiera {
            settings.reader = hiera.into();
        }
        let progress = global.progress.clone();
        let workers = global.threads.map_or_else(Workers::default, |threads| Workers::of(threads.get()));
        let workers = Workers { progress: progress.listener(), ..workers };
        let disclosure = Arc::new(secrets::disclosure(global, settings.fingerprint_key.as_deref())?);
        let cache = cache(global, &repository);
        let limit = cache_size(global);
        let shelf = cache.clone().map(|cache| cache as Arc<dyn Shelf>);
        let store = Arc::new(Store { files: DataFiles::new(shelf, limit), ..Store::default() });
        let disk: Arc<dyn FileTree> = Arc::new(Disk::new());
        let global = global_config(&settings.global_hiera_config, &repository, &disk)?;
        Ok(Context {
            repository: Arc::new(repository),
            settings,
            disclosure,
            workers,
            progress,
            global,
            disk,
            store,
            cache,
        })
    }

    /// Shows how far the work is as long as what comes back is held: until there is something to print. Not where commands are
    /// asked, which may use the terminal themselves.
    pub(super) fn show_progress(&self) -> Option<Shown> {
        let is_command = |declared: &Declared| matches!(declared, Declared::Command(_));
        if self.settings.backends.values().any(is_command) { None } else { self.progress.show() }
    }

    /// The profiles of the nodes that are `chosen`, with what is mentioned at `points`; `branch` is the environment where the
    /// settings say so.
    pub(super) fn profiles(
        &self,
        revisions: &Revisions,
        branch: Option<&str>,
        points: &[RevisionId],
        chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<(Fleet, Vec<ProfileError>)> {
        let environment = self.environment_of_nodes(branch);
        let source =
            ProfileFiles::find(&self.settings.profiles, environment, self.workers.clone(), self.cache.clone())?;
        Ok(Fleet::load(Arc::new(source), &revisions.referenced_variables(points, &self.workers)?, chosen))
    }

    /// The branch that is checked out, where nodes are in the environment that is called so.
    pub(super) fn branch(&self) -> Result<Option<BranchName>> {
        match self.settings.environment {
            EnvironmentName::Named(_) => Ok(None),
            EnvironmentName::Branch => Ok(self.repository.branch()?),
        }
    }

    /// Which environment nodes are in, `branch` being looked at.
    pub(super) fn environment_of_nodes(&self, branch: Option<&str>) -> EnvironmentOfNodes {
        match (&self.settings.environment, branch) {
            (EnvironmentName::Named(name), _) => EnvironmentOfNodes::Declared(name.clone()),
            (EnvironmentName::Branch, branch) => {
                EnvironmentOfNodes::Fixed(environment_of(branch.unwrap_or("production")).into())
            }
        }
    }

    /// The fleet of the profiles that are `chosen`, as `branch` is deployed, with what is mentioned at `points`. A profile that
    /// cannot be read is told and left out.
    pub(super) fn fleet(
        &self,
        revisions: &Revisions,
        branch: Option<&BranchName>,
        points: &[RevisionId],
        chosen: &(dyn Fn(&str) -> bool + Sync),
        tell: &dyn Fn(&ProfileError),
    ) -> Result<Fleet> {
        if self.settings.profiles.is_empty() {
            return Err(self.no_profiles().into());
        }
        let [is_read, is_chosen] = [const { AtomicBool::new(false) }; 2];
        let (fleet, errors) = self.profiles(revisions, branch.map(BranchName::as_str), points, &|name| {
            is_read.store(true, Ordering::Relaxed);
            let chosen = chosen(name);
            is_chosen.fetch_or(chosen, Ordering::Relaxed);
            chosen
        })?;
        // Where all is empty, the failure says so of each path.
        let is_told = |error: &&ProfileError| !fleet.is_empty() || error.line.is_some();
        errors.iter().filter(is_told).for_each(tell);
        if !fleet.is_empty() {
            return Ok(fleet);
        }
        if is_read.into_inner() && !is_chosen.into_inner() {
            return Err("no node matches --node".into());
        }
        let paths: Vec<String> = self.settings.profiles.iter().map(|path| path.display().to_string()).collect();
        let wanted = "YAML, JSON or NDJSON files, a node each";
        Err(format!("no node profile could be read from {}: wanted {wanted}", paths.join(", ")).into())
    }

    /// Keeps what was parsed for the next run.
    pub(super) fn save(&self) {
        if let Some(cache) = &self.cache {
            cache.save(&self.store.files);
        }
    }

    /// The files in the repository that are hierad's own and no data: settings and profiles.
    fn own_files(&self) -> BTreeSet<String> {
        let top = self.repository.work_dir().and_then(|top| top.canonicalize().ok());
        let inside = |path: PathBuf| {
            let real = path.canonicalize().ok()?;
            Some(real.strip_prefix(top.as_ref()?).ok()?.to_string_lossy().into_owned())
        };
        let files = |path: &PathBuf| {
            if path.is_dir() { vec![path.clone()] } else { profiles::files(path).unwrap_or_default() }
        };
        let profiles = self.settings.profiles.iter().flat_map(files).filter_map(inside);
        profiles.chain([SETTINGS_FILE.to_owned()]).filter(|path| !path.is_empty()).collect()
    }

    /// What to write where there are no profiles at all, by the hiera.yaml of the last commit.
    fn no_profiles(&self) -> String {
        let head = self.repository.resolve("HEAD").ok();
        let environment = head.and_then(|head| self.revisions().environment(RevisionId::Commit(head)).ok());
        let folder = self.repository.work_dir().unwrap_or(self.repository.git_dir());
        sample::no_profiles(environment.as_ref(), folder)
    }

    /// A pipeline over `revisions` for `fleet`.
    pub(super) fn pipeline(&self, revisions: Revisions, fleet: Arc<Fleet>) -> Pipeline {
        let pipeline = Pipeline::new(revisions, fleet, self.workers.clone(), self.disclosure.clone());
        pipeline.with_accepted(self.settings.accept.clone())
    }

    /// A pipeline for the nodes that are `chosen`, as `branch` is deployed, ready for `points`.
    pub(super) fn pipeline_for(
        &self,
        branch: Option<&BranchName>,
        points: &[RevisionId],
        chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Pipeline> {
        let tell = |error: &ProfileError| self.progress.print(&format_args!("hierad: {error}"));
        let revisions = self.revisions();
        let fleet = self.fleet(&revisions, branch, points, chosen, &tell)?;
        Ok(self.pipeline(revisions, Arc::new(fleet)))
    }

    /// The repository as the settings have it read.
    pub(super) fn revisions(&self) -> Revisions {
        Revisions::new(self.repository.clone(), self.options(), self.store.clone())
    }

    pub(super) fn options(&self) -> EnvironmentOptions {
        let datadir = |setting: &DatadirSetting| match setting {
            DatadirSetting::Tree(folder) => Datadir::Folder(folder.clone()),
            DatadirSetting::Disk(folder) => Datadir::Disk(absolute(folder)),
            DatadirSetting::None => Datadir::None,
        };
        EnvironmentOptions {
            puppet: self.settings.puppet,
            reader: self.settings.reader,
            hiera3_yaml_aliases: self.settings.hiera3_yaml_aliases,
            hiera_config: self.settings.hiera_config.clone(),
            datadirs: self.settings.datadirs.iter().map(|(from, to)| (from.clone(), datadir(to))).collect(),
            backends: self.settings.backends.clone(),
            eyaml_keys: self.settings.eyaml_keys.clone(),
            outside: Arc::new(Host),
            global: self.global.clone(),
            lookup_options: self.settings.lookup_options.clone(),
            modulepath: self.settings.modulepath.as_ref().map(|folders| folders.join(":")),
            basemodulepath: self.settings.basemodulepath.iter().map(|folder| absolute(folder)).collect(),
            own_files: self.own_files(),
            disk: self.disk.clone(),
        }
    }

    /// The point that a revision names; `.` is the checked-out files.
    pub(super) fn point(&self, revision: &str) -> Result<RevisionId> {
        if revision == "." {
            return Ok(RevisionId::WorkTree);
        }
        Ok(RevisionId::Commit(self.repository.resolve(revision)?))
    }

    /// The points that two revisions name.
    pub(super) fn points(&self, [from, to]: [&str; 2]) -> Result<(RevisionId, RevisionId)> {
        if [from, to].contains(&".") {
            return Ok((self.point(from)?, self.point(to)?));
        }
        let [from, to] = self.repository.resolve_all([from, to])?;
        Ok((RevisionId::Commit(from), RevisionId::Commit(to)))
    }
}

/// How many bytes of parsed data are kept.
fn cache_size(global: &Global) -> usize {
    let mebibytes = usize::try_from(global.cache_size.unwrap_or(CACHE_SIZE)).unwrap_or(usize::MAX);
    mebibytes.saturating_mul(1 << 20)
}

/// The cache on disk, in the git directory that all work trees share.
fn cache(global: &Global, repository: &Repository) -> Option<Arc<Cache>> {
    let limit = cache_size(global);
    let folder = repository.common_dir().join("hierad");
    (!global.no_cache && limit > 0).then(|| Arc::new(Cache::open(&folder, limit)))
}

/// Without `--repo` the folder is the current one, and its name helps more than a dot.
fn not_located(error: OpenError, global: &Global) -> Failure {
    match (error, std::env::current_dir()) {
        (OpenError::NotARepository { path }, Ok(here)) if global.repo.is_none() && path.as_os_str() == "." => {
            format!("{} is not in a git repository; name the data repository with --repo", here.display()).into()
        }
        (error, _) => error.into(),
    }
}

fn settings_file(global: &Global, repository: &Repository) -> Option<PathBuf> {
    if let Some(path) = global.config() {
        return Some(path.to_owned());
    }
    let folders = [repository.work_dir(), Some(repository.git_dir()), Some(repository.common_dir())];
    folders.into_iter().flatten().map(|folder| folder.join(SETTINGS_FILE)).find(|path| path.is_file())
}

/// The flag's path, which is one inside the repository.
fn hiera_config(path: &str) -> Result<String> {
    if path.starts_with('/') || path.split('/').any(|name| name == "..") {
        return Err(format!("--hiera-config must be a path inside the repository, from its root: not {path}").into());
    }
    Ok(path.trim_start_matches("./").to_owned())
}

/// r10k's name for the environment of a branch.
fn environment_of(branch: &str) -> String {
    branch.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
