//! Reads git repositories: revisions, history, the files of commits and the tips of branches.
//!
//! [`Repository`] is the entry point. [`CommitTree`] and [`WorkTree`] are the files of a commit and of the work tree,
//! [`BranchPatterns`] selects branches, and [`Import`] writes commits with `git fast-import`.
//!
//! This is the only module that uses libgit2 or the `git` command. It reads a user's repository, and writes there
//! only to hierad's own references (`fast_import`) and, temporarily, into a folder (`quarantine`); the repositories
//! that hierad makes for itself are in `scratch` and `mirror`. It knows nothing of Hiera, nodes or reports.
//!
//! Objects are read through libgit2's object database, from any number of threads. References are read by libgit2 too
//! or, in formats that it does not know (reftables), by the `git` command.

mod command;
mod fast_import;
mod history;
mod id;
pub mod ignored;
mod limited;
mod objects;
mod open;
mod refs;
mod remote;
mod scratch;
mod submodules;
mod tree;
mod worktree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use command::CommandError;
pub use command::config::{ConfigEntry, ConfigScope, ConfigValue, config_path, config_section, config_value};
pub use fast_import::{Import, ImportError, NewCommit};
pub use history::merge::{Merge, MergeError, MergedTree};
pub use history::{Chain, ChainEnd, HistoryError, Parents};
pub use id::{BranchName, CommitId};
pub use limited::{GIT_MEMORY, Messages, bind_exchanges, bound, limit_memory};
pub use objects::ObjectError;
pub use objects::raw::{CommitInfo, CommitTime};
pub use open::{Environment, GitDirs, OpenError, any_checkout, git_dirs};
pub use refs::branches::{BranchPatterns, Branches, PatternError, RefChange, changes};
pub use refs::{Head, RefsError, RevisionError};
pub use remote::mirror::{Mirror, MirrorError};
pub use remote::quarantine::{Quarantine, QuarantineError};
pub use remote::{Moved, PasswordPrompt, References, Remote, is_remote_address};
pub use scratch::{Scratch, ScratchError};
pub use submodules::gitmodules::{GITMODULES, names_by_path};
pub use tree::CommitTree;
pub use worktree::WorkTree;
pub use worktree::tracked::is_tracked;

use command::GitCommand;
use history::History;
use objects::Objects;
use open::{Layout, Opened, Start};
use refs::Refs;
use refs::ambiguous::Ambiguous;
use submodules::{Clones, Superproject};

use crate::tree::{FileTree, TreeError};

/// A git repository. It is cheap to clone and can be used from many threads at once.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::create_dir(folder.path().join("data"))?;
/// # std::fs::write(folder.path().join("data/common.yaml"), "ntp::port: 123\n")?;
/// # let scratch = hierad::git::Scratch::init(folder.path())?;
/// # scratch.commit("Add data", 0)?;
/// # let path = folder.path().join("data");
/// use hierad::git::{BranchName, BranchPatterns, Repository};
/// use hierad::tree::FileTree;
///
/// // Any folder of the repository will do.
/// let repository = Repository::discover(&path)?;
/// let head = repository.resolve("HEAD")?;
/// assert_eq!(repository.commit(head)?.summary, "Add data");
/// assert_eq!(repository.branches(&BranchPatterns::all())?[&BranchName::new("main")], head);
/// assert!(repository.tree(head)?.entry("data/common.yaml")?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Repository {
    layout: Arc<Layout>,
    objects: Arc<Objects>,
    refs: Arc<Refs>,
    ambiguous: Arc<Ambiguous>,
    /// The clones of submodules.
    clones: Arc<Clones>,
}

impl Repository {
    /// Opens the repository that contains `path`, without regard to the environment. It is trusted not to be a
    /// stranger's: see [`locate`](Repository::locate).
    pub fn discover(path: &Path) -> Result<Repository, OpenError> {
        Repository::open(Start::Trusted(path), &Environment::default())
    }

