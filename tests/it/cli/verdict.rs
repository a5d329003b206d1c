//! The verdict of `hierad diff`: what it could not see, what to do about it, and the exit status that scripts go by.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::{Printed, SITE};

/// Returns a diff's words on a blind spot, in each form.
struct Case<'a> {
    site: &'a Sandbox,
    arguments: &'a str,
    /// The status without and with `--exit-code`.
    status: [i32; 2],
    verdict: &'a str,
    /// The code of the blind spot; nothing where there is none.
    code: Option<&'a str>,
    /// Words of its headline, and of its fix.
    headline: &'a str,
    fix: &'a str,
}

impl Case<'_> {
    fn diff(&self, more: &str) -> Printed {
        self.site.hierad(&format!("diff {} {more}", self.arguments))
    }

    #[track_caller]
    fn check(&self) {
        let printed = self.diff("--format json --exit-code");
        printed.is(self.status[1]);
        let report = printed.json();
        assert_eq!(report["verdict"], self.verdict, "{report:#}");
        let spots = report["blind_spots"].as_array().unwrap();
        let codes: Vec<&str> = spots.iter().map(|spot| spot["code"].as_str().unwrap()).collect();
        assert_eq!(codes.first().copied(), self.code, "{report:#}");
        let spot = spots.first().unwrap_or(&Json::Null);
        assert!(spot["fix"].as_str().unwrap_or_default().contains(self.fix), "{spot:#}");
        assert!(report["headline"].as_str().unwrap().contains(self.headline), "{report:#}");
        for format in ["text --full", "markdown"] {
            let printed = self.diff(&format!("--format {format}"));
            printed.is(self.status[0]);
            let plain = plain(&printed.out);
            assert!(plain.lines().next().unwrap().contains(self.headline), "{format}: {}", printed.out);
            assert!(plain.contains(self.fix), "{format}: no {} in {}", self.fix, printed.out);
        }
    }
}

/// Markdown without the escapes that keep data in its place, and without the ends of wrapped lines.
fn plain(text: &str) -> String {
    let characters = regex::Regex::new(r"&#(\d+);").unwrap();
    let text = text.replace("<!-- -->", "");
    let decoded = characters.replace_all(&text, |found: &regex::Captures<'_>| {
        char::from_u32(found[1].parse().unwrap()).unwrap().to_string()
    });
    let (first, rest) = decoded.split_once('\n').unwrap_or((&decoded, ""));
    format!("{first}\n{}", rest.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A site whose second commit does what `files` say; `before` is done to the first.
fn site(before: &str, files: &str) -> Sandbox {
    let site = Sandbox::of(&format!("{SITE}{before}"));
    site.files(files);
    site.commit("second");
    site
}

const ABSOLUTE: &str = "-- hiera.yaml
version: 5
defaults: {datadir: '/etc/puppetlabs/code/environments/%{environment}/data', data_hash: yaml_data}
hierarchy:
  - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: Common, path: common.yaml}
";

#[test]
fn all_levels_outside_of_the_repository() {
    let site = site(ABSOLUTE, "-- data/common.yaml\nmotd: bye\n");
    let case = Case {
        site: &site,
        arguments: "",
        status: [1, 1],
        verdict: "no_change_seen",
        code: Some("no-level-read"),
        headline: "no level of the hierarchy could be read on 2 of 2 nodes",
        fix: r#"datadirs: {"/etc/puppetlabs/code/environments/%{environment}/data": "data"}"#,
    };
    case.check();
    site.hierad("diff").says(&["nothing could be read", "--allow-blind"]);
    Case { arguments: "--allow-blind", status: [0, 3], ..case }.check();
    site.files(&format!("-- hierad.yaml\nprofiles: [profiles]\n{}\n", case.fix));
    assert_eq!(site.hierad("diff --format json").json()["verdict"], "changes");
}

#[test]
fn one_level_outside_of_the_repository() {
    let hiera = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Private, path: common.yaml, datadir: /etc/puppet/private}
  - {name: Role, path: 'roles/%{role}.yaml'}
  - {name: Common, path: common.yaml}
