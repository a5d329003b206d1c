//! Commits of others in the place of snapshots, at the remote that these are pushed to.

use std::fs;
use std::process::Child;

use tempfile::TempDir;

use super::service::SITE;
use super::several::Several;
use crate::support::{Sandbox, git_in, terminal};

const SNAPSHOTS: &str = "refs/hierad/snapshots/main";

/// A daemon with a mirror of a repository, which pushes snapshots to a remote, and somebody who can push there.
struct Shared {
    there: Sandbox,
    remote: TempDir,
    several: Several,
    daemon: Option<Child>,
}

impl Shared {
    /// One that has begun nothing yet.
    fn new() -> Shared {
        let (there, remote) = (Sandbox::of(SITE), tempfile::tempdir().unwrap());
        git_in(remote.path(), ["init", "--quiet", "--bare"]);
        let several = Several::of(&[]);
        let push = format!("snapshots: {{history: {{ref: true, push: 'file://{}'}}}}", remote.path().display());
        several.watch_with(&push, &[format!("m: {{url: 'file://{}', fetch: 0.2}}", there.root().display())]);
        Shared { there, remote, several, daemon: None }
    }

    /// One that has pushed the snapshots of a commit `a`.
    fn started() -> Shared {
        let mut shared = Shared::new();
        shared.start();
        shared.change("a");
        shared.several.wait("the first snapshot", || shared.subject() == "a");
        shared.several.wait("an empty queue", || shared.several.queue() == "nothing is waiting\n");
        shared
    }

    fn start(&mut self) {
        let watching = self.several.count("hierad: watching");
        self.daemon = Some(self.several.start());
        self.several.wait("the watch", || self.several.count("hierad: watching") > watching);
    }

    fn stop(&mut self) {
        self.several.end(self.daemon.take().unwrap());
    }

    /// The daemon begins anew, and knows nothing of what it has pushed.
    fn forget(&mut self) {
        self.stop();
        fs::remove_dir_all(self.several.path("state/mirrors")).unwrap();
    }

    /// Changes the data of all nodes.
    fn change(&self, value: &str) {
        self.there.write("data/common.yaml", format!("number: {value}\n"));
        self.there.commit(value);
    }

    fn remote(&self, command: &str) -> String {
        git_in(self.remote.path(), ["log", "-1", command, SNAPSHOTS])
    }

    /// The subject of the last snapshot; empty if there is none.
    fn subject(&self) -> String {
        git_in(self.remote.path(), ["for-each-ref", "--format=%(contents:subject)", SNAPSHOTS])
    }

