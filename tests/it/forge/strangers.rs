//! Forks, and what strangers write.

use serde_json::json;

use super::life::{FIRST, SECOND};
use super::scene::Scene;
use super::server::{Comment, Kind};

#[test]
fn a_fork_has_its_summary_and_annotations() {
    for kind in [Kind::GitHub, Kind::Gitea] {
        let scene = Scene::new(kind);
        let head = scene.push(FIRST);
        {
            let mut state = scene.forge.state();
            (state.is_fork, state.is_read_only) = (true, true);
        }
        let mut job = scene.job(&head, "--exit-code");
        let printed = job.run();
        printed.is(2).says(&["no comment, as the token of a fork's run may not write one"]);
        assert!(printed.out.contains("::notice file=data/roles/web.yaml,line=1"), "{printed:?}");
        let summary = std::fs::read_to_string(&job.summary).unwrap();
        assert!(summary.contains("1 key changes on 1 of 2 nodes"), "{summary}");
        assert_eq!(scene.forge.state().comments.len(), 0);
    }
}

#[test]
fn comments_of_others_are_left_alone() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    let body = format!("<!-- hierad-review: default head={head} run=99999.1 -->\nall is well");
    let comment = Comment { id: 1, author: "stranger".to_owned(), body: body.clone() };
    scene.forge.state().comments.push(comment);
    scene.review(&head, "").ok();
    let head = scene.push(SECOND);
    scene.review(&head, "").ok();
    assert_eq!(scene.forge.state().comments[0].body, body);
    assert!(scene.forge.comment("default").contains("9090"));
}

/// The event of the run that follows that of a fork.
pub(super) fn followed(head: &str) -> serde_json::Value {
    json!({
        "action": "completed",
        "workflow_run": {
            "id": 500,
            "run_attempt": 1,
            "head_sha": head,
            "head_branch": "feature",
            "head_repository": { "full_name": "stranger/n", "owner": { "login": "stranger" } },
            "pull_requests": [],
        },
    })
}

#[test]
fn a_saved_review_is_posted_by_the_run_that_follows() {
    let scene = Scene::new(Kind::GitHub);
    scene.site.write("data/roles/web.yaml", "port: 8080\nowner: '@everybody <!-- -->'\n");
    let head = scene.push("");
    {
        let mut state = scene.forge.state();
        (state.is_fork, state.is_read_only) = (true, true);
    }
    let file = scene.site.beside("review.json");
    let saving = format!("--save {}", file.display());
    scene.job(&head, &saving).run().ok();
    assert_eq!(scene.forge.state().comments.len(), 0);
    scene.forge.state().is_read_only = false;
    let post = |head: &str| {
        let mut job = scene.job(head, &format!("--post {}", file.display()));
        scene.event(&mut job.command, 2000, "workflow_run", &followed(head));
        job.run()
    };
    post(&head).ok();
    let comment = scene.forge.comment("default");
    assert!(comment.contains("8080") && !comment.contains('@') && comment.matches("<!--").count() == 1, "{comment}");
    assert_eq!(scene.forge.state().checks.len(), 0, "no check says what a stranger's run has found");
    // The file of another commit is not posted.
    let other = scene.push(SECOND);
    post(&other).is(1).says(&["the saved review is of another commit than that of the run"]);
    // Nor is one for a commit that is not the last one any more.
    post(&head).ok();
    assert_eq!(scene.forge.comment("default"), comment);
    std::fs::write(&file, "{\"schema\": \"else\"}").unwrap();
    post(&other).fails(&["is not a saved review"]);
}

#[test]
fn a_saved_review_is_not_posted_on_what_others_propose_with_that_commit() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    let file = scene.site.beside("review.json");
    scene.job(&head, &format!("--save {}", file.display())).run().ok();
    scene.forge.state().comments.clear();
    // The list has the request of somebody else, as Gitea's has whatever is asked for.
    for (place, other) in [("/workflow_run/head_branch", "evil"), ("/workflow_run/head_repository/owner/login", "o2")] {
        scene.forge.state().is_fork = true;
        let mut event = followed(&head);
        *event.pointer_mut(place).unwrap() = other.into();
        let mut job = scene.job(&head, &format!("--post {}", file.display()));
        scene.event(&mut job.command, 2000, "workflow_run", &event);
        job.run().ok();
        assert_eq!(scene.forge.state().comments.len(), 0, "{place}");
    }
}

#[test]
fn secrets_are_not_for_reviews() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    scene.review(&head, "--show-secrets").fails(&["--show-secrets cannot be used with them"]);
}
