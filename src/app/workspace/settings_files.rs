//! Finds the settings files of a run, and decides by their places which of them are trusted.
//!
//! The first trusted file takes precedence: the one that `--config` names, else that of the git directory, of the
//! user or of the system. The file in the tree adds settings that this file lacks, if they count there: see
//! [`Origin`].

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::trust::TrustStore;
use crate::app::settings::{Combined, Settings};
use crate::app::{Overrides, Result};
use crate::disk;
use crate::git::Repository;
use crate::report::shorten;
use crate::settings::{
    MAX_SETTINGS_SIZE, Origin, Refusal, RepositorySource, SETTINGS_FILE, SettingsError, SettingsFile, TreeFolder,
};
use crate::visible::visible;

/// The settings of the system.
const SYSTEM_SETTINGS: &str = "/etc/hierad/hierad.yaml";

/// The settings of a run.
#[derive(Debug, Default)]
pub(in crate::app) struct FoundSettings {
    pub(super) settings: Settings,
    pub(super) refused: Vec<Refusal>,
    /// The file of the tree, unless it is trusted.
    pub(super) tree: Option<SettingsFile>,
    /// The first trusted file, if there is one.
    pub(super) trusted: Option<SettingsFile>,
    /// True if that is the file of the tree.
    pub(super) is_tree_trusted: bool,
    /// The paths in the tree at which settings are read; the first is that of the settings that judge a change.
    pub(super) paths: Vec<String>,
    /// The files in order of precedence, the strongest first.
    pub(super) files: Vec<SettingsFile>,
    /// False if settings that belong to the daemon are ignored.
    pub(super) daemon_settings_apply: bool,
}

/// The files and flags that settings come from, besides the file of the tree.
pub(in crate::app) struct SettingsSources {
    pub(super) overrides: Overrides,
    /// The first trusted file, if there is one.
    pub(super) trusted: Option<SettingsFile>,
    /// True if that is the file of the tree.
    pub(super) is_tree_trusted: bool,
}

impl SettingsSources {
    /// Returns the settings with another `tree` file in place of the checked-out one.
    pub(super) fn settings(&self, tree: Option<SettingsFile>) -> Result<Settings> {
        let tree = tree.filter(|_| !self.is_tree_trusted);
        let files: Vec<SettingsFile> = self.trusted.iter().cloned().chain(tree).collect();
        let mut settings = Settings::combine(&files)?.settings;
        self.overrides.apply_to(&mut settings)?;
        Ok(settings)
    }
}

/// The maximum width of a fault in a file of the tree, which anybody may have written.
const MAX_FAULT: usize = 200;

/// The places of a repository that decide which files are trusted.
pub(super) struct TrustRules<'a> {
    repository: &'a Repository,
    /// The top folders of the work trees that commits write to, with all links resolved: that of the repository, and
    /// that of another repository around its git directory.
    roots: Vec<PathBuf>,
    /// The git directories, which no commit writes to.
    git_dirs: Vec<PathBuf>,
    /// The records of trust, if no commit can have written them.
    trusted: Option<TrustStore>,
}