    /// Opens the repository like [`discover`](Repository::discover), along with the objects of a
    /// [quarantine](Repository::quarantine), if there is one.
    pub fn discover_with(path: &Path, quarantine: Option<&Path>) -> Result<Repository, OpenError> {
        let quarantine = quarantine.map(Path::to_owned);
        Repository::open(Start::Trusted(path), &Environment { quarantine, ..Environment::default() })
    }

    /// Opens the repository that contains `path`. Without a path, opens the one that the environment names, or else the
    /// one that contains the current folder. In a hook, the objects of the push under check are visible as well.
    ///
    /// A git directory that a commit may have made is an error before anything in it is read, unless the environment
    /// names it.
    pub fn locate(path: Option<&Path>, environment: &Environment) -> Result<Repository, OpenError> {
        Repository::open(Start::Any(path), environment)
    }

    fn open(start: Start<'_>, environment: &Environment) -> Result<Repository, OpenError> {
        let Opened { layout, objects, refs } = open::open(start, environment)?;
        let (layout, objects, refs) = (Arc::new(layout), Arc::new(objects), Arc::new(refs));
        Ok(Repository { layout, objects, refs, ambiguous: Arc::default(), clones: Arc::default() })
    }

    /// Sets the maximum size of files to read, in bytes, for this value and all its clones.
    pub fn limit_files(&self, bytes: u64) {
        self.objects.limit_files(bytes);
    }

    /// Returns the maximum size of files to read, in bytes.
    pub fn file_limit(&self) -> u64 {
        self.objects.file_limit()
    }

    /// Returns the git directory: the linked work tree's own, if this is a linked work tree.
    pub fn git_dir(&self) -> &Path {
        &self.layout.own
    }

    /// Returns the git directory that all linked work trees share, which holds objects and branches.
    pub fn common_dir(&self) -> &Path {
        &self.layout.common
    }

    /// Returns the repository's usual name: that of the folder with its files or, if it is bare, of its own folder
    /// without `.git`.
    pub fn name(&self) -> String {
        let path = self.common_dir();
        let folder = if path.ends_with(".git") { path.parent().unwrap_or(path) } else { path };
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
        name.strip_suffix(".git").filter(|name| !name.is_empty()).unwrap_or(&name).to_owned()
    }

    /// Returns false if the repository was removed after it was opened, or its disk was.
    pub fn is_there(&self) -> bool {
        self.common_dir().join("objects").is_dir()
    }

    /// Returns the top folder of the checked-out files, or `None` in a bare repository.
    pub fn work_dir(&self) -> Option<&Path> {
        self.layout.work.as_deref()
    }

    /// Returns the work tree, and that of another repository around the git directory: commits write their files.
    /// Results of [`checkout_at`](Repository::checkout_at) also come from commits.
    pub fn folders_of_commits(&self) -> impl Iterator<Item = PathBuf> {
        self.work_dir().map(Path::to_owned).into_iter().chain(self.enclosing_work_dir())
    }

    /// Returns the top of another repository's work tree that contains the git directory, where that repository's
    /// commits write; `None` if there is none.
    pub fn enclosing_work_dir(&self) -> Option<PathBuf> {
        open::enclosing(self.common_dir())
    }

    /// Returns the top of the files that this repository has checked out at or above `folder`, even if it was opened
    /// without them; `None` if it has none there.
    pub fn checkout_at(&self, folder: &Path) -> Option<PathBuf> {
        open::checkout(self.git_dir(), folder)
    }

    /// Returns true if git tracks something at a path of the work tree, below it or above it.
    pub fn tracks(&self, path: &str) -> bool {
        worktree::tracked::tracks(self.git_dir(), path)
    }

    /// Returns the checked-out files as they are now, or `None` in a bare repository.
    pub fn work_tree(&self) -> Option<WorkTree> {
        let tree = |folder: &Path| WorkTree::new(folder).with_index(self.git_dir(), &self.objects);
        self.work_dir().map(|folder| tree(folder).reading_at_most(self.file_limit()))
    }

