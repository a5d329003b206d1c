//! The revision whose code is run: never one that somebody has only proposed.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::git::{CommitId, Repository};
use crate::hiera::backend::{Code, Folder};
use crate::tree::{ContentIds, FileTree, Target, follow};

/// The reference that names the default branch of a clone.
const DEFAULT_BRANCH: &str = "refs/remotes/origin/HEAD";

/// The time for which the name is taken to mean the same revision.
const NAME_LIFETIME: Duration = Duration::from_secs(5);

/// The code of the trusted revision, as it was seen last.
#[derive(Default)]
pub(super) struct Trusted {
    seen: Option<Seen>,
    /// The commit that was trusted last.
    last: Option<CommitId>,
}

struct Seen {
    at: Instant,
    commit: CommitId,
    name: String,
    /// The path of a folder `lib`, and that folder, or `None` if the revision does not have it.
    lib: (String, Option<Folder>),
    tree: Arc<dyn FileTree>,
}

impl fmt::Debug for Trusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trusted").field(&self.seen.as_ref().map(|seen| seen.commit)).finish()
    }
}

impl Trusted {
    /// Refuses the code of a revision unless it is the same in the trusted one, which is called `revision_name`.
    /// Returns the files of the trusted one, with the folder of the code in them.
    pub(super) fn check(
        &mut self,
        repository: &Repository,
        revision_name: Option<&str>,
        code: &Code,
    ) -> Result<(&dyn FileTree, &Folder), String> {
        let lib = &code.lib;
        let is_fresh = |seen: &Seen| seen.at.elapsed() < NAME_LIFETIME && seen.lib.0 == lib.path;
        let seen = match self.seen.take().filter(is_fresh) {
            Some(seen) => seen,
            None => read_trusted(repository, revision_name, &lib.path)?,
        };
        if let Some(was) = self.last.replace(seen.commit).filter(|last| is_rewritten(repository, *last, seen.commit)) {
            let (name, is) = (&seen.name, seen.commit);
            tracing::warn!(%name, %was, %is, "the trusted code was rewritten: it does not go on from the former");
        }
        let Seen { commit, name, lib: (path, trusted), tree, .. } = &*self.seen.insert(seen);
        let short = || commit.to_string().chars().take(10).collect::<String>();
        match trusted {
            Some(trusted) if trusted.id == lib.id => Ok((&**tree, trusted)),
            Some(_) => Err(format!(
                "is not run here: {path} differs from that of {name} ({}), and only that one's code is run; \
                 its answers are known once the two are the same, or under 'puppet: REVISION' for a revision with this code",
                short()
            )),
            None => Err(format!(
                "is not run here: {name} ({}) does not have {path}, and only its code is run; its answers are \
                 known once it has, or under 'puppet: REVISION' for a revision with this code",
                short()
            )),
        }
    }
}

/// Returns true if a trusted revision is not a descendant of the one that was trusted before: somebody may have
/// replaced it.
fn is_rewritten(repository: &Repository, was: CommitId, is: CommitId) -> bool {
    was != is && !matches!(repository.is_ancestor(was, is), Ok(true))
}

fn read_trusted(repository: &Repository, revision_name: Option<&str>, path: &str) -> Result<Seen, String> {
    let (name, commit) = resolve(repository, revision_name)?;
    let unreadable = |error: &dyn std::fmt::Display| format!("is not run, as {name} cannot be read: {error}");
    let tree = repository.tree(commit).map_err(|error| unreadable(&error))?;
    let tree = repository.with_submodules(Arc::new(tree)).map_err(|error| unreadable(&error))?;
    let lib = match follow(&*tree, path).map_err(|error| unreadable(&error))? {
        Target::Folder(at) => {
            let id = tree.content_id(&at, &ContentIds::default()).map_err(|error| unreadable(&error))?;
            Some(Folder { path: path.to_owned(), at, id, only: None })
        }
        _ => None,
    };
    Ok(Seen { at: Instant::now(), commit, name, lib: (path.to_owned(), lib), tree })
}

/// Returns the trusted revision and its name: the one named, or the default branch.
fn resolve(repository: &Repository, revision_name: Option<&str>) -> Result<(String, CommitId), String> {
    if let Some(name) = revision_name {
        let commit = repository.resolve_trusted(name).map_err(|error| format!("is not run: {error}"))?;
        return Ok((name.to_owned(), commit));
    }
    if let Ok(commit) = repository.resolve_trusted(DEFAULT_BRANCH) {
        return Ok(("origin/HEAD".to_owned(), commit));
    }
    let unnamed = |why: &str| {
        format!(
            "is not run: {why}, so nothing says whose code is trusted; name that revision with \
             'puppet: REVISION', such as 'puppet: origin/production'"
        )
    };
    if repository.work_dir().is_some() {
        let failed = |error: &dyn std::fmt::Display| format!("is not run: {error}");
        let has_tips = !repository.remote_tips("origin").map_err(|error| failed(&error))?.is_empty();
        if has_tips || repository.has_remote("origin").map_err(|error| failed(&error))? {
            return Err(unnamed("the clone does not know the default branch of its origin"));
        }
        if repository.has_remotes().map_err(|error| failed(&error))? {
            return Err(unnamed("no remote is called 'origin'"));
        }
        // Somebody may have fetched a proposal and checked it out.
        if repository.branch().map_err(|error| failed(&error))?.is_none() {
            return Err(unnamed("HEAD is detached"));
        }
    }
    let commit = repository.resolve_trusted("HEAD").map_err(|error| format!("is not run: {error}"))?;
    Ok(("HEAD".to_owned(), commit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Scratch;

    #[test]
    fn code_that_does_not_go_on_is_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "1").unwrap();
        let scratch = Scratch::init(folder.path()).unwrap();
        scratch.commit("first", 0).unwrap();
        let repository = Repository::discover(folder.path()).unwrap();
        let first = repository.resolve("HEAD").unwrap();
        std::fs::write(folder.path().join("a"), "2").unwrap();
        scratch.commit("second", 1).unwrap();
        let second = repository.resolve("HEAD").unwrap();
        let gone = CommitId::from_hex(&"1".repeat(40)).unwrap();
        let found = [(first, first), (first, second), (second, first), (gone, second)];
        assert_eq!(found.map(|(was, is)| is_rewritten(&repository, was, is)), [false, false, true, true]);
    }
}
