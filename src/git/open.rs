//! Finds and opens a repository: bare, work tree, linked work tree, shallow, partial, with reftables; from a folder
//! inside it, or from the variables that git sets for its hooks.

use std::path::{Path, PathBuf};

use git2::ErrorCode;

use super::command::{CommandError, GitCommand};
use super::objects::{ObjectError, Objects};
use super::refs::{Refs, open_handle};

/// A failure to open a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The folder to start from does not exist.
    #[error("cannot open {}: {reason}", path.display())]
    NoSuchFolder {
        /// The folder.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The folder is in no repository.
    #[error("{} is not in a git repository", path.display())]
    NotARepository {
        /// The folder.
        path: PathBuf,
    },
    /// Another user owns the repository and could make hierad run commands. Git refuses it too.
    #[error("{0} belongs to another user; if you trust it, run `git config --global --add safe.directory {0}`", path.display())]
    ForeignOwner {
        /// The repository.
        path: PathBuf,
    },
    /// The repository is in the work tree of another one, so a commit there may have made it, with its configuration.
    #[error("{} is a git directory in the work tree of {}, where a commit may have created it, with its \
             configuration; if you trust it, name it with GIT_DIR, or by its exact path in the \
             settings", path.display(), outer.display())]
    Embedded {
        /// The git directory.
        path: PathBuf,
        /// The top of the other's work tree.
        outer: PathBuf,
    },
    /// Git's setting `safe.bareRepository` is `explicit`, and nothing names this one.
    #[error("{} is a bare repository, and git's safe.bareRepository is 'explicit'; name it with --repo or \
             GIT_DIR", path.display())]
    NotNamed {
        /// The git directory.
        path: PathBuf,
    },
    /// Its object ids are SHA-256.
    #[error("{} uses SHA-256 object ids, which hierad cannot read", path.display())]
    Sha256 {
        /// The repository.
        path: PathBuf,
    },
    /// libgit2 cannot read it.
    #[error("cannot open the repository {}: {reason}", path.display())]
    Unreadable {
        /// The repository.
        path: PathBuf,
        /// libgit2's message.
        reason: String,
    },
    /// Only the `git` command can read it, and that failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Its object database cannot be opened.
    #[error(transparent)]
    Objects(#[from] ObjectError),
}

/// The environment variables that name a repository, as git sets them for its hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `GIT_DIR`.
    pub git_dir: Option<PathBuf>,
    /// `GIT_WORK_TREE`.
    pub work_tree: Option<PathBuf>,
    /// `GIT_OBJECT_DIRECTORY`: while hooks check a push, the folder of its objects.
    pub object_directory: Option<PathBuf>,
    /// `GIT_ALTERNATE_OBJECT_DIRECTORIES`.
    pub alternate_object_directories: Vec<PathBuf>,
    /// The folder of objects in quarantine, which no variable names.
    pub quarantine: Option<PathBuf>,
}

impl Environment {
    /// Reads the variables of this process.
    pub fn of_process() -> Environment {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let alternates = std::env::var_os("GIT_ALTERNATE_OBJECT_DIRECTORIES").unwrap_or_default();
        Environment {
            git_dir: path("GIT_DIR"),
            work_tree: path("GIT_WORK_TREE"),
            object_directory: path("GIT_OBJECT_DIRECTORY"),
            alternate_object_directories: std::env::split_paths(&alternates)
                .filter(|folder| !folder.as_os_str().is_empty())
                .collect(),
            quarantine: None,
        }
    }
}

/// The folders of a repository.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The git directory: a linked work tree's own, if it is one.
    pub(super) own: PathBuf,
    /// The git directory that linked work trees share.
    pub(super) common: PathBuf,
    /// The top of the checked-out files.
    pub(super) work: Option<PathBuf>,
}

/// The parts of an opened repository.
pub(super) struct Opened {
    pub(super) layout: Layout,
    pub(super) objects: Objects,
    pub(super) refs: Refs,
}

