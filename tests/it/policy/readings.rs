//! Changes of how the tree is read, together with one that a policy forbids: the reading of the target counts as well.

use super::{DATA, hits, lines};
use crate::support::terminal::SITE;
use crate::support::{Sandbox, git_in};

/// A policy on ports, in settings of the tree.
const SETTINGS: &str = "profiles: [profiles]\npolicies: [{name: ports, level: failure, message: ask, keys: port}]\n";

/// A change that it forbids.
const WEB: &str = "-- data/roles/web.yaml\nport: 81\n";

const LAB: &str = "{name: lab, facts: {os: {family: Debian}}, variables: {role: lab}}\n";

/// A hiera.yaml without the level of roles.
const OTHER: &str = "-- other.yaml\nversion: 5\nhierarchy:\n  - {name: Common, path: common.yaml}\n";

fn site(settings: &str) -> Sandbox {
    Sandbox::of(&format!("{SITE}{DATA}{OTHER}-- lab.yaml\n{LAB}-- hierad.yaml\n{settings}"))
}

/// Makes a branch of `main` with a commit of these files, and without the one that is `removed`.
fn propose(site: &Sandbox, files: &str, removed: &str) {
    site.git(["checkout", "--quiet", "-B", "request", "main"]);
    if !removed.is_empty() {
        site.git(["rm", "--quiet", removed]);
    }
    site.files(files);
    site.commit("a request");
}

#[test]
fn who_changes_the_reading_escapes_no_policy() {
    let site = site(SETTINGS);
    let settings = |more: &str| format!("-- hierad.yaml\n{SETTINGS}{more}\n");
    let profile = |text: &str| format!("-- profiles/web01.yaml\n{text}\n");
    for (name, files, removed) in [
        ("nothing", String::new(), ""),
        ("another hiera.yaml", settings("hiera_config: other.yaml"), ""),
        ("no datadir", settings("datadirs: {data: none}"), ""),
        ("another datadir", format!("{}-- d/common.yaml\nport: 1\n", settings("datadirs: {data: d}")), ""),
        ("Hiera 3", settings("hiera: 3"), ""),
        ("a backend that finds nothing", settings("backends: {yaml_data: {not_found: true}}"), ""),
        ("other nodes", settings("").replace("[profiles]", "[lab.yaml]"), ""),
        ("no policies and other nodes", "-- hierad.yaml\nprofiles: [lab.yaml]\n".to_owned(), ""),
        ("a node of another name", profile("{name: other, variables: {role: lab}}"), ""),
        ("other facts", profile("{name: web01, facts: {os: {family: Debian}}, variables: {role: db}}"), ""),
        ("a node that goes", String::new(), "profiles/web01.yaml"),
        ("a node that is replaced", format!("-- profiles/lab.yaml\n{LAB}"), "profiles/web01.yaml"),
        ("a variable", settings("variables: {role: lab}"), ""),
    ] {
        propose(&site, &format!("{files}{WEB}"), removed);
        site.hierad("diff --exit-code=policies --allow-blind main...HEAD").is(4);
        site.hierad("review --base main --summary ../summary").is(4);
        let report = site.hierad("diff --format json --allow-blind main...HEAD").json();
        let main = site.id("main").to_string();
        assert!(
            lines(&report).iter().any(|hit| hit.starts_with("ports | hit | failure | 1 key on ")),
            "{name}: {report}"
        );
        assert_eq!(report["judge"], main, "{name}");
        if name != "nothing" {
            assert_ne!(report["verdict"], "no_change", "{name}");
        }
    }
    // So it is where flags or trusted settings name the profiles of the tree.
    propose(&site, WEB, "profiles/web01.yaml");
    site.hierad("diff --profiles profiles --exit-code=policies main...HEAD").is(4);
    site.hierad(&format!(
        "diff --profiles {} --exit-code=policies main...HEAD",
        site.root().join("profiles/*").display()
    ))
    .is(4);
    site.write(".git/hierad.yaml", SETTINGS.replace("profiles]", "../profiles]"));
    site.hierad("diff --exit-code=policies main...HEAD").is(4);
}

