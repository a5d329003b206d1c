//! The least that anyone must do who compares the data of two commits: read it from git and parse it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use git2::{ObjectType, Oid, Repository, Tree, TreeWalkMode, TreeWalkResult};

use super::libyaml::events;
use super::program::Result;

/// The files that were read.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Work {
    pub(crate) files: usize,
    pub(crate) bytes: usize,
    pub(crate) events: usize,
}

impl Work {
    fn parse(&mut self, content: &[u8]) {
        self.files += 1;
        self.bytes += content.len();
        self.events += events(content);
    }
}

/// Reads each distinct YAML or JSON file of two revisions from git, once, and counts libyaml's events in it.
pub(crate) fn read(repository: &Path, revisions: [&str; 2]) -> Result<Work> {
    let repository = Repository::open(repository)?;
    let mut blobs = BTreeSet::new();
    for revision in revisions {
        find(&repository.revparse_single(revision)?.peel_to_tree()?, &mut blobs)?;
    }
    let mut work = Work::default();
    for id in blobs {
        work.parse(repository.find_blob(id)?.content());
    }
    Ok(work)
}

/// Parses a file of profiles, or all those in a folder.
pub(crate) fn read_profiles(path: &Path, work: &mut Work) -> Result<()> {
    if !path.is_dir() {
        work.parse(&fs::read(path)?);
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        work.parse(&fs::read(entry?.path())?);
    }
    Ok(())
}

fn find(tree: &Tree<'_>, blobs: &mut BTreeSet<Oid>) -> Result<()> {
    const LINK: i32 = 0o120_000;
    tree.walk(TreeWalkMode::PreOrder, |_, entry| {
        let name = Path::new(entry.name().unwrap_or_default());
        let extension = name.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_data = matches!(extension, "yaml" | "yml" | "eyaml" | "json");
        if is_data && entry.kind() == Some(ObjectType::Blob) && entry.filemode() != LINK {
            blobs.insert(entry.id());
        }
        TreeWalkResult::Ok
    })?;
    Ok(())
}
