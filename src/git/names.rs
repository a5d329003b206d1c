//! Finds the reference that a name means.
//!
//! Git takes a tag before a branch of the same name, and completes names in six ways. Whoever may push a tag could so
//! choose what others compare with, or trust. Here a branch comes before a tag, no full name is completed, and where
//! trust hangs on a name it is one exact reference.

use std::borrow::Cow;

use git2::Oid;

use super::ambiguous::Ambiguous;
use super::command::CommandError;
use super::id::CommitId;
use super::objects::Objects;
use super::refs::{Refs, RefsError, RevisionError};

/// The beginnings of all that may follow a name in git's notation of revisions.
const SUFFIXES: [char; 4] = ['^', '~', '@', ':'];

/// The beginning of the full names of remote-tracking branches.
const TRACKING: &str = "refs/remotes/";

impl Refs {
    /// Returns a revision with the full name of a branch where git would take a tag of that name, which is added to
    /// `ambiguous`. Returns `None` if a full name in it is that of no reference.
    pub(super) fn unambiguous<'r>(
        &self,
        revision: &'r str,
        library: Option<&git2::Repository>,
        ambiguous: &Ambiguous,
    ) -> Result<Option<Cow<'r, str>>, RefsError> {
        let (name, suffix) = revision.split_at(revision.find(SUFFIXES).unwrap_or(revision.len()));
        if name.is_empty() || name == "HEAD" || CommitId::from_hex(name).is_some() {
            return Ok(Some(revision.into()));
        }
        if name.starts_with("refs/") {
            let is_there = !self.existing([name.to_owned()], library)?.is_empty();
            return Ok(is_there.then(|| revision.into()));
        }
        let tag = format!("refs/tags/{name}");
        let names = [
            tag.clone(),
            format!("refs/heads/{name}"),
            format!("refs/remotes/{name}"),
            format!("refs/remotes/{name}/HEAD"),
        ];
        let existing = self.existing(names, library)?;
        let branch = existing.iter().find(|found| **found != tag);
        Ok(Some(match branch.filter(|_| existing.contains(&tag)) {
            Some(branch) => {
                ambiguous.add(format!("'{name}' is ambiguous: a tag has this name, too; {branch} is taken"));
                format!("{branch}{suffix}").into()
            }
            None => revision.into(),
        }))
    }

    /// Returns the object that a revision names if it is no more than a name, an id or the beginning of one, with
    /// nothing of the object read. libgit2 reads it, however large it is, and does not know a commit that it cannot
    /// parse.
    pub(super) fn named_object(library: &git2::Repository, revision: &str) -> Option<[u8; 20]> {
        let name = revision.strip_suffix("^{commit}").or_else(|| revision.strip_suffix("^0")).unwrap_or(revision);
        if let Some(id) = CommitId::from_hex(name) {
            return Some(id.0);
        }
        if name == "@" || name.contains(SUFFIXES) {
            return None;
        }
        let rules = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let found = rules.iter().find_map(|prefix| library.refname_to_id(&format!("{prefix}{name}")).ok());
        let found = found.or_else(|| library.refname_to_id(&format!("refs/remotes/{name}/HEAD")).ok());
        found.or_else(|| only_object(library, name)).and_then(|id| id.as_bytes().try_into().ok())
    }

    /// Returns those of the full names that references have, in the same order.
    fn existing<const N: usize>(
        &self,
        names: [String; N],
        library: Option<&git2::Repository>,
    ) -> Result<Vec<String>, RefsError> {
        if let Some(library) = library {
            return Ok(names.into_iter().filter(|name| library.find_reference(name).is_ok()).collect());
        }
        let (Refs::Library(_, command) | Refs::Command(command)) = self;
        let mut query = vec!["for-each-ref", "--format=%(refname)"];
        query.extend(names.iter().map(String::as_str));
        let listed = command.query(&query)?.unwrap_or_default();
        Ok(names.into_iter().filter(|name| listed.lines().any(|line| line == name)).collect())
    }

    /// Returns the commit of a name that trust hangs on: a full id, a reference by its full name, a remote-tracking
    /// branch of a configured remote, or a branch. A tag counts by its full name only, and what lies below
    /// `refs/remotes/` without a remote that fetches it is somebody's push.
    pub(super) fn trusted(&self, name: &str, objects: &Objects) -> Result<CommitId, RevisionError> {
        let unnamed = || RevisionError::NotExact { revision: name.to_owned() };
        let id = match CommitId::from_hex(name) {
            Some(id) => id,
            None => self.target(&self.full_name(name)?.ok_or_else(unnamed)?)?.ok_or_else(unnamed)?,
        };
        objects.peel(id.0).map_err(|source| RevisionError::NotACommit { revision: name.to_owned(), source })
    }

    fn full_name(&self, name: &str) -> Result<Option<String>, RefsError> {
        let fetched = self.fetched()?;
        let is_fetched = |reference: &str| fetched.iter().any(|pattern| is_covered(reference, pattern));
        if name == "HEAD" || name.starts_with("refs/") {
            return Ok((!name.starts_with(TRACKING) || is_fetched(name)).then(|| name.to_owned()));
        }
        let tracking = format!("{TRACKING}{name}");
        let full = if is_fetched(&tracking) { tracking } else { format!("refs/heads/{name}") };
        Ok(git2::Reference::is_valid_name(&full).then_some(full))
    }

    /// Returns the remote-tracking branches that the configured remotes fetch to: names, or patterns with one `*`. A
    /// mirror's `refs/*` has somebody's `refs/remotes/` in it as well.
    fn fetched(&self) -> Result<Vec<String>, CommandError> {
        let (Refs::Library(_, command) | Refs::Command(command)) = self;
        let lines = command.query(&["config", "--null", "--get-regexp", r"^remote\..*\.fetch$"])?.unwrap_or_default();
        let refspecs = lines.split('\0').filter_map(|line| Some(line.split_once('\n')?.1));
        let targets = refspecs.filter_map(|refspec| Some(refspec.rsplit_once(':')?.1));
        Ok(targets.filter(|target| target.starts_with(TRACKING)).map(str::to_owned).collect())
    }
}

/// Returns the object whose id begins so, if it is the only one: of several, one may be a commit, which libgit2 looks
/// for.
fn only_object(library: &git2::Repository, prefix: &str) -> Option<Oid> {
    let is_prefix = (4..40).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = Oid::from_str(prefix).ok().filter(|_| is_prefix)?;
    library.odb().ok()?.exists_prefix(id, prefix.len()).ok()
}

/// Returns true if a pattern of a refspec stands for a reference.
fn is_covered(reference: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, behind)) => {
            reference.len() >= pattern.len() - 1 && reference.starts_with(before) && reference.ends_with(behind)
        }
        None => reference == pattern,
    }
}
