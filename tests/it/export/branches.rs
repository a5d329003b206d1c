//! The commits of a branch as they are exported: their order, messages, authors and files.

use std::fs;

use super::{NODES, REFERENCE, changed, commits, event, exporter, files, sources};
use crate::support::Sandbox;
use crate::support::terminal::{SITE, hierad, run};

/// Three commits after the first one; the last of them changes nothing for any node.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write("data/roles/web.yaml", "port: 8080\n");
    site.commit("web: another port\n\nFor reasons.");
    site.write("data/common.yaml", "motd: bye\nntp: [a, b]\n");
    site.commit("bye");
    site.write("README", "nothing\n");
    site.commit("docs");
    site
}

#[test]
fn each_commit_has_its_snapshots() {
    let site = site();
    let told = site.hierad("export HEAD~3").err;
    assert_eq!(told, format!("1 commit on {REFERENCE}: 2 files written, 0 removed\n"));
    let told = site.hierad("export").err;
    assert_eq!(told, format!("3 commits on {REFERENCE}: 3 files written, 0 removed\n"));
    assert_eq!(sources(&site, REFERENCE), commits(&site, "main"));
    assert_eq!(changed(&site, &format!("{REFERENCE}~3")), ["db01.json", "web01.json"]);
    assert_eq!(changed(&site, &format!("{REFERENCE}~2")), ["web01.json"]);
    assert_eq!(changed(&site, &format!("{REFERENCE}~1")), ["db01.json", "web01.json"]);
    assert_eq!(changed(&site, REFERENCE), [""; 0]);
    let expected = format!(
        "Ada <ada@example.com> 2023-11-14T23:13:20+01:00\nhierad <hierad@localhost> 2023-11-14T22:13:20Z\n\
         web: another port\n\nHierad-Commit: {}\nHierad-Branch: main",
        site.id("main~2")
    );
    let format = "--format=%an <%ae> %aI%n%cn <%ce> %cI%n%B";
    assert_eq!(site.git(["log", "-1", format, &format!("{REFERENCE}~2")]), expected);
    let blame = site.git(["blame", "-s", "--abbrev=7", REFERENCE, "--", "web01.json"]);
    let line = blame.lines().find(|line| line.contains("8080")).unwrap();
    assert!(line.starts_with(&site.git(["rev-parse", "--short=8", &format!("{REFERENCE}~2")])), "{blame}");
    assert_eq!(site.git(["fsck", "--strict"]), "");
}

#[test]
fn existing_snapshots_stay() {
    let site = site();
    site.hierad("export HEAD~3..").is(0);
    let tip = site.git(["rev-parse", REFERENCE]);
    for again in ["", "HEAD", "HEAD~1", "HEAD~3", "HEAD~2..HEAD"] {
        let told = site.hierad(&format!("export {again}"));
        assert_eq!(told.is(0).err, format!("{REFERENCE} has these snapshots already\n"), "{again}");
    }
    assert_eq!(site.git(["rev-parse", REFERENCE]), tip);
    assert_eq!(sources(&site, REFERENCE), commits(&site, "main")[1..]);
}

#[test]
fn the_first_snapshot_is_of_the_tip() {
    let site = site();
    site.hierad("export").is(0);
    assert_eq!(sources(&site, REFERENCE), [site.id("main").to_string()]);
}

#[test]
fn exports_are_reproducible() {
    let (one, other) = (site(), site());
    one.hierad("export HEAD~3").is(0);
    one.hierad("export").is(0);
    other.git(["config", "user.name", "Bob"]);
    other.git(["config", "fastimport.unpackLimit", "1"]);
    other.git(["config", "i18n.commitEncoding", "ISO-8859-1"]);
    for back in (0..4).rev() {
        let mut command = hierad(other.root());
        command.args(["export", &format!("HEAD~{back}"), "--threads", "3"]).env("GIT_COMMITTER_NAME", "Bob");
        run(command.env("GIT_COMMITTER_DATE", "1800000000 +0000").env("GIT_AUTHOR_NAME", "Bob")).is(0);
    }
    assert_eq!(one.git(["rev-parse", REFERENCE]), other.git(["rev-parse", REFERENCE]));
}

#[test]
fn exporters_can_go_on() {
    let (one, other) = (site(), site());
    let mut exporter_of_all = exporter(&one, NODES);
    let mut before = None;
    for commit in commits(&one, "main") {
        let event = event(before, one.id(&commit));
        let exported = exporter_of_all.export(&event, None).unwrap();
        assert_eq!(exported.commits.len(), 1);
        assert_eq!(exporter_of_all.export(&event, None).unwrap().commits, []);
        let exported_anew = exporter(&other, NODES).export(&event, None).unwrap();
        assert_eq!(exported_anew, exported);
        before = Some(event.after);
    }
    assert_eq!(sources(&one, REFERENCE), commits(&one, "main"));
}

