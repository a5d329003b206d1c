//! The workspace of a run: the repository, the settings with the flags applied, and the caches of parsed data.
//!
//! Commands and the daemon make fleets and pipelines from a [`Workspace`]. It prints nothing: it reports unreadable
//! profiles to callers, which decide how to show them.

pub mod counting;
mod deployed;
mod fingerprints;
mod global_layer;
pub(in crate::app) mod history;
pub(super) mod inside;
pub(super) mod judge;
pub(super) mod node_pair;
pub(super) mod outside;
mod readings;
mod sample_profile;
pub(super) mod settings_files;
mod tree_profiles;
pub mod trust;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::guard::Guard;
use super::{Failure, Overrides, Result};
use tempfile::TempDir;

use crate::app::settings::{CheckSetting, Settings};
use crate::disclosure::Disclosure;
use crate::fleet::Fleet;
use crate::git::{BranchName, OpenError, Repository};
use crate::hiera::backend::{DataFiles, DeclaredFunction, FileMemory, ParsedFiles};
use crate::hiera::hierarchy::Datadir;
use crate::hiera::layer::{EnvironmentOptions, GlobalConfig, Store};
use crate::inventory::files::{self, EnvironmentOfNodes};
use crate::inventory::{AnswerSet, Inventory, Opened};
use crate::node::{Assignment, ProfileError, WhatIf};
use crate::pattern::nearest;
use crate::pipeline::cache::Cache;
use crate::pipeline::host::Host;
use crate::pipeline::judge::Judge;
use crate::pipeline::{ModuleClones, Pipeline, RevisionId, Revisions};
use crate::policy::Policies;
use crate::settings::{DatadirSetting, EnvironmentName, Limits, ProfileEntry, Refusal, SETTINGS_FILE};
use crate::workers::{Counted, Workers};

use inside::{absolute, read_from_revisions};
use judge::SettingsJudge;
use outside::Outside;
use settings_files::{FoundSettings, SettingsSources};
use tree_profiles::TreeProfiles;

/// The default size of parsed data to keep, in MiB.
const DEFAULT_CACHE_SIZE: u64 = 256;

/// The maximum number of variables to name as examples.
const MAX_EXAMPLES: usize = 5;

/// A repository, its effective settings, and the caches that all pipelines over it share. Cheap to clone.
#[derive(Clone)]
pub struct Workspace {
    /// The data repository.
    pub repository: Arc<Repository>,
    /// The settings with the flags applied.
    pub settings: Settings,
    /// The refused settings of the tree.
    pub refused: Vec<Refusal>,
    /// The rules by which secrets are shown.
    pub disclosure: Arc<Disclosure>,
    /// True if lookups return secrets themselves in place of their names, to compare them with Puppet's.
    pub compares_secrets: bool,
    /// Values that replace those of variables on all nodes.
    pub what_if: Vec<Assignment>,
    /// True to use the last answers of sources of nodes however old they are, since new ones are fetched elsewhere.
    pub takes_old_answers: bool,
    /// The answers of sources of nodes to use in place of the last ones.
    pub answers: Option<AnswerSet>,
    /// The threads that resolve.
    pub workers: Workers,
    guard: Arc<Guard>,
    pub(super) judge: Arc<SettingsJudge>,
    pub(super) sources: Arc<SettingsSources>,
    outside: Arc<Outside>,
    clones: Arc<ModuleClones>,
    store: Arc<Store>,
    cache: Option<Arc<Cache>>,
    stage: Option<Arc<Stage>>,
}

/// Profiles of another revision.
struct Stage {
    _folder: TempDir,
    /// The files of the repository that are not data, according to the checked-out settings.
    own_files: BTreeSet<String>,
}