";
    let site = site(hiera, "-- data/roles/web.yaml\nport: 80\n# touched\nx: 1\n");
    let case = Case {
        site: &site,
        arguments: "",
        status: [0, 2],
        verdict: "changes",
        code: Some("outside-repository"),
        headline: "1 key changes on 1 of 2 nodes",
        fix: r#"datadirs: {"/etc/puppet/private": none}"#,
    };
    case.check();
    site.files("-- data/common.yaml\nmotd: hello\nntp: [a, b]\nport: 1\n");
    let case = Case {
        arguments: ".",
        status: [0, 3],
        verdict: "no_change_seen",
        headline: "no change seen (1 standing blind spot)",
        ..case
    };
    case.check();
    site.settings(format!("profiles: [profiles]\n{}\n", case.fix));
    site.commit("settings");
    site.files("-- data/common.yaml\nmotd: hello\nport: 1\nntp: [a, b]\n");
    assert_eq!(site.hierad("diff . --format json").json()["verdict"], "no_change");
}

#[test]
fn hiera_yaml_is_missing() {
    let site =
        site("-- hierad.yaml\nprofiles: [profiles]\nhiera_config: other.yaml\n", "-- data/common.yaml\nmotd: bye\n");
    let case = Case {
        site: &site,
        arguments: "",
        status: [1, 1],
        verdict: "no_change_seen",
        code: Some("no-hiera-yaml"),
        headline: "there is no other.yaml in this repository",
        fix: r#"hiera_config: "hiera.yaml""#,
    };
    case.check();
}

const INVALID: &str = "-- hiera.yaml\nversion: 5\nhierarchy: nonsense\n";

#[test]
fn hiera_yaml_is_invalid_on_both_sides() {
    let site = site(INVALID, "-- data/common.yaml\nmotd: bye\n");
    let case = Case {
        site: &site,
        arguments: "",
        status: [1, 1],
        verdict: "no_change_seen",
        code: Some("invalid-hiera-yaml"),
        headline: "hiera.yaml",
        fix: "correct hiera.yaml",
    };
    case.check();
}

#[test]
fn hiera_yaml_becomes_invalid_or_valid() {
    for (before, after) in [("", INVALID), (INVALID, SITE)] {
        let site = site(before, after);
        let printed = site.hierad("diff --format json --exit-code");
        printed.is(2);
        assert_eq!(printed.json()["verdict"], "changes", "{printed:?}");
        assert_eq!(printed.json()["blind_spots"][0]["code"], "invalid-hiera-yaml", "{printed:?}");
        site.hierad("diff").is(0);
    }
}

#[test]
fn every_key_fails() {
    let site = site("-- data/common.yaml\nmotd: [\n", "-- data/common.yaml\nmotd: {\n");
    let case = Case {
        site: &site,
        arguments: "",
        status: [1, 1],
        verdict: "no_change_seen",
        code: Some("every-key-fails"),
        headline: "every key fails",
        fix: "hierad check",
    };
    case.check();
}

#[test]
fn some_keys_fail_on_both_sides() {
    let many = (0..97).map(|n| format!("key{n}: {n}")).collect::<Vec<_>>().join("\n");
    let broken = |text: &str| {
        format!("-- data/common.yaml\n{many}\na: '{text} %{{nope}}'\nb: '{text} %{{nope}}'\nc: '{text} %{{nope}}'\n")
    };
    let site = site(&broken("x"), &broken("y"));
    let case = Case {
        site: &site,
        arguments: "",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("failing-keys"),
        headline: "3 keys fail before and after on all 2 nodes",
        fix: r#"accept: {failing-keys: ["a"]}"#,
    };
    case.check();
    // What the commit does not touch does not count.
    site.files("-- data/roles/db.yaml\nport: 5433\n");
    assert_eq!(site.hierad("diff . --format json").json()["blind_spots"], serde_json::json!([]));
}

