//! Git: repositories, revisions, history, the files of commits, and the tips of branches. The only module that knows
//! libgit2 and the `git` command. What is a user's it only reads; it writes what is its own (`scratch`, `mirror`, and in a user's
//! repository commits on references of hierad's: `import`).
//!
//! Objects are read through libgit2's object database from any number of threads ([`CommitTree`]). References come from
//! libgit2 as well or, where it does not know the format (reftables), from the `git` command.

mod branches;
mod command;
mod config;
mod fast_import;
mod folder_cache;
mod history;
mod id;
mod mirror;
mod objects;
mod open;
mod raw;
mod refs;
mod scratch;
mod tree;
mod worktree;

use std::path::Path;
use std::sync::Arc;

pub use branches::{BranchPatterns, Branches, PatternError, RefChange, changes};
pub use command::CommandError;
pub use config::{ConfigScope, ConfigValue, config_path, config_value};
pub use fast_import::{Import, ImportError, NewCommit};
pub use history::{Chain, ChainEnd, HistoryError, Parents};
pub use id::{BranchName, CommitId};
pub use mirror::{Mirror, MirrorError};
pub use objects::ObjectError;
pub use open::{Environment, GitDirs, OpenError, git_dirs};
pub use raw::{CommitInfo, CommitTime};
pub use refs::{Head, RefsError, RevisionError};
pub use scratch::{Scratch, ScratchError};
pub use tree::CommitTree;
pub use worktree::WorkTree;

use command::GitCommand;
use history::History;
use objects::Objects;
use open::{Layout, Opened};
use refs::Refs;

/// A git repository. Cheap to clone, and used from many threads at once.
#[derive(Clone)]
pub struct Repository {
    layout: Arc<Layout>,
    objects: Arc<Objects>,
    refs: Arc<Refs>,
}

impl Repository {
    /// Opens the repository that `path` is in, whatever the environment says.
    pub fn discover(path: &Path) -> Result<Repository, OpenError> {
        Repository::locate(Some(path), &Environment::default())
    }

    /// Opens the repository that `path` is in or, without a path, the one that the environment names or the current
    /// folder is in. In a hook, objects of the push that is being checked are seen as well.
    pub fn locate(path: Option<&Path>, environment: &Environment) -> Result<Repository, OpenError> {
        let Opened { layout, objects, refs } = open::open(path, environment)?;
        Ok(Repository { layout: Arc::new(layout), objects: Arc::new(objects), refs: Arc::new(refs) })
    }

    /// The git directory; that of the linked work tree, if it is one.
    pub fn git_dir(&self) -> &Path {
        &self.layout.own
    }

    /// The git directory that all linked work trees share: where objects and branches are.
    pub fn common_dir(&self) -> &Path {
        &self.layout.common
    }

    /// Returns what people call it: the folder of its files, or that of a bare repository without `.git`.
    pub fn name(&self) -> String {
        let path = self.common_dir();
        let folder = if path.ends_with(".git") { path.parent().unwrap_or(path) } else { path };
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
        name.strip_suffix(".git").filter(|name| !name.is_empty()).unwrap_or(&name).to_owned()
    }

    /// Whether it is still there: it may have been removed since it was opened, or the disk that it is on.
    pub fn is_there(&self) -> bool {
        self.common_dir().join("objects").is_dir()
    }

    /// The top folder of the checked-out files; nothing in a bare repository.
    pub fn work_dir(&self) -> Option<&Path> {
        self.layout.work.as_deref()
    }

    /// The checked-out files as they are now; nothing in a bare repository.
    pub fn work_tree(&self) -> Option<WorkTree> {
        self.work_dir().map(WorkTree::new)
    }

    /// Whether the repository has only the recent part of its history.
    pub fn is_shallow(&self) -> bool {
        self.layout.common.join("shallow").is_file()
    }

    /// The commit that `revision` names, in any notation of `git rev-parse`; a tag stands for its commit.
    pub fn resolve(&self, revision: &str) -> Result<CommitId, RevisionError> {
        let [commit] = self.resolve_all([revision])?;
        Ok(commit)
    }

    /// The commits that `revisions` name, asked for together, which takes less time; see [`Repository::resolve`].
    pub fn resolve_all<const N: usize>(&self, revisions: [&str; N]) -> Result<[CommitId; N], RevisionError> {
        self.refs.resolve(revisions, &self.objects, self.is_shallow())
    }

    /// What is checked out.
    pub fn head(&self) -> Result<Head, RefsError> {
        self.refs.head()
    }

    /// The current branch; nothing while a commit is checked out directly.
    pub fn branch(&self) -> Result<Option<BranchName>, RefsError> {
        Ok(self.head()?.branch)
    }

    /// The branches that are meant, with their tips. While git packs references, one of them may be missing or shown as
    /// it was before: [`Repository::tip`] tells.
    pub fn branches(&self, patterns: &BranchPatterns) -> Result<Branches, RefsError> {
        Ok(self.refs.branches()?.into_iter().filter(|(branch, _)| patterns.matches(branch)).collect())
    }

