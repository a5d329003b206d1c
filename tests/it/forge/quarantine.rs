//! The objects that are fetched for a review: they go with it, whoever pushes to a request, and how often.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

use hierad::git::{CommitId, Repository};

use super::fetching::{mirror, references, review};
use super::hooked::Hooked;
use super::life::FIRST;
use super::scene::Scene;
use super::server::{Hold, Kind, TOKEN};
use crate::support::git_in;
use crate::support::random::Random;
use crate::support::terminal::hierad;

/// A file that no compression makes smaller.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..bytes).map(|_| random.below(256).to_le_bytes()[0]).collect()
}

/// Returns true if a repository itself has a commit.
fn has(folder: &Path, commit: &str) -> bool {
    Repository::discover(folder).unwrap().commit(CommitId::from_hex(commit).unwrap()).is_ok()
}

/// The objects of a repository, loose and in packs.
fn objects(folder: &Path) -> String {
    git_in(folder, ["count-objects", "-v"])
}

/// The quarantines of a mirror.
fn quarantines(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join("hierad/quarantine")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

/// A request, and a mirror of its repository.
fn mirrored() -> (Scene, PathBuf, String) {
    let scene = Scene::new(Kind::GitHub);
    scene.push(FIRST);
    let (folder, address) = mirror(&scene);
    (scene, folder, address)
}

#[test]
fn pushes_to_a_request_leave_nothing_in_the_mirror() {
    let (scene, folder, address) = mirrored();
    let before = objects(&folder);
    for push in 0..3 {
        fs::write(scene.site.root().join("noise"), noise(push, 300_000)).unwrap();
        let head = scene.push(&format!("-- data/roles/web.yaml\nport: 808{push}\n"));
        review(&scene, &folder, &["--fetch", "--remote", &address]).ok();
        assert!(scene.forge.comment("default").contains(&format!("808{push}")));
        assert!(!has(&folder, &head), "{}", objects(&folder));
    }
    assert_eq!((objects(&folder), quarantines(&folder)), (before, Vec::new()));
}

#[test]
fn a_checkout_keeps_nothing_and_none_of_its_references_moves() {
    let (scene, _, address) = mirrored();
    let checkout = scene.site.beside("checkout");
    scene.site.git(["clone", "--quiet", "--single-branch", "--branch", "main", &address, checkout.to_str().unwrap()]);
    scene.site.git(["checkout", "--quiet", "main"]);
    scene.site.files("-- data/common.yaml\nmotd: other\nntp: [a, b]\n");
    scene.site.commit("of main alone");
    scene.site.git(["push", "--quiet", "origin", "main"]);
    let before = (objects(&checkout), references(&checkout, "refs"));
    review(&scene, &checkout, &["--fetch"]).ok();
    assert!(scene.forge.comment("default").contains("8080"));
    assert_eq!((objects(&checkout), references(&checkout, "refs")), before);
    assert_ne!(git_in(&checkout, ["rev-parse", "origin/main"]), scene.site.id("main").to_string());
    assert_eq!(git_in(&checkout, ["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn a_review_that_fails_leaves_nothing() {
    let (scene, folder, address) = mirrored();
    scene.site.git(["checkout", "--quiet", "--orphan", "unrelated"]);
    let head = scene.push("-- data/roles/web.yaml\nport: 1\n");
    let before = objects(&folder);
    let failed = review(&scene, &folder, &["--fetch", "--remote", &address]);
    failed.fails(&["have no commit in common"]);
    assert_eq!((objects(&folder), has(&folder, &head), quarantines(&folder)), (before, false, Vec::new()));
}

#[test]
fn what_a_killed_review_has_fetched_goes_with_the_next_one() {
    let (scene, folder, address) = mirrored();
    let head = scene.push("-- data/roles/web.yaml\nport: 8081\n");
    let ((arrived, has_arrived), (go_on, may_go_on)) = (channel(), channel());
    scene.forge.state().hold = Some(Hold { operation: "issues/create-comment", arrived, go_on: may_go_on });
    let mut command = hierad(scene.site.root());
    command.args(["review", "--fetch", "--profiles", "profiles", "--remote", &address, "--repo"]).arg(&folder);
    command.args(["--forge", "github", "--project", "o/n", "--request", "7", "--id", "default", "--api"]);
    let command = command.arg(scene.forge.api()).env("GITHUB_TOKEN", TOKEN);
    let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    has_arrived.recv_timeout(Duration::from_mins(1)).unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    go_on.send(()).unwrap();
    assert_eq!((quarantines(&folder).len(), has(&folder, &head)), (1, false));
    review(&scene, &folder, &["--fetch", "--remote", &address]).ok();
    assert_eq!((quarantines(&folder), has(&folder, &head)), (Vec::new(), false));
}

#[test]
fn the_mirror_of_a_daemon_has_nothing_of_a_request() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    scene.site.git(["push", "--quiet", "--delete", "origin", "feature"]);
    let (api, origin) = (scene.forge.api(), scene.site.beside("origin.git"));
    let review = format!("{{repository: data, forge: github, project: o/n, api: '{api}', token_file: TOKEN}}");
    let data = format!("{{url: 'file://{}', fetch: 3600}}", origin.display());
    let hooked = Hooked::with(scene, &format!("repositories: {{data: {data}}}\nreviews: [{review}]\n"));
    let daemon = hooked.start();
    hooked.tell(&daemon);
    hooked.settle();
    assert!(hooked.scene.forge.comment("default").contains(&head));
    let mirror = hooked.scene.site.beside("state/mirrors/data.git");
    assert!(!has(&mirror, &head), "{}", objects(&mirror));
}

#[test]
fn a_request_without_end_is_not_fetched() {
    let (scene, folder, address) = mirrored();
    let files = |name: &str, content: &[u8]| fs::write(scene.site.root().join(name), content).unwrap();
    let large = |kind: &str| match kind {
        "one file" => files("noise", &noise(0, 3_000_000)),
        "many files" => (0..3000).for_each(|file| files(&format!("noise-{file}"), &noise(file, 2000))),
        _ => (0..20).for_each(|push| {
            files("noise", &noise(push, 200_000));
            scene.site.commit("one more");
        }),
    };
    for kind in ["one file", "many files", "many commits"] {
        scene.site.git(["checkout", "--quiet", "-B", "feature", "main"]);
        large(kind);
        let head = scene.push("-- data/roles/web.yaml\nport: 1\n");
        let quarantine = Repository::discover(&folder).unwrap().quarantine().unwrap();
        let fetched = quarantine.fetch(&address, &["refs/pull/7/head", "refs/heads/main"], 1 << 20);
        let error = fetched.unwrap_err().to_string();
        assert!(error.contains("it fetched more than 1 MiB"), "{kind}: {error}");
        drop(quarantine);
        assert_eq!((quarantines(&folder), has(&folder, &head)), (Vec::new(), false), "{kind}");
    }
    // What is not too large is there.
    let quarantine = Repository::discover(&folder).unwrap().quarantine().unwrap();
    let main = scene.site.id("main");
    assert_eq!(quarantine.fetch(&address, &["refs/heads/main", "main"], 1 << 20).unwrap(), [main, main]);
    let head = quarantine.fetch(&address, &["refs/pull/7/head"], 1 << 30).unwrap()[0];
    let inside = Repository::discover_with(&folder, Some(&quarantine.objects())).unwrap();
    assert_eq!(inside.commit(head).unwrap().summary, "a change");
    assert_eq!(inside.merge_base(head, main).unwrap(), Some(main));
}

#[test]
fn what_is_fetched_is_no_change_to_something_larger() {
    let (scene, folder, address) = mirrored();
    // More objects than git unpacks by itself, most of which are stored as changes to others.
    let line = |at: usize, push: usize| format!("k{at}: {}\n", at.abs_diff(push).min(1));
    let text = |push: usize| (0..3000).map(|at| line(at, push)).collect::<Vec<_>>().concat();
    for push in 0..60 {
        scene.site.files(&format!("-- data/roles/db.yaml\n{}", text(push)));
        scene.site.commit("one more");
    }
    let head = scene.push("-- data/roles/web.yaml\nport: 8081\n");
    scene.site.git(["gc", "--quiet"]);
    git_in(&scene.site.beside("origin.git"), ["repack", "-a", "-d", "--quiet"]);
    let packed = git_in(&scene.site.beside("origin.git"), ["verify-pack", "-s", "--", &pack(&scene)]);
    assert!(packed.contains("chain length"), "{packed}");
    let quarantine = Repository::discover(&folder).unwrap().quarantine().unwrap();
    let fetched = quarantine.fetch(&address, &["refs/pull/7/head"], 1 << 30).unwrap();
    assert_eq!(fetched[0].to_string(), head);
    let packs = fs::read_dir(quarantine.objects().join("pack")).into_iter().flatten().count();
    assert_eq!(packs, 0);
    let inside = Repository::discover_with(&folder, Some(&quarantine.objects())).unwrap();
    assert_eq!(inside.merge_base(fetched[0], scene.site.id("main")).unwrap(), Some(scene.site.id("main")));
    // Small objects count as what they take on disk.
    let error = quarantine.fetch(&address, &["refs/pull/7/head"], 200 << 10).unwrap_err().to_string();
    assert!(error.contains("it fetched more than"), "{error}");
}

/// The one pack of the repository of a request.
fn pack(scene: &Scene) -> String {
    let packs = fs::read_dir(scene.site.beside("origin.git/objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let is_pack = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "pack");
    let mut packs = packs.filter(is_pack);
    packs.next().unwrap().display().to_string()
}

#[test]
fn reviews_beside_each_other_keep_what_they_have() {
    let (scene, folder, address) = mirrored();
    let repository = Repository::discover(&folder).unwrap();
    let [one, two] = [(); 2].map(|()| repository.quarantine().unwrap());
    let head = one.fetch(&address, &["refs/pull/7/head"], 1 << 20).unwrap()[0];
    two.fetch(&address, &["refs/pull/7/head"], 1 << 20).unwrap();
    drop(two);
    drop(repository.quarantine().unwrap());
    let inside = Repository::discover_with(&folder, Some(&one.objects())).unwrap();
    assert_eq!(inside.commit(head).unwrap().id.to_string(), scene.forge.state().head);
    drop(one);
    assert_eq!(quarantines(&folder), Vec::<PathBuf>::new());
}
