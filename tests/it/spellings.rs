//! One file has many paths: the answers with a cache are those without, whichever of its paths filled the cache.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::Sandbox;
use crate::support::random::Random;
use crate::support::terminal::{hierad, run};

/// Files of profiles in each form, and data that depends on them: on `facts.dc` in a way that no file mentions, so that
/// it is read by itself, by those who look at `where`.
const SITE: &str = "
-- hiera.yaml
version: 5
hierarchy:
  - {name: Role, path: 'roles/%{role}.yaml'}
  - {name: Common, path: common.yaml}
-- data/common.yaml
where: 'in %{facts.via}'
port: 1
-- data/roles/web.yaml
port: 80
-- nodes.ndjson
{\"name\": \"web01\", \"facts\": {\"dc\": \"east\", \"via\": \"%{facts.dc}\"}, \"variables\": {\"role\": \"web\"}}
{\"name\": \"db01\", \"facts\": {\"dc\": \"west\", \"via\": \"%{facts.dc}\"}, \"variables\": {\"role\": \"db\"}}
-- one.ndjson
{\"name\": \"web01\", \"facts\": {\"dc\": \"north\", \"via\": \"%{facts.dc}\"}, \"variables\": {\"role\": \"web\"}}
-- profiles/app01.yaml
{name: app01, facts: {dc: south, via: '%{facts.dc}'}, variables: {role: web}}
-- profiles/web01.yaml
{name: web01, facts: {dc: south, via: '%{facts.dc}'}, variables: {role: web}}
-- sub/deep/file
words
";

/// The ways to name profiles, below the folder that holds the repository and a link to it.
const PROFILES: [&str; 8] = [
    "repository/nodes.ndjson",
    "repository/nodes.json",
    "repository/one.ndjson",
    "repository/one.json",
    "repository/one.yaml",
    "repository/profiles",
    "repository/profiles/*.yaml",
    "repository/linked/*.yaml",
];

/// The folders in which hierad is called, and how many folders lie above each.
const FOLDERS: [(&str, usize); 4] = [("", 0), ("repository", 1), ("repository/sub", 2), ("link/sub/deep", 3)];

const COMMANDS: [&str; 7] = [
    "diff",
    "diff --key port",
    "render --key port --format ndjson",
    "render --format ndjson",
    "lookup where --node web01",
    "lookup port",
    "check",
];

/// The number of questions from an empty cache on.
const QUESTIONS: usize = 8;
const SEEDS: u64 = 16;

fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    for (to, name) in
        [("nodes.ndjson", "nodes.json"), ("one.ndjson", "one.json"), ("one.ndjson", "one.yaml"), ("profiles", "linked")]
    {
        symlink(to, site.root().join(name)).unwrap();
    }
    symlink("repository", site.beside("link")).unwrap();
    site.files("-- data/common.yaml\nwhere: 'at %{facts.via}'\nport: 1\n-- data/roles/web.yaml\nport: 8080\n");
    site.commit("second");
    site
}

/// A path to what is at `path` below the base of `site`, from a folder so many folders below it.
fn spelled(site: &Sandbox, path: &str, (folder, depth): (&str, usize), random: &mut Random) -> String {
    let inside = path.strip_prefix("repository").unwrap();
    let through = *random.pick(&["repository", "repository", "link", "repository/sub/..", "./link/./sub/../../link"]);
    let path = format!("{through}{inside}");
    match random.below(4) {
        0 => format!("{}/{path}", site.beside("").to_str().unwrap().trim_end_matches('/')),
        1 => format!("./{}{path}", "../".repeat(depth)),
        2 if folder == "repository" && !inside.is_empty() => inside.trim_start_matches('/').to_owned(),
        _ => format!("{}{path}", "../".repeat(depth)),
    }
}

/// A folder and the arguments of a call.
fn question(site: &Sandbox, random: &mut Random) -> (&'static str, Vec<String>) {
    let place = *random.pick(&FOLDERS);
    let mut arguments: Vec<String> = random.pick(&COMMANDS).split(' ').map(str::to_owned).collect();
    if place.1 == 0 || random.below(3) == 0 {
        arguments.extend(["--repo".to_owned(), spelled(site, "repository", place, random)]);
    }
    for _ in 0..=random.below(4) / 3 {
        let profiles = *random.pick(&PROFILES);
        arguments.extend(["--profiles".to_owned(), spelled(site, profiles, place, random)]);
    }
    (place.0, arguments)
}

#[test]
fn caches_change_no_answer() {
    let site = site();
    site.settle();
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        _ = fs::remove_dir_all(site.root().join(".git/hierad"));
        for number in 0..QUESTIONS {
            let (folder, arguments) = question(&site, &mut random);
            let asked = |more: &[&str]| run(hierad(&site.beside(folder)).args(&arguments).args(more));
            let (fresh, cached) = (asked(&["--no-cache"]), asked(&[]));
            let told = |printed: &crate::support::terminal::Printed| format!("{printed:#?}");
            assert_eq!(told(&cached), told(&fresh), "seed {seed}, question {number}: in /{folder}: {arguments:?}");
        }
    }
}
