//! The files of commits and of work trees.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use hierad::git::{Repository, WorkTree};
use hierad::tree::{BlobId, Entry, FileTree, Target, changes, follow};

use crate::support::{Sandbox, git_in};

/// A repository with one of each kind of entry.
fn mixed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("data/common.yaml", "a: 1\n");
    sandbox.write("data.d/x.yaml", "x: 1\n");
    sandbox.write("data-2", "executable\n");
    sandbox.sh("chmod +x data-2");
    symlink("../data.d/x.yaml", sandbox.root().join("data/link.yaml")).unwrap();
    symlink("data.d", sandbox.root().join("folder")).unwrap();
    std::fs::write(sandbox.root().join(std::ffi::OsStr::from_bytes(b"caf\xe9.yaml")), "e: 1\n").unwrap();
    sandbox.git(["add", "--all"]);
    let gitlink = format!("160000,{},modules/sub", "5".repeat(40));
    sandbox.git(["update-index", "--add", "--cacheinfo", &gitlink]);
    sandbox.git(["commit", "--quiet", "--message", "mixed"]);
    sandbox.sh("mkdir -p modules/sub/.git; echo hidden > modules/sub/file; mkfifo pipe");
    sandbox
}

/// Every path of a tree, as one text.
fn listing(tree: &dyn FileTree, folder: &str, into: &mut Vec<String>) {
    for (name, entry) in tree.list(folder).unwrap() {
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        let what = match &entry {
            Entry::File(id) => String::from_utf8(tree.read(*id).unwrap()).unwrap().trim_end().to_owned(),
            other => format!("{other:?}"),
        };
        if !path.contains('\u{fffd}') {
            assert_eq!(tree.entry(&path).unwrap(), Some(entry.clone()), "{path}");
        }
        into.push(format!("{path}: {what}"));
        if entry == Entry::Folder {
            listing(tree, &path, into);
        }
    }
}

fn check_mixed(tree: &dyn FileTree) {
    let mut found = Vec::new();
    listing(tree, "", &mut found);
    let expected = [
        "caf\u{fffd}.yaml: e: 1",
        "data: Folder",
        "data/common.yaml: a: 1",
        "data/link.yaml: Link(\"../data.d/x.yaml\")",
        "data-2: executable",
        "data.d: Folder",
        "data.d/x.yaml: x: 1",
        "folder: Link(\"data.d\")",
        "modules: Folder",
        "modules/sub: Submodule(Some([85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85, 85]))",
    ];
    assert_eq!(found, expected);
    assert_eq!(tree.entry("").unwrap(), Some(Entry::Folder));
    for absent in [
        "none",
        "data/none",
        "data-2/x",
        "data/",
        "/data",
        "data//common.yaml",
        "folder/x.yaml",
        "modules/sub/file",
        ".git",
        ".git/HEAD",
    ] {
        assert_eq!(tree.entry(absent).unwrap(), None, "{absent}");
    }
    assert_eq!(tree.list("data/common.yaml").unwrap(), []);
    assert_eq!(tree.list("none").unwrap(), []);
    assert_eq!(tree.list("modules/sub").unwrap(), []);
    let id = BlobId::of(b"x: 1\n");
    assert_eq!(follow(tree, "data/link.yaml").unwrap(), Target::File("data.d/x.yaml".into(), id));
    assert_eq!(follow(tree, "folder/x.yaml").unwrap(), Target::File("data.d/x.yaml".into(), id));
}

#[test]
fn work_trees_equal_their_commit() {
    let sandbox = mixed();
    let repository = sandbox.open();
    let commit = repository.tree(sandbox.id("HEAD")).unwrap();
    assert_eq!(commit.commit(), sandbox.id("HEAD"));
    check_mixed(&commit);
    check_mixed(&repository.work_tree().unwrap());
}