#[test]
fn changed_file_that_no_profile_reaches() {
    let one = site("-- data/nodes/old01.yaml\nmotd: old\n", "-- data/nodes/old01.yaml\nmotd: older\n");
    let case = Case {
        site: &one,
        arguments: "",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("unreached-file"),
        headline: "no known node reads data/nodes/old01.yaml",
        fix: r#"accept: {unreached-file: ["data/nodes/old01.yaml"]}"#,
    };
    case.check();
    let beside = site(
        "-- data/nodes/old01.yaml\nmotd: old\n",
        "-- data/nodes/old01.yaml\nmotd: older\n-- data/common.yaml\nmotd: bye\nntp: [a, b]\n",
    );
    let status = [0, 2];
    Case { site: &beside, status, verdict: "changes", headline: "1 key changes on both nodes", ..case }.check();
    one.settings(format!("profiles: [profiles]\n{}\n", case.fix));
    assert_eq!(one.hierad("diff --format json").json()["verdict"], "no_change");
}

#[test]
fn many_changed_files_are_not_accepted_by_a_pattern() {
    let files = |motd: &str, count: usize| {
        (0..count).fold(String::new(), |all, n| all + &format!("-- data/nodes/old{n}.yaml\nmotd: {motd}\n"))
    };
    let fix = |count: usize| {
        let site = site(&files("old", count), &files("older", count));
        site.hierad("diff --format json").json()["blind_spots"][0]["fix"].as_str().unwrap().to_owned()
    };
    assert!(fix(8).ends_with(r#""data/nodes/old6.yaml", "data/nodes/old7.yaml"]}"#), "{}", fix(8));
    // What would be silent about these would be silent about others, too.
    assert_eq!(fix(9), "add profiles of the nodes that read such files");
}

#[test]
fn changed_file_in_a_folder_that_no_level_names() {
    let site = site("-- other/hieradata/web.yaml\nweb::port: 1\n", "-- other/hieradata/web.yaml\nweb::port: 2\n");
    let case = Case {
        site: &site,
        arguments: "",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("unnamed-folder"),
        headline: "no level of the hierarchy names other/hieradata/web.yaml",
        fix: r#"accept: {unnamed-folder: ["other/hieradata/web.yaml"]}"#,
    };
    case.check();
}

#[test]
fn a_function_that_nobody_declared() {
    let hiera = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Common, path: common.yaml}
  - {name: Vault, lookup_key: hiera_vault}
";
    // `lookup_options` are looked up at all levels, so every key reaches the function.
    let site = site(hiera, "-- data/common.yaml\nmotd: bye\n");
    let case = Case {
        site: &site,
        arguments: "",
        status: [1, 1],
        verdict: "no_change_seen",
        code: Some("every-key-fails"),
        headline: "every key fails (hiera.yaml:4)",
        fix: r#"backends: {"hiera_vault": {not_found: true}}"#,
    };
    case.check();
    site.files(&format!("-- hierad.yaml\nprofiles: [profiles]\n{}\n", case.fix));
    assert_eq!(site.hierad("diff --format json").json()["verdict"], "changes");
}

#[test]
fn unreadable_profile_among_good_ones() {
    let site = site(
        "-- profiles/bad.yaml\n{name: bad, facts: [\n",
        "-- data/roles/web.yaml\nport: 80\nx: 1\n-- data/nodes/bad.yaml\ny: 1\n",
    );
    let printed = site.hierad("diff --format json");
    printed.is(0);
    let report = printed.json();
    assert_eq!(report["verdict"], "changes");
    assert_eq!(report["blind_spots"][0]["code"], "profile-left-out", "{report:#}");
    assert!(report["blind_spots"][0]["message"].as_str().unwrap().contains("profiles/bad.yaml:"), "{report:#}");
    site.files("-- data/common.yaml\nmotd: hello\nntp: [a, b]\nport: 1\n");
    let case = Case {
        site: &site,
        arguments: ".",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("profile-left-out"),
        headline: "1 node profile could not be read",
        fix: "correct the profiles",
    };
    case.check();
    // A commit that touches no data has nothing to hide.
    site.git(["checkout", "--quiet", "data"]);
    site.files("-- README.md\nwords\n");
    assert_eq!(site.hierad("diff . --format json").json()["verdict"], "no_change");
}

#[test]
fn a_variable_that_a_profile_lacks() {
    let hiera = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Site, path: 'sites/%{facts.site}.yaml'}
  - {name: Common, path: common.yaml}
-- data/sites/berlin.yaml
motd: berlin
";
    let site = site(hiera, "-- data/sites/berlin.yaml\nmotd: moin\n");
    let report = site.hierad("diff --format json").json();
    assert_eq!(report["verdict"], "no_change_seen");
    let spots = report["blind_spots"].as_array().unwrap();
    let undefined = spots.iter().find(|spot| spot["code"] == "undefined-variable").unwrap();
    assert!(
        undefined["fix"].as_str().unwrap().contains(r#"accept: {undefined-variable: ["facts.site"]}"#),
        "{report:#}"
    );
}

#[test]
fn a_link_that_leads_outside() {
    let hiera = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Private, path: private.yaml}
  - {name: Common, path: common.yaml}
";
    let site = Sandbox::of(&format!("{SITE}{hiera}"));
    std::os::unix::fs::symlink("/opt/puppet/private.yaml", site.root().join("data/private.yaml")).unwrap();
    site.commit("second");
    site.files("-- data/common.yaml\nntp: [a, b]\nmotd: hello\n");
    let case = Case {
        site: &site,
        arguments: ".",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("outside-repository"),
        headline: "no change seen (1 standing blind spot)",
        fix: r#"accept: {outside-repository: ["data/private.yaml"]}"#,
    };
    case.check();
    site.settings(format!("profiles: [profiles]\n{}\n", case.fix));
    assert_eq!(site.hierad("diff . --format json").json()["verdict"], "no_change");
}

