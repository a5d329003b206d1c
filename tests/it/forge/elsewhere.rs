//! Shallow checkouts, other CI servers, and none.

use super::life::{FIRST, SECOND};
use super::scene::Scene;
use super::server::{Kind, TOKEN};
use crate::support::terminal::{hierad, run};

/// A request whose branch left `main` 70 commits ago, and the merge that Actions check out.
fn merged() -> (Scene, String) {
    let scene = Scene::new(Kind::GitHub);
    scene.push(FIRST);
    let head = scene.push(SECOND);
    scene.site.git(["checkout", "--quiet", "main"]);
    for n in 0..70 {
        scene.site.git(["commit", "--quiet", "--allow-empty", "--message", &format!("step {n}")]);
    }
    scene.site.files("-- data/common.yaml\nmotd: other\nntp: [a, b]\n");
    scene.site.commit("of main alone");
    scene.site.git(["push", "--quiet", "origin", "main"]);
    scene.site.git(["merge", "--quiet", "--no-edit", "feature"]);
    scene.site.git(["push", "--quiet", "origin", "HEAD:refs/pull/7/merge"]);
    (scene, head)
}

#[test]
fn a_shallow_checkout_is_deepened() {
    let (scene, head) = merged();
    let folder = scene.checkout("--depth=1");
    let mut job = scene.job(&head, "");
    job.command.current_dir(&folder);
    job.run().ok();
    let comment = scene.forge.comment("default");
    assert!(comment.contains("9090") && !comment.contains("motd"), "{comment}");
}

#[test]
fn a_checkout_that_cannot_be_deepened_says_what_to_do() {
    let (scene, head) = merged();
    let folder = scene.checkout("--depth=1");
    let mut job = scene.job(&head, "--remote /nowhere");
    job.command.current_dir(&folder);
    job.run().fails(&["`fetch-depth: 0` of actions/checkout"]);
}

#[test]
fn jenkins_tells_the_request_by_its_address() {
    let scene = Scene::new(Kind::Gitea);
    let head = scene.push(FIRST);
    let mut command = hierad(scene.site.root());
    command
        .arg("review")
        .env("JENKINS_URL", "https://ci.example/")
        .env("CHANGE_ID", "7")
        .env("CHANGE_TARGET", "main")
        .env("CHANGE_URL", format!("http://127.0.0.1:{}/o/n/pulls/7", scene.forge.port))
        .env("BUILD_NUMBER", "12")
        .env("GITEA_TOKEN", TOKEN);
    run(&mut command).ok();
    let comment = scene.forge.comment("default");
    assert!(comment.contains(&format!("head={head} run=12.1")) && comment.contains("8080"), "{comment}");
    scene.forge.assert_described();
}

#[test]
fn flags_name_the_request_anywhere() {
    let scene = Scene::new(Kind::GitHub);
    scene.push(FIRST);
    let api = scene.forge.api();
    let mut command = hierad(scene.site.root());
    command.args(["review", "--forge", "github", "--project", "o/n", "--request", "7", "--api", &api]);
    run(command.env("GH_TOKEN", TOKEN)).ok();
    assert!(scene.forge.comment("default").contains("8080"));
    scene.site.hierad("review --base main").fails(&["name it with --forge, --project and --request"]);
}

#[test]
fn a_filter_that_matches_nothing_is_no_clean_review() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    for (flag, what) in [("--key", "no key matches --key 'nobody'"), ("--node", "no node matches --node 'nobody'")] {
        let mut command = hierad(scene.site.root());
        command.args(["review", "--summary", "-", flag, "nobody"]).env("BITBUCKET_BUILD_NUMBER", "1");
        command.env("BITBUCKET_COMMIT", &head).env("BITBUCKET_PR_DESTINATION_BRANCH", "main");
        run(&mut command).fails(&[what]);
    }
}

#[test]
fn without_a_forge_the_review_is_written() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    let mut command = hierad(scene.site.root());
    command.args(["review", "--summary", "-", "--exit-code"]).env("BITBUCKET_BUILD_NUMBER", "1");
    command.env("BITBUCKET_COMMIT", &head).env("BITBUCKET_PR_DESTINATION_BRANCH", "main");
    let printed = run(&mut command);
    printed.is(2);
    assert!(printed.out.contains("1 key changes on 1 of 2 nodes"), "{printed:?}");
}

#[test]
fn a_push_has_a_check_and_no_comment() {
    let scene = Scene::new(Kind::GitHub);
    let before = scene.site.id("HEAD").to_string();
    let head = scene.push(FIRST);
    let mut job = scene.job(&head, "");
    let event = serde_json::json!({ "before": before, "after": head, "ref": "refs/heads/main" });
    scene.event(&mut job.command, 3000, "push", &event);
    job.command.env("GITHUB_SHA", &head);
    job.run().ok();
    assert_eq!(scene.forge.check(&head, "hierad")["output"]["title"], "1 key changes on 1 of 2 nodes");
    assert_eq!(scene.forge.state().comments.len(), 0);
}

#[test]
fn a_dry_run_shows_what_would_be_posted() {
    let scene = Scene::new(Kind::GitHub);
    scene.push(FIRST);
    let shown = scene.site.hierad("review --base main --head feature --dry-run");
    assert!(shown.ok().contains("changes on"), "{shown:?}");
    let summary = scene.site.beside("summary");
    let shown =
        scene.site.hierad(&format!("review --base main --head feature --dry-run --summary {}", summary.display()));
    assert_eq!(shown.ok(), "", "it is in the summary");
    assert!(std::fs::read_to_string(summary).unwrap().contains("changes on"));
}
