//! Modules that a Puppetfile takes from git, read from the clones that r10k and g10k keep.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::extent::full_or;
use crate::support::random::Random;
use crate::support::twin::{HELP, agree, beside, make, report};

const SITE: &str = "-- hierad.yaml
profiles: [profiles]
-- hiera.yaml
version: 5
hierarchy:
  - {name: Shared, datadir: modules/shared/data, path: common.yaml}
  - {name: Common, path: common.yaml}
-- environment.conf
modulepath = site:modules:thirdparty
-- data/common.yaml
a: 1
from: common
-- profiles/n1.yaml
{name: n1}
-- .git/hierad.yaml
module_clones: ../../cache
";

/// `fetch NAME CLONE` brings the bare clone up to date; `module NAME` makes a module with data; `pf NAME REST` writes a
/// line of the Puppetfile; `dep NAME REVISION FOLDER` has the twin have the module.
const OWN: &str = "
fetch() { rm -rf ../cache/$2; mkdir -p ../cache; git clone --quiet --mirror ../$1 ../cache/$2; }
module() { src $1 hiera.yaml 'version: 5\\nhierarchy: [{name: c, path: c.yaml}]\\n'; src $1 data/c.yaml \"$1::x: 1\\n\"; }
pf() { echo \"mod '$1', $2\" >>Puppetfile; }
dep() { echo \"mkdir -p $3; git -C \\$1/$1 archive $2 | tar -x -C $3\" >>deploy.sh; }
new() { rm -f Puppetfile deploy.sh; touch Puppetfile deploy.sh; }
";

const DEPLOY: &str = "sh ./deploy.sh ..; rm -f deploy.sh Puppetfile";

fn commit(site: &Sandbox, script: &str) {
    site.sh(&format!("{HELP}{OWN}new; {script}"));
    site.commit("a commit");
}

/// A module `ntp` with the tag `v1`, then `v2` and the branch `main`, in a clone that is called so.
fn sources(clone: &str) -> String {
    format!(
        "module ntp; git -C ../ntp tag -a -m one v1; src ntp data/c.yaml '# two\\nntp::x: 2\\nntp::y: 1\\n'
        git -C ../ntp tag v2; git -C ../ntp branch next; src ntp data/c.yaml 'ntp::x: 3\\n'; fetch ntp {clone}\n"
    )
}

const R10K: &str = "https---git.example-ntp.git";
const URL: &str = "git: 'https://git.example/ntp.git'";

#[test]
fn modules_of_a_puppetfile_are_read_as_files_of_the_repository() {
    let bump = |more: &str, folder: &str| {
        ["v1", "v2"].map(|tag| format!("pf ntp \"{URL}, tag: '{tag}'{more}\"; dep ntp {tag} {folder}"))
    };
    let step = |clone: &str, line: [&str; 2]| {
        let [before, after] = [("v1", line[0]), ("v2", line[1])]
            .map(|(tag, line)| format!("pf ntp \"{line}\"; dep ntp {tag} modules/ntp"));
        (format!("{}{before}", sources(clone)), after)
    };
    let [v1, v2] = bump("", "modules/ntp");
    let all = sources(R10K);
    let git = |rest: &str| format!("{URL}, {rest}");
    for (what, (before, after)) in [
        ("a tag", (format!("{all}{v1}"), v2.clone())),
        ("one that comes", (all.clone(), v1.clone())),
        ("one that goes", (format!("{all}{v2}"), "true".to_owned())),
        ("beside other data", (format!("{all}{v1}"), format!("{v2}; put data/common.yaml 'a: 2\\nntp::x: 7\\n'"))),
        ("a folder", {
            let [before, after] = bump(", install_path: 'thirdparty'", "thirdparty/ntp");
            (format!("{all}{before}"), after)
        }),
        ("a folder for all", {
            let [before, after] = bump("", "thirdparty/ntp");
            let directory = "echo \"moduledir 'thirdparty'\" >>Puppetfile; ";
            (format!("{all}{directory}{before}"), format!("{directory}{after}"))
        }),
        ("refs", step(R10K, [&git("ref: 'v1'"), &git("ref: 'next'")])),
        ("a branch", step(R10K, [&git("tag: 'v1'"), &git("branch: 'next'")])),
        ("arrows", step(R10K, [":git => 'https://git.example/ntp.git', :tag => 'v1'", ":git => 'https://git.example/ntp.git',\n  :tag => 'v2', :exclude_spec => true"])),
        ("a branch that is not there", step(R10K, [&git("tag: 'v1'"), &git("branch: 'gone', default_branch: 'next'")])),
        ("no branch of the site", step(R10K, [&git("tag: 'v1', link: false"), &git("branch: 'next', link: false")])),
        ("what g10k says as well", step(R10K, [&git("tag: 'v1'"), ":git => 'https://git.example/ntp.git', :branch => 'next', :ignore-unreachable => true, :use_ssh_agent => false"])),
        ("other branches of g10k", step(R10K, [&git("tag: 'v1'"), &git("branch: 'gone', fallback: 'none|next|main'")])),
        ("a branch in the place of the default", step(R10K, [&git("tag: 'v1'"), &git("branch: 'gone', default_branch: 'main', default_branch_override: 'next'")])),
        ("a default in the place of that", step(R10K, [&git("tag: 'v1'"), &git("branch: 'gone', default_branch_override: 'none', default_branch: 'next'")])),
        ("common options", step(R10K, [&git("tag: 'v1'"), "type: 'git', source: 'https://git.example/ntp.git', version: 'v2'"])),
        ("a symbol in quotes", step(R10K, [&git("tag: 'v1'"), ":'git' => 'https://git.example/ntp.git', :\\\"tag\\\" => 'v2'"])),
        ("an id", step(R10K, [&git("commit: '$(git -C ../ntp rev-parse v1^{commit})'"), &git("commit: '$(git -C ../ntp rev-parse --short=9 v2)'")])),
        ("an author", {
            let named = |text: &str| text.replace("pf ntp", "pf acme/ntp");
            (format!("{all}{}", named(&v1)), named(&v2))
        }),
        ("the clones of g10k", step("modules/https-__git.example_ntp.git", [&git("tag: 'v1'"), &git("tag: 'v2'")])),
        ("those of code manager", step("git/https---git.example-ntp.git", [&git("tag: 'v1'"), &git("tag: 'v2'")])),
        ("an address with a user", step("https---git.example-ntp.git", ["git: 'https://me:pw@git.example/ntp.git', tag: 'v1'", "git: 'https://me:pw@git.example/ntp.git', tag: 'v2'"])),
        ("an address of ssh", step("git@git.example-ntp.git", ["git: 'git@git.example:ntp.git', tag: 'v1'", "git: 'git@git.example:ntp.git', tag: 'v2'"])),
        (
            "a level in a module",
            (
                format!("{} pf shared \"git: '../shared', tag: 'v1'\"; dep shared v1 modules/shared", "src shared data/common.yaml 'from: one\\n'
                    git -C ../shared tag v1; src shared data/common.yaml 'from: two\\n'; git -C ../shared tag v2; fetch shared ..-shared;"),
                "pf shared \"git: '../shared', tag: 'v2'\"; dep shared v2 modules/shared".to_owned(),
            ),
        ),
    ] {
        let site = Sandbox::of(SITE);
        commit(&site, &before);
        commit(&site, &after);
        make(&site, &["HEAD~1", "HEAD"], DEPLOY);
        agree(&site, what);
    }
}

fn spots<'r>(report: &'r Json, code: &str) -> Vec<&'r str> {
    let spots = report["blind_spots"].as_array().unwrap().iter().filter(|spot| spot["code"] == code);
    spots.map(|spot| spot["message"].as_str().unwrap()).collect()
}

#[test]
fn modules_that_are_not_at_hand_are_told_with_both_versions() {
    let line = |rest: &str| format!("pf ntp \"{URL}, {rest}\"");
    for (what, before, after, versions) in [
        ("no tag", line("tag: 'v1'"), line("tag: 'v3'"), ["tag: 'v1'", "tag: 'v3'"]),
        ("no commit", line("commit: '1111111111'"), line("tag: 'v2'"), ["commit: '1111111111'", "tag: 'v2'"]),
        ("another address", line("tag: 'v1'"), line("tag: 'v2'").replace("ntp.git", "x.git"), ["ntp.git", "x.git"]),
        (
            "a version of the forge",
            "pf ntp \"'9.1.0'\"".to_owned(),
            "pf ntp \"'10.1.0'\"".to_owned(),
            ["9.1.0", "10.1.0"],
        ),
        ("from the forge to git", "pf ntp \"'9.1.0'\"".to_owned(), line("tag: 'v2'"), ["9.1.0", "v2"]),
        (
            "the branch of the environment",
            line("tag: 'v1'"),
            line("branch: :control_branch, default_branch: 'main'"),
            ["v1", ":control_branch"],
        ),
        ("several revisions", line("tag: 'v1'"), line("tag: 'v1', ref: 'v2'"), ["tag: 'v1'", "ref: 'v2'"]),
        (
            "a path out of the clones",
            "pf ntp \"git: '..', tag: 'v1'\"".to_owned(),
            "pf ntp \"git: '..', tag: 'v2'\"".to_owned(),
            ["v1", "v2"],
        ),
        ("a notation", line("tag: 'v1'"), line("ref: 'v2~1'"), ["v1", "v2~1"]),
        ("an option of others", line("tag: 'v1'"), line("tag: 'v2', link: true"), ["v1", "v2"]),
        (
            "the latest of the forge",
            "pf ntp \"'9.1.0'\"".to_owned(),
            "pf ntp \":latest\"".to_owned(),
            ["9.1.0", ":latest"],
        ),
        ("common options", line("tag: 'v1'"), "pf ntp \"type: 'forge', version: '9.1.0'\"".to_owned(), ["v1", "9.1.0"]),
        (
            "the branch of the environment, or another",
            line("branch: :control_branch, default_branch: 'main'"),
            line("branch: :control_branch, default_branch_override: 'next', default_branch: 'main'"),
            ["default_branch: 'main'", "default_branch_override: 'next'"],
        ),
        (
            "what g10k says as well",
            "pf ntp \"'9.1.0', :ignore-unreachable => true\"".to_owned(),
            "pf ntp \"'9.2.0', :ignore-unreachable => true\"".to_owned(),
            ["9.1.0", "9.2.0"],
        ),
        ("another folder", line("tag: 'v1'"), line("tag: 'v2', install_path: '/srv'"), ["v1", "v2"]),
    ] {
        let site = Sandbox::of(SITE);
        commit(&site, &format!("{}{before}", sources(R10K)));
        commit(&site, &after);
        let found = site.hierad("diff --format json").json();
        let texts = spots(&found, "other-version");
        assert!(texts.iter().any(|text| versions.iter().all(|version| text.contains(version))), "{what}: {found:#}");
        // What one side alone can read is no change, but for a module that goes elsewhere.
        let status = if what == "another folder" { 2 } else { 3 };
        assert_eq!(site.hierad("diff --exit-code").status, status, "{what}");
    }
    // A branch and a tag of one name are told apart by tools in ways of their own.
    let site = Sandbox::of(SITE);
    let both = "git -C ../ntp branch v2 v1; fetch ntp https---git.example-ntp.git; ";
    commit(&site, &format!("{}{both}{}", sources(R10K), line("tag: 'v1'")));
    commit(&site, &line("tag: 'v2'"));
    assert_eq!(spots(&site.hierad("diff --format json").json(), "other-version").len(), 1);
}

#[test]
fn a_module_that_changes_nothing_is_calm() {
    let line = |rest: &str| format!("pf ntp \"{URL}, {rest}\"");
    for (before, after) in [
        (line("tag: 'v2'"), line("branch: 'next'")),
        (line("tag: 'v2'"), line("branch: 'gone', default_branch: 'next'")),
        (line("branch: 'main'"), format!("{}; echo '# words' >>Puppetfile", line("branch: 'main'"))),
        // A module of the repository itself is nowhere else.
        ("put modules/own/x y".to_owned(), "pf own 'local: true'".to_owned()),
        ("put modules/own/x y; pf own ':local'".to_owned(), "pf own \"type: 'local'\"".to_owned()),
        // Nothing that the site has in the repository is taken from elsewhere.
        (format!("put modules/ntp/x y; put site/ntp/x y; {}", line("tag: 'v1'")), line("tag: 'v2'")),
    ] {
        let site =
            Sandbox::of(&SITE.replace("  - {name: Shared, datadir: modules/shared/data, path: common.yaml}\n", ""));
        commit(&site, &format!("{}{before}", sources(R10K)));
        commit(&site, &after);
        let printed = site.hierad("diff --exit-code");
        assert_eq!(printed.status, 0, "{before} / {after}: {printed:#?}");
    }
}

#[test]
fn levels_in_modules_that_are_not_at_hand_are_told() {
    for (level, line) in [
        ("datadir: modules/h/data, path: common.yaml", "mod 'h', git: 'https://git.example/h.git', tag: '1.0'"),
        ("datadir: data, path: '../modules/h/data/%{trusted.certname}.yaml'", "mod 'acme-h', '1.0.0'"),
        ("path: h/common.yaml", "mod 'h', :git => 'x', :install_path => 'data'"),
        ("path: h/common.yaml", "moduledir 'data'\nmod 'h', '1'"),
        ("datadir: modules/h/data, glob: '*.yaml'", "mod 'h', git: 'x', branch: ENV['x']"),
    ] {
        let site = Sandbox::of(&SITE.replace("datadir: modules/shared/data, path: common.yaml", level));
        site.write("Puppetfile", format!("{line}\n"));
        site.commit("a Puppetfile");
        site.write("data/common.yaml", "a: 2\nfrom: common\n");
        site.commit("data");
        let found = site.hierad("diff --format json").json();
        assert_eq!(spots(&found, "outside-repository").len(), 1, "{level}: {found:#}");
        let checked = site.hierad("check");
        assert!(checked.out.contains("is another repository"), "{level}: {checked:#?}");
    }
}

#[test]
fn settings_of_the_tree_name_no_clones() {
    let site = Sandbox::of(SITE);
    commit(&site, &format!("{}pf ntp \"{URL}, tag: 'v1'\"", sources(R10K)));
    commit(&site, &format!("pf ntp \"{URL}, tag: 'v2'\""));
    site.hierad("diff --exit-code").is(2);
    site.sh("rm .git/hierad.yaml");
    site.write("hierad.yaml", "profiles: [profiles]\nmodule_clones: ../cache\n");
    let printed = site.hierad("diff --exit-code");
    printed.is(3).says(&["'module_clones'"]);
}

#[test]
fn random_bumps_of_modules_are_changes_of_files() {
    let (mut random, bumps) = (Random::new(12), full_or(100, 8));
    let site = Sandbox::of(&SITE.replace("site:modules", "modules"));
    let mut script = String::new();
    for module in 0..10 {
        _ = writeln!(script, "module m{module}; git -C ../m{module} tag v0");
        for version in 1..5 {
            let (file, value) = (["c", "d", "e"][random.below(3)], random.below(9));
            let change = match random.below(3) {
                0 => format!("src m{module} README.md '{version}'"),
                1 => format!(
                    "src m{module} hiera.yaml 'version: 5\\nhierarchy: [{{name: x, path: {file}.yaml}}, {{name: c, path: c.yaml}}]\\n'"
                ),
                _ => format!(
                    "src m{module} data/{file}.yaml '# {version}\\nm{module}::x: {value}\\nm{module}::{file}: {version}\\n'"
                ),
            };
            script += &change;
            _ = writeln!(script, "; git -C ../m{module} tag v{version}");
        }
        _ = writeln!(script, "fetch m{module} git.example-m{module}");
    }
    let mut versions = [0; 10];
    for bump in 0..=bumps {
        for _ in 0..=random.below(2) {
            versions[random.below(10)] = random.below(5);
        }
        for (module, version) in versions.iter().enumerate() {
            let line = format!("git: 'git.example/m{module}', tag: 'v{version}'");
            _ = writeln!(script, "pf m{module} \"{line}\"; dep m{module} v{version} modules/m{module}");
        }
        if random.below(3) == 0 {
            _ = writeln!(script, "put data/common.yaml 'a: {bump}\\nm{}::x: over\\n'", random.below(10));
        }
        commit(&site, &std::mem::take(&mut script));
    }
    let revisions: Vec<String> = (0..=bumps).rev().map(|back| format!("HEAD~{back}")).collect();
    make(&site, &revisions.iter().map(String::as_str).collect::<Vec<_>>(), DEPLOY);
    for back in 0..bumps {
        let words = format!("diff HEAD~{} HEAD~{back} --format json", back + 1);
        let [own, twin] = ["repository", "twin"].map(|folder| report(&beside(&site, folder, &words)));
        assert_eq!(own, twin, "{words}: {own:#}\n{twin:#}");
    }
}

#[test]
fn each_environment_has_the_modules_of_its_own_puppetfile() {
    let at = |name: &str, rest: &str| {
        format!("cd environments/{name}; rm -f Puppetfile; touch Puppetfile; pf ntp \"{URL}, {rest}\"; cd ../..\n")
    };
    let module = |name: &str, text: &str| format!("environments/{name}/Puppetfile has {text}");
    for (before, after, status, said) in [
        (at("a", "tag: 'v1'"), at("a", "tag: 'v2'"), 2, "1 of 2 nodes: na".to_owned()),
        (at("b", "tag: 'v1'"), at("b", "tag: 'v2'"), 2, "1 of 2 nodes: nb".to_owned()),
        ("true".to_owned(), at("b", "tag: 'v1'"), 2, "added  ntp::x: 1".to_owned()),
        (
            at("a", "tag: 'v1'") + &at("b", "tag: 'v2'"),
            at("a", "tag: 'v2'") + &at("b", "tag: 'v1'"),
            2,
            "ntp::x: 2 -> 1".to_owned(),
        ),
        (at("a", "tag: 'v1'") + &at("b", "tag: 'v2'"), at("b", "branch: 'next'"), 0, "no effective change".to_owned()),
        // What one side alone can read is no change.
        (
            at("a", "tag: 'v1'") + &at("b", "tag: 'v1'"),
            at("b", "tag: 'v9'"),
            3,
            module("b", "another version of the module 'ntp'"),
        ),
        (
            at("a", "tag: 'v8'") + &at("b", "tag: 'v8'"),
            at("a", "tag: 'v9'") + &at("b", "tag: 'v7'"),
            3,
            "2 Puppetfiles have another version of the module 'ntp'".to_owned(),
        ),
        // In an environment that no node is in.
        (at("c", "tag: 'v1'"), at("c", "tag: 'v2'"), 3, "unreached".to_owned()),
        (
            format!(
                "echo 'modulepath = modules:../../modules' >environments/a/environment.conf; pf ntp \"{URL}, tag: 'v1'\""
            ),
            format!("pf ntp \"{URL}, tag: 'v2'\""),
            2,
            "1 of 2 nodes: na".to_owned(),
        ),
    ] {
        let site = Sandbox::of(SITE);
        let environments = "git rm -rq --cached hiera.yaml data; for name in a b c; do mkdir -p environments/$name/data
            printf 'version: 5\\nhierarchy: [{name: c, path: c.yaml}]\\n' >environments/$name/hiera.yaml; echo 'a: 1' >environments/$name/data/c.yaml
            printf '{name: n%s, environment: %s}' $name $name >profiles/n$name.yaml; done; rm -r profiles/n1.yaml profiles/nc.yaml hiera.yaml data
            echo \"hiera_config: 'environments/%{environment}/hiera.yaml'\" >>hierad.yaml\n";
        commit(&site, &format!("{}{environments}{before}", sources(R10K)));
        commit(&site, &after);
        let printed = site.hierad("diff --exit-code");
        assert_eq!(printed.status, status, "{before} / {after}: {printed:#?}");
        let is_there = said == "unreached" || printed.out.contains(&said);
        assert!(is_there, "{said}: {before} / {after}: {printed:#?}");
    }
}