/// A module whose level needs a fact that no profile has.
const MODULE: &str = "-- modules/ntp/data/oslo.yaml
ntp::servers: [a]
-- modules/ntp/hiera.yaml
version: 5
hierarchy:
  - {name: Site, path: '%{facts.site}.yaml'}
  - {name: Common, path: common.yaml}
";

#[test]
fn level_with_a_missing_variable_is_removed() {
    let site = site(MODULE, "-- modules/ntp/hiera.yaml\nversion: 5\nhierarchy: [{name: Common, path: common.yaml}]\n");
    Case {
        site: &site,
        arguments: "",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("undefined-variable"),
        headline: "all 2 nodes lack the variable 'facts.site'",
        fix: r#"accept: {undefined-variable: ["facts.site"]}"#,
    }
    .check();
}

#[test]
fn hiera_yaml_is_missing_beside_a_module() {
    let before = "-- hierad.yaml\nprofiles: [profiles]\nhiera_config: other.yaml\n";
    let module = "-- modules/ntp/data/common.yaml\nntp::port: 1\n";
    let site = site(&format!("{before}{MODULE}{module}"), "-- hiera.yaml\nversion: 5\n");
    Case {
        site: &site,
        arguments: "",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("no-hiera-yaml"),
        headline: "there is no other.yaml in this repository",
        fix: r#"hiera_config: "hiera.yaml""#,
    }
    .check();
    // A level whose variable is empty may read a file without a name.
    site.files("-- data/quirk/.yaml\nmotd: hidden\n");
    site.commit("third");
    assert_eq!(site.hierad("diff --format json").json()["verdict"], "no_change_seen");
    site.files("-- notes.md\nwords\n");
    site.commit("fourth");
    assert_eq!(site.hierad("diff --format json").json()["verdict"], "no_change");
}

#[test]
fn datadir_mapped_to_none() {
    let settings = r#"-- hierad.yaml
profiles: [profiles]
datadirs: {"/etc/puppet/data": dta}
-- hiera.yaml
version: 5
hierarchy:
  - {name: Common, path: common.yaml}
  - {name: Other, path: other.yaml, datadir: /etc/puppet/data}
"#;
    let site = site(settings, "-- hiera.yaml\nversion: 5\nhierarchy: [{name: Common, path: common.yaml}]\n");
    Case {
        site: &site,
        arguments: "",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("missing-datadir"),
        headline: "there is no folder dta/, to which the settings map /etc/puppet/data",
        fix: "correct `datadirs`",
    }
    .check();
}

