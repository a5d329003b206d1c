//! Policies in reviews: the check's conclusion, the exit status, the comment and the annotations.

use super::life::{CLEAN, FIRST};
use super::scene::Scene;
use super::server::Kind;

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
