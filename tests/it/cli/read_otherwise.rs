//! Files that a Puppet server on JRuby reads otherwise than Ruby: `check` and `diff` say so, with the place.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// Commits data for all nodes, with these settings, and returns the site.
fn with(settings: &str, content: impl AsRef<[u8]>) -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write("hierad.yaml", format!("profiles: [profiles]\n{settings}"));
    site.commit("settings");
    site.write("data/common.yaml", content);
    site.commit("second");
    site
}

/// The entries of a part of a report that are about this.
fn told(report: &Json, part: &str) -> Vec<Json> {
    let all = report[part].as_array().unwrap().iter();
    all.filter(|entry| entry["code"] == "read-otherwise").cloned().collect()
}

/// The lines of `check` that are about this, each with its remedy.
fn warnings(site: &Sandbox) -> Vec<String> {
    let printed = site.hierad("check --full").out;
    let lines: Vec<&str> = printed.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[0].contains("[read-otherwise]"));
    pairs.map(|pair| pair.join("\n")).collect()
}

#[test]
fn check_names_the_line_the_kind_and_the_remedy() {
    for (line, content, what, remedy) in [
        (2, "motd: a\nport:\t80\n", "on JRuby refuses this file: a tab as white space", "put spaces"),
        (1, "ntp: [a,\tb]\n", "on JRuby refuses this file: a tab as white space", "put spaces"),
        (2, "motd: a\n \t\nport: 80\n", "on JRuby refuses this file: a tab as white space", "put spaces"),
        (2, "motd: &m a\n*m: b\n", "on JRuby 9.4 or later refuses this file: ':' directly behind", "put a space"),
        (1, "ntp: [-, b]\n", "on JRuby 9.4 or later refuses this file: '-' as an item", "put quotes"),
        (2, "a:\n  motd: |\nport: 80\n", "on JRuby 9.4 or later refuses this file: a '|' or '>' without", "write ''"),
        (1, "motd: |#c\n  a\n", "on JRuby refuses this file: '#' or a tab directly", "put a space"),
        (1, "motd: \"a\\/b\"\n", "on JRuby 9.3 refuses this file: the escape '\\/'", "write '/'"),
        (2, "motd: a\nport: 1000,\n", "on JRuby 9.3 reads another value in this file: digits", "put quotes"),
        (2, "motd: a\nport: 1.0e+16\n", "on JRuby reads another value in this file: a float", "put quotes"),
        (1, "\u{feff}motd: a\nport: 80\n", "on JRuby reads another value in this file: all keys", "remove the mark"),
    ] {
        let site = with("", content);
        let warnings = warnings(&site);
        let [warning] = &warnings[..] else { panic!("{content:?}: {warnings:#?}") };
        let expected = format!("data/common.yaml:{line}: warning: a Puppet server {what}");
        assert!(warning.starts_with(&expected), "{content:?}: {warning}");
        assert!(warning.contains(&format!("\n    -> {remedy}")), "{content:?}: {warning}");
        site.hierad("check --allow read-otherwise").is(0);
    }
}

#[test]
fn files_that_all_read_alike_are_not_named() {
    for content in [
        "motd: a\t\nport: 80\n",
        "motd: 'a\tb'\nntp: [a, b]\n",
        "motd: |\n  a\tb\n  \tc\n",
        "motd: a # \t\n",
        "motd: &m a\n*m : b\n",
        "ntp: [-1, '-', --]\n",
        "motd: | #c\n  a\n",
        "motd: |\n",
        "motd: \"a/b\\\\\"\n",
        "port: 1,000\nntp: ['1,', 1_000, 0_]\n",
        "port: 10000000000000000\nntp: 999999999999999.0\n",
        "\u{feff}# mark\nmotd: a\nport: 80\n",
    ] {
        let site = with("", content);
        assert_eq!(warnings(&site), [""; 0], "{content:?}");
        let report = site.hierad("diff --format json").json();
        assert_eq!([told(&report, "diagnostics"), told(&report, "blind_spots")], [[""; 0], [""; 0]], "{content:?}");
    }
}

