//! `hierad demo`: all its steps, wherever it is run.

use std::path::Path;
use std::process::Command;

use crate::support::terminal::{hierad, run};

#[test]
fn it_shows_seven_commits_and_ends() {
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
fn it_can_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    run(hierad(folder.path()).args(["demo", "--keep", "kept"])).ok();
    run(hierad(folder.path()).args(["demo", "--keep", "kept"])).is(1).says(&["kept exists already"]);
    let mut diff = hierad(&kept);
    run(diff.args(["-C", "data", "--profiles", "profiles", "diff", "HEAD~3", "--exit-code"])).is(2);
}

#[test]
fn its_history_is_as_the_readme_has_it() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, section) = readme.split_once("\n### The history of effective values\n").unwrap();
    let (_, session) = section.split_once("```console\n").unwrap();
    let (session, _) = session.split_once("```").unwrap();
    let (commands, printed): (Vec<&str>, Vec<&str>) =
        session.lines().filter(|line| !line.is_empty()).partition(|line| line.starts_with("$ "));
    let commands = commands.join("\n").replace("$ ", "");
    let folder = tempfile::tempdir().unwrap();
    let hierad = hierad(folder.path());
    let programs = Path::new(hierad.get_program()).parent().unwrap().display().to_string();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1; PATH={programs}:$PATH; {commands}")]).current_dir(folder.path());
    shell.env_clear().envs(hierad.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert_eq!(run(&mut shell).ok().lines().collect::<Vec<_>>(), printed);
}
