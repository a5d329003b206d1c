//! `hierad.yaml`: where it is found, what it says, and what it says wrongly.

use crate::support::Sandbox;
use crate::support::terminal::{SITE, changes, hierad};

/// `port` on `web01`, as looked up with these arguments and variables.
fn port(site: &Sandbox, arguments: &str, variables: &[(&str, &str)]) -> String {
    let mut command = hierad(site.root());
    command.args(arguments.split_whitespace()).args(["lookup", "port", "--node", "web01", "--render-as", "s"]);
    command.envs(variables.iter().copied());
    let printed = site.masked(&mut command);
    if printed.status == 0 { printed.out.trim_end().to_owned() } else { printed.err }
}

#[test]
fn settings_are_found_in_their_places() {
    let site = Sandbox::of(SITE);
    let profiles = |role: &str| {
        site.write(&format!("{role}/n.yaml"), format!("{{name: web01, variables: {{role: {role}}}}}"));
        format!("profiles: [{}]\n", site.root().join(role).display())
    };
    for (role, port) in [("beside", 1), ("gitdir", 2), ("flag", 3), ("variable", 4), ("user", 5)] {
        site.write(&format!("data/roles/{role}.yaml"), format!("port: {port}\n"));
    }
    site.write(".git/hierad.yaml", profiles("gitdir"));
    site.write("../home/hierad/hierad.yaml", profiles("user"));
    site.write("../flag.yaml", profiles("flag"));
    site.write("../variable.yaml", profiles("variable"));
    site.write("hierad.yaml", profiles("beside"));
    site.commit("roles");
    let variable = [("HIERAD_CONFIG", "../variable.yaml")];
    let home = site.beside("home").display().to_string();
    let user = [("XDG_CONFIG_HOME", &*home)];
    assert_eq!(port(&site, "", &user), "2");
    assert_eq!(port(&site, "", &variable), "4");
    assert_eq!(port(&site, "--config ../flag.yaml", &variable), "3");
    assert_eq!(port(&site, "", &[("HIERAD_CONFIG", "")]), "2", "an empty one is none");
    assert_eq!(port(&site, "--profiles beside", &[]), "1", "a flag wins");
    std::fs::remove_file(site.root().join(".git/hierad.yaml")).unwrap();
    assert_eq!(port(&site, "", &user), "5");
    assert_eq!(port(&site, "", &[]), "1");
    let missing = port(&site, "--config nowhere.yaml", &[]);
    assert!(missing.contains("cannot read nowhere.yaml"), "{missing}");
}

#[test]
fn paths_are_relative_to_the_file() {
    let site = Sandbox::of(SITE);
    site.write("etc/hierad.yaml", "profiles: ../profiles/w*.yaml\n");
    let printed = site.hierad_in("data", "--config ../etc/hierad.yaml render --format ndjson");
    assert_eq!(printed.ok().lines().count(), 1, "{printed:?}");
}

