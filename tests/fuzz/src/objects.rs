//! A repository whose commits are made from parts of inputs.

use std::cell::RefCell;
use std::sync::Arc;

use git2::{FileMode, IndexEntry, IndexTime, Oid, Signature, Time};
use hierad::git::{CommitId, Repository};

/// The inputs until a new repository is made, so that its folder stays small.
const INPUTS: usize = 200;

/// A repository for some inputs.
pub struct Objects {
    /// The repository as hierad has it.
    pub repository: Arc<Repository>,
    git: git2::Repository,
    inputs: usize,
    _folder: tempfile::TempDir,
}

thread_local! {
    static OBJECTS: RefCell<Option<Objects>> = const { RefCell::new(None) };
}

/// Calls `action` with the repository.
pub fn with_objects(action: impl FnOnce(&Objects)) {
    OBJECTS.with_borrow_mut(|place| {
        let objects = place.get_or_insert_with(Objects::new);
        objects.inputs += 1;
        action(objects);
        if objects.inputs > INPUTS {
            *place = None;
        }
    });
}

impl Objects {
    fn new() -> Objects {
        let folder = tempfile::tempdir().unwrap();
        let git = git2::Repository::init_bare(folder.path()).unwrap();
        let repository = Arc::new(Repository::discover(folder.path()).unwrap());
        Objects { repository, git, inputs: 0, _folder: folder }
    }

    /// Commits files: a path, its content, and true for a link. Returns `None` if git has no such paths.
    pub fn commit(&self, files: &[(&str, &[u8], bool)], second: i64) -> Option<CommitId> {
        let mut index = git2::Index::new().ok()?;
        for (path, content, is_link) in files {
            let id = self.git.blob(content).ok()?;
            let mode = if *is_link { FileMode::Link } else { FileMode::Blob };
            // One that git refuses is left out.
            _ = index.add(&entry(path, u32::from(mode), id));
        }
        let tree = self.git.find_tree(index.write_tree_to(&self.git).ok()?).ok()?;
        let author = Signature::new("Ada", "ada@example.com", &Time::new(1_767_600_000 + second, 0)).ok()?;
        let commit = self.git.commit(None, &author, &author, "a", &tree, &[]).ok()?;
        CommitId::from_hex(&commit.to_string())
    }
}

fn entry(path: &str, mode: u32, id: Oid) -> IndexEntry {
    let (ctime, mtime) = (IndexTime::new(0, 0), IndexTime::new(0, 0));
    let path = path.as_bytes().to_vec();
    IndexEntry {
        ctime,
        mtime,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path,
    }
}
