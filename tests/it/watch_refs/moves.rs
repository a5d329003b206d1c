//! The ways in which a branch moves, and what counts as a commit of it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use hierad::daemon::{BranchCheckpoint, WatchOptions};
use hierad::git::{BranchName, BranchPatterns, Repository};

use crate::support::watching::{Watching, notified, polling, polling_on, told};
use crate::support::{Sandbox, git_in};

/// Runs each script with a watch beside it, and waits for what it must bring before the next one.
fn check_steps(sandbox: &Sandbox, options: WatchOptions, steps: &[(&str, &[&str])]) {
    let repository = sandbox.open();
    let watching = Watching::start(repository.clone(), options);
    let mut expected: Vec<String> = Vec::new();
    for (script, brings) in steps {
        sandbox.sh(script);
        expected.extend(brings.iter().map(ToString::to_string));
        let events = watching.wait_for(expected.len());
        let found: Vec<_> = events.iter().map(|event| told(&repository, event)).collect();
        assert!(same(&found, &expected), "after {script}\n{found:#?}\n{expected:#?}");
    }
    // one more commit: what came too much would have come before it
    sandbox.sh("git update-ref refs/heads/last $(git commit-tree -m last $(git mktree < /dev/null))");
    expected.push("last created nothing..last".to_owned());
    let _ = watching.wait_for(expected.len());
    let found: Vec<_> = watching.stop().iter().map(|event| told(&repository, event)).collect();
    assert!(same(&found, &expected), "{found:#?}\n{expected:#?}");
}

/// Returns true if all is as expected. A commit on a branch made just before is `new`, or `created` if a look fell in
/// between: such an expectation says `*`.
fn same(found: &[String], expected: &[String]) -> bool {
    let one = |(found, expected): (&String, &String)| match expected.split_once('*') {
        Some((branch, commits)) => ["new", "created"].iter().any(|kind| *found == format!("{branch}{kind}{commits}")),
        None => found == expected,
    };
    found.len() == expected.len() && found.iter().zip(expected).all(one)
}

const COMMIT: &str = "c() { git commit --quiet --allow-empty --message $1; }\n";

