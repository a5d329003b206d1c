//! The daemon under systemd: the notify protocol, spoken by a test, and the unit file.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::service::Service;
use crate::support::terminal::{hierad, run};

const UNIT: &str = "examples/hierad.service";

/// The side of systemd.
struct Manager {
    socket: UnixDatagram,
    folder: tempfile::TempDir,
}

impl Manager {
    fn new() -> Manager {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        Manager { socket, folder }
    }

    fn start(&self, service: &Service) -> Child {
        let log = fs::File::options().create(true).append(true).open(service.site.beside("log")).unwrap();
        let mut command = hierad(service.site.root());
        command.args(["-v", "watch", "--poll", "0.05", "--log-format", "json"]);
        command.env("NOTIFY_SOCKET", self.folder.path().join("notify")).env("WATCHDOG_USEC", "300000");
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// Returns its next message, signs of life left out.
    fn told(&self) -> Vec<String> {
        let mut buffer = [0; 1000];
        loop {
            let length = self.socket.recv(&mut buffer).unwrap();
            let text = std::str::from_utf8(&buffer[..length]).unwrap();
            if text.trim() != "WATCHDOG=1" {
                return text.lines().map(str::to_owned).collect();
            }
        }
    }

    /// Waits for signs of life.
    fn hears(&self, mut count: usize) {
        let mut buffer = [0; 1000];
        while count > 0 {
            let length = self.socket.recv(&mut buffer).unwrap();
            count -= usize::from(&buffer[..length] == b"WATCHDOG=1\n" || &buffer[..length] == b"WATCHDOG=1");
        }
    }
}

fn signal(name: &str, daemon: &Child) {
    assert!(Command::new("kill").args([name, &daemon.id().to_string()]).status().unwrap().success());
}

#[test]
fn systemd_is_notified() {
    let (service, manager) = (Service::new(), Manager::new());
    let settings = service.site.root().join(".git/hierad.yaml");
    let text = fs::read_to_string(&settings).unwrap();
    let more = format!("{text}  more: {{folder: {}}}\n", service.site.beside("more").display());
    let count = |name: &str| fs::read_dir(service.site.beside(name)).map_or(0, Iterator::count);
    let mut daemon = manager.start(&service);
    assert_eq!(manager.told(), ["READY=1"]);
    manager.hears(5);

    // A reload that succeeds, and loses nothing of what comes meanwhile.
    fs::write(&settings, &more).unwrap();
    service.site.commit("one");
    signal("-HUP", &daemon);
    let told = manager.told();
    assert!(told[0] == "RELOADING=1" && told[1].starts_with("MONOTONIC_USEC="), "{told:?}");
    assert_eq!(manager.told(), ["READY=1"]);
    service.site.commit("two");
    service.wait("reports", || count("files") == 2 && count("more") > 0);

    // One that fails keeps the settings.
    for wrong in ["sinks: {x: {}}", "profiles: nosuch\nsinks: {x: {stdout: true}}", "state: elsewhere"] {
        fs::write(&settings, wrong).unwrap();
        signal("-HUP", &daemon);
        assert_eq!(manager.told()[0], "RELOADING=1");
        assert_eq!(manager.told(), ["READY=1"]);
    }
    assert_eq!(service.log().matches("the old settings stay").count(), 3, "{}", service.log());
    let before = count("more");
    let profiles = service.site.beside("profiles.ndjson");
    fs::write(&profiles, fs::read_to_string(&profiles).unwrap() + "{\n").unwrap();
    service.site.commit("three");
    service.wait("reports", || count("files") == 3 && count("more") == before + 1);
    fs::write(&settings, &more).unwrap();

    // A restart goes on where it was.
    signal("-TERM", &daemon);
    assert_eq!(manager.told(), ["STOPPING=1"]);
    assert!(daemon.wait().unwrap().success());
    service.site.commit("four");
    let daemon = manager.start(&service);
    assert_eq!(manager.told(), ["READY=1"]);
    service.wait("reports", || count("files") == 4);
    service.end(daemon);
    assert!(service.log().contains("its node is left out\",\"error\":\""), "{}", service.log());
    assert!(service.log().contains("profiles.ndjson:4: "), "{}", service.log());
    for line in service.log().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
    }
}

