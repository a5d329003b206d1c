//! Data in submodules, which are read from their clones as if they were files of the repository.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::extent::is_full;
use crate::support::random::Random;
use crate::support::twin::{HELP, agree, beside, commit, make, report};

/// A site whose first level may lie in a submodule.
const SITE: &str = "-- hierad.yaml
profiles: [profiles]
-- hiera.yaml
version: 5
hierarchy:
  - {name: Private, path: private/secret.yaml}
  - {name: Common, path: common.yaml}
-- environment.conf
modulepath = modules
-- data/common.yaml
a: 1
from: common
-- profiles/n1.yaml
{name: n1}
";

/// A module in a repository of its own.
const MODULE: &str = "src ntp hiera.yaml 'version: 5\\nhierarchy: [{name: c, path: c.yaml}]\\n'
    src ntp data/c.yaml 'ntp::servers: [a]\\nntp::x: 1\\n'; ";

/// The level of a `hiera.yaml` of its own.
fn level(level: &str) -> String {
    format!(
        "put hiera.yaml 'version: 5\\nhierarchy:\\n  - {{name: own, {level}}}\\n  - {{name: c, path: common.yaml}}\\n'; "
    )
}

fn spots(report: &Json) -> Vec<&str> {
    report["blind_spots"].as_array().unwrap().iter().map(|spot| spot["message"].as_str().unwrap()).collect()
}