/// The git directories of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDirs {
    /// The linked work tree's own, if it is one.
    pub own: PathBuf,
    /// The one that all linked work trees share.
    pub common: PathBuf,
}

/// A folder to look for a repository from, and how far it is trusted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start<'a> {
    /// Settings name this folder, or hierad has made the repository in it.
    Trusted(&'a Path),
    /// The user names this folder, or none.
    Any(Option<&'a Path>),
}

/// Finds the repository at or above `path` or, without a path, the one that the environment names. Nothing in it is
/// read.
pub fn git_dirs(path: Option<&Path>, environment: &Environment) -> Result<GitDirs, OpenError> {
    let own = find_git_dir(Start::Any(path), environment)?.git_dir;
    Ok(GitDirs { common: pointer(&own, "commondir").unwrap_or_else(|| own.clone()), own })
}

/// Opens the repository at or above a folder or, without one, the one that the environment names.
pub(super) fn open(start: Start<'_>, environment: &Environment) -> Result<Opened, OpenError> {
    let by_environment = matches!(start, Start::Any(None)) && environment.git_dir.is_some();
    let Found { folder, git_dir } = find_git_dir(start, environment)?;
    let mut borrowed = if is_named_by(environment, &git_dir) { borrowed(environment) } else { Vec::new() };
    borrowed.extend(environment.quarantine.clone());
    let (mut layout, refs) = match open_handle(&git_dir) {
        Ok(handle) => (library_layout(&handle), Refs::library(&git_dir, &borrowed, handle)),
        Err(error) => (command_layout(&folder, &git_dir, &error)?, Refs::command(&git_dir, &borrowed)),
    };
    if layout.work.as_deref() == git_dir.parent() {
        layout.work = work_dir_by_name(&folder, &git_dir).or(layout.work);
    }
    if by_environment {
        layout.work = work_dir_by_environment(environment, &layout);
    }
    let mut folders = vec![layout.common.join("objects")];
    folders.extend(borrowed);
    let objects = Objects::open(&layout.common, folders)?;
    Ok(Opened { layout, objects, refs })
}

/// A repository that was found but not opened yet.
struct Found {
    /// The folder to start from.
    folder: PathBuf,
    git_dir: PathBuf,
}

/// Finds the git directory at or above a folder or, without one, the one that the environment names.
fn find_git_dir(start: Start<'_>, environment: &Environment) -> Result<Found, OpenError> {
    let path = match start {
        Start::Trusted(path) => {
            let found = find(path, false)?;
            // Whoever names a folder does not vouch for a git directory that a commit may have made above it.
            if found.folder != found.git_dir {
                check_safe(&found, true)?;
            }
            return Ok(found);
        }
        Start::Any(path) => path,
    };
    let named = if path.is_none() { environment.git_dir.as_deref() } else { None };
    let found = find(path.or(named).unwrap_or(Path::new(".")), named.is_some())?;
    if named.is_none() && !is_named_by(environment, &found.git_dir) {
        check_safe(&found, path.is_some())?;
    }
    Ok(found)
}

/// Fails for a git directory that may be a stranger's: one that is neither a `.git`, which no commit can contain, nor
/// inside one. Its configuration names programs, and hierad would trust a hierad.yaml in it as if no commit could
/// write that.
fn check_safe(found: &Found, by_user: bool) -> Result<(), OpenError> {
    let Found { folder, git_dir } = found;
    let is_dot_git = |path: &Path| path.components().any(|part| part.as_os_str() == ".git");
    if !folder.starts_with(git_dir) || git_dir.ends_with(".git") {
        return Ok(());
    }
    let mut above = git_dir.ancestors().skip(1);
    if let Some(outer) = above.find(|folder| folder.join(".git").symlink_metadata().is_ok()) {
        if git_dir.strip_prefix(outer).is_ok_and(is_dot_git) {
            return Ok(());
        }
        return Err(OpenError::Embedded { path: git_dir.clone(), outer: outer.to_owned() });
    }
    let safe = || git2::Config::open_default().ok()?.get_string("safe.barerepository").ok();
    if !(by_user && folder == git_dir) && safe().is_some_and(|safe| safe == "explicit") {
        return Err(OpenError::NotNamed { path: git_dir.clone() });
    }
    Ok(())
}

/// Finds the git directory at or above `start`, or only at `start` if `exactly`.
fn find(start: &Path, exactly: bool) -> Result<Found, OpenError> {
    let absent = |error: std::io::Error| OpenError::NoSuchFolder { path: start.into(), reason: error.to_string() };
    let real = start.canonicalize().map_err(absent)?;
    let not_found = || OpenError::NotARepository { path: start.into() };
    let found = git2::Repository::discover_path(&real, std::iter::empty::<&Path>())
        .map_err(|error| if error.code() == ErrorCode::NotFound { not_found() } else { unreadable(start, &error) })?;
    let git_dir = found.canonicalize().map_err(absent)?;
    if exactly && real.is_dir() && git_dir != real && git_dir != real.join(".git") {
        return Err(not_found());
    }
    let folder = if real.is_file() { real.parent().unwrap_or(&real).to_owned() } else { real };
    Ok(Found { folder, git_dir })
}

/// Returns the folder at or above `folder` whose `.git` is the git directory, or leads there as a file or a link.
fn work_dir_by_name(folder: &Path, git_dir: &Path) -> Option<PathBuf> {
    work_dir_where(folder, |found| found == git_dir)
}

/// Returns the folder at or above `folder` whose `.git` is, or leads to, a git directory for which `matches` is
/// true.
fn work_dir_where(folder: &Path, matches: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let leads_there = |folder: &&Path| {
        let link = folder.join(".git");
        let text = std::fs::read_to_string(&link).ok();
        let target = text.and_then(|text| Some(folder.join(text.strip_prefix("gitdir: ")?.trim_end())));
        target.unwrap_or(link).canonicalize().is_ok_and(|found| matches(&found))
    };
    folder.ancestors().find(leads_there).map(Path::to_owned)
}

/// Returns true if the environment's variables name this repository.
fn is_named_by(environment: &Environment, git_dir: &Path) -> bool {
    environment
        .git_dir
        .as_deref()
        .and_then(|named| find(named, true).ok())
        .is_some_and(|named| named.git_dir == git_dir)
}

/// Returns the top of the work tree of another repository that contains a git directory, as if it had been committed
/// there.
pub(super) fn enclosing(git_dir: &Path) -> Option<PathBuf> {
    let real = git_dir.canonicalize().ok()?;
    let is_others = |folder: &&Path| {
        folder.join(".git").symlink_metadata().is_ok() && work_dir_by_name(folder, &real).as_deref() != Some(*folder)
    };
    let outer = real.ancestors().skip(1).find(|folder| is_others(folder) || real.starts_with(folder.join(".git")))?;
    (!real.starts_with(outer.join(".git"))).then(|| outer.to_owned())
}

/// Returns the top of the files that a git directory has checked out at or above `folder`, whatever the environment
/// and `core.bare` say about its work tree.
pub(super) fn checkout(git_dir: &Path, folder: &Path) -> Option<PathBuf> {
    let has_files = git_dir.join("index").exists();
    has_files.then(|| work_dir_by_name(folder, git_dir)).flatten()
}

/// Returns the top of the files that any work tree of the repository, linked or not, has checked out at or above
/// `folder`.
pub fn any_checkout(git_dir: &Path, folder: &Path) -> Option<PathBuf> {
    let common = pointer(git_dir, "commondir").unwrap_or_else(|| git_dir.to_owned());
    let linked = common.join("worktrees");
    work_dir_where(folder, |found| {
        (found == git_dir || found == common || found.parent() == Some(&linked)) && found.join("index").exists()
    })
}

fn borrowed(environment: &Environment) -> Vec<PathBuf> {
    let folders = environment.object_directory.iter().chain(&environment.alternate_object_directories);
    folders.filter_map(|folder| folder.canonicalize().ok()).collect()
}

/// Returns the top of the work tree by git's rules: the named one, or else the current folder. Hooks may run in the
/// git directory.
fn work_dir_by_environment(environment: &Environment, layout: &Layout) -> Option<PathBuf> {
    let detected = layout.work.clone();
    if let Some(named) = &environment.work_tree {
        return named.canonicalize().ok();
    }
    let detected = detected?;
    // `core.worktree` takes precedence over the current folder.
    if layout.own == layout.common && layout.own.parent() != Some(&detected) {
        return Some(detected);
    }
    let current = std::env::current_dir().and_then(|current| current.canonicalize()).ok();
    match current {
        Some(current) if !current.starts_with(&detected) && !current.join("HEAD").is_file() => Some(current),
        _ => Some(detected),
    }
}

fn library_layout(repository: &git2::Repository) -> Layout {
    Layout {
        own: repository.path().components().collect(),
        common: repository.commondir().components().collect(),
        work: repository.workdir().map(|folder| folder.components().collect()),
    }
}

/// Returns the layout of a repository that libgit2 refused with `refusal`, if the only reason is a part of its format
/// that the `git` command knows.
fn command_layout(folder: &Path, git_dir: &Path, refusal: &git2::Error) -> Result<Layout, OpenError> {
    let layout = read_layout(git_dir);
    let place = layout.work.as_deref().unwrap_or(git_dir);
    if refusal.code() == ErrorCode::Owner {
        return Err(OpenError::ForeignOwner { path: place.to_owned() });
    }
    let config = git2::Config::open(&layout.common.join("config"));
    let format = config.as_ref().ok().and_then(|config| config.get_string("extensions.objectformat").ok());
    if format.is_some_and(|format| format.eq_ignore_ascii_case("sha256")) {
        return Err(OpenError::Sha256 { path: place.to_owned() });
    }
    if !has_extensions(config.ok()) {
        return Err(unreadable(place, refusal));
    }
    match GitCommand::from_folder(folder).query(&["rev-parse", "--absolute-git-dir"]) {
        Ok(_) => Ok(layout),
        Err(CommandError::Failed { reason, .. }) if reason.contains("dubious ownership") => {
            Err(OpenError::ForeignOwner { path: place.to_owned() })
        }
        Err(error) => Err(error.into()),
    }
}

fn has_extensions(config: Option<git2::Config>) -> bool {
    let Some(config) = config.and_then(|mut config| config.snapshot().ok()) else { return false };
    config.entries(Some("^extensions\\.")).is_ok_and(|mut entries| entries.next().is_some())
}

/// Returns the path that a file of a git directory points to.
pub(super) fn pointer(git_dir: &Path, file: &str) -> Option<PathBuf> {
    let text = std::fs::read_to_string(git_dir.join(file)).ok()?;
    git_dir.join(text.trim_end()).canonicalize().ok()
}

/// Reads the layout from the files of a git directory.
fn read_layout(git_dir: &Path) -> Layout {
    let common = pointer(git_dir, "commondir").unwrap_or_else(|| git_dir.to_owned());
    let config = git2::Config::open(&common.join("config")).ok();
    let setting = |name| config.as_ref().and_then(|config| config.get_path(name).ok());
    let parent = |path: &Path| path.parent().map(Path::to_owned);
    let work = if common != git_dir {
        // In a linked work tree the file names the `.git` inside it.
        pointer(git_dir, "gitdir").and_then(|file| parent(&file))
    } else if let Some(named) = setting("core.worktree") {
        git_dir.join(named).canonicalize().ok()
    } else if config.as_ref().is_some_and(|config| config.get_bool("core.bare").unwrap_or(false)) {
        None
    } else {
        parent(git_dir)
    };
    Layout { own: git_dir.to_owned(), common, work }
}

fn unreadable(path: &Path, error: &git2::Error) -> OpenError {
    OpenError::Unreadable { path: path.to_owned(), reason: error.message().to_owned() }
}