fn steps(steps: &[(&str, &[&'static str])]) -> Vec<(String, Vec<&'static str>)> {
    steps.iter().map(|(script, brings)| (format!("{COMMIT}{script}"), brings.to_vec())).collect()
}

fn check(options: &WatchOptions, list: &[(&str, &[&'static str])]) {
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::with(&["--ref-format", format]);
        sandbox.commit("first");
        let list = steps(list);
        let list: Vec<(&str, &[&str])> = list.iter().map(|(script, brings)| (script.as_str(), &brings[..])).collect();
        check_steps(&sandbox, options.clone(), &list);
    }
}

#[test]
fn commits_and_merges() {
    check(
        &notified(),
        &[
            ("c two", &["main new first..two"]),
            (
                "git checkout -q --detach; c s1; c s2; git switch -q -c side",
                &["side created two..s1", "side created s1..s2"],
            ),
            ("git switch -q main; git merge -q --no-ff -m merge side", &["main new two..merge"]),
            ("git switch -q side; c s3; git switch -q main", &["side new s2..s3"]),
            ("git merge -q --no-ff -m merge2 side; c four", &["main new merge..merge2", "main new merge2..four"]),
            (
                "git switch -q side; git merge -q --ff-only main; git switch -q main",
                &["side joined s3..merge2", "side new merge2..four"],
            ),
        ],
    );
}

#[test]
fn former_tips_are_merged_from_the_side() {
    check(
        &polling(),
        &[
            ("git branch server; c local1; c local2", &["main new first..local1", "main new local1..local2"]),
            // someone else's commit on the server, and a pull that merges it into the local branch
            ("git switch -q server; c theirs; git switch -q main", &["server new first..theirs"]),
            ("git merge -q --no-ff -m pull server", &["main new local2..pull"]),
            (
                "c after; git branch -f server main",
                &["main new pull..after", "server joined theirs..pull", "server new pull..after"],
            ),
        ],
    );
}

#[test]
fn rewritten_branches() {
    check(
        &polling(),
        &[
            ("c two; c three", &["main new first..two", "main new two..three"]),
            ("git commit -q --amend --allow-empty -m amended", &["main rewritten three..amended"]),
            ("git reset -q --hard HEAD~2", &["main rewritten amended..first"]),
            ("c again", &["main new first..again"]),
            ("git reset -q --hard $(git commit-tree -m orphan HEAD^{tree})", &["main rewritten again..orphan"]),
        ],
    );
}

#[test]
fn merged_new_branches_bring_their_commits() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let repository = sandbox.open();
    let known = BranchCheckpoint::now(&repository).unwrap();
    sandbox.sh(&format!(
        "{COMMIT} git switch -q -c side; c a; c b; git switch -q main; c two; git merge -q -m merge side; git branch same; c three; \
         git switch -q -c above; c c"
    ));
    let watching = Watching::from(repository.clone(), known, polling());
    let expected = [
        "main new first..two",
        "main new two..merge",
        "main new merge..three",
        "above created three..c",
        "side created first..a",
        "side created a..b",
    ];
    let events = watching.wait_for(expected.len());
    let found: Vec<_> = events.iter().map(|event| told(&repository, event)).collect();
    assert_eq!(found, expected);
    assert_eq!(watching.stop().len(), expected.len());
}

#[test]
fn the_oldest_of_many_commits_are_one() {
    let few = WatchOptions { catch_up: NonZeroUsize::new(3).unwrap(), ..polling() };
    check(
        &few,
        &[
            ("c 1; c 2; c 3", &["main new first..1", "main new 1..2", "main new 2..3"]),
            (
                "git checkout -q --detach; c 4; c 5; c 6; c 7; c 8; git branch -qf main; git switch -q main",
                &["main combined 3..6", "main new 6..7", "main new 7..8"],
            ),
            (
                "git checkout -q --detach; c a; c b; c c; c d; c e; git switch -q -c side",
                &["side combined 8..c", "side created c..d", "side created d..e"],
            ),
        ],
    );
    let one = WatchOptions { catch_up: NonZeroUsize::MIN, ..polling() };
    let both = "git checkout -q --detach; c 1; c 2; git branch -qf main; git switch -q main";
    check(&one, &[(both, &["main combined first..2"]), ("c 3", &["main new 2..3"])]);
}

#[test]
fn whole_pushes_follow_their_commits() {
    let pushes = WatchOptions { pushes: true, ..polling() };
    check(
        &pushes,
        &[
            ("c 1", &["main new first..1"]),
            (
                "git checkout -q --detach; c 2; c 3; git branch -qf main; git switch -q main",
                &["main new 1..2", "main new 2..3", "main combined 1..3"],
            ),
            (
                "git checkout -q --detach; c a; c b; git switch -q -c side",
                &["side created 3..a", "side created a..b", "side created 3..b"],
            ),
            ("git commit -q --amend --allow-empty -m d", &["side rewritten b..d"]),
        ],
    );
    let few = WatchOptions { catch_up: NonZeroUsize::new(2).unwrap(), ..pushes };
    let three = "git checkout -q --detach; c 1; c 2; c 3; git branch -qf main; git switch -q main";
    check(&few, &[(three, &["main combined first..2", "main new 2..3", "main combined first..3"])]);
}

#[test]
fn branches_created_deleted_and_renamed() {
    check(
        &polling(),
        &[
            ("git branch same", &[]),
            (
                "git checkout -q --detach; c f1; c f2; git switch -q -c feature",
                &["feature created first..f1", "feature created f1..f2"],
            ),
            ("git branch -m feature renamed", &[]),
            ("git switch -q main; git branch -q -D renamed; git branch back HEAD@{1}", &[]),
            ("git switch -q back; c f3", &["back * f2..f3"]),
            ("git branch copy; git switch -q copy; c c1", &["copy * f3..c1"]),
        ],
    );
}

#[test]
fn only_commits_on_branches_are_reported() {
    check(
        &polling(),
        &[
            ("git checkout -q --detach; c d1; c d2", &[]),
            ("git tag keep; git stash list", &[]),
            ("git branch found", &["found created first..d1", "found created d1..d2"]),
            ("git branch -f main HEAD", &["main new first..d1", "main new d1..d2"]),
        ],
    );
}

#[test]
fn only_branches_that_match_are_watched() {
    check(
        &polling_on(&["release/*", "last"]),
        &[
            ("c two; git branch release/1", &[]),
            ("c three; git switch -q release/1; c fix", &["release/1 * two..fix"]),
            (
                "git switch -q main; c four; git checkout -q --detach; c r2; git branch release/2",
                &["release/2 created four..r2"],
            ),
        ],
    );
}

#[test]
fn first_commits_have_no_parent() {
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::with(&["--ref-format", format]);
        let list = steps(&[("c one; c two", &["main created nothing..one", "main created one..two"])]);
        let list: Vec<(&str, &[&str])> = list.iter().map(|(script, brings)| (script.as_str(), &brings[..])).collect();
        // the second commit may come in the same look or in a later one
        let repository = sandbox.open();
        let watching = Watching::start(repository.clone(), polling());
        sandbox.sh(list[0].0);
        watching.wait_for(2);
        let found: Vec<_> = watching.stop().iter().map(|event| told(&repository, event)).collect();
        assert_eq!(found[0], "main created nothing..one");
        assert!(found[1].ends_with(" one..two"), "{found:?}");
        assert_eq!(found.len(), 2);
    }
}

#[test]
fn pushes_to_a_bare_repository() {
    let server = Sandbox::with(&["--bare"]);
    let clone = server.beside("clone");
    git_in(server.root(), ["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let git = |arguments: &[&str]| git_in(&clone, arguments);
    let commit = |message: &str| git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    let watching = Watching::start(server.open(), notified());
    commit("one");
    commit("two");
    git(&["push", "--quiet", "origin", "main"]);
    watching.wait_for(2);
    commit("three");
    git(&["branch", "topic"]);
    commit("four");
    git(&["push", "--quiet", "origin", "main"]);
    git(&["push", "--quiet", "origin", "topic"]);
    watching.wait_for(4);
    git(&["reset", "--quiet", "--hard", "HEAD~3"]);
    commit("other");
    git(&["push", "--quiet", "--force", "origin", "main"]);
    git(&["push", "--quiet", "origin", ":topic"]);
    watching.wait_for(5);
    let repository = server.open();
    let found: Vec<_> = watching.stop().iter().map(|event| told(&repository, event)).collect();
    let expected = [
        "main created nothing..one",
        "main created one..two",
        "main new two..three",
        "main new three..four",
        "main rewritten four..other",
    ];
    assert_eq!(found, expected);
}

#[test]
fn linked_work_trees_are_notified() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let linked = sandbox.beside("linked");
    sandbox.git(["worktree", "add", "--quiet", "-b", "topic/deep", linked.to_str().unwrap()]);
    let repository = Repository::discover(&linked).unwrap();
    // a poll so rare that only notification can bring the commits
    let options = WatchOptions { poll: Duration::from_hours(1), ..notified() };
    let watching = Watching::start(repository.clone(), options);
    git_in(&linked, ["commit", "--quiet", "--allow-empty", "--message", "linked"]);
    watching.wait_for(1);
    sandbox.sh("git pack-refs --all; git commit --quiet --allow-empty --message main");
    watching.wait_for(2);
    let found: Vec<_> = watching.stop().iter().map(|event| told(&repository, event)).collect();
    assert_eq!(found, ["topic/deep new first..linked", "main new first..main"]);
}

#[test]
fn watches_resume() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("first");
    let second = sandbox.commit("second");
    sandbox.sh("git switch -q -c topic; git commit -q --allow-empty -m t1; git branch old HEAD~2");
    let repository = sandbox.open();
    let check = |known: BranchCheckpoint, expected: &[&str]| {
        let watching = Watching::from(repository.clone(), known, polling());
        watching.wait_for(expected.len());
        let found: Vec<_> = watching.stop().iter().map(|event| told(&repository, event)).collect();
        assert_eq!(found, expected);
    };
    let since = |commit| BranchCheckpoint::since(&repository, &BranchPatterns::all(), commit).unwrap();
    // The checked-out branch comes first.
    check(since(first), &["topic new first..second", "topic new second..t1", "main new first..second"]);
    check(since(second), &["topic new second..t1"]);
    let tips = |tips: &[(&str, hierad::git::CommitId)]| {
        BranchCheckpoint::from(
            tips.iter().map(|(branch, tip)| (BranchName::new(*branch), *tip)).collect::<BTreeMap<_, _>>(),
        )
    };
    check(tips(&[("main", first)]), &["main new first..second", "topic created second..t1"]);
    check(BranchCheckpoint::now(&repository).unwrap(), &[]);
}
