//! Names of references: what others push changes neither what is compared nor what is trusted.

use std::process::Command;

use hierad::git::{CommitId, Mirror, Repository, RevisionError};

use crate::support::{Sandbox, git_in};

/// A clone with the branches `main` and `production`, whose tags all lead to their first commit. Returns the tips of
/// `main`, of `production`, and that commit.
fn clone(arguments: &[&str]) -> (Sandbox, [CommitId; 3]) {
    let server = Sandbox::new();
    let first = server.commit("first");
    let main = server.commit("main");
    server.git(["switch", "--quiet", "--create", "production"]);
    let production = server.commit("production");
    server.git(["switch", "--quiet", "main"]);
    for tag in ["v1", "main", "production", "origin/production", "heads/main", "refs/remotes/origin/HEAD"] {
        server.git(["update-ref", &format!("refs/tags/{tag}"), &first.to_string()]);
    }
    server.git(["tag", "--annotate", "heavy", "--message", "a tag", &first.to_string()]);
    let sandbox = Sandbox::with(arguments);
    sandbox.git(["remote", "add", "origin", server.root().to_str().unwrap()]);
    sandbox.git(["fetch", "--quiet", "--tags", "origin"]);
    sandbox.git(["update-ref", "refs/heads/main", &main.to_string()]);
    (sandbox, [main, production, first])
}

#[test]
fn branches_come_before_tags_and_full_names_are_not_completed() {
    for arguments in [&[][..], &["--ref-format=reftable"]] {
        let (sandbox, [main, production, first]) = clone(arguments);
        let repository = sandbox.open();
        let main_before = repository.first_parent(main).unwrap().unwrap();
        for (revision, expected) in [
            ("main", main),
            ("main^{commit}", main),
            ("main~1", main_before),
            ("heads/main", main),
            ("origin/production", production),
            ("origin/production~1", main),
            ("refs/tags/main", first),
            ("tags/main", first),
            ("v1", first),
            ("heavy", first),
            // No branch of this name is here, as git has it in a clone.
            ("production", first),
        ] {
            assert_eq!(repository.resolve(revision).unwrap(), expected, "{revision}");
        }
        for revision in ["refs/remotes/origin/HEAD", "refs/heads/none", "refs/heavy", "refs/remotes/origin/HEAD~0"] {
            let refused = repository.resolve(revision).unwrap_err();
            assert!(matches!(refused, RevisionError::Unknown { .. }), "{revision}: {refused}");
        }
        sandbox.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/production"]);
        assert_eq!(sandbox.open().resolve("refs/remotes/origin/HEAD").unwrap(), production);
        assert_eq!(sandbox.open().resolve("origin").unwrap(), production);
    }
}

#[test]
fn an_ambiguous_name_is_told_in_the_verdict() {
    let (sandbox, [main, _, first]) = clone(&[]);
    std::fs::write(sandbox.beside("n.ndjson"), "{\"name\": \"n\"}\n").unwrap();
    sandbox.git(["reset", "--quiet", "--hard"]);
    for (from, is_told) in
        [("main", true), ("main~1", true), ("main^{commit}", true), ("v1", false), (&*main.to_string(), false)]
    {
        let report =
            sandbox.hierad(&format!("diff --profiles ../n.ndjson --format json --allow-blind {from} {first}")).json();
        let told = report["diagnostics"].to_string();
        let words = "'main' is ambiguous, since a tag has this name, too: using refs/heads/main";
        assert_eq!(told.contains(words), is_told, "{from}: {told}");
    }
    let printed = sandbox.hierad(&format!("diff --profiles ../n.ndjson --allow-blind main...{first}"));
    assert!(printed.out.contains("'main' is ambiguous"), "{printed:?}");
    let printed = sandbox.hierad(&format!("review --profiles ../n.ndjson --base main --head {first} --summary -"));
    assert!(printed.out.contains("is ambiguous"), "{printed:?}");
}

#[test]
fn trust_hangs_on_one_exact_reference() {
    for arguments in [&[][..], &["--ref-format=reftable"]] {
        let (sandbox, [main, production, first]) = clone(arguments);
        let repository = sandbox.open();
        let id = production.to_string();
        for (name, expected) in [
            ("main", main),
            ("refs/heads/main", main),
            ("HEAD", main),
            ("origin/production", production),
            ("refs/remotes/origin/production", production),
            ("refs/tags/v1", first),
            ("refs/tags/heavy", first),
            (&id, production),
        ] {
            assert_eq!(repository.resolve_trusted(name).unwrap(), expected, "{name}");
        }
        let short = &id[..10];
        let unknown =
            ["v1", "heavy", "production", "origin", "main~1", "HEAD~1", "@", "tags/v1", "heads/main", short, ""];
        for name in unknown.into_iter().chain(["refs/remotes/origin/HEAD", "refs/remotes/other/main"]) {
            let refused = repository.resolve_trusted(name).unwrap_err();
            assert!(matches!(refused, RevisionError::NotExact { .. }), "{name}: {refused}");
        }
    }
}

