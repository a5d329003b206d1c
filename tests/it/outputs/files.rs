//! Files that the program writes: who may read them, and names that no file can have.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Sandbox;
use crate::support::terminal::{SITE, hierad};

/// The longest time that anything takes, unless there is a fault.
const PATIENCE: Duration = Duration::from_mins(1);

/// A daemon on a site, whose process has the usual mask.
struct Daemon(Child);

impl Daemon {
    fn start(site: &Sandbox, settings: &str) -> Daemon {
        let (root, base) = (site.root().display(), site.beside("").display().to_string());
        let settings = settings.replace("BASE", base.trim_end_matches('/'));
        let config = format!("profiles: {root}/profiles\nstate: ../state\n{settings}");
        std::fs::write(
            site.beside("daemon.yaml"),
            config.replace("../state", &site.beside("state").display().to_string()),
        )
        .unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "umask 022; exec \"$0\" \"$@\""]);
        let watch = hierad(site.root());
        command.arg(watch.get_program()).args(["--config", "../daemon.yaml", "watch", "--poll", "0.05"]);
        command.current_dir(site.root()).env_clear();
        command.envs(watch.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdout(Stdio::null()).stderr(std::fs::File::create(site.beside("log")).unwrap());
        let daemon = Daemon(command.spawn().unwrap());
        wait(site, || log(site).contains("watching "));
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn log(site: &Sandbox) -> String {
    std::fs::read_to_string(site.beside("log")).unwrap_or_default()
}

fn wait(site: &Sandbox, is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{}", log(site));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The permissions of a folder and of all that is in it, by name.
fn modes(folder: &Path) -> Vec<(String, u32)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = std::iter::once(folder.to_owned()).chain(entries);
    let mode = |path: PathBuf| {
        let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
        (path.file_name().unwrap().to_str().unwrap().to_owned(), mode)
    };
    let mut modes: Vec<(String, u32)> = paths.map(mode).collect();
    modes.sort();
    modes
}

/// Fails if the folder has another mode, or a file in it, or if there are fewer files.
#[track_caller]
fn have(folder: &Path, of_folder: u32, of_files: u32, files: usize) {
    let modes = modes(folder);
    let name = folder.file_name().unwrap().to_str().unwrap();
    let wrong = modes.iter().find(|(is, mode)| *mode != if is == name { of_folder } else { of_files });
    assert!(wrong.is_none() && modes.len() > files, "{modes:?}");
}

#[test]
fn only_the_owner_reads_what_is_written() {
    let site = Sandbox::of(SITE);
    // Former daemons let others read the queue.
    let state = site.beside("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["queue.db", "lock"] {
        std::fs::write(state.join(name), "").unwrap();
        std::fs::set_permissions(state.join(name), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let settings = "sinks:\n  own: {folder: BASE/own}\n  group: {folder: BASE/group, mode: '0640'}\n\
        snapshots:\n  closed: {folder: 'BASE/snapshots/own-{branch}'}\n  all: {folder: 'BASE/all-{branch}', mode: '0644'}\n";
    let daemon = Daemon::start(&site, settings);
    site.write("data/common.yaml", "motd: changed\nntp: [a, b]\n");
    site.commit("second");
    let folders = ["own", "group", "snapshots/own-main", "all-main"].map(|name| site.beside(name));
    let count = |folder: &Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
    let is_there =
        || count(&folders[0]) == 1 && count(&folders[1]) == 1 && folders[2..].iter().all(|folder| count(folder) == 3);
    wait(&site, is_there);
    have(&state, 0o755, 0o600, 4);
    have(&folders[0], 0o700, 0o600, 1);
    have(&folders[1], 0o750, 0o640, 1);
    have(&folders[2], 0o700, 0o600, 3);
    have(&folders[3], 0o755, 0o644, 3);
    drop(daemon);
    site.hierad("render --output ../rendered").ok();
    have(&site.beside("rendered"), 0o700, 0o600, 3);
    // Files that stay as they are, too.
    site.hierad("render --output ../rendered --mode 0640").ok();
    have(&site.beside("rendered"), 0o700, 0o640, 3);
    site.hierad("export --output ../exported").ok();
    have(&site.beside("exported"), 0o700, 0o600, 3);
    for wrong in ["0400", "755", "rw", "0o600"] {
        site.hierad(&format!("render --output ../rendered --mode {wrong}")).fails(&[wrong, "is not a valid file mode"]);
    }
}

#[test]
fn a_mode_counts_over_a_tight_umask() {
    let site = Sandbox::of(SITE);
    let render = hierad(site.root());
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 077; exec \"$0\" render --output ../shared/of/all --mode 0644"])
        .arg(render.get_program());
    command.current_dir(site.root()).env_clear();
    command.envs(render.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(command.status().unwrap().success());
    have(&site.beside("shared/of/all"), 0o755, 0o644, 3);
    have(&site.beside("shared/of"), 0o755, 0o755, 1);
}

#[test]
fn the_settings_limit_what_a_command_reads() {
    let site = Sandbox::of(SITE);
    let settings = "http: {listen: '127.0.0.1:0', url: 'https://example.com/hiera'}\nsinks:\n  \
        small: {command: [sh, -c, 'cat > BASE/half; mv BASE/half BASE/small'], max_size: 0.001}\n  \
        large: {command: [sh, -c, 'cat > BASE/half-too; mv BASE/half-too BASE/large']}\n";
    let _daemon = Daemon::start(&site, settings);
    let keys: Vec<String> = (0..100).map(|number| format!("key{number}: {number}\n")).collect();
    site.write("data/common.yaml", keys.concat());
    let commit = site.commit("large");
    wait(&site, || site.beside("small").exists() && site.beside("large").exists());
    let read = |name: &str| std::fs::read_to_string(site.beside(name)).unwrap();
    let json = |name: &str| serde_json::from_str::<serde_json::Value>(&read(name)).unwrap();
    let (small, large) = (json("small"), json("large"));
    let place = format!("https://example.com/hiera/v1/reports/{commit}?repository=repository&branch=main");
    assert_eq!((&small["report"], &small["size"]), (&place.into(), &read("large").len().into()));
    assert_eq!((&small["headline"], &small["event"]), (&large["headline"], &large["event"]));
    assert!(small["changes"].as_array().unwrap().is_empty() && large["changes"].as_array().unwrap().len() > 100);
}

/// A site with a node whose name is too long for a file.
fn long_named() -> (Sandbox, String) {
    let site = Sandbox::of(SITE);
    let name = format!("web02.{}", "long".repeat(80));
    site.write("profiles/long.yaml", format!("{{name: {name}, facts: {{}}, variables: {{role: web}}}}\n"));
    site.commit("long");
    (site, name)
}

#[test]
fn a_name_too_long_for_a_file_fails_that_node_only() {
    let (site, name) = long_named();
    let told = format!("node '{}…' has no snapshot: its name is too long for a file", &name[..60]);
    for command in ["render --output ../snapshots", "export --output ../exported"] {
        site.hierad(command).fails(&[&told, "2 snapshots in "]);
    }
    for folder in ["snapshots", "exported"] {
        let names: Vec<String> = modes(&site.beside(folder)).into_iter().map(|(name, _)| name).collect();
        let mut expected = ["db01.json", "manifest.json", folder, "web01.json"].map(str::to_owned);
        expected.sort();
        assert_eq!(names[..], expected);
        let manifest = std::fs::read_to_string(site.beside(folder).join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        assert_eq!(manifest["files"].as_object().unwrap().len(), 2);
        assert_eq!(manifest["without_file"], serde_json::json!([name]));
    }
    site.hierad("export").fails(&[&told, "1 commit on refs/hierad/snapshots/main: 2 files written"]);
    assert_eq!(site.git(["ls-tree", "--name-only", "refs/hierad/snapshots/main"]), "db01.json\nweb01.json");
    // A stream needs no file.
    assert_eq!(site.hierad("render --format ndjson").ok().lines().count(), 3);
}

#[test]
fn the_daemon_goes_on_after_a_name_too_long_for_a_file() {
    let (site, name) = long_named();
    let _daemon = Daemon::start(&site, "snapshots:\n  all: {folder: 'BASE/all-{branch}'}\n  history: {ref: true}\n");
    for motd in ["one", "two"] {
        site.write("data/common.yaml", format!("motd: {motd}\nntp: [a, b]\n"));
        site.commit(motd);
    }
    let file = || std::fs::read_to_string(site.beside("all-main/web01.json")).unwrap_or_default();
    wait(&site, || file().contains("two"));
    wait(&site, || site.hierad("--config ../daemon.yaml queue").out == "nothing is waiting\n");
    assert!(log(&site).contains(&name[..60]), "{}", log(&site));
    assert!(site.git(["show", "refs/hierad/snapshots/main:web01.json"]).contains("two"));
}
