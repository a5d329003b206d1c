//! The daemon and its sinks: none holds up another, and what is not delivered is there for the next daemon.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::ENOUGH;
use super::servers::{Answer, Certificate, Http, Smtp, closed_port};
use crate::support::Sandbox;
use crate::support::extent::pause;
use crate::support::terminal::{SITE, hierad};

/// A daemon at work in a repository.
pub(super) struct Daemon {
    child: Child,
    errors: Arc<Mutex<String>>,
}

impl Daemon {
    /// Starts one with these sinks.
    pub(super) fn start(site: &Sandbox, sinks: &str) -> Daemon {
        Daemon::with(site, sinks, &[])
    }

    fn with(site: &Sandbox, sinks: &str, variables: &[(&str, &str)]) -> Daemon {
        Daemon::of(hierad(site.root()).arg("watch").envs(variables.iter().copied()), site, sinks)
    }

    /// Starts one by `command`, which lacks the arguments that all have.
    fn of(command: &mut Command, site: &Sandbox, sinks: &str) -> Daemon {
        site.settings(format!("profiles: [profiles]\nsinks:\n{sinks}"));
        command.args(["--poll", "0.05"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let errors = Arc::new(Mutex::new(String::new()));
        let into = errors.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *into.lock().unwrap() += &(line + "\n");
            }
        });
        let daemon = Daemon { child, errors };
        wait(|| daemon.errors().contains("watching "), &|| daemon.errors());
        daemon
    }

    fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// Tells it to end, and what it has said; it must end well.
    pub(super) fn end(mut self) -> String {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{}", self.errors());
        self.errors()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Waits until something is so.
pub(super) fn wait(is_so: impl Fn() -> bool, story: &dyn Fn() -> String) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < ENOUGH, "{}", story());
        pause(start);
    }
}

pub(super) fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

pub(super) fn change(site: &Sandbox, value: usize) {
    site.write("data/common.yaml", format!("motd: {value}\nntp: [a, b]\n"));
    site.git(["commit", "--quiet", "--message", "motd", "data/common.yaml"]);
}

#[test]
fn hanging_sinks_delay_no_other() {
    let site = Sandbox::of(SITE);
    let (base, port) = (site.beside("").display().to_string(), closed_port());
    let common = format!("  files: {{folder: {base}/files}}\n  dead: {{webhook: 'http://127.0.0.1:{port}/'}}\n");
    let stuck = format!(
        "  stuck: {{command: [sh, -c, 'echo $HIERAD_ID >> {base}/begun; while :; do echo >> {base}/ticks; sleep 0.05; done'], timeout: 600}}\n"
    );
    let daemon = Daemon::start(&site, &format!("{common}{stuck}"));
    for value in 1..=3 {
        change(&site, value);
    }
    let delivered = || files(&site.beside("files"));
    let begun = || std::fs::read_to_string(site.beside("begun")).unwrap_or_default();
    wait(|| delivered().len() == 3 && !begun().is_empty(), &|| daemon.errors());
    let said = daemon.end();
    assert!(said.contains("not delivered; trying again") && said.contains("Connection refused"), "{said}");
    // What the command has started has ended with it.
    let ticks = || std::fs::metadata(site.beside("ticks")).unwrap().len();
    let before = ticks();
    sleep(Duration::from_millis(300));
    assert_eq!(ticks(), before);
    let printed = site.hierad("queue list");
    assert_eq!(printed.ok().matches("to stuck").count(), 3, "{printed:?}");
    assert_eq!(printed.ok().matches("to dead").count(), 3, "{printed:?}");
    assert_eq!(printed.ok().lines().last(), Some("6 undelivered"));
    // The next daemon goes on, under the same ids.
    let done = format!("  stuck: {{command: [sh, -c, 'echo $HIERAD_ID >> {base}/done']}}\n");
    let daemon = Daemon::start(&site, &format!("{common}{done}"));
    let ids = || std::fs::read_to_string(site.beside("done")).unwrap_or_default();
    wait(|| ids().lines().count() == 3, &|| daemon.errors());
    daemon.end();
    assert_eq!(ids().lines().next(), begun().lines().next());
    let named: Vec<String> = ids().lines().enumerate().map(|(at, id)| format!("{:010}-{id}.json", at + 1)).collect();
    assert_eq!(delivered(), named);
}

