//! Changes of all that a daemon reads beside its commits, while it works: its reports are of what is there now.

use std::fs;
use std::path::Path;

use hierad::app::{BranchPipelines, Overrides, Workspace};
use hierad::event::{CommitEvent, EventKind};
use hierad::git::{BranchName, CommitId};
use hierad::hiera::Outcome;
use hierad::pipeline::RevisionId;
use hierad::snapshot::Format;
use hierad::value::Value;
use serde_json::Value as Json;

use crate::support::Sandbox;

const SITE: &str = "
-- hiera.yaml
version: 5
hierarchy: [{name: Common, path: common.yaml}]
-- data/common.yaml
where: '%{environment}'
";

/// A site with settings, and its pipelines as the daemon makes them.
fn begun(settings: &str) -> (Sandbox, BranchPipelines) {
    let site = Sandbox::of(SITE);
    fs::write(site.beside("nodes.yaml"), "name: n\nvariables: {role: web, site: a}\n").unwrap();
    let settings = format!("profiles: [{}]\n{settings}", site.beside("nodes.yaml").display());
    fs::write(site.root().join(".git/hierad.yaml"), settings.replace("$BASE", &site.beside("").to_string_lossy()))
        .unwrap();
    let pipelines = pipelines(site.root());
    (site, pipelines)
}

fn pipelines(root: &Path) -> BranchPipelines {
    let overrides = Overrides { repo: Some(root.to_owned()), is_isolated: true, ..Overrides::default() };
    BranchPipelines::new(Workspace::open(&overrides).unwrap())
}

/// Returns the values of the only node by the pipelines, or of the first one.
fn values(pipelines: &mut BranchPipelines, branch: &str, commit: CommitId) -> Json {
    let pipeline = pipelines.get(Some(&BranchName::new(branch))).unwrap();
    let id = RevisionId::Commit(commit);
    let revision = pipeline.cached_revision(id).unwrap();
    let rendered = pipeline.snapshots(id, &revision, &revision.keys, Format::Ndjson);
    let snapshot: Json = serde_json::from_slice(&rendered.snapshots.texts()[0]).unwrap();
    assert_eq!(snapshot["errors"], serde_json::json!({}));
    snapshot["values"].clone()
}

fn value(pipelines: &mut BranchPipelines, branch: &str, commit: CommitId, key: &str) -> String {
    values(pipelines, branch, commit)[key].as_str().unwrap().to_owned()
}

#[test]
fn changed_profiles_reach_every_branch() {
    let (site, _) = begun("");
    site.files("-- data/common.yaml\nx: '%{environment} %{role}'\n");
    let commit = site.commit("second");
    site.git(["branch", "test"]);
    // Many files, as a fleet has them: after looks that take long there is a pause, which `app::pipelines` tests.
    let many = |role: &str| {
        for n in 0..400 {
            let text = format!("name: m{n}\nvariables: {{role: {role}}}\n");
            fs::create_dir_all(site.beside("nodes.d")).unwrap();
            fs::write(site.beside("nodes.d").join(format!("m{n}.yaml")), text).unwrap();
        }
    };
    many("web");
    let settings = format!("profiles: [{}]\nenvironment: branch\n", site.beside("nodes.d").display());
    fs::write(site.root().join(".git/hierad.yaml"), settings).unwrap();
    let mut pipelines = pipelines(site.root());
    let all = |pipelines: &mut BranchPipelines| ["main", "test"].map(|branch| value(pipelines, branch, commit, "x"));
    assert_eq!(all(&mut pipelines), ["main web", "test web"]);
    many("db");
    assert_eq!(all(&mut pipelines), ["main db", "test db"]);
}

