//! Commits that are fetched for a review: into a mirror, and several requests beside each other.

use std::path::Path;

use hierad::app::Overrides;
use hierad::app::review::{Wanted, sides};
use hierad::git::{BranchPatterns, Repository};

use super::life::FIRST;
use super::scene::Scene;
use super::server::{Kind, TOKEN};
use crate::support::git_in;
use crate::support::terminal::{Printed, hierad, run};

/// A bare clone of `main` alone, as a daemon keeps it, and the address of the repository that it is of.
fn mirror(scene: &Scene) -> (std::path::PathBuf, String) {
    let (origin, folder) = (scene.site.beside("origin.git"), scene.site.beside("mirror.git"));
    let address = format!("file://{}", origin.display());
    let path = folder.to_str().unwrap();
    scene.site.git(["clone", "--quiet", "--bare", "--single-branch", "--branch", "main", &address, path]);
    (folder, address)
}

fn references(folder: &Path, prefix: &str) -> Vec<String> {
    git_in(folder, ["for-each-ref", "--format=%(refname)", prefix]).lines().map(str::to_owned).collect()
}

fn review(scene: &Scene, folder: &Path, arguments: &[&str]) -> Printed {
    let mut command = hierad(scene.site.root());
    command.args(["review", "--profiles", "profiles", "--repo"]).arg(folder).args(arguments);
    command.args(["--forge", "github", "--project", "o/n", "--request", "7", "--id", "default", "--api"]);
    run(command.arg(scene.forge.api()).env("GITHUB_TOKEN", TOKEN))
}

#[test]
fn a_bare_mirror_fetches_what_is_new_each_time() {
    let scene = Scene::new(Kind::GitHub);
    scene.push(FIRST);
    let (folder, address) = mirror(&scene);
    assert_eq!(references(&folder, "refs"), ["refs/heads/main"]);
    review(&scene, &folder, &["--remote", &address]).ok();
    assert!(scene.forge.comment("default").contains("8080"));
    // The request takes up what has come to its branch, which is none of its changes.
    scene.site.git(["checkout", "--quiet", "main"]);
    scene.site.files("-- data/common.yaml\nmotd: other\nntp: [a, b]\n");
    scene.site.commit("of main alone");
    scene.site.git(["push", "--quiet", "origin", "main"]);
    scene.site.git(["checkout", "--quiet", "feature"]);
    scene.site.git(["merge", "--quiet", "--no-edit", "main"]);
    scene.pushed(&scene.site.id("HEAD").to_string());
    // The mirror has the commit already, from a branch.
    git_in(&folder, ["fetch", "--quiet", &address, "+refs/heads/*:refs/heads/*"]);
    review(&scene, &folder, &["--remote", &address]).ok();
    let comment = scene.forge.comment("default");
    assert!(comment.contains("8080") && !comment.contains("motd"), "{comment}");
    assert_eq!(references(&folder, "refs"), ["refs/heads/feature", "refs/heads/main"]);
}

#[test]
fn a_checkout_that_is_behind_is_brought_up() {
    let scene = Scene::new(Kind::GitHub);
    scene.push(FIRST);
    scene.site.git(["checkout", "--quiet", "main"]);
    scene.site.files("-- data/common.yaml\nmotd: other\nntp: [a, b]\n");
    scene.site.commit("of main alone");
    scene.site.git(["push", "--quiet", "origin", "main"]);
    scene.site.git(["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    scene.site.git(["checkout", "--quiet", "feature"]);
    scene.site.git(["merge", "--quiet", "--no-edit", "main"]);
    scene.pushed(&scene.site.id("HEAD").to_string());
    scene.site.git(["update-ref", "refs/remotes/origin/main", "main~1"]);
    review(&scene, scene.site.root(), &["--fetch"]).ok();
    let comment = scene.forge.comment("default");
    assert!(comment.contains("8080") && !comment.contains("motd"), "{comment}");
}

#[test]
fn requests_are_fetched_beside_each_other() {
    let scene = Scene::new(Kind::GitHub);
    let first = scene.push(FIRST);
    scene.site.git(["push", "--quiet", "origin", "HEAD:refs/heads/release"]);
    let second = scene.push("-- data/common.yaml\nmotd: other\n");
    scene.site.git(["push", "--quiet", "origin", "HEAD:refs/pull/8/head", &format!("+{first}:refs/pull/7/head")]);
    let (folder, remote) = mirror(&scene);
    let overrides = Overrides { repo: Some(folder.clone()), ..Overrides::default() };
    let wanted = |number: u64, head: &str, base: &str| Wanted {
        head: Some(head.to_owned()),
        head_ref: Some(format!("refs/pull/{number}/head")),
        base_branch: Some(base.to_owned()),
        remote: remote.clone(),
        number: Some(number),
        is_fetched: true,
        ..Wanted::default()
    };
    let (seven, held) = sides(&overrides, &wanted(7, &first, "main")).unwrap();
    let (eight, held_too) = sides(&overrides, &wanted(8, &second, "release")).unwrap();
    assert_eq!(seven.before, Some(scene.site.id("main")));
    assert_eq!(eight.before.map(|commit| commit.to_string()), Some(first));
    let expected = ["7/base", "7/head", "8/base", "8/head"].map(|name| format!("refs/hierad/review/{name}"));
    assert_eq!(references(&folder, "refs/hierad"), expected);
    // No watch sees them.
    let branches = Repository::discover(&folder).unwrap().branches(&BranchPatterns::all()).unwrap();
    assert_eq!(branches.keys().map(ToString::to_string).collect::<Vec<_>>(), ["main"]);
    drop(held);
    assert_eq!(references(&folder, "refs/hierad"), expected[2..]);
    drop(held_too);
    assert_eq!(references(&folder, "refs/hierad"), [""; 0]);
}
