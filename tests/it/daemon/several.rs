//! One daemon on several repositories, some of which are away, do not answer, or are damaged.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hierad::daemon::queue::Queue;
use hierad::event::{CommitEvent, EventKind};
use hierad::git::BranchName;
use tempfile::TempDir;

use super::service::{PROFILES, SITE, Service};
use crate::http::client::{Answer, raw, request};
use crate::support::Sandbox;
use crate::support::terminal::{hierad, run};

/// A folder with the settings, the state and the reports of a daemon.
pub(super) struct Several {
    place: TempDir,
}

impl Several {
    /// One that watches these: lines of `repositories`.
    pub(super) fn of(repositories: &[String]) -> Several {
        let several = Several { place: tempfile::tempdir().unwrap() };
        fs::write(several.path("profiles.ndjson"), PROFILES).unwrap();
        several.watch(repositories);
        several
    }

    pub(super) fn watch(&self, repositories: &[String]) {
        self.watch_with("", repositories);
    }

    /// Writes the settings: those that all have, `more` of them, and the lines of `repositories`.
    pub(super) fn watch_with(&self, more: &str, repositories: &[String]) {
        let settings = format!(
            "profiles: profiles.ndjson\nstate: state\nhttp: {{listen: '127.0.0.1:0'}}\n\
             sinks: {{files: {{folder: files}}}}\n{more}\nrepositories:\n  {}\n",
            repositories.join("\n  ")
        );
        fs::write(self.path("hierad.yaml"), settings).unwrap();
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(super) fn start(&self) -> Child {
        let log = fs::File::options().create(true).append(true).open(self.path("log")).unwrap();
        let mut command = hierad(self.place.path());
        command.args(["-v", "--color", "never", "--config", "hierad.yaml", "watch", "--poll", "0.05"]);
        let answering = self.count("hierad: answering");
        let daemon = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.wait("the daemon", || self.count("hierad: answering") > answering);
        daemon
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub(super) fn count(&self, words: &str) -> usize {
        self.log().matches(words).count()
    }

    #[track_caller]
    pub(super) fn wait(&self, what: &str, is_so: impl FnMut() -> bool) {
        Service::patiently(&format!("{what} in {}", self.place.path().display()), is_so);
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        let log = self.log();
        let (_, after) = log.rsplit_once("hierad: answering at http://").unwrap();
        let address: SocketAddr = after.split_once('\n').unwrap().0.parse().unwrap();
        raw(address, &request("GET", path, "", b""))
    }

    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        self.get("/metrics").metric(name)?.parse().ok()
    }

    /// Sends the daemon a signal.
    pub(super) fn signal(daemon: &Child, signal: &str) {
        assert!(Command::new("kill").args([signal, &daemon.id().to_string()]).status().unwrap().success());
    }

    /// Ends the daemon, which has to do so soon.
    pub(super) fn end(&self, mut daemon: Child) {
        let start = Instant::now();
        Several::signal(&daemon, "-TERM");
        let status = daemon.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
        assert!(start.elapsed() < Duration::from_secs(30), "it took {:?}: {}", start.elapsed(), self.log());
    }

    /// The reports so far, as `repository branch kind summary`, in order.
    pub(super) fn reports(&self) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.path("files")) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        let report = |path: &PathBuf| {
            let report: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            format!(
                "{} {} {} {}",
                text(&report["event"]["repository"]),
                text(&report["branch"]),
                text(&report["event"]["kind"]),
                text(&report["after"]["summary"])
            )
        };
        paths.iter().map(report).collect()
    }

    pub(super) fn queue(&self) -> String {
        run(hierad(self.place.path()).args(["--config", "hierad.yaml", "queue"])).ok().to_owned()
    }
}

pub(super) fn here(name: &str, sandbox: &Sandbox) -> String {
    format!("{name}: {{path: '{}'}}", sandbox.root().display())
}

/// A server that takes connections and never says a word. It hands them over.
struct Silent {
    address: SocketAddr,
    connections: mpsc::Receiver<TcpStream>,
}

impl Silent {
    fn start() -> Silent {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, connections) = mpsc::channel();
        std::thread::spawn(move || listener.incoming().all(|stream| sender.send(stream.unwrap()).is_ok()));
        Silent { address, connections }
    }

    fn mirror(&self, limit: &str) -> String {
        format!("m: {{url: 'git://{}/x', fetch: 2, fetch_timeout: {limit}}}", self.address)
    }

    /// The next connection.
    fn connection(&self) -> TcpStream {
        self.connections.recv_timeout(Duration::from_mins(1)).unwrap()
    }

    /// Waits until nobody holds the other end of a connection.
    fn is_left(mut connection: TcpStream) {
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        assert!(connection.read_to_end(&mut Vec::new()).is_ok(), "git goes on");
    }
}

