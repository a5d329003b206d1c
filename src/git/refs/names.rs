//! Finds the reference that a name stands for.
//!
//! Git prefers a tag to a branch of the same name, and completes names in six ways. Whoever may push a tag could thus
//! choose what others compare with, or trust. Here a branch takes precedence over a tag, full names are not
//! completed, and a name that trust depends on is one exact reference.

use std::borrow::Cow;
use std::collections::BTreeSet;

use git2::Oid;

use super::ambiguous::Ambiguous;
use super::{Refs, RefsError, RevisionError};
use crate::git::command::CommandError;
use crate::git::id::{BranchName, CommitId};
use crate::git::objects::Objects;

/// The characters that may follow a name in git's notation of revisions.
const SUFFIXES: [char; 4] = ['^', '~', '@', ':'];

/// The beginning of the full names of remote-tracking branches.
const TRACKING: &str = "refs/remotes/";

/// A mirror's reference to the commit that the other repository reported with its default branch. Trust depends on it
/// instead of `HEAD`: whoever pushes a branch that was the default one a moment ago gains no trust by its name.
/// Nobody can push a reference outside of `refs/`.
pub(in crate::git) const DEFAULT_HEAD: &str = "HIERAD_DEFAULT_HEAD";

impl Refs {
    /// Returns the revision, with the full name of a branch if git would prefer a tag of the same name; that name is
    /// added to `ambiguous`. Returns `None` if the revision contains a full name that no reference has.
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
                ambiguous.add(format!("'{name}' is ambiguous, since a tag has this name, too: using {branch}"));
                format!("{branch}{suffix}").into()
            }
            None => revision.into(),
        }))
    }

    /// Returns the object that a revision names if it is only a name, an id or the beginning of one, without reading
    /// the object. libgit2 would read it, however large it is, and does not find a commit that it cannot parse.
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

    /// Returns those of the full names that are references, in the same order.
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

    /// Returns the commit of a name that trust depends on: a full id, a reference by its full name, a remote-tracking
    /// branch of a configured remote, the default branch of one, or a branch. A tag is accepted by its full name
    /// only. Anything below `refs/remotes/` that no remote fetches may have been pushed by anybody, and is refused.
    pub(in crate::git) fn trusted(&self, name: &str, objects: &Objects) -> Result<CommitId, RevisionError> {
        let unnamed = || RevisionError::NotExact { revision: name.to_owned() };
        let id = match CommitId::from_hex(name) {
            Some(id) => id,
            None => self.target(&self.full_name(name)?.ok_or_else(unnamed)?)?.ok_or_else(unnamed)?,
        };
        objects.peel(id.0).map_err(|source| RevisionError::NotACommit { revision: name.to_owned(), source })
    }

    fn full_name(&self, name: &str) -> Result<Option<String>, RefsError> {
        let remotes = self.remotes()?;
        let full = if name == "HEAD" && self.target(DEFAULT_HEAD)?.is_some() {
            DEFAULT_HEAD.to_owned()
        } else if name == "HEAD" || name.starts_with("refs/") {
            name.to_owned()
        } else if remotes.has_branch(name) {
            format!("{TRACKING}{name}")
        } else if is_no_branch(name) {
            return Ok(None);
        } else {
            format!("refs/heads/{name}")
        };
        if full.starts_with(TRACKING) {
            return self.fetched_branch(full, &remotes);
        }
        Ok(git2::Reference::is_valid_name(&full).then_some(full))
    }

    /// Returns the full name of a remote-tracking branch if a remote fetches it. A remote's `HEAD` is git's record of
    /// the default branch only if it is symbolic: otherwise somebody pushed a branch of that name, which was fetched.
    fn fetched_branch(&self, name: String, remotes: &Remotes) -> Result<Option<String>, RefsError> {
        let name = if name.ends_with("/HEAD") { self.symbolic_target(&name)? } else { Some(name) };
        Ok(name.filter(|name| !name.ends_with("/HEAD") && remotes.is_fetched(name)))
    }

    /// Returns the default branch of a remote: the branch that its symbolic `HEAD` leads to here.
    pub(in crate::git) fn default_branch_of(&self, remote: &str) -> Result<Option<BranchName>, RefsError> {
        let place = format!("{TRACKING}{remote}/");
        let full = self.fetched_branch(format!("{place}HEAD"), &self.remotes()?)?;
        Ok(full.and_then(|name| name.strip_prefix(&place).map(BranchName::new)))
    }

    /// Returns the full name of the reference that a symbolic one finally leads to.
    fn symbolic_target(&self, name: &str) -> Result<Option<String>, CommandError> {
        let (Refs::Library(_, command) | Refs::Command(command)) = self;
        Ok(command.query(&["symbolic-ref", "--quiet", name])?.map(|target| target.trim_end().to_owned()))
    }

    fn remotes(&self) -> Result<Remotes, CommandError> {
        let (Refs::Library(_, command) | Refs::Command(command)) = self;
        let lines = command.query(&["config", "--null", "--get-regexp", r"^remote\..*\.(url|fetch)$"])?;
        let mut remotes = Remotes::default();
        for line in lines.unwrap_or_default().split('\0') {
            let Some((key, value)) = line.split_once('\n') else { continue };
            let Some((remote, field)) = key.rsplit_once('.') else { continue };
            remotes.names.extend(remote.strip_prefix("remote.").map(str::to_owned));
            let target = value.rsplit_once(':').map(|(_, target)| target).filter(|_| field == "fetch");
            remotes.targets.extend(target.filter(|target| target.starts_with(TRACKING)).map(str::to_owned));
        }
        Ok(remotes)
    }
}