#[test]
fn remote_tracking_branches_of_no_remote_are_somebodys_push() {
    let sandbox = Sandbox::new();
    let main = sandbox.commit("main");
    let server = sandbox.beside("server.git");
    git_in(sandbox.root(), ["clone", "--quiet", "--bare", ".", server.to_str().unwrap()]);
    git_in(&server, ["remote", "remove", "origin"]);
    let evil = sandbox.commit("evil").to_string();
    for name in ["remotes/origin/HEAD", "remotes/origin/main", "heads/origin/HEAD", "tags/main"] {
        sandbox.git(["push", "--quiet", server.to_str().unwrap(), &format!("{evil}:refs/{name}")]);
    }
    let mirror = sandbox.beside("mirror.git");
    git_in(&server, ["clone", "--quiet", "--mirror", ".", mirror.to_str().unwrap()]);
    for folder in [&server, &mirror] {
        let repository = Repository::discover(folder).unwrap();
        assert_eq!(repository.resolve_trusted("main").unwrap(), main);
        for name in ["refs/remotes/origin/HEAD", "refs/remotes/origin/main", "origin/main"] {
            assert!(repository.resolve_trusted(name).is_err(), "{name}");
        }
    }
}

#[test]
fn a_default_branch_is_a_symbolic_reference() {
    for format in ["files", "reftable"] {
        let server = Sandbox::new();
        let main = server.commit("main");
        server.git(["switch", "--quiet", "--create", "evil"]);
        let evil = server.commit("evil");
        for name in ["HEAD", "x/HEAD"] {
            server.git(["update-ref", &format!("refs/heads/{name}"), &evil.to_string()]);
        }
        let job = Sandbox::with(&[&format!("--ref-format={format}")]);
        job.git(["remote", "add", "origin", server.root().to_str().unwrap()]);
        job.git(["fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*"]);
        let names =
            ["origin/HEAD", "refs/remotes/origin/HEAD", "origin/x/HEAD", "refs/remotes/origin/x/HEAD", "origin"];
        for name in names {
            assert!(job.open().resolve_trusted(name).is_err(), "{format}: {name}");
        }
        assert_eq!(job.open().resolve_trusted("origin/main").unwrap(), main);
        // A reference that leads to such a branch is no better.
        job.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/x/HEAD"]);
        job.git(["update-ref", "refs/remotes/gone/main", &evil.to_string()]);
        assert!(job.open().resolve_trusted("origin/HEAD").is_err());
        job.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/gone/main"]);
        assert!(job.open().resolve_trusted("origin/HEAD").is_err());
        job.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
        job.git(["fetch", "--quiet", "origin"]);
        for name in &names[..2] {
            assert_eq!(job.open().resolve_trusted(name).unwrap(), main, "{format}: {name}");
        }
        // A clone of one branch fetches that one alone.
        let clone = server.beside("clone");
        let url = format!("file://{}", server.root().display());
        git_in(
            server.root(),
            ["clone", "--quiet", "--branch", "main", "--single-branch", &url, clone.to_str().unwrap()],
        );
        git_in(&clone, ["remote", "set-head", "origin", "main"]);
        assert_eq!(Repository::discover(&clone).unwrap().resolve_trusted("origin/HEAD").unwrap(), main);
    }
}

#[test]
fn a_branch_is_not_what_its_name_means_elsewhere() {
    let server = Sandbox::new();
    let main = server.commit("main");
    server.git(["switch", "--quiet", "--create", "evil"]);
    let evil = server.commit("evil").to_string();
    let short = &evil[..9];
    let id = format!("{}a{}", &short[..4], &short[4..]);
    let pushed = [
        "origin/main",
        "upstream/main",
        "heads/main",
        "remotes/origin/main",
        "tags/v1",
        "@",
        "FETCH_HEAD",
        "origin/HEAD",
        &id,
        &id.to_uppercase(),
        "4821937",
        "48219370",
        "20269127",
        "ABCDEF1",
        "1234567890123456",
    ];
    for name in pushed {
        server.git(["update-ref", &format!("refs/heads/{name}"), &evil]);
    }
    let honest =
        ["main", "release/1", "20261127", "20261127123000", "2026", "added", "originals/main", "release/heads"];
    for name in honest {
        server.git(["update-ref", &format!("refs/heads/{name}"), &main.to_string()]);
    }
    let mirror = server.beside("mirror.git");
    git_in(server.root(), ["clone", "--quiet", "--mirror", ".", mirror.to_str().unwrap()]);
    git_in(&mirror, ["remote", "add", "upstream", "https://example.com/upstream"]);
    git_in(&mirror, ["config", "remote.upstream.fetch", "+refs/heads/*:refs/heads/*"]);
    let repository = Repository::discover(&mirror).unwrap();
    for name in pushed {
        assert!(repository.resolve_trusted(name).is_err(), "{name}");
        let full = format!("refs/heads/{name}");
        assert_eq!(repository.resolve_trusted(&full).unwrap().to_string(), evil, "{full}");
    }
    for name in honest {
        assert_eq!(repository.resolve_trusted(name).unwrap(), main, "{name}");
    }
}