#[test]
fn faulty_sinks_are_named_with_lines() {
    let site = Sandbox::of(SITE);
    for (sink, expected) in [
        ("{}", "2: sink 's' needs one of 'stdout: true', 'folder: DIR', 'command: [PROGRAM, ...]', 'webhook: URL'"),
        ("{stdout: true, folder: x}", "2: sink 's' needs one of"),
        ("{folders: x}", "2: sinks.s: unknown field `folders`"),
        ("{folder: x, timeout: 5}", "2: sink 's' has no 'webhook', 'command' or 'mail', so 'timeout' has no effect"),
        (
            "{folder: x, ca_file: y}",
            "2: sink 's' has no 'webhook', so 'secret_file', 'ca_file', 'headers' and 'header_files' have no effect",
        ),
        (
            "{webhook: 'http://x/', headers: {X-Token: a}, header_files: {x-token: b}}",
            "2: sink 's': 'header_files': 'x-token' is in 'headers', too",
        ),
        ("{folder: x, nodes: 're:('}", "2: sink 's': 'nodes': 're:(' is not a valid pattern: unclosed group"),
        (
            "{folder: x, repositories: 're:('}",
            "2: sink 's': 'repositories': 're:(' is not a valid pattern: unclosed group",
        ),
        (
            "{folder: x, repositories: [\"*l\", contrl]}\nrepositories: {control: {path: .}}",
            "2: sink 's': 'repositories': there is no watched repository 'contrl'",
        ),
        ("{folder: x, retry_for: -1}", "2: sink 's': 'retry_for': must be a number above 0, not -1"),
        ("{command: []}", "2: sink 's': 'command': needs a program"),
        ("{command: [x], timeout: 5000}", "2: sink 's': 'timeout': must be at most 3600 seconds, not 5000"),
        (
            "{webhook: 'ftp://T0KEN'}",
            "2: sink 's': 'webhook': this is not a valid address: it must begin with http:// or https://",
        ),
        ("{mail: {from: a@b.c, to: a@b.c}}", "2: sinks.s.mail: missing field `server`"),
        (
            "{mail: {server: mail, from: a@b.c, to: a@b.c}}",
            "2: sink 's': 'mail': 'mail' is not a mail server: it must be smtps://",
        ),
        ("{mail: {server: 'smtp://m', from: a, to: a@b.c}}", "2: sink 's': 'mail': 'a' is not a mail address: "),
        ("{mail: {server: 'smtp://m', from: a@b.c, to: []}}", "2: sink 's': 'mail': 'to' is empty"),
        (
            "{mail: {server: 'smtp://m', from: a@b.c, to: a@b.c, user: ann}}",
            "2: sink 's': 'mail': 'user' and 'password_file' must be given together",
        ),
        (
            "{mail: {server: 'smtp://m', from: a@b.c, to: a@b.c, starttls: yes please}}",
            "2: sink 's': 'mail': 'starttls' must be required, opportunistic or none, not yes please",
        ),
        (
            "{mail: {server: 'smtp://m', from: a@b.c, to: a@b.c, user: u, password_file: f, starttls: none}}",
            "2: sink 's': 'mail': with 'starttls: opportunistic' or 'none', the password could be intercepted",
        ),
    ] {
        site.write(".git/hierad.yaml", format!("sinks:\n  s: {sink}\n"));
        let printed = site.hierad("diff");
        printed.fails(&[&format!("hierad.yaml:{expected}")]);
        assert!(!printed.err.contains("T0KEN"), "{printed:?}");
    }
}

#[test]
fn only_the_daemon_reads_files_of_sinks() {
    let site = Sandbox::of(SITE);
    let mail = "server: 'smtps://m', from: a@b.c, to: a@b.c";
    for (sink, expected) in [
        ("{webhook: 'http://x', secret_file: none}", "sink 's': cannot read $BASE/repository/none: No such file"),
        ("{webhook: 'http://x', secret_file: empty}", "sink 's': the file $BASE/repository/empty is empty"),
        ("{webhook: 'https://x', ca_file: words}", "sink 's': 'ca_file' contains no certificate in PEM form"),
        (&format!("{{mail: {{{mail}, ca_file: words}}}}"), "sink 's': 'ca_file' contains no certificate in PEM form"),
        (
            &format!("{{mail: {{{mail}, user: u, password_file: odd}}}}"),
            "sink 's': the file $BASE/repository/odd is not UTF-8",
        ),
    ] {
        site.write("empty", "\n");
        site.write("words", "words\n");
        site.write("odd", b"\xff\n");
        site.settings(format!("profiles: profiles\nsinks:\n  s: {sink}\n"));
        site.hierad("diff").ok();
        site.hierad("watch").fails(&[expected]);
    }
}