    /// Returns true if the repository is a shallow clone, which has only the recent part of its history.
    pub fn is_shallow(&self) -> bool {
        self.layout.common.join("shallow").is_file()
    }

    /// Resolves `revision`, in any notation of `git rev-parse`, to a commit; a tag stands for its commit.
    pub fn resolve(&self, revision: &str) -> Result<CommitId, RevisionError> {
        let [commit] = self.resolve_all([revision])?;
        Ok(commit)
    }

    /// Resolves several revisions together, which is faster than one by one; see [`Repository::resolve`].
    pub fn resolve_all<const N: usize>(&self, revisions: [&str; N]) -> Result<[CommitId; N], RevisionError> {
        self.refs.resolve(revisions, &self.objects, (self.is_shallow(), &self.ambiguous))
    }

    /// Returns the branch, here or at a remote, that a name means, or `None` if there is no such branch.
    pub fn branch_called(&self, name: &str) -> Result<Option<BranchName>, RefsError> {
        if name == "HEAD" {
            return self.branch();
        }
        // A notation such as `main~1` is not a name.
        if !git2::Reference::is_valid_name(&format!("refs/heads/{name}")) {
            return Ok(None);
        }
        let name = name.strip_prefix("refs/").unwrap_or(name);
        let local_name = name.strip_prefix("heads/").unwrap_or(name);
        if self.reference(&format!("refs/heads/{local_name}"))?.is_some() {
            return Ok(Some(BranchName::new(local_name)));
        }
        let remote_name = name.strip_prefix("remotes/").unwrap_or(name);
        let branch = remote_name.split_once('/').map(|(_, branch)| branch).filter(|branch| *branch != "HEAD");
        let is_there = self.reference(&format!("refs/remotes/{remote_name}"))?.is_some();
        Ok(branch.filter(|_| is_there).map(BranchName::new))
    }

    /// Returns a warning for each name resolved so far that both a branch and a tag have.
    pub fn ambiguities(&self) -> Vec<String> {
        self.ambiguous.warnings()
    }

    /// Resolves a name that trust depends on: whose code is run, and whose configuration applies. It must be one
    /// exact reference, or a full id; a short name is a branch, never a tag.
    pub fn resolve_trusted(&self, name: &str) -> Result<CommitId, RevisionError> {
        self.objects.follow();
        self.refs.trusted(name, &self.objects)
    }

    /// Returns the default branch of a remote, as last reported; `None` if it was never reported.
    pub fn default_branch_of(&self, remote: &str) -> Option<BranchName> {
        self.refs.default_branch_of(remote).ok().flatten()
    }

    /// Returns the current branch and commit.
    pub fn head(&self) -> Result<Head, RefsError> {
        self.refs.head()
    }

    /// Returns the current branch, or `None` if HEAD is detached.
    pub fn branch(&self) -> Result<Option<BranchName>, RefsError> {
        Ok(self.head()?.branch)
    }

    /// Returns the branches that match `patterns`, with their tips. While git packs references, a branch may be missing
    /// or have its former tip; [`Repository::tip`] is always right.
    pub fn branches(&self, patterns: &BranchPatterns) -> Result<Branches, RefsError> {
        self.objects.follow();
        Ok(self.refs.branches()?.into_iter().filter(|(branch, _)| patterns.matches(branch)).collect())
    }

    /// Returns the tip of a branch, or `None` if there is no such branch. It is right even while git packs references.
    pub fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, RefsError> {
        self.refs.target(&branch.reference())
    }

    /// Returns the target of a reference, given by its full name, or `None` if there is no such reference.
    pub fn reference(&self, name: &str) -> Result<Option<CommitId>, RefsError> {
        self.objects.follow();
        self.refs.target(name)
    }

    /// Returns the tips of the remote-tracking branches of `remote`, or of all remotes if this one has none.
    pub fn remote_tips(&self, remote: &str) -> Result<Vec<CommitId>, RefsError> {
        let tips = self.refs.tips(&format!("refs/remotes/{remote}/"))?;
        if tips.is_empty() { self.refs.tips("refs/remotes/") } else { Ok(tips) }
    }

