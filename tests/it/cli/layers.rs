//! Layers outside of the repository: the global one, folders of modules, options in the settings.

use crate::support::Sandbox;
use crate::support::git_in;
use crate::support::terminal::{SITE, changes};

fn lookup(site: &Sandbox, key: &str) -> String {
    let printed = site.hierad(&format!("lookup {key} --node web01 --render-as s"));
    if printed.status == 0 { printed.out.trim_end().to_owned() } else { printed.err }
}

/// Writes files beside the repository, as `Sandbox::files` does in it.
fn beside(site: &Sandbox, text: &str) {
    for file in text.split("-- ").skip(1) {
        let (path, content) = file.split_once('\n').unwrap();
        let path = site.beside(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

const GLOBAL: &str = "
-- etc/hiera.yaml
version: 5
hierarchy: [{name: Global, path: '%{trusted.certname}.yaml'}]
-- etc/data/web01.yaml
motd: global
only: global
";

#[test]
fn global_layer_on_disk() {
    let site = Sandbox::of(SITE);
    beside(&site, GLOBAL);
    assert_eq!(lookup(&site, "motd --profiles profiles"), "hello");
    assert_eq!(lookup(&site, "motd --profiles profiles --global-hiera-config ../etc/hiera.yaml"), "global");
    site.settings("profiles: profiles\nglobal_hiera_config: ../etc/hiera.yaml\n");
    assert_eq!(lookup(&site, "motd"), "global");
    assert_eq!(lookup(&site, "motd --global-hiera-config none"), "hello");
    let rendered = site.hierad("render --format ndjson --node web01");
    assert!(rendered.ok().contains(r#""only":"global""#), "{rendered:?}");
    let explained = site.hierad("lookup motd --node web01 --explain");
    assert!(explained.ok().contains("/etc/data/web01.yaml:1 (Global)"), "{explained:#?}");
    // It is the same on both sides of a commit.
    site.files("-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    site.commit("bye");
    assert_eq!(changes(&site.hierad("diff --format json").json()), ["motd changed db01"]);
}

#[test]
fn faults_of_the_global_layer_name_its_file() {
    let site = Sandbox::of(SITE);
    beside(&site, GLOBAL);
    site.settings("profiles: profiles\nglobal_hiera_config: ../etc/hiera.yaml\n");
    beside(&site, "-- etc/data/web01.yaml\nmotd: [\n");
    let failed = lookup(&site, "motd");
    assert!(failed.contains("Lookup of key 'lookup_options' failed: Unable to parse ("), "{failed}");
    assert!(failed.contains("etc/data/web01.yaml): "), "{failed}");
    beside(&site, "-- etc/hiera.yaml\nversion: 4\n");
    let failed = lookup(&site, "motd");
    assert!(failed.contains("hiera.yaml version 4 cannot be used in the global layer"), "{failed}");
    std::fs::remove_file(site.beside("etc/hiera.yaml")).unwrap();
    beside(&site, "-- etc/data/common.yaml\nmotd: implied\n");
    assert_eq!(lookup(&site, "motd"), "implied");
    let check = site.hierad("check");
    assert!(
        check.out.contains("etc/hiera.yaml: warning: there is no hiera.yaml of the global layer here"),
        "{check:#?}"
    );
}

#[test]
fn global_layer_in_the_data_repository() {
    let site = Sandbox::of(SITE);
    site.files("-- global/hiera.yaml\nversion: 5\n-- global/data/common.yaml\nmotd: global\n");
    site.commit("global");
    site.files("-- global/data/common.yaml\nmotd: more global\n");
    site.commit("more global");
    // A file in the work tree is that of each commit, however it is named.
    for setting in ["{path: global/hiera.yaml}", "global/hiera.yaml"] {
        site.write("hierad.yaml", format!("profiles: profiles\nglobal_hiera_config: {setting}\n"));
        assert_eq!(changes(&site.hierad("diff --format json").json()), ["motd changed db01,web01"]);
        assert_eq!(changes(&site.hierad("diff HEAD~2 HEAD~1 --format json").json()), ["motd changed db01,web01"]);
    }
}

#[test]
fn global_layer_in_another_repository() {
    let site = Sandbox::of(SITE);
    let other = Sandbox::of("-- puppet/hiera.yaml\nversion: 5\n-- puppet/data/common.yaml\nmotd: first\n");
    let first = other.id("HEAD");
    other.files("-- puppet/data/common.yaml\nmotd: second\n");
    other.commit("second");
    let bare = site.beside("bare.git");
    git_in(other.root(), ["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    for (repo, rev, expected) in [
        (other.root(), "", "second"),
        (other.root(), &*format!(", rev: {first}"), "first"),
        (bare.as_path(), ", rev: main", "second"),
    ] {
        let setting = format!("{{repo: {}{rev}, path: puppet/hiera.yaml}}", repo.display());
        site.settings(format!("profiles: profiles\nglobal_hiera_config: {setting}\n"));
        assert_eq!(lookup(&site, "motd"), expected, "{setting}");
        let explained = site.hierad("lookup motd --node web01 --explain");
        assert!(explained.ok().contains("/puppet/data/common.yaml:1 (Common)"), "{explained:#?}");
    }
    // Trust hangs on it, so that it is one exact reference.
    other.git(["tag", "v1"]);
    for rev in ["HEAD~1", "v1"] {
        let setting = format!("{{repo: {}, rev: {rev}, path: puppet/hiera.yaml}}", other.root().display());
        site.settings(format!("profiles: profiles\nglobal_hiera_config: {setting}\n"));
        site.hierad("lookup motd --node web01").fails(&["is not a branch, and its code or settings would be trusted"]);
    }
}

const MODULE: &str = "
-- base/m/hiera.yaml
version: 5
-- base/m/data/common.yaml
m::a: outside
";

#[test]
fn modules_may_lie_outside() {
    let site = Sandbox::of(SITE);
    beside(&site, MODULE);
    assert!(lookup(&site, "m::a --profiles profiles").contains("no data"));
    assert_eq!(lookup(&site, "m::a --profiles profiles --basemodulepath ../base"), "outside");
    let base = site.beside("base").display().to_string();
    assert_eq!(lookup(&site, &format!("m::a --profiles profiles --modulepath modules:{base}")), "outside");
    site.settings("profiles: profiles\nbasemodulepath: ../base\n");
    assert_eq!(lookup(&site, "m::a"), "outside");
    let rendered = site.hierad("render --format ndjson --node web01");
    assert!(rendered.ok().contains(r#""m::a":"outside""#), "{rendered:?}");
    site.settings("profiles: profiles\nmodulepath: [modules]\nbasemodulepath: [../base]\n");
    assert!(lookup(&site, "m::a").contains("no data"));
    site.files("-- environment.conf\nmodulepath = site:/opt/modules\n");
    site.commit("modulepath");
    site.write("hierad.yaml", "profiles: profiles\n");
    let check = site.hierad("check");
    assert!(
        check.out.contains("environment.conf: note: modules in /opt/modules are outside the repository"),
        "{check:#?}"
    );
    assert!(check.out.contains("environment.conf: note: site is in the modulepath, but is not a folder"), "{check:#?}");
    site.settings(format!("profiles: profiles\ndatadirs: {{/opt/modules: {base}}}\n"));
    assert_eq!(lookup(&site, "m::a"), "outside");
    site.settings(format!("profiles: profiles\nmodulepath: ['{base}']\n"));
    assert_eq!(lookup(&site, "m::a"), "outside");
}

#[test]
fn declared_but_missing_modules_are_reported() {
    let site = Sandbox::of(SITE);
    site.files("-- Puppetfile\nmod 'puppetlabs-ntp', '9.0.0'\nmod 'puppetlabs-apache'\n-- data/common.yaml\nntp::servers: [a]\n");
    site.commit("modules");
    let check = site.hierad("check --profiles profiles");
    let told = "Puppetfile:1: note: module ntp is not in the modulepath: its data is not searched [absent-module]";
    assert!(check.out.contains(told), "{check:#?}");
    assert!(!check.out.contains("module apache"), "no key of it: {check:#?}");
    let missing = lookup(&site, "apache::port --profiles profiles");
    assert!(missing.contains("Puppetfile:2: module apache is not in the modulepath"), "{missing}");
}

#[test]
fn options_in_the_settings_win() {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/nodes/web01.yaml\nlist: [1]\n-- data/common.yaml\nlist: [2]\nlookup_options: {list: {merge: first}}\n",
    );
    site.commit("list");
    let list = || lookup(&site, "list").replace(char::is_whitespace, "");
    site.write("hierad.yaml", "profiles: profiles\n");
    assert_eq!(list(), "[1]");
    for key in ["list", "^li"] {
        site.write("hierad.yaml", format!("profiles: profiles\nlookup_options: {{{key}: {{merge: unique}}}}\n"));
        assert_eq!(list(), "[1,2]", "{key}");
    }
    assert_eq!(lookup(&site, "list --merge first").replace(char::is_whitespace, ""), "[1]");
}

#[test]
fn hierads_own_files_are_no_data() {
    let site = Sandbox::of(SITE);
    site.write("hierad.yaml", "profiles: [profiles]\n");
    site.commit("settings");
    let rendered = site.hierad("render --format ndjson --node web01");
    assert!(!rendered.ok().contains("facts"), "{rendered:?}");
    // A profile in the folder of the data is no data either, and one in the folder of profiles is no data file.
    site.write("profiles/web01.yaml", "name: web01\nfacts: {x: 1}\n");
    site.commit("a fact");
    let json = site.hierad("diff --format json").json();
    let keys = json["keys"]["total"].as_u64();
    assert_eq!(keys, site.hierad("diff HEAD~2 HEAD~1 --format json").json()["keys"]["total"].as_u64());
    for key in ["name", "facts", "profiles"] {
        assert!(!rendered.out.contains(&format!("\"{key}\":")), "{rendered:?}");
    }
}

#[test]
fn hidden_files_are_read_as_data() {
    let site = Sandbox::of(SITE);
    site.files("-- hiera.yaml\nversion: 5\nhierarchy: [{name: H, path: .hidden.yaml}]\n-- data/.hidden.yaml\nreached: 1\n-- data/.other.yaml\nunreached: 1\n");
    site.commit("hidden");
    let rendered = site.hierad("render --format ndjson --node web01");
    assert!(rendered.ok().contains(r#""reached":1"#) && !rendered.out.contains("unreached"), "{rendered:?}");
    site.files("-- data/.hidden.yaml\nreached: 2\n-- data/.other.yaml\nunreached: 2\n");
    site.commit("changed");
    assert_eq!(changes(&site.hierad("diff --format json").json()), ["reached changed db01,web01"]);
}

#[test]
fn classes_of_hiera_3_are_declared() {
    let site = Sandbox::of(SITE);
    beside(&site, "-- etc/hiera.yaml\nversion: 5\nhierarchy: [{name: Old, hiera3_backend: mongodb}]\n");
    site.settings("profiles: profiles\nglobal_hiera_config: ../etc/hiera.yaml\n");
    // As Puppet does where its gem is not installed.
    assert_eq!(lookup(&site, "motd"), "hello");
    let absent = "the backend 'mongodb' of Hiera 3 counts as not installed";
    assert!(site.hierad("check").out.contains(absent), "{:#?}", site.hierad("check"));
    site.commit("settings");
    site.files("-- data/common.yaml\nmotd: changed\n");
    assert_eq!(site.hierad("diff . --format json").json()["blind_spots"][0]["code"], "absent-backend");
    let backends = "backends: {mongodb: {not_found: true}}";
    site.settings(format!("profiles: profiles\nglobal_hiera_config: ../etc/hiera.yaml\n{backends}\n"));
    assert!(!site.hierad("check").out.contains(absent));
    site.commit("declared");
    site.files("-- data/common.yaml\nmotd: again\n");
    assert_eq!(site.hierad("diff . --format json").json()["blind_spots"], serde_json::json!([]));
    let values = "backends: {mongodb: {values: values.yaml}}";
    site.write("values.yaml", "motd: declared\n");
    site.settings(format!("profiles: profiles\nglobal_hiera_config: ../etc/hiera.yaml\n{values}\n"));
    assert_eq!(lookup(&site, "motd"), "declared");
}

#[test]
fn settings_in_a_modulepath_are_defaults() {
    let site = Sandbox::of(SITE);
    site.files("-- environment.conf\nmodulepath = $environmentpath/$environment/site:$codedir/modules\n-- site/m/hiera.yaml\nversion: 5\n-- site/m/data/common.yaml\nm::a: site\n");
    beside(&site, MODULE.replace("base/m", "base/n").replace("m::", "n::").as_str());
    site.commit("modulepath");
    let base = site.beside("base").display().to_string();
    site.settings(format!("profiles: profiles\ndatadirs:\n  '/etc/puppetlabs/code/environments/%{{environment}}': .\n  /etc/puppetlabs/code/modules: {base}\n"));
    assert_eq!(lookup(&site, "m::a"), "site");
    assert_eq!(lookup(&site, "n::a"), "outside");
    site.write("hierad.yaml", "profiles: profiles\ndatadirs: {/etc/puppetlabs: none}\n");
    assert!(lookup(&site, "m::a").contains("no data"));
    site.write("hierad.yaml", "profiles: profiles\n");
    let check = site.hierad("check");
    assert!(check.out.contains("modules in /etc/puppetlabs/code/modules are outside the repository"), "{check:#?}");
}

#[test]
#[cfg(unix)]
fn what_lies_in_the_work_tree_is_that_of_each_commit_however_it_is_named() {
    let site = Sandbox::of(SITE);
    let levels = |datadir: &str| {
        format!("-- hiera.yaml\nversion: 5\nhierarchy: [{{name: c, path: c.yaml, datadir: {datadir}}}]\n")
    };
    let module = "-- mods/m/hiera.yaml\nversion: 5\n";
    let value = |value: &str| format!("-- other/c.yaml\nm::k: {value}\n-- mods/m/data/common.yaml\nm::k: {value}\n");
    std::os::unix::fs::symlink("other", site.root().join("near")).unwrap();
    std::os::unix::fs::symlink("repository", site.beside("entry")).unwrap();
    let root = site.root().display().to_string();
    assert!(root.ends_with("/repository"), "{root}");
    let entry = site.beside("entry").display().to_string();
    let own = "c.yaml\nm::k: disk\n-- DIR/m/hiera.yaml\nversion: 5\n-- DIR/m/data/common.yaml\nm::k: disk\n";
    beside(&site, &format!("-- disk/{}", own.replace("DIR", "disk")));
    // Modules that somebody has installed there are no commit's.
    site.write(".git/info/exclude", "ignored\n");
    site.files(&format!("-- ignored/{}", own.replace("DIR", "ignored")));
    let disk = site.beside("disk").display().to_string();
    for (datadir, settings, is_of_commits) in [
        ("/etc/x", format!("datadirs: {{/etc/x: {root}/other}}"), true),
        ("/etc/x", format!("datadirs: {{/etc/x/c.yaml: {root}/other/c.yaml}}"), true),
        ("/etc/x/deep", format!("datadirs: {{/etc/x/deep: {root}/./other/}}"), true),
        ("data", format!("datadirs: {{data: {root}/other}}"), true),
        ("/etc/x", format!("datadirs: {{/etc/x: {entry}/other}}"), true),
        ("/etc/x", format!("datadirs: {{/etc/x: {root}/near}}"), true),
        ("none", format!("modulepath: [{root}/mods]"), true),
        ("none", format!("modulepath: [{entry}/mods]"), true),
        ("none", format!("basemodulepath: [{root}/mods]"), true),
        ("none", format!("basemodulepath: [{entry}/other/../mods]"), true),
        ("/etc/x", format!("datadirs: {{/etc/x: {root}/ignored}}"), false),
        ("none", format!("basemodulepath: [{root}/ignored]"), false),
        ("/etc/x", format!("datadirs: {{/etc/x: {disk}}}"), false),
        ("none", format!("basemodulepath: [{disk}]"), false),
    ] {
        site.files(&format!("{}{module}{}", levels(datadir), value("one")));
        site.commit("one");
        site.files(&value("two"));
        site.commit("two");
        site.files(&value("three"));
        site.write(".git/hierad.yaml", format!("profiles: [../profiles]\n{settings}\n"));
        let report = site.hierad("diff HEAD~1 HEAD");
        assert_eq!(report.out.contains("\"one\" -> \"two\""), is_of_commits, "{settings}: {report:?}");
        let value = if is_of_commits { "two" } else { "disk" };
        assert_eq!(lookup(&site, "m::k"), value, "{settings}");
        site.commit("three");
    }
}