#[test]
fn faults_are_named_with_lines() {
    let site = Sandbox::of(SITE);
    for (content, expected) in [
        ("profiles: [p]\nprofile: x\n", "hierad.yaml:2: unknown field `profile`"),
        (
            "# words\nprofiles: 7\n",
            "hierad.yaml:2: profiles: invalid type: integer `7`, expected a path, or a hash with one source",
        ),
        (
            "profiles: [p]\nruby: 1.9\n",
            "hierad.yaml:2: 'ruby' must be a version such as 3.1, 3.3, 3.4, jruby-9.3, jruby or jruby-10, not 1.9",
        ),
        ("profiles: [p]\n\npuppet: 6\n", "hierad.yaml:3: 'puppet' must be 7, 8 or 9 (OpenVox), not 6"),
        ("profiles: [p]\npuppet: eight\n", "hierad.yaml:2: puppet: invalid type: string \"eight\""),
        ("profiles: [p]\nenvironment: [a]\n", "hierad.yaml:2: environment: invalid type: sequence"),
        ("profiles: [p]\nhiera_config: ../x.yaml\n", "hierad.yaml:2: 'hiera_config' must be a path inside"),
        ("profiles: [p]\nhiera_config: /x.yaml\n", "hierad.yaml:2: 'hiera_config' must be a path inside"),
        (
            "\nglobal_hiera_config: [a]\n",
            "hierad.yaml:2: global_hiera_config: invalid type: sequence, expected 'none', a file or",
        ),
        ("global_hiera_config: {repo: x}\n", "hierad.yaml:1: global_hiera_config: missing field `path`"),
        ("global_hiera_config: {path: ../x}\n", "hierad.yaml:1: 'global_hiera_config': 'path' must be a path inside"),
        ("global_hiera_config: {path: x, rev: y}\n", "hierad.yaml:1: 'global_hiera_config': 'rev' needs 'repo'"),
        ("lookup_options: [a]\n", "hierad.yaml:1: 'lookup_options' must be a hash of keys"),
        (
            "lookup_options:\n  a: {merge: first}\n  b: {merge: best}\n",
            "hierad.yaml:3: 'b' in 'lookup_options': Unknown merge strategy: 'best'",
        ),
        ("lookup_options:\n  ^(: {merge: first}\n", "hierad.yaml:2: '^(' in 'lookup_options': "),
        ("datadirs:\n  /a: b\n  .: y\n", "hierad.yaml:3: 'datadirs' are folders or files, not the whole repository"),
        ("datadirs:\n  /a: b\n  /x: ../y\n", "hierad.yaml:3: '../y' under 'datadirs' must not contain '..'"),
        ("datadirs:\n  - a\n", "hierad.yaml:1: datadirs: invalid type: sequence"),
        (
            "backends:\n  a: {not_found: true}\n  b: 1\n",
            "hierad.yaml:3: backends.b: invalid type: integer `1`, expected a hash such as",
        ),
        ("backends:\n  b:\n    not_found: true\n    vlues: x\n", "hierad.yaml:4: backends.b: unknown field `vlues`"),
        ("backends:\n  b: {}\n", "hierad.yaml:2: backend 'b' needs one of"),
        ("backends:\n  b: {not_found: true, values: x}\n", "hierad.yaml:2: backend 'b' needs one of"),
        ("backends:\n  b: {values: x}\n", "hierad.yaml:2: backend 'b' needs the file $BASE/repository/x"),
        ("- a\n", "hierad.yaml:1: invalid type: sequence, expected a hash of settings"),
        ("profiles: [p\n", "hierad.yaml:2: did not find expected ',' or ']'"),
    ] {
        site.write("hierad.yaml", content);
        site.hierad("diff").fails(&[&format!("hierad: $BASE/repository/{expected}")]);
    }
    site.write("values.yaml", "- a\n");
    site.write("hierad.yaml", "backends: {b: {values: values.yaml}}\n");
    site.hierad("diff").fails(&["$BASE/repository/values.yaml: a file of values must be a hash"]);
    for empty in ["", "# nothing\n", "---\n"] {
        site.write("hierad.yaml", empty);
        site.hierad("diff --profiles profiles").is(0);
    }
}