    /// Returns a commit's summary, author and times.
    pub fn commit(&self, id: CommitId) -> Result<CommitInfo, ObjectError> {
        let commit = self.objects.commit(id)?;
        Ok(CommitInfo {
            id,
            summary: commit.summary,
            author: commit.author,
            time: commit.time,
            committed: commit.committed,
        })
    }

    /// Returns true if a commit does not exist: git has collected it after its last reference was removed.
    pub fn is_gone(&self, commit: CommitId) -> bool {
        matches!(self.objects.commit(commit), Err(ObjectError::Missing { .. }))
    }

    /// Returns the value of a trailer of a commit's message, such as `Signed-off-by`.
    pub fn trailer(&self, commit: CommitId, name: &str) -> Result<Option<String>, ObjectError> {
        self.objects.trailer(commit, name)
    }

    /// Opens the files of a commit.
    pub fn tree(&self, commit: CommitId) -> Result<CommitTree, ObjectError> {
        CommitTree::open(&self.objects, commit)
    }

    /// Returns the tree of a commit or a merge with the files of its submodules in it, if there are clones of these
    /// that have the commits. The others stay [`Entry::Submodule`](crate::tree::Entry::Submodule).
    pub fn with_submodules(&self, tree: Arc<dyn FileTree>) -> Result<Arc<dyn FileTree>, TreeError> {
        self.clones.graft(tree, &self.superproject(false))
    }

    /// Returns the checked-out files, including those of submodules, or `None` in a bare repository.
    pub fn whole_work_tree(&self) -> Result<Option<Arc<dyn FileTree>>, TreeError> {
        let Some(tree) = self.work_tree() else { return Ok(None) };
        self.clones.graft(Arc::new(tree), &self.superproject(true)).map(Some)
    }

    fn superproject(&self, is_work_tree: bool) -> Superproject {
        let mut git_dirs = vec![self.layout.own.clone(), self.layout.common.clone()];
        git_dirs.dedup();
        Superproject { git_dirs, work: self.layout.work.clone(), is_work_tree, file_limit: self.file_limit() }
    }

    /// Merges two commits in memory, and opens the resulting files. The repository stays as it is.
    pub fn merged(&self, merge: Merge) -> Result<MergedTree, MergeError> {
        let Merge { base, ours, theirs } = merge;
        // Git merges the bases first, which may give a different result.
        if self.history()?.merge_bases(ours, &[theirs], 2)?.len() > 1 {
            return Err(MergeError::SeveralBases);
        }
        MergedTree::new([self.tree(base)?, self.tree(ours)?, self.tree(theirs)?])
    }

    /// Returns the parents of a commit, and whether a shallow clone has left them out.
    pub fn parents(&self, commit: CommitId) -> Result<Parents, HistoryError> {
        self.history()?.parents(commit)
    }

    /// Returns the first parent of a commit, or `None` for a root commit. Fails with [`HistoryError::Cut`] if a shallow
    /// clone has left the parent out.
    pub fn first_parent(&self, commit: CommitId) -> Result<Option<CommitId>, HistoryError> {
        self.history()?.first_parent(commit)
    }

    /// Walks from a commit, which is left out, along first parents. Each is read when the walk reaches it; an error
    /// of [`Repository::first_parent`] ends the walk.
    pub fn first_parents(&self, from: CommitId) -> impl Iterator<Item = Result<CommitId, HistoryError>> {
        history::first_parents(from, move |commit| self.first_parent(commit))
    }

    /// Returns the time, in seconds since 1970, of a date as git reads it, such as `2 weeks ago` or `2026-02-28`. Git
    /// takes whatever it cannot read for the present time.
    pub fn date(&self, text: &str) -> Result<Option<i64>, CommandError> {
        command::date::date(self.git_dir(), text)
    }

    /// Returns the best common ancestor of two commits, or `None` if they have none.
    pub fn merge_base(&self, a: CommitId, b: CommitId) -> Result<Option<CommitId>, HistoryError> {
        self.history()?.merge_base(a, &[b])
    }