impl Workspace {
    /// Finds the repository, reads the settings and overrides them with the flags.
    pub fn open(overrides: &Overrides) -> Result<Workspace> {
        let repository = Arc::new(overrides.repository().map_err(|error| not_located(error, overrides))?);
        let found = settings_files::find(overrides, &repository)?;
        let mut settings = found.settings.clone();
        overrides.apply_to(&mut settings)?;
        read_from_revisions(&repository, &mut settings);
        let profiles = TreeProfiles::of(&repository, &settings);
        let judge = Arc::new(SettingsJudge::new(repository.clone(), &found, profiles));
        let FoundSettings { refused, trusted, is_tree_trusted, .. } = found;
        let sources = Arc::new(SettingsSources { overrides: overrides.clone(), trusted, is_tree_trusted });
        repository.limit_files(settings.limits.file);
        let basemodulepath: Vec<String> = settings.basemodulepath.iter().map(|folder| absolute(folder)).collect();
        settings.backends.bridges.iter().for_each(|bridge| bridge.open(&repository, &basemodulepath));
        let disclosure = Arc::new(fingerprints::disclosure(overrides, settings.fingerprint_key.as_deref())?);
        let cache = cache(overrides, &repository);
        let earlier = cache.clone().map(|cache| cache as Arc<dyn ParsedFiles>);
        let store = Arc::new(Store {
            files: DataFiles::new(earlier, file_memory(overrides, &settings.limits)),
            ..Store::default()
        });
        let clones = Arc::new(ModuleClones::in_folders(settings.module_clones.clone()));
        let outside = Arc::new(Outside::find(&settings.global_hiera_config, &repository)?);
        let guard = Arc::new(Guard::begun(&settings.limits));
        let stop = Arc::new(Counted::new(guard.clone()));
        let workers = Workers { limits: settings.limits.run, stop, ..overrides.workers() };
        Ok(Workspace {
            repository,
            settings,
            refused,
            disclosure,
            compares_secrets: false,
            what_if: Vec::new(),
            takes_old_answers: false,
            answers: None,
            workers,
            guard,
            judge,
            sources,
            outside,
            clones,
            store,
            cache,
            stage: None,
        })
    }

    /// Returns the same workspace with other settings; profiles in the tree are read from `stage`.
    pub(super) fn with_reading(&self, settings: Settings, outside: Outside, stage: TempDir) -> Workspace {
        Workspace {
            settings,
            outside: Arc::new(outside),
            takes_old_answers: true,
            stage: Some(Arc::new(Stage { _folder: stage, own_files: self.own_files() })),
            ..self.clone()
        }
    }

    /// Returns the same workspace with a separate guard, whose time begins with its next run.
    pub(super) fn with_own_guard(&self) -> Workspace {
        let guard = Arc::new(Guard::idle(&self.settings.limits));
        let stop = Arc::new(Counted::new(guard.clone()));
        Workspace { workers: Workers { stop, ..self.workers.clone() }, guard, ..self.clone() }
    }

    /// Returns the same workspace with these answers of sources of nodes.
    pub(super) fn with_answers(&self, answers: Option<AnswerSet>) -> Workspace {
        Workspace { answers, ..self.clone() }
    }

    /// Returns the hiera.yaml of the global layer, or `None` if there is none.
    pub fn global(&self) -> Option<&GlobalConfig> {
        self.outside.global()
    }

    /// Returns the state of everything that is read outside of the repository.
    pub(super) fn outside(&self) -> &Arc<Outside> {
        &self.outside
    }

    /// Reads files outside of the repository again if they have changed, and returns true if so.
    pub(super) fn renew_outside(&mut self) -> Result<bool> {
        let global = &self.settings.global_hiera_config;
        if self.outside.is_current(global) {
            return Ok(false);
        }
        self.outside = Arc::new(Outside::find(global, &self.repository)?);
        Ok(true)
    }

    /// Returns the guard of its runs.
    pub(super) fn guard(&self) -> Arc<Guard> {
        self.guard.clone()
    }

    /// Returns the workspace with all nodes in an environment, or as it is if there is none.
    pub fn in_environment(&self, environment: Option<&str>) -> Result<Workspace> {
        let mut workspace = self.clone();
        if let Some(environment) = environment {
            workspace.what_if = vec![format!("environment={environment}").parse::<Assignment>()?];
        }
        Ok(workspace)
    }

    /// Returns true if the settings declare commands as backends, which may use the terminal themselves.
    pub fn runs_commands(&self) -> bool {
        self.settings.backends.functions.values().any(|declared| matches!(declared, DeclaredFunction::Command(_)))
    }