#[test]
fn a_rewritten_branch_goes_on() {
    let site = site();
    site.hierad("export HEAD~2..").is(0);
    let [left, old] = [site.id("main").to_string(), site.git(["rev-parse", REFERENCE])];
    site.git(["reset", "--quiet", "--hard", "HEAD~2"]);
    site.write("data/roles/web.yaml", "port: 81\n");
    site.commit("another history");
    site.write("data/roles/db.yaml", "port: 1\n");
    site.commit("and more");
    site.hierad("export").is(0);
    assert_eq!(site.git(["rev-parse", &format!("{REFERENCE}~2")]), old);
    assert_eq!(sources(&site, REFERENCE)[2..], commits(&site, "main")[2..]);
    let [first, second] = ["~1", ""].map(|back| site.git(["log", "-1", "--format=%b", &format!("{REFERENCE}{back}")]));
    assert!(
        first.starts_with(&format!("The branch was rewritten: the snapshots before these are of\n{left},\n")),
        "{first}"
    );
    assert!(second.starts_with("Hierad-Commit: "), "{second}");
    // Set back to where it was before, while what it has left is collected.
    let gone = site.id("main");
    site.git(["reset", "--quiet", "--hard", "HEAD~2"]);
    site.git(["reflog", "expire", "--expire=now", "--all"]);
    site.git(["gc", "--quiet", "--prune=now"]);
    assert!(site.open().commit(gone).is_err());
    site.hierad("export").is(0);
    assert_eq!(sources(&site, REFERENCE).len(), 5);
    assert_eq!(sources(&site, REFERENCE)[4], site.id("main").to_string());
    assert!(site.git(["log", "-1", "--format=%b", REFERENCE]).contains(&gone.to_string()));
    assert_eq!(site.hierad("export").err, format!("{REFERENCE} has these snapshots already\n"));
}

#[test]
fn each_move_of_a_branch_is_exported() {
    let site = site();
    let mut exporter = exporter(&site, NODES);
    let [old, new] = [site.id("HEAD~1"), site.id("HEAD~3")];
    for (before, after) in [(None, old), (Some(old), new), (Some(new), old), (Some(old), new)] {
        exporter.export(&event(before, after), None).unwrap();
    }
    let expected = [old, new, old, new].map(|id| id.to_string());
    assert_eq!(sources(&site, REFERENCE), expected);
    // Late news of an earlier move is none.
    assert_eq!(exporter.export(&event(site.id("HEAD~2").into(), new), None).unwrap().commits, []);
}

#[test]
fn a_merge_is_one_commit() {
    let site = Sandbox::of(SITE);
    site.hierad("export").is(0);
    site.git(["checkout", "--quiet", "-b", "side"]);
    site.write("data/roles/web.yaml", "port: 81\n");
    site.commit("one");
    site.write("data/roles/web.yaml", "port: 82\n");
    site.commit("two");
    site.git(["checkout", "--quiet", "main"]);
    site.write("data/roles/db.yaml", "port: 1\n");
    site.commit("db");
    site.git(["merge", "--quiet", "--no-edit", "side"]);
    site.hierad("export").is(0);
    assert_eq!(sources(&site, REFERENCE), commits(&site, "main"));
    assert_eq!(commits(&site, "main").len(), 3);
    assert_eq!(changed(&site, REFERENCE), ["web01.json"]);
    site.hierad("export --branch side").is(0);
    assert_eq!(sources(&site, "refs/hierad/snapshots/side"), [site.id("side").to_string()]);
}

#[test]
fn nodes_come_and_go() {
    let site = Sandbox::of(SITE);
    site.hierad("export").is(0);
    fs::remove_file(site.root().join("profiles/db01.yaml")).unwrap();
    for (number, name) in ["a/b", "manifest", "web 02", "åse", "..", "%41"].into_iter().enumerate() {
        site.write(&format!("profiles/{number}.yaml"), format!("name: \"{name}\"\n"));
    }
    site.commit("others");
    let told = site.hierad("export");
    assert_eq!(told.is(0).err, format!("1 commit on {REFERENCE}: 6 files written, 1 removed\n"));
    let out = site.beside("out");
    site.hierad(&format!("export --output {}", out.display())).is(0);
    let mut names: Vec<String> =
        fs::read_dir(out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "manifest.json");
    names.sort();
    assert_eq!(files(&site, REFERENCE).into_keys().collect::<Vec<_>>(), names);
    assert_eq!(names.len(), 7);
    assert_eq!(site.git(["fsck", "--strict"]), "");
}

#[test]
fn just_some_nodes() {
    let site = site();
    site.hierad("export --node web*").is(0);
    assert_eq!(files(&site, REFERENCE).into_keys().collect::<Vec<_>>(), ["web01.json"]);
}

#[test]
fn odd_commits_are_exported() {
    let site = Sandbox::of(SITE);
    for (author, message) in [
        ("author A <U> Thor <<a@example.com>> 1700000000 +0100", "Hierad-Commit: 5a5a\n"),
        ("author  <> 99 -0330", ""),
        ("author nobody", "M 100644 inline x\ndata 1\n\ndone\n"),
        ("author \u{1b} <a@b> -7 +9999", "caf\u{e9}\n"),
    ] {
        let tree = site.git(["rev-parse", "HEAD^{tree}"]);
        let parent = site.id("HEAD");
        let text = format!("tree {tree}\nparent {parent}\n{author}\ncommitter C <c@d> 5 +0000\n\n{message}");
        fs::write(site.beside("commit"), text).unwrap();
        let path = site.beside("commit");
        let id = site.git(["hash-object", "-t", "commit", "-w", "--literally", path.to_str().unwrap()]);
        site.git(["update-ref", "refs/heads/main", &id]);
        site.hierad("export").is(0);
        let last = site.git(["log", "-1", "--format=%(trailers:key=Hierad-Commit,valueonly,separator=)", REFERENCE]);
        assert_eq!(last, id, "{author}");
    }
    let subjects = site.git(["log", "--format=%s", REFERENCE]);
    assert_eq!(subjects, "café\nM 100644 inline x data 1\n(no message)\nHierad-Commit: 5a5a");
    assert_eq!(
        site.git(["log", "-1", "--format=%an <%ae> %aI", &format!("{REFERENCE}~3")]),
        "A U Thor <a@example.com> 2023-11-14T23:13:20+01:00"
    );
    assert_eq!(site.git(["log", "--oneline", REFERENCE]).lines().count(), 4);
    assert_eq!(files(&site, REFERENCE).len(), 2);
}
