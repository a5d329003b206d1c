//! Makes new repositories, for the demo and for tests.

use std::path::Path;

use git2::{IndexAddOption, RepositoryInitOptions, Signature, Time};

/// A failure to make a repository.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a repository in {path}: {reason}")]
pub struct ScratchError {
    path: String,
    reason: String,
}

/// A new repository with a work tree and the branch `main`.
pub struct Scratch {
    repository: git2::Repository,
}

impl Scratch {
    /// Makes a repository in an empty folder.
    pub fn init(folder: &Path) -> Result<Scratch, ScratchError> {
        let mut options = RepositoryInitOptions::new();
        options.initial_head("main").external_template(false);
        let repository = git2::Repository::init_opts(folder, &options).map_err(|e| error(folder, &e))?;
        Ok(Scratch { repository })
    }

    /// Commits all files of the work tree. `minute` sets the commit's clock, so that its id is reproducible.
    pub fn commit(&self, message: &str, minute: i64) -> Result<(), ScratchError> {
        let folder = self.repository.workdir().unwrap_or_else(|| self.repository.path());
        self.try_commit(message, minute).map_err(|e| error(folder, &e))
    }

    /// Makes the branch `name` at the last commit.
    pub fn branch(&self, name: &str) -> Result<(), ScratchError> {
        let head = self.repository.head().and_then(|head| head.peel_to_commit());
        let branch = head.and_then(|head| self.repository.branch(name, &head, false).map(|_| ()));
        branch.map_err(|e| error(self.repository.path(), &e))
    }

    fn try_commit(&self, message: &str, minute: i64) -> Result<(), git2::Error> {
        let mut index = self.repository.index()?;
        index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
        index.update_all(["*"], None)?;
        index.write()?;
        let tree = self.repository.find_tree(index.write_tree()?)?;
        let time = Time::new(1_767_600_000 + minute * 60, 0);
        let author = Signature::new("Ada", "ada@example.com", &time)?;
        let parent = self.repository.head().ok().map(|head| head.peel_to_commit()).transpose()?;
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        self.repository.commit(Some("HEAD"), &author, &author, message, &tree, &parents)?;
        Ok(())
    }
}

fn error(folder: &Path, error: &git2::Error) -> ScratchError {
    ScratchError { path: folder.display().to_string(), reason: error.message().to_owned() }
}