#[test]
fn submodules_are_read_as_files_of_the_repository() {
    let private = "src priv secret.yaml 'from: one\\n'; take priv data/private";
    let with = |level: &str, rest: &str| format!("{level}{private}; {rest}");
    for (what, before, after) in [
        ("below the datadir", private.to_owned(), "bump data/private secret.yaml 'from: two\\n'"),
        ("a key that comes", private.to_owned(), "bump data/private secret.yaml 'from: one\\n\\nb: 2\\n'"),
        ("one that goes", private.to_owned(), "git rm --quiet data/private"),
        ("one that comes", "src priv secret.yaml 'from: one\\n'".to_owned(), "take priv data/private"),
        (
            "beside other data",
            private.to_owned(),
            "bump data/private secret.yaml 'from: two\\n'; put data/common.yaml 'a: 2\\n'",
        ),
        (
            "files instead",
            private.to_owned(),
            "git rm --quiet data/private; put data/private/secret.yaml 'from: file\\n'",
        ),
        (
            "the datadir",
            format!("{}src priv x.yaml 'a: 7\\n'; take priv shared", level("path: x.yaml, datadir: shared")),
            "bump shared x.yaml 'a: 8\\n'",
        ),
        ("a glob", with(&level("glob: \"*/sec*.yaml\""), ""), "bump data/private secret2.yaml 'from: x\\nz: 1\\n'"),
        (
            "a link to a folder",
            with(&level("path: l/secret.yaml"), "ln -s private data/l"),
            "bump data/private secret.yaml 'from: two\\n'",
        ),
        (
            "a link to a file",
            with(&level("path: l.yaml"), "ln -s private/secret.yaml data/l.yaml"),
            "bump data/private secret.yaml 'from: two\\n'",
        ),
        (
            "a link out of it",
            with("", "put data/other.yaml 'from: other\\n'; bump data/private x y"),
            "(cd data/private; ln -sf ../other.yaml secret.yaml; git commit --quiet --all -m link)",
        ),
        (
            "a module",
            format!("{MODULE}take ntp modules/ntp"),
            "bump modules/ntp data/c.yaml '# x\\nntp::servers: [b]\\n'",
        ),
        (
            "the folder of modules",
            "src all ntp/hiera.yaml 'version: 5\\n'; src all ntp/data/common.yaml 'ntp::x: 1\\n'; take all modules"
                .to_owned(),
            "bump modules ntp/data/common.yaml 'ntp::x: 2\\n'",
        ),
        ("a module that comes", MODULE.to_owned(), "take ntp modules/ntp"),
        (
            "one in another",
            "src in deep.yaml 'from: deep\\n'; src priv secret.yaml 'x: 1\\n'
            (cd ../priv; git submodule --quiet add \"$(cd ../in; pwd)\" inner; git commit --quiet -m inner)
            put hiera.yaml 'version: 5\\nhierarchy: [{name: d, path: private/inner/deep.yaml}]\\n'
            take priv data/private; git submodule --quiet update --init --recursive"
                .to_owned(),
            "bump data/private/inner deep.yaml 'from: deeper\\n'; (cd data/private; git commit --quiet --all -m inner)",
        ),
        (
            "a name of its own",
            "src priv secret.yaml 'from: one\\n'; take priv data/private '--name some/name'".to_owned(),
            "bump data/private secret.yaml 'from: two\\n'",
        ),
        ("one that is moved", with(&level("path: q/secret.yaml"), ""), "git mv data/private data/q"),
        (
            "a git directory in the work tree",
            "src priv secret.yaml 'from: one\\n'; git clone --quiet ../priv data/private; take priv data/private"
                .to_owned(),
            "bump data/private secret.yaml 'from: two\\n'",
        ),
    ] {
        let site = Sandbox::of(SITE);
        commit(&site, &before);
        commit(&site, after);
        // Twins fetch what was committed here.
        site.sh("for s in data/private data/private/inner shared modules modules/ntp; do
            [ ! -e $s/.git ] || git -C $s push --quiet origin HEAD:refs/heads/next; done");
        make(&site, &["HEAD~1", "HEAD"], "true");
        agree(&site, what);
    }
}

/// A site with a submodule below the datadir, which the last commit moves.
fn moved() -> Sandbox {
    let site = Sandbox::of(SITE);
    commit(&site, "src priv secret.yaml 'from: one\\n'; take priv data/private");
    commit(&site, "bump data/private secret.yaml 'from: two\\n'");
    site
}

#[test]
fn linked_work_trees_have_the_submodules_of_the_repository() {
    let site = moved();
    let own = report(&site.hierad("diff --format json"));
    site.sh("git worktree add --quiet --detach ../linked");
    assert_eq!(report(&beside(&site, "linked", "diff --format json")), own);
    // Its own clone counts, too, and is the only one now.
    let clone = "git -C ../linked -c protocol.file.allow=always submodule --quiet update --init";
    site.sh(&format!("git -C data/private push --quiet origin HEAD:refs/heads/next; {clone}; rm -r .git/modules"));
    assert_eq!(report(&beside(&site, "linked", "diff --format json")), own);
    // Files that are not checked out are those of the commit.
    site.sh("git worktree add --quiet --detach ../bare-linked");
    assert_eq!(beside(&site, "bare-linked", "diff HEAD . --exit-code").status, 0);
}

#[test]
fn a_submodule_that_changes_nothing_is_calm() {
    for script in [
        "bump data/private README.md 'words'",
        "bump data/private secret.yaml '# words\\nfrom: two\\n'",
        "git config --file .gitmodules submodule.data/private.url https://git.example/other",
        "git mv data/private data/q; git mv -k data/q data/private",
    ] {
        let site = moved();
        commit(&site, script);
        site.hierad("diff --exit-code").is(0);
    }
}

#[test]
fn submodules_that_are_not_at_hand_are_told() {
    let deinit = "git submodule --quiet deinit --force --all; rm -r .git/modules";
    for (what, script) in [
        ("no clone", deinit.to_owned()),
        ("another clone", format!("{deinit}; git init --quiet --bare .git/modules/data/private")),
        ("no repository", format!("{deinit}; mkdir -p .git/modules/data/private/objects")),
    ] {
        let site = moved();
        let [before, after] =
            ["HEAD~1", "HEAD"].map(|revision| site.git(["rev-parse", &format!("{revision}:data/private")]));
        site.sh(&script);
        let found = site.hierad("diff --format json HEAD~1 HEAD").json();
        let step = format!("data/private: {} -> {}", &before[..8], &after[..8]);
        assert!(spots(&found).iter().any(|text| text.ends_with(&step)), "{what}: {found:#}");
        site.hierad("diff --exit-code HEAD~1 HEAD").is(3);
    }
    // Without a name there is no checkout of it.
    let site = Sandbox::of(SITE);
    commit(&site, "src priv secret.yaml 'from: one\\n'; take priv data/private; git rm --quiet --force .gitmodules");
    commit(&site, "bump data/private secret.yaml 'from: two\\n'");
    site.hierad("diff --exit-code").is(3);
    // A mirror has no clones of submodules; a shallow one may have one of the commits.
    let site = moved();
    site.sh("git clone --quiet --mirror . ../mirror.git");
    let found =
        beside(&site, "mirror.git", &format!("diff --format json --profiles {}/profiles", site.root().display()));
    let found = found.json();
    assert_eq!(found["verdict"], "no_change_seen");
    assert!(spots(&found).iter().any(|text| text.contains("data/private: ")), "{found:#}");
    site.sh("git -C data/private push --quiet origin HEAD:refs/heads/main2; git submodule --quiet deinit --force --all; rm -r .git/modules
        git clone --quiet --bare --depth 1 --branch main2 \"file://$(cd ../priv; pwd)\" .git/modules/data/private");
    let found = site.hierad("diff --format json HEAD~1 HEAD").json();
    assert!(spots(&found).iter().any(|text| text.contains("data/private: ")), "{found:#}");
    assert_eq!(found["verdict"], "no_change_seen", "{found:#}");
}

#[test]
fn the_work_tree_has_the_files_of_its_submodules() {
    let site = moved();
    site.hierad("diff HEAD . --exit-code").is(0);
    // An edit that is not committed, then a commit that the repository does not take yet.
    site.write("data/private/secret.yaml", "from: three\n");
    for script in ["true", "cd data/private && git commit --quiet --all -m three"] {
        site.sh(script);
        let found = site.hierad("diff HEAD . --format json").json();
        assert_eq!(found["changes"][0]["key"], "from", "{script}: {found:#}");
        site.hierad("diff HEAD . --exit-code").is(2);
    }
    // Another repository that lies there is nobody's submodule.
    let site = moved();
    site.sh("git init --quiet data/other; echo 'from: x' >data/other/secret.yaml");
    site.hierad("diff HEAD . --exit-code").is(0);
    // A folder that is left empty is that of the commit.
    site.sh("git submodule --quiet deinit --force data/private");
    site.hierad("diff HEAD . --exit-code").is(0);
}

#[test]
fn a_submodule_leads_nowhere_else() {
    // Another repository of the user, with a commit that a stranger knows.
    let elsewhere = |site: &Sandbox| {
        site.sh(&format!("{HELP}src secret secret.yaml 'from: stolen\\n'; cp -R ../secret/.git ../secret.git; cp -R ../secret/.git .git/x"));
        site.git(["-C", "../secret", "rev-parse", "HEAD"])
    };
    for name in
        ["../x", "../../../secret.git", "a/../../x", "x/../../x", "ABS", "..\\\\\\\\x", "data/private/../../../x"]
    {
        let site = moved();
        let commit = elsewhere(&site);
        let name = name.replace("ABS", site.beside("secret.git").to_str().unwrap());
        site.write(".gitmodules", format!("[submodule \"{name}\"]\n\tpath = data/private\n\turl = x\n"));
        site.git(["add", ".gitmodules"]);
        site.git(["update-index", "--cacheinfo", &format!("160000,{commit},data/private")]);
        site.git(["commit", "--quiet", "-m", "lead out"]);
        let printed = site.hierad("diff HEAD~1 HEAD");
        assert!(!printed.out.contains("stolen"), "{name}: {printed:#?}");
    }
    // A folder of the work tree that is a link is not its folder.
    let site = moved();
    let commit = elsewhere(&site);
    site.git(["update-index", "--cacheinfo", &format!("160000,{commit},data/private")]);
    site.git(["commit", "--quiet", "-m", "lead out"]);
    site.sh("rm -r data/private; ln -s ../../secret data/private");
    let printed = site.hierad("diff HEAD~1 HEAD");
    assert!(!printed.out.contains("stolen"), "{printed:#?}");
    // The configuration of a clone is not read.
    let site = moved();
    let own = report(&site.hierad("diff --format json"));
    site.sh("echo '[garbage' >.git/modules/data/private/config");
    assert_eq!(report(&site.hierad("diff --format json")), own);
}

#[test]
fn random_bumps_of_submodules_are_changes_of_files() {
    let (mut random, bumps) = (Random::new(11), if is_full() { 100 } else { 8 });
    let site = Sandbox::of(SITE);
    let module = |name: usize| {
        format!(
            "src m{name} hiera.yaml 'version: 5\\nhierarchy: [{{name: c, path: c.yaml}}]\\n'
            src m{name} data/c.yaml 'm{name}::a: 0\\nm{name}::b: [x]\\n'; take m{name} modules/m{name}\n"
        )
    };
    commit(&site, &(0..10).map(module).collect::<String>());
    for bump in 0..bumps {
        let name = random.below(10);
        let value = random.below(3);
        let script = match random.below(5) {
            0 => format!("bump modules/m{name} data/c.yaml 'm{name}::a: {value}\\nm{name}::c{bump}: 1\\n'"),
            1 => format!("bump modules/m{name} README.md '{bump}'"),
            2 => format!("bump modules/m{name} data/c.yaml '# {bump}\\nm{name}::b: [x, {value}]\\n'; put data/common.yaml 'a: {bump}\\n'"),
            3 => format!(
                "bump modules/m{name} hiera.yaml 'version: 5\\nhierarchy: [{{name: d, path: d{value}.yaml}}, {{name: c, path: c.yaml}}]\\n'
                bump modules/m{name} data/d{value}.yaml 'm{name}::a: d{bump}\\n'"
            ),
            _ => format!("put data/common.yaml 'm{name}::a: over{value}\\n'; bump modules/m{name} data/c.yaml 'm{name}::a: {bump}\\n'"),
        };
        commit(&site, &script);
    }
    site.sh("for m in modules/*; do git -C $m push --quiet origin HEAD:refs/heads/next; done");
    let revisions: Vec<String> = (0..=bumps).rev().map(|back| format!("HEAD~{back}")).collect();
    make(&site, &revisions.iter().map(String::as_str).collect::<Vec<_>>(), "true");
    for back in 0..bumps {
        let words = format!("diff HEAD~{} HEAD~{back} --format json", back + 1);
        let [own, twin] = ["repository", "twin"].map(|folder| report(&beside(&site, folder, &words)));
        assert_eq!(own, twin, "{words}");
    }
}

#[test]
fn a_submodule_that_a_checkout_no_longer_has_is_no_calm() {
    let other = "printf '[submodule \"data/private\"]\\n\\tpath = %s\\n\\turl = x\\n' ";
    for (script, status) in [
        ("git rm --quiet --cached .gitmodules; rm .gitmodules".to_owned(), 3),
        ("echo >.gitmodules".to_owned(), 3),
        (format!("{other} data/other >.gitmodules"), 3),
        ("echo '[garbage' >>.gitmodules".to_owned(), 3),
        // The same files, whatever they are called and wherever they are fetched.
        (format!("{other} data/private >.gitmodules"), 0),
        ("sed -i 's/\"data.private\"/\"another\"/' .gitmodules".to_owned(), 0),
        ("echo '# a remark' >>.gitmodules".to_owned(), 0),
    ] {
        let site = Sandbox::of(SITE);
        commit(&site, "src priv secret.yaml 'from: one\\n'; take priv data/private");
        commit(&site, &script);
        let printed = site.hierad("diff HEAD~1 HEAD --exit-code");
        assert_eq!(printed.status, status, "{script}: {printed:#?}");
        // As it comes.
        let printed = site.hierad("diff HEAD HEAD~1 --exit-code");
        assert_eq!(printed.status, status, "{script}: {printed:#?}");
    }
}

#[test]
fn attributes_of_a_repository_do_not_count_in_its_submodules() {
    for (outer, inner, status) in [
        ("data/private/*.yaml filter=hide", "x", 2),
        ("secret.yaml working-tree-encoding=UTF-16", "x", 2),
        ("data/private/** filter=hide", "*.md filter=hide", 2),
        // Its own do: every key is unknown.
        ("*.md filter=hide", "*.yaml filter=hide", 1),
    ] {
        let site = Sandbox::of(SITE);
        site.write(".gitattributes", format!("{outer}\n"));
        commit(
            &site,
            &format!(
                "src priv .gitattributes '{inner}\\n'; src priv secret.yaml 'from: one\\n'; take priv data/private"
            ),
        );
        commit(&site, "bump data/private secret.yaml 'from: two\\n'");
        let printed = site.hierad("diff HEAD~1 HEAD --exit-code");
        assert_eq!(printed.status, status, "{outer} / {inner}: {printed:#?}");
    }
}
