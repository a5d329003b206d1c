//! References and revisions, behind one interface with two backends: libgit2, and the `git` command for repositories
//! that libgit2 refuses (reftables, partial clones).
//!
//! Each query uses a handle that has not read any references yet, since a handle's cache of them can be out of date.

pub(super) mod ambiguous;
pub(super) mod branches;
pub(super) mod names;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use git2::{ErrorCode, RepositoryOpenFlags};

use super::command::{CommandError, GitCommand};
use super::id::{BranchName, CommitId};
use super::objects::{ObjectError, Objects};

use ambiguous::Ambiguous;

/// A failure to read references.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefsError {
    /// libgit2 failed.
    #[error("cannot read the references of {}: {reason}", repository.display())]
    Unreadable {
        /// The repository.
        repository: PathBuf,
        /// libgit2's message.
        reason: String,
    },
    /// The `git` command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// A revision that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    /// Nothing in the repository has this name.
    #[error("unknown revision '{revision}'{}", if *shallow { "; the clone is shallow: `git fetch --unshallow` fetches \
             the rest of the history" } else { "" })]
    Unknown {
        /// The revision as given.
        revision: String,
        /// True if the repository has only a part of its history.
        shallow: bool,
    },
    /// Several objects have ids with this prefix.
    #[error("revision '{revision}' is ambiguous: several object ids begin with it")]
    Ambiguous {
        /// The revision as given.
        revision: String,
    },
    /// The branch that is checked out has no commit yet.
    #[error("revision '{revision}' has no commit: branch '{branch}' is still empty{}", checkout_advice(others))]
    Unborn {
        /// The revision as given.
        revision: String,
        /// The branch that is checked out.
        branch: BranchName,
        /// The branches that have commits: those here, or else those of remotes, by their names there.
        others: Vec<String>,
    },
    /// Trust depends on the revision, and it is neither a full id nor the name of exactly one reference.
    #[error(
        "'{revision}' is not a branch, and its code or settings would be trusted: name a branch, a remote-tracking \
         branch of a configured remote, another reference in full such as refs/tags/v1, or a full commit id"
    )]
    NotExact {
        /// The revision as given.
        revision: String,
    },
    /// The revision names an object that is not a commit.
    #[error("revision '{revision}' is not a commit: {source}")]
    NotACommit {
        /// The revision as given.
        revision: String,
        /// The object's type, or the failure to read it.
        source: ObjectError,
    },
    /// A failure to read references.
    #[error(transparent)]
    Refs(#[from] RefsError),
}

/// The checked-out branch and commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// The current branch, or `None` if HEAD is detached.
    pub branch: Option<BranchName>,
    /// The current commit, or `None` if the branch has none yet.
    pub commit: Option<CommitId>,
}

/// A reader of references.
pub(super) enum Refs {
    /// libgit2, with the `git` command for rare notations.
    Library(Library, GitCommand),
    /// The `git` command alone.
    Command(GitCommand),
}

/// The handles for queries to libgit2.
pub(super) struct Library {
    git_dir: PathBuf,
    borrowed: Vec<PathBuf>,
    /// The handle that the repository was opened with, until it is used: it has read no references yet.
    first: Mutex<Option<git2::Repository>>,
}

impl Refs {
    /// Reads references with libgit2; `opened` is a handle that was not used yet.
    pub(super) fn library(git_dir: &Path, borrowed: &[PathBuf], opened: git2::Repository) -> Refs {
        let command = GitCommand::for_git_dir(git_dir, borrowed);
        let (git_dir, borrowed) = (git_dir.to_owned(), borrowed.to_vec());
        Refs::Library(Library { git_dir, borrowed, first: Mutex::new(Some(opened)) }, command)
    }

    /// Reads references with the `git` command.
    pub(super) fn command(git_dir: &Path, borrowed: &[PathBuf]) -> Refs {
        Refs::Command(GitCommand::for_git_dir(git_dir, borrowed))
    }

    /// Resolves revisions to commits with one handle.
    pub(super) fn resolve<const N: usize>(
        &self,
        revisions: [&str; N],
        objects: &Objects,
        (shallow, ambiguous): (bool, &Ambiguous),
    ) -> Result<[CommitId; N], RevisionError> {
        let library = match self {
            Refs::Library(library, _) => Some(library.with_objects().map_err(|error| library.unreadable(&error))?),
            Refs::Command(_) => None,
        };
        let mut commits = [CommitId([0; 20]); N];
        for (commit, revision) in commits.iter_mut().zip(revisions) {
            *commit = self.resolve_one(revision, library.as_ref(), objects, (shallow, ambiguous))?;
        }
        Ok(commits)
    }