#[test]
fn signals_are_heard_while_the_first_settings_are_read() {
    let (service, manager) = (Service::new(), Manager::new());
    let settings = service.site.root().join(".git/hierad.yaml");
    let text = fs::read_to_string(&settings).unwrap();
    // It waits for profiles that nobody writes.
    service.site.sh("mkfifo -m 600 ../pipe");
    fs::write(&settings, text.replace("profiles.ndjson", "pipe")).unwrap();
    let mut daemon = manager.start(&service);
    service.wait("its queue", || service.site.beside("state/queue.db").exists());
    // It does not end before its time.
    signal("-HUP", &daemon);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(daemon.try_wait().unwrap(), None);
    signal("-TERM", &daemon);
    assert_eq!(manager.told(), ["STOPPING=1"]);
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn settings_are_checked_before_it_starts() {
    let service = Service::new();
    let settings = service.site.root().join(".git/hierad.yaml");
    let good = service.site.hierad("watch --check-config");
    assert_eq!(good.ok(), "the settings are fine: repositories: 1, sinks: 3, snapshots: 2, state in $BASE/state\n");
    assert!(!service.site.beside("state").exists());
    for (wrong, words) in [
        ("profiles: nosuch\nsinks: {x: {stdout: true}}", "nosuch"),
        ("sinks: {x: {}}", "hierad.yaml:1: sink 'x' needs one of"),
        ("sinks: {x: {webhook: 'ftp://x'}}", "it must begin with http:// or https://"),
        ("sinks: {x: {webhook: 'http://x', secret_file: nosuch}}", "nosuch"),
    ] {
        fs::write(&settings, wrong).unwrap();
        service.site.hierad("watch --check-config").fails(&[words]);
        let failed = service.site.hierad("watch --log-format json");
        let line: serde_json::Value = serde_json::from_str(&failed.fails(&[]).err).unwrap();
        assert!(line["level"] == "ERROR" && line["message"].as_str().unwrap().contains(words), "{line}");
    }
}

#[test]
fn check_config_finds_faults_and_changes_nothing() {
    let service = Service::new();
    let (site, state) = (&service.site, service.site.beside("state"));
    let settings = site.root().join(".git/hierad.yaml");
    let listed = || site.sh("find .. -not -path '*/.git/hierad*' | sort");
    let refused = |wrong: &str, words: &[&str]| {
        fs::write(&settings, format!("profiles: ../../profiles.ndjson\nstate: {}\n{wrong}\n", state.display()))
            .unwrap();
        let before = listed();
        site.hierad("watch --check-config").fails(words);
        assert_eq!(listed(), before);
    };
    fs::write(site.beside("file"), "no program").unwrap();
    refused("sinks: {x: {command: [../../file]}}", &["sink 'x'", "/file", "cannot be started"]);
    refused("sinks: {x: {command: ../../file}}", &["sink 'x'", "/file", "cannot be started"]);
    refused("http: {token_file: nope}", &["'token_file' of 'http': cannot read ", "nope: No such file"]);
    refused("sinks: {x: {command: [hierad-nosuch]}}", &["sink 'x'", "hierad-nosuch", "no such program in PATH"]);
    refused("sinks: {x: {folder: ../../file/reports}}", &["sink 'x'", "cannot write to", "file is not a folder"]);
    let snapshots = "snapshots: {x: {folder: '../../file/of-{branch}'}}";
    refused(snapshots, &["snapshots 'x'", "cannot write to ", "file is not a folder"]);
    refused("snapshots: {x: {ref: true, push: nosuch}}", &["snapshots 'x'", "no remote 'nosuch'"]);
    site.git(["remote", "add", "there", "../there.git"]);
    fs::write(&settings, "profiles: ../../profiles.ndjson\nsnapshots: {x: {ref: true, push: there}}\n").unwrap();
    site.hierad("watch --check-config").ok();
    fs::write(&state, "no folder").unwrap();
    refused("", &["$BASE/state", "is not a folder"]);
    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    fs::write(state.join("queue.db"), "random bytes".repeat(1000)).unwrap();
    refused(
        "",
        &["cannot use the database $BASE/state/queue.db", "file is not a database; restore it from a backup, or move"],
    );
    site.hierad("watch").fails(&["cannot use the database $BASE/state/queue.db"]);
}

/// `ProtectSystem=strict` of the unit makes all file systems read-only, in this way.
#[test]
#[ignore = "needs a system that lets users mount"]
fn folders_that_systemd_would_not_let_it_write_to_are_named() {
    let service = Service::new();
    for name in ["files", "tips", "state"] {
        fs::create_dir(service.site.beside(name)).unwrap();
    }
    service.site.hierad("watch --check-config").ok();
    for (folder, part) in [
        (service.site.beside("files"), "sink 'files'"),
        (service.site.beside("tips"), "snapshots 'tips'"),
        (service.site.root().join(".git"), "snapshots 'history'"),
        (service.site.beside("state"), ""),
    ] {
        let mut command = Command::new("unshare");
        let script = "mount --bind $F $F && mount -o remount,bind,ro $F && exec $HIERAD watch --check-config";
        command.args(["-rm", "sh", "-c", script]).current_dir(service.site.root());
        command.env("F", &folder).env("HIERAD", hierad(service.site.root()).get_program());
        let checked = run(&mut command);
        let remedy = format!("in a unit of systemd, add ReadWritePaths={}", folder.display());
        assert!(checked.status == 1 && checked.err.contains(part) && checked.err.contains(&remedy), "{checked:?}");
    }
}

fn unit() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(UNIT)).unwrap()
}

#[test]
fn the_unit_is_a_hardened_notifying_service() {
    let text = unit();
    for setting in ["Type=notify", "WatchdogSec=", "ExecReload=", "Restart=on-failure", "ProtectSystem=strict"] {
        assert!(text.contains(setting), "{setting}");
    }
}

#[test]
fn the_unit_has_time_to_start_and_files_for_all_connections() {
    let text = unit();
    let value =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap().to_owned();
    let minutes = value("TimeoutStartSec").strip_suffix("min").unwrap().parse::<u32>().unwrap();
    assert!(minutes >= 15, "a large fleet takes long to read");
    assert!(value("LimitNOFILE").parse::<u32>().unwrap() >= 16_384);
    assert!(value("TimeoutStopSec").parse::<u32>().unwrap() > 10, "the daemon breaks long steps off after ten seconds");
}

#[test]
#[ignore = "needs systemd-analyze"]
fn systemd_accepts_the_unit() {
    // It looks whether the program is there.
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("hierad.service");
    fs::write(&here, unit().replace("/usr/local/bin/hierad", env!("CARGO_BIN_EXE_hierad"))).unwrap();
    let verified = run(Command::new("systemd-analyze").arg("verify").arg("--man=no").arg(&here));
    assert_eq!((verified.status, verified.err.trim()), (0, ""), "{verified:?}");
}
