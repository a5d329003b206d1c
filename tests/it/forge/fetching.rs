//! Commits that are fetched for a review: into a mirror, and several requests beside each other.

use std::fs;
use std::path::Path;

use hierad::app::Overrides;
use hierad::app::review::{RequestCommits, find_sides};

use super::life::FIRST;
use super::scene::Scene;
use super::server::{Kind, TOKEN};
use crate::support::git_in;
use crate::support::terminal::{Printed, hierad, run};

/// A bare clone of `main` alone, as a daemon keeps it, and the address of the repository that it is of.
pub(super) fn mirror(scene: &Scene) -> (std::path::PathBuf, String) {
    let (origin, folder) = (scene.site.beside("origin.git"), scene.site.beside("mirror.git"));
    let address = format!("file://{}", origin.display());
    let path = folder.to_str().unwrap();
    scene.site.git(["clone", "--quiet", "--bare", "--single-branch", "--branch", "main", &address, path]);
    (folder, address)
}

pub(super) fn references(folder: &Path, prefix: &str) -> Vec<String> {
    git_in(folder, ["for-each-ref", "--format=%(refname)", prefix]).lines().map(str::to_owned).collect()
}

pub(super) fn review(scene: &Scene, folder: &Path, arguments: &[&str]) -> Printed {
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

/// A mirror whose remote has the requests 7, from `main`, and 8, from the commit of 7: their last commits.
struct Two {
    scene: Scene,
    folder: std::path::PathBuf,
    remote: String,
    first: String,
    second: String,
}

impl Two {
    fn new() -> Two {
        let scene = Scene::new(Kind::GitHub);
        let first = scene.push(FIRST);
        scene.site.git(["push", "--quiet", "origin", "HEAD:refs/heads/release"]);
        let second = scene.push("-- data/common.yaml\nmotd: other\n");
        scene.site.git(["push", "--quiet", "origin", "HEAD:refs/pull/8/head", &format!("+{first}:refs/pull/7/head")]);
        let (folder, remote) = mirror(&scene);
        Two { scene, folder, remote, first, second }
    }

    fn overrides(&self) -> Overrides {
        Overrides { repo: Some(self.folder.clone()), ..Overrides::default() }
    }

    fn wanted(&self, number: u64) -> RequestCommits {
        let (head, base) = if number == 7 { (&self.first, "main") } else { (&self.second, "release") };
        RequestCommits {
            head: Some(head.clone()),
            head_ref: Some(format!("refs/pull/{number}/head")),
            base_branch: Some(base.to_owned()),
            remote: self.remote.clone(),
            number: Some(number),
            must_fetch: true,
            ..RequestCommits::default()
        }
    }
}

#[test]
fn requests_are_fetched_at_once() {
    let two = Two::new();
    let bases = [two.scene.site.id("main").to_string(), two.first.clone()];
    std::thread::scope(|scope| {
        for number in [7, 8] {
            let (two, base) = (&two, &bases[usize::from(number == 8)]);
            scope.spawn(move || {
                for _ in 0..8 {
                    let (found, _held) = find_sides(&two.overrides(), &two.wanted(number)).unwrap();
                    assert_eq!(found.before.map(|commit| commit.to_string()).as_ref(), Some(base));
                }
            });
        }
    });
    assert_eq!(references(&two.folder, "refs/hierad"), [""; 0]);
}

#[test]
fn runs_for_one_request_do_not_take_from_each_other() {
    let two = Two::new();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..5 {
                    find_sides(&two.overrides(), &two.wanted(7)).unwrap();
                }
            });
        }
    });
    assert_eq!(references(&two.folder, "refs/hierad"), [""; 0]);
}

#[test]
fn requests_are_fetched_beside_each_other() {
    let two = Two::new();
    let Two { scene, folder, first, .. } = &two;
    let (seven, held) = find_sides(&two.overrides(), &two.wanted(7)).unwrap();
    let (eight, held_too) = find_sides(&two.overrides(), &two.wanted(8)).unwrap();
    assert_eq!(seven.before, Some(scene.site.id("main")));
    assert_eq!(eight.before.map(|commit| commit.to_string()), Some(first.clone()));
    // Each run has a place of its own, and no watch sees it.
    let places = || fs::read_dir(folder.join("hierad/quarantine")).unwrap().count() - 1;
    assert_eq!((places(), references(folder, "refs")), (2, vec!["refs/heads/main".to_owned()]));
    drop(held);
    assert_eq!(places(), 1);
    drop(held_too);
    assert_eq!(places(), 0);
}

#[test]
fn what_a_killed_run_has_fetched_is_removed() {
    let two = Two::new();
    let main = two.scene.site.id("main").to_string();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let names = ["7/head".to_owned(), "8/1000.5.0/head".to_owned(), format!("8/{now}.5.0/base")];
    let names = names.map(|name| format!("refs/hierad/review/{name}"));
    for name in &names {
        git_in(&two.folder, ["update-ref", name, &main]);
    }
    drop(find_sides(&two.overrides(), &two.wanted(7)).unwrap());
    assert_eq!(references(&two.folder, "refs/hierad"), names[2..]);
}