    /// Returns the best common ancestor of `commit` and any of `others`, or `None` if there is none. Commits in
    /// `others` that do not exist are ignored.
    pub fn merge_base_with_any(&self, commit: CommitId, others: &[CommitId]) -> Result<Option<CommitId>, HistoryError> {
        let history = self.history()?;
        history.merge_base(commit, &history.present(others))
    }

    /// Returns true if `old` is `new` or an ancestor of it, as far as history is present.
    pub fn is_ancestor(&self, old: CommitId, new: CommitId) -> Result<bool, HistoryError> {
        self.history()?.is_ancestor_of_any(old, &[new])
    }

    /// Returns the first-parent chain from after `old` (or from the root) to `new`: at most its newest `limit`
    /// commits.
    pub fn commits_between(&self, old: Option<CommitId>, new: CommitId, limit: usize) -> Result<Chain, HistoryError> {
        self.history()?.chain(|commit| Some(commit) == old, new, limit)
    }

    /// Returns the first-parent chain to `new`, without its commits that are also ancestors of one of `others`. Commits
    /// in `others` that do not exist are ignored.
    pub fn chain_excluding(&self, new: CommitId, others: &[CommitId]) -> Result<Chain, HistoryError> {
        self.history()?.chain_excluding(new, others)
    }

    /// Begins to write commits to the reference `name`, the first of them on top of `parent`.
    pub fn import(&self, name: &str, parent: Option<CommitId>) -> Result<Import, ImportError> {
        Import::begin(self.shared(), self.layout.common.clone(), name, parent)
    }

    /// Returns the references whose names begin with `prefix`, which ends in a slash.
    pub fn references(&self, prefix: &str) -> Result<References, CommandError> {
        let list = self.shared().query(&["for-each-ref", "--format=%(objectname)%09%(refname)", prefix])?;
        Ok(list.unwrap_or_default().lines().filter_map(remote::listed).collect())
    }

    /// Sets one of hierad's own references, wherever it was before.
    pub fn set_reference(&self, name: &str, target: CommitId) -> Result<(), CommandError> {
        self.shared().change(&["update-ref", name, &target.to_string()])
    }

    /// Deletes one of hierad's own references, unless it has moved away from `target`.
    pub fn delete_reference(&self, name: &str, target: CommitId) -> Result<(), CommandError> {
        self.shared().change(&["update-ref", "-d", name, &target.to_string()])
    }

    /// Returns a remote of the repository, by its name or its address. Its exchanges are stopped after half an hour.
    pub fn remote(&self, name: &str, prompt: PasswordPrompt) -> Remote {
        Remote::new(self.shared(), name, prompt)
    }

    /// Makes a place for objects that are fetched temporarily.
    pub fn quarantine(&self) -> Result<Quarantine, QuarantineError> {
        Quarantine::make(self.common_dir())
    }

    /// Returns true if `remote` can be pushed to: it is a remote of the repository, or an address. The remote itself is
    /// not contacted.
    pub fn has_remote(&self, remote: &str) -> Result<bool, CommandError> {
        let address = self.shared().query(&["ls-remote", "--get-url", "--", remote])?.unwrap_or_default();
        Ok(address.trim_end() != remote || is_remote_address(remote))
    }

    /// Returns true if the repository has any remote.
    pub fn has_remotes(&self) -> Result<bool, CommandError> {
        Ok(self.shared().query(&["remote"])?.is_some_and(|names| !names.trim().is_empty()))
    }

    /// Runs `git gc --auto`, which packs objects in the background if git finds that it is time.
    pub fn gc(&self) -> Result<(), CommandError> {
        fast_import::gc(&self.shared())
    }

    /// Returns the `git` command for the git directory that all linked work trees share.
    fn shared(&self) -> GitCommand {
        GitCommand::for_git_dir(&self.layout.common, &[])
    }

    fn history(&self) -> Result<History<'_>, HistoryError> {
        History::open(&self.objects, &self.layout.common)
    }
}
