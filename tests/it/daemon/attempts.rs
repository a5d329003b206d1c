//! Commits that end the process that resolves them, or take too much of it.

use std::process::Command;

use hierad::event::{CommitEvent, EventKind, JobNumber};
use hierad::git::{BranchName, CommitId};

use super::service::{PROFILES, SITE, Service};
use crate::support::Sandbox;

/// Answers for a function that finds nothing. It kills who asks, answers late or never if the level's options say so.
const SCRIPT: &str = r#"while read -r line; do
  case $line in
    *deadly*) kill -9 $PPID;;
    *pausing*) sleep 4;;
    *slow*) echo $PPID >> "$0.asked"; sleep 600;;
  esac
  id=${line#*:}
  echo "{\"id\":${id%%,*},\"not_found\":true}"
done
"#;

/// A daemon with a function that a command answers for.
fn with_function() -> Service {
    with_patient_function(10)
}

/// The same, with so many seconds for an answer.
pub(super) fn with_patient_function(seconds: u32) -> Service {
    let site = Sandbox::of(SITE);
    std::fs::write(site.beside("profiles.ndjson"), PROFILES).unwrap();
    let script = site.beside("answer");
    std::fs::write(&script, SCRIPT).unwrap();
    let script = script.display();
    Service::of(
        site,
        &format!(
            "backends: {{asked: {{command: [sh, {script}], timeout: {seconds}}}}}\nsnapshots: {{history: {{ref: true}}}}\n"
        ),
    )
}

impl Service {
    /// Commits a hierarchy whose function behaves like this.
    pub(super) fn commit_mood(&self, mood: &str) -> String {
        let config = "version: 5\nhierarchy:\n- {name: Asked, lookup_key: asked, options: {mode: MODE}}\n\
            - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}\n- {name: Common, path: common.yaml}\n";
        self.site.write("hiera.yaml", config.replace("MODE", mood));
        self.site.commit(mood).to_string()
    }

    /// Checks the report of a commit: what it is compared with, and the commits that could not be resolved before it.
    fn check_gap(&self, commit: &str, before: &str, gap: &[&str]) {
        let report = self.get_file(commit);
        assert_eq!(report["before"]["commit"], before, "{report}");
        let notes = report["diagnostics"].as_array().unwrap().iter();
        let notes: Vec<String> =
            notes.filter(|note| note["code"] == "set-aside-commit").map(ToString::to_string).collect();
        assert_eq!(notes.len(), gap.len(), "{notes:?}");
        for id in gap {
            assert!(notes.iter().any(|note| note.contains(*id)), "{id}: {notes:?}");
        }
    }
}

#[test]
fn a_commit_that_ends_the_process_is_set_aside() {
    let service = with_function();
    let mut daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let quiet = service.commit_mood("quiet");
    service.wait("a report", || service.files().len() == 1 && service.is_idle());
    let deadly = service.commit_mood("deadly");
    assert!(!daemon.wait().unwrap().success());
    assert!(service.site.hierad("queue").ok().contains("waiting      main"));
    let mut daemon = service.start();
    let ended =
        format!("failed       main {}, tried 3 times: the process that resolves it has ended: signal: 9", &deadly[..8]);
    service.wait("an end", || service.site.hierad("queue").out.contains(&ended));
    let calm = service.commit_mood("calm");
    let format = "--format=%(trailers:key=Hierad-Skipped,valueonly,separator=)";
    let skipped = || service.site.git(["log", "-1", format, "refs/hierad/snapshots/main"]);
    service.wait("a report and a snapshot", || service.files().len() == 2 && skipped() == deadly);
    assert!(daemon.try_wait().unwrap().is_none(), "{}", service.log());
    let answer = service.get(&format!("/v1/reports/{deadly}"));
    assert_eq!(answer.status, 404);
    assert!(answer.body.contains("could not be resolved: the process that resolves it has ended"), "{}", answer.body);
    service.end(daemon);
    service.check_gap(&calm, &quiet, &[&deadly]);
}

#[cfg(target_os = "linux")]
#[test]
fn commits_over_time_or_memory_are_set_aside_and_told() {
    let service = with_function();
    let settings = service.site.root().join(".git/hierad.yaml");
    let usual = std::fs::read_to_string(&settings).unwrap();
    let limit = |limits: &str| std::fs::write(&settings, format!("{usual}limits: {{{limits}}}\n")).unwrap();
    limit("time: 0.000001");
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let reload = |times: usize| {
        assert!(Command::new("kill").args(["-HUP", &daemon.id().to_string()]).status().unwrap().success());
        service.wait("new settings", || service.log().matches("reloaded").count() == times);
    };
    let first = service.site.id("HEAD").to_string();
    let late = service.commit_mood("late");
    let text = "tried once: the run takes more than 0.000001 seconds";
    service.wait("the end of time", || service.site.hierad("queue").out.contains(text));
    limit("memory: 1MiB");
    reload(1);
    let large = service.commit_mood("large");
    // The daemon may have it for other things, but not a process of its own.
    let text =
        format!("failed       main {}, tried 2 times: hierad uses nearly all of its 1 MiB of memory", &large[..8]);
    service.wait("the end of memory", || service.site.hierad("queue").out.contains(&text));
    std::fs::write(&settings, &usual).unwrap();
    reload(2);
    let good = service.commit_mood("good");
    let arrival = ("main".to_owned(), good.clone());
    service.wait("a report", || service.files().values().any(|arrivals| arrivals.contains(&arrival)));
    service.end(daemon);
    service.check_gap(&good, &first, &[&late, &large]);
}

#[test]
fn a_process_of_its_own_ends_with_the_daemon() {
    let service = with_function();
    let asked = || std::fs::read_to_string(service.site.beside("answer.asked")).unwrap_or_default();
    let mut pids = Vec::new();
    let mut daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    service.commit_mood("slow");
    for round in 1..=2 {
        service.wait("a question", || asked().lines().count() == round);
        pids.push(asked().lines().last().unwrap().to_owned());
        assert_eq!(pids[round - 1] == daemon.id().to_string(), round == 1, "the second attempt is made apart");
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        if round == 1 {
            daemon = service.start();
        }
    }
    let is_there = || Command::new("kill").args(["-0", &pids[1]]).output().unwrap().status.success();
    service.wait("the end of the process", || !is_there());
    assert!(service.site.hierad("queue").ok().contains("tried 2 times"), "both attempts were counted");
}

#[test]
fn a_push_ends_with_the_daemon() {
    let site = Sandbox::of(SITE);
    std::fs::write(site.beside("profiles.ndjson"), PROFILES).unwrap();
    // A remote that never answers.
    let (script, pid) = (site.beside("remote"), site.beside("remote.pid"));
    std::fs::write(&script, "echo $$ > \"$0.new\"; mv \"$0.new\" \"$0.pid\"; while sleep 0.05; do :; done\n").unwrap();
    site.git(["config", "protocol.ext.allow", "always"]);
    site.git(["remote", "add", "far", &format!("ext::sh {}", script.display())]);
    let service = Service::of(site, "snapshots: {history: {ref: true, push: far}}\n");
    let mut daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    service.site.commit("two");
    service.wait("an exchange", || pid.exists());
    let pid = std::fs::read_to_string(&pid).unwrap();
    let is_there = || Command::new("kill").args(["-0", pid.trim()]).output().unwrap().status.success();
    assert!(is_there());
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    service.wait("the end of the exchange", || !is_there());
}

#[test]
fn a_commit_in_which_the_daemon_ends_again_and_again_is_set_aside() {
    let service = with_function();
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    service.end(daemon);
    let commit = service.commit_mood("calm");
    let after = CommitId::from_hex(&commit).unwrap();
    let event = CommitEvent::new(BranchName::new("main"), None, after, EventKind::New);
    service.in_queue(async |queue| {
        queue.add(&"repository".into(), &[event]).await.unwrap();
        for _ in 0..20 {
            queue.begin(JobNumber(1)).await.unwrap();
        }
    });
    let daemon = service.start();
    let text = format!("failed       main {}, tried 21 times: the daemon has ended 20 times", &commit[..8]);
    service.wait("an end", || service.site.hierad("queue").out.contains(&text));
    service.end(daemon);
}