#[test]
fn silent_remotes_delay_nothing() {
    let (silent, site) = (Silent::start(), Sandbox::of(SITE));
    let several = Several::of(&[here("w", &site), silent.mirror("600")]);
    let daemon = several.start();
    let connection = silent.connection();
    site.commit("a");
    several.wait("a report", || several.reports() == ["w main new a"]);
    several.get("/health/live").ok();
    let health = || several.get("/health/ready").ok().to_owned();
    several.wait("ill health", || health().contains("m was not looked at without an error lately"));
    assert!(health().contains("\"degraded\""), "{}", health());
    several.get("/v1/nodes?repository=w").ok();
    several.get("/v1/nodes?repository=m").refuses(503, "the repository 'm' is not there yet");
    assert_eq!(several.count("fetching repository=\"m\""), 1, "{}", several.log());
    several.end(daemon);
    Silent::is_left(connection);
    // The same where it comes with a reload.
    several.watch(&[here("w", &site)]);
    let daemon = several.start();
    several.watch(&[here("w", &site), silent.mirror("600")]);
    Several::signal(&daemon, "-HUP");
    let connection = silent.connection();
    several.wait("the new settings", || several.count("reloaded") == 1);
    site.commit("b");
    several.wait("a report", || several.reports() == ["w main new a", "w main new b"]);
    several.end(daemon);
    Silent::is_left(connection);
}

#[test]
fn fetches_die_with_a_daemon_that_is_killed() {
    let (silent, site) = (Silent::start(), Sandbox::of(SITE));
    let several = Several::of(&[here("w", &site), silent.mirror("600")]);
    let mut daemon = several.start();
    let connection = silent.connection();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    Silent::is_left(connection);
}

#[test]
fn hanging_pushes_are_ended_and_tried_again() {
    let (silent, site) = (Silent::start(), Sandbox::of(SITE));
    let several = Several::of(&[]);
    let push = format!("push: 'git://{}/x', push_timeout: 0.3", silent.address);
    several.watch_with(&format!("snapshots: {{history: {{ref: true, {push}}}}}"), &[here("w", &site)]);
    let daemon = several.start();
    site.commit("a");
    Silent::is_left(silent.connection());
    several.wait("the reason", || several.queue().contains("it was stopped after 0.3 seconds"));
    Silent::is_left(silent.connection());
    several.end(daemon);
}

#[test]
fn hanging_fetches_are_ended_and_tried_again() {
    let (silent, site, there) = (Silent::start(), Sandbox::of(SITE), Sandbox::of(SITE));
    let mirror = format!("good: {{url: 'file://{}', fetch: 0.1}}", there.root().display());
    let several = Several::of(&[here("w", &site), silent.mirror("0.5"), mirror]);
    let daemon = several.start();
    Silent::is_left(silent.connection());
    Silent::is_left(silent.connection());
    let failures = || several.metric("hierad_fetch_failures_total{repository=\"m\"}").unwrap();
    several.wait("two failures", || failures() >= 2.0);
    let words = "took longer than 0.5 s, its 'fetch_timeout'";
    assert!(several.log().lines().any(|line| line.contains("WARN") && line.contains(words)), "{}", several.log());
    let last =
        |name: &str| several.metric(&format!("hierad_fetch_last_success_timestamp_seconds{{repository=\"{name}\"}}"));
    several.wait("a fetch", || last("good").is_some_and(|time| time > 1e9));
    assert_eq!(last("m"), None);
    several.end(daemon);
}