    /// Makes a commit with a wrong snapshot, and has the reference lead to it.
    fn forge(&self, parent: Option<&str>, message: &str) -> String {
        let remote = self.remote.path();
        let file = self.there.beside("forged");
        fs::write(&file, "{\"values\": {\"number\": \"FORGED\"}}\n").unwrap();
        let blob = git_in(remote, ["hash-object", "-w", file.to_str().unwrap()]);
        let index = self.there.beside("index");
        _ = fs::remove_file(&index);
        let with_index = |arguments: &[&str]| {
            let output = std::process::Command::new("git")
                .current_dir(remote)
                .env("GIT_INDEX_FILE", &index)
                .args(["-c", "user.name=M", "-c", "user.email=m@example.com"])
                .args(arguments)
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        for name in ["a.json", "other.json"] {
            with_index(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{name}")]);
        }
        let tree = with_index(&["write-tree"]);
        let parent: Vec<&str> = parent.iter().flat_map(|parent| ["-p", parent]).collect();
        let commit = with_index(&[&["commit-tree", &tree, "-m", message], &parent[..]].concat());
        git_in(remote, ["update-ref", SNAPSHOTS, &commit]);
        commit
    }

    /// Checks that the snapshots of `subject` get there, with nothing forged. What was there is kept and told, if it
    /// is not among what they go on from.
    #[track_caller]
    fn go_on(mut self, subject: &str, foreign: Option<&str>) {
        self.several.wait("its snapshot", || self.subject() == subject && !self.is_forged());
        self.several.wait("an empty queue", || self.several.queue() == "nothing is waiting\n");
        if let Some(foreign) = foreign {
            let kept = format!("refs/hierad/foreign/main/{foreign}");
            let log = self.several.log();
            let told = log.lines().find(|line| line.contains("it is set back") && line.contains(foreign));
            assert!(told.is_some_and(|line| line.contains(&kept)), "{log}");
            assert_eq!(git_in(self.remote.path(), ["rev-parse", &kept]), foreign);
        }
        assert_eq!(git_in(self.remote.path(), ["fsck", "--strict", "--no-dangling"]), "");
        self.stop();
    }

    fn is_forged(&self) -> bool {
        let names = git_in(self.remote.path(), ["ls-tree", "--name-only", SNAPSHOTS]);
        names != "a.json\nb.json\nc.json"
            || git_in(self.remote.path(), ["show", &format!("{SNAPSHOTS}:a.json")]).contains("FORGED")
    }

    fn tip(&self) -> String {
        git_in(self.remote.path(), ["rev-parse", SNAPSHOTS])
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            _ = daemon.kill();
            _ = daemon.wait();
        }
    }
}

/// A message as hierad writes it.
fn trailers(subject: &str, source: &str) -> String {
    format!("{subject}\n\nHierad-Commit: {source}\nHierad-Branch: main")
}

#[test]
fn a_commit_on_top_makes_way() {
    let shared = Shared::started();
    let forged = shared.forge(Some(&shared.tip()), "mine");
    shared.change("b");
    shared.go_on("b", Some(&forged));
}

#[test]
fn another_history_makes_way() {
    let shared = Shared::started();
    let forged = shared.forge(None, "mine");
    shared.change("b");
    shared.go_on("b", Some(&forged));
}

#[test]
fn another_history_with_trailers_makes_way() {
    let shared = Shared::started();
    let forged = shared.forge(None, &trailers("a", &shared.there.git(["rev-parse", "main"])));
    shared.change("b");
    let log = |shared: &Shared| git_in(shared.remote.path(), ["log", "--format=%s", SNAPSHOTS]);
    shared.several.wait("the next snapshot", || log(&shared) == "b\na");
    let first = git_in(shared.remote.path(), ["show", &format!("{SNAPSHOTS}~1:a.json")]);
    assert!(!first.contains("FORGED"), "{first}");
    shared.go_on("b", Some(&forged));
}

#[test]
fn snapshots_of_the_next_commit_by_another_make_way() {
    let shared = Shared::started();
    shared.there.git(["switch", "--quiet", "--detach"]);
    shared.change("b");
    let forged = shared.forge(Some(&shared.tip()), &trailers("b", &shared.there.git(["rev-parse", "HEAD"])));
    shared.there.git(["branch", "--quiet", "--force", "main", "HEAD"]);
    shared.go_on("b", Some(&forged));
}

#[test]
fn snapshots_of_a_commit_that_the_branch_has_not_make_way() {
    let shared = Shared::started();
    shared.there.git(["switch", "--quiet", "--create", "side"]);
    shared.change("b");
    shared.change("c");
    let forged = shared.forge(Some(&shared.tip()), &trailers("c", &shared.there.git(["rev-parse", "side"])));
    shared.there.git(["branch", "--quiet", "--force", "main", "side~1"]);
    shared.go_on("b", Some(&forged));
}

#[test]
fn what_is_no_commit_makes_way() {
    let shared = Shared::started();
    let file = shared.there.beside("blob");
    fs::write(&file, "mine").unwrap();
    let blob = git_in(shared.remote.path(), ["hash-object", "-w", file.to_str().unwrap()]);
    fs::write(shared.remote.path().join(SNAPSHOTS), format!("{blob}\n")).unwrap();
    shared.change("b");
    shared.go_on("b", Some(&blob));
}

#[test]
fn a_new_mirror_goes_on_below_a_foreign_commit() {
    let mut shared = Shared::started();
    let own = shared.tip();
    shared.forget();
    let forged = shared.forge(Some(&own), "mine");
    shared.change("b");
    shared.start();
    shared.several.wait("the next snapshot", || shared.subject() == "b");
    assert_eq!(git_in(shared.remote.path(), ["rev-parse", &format!("{SNAPSHOTS}~1")]), own);
    shared.go_on("b", Some(&forged));
}

#[test]
fn a_new_mirror_writes_wrong_snapshots_anew() {
    let mut shared = Shared::started();
    shared.forget();
    shared.change("b");
    let source = shared.there.git(["rev-parse", "main"]);
    let forged = shared.forge(Some(&shared.tip()), &trailers("b", &source));
    shared.start();
    shared.several.wait("right snapshots", || !shared.is_forged());
    assert_eq!(git_in(shared.remote.path(), ["rev-parse", &format!("{SNAPSHOTS}~1")]), forged);
    let message = shared.remote("--format=%B");
    assert!(message.contains("are not what hierad writes") && message.contains(&source), "{message}");
    assert_eq!(shared.several.count("the snapshots of this commit were wrong"), 1);
    shared.go_on("b", None);
}

#[test]
fn what_was_there_before_the_first_snapshot_makes_way() {
    let mut shared = Shared::new();
    shared.start();
    let forged = shared.forge(None, "mine");
    shared.change("a");
    shared.go_on("a", Some(&forged));
}

#[test]
fn a_reference_that_leaves_no_place_makes_way() {
    for (name, is_kept) in [("refs/hierad/snapshots", true), ("refs/hierad", false)] {
        let mut shared = Shared::new();
        shared.start();
        let forged = shared.forge(None, "mine");
        git_in(shared.remote.path(), ["update-ref", "-d", SNAPSHOTS]);
        for folder in ["refs/hierad/snapshots", "refs/hierad"] {
            _ = fs::remove_dir(shared.remote.path().join(folder));
        }
        git_in(shared.remote.path(), ["update-ref", name, &forged]);
        shared.change("a");
        if is_kept {
            shared.go_on("a", Some(&forged));
        } else {
            shared.several.wait("a word", || shared.several.log().contains("what it was is not kept"));
            shared.go_on("a", None);
        }
    }
}

#[test]
fn a_command_goes_on_beside_a_foreign_commit() {
    let (shared, site) = (Shared::new(), Sandbox::of(terminal::SITE));
    let export = format!("export --push {}", shared.remote.path().display());
    site.hierad(&export).is(0);
    let forged = shared.forge(Some(&shared.tip()), "mine");
    site.commit("b");
    let told = site.hierad(&export);
    assert!(told.is(0).err.contains(&format!("refs/hierad/foreign/main/{forged}")), "{told:?}");
    assert_eq!(shared.subject(), "b");
}

#[test]
fn two_daemons_do_not_take_each_other_for_strangers() {
    let mut one = Shared::started();
    let other = Several::of(&[]);
    let push = format!("snapshots: {{history: {{ref: true, push: 'file://{}'}}}}", one.remote.path().display());
    other.watch_with(&push, &[format!("m: {{url: 'file://{}', fetch: 0.5}}", one.there.root().display())]);
    let daemon = other.start();
    other.wait("the watch", || other.count("hierad: watching") == 1);
    for value in ["b", "c", "d"] {
        one.change(value);
        one.several.wait("its snapshot", || one.subject() == value);
        for several in [&one.several, &other] {
            several.wait("an end", || several.queue() == "nothing is waiting\n" && several.log().contains(value));
        }
    }
    let idle = |several: &Several| several.reports().len() >= 3 && several.queue() == "nothing is waiting\n";
    other.wait("the end of both", || idle(&one.several) && idle(&other));
    assert_eq!(git_in(one.remote.path(), ["log", "--format=%s", SNAPSHOTS]), "d\nc\nb\na");
    assert_eq!(git_in(one.remote.path(), ["for-each-ref", "refs/hierad/foreign"]), "");
    other.end(daemon);
    one.stop();
}
