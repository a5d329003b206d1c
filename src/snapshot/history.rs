//! Writes snapshots as commits on a git reference: one for each commit of a branch, with a file for each node. So `git
//! log -p`, `git diff` and `git blame` work on effective values.
//!
//! Ids are reproducible: a commit depends only on the source commit, the snapshots and the commit before it. Files
//! that do not differ are not written again.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::{Mutex, PoisonError};

use super::folder::{Written, files_of};
use super::{Snapshots, threads};
use crate::git::{BranchName, CommitId, CommitInfo, Import, NewCommit, ObjectError, RefsError, Repository};
use crate::tree::{BlobId, Entry, FileTree, TreeError};
use crate::workers::Workers;

/// The trailer that names the source commit.
const COMMIT: &str = "Hierad-Commit";

/// The trailer that names the branch.
const BRANCH: &str = "Hierad-Branch";

/// The trailer that names a commit without snapshots, between the source of these and that of the ones before.
const SKIPPED: &str = "Hierad-Skipped";

/// The committer, whoever runs hierad.
const COMMITTER: &str = "hierad <hierad@localhost>";

/// Returns the reference with the snapshots of a branch.
pub fn reference(branch: &BranchName) -> String {
    format!("refs/hierad/snapshots/{branch}")
}

/// The snapshots on a reference cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The reference cannot be read.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// Its last commit cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The files of its last commit cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Somebody else has made its last commit.
    #[error("its last commit {0} has no trailer '{COMMIT}', so hierad did not write it")]
    Foreign(CommitId),
}

/// The last snapshots on a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    /// Their commit.
    pub commit: CommitId,
    /// Their source commit.
    pub source: CommitId,
}

impl Last {
    /// Returns the last snapshots of a branch, or `None` if there are none.
    pub fn of(repository: &Repository, branch: &BranchName) -> Result<Option<Last>, HistoryError> {
        let Some(commit) = repository.reference(&reference(branch))? else { return Ok(None) };
        let source = source_of(repository, commit)?.ok_or(HistoryError::Foreign(commit))?;
        Ok(Some(Last { commit, source }))
    }
}

/// Returns the source of a snapshot commit, or `None` if it is not a snapshot commit.
pub(super) fn source_of(repository: &Repository, commit: CommitId) -> Result<Option<CommitId>, ObjectError> {
    Ok(repository.trailer(commit, COMMIT)?.and_then(|id| CommitId::from_hex(&id)))
}

/// Returns true if a snapshot commit says that it is of this branch.
pub(super) fn is_of_branch(repository: &Repository, commit: CommitId, branch: &BranchName) -> bool {
    repository.trailer(commit, BRANCH).is_ok_and(|name| name.as_deref() == Some(branch.as_str()))
}

/// The files of a snapshot commit: their ids by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<String, BlobId>);

impl Files {
    /// Reads the files of a commit. Entries that are not plain files get an id that no content has.
    pub fn of(repository: &Repository, commit: CommitId) -> Result<Files, HistoryError> {
        let file = |(name, entry): (String, Entry)| match entry {
            Entry::File(id) => (name, id),
            _ => (name, BlobId([0; 20])),
        };
        Ok(Files(repository.tree(commit)?.list("")?.into_iter().map(file).collect()))
    }

    /// Returns true if these are the files of all `snapshots`, and no others.
    pub fn are_of(&self, snapshots: &Snapshots<'_>, workers: &Workers) -> bool {
        let names = files_of(snapshots);
        let differs = |node: usize, text: &[u8]| {
            Ok(names[node].as_ref().is_some_and(|name| self.0.get(name) != Some(&BlobId::of(text))))
        };
        names.iter().flatten().count() == self.0.len()
            && threads::for_each_snapshot(snapshots, workers, differs).is_ok_and(|count| count == 0)
    }

    /// Writes the `snapshots` that differ, and keeps or removes the files of all other nodes as `rest` says.
    pub fn write(
        &mut self,
        snapshots: &Snapshots<'_>,
        rest: Rest,
        import: &mut Import,
        workers: &Workers,
    ) -> io::Result<Written> {
        let names = files_of(snapshots);
        let state = Mutex::new((&mut *import, Vec::new()));
        let changed = threads::for_each_snapshot(snapshots, workers, |node, text| {
            let Some(name) = &names[node] else { return Ok(false) };
            let id = BlobId::of(text);
            let differs = self.0.get(name) != Some(&id);
            if differs {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                state.0.file(name, text)?;
                state.1.push((node, id));
            }
            Ok(differs)
        })?;
        let (_, changed_files) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut removed = Vec::new();
        if rest == Rest::Removed {
            let current: HashSet<&String> = names.iter().flatten().collect();
            removed.extend(self.0.keys().filter(|name| !current.contains(name)).cloned());
        }
        for name in &removed {
            import.remove(name)?;
            self.0.remove(name);
        }
        self.0.extend(changed_files.into_iter().filter_map(|(node, id)| Some((names[node].clone()?, id))));
        let unnamed = names.iter().enumerate().filter(|(_, name)| name.is_none());
        let without_file = unnamed.map(|(node, _)| snapshots.name(node).clone()).collect();
        Ok(Written { changed, removed: removed.len(), without_file })
    }
}

/// The treatment of the files of nodes whose snapshots are not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// They stay.
    Kept,
    /// They are removed.
    Removed,
}

/// The relation of a commit to the source of the snapshots before its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It follows that commit, or there is none.
    Next,
    /// A rewritten branch has left that commit.
    Left(CommitId),
    /// It is that commit: only facts of nodes have changed.
    Same,
    /// It is that commit: its snapshots were fetched from elsewhere, and are wrong.
    Wrong,
}

/// Returns the message of the snapshot commit of `source`. `skipped` are the commits in between without snapshots.
pub fn commit(source: &CommitInfo, branch: &BranchName, relation: Relation, skipped: &[CommitId]) -> NewCommit {
    let skipped = skipped.iter().fold(String::new(), |lines, id| lines + &format!("{SKIPPED}: {id}\n"));
    let rewritten = match relation {
        Relation::Next => String::new(),
        Relation::Left(left) => {
            format!("The branch was rewritten: the snapshots before these are of\n{left},\nwhich it has left.\n\n")
        }
        Relation::Wrong => {
            "The snapshots before these were found elsewhere, and are not what hierad writes.\n\n".to_owned()
        }
        Relation::Same => "The facts of nodes have changed since the snapshots before these.\n\n".to_owned(),
    };
    // Git takes the first line for the title, even if it is a trailer.
    let title = if source.summary.is_empty() { "(no message)" } else { &source.summary };
    let message = format!("{title}\n\n{rewritten}{COMMIT}: {}\n{BRANCH}: {branch}\n{skipped}", source.id);
    NewCommit {
        author: source.author.clone(),
        time: source.time,
        committer: COMMITTER.to_owned(),
        committed: source.committed,
        message,
    }
}