#[test]
fn absolute_datadirs_are_mapped() {
    let site = Sandbox::of(SITE);
    let code = "/etc/puppetlabs/code/environments/%{environment}";
    site.write(
        "hiera.yaml",
        format!("version: 5\ndefaults: {{data_hash: yaml_data, datadir: '{code}/data'}}\nhierarchy: [{{name: C, path: common.yaml}}]\n"),
    );
    std::fs::create_dir_all(site.beside("disk/data")).unwrap();
    std::fs::write(site.beside("disk/data/common.yaml"), "motd: disk\n").unwrap();
    let disk = site.beside("disk").display().to_string();
    for (target, expected) in [(".", "hello"), ("./", "hello"), (&*disk, "disk"), ("none", ""), ("roles", "")] {
        site.settings(format!("profiles: profiles\ndatadirs:\n  '{code}': {target}\n"));
        let printed = site.hierad("lookup motd --node web01 --rev . --render-as s");
        assert_eq!(printed.out.trim_end(), expected, "{target}: {printed:?}");
    }
    site.write("hierad.yaml", format!("profiles: profiles\ndatadirs: {{'{code}': .}}\n"));
    let check = site.hierad("check .");
    assert!(check.is(2).out.contains("data/roles/db.yaml:1: warning: no known node's hierarchy leads"), "{check:#?}");
    site.write("hierad.yaml", "profiles: profiles\n");
    let check = site.hierad("check .");
    assert!(
        check.is(2).out.contains("is outside of this repository; it ends like the folder data/ here"),
        "{check:#?}"
    );
}

#[test]
fn relative_datadirs_are_mapped() {
    let site = Sandbox::of(SITE);
    site.files("-- hiera.yaml\nversion: 5\ndefaults: {datadir: ../shared, data_hash: yaml_data}\nhierarchy: [{name: C, path: common.yaml}, {name: G, glob: 'c*.yaml'}]\n");
    site.sh("ln -s /nowhere/private.yaml data/private.yaml");
    let motd = || site.hierad("lookup motd --node web01 --rev . --render-as s").out;
    assert_eq!(motd(), "");
    site.write("hierad.yaml", "profiles: profiles\ndatadirs: {../shared: data}\n");
    assert_eq!(motd(), "hello\n");
    // A link out of the repository is known and fine, as its finding proposes, or mapped.
    site.files("-- hiera.yaml\nversion: 5\nhierarchy: [{name: P, path: private.yaml}, {name: C, path: common.yaml}]\n");
    site.write("hierad.yaml", "profiles: profiles\n");
    let fix = r#"accept: {outside-repository: ["data/private.yaml"]}"#;
    let check = site.hierad("check . --allow unreached-file");
    assert!(check.is(2).out.contains(fix), "{check:#?}");
    for line in [fix, "datadirs: {data/private.yaml: none}"] {
        site.settings(format!("profiles: profiles\n{line}\n"));
        let check = site.hierad("check . --severity warning --allow unreached-file");
        assert_eq!(check.ok(), "0 errors, 0 warnings on 2 nodes; 1 hidden\n", "{line}");
    }
    site.write("hierad.yaml", "profiles: profiles\ndatadirs: {data/private.yaml: data/roles/web.yaml}\n");
    assert_eq!(site.hierad("lookup port --node web01 --rev . --render-as s").ok(), "80\n");
}

