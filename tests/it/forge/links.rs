//! Links in comments and summaries.

use super::life::FIRST;
use super::scene::Scene;
use super::server::{Kind, TOKEN};
use crate::support::terminal::{hierad, run};

#[test]
fn places_link_to_the_lines_of_the_request() {
    for (kind, files) in [(Kind::GitHub, "blob"), (Kind::GitLab, "-/blob"), (Kind::Gitea, "src/commit")] {
        let scene = Scene::new(kind);
        let head = scene.push(FIRST);
        let mut job = scene.job(&head, "--summary summary.md");
        job.run().ok();
        let link = format!("(https://forge.example/o/n/{files}/{head}/data/roles/web.yaml#L1)");
        let comment = scene.forge.comment("default");
        assert!(comment.contains(&link), "no {link} in {comment}");
        let summary = std::fs::read_to_string(scene.site.root().join("summary.md")).unwrap();
        assert!(summary.contains(&link), "{summary}");
    }
}

#[test]
fn a_comment_that_leaves_out_links_to_the_job() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(&(0..50).fold(FIRST.to_owned(), |text, n| text + &format!("key{n}: '{n:0>100}'\n")));
    let mut job = scene.job(&head, "--budget 3000");
    job.run().ok();
    let comment = scene.forge.comment("default");
    assert!(comment.contains("[The full report](https://forge.example/o/n/actions/runs/1000)"), "{comment}");
    // The summary of the job is the full report.
    let summary = std::fs::read_to_string(&job.summary).unwrap();
    assert!(!summary.contains("The full report") && summary.contains("key49"), "{summary}");
}

#[test]
fn pages_are_those_of_the_named_project() {
    let scene = Scene::new(Kind::Gitea);
    let head = scene.push(FIRST);
    let server = format!("http://127.0.0.1:{}", scene.forge.port);
    let mut command = hierad(scene.site.root());
    command.args(["review", "--forge", "gitea", "--project", "o/n", "--request", "7", "--api", &scene.forge.api()]);
    run(command.env("GITEA_TOKEN", TOKEN)).ok();
    let comment = scene.forge.comment("default");
    assert!(comment.contains(&format!("({server}/o/n/src/commit/{head}/data/roles/web.yaml#L1)")), "{comment}");
    // The job is one of another repository.
    let mut job = scene.job(&head, &format!("--project o/n --api {} --request 7", scene.forge.api()));
    job.command.env("GITHUB_REPOSITORY", "acme/other");
    job.run().ok();
    let comment = scene.forge.comment("default");
    assert!(!comment.contains("forge.example/acme/other/src"), "{comment}");
}
