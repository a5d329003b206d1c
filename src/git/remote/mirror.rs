//! Bare mirrors of other repositories. A new mirror is made next to the one that it replaces, and is filled by the
//! user's own `git fetch`, with the user's credentials.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use git2::RepositoryInitOptions;

use super::asking::ask_nobody;
use crate::disk::FileMode;
use crate::git::command::{GitCommand, clean};
use crate::git::id::CommitId;
use crate::git::refs::names::DEFAULT_HEAD;

/// A failure to make a mirror.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a mirror in {}: {reason}", .path.display())]
pub struct MirrorError {
    path: PathBuf,
    reason: String,
}

/// The target of HEAD while the other repository's default branch is unknown. It is not a branch, so nobody can push
/// it; if it were one such as `main`, whoever pushes that would make it the default branch.
const NO_BRANCH: &str = "refs/hierad/no-default-branch";

/// A bare repository whose branches are those of another one.
#[derive(Debug, Clone)]
pub struct Mirror {
    /// Its folder.
    pub folder: PathBuf,
    /// The other repository's address, in any form that git takes.
    pub url: String,
}

impl Mirror {
    /// Returns true if the mirror exists.
    pub fn is_there(&self) -> bool {
        self.folder.join("HEAD").is_file()
    }

    /// Returns the folder that the mirror is moved to when [another](Mirror::replace) replaces it.
    pub fn former(&self) -> PathBuf {
        self.folder.with_extension("damaged")
    }

    /// Returns the folder of the mirror that has hierad's own references: this one or, if it is missing, the last one
    /// that it replaced. A crash during a replacement can leave no mirror in this place.
    pub fn last(&self) -> Option<PathBuf> {
        let is_there = |folder: &PathBuf| folder.join("HEAD").is_file();
        [self.folder.clone(), self.former()].into_iter().find(is_there)
    }

    /// Makes a new mirror of the same repository next to this one. It has no branches until it is fetched.
    pub fn beside(&self) -> Result<Mirror, MirrorError> {
        let mirror = Mirror { folder: self.folder.with_extension("new"), url: self.url.clone() };
        remove(&mirror.folder).map_err(|error| failed(&mirror.folder, &error))?;
        mirror.make().map_err(|error| failed(&mirror.folder, &error.message()))?;
        Ok(mirror)
    }

    fn make(&self) -> Result<(), git2::Error> {
        let parent = self.folder.parent().unwrap_or(&self.folder);
        FileMode::PRIVATE.create_folder(parent).map_err(|error| git2::Error::from_str(&error.to_string()))?;
        let mut options = RepositoryInitOptions::new();
        options.bare(true).mkpath(true).external_template(false).initial_head(NO_BRANCH);
        // Reflogs keep former tips for a while.
        git2::Repository::init_opts(&self.folder, &options)?.config()?.set_str("core.logAllRefUpdates", "always")
    }

    /// Replaces this mirror with another one.
    pub fn replace(&self, fresh: &Mirror) -> Result<(), MirrorError> {
        let replace = || {
            if self.folder.exists() {
                remove(&self.former())?;
                fs::rename(&self.folder, self.former())?;
            }
            fs::rename(&fresh.folder, &self.folder)
        };
        replace().map_err(|error| failed(&self.folder, &error))
    }

    /// Returns the command that updates the mirror's branches from the other repository. It never prompts.
    pub fn fetch(&self) -> Command {
        self.fetch_from(OsStr::new(&self.url), "+refs/heads/*:refs/heads/*")
    }

    /// Returns the command that asks the other repository for its default branch, for [`set_head`](Mirror::set_head).
    pub fn ask_head(&self) -> Command {
        let mut command = self.git();
        command.args(["ls-remote", "--symref", "--", &self.url, "HEAD"]).stdout(Stdio::piped());
        command
    }

    /// Sets the default branch to that of the other repository, as reported in `answer`, and trusts its commit if
    /// that is fetched. Without a branch in `answer`, the mirror has no default branch.
    pub fn set_head(&self, answer: &str) -> Result<(), MirrorError> {
        let symref = answer.lines().find_map(|line| line.strip_prefix("ref: ")?.strip_suffix("\tHEAD"));
        let branch = symref.filter(|name| name.starts_with("refs/heads/"));
        let commit =
            branch.and_then(|_| answer.lines().find_map(|line| CommitId::from_hex(line.strip_suffix("\tHEAD")?)));
        let set = || {
            let repository = git2::Repository::open_bare(&self.folder)?;
            let known = repository.find_reference("HEAD")?;
            let target = branch.unwrap_or(NO_BRANCH);
            if known.symbolic_target()? != Some(target) {
                repository.reference_symbolic("HEAD", target, true, "the other's default branch")?;
            }
            let commit = commit.map(|commit| git2::Oid::from_bytes(&commit.0)).transpose()?;
            match commit.filter(|commit| repository.find_commit(*commit).is_ok()) {
                Some(commit) => drop(repository.reference(DEFAULT_HEAD, commit, true, "the other's default branch")?),
                None if branch.is_none() => _ = repository.find_reference(DEFAULT_HEAD).map(|mut known| known.delete()),
                // The other repository's earlier state stays trusted.
                None => {}
            }
            Ok(())
        };
        set().map_err(|error: git2::Error| failed(&self.folder, &error.message()))
    }

    /// Returns the command that copies hierad's own references from the mirror in another folder.
    pub fn adopt(&self, other: &Path) -> Command {
        self.fetch_from(other.as_os_str(), "+refs/hierad/*:refs/hierad/*")
    }

    /// Returns the command that fails if an object that a branch needs is missing.
    pub fn check(&self) -> Command {
        let mut command = self.git();
        command.args(["fsck", "--connectivity-only", "--no-dangling", "--no-progress"]);
        command
    }

    fn fetch_from(&self, place: &OsStr, references: &str) -> Command {
        let mut command = self.git();
        // After the dashes nothing is taken for an option.
        command.args(["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--"]);
        command.arg(place).arg(references);
        command
    }

    fn git(&self) -> Command {
        let mut command = Command::new("git");
        clean(&mut command);
        command.arg("--git-dir").arg(&self.folder);
        command.env("LC_ALL", "C").env("GIT_NO_REPLACE_OBJECTS", "1").stdin(Stdio::null()).stdout(Stdio::null());
        ask_nobody(&mut command, &GitCommand::for_git_dir(&self.folder, &[]));
        command
    }
}

/// Removes a folder if it exists.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn failed(path: &Path, reason: &impl ToString) -> MirrorError {
    MirrorError { path: path.to_owned(), reason: reason.to_string() }
}
