//! Several repositories, some of them elsewhere.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use super::service::{PROFILES, SITE, Service};
use crate::support::Sandbox;
use crate::support::terminal::{hierad, run};

#[test]
fn local_and_remote_repositories_are_watched() {
    let (here, there) = (Sandbox::of(SITE), Sandbox::of(SITE));
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    fs::write(path("profiles.ndjson"), PROFILES).unwrap();
    let settings = format!(
        "profiles: profiles.ndjson\nstate: state\nsinks:\n  files: {{folder: files}}\n  \
         away: {{folder: away, repositories: t*, branches: main}}\nrepositories:\n  \
         here: {{path: {}}}\n  there: {{url: 'file://{}', fetch: 0.1, branches: main}}\n",
        here.root().display(),
        there.root().display(),
    );
    fs::write(path("hierad.yaml"), settings).unwrap();
    let start = || {
        let log = fs::File::options().create(true).append(true).open(path("log")).unwrap();
        let mut command = hierad(place.path());
        command.args(["-v", "--config", "hierad.yaml", "watch", "--poll", "0.05"]);
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    };
    let count = |words: &str| fs::read_to_string(path("log")).unwrap_or_default().matches(words).count();
    let reports_in = |folder: &str| {
        let Ok(files) = fs::read_dir(path(folder)) else { return Vec::new() };
        let mut found: Vec<String> = files
            .map(|file| file.unwrap().path())
            // Others are on their way.
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
            .map(|report: serde_json::Value| {
                let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
                format!(
                    "{} {} {}",
                    text(&report["event"]["repository"]),
                    text(&report["branch"]),
                    text(&report["after"]["summary"])
                )
            })
            .collect();
        found.sort();
        found
    };
    let reports = || reports_in("files");
    let mut daemon = start();
    Service::patiently("both watches", || count("hierad: watching") == 2);
    here.commit("a");
    there.sh("git commit -q --allow-empty -m b; git switch -q -c other; git commit -q --allow-empty -m 'not watched'");
    Service::patiently("reports", || reports().len() == 2);
    here.git(["branch", "another"]);
    Service::patiently("its name", || count("watch{repository=\"here\"}: the branch is new branch=another") == 1);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    there.sh("git switch -q main; git commit -q --allow-empty -m c; git commit -q --allow-empty -m d; git commit -q --amend --allow-empty -m e");
    let mut daemon = start();
    let expected = ["here main a", "there main b", "there main c", "there main e"];
    Service::patiently("reports of what was missed", || reports().len() == 4);
    assert_eq!(reports(), expected);
    // A source that is gone for a while is no reason to end.
    let away = there.beside("away");
    fs::rename(there.root(), &away).unwrap();
    Service::patiently("an error", || count("cannot fetch") > 0);
    fs::rename(&away, there.root()).unwrap();
    there.commit("f");
    Service::patiently("a report", || reports().len() == 5);
    let is_idle =
        || run(hierad(place.path()).args(["--config", "hierad.yaml", "queue"])).ok() == "nothing is waiting\n";
    Service::patiently("an empty queue", is_idle);
    let away: Vec<String> = reports().into_iter().filter(|report| report.starts_with("there ")).collect();
    assert_eq!((reports_in("away"), away.len()), (away, 4));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

/// A mirror has no remotes, so `origin` is what it mirrors.
#[test]
fn snapshots_of_a_mirror_are_pushed_to_what_it_mirrors() {
    let there = Sandbox::of(SITE);
    there.sh("git clone -q --bare . ../server");
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    fs::write(path("profiles.ndjson"), PROFILES).unwrap();
    let url = format!("file://{}", there.beside("server").display());
    let write = |push: &str, more: &str| {
        let settings = format!(
            "profiles: profiles.ndjson\nstate: state\nsinks: {{files: {{folder: files}}}}\n\
             snapshots: {{history: {{ref: true, push: '{push}'}}}}\n\
             repositories: {{there: {{url: '{url}', fetch: 0.1}}{more}}}\n"
        );
        fs::write(path("hierad.yaml"), settings).unwrap();
    };
    let check = || run(hierad(place.path()).args(["--config", "hierad.yaml", "watch", "--check-config"]));
    write("nosuch", "");
    let refused = check();
    assert!(refused.status == 1 && refused.err.contains("the mirror there has no remote 'nosuch'"), "{refused:?}");
    assert!(!refused.err.contains(&url), "an address may have a password: {refused:?}");
    write(&url, &format!(", other: {{url: '{url}2'}}"));
    let refused = check();
    assert!(refused.status == 1 && refused.err.contains("name a remote, such as 'origin'"), "{refused:?}");
    write("origin", &format!(", other: {{url: '{url}2'}}"));
    assert_eq!(check().status, 0);
    write("origin", "");
    assert_eq!(check().status, 0);
    let log = fs::File::create(path("log")).unwrap();
    let mut command = hierad(place.path());
    command.args(["-v", "--config", "hierad.yaml", "watch", "--poll", "0.05"]).stdout(Stdio::null()).stderr(log);
    let mut daemon = command.spawn().unwrap();
    let said = |words: &str| fs::read_to_string(path("log")).unwrap().contains(words);
    Service::patiently("the watch", || said("hierad: watching"));
    there.commit("one");
    there.sh("git push -q ../server main");
    let snapshots = || there.sh("git -C ../server for-each-ref refs/hierad/snapshots/main");
    Service::patiently("the snapshots there", || !snapshots().is_empty());
    assert!(!said(&url), "no line needs the address");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

/// Earlier commits are reported again with settings as a service has them, if they name one repository.
#[test]
fn earlier_commits_are_reported_by_settings_of_one_repository() {
    let site = Sandbox::of(SITE);
    site.commit("one");
    site.commit("two");
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    fs::write(path("profiles.ndjson"), PROFILES).unwrap();
    let write = |more: &str| {
        let settings = format!(
            "profiles: profiles.ndjson\nstate: state\nsinks: {{files: {{folder: files}}}}\n\
             repositories: {{here: {{path: {}}}{more}}}\n",
            site.root().display()
        );
        fs::write(path("hierad.yaml"), settings).unwrap();
    };
    let watch = || {
        let mut command = hierad(place.path());
        command.args(["--config", "hierad.yaml", "watch", "--poll", "0.05", "--since", "HEAD~2"]);
        command
    };
    write(&format!(", other: {{path: {}}}", site.root().display()));
    let refused = run(&mut watch());
    assert!(refused.status == 1 && refused.err.contains("--since needs the settings of one alone"), "{refused:?}");
    write("");
    let mut daemon = watch().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let reports = || {
        fs::read_dir(path("files")).map_or(0, |files| {
            files
                .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "json"))
                .count()
        })
    };
    Service::patiently("both reports", || reports() == 2);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

#[test]
fn a_branch_with_the_name_of_a_former_default_branch_is_not_the_default_branch() {
    // What a stranger pushes, and what becomes of the former default branch when another one is that.
    let (moves, removed) = (":", "git update-ref -d refs/heads/main");
    let cases = [
        ("kept", "git commit -q --allow-empty -m strangers", moves),
        ("removed", "git commit -q --allow-empty -m strangers", removed),
        ("forced", "git commit -q --allow-empty --amend -m strangers", moves),
        ("older", "git reset -q --hard HEAD~1", removed),
        ("unrelated", "git switch -q --orphan x; git commit -q --allow-empty -m strangers", removed),
        ("honest", "git commit -q --allow-empty -m more", "git symbolic-ref HEAD refs/heads/main"),
    ];
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    fs::write(path("profiles.ndjson"), PROFILES).unwrap();
    let sites: Vec<Sandbox> = cases.iter().map(|_| Sandbox::of(SITE)).collect();
    let mut settings =
        "profiles: profiles.ndjson\nstate: state\nsinks: {files: {folder: files}}\nrepositories:\n".to_owned();
    for ((name, ..), site) in cases.iter().zip(&sites) {
        site.commit("second");
        site.sh("git clone -q --bare . ../server");
        _ = writeln!(settings, "  {name}: {{url: 'file://{}', fetch: 0.2}}", site.beside("server").display());
    }
    fs::write(path("hierad.yaml"), settings).unwrap();
    let log = fs::File::create(path("log")).unwrap();
    let mut command = hierad(place.path());
    command.args(["--config", "hierad.yaml", "watch", "--poll", "0.05"]).stdout(Stdio::null()).stderr(log);
    let mut daemon = command.spawn().unwrap();
    let watching = || fs::read_to_string(path("log")).unwrap().matches("hierad: watching").count();
    Service::patiently("all watches", || watching() == cases.len());
    let git = |name: &str, arguments: &[&str]| {
        let told = Command::new("git")
            .arg("--git-dir")
            .arg(path(&format!("state/mirrors/{name}.git")))
            .args(arguments)
            .output();
        String::from_utf8(told.unwrap().stdout).unwrap().trim().to_owned()
    };
    for ((name, push, former), site) in cases.iter().zip(&sites) {
        assert_eq!(git(name, &["symbolic-ref", "HEAD"]), "refs/heads/main", "{name}");
        site.sh(&format!(
            "{push}; git push -q ../server HEAD:refs/pushed/x; cd ../server; git update-ref refs/heads/trunk main
             git symbolic-ref HEAD refs/heads/trunk; {former}; git update-ref refs/heads/main refs/pushed/x"
        ));
        Service::patiently(name, || git(name, &["rev-parse", "main"]) == site.git(["rev-parse", "HEAD"]).trim());
        let expected = if *name == "honest" { "refs/heads/main" } else { "refs/heads/trunk" };
        Service::patiently(name, || git(name, &["symbolic-ref", "HEAD"]) == expected);
    }
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

#[test]
fn impossible_repositories_are_refused() {
    let place = tempfile::tempdir().unwrap();
    for (settings, words) in [
        ("state: s\nrepositories: {a: {}}", "hierad.yaml:2: repository 'a' needs one of 'path: DIR' and 'url: URL'"),
        ("state: s\nrepositories: {a/b: {path: x}}", "has a name that cannot be used for a folder"),
        (
            "state: s\nrepositories: {a: {path: x, fetch: 3}}",
            "has no 'url', so 'fetch' and 'fetch_timeout' have no effect",
        ),
        (
            "state: s\nrepositories: {a: {path: x, fetch_timeout: 3}}",
            "has no 'url', so 'fetch' and 'fetch_timeout' have",
        ),
        ("state: s\nrepositories: {a: {url: x, fetch: 0}}", "needs a number of seconds above 0"),
        ("state: s\nrepositories: {a: {url: x, fetch_timeout: -1}}", "a number of seconds above 0 for 'fetch_timeout'"),
        ("state: s\nrepositories: {a: {url: x, config: nosuch}}", "nosuch"),
        ("repositories: {a: {path: x}}", "need 'state'"),
        ("state: s\nrepositories: {a: {path: x}}", "x"),
    ] {
        fs::write(place.path().join("hierad.yaml"), settings).unwrap();
        run(hierad(place.path()).args(["--config", "hierad.yaml", "watch"])).fails(&[words]);
    }
    fs::write(place.path().join("hierad.yaml"), "state: s\nrepositories: {a: {path: x, config: own.yaml}}").unwrap();
    for key in ["sinks", "snapshots", "state", "http", "repositories", "keep_reports"] {
        fs::write(place.path().join("own.yaml"), format!("profiles: p\n{key}:\n")).unwrap();
        let words = format!("own.yaml:2: '{key}' is the daemon's: it belongs in the settings with 'repositories'");
        run(hierad(place.path()).args(["--config", "hierad.yaml", "watch"])).fails(&[&words]);
    }
    let mut command: Command = hierad(place.path());
    run(command.args(["--config", "hierad.yaml", "watch", "--branch", "x"])).fails(&["--branch"]);
}

/// A program in the place of `ssh`: notes how it was called and its session, and does here what is to be done there.
#[cfg(target_os = "linux")]
const SSH: &str = "#!/bin/sh
for last; do :; done
read -r _ _ _ _ _ session _ </proc/$$/stat
case $last in git-upload-pack*) echo \"$session $SSH_ASKPASS_REQUIRE ${0##*/} $*\" >>\"${0%/*}/calls\" ;; esac
exec sh -c \"$last\"
";

/// Variables of the environment.
#[cfg(target_os = "linux")]
type Variables = &'static [(&'static str, &'static str)];

/// Forms of a user's settings for SSH: git's configuration, variables, and how the program is called then.
#[cfg(target_os = "linux")]
const USERS_SSH: [(&str, Variables, &str); 9] = [
    ("", &[], "ssh -o BatchMode=yes "),
    ("[core]\nsshCommand = ssh -4", &[], "ssh -4 -o BatchMode=yes "),
    ("[core]\nsshCommand = PLACE/own", &[], "own h.invalid "),
    ("[core]\nsshCommand = PLACE/own -i key\n[ssh]\nvariant = ssh", &[], "own -i key -o BatchMode=yes "),
    ("[include]\npath = PLACE/more", &[], "own --included "),
    ("", &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.sshCommand"), ("GIT_CONFIG_VALUE_0", "own")], "own "),
    ("", &[("GIT_SSH_COMMAND", "own --mine")], "own --mine "),
    ("[core]\nsshCommand = ssh", &[("GIT_SSH_COMMAND", "own")], "own h.invalid "),
    ("", &[("GIT_SSH", "own")], "own h.invalid "),
];

/// Fetches a repository by SSH with these settings of the user. Returns how the program in the place of SSH was called.
#[cfg(target_os = "linux")]
fn ssh_of_a_fetch(settings: &str, variables: Variables) -> String {
    use std::os::unix::fs::PermissionsExt;
    let far = Sandbox::of(SITE);
    let place = tempfile::tempdir().unwrap();
    let (folder, path) = (place.path().display().to_string(), |name: &str| place.path().join(name));
    for program in ["ssh", "own"] {
        fs::write(path(program), SSH).unwrap();
        fs::set_permissions(path(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(path("more"), format!("[core]\nsshCommand = {folder}/own --included\n")).unwrap();
    fs::write(path("gitconfig"), settings.replace("PLACE", &folder)).unwrap();
    fs::write(path("profiles.ndjson"), PROFILES).unwrap();
    let url = format!("ssh://h.invalid{}", far.root().display());
    let text = format!(
        "profiles: profiles.ndjson\nstate: state\nrepositories:\n  far: {{url: '{url}', fetch: 0.1}}\nsinks: {{files: {{folder: files}}}}\n"
    );
    fs::write(path("hierad.yaml"), text).unwrap();
    let mut command = hierad(place.path());
    command.args(["--config", "hierad.yaml", "watch"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
    command
        .env("GIT_CONFIG_GLOBAL", path("gitconfig"))
        .env("SSH_ASKPASS_REQUIRE", "force")
        .envs(variables.iter().copied());
    let mut daemon = command.spawn().unwrap();
    let calls = || fs::read_to_string(path("calls")).unwrap_or_default();
    Service::patiently("a fetch", || calls().contains('\n'));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let call = calls().lines().next().unwrap().to_owned();
    let session = call.split(' ').next().unwrap();
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    let own = own.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap().to_owned();
    assert_ne!(session, own, "it has a session of its own, and so no terminal");
    call[session.len() + 1..].to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn fetches_use_the_users_ssh_and_ask_nobody() {
    for (settings, variables, call) in USERS_SSH {
        let called = ssh_of_a_fetch(settings, variables);
        assert!(called.starts_with(&format!("never {call}")), "{settings} {variables:?}: {called}");
    }
}
