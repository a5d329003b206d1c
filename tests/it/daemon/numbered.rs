//! Commits that give the key `number` a value of their own.

use git2::{ErrorClass, ErrorCode, Oid, Repository, Signature, Time};

/// Makes a commit on top of another one. No branch moves.
pub(super) fn commit(repository: &Repository, parent: Oid, number: u64) -> Oid {
    insist(|| try_commit(repository, parent, number))
}

fn try_commit(repository: &Repository, parent: Oid, number: u64) -> Result<Oid, git2::Error> {
    let parent = repository.find_commit(parent)?;
    let old = parent.tree()?;
    let data = repository.find_tree(old.get_name("data").unwrap().id())?;
    let blob = repository.blob(format!("number: {number}\n").as_bytes())?;
    let mut data = repository.treebuilder(Some(&data))?;
    data.insert("common.yaml", blob, 0o100_644)?;
    let mut root = repository.treebuilder(Some(&old))?;
    root.insert("data", data.write()?, 0o040_000)?;
    let tree = repository.find_tree(root.write()?)?;
    let who = Signature::new("Ada", "ada@example.com", &Time::new(1_700_000_000, 0))?;
    repository.commit(None, &who, &who, &format!("commit {number}"), &tree, &[&parent])
}

/// Moves a branch.
pub(super) fn advance(repository: &Repository, branch: &str, to: Oid) {
    insist(|| repository.reference(&format!("refs/heads/{branch}"), to, true, "test").map(drop));
}

/// Deletes a branch.
pub(super) fn delete(repository: &Repository, branch: &str) {
    insist(|| repository.find_reference(&format!("refs/heads/{branch}"))?.delete());
}

/// Changes the repository as soon as git does not tidy it up.
fn insist<T>(change: impl Fn() -> Result<T, git2::Error>) -> T {
    loop {
        match change() {
            Ok(done) => return done,
            // A reference is locked, or the folder of an object is gone.
            Err(error) if error.code() == ErrorCode::Locked || error.class() == ErrorClass::Os => {}
            Err(error) => panic!("{error}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