#[test]
fn who_changes_the_reading_alone_may() {
    let site = site(SETTINGS);
    let settings = |more: &str| format!("-- hierad.yaml\n{SETTINGS}{more}\n");
    for (name, files, removed, verdict) in [
        ("a new node", format!("-- profiles/lab.yaml\n{LAB}"), "", "no_change"),
        ("a node that goes", String::new(), "profiles/web01.yaml", "no_change_seen"),
        ("no policy", "-- hierad.yaml\nprofiles: [profiles]\n".to_owned(), "", "no_change"),
        (
            "a new node and data",
            format!("-- profiles/lab.yaml\n{LAB}-- data/nodes/db01.yaml\nmotd: x\n"),
            "",
            "changes",
        ),
        ("a setting and data", format!("{}-- data/nodes/web01.yaml\nmotd: x\n", settings("puppet: 7")), "", "changes"),
    ] {
        propose(&site, &files, removed);
        site.hierad("review --base main --summary ../summary").is(0);
        let report = site.hierad("diff --format json main...HEAD").json();
        assert_eq!(report["verdict"], verdict, "{name}: {report}");
    }
}

#[test]
fn the_reading_that_judges_must_be_one() {
    let site = site(SETTINGS);
    // The profiles of the target are broken; those of the request are not.
    site.files("-- profiles/web01.yaml\n[\n-- profiles/db01.yaml\n[\n");
    site.commit("broken");
    propose(&site, &format!("{SITE}{DATA}-- hierad.yaml\n{SETTINGS}{WEB}"), "");
    let report = site.hierad("diff --format json main...HEAD").json();
    let found = lines(&report);
    assert!(
        found.iter().any(|hit| hit.starts_with("unreadable-policies | hit | failure | the tree cannot be read")),
        "{found:?}"
    );
    assert_eq!(hits(&site).len(), found.len());
}

#[test]
fn policies_judge_however_they_are_written() {
    for settings in [SETTINGS.replace("policies:", "\"policies\":"), format!("{{{}}}\n", SETTINGS.replace('\n', ", "))]
    {
        let site = site(&settings);
        propose(&site, &format!("-- hierad.yaml\n{settings}# more\n{WEB}"), "profiles/web01.yaml");
        let report = site.hierad("diff --format json main...HEAD").json();
        assert!(lines(&report).iter().any(|hit| hit.starts_with("ports | hit | failure | ")), "{report}");
        assert_eq!(report["judge"], site.id("main").to_string());
    }
}

#[test]
fn a_change_of_the_reading_is_told_whatever_is_checked_out() {
    let other = "-- hierad.yaml\nhiera_config: other.yaml\n";
    let cases: [(&str, String, String, &str); 7] = [
        ("it goes", other.to_owned(), String::new(), "hierad.yaml"),
        ("it comes", String::new(), other.to_owned(), ""),
        ("it changes", other.to_owned(), "-- hierad.yaml\nhiera_config: hiera.yaml\n".to_owned(), ""),
        ("a folder comes in its place", other.to_owned(), "-- hierad.yaml/x\n1\n".to_owned(), "hierad.yaml"),
        ("it is broken", other.to_owned(), "-- hierad.yaml\n]\n".to_owned(), ""),
        ("it was broken", "-- hierad.yaml\n]\n".to_owned(), other.to_owned(), ""),
        ("it is large", other.to_owned(), format!("{other}{}\n", "#".repeat(1 << 20)), ""),
    ];
    for (name, before, after, removed) in &cases {
        let site = Sandbox::of(&format!("{SITE}{DATA}{OTHER}{before}"));
        let profiles = site.beside("nodes");
        std::fs::rename(site.root().join("profiles"), &profiles).unwrap();
        site.commit("profiles elsewhere");
        propose(&site, after, removed);
        site.git(["checkout", "--quiet", "--orphan", "neither"]);
        site.git(["rm", "--quiet", "-rf", "hierad.yaml", "--ignore-unmatch"]);
        site.git(["commit", "--quiet", "--message", "neither"]);
        for out in ["main", "request", "neither"] {
            site.git(["checkout", "--quiet", out]);
            let flags = format!("--profiles {} --format json", profiles.display());
            let told = site.hierad(&format!("diff {flags} main...request")).json();
            assert_eq!(told["verdict"], "no_change_seen", "{name}, {out}: {told}");
            assert_eq!(told["blind_spots"][0]["code"], "changed-settings", "{name}, {out}: {told}");
            site.write(".git/hierad.yaml", format!("profiles: [{}]\n", profiles.display()));
            assert_eq!(site.hierad("diff --format json main...request").json()["verdict"], "no_change_seen", "{name}");
            std::fs::remove_file(site.root().join(".git/hierad.yaml")).unwrap();
        }
    }
}

