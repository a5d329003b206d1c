//! Settings that a stranger's commit brings: what of them counts, and how the user lets more of them count.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::support::extent::full_or;
use crate::support::terminal::{Printed, SITE, hierad, run};
use crate::support::{Sandbox, git_in, work};

/// The advice that follows each refusal.
const ADVICE: &str = "; it may stand in .git/hierad.yaml or in a file outside of the tree that --config names, or run \
                      `hierad trust`";

/// A level for the function `evil`.
const EVIL_LEVEL: &str = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Evil, lookup_key: evil}
  - {name: Common, path: common.yaml}
";

/// A program that leaves a file beside the repository.
const EVIL: &str = "#!/bin/sh\ntouch ../owned\nwhile read -r line; do case $line in *motd*) echo '{\"value\": \"evil\"}' ;; *) echo '{\"not_found\": true}' ;; esac; done\n";

/// The settings that have that program run.
const EVIL_SETTINGS: &str = "profiles: [profiles]\nbackends: {evil: {command: [./evil.sh]}}\n";

/// A repository on a stranger's branch, whose commit changes these files.
fn proposed(files: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    site.git(["checkout", "--quiet", "-b", "stranger"]);
    site.files(files);
    site.commit("a proposal");
    site
}

/// A repository on the branch of a stranger, who wants a command to run.
fn evil() -> Sandbox {
    let site = proposed(&format!("{EVIL_LEVEL}-- hierad.yaml\n{EVIL_SETTINGS}-- evil.sh\n{EVIL}"));
    site.sh("chmod +x evil.sh; git commit --quiet --all --amend --no-edit");
    site
}

fn was_run(site: &Sandbox) -> bool {
    std::fs::remove_file(site.beside("owned")).is_ok()
}

/// Writes a file beside the repository.
fn beside(site: &Sandbox, path: &str, content: &str) {
    let path = site.beside(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// The codes of the blind spots of a report in JSON.
fn codes(report: &Json) -> Vec<&str> {
    report["blind_spots"].as_array().unwrap().iter().map(|spot| spot["code"].as_str().unwrap()).collect()
}

fn diff(site: &Sandbox, arguments: &str) -> Printed {
    site.hierad(&format!("diff --format json --allow-blind {arguments}"))
}

#[test]
fn a_commit_runs_no_commands() {
    let site = evil();
    for command in [
        "diff main...HEAD --profiles profiles --allow-blind",
        "diff . --allow-blind",
        "check",
        "render --allow-blind",
        "lookup motd --node web01",
        "watch --check-config",
    ] {
        let printed = site.hierad(command);
        assert!(!was_run(&site), "{command}: {printed:#?}");
        let refusal = "repository/hierad.yaml:2: 'backends' of the tree does not count for commands (evil)";
        printed.says(&[refusal]);
        assert_eq!(printed.err.matches("for commands").count(), 1, "{command}: {printed:#?}");
        assert!(command.starts_with("watch") || printed.err.contains(ADVICE), "{printed:#?}");
    }
    let report = diff(&site, "main...HEAD").json();
    assert_ne!(report["verdict"], "no_change");
    assert!(!report.to_string().contains("by evil"), "{report:#}");
    // The same settings count from a place that no commit writes.
    site.write(".git/hierad.yaml", EVIL_SETTINGS.replace("./evil", "../evil").replace("[profiles]", "[../profiles]"));
    site.sh("sed 's,touch ../,touch ../../,' evil.sh > evil; cat evil > evil.sh; rm evil");
    assert_eq!(site.hierad("lookup motd --node web01 --render-as s").ok(), "evil\n");
    assert!(was_run(&site));
}

#[test]
fn a_commit_reads_no_files_of_the_disk() {
    let level = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: Disk, path: x.yaml, datadir: /opt/data}, {name: C, path: common.yaml}]\n";
    let site = proposed(level);
    let other = Sandbox::of("-- hiera.yaml\nversion: 5\n-- data/common.yaml\nmotd: TOPSECRET\n");
    beside(&site, "disk/x.yaml", "motd: TOPSECRET\n");
    beside(&site, "disk/m/hiera.yaml", "version: 5\n");
    beside(&site, "disk/m/data/common.yaml", "m::key: TOPSECRET\n");
    beside(&site, "disk/data/common.yaml", "motd: TOPSECRET\n");
    beside(&site, "disk/hiera.yaml", "version: 5\n");
    beside(&site, "disk/node.yaml", "{name: TOPSECRET}");
    let disk = site.beside("disk").display().to_string();
    for (setting, refused) in [
        (
            format!("datadirs: {{/opt/data: {disk}}}"),
            "'datadirs' of the tree does not count for paths outside of it (/opt/data)",
        ),
        (format!("global_hiera_config: {disk}/hiera.yaml"), "'global_hiera_config' does not count from the tree"),
        ("global_hiera_config: ../disk/hiera.yaml".to_owned(), "'global_hiera_config' does not count from the tree"),
        (
            format!("global_hiera_config: {{repo: {}, path: hiera.yaml}}", other.root().display()),
            "'global_hiera_config' does not count from the tree",
        ),
        (format!("basemodulepath: [{disk}]"), "'basemodulepath' does not count from the tree"),
        (format!("modulepath: ['{disk}']"), "'modulepath' of the tree does not count for paths outside of it ("),
        (
            format!("modulepath: ['modules:{disk}']"),
            "'modulepath' of the tree does not count for paths outside of it (",
        ),
        (
            "backends: {x: {values: ../disk/x.yaml}}".to_owned(),
            "'backends' of the tree does not count for files outside of it (x)",
        ),
        (
            "backends: {x: {values: link.yaml}}".to_owned(),
            "'backends' of the tree does not count for files outside of it (x)",
        ),
        (
            "profiles: [profiles, ../disk/node.yaml]".to_owned(),
            "'profiles' of the tree does not count for paths outside of it (../disk/node.yaml)",
        ),
        ("eyaml: {pkcs7_private_key: ../disk/x.yaml}".to_owned(), "'eyaml' does not count from the tree"),
    ] {
        let profiles = if setting.starts_with("profiles") { "" } else { "profiles: [profiles]\n" };
        _ = std::fs::remove_file(site.root().join("link.yaml"));
        symlink("../disk/x.yaml", site.root().join("link.yaml")).unwrap();
        site.write("hierad.yaml", format!("{profiles}{setting}\n"));
        let rendered = site.hierad("render . --format ndjson");
        rendered.is(0).says(&["hierad.yaml:", refused, ADVICE]);
        assert!(!rendered.out.contains("TOPSECRET") && !rendered.err.contains("TOPSECRET"), "{rendered:#?}");
        let printed = diff(&site, ".");
        assert_ne!(printed.json()["verdict"], "no_change", "{setting}");
        assert!(codes(&printed.json()).contains(&"refused-setting"), "{setting}: {printed:#?}");
    }
}

#[test]
fn trusted_folders_are_no_way_out_for_the_tree() {
    let site = Sandbox::of(SITE);
    beside(&site, "disk/m/hiera.yaml", "version: 5\n");
    beside(&site, "disk/m/data/common.yaml", "m::key: TOPSECRET\n");
    beside(&site, "base/none", "");
    site.write(".git/hierad.yaml", "basemodulepath: [../../base]\n");
    for path in ["$basemodulepath/../disk", "$codedir", "modules:/etc"] {
        site.write("hierad.yaml", format!("profiles: [profiles]\nmodulepath: ['{path}']\n"));
        let printed = site.hierad("render --format ndjson");
        printed.is(0).says(&["'modulepath' of the tree does not count for paths outside of it"]);
        assert!(!printed.out.contains("TOPSECRET"), "{printed:#?}");
    }
    site.write("hierad.yaml", "profiles: [profiles]\nmodulepath: [modules, $basemodulepath]\n");
    assert_eq!(site.hierad("render --format ndjson").err, "");
}

