//! Sites with data in other repositories, and their twins, which have the same files in one.

use serde_json::Value as Json;

use super::Sandbox;
use super::terminal::{Printed, hierad, run};

/// Shell functions for scripts that run in the repository: `src NAME FILE TEXT` commits a file to the repository that
/// is called so beside it, `take NAME PATH` adds that as a submodule, `bump PATH FILE TEXT` commits a file there.
pub(crate) const HELP: &str = "
git() { command git -c protocol.file.allow=always \"$@\"; }
put() { mkdir -p \"$(dirname \"$1\")\"; printf \"$2\" >\"$1\"; }
src() { [ -d ../$1 ] || git init --quiet --initial-branch=main ../$1
    (cd ../$1; put \"$2\" \"$3\"; git add --all; git commit --quiet --allow-empty --message \"$2\"); }
take() { git submodule --quiet add ${3:-} \"$(cd ../$1; pwd)\" $2; }
bump() { (cd $1; put \"$2\" \"$3\"; git add --all; git commit --quiet --allow-empty --message \"$2\"); }
";

/// Runs a script in the repository and commits what it makes.
pub(crate) fn commit(site: &Sandbox, script: &str) {
    site.sh(&format!("{HELP}{script}"));
    site.commit("a commit");
}

/// Makes `twin` beside the repository, with a commit for each of `revisions`: all files of a checkout. The script
/// `deploy` runs in each checkout.
pub(crate) fn make(site: &Sandbox, revisions: &[&str], deploy: &str) {
    let script = format!(
        "{HELP}
        rm -rf ../twin; git init --quiet --initial-branch=main ../twin
        for revision in {}; do
            rm -rf ../checkout; git worktree prune; git worktree add --quiet --detach ../checkout $revision
            (cd ../checkout; git submodule --quiet update --init --recursive; {deploy})
            find ../checkout -name .git -prune -exec rm -rf {{}} +; rm -f ../checkout/.gitmodules
            (cd ../twin; git rm --quiet -r --ignore-unmatch .; cp -R ../checkout/. .; git add --all --force
                git commit --quiet --allow-empty --message 'a commit')
        done; rm -rf ../checkout; git worktree prune",
        revisions.join(" ")
    );
    site.sh(&script);
}

/// Runs `hierad` in the folder `name` beside the repository.
pub(crate) fn beside(site: &Sandbox, name: &str, arguments: &str) -> Printed {
    run(hierad(&site.beside(name)).args(arguments.split_whitespace()))
}

/// The report of a comparison, but for what names its commits.
pub(crate) fn report(printed: &Printed) -> Json {
    let mut report = printed.json();
    for side in ["before", "after"] {
        report.as_object_mut().unwrap().remove(side);
    }
    report
}

/// Fails unless the last commit of the site has the report of its twin, which tells of a change.
#[track_caller]
pub(crate) fn agree(site: &Sandbox, what: &str) {
    let own = report(&beside(site, "repository", "diff --format json"));
    let twin = report(&beside(site, "twin", "diff --format json"));
    assert_eq!(own["verdict"], "changes", "{what}: {own:#}");
    assert_eq!(own, twin, "{what}: {own:#}\n{twin:#}");
    for words in ["render HEAD --format ndjson", "check"] {
        let [own, twin] = ["repository", "twin"].map(|folder| beside(site, folder, words));
        assert_eq!((own.status, own.out), (twin.status, twin.out), "{what}: {words}");
    }
}
