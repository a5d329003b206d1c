//! `environment: branch`: which branch a revision is deployed as, where HEAD does not say it.

use crate::support::terminal::{Printed, changes, hierad, run};
use crate::support::{Sandbox, git_in};

/// A site with the branches `production` and `dev`, the tag `v1` of the latter, and `dev` checked out.
fn site() -> Sandbox {
    let site = Sandbox::of(
        "
-- hiera.yaml
version: 5
hierarchy:
  - {name: environment, path: 'env/%{environment}.yaml'}
  - {name: common, path: common.yaml}
-- data/common.yaml
v: common
-- data/env/production.yaml
v: prod
-- hierad.yaml
environment: branch
profiles: profiles
-- profiles/n1.json
{\"name\": \"n1\"}
",
    );
    site.sh("git branch -m production; git checkout -q -b dev");
    site.files("-- data/env/dev.yaml\nv: dev\n");
    site.commit("dev");
    site.sh("git tag v1; git update-ref refs/remotes/origin/dev HEAD; git update-ref refs/pull/1/merge HEAD");
    site
}

fn told(printed: &Printed) -> String {
    if printed.status == 0 { printed.out.trim().trim_start_matches("--- ").to_owned() } else { printed.err.clone() }
}

fn lookup(site: &Sandbox, more: &str) -> String {
    told(&site.hierad(&format!("lookup v --node n1 {more}")))
}

#[track_caller]
fn is_unknown(text: &str) {
    assert!(text.contains("the environment of the nodes is the name of a branch, and "), "{text}");
    assert!(text.contains("--set environment=NAME"), "{text}");
}

#[test]
fn a_revision_names_its_branch() {
    let site = site();
    assert_eq!(lookup(&site, ""), "dev");
    for revision in ["dev", "origin/dev", "refs/heads/dev", "dev~0", "dev^0", "HEAD", "@", ".", "v1", "HEAD~0"] {
        assert_eq!(lookup(&site, &format!("--rev {revision}")), "dev", "{revision}");
    }
    assert_eq!(lookup(&site, "--rev production"), "prod");
    // As `dev` was before it had a file.
    assert_eq!(lookup(&site, "--rev HEAD~1"), "common");
    site.sh("git checkout -q production");
    assert_eq!(lookup(&site, ""), "prod");
    for revision in ["dev", "origin/dev", "dev@{0}"] {
        assert_eq!(lookup(&site, &format!("--rev {revision}")), "dev", "{revision}");
    }
    for range in ["production...dev", "production..dev", "production dev"] {
        let report = site.hierad(&format!("diff {range} --format json")).json();
        assert_eq!(changes(&report), ["v changed n1"], "{range}");
    }
    let checked = site.hierad("check dev");
    assert!(checked.out.contains("env/production.yaml") && !checked.out.contains("env/dev.yaml"), "{checked:#?}");
    let rendered = site.hierad("render dev --format ndjson");
    assert_eq!(rendered.ok(), "{\"node\":\"n1\",\"values\":{\"v\":\"dev\"},\"errors\":{}}\n");
}

#[test]
fn revisions_of_no_branch_are_an_error() {
    let site = site();
    site.sh("git checkout -q production");
    let id = git_in(site.root(), ["rev-parse", "v1"]);
    for revision in ["v1", "refs/pull/1/merge", id.trim()] {
        is_unknown(&lookup(&site, &format!("--rev {revision}")));
    }
    site.sh("git checkout -q --detach dev");
    is_unknown(&lookup(&site, ""));
    for command in ["diff HEAD~1 HEAD", "render", "check", "diff production...HEAD", "nodes list"] {
        is_unknown(&site.hierad(command).err);
    }
    // The environment is said.
    assert_eq!(lookup(&site, "--set environment=dev"), "dev");
    assert_eq!(lookup(&site, "--environment production"), "prod");
    assert_eq!(
        site.hierad("diff HEAD~1 HEAD --set environment=dev --format json").json()["changes"].as_array().unwrap().len(),
        1
    );
    // Other settings do not ask for a branch.
    site.settings("profiles: profiles\nenvironment: dev\n");
    assert_eq!(lookup(&site, ""), "dev");
}

#[test]
fn a_job_names_the_branch_of_what_is_checked_out() {
    let site = site();
    site.sh("git checkout -q --detach dev");
    let with = |variables: &[(&str, &str)], arguments: &[&str]| {
        told(&run(hierad(site.root()).args(arguments).envs(variables.iter().copied())))
    };
    let lookup = ["lookup", "v", "--node", "n1"];
    for variables in [
        &[("CI_COMMIT_REF_NAME", "dev")][..],
        &[("GITHUB_HEAD_REF", "dev"), ("GITHUB_REF", "refs/pull/1/merge"), ("GITHUB_REF_NAME", "1/merge")],
        &[("GITHUB_REF_NAME", "dev"), ("GITHUB_REF_TYPE", "branch")],
        &[("BRANCH_NAME", "dev")],
    ] {
        assert_eq!(with(variables, &lookup), "dev", "{variables:?}");
        // What is named itself is that.
        assert_eq!(with(variables, &["lookup", "v", "--node", "n1", "--rev", "production"]), "prod", "{variables:?}");
    }
    is_unknown(&with(&[("CI_COMMIT_TAG", "v1"), ("CI_COMMIT_REF_NAME", "v1")], &lookup));
    // The name is data: of a stranger's branch it is an environment, whatever stands in it.
    assert_eq!(with(&[("GITHUB_HEAD_REF", "../production")], &lookup), "common");
    // A branch that is checked out counts, whatever the variables say.
    site.sh("git checkout -q production");
    assert_eq!(with(&[("CI_COMMIT_REF_NAME", "dev")], &lookup), "prod");
}

#[test]
fn a_bare_clone_has_its_branches() {
    let site = site();
    let bare = site.beside("bare.git");
    site.sh(&format!("git clone -q --bare . {}", bare.display()));
    let at = |revision: &str| {
        let (bare, nodes) = (bare.display(), site.root().join("profiles"));
        let flags = format!(
            "--repo {bare} --profiles {} --config {}",
            nodes.display(),
            site.root().join("../s.yaml").display()
        );
        std::fs::write(site.root().join("../s.yaml"), "environment: branch\n").unwrap();
        told(&site.hierad(&format!("lookup v --node n1 {flags} --rev {revision}")))
    };
    assert_eq!([at("dev"), at("production"), at("HEAD")], ["dev", "prod", "dev"]);
}

#[test]
fn a_prefix_of_r10k_stands_before_the_branch() {
    let site = site();
    site.sh("git checkout -q -b feature/JIRA-12.x");
    site.files(
        "-- data/env/acme_feature_JIRA_12_x.yaml\nv: with prefix\n-- data/env/feature_JIRA_12_x.yaml\nv: without\n",
    );
    site.commit("a feature");
    assert_eq!(lookup(&site, ""), "without");
    for (name, value) in [("acme_%{branch}", "with prefix"), ("%{branch}", "without"), ("acme", "common")] {
        site.settings(format!("profiles: profiles\nenvironment: '{name}'\n"));
        assert_eq!(lookup(&site, ""), value, "{name}");
    }
    for name in ["%{branch}%{branch}", "a_%{role}", "%{branch"] {
        site.write("hierad.yaml", format!("profiles: profiles\nenvironment: '{name}'\n"));
        let text = lookup(&site, "");
        assert!(text.contains("'environment' must be a name, 'branch', or a text with %{branch} once"), "{text}");
    }
}