#[test]
fn retry_after_is_obeyed() {
    let site = Sandbox::of(SITE);
    let requests = Mutex::new(0);
    let server = Http::start(move |_| {
        let mut number = requests.lock().unwrap();
        *number += 1;
        match *number {
            1 => Answer::Say("429 Too Many Requests\r\nRetry-After: 1", String::new()),
            3 => Answer::Say("503 Service Unavailable\r\nRetry-After: 99999999", String::new()),
            _ => Answer::ok(),
        }
    });
    let daemon = Daemon::start(&site, &format!("  web: {{webhook: 'http://127.0.0.1:{}/'}}\n", server.port));
    let request = || server.requests.recv_timeout(ENOUGH).unwrap();
    change(&site, 1);
    request();
    request();
    // It cannot ask for more than an hour, and an operator may know better.
    change(&site, 2);
    request();
    let list = || site.hierad("queue list").out;
    wait(|| list().contains("again in "), &list);
    let listed = list();
    let again = listed.split("again in ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse::<u64>();
    assert!((3500..=3600).contains(&again.unwrap()), "{listed}");
    // Another report does not come before, either.
    change(&site, 3);
    wait(|| list().contains("2 undelivered"), &list);
    assert!(server.requests.try_recv().is_err());
    assert_eq!(site.hierad("queue retry --sink web").ok(), "1 to be tried again\n");
    request();
    request();
    wait(|| site.hierad("queue").out == "nothing is waiting\n", &|| daemon.errors());
    daemon.end();
}

#[test]
fn the_log_names_job_and_sink() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::of(
        hierad(site.root()).args(["-v", "watch", "--log-format", "json"]),
        &site,
        "  bad: {command: ['false']}\n  good: {command: ['true']}\n",
    );
    let messages =
        ["resolved", "not delivered; trying again", "the node profiles have changed and have been read again"];
    let resolved = || daemon.errors().matches("\"message\":\"resolved\"").count();
    let change = |number| {
        change(&site, number);
        wait(|| resolved() == number, &|| daemon.errors());
    };
    change(1);
    wait(|| daemon.errors().contains(messages[1]), &|| daemon.errors());
    // Whatever the work on a job logs: here, that the profiles are others now. Not each job looks.
    site.write("profiles/db01.yaml", "{name: db01, facts: {os: {family: Debian}}, variables: {role: db}}\n");
    let mut jobs = 1;
    while !daemon.errors().contains(messages[2]) {
        assert!(jobs < 100, "{}", daemon.errors());
        jobs += 1;
        change(jobs);
    }
    let said = daemon.end();
    let lines = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let of = |message: &str| lines.clone().find(|line| line["message"] == message).unwrap();
    let commit = |job: usize| site.git(["rev-parse", &format!("HEAD~{}", jobs - job)]);
    for (message, job, sink) in [(messages[0], 1, None), (messages[1], 1, Some("bad")), (messages[2], jobs, None)] {
        let line = of(message);
        let span = &line["span"];
        assert_eq!((&span["job"], &span["branch"]), (&job.into(), &"main".into()), "{line}");
        let (commit, repository) = (commit(job).into(), "repository".into());
        assert_eq!((&span["commit"], &span["repository"]), (&commit, &repository), "{line}");
        assert_eq!(span["sink"].as_str(), sink, "{line}");
        assert!(line["job"].is_null() && line["commit"].is_null() && line["sink"].is_null(), "{line}");
    }
    let first = commit(1);
    // People are told as well, and of what goes wrong without -v.
    let daemon = Daemon::start(&site, "  bad: {command: ['false']}\n");
    let span = format!("job{{job=1 commit={first} branch=main repository=\"repository\" sink=\"bad\"}}: not delivered");
    wait(|| daemon.errors().contains(&span), &|| daemon.errors());
    daemon.end();
}

