//! Several runs at once.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

use super::life::{FIRST, SECOND};
use super::scene::Scene;
use super::server::{Hold, Kind};

#[test]
fn an_older_run_leaves_the_comment_of_a_newer_commit() {
    for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea] {
        let scene = Scene::new(kind);
        let old = scene.push(FIRST);
        let mut slow = scene.job(&old, "");
        let (arrived, has_arrived) = channel();
        let (go_on, may_go_on) = channel();
        scene.forge.state().hold = Some(Hold { operation: "issues/list-comments", arrived, go_on: may_go_on });
        std::thread::scope(|scope| {
            let run = scope.spawn(move || slow.run());
            has_arrived.recv().unwrap();
            let new = scene.push(SECOND);
            scene.review(&new, "").ok();
            go_on.send(()).unwrap();
            run.join().unwrap().is(0).says(&["request 7 has a newer commit or review"]);
            let comment = scene.forge.comment("default");
            assert!(comment.contains("9090") && comment.contains(&new), "{comment}");
        });
    }
}

#[test]
fn an_older_run_for_the_same_commit_leaves_the_comment() {
    for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea] {
        let scene = Scene::new(kind);
        let head = scene.push(FIRST);
        let mut jobs = [scene.job(&head, ""), scene.job(&head, "")];
        jobs[1].run().ok();
        jobs[0].run().is(0).says(&["request 7 has a newer commit or review: its comment stays"]);
        assert!(scene.forge.comment("default").contains("run=1001.1"));
    }
}

#[test]
fn two_runs_at_once_leave_one_comment() {
    for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea] {
        let scene = Scene::new(kind);
        let head = scene.push(FIRST);
        // Both have found no comment when they write theirs.
        scene.forge.state().meet = Some(("issues/create-comment", Arc::new(Barrier::new(2))));
        let jobs = [scene.job(&head, ""), scene.job(&head, "")];
        std::thread::scope(|scope| {
            let runs = jobs.map(|mut job| scope.spawn(move || job.run()));
            for run in runs {
                run.join().unwrap().ok();
            }
        });
        let comment = scene.forge.comment("default");
        assert!(comment.contains("run=1001.1"), "the later run's: {comment}");
        assert_eq!(scene.forge.state().comments.len(), 1);
        if kind == Kind::GitHub {
            scene.forge.check(&head, "hierad");
        }
    }
}

#[test]
fn runs_for_two_commits_at_once_leave_the_newer() {
    let scene = Scene::new(Kind::GitHub);
    let old = scene.push(FIRST);
    // The older one has seen itself as the last commit, and writes as late as the newer one.
    scene.forge.state().meet = Some(("issues/create-comment", Arc::new(Barrier::new(2))));
    let mut slow = scene.job(&old, "");
    std::thread::scope(|scope| {
        let first = scope.spawn(move || slow.run());
        while !scene.forge.state().log.iter().any(|operation| operation == "issues/create-comment") {
            std::thread::yield_now();
        }
        let new = scene.push(SECOND);
        scene.review(&new, "").ok();
        first.join().unwrap().ok();
        let comment = scene.forge.comment("default");
        assert!(comment.contains("9090") && comment.contains(&new), "{comment}");
        assert_eq!(scene.forge.state().comments.len(), 1);
    });
}

#[test]
fn a_run_that_is_repeated_for_an_old_commit_changes_nothing() {
    let scene = Scene::new(Kind::GitHub);
    let old = scene.push(FIRST);
    scene.review(&old, "").ok();
    let new = scene.push(SECOND);
    scene.review(&new, "").ok();
    let comment = scene.forge.comment("default");
    scene.review(&old, "").ok();
    assert_eq!(scene.forge.comment("default"), comment);
}
