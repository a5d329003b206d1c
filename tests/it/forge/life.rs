//! A request from its beginning to its end.

use super::scene::Scene;
use super::server::Kind;

/// Files that change a port, change it again, and change nothing.
pub(super) const FIRST: &str = "-- data/roles/web.yaml\nport: 8080\n";
pub(super) const SECOND: &str = "-- data/roles/web.yaml\nport: 9090\n";
pub(super) const CLEAN: &str = "-- data/roles/web.yaml\nport: 80\n";

const KINDS: [Kind; 3] = [Kind::GitHub, Kind::GitLab, Kind::Gitea];

#[test]
fn a_request_has_one_comment_all_its_life() {
    for kind in KINDS {
        let scene = Scene::new(kind);
        let opened = scene.push(FIRST);
        scene.review(&opened, "").ok();
        let first = scene.forge.comment("default");
        assert!(first.contains("1 key changes on 1 of 2 nodes") && first.contains("8080"), "{first}");
        let pushed = scene.push(SECOND);
        scene.review(&pushed, "").ok();
        let second = scene.forge.comment("default");
        assert!(second.contains("9090") && second.contains(&pushed) && !second.contains("8080"), "{second}");
        let cleaned = scene.push(CLEAN);
        scene.review(&cleaned, "").ok();
        let clean = scene.forge.comment("default");
        assert!(clean.contains("no effective change"), "{clean}");
        scene.forge.state().is_open = false;
        scene.review(&cleaned, "").ok();
        assert_eq!(scene.forge.comment("default"), clean);
        scene.forge.state().is_open = true;
        scene.review(&cleaned, "").ok();
        assert!(scene.forge.comment("default").contains("no effective change"));
        let first_id = scene.forge.comments("default")[0].id;
        assert_eq!(first_id, 101 + u64::from(kind == Kind::GitHub), "the first comment stays");
        marks(&scene, kind, [&opened, &pushed, &cleaned]);
    }
}

/// Each commit has a check, or a status where there are none.
fn marks(scene: &Scene, kind: Kind, heads: [&str; 3]) {
    if kind == Kind::GitHub {
        let check = scene.forge.check(heads[0], "hierad");
        assert_eq!(check["conclusion"], "success");
        assert_eq!(check["output"]["title"], "1 key changes on 1 of 2 nodes");
        let annotation = &check["output"]["annotations"][0];
        assert_eq!((&annotation["path"], &annotation["start_line"]), (&"data/roles/web.yaml".into(), &1.into()));
        assert_eq!(annotation["annotation_level"], "notice");
        assert_eq!(
            scene.forge.check(heads[2], "hierad")["output"]["title"],
            "no effective change (2 nodes and 3 keys compared)"
        );
        return;
    }
    let state = scene.forge.state();
    for head in heads {
        let status = state.statuses.iter().rev().find(|(sha, _)| sha == head).unwrap();
        assert_eq!(status.1["state"], "success");
    }
}

#[test]
fn a_first_comment_waits_for_an_effect_as_asked() {
    for kind in KINDS {
        let scene = Scene::new(kind);
        let head = scene.push(CLEAN);
        scene.review(&head, "--id none --comment none").ok();
        scene.review(&head, "--id late --comment changes").ok();
        assert_eq!(scene.forge.state().comments.len(), 0, "{kind:?}");
        let head = scene.push(FIRST);
        scene.review(&head, "--id none --comment none").ok();
        scene.review(&head, "--id late --comment changes").ok();
        assert!(scene.forge.comment("late").contains("8080"));
        let head = scene.push(CLEAN);
        scene.review(&head, "--id late --comment changes").ok();
        assert!(scene.forge.comment("late").contains("no effective change"));
        assert_eq!(scene.forge.state().comments.len(), 1, "{kind:?}");
    }
}

#[test]
fn variants_that_are_gone_are_refused() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    for (flag, words) in [
        ("--comment hide-and-new", "[possible values: always, changes, none]"),
        ("--comment delete-when-clean", "[possible values: always, changes, none]"),
        ("--comment update", "[possible values: always, changes, none]"),
        ("--when changes", "unexpected argument '--when'"),
        ("--check run", "[possible values: auto, none]"),
        ("--check status", "[possible values: auto, none]"),
        ("--discussions", "unexpected argument '--discussions'"),
    ] {
        scene.review(&head, flag).is(1).says(&[words]);
    }
    assert_eq!(scene.forge.state().comments.len(), 0);
}

#[test]
fn two_configurations_have_a_comment_each() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    for _ in 0..2 {
        scene.review(&head, "--id one").ok();
        scene.review(&head, "--id two --node web*").ok();
    }
    assert!(scene.forge.comment("one").contains("hierad (one)"));
    assert!(scene.forge.comment("two").contains("hierad (two)"));
    assert_eq!(scene.forge.state().comments.len(), 2);
    scene.forge.check(&head, "hierad (one)");
    scene.forge.check(&head, "hierad (two)");
    // Flags alone tell them apart, too.
    scene.review(&head, "--key port").ok();
    scene.review(&head, "--key motd").ok();
    scene.review(&head, "--key port").ok();
    assert_eq!(scene.forge.state().comments.len(), 4);
}

#[test]
fn the_exit_status_is_the_conclusion() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    for (arguments, status, conclusion) in
        [("", 0, "success"), ("--exit-code", 2, "failure"), ("--exit-code=errors", 0, "success")]
    {
        scene.review(&head, arguments).is(status);
        assert_eq!(scene.forge.check(&head, "hierad")["conclusion"], conclusion, "{arguments}");
    }
    let broken = scene.push("-- data/roles/web.yaml\nport: [\n");
    scene.review(&broken, "--exit-code=errors").is(2);
    let check = scene.forge.check(&broken, "hierad");
    assert_eq!(check["conclusion"], "failure");
    assert_eq!(check["output"]["annotations"][0]["annotation_level"], "failure", "{check:#}");
}

#[test]
fn a_large_review_is_one_comment_that_fits() {
    let scene = Scene::new(Kind::GitHub);
    let lines = |value: &str| {
        let line = |n: usize| format!("profile{}::part{n}: {value}{n} {}\n", n % 97, "text ".repeat(n % 50));
        (0..3_000).map(line).collect::<String>()
    };
    scene.push(&format!("-- data/roles/web.yaml\nport: 80\n{}", lines("one")));
    scene.site.git(["push", "--quiet", "--force", "origin", "HEAD:main"]);
    let head = scene.push(&format!("-- data/roles/web.yaml\nport: 80\n{}", lines("two")));
    scene.review(&head, "").ok();
    let comment = scene.forge.comment("default");
    let words = ["### 3,000 keys change on 1 of 2 nodes", "more keys", "[The full report](https://"];
    assert!(words.iter().all(|word| comment.contains(word)) && !comment.contains("db01"), "{comment}");
    assert!(comment.chars().count() > 30_000, "{}", comment.chars().count());
    assert_eq!(scene.forge.state().comments.len(), 1);
}