#[test]
fn mail_waits_for_its_server() {
    let site = Sandbox::of(SITE);
    let sink = |port: u16| {
        format!(
            "  ops:\n    mail: {{server: 'smtp://localhost:{port}', from: hierad@example.com, to: ops@example.com}}\n"
        )
    };
    let daemon = Daemon::start(&site, &sink(closed_port()));
    change(&site, 1);
    wait(|| daemon.errors().contains("not delivered"), &|| daemon.errors());
    daemon.end();
    let server = Smtp::default().start();
    let daemon = Daemon::start(&site, &sink(server.port));
    let letter = server.letters.recv_timeout(ENOUGH).unwrap();
    daemon.end();
    let (head, body) = letter.parts();
    assert!(head.contains("Subject: [repository] main: 1 key changes on both nodes"), "{head}");
    assert!(body.starts_with("1 key changes on both nodes\nbefore "), "{body}");
    assert!(body.contains("changed  motd: \"hello\" -> 1"), "{body}");
    assert_eq!(site.hierad("queue").ok(), "nothing is waiting\n");
}

#[test]
fn system_proxies_and_certificates_are_used() {
    let site = Sandbox::of(SITE);
    let proxy = Http::start(|_| Answer::ok());
    let certificate = Arc::new(Certificate::new());
    let server = Http::with(Some(certificate.clone()), |_| Answer::ok());
    let letters = Smtp { starttls: Some(certificate.clone()), ..Smtp::default() }.start();
    let roots = site.beside("roots.pem");
    std::fs::write(&roots, &certificate.pem).unwrap();
    let sinks = format!(
        "  away: {{webhook: 'http://hooks.example.com/x', branches: [main]}}\n  near: {{webhook: 'https://localhost:{}/y'}}\n  \
        people:\n    mail: {{server: 'smtp://localhost:{}', starttls: required, from: a@b.c, to: [d@e.f]}}\n  \
        other: {{webhook: 'http://hooks.example.com/other', branches: [other]}}\n",
        server.port, letters.port
    );
    let proxy_url = format!("http://127.0.0.1:{}", proxy.port);
    let variables = [("http_proxy", &*proxy_url), ("SSL_CERT_FILE", roots.to_str().unwrap())];
    let daemon = Daemon::with(&site, &sinks, &variables);
    change(&site, 1);
    assert_eq!(proxy.requests.recv_timeout(ENOUGH).unwrap().line, "POST http://hooks.example.com/x HTTP/1.1");
    assert_eq!(server.requests.recv_timeout(ENOUGH).unwrap().line, "POST /y HTTP/1.1");
    assert!(letters.letters.recv_timeout(ENOUGH).unwrap().is_protected);
    daemon.end();
    assert_eq!(proxy.requests.try_iter().count(), 0, "a sink of another branch");
}

#[test]
#[ignore = "needs a system that lets users mount"]
fn a_full_disk_delays_files() {
    let site = Sandbox::of(SITE);
    let disk = site.beside("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut shell = hierad(site.root());
    let path = shell.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
    let mut command = Command::new("unshare");
    command.env_clear().envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", path);
    // Somebody makes room when asked to.
    let script = "mount -t tmpfs -o size=64k tmpfs \"$1\" || exit 9; dd if=/dev/zero of=\"$1/full\" bs=1k 2> /dev/null; \
        (while ! test -e \"$2\"; do sleep 0.05; done; rm \"$1/full\"; while test -e \"$2\"; do ls -a \"$1\" > \"$2\"; sleep 0.1; done) & \
        shift 2; exec \"$0\" \"$@\"";
    let room = site.beside("room");
    command
        .current_dir(site.root())
        .args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_hierad")])
        .args([&disk, &room]);
    _ = shell.arg("--version");
    let daemon = Daemon::of(command.arg("watch"), &site, &format!("  files: {{folder: {}}}\n", disk.display()));
    change(&site, 1);
    wait(|| daemon.errors().contains("No space left on device"), &|| daemon.errors());
    std::fs::write(&room, "").unwrap();
    let listed = || std::fs::read_to_string(&room).unwrap();
    wait(|| listed().contains(".json"), &|| daemon.errors() + &listed());
    assert!(!listed().contains(".hierad-"), "{}", listed());
    daemon.end();
    assert_eq!(site.hierad("queue").ok(), "nothing is waiting\n");
    std::fs::remove_file(&room).unwrap();
}