#[test]
fn a_change_of_the_reading_is_told_where_it_is_trusted() {
    let site = Sandbox::of(&format!("{SITE}{DATA}{OTHER}-- hierad.yaml\nprofiles: [profiles]\n"));
    site.files("-- ci.yaml\nprofiles: [profiles]\n");
    site.commit("settings of another name");
    site.hierad("trust").ok();
    site.hierad("trust ci.yaml").ok();
    for (name, settings, verdict) in [
        ("hierad.yaml", "hiera_config: other.yaml", "no_change_seen"),
        ("hierad.yaml", "variables: {role: lab}", "no_change_seen"),
        ("ci.yaml", "environment: 'on'", "no_change_seen"),
        ("hierad.yaml", "# words", "no_change"),
        ("hierad.yaml", "branches: [main]\nkeep_reports: 2", "no_change"),
        ("ci.yaml", "policies: []", "no_change"),
    ] {
        propose(&site, &format!("-- {name}\nprofiles: [profiles]\n{settings}\n"), "");
        for out in ["main", "request"] {
            site.git(["checkout", "--quiet", out]);
            let report = site.hierad(&format!("diff --config {name} --format json main...request")).json();
            assert_eq!(report["verdict"], verdict, "{name}: {settings}, {out}: {report}");
        }
    }
}

#[test]
fn texts_that_are_obeyed_otherwise_are_another_reading() {
    for (one, other) in [("on", "yes"), ("010", "8"), ("1_0", "10"), ("1.0", "1.00"), ("no", "off")] {
        let settings = |name: &str| format!("-- hierad.yaml\n{SETTINGS}environment: {name}\n");
        let levels = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: E, paths: ['%{environment}.yaml', common.yaml]}]\n";
        let site = Sandbox::of(&format!("{SITE}{DATA}{levels}{}-- data/{one}.yaml\nport: 80\n", settings(one)));
        propose(&site, &settings(other), "");
        assert_eq!(site.hierad("diff --format json main...HEAD").json()["verdict"], "no_change_seen", "{one}");
        site.files(&format!("-- data/{one}.yaml\nport: 81\n"));
        site.commit("data");
        site.hierad("diff --exit-code=policies main...HEAD").is(4);
    }
}

#[test]
fn the_nodes_are_in_the_environment_of_the_target() {
    let levels = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: E, paths: ['env/%{environment}.yaml', common.yaml]}]\n";
    let settings = format!("{SETTINGS}environment: branch\n");
    let site = Sandbox::of(&format!("{SITE}{DATA}{levels}-- hierad.yaml\n{settings}-- data/env/main.yaml\nport: 80\n"));
    for (name, files, status) in [
        ("data of the target's environment", "-- data/env/main.yaml\nport: 81\n", 4),
        ("other data of it", "-- data/env/main.yaml\nport: 80\nmotd: x\n", 0),
        ("data of the environment of the request", "-- data/env/request.yaml\nport: 81\n", 0),
    ] {
        propose(&site, files, "");
        for out in ["main", "request", "request~0"] {
            site.git(["checkout", "--quiet", out]);
            // The request is judged in its own environment, too.
            let status = if name.ends_with("of the request") { 4 } else { status };
            for range in ["main...request", "refs/heads/main...request"] {
                let printed = site.hierad(&format!("diff --exit-code=policies {range}"));
                assert_eq!(printed.status, status, "{name}, {out}: {printed:?}");
            }
            let printed = site.hierad("review --base main --head request --summary ../summary");
            assert_eq!(printed.status, status, "{name}, {out}: {printed:?}");
        }
    }
}

