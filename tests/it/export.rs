//! Snapshots on a git reference, read back with the `git` command.

pub(crate) mod agreement;
mod branches;
mod places;
mod trouble;

use std::collections::BTreeMap;
use std::sync::Arc;

use hierad::disclosure::Disclosure;
use hierad::event::{CommitEvent, EventKind};
use hierad::fleet::Fleet;
use hierad::git::{BranchName, CommitId};
use hierad::hiera::layer::EnvironmentOptions;
use hierad::node::read_profiles;
use hierad::pipeline::export::Exporter;
use hierad::pipeline::{Pipeline, Revisions};
use hierad::workers::Workers;

use crate::support::Sandbox;

const REFERENCE: &str = "refs/hierad/snapshots/main";

/// The source commits of the snapshots on a reference, oldest first.
fn sources(site: &Sandbox, reference: &str) -> Vec<String> {
    let trailer = "--format=%(trailers:key=Hierad-Commit,valueonly,separator=)";
    site.git(["log", "--reverse", "--first-parent", trailer, reference]).lines().map(str::to_owned).collect()
}

/// The commits of a branch, by first parents, oldest first.
fn commits(site: &Sandbox, branch: &str) -> Vec<String> {
    site.git(["rev-list", "--reverse", "--first-parent", branch]).lines().map(str::to_owned).collect()
}

/// The files of a commit, with the ids of their contents.
fn files(site: &Sandbox, revision: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (head, name) = line.split_once('\t').unwrap();
        (name.to_owned(), head.to_owned())
    };
    site.git(["-c", "core.quotePath=false", "ls-tree", revision]).lines().map(line).collect()
}

/// The names of the files that a commit changes.
fn changed(site: &Sandbox, revision: &str) -> Vec<String> {
    site.git(["diff-tree", "-r", "--root", "--no-commit-id", "--name-only", revision])
        .lines()
        .map(str::to_owned)
        .collect()
}

/// An exporter for the nodes of `profiles`, a line each.
fn exporter(site: &Sandbox, profiles: &str) -> Exporter {
    exporter_with(site, profiles, Workers::of(2))
}

fn exporter_with(site: &Sandbox, profiles: &str, workers: Workers) -> Exporter {
    let own_files = ["hierad.yaml", "profiles"].map(str::to_owned).into();
    let options = EnvironmentOptions { own_files, ..EnvironmentOptions::default() };
    let revisions = Revisions::new(Arc::new(site.open()), options, Arc::default());
    let fleet = Fleet::new(read_profiles(profiles.as_bytes(), "p.ndjson", "production").0);
    let disclosure = Arc::new(Disclosure::shown());
    Exporter::new(Arc::new(Pipeline::new(revisions, Arc::new(fleet), workers, disclosure)))
}

const NODES: &str = "{\"name\": \"web01\", \"variables\": {\"role\": \"web\"}}\n{\"name\": \"db01\", \"variables\": {\"role\": \"db\"}}\n";

fn main_branch() -> BranchName {
    BranchName::new("main")
}

fn event(before: Option<CommitId>, after: CommitId) -> CommitEvent {
    CommitEvent::new(main_branch(), before, after, EventKind::New)
}
