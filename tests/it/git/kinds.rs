//! Kinds of repositories, and those that cannot be opened.

use std::path::Path;
use std::process::Command;

use hierad::git::{Environment, OpenError, Repository};

use crate::support::{Sandbox, git_command, git_in};

/// Checks that a repository is found from `path`, with these directories and the commit of `sandbox`.
fn check(sandbox: &Sandbox, path: &Path, git_dir: &Path, work_dir: Option<&Path>) -> Repository {
    let repository = Repository::discover(path).unwrap();
    assert_eq!(repository.git_dir(), git_dir, "from {}", path.display());
    assert_eq!(repository.work_dir(), work_dir, "from {}", path.display());
    assert_eq!(repository.head().unwrap().commit, Some(sandbox.id("main")), "from {}", path.display());
    repository
}

fn check_work_trees(arguments: &[&str]) {
    let sandbox = Sandbox::with(arguments);
    sandbox.write("data/nodes/a.yaml", "a: 1\n");
    sandbox.commit("one");
    let (root, git_dir) = (sandbox.root(), sandbox.root().join(".git"));
    for path in ["", "data/nodes", "data/nodes/a.yaml", ".git", ".git/refs"] {
        check(&sandbox, &root.join(path), &git_dir, Some(root));
    }
    let linked = sandbox.beside("linked");
    sandbox.git(["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);
    let repository = check(&sandbox, &linked.join("data"), &git_dir.join("worktrees/linked"), Some(&linked));
    assert_eq!(repository.common_dir(), git_dir);
    assert_eq!(repository.name(), "repository");
    assert_eq!(repository.branch().unwrap().unwrap().as_str(), "other");
    assert_eq!(check(&sandbox, root, &git_dir, Some(root)).branch().unwrap().unwrap().as_str(), "main");
}

#[test]
fn work_trees_and_linked_ones() {
    check_work_trees(&[]);
}

#[test]
fn work_trees_with_reftables() {
    check_work_trees(&["--ref-format=reftable"]);
}

#[test]
fn bare_repositories() {
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::new();
        sandbox.commit("one");
        let bare = sandbox.beside("bare.git");
        git_in(
            sandbox.root(),
            ["clone", "--quiet", "--bare", &format!("--ref-format={format}"), ".", bare.to_str().unwrap()],
        );
        let repository = check(&sandbox, &bare, &bare, None);
        assert!(repository.work_tree().is_none());
        assert_eq!(repository.name(), "bare");
        check(&sandbox, &bare.join("refs"), &bare, None);
    }
}

#[test]
fn a_git_directory_elsewhere() {
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::with(&["--ref-format", format]);
        sandbox.write("data/a.yaml", "a: 1\n");
        sandbox.commit("one");
        let elsewhere = sandbox.beside("elsewhere");
        sandbox.git(["init", "--quiet", "--separate-git-dir", elsewhere.to_str().unwrap()]);
        for path in ["", "data", ".git"] {
            let repository = check(&sandbox, &sandbox.root().join(path), &elsewhere, Some(sandbox.root()));
            assert_eq!(repository.common_dir(), elsewhere);
        }
        std::fs::remove_file(sandbox.root().join(".git")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, sandbox.root().join(".git")).unwrap();
        for path in ["", "data"] {
            check(&sandbox, &sandbox.root().join(path), &elsewhere, Some(sandbox.root()));
        }
    }
}

#[test]
fn the_next_git_directory_above_counts() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.yaml", "a: 1\n");
    sandbox.commit("one");
    let (root, git_dir) = (sandbox.root(), sandbox.root().join(".git"));
    let above = root.parent().unwrap();
    std::fs::write(above.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
    for (path, work_dir) in [(root.join("data"), root), (above.to_owned(), above)] {
        check(&sandbox, &path, &git_dir, Some(work_dir));
        let told = git_command(&path).args(["rev-parse", "--show-toplevel"]).output().unwrap();
        assert_eq!(String::from_utf8(told.stdout).unwrap().trim_end(), work_dir.to_str().unwrap());
    }
}

#[test]
fn paths_come_before_the_environment() {
    let (named, other) = (Sandbox::new(), Sandbox::new());
    named.commit("one");
    other.commit("two");
    let git_dir = named.root().join(".git");
    let environment = Environment {
        git_dir: Some(git_dir.clone()),
        work_tree: Some(named.root().to_owned()),
        ..Environment::default()
    };
    let repository = Repository::locate(None, &environment).unwrap();
    assert_eq!((repository.git_dir(), repository.work_dir()), (git_dir.as_path(), Some(named.root())));
    let repository = Repository::locate(Some(other.root()), &environment).unwrap();
    assert_eq!(repository.work_dir(), Some(other.root()));
    let inside = Environment { git_dir: Some(git_dir.join("refs")), ..Environment::default() };
    assert!(matches!(Repository::locate(None, &inside), Err(OpenError::NotARepository { .. })));
}

/// Returns true if a repository is opened in the folder `path` of another one.
fn is_read(sandbox: &Sandbox, path: &str, environment: &Environment) -> bool {
    match Repository::locate(Some(&sandbox.root().join(path)), environment) {
        Ok(_) => true,
        Err(OpenError::Embedded { outer, .. }) => {
            assert_eq!(outer, sandbox.root(), "{path}");
            false
        }
        Err(error) => panic!("{path}: {error}"),
    }
}