#[test]
fn a_file_that_only_servers_read_is_no_sure_failure() {
    for (content, what) in [
        (&b"motd: caf\xe9\n"[..], "bytes that are not UTF-8"),
        (b"# caf\xe9\nmotd: a\n", "bytes that are not UTF-8"),
        (b"\xef\xbb\xbf---\nmotd: a\n", "a byte order mark"),
        (b"ntp: {a:}\n", "a ':' without a value"),
        (b"ntp: [a:,b]\n", "a ':' without a value"),
        (b"motd: \"\\ud83d\\ude00\"\n", "half of a character"),
        (b"motd: |\n  \ta\n", "a text whose first line begins with a tab"),
    ] {
        let site = with("", content);
        let printed = site.hierad("check --full");
        let error = printed.out.lines().find(|line| line.contains("[data-syntax]")).unwrap_or_default();
        assert!(error.contains("; but a Puppet server on JRuby reads it ["), "{printed:#?}");
        let warnings = warnings(&site);
        let expected = format!("a Puppet server on JRuby reads this file, which Ruby refuses: {what}");
        assert!(warnings.len() == 1 && warnings[0].contains(&expected), "{what}: {warnings:#?}");
        let report = site.hierad("diff --format json").json();
        let spots = told(&report, "blind_spots");
        assert_eq!(spots.len(), 1, "{what}: {report}");
        assert_eq!(spots[0]["files"], serde_json::json!(["data/common.yaml"]), "{spots:?}");
    }
    // All refuse these.
    for content in
        [&b"ntp: [\n"[..], b"ntp: {a:}}\n", b"motd: \x01\xe9\n", b"\tmotd: a\n", b"ntp: [\xe9\n", b"a:\t{b:}\n"]
    {
        let site = with("", content);
        assert_eq!(warnings(&site), [""; 0], "{content:?}");
        let report = site.hierad("diff --format json").json();
        assert_eq!(told(&report, "blind_spots"), [""; 0], "{content:?}");
    }
}

#[test]
fn a_commit_that_brings_such_a_file_has_a_finding_or_by_the_settings_a_blind_spot() {
    for (content, settings, is_unseen) in [
        ("motd: a\nport:\t80\n", "", false),
        ("motd: a\nport:\t80\n", "ruby: '3.3'\n", false),
        ("motd: a\nport:\t80\n", "ruby: jruby\n", true),
        ("motd: a\nport:\t80\n", "ruby: jruby-9.3\n", true),
        ("motd: a\nport:\t80\n", "ruby: jruby-10\n", true),
        ("motd: a\nport: 1000,\n", "ruby: jruby\n", false),
        ("motd: a\nport: 1000,\n", "ruby: jruby-9.3\n", true),
        ("ntp: [-, b]\n", "ruby: jruby\n", true),
        ("ntp: [-, b]\n", "ruby: jruby-9.3\n", false),
    ] {
        let site = with(settings, content);
        let report = site.hierad("diff --format json").json();
        let counts = [told(&report, "diagnostics").len(), told(&report, "blind_spots").len()];
        assert_eq!(counts, [usize::from(!is_unseen), usize::from(is_unseen)], "{settings}{content:?}: {report}");
        // Another commit does not tell it again.
        site.write("data/roles/web.yaml", "port: 81\n");
        site.commit("third");
        let report = site.hierad("diff --format json").json();
        assert_eq!(
            [told(&report, "diagnostics"), told(&report, "blind_spots")],
            [[""; 0], [""; 0]],
            "{settings}{content:?}"
        );
    }
    let accepted = "ruby: jruby\naccept: {read-otherwise: [\"data/*\"]}\n";
    let report = with(accepted, "port:\t80\n").hierad("diff --format json").json();
    assert_eq!(told(&report, "blind_spots"), [""; 0], "{report}");
}