#[test]
fn functions_of_others_are_declared() {
    let site = Sandbox::of(SITE);
    site.write(
        "hiera.yaml",
        "version: 5\nhierarchy:\n- {name: V, lookup_key: vault}\n- {name: C, path: common.yaml}\n",
    );
    let motd = |site: &Sandbox| site.hierad("lookup motd --node web01 --rev . --render-as s");
    motd(&site).fails(&["Unable to find 'lookup_key' function named 'vault'", "under 'backends' in hierad.yaml"]);
    site.write("hierad.yaml", "profiles: [profiles]\nbackends: {vault: {not_found: true}}\n");
    assert_eq!(motd(&site).ok(), "hello\n");
    site.write("hierad.yaml", "profiles: [profiles]\nbackends: {vault: {values: secrets.yaml}}\n");
    site.write("secrets.yaml", "motd: secret\nother: 1\n");
    assert_eq!(motd(&site).ok(), "secret\n");
    let keys = site.hierad("render . --format ndjson --node web01");
    assert!(keys.ok().contains(r#""other":1"#), "{keys:?}");
}

#[test]
fn the_branch_may_be_the_environment() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: '%{environment}'\n");
    site.write("hierad.yaml", "profiles: [profiles]\nenvironment: branch\n");
    site.commit("environment");
    let motd = || site.hierad("lookup motd --node web01 --render-as s").ok().trim_end().to_owned();
    assert_eq!(motd(), "main");
    site.git(["checkout", "--quiet", "-b", "feature/a-b"]);
    assert_eq!(motd(), "feature_a_b");
    site.git(["checkout", "--quiet", "--detach"]);
    let printed = site.hierad("lookup motd --node web01 --render-as s");
    printed.fails(&["the environment of the nodes is the name of a branch, and no branch is checked out"]);
    site.write("hierad.yaml", "profiles: [profiles]\nenvironment: staging\n");
    assert_eq!(motd(), "staging");
}

#[test]
fn the_version_of_puppet_decides() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: 'x%{nope}'\n");
    site.commit("undefined");
    let motd = |arguments: &str| site.hierad(&format!("lookup motd --node web01 --render-as s {arguments}"));
    motd("").fails(&["nope"]);
    assert_eq!(motd("--puppet 7").ok(), "x\n");
    site.write("hierad.yaml", "profiles: [profiles]\npuppet: 7\n");
    assert_eq!(motd("").ok(), "x\n");
    motd("--puppet 8").fails(&["nope"]);
}

#[test]
fn hiera_yaml_may_lie_elsewhere() {
    let site = Sandbox::of(SITE);
    site.files(
        "-- site/hiera.yaml\nversion: 5\nhierarchy: [{name: C, path: c.yaml}]\n-- site/data/c.yaml\nmotd: below\n",
    );
    site.commit("below");
    for path in ["site/hiera.yaml", "./site/hiera.yaml"] {
        let printed = site.hierad(&format!("lookup motd --node web01 --render-as s --hiera-config {path}"));
        assert_eq!(printed.ok(), "below\n");
    }
    site.hierad("diff --hiera-config /etc/hiera.yaml").fails(&["--hiera-config must be a path inside the repository"]);
    site.hierad("diff --hiera-config ../hiera.yaml").fails(&["--hiera-config must be a path inside the repository"]);
    site.write("hierad.yaml", "profiles: [profiles]\nhiera_config: site/hiera.yaml\n");
    assert_eq!(changes(&site.hierad("diff --format json").json()).first().unwrap(), "motd added db01,web01");
}

#[test]
fn an_unknown_setting_names_the_one_that_is_meant() {
    let site = Sandbox::of(SITE);
    for (settings, line, meant) in [
        ("profils: [p]\n", 1, "unknown field `profils`: did you mean `profiles`?"),
        ("profiles: []\nenviroment: x\n", 2, "unknown field `enviroment`: did you mean `environment`?"),
        ("limits:\n  stepps: 1\n", 2, "limits: unknown field `stepps`: did you mean `steps`?"),
        ("check:\n  sverity: x\n", 2, "check: unknown field `sverity`: did you mean `severity`?"),
        ("eyaml:\n  alowed_keys: []\n", 2, "unknown field `alowed_keys`: did you mean `allowed_keys`?"),
        ("backends:\n  b:\n    vlues: x\n", 3, "backends.b: unknown field `vlues`: did you mean `values`?"),
        ("global_hiera_config:\n  pth: x\n", 2, "unknown field `pth`: did you mean `path`?"),
        ("sinks:\n  s:\n    foldr: x\n", 3, "sinks.s: unknown field `foldr`: did you mean `folder`?"),
        ("profiles:\n- puppetdb: {ulr: x}\n", 2, "unknown field `ulr`: did you mean `url`?"),
        ("profiles:\n- pupetdb: {url: x}\n", 2, "unknown field `pupetdb`: did you mean `puppetdb`?"),
        ("http:\n  lisen: x\n", 2, "http: unknown field `lisen`: did you mean `listen`?"),
    ] {
        site.write(".git/hierad.yaml", settings);
        site.hierad("check").fails(&[&format!(".git/hierad.yaml:{line}: "), meant]);
    }
    // Where none is near, all are named.
    site.write(".git/hierad.yaml", "limits:\n  xyzzy: 1\n");
    site.hierad("check").fails(&["unknown field `xyzzy`, expected one of `file`, `steps`"]);
}