#[test]
fn a_settings_file_that_leads_out_is_not_read() {
    let site = Sandbox::of(SITE);
    beside(&site, "secret", "TOPSECRET: [\n");
    site.write(".git/token", "TOPSECRET\n");
    let path = site.root().join("hierad.yaml");
    for target in ["../secret", ".git/token", "/dev/zero", "/nowhere", "loop", "pipe"] {
        std::fs::remove_file(&path).unwrap();
        if target == "pipe" {
            site.sh("mkfifo hierad.yaml");
        } else {
            symlink(target, &path).unwrap();
        }
        let printed = site.hierad("diff --profiles profiles");
        printed.is(0).says(&["repository/hierad.yaml: this file of the tree does not count: "]);
        assert!(!format!("{printed:?}").contains("TOPSECRET"), "{printed:#?}");
        let named = site.hierad("diff --profiles profiles --config hierad.yaml");
        named.fails(&["cannot read hierad.yaml: "]);
        assert!(!format!("{named:?}").contains("TOPSECRET"), "{named:#?}");
        site.hierad("trust").fails(&["cannot read"]);
    }
    std::fs::remove_file(&path).unwrap();
    site.write("hierad.yaml", "#".repeat((1 << 20) + 1));
    site.hierad("diff --profiles profiles").is(0).says(&["this file of the tree does not count: it is too large"]);
    // A link inside of the tree is fine.
    std::fs::remove_file(&path).unwrap();
    site.write("etc/hierad.yaml", "profiles: [profiles]\n");
    symlink("etc/hierad.yaml", &path).unwrap();
    assert_eq!(site.hierad("diff").is(0).err, "");
}

#[test]
fn hostile_settings_take_no_time() {
    let bytes = full_or(1_000_000, 250_000);
    let bomb = |leaf: &str| {
        let line = |n: usize| format!("  a{n}: &a{n} {{merge: [{}]}}\n", vec![format!("*a{}", n - 1); 9].join(", "));
        let lines: String = (1..30).map(line).collect();
        format!("profiles: [profiles]\nlookup_options:\n  a0: &a0 {{merge: {leaf}}}\n{lines}")
    };
    let patterns: Vec<String> = (0..full_or(30_000, 10_000)).map(|n| format!("'re:\\w{{150}}{n}'")).collect();
    let accept = format!("profiles: [profiles]\naccept: {{unreached-file: [{}]}}\n", patterns.join(", "));
    let large = "profiles: [profiles]\naccept: {unreached-file: ['re:\\w{1000}']}\n".to_owned();
    let deep = format!("profiles: {}\n", "[".repeat(200_000));
    let behind = |open: &str| format!("profiles: [profiles]\naccept: {}", open.repeat(bytes / open.len()));
    let second = behind("[ #]\n").replacen("accept", "---\naccept", 1);
    let names = |policy: &str, waiver: &str| {
        format!(
            "profiles: [profiles]\npolicies: [{{name: {}, level: note, message: x, keys: [a]}}]\nwaivers: [{{policy: {}, reason: x, expires: 2027-01-31}}]\n",
            policy.repeat(100_000),
            waiver.repeat(200_000),
        )
    };
    let site = Sandbox::of(SITE);
    let many = |line: &str| format!("profiles: [profiles]\n{}", line.repeat(bytes / line.len()));
    let quoted = |line: &str| format!("profiles: [profiles]\naccept: \"{}\"\n", line.repeat(bytes / line.len()));
    let documents =
        [many("---\n"), many("--- \n"), many("...\n"), many("--- a\n"), many("--- [\n"), many("---\n...\n")];
    let texts = [quoted("\n...\n"), quoted("\n---\n"), quoted("\n--- [\n")];
    let brackets = [behind("[ #]\n"), behind("[\"]\",\n"), behind("[']',\n"), behind("{a #}\n: "), second];
    let names = [names("ab", "c"), names("ab", "b")];
    for settings in [bomb("first"), bomb("unique"), accept, large, deep]
        .into_iter()
        .chain(brackets)
        .chain(names)
        .chain(documents)
        .chain(texts)
    {
        site.write("hierad.yaml", settings);
        site.commit("hostile");
        // As the base, as what changes, and as what is checked out.
        site.write("hierad.yaml", "profiles: [profiles]\n");
        let run = |arguments: &str| work::run(&site, hierad(site.root()).args(arguments.split(' ')));
        run("diff --format json --allow-blind").is(0);
        run("diff .").is(0);
        site.git(["checkout", "--quiet", "hierad.yaml"]);
        run("diff --profiles profiles");
    }
}

#[test]
fn a_commit_does_not_choose_the_key_of_fingerprints() {
    let site = proposed("-- data/common.yaml\nmotd: hello\nlookup_options: {motd: {convert_to: Sensitive}}\n");
    let render = || {
        let data = site.beside("home");
        site.masked(hierad(site.root()).args(["render", ".", "--format", "ndjson"]).env("XDG_DATA_HOME", data))
    };
    let own = render();
    assert!(own.ok().contains("hmac-sha256:"), "{own:#?}");
    let key = format!("{}\n", "0".repeat(64));
    site.write_secret("../key", &key);
    site.write("hierad.yaml", "profiles: [profiles]\nfingerprint_key: ../key\n");
    let printed = render();
    printed.is(0).says(&["hierad.yaml:2: 'fingerprint_key' does not count from the tree"]);
    assert_eq!(printed.out, own.out);
    site.hierad("trust").ok();
    let named = render();
    assert_ne!(named.ok(), own.out);
    // Nor where a file of the tree is the one that is named, or the usual one.
    for name in ["key", ".local/share/hierad/fingerprint.key", "hierad/fingerprint.key"] {
        site.write_secret(name, &key);
    }
    symlink("../key", site.root().join("out")).unwrap();
    symlink("repository/key", site.beside("in")).unwrap();
    for flag in ["key", "out", "../in", "data/../key", "../repository/key"] {
        let printed = site.hierad(&format!("render . --format ndjson --fingerprint-key {flag}"));
        printed.fails(&["the key for fingerprints of secrets", "a commit may"]);
    }
    site.write("hierad.yaml", "profiles: [profiles]\n");
    let root = site.root();
    for (home, data) in
        [(root.to_owned(), "".into()), (site.beside("home"), root.to_owned()), (root.join("none"), "".into())]
    {
        let mut command = hierad(root);
        command.args(["render", ".", "--format", "ndjson", "--profiles", "profiles"]);
        let printed = site.masked(command.env("HOME", home).env("XDG_DATA_HOME", data));
        printed.is(0).says(&["in the work tree", "fingerprints of secrets differ from run to run"]);
        assert_ne!(printed.out, named.out);
    }
    site.write_secret(".git/key", &key);
    assert_eq!(site.hierad("render . --format ndjson --fingerprint-key .git/key").ok(), named.out);
}