#[test]
fn json_that_is_not_utf8_is_refused_by_servers() {
    let site = SITE.replace("hierarchy:", "defaults: {datadir: data, data_hash: json_data}\nhierarchy:");
    let site = Sandbox::of(&site.replace("common.yaml}", "common.json}"));
    for (content, line) in [(&b"{\n\"motd\": \"caf\xe9\"}\n"[..], Some(2)), ("{\"motd\": \"café\"}".as_bytes(), None)]
    {
        site.write("data/common.json", content);
        site.commit("data");
        let expected = |line| {
            format!(
                "data/common.json:{line}: warning: a Puppet server on JRuby refuses this file: bytes that are not UTF-8"
            )
        };
        let warnings = warnings(&site);
        assert_eq!(warnings.len(), usize::from(line.is_some()), "{warnings:#?}");
        assert!(line.is_none_or(|line| warnings[0].starts_with(&expected(line))), "{warnings:#?}");
    }
}

#[test]
fn what_depends_on_the_server_is_a_standing_note() {
    let site = |location: &str, settings: &str, files: &[&str]| {
        let site = Sandbox::of(&SITE.replace("path: common.yaml", location));
        site.write("hierad.yaml", format!("profiles: [profiles]\n{settings}"));
        for path in files {
            site.write(path, "motd: hello\n");
        }
        site.commit("files");
        site.write(files[0], "motd: other\n");
        site.commit("second");
        site
    };
    let both = ["data/x/a.yaml", "data/x/b.yaml"];
    for (location, files, is_noted) in [
        ("glob: 'x/*.yaml'", &both[..], true),
        ("globs: ['y/*.yaml', 'x/*.yaml']", &both, true),
        ("glob: '*/*.yaml'", &["data/x/a.yaml", "data/y/b.yaml"], true),
        ("glob: '**/{a,b}.yaml'", &["data/x/a.yaml", "data/y/b.yaml"], true),
        ("glob: 'x/{b,a}.yaml'", &both, true),
        ("glob: 'x/*.yaml'", &["data/x/a.yaml", "data/y/b.yaml"], false),
        ("glob: 'x/%{trusted.certname}*.yaml'", &["data/x/web01.yaml"], false),
        ("paths: [x/a.yaml, x/b.yaml]", &both, false),
    ] {
        let one = site(location, "", files);
        let printed = one.hierad("check --full --allow unreached-file");
        let note = "hiera.yaml:5: note: Ruby sorts the files of a glob since 3.0";
        assert_eq!(printed.out.contains(note), is_noted, "{location}: {printed:#?}");
        let spots = |site: &Sandbox| told(&site.hierad("diff --format json").json(), "blind_spots").len();
        assert_eq!(spots(&one), 0, "{location}");
        assert_eq!(spots(&site(location, "ruby: jruby\n", files)), 0, "{location}");
        assert_eq!(spots(&site(location, "ruby: jruby-9.3\n", files)), usize::from(is_noted), "{location}");
    }
    let beyond = site("path: 'é.yaml'", "", &["data/é.yaml"]).hierad("check --full");
    assert!(beyond.out.contains("note: a Puppet server whose locale is not UTF-8"), "{beyond:#?}");
}

#[test]
fn a_hiera_yaml_is_read_by_servers_too() {
    for (content, line) in [
        (SITE.replace("version: 5", "version:\t5"), Some(1)),
        (SITE.replace("path: common.yaml", "path:\tcommon.yaml"), Some(5)),
        (SITE.replace("hierarchy:", "hierarchy:\t# levels"), Some(2)),
        (SITE.replace("version: 5", "# \tlevels\nversion: 5"), None),
        (SITE.replace("version: 5", "version: 5\t"), None),
    ] {
        let site = Sandbox::of(SITE);
        site.files(&content);
        site.commit("levels");
        let expected: Vec<String> = line
            .map(|line| format!("hiera.yaml:{line}: warning: a Puppet server on JRuby refuses this file: a tab"))
            .into_iter()
            .collect();
        let warnings = warnings(&site);
        assert_eq!(warnings.len(), expected.len(), "{warnings:#?}");
        assert!(
            warnings.iter().zip(&expected).all(|(warning, expected)| warning.starts_with(expected)),
            "{warnings:#?}"
        );
        let report = site.hierad("diff --format json").json();
        assert_eq!(told(&report, "diagnostics").len(), expected.len(), "{content}: {report}");
    }
}
