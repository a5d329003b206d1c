//! Puts a generated repository on disk, as files and as a git commit, and asks both sides about it.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Repository as Git, Signature, Time};

use super::answers::{self, Tally};
use super::difference::{self, Difference};
use super::generator::Repository;
use super::hierad::Hierad;
use super::puppet::Puppet;
use super::{Args, Fault};

/// A folder to work in, and both programs.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    puppets: Vec<(u8, Puppet)>,
    hierad: Hierad,
}

impl Stage {
    /// Starts the programs.
    pub(crate) fn new(args: &Args) -> Result<Stage, Fault> {
        let puppets: Result<_, Fault> =
            args.puppet.list().iter().map(|version| Ok((*version, Puppet::start(args, *version)?))).collect();
        Ok(Stage { folder: tempfile::tempdir()?, puppets: puppets?, hierad: Hierad::find(args)? })
    }

    /// Where the two disagree about `repository`, and how much was compared.
    pub(crate) fn compare(&mut self, repository: &Repository, version: u8) -> Result<(Vec<Difference>, Tally), Fault> {
        let root = self.folder.path().join("one");
        let result = self.compare_in(&root, repository, version);
        _ = fs::remove_dir_all(&root);
        result
    }

    fn compare_in(
        &mut self,
        root: &Path,
        repository: &Repository,
        version: u8,
    ) -> Result<(Vec<Difference>, Tally), Fault> {
        let (data, profiles) = write(root, repository)?;
        let rendered = self.hierad.render(&data, &profiles, version, "HEAD")?;
        let puppet = self.puppets.iter_mut().find(|(number, _)| *number == version).map(|(_, puppet)| puppet);
        let told = puppet.ok_or("no such Puppet")?.ask(&data, &profiles, &answers::keys(&rendered))?;
        Ok((difference::between(&told.answers, &rendered), Tally::of(&told.answers, &rendered)))
    }
}

/// Writes `repository` below `root`, commits it, and returns the paths of the data and of the profiles.
pub(crate) fn write(root: &Path, repository: &Repository) -> Result<(PathBuf, PathBuf), Fault> {
    let data = root.join("data");
    fs::create_dir_all(&data)?;
    repository.write(&data)?;
    let profiles = repository.write_profiles(&root.join("profiles"))?;
    commit(&data)?;
    Ok((data, profiles))
}

/// Makes a folder a git repository with one commit of all its files.
fn commit(folder: &Path) -> Result<(), Fault> {
    let mut options = git2::RepositoryInitOptions::new();
    let git = Git::init_opts(folder, options.external_template(false).initial_head("main"))?;
    let mut index = git.index()?;
    index.add_all(["*"], git2::IndexAddOption::FORCE, None)?;
    let tree = git.find_tree(index.write_tree()?)?;
    let author = Signature::new("generator", "generator@example.com", &Time::new(1_700_000_000, 0))?;
    git.commit(Some("HEAD"), &author, &author, "generated", &tree, &[])?;
    Ok(())
}