#[test]
fn missing_repositories_are_waited_for() {
    let (one, two) = (Sandbox::of(SITE), Sandbox::of(SITE));
    let several = Several::of(&[here("one", &one), here("two", &two)]);
    let daemon = several.start();
    several.wait("both watches", || several.count("hierad: watching") == 2);
    let away = two.beside("away");
    fs::rename(two.root(), &away).unwrap();
    let name = two.root().display().to_string();
    let is_told = |line: &str| line.contains("WARN") && line.contains("is gone") && line.contains(&name);
    several.wait("a warning", || several.log().lines().any(is_told));
    one.commit("a");
    several.wait("a report", || several.reports() == ["one main new a"]);
    several.wait("a count", || several.metric("hierad_watch_failures_total{repository=\"two\"}").unwrap() > 0.0);
    fs::rename(&away, two.root()).unwrap();
    two.commit("b");
    several.wait("a report", || several.reports().len() == 2);
    several.end(daemon);
    // The same when it starts, with a commit of the repository in the queue.
    let (before, after) = (two.id("HEAD"), two.commit("c"));
    two.commit("d");
    let event = CommitEvent::new(BranchName::new("main"), Some(before), after, EventKind::New);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let queue = Queue::open(&several.path("state")).await.unwrap();
        queue.add(&"two".into(), &[event]).await.unwrap();
        queue.close().await;
    });
    fs::rename(two.root(), &away).unwrap();
    let warnings = several.count("cannot watch the repository");
    let daemon = several.start();
    several.wait("a warning", || several.count("cannot watch the repository") > warnings);
    several.wait("ill health", || several.get("/health/ready").body.contains("two was not looked at"));
    assert!(several.get("/health/ready").ok().contains("\"degraded\""), "the others are watched");
    one.commit("e");
    several.wait("a report", || several.reports().len() == 3);
    assert!(several.queue().contains("waiting      main") && !several.queue().contains("tried"), "{}", several.queue());
    fs::rename(&away, two.root()).unwrap();
    several.wait("reports of what was missed", || several.reports().len() == 5);
    several.wait("health", || several.get("/health/ready").body == "{\"status\":\"ready\"}");
    several.end(daemon);
    let all = ["one main new a", "one main new e", "two main new b", "two main new c", "two main new d"];
    let mut reports = several.reports();
    reports.sort();
    assert_eq!((reports, several.queue().as_str()), (all.map(str::to_owned).to_vec(), "nothing is waiting\n"));
}

#[test]
fn a_single_repository_must_exist() {
    let site = Sandbox::of(SITE);
    let several = Several::of(&[here("one", &site)]);
    let mut daemon = several.start();
    fs::remove_dir_all(site.root()).unwrap();
    assert_eq!(daemon.wait().unwrap().code(), Some(1));
    assert!(several.log().contains("is gone"), "{}", several.log());
    let mut command = hierad(several.place.path());
    run(command.args(["--config", "hierad.yaml", "watch"])).fails(&[&site.root().display().to_string()]);
}

#[test]
fn damaged_mirrors_are_fetched_anew() {
    let there = Sandbox::of(SITE);
    let several = Several::of(&[format!("m: {{url: 'file://{}', fetch: 0.2}}", there.root().display())]);
    let daemon = several.start();
    several.wait("the watch", || several.count("hierad: watching") == 1);
    there.commit("a");
    several.wait("a report", || several.reports().len() == 1);
    let mirror = several.path("state/mirrors/m.git");
    let written = || Command::new("git").arg("--git-dir").arg(&mirror).args(["show-ref", "refs/hierad/x"]).output();
    there.sh(&format!("git --git-dir {} update-ref refs/hierad/x refs/heads/main~1", mirror.display()));
    let damage = |files: &str| {
        there.sh(&format!("for f in $(find {}/objects {files}); do chmod u+w $f; : > $f; done", mirror.display()));
    };
    let tip = there.id("HEAD").to_string();
    damage(&format!("-path '*/{}/{}'", &tip[..2], &tip[2..]));
    there.sh("git commit -q --amend --allow-empty -m b; git switch -q -c other; git commit -q --allow-empty -m c");
    several.wait("a mirror that was made anew", || several.count("the mirror was damaged") == 1);
    several.wait("reports", || several.reports().len() == 3);
    assert!(several.path("state/mirrors/m.damaged").is_dir());
    assert!(written().unwrap().status.success(), "what hierad has written is lost");
    damage("-type f");
    there.commit("d");
    several.wait("a report", || several.reports().len() == 4);
    assert_eq!(several.count("the mirror was damaged"), 2);
    fs::remove_dir_all(&mirror).unwrap();
    there.commit("e");
    several.wait("a report", || several.reports().len() == 5);
    several.wait("health", || several.get("/health/ready").body == "{\"status\":\"ready\"}");
    several.end(daemon);
    let daemon = several.start();
    there.commit("f");
    several.wait("a report", || several.reports().len() == 6);
    several.end(daemon);
    assert_eq!(
        several.reports().iter().map(|report| report.rsplit(' ').next().unwrap()).collect::<Vec<_>>(),
        ["a", "b", "c", "d", "e", "f"]
    );
    assert_eq!(several.queue(), "nothing is waiting\n");
}
