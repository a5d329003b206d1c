//! Snapshots by schedule.

use std::fs;
use std::time::{Duration, SystemTime};

use super::service::Service;

/// Returns how often the log says that scheduled work was done.
fn times(service: &Service, name: &str) -> usize {
    let (said, name) = ("scheduled work is done", format!("name=\"{name}\""));
    service.log().lines().filter(|line| line.contains(said) && line.contains(&name)).count()
}

/// Notes in the queue, while no daemon works on it, that scheduled work was done last at this time.
fn set_done(service: &Service, name: &str, time: SystemTime) {
    service.in_queue(async |queue| queue.done(name, time).await.unwrap());
}

fn watching(service: &Service, count: usize) {
    service.wait("the daemon", || service.log().matches("hierad: watching").count() == count);
}

#[test]
fn scheduled_snapshots_are_written() {
    let service = Service::with_snapshots(
        "{history: {ref: true, branches: main, schedule: '* * * * * *'}, \
          tips: {folder: '../../tips/{branch}', schedule: ['0 0 1 1 *', '* * * * * *'], time_zone: Europe/Berlin}}",
    );
    let daemon = service.start();
    watching(&service, 1);
    let commits = || {
        service.site.git([
            "for-each-ref",
            "refs/hierad/snapshots/main",
            "--format=%(trailers:key=Hierad-Commit,valueonly)",
        ])
    };
    let tip = || service.site.id("HEAD").to_string();
    service.wait("the first snapshots", || commits() == tip() && times(&service, "tips") > 0);
    service.check_folder("tips/main", "main");
    service
        .site
        .sh("git switch -q -c topic/one; echo 'number: 1' > data/common.yaml; git commit -qam one; git switch -q main");
    for number in 2..5 {
        service.site.write("data/common.yaml", format!("number: {number}\n"));
        service.site.commit("more");
    }
    let before = times(&service, "tips");
    service.wait("later snapshots", || commits() == tip() && times(&service, "tips") > before + 1);
    service.check_folder("tips/main", "main");
    service.check_folder("tips/topic%2Fone", "topic/one");
    let count = service.site.git(["rev-list", "--count", "refs/hierad/snapshots/main"]);
    assert_eq!(count, "4", "each commit has its own");
    // What somebody else has spoilt is mended the next time.
    fs::write(service.site.beside("tips/main/a.json"), "{}").unwrap();
    let before = times(&service, "tips");
    service.wait("later snapshots", || times(&service, "tips") > before + 1);
    service.end(daemon);
    service.check_folder("tips/main", "main");
}

#[test]
fn missed_schedules_run_once() {
    let service = Service::with_snapshots("{yearly: {folder: ../../tips, branches: main, schedule: '0 0 1 1 *'}}");
    let daemon = service.start();
    watching(&service, 1);
    service.end(daemon);
    assert!(!service.site.beside("tips").exists(), "a daemon has missed nothing before it was there");
    set_done(&service, "yearly", SystemTime::now() - Duration::from_hours(3 * 366 * 24));
    let daemon = service.start();
    service.wait("what was missed", || times(&service, "yearly") > 0);
    service.check_folder("tips", "main");
    service.end(daemon);
    let daemon = service.start();
    watching(&service, 3);
    service.end(daemon);
    assert_eq!(times(&service, "yearly"), 1);
    // A clock that was ahead once holds nothing up.
    set_done(&service, "yearly", SystemTime::now() + Duration::from_hours(3 * 366 * 24));
    let daemon = service.start();
    watching(&service, 4);
    service.end(daemon);
    set_done(&service, "yearly", SystemTime::UNIX_EPOCH);
    let daemon = service.start();
    service.wait("what was missed", || times(&service, "yearly") == 2);
    service.end(daemon);
}

#[test]
fn failed_schedules_are_tried_again() {
    let service = Service::with_snapshots("{tips: {folder: '../../tips/{branch}', schedule: '0 0 1 1 *'}}");
    service.site.git(["branch", "another"]);
    let daemon = service.start();
    watching(&service, 1);
    service.end(daemon);
    fs::create_dir(service.site.beside("tips")).unwrap();
    fs::write(service.site.beside("tips/another"), "in the way").unwrap();
    set_done(&service, "tips", SystemTime::UNIX_EPOCH);
    let daemon = service.start();
    service.wait("an error", || {
        service.log().contains("branch another of ") && service.log().contains("cannot write snapshots to ")
    });
    service.check_folder("tips/main", "main");
    service.wait("the queue to tell", || service.site.hierad("queue").out.contains("schedule 'tips' has failed "));
    let queue = service.site.hierad("queue");
    assert!(queue.ok().contains("branch another of ") && queue.out.ends_with("1 failing on schedule\n"), "{queue:#?}");
    let waits = |line: &&str| line.contains("waiting for the time") && line.contains("next=\"197");
    assert_eq!(service.log().lines().find(waits), None, "nobody waits for what is past");
    fs::remove_file(service.site.beside("tips/another")).unwrap();
    service.wait("the other branch", || times(&service, "tips") == 1);
    service.check_folder("tips/another", "another");
    service.settle(0);
    service.end(daemon);
}

#[test]
fn snapshots_that_cannot_be_are_refused() {
    for (snapshots, words) in [
        ("{ref: true}", "a name with a hash such as {ref: true}"),
        ("{a: {}}", "hierad.yaml:3: snapshots 'a' need either 'ref: true' or 'folder: DIR'"),
        ("{a: {ref: true, folder: x}}", "need either 'ref: true' or 'folder: DIR'"),
        ("{a: {folder: x}}", "of several branches need a folder each: put {branch} into 'folder', or name one branch"),
        ("{a: {folder: x, branches: 'm*'}}", "of several branches need a folder each"),
        ("{a: {folder: x, branches: main, push: origin}}", "go to a folder, so 'push' has no effect"),
        ("{a: {ref: true, time_zone: UTC}}", "have no 'schedule', so 'time_zone' has no effect"),
        ("{a: {ref: true, schedule: daily}}", "have an invalid schedule: 'daily' is not a cron expression"),
        ("{a: {ref: true, schedule: '0 0 30 2 *'}}", "the cron expression '0 0 30 2 *' never matches any time"),
        ("{a: {ref: true, schedule: '@daily', time_zone: Mars}}", "there is no time zone 'Mars'"),
        ("{a: {ref: true, branches: '['}}", "snapshots 'a' have '[' is not a valid pattern for branches"),
        ("{web: {ref: true}}", "there is a sink 'web': snapshots need another name"),
    ] {
        let service = Service::with_snapshots(snapshots);
        service.site.hierad("watch --check-config").fails(&[words]);
    }
}