    fn resolve_one(
        &self,
        revision: &str,
        library: Option<&git2::Repository>,
        objects: &Objects,
        (shallow, ambiguous): (bool, &Ambiguous),
    ) -> Result<CommitId, RevisionError> {
        if revision.is_empty() || revision.contains('\0') {
            return Err(RevisionError::Unknown { revision: revision.into(), shallow });
        }
        let Some(unambiguous) = self.unambiguous(revision, library, ambiguous)? else {
            return Err(RevisionError::Unknown { revision: revision.into(), shallow });
        };
        let (original, revision) = (revision, &*unambiguous);
        let (Refs::Library(_, command) | Refs::Command(command)) = self;
        let object = library.and_then(|library| Refs::named_object(library, revision));
        let resolve_in_library =
            |library| if object.is_some() { Ok(object) } else { library_resolve(library, revision) };
        let found = match library.map(resolve_in_library).transpose()? {
            None => command_resolve(command, revision)?,
            // libgit2 knows most notations, git knows all.
            Some(None) if is_notation(revision) => command_resolve(command, revision).ok().flatten(),
            Some(found) => found,
        };
        if let Some(id) = found {
            return objects.peel(id).map_err(|source| match source {
                ObjectError::Missing { id, .. } if id == original => {
                    RevisionError::Unknown { revision: original.into(), shallow }
                }
                source => RevisionError::NotACommit { revision: original.into(), source },
            });
        }
        let head = self.head()?;
        let names_head = original == "@" || original.starts_with("HEAD");
        match head.branch {
            Some(branch) if head.commit.is_none() && (names_head || original == branch.as_str()) => {
                Err(RevisionError::Unborn { revision: original.into(), branch, others: self.branches_with_commits()? })
            }
            _ => Err(RevisionError::Unknown { revision: original.into(), shallow }),
        }
    }

    /// Returns the checked-out branch and commit.
    pub(super) fn head(&self) -> Result<Head, RefsError> {
        match self {
            Refs::Library(library, _) => library.head().map_err(|error| library.unreadable(&error)),
            Refs::Command(command) => {
                let branch = command.query(&["symbolic-ref", "--quiet", "HEAD"])?;
                let branch = branch.and_then(|name| BranchName::from_reference(name.trim()));
                Ok(Head { branch, commit: command_tip(command, "HEAD")? })
            }
        }
    }

    /// Returns all local branches. While git packs references, a branch may be missing or have its former tip; see
    /// [`Refs::target`].
    pub(super) fn branches(&self) -> Result<Vec<(BranchName, CommitId)>, RefsError> {
        match self {
            Refs::Library(library, _) => library.branches().map_err(|error| library.unreadable(&error)),
            Refs::Command(command) => {
                let list = command.query(&["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/"])?;
                Ok(list.unwrap_or_default().lines().filter_map(listed_branch).collect())
            }
        }
    }

    /// Returns the names of the branches that have commits: the local ones, or else those of remotes.
    fn branches_with_commits(&self) -> Result<Vec<String>, RefsError> {
        let local: Vec<String> = self.branches()?.into_iter().map(|(name, _)| name.as_str().to_owned()).collect();
        if !local.is_empty() {
            return Ok(local);
        }
        let (Refs::Library(_, command) | Refs::Command(command)) = self;
        let list = command.query(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/"])?;
        let names: BTreeSet<String> = list.unwrap_or_default().lines().map(str::to_owned).collect();
        Ok(names.into_iter().filter(|name| name != "HEAD").collect())
    }

    /// Returns the targets of the references below `prefix`.
    pub(super) fn tips(&self, prefix: &str) -> Result<Vec<CommitId>, RefsError> {
        let (Refs::Library(_, command) | Refs::Command(command)) = self;
        let list = command.query(&["for-each-ref", "--format=%(objectname)", prefix])?;
        Ok(list.unwrap_or_default().lines().filter_map(CommitId::from_hex).collect())
    }

    /// Returns the target of a reference. It is right even while git packs references.
    pub(super) fn target(&self, reference: &str) -> Result<Option<CommitId>, RefsError> {
        match self {
            Refs::Library(library, _) => library.tip(reference).map_err(|error| library.unreadable(&error)),
            Refs::Command(command) => Ok(command_tip(command, reference)?),
        }
    }
}

impl RevisionError {
    /// Returns true if the checked-out branch has no commit but other branches do.
    pub fn names_a_branch(&self) -> bool {
        matches!(self, RevisionError::Unborn { others, .. } if !others.is_empty())
    }
}

/// Returns the advice to check out a branch that has commits, the likeliest of these, or nothing if there is none.
/// The clone of a bundle without a `HEAD` checks out a branch that does not exist.
fn checkout_advice(branches: &[String]) -> String {
    // A stranger may have chosen the names, and people copy commands.
    let is_plain = |name: &&String| {
        !name.starts_with('-') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte))
    };
    let plain: Vec<&String> = branches.iter().filter(is_plain).collect();
    let usual = USUAL_BRANCHES.iter().find_map(|usual| plain.iter().find(|name| name.as_str() == *usual));
    match usual.or(plain.first()) {
        Some(name) if branches.len() == 1 => format!(". Branch '{name}' has some: `git checkout {name}`"),
        Some(name) => format!(". {} branches have some, such as '{name}': `git checkout {name}`", branches.len()),
        None => String::new(),
    }
}