#[test]
fn a_variable_that_appears_while_profiles_change_is_known() {
    let (site, mut pipelines) = begun("");
    pipelines.get(None).unwrap();
    // A look, so that a former program would not look again at once.
    pipelines.get(None).unwrap();
    site.git(["checkout", "--quiet", "-b", "next"]);
    site.files("-- data/common.yaml\nx: 'at %{site}'\n");
    let commit = site.commit("mentions another variable");
    site.git(["checkout", "--quiet", "main"]);
    let pipeline = pipelines.get(None).unwrap();
    fs::write(site.beside("nodes.yaml"), "name: n\nvariables: {role: web, site: bb}\n").unwrap();
    assert_eq!(pipeline.fleet.nodes_without("site").len(), 0, "the file is found changed");
    let event = CommitEvent::new(BranchName::new("main"), None, commit, EventKind::Created);
    let report = pipelines.compare(&event).unwrap().report;
    let outcome = report.changes.iter().find(|change| &*change.key == "x").unwrap().outcome.after.clone().unwrap();
    assert_eq!(*outcome, Outcome::Found(Value::from("at bb")));
}

/// A module and a global layer outside of the repository, and a folder that a datadir leads to.
const OUTSIDE: &str = "basemodulepath: [$BASE/modules]\nglobal_hiera_config: $BASE/global/hiera.yaml\n\
                       datadirs: {/srv/data: $BASE/shared}\n";

#[test]
fn files_outside_of_the_repository_are_watched() {
    let (site, _) = begun(OUTSIDE);
    let write = |path: &str, text: &str| {
        let path = site.beside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let config =
        |datadir: &str| format!("version: 5\nhierarchy: [{{name: C, datadir: {datadir}, path: 'common.yaml'}}]\n");
    write("modules/ntp/hiera.yaml", &config("data"));
    write("modules/ntp/data/common.yaml", "ntp::a: 1\n");
    write("global/hiera.yaml", &config("data"));
    write("global/data/common.yaml", "g: 1\n");
    write("shared/common.yaml", "s: 1\n");
    site.files(&format!("-- hiera.yaml\n{}-- data/all.yaml\n\"ntp::a\": 0\ng: 0\ns: 0\nh: 0\n", config("/srv/data")));
    let commit = site.commit("uses them");
    let mut pipelines = pipelines(site.root());
    let mut told = || {
        let values = values(&mut pipelines, "main", commit);
        let told = values.as_object().unwrap().iter().map(|(key, value)| format!("{key}={value}"));
        told.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(told(), "g=1 ntp::a=1 s=1");
    // As large as before, and at once.
    write("modules/ntp/data/common.yaml", "ntp::a: 2\n");
    assert_eq!(told(), "g=1 ntp::a=2 s=1");
    write("global/data/common.yaml", "g: 2\n");
    write("shared/common.yaml", "s: 2\n");
    assert_eq!(told(), "g=2 ntp::a=2 s=2");
    // What was not there comes, and what was there goes.
    write("global/hiera.yaml", &config("more"));
    assert_eq!(told(), "ntp::a=2 s=2");
    write("global/more/common.yaml", "h: 1\n");
    assert_eq!(told(), "h=1 ntp::a=2 s=2");
    fs::remove_dir_all(site.beside("modules/ntp")).unwrap();
    assert_eq!(told(), "h=1 s=2");
}

#[test]
fn a_global_layer_in_another_repository_is_watched() {
    let (site, _) = begun("");
    let settings = "global_hiera_config: {repo: $BASE/other, rev: main, path: hiera.yaml}\n";
    let settings = settings.replace("$BASE", &site.beside("").to_string_lossy());
    let path = site.root().join(".git/hierad.yaml");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &settings).unwrap();
    let other = |value: u32| {
        site.sh(&format!(
            "mkdir -p ../other/data; cd ../other; test -d .git || git init --quiet --initial-branch=main
             printf 'version: 5\\nhierarchy: [{{name: C, path: common.yaml}}]\\n' > hiera.yaml
             echo 'where: \"{value}\"' > data/common.yaml; git add --all; git commit --quiet --message {value}"
        ))
    };
    other(1);
    let (mut pipelines, commit) = (pipelines(site.root()), site.id("HEAD"));
    assert_eq!(value(&mut pipelines, "main", commit, "where"), "1");
    other(2);
    assert_eq!(value(&mut pipelines, "main", commit, "where"), "2");
}
