//! Policies in reviews: the check's conclusion, the exit status, the comment and the annotations.

use super::life::{CLEAN, FIRST};
use super::scene::Scene;
use super::server::Kind;
use crate::support::terminal::{Printed, hierad, run};

const RULE: &str = "{name: ports, level: LEVEL, message: Ask the network team., reviewers: [team-net], keys: port}";

/// A request to a branch whose settings have a rule of this level.
fn scene(level: &str) -> Scene {
    let scene = Scene::new(Kind::GitHub);
    let rule = RULE.replace("LEVEL", level);
    scene.site.git(["checkout", "--quiet", "main"]);
    scene.site.write("hierad.yaml", format!("profiles: [profiles]\npolicies: [{rule}]\n"));
    scene.site.commit("a rule");
    scene.site.git(["push", "--quiet", "origin", "main"]);
    scene.site.git(["checkout", "--quiet", "feature"]);
    scene.site.git(["reset", "--quiet", "--hard", "main"]);
    scene
}

#[test]
fn a_policy_that_fails_fails_the_check() {
    let scene = scene("failure");
    let head = scene.push(FIRST);
    scene.review(&head, "").is(4);
    let comment = scene.forge.comment("default");
    assert!(comment.contains("policy ports fails") && comment.contains("Ask the network team."), "{comment}");
    assert!(
        comment.contains("needs a review by team-net") || comment.contains("needs a review by team&#45;net"),
        "{comment}"
    );
    let check = scene.forge.check(&head, "hierad");
    assert_eq!(check["conclusion"], "failure");
    assert_eq!(check["output"]["title"], "1 key changes on 1 of 2 nodes; policy ports fails");
    let annotation = &check["output"]["annotations"][0];
    assert_eq!((&annotation["path"], &annotation["start_line"]), (&"data/roles/web.yaml".into(), &1.into()));
    assert_eq!(annotation["annotation_level"], "failure");
    assert!(annotation["message"].as_str().unwrap().contains("policy ports: Ask the network team."), "{annotation}");
    // The request itself cannot take the rule away.
    let mine = scene.push("-- hierad.yaml\nprofiles: [profiles]\n");
    scene.review(&mine, "").is(4);
    let clean = scene.push(&format!(
        "{CLEAN}-- hierad.yaml\nprofiles: [profiles]\npolicies: [{}]\n",
        RULE.replace("LEVEL", "failure")
    ));
    scene.review(&clean, "").is(0);
    assert_eq!(scene.forge.check(&clean, "hierad")["conclusion"], "success");
}

#[test]
fn a_policy_that_warns_is_neutral_and_a_note_is_nothing() {
    for (level, conclusion) in [("warning", "neutral"), ("note", "success")] {
        let scene = scene(level);
        let head = scene.push(FIRST);
        scene.review(&head, "").is(0);
        assert_eq!(scene.forge.check(&head, "hierad")["conclusion"], conclusion, "{level}");
        scene.review(&head, "--exit-code").is(2);
    }
}

/// A change that the rule forbids, in a commit that takes the rule away as well, with an empty commit on top.
fn hidden_below_an_empty_commit(scene: &Scene, files: &str) -> String {
    scene.site.files(&format!("{files}-- hierad.yaml\nprofiles: [profiles]\n"));
    scene.site.commit("a change");
    scene.site.git(["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    let head = scene.site.id("HEAD").to_string();
    scene.pushed(&head);
    head
}

/// Runs the review of a job that knows nothing of the commits but what these variables say.
fn built(scene: &Scene, variables: &[(&str, &str)]) -> Printed {
    let mut command = hierad(scene.site.root());
    run(command.args(["review", "--summary", "../summary"]).envs(variables.iter().copied()))
}

#[test]
fn what_nothing_is_known_of_is_judged_by_the_default_branch() {
    let zeros = "0".repeat(40);
    let jobs: [&[(&str, &str)]; 7] = [
        &[("JENKINS_URL", "x"), ("BRANCH_NAME", "feature")],
        &[("JENKINS_URL", "x"), ("CHANGE_ID", "7")],
        &[("JENKINS_URL", "x"), ("TAG_NAME", "v1")],
        &[("BITBUCKET_BUILD_NUMBER", "1"), ("BITBUCKET_BRANCH", "feature")],
        &[("GITLAB_CI", "true"), ("CI_COMMIT_BRANCH", "feature"), ("CI_COMMIT_BEFORE_SHA", &zeros)],
        &[("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", "create")],
        &[("TF_BUILD", "True")],
    ];
    let forbids = scene("failure");
    hidden_below_an_empty_commit(&forbids, FIRST);
    let allows = scene("failure");
    hidden_below_an_empty_commit(&allows, CLEAN);
    for job in jobs {
        for place in ["told by nobody", "told by the clone"] {
            for scene in [&forbids, &allows] {
                match place {
                    "told by nobody" => scene.site.git(["remote", "set-head", "origin", "--delete"]),
                    _ => scene.site.git(["remote", "set-head", "origin", "main"]),
                };
            }
            let printed = built(&forbids, job);
            assert_eq!(printed.status, 4, "{job:?}, {place}: {printed:?}");
            let summary = std::fs::read_to_string(forbids.site.beside("summary")).unwrap();
            assert!(summary.contains("policy ports"), "{summary}");
            std::fs::remove_file(forbids.site.beside("summary")).unwrap();
            built(&allows, job).is(0);
        }
    }
    // What the default branch has already is judged by what it had before.
    forbids.site.git(["checkout", "--quiet", "--detach", "origin/main"]);
    built(&forbids, jobs[0]).is(0);
}

#[test]
fn policies_that_nothing_tells_of_are_not_read() {
    let scene = scene("failure");
    hidden_below_an_empty_commit(&scene, CLEAN);
    let reads = |status: i32| {
        let printed = built(&scene, &[("JENKINS_URL", "x"), ("BRANCH_NAME", "feature")]);
        assert_eq!(printed.status, status, "{printed:?}");
        std::fs::read_to_string(scene.site.beside("summary")).unwrap()
    };
    scene.site.git(["remote", "set-head", "origin", "--delete"]);
    let address = scene.site.git(["remote", "get-url", "origin"]);
    scene.site.git(["remote", "set-url", "origin", "/nowhere"]);
    assert!(reads(4).contains("the target branch is unknown"));
    // Trusted policies judge, whichever branch that is.
    scene.site.write(".git/hierad.yaml", "profiles: [../profiles]\npolicies: []\n");
    reads(0);
    std::fs::remove_file(scene.site.root().join(".git/hierad.yaml")).unwrap();
    // A history of its own has no commit in common with the branch.
    scene.site.git(["remote", "set-url", "origin", address.trim()]);
    scene.site.git(["checkout", "--quiet", "--orphan", "other"]);
    scene.site.git(["commit", "--quiet", "--message", "all of it"]);
    scene.site.git(["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    reads(4);
    // Without a remote there is no other branch.
    scene.site.git(["remote", "remove", "origin"]);
    reads(0);
}
