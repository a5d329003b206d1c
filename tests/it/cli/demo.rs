//! `hierad demo`: all its steps, wherever it is run.

use crate::http::client::Daemon;
use crate::support::terminal::{hierad, run};

#[test]
fn the_demo_shows_seven_commits() {
    let folder = tempfile::tempdir().unwrap();
    // A GIT_DIR of where it is run, as in a hook, is none of its business.
    let printed = run(hierad(folder.path()).arg("demo").env("GIT_DIR", folder.path().join("nowhere")));
    let commits = printed.ok().lines().filter(|line| line.starts_with("$ git commit")).count();
    assert_eq!(commits, 7, "{printed:#?}");
    let verdicts = printed.out.matches(" of 5 nodes").count() + printed.out.matches("all 5 nodes").count();
    assert!(verdicts >= 7, "{printed:#?}");
    assert!(printed.out.contains("That was all"), "{printed:#?}");
    assert_eq!(printed.err, "");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn the_demo_can_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    run(hierad(folder.path()).args(["demo", "--keep", "kept"])).ok();
    run(hierad(folder.path()).args(["demo", "--keep", "kept"])).is(1).says(&["kept exists already"]);
    let mut diff = hierad(&kept);
    run(diff.args(["-C", "data", "--profiles", "profiles", "diff", "HEAD~3", "--exit-code"])).is(2);
}

#[test]
fn the_demo_ends_with_the_page_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let page = Daemon::demo(folder.path());
    for view in ["/", "/nodes/web01.example.com", "/commits", "/check"] {
        assert_eq!(page.get(view).status, 200, "{view}");
    }
}
