//! Failures: of reading, of the handler, of the repository; and the end.

use std::sync::mpsc;

use hierad::daemon::{BranchCheckpoint, HandlerError, WatchError};
use hierad::git::{BranchName, Branches, ObjectError};

use crate::support::Sandbox;
use crate::support::watching::{Watching, notified, polling, told};

#[test]
fn broken_references_delay_only_their_branch() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.git(["branch", "other"]);
    let repository = sandbox.open();
    let watching = Watching::start(repository.clone(), polling());
    let path = sandbox.root().join(".git/refs/heads/main");
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    sandbox.sh("git update-ref refs/heads/other $(git commit-tree -p other -m while-broken $(git mktree < /dev/null))");
    watching.wait_for(1);
    std::fs::write(&path, good).unwrap();
    sandbox.commit("after");
    watching.wait_for(2);
    let found: Vec<_> = watching.stop().iter().map(|event| told(&repository, event)).collect();
    assert_eq!(found, ["other new first..while-broken", "main new first..after"]);
}

#[test]
fn locks_are_harmless() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.git(["branch", "other"]);
    let watching = Watching::start(sandbox.open(), notified());
    std::fs::write(sandbox.root().join(".git/packed-refs.lock"), "").unwrap();
    std::fs::write(sandbox.root().join(".git/refs/heads/other.lock"), "").unwrap();
    sandbox.commit("second");
    assert_eq!(watching.wait_for(1).len(), 1);
    assert_eq!(watching.stop().len(), 1);
}

#[test]
fn missing_commits_are_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let repository = sandbox.open();
    let watching = Watching::start(repository.clone(), polling());
    sandbox.sh("tree=$(git mktree < /dev/null)
        a=$(git commit-tree -p HEAD -m second $tree)
        b=$(git commit-tree -p $a -m third $tree)
        file=.git/objects/$(echo $a | cut -c1-2)/$(echo $a | cut -c3-)
        mv $file ../away
        git update-ref refs/heads/other $(git commit-tree -p HEAD -m elsewhere $tree)
        echo $b > .git/refs/heads/main
        sleep 0.1
        mv ../away $file");
    watching.wait_for(3);
    let mut found: Vec<_> = watching.stop().iter().map(|event| told(&repository, event)).collect();
    found.sort(); // which branch is first depends on when it was looked at
    assert_eq!(found, ["main new first..second", "main new second..third", "other created first..elsewhere"]);
}

#[test]
fn collected_former_tips() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let former = sandbox.commit("former");
    sandbox.sh("git commit -q --amend --allow-empty -m amended
        git reflog expire --expire=now --all; git gc -q --prune=now");
    let repository = sandbox.open();
    let known = BranchCheckpoint::from(Branches::from([(BranchName::new("main"), former)]));
    let watching = Watching::from(repository.clone(), known, polling());
    let event = watching.wait_for(1).remove(0);
    assert_eq!(told(&repository, &event), "main rewritten gone..amended");
    assert!(matches!(repository.tree(event.before.unwrap()), Err(ObjectError::Missing { .. })));
    assert_eq!(watching.stop(), [event]);
}

#[test]
fn former_tips_with_partial_history() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("first");
    let gone = sandbox.commit("gone").to_string();
    let former = sandbox.commit("former");
    sandbox.git(["reset", "--quiet", "--hard", &first.to_string()]);
    std::fs::remove_file(sandbox.root().join(".git/objects").join(&gone[..2]).join(&gone[2..])).unwrap();
    sandbox
        .sh("git commit -q --allow-empty -m rewritten; git switch -q -c other; git commit -q --allow-empty -m created");
    let repository = sandbox.open();
    let known = BranchCheckpoint::from(Branches::from([(BranchName::new("main"), former)]));
    let watching = Watching::from(repository.clone(), known, polling());
    let events = watching.wait_for(2);
    let told: Vec<_> = events.iter().map(|event| told(&repository, event)).collect();
    assert_eq!(told, ["main rewritten former..rewritten", "other created rewritten..created"]);
    watching.stop();
}

#[test]
fn handler_errors_end_a_commit_or_the_watch() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let repository = sandbox.open();
    let names = repository.clone();
    let mut watching = Watching::with(repository.clone(), polling(), move |event| {
        match names.commit(event.after).unwrap().summary.as_str() {
            "bad" => Err(HandlerError::Runtime("cannot write".into())),
            "worse" => Err(HandlerError::Critical("disk is full".into())),
            _ => Ok(()),
        }
    });
    sandbox.commit("bad");
    sandbox.commit("good");
    let worse = sandbox.commit("worse");
    let events = watching.wait_for(3);
    let error = watching.ended().unwrap_err();
    assert_eq!(error.to_string(), format!("cannot handle commit {worse} of branch main: disk is full"));
    assert_eq!(events.len(), 3);
}

#[test]
fn handler_panics_end_the_watch() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let mut watching = Watching::with(sandbox.open(), polling(), |_| panic!("a fault that a test makes"));
    sandbox.commit("second");
    assert!(matches!(watching.ended(), Err(WatchError::Task(_))));
}

#[test]
fn shutdown_finishes_the_current_commit() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let (release, released) = mpsc::channel::<()>();
    let (finish, finished) = mpsc::channel();
    let mut watching = Watching::with(sandbox.open(), polling(), move |event| {
        let _ = released.recv();
        finish.send(event.after).unwrap();
        Ok(())
    });
    let second = sandbox.commit("second");
    sandbox.commit("third");
    watching.wait_for(1);
    watching.shut_down();
    assert!(finished.try_recv().is_err());
    drop(release);
    watching.ended().unwrap();
    assert_eq!(finished.iter().collect::<Vec<_>>(), [second]);
}

#[test]
fn deleted_repositories_end_the_watch() {
    for options in [polling(), notified()] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let mut watching = Watching::start(sandbox.open(), options);
        std::fs::remove_dir_all(sandbox.root()).unwrap();
        assert!(matches!(watching.ended(), Err(WatchError::Gone(_))));
    }
}

#[test]
fn refused_commits_come_again() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let mut left = 3_u32;
    let watching = Watching::with(sandbox.open(), polling(), move |_| {
        left = left.saturating_sub(1);
        if left > 0 { Err(HandlerError::Refused("full".into())) } else { Ok(()) }
    });
    let second = sandbox.commit("second");
    let events = watching.wait_for(3);
    assert!(events.iter().all(|event| event.after == second), "{events:#?}");
    assert_eq!(watching.stop().len(), 3);
}

#[test]
fn watches_can_be_stopped() {
    let sandbox = Sandbox::new();
    assert_eq!(Watching::start(sandbox.open(), notified()).stop(), []);
}
