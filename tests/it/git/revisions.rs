//! Revisions in every notation, branches and what is checked out.

use std::collections::BTreeMap;

use hierad::git::{BranchName, BranchPatterns, Head};
use hierad::tree::{Entry, FileTree};

use crate::support::Sandbox;

fn formats() -> [Sandbox; 2] {
    [Sandbox::new(), Sandbox::with(&["--ref-format=reftable"])]
}

fn refusal(sandbox: &Sandbox, revision: &str) -> String {
    sandbox.open().resolve(revision).unwrap_err().to_string()
}

#[test]
fn revisions_are_parsed_as_by_git() {
    for sandbox in formats() {
        let first = sandbox.commit("first");
        sandbox.git(["switch", "--quiet", "--create", "side/branch"]);
        sandbox.commit("second, on the side");
        sandbox.git(["switch", "--quiet", "main"]);
        sandbox.commit("third");
        sandbox.git(["merge", "--quiet", "--no-ff", "--message", "merge", "side/branch"]);
        sandbox.git(["tag", "light", "HEAD~1"]);
        sandbox.git(["tag", "--annotate", "heavy", "--message", "a tag", "side/branch"]);
        sandbox.git(["tag", "--annotate", "tagged-tag", "--message", "a tag", "heavy"]);
        let repository = sandbox.open();
        let prefix = &first.to_string()[..7];
        let revisions = [
            "HEAD",
            "@",
            "main",
            "heads/main",
            "refs/heads/side/branch",
            "side/branch",
            "light",
            "heavy",
            "tagged-tag",
            "heavy^{}",
            "HEAD~2",
            "HEAD^2",
            "HEAD^2~1",
            "main^{commit}",
            ":/third",
            ":/second",
            "HEAD^{/first}",
            "@{-1}",
            "main@{1}",
            "main@{0}",
            "HEAD@{2}",
            "light-0-g",
            prefix,
        ];
        for revision in revisions {
            let revision = if revision.ends_with("-g") { format!("light-0-g{prefix}") } else { revision.to_owned() };
            assert_eq!(repository.resolve(&revision), Ok(sandbox.id(&revision)), "{revision}");
        }
    }
}

#[test]
fn unknown_revisions_are_named() {
    for sandbox in formats() {
        sandbox.write("a.yaml", "a: 1\n");
        sandbox.commit("first");
        for revision in
            ["nothing", "HEAD~5", "", " ", "main..main", "^main", "--all", "HEAD@{9}", "0123456789", "a\0b", "@{u}"]
        {
            assert_eq!(refusal(&sandbox, revision), format!("unknown revision '{revision}'"));
        }
        let gone = "1".repeat(40);
        assert_eq!(refusal(&sandbox, &gone), format!("unknown revision '{gone}'"));
        let blob = sandbox.git(["rev-parse", "HEAD:a.yaml"]);
        assert_eq!(
            refusal(&sandbox, "HEAD:a.yaml"),
            format!("revision 'HEAD:a.yaml' is not a commit: object {blob} is a file, not a commit")
        );
        assert!(refusal(&sandbox, "HEAD^{tree}").ends_with("is a folder, not a commit"));
    }
}

#[test]
fn empty_repositories_have_an_unborn_branch() {
    for sandbox in formats() {
        let repository = sandbox.open();
        let main = BranchName::new("main");
        assert_eq!(repository.head(), Ok(Head { branch: Some(main.clone()), commit: None }));
        assert_eq!(repository.branches(&BranchPatterns::all()), Ok(BTreeMap::new()));
        assert_eq!(repository.tip(&main), Ok(None));
        for revision in ["HEAD", "@", "main", "HEAD~1"] {
            assert_eq!(
                refusal(&sandbox, revision),
                format!("revision '{revision}' has no commit: branch 'main' is still empty")
            );
        }
        assert_eq!(refusal(&sandbox, "other"), "unknown revision 'other'");
        let first = sandbox.commit("first");
        assert_eq!(repository.head(), Ok(Head { branch: Some(main), commit: Some(first) }));
    }
}