    /// Reads the profiles of the `chosen` nodes, keeping the variables that `points` mention. Returns them with the
    /// profiles that cannot be read. `branch` is the environment of all nodes if the settings say so.
    pub fn profiles(
        &self,
        revisions: &Revisions,
        branch: Option<&str>,
        points: &[RevisionId],
        chosen: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<(Fleet, Vec<ProfileError>)> {
        let referenced = revisions.referenced_variables(points, &self.workers);
        let Opened { mut source, notices } = self.inventory(branch).open(&referenced.wanted())?;
        if !self.what_if.is_empty() {
            source = Arc::new(WhatIf::new(source, self.what_if.clone()));
        }
        let start = Instant::now();
        let (fleet, errors) = Fleet::load(source, &referenced, chosen);
        tracing::info!(nodes = fleet.len(), faulty = errors.len(), took = ?start.elapsed(), "profiles are read");
        // Without revisions it is unknown what data reads.
        let unread = if points.is_empty() { Vec::new() } else { self.unread(&fleet.known_variables()) };
        Ok((fleet, notices.into_iter().chain(unread).chain(errors).collect()))
    }

    /// Returns notices about values of `what_if` that no data reads: they change nothing.
    pub fn unread(&self, names: &BTreeSet<String>) -> Vec<ProfileError> {
        let unread = self.what_if.iter().filter(|set| !names.iter().any(|name| set.concerns(name)));
        let so = if self.runs_commands() { "; functions may" } else { ", so it changes nothing" };
        let notice = |set: &Assignment| {
            let names = || names.iter().map(String::as_str);
            let near = nearest(&set.name(), names(), MAX_EXAMPLES);
            let some = near.iter().copied().chain(names().filter(|name| !near.contains(name))).take(MAX_EXAMPLES);
            let some = some.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
            let read = match names().count().saturating_sub(MAX_EXAMPLES) {
                _ if some.is_empty() => String::new(),
                0 => format!("; they read {some}"),
                more => format!("; they read {some} and {more} more"),
            };
            let text = format!("no data and no hierarchy reads this variable{so}{read}");
            ProfileError { path: set.to_string(), line: None, text }
        };
        unread.map(notice).collect()
    }

    /// Returns the entries of `profiles`, ready to be opened or fetched. `branch` is the environment of all nodes if
    /// the settings say so.
    pub fn inventory(&self, branch: Option<&str>) -> Inventory {
        Inventory {
            entries: self.settings.profiles.clone(),
            within: self.settings.profiles_within.clone(),
            folder: self.repository.common_dir().join("hierad").join("nodes"),
            takes_old_answers: self.takes_old_answers,
            answers: self.answers.clone(),
            environment: self.environment_of_nodes(branch),
            workers: self.workers.clone(),
            cache: self.cache.clone(),
        }
    }

    /// Returns the branch of a revision if a branch's name is the environment of all nodes, or `None` if nodes
    /// declare their own or `what_if` sets it.
    pub fn branch(&self, revision: &str) -> Result<Option<BranchName>> {
        let is_set = self.what_if.iter().any(Assignment::is_of_environment);
        let is_of_branch = self.settings.environment.is_of_branch() && !is_set;
        is_of_branch.then(|| deployed::branch(&self.repository, revision)).transpose()
    }

    /// Returns the branch of a revision, whatever the environment of the nodes is, or `None` if it is unknown.
    pub fn branch_name(&self, revision: &str) -> Option<BranchName> {
        deployed::branch(&self.repository, revision).ok()
    }

    /// Returns the environment of the nodes when `branch` is deployed.
    pub fn environment_of_nodes(&self, branch: Option<&str>) -> EnvironmentOfNodes {
        match (&self.settings.environment, branch) {
            (EnvironmentName::Named(name), _) => EnvironmentOfNodes::Declared(name.clone()),
            (EnvironmentName::Branch(before, after), branch) => {
                let name = environment_of(branch.unwrap_or("production"));
                EnvironmentOfNodes::Fixed(format!("{before}{name}{after}").into())
            }
        }
    }

    /// Reads the fleet of the `chosen` nodes when `branch` is deployed, keeping the variables that `points` mention.
    /// Profiles that cannot be read are reported and left out.
    pub fn fleet(
        &self,
        revisions: &Revisions,
        branch: Option<&BranchName>,
        points: &[RevisionId],
        chosen: &(dyn Fn(&str) -> bool + Sync),
        report: &dyn Fn(&ProfileError),
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
        // If there is no profile at all, the failure below names each path.
        let is_reported = |error: &&ProfileError| !fleet.is_empty() || error.line.is_some();
        errors.iter().filter(is_reported).for_each(report);
        if !fleet.is_empty() {
            return Ok(fleet);
        }
        if is_read.into_inner() && !is_chosen.into_inner() {
            return Err("no node matches --node".into());
        }
        let paths: Vec<String> = self.settings.profiles.iter().map(ProfileEntry::to_string).collect();
        let expected = "YAML, JSON or NDJSON files, a node each";
        Err(format!("no node profile could be read from {}: expected {expected}", paths.join(", ")).into())
    }

    /// Keeps nothing for the next run, for long-running programs that do not save it.
    pub(super) fn keep_nothing(&self) {
        if let Some(cache) = &self.cache {
            cache.keep_nothing();
        }
    }

    /// Saves parsed data for the next run.
    pub fn save(&self) {
        if let Some(cache) = &self.cache {
            cache.save(&self.store.files);
        }
    }

    /// Returns the files of the repository that are not data: settings and profiles.
    fn own_files(&self) -> BTreeSet<String> {
        let top = self.repository.work_dir().and_then(|top| top.canonicalize().ok());
        let inside = |path: PathBuf| {
            let real = path.canonicalize().ok()?;
            Some(real.strip_prefix(top.as_ref()?).ok()?.to_string_lossy().into_owned())
        };
        let (folders, paths): (Vec<&PathBuf>, Vec<&PathBuf>) =
            self.settings.profile_paths().partition(|path| path.is_dir());
        let files = files::files(paths.into_iter());
        let profiles = folders.into_iter().cloned().chain(files).filter_map(inside);
        let staged = self.stage.iter().flat_map(|stage| stage.own_files.iter().cloned());
        profiles.chain(staged).chain([SETTINGS_FILE.to_owned()]).filter(|path| !path.is_empty()).collect()
    }

    /// Returns the error for a workspace without profiles, with a sample for the hiera.yaml of the last commit.
    fn no_profiles(&self) -> String {
        let head = self.repository.resolve("HEAD").ok();
        let environment = head.and_then(|head| self.revisions().environment(RevisionId::Commit(head)).ok());
        let own = self.repository.git_dir().join(SETTINGS_FILE);
        let folder = self.repository.work_dir().unwrap_or(self.repository.git_dir());
        let found = || if own.is_file() { own } else { folder.join(SETTINGS_FILE) };
        let settings = self.sources.overrides.config().map_or_else(found, PathBuf::from);
        sample_profile::no_profiles(environment.as_ref(), &settings)
    }

    /// Returns the faults that `hierad check` reports in revisions after `base`.
    pub fn check_setting(&self, base: RevisionId) -> CheckSetting {
        self.judge.check(base)
    }

    /// Returns the policies to try on past commits: the trusted ones, or else those of the checked-out file or,
    /// without one, of `tip`. Trying a rule harms nobody, whoever writes it.
    pub fn policies_to_try(&self, tip: RevisionId) -> Result<Policies> {
        Ok(self.judge.policies_to_try(tip)?)
    }

    /// Returns true if changes are judged by policies, given the revision that judges.
    pub fn has_policies(&self, judge: RevisionId) -> bool {
        self.judge.has_policies(judge)
    }

    /// Logs the refused settings of the tree.
    pub fn log_refused(&self) {
        for refusal in &self.refused {
            tracing::warn!("{refusal}");
        }
    }

    /// Makes a pipeline over `revisions` for `fleet`.
    pub fn pipeline(&self, revisions: Revisions, fleet: Arc<Fleet>) -> Pipeline {
        let pipeline = Pipeline::new(revisions, fleet, self.workers.clone(), self.disclosure.clone());
        pipeline.with_judge(self.judge.clone())
    }

    /// Returns the revisions of the repository, read as the settings say.
    pub fn revisions(&self) -> Revisions {
        let revisions = Revisions::new(self.repository.clone(), self.options(), self.store.clone());
        revisions.with_module_clones(self.clones.clone())
    }

    fn options(&self) -> EnvironmentOptions {
        let datadir = |setting: &DatadirSetting| match setting {
            DatadirSetting::Tree(folder) => Datadir::Folder(folder.clone()),
            DatadirSetting::Disk(folder) => Datadir::Disk(absolute(folder)),
            DatadirSetting::None => Datadir::None,
        };
        EnvironmentOptions {
            puppet: self.settings.puppet,
            ruby: self.settings.ruby.unwrap_or_else(|| self.settings.puppet.ruby()),
            reader: self.settings.reader,
            hiera3_yaml_aliases: self.settings.hiera3_yaml_aliases,
            hiera_config: self.settings.hiera_config.clone(),
            datadirs: self.settings.datadirs.iter().map(|(from, to)| (from.clone(), datadir(to))).collect(),
            backends: self.settings.backends.functions.clone(),
            eyaml: self.settings.eyaml.clone(),
            secret_names: if self.compares_secrets { None } else { self.disclosure.names() },
            host: Arc::new(Host),
            global: self.global().cloned(),
            lookup_options: self.settings.lookup_options.clone(),
            reads_manifests: self.settings.reads_manifests,
            variables: self.settings.variables.from_data.clone(),
            derived: self.settings.variables.derived.clone(),
            modulepath: self.settings.modulepath.as_ref().map(|folders| folders.join(":")),
            basemodulepath: self.settings.basemodulepath.iter().map(|folder| absolute(folder)).collect(),
            own_files: self.own_files(),
            disk: self.outside.disk(),
        }
    }

    /// Returns the point that a revision names; `.` stands for the checked-out files.
    pub fn point(&self, revision: &str) -> Result<RevisionId> {
        if revision == "." {
            return Ok(RevisionId::WorkTree);
        }
        Ok(RevisionId::Commit(self.repository.resolve(revision)?))
    }

    /// Returns the points that two revisions name.
    pub fn points(&self, [from, to]: [&str; 2]) -> Result<(RevisionId, RevisionId)> {
        if [from, to].contains(&".") {
            return Ok((self.point(from)?, self.point(to)?));
        }
        let [from, to] = self.repository.resolve_all([from, to])?;
        Ok((RevisionId::Commit(from), RevisionId::Commit(to)))
    }
}

/// Returns the number of bytes of parsed data to keep.
fn cache_size(overrides: &Overrides) -> usize {
    let mebibytes = usize::try_from(overrides.cache_size.unwrap_or(DEFAULT_CACHE_SIZE)).unwrap_or(usize::MAX);
    mebibytes.saturating_mul(1 << 20)
}

/// Returns the memory that data files may take.
fn file_memory(overrides: &Overrides, limits: &Limits) -> FileMemory {
    let (memory_share, FileMemory { read, .. }) = (limits.memory_of_files(), FileMemory::default());
    FileMemory { kept: cache_size(overrides).min(memory_share), read: read.min(memory_share) }
}

/// Opens the cache on disk, in the git directory that all work trees share, or returns `None` if it is turned off.
fn cache(overrides: &Overrides, repository: &Repository) -> Option<Arc<Cache>> {
    let limit = cache_size(overrides);
    let folder = repository.common_dir().join("hierad");
    (!overrides.no_cache && limit > 0).then(|| Arc::new(Cache::open(&folder, limit)))
}

/// Returns the failure, with the current folder in place of a dot, which is the path without `--repo`.
fn not_located(error: OpenError, overrides: &Overrides) -> Failure {
    match (error, std::env::current_dir()) {
        (OpenError::NotARepository { path }, Ok(here)) if overrides.repo.is_none() && path.as_os_str() == "." => {
            format!("{} is not in a git repository; name the data repository with --repo", here.display()).into()
        }
        (error, _) => error.into(),
    }
}

/// Returns the name that r10k gives to the environment of a branch.
fn environment_of(branch: &str) -> String {
    branch.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