/// Runs a command of a mirror, and returns what it prints.
fn told(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A mirror whose remote has been asked for its branches and its default branch.
fn followed(mirror: &Mirror) -> Repository {
    told(mirror.fetch());
    mirror.set_head(&told(mirror.ask_head())).unwrap();
    Repository::discover(&mirror.folder).unwrap()
}

#[test]
fn a_mirror_has_the_default_branch_of_its_remote() {
    let server = Sandbox::with(&["--initial-branch=production"]);
    let production = server.commit("production");
    let url = format!("file://{}", server.root().display());
    let mirror = Mirror { folder: server.beside("mirror.git"), url }.beside().unwrap();
    assert!(Repository::discover(&mirror.folder).unwrap().resolve_trusted("HEAD").is_err());
    assert_eq!(followed(&mirror).resolve_trusted("HEAD").unwrap(), production);
    // Somebody pushes a branch of a usual name.
    server.git(["switch", "--quiet", "--create", "main"]);
    let main = server.commit("somebody's");
    server.git(["symbolic-ref", "HEAD", "refs/heads/production"]);
    let repository = followed(&mirror);
    assert_eq!(repository.resolve("main").unwrap(), main);
    assert_eq!(repository.resolve_trusted("HEAD").unwrap(), production);
    // The default branch moves to another one, and then to one that is not there.
    server.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
    assert_eq!(followed(&mirror).resolve_trusted("HEAD").unwrap(), main);
    server.git(["symbolic-ref", "HEAD", "refs/heads/gone"]);
    let repository = followed(&mirror);
    assert!(repository.resolve_trusted("HEAD").is_err());
    // Nor is it whatever another branch of such a name is.
    server.git(["branch", "--quiet", "HEAD-x", "main"]);
    assert!(followed(&mirror).resolve_trusted("HEAD").is_err());
}

#[test]
fn a_former_default_branch_is_trusted_at_no_moment() {
    let server = Sandbox::with(&["--initial-branch=main"]);
    let own = server.commit("own");
    let url = format!("file://{}", server.root().display());
    let mirror = Mirror { folder: server.beside("mirror.git"), url }.beside().unwrap();
    followed(&mirror);
    for (name, push) in [
        ("on top", "git commit -q --allow-empty -m strangers"),
        ("amended", "git commit -q --allow-empty --amend -m strangers"),
        (
            "apart",
            "git switch -q --orphan x; git commit -q --allow-empty -m strangers; git branch -f main; git switch -q main",
        ),
        (
            "the name of the reference",
            "git commit -q --allow-empty -m s; git branch -f HIERAD_DEFAULT_HEAD; git tag -f HIERAD_DEFAULT_HEAD",
        ),
    ] {
        // Another branch becomes the default one, and somebody pushes the former: here these arrive before the answer.
        server.sh(&format!(
            "git branch -f trunk {own}; git switch -q main; {push}; git symbolic-ref HEAD refs/heads/trunk"
        ));
        told(mirror.fetch());
        let repository = Repository::discover(&mirror.folder).unwrap();
        assert_eq!(repository.resolve("main").unwrap(), server.id("main"), "{name}");
        assert_eq!(repository.resolve_trusted("HEAD").unwrap(), own, "{name}");
        assert_eq!(followed(&mirror).resolve_trusted("HEAD").unwrap(), own, "{name}");
        server.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
        server.git(["reset", "--quiet", "--hard", &own.to_string()]);
        followed(&mirror);
    }
    // What the default branch gets is trusted once it is told and fetched, and stays what it was until then.
    let answer = told(mirror.ask_head());
    let next = server.commit("next");
    let later = told(mirror.ask_head());
    mirror.set_head(&later).unwrap();
    assert_eq!(Repository::discover(&mirror.folder).unwrap().resolve_trusted("HEAD").unwrap(), own);
    told(mirror.fetch());
    mirror.set_head(&answer).unwrap();
    assert_eq!(Repository::discover(&mirror.folder).unwrap().resolve_trusted("HEAD").unwrap(), own);
    mirror.set_head(&later).unwrap();
    assert_eq!(Repository::discover(&mirror.folder).unwrap().resolve_trusted("HEAD").unwrap(), next);
}