#[test]
fn settings_are_shown_with_their_places() {
    let site = Sandbox::of(SITE);
    site.write("hierad.yaml", "profiles: [profiles]\nsinks: {s: {stdout: true}}\npuppet: 7\ncheck: {severity: note}\n");
    site.write(
        ".git/hierad.yaml",
        "environment: test\nhttp: {token_file: t}\nsinks:\n  s: {webhook: 'https://h/T0KEN'}\n",
    );
    let shown = site.hierad("settings --puppet 8 --no-keys");
    for row in [
        r#"profiles +\["profiles"\] +\S*hierad.yaml:1"#,
        r#"puppet +"8" +--puppet"#,
        r"eyaml +--no-keys",
        r#"environment +"test" +\S*.git/hierad.yaml:1"#,
        r#"check +\{"severity":"note"\} +\S*hierad.yaml:4; counts once the revision before has it"#,
        r#"sinks +\{"s":\{"webhook":"https://h/\*\*\*"\}\} +\S*.git/hierad.yaml:3"#,
    ] {
        assert!(regex::Regex::new(row).unwrap().is_match(shown.ok()), "{row}: {}", shown.out);
    }
    assert!(!shown.out.contains("default") && !shown.out.contains("T0KEN"), "{}", shown.out);
    assert!(site.hierad("settings --all").ok().contains("default"));
    // Left out, with the reason and what to do.
    site.write(".git/hierad.yaml", "environment: test\n");
    let shown = site.hierad("settings");
    let left_out = shown.ok().split_once("Left out").unwrap().1;
    assert!(left_out.contains("hierad.yaml:2: 'sinks' does not count from the tree; it may stand in"), "{left_out}");
    let shown: serde_json::Value = serde_json::from_str(site.hierad("settings --format json").ok()).unwrap();
    assert_eq!(shown["left_out"][0]["setting"], "sinks");
    assert_eq!(shown["left_out"][0]["line"], 2);
    assert!(shown["left_out"][0]["advice"].as_str().unwrap().contains("hierad trust"));
    let environment = shown["settings"].as_array().unwrap().iter().find(|row| row["setting"] == "environment").unwrap();
    assert_eq!((&environment["value"], &environment["from"]["line"]), (&"test".into(), &1.into()));
}

#[test]
fn settings_of_git_are_shown() {
    let site = Sandbox::of(SITE);
    site.git(["config", "hierad.prePush", "policies"]);
    site.git(["config", "hierad.postComit", "print"]);
    let shown = site.hierad("settings").ok().to_owned();
    assert!(shown.contains("hierad.prePush") && shown.contains("git's configuration, file:"), "{shown}");
    assert!(shown.contains("unknown setting hierad.postcomit: did you mean `hierad.postCommit`?"), "{shown}");
}

#[test]
fn a_run_tells_what_it_reads() {
    let site = Sandbox::of(SITE);
    site.write("data/common.yaml", "port: 9\n");
    site.commit("port");
    let told = |arguments: &str, variables: &[(&str, &str)]| {
        let mut command = hierad(site.root());
        site.masked(command.args(arguments.split(' ')).envs(variables.iter().copied())).err
    };
    let first = told("diff -v", &[]);
    for words in [
        "no usable cache",
        "reason=\"there is none\"",
        "settings are read",
        "profiles are read",
        "a hiera.yaml is read",
        "the cache was used",
        "the comparison is done took=",
    ] {
        assert!(first.contains(words), "{words}: {first}");
    }
    assert!(told("diff -v", &[]).contains("the cache is read"));
    assert_eq!(told("diff", &[]), "");
    assert!(told("diff", &[("RUST_LOG", "hierad=info")]).contains("profiles are read"));
    assert_eq!(told("diff", &[("RUST_LOG", "hierad=info"), ("HIERAD_LOG", "warn")]), "");
    assert_eq!(told("diff", &[("RUST_LOG", "")]), "");
}
