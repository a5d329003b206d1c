//! Pushes the references of snapshots to a remote, where others can write, too.
//!
//! A commit that was pushed from here is hierad's own, and takes precedence: a reference of this repository remembers
//! it. Any other commit in its place at the remote is replaced, and kept there under another name. A repository that
//! has pushed nothing yet may be a new mirror: it continues from a commit at the remote whose trailer names the
//! branch.

use std::iter;

use super::history::{is_of_branch, reference, source_of};
use super::references::{
    ALL, ReferenceError, blocking_references, branch_of, conflict, fetched_ref, foreign_ref, kept_ref, make_room,
    pushed_ref,
};
use crate::git::{BranchName, CommandError, CommitId, Moved, References, Remote, Repository};

/// The maximum number of snapshots at a remote that are searched for one of the branch.
const MAX_LOOKS: usize = 1000;

/// The state of the snapshots of a branch before they are first pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepared {
    /// The snapshots are hierad's own.
    Own,
    /// The snapshots were fetched from the remote, so the last ones may be wrong.
    Taken,
    /// The remote could not be asked; the local snapshots are continued.
    Later,
}

/// The remote that the references of a repository are pushed to.
#[derive(Clone, Copy)]
pub struct Pushed<'a> {
    repository: &'a Repository,
    remote: &'a Remote,
}