/// The usual names of the branch that is checked out.
const USUAL_BRANCHES: [&str; 3] = ["production", "main", "master"];

/// Returns true if a revision is more than a name, so that libgit2 may not know its notation.
fn is_notation(revision: &str) -> bool {
    revision.contains(['@', ':', '^', '~']) || revision.contains("-g")
}

fn listed_branch(line: &str) -> Option<(BranchName, CommitId)> {
    let (id, name) = line.split_once(' ')?;
    Some((BranchName::from_reference(name)?, CommitId::from_hex(id)?))
}

fn command_resolve(command: &GitCommand, revision: &str) -> Result<Option<[u8; 20]>, RevisionError> {
    let id = match command.query(&["rev-parse", "--verify", "--quiet", "--end-of-options", revision]) {
        Ok(id) => id.unwrap_or_default(),
        Err(CommandError::Failed { reason, .. }) if reason.contains("ambiguous") => {
            return Err(RevisionError::Ambiguous { revision: revision.to_owned() });
        }
        Err(CommandError::Failed { .. }) => return Ok(None), // some malformed revisions are not quiet
        Err(error) => return Err(RefsError::from(error).into()),
    };
    Ok(CommitId::from_hex(id.trim()).map(|id| id.0))
}

/// Returns the target of a reference by its full name. `rev-parse` would complete a name that does not exist.
fn command_tip(command: &GitCommand, reference: &str) -> Result<Option<CommitId>, CommandError> {
    if reference == "HEAD" {
        let id = command.query(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
        return Ok(id.and_then(|id| CommitId::from_hex(id.trim())));
    }
    let listed = command.query(&["for-each-ref", "--format=%(refname) %(objectname)", reference])?.unwrap_or_default();
    let listed_tip = listed.lines().filter_map(|line| line.split_once(' ')).find(|(name, _)| *name == reference);
    Ok(listed_tip.and_then(|(_, id)| CommitId::from_hex(id)))
}

impl Library {
    /// Returns a handle that has read no references.
    fn handle(&self) -> Result<git2::Repository, git2::Error> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.map_or_else(|| open_handle(&self.git_dir), Ok)
    }

    /// Returns a handle that also sees the objects of the borrowed folders.
    fn with_objects(&self) -> Result<git2::Repository, git2::Error> {
        let repository = self.handle()?;
        if let Ok(objects) = repository.odb() {
            for folder in self.borrowed.iter().filter_map(|folder| folder.to_str()) {
                objects.add_disk_alternate(folder)?;
            }
        }
        Ok(repository)
    }

    fn head(&self) -> Result<Head, git2::Error> {
        let repository = self.handle()?;
        let head = repository.find_reference("HEAD")?;
        let Some(target) = head.symbolic_target().ok().flatten() else {
            return Ok(Head { branch: None, commit: head.target().and_then(commit_id) });
        };
        let branch = BranchName::from_reference(target);
        let commit = match repository.refname_to_id(target) {
            Ok(id) => commit_id(id),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Head { branch, commit })
    }

    fn branches(&self) -> Result<Vec<(BranchName, CommitId)>, git2::Error> {
        let repository = self.handle()?;
        let mut branches = Vec::new();
        for reference in repository.references_glob("refs/heads/*")? {
            let Ok(reference) = reference else { continue }; // one broken reference does not hide the others
            let Some(name) = reference.name().ok().and_then(BranchName::from_reference) else { continue };
            let target = reference.target().or_else(|| reference.resolve().ok()?.target());
            branches.extend(target.and_then(commit_id).map(|id| (name, id)));
        }
        Ok(branches)
    }

    fn tip(&self, reference: &str) -> Result<Option<CommitId>, git2::Error> {
        match self.handle()?.refname_to_id(reference) {
            Ok(id) => Ok(commit_id(id)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn unreadable(&self, error: &git2::Error) -> RefsError {
        RefsError::Unreadable { repository: self.git_dir.clone(), reason: error.message().to_owned() }
    }
}

/// Opens the git directory `git_dir`, without a search for others.
pub(super) fn open_handle(git_dir: &Path) -> Result<git2::Repository, git2::Error> {
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
    git2::Repository::open_ext(git_dir, flags, std::iter::empty::<&Path>())
}

fn library_resolve(repository: &git2::Repository, revision: &str) -> Result<Option<[u8; 20]>, RevisionError> {
    match repository.revparse_single(revision) {
        Ok(object) => Ok(object.id().as_bytes().try_into().ok()),
        Err(error) if error.code() == ErrorCode::Ambiguous => {
            Err(RevisionError::Ambiguous { revision: revision.to_owned() })
        }
        Err(_) => Ok(None),
    }
}

fn commit_id(id: git2::Oid) -> Option<CommitId> {
    id.as_bytes().try_into().ok().map(CommitId)
}