/// Checks that a change of the file that the level `outside` may read is no "no change"; `fix` maps its datadir.
#[track_caller]
fn check_outside(outside: &str, file: &str, fix: &str) {
    let hiera = format!(
        "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {{name: Outside, {outside}, data_hash: hocon_data}}\n  \
         - {{name: Common, path: common.yaml}}\n-- {file}\nport = 1\n"
    );
    let site = site(&hiera, &format!("-- {file}\nport = 2\n"));
    Case {
        site: &site,
        arguments: "",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("outside-repository"),
        headline: "1 level is outside of this repository",
        fix,
    }
    .check();
}

#[test]
fn any_file_below_an_unmapped_datadir() {
    check_outside(
        "path: web.conf, datadir: /etc/puppet/roles",
        "roles/web.conf",
        r#"datadirs: {"/etc/puppet/roles": "roles"}"#,
    );
}

#[test]
fn any_file_that_a_path_outside_ends_like() {
    check_outside(
        "glob: 'sub/../*.conf', datadir: '/etc/puppet/data/%{environment}'",
        "data/production/web.conf",
        r#"datadirs: {"/etc/puppet/data/%{environment}""#,
    );
}

#[test]
fn undeclared_function_with_a_folder() {
    let hiera = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Expanded, lookup_key: expand, path: roles}
  - {name: Common, path: common.yaml}
";
    let site = site(hiera, "-- data/common.yaml\nmotd: bye\n");
    let report = site.hierad("diff --format json --allow-blind").json();
    let fix = report["blind_spots"][0]["fix"].as_str().unwrap();
    assert!(fix.contains(r#"backends: {"expand": {not_found: true}}"#), "{report:#}");
    site.files("-- hierad.yaml\nprofiles: [profiles]\nbackends: {expand: {not_found: true}}\n");
    assert_eq!(site.hierad("diff --format json").json()["verdict"], "changes");
}

#[test]
fn filters_that_hide_changes_or_match_nothing() {
    let site = site("", "-- data/roles/web.yaml\nport: 81\n");
    let case = Case {
        site: &site,
        arguments: "--node db01",
        status: [0, 3],
        verdict: "no_change_seen",
        code: Some("hidden-by-filter"),
        headline: "1 key that the filter hides changes on 1 of 2 nodes",
        fix: "leave the filter out",
    };
    case.check();
    Case { arguments: "--key motd", ..case }.check();
    site.hierad("diff --node web1").fails(&["no node matches --node 'web1'", "did you mean web01?"]);
    site.hierad("diff --key prt").fails(&["no key matches --key 'prt'", "did you mean port?"]);
}

#[test]
fn repositories_without_commits_or_hiera() {
    let empty = Sandbox::of("-- README.md\nwords\n-- profiles/web01.yaml\nname: web01\n");
    empty.files("-- README.md\nother words\n");
    empty.commit("second");
    let case = Case {
        site: &empty,
        arguments: "--profiles profiles",
        status: [1, 1],
        verdict: "no_change_seen",
        code: Some("no-hiera-yaml"),
        headline: "there is no hiera.yaml in this repository",
        fix: "hiera_config: PATH",
    };
    case.check();
    let first = Sandbox::of("-- README.md\nwords\n-- profiles/web01.yaml\nname: web01\n");
    Case { site: &first, ..case }.check();
}

#[test]
fn exit_code_can_count_only_errors() {
    let site = site("", "-- data/roles/web.yaml\nport: 81\n");
    site.hierad("diff --exit-code=errors").is(0);
    site.files("-- data/roles/web.yaml\nport: '%{nope}'\n");
    site.hierad("diff . --exit-code=errors").is(2);
    site.hierad("diff . --exit-code=changes").is(2);
    site.hierad("diff --exit-code=nonsense").fails(&["--exit-code"]);
}

#[test]
fn accepted_blind_spots_are_checked() {
    let site = Sandbox::of(&format!("{SITE}-- hierad.yaml\nprofiles: [profiles]\naccept: {{unreached: [a]}}\n"));
    site.hierad("diff").fails(&["hierad.yaml:2", "'accept' has an unknown code 'unreached'", "unreached-file (files)"]);
}

#[test]
fn options_that_merge_unreached_levels() {
    let hiera = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Site, path: 'sites/%{facts.site}.yaml'}
  - {name: Common, path: common.yaml}
-- data/sites/berlin.yaml
ntp: [berlin]
-- data/common.yaml
motd: hello
ntp: [a, b]
";
    let options = "-- data/common.yaml\nmotd: hello\nntp: [a, b]\nlookup_options: {KEY: {merge: unique}}\n";
    let seen = |key: &str| {
        let report = site(hiera, &options.replace("KEY", key)).hierad("diff --format json").json();
        let spots = report["blind_spots"].as_array().unwrap();
        let codes: Vec<String> = spots.iter().map(|spot| spot["code"].as_str().unwrap().to_owned()).collect();
        (report["verdict"].as_str().unwrap().to_owned(), codes)
    };
    assert_eq!(seen("ntp"), ("no_change_seen".to_owned(), vec!["undefined-variable".to_owned()]));
    // No file of a site has this key.
    assert_eq!(seen("other"), ("no_change".to_owned(), Vec::new()));
}