impl TrustRules<'_> {
    pub(super) fn of(repository: &Repository) -> TrustRules<'_> {
        let real = |path: &Path| path.canonicalize().ok();
        let is_inside = repository.enclosing_work_dir().is_some();
        let own = [repository.git_dir(), repository.common_dir()];
        let git_dirs = own.into_iter().filter(|_| !is_inside).filter_map(real).collect();
        let roots = repository.folders_of_commits().filter_map(|top| real(&top)).collect();
        TrustRules { repository, roots, git_dirs, trusted: TrustStore::of(repository).ok() }
    }

    /// Returns the top of the tree that contains a path. The path's folder must have its links resolved.
    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        if self.git_dirs.iter().any(|git| path.starts_with(git)) {
            return None;
        }
        let root = self.roots.iter().find(|root| path.starts_with(root)).cloned();
        root.or_else(|| self.repository.checkout_at(path.parent()?))
    }

    /// Returns the folder of a file of the tree, with the path to read it at, or `None` if no commit can write the
    /// file.
    fn locate_in_tree(&self, path: &Path) -> Option<(TreeFolder, PathBuf)> {
        let folder_of = |path: &Path| {
            let root = self.root_of(path)?;
            let folder = path.parent()?.strip_prefix(&root).ok()?.to_owned();
            Some(TreeFolder { root, folder })
        };
        // A link in the tree is part of it, wherever it leads; so does a file in it that links elsewhere lead to.
        let whole = std::path::absolute(path).ok()?;
        let named = whole.parent().and_then(|folder| Some(folder.canonicalize().ok()?.join(whole.file_name()?)));
        if let Some(folder) = named.and_then(|named| folder_of(&named)) {
            return Some((folder, path.to_owned()));
        }
        let real = path.canonicalize().ok()?;
        Some((folder_of(&real)?, real))
    }

    /// Returns the paths in the tree at which settings are read, whether they exist or not: that of the `named` file,
    /// if it is in the tree, and the usual one, unless the named file replaces it. The path of a trusted file comes
    /// last, since such a file does not judge.
    fn paths_in_tree(&self, overrides: &Overrides, named: Option<&SettingsFile>) -> Vec<String> {
        let named_path = overrides.config().and_then(|path| {
            let (place, path) = self.locate_in_tree(path)?;
            Some(place.folder.join(path.file_name()?).to_str()?.to_owned())
        });
        let usual = SETTINGS_FILE.to_owned();
        match (named_path, named.is_some_and(|file| file.origin == Origin::Trusted)) {
            (Some(path), false) => vec![path],
            (Some(path), true) if path != usual => vec![usual, path],
            _ => vec![usual],
        }
    }

    /// Reads a file by the rules of its place.
    pub(super) fn read(&self, path: &Path) -> std::result::Result<SettingsFile, SettingsError> {
        let Some((folder, path)) = self.locate_in_tree(path) else { return SettingsFile::trusted(path) };
        let content = disk::read_below(&folder.root, &path, MAX_SETTINGS_SIZE);
        let file = SettingsFile::new(&path, content, Origin::Tree(folder))?;
        let origin =
            if self.trusted.as_ref().is_some_and(|trusted| trusted.has(&file)) { Origin::Trusted } else { file.origin };
        Ok(SettingsFile { origin, ..file })
    }
}

/// Finds the settings of a run in `repository`, and combines them.
pub(in crate::app) fn find(overrides: &Overrides, repository: &Repository) -> Result<FoundSettings> {
    let trust_rules = TrustRules::of(repository);
    let named = overrides.config().map(|path| trust_rules.read(path)).transpose()?;
    let paths = trust_rules.paths_in_tree(overrides, named.as_ref());
    let (mut tree, mut first_trusted) = match named {
        Some(file) if file.origin == Origin::Trusted => (None, Some(file)),
        named => (named, None),
    };
    let mut refused = Vec::new();
    let mut is_shared = false;
    if first_trusted.is_none() {
        (first_trusted, is_shared) = trust_rules.find_trusted(repository, overrides, &mut refused)?;
    }
    let own = repository.work_dir().map(|top| top.join(SETTINGS_FILE));
    if let Some(path) = own.filter(|path| tree.is_none() && path.symlink_metadata().is_ok()) {
        match trust_rules.read(&path) {
            Ok(file) => tree = Some(file),
            Err(error) => refused.push(refuse_whole_file(&error)),
        }
    }
    let is_needed = first_trusted.is_none() && overrides.profiles.is_empty();
    let (mut combined, is_faulty) = combine(first_trusted.as_ref(), tree.as_ref(), is_needed)?;
    let daemon_settings_apply = !is_shared || combined.settings.repositories.is_empty();
    if !daemon_settings_apply {
        combined.settings = combined.settings.without_daemon();
    }
    refused.extend(combined.refused);
    let files: Vec<SettingsFile> = first_trusted.iter().chain(tree.iter().filter(|_| !is_faulty)).cloned().collect();
    for file in &files {
        tracing::info!(path = %file.path.display(), trusted = file.origin == Origin::Trusted, "settings are read");
    }
    let (trusted_tree, tree) = match tree {
        Some(file) if file.origin == Origin::Trusted => (Some(file), None),
        tree => (None, tree.filter(|_| !is_faulty)),
    };
    let is_tree_trusted = trusted_tree.is_some();
    let (settings, trusted) = (combined.settings, first_trusted.or(trusted_tree));
    Ok(FoundSettings { settings, refused, tree, trusted, is_tree_trusted, paths, files, daemon_settings_apply })
}