#[test]
fn a_key_of_fingerprints_is_a_secret_of_its_owner() {
    let site = proposed("-- data/common.yaml\nmotd: hello\nlookup_options: {motd: {convert_to: Sensitive}}\n");
    let digits = "7".repeat(64);
    let render = |key: &str| {
        let mut command = hierad(site.root());
        command
            .args(["render", ".", "--format", "ndjson", "--profiles", "profiles"])
            .env("HIERAD_FINGERPRINT_KEY", key);
        site.masked(&mut command)
    };
    let known = render(&digits);
    for honest in [format!("{digits}\n"), format!(" {digits}\r\n")] {
        assert_eq!(render(&honest).ok(), known.ok());
    }
    for wrong in [
        format!("0x{digits}"),
        format!("'{digits}'"),
        format!("{digits}7"),
        digits[1..].to_owned(),
        format!("{digits}\n{digits}"),
        format!("/{digits}"),
        format!("sha256:{digits}"),
    ] {
        let printed = render(&wrong);
        printed.fails(&["neither 64 hexadecimal digits"]);
        assert!(!format!("{printed:?}").contains(&digits[10..]), "{printed:#?}");
    }
    site.write_secret("../key", &format!("{digits}\n"));
    let mode = |mode: u32| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(site.beside("key"), permissions).unwrap();
    };
    assert_eq!(render("../key").ok(), known.ok());
    mode(0o644);
    render("../key").is(0).says(&["everybody on this machine can read the secret in ../key"]);
    mode(0o666);
    render("../key").fails(&["others can write the file ../key"]);
    assert!(std::process::Command::new("mkfifo").arg(site.beside("pipe")).status().unwrap().success());
    std::fs::create_dir(site.beside("large")).unwrap();
    for file in ["../pipe", "/dev/zero", "/dev/stdin", "../large"] {
        render(file).fails(&["the key for fingerprints of secrets"]);
    }
}

#[test]
fn naming_a_file_of_the_tree_trusts_nothing() {
    let site = evil();
    let refused = "'backends' of the tree does not count for commands (evil)";
    symlink("repository/hierad.yaml", site.beside("link.yaml")).unwrap();
    let whole = site.root().join("hierad.yaml").display().to_string();
    for named in ["hierad.yaml", "./data/../hierad.yaml", "../repository/hierad.yaml", "../link.yaml", &whole] {
        let printed = diff(&site, &format!("main...HEAD --profiles profiles --config {named}"));
        printed.says(&[refused]);
        assert!(!was_run(&site), "{named}");
        let mut command = hierad(site.root());
        command.env("HIERAD_CONFIG", named).args(["diff", "main...HEAD", "--profiles", "profiles", "--allow-blind"]);
        run(&mut command).says(&[refused]);
        assert!(!was_run(&site), "{named}");
    }
    // A copy elsewhere is the user's own.
    beside(&site, "etc/hierad.yaml", &EVIL_SETTINGS.replace("./evil", "../repository/evil"));
    assert_eq!(
        site.hierad("lookup motd --node web01 --render-as s --config ../etc/hierad.yaml --profiles profiles").ok(),
        "evil\n"
    );
}

#[test]
fn a_daemon_takes_no_orders_from_the_tree() {
    let site = proposed(
        "-- hierad.yaml\nprofiles: [profiles]\nstate: ../state\nhttp: {listen: '127.0.0.1:0'}\nsinks: {x: {command: [touch, ../owned]}}\nrepositories: {a: {path: ..}}\n",
    );
    for arguments in ["watch --check-config", "--config hierad.yaml watch --check-config"] {
        let printed = site.hierad(arguments);
        assert_eq!(printed.ok(), "the settings are fine: 1 repository, no durable queue: reports are printed\n");
    }
    // From elsewhere, for a repository that the settings name.
    let settings =
        "state: ../state\nprofiles: [profiles]\nrepositories: {a: {path: .}}\nsinks: {x: {folder: ../reports}}\n";
    site.write("hierad.yaml", settings);
    let elsewhere = || {
        let mut command = hierad(&site.beside(""));
        site.masked(command.args(["--config", "repository/hierad.yaml", "watch", "--check-config"]))
    };
    elsewhere()
        .fails(&["repository/hierad.yaml is in the tree of ", "every commit there could say what the daemon does"]);
    site.hierad("trust").ok();
    elsewhere().ok();
}