#[test]
fn git_directories_of_a_commit_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("data/common.yaml", "a: 1\n");
    sandbox.commit("one");
    sandbox.sh("git init --quiet --bare sub; git init --quiet --bare deep/er/x.git; mkdir sub/inside
        cp -r sub up; git -C up config core.bare false; git -C up config core.worktree ..
        cp -r sub root; git -C root config core.bare false; git -C root config core.worktree /
        cp -r sub common; printf '../sub\\n' > common/commondir
        cp -r sub .GIT; cp -r sub x.git");
    for path in ["sub", "sub/inside", "sub/refs", "deep/er/x.git", "up", "root", "common", ".GIT", "x.git"] {
        assert!(!is_read(&sandbox, path, &Environment::default()), "{path}");
        // A repository that settings name is no stranger's; a folder that they name is not one's own repository.
        let by_settings = Repository::discover(&sandbox.root().join(path));
        assert_eq!(by_settings.is_ok(), !["sub/inside", "sub/refs"].contains(&path), "{path}");
    }
    let named = Environment { git_dir: Some(sandbox.root().join("sub")), ..Environment::default() };
    assert!(is_read(&sandbox, "sub", &named) && !is_read(&sandbox, "x.git", &named));
}

#[test]
fn repositories_in_others_that_no_commit_makes_are_read() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    sandbox.sh("git clone --quiet . etc/code; git worktree add --quiet linked
        git -c protocol.file.allow=always submodule add --quiet \"$PWD\" module
        mkdir -p ../plain; git clone --quiet --bare . ../plain/x.git
        git -C etc/code worktree add --quiet ../other");
    for path in
        ["etc/code", "linked", "module", ".git", ".git/modules/module", ".git/refs", "../plain/x.git", "etc/other"]
    {
        assert!(is_read(&sandbox, path, &Environment::default()), "{path}");
    }
}

#[test]
fn hooks_see_quarantined_objects() {
    let sandbox = Sandbox::with(&["--bare"]);
    let quarantine = sandbox.beside("quarantine");
    std::fs::create_dir(&quarantine).unwrap();
    let tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"; // the empty tree, which every git knows
    let output = git_command(sandbox.root())
        .args(["commit-tree", tree, "-m", "pushed"])
        .env("GIT_OBJECT_DIRECTORY", &quarantine)
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", sandbox.root().join("objects"))
        .output()
        .unwrap();
    let commit = String::from_utf8(output.stdout).unwrap();
    let environment = Environment {
        git_dir: Some(sandbox.root().to_owned()),
        object_directory: Some(quarantine),
        alternate_object_directories: vec![sandbox.root().join("objects")],
        ..Environment::default()
    };
    assert!(sandbox.open().resolve(commit.trim()).is_err());
    for path in [None, Some(sandbox.root())] {
        let repository = Repository::locate(path, &environment).unwrap();
        let id = repository.resolve(commit.trim()).unwrap();
        assert_eq!(repository.commit(id).unwrap().summary, "pushed");
        assert_eq!(repository.resolve(&commit[..8]).unwrap(), id);
    }
}

fn refusal(path: &Path) -> String {
    Repository::discover(path).err().unwrap().to_string().replace(path.to_str().unwrap(), "PATH")
}

#[test]
fn unopenable_repositories_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    assert_eq!(refusal(&root), "PATH is not in a git repository");
    assert_eq!(refusal(&root.join("none")), "cannot open PATH: No such file or directory (os error 2)");
    let sandbox = Sandbox::with(&["--object-format=sha256"]);
    assert_eq!(refusal(sandbox.root()), "PATH uses SHA-256 object ids, which hierad cannot read");
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.root().join(".git/objects")).unwrap();
    assert_eq!(refusal(sandbox.root()), "PATH is not in a git repository");
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.repositoryformatversion", "7"]);
    assert!(refusal(sandbox.root()).starts_with("cannot open the repository PATH: "), "{}", refusal(sandbox.root()));
}

/// Why the program refuses a repository, run in an environment of its own.
fn refusal_apart(repository: &Path, path: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hierad"))
        .arg("--repo")
        .arg(repository)
        .arg("check")
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap().replace(repository.to_str().unwrap(), "PATH");
    text.trim_end().trim_start_matches("hierad: ").to_owned()
}

#[test]
#[ignore = "needs root, who can give files away"]
fn another_users_repository_is_refused() {
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::with(&["--ref-format", format]);
        std::os::unix::fs::chown(sandbox.root(), Some(12345), None).unwrap();
        std::os::unix::fs::chown(sandbox.root().join(".git"), Some(12345), None).unwrap();
        assert_eq!(
            refusal_apart(sandbox.root(), &std::env::var("PATH").unwrap()),
            "PATH belongs to another user; if you trust it, run `git config --global --add safe.directory PATH`"
        );
    }
}

#[test]
fn reftables_need_the_git_command() {
    let sandbox = Sandbox::with(&["--ref-format=reftable"]);
    assert_eq!(
        refusal_apart(sandbox.root(), "/nonexistent"),
        "the repository PATH needs the `git` command, which is not installed"
    );
}