#[test]
fn work_tree_files_are_read_once() {
    let sandbox = mixed();
    let tree = WorkTree::new(sandbox.root());
    let seen = tree.entry("data/common.yaml").unwrap();
    sandbox.write("data/common.yaml", "a: 2\n");
    assert_eq!(tree.entry("data/common.yaml").unwrap(), seen);
    assert_eq!(tree.read(BlobId::of(b"a: 1\n")).unwrap(), b"a: 1\n");
    assert_eq!(
        WorkTree::new(sandbox.root()).entry("data/common.yaml").unwrap(),
        Some(Entry::File(BlobId::of(b"a: 2\n")))
    );
    let unknown = tree.read(BlobId::of(b"never")).unwrap_err();
    assert_eq!(unknown.reason, "no such content on disk");
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_as_in_the_index() {
    let set_up: [(&str, &[&str]); 6] = [
        ("by folders", &["git sparse-checkout set --cone data"]),
        ("by patterns", &["git sparse-checkout set --no-cone '/data/' '!/data/nodes/'"]),
        ("with an index of folders", &["git sparse-checkout set --cone --sparse-index data"]),
        ("with a split index", &["git update-index --split-index", "git sparse-checkout set --cone data"]),
        (
            "file by file",
            &["git update-index --skip-worktree lab/a.yaml data/nodes/a.yaml", "rm lab/a.yaml data/nodes/a.yaml"],
        ),
        (
            "one that is there again",
            &["git sparse-checkout set --cone data", "mkdir -p lab", "echo 'a: 3' > lab/a.yaml"],
        ),
    ];
    for (kind, commands) in set_up {
        let sandbox = Sandbox::new();
        for path in ["data/common.yaml", "data/nodes/a.yaml", "lab/a.yaml", "lab/deep/b.yaml"] {
            sandbox.write(path, format!("a: 1 # {path}\n"));
        }
        symlink("../data/common.yaml", sandbox.root().join("lab/link.yaml")).unwrap();
        sandbox.commit("all");
        for command in commands {
            sandbox.sh(command);
        }
        let repository = sandbox.open();
        let (commit, tree) = (repository.tree(sandbox.id("HEAD")).unwrap(), repository.work_tree().unwrap());
        let expected: &[&str] = if kind.contains("again") { &["lab/a.yaml"] } else { &[] };
        assert_eq!(changes(&commit, &tree).unwrap().iter().collect::<Vec<_>>(), expected, "{kind}");
        let Some(Entry::File(id)) = tree.entry("lab/deep/b.yaml").unwrap() else { panic!("{kind}: it is not there") };
        assert_eq!(tree.read(id).unwrap(), b"a: 1 # lab/deep/b.yaml\n", "{kind}");
    }
    // What somebody has deleted is gone.
    let sandbox = mixed();
    std::fs::remove_file(sandbox.root().join("data/common.yaml")).unwrap();
    assert_eq!(sandbox.open().work_tree().unwrap().entry("data/common.yaml").unwrap(), None);
}

/// Removes one object file of a repository whose objects are loose.
fn lose(sandbox: &Sandbox, revision: &str) -> String {
    let id = sandbox.git(["rev-parse", revision]);
    let file = sandbox.root().join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(file).unwrap();
    id
}

#[test]
fn missing_and_damaged_objects_are_named() {
    let sandbox = Sandbox::new();
    for folder in ["a", "b", "c"] {
        sandbox.write(&format!("{folder}/x.yaml"), format!("{folder}: 1\n"));
    }
    sandbox.commit("one");
    let lost = lose(&sandbox, "HEAD:a/x.yaml");
    let folder = lose(&sandbox, "HEAD:b");
    let damaged = sandbox.git(["rev-parse", "HEAD:c/x.yaml"]);
    let file = sandbox.root().join(".git/objects").join(&damaged[..2]).join(&damaged[2..]);
    sandbox.sh(&format!("chmod +w {}", file.display()));
    std::fs::write(&file, "garbage").unwrap();
    let tree = sandbox.open().tree(sandbox.id("HEAD")).unwrap();
    let place = sandbox.root().join(".git");
    let place = place.display();
    let read = |path: &str| match tree.entry(path).unwrap() {
        Some(Entry::File(id)) => tree.read(id).unwrap_err().to_string(),
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!(read("a/x.yaml"), format!("cannot read {lost}: object {lost} is missing from {place}"));
    assert!(read("c/x.yaml").starts_with(&format!("cannot read {damaged}: object {damaged} in {place} is damaged: ")));
    let error = tree.entry("b/x.yaml").unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read b: object {folder} is missing from {place}"));
    assert_eq!(tree.list("").unwrap().len(), 3);
}

#[test]
fn objects_that_were_cut_are_damaged() {
    let sandbox = Sandbox::new();
    // Nothing that can be compressed.
    let content =
        (0..5000u64).fold(String::new(), |text, n| text + &format!("{:x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    sandbox.write("a.yaml", content);
    sandbox.commit("one");
    let id = sandbox.git(["rev-parse", "HEAD:a.yaml"]);
    let file = sandbox.root().join(".git/objects").join(&id[..2]).join(&id[2..]);
    let whole = std::fs::read(&file).unwrap();
    sandbox.sh(&format!("chmod +w {}", file.display()));
    for length in [0, 1, 2, 20, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&file, &whole[..length]).unwrap();
        let tree = sandbox.open().tree(sandbox.id("HEAD")).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let Ok(Some(Entry::File(id))) = tree.entry("a.yaml") else { panic!("no file") };
            tell.send(tree.read(id).unwrap_err().to_string())
        });
        let error = told.recv_timeout(std::time::Duration::from_mins(1)).expect("an end");
        assert!(error.contains("is damaged: "), "{length}: {error}");
    }
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(sandbox.open().tree(sandbox.id("HEAD")).unwrap().list("").unwrap().len(), 1);
}

#[test]
fn partial_clones_name_missing_objects() {
    let sandbox = Sandbox::new();
    sandbox.write("a.yaml", "a: 1\n");
    sandbox.commit("one");
    sandbox.git(["config", "uploadpack.allowFilter", "true"]);
    sandbox.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let (clone, source) = (sandbox.beside("partial"), format!("file://{}", sandbox.root().display()));
    git_in(
        sandbox.root(),
        ["clone", "--quiet", "--filter=blob:none", "--no-checkout", &source, clone.to_str().unwrap()],
    );
    let repository = Repository::discover(&clone).unwrap();
    let tree = repository.tree(repository.resolve("HEAD").unwrap()).unwrap();
    let error = tree.read(BlobId::of(b"a: 1\n")).unwrap_err();
    let hint = " (a partial clone omits objects; `git fetch --refetch --no-filter` fetches them)";
    assert!(error.reason.ends_with(hint), "{error}");
    git_in(&clone, ["fetch", "--quiet", "--refetch", "--no-filter"]);
    assert_eq!(tree.read(BlobId::of(b"a: 1\n")).unwrap(), b"a: 1\n");
}

#[test]
fn many_threads_read_while_git_repacks() {
    let sandbox = Sandbox::new();
    let content = |n: usize| format!("key{n}: value {n}\n");
    for n in 0..400 {
        sandbox.write(&format!("data/{}/{n}.yaml", n % 20), content(n));
    }
    let commit = sandbox.commit("many");
    let tree = sandbox.open().tree(commit).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for start in 0..4 {
            let (tree, done) = (&tree, &done);
            scope.spawn(move || {
                let mut round = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) || round < 400 {
                    let n = (start * 100 + round) % 400;
                    let Ok(Some(Entry::File(id))) = tree.entry(&format!("data/{}/{n}.yaml", n % 20)) else {
                        panic!("{n} is not there")
                    };
                    assert_eq!(tree.read(id).unwrap(), content(n).as_bytes());
                    round += 1;
                }
            });
        }
        sandbox.sh("for n in 1 2 3 4 5; do git commit --quiet --allow-empty -m $n; git repack -q -a -d -f; git prune-packed; done");
        sandbox.git(["gc", "--quiet", "--prune=now"]);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_folder_of_ten_thousand_files() {
    let sandbox = Sandbox::with(&["--bare"]);
    let head = "commit refs/heads/main\ncommitter A <a@b> 0 +0000\ndata 0\n";
    let mut script = String::from(head);
    for n in 0..10_000 {
        writeln!(script, "M 100644 inline data/nodes/node{n}.yaml\ndata <<E\nn: {n}\nE\n").unwrap();
    }
    std::fs::write(sandbox.beside("import"), script).unwrap();
    sandbox.sh("git fast-import --quiet < ../import");
    let tree = sandbox.open().tree(sandbox.open().resolve("main").unwrap()).unwrap();
    assert_eq!(tree.list("data/nodes").unwrap().len(), 10_000);
    for n in 0..10_000 {
        let entry = tree.entry(&format!("data/nodes/node{n}.yaml")).unwrap();
        assert_eq!(entry, Some(Entry::File(BlobId::of(format!("n: {n}\n").as_bytes()))));
    }
    assert!(Path::new(sandbox.root()).join("HEAD").is_file());
}