#[test]
fn the_side_under_review_accepts_nothing() {
    let accept = "-- hierad.yaml\nprofiles: [profiles]\naccept: {unreached-file: ['*']}\ncheck: {severity: warning}\n";
    let site = Sandbox::of(&format!("{SITE}-- data/nodes/old.yaml\nmotd: old\n"));
    site.files(&format!("{accept}-- data/nodes/old.yaml\nmotd: older\n"));
    site.commit("silence");
    let (note, code) = ("'accept' and 'check' are taken from the revision before", "unreached-file");
    for arguments in ["", "HEAD~1..HEAD", "HEAD~1...HEAD"] {
        let printed = diff(&site, arguments);
        printed.is(0).says(&[note, "`hierad trust`"]);
        assert_eq!(printed.json()["verdict"], "no_change_seen", "{printed:#?}");
        assert!(codes(&printed.json()).contains(&code), "{printed:#?}");
    }
    assert!(site.hierad("check HEAD").is(2).out.contains("[unreached-file]"));
    // From the base revision, it counts.
    site.files("-- data/nodes/old.yaml\nmotd: oldest\n");
    site.commit("another");
    let printed = diff(&site, "");
    assert_eq!((&printed.json()["verdict"], &*printed.err), (&Json::from("no_change"), ""));
    assert_eq!(site.hierad("check HEAD").ok(), "0 errors, 0 warnings on 2 nodes\n");
    // So it does as long as the side under review takes it away.
    site.files("-- hierad.yaml\nprofiles: [profiles]\n-- data/nodes/old.yaml\nmotd: new\n");
    site.commit("taken away");
    assert_eq!(diff(&site, "").json()["verdict"], "no_change");
    // A bare repository has nothing checked out, and the base is there as well.
    git_in(site.root(), ["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let bare = |range: &str| {
        let arguments = ["diff", range, "--format", "json", "--profiles", "../repository/profiles"];
        run(hierad(&site.beside("bare.git")).args(arguments)).json()["verdict"].clone()
    };
    assert_eq!((bare("HEAD~1..HEAD"), bare("HEAD~3..HEAD~2")), ("no_change".into(), "no_change_seen".into()));
    // Trusted settings rule over both.
    site.write(".git/hierad.yaml", "accept: {}\n");
    assert_eq!(diff(&site, "").json()["verdict"], "no_change_seen");
}

#[test]
fn trust_ends_when_the_file_changes() {
    let site = evil();
    let motd = || site.hierad("lookup motd --node web01 --render-as s");
    let refused = "'backends' of the tree does not count for commands (evil)";
    motd().says(&[refused]);
    assert_eq!(site.hierad("trust --list").ok(), "");
    let told = site.hierad("trust");
    let expected = "hierad.yaml is trusted until it changes; `hierad trust --revoke` ends that\n  \
                    line 2: backends: {\"evil\":{\"command\":[\"./evil.sh\"]}}\n";
    assert_eq!(told.ok(), expected);
    assert_eq!(site.hierad("trust --list").ok(), "hierad.yaml: trusted\n");
    assert_eq!((motd().ok(), was_run(&site)), ("evil\n", true));
    assert_eq!(site.hierad_in("data", "lookup motd --node web01 --render-as s").ok(), "evil\n");
    was_run(&site);
    // The file changes, and so does the program that it names.
    for (path, content) in [("hierad.yaml", format!("{EVIL_SETTINGS}# more\n")), ("evil.sh", format!("{EVIL}# more\n"))]
    {
        let before = std::fs::read(site.root().join(path)).unwrap();
        site.write(path, content);
        motd().says(&[refused]);
        assert!(!was_run(&site), "{path}");
        assert_eq!(site.hierad("trust --list").ok(), "hierad.yaml: has changed, and is not trusted any more\n");
        site.write(path, before);
        assert_eq!((motd().ok(), was_run(&site)), ("evil\n", true));
    }
    assert_eq!(site.hierad("trust --revoke").ok(), "it is not trusted any more\n");
    assert_eq!(site.hierad("trust --revoke").ok(), "it was not trusted\n");
    motd().says(&[refused]);
    assert!(!was_run(&site));
    // What a terminal would act on is shown as an escape.
    site.write("hierad.yaml", "backends: {\"e\\e[2J\\u202ex\": {command: ['\\e[31m']}}\n");
    let told = site.hierad("trust");
    assert!(!told.ok().contains(['\u{1b}', '\u{202e}']), "{told:?}");
    site.write("plain.yaml", "profiles: [profiles]\n");
    assert!(site.hierad("trust plain.yaml").ok().ends_with("nothing in it needs trust\n"));
    beside(&site, "other.yaml", "");
    site.hierad("trust ../other.yaml").fails(&["is not in the tree: name it with --config"]);
}

/// A repository whose trusted command is `words`, with `BESIDE` for the path of the folder around it, and the state of
/// the tree that `before` makes.
#[track_caller]
fn with_command(words: &str, before: &str) -> Sandbox {
    let site = proposed(EVIL_LEVEL);
    let around = site.root().parent().unwrap().display().to_string();
    let words = words.replace("BESIDE", &around);
    site.write("hierad.yaml", format!("profiles: [profiles]\nbackends: {{evil: {{command: {words}}}}}\n"));
    site.write(
        "good.sh",
        EVIL.replace("touch ../owned\n", "").replace("'{\"value\": \"evil\"}'", "'{\"not_found\": true}'"),
    );
    site.write("evil.txt", EVIL);
    site.sh(&format!("chmod +x good.sh\n{before}"));
    site.commit("settings");
    site.hierad("trust").ok();
    assert_eq!(site.hierad("trust --list").ok(), "hierad.yaml: trusted\n", "{words}: {before}");
    site.hierad("lookup motd --node web01");
    assert!(!was_run(&site), "{words}: {before}");
    site
}

/// Trusts the command `words` as [`with_command`] does; then what `after` does must end the trust.
#[track_caller]
fn trust_ends(words: &str, before: &str, after: &str) {
    let site = with_command(words, before);
    site.sh(after);
    site.commit("a stranger's");
    let said = site.hierad("lookup motd --node web01");
    assert!(!was_run(&site), "{words}: {after}: {said:#?}");
    assert_eq!(site.hierad("trust --list").ok(), "hierad.yaml: has changed, and is not trusted any more\n", "{after}");
}

#[test]
fn trust_ends_with_any_change_of_what_commands_name() {
    let large = "{ cat evil.txt; head -c 70000000 /dev/zero; } > ";
    for (words, before, after) in [
        ("[./answer]", "", "cp evil.txt answer; chmod +x answer"),
        ("[./answer]", "", "ln -s evil.txt answer; chmod +x evil.txt"),
        ("[./answer]", "", &*format!("{large} answer; chmod +x answer")),
        ("[sh, ./answer]", "cp good.sh answer", "cp evil.txt answer"),
        ("[./answer]", "ln -s good.sh answer", "cp evil.txt good.sh"),
        ("[./answer]", "ln -s good.sh answer", "chmod +x evil.txt; ln -sf evil.txt answer"),
        ("[./answer]", "printf '#!./good.sh\\n' > answer; chmod +x answer", "cp evil.txt good.sh"),
        ("[sh, -c, 'exec ./good.sh --all']", "", "cp evil.txt good.sh"),
        ("[sh, -c, 'f=good.sh; exec \"./$f\"']", "", "cp evil.txt good.sh"),
        ("[./answer]", "cp evil.txt answer", "chmod +x answer"),
        // Words that cannot be followed by what they say.
        (
            "[./tools/../answer]",
            "mkdir tools; touch tools/x; cp good.sh answer",
            "rm -r tools; mkdir -p e/d; touch e/d/x; ln -s e/d tools; cp evil.txt e/answer; chmod +x e/answer",
        ),
        (
            "[sh, -c, 'cd scripts && exec ./run.sh']",
            "mkdir scripts; cp good.sh scripts/run.sh",
            "cp evil.txt scripts/run.sh",
        ),
        ("[sh, -c, 'cd scripts; . ./lib']", "mkdir scripts; cp good.sh scripts/lib", "cp evil.txt scripts/lib"),
        ("[env, --chdir=scripts, ./run.sh]", "mkdir scripts; cp good.sh scripts/run.sh", "cp evil.txt scripts/run.sh"),
        ("[env, -Cscripts, ./run.sh]", "mkdir scripts; cp good.sh scripts/run.sh", "cp evil.txt scripts/run.sh"),
        ("[sh, -c, 'exec \"$PWD/good.sh\"']", "", "cp evil.txt good.sh"),
        ("[sh, -c, 'exec ./goo[d].sh']", "", "cp evil.txt good.sh"),
        ("[sh, -c, 'exec ./good\\.sh']", "", "cp evil.txt good.sh"),
        ("[sh, -c, 'exec ./good.*']", "", "cp evil.txt good.sh"),
        ("[sh, -c, 'exec ./\"go\"od.sh']", "", "cp evil.txt good.sh"),
        (
            "[ruby, -r./lib.rb, ./good.rb]",
            "touch good.rb; echo 1 > lib.rb",
            "echo 'system(%q(touch ../owned))' > lib.rb",
        ),
        (
            "[sh, ./answer]",
            "{ head -c 70000000 /dev/zero | tr '\\0' '\\n'; } > answer",
            "{ printf 'touch ../owned\\n'; head -c 69999985 /dev/zero | tr '\\0' '\\n'; } > answer",
        ),
    ] {
        trust_ends(words, before, after);
    }
}

#[test]
fn trust_ends_with_what_ways_and_names_lead_to() {
    let evil_ruby = "echo 'system(%q(touch ../owned))' > lib.rb";
    let evil_good = "cp evil.txt good.sh";
    for (words, before, after) in [
        // Ways that leave the tree and come back.
        ("[../repository/good.sh]", "", evil_good),
        ("[sh, -c, 'exec ../repository/good.sh']", "", evil_good),
        ("[BESIDE/entry/good.sh]", "ln -s repository ../entry", evil_good),
        ("[sh, BESIDE/one]", "ln -s entry/good.sh ../one; ln -s repository ../entry", evil_good),
        ("[BESIDE/etc/../repository/good.sh]", "mkdir ../etc", evil_good),
        ("[BESIDE/etc/good.sh]", "mkdir ../etc; ln -s ../repository/good.sh ../etc/good.sh", evil_good),
        ("[BESIDE/through]", "ln -s repository/tool ../through; cp good.sh tool", "cp evil.txt tool"),
        ("[/proc/self/cwd/good.sh]", "", evil_good),
        ("[sh, -c, 'cd ..; exec repository/good.sh']", "", evil_good),
        ("[env, -C, BESIDE, repository/good.sh]", "", evil_good),
        ("[env, -CBESIDE/etc, entry/good.sh]", "mkdir ../etc; ln -s ../repository ../etc/entry", evil_good),
        ("[sh, .git/good.sh]", "ln -s ../good.sh .git", evil_good),
        // What a shell makes of a word.
        ("[bash, -c, 'exec ./g{oo,}d.sh']", "", evil_good),
        ("[bash, -c, 'exec ./good{.sh,}']", "", evil_good),
        ("[bash, -O, extglob, -c, 'exec ./go+(o)d.sh']", "", evil_good),
        ("[sh, -c, 'exec ./${0#+}', +good.sh]", "", evil_good),
        // Names in quotes.
        ("[sh, -c, \"exec './my prog.sh'\"]", "cp good.sh 'my prog.sh'", "cp evil.txt 'my prog.sh'"),
        ("[sh, -c, 'exec \"./my prog.sh\"']", "cp good.sh 'my prog.sh'", "cp evil.txt 'my prog.sh'"),
        ("[sh, -c, \"exec './a:b=c(d).sh'\"]", "cp good.sh 'a:b=c(d).sh'", "cp evil.txt 'a:b=c(d).sh'"),
        ("[sh, -c, \"exec './a;b,c.sh' x\"]", "cp good.sh 'a;b,c.sh'", "cp evil.txt 'a;b,c.sh'"),
        // Names without their endings, in all places of a word.
        ("[ruby, -r./lib, ./good.rb]", "touch good.rb; echo 1 > lib.rb", evil_ruby),
        ("[ruby, -r, ./lib, ./good.rb]", "touch good.rb; echo 1 > lib.rb", evil_ruby),
        ("[ruby, -r./lib, ./good.rb]", "touch good.rb; mkdir lib; touch lib/x; echo 1 > lib.rb", evil_ruby),
        ("[ruby, -e, 'require_relative %q(lib)']", "echo 1 > lib.rb", evil_ruby),
        ("[env, RUBYOPT=-r./lib, ruby, ./good.rb]", "touch good.rb; echo 1 > lib.rb", evil_ruby),
        ("[env, BASH_ENV=./lib.sh, bash, ./good.sh]", "touch lib.sh", "echo 'touch ../owned' > lib.sh"),
        ("[python3, -m, answer]", "touch answer.py", "echo 'import os; os.system(\"touch ../owned\")' > answer.py"),
        (
            "[python3, -m, answer.now]",
            "mkdir answer; touch answer/now.py",
            "echo 'import os; os.system(\"touch ../owned\")' > answer/now.py",
        ),
        // The line of an interpreter.
        ("[./a]", "printf '#!/usr/bin/env -S ruby -r./lib.rb\n' > a; echo 1 > lib.rb; chmod +x a", evil_ruby),
        ("[./a]", "printf '#!/usr/bin/env -S RUBYOPT=-r./lib ruby\n' > a; echo 1 > lib.rb; chmod +x a", evil_ruby),
        (
            "[./a]",
            "printf '#!/usr/bin/env -S BASH_ENV=./lib.sh bash\n' > a; : > lib.sh; chmod +x a",
            "echo 'touch ../owned' > lib.sh",
        ),
    ] {
        trust_ends(words, before, after);
    }
}

#[test]
fn trust_goes_on_while_what_commands_name_stays() {
    for (words, before) in [
        ("[./good.sh]", ""),
        ("[BESIDE/repository/good.sh, --all]", ""),
        ("[BESIDE/tools/good.sh]", "mkdir ../tools; cp good.sh ../tools"),
        ("[../tools/good.sh]", "mkdir ../tools; cp good.sh ../tools"),
        ("[BESIDE/current/../current/good.sh]", "mkdir ../tools; cp good.sh ../tools; ln -s tools ../current"),
        ("[sh, -c, 'exec BESIDE/tools/good.sh --json']", "mkdir ../tools; cp good.sh ../tools"),
        ("[sh, -c, 'exec ./good.sh | cat; exit 0']", ""),
        ("[env, LANG=C, sh, ./good.sh, --accept, application/json, 'https://example.com/a']", ""),
        ("[env, -C, BESIDE/tools, BESIDE/tools/good.sh]", "mkdir ../tools; cp good.sh ../tools"),
        ("[sh, .git/good.sh]", "cp good.sh .git"),
    ] {
        let site = with_command(words, before);
        site.write("data/common.yaml", "motd: another\n");
        site.write("other.sh", EVIL);
        site.commit("data");
        assert_eq!(site.hierad("trust --list").ok(), "hierad.yaml: trusted\n", "{words}");
        let said = site.hierad("lookup motd --node web01 --render-as s");
        assert_eq!((said.ok(), was_run(&site)), ("another\n", false), "{words}");
    }
}

#[test]
fn what_cannot_be_read_is_not_trusted() {
    for (words, make, why) in [
        ("[./answer]", "cp good.sh ../outside; ln -s ../outside answer", "leads out of the tree"),
        ("[./answer]", "ln -s /bin/sh answer", "leads out of the tree"),
        ("[./answer]", "ln -s nothing answer", "cannot be read"),
        ("[ruby, -I, lib, x.rb]", "mkdir lib; touch lib/x.rb", "is a folder"),
        ("[./answer]", "ln -s .. answer", "leads out of the tree"),
        ("[./answer]", "mkfifo answer", "not a regular file"),
        ("[./answer]", "printf '#!./sh\\n' > answer; ln -s /bin/sh sh", "leads out of the tree"),
    ] {
        let site = proposed(EVIL_LEVEL);
        site.write("hierad.yaml", format!("profiles: [profiles]\nbackends: {{evil: {{command: {words}}}}}\n"));
        site.write("good.sh", EVIL);
        site.sh(make);
        site.hierad("trust").fails(&["a command names '", why]);
        assert_eq!(site.hierad("trust --list").ok(), "", "{words}: {make}");
    }
}

#[test]
fn settings_of_the_user_count() {
    let site = evil();
    let settings =
        EVIL_SETTINGS.replace("./evil", "../../repository/evil").replace("[profiles]", "[../../repository/profiles]");
    beside(
        &site,
        "home/hierad/hierad.yaml",
        &settings.replace("profiles:", "state: x\nrepositories: {a: {path: b}}\nprofiles:"),
    );
    let mut command = hierad(site.root());
    command.args(["lookup", "motd", "--node", "web01", "--render-as", "s"]).env("XDG_CONFIG_HOME", site.beside("home"));
    assert_eq!(run(&mut command).ok(), "evil\n");
    // What they say for a daemon of several repositories is not for this one.
    let mut command = hierad(site.root());
    command.args(["watch", "--check-config"]).env("XDG_CONFIG_HOME", site.beside("home"));
    assert!(run(&mut command).ok().contains("no durable queue"));
}

#[test]
fn a_commit_makes_no_trusted_places() {
    let site = evil();
    let command = || {
        let mut command = hierad(site.root());
        command.args(["lookup", "motd", "--node", "web01", "--render-as", "s", "--profiles", "profiles"]);
        command
    };
    // The work tree is the user's home.
    site.write(".config/hierad/hierad.yaml", EVIL_SETTINGS);
    let printed = run(command().env("HOME", site.root()));
    printed.says(&["does not count, as it is inside of the tree"]);
    assert!(!was_run(&site));
    // A bare repository that was committed.
    git_in(site.root(), ["clone", "--quiet", "--bare", ".", "bare"]);
    site.write("bare/hierad.yaml", EVIL_SETTINGS.replace("./evil.sh", "../evil.sh"));
    let printed = run(command().args(["--repo", "bare"]));
    printed.fails(&["bare is a git directory in the work tree of", "name it with GIT_DIR"]);
    assert!(!was_run(&site));
    let printed = run(command().env("GIT_DIR", "bare"));
    printed.says(&["does not count, as it is inside of the tree"]);
    assert!(!was_run(&site));
}

/// Returns the record of trust that a commit could write for a settings file that runs a program.
fn forged(path: &str, settings: &str, word: &str, program: &str) -> String {
    let content = Sha256::digest(program);
    let mut digest = Sha256::new();
    for part in [path.as_bytes(), settings.as_bytes(), word.as_bytes(), b"program", content.as_slice()] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let mut hex = String::new();
    digest.finalize().iter().for_each(|byte| write!(hex, "{byte:02x}").unwrap());
    format!("{hex} {path}\n")
}

#[test]
fn a_commit_forges_no_record_of_trust() {
    let site = evil();
    git_in(site.root(), ["clone", "--quiet", "--bare", ".", "bare"]);
    let settings = EVIL_SETTINGS.replace("[profiles]", "[../profiles]");
    let program = EVIL.replace("../owned", &site.beside("owned").display().to_string());
    site.write("bare/hierad.yaml", &settings);
    site.write("bare/evil.sh", &program);
    site.sh("chmod +x bare/evil.sh");
    site.write("bare/hierad/trusted", forged("bare/hierad.yaml", &settings, "./evil.sh", &program));
    let root = site.root().display().to_string();
    let elsewhere = site.beside("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let elsewhere = elsewhere.display().to_string();
    for (more, variables) in [
        ("", vec![("GIT_DIR", "bare")]),
        ("", vec![("GIT_DIR", "bare"), ("GIT_WORK_TREE", ".")]),
        ("", vec![("GIT_DIR", "bare"), ("GIT_WORK_TREE", &elsewhere)]),
        ("--config bare/hierad.yaml", vec![("GIT_DIR", "bare"), ("GIT_WORK_TREE", &elsewhere)]),
        ("--config bare/hierad.yaml", vec![("GIT_DIR", "bare"), ("GIT_WORK_TREE", &root)]),
    ] {
        let mut command = hierad(site.root());
        command.args(["lookup", "motd", "--node", "web01", "--profiles", "profiles"]).args(more.split_whitespace());
        let printed = run(command.envs(variables.clone()));
        assert!(!was_run(&site), "{variables:?} {more}: {printed:#?}");
        let mut command = hierad(site.root());
        let trusted = run(command.args(["trust", "bare/hierad.yaml"]).envs(variables.clone()));
        assert_eq!(trusted.status, 1, "{variables:?}: {trusted:#?}");
    }
}

#[test]
fn checked_out_files_are_a_tree_however_git_finds_them() {
    let site = evil();
    let top = site.root().display().to_string();
    let (git_dir, elsewhere) = (format!("{top}/.git"), site.beside("elsewhere"));
    std::fs::create_dir_all(&elsewhere).unwrap();
    let config = format!("{top}/hierad.yaml");
    site.write("evil.sh", EVIL.replace("../owned", &site.beside("owned").display().to_string()));
    let ran = |folder: &Path, variables: &[(&str, &str)], config: &str| {
        let mut command = hierad(folder);
        command.args(["lookup", "motd", "--node", "web01", "--profiles"]).arg(format!("{top}/profiles"));
        let printed = run(command.envs(variables.iter().copied()).env("HIERAD_CONFIG", config));
        let was_run = was_run(&site);
        (was_run, printed)
    };
    let other = elsewhere.display().to_string();
    let by_git_dir = [("GIT_DIR", &*git_dir)];
    let with_tree = [("GIT_DIR", &*git_dir), ("GIT_WORK_TREE", &*other)];
    let try_all = |what: &str| {
        for (folder, variables) in [(&*elsewhere, &by_git_dir[..]), (&*elsewhere, &with_tree[..]), (site.root(), &[])] {
            let (was_run, printed) = ran(folder, variables, &config);
            assert!(!was_run, "{what} {variables:?}: {printed:#?}");
        }
    };
    try_all("as it is");
    site.git(["config", "core.bare", "true"]);
    try_all("core.bare");
    site.git(["config", "core.bare", "false"]);
    site.git(["config", "core.worktree", &other]);
    try_all("core.worktree");
    site.git(["config", "--unset", "core.worktree"]);
    // A file elsewhere is the user's own.
    beside(
        &site,
        "own.yaml",
        &EVIL_SETTINGS.replace("./evil.sh", &format!("{top}/evil.sh")).replace("[profiles]", "[]"),
    );
    let own = site.beside("own.yaml").display().to_string();
    let (was_run, printed) = ran(&elsewhere, &by_git_dir, &own);
    assert!(was_run, "{printed:#?}");
}

#[test]
fn profiles_do_not_lead_out_of_their_folder() {
    let site = Sandbox::of(SITE);
    beside(&site, "secret.yaml", "{name: TOPSECRET}");
    beside(&site, "more/secret.yaml", "{name: TOPSECRET}");
    site.write(".git/config.yaml", "{name: TOPSECRET}");
    site.write("other/n.yaml", "{name: other}");
    for (link, target) in [("a", "../../secret.yaml"), ("b", "../.git/config.yaml"), ("c", "../other/n.yaml")] {
        symlink(target, site.root().join(format!("profiles/{link}.yaml"))).unwrap();
    }
    symlink("web01.yaml", site.root().join("profiles/d.yaml")).unwrap();
    symlink("../more", site.root().join("folder")).unwrap();
    let printed = site.hierad("render --format ndjson");
    assert_eq!(printed.is(0).out.lines().count(), 2, "{printed:#?}");
    assert!(!format!("{printed:?}").contains("TOPSECRET"), "{printed:#?}");
    for link in ["a", "b", "c"] {
        let words =
            format!("profiles/{link}.yaml: this leads out of its folder by a link, which a commit may have made");
        printed.says(&[&words]);
    }
    assert!(!printed.err.contains("/d.yaml"), "{printed:#?}");
    for setting in ["folder", "folder/*.yaml", "folder/secret.yaml"] {
        site.write("hierad.yaml", format!("profiles: [{setting}]\n"));
        site.hierad("render --format ndjson").fails(&["leads out of the tree whose settings name it"]);
    }
    // The user's own flags and settings lead anywhere but by links of the tree.
    symlink(site.beside("more"), site.beside("own")).unwrap();
    for folder in ["../more", "../own", "data/../../more"] {
        let printed = site.hierad(&format!("render --format ndjson --profiles {folder}"));
        assert!(printed.ok().contains("TOPSECRET"), "{folder}: {printed:#?}");
    }
    for folder in ["folder", "folder/*.yaml", "folder/secret.yaml", "profiles/a.yaml", "../repository/folder"] {
        site.hierad(&format!("render --format ndjson --profiles {folder}")).fails(&["by a link, which a commit may"]);
        site.settings(format!("profiles: [{folder}]\n"));
        site.hierad("render --format ndjson").fails(&["by a link, which a commit may have made"]);
        site.settings("profiles: [../more]\n");
    }
    assert!(site.hierad("render --format ndjson").ok().contains("TOPSECRET"));
    let printed = site.hierad("render --format ndjson --profiles profiles");
    assert_eq!(printed.is(0).out.lines().count(), 3, "{printed:#?}");
    assert!(!format!("{printed:?}").contains("TOPSECRET"), "{printed:#?}");
}

#[test]
fn named_files_are_reached_by_no_link_of_the_tree() {
    let site = proposed("-- data/common.yaml\nmotd: bye\n");
    beside(&site, "disk/facts.yaml", "{role: TOPSECRET}");
    beside(&site, "disk/out", "precious");
    for name in ["facts.yaml", "out", "new"] {
        symlink(format!("../disk/{name}"), site.root().join(name)).unwrap();
    }
    symlink("../disk", site.root().join("folder")).unwrap();
    site.commit("links");
    let refused = |arguments: &str| {
        let printed = site.hierad(arguments);
        printed.fails(&["link, which a commit may have made"]);
        assert!(!format!("{printed:?}").contains("TOPSECRET"), "{printed:#?}");
    };
    for facts in ["facts.yaml", "folder/facts.yaml"] {
        refused(&format!("lookup motd --node new --facts {facts}"));
    }
    for out in ["out", "new", "folder/out", "folder/new"] {
        refused(&format!("review --base main --summary {out}"));
        refused(&format!("review --base main --save {out}"));
    }
    for out in ["out", "folder/", "folder"] {
        refused(&format!("render --output {out}"));
        refused(&format!("nodes fetch --output {out}"));
        refused(&format!("export --output {out} HEAD"));
    }
    for out in ["folder/demo", "new"] {
        refused(&format!("demo --keep {out}"));
    }
    let folder = std::fs::read_dir(site.beside("disk")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(folder.collect::<std::collections::BTreeSet<_>>().len(), 2);
    assert_eq!(std::fs::read_to_string(site.beside("disk/out")).unwrap(), "precious");
    for out in ["../disk/summary", "summary", "../repository/other"] {
        site.hierad(&format!("review --base main --summary {out}")).is(0);
    }
    site.hierad("lookup motd --node new --facts ../disk/facts.yaml").ok();
}

/// Writes files beside a site that a link of it may lead to, each with a secret.
fn lay_out_a_disk(site: &Sandbox) {
    beside(site, "disk/facts.yaml", "{role: TOPSECRET}");
    beside(site, "disk/hiera.yaml", "version: 5\nhierarchy: [{name: c, path: c.yaml}]\n");
    beside(site, "disk/data/c.yaml", "motd: TOPSECRET\n");
    beside(site, "disk/profiles/n.yaml", "{name: topsecret.example.com}");
}

#[test]
fn named_files_are_reached_by_no_link_of_a_checkout_however_git_finds_it() {
    let site = proposed("-- data/common.yaml\nmotd: bye\n");
    lay_out_a_disk(&site);
    beside(&site, "elsewhere/x", "");
    symlink("../disk", site.root().join("folder")).unwrap();
    site.commit("links");
    let (top, other) = (site.root().display().to_string(), site.beside("elsewhere").display().to_string());
    let git_dir = format!("{top}/.git");
    let hold = |what: &str, folder: &Path, variables: &[(&str, &str)]| {
        let named = |tree: &str| {
            [
                format!("lookup motd --node new --facts {tree}/facts.yaml"),
                format!("--global-hiera-config {tree}/hiera.yaml lookup motd --node web01"),
                format!("--profiles {tree}/profiles nodes"),
                format!("render --output {tree}/out main"),
                format!("review --base main --summary {tree}/summary"),
            ]
        };
        let run = |arguments: &str| {
            let mut command = hierad(folder);
            if !arguments.contains("--profiles") {
                command.args(["--profiles", &format!("{top}/profiles")]);
            }
            run(command.args(arguments.split(' ')).envs(variables.iter().copied()))
        };
        for arguments in named(&format!("{top}/folder")) {
            let printed = run(&arguments);
            assert_ne!(printed.status, 0, "{what}: {arguments}: {printed:#?}");
            let said = format!("{}{}", printed.out, printed.err);
            assert!(said.contains("link, which a commit may have made"), "{what}: {arguments}: {said}");
            assert!(!said.to_lowercase().contains("topsecret"), "{what}: {arguments}: {said}");
        }
        assert!(!site.beside("disk/out").exists() && !site.beside("disk/summary").exists(), "{what}");
        // By their own path the files are the user's.
        for arguments in named(&site.beside("disk").display().to_string()) {
            let printed = run(&arguments);
            let said = format!("{}{}", printed.out, printed.err);
            assert!(!said.contains("a commit may have made"), "{what}: {arguments}: {said}");
        }
        site.sh("rm -r ../disk/out ../disk/summary");
    };
    hold("as it is", site.root(), &[]);
    hold("GIT_DIR", &site.beside("elsewhere"), &[("GIT_DIR", &git_dir)]);
    hold("GIT_WORK_TREE", &site.beside("elsewhere"), &[("GIT_DIR", &git_dir), ("GIT_WORK_TREE", &other)]);
    site.git(["config", "core.bare", "true"]);
    hold("core.bare", site.root(), &[]);
    hold("core.bare and GIT_DIR", &site.beside("elsewhere"), &[("GIT_DIR", &git_dir)]);
    site.git(["config", "core.bare", "false"]);
    site.git(["config", "core.worktree", &other]);
    hold("core.worktree", site.root(), &[]);
    site.git(["config", "--unset", "core.worktree"]);
    site.sh("mv .git ../own; printf 'gitdir: ../own\n' > .git");
    let own = site.beside("own").display().to_string();
    let variables = [("GIT_DIR", &*own), ("GIT_WORK_TREE", &*other)];
    hold("a git directory elsewhere", &site.beside("elsewhere"), &variables);
}

#[test]
fn named_files_are_reached_by_no_link_of_another_work_tree() {
    let site = proposed("-- data/common.yaml\nmotd: bye\n-- plain/facts.yaml\n{role: web}\n");
    lay_out_a_disk(&site);
    beside(&site, "elsewhere/x", "");
    symlink(site.beside("disk"), site.root().join("folder")).unwrap();
    site.commit("links");
    site.sh("git worktree add --quiet --detach ../linked && git worktree add --quiet --detach inside
        git worktree add --quiet --detach ../later && git worktree move ../later ../moved
        git clone --quiet --bare . ../mirror.git && git -C ../mirror.git worktree add --quiet --detach ../deployed
        ln -s linked ../entry");
    let path = |name: &str| site.beside(name).display().to_string();
    let (top, linked, deployed) = (site.root().display().to_string(), path("linked"), path("deployed"));
    let run_in = |folder: &str, arguments: &str| {
        let mut command = hierad(Path::new(folder));
        if !arguments.contains("--profiles") {
            command.args(["--profiles", &format!("{top}/profiles")]);
        }
        run(command.args(arguments.split(' ')))
    };
    let named = |tree: &str| {
        [
            format!("lookup motd --node new --facts {tree}/facts.yaml"),
            format!("--global-hiera-config {tree}/hiera.yaml lookup motd --node web01"),
            format!("--profiles {tree}/profiles nodes"),
            format!("render --output {tree}/out main"),
            format!("review --base main --summary {tree}/summary"),
        ]
    };
    for (here, tree) in [
        (&top, &linked),
        (&linked, &top),
        (&linked, &path("moved")),
        (&top, &path("entry")),
        (&top, &format!("{top}/inside")),
        (&deployed, &path("mirror.git/../deployed")),
        (&path("mirror.git"), &deployed),
    ] {
        for arguments in named(&format!("{tree}/folder")) {
            let printed = run_in(here, &arguments);
            assert_ne!(printed.status, 0, "{here}: {arguments}: {printed:#?}");
            let said = format!("{}{}", printed.out, printed.err);
            assert!(said.contains("link, which a commit may have made"), "{here}: {arguments}: {said}");
            assert!(!said.to_lowercase().contains("topsecret"), "{here}: {arguments}: {said}");
        }
        assert!(!site.beside("disk/out").exists() && !site.beside("disk/summary").exists(), "{here}: {tree}");
        // What is there without a link is read and written.
        run_in(here, &format!("lookup motd --node new --facts {tree}/plain/facts.yaml")).ok();
        run_in(here, &format!("render --output {tree}/out main")).ok();
    }
    // Other repositories are the user's own, and so is what lies elsewhere.
    site.sh("git clone --quiet . ../other");
    for tree in [path("other/folder"), path("disk")] {
        run_in(&top, &format!("lookup motd --node new --facts {tree}/facts.yaml")).ok();
    }
}

#[test]
fn layers_that_are_named_are_reached_by_no_link_of_the_tree() {
    let site = proposed(
        "-- data/common.yaml\nmotd: bye\n-- hiera.yaml\nversion: 5\nhierarchy:\n  - {name: a, path: c.yaml, datadir: /opt/x}\n",
    );
    beside(&site, "disk/hiera.yaml", "version: 5\nhierarchy: [{name: c, path: c.yaml}]\n");
    beside(&site, "disk/data/c.yaml", "secret: TOPSECRET\n");
    beside(&site, "disk/m/m1/hiera.yaml", "version: 5\n");
    beside(&site, "disk/m/m1/data/common.yaml", "m1::secret: TOPSECRET\n");
    symlink("../disk", site.root().join("folder")).unwrap();
    symlink("../../disk/m/m1", site.root().join("data/m1")).unwrap();
    site.commit("links");
    let root = site.root().display().to_string();
    let ask = |settings: &str, arguments: &str| {
        site.write(".git/hierad.yaml", format!("profiles: [../profiles]\n{settings}\n"));
        site.hierad(&format!("lookup --node web01 {arguments}"))
    };
    let modules = "--modulepath $basemodulepath m1::secret";
    for (settings, arguments) in [
        ("", "secret --global-hiera-config folder/hiera.yaml"),
        ("global_hiera_config: ../folder/hiera.yaml", "secret"),
        ("", &format!("{modules} --basemodulepath folder/m")),
        ("", &format!("{modules} --basemodulepath {root}/folder/../folder/m")),
        ("basemodulepath: [../folder/m]", modules),
        (&format!("datadirs: {{/opt/x: {root}/folder/data}}"), "secret"),
    ] {
        let printed = ask(settings, arguments);
        assert!(!format!("{printed:?}").contains("TOPSECRET"), "{settings} {arguments}: {printed:#?}");
        printed.says(&["link, which a commit may have made"]);
    }
    // A folder of the tree is read from the revision, which leads nowhere else.
    let printed = ask("", &format!("{modules} --basemodulepath data"));
    assert_eq!((printed.status, &*printed.err), (1, "hierad: no data for 'm1::secret' on web01\n"));
    // What lies elsewhere is the user's own, with its links, and so is a link in the tree that stays there.
    symlink("disk", site.beside("own")).unwrap();
    site.files("-- modules/m2/hiera.yaml\nversion: 5\n-- modules/m2/data/common.yaml\nm2::a: here\n");
    symlink("modules", site.root().join("linked")).unwrap();
    for (settings, arguments, value) in [
        ("", "secret --global-hiera-config ../own/hiera.yaml", "TOPSECRET"),
        ("basemodulepath: [../../own/m]", modules, "TOPSECRET"),
        (&format!("datadirs: {{/opt/x: {}}}", site.beside("own/data").display()), "secret", "TOPSECRET"),
        ("", "--modulepath $basemodulepath m2::a --basemodulepath linked", "here"),
    ] {
        let printed = ask(settings, arguments);
        assert!(printed.out.contains(value), "{settings} {arguments}: {printed:#?}");
    }
}

#[test]
fn folders_of_a_daemon_are_reached_by_no_link_of_the_tree() {
    let site = proposed("-- data/common.yaml\nmotd: bye\n");
    std::fs::create_dir_all(site.beside("disk/out")).unwrap();
    symlink("../disk", site.root().join("folder")).unwrap();
    symlink("../disk/new", site.root().join("new")).unwrap();
    site.commit("links");
    let check = |settings: &str| {
        beside(&site, "daemon.yaml", &format!("profiles: repository/profiles\n{settings}\n"));
        site.hierad("--config ../daemon.yaml watch --check-config")
    };
    let place = site.root().display();
    for named in ["folder/out", "folder/other", "folder", "new"] {
        let printed =
            check(&format!("sinks: {{x: {{folder: {place}/{named}}}}}\nstate: {}", site.beside("s").display()));
        printed.fails(&["link, which a commit may have made"]);
        check(&format!("state: {place}/{named}")).fails(&["link, which a commit may have made"]);
    }
    check(&format!("sinks: {{x: {{folder: {place}/reports}}}}\nstate: {place}/.git/state")).is(0);
}

#[test]
fn changed_settings_are_a_blind_spot() {
    let options = "-- hierad.yaml\nprofiles: [profiles]\nlookup_options: {ntp: {merge: first}}\n";
    let site = proposed(&format!("{options}-- data/roles/web.yaml\nport: 80\n# words\n"));
    let report = diff(&site, "main...HEAD").json();
    assert_eq!(
        (&report["verdict"], codes(&report)),
        (&Json::from("no_change_seen"), vec!["changed-settings"]),
        "{report:#}"
    );
    assert_eq!(diff(&site, "HEAD HEAD").json()["verdict"], "no_change");
    // Words change nothing.
    site.files(&format!("{options}# words\n"));
    site.commit("words");
    assert_eq!(diff(&site, "").json()["verdict"], "no_change");
    // Who trusts the file reads both sides by it; others read each as its own says.
    site.hierad("trust").ok();
    assert_eq!(codes(&diff(&site, "main...HEAD").json()), ["changed-settings"]);
    assert_eq!(diff(&site, "").json()["verdict"], "no_change");
}

#[test]
fn trusted_settings_rule_and_those_of_the_tree_add() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: '%{environment}'\n");
    site.commit("environment");
    site.write("hierad.yaml", "profiles: [profiles]\nenvironment: tree\npuppet: 7\n");
    let motd =
        |arguments: &str| site.hierad(&format!("lookup motd --node web01 --render-as s {arguments}")).ok().to_owned();
    assert_eq!(motd(""), "tree\n");
    site.write(".git/hierad.yaml", "environment: own\n");
    assert_eq!(motd(""), "own\n");
    beside(&site, "etc/hierad.yaml", "environment: named\n");
    assert_eq!(motd("--config ../etc/hierad.yaml"), "named\n");
    // A fault in the tree's file cannot hold up those who have settings of their own.
    site.write("hierad.yaml", "profiles: [profiles]\npupet: 7\n");
    let fault = "repository/hierad.yaml:2: this file of the tree does not count: unknown field `pupet`: did you mean \
                 `puppet`?";
    site.hierad("diff --profiles profiles").is(0).says(&[fault]);
    // Whoever wrote it can neither act on a terminal nor fill it.
    site.write("hierad.yaml", format!("profiles: [profiles]\n\"\\e[31m{}\": 1\n", "x".repeat(900)));
    let printed = site.hierad("diff --profiles profiles");
    printed.is(0).says(&["does not count: unknown field `\\u001b[31mxxx"]);
    assert!(printed.err.len() < 500 && printed.err.contains('…'), "{}", printed.err.len());
    std::fs::remove_file(site.root().join(".git/hierad.yaml")).unwrap();
    site.write("hierad.yaml", "profiles: [profiles]\npupet: 7\n");
    site.hierad("diff --profiles profiles").is(0).says(&[fault]);
    for command in ["diff", "trust"] {
        site.hierad(command).fails(&["hierad.yaml:2: unknown field `pupet`"]);
    }
}

#[test]
fn a_link_in_the_git_directory_trusts_nothing() {
    let site = evil();
    symlink(Path::new("../hierad.yaml"), site.root().join(".git/hierad.yaml")).unwrap();
    let printed = site.hierad("lookup motd --node web01 --profiles profiles");
    printed.says(&["does not count, as it is inside of the tree"]);
    assert!(!was_run(&site));
}

#[test]
fn each_setting_has_its_class_in_the_page() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/settings.md")).unwrap();
    let (_, rest) = page.split_once("\n## Trust\n").unwrap();
    let (classes, others) = rest.split_once("\n## ").unwrap();
    let list = classes.lines().filter(|line| line.starts_with("- ") || line.starts_with("  ")).collect::<String>();
    let classes: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    // A setting begins a row of a table, or an item of a list.
    let begins = |line: &str| {
        let names = line.strip_prefix("| `").or_else(|| line.strip_prefix("- `"))?;
        let end = names.find("` |").or_else(|| names.find("`: "))?;
        Some(names[..end].to_owned())
    };
    let names: Vec<String> = others.lines().filter_map(begins).collect();
    let roots = names.iter().flat_map(|names| names.split("`, `")).map(|name| name.split('.').next().unwrap());
    let roots: Vec<&str> = roots.collect();
    let missing: Vec<&&str> = roots.iter().filter(|name| !classes.contains(*name)).collect();
    assert!(missing.is_empty() && classes.len() > 20 && roots.len() > 20, "{missing:?} {classes:?}");
}