#[test]
fn branches_are_listed_and_matched() {
    for sandbox in formats() {
        let first = sandbox.commit("first");
        sandbox.git(["branch", "release/1"]);
        sandbox.git(["pack-refs", "--all"]);
        sandbox.git(["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        let second = sandbox.commit("second");
        sandbox.git(["tag", "no-branch"]);
        let repository = sandbox.open();
        let list = |patterns: &[&str]| {
            let branches = repository.branches(&BranchPatterns::new(patterns).unwrap()).unwrap();
            branches.into_iter().map(|(name, tip)| (name.to_string(), tip)).collect::<Vec<_>>()
        };
        let all = [("alias", second), ("main", second), ("release/1", first)].map(|(name, id)| (name.to_owned(), id));
        assert_eq!(list(&[]), all);
        assert_eq!(list(&["release/*"]), all[2..]);
        for (name, tip) in &all {
            assert_eq!(repository.tip(&BranchName::new(name.clone())), Ok(Some(*tip)), "{name}");
        }
        sandbox.git(["checkout", "--quiet", "--detach", "HEAD~1"]);
        assert_eq!(repository.head(), Ok(Head { branch: None, commit: Some(first) }));
        assert_eq!(repository.branch(), Ok(None));
    }
}

#[test]
fn tips_are_stable_while_refs_are_packed() {
    let sandbox = Sandbox::new();
    let mut commits = vec![sandbox.commit("first")];
    commits.extend((0..60).map(|n| sandbox.commit(&n.to_string())));
    sandbox.git(["branch", "moving", &commits[0].to_string()]);
    sandbox.git(["config", "core.filesRefLockTimeout", "20000"]);
    let ids: Vec<_> = commits.iter().map(ToString::to_string).collect();
    let script = format!(
        "(while [ ! -e ../done ]; do git pack-refs --all; done) &
        for c in {}; do git update-ref refs/heads/moving $c; done
        touch ../done; wait",
        ids.join(" ")
    );
    let (repository, moving) = (sandbox.open(), BranchName::new("moving"));
    let place = |tip| commits.iter().position(|commit| Some(*commit) == tip);
    let mut last = Some(0);
    std::thread::scope(|scope| {
        let mover = scope.spawn(|| sandbox.sh(&script));
        while !mover.is_finished() {
            let tip = place(repository.tip(&moving).unwrap());
            assert!(tip >= last, "the tip went back from {last:?} to {tip:?}");
            last = tip;
        }
    });
}

#[test]
fn replaced_objects_do_not_count() {
    for sandbox in formats() {
        sandbox.write("a.yaml", "a: 1\n");
        let first = sandbox.commit("first");
        sandbox.write("a.yaml", "a: 2\n");
        let second = sandbox.commit("second");
        sandbox.write("a.yaml", "a: 3\n");
        let third = sandbox.commit("third");
        let other = sandbox.git(["commit-tree", "-m", "other", "-p", &first.to_string(), &format!("{first}^{{tree}}")]);
        sandbox.git(["replace", "HEAD", &other]);
        assert_eq!(sandbox.id("HEAD~1"), first, "git itself goes by the replacement");
        let repository = sandbox.open();
        let resolved = ["HEAD", "HEAD~1", "HEAD~2"].map(|revision| repository.resolve(revision).unwrap());
        assert_eq!(resolved, [third, second, first]);
        assert_eq!(repository.commit(third).unwrap().summary, "third");
        let tree = repository.tree(third).unwrap();
        let Some(Entry::File(id)) = tree.list("").unwrap().into_iter().next().map(|(_, entry)| entry) else {
            panic!("there is a file");
        };
        assert_eq!(tree.read(id).unwrap(), b"a: 3\n");
    }
}