impl<'a> Pushed<'a> {
    /// Returns the remote with the repository whose references are pushed to it.
    pub fn new(repository: &'a Repository, remote: &'a Remote) -> Pushed<'a> {
        Pushed { repository, remote }
    }

    /// Finds the snapshots of a branch to continue from, and makes room for them at the remote. Call it before
    /// snapshots are first written.
    pub fn prepare(&self, branch: &BranchName) -> Result<Prepared, ReferenceError> {
        match self.reconcile(branch) {
            Err(ReferenceError::Command(error)) if self.last_local(branch)?.is_some() => {
                tracing::debug!(%branch, remote = self.remote.name, %error, "cannot compare the snapshots with those at the remote");
                Ok(Prepared::Later)
            }
            result => result,
        }
    }

    /// Pushes the snapshots of a branch. Replaces commits that somebody else has put in their place.
    pub fn push(&self, branch: &BranchName) -> Result<(), ReferenceError> {
        if let Err(error) = self.remote.push(&reference(branch)) {
            return self.push_over(branch, error);
        }
        self.remember(branch)
    }

    fn reconcile(&self, branch: &BranchName) -> Result<Prepared, ReferenceError> {
        let there = self.remote.references(&ALL)?;
        if self.last_local(branch)?.is_none() {
            make_room(self.repository, branch)?;
        }
        let prepared = match self.repository.reference(&pushed_ref(branch))? {
            Some(own) => self.restore(branch, own)?,
            None => self.take(branch, &there)?,
        };
        self.make_room_at_remote(branch, &there)?;
        Ok(prepared)
    }

    /// Makes the local snapshots continue from those that were pushed.
    fn restore(&self, branch: &BranchName, own: CommitId) -> Result<Prepared, ReferenceError> {
        let here = self.last_local(branch)?;
        if !self.continues(here, own) {
            self.repository.set_reference(&reference(branch), own)?;
            if let Some(left) = here {
                tracing::warn!(%branch, %left, %own, "the pushed snapshots have another history, which is kept");
            }
        }
        Ok(Prepared::Own)
    }

    /// Takes the snapshots of a branch from the remote, unless the local ones continue them.
    fn take(&self, branch: &BranchName, there: &References) -> Result<Prepared, ReferenceError> {
        let (here, own) = (self.last_local(branch)?, reference(branch));
        // A history that was moved out of the way is as good as one in its place.
        let found = there.get_key_value(&own).or_else(|| there.get_key_value(&kept_ref(branch)));
        let Some((name, target)) = found.filter(|(_, target)| !self.continues(here, **target)) else {
            return Ok(Prepared::Own);
        };
        self.while_fetched(branch, name, || {
            let base = self.last_of_branch(branch, *target)?;
            if base.is_none() && self.remote.has_user() {
                return Err(ReferenceError::Foreign { branch: branch.clone(), remote: self.remote.name.clone() });
            }
            if base != Some(*target) {
                let aside = self.set_aside(branch, *target);
                self.replace(branch, Moved { name, seen: Some(*target), to: base }, aside)?;
            }
            let Some(base) = base else { return Ok(Prepared::Own) };
            self.repository.set_reference(&own, base)?;
            self.repository.set_reference(&pushed_ref(branch), base)?;
            let remote = &self.remote.name;
            if let Some(left) = here {
                let text = "the snapshots at the remote have another history, which is kept";
                tracing::warn!(%branch, remote, %left, target = %base, "{text}");
            } else {
                tracing::info!(%branch, remote, target = %base, "the snapshots continue those at the remote");
            }
            Ok(Prepared::Taken)
        })
    }

    /// Does `work` while a reference of the remote is fetched, and removes the local copy afterwards.
    fn while_fetched<T>(
        &self,
        branch: &BranchName,
        name: &str,
        work: impl FnOnce() -> Result<T, ReferenceError>,
    ) -> Result<T, ReferenceError> {
        let fetched = fetched_ref(branch);
        self.remote.fetch(name, &fetched)?;
        let result = work();
        if let Some(target) = self.repository.reference(&fetched)? {
            self.repository.delete_reference(&fetched, target)?;
        }
        result
    }

    /// Returns the last snapshot commit, from `target` backwards, whose source is a commit of the branch.
    fn last_of_branch(&self, branch: &BranchName, target: CommitId) -> Result<Option<CommitId>, ReferenceError> {
        let repository = self.repository;
        // A CI job may not have the branch itself.
        let tip = repository.tip(branch)?;
        let has = |source| match tip {
            Some(tip) => repository.is_ancestor(source, tip).unwrap_or(false),
            None => !repository.is_gone(source),
        };
        let mut looked_at =
            iter::once(target).chain(repository.first_parents(target).map_while(Result::ok)).take(MAX_LOOKS);
        Ok(looked_at.find(|commit| {
            let source = source_of(repository, *commit).ok().flatten();
            is_of_branch(repository, *commit, branch) && source.is_some_and(has)
        }))
    }

    /// Pushes the snapshots of a branch, replacing commits that are not hierad's own. `refused` is git's error from
    /// an ordinary push.
    fn push_over(&self, branch: &BranchName, refused: CommandError) -> Result<(), ReferenceError> {
        let (own, here) = (reference(branch), self.last_local(branch)?);
        let is_known = self.repository.reference(&pushed_ref(branch))?.is_some();
        let Ok(there) = self.remote.references(&[&own]) else { return Err(refused.into()) };
        let there = there.get(&own).copied();
        let Some(target) = there.filter(|target| is_known && !self.continues(here, *target)) else {
            return Err(refused.into());
        };
        let outcome = self.while_fetched(branch, &own, || {
            let is_ahead = here.is_some_and(|here| self.continues(Some(target), here));
            if is_ahead && is_of_branch(self.repository, target, branch) {
                return Ok(None);
            }
            Ok(Some(self.set_aside(branch, target)))
        });
        // A failure to fetch does not stop the push.
        let Some(aside) = outcome.unwrap_or_else(|error| Some(Err(error))) else {
            tracing::debug!(%branch, remote = self.remote.name, %target, "the snapshots at the remote are ahead");
            return Ok(());
        };
        self.replace(branch, Moved { name: &own, seen: Some(target), to: here }, aside)?;
        self.remember(branch)
    }

    /// Keeps the commits with which somebody else has replaced a branch's snapshots at the remote, and returns the
    /// reference.
    fn set_aside(&self, branch: &BranchName, target: CommitId) -> Result<String, ReferenceError> {
        let aside = foreign_ref(branch, target);
        let seen = self.remote.references(&[&aside])?.get(&aside).copied();
        self.remote.replace(&[Moved { name: &aside, seen, to: Some(target) }])?;
        Ok(aside)
    }

    /// Moves a reference of the remote away from commits that are not hierad's own, and logs it.
    fn replace(
        &self,
        branch: &BranchName,
        moved: Moved<'_>,
        aside: Result<String, ReferenceError>,
    ) -> Result<(), ReferenceError> {
        let (remote, reference, seen) = (&self.remote.name, moved.name, moved.seen.map(|id| id.to_string()));
        self.remote.replace(&[moved])?;
        match aside {
            Ok(aside) => tracing::warn!(
                %branch, remote, reference, overwritten = seen, kept_as = aside,
                "somebody else has moved the reference of snapshots at the remote: it is set back"
            ),
            Err(error) => tracing::warn!(
                %branch, remote, reference, overwritten = seen,
                "somebody else has moved the reference of snapshots at the remote: it is set back, and what it was is not kept: {error}"
            ),
        }
        Ok(())
    }

    /// Remembers that the snapshots here were pushed.
    fn remember(&self, branch: &BranchName) -> Result<(), ReferenceError> {
        let (name, here) = (pushed_ref(branch), self.last_local(branch)?);
        match here.filter(|_| here != self.repository.reference(&name).ok().flatten()) {
            Some(here) => Ok(self.repository.set_reference(&name, here)?),
            None => Ok(()),
        }
    }

    /// Returns the last snapshots of a branch in this repository.
    fn last_local(&self, branch: &BranchName) -> Result<Option<CommitId>, ReferenceError> {
        Ok(self.repository.reference(&reference(branch))?)
    }

    /// Returns true if the snapshots `here` are those at the remote, or come after them.
    fn continues(&self, here: Option<CommitId>, there: CommitId) -> bool {
        here.is_some_and(|here| self.repository.is_ancestor(there, here).unwrap_or(false))
    }

    /// Moves references at the remote out of the way whose names exclude that of a branch: those of deleted branches,
    /// and those that are not hierad's.
    fn make_room_at_remote(&self, branch: &BranchName, there: &References) -> Result<(), ReferenceError> {
        let own_kept = kept_ref(branch);
        let here = self.last_local(branch)?;
        for (name, other, target) in blocking_references(self.repository, branch, there)? {
            let kept = kept_ref(&other);
            if self.repository.reference(&kept)?.is_none() {
                self.remote.fetch(&name, &kept)?;
            }
            let overwritten = there.get(&kept).filter(|seen| **seen != target).map(ToString::to_string);
            tracing::info!(%branch, remote = self.remote.name, from = name, to = kept, %target, overwritten, "the snapshots of a deleted branch make way");
            let kept = Moved { name: &kept, seen: there.get(&kept).copied(), to: self.repository.reference(&kept)? };
            self.remote.replace(&[kept, Moved { name: &name, seen: Some(target), to: None }])?;
        }
        for (name, target) in
            there.iter().filter(|(name, _)| conflict(name, &reference(branch)) && branch_of(name).is_none())
        {
            let aside = self.while_fetched(branch, name, || self.set_aside(branch, *target));
            self.replace(branch, Moved { name, seen: Some(*target), to: None }, aside)?;
        }
        if let Some(target) = there.get(&own_kept).filter(|target| self.continues(here, **target)) {
            self.remote.replace(&[Moved { name: &own_kept, seen: Some(*target), to: None }])?;
        }
        Ok(())
    }
}