#[test]
fn another_reading_may_read_profiles_twice() {
    let levels = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: R, paths: ['v/%{role}.yaml', common.yaml]}]\n";
    let settings = format!("{SETTINGS}variables: {{role: web}}\n");
    let profiles = "-- profiles/n.yaml\n{name: n, facts: {os: {family: Debian}}}\n";
    let site = Sandbox::of(&format!(
        "{SITE}{DATA}{levels}{profiles}-- hierad.yaml\n{}-- data/v/web.yaml\nh: 5\n",
        settings.replace("[profiles]", "[profiles/n.yaml]").replace("variables", "# the profiles alone\nvariables")
    ));
    let main = settings.replace("[profiles]", "[profiles/n.yaml]");
    for (name, files, status) in [
        ("another fact", "-- profiles/n.yaml\n{name: n, facts: {os: {family: RedHat}}}\n".to_owned(), 0),
        ("a variable", format!("-- hierad.yaml\n{}", main.replace("web", "db")), 0),
        ("another Puppet", format!("-- hierad.yaml\n{main}puppet: 7\n"), 0),
        (
            "a new node",
            format!("-- hierad.yaml\n{}-- profiles/o.yaml\n{{name: o}}\n", main.replace("n.yaml", "?.yaml")),
            0,
        ),
        (
            "a variable and data",
            format!("-- hierad.yaml\n{}-- data/common.yaml\nport: 9\n", main.replace("web", "db")),
            4,
        ),
    ] {
        propose(&site, &files, "");
        let printed = site.hierad("review --base main --summary ../summary");
        assert_eq!(printed.status, status, "{name}: {printed:?}");
    }
}

#[test]
fn profiles_of_the_work_tree_judge_nothing_whatever_head_is() {
    const HIDING: &str =
        "-- profiles/web01.yaml\n{name: web01, facts: {os: {family: Debian}}, variables: {role: db}}\n";
    let ranges = ["diff --exit-code=policies main...request", "diff --exit-code=policies main request"];
    let work_tree = ["diff --exit-code=policies .", "diff --exit-code=policies main ."];
    let review = ["review --base main --head request --summary ../summary"];
    let forms: [(&str, &str, &[&str]); 7] = [
        ("merged, but not committed", "git merge --quiet --squash request", &work_tree),
        ("its files in the index", "git checkout --quiet request -- .", &ranges),
        ("its files in the work tree alone", "git restore --source request -- .", &work_tree),
        ("its profiles alone", "git checkout --quiet request -- profiles", &review),
        ("a profile that is gone", "rm profiles/web01.yaml", &ranges),
        (
            "a link in its place",
            "cp profiles/web01.yaml ../other && sed -i s/role:.web/role:\\ db/ ../other && \
          mkdir -p x && mv ../other x/other.yaml && ln -sf ../x/other.yaml profiles/web01.yaml",
            &ranges,
        ),
        ("no commit at all", "git checkout --quiet request && git symbolic-ref HEAD refs/heads/none", &review),
    ];
    for (name, script, commands) in forms {
        for (data, status) in [(WEB, 4), ("-- data/roles/web.yaml\nport: 80\nmotd: x\n", 0)] {
            // Something is seen in any case.
            let data = format!("{data}-- data/roles/db.yaml\nport: 5432\nntp: x\n");
            let site = site(SETTINGS);
            propose(&site, &format!("{HIDING}{data}"), "");
            site.git(["checkout", "--quiet", "main"]);
            site.sh(script);
            for command in commands {
                let printed = site.hierad(command);
                assert_eq!(printed.status, status, "{name}: {command}: {printed:?}");
            }
        }
    }
}

/// A repository beside a site, which has these profiles at one commit and those at the next.
fn nodes_elsewhere(site: &Sandbox, before: &str, after: &str) -> [String; 2] {
    site.sh("git init --quiet ../elsewhere");
    [before, after].map(|profile| {
        std::fs::create_dir_all(site.beside("elsewhere/web")).unwrap();
        std::fs::write(site.beside("elsewhere/web/web01.yaml"), profile).unwrap();
        site.sh("git -C ../elsewhere add --all && git -C ../elsewhere commit --quiet -m profiles");
        git_in(&site.beside("elsewhere"), ["rev-parse", "HEAD"])
    })
}