    /// The tip of one branch; nothing if there is no such branch. Right even while git packs references.
    pub fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, RefsError> {
        self.refs.target(&branch.reference())
    }

    /// What a reference points to, by its full name; nothing if it is not there.
    pub fn reference(&self, name: &str) -> Result<Option<CommitId>, RefsError> {
        self.refs.target(name)
    }

    /// What the repository knows of the branches of a remote; of all remotes if it knows none of this one.
    pub fn remote_tips(&self, remote: &str) -> Result<Vec<CommitId>, RefsError> {
        let tips = self.refs.tips(&format!("refs/remotes/{remote}/"))?;
        if tips.is_empty() { self.refs.tips("refs/remotes/") } else { Ok(tips) }
    }

    /// What a report says about a commit.
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

    /// Whether there is no such commit: git has collected what no reference leads to.
    pub fn is_gone(&self, commit: CommitId) -> bool {
        matches!(self.objects.commit(commit), Err(ObjectError::Missing { .. }))
    }

    /// The value of a trailer of a commit's message, such as `Signed-off-by`.
    pub fn trailer(&self, commit: CommitId, name: &str) -> Result<Option<String>, ObjectError> {
        self.objects.trailer(commit, name)
    }

    /// The files of a commit.
    pub fn tree(&self, commit: CommitId) -> Result<CommitTree, ObjectError> {
        CommitTree::open(&self.objects, commit)
    }

    /// The parents of a commit, and whether a shallow clone has left them out.
    pub fn parents(&self, commit: CommitId) -> Result<Parents, HistoryError> {
        self.history()?.parents(commit)
    }

    /// What a commit is compared with: its first parent, nothing for a root; [`HistoryError::Cut`] if a shallow clone has
    /// left the parent out.
    pub fn first_parent(&self, commit: CommitId) -> Result<Option<CommitId>, HistoryError> {
        let parents = self.parents(commit)?;
        if parents.cut {
            return Err(HistoryError::Cut { repository: self.layout.common.clone(), commit });
        }
        Ok(parents.present.first().copied())
    }

    /// The best common ancestor of two commits; nothing if they have none.
    pub fn merge_base(&self, a: CommitId, b: CommitId) -> Result<Option<CommitId>, HistoryError> {
        self.history()?.merge_base(a, &[b])
    }

    /// The best common ancestor of `commit` and any of `others`; nothing if there is none. Others whose commits are gone do not
    /// count.
    pub fn merge_base_with_any(&self, commit: CommitId, others: &[CommitId]) -> Result<Option<CommitId>, HistoryError> {
        let history = self.history()?;
        history.merge_base(commit, &history.present(others))
    }

    /// Whether `old` is `new` or one of the commits behind it, as far as history is present.
    pub fn is_ancestor(&self, old: CommitId, new: CommitId) -> Result<bool, HistoryError> {
        self.history()?.is_ancestor_of_any(old, &[new])
    }

    /// The first-parent chain from after `old` (or from the root) to `new`, at most `limit` commits of it, the newest.
    pub fn commits_between(&self, old: Option<CommitId>, new: CommitId, limit: usize) -> Result<Chain, HistoryError> {
        self.history()?.chain(|commit| Some(commit) == old, new, limit)
    }

    /// The first-parent chain to `new` from after the newest of its commits that is behind one of `others` too. Others
    /// whose commits are gone do not count.
    pub fn chain_excluding(&self, new: CommitId, others: &[CommitId]) -> Result<Chain, HistoryError> {
        self.history()?.chain_excluding(new, others)
    }

    /// Begins to write commits to the reference `name`, the first of them on top of `parent`.
    pub fn import(&self, name: &str, parent: Option<CommitId>) -> Result<Import, ImportError> {
        Import::begin(self.shared(), self.layout.common.clone(), name, parent)
    }

    /// Pushes a reference to `remote` under the same name, as the user's git does it, with the credentials that it has.
    pub fn push(&self, remote: &str, name: &str) -> Result<(), CommandError> {
        fast_import::push(&self.shared(), remote, name)
    }

    /// Whether `remote` is one that can be pushed to: a remote of the repository, or an address. Nobody is asked there.
    pub fn has_remote(&self, remote: &str) -> Result<bool, CommandError> {
        let address = self.shared().query(&["ls-remote", "--get-url", "--", remote])?.unwrap_or_default();
        Ok(address.trim_end() != remote || remote.contains([':', '/']))
    }

    /// Has git gc up its objects if it finds that it is time, in the background.
    pub fn gc(&self) -> Result<(), CommandError> {
        fast_import::gc(&self.shared())
    }

    /// The `git` command for what all linked work trees share.
    fn shared(&self) -> GitCommand {
        GitCommand::for_git_dir(&self.layout.common, &[])
    }

    fn history(&self) -> Result<History<'_>, HistoryError> {
        History::open(&self.objects, &self.layout.common)
    }
}