impl TrustRules<'_> {
    /// Returns the first trusted file in the usual places, and true if it is not specific to this repository.
    fn find_trusted(
        &self,
        repository: &Repository,
        overrides: &Overrides,
        refused: &mut Vec<Refusal>,
    ) -> Result<(Option<SettingsFile>, bool)> {
        let own = [repository.git_dir(), repository.common_dir()].map(|folder| (folder.join(SETTINGS_FILE), false));
        let shared = user_and_system_files().into_iter().filter(|_| !overrides.is_isolated).map(|path| (path, true));
        for (path, is_shared) in own.into_iter().chain(shared) {
            if !path.is_file() {
                continue;
            }
            match self.read(&path) {
                Ok(file) if file.origin == Origin::Trusted => return Ok((Some(file), is_shared)),
                Ok(file) => refused.push(Refusal {
                    path: file.path,
                    line: None,
                    setting: "",
                    text: "this file does not count, as it is inside of the tree".to_owned(),
                    is_whole: true,
                    is_missed: true,
                }),
                // The system's settings may be only for its daemon.
                Err(SettingsError::Read { source, .. })
                    if is_shared && source.kind() == ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((None, false))
    }
}

/// Combines a trusted file and that of the tree. A fault in the latter is an error only if it is needed; else returns
/// true, and the file does not count.
fn combine(
    first_trusted: Option<&SettingsFile>,
    tree: Option<&SettingsFile>,
    is_needed: bool,
) -> std::result::Result<(Combined, bool), SettingsError> {
    let first_trusted: Vec<SettingsFile> = first_trusted.into_iter().cloned().collect();
    let all: Vec<SettingsFile> = first_trusted.iter().chain(tree).cloned().collect();
    match Settings::combine(&all) {
        Err(error) if !is_needed && tree.is_some_and(|tree| tree.origin != Origin::Trusted) => {
            let mut combined = Settings::combine(&first_trusted)?;
            combined.refused.push(refuse_whole_file(&error));
            Ok((combined, true))
        }
        combined => Ok((combined?, false)),
    }
}

/// Makes the refusal of a whole file of the tree.
fn refuse_whole_file(error: &SettingsError) -> Refusal {
    let (path, line, reason) = match error {
        SettingsError::Read { path, source } => (path, None, source.to_string()),
        SettingsError::Invalid { path, line, text } => (path, *line, shorten(&visible(text), MAX_FAULT)),
    };
    let text = format!("this file of the tree does not count: {reason}");
    Refusal { path: path.clone(), line, setting: "", text, is_whole: true, is_missed: true }
}

/// Returns the settings files of the user and of the system.
fn user_and_system_files() -> Vec<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    let user = user.map(|folder| folder.join("hierad").join(SETTINGS_FILE));
    user.into_iter().chain([PathBuf::from(SYSTEM_SETTINGS)]).collect()
}

/// Returns the settings that `--config` names, or `None` if it is not given or names a file of the current tree.
/// Fails if the file is in the tree of a repository that its own settings name.
pub(in crate::app) fn settings_from_config_flag(overrides: &Overrides) -> Result<Option<Settings>> {
    let Some(path) = overrides.config() else { return Ok(None) };
    if let Ok(repository) = overrides.repository()
        && TrustRules::of(&repository).read(path)?.origin != Origin::Trusted
    {
        return Ok(None);
    }
    let settings = Settings::load(path)?;
    for setting in &settings.repositories {
        if let RepositorySource::Path(folder) = &setting.place {
            check_place(path, folder)?;
        }
    }
    Ok(Some(settings))
}

/// Fails if a settings file of the daemon lies in the tree of the repository at `folder`.
fn check_place(path: &Path, folder: &Path) -> Result<()> {
    let Ok(repository) = Repository::discover(folder) else { return Ok(()) };
    let trust_rules = TrustRules::of(&repository);
    if trust_rules.locate_in_tree(path).is_none() || trust_rules.read(path)?.origin == Origin::Trusted {
        return Ok(());
    }
    let (path, folder) = (path.display(), folder.display());
    let advice = "move it out of there, or run `hierad trust` on it";
    Err(format!("{path} is in the tree of {folder}, so every commit there could say what the daemon does; {advice}")
        .into())
}

/// Checks the settings file that the daemon's settings name for the repository at `folder`. The repository need not
/// exist yet.
pub(in crate::app) fn check_repository_settings(path: &Path, folder: &Path) -> Result<()> {
    let file = match Repository::discover(folder) {
        Ok(repository) => TrustRules::of(&repository).read(path)?,
        Err(_) => SettingsFile::trusted(path)?,
    };
    file.check_repository_settings()?;
    Settings::combine(&[file])?;
    Ok(())
}