#[test]
fn changed_files_that_links_lead_to() {
    let roles = "-- data/roles/cache.yaml\nmotd: cache\n";
    for (link, to, file) in [
        ("data/roles/cache.yaml", "cache.txt", "data/roles/cache.txt"),
        ("data/roles/cache.yaml", "../../lib/cache.yaml", "lib/cache.yaml"),
        ("data/nodes", "../lib/nodes", "lib/nodes/old01.yaml"),
        ("data/nodes", "../lib/all", "lib/nodes/old01.yaml"),
        ("data/nodes/old01.yaml", "../roles/cache.yaml", "data/roles/cache.yaml"),
    ] {
        let site = Sandbox::of(&format!(
            "{SITE}-- lib/README\nhi\n{}",
            if file == "data/roles/cache.yaml" { roles } else { "" }
        ));
        let symlink = |link: &str, to: &str| {
            let path = site.root().join(link);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(to, path).unwrap();
        };
        symlink(link, to);
        if to.ends_with("all") {
            symlink("lib/all", "nodes");
        }
        for value in ["one", "two"] {
            site.files(&format!("-- {file}\nmotd: {value}\n"));
            site.commit(value);
        }
        let report = site.hierad("diff --format json").json();
        assert_eq!(report["verdict"], "no_change_seen", "{link} -> {to}: {report}");
        let spot = &report["blind_spots"][0];
        assert_eq!((&spot["code"], &spot["files"][0]), (&"unreached-file".into(), &file.into()), "{link} -> {to}");
    }
    // Not so where no level has the link's path.
    let site = site("-- lib/x.txt\nmotd: one\n-- lib/y.txt\na\n", "-- lib/x.txt\nmotd: two\n");
    assert_eq!(site.hierad("diff --format json").json()["verdict"], "no_change");
}

