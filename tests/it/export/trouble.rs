//! A failure leaves the reference where it was, and the export can be done again.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hierad::git::NewCommit;
use hierad::pipeline::export::ExportError;
use hierad::workers::{Counted, Stop, Workers};

use super::{NODES, REFERENCE, commits, event, exporter, exporter_with, sources};
use crate::support::Sandbox;
use crate::support::random::Random;
use crate::support::terminal::{SITE, hierad};

/// So many commits after the first one.
fn site(more: usize) -> Sandbox {
    let site = Sandbox::of(SITE);
    for port in 0..more {
        site.write("data/roles/web.yaml", format!("port: {port}\n"));
        site.commit(&format!("port {port}"));
    }
    site
}

fn tip(site: &Sandbox) -> Option<String> {
    let tip = site.git(["for-each-ref", "--format=%(objectname)", REFERENCE]);
    Some(tip).filter(|tip| !tip.is_empty())
}

/// The names of what is in a folder of the git directory.
fn names(site: &Sandbox, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(site.root().join(".git").join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn no_report_is_left(site: &Sandbox) {
    let odd: Vec<_> = names(site, "").into_iter().filter(|name| name.contains("crash")).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

fn commit(message: &str) -> NewCommit {
    let who = "a <b>".to_owned();
    NewCommit {
        author: who.clone(),
        time: hierad::git::CommitTime::default(),
        committer: who,
        committed: 0,
        message: message.into(),
    }
}

#[test]
fn unfinished_imports_write_nothing() {
    let site = site(0);
    let repository = site.open();
    let mut import = repository.import(REFERENCE, None).unwrap();
    import.commit(&commit("half")).unwrap();
    import.file("a.json", b"{}\n").unwrap();
    drop(import);
    assert_eq!(tip(&site), None);
    no_report_is_left(&site);
    let mut import = repository.import(REFERENCE, None).unwrap();
    import.commit(&commit("whole")).unwrap();
    let ids = import.finish().unwrap();
    assert_eq!(tip(&site), Some(ids[0].to_string()));
}

#[test]
fn the_second_writer_is_refused() {
    let site = site(2);
    let [zero, one, two] = ["HEAD~2", "HEAD~1", "HEAD"].map(|revision| site.id(revision));
    let mut first = exporter(&site, NODES);
    first.export(&event(None, zero), None).unwrap();
    let repository = site.open();
    let parent = repository.reference(REFERENCE).unwrap();
    let mut slow = repository.import(REFERENCE, parent).unwrap();
    slow.commit(&commit("slow")).unwrap();
    let mut other = exporter(&site, NODES);
    other.export(&event(Some(zero), one), None).unwrap();
    let error = slow.finish().unwrap_err().to_string();
    assert!(error.contains("`git fast-import` failed") && error.contains("pdating refs/hierad"), "{error}");
    no_report_is_left(&site);
    // An exporter that knows nothing of the other one looks anew.
    assert_eq!(first.export(&event(Some(zero), one), None).unwrap().commits, []);
    first.export(&event(Some(one), two), None).unwrap();
    assert_eq!(sources(&site, REFERENCE), commits(&site, "main"));
}

#[test]
fn concurrent_exports_make_one_history() {
    let site = site(12);
    let commits = commits(&site, "main");
    let write = || {
        let (mut exporter, mut before, mut refused) = (exporter(&site, NODES), None, 0);
        for commit in &commits {
            let event = event(before, site.id(commit));
            loop {
                match exporter.export(&event, None) {
                    Ok(_) => break,
                    Err(ExportError::Moved { .. } | ExportError::Import { .. }) if refused < 100 => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            before = Some(event.after);
        }
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(write);
        }
    });
    assert_eq!(sources(&site, REFERENCE), commits);
    no_report_is_left(&site);
}

#[test]
fn killed_exports_leave_whole_snapshots() {
    let (site, random) = (site(30), &mut Random::new(5));
    let all = commits(&site, "main");
    let mut whole = 0;
    for _ in 0..25 {
        let count = tip(&site).map_or(0, |_| sources(&site, REFERENCE).len());
        let next = all[count.min(all.len() - 1)].clone();
        let mut command = hierad(site.root());
        command.args(["export", &next]).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        thread::sleep(Duration::from_millis(5 + random.below(60) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        if tip(&site).is_some() {
            let sources = sources(&site, REFERENCE);
            assert_eq!(sources, all[..sources.len()]);
            whole = sources.len();
        }
    }
    if whole == 0 {
        site.hierad(&format!("export {}", all[0])).is(0);
    }
    site.hierad("export").is(0);
    assert_eq!(sources(&site, REFERENCE), all);
    assert_eq!(site.git(["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn unwritable_repositories_are_reported() {
    // A file stands where a folder has to be: that stops even root.
    for path in ["refs/hierad", "objects/pack"] {
        let site = site(0);
        let place = site.root().join(".git").join(path);
        _ = fs::remove_dir_all(&place);
        fs::write(&place, "").unwrap();
        let refused = site.hierad("export");
        refused.fails(&["cannot write snapshots to refs/hierad/snapshots/main: `git fast-import` failed in "]);
        no_report_is_left(&site);
        fs::remove_file(&place).unwrap();
        assert_eq!(tip(&site), None);
        site.hierad("export").is(0);
        assert_eq!(sources(&site, REFERENCE), commits(&site, "main"));
    }
}

#[test]
fn marks_of_killed_imports_are_harmless() {
    let site = site(0);
    site.hierad("export").is(0);
    site.git(["update-ref", "-d", REFERENCE]);
    let folder = site.root().join(".git/objects/pack");
    let packs: Vec<_> = names(&site, "objects/pack")
        .into_iter()
        .filter_map(|name| Some(name.strip_suffix(".pack")?.to_owned()))
        .collect();
    assert!(!packs.is_empty(), "snapshots are written as a pack");
    for pack in &packs {
        for part in ["pack", "idx", "rev"] {
            _ = fs::remove_file(folder.join(format!("{pack}.{part}")));
        }
        fs::write(folder.join(format!("{pack}.keep")), "fast-import").unwrap();
    }
    fs::write(folder.join("pack-of-the-user.keep"), "mine").unwrap();
    site.hierad("export").fails(&["cannot create keep file"]);
    site.hierad("export").is(0);
    assert_eq!(sources(&site, REFERENCE), commits(&site, "main"));
    let kept: Vec<_> = names(&site, "objects/pack").into_iter().filter(|name| name.contains("keep")).collect();
    assert_eq!(kept, ["pack-of-the-user.keep"]);
}

#[test]
fn stale_locks_are_reported() {
    let site = site(1);
    site.hierad("export HEAD~1").is(0);
    let lock = site.root().join(".git/refs/hierad/snapshots/main.lock");
    fs::write(&lock, "").unwrap();
    site.hierad("export").fails(&["main.lock': File exists"]);
    fs::remove_file(lock).unwrap();
    site.hierad("export").is(0);
    assert_eq!(sources(&site, REFERENCE), commits(&site, "main"));
}

#[test]
fn foreign_commits_are_not_built_on() {
    let site = site(0);
    site.git(["update-ref", REFERENCE, "HEAD"]);
    site.hierad("export").fails(&["has no trailer 'Hierad-Commit', so hierad did not write it"]);
    assert_eq!(tip(&site), Some(site.id("HEAD").to_string()));
}

#[test]
fn without_git_nothing_is_written() {
    let site = site(0);
    let mut command = hierad(site.root());
    site.masked(command.arg("export").env("PATH", "/nowhere")).fails(&["the `git` command, which is not installed"]);
}

/// A limit that is reached.
struct Reached(AtomicBool);

impl Stop for Reached {
    fn reason(&self) -> Option<Arc<str>> {
        self.0.load(Ordering::Relaxed).then(|| "a limit is reached".into())
    }
}

#[test]
fn snapshots_have_no_traces_of_a_limit() {
    let (site, reached) = (site(0), Arc::new(Reached(AtomicBool::new(true))));
    let workers = Workers { stop: Arc::new(Counted::new(reached.clone())), ..Workers::of(2) };
    let mut limited = exporter_with(&site, NODES, workers);
    let event = event(None, site.id("HEAD"));
    let error = limited.export(&event, None).unwrap_err();
    assert!(matches!(error, ExportError::Stopped { .. }), "{error}");
    assert_eq!(tip(&site), None);
    reached.0.store(false, Ordering::Relaxed);
    limited.export(&event, None).unwrap();
    assert!(!site.git(["show", &format!("{REFERENCE}:web01.json")]).contains("limit"));
}
