//! Reading again finds something else: profiles that go away, storage that fails for a while.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hierad::fleet::{self, Effective, Fleet, ReferencedVariables, Revision};
use hierad::hiera::Outcome;
use hierad::hiera::backend::{DataFiles, FileMemory};
use hierad::hiera::layer::{Environment, EnvironmentOptions, Store};
use hierad::node::{Batch, ProfileError, ProfileSource, Wanted, read_profiles};
use hierad::tree::{BlobId, Entry, FileTree, MemoryTree, TreeError};
use hierad::workers::Workers;

use crate::support::values::next;

const DATA: &str =
    "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- data/common.yaml\nx: \"%{role}\"\n";

fn revision(tree: Arc<dyn FileTree>, fleet: &Arc<Fleet>) -> Revision {
    let environment = Environment::load(tree, EnvironmentOptions::default(), Arc::new(Store::default())).unwrap();
    Revision::new(environment, fleet.clone(), &Workers::of(1)).unwrap()
}

fn resolved(revision: &Revision) -> Effective {
    fleet::resolve(revision, &revision.fleet.everywhere(revision.keys.iter()), &Workers::of(1))
}

/// The answer for `x` on the only node.
fn answer(revision: &Revision) -> Outcome {
    (*resolved(revision).keys["x"][0].outcome).clone()
}

/// Two declarations of the same node, each in a file of its own; the second can be taken away.
#[derive(Default)]
struct TwoFiles {
    second_is_gone: AtomicBool,
}

impl ProfileSource for TwoFiles {
    fn read(&self, _: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        for (number, (path, role)) in [("a.ndjson", "first"), ("b.ndjson", "second")].into_iter().enumerate() {
            if number == 1 && self.second_is_gone.load(Ordering::Relaxed) {
                return vec![ProfileError { path: path.into(), line: Some(1), text: "it is gone".into() }];
            }
            let text = format!("{{\"name\": \"n\", \"variables\": {{\"role\": \"{role}\"}}}}\n");
            let (profiles, errors) = read_profiles(text.as_bytes(), path, "production");
            assert_eq!(errors, []);
            each(Batch::of_file(number, u32::try_from(number).unwrap(), profiles));
        }
        Vec::new()
    }
}

#[test]
fn the_first_profile_of_a_node_stays() {
    let answer_after = |is_gone: bool| {
        let source = Arc::new(TwoFiles::default());
        let (fleet, errors) = Fleet::load(source.clone(), &ReferencedVariables::default(), &|_| true);
        assert_eq!(errors, [], "the later one counts");
        source.second_is_gone.store(is_gone, Ordering::Relaxed);
        let tree = Arc::new(MemoryTree::from_fixture(DATA));
        let environment = Environment::load(tree, EnvironmentOptions::default(), Arc::new(Store::default())).unwrap();
        Revision::new(environment, Arc::new(fleet), &Workers::of(1)).map(|revision| answer(&revision))
    };
    assert_eq!(answer_after(false).unwrap(), Outcome::Found("second".into()));
    assert_eq!(
        answer_after(true).unwrap_err().to_string(),
        "node profiles can no longer be read: b.ndjson:1: it is gone"
    );
}

/// A tree of which no content can be read for a while.
struct Failing {
    tree: MemoryTree,
    fails: AtomicBool,
}

impl FileTree for Failing {
    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        if self.fails.load(Ordering::Relaxed) && path.starts_with("data/") {
            return Err(TreeError::new(path, "the disk is gone"));
        }
        self.tree.entry(path)
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        self.tree.list(path)
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.tree.read(id)
    }
}

#[test]
fn unreadable_files_are_read_again() {
    let (profiles, _) =
        read_profiles(b"{\"name\": \"n\", \"variables\": {\"role\": \"web\"}}\n", "p.ndjson", "production");
    let fleet = Arc::new(Fleet::new(profiles));
    let tree = Arc::new(Failing { tree: MemoryTree::from_fixture(DATA), fails: AtomicBool::new(true) });
    let before = revision(tree.clone(), &fleet);
    assert!(matches!(answer(&before), Outcome::Failed(error) if error.to_string().contains("the disk is gone")));
    tree.fails.store(false, Ordering::Relaxed);
    let environment = Environment::load(tree, EnvironmentOptions::default(), Arc::new(Store::default())).unwrap();
    let after = next(&before, environment, &Workers::of(1)).unwrap();
    assert_eq!(answer(&after), Outcome::Found("web".into()));
}

#[test]
fn unreachable_files_are_not_kept() {
    let mut files = DATA.to_owned();
    (0..50).for_each(|number| _ = writeln!(files, "-- data/other/f{number}.yaml\na{number}: 1"));
    let store = Arc::new(Store {
        files: DataFiles::new(None, FileMemory { kept: 1000, ..FileMemory::default() }),
        ..Store::default()
    });
    let tree = Arc::new(MemoryTree::from_fixture(&files));
    let environment = Environment::load(tree, EnvironmentOptions::default(), store.clone()).unwrap();
    ReferencedVariables::default().add(&environment, &Workers::of(2)).unwrap();
    let held = store.files.parsed().len();
    assert!(held < 30, "{held} files");
}