/// Commits a submodule of a site.
fn submodule(site: &Sandbox, path: &str, commit: &str) {
    site.git(["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
    site.git(["commit", "--quiet", "-m", "a submodule"]);
}

#[test]
fn who_moves_profiles_in_a_submodule_escapes_no_policy() {
    let web = "{name: web01, facts: {os: {family: Debian}}, variables: {role: web}}\n";
    let db = "{name: web01, facts: {os: {family: Debian}}, variables: {role: db}}\n";
    // Something is seen by the profiles of the request.
    let seen = "-- data/roles/db.yaml\nport: 5432\nntp: x\n";
    for (name, entry, at) in [
        ("a submodule", "nodes", "nodes"),
        ("a folder in one", "nodes/web", "nodes"),
        ("a file in one", "nodes/web/web01.yaml", "nodes"),
        ("a folder with one", "all", "all/nodes"),
        ("a pattern", "'*/web/*.yaml'", "nodes"),
        ("a pattern in one", "'nodes/w*/*.yaml'", "nodes"),
        ("a link into one", "near", "nodes"),
    ] {
        for (is_there, data, status) in [
            (true, WEB, 4),
            (true, "-- data/roles/web.yaml\nport: 80\nmotd: x\n", 0),
            (true, "", 0),
            (false, WEB, 4),
            (false, "", 0),
        ] {
            let site = site(&SETTINGS.replace("[profiles]", &format!("[{entry}]")));
            site.git(["rm", "--quiet", "-r", "profiles"]);
            site.sh("ln -s nodes/web near");
            site.commit("profiles elsewhere");
            let [one, other] = nodes_elsewhere(&site, web, db);
            submodule(&site, at, &one);
            site.git(["checkout", "--quiet", "-B", "request", "main"]);
            submodule(&site, at, &other);
            if !data.is_empty() {
                site.files(&format!("{data}{seen}"));
                site.git(["add", "data"]);
                site.git(["commit", "--quiet", "-m", "a request"]);
            }
            // The commit of the target is there, or a job has fetched the one of the request alone.
            let depth = if is_there { "" } else { "--depth 1" };
            site.sh(&format!(
                "git clone --quiet {depth} \"file://$(realpath ../elsewhere)\" {at} && git -C {at} reset --quiet --hard {other}"
            ));
            let printed = site.hierad("diff --exit-code=policies --allow-blind main...request");
            assert_eq!(printed.status, status, "{name}, {is_there}, {data}: {printed:?}");
            let report = site.hierad("diff --format json --allow-blind main...request").json();
            assert_ne!(report["verdict"], "no_change", "{name}: {report}");
            let policy =
                if is_there { "ports | hit | failure | 1 key on " } else { "unreadable-policies | hit | failure | " };
            let is_hit = lines(&report).iter().any(|hit| hit.starts_with(policy));
            assert_eq!(is_hit, status == 4, "{name}, {is_there}, {data}: {report}");
        }
    }
}

#[test]
fn submodules_that_stay_judge_as_before() {
    let site = site(&SETTINGS.replace("[profiles]", "[profiles, nodes]"));
    submodule(&site, "nodes", &"1".repeat(40));
    std::fs::create_dir(site.root().join("nodes")).unwrap();
    for (data, status) in [("-- data/roles/web.yaml\nport: 80\nmotd: x\n", 0), (WEB, 4)] {
        site.git(["checkout", "--quiet", "-B", "request", "main"]);
        site.files(&format!("{data}-- profiles/new.yaml\n{{name: new}}\n"));
        site.git(["add", "data", "profiles"]);
        site.git(["commit", "--quiet", "-m", "a request"]);
        site.hierad("diff --exit-code=policies --allow-blind main...request").is(status);
    }
}

#[test]
fn data_of_other_repositories_that_move_are_judged_by_no_policy_and_told() {
    for path in ["data/private", "data/own", "modules/ntp", "modules", "site/data/x"] {
        let site = site(SETTINGS);
        submodule(&site, path, &"1".repeat(40));
        site.git(["checkout", "--quiet", "-B", "request", "main"]);
        submodule(&site, path, &"2".repeat(40));
        let report = site.hierad("diff --format json --allow-blind main...request").json();
        let found = format!("unreadable-policies | hit | warning | {path} brings another version");
        assert_eq!(lines(&report), [found], "{path}: {report}");
    }
    // One that is said to have no data is not told.
    let site = site(&format!("{SETTINGS}accept: {{other-version: [modules/ntp]}}\n"));
    submodule(&site, "modules/ntp", &"1".repeat(40));
    site.git(["checkout", "--quiet", "-B", "request", "main"]);
    submodule(&site, "modules/ntp", &"2".repeat(40));
    let report = site.hierad("diff --format json --allow-blind main...request").json();
    assert_eq!((lines(&report).len(), &report["verdict"]), (0, &"no_change".into()), "{report}");
}
