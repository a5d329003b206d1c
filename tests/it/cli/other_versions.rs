//! Data in other repositories, of which a commit takes another version: submodules, and modules of a Puppetfile.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// Commits that no repository here has.
const OLD: &str = "1111111111111111111111111111111111111111";
const NEW: &str = "2222222222222222222222222222222222222222";

/// A site with a level in a folder of its own and a module.
const OWN: &str = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Private, path: 'private/%{trusted.certname}.yaml'}
  - {name: Common, path: common.yaml}
-- modules/own/hiera.yaml
version: 5
";

fn site() -> Sandbox {
    Sandbox::of(&format!("{SITE}{OWN}"))
}

/// Commits a submodule of a site, or takes it away.
fn submodule(site: &Sandbox, path: &str, commit: Option<&str>) {
    match commit {
        Some(id) => site.git(["update-index", "--add", "--replace", "--cacheinfo", &format!("160000,{id},{path}")]),
        None => site.git(["rm", "--quiet", "--cached", path]),
    };
    site.git(["commit", "--quiet", "--allow-empty", "-m", "a submodule"]);
}

fn spots(site: &Sandbox, arguments: &str) -> Vec<Json> {
    let report = site.hierad(&format!("diff --format json {arguments}")).json();
    let spots = report["blind_spots"].as_array().unwrap();
    spots.iter().filter(|spot| spot["code"] == "other-version").cloned().collect()
}

#[test]
fn a_submodule_that_moves_is_no_calm() {
    for path in ["data/private", "data/nodes", "modules/ntp", "modules", "elsewhere", "site/data/x"] {
        for (before, after) in [(Some(OLD), Some(NEW)), (None, Some(NEW)), (Some(OLD), None)] {
            let site = site();
            submodule(&site, path, before.or(after));
            if before.is_some() {
                submodule(&site, path, after);
            }
            let found = spots(&site, "HEAD~1 HEAD");
            assert_eq!(found.len(), 1, "{path}: {found:?}");
            assert_eq!((&found[0]["files"][0], found[0].get("standing")), (&Json::from(path), None));
            let id = |commit: Option<&str>| commit.map_or("none", |id| &id[..8]).to_owned();
            let step = format!("{path}: {} -> {}", id(before), id(after));
            assert!(found[0]["message"].as_str().unwrap().ends_with(&step), "{found:?}");
            site.hierad("diff --exit-code HEAD~1 HEAD").is(3);
        }
    }
}

#[test]
fn a_submodule_that_stays_is_not_told() {
    let site = site();
    submodule(&site, "data/private", Some(OLD));
    site.write("data/common.yaml", "motd: hello\nntp: [a, b, c]\n");
    site.git(["commit", "--quiet", "-m", "data", "--", "data/common.yaml"]);
    assert_eq!(spots(&site, "HEAD~1 HEAD"), Vec::<Json>::new());
}

#[test]
fn accepted_submodules_are_not_told() {
    let site = site();
    submodule(&site, "modules/ntp", Some(OLD));
    submodule(&site, "modules/ntp", Some(NEW));
    site.write(".git/hierad.yaml", "accept: {other-version: [modules/*]}\n");
    assert_eq!(spots(&site, "HEAD~1 HEAD"), Vec::<Json>::new());
}

#[test]
fn a_submodule_of_the_work_tree_is_where_its_files_are() {
    let site = site();
    let of = |words: &str| site.sh(&format!("cd data/private && git {words}"));
    site.sh("git init --quiet data/private");
    of("-c user.name=a -c user.email=a@b commit --quiet --allow-empty -m one");
    submodule(&site, "data/private", Some(&of("rev-parse HEAD")));
    // Another repository that lies there is nobody's submodule.
    site.sh("git init --quiet modules/deployed");
    assert_eq!(spots(&site, "HEAD ."), Vec::<Json>::new());
    of("-c user.name=a -c user.email=a@b commit --quiet --allow-empty -m two");
    assert_eq!(spots(&site, "HEAD .").len(), 1);
}

/// Returns the blind spots of a commit that changes the Puppetfile.
fn bump(before: &str, after: &str) -> Vec<Json> {
    let site = site();
    for text in [before, after] {
        site.write("Puppetfile", format!("forge 'https://forge.example'\n\n{text}"));
        site.commit("modules");
    }
    spots(&site, "HEAD~1 HEAD")
}

#[test]
fn modules_of_a_puppetfile_with_other_versions_are_no_calm() {
    let git = "mod 'ntp',\n  :git => 'https://git.example/ntp',\n  :REF => 'v1'\n";
    for (before, after) in [
        ("mod 'puppetlabs-ntp', '9.1.0'\n", "mod 'puppetlabs-ntp', '10.0.0'\n"),
        ("mod 'puppetlabs/ntp'\n", "mod 'puppetlabs/ntp', :latest\n"),
        (&git.replace("REF", "tag"), &git.replace("REF => 'v1'", "tag => 'v2'")),
        (&git.replace("REF", "tag"), &git.replace("REF", "branch")),
        (&git.replace("REF", "commit"), &git.replace("git.example", "git.other.example")),
        (git, &git.replace(":REF => 'v1'", ":install_path => 'site',\n  :REF => 'v1'")),
        ("", "mod 'ntp', '1.0.0'\n"),
        ("mod 'ntp', '1.0.0'\nmod 'x'\n", "mod 'x'\n"),
        ("mod('ntp', '1')\n", "mod('ntp', '2')\n"),
    ] {
        let found = bump(before, after);
        assert_eq!(found.len(), 1, "{before} {after}");
        assert_eq!(found[0]["headline"], "Puppetfile has another version of the module 'ntp'");
        assert!(found[0]["remedy"]["yaml"] == "accept: {other-version: [\"ntp\"]}", "{found:?}");
    }
}

#[test]
fn puppetfiles_that_say_the_same_are_calm() {
    let text = "mod 'ntp', '1.0.0'\nmod 'x', :git => 'y#z'\n";
    for other in [
        "mod 'x', :git => 'y#z'\nmod 'ntp', '1.0.0'\n",
        "# new\nmod  'ntp',\n  '1.0.0' # the last\n\nmod 'x', :git => 'y#z'\n",
        "mod 'ntp', '1.0.0'\nmod 'x', :git => 'y#z'\nmod 'own', '2'\n",
    ] {
        let found = bump(text, other);
        // A module of that name that lies in the repository is read.
        assert_eq!(found, Vec::<Json>::new(), "{other}");
    }
}

/// A file that cannot be read concerns the nodes that read it, and no others.
#[test]
fn a_broken_file_says_nothing_of_other_nodes() {
    let site = Sandbox::of(&format!(
        "{SITE}-- Puppetfile\nmod 'puppetlabs-ntp', '1.0.0'\n-- data/nodes/web01.yaml\nntp::servers: [c]\n"
    ));
    site.files("-- data/common.yaml\nmotd: hello\nntp: [a, b]\nntp::servers: [a]\n");
    site.commit("a key of a module that is not here");
    for broken in ["ntp::servers: [c\n", "ntp::servers: [d]\n"] {
        site.write("data/nodes/web01.yaml", broken);
        site.commit(broken.trim());
        let report = site.hierad("diff --format json").json();
        let codes: Vec<&str> =
            report["blind_spots"].as_array().unwrap().iter().filter_map(|spot| spot["code"].as_str()).collect();
        assert_eq!((codes, &report["nodes"]["changed"]), (vec![], &1.into()), "{broken}");
    }
}