#[test]
fn globs_that_lead_outside() {
    let symlink = |site: &Sandbox, link: &str, to: &str| {
        let path = site.root().join(link);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    };
    let codes = |site: &Sandbox| -> Vec<String> {
        site.files("-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
        site.commit("second");
        let report = site.hierad("diff --format json").json();
        let spots = report["blind_spots"].as_array().unwrap().iter();
        spots.map(|spot| format!("{} {}", spot["code"].as_str().unwrap(), spot["message"].as_str().unwrap())).collect()
    };
    let with = |glob: &str| {
        let hierarchy =
            format!("hierarchy:\n  - {{name: Private, glob: '{glob}'}}\n  - {{name: Common, path: common.yaml}}\n");
        Sandbox::of(&format!("{SITE}-- hiera.yaml\nversion: 5\n{hierarchy}"))
    };
    for (glob, link) in [
        ("private/*.yaml", "data/private"),
        ("*/own.yaml", "data/private"),
        ("{private,other}/*.yaml", "data/private"),
        ("p*/**/*.yaml", "data/private"),
        ("private/*.yaml", "data/private/own.yaml"),
        ("private/%{trusted.certname}/*.yaml", "data/private/web01"),
    ] {
        let site = with(glob);
        symlink(&site, link, "/srv/private");
        let found = codes(&site);
        let expected = format!("outside-repository {link} is a symbolic link to /srv/private: ");
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{glob}: {found:?}");
    }
    // One that stays inside, and one that no part of the pattern leads to.
    for (glob, link, to) in [("private/*.yaml", "data/private", "roles"), ("p*/*.yaml", "data/other", "/srv/private")] {
        let site = with(glob);
        symlink(&site, link, to);
        assert_eq!(codes(&site), Vec::<String>::new(), "{glob}");
    }
}

#[test]
fn a_path_that_is_absolute_for_want_of_a_variable_names_the_variable() {
    let site = |level: &str| {
        let levels =
            format!("version: 5\nhierarchy:\n  - {{name: L, {level}}}\n  - {{name: Common, path: common.yaml}}\n");
        Sandbox::of(&format!("{SITE}-- hiera.yaml\n{levels}-- data/osl/common.yaml\na: 1\n"))
    };
    for (level, variable) in [
        ("path: '%{::location}/common.yaml'", "location"),
        ("path: '%{location}/common.yaml'", "location"),
        ("path: '%{facts.site}/common.yaml'", "facts.site"),
        ("glob: '%{location}/*.yaml'", "location"),
        ("paths: ['%{trusted.extensions.pp_zone}/common.yaml']", "trusted.extensions.pp_zone"),
        ("path: '%{location}%{place}/common.yaml'", "location"),
    ] {
        let site = site(level);
        site.files("-- data/osl/common.yaml\na: 2\n");
        site.commit("second");
        let printed = site.hierad("diff --exit-code");
        assert!(printed.status == 3 && printed.out.contains(&format!("lack the variable '{variable}'")), "{printed:?}");
        let checked = site.hierad("check");
        assert!(checked.out.contains("[undefined-variable]"), "{checked:?}");
        assert!(!format!("{printed:?}{checked:?}").contains("outside-repository"), "{printed:?} {checked:?}");
    }
    // Others are absolute by themselves.
    for level in ["path: '/srv/%{location}/common.yaml'", "path: '/srv/common.yaml'", "datadir: /srv/x, path: a.yaml"] {
        let checked = site(level).hierad("check");
        assert!(checked.out.contains("[outside-repository]"), "{checked:?}");
    }
    // If there is no other level, it is said first.
    let alone = site("path: '%{location}/common.yaml'");
    alone.write("hiera.yaml", "version: 5\nhierarchy:\n  - {name: L, path: '%{location}/common.yaml'}\n");
    alone.commit("second");
    alone.write("data/osl/common.yaml", "a: 2\n");
    let printed = alone.hierad("diff --allow-blind .");
    assert!(
        printed.out.contains("all 2 nodes lack the variable\n    'location', which paths of levels need"),
        "{printed:?}"
    );
}

#[test]
fn before_the_first_commit_there_is_nothing_to_be_read() {
    let site = Sandbox::of(SITE);
    let printed = site.hierad("diff --exit-code");
    printed.is(2);
    assert!(!printed.out.contains("blind spot"), "{}", printed.out);
    // That there is no hiera.yaml after it is told.
    site.git(["rm", "--quiet", "hiera.yaml"]);
    site.git(["commit", "--quiet", "--amend", "--message", "first"]);
    let printed = site.hierad("diff --exit-code --allow-blind");
    assert!(printed.status == 3 && printed.out.contains("there is no hiera.yaml"), "{printed:?}");
}