/// The configured remotes.
#[derive(Default)]
struct Remotes {
    names: BTreeSet<String>,
    /// The remote-tracking branches that they fetch to: names, or patterns with one `*`. The `refs/*` of a mirror is
    /// left out, since it also covers a `refs/remotes/` that others pushed.
    targets: Vec<String>,
}

impl Remotes {
    /// Returns true for the short name of a remote's branch, even if it is not fetched: in a mirror, which has no
    /// remote-tracking branches, somebody may push a branch with that name.
    fn has_branch(&self, name: &str) -> bool {
        let is_below = |remote: &String| name.strip_prefix(remote.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.names.iter().any(is_below) || self.is_fetched(&format!("{TRACKING}{name}"))
    }

    /// Returns true if a remote-tracking branch is fetched.
    fn is_fetched(&self, reference: &str) -> bool {
        self.targets.iter().any(|pattern| is_covered(reference, pattern))
    }
}

/// The first parts of names that git completes to something other than a branch, and the usual name of a remote.
const RESERVED_FIRST_PARTS: [&str; 5] = ["@", "heads", "origin", "remotes", "tags"];

/// Returns true for a short name under which anybody may push a branch, but by which people mean something else: a
/// remote's branch in a repository without remotes, a name that git completes, a reference such as `FETCH_HEAD`, or
/// the beginning of an id. Such a branch is found by its full name only.
fn is_no_branch(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or_default();
    let is_id = name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) && !begins_with_day(name);
    RESERVED_FIRST_PARTS.contains(&first) || name.ends_with("HEAD") || is_id
}

/// Returns true for digits that begin with a date, such as 20261127, which is a plausible branch name.
fn begins_with_day(name: &str) -> bool {
    let part = |range: std::ops::Range<usize>| name.get(range).and_then(|digits| digits.parse::<u32>().ok());
    let is_day = part(0..4).is_some_and(|year| (1970..2100).contains(&year))
        && part(4..6).is_some_and(|month| (1..=12).contains(&month))
        && part(6..8).is_some_and(|day| (1..=31).contains(&day));
    is_day && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the object whose id has this prefix, if it is the only one. If there are several, one of them may be a
/// commit; libgit2 looks for that.
fn only_object(library: &git2::Repository, prefix: &str) -> Option<Oid> {
    let is_prefix = (4..40).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = Oid::from_str(prefix).ok().filter(|_| is_prefix)?;
    library.odb().ok()?.exists_prefix(id, prefix.len()).ok()
}

/// Returns true if a pattern of a refspec matches a reference.
fn is_covered(reference: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((prefix, suffix)) => {
            reference.len() >= pattern.len() - 1 && reference.starts_with(prefix) && reference.ends_with(suffix)
        }
        None => reference == pattern,
    }
}
