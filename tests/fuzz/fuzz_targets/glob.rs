//! No pattern makes a glob panic or go on without end, and what is found is in the tree.
#![no_main]

use std::sync::LazyLock;

use hierad::puppet::glob::{glob, glob_folders};
use hierad::tree::{Entry, MemoryTree, Target, follow, is_link};
use libfuzzer_sys::fuzz_target;

static TREE: LazyLock<MemoryTree> = LazyLock::new(|| {
    let mut tree = MemoryTree::from_fixture(concat!(
        "-- a.yaml\n-- b.json\n-- .hidden/x.yaml\n-- d/a.yaml\n-- d/[b].yaml\n-- d/e/f/g.yaml\n-- d/é{1}.yaml\n",
        "-- d/here -> .\n-- d/up -> ..\n-- d/out -> ../../x\n-- d/gone -> nowhere\n-- loop -> loop\n-- abs -> /etc\n",
    ));
    tree.insert("sub", Entry::Submodule(None));
    tree
});

fuzz_target!(|pattern: &str| {
    for path in glob(&*TREE, pattern).unwrap_or_default() {
        let target = follow(&*TREE, &path).expect("a tree in memory");
        let dangling = || is_link(&*TREE, &path, &mut 0).expect("a tree in memory");
        assert!(matches!(target, Target::File(..)) || dangling(), "{pattern:?} found {path:?}");
    }
    for path in glob_folders(&*TREE, pattern).map(|found| found.paths).unwrap_or_default() {
        assert!(matches!(follow(&*TREE, &path), Ok(Target::Folder(_))), "{pattern:?} found {path:?}");
    }
});
